/** View of `/<actor>/www/subscriptions/<peerid>/<id>`: the outcome of each diff of a subscription. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { confirmation, pager } from '../shared/forms.ts'
import { icon } from '../shared/icons.ts'
import { listingStyle } from '../listing/style.ts'
import { filterView } from '../listing/view.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import { seenRow } from '../relationships/view-as-peer-view.ts'
import { subscriptionStyle } from './style.ts'
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
      styles: [listingStyle, subscriptionStyle],
      trail: [{ text: messages.subscriptions.title, href: `${actor_www}/subscriptions` }],
    },
    html`
${following('subscription', ['subscriptions', 'properties', 'trust'], html`${head(values, title, words)}${isOwn ? known(values, messages) : html`${held(values, words)}${timeline(values, messages)}`}`)}
${confirmation(
  values,
  {
    action: form_action,
    fields: { action: 'end' },
    summary: isOwn ? words.end : words.endTheirs,
    warning: isOwn ? words.endText(peer.name) : words.endTheirsText(peer.name),
    button: isOwn ? words.endButton : words.endTheirsButton,
    isDanger: true,
  },
  messages,
)}`,
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

/** Renders why updates are held back, with the button that tries again now. */
function held(values: SubscriptionValues, words: Words): Html | string {
  const { failed, form_action, subscription, next_attempt } = values
  const { name } = subscription.peer
  if (failed === 0 && next_attempt === null) return ''
  return html`<section class="card urgent" aria-labelledby="failed"><h2 id="failed">${failed === 0 ? words.heldBack : words.failures(failed)}</h2>
<p>${failed === 0 ? words.heldBackText(name) : words.failuresText(name, failed)}${next_attempt === null ? '' : html` ${words.nextAttempt(momentView(next_attempt))}`}</p>
<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="redrive"><button type="submit">${words.retry}</button></form></section>`
}

function timeline(values: SubscriptionValues, messages: Messages): Html {
  const { entries, paging, filters, address, marks, summary } = values
  const words = messages.subscription
  return html`<div class="delivery"><section class="card" aria-labelledby="timeline"><h2 id="timeline">${words.log}</h2>
${marks.length === 0 ? html`<p class="empty">${words.empty}</p>` : filterView(words.filter, filters, messages)}
<ol class="rail">${entries.map((entry) => line(entry, words))}</ol>
${pager(paging, address, messages)}</section>
${
  marks.length === 0
    ? ''
    : html`<section class="card" aria-labelledby="latest"><h2 id="latest">${words.latest(marks.length)}</h2>
<div class="ticks" role="img" aria-label="${summary}">${marks.map((mark) => html`<span class="${mark}"></span>`)}</div><p class="fine">${summary}</p></section>`
}</div>`
}

const icons = { delivered: 'check', late: 'clock', waiting: 'clock', failed: 'cross' } as const

function line(
  { sequence, outcome_text, mark, changed, more_changed, attempts, written }: TimelineRow,
  words: Words,
): Html {
  const text = attempts > 1 ? words.attempts(outcome_text, attempts) : outcome_text
  return html`<li class="${mark}"><span class="dot">${icon(icons[mark])}</span><div><p><strong>${changed.length === 0 ? words.everything : words.changed(changed, more_changed)}</strong></p><p class="kind">${text}</p></div><p class="when">${words.numbered(sequence, momentView(written))}</p></li>
`
}
