/** View of `/<actor>/www/subscriptions`: subscriptions of peers to the actor, and of the actor to peers. */
import { html } from 'hono/html'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type Navigation } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { SubscriptionRow, SubscriptionsValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function subscriptionsPage(values: SubscriptionsValues, navigation: Navigation): Html {
  const { listeners, listening, paging, actor_www } = values
  return actorPage(
    values,
    { title: 'Subscriptions', section: '/subscriptions', navigation },
    html`
<h1>Subscriptions</h1>
<p class="lead">Who is notified when something changes here, and whose changes you receive.</p>
${following(
  'subscriptions',
  ['subscriptions', 'properties', 'trust'],
  html`
<h2>Who listens to you</h2>
${listeners.length === 0 ? html`<p class="empty">No peer listens to you.</p>` : html`<ul class="rows">${listeners.map(row)}</ul>`}
${pager(paging, 'Parts of the list', `${actor_www}/subscriptions`)}
<h2>Whom you listen to</h2>
${listening.length === 0 ? html`<p class="empty">You listen to no peer.</p>` : html`<ul class="rows">${listening.map(row)}</ul>`}`,
)}`,
  )
}

function row({ peer, about, how, sequence, state, is_in_order, since, href }: SubscriptionRow): Html {
  return html`<li><div class="row-head"><a href="${href}">${peer.name}: ${about}</a>${stateBadge(state, is_in_order)}</div>
<p class="kind">${peer.host === '' ? '' : `${peer.host} · `}${how} · ${sequence === 0 ? 'no change yet' : `last number ${sequence}`} · since ${momentView(since)}</p></li>
`
}

export function stateBadge(state: string, isInOrder: boolean): Html {
  return html`<span class="badge ${isInOrder ? 'good' : 'bad'}">${state}</span>`
}
