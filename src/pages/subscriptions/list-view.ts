/** View of `/<actor>/www/subscriptions`: subscriptions of peers to the actor, and of the actor to peers. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { SubscriptionRow, SubscriptionsValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function subscriptionsPage(values: SubscriptionsValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.subscriptions
  const { listeners, listening, paging, actor_www } = values
  return actorPage(
    values,
    { ...context, title: words.title, section: '/subscriptions' },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${following(
  'subscriptions',
  ['subscriptions', 'properties', 'trust'],
  html`
<h2>${words.subscribers}</h2>
${listeners.length === 0 ? html`<p class="empty">${words.noSubscribers}</p>` : html`<ul class="rows">${listeners.map((each) => row(each, words))}</ul>`}
${pager(paging, `${actor_www}/subscriptions`, messages)}
<h2>${words.own}</h2>
${listening.length === 0 ? html`<p class="empty">${words.noneOwn}</p>` : html`<ul class="rows">${listening.map((each) => row(each, words))}</ul>`}`,
)}`,
  )
}

function row(
  { peer, about, how, sequence, state, is_in_order, since, href }: SubscriptionRow,
  words: Messages['subscriptions'],
): Html {
  return html`<li><div class="row-head"><a href="${href}">${words.name(peer.name, about)}</a>${stateBadge(state, is_in_order)}</div>
<p class="kind">${words.facts(peer.host, how, sequence, momentView(since))}</p></li>
`
}

export function stateBadge(state: string, isInOrder: boolean): Html {
  return html`<span class="badge ${isInOrder ? 'good' : 'bad'}">${state}</span>`
}
