/** View of `/<actor>/www/subscriptions/<peerid>/<id>`: the outcome of each diff of a subscription. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { confirmation, pager } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { clockView, exactView, momentView } from '../shared/time.ts'
import { seenRow } from '../relationships/view-as-peer-view.ts'
import { stateBadge } from './list-view.ts'
import type { SubscriptionValues, TimelineRow } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['subscription']

export function subscriptionPage(values: SubscriptionValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.subscription
  const { subscription, is_own: isOwn, actor_www, form_action } = values
  const { peer, about } = subscription
  const title = messages.subscriptions.name(peer.name, about)
  return actorPage(
    values,
    {
      ...context,
      title,
      section: '/subscriptions',
      trail: [{ text: messages.subscriptions.title, href: `${actor_www}/subscriptions` }],
    },
    html`
${following('subscription', ['subscriptions', 'properties', 'trust'], html`${head(values, title, words)}${isOwn ? known(values, messages) : html`${failures(values, words)}${timeline(values, messages)}`}`)}
${confirmation(values, {
  action: form_action,
  fields: { action: 'end' },
  summary: isOwn ? words.end : words.endTheirs,
  warning: isOwn ? words.endText(peer.name) : words.endTheirsText(peer.name),
  button: isOwn ? words.endButton : words.endTheirsButton,
  isDanger: true,
})}`,
  )
}

function head({ subscription, is_own: isOwn }: SubscriptionValues, title: string, words: Words): Html {
  const { peer, how, sequence, state, is_in_order, since } = subscription
  return html`<h1>${title}</h1>
<section class="card" aria-label="${words.label}"><dl class="facts">
<dt>${isOwn ? words.source : words.subscriber}</dt><dd>${words.at(peer.href === '' ? peer.name : html`<a href="${peer.href}">${peer.name}</a>`, peer.host)}</dd>
<dt>${words.delivery}</dt><dd>${how}</dd>
<dt>${words.status}</dt><dd>${stateBadge(state, is_in_order)}</dd>
<dt>${isOwn ? words.updatesReceived : words.updates}</dt><dd>${sequence}</dd>
<dt>${words.started}</dt><dd>${momentView(since)}</dd>
</dl></section>`
}

function known({ known: properties, paging, form_action, subscription }: SubscriptionValues, messages: Messages): Html {
  const words = messages.subscription
  return html`<h2>${words.data(subscription.peer.name)}</h2>
${
  properties.length === 0
    ? html`<p class="empty">${subscription.is_in_order ? words.sharesNothing(subscription.peer.name) : words.noData}</p>`
    : html`<ul class="rows">${properties.map((each) => seenRow(each, messages))}</ul>`
}
${pager(paging, form_action, messages)}`
}

function failures(values: SubscriptionValues, words: Words): Html | string {
  const { failed, form_action, subscription } = values
  if (failed === 0) return ''
  return html`<section class="card urgent" aria-labelledby="failed"><h2 id="failed">${words.failures(failed)}</h2>
<p>${words.failuresText(subscription.peer.name, failed)}</p>
<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="redrive"><button type="submit">${words.retry}</button></form></section>`
}

function timeline({ entries, paging, form_action }: SubscriptionValues, messages: Messages): Html {
  const words = messages.subscription
  const first = entries[0]
  return html`<h2 id="timeline">${words.log}</h2>
${
  first === undefined
    ? html`<p class="empty">${words.empty}</p>`
    : html`<p class="fine">${words.order(exactView(first.written))}</p>
<div class="table" role="region" aria-labelledby="timeline" tabindex="0"><table>
<thead><tr><th scope="col">${words.number}</th><th scope="col">${words.status}</th><th scope="col">${words.created}</th><th scope="col">${words.sent}</th><th scope="col">${words.confirmed}</th></tr></thead>
<tbody>${entries.map((entry) => line(entry, words))}</tbody></table></div>`
}
${pager(paging, form_action, messages)}`
}

function line(
  { sequence, outcome, outcome_text, attempts, written, sent, acknowledged }: TimelineRow,
  words: Words,
): Html {
  const isWrong = outcome === 'failed'
  const text = attempts > 1 ? words.attempts(outcome_text, attempts) : outcome_text
  return html`<tr><th scope="row">${sequence}</th><td class="wide">${isWrong ? html`<strong>${text}</strong>` : text}</td><td>${clockView(written)}</td><td>${sent === null ? '–' : clockView(sent)}</td><td>${acknowledged === null ? '–' : clockView(acknowledged)}</td></tr>
`
}
