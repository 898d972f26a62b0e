/** View of `/<actor>/www/subscriptions/<peerid>/<id>`: the outcome of each diff of a subscription. */
import { html } from 'hono/html'
import { confirmation, pager } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import { clockView, exactView, momentView } from '../shared/time.ts'
import { seenRow } from '../relationships/view-as-peer-view.ts'
import { stateBadge } from './list-view.ts'
import type { SubscriptionValues, TimelineRow } from './values.ts'
import type { Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function subscriptionPage(values: SubscriptionValues, navigation: Navigation): Html {
  const { subscription, is_own: isOwn, actor_www, form_action } = values
  const { peer, about } = subscription
  return actorPage(
    values,
    {
      title: `${peer.name}: ${about}`,
      section: '/subscriptions',
      navigation,
      trail: [{ text: 'Subscriptions', href: `${actor_www}/subscriptions` }],
    },
    html`
${following('subscription', ['subscriptions', 'properties', 'trust'], html`${head(values)}${isOwn ? known(values) : html`${failures(values)}${timeline(values)}`}`)}
${confirmation(values, {
  action: form_action,
  fields: { action: 'end' },
  summary: 'End it…',
  warning: isOwn
    ? `You will no longer be notified of changes at ${peer.name}, and the copy of its data is deleted. The peer is notified.`
    : `${peer.name} will no longer be notified of changes here. It is notified that this ended.`,
  button: 'End this subscription',
  isDanger: true,
})}`,
  )
}

function head({ subscription, is_own: isOwn }: SubscriptionValues): Html {
  const { peer, about, how, sequence, state, is_in_order, since } = subscription
  return html`<h1>${peer.name}: ${about}</h1>
<section class="card" aria-label="The subscription"><dl class="facts">
<dt>${isOwn ? 'You listen to' : 'Who listens'}</dt><dd>${peer.href === '' ? peer.name : html`<a href="${peer.href}">${peer.name}</a>`}${peer.host === '' ? '' : ` at ${peer.host}`}</dd>
<dt>How</dt><dd>${how}</dd>
<dt>State</dt><dd>${stateBadge(state, is_in_order)}</dd>
<dt>Last number</dt><dd>${sequence}</dd>
<dt>Since</dt><dd>${momentView(since)}</dd>
</dl></section>`
}

function known({ known: properties, paging, form_action, subscription }: SubscriptionValues): Html {
  return html`<h2>What you know of it</h2>
${
  properties.length === 0
    ? html`<p class="empty">${subscription.peer.name} shows you nothing${subscription.is_in_order ? ' now' : ' yet'}.</p>`
    : html`<ul class="rows">${properties.map(seenRow)}</ul>`
}
${pager(paging, 'Parts of what you know', form_action)}`
}

function failures(values: SubscriptionValues): Html | string {
  const { failed, form_action, subscription } = values
  if (failed === 0) return ''
  return html`<section class="card urgent" aria-labelledby="failed"><h2 id="failed">${count(failed, 'change')} did not arrive</h2>
<p>${subscription.peer.name} refused ${failed === 1 ? 'it' : 'them'}, or could not be reached for too long. ${failed === 1 ? 'It is' : 'They are'} kept, and can be sent again in order.</p>
<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="redrive"><button type="submit">Send again</button></form></section>`
}

function timeline({ entries, paging, form_action }: SubscriptionValues): Html {
  const first = entries[0]
  return html`<h2 id="timeline">What became of each change</h2>
${
  first === undefined
    ? html`<p class="empty">Nothing changed since it began, or it is too long ago.</p>`
    : html`<p class="fine">The latest first. Times of ${exactView(first.written)} and before, in UTC.</p>
<div class="table" role="region" aria-labelledby="timeline" tabindex="0"><table>
<thead><tr><th scope="col">Number</th><th scope="col">What became of it</th><th scope="col">Written</th><th scope="col">Sent</th><th scope="col">Acknowledged</th></tr></thead>
<tbody>${entries.map(line)}</tbody></table></div>`
}
${pager(paging, 'Parts of the time line', form_action)}`
}

function line({ sequence, outcome, outcome_text, attempts, written, sent, acknowledged }: TimelineRow): Html {
  const isWrong = outcome === 'failed'
  return html`<tr><th scope="row">${sequence}</th><td class="wide">${isWrong ? html`<strong>${outcome_text}</strong>` : outcome_text}${attempts > 1 ? `, after ${attempts} attempts` : ''}</td><td>${clockView(written)}</td><td>${sent === null ? '–' : clockView(sent)}</td><td>${acknowledged === null ? '–' : clockView(acknowledged)}</td></tr>
`
}
