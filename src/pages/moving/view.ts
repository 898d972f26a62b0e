/** View of `/<actor>/www/move`. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { copyButton, hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import type { MoveValues, ShownArrivalPage, ShownLeaving } from './values.ts'

type Words = Messages['moving']

export function movePage(values: MoveValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.moving
  const { leaving, arrived } = values
  const isLeaving = leaving?.state === 'moving' || leaving?.state === 'moved'
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/settings',
      wrongField: values.error_field,
      // At the end of the move, the live script would say that the owner is signed out, above the only link.
      isAnswer: isLeaving,
      trail: [{ href: `${values.actor_www}/settings`, text: messages.navigation.settings }],
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${following(
  'move',
  ['move'],
  html`${leaving === null ? '' : isLeaving ? running(values, leaving, messages) : failed(leaving, words)}
${arrived === null ? '' : arrival(values, arrived, words)}
${isLeaving ? '' : beginning(values, messages)}`,
)}`,
  )
}

function running(values: MoveValues, { state, to, started, claim_url }: ShownLeaving, messages: Messages): Html {
  const { moving: words } = messages
  const hasMoved = state === 'moved'
  return html`<section class="card urgent" aria-labelledby="leaving"><h2 id="leaving">${hasMoved ? words.moved : words.leaving}</h2>
<p role="status">${hasMoved ? words.movedText(to) : words.leavingText(to, momentView(started))}</p>
<p>${words.claimText}</p>
${
  claim_url === ''
    ? signInAgain(values.fresh_href ?? '', messages)
    : html`<p class="copy"><code id="claim-url">${claim_url}</code>${copyButton('claim-url', words.claimLink, messages)}</p>
<p><a class="button" href="${claim_url}" rel="noreferrer">${words.claimLink}</a></p>`
}
${hasMoved ? '' : html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'stop' })}<button type="submit" class="quiet">${words.stop}</button></form>`}</section>`
}

function failed({ to, reason }: ShownLeaving, words: Words): Html {
  return html`<section class="card" aria-labelledby="leaving"><h2 id="leaving">${words.failed}</h2>
<p>${words.failedText(to)}</p><p class="fine">${reason}</p></section>`
}

function beginning(values: MoveValues, messages: Messages): Html {
  const { moving: words } = messages
  const { error, error_field, typed_url, fresh_href, form_action } = values
  return html`<section class="card" aria-labelledby="begin"><h2 id="begin">${words.begin}</h2>
<p>${words.comes}</p><p>${words.stays}</p><p>${words.frozen}</p>
${
  fresh_href === null
    ? html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'begin' })}
${formField({
  id: 'to',
  name: 'to',
  label: words.to,
  value: typed_url,
  hint: words.toHint,
  error: error_field === 'to' ? error : null,
  attributes: { ...verbatim, type: 'text', inputmode: 'url', required: true, maxlength: '2000' },
})}
<button type="submit">${words.button}</button></form>`
    : signInAgain(fresh_href, messages)
}</section>`
}

function arrival(
  values: MoveValues,
  { from, at, peers, count, failed: unreached }: ShownArrivalPage,
  words: Words,
): Html {
  return html`<section class="card" aria-labelledby="arrived"><h2 id="arrived">${words.arrived}</h2>
<p>${words.arrivedText(from, momentView(at))}</p>
${
  peers.length === 0
    ? ''
    : html`<h3>${words.peers}</h3>
<ul class="rows">${peers.map(
        ({ address, href, state, reason }) =>
          html`<li><div class="row-head"><a href="${href}">${address}</a></div><p class="kind">${words.states[state]}${reason === '' ? '' : html`<br>${reason}`}</p></li>`,
      )}</ul>${count > peers.length ? html`<p class="fine">${words.more(count - peers.length)}</p>` : ''}`
}
${unreached === 0 ? '' : html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'retry' })}<button type="submit" class="quiet">${words.retry}</button></form>`}</section>`
}
