/** View of `/<actor>/www/requests`: everything that waits for the owner, and the history of decisions. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { avatar } from '../shared/avatar.ts'
import { openRequests } from '../shared/counts.ts'
import { icon } from '../shared/icons.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { requestStyle } from './style.ts'
import type { ApprovalRow, ConnectionRequest, DecisionRow, RequestsValues } from './values.ts'

type Words = Messages['requests']

export function requestsPage(values: RequestsValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.requests
  return actorPage(
    values,
    { ...context, title: messages.navigation.requests, section: '/requests', styles: [requestStyle] },
    html`
<h1>${messages.navigation.requests}</h1>
${following('inbox', ['trust', 'approvals', 'sessions', 'subscriptions'], inbox(values, messages))}
${following('history', ['trust', 'approvals'], history(values, words))}`,
  )
}

function inbox(values: RequestsValues, messages: Messages): Html {
  const { connections, approvals, failures, actor_www } = values
  const words = messages.requests
  if (openRequests(values) === 0 && failures.length === 0)
    return html`<p class="empty">${icon('check')} ${messages.approvals.empty}</p>`
  return html`
${values.password_count === 0 ? '' : html`<ul class="rows inbox"><li>${icon('warning')}<div><p class="said"><a href="${actor_www}/password-access">${messages.home.programCreated}</a></p></div><a class="button quiet" href="${actor_www}/password-access">${words.review}</a></li></ul>`}
${approvals.length === 0 ? '' : section('calls', words.calls, html`<ul class="rows inbox">${approvals.map((each) => call(each, messages))}</ul>`)}
${connections.length === 0 ? '' : section('connections', words.connections, html`<ul class="rows inbox">${connections.map((each) => connection(each, words))}</ul>`)}
${failures.length === 0 ? '' : section('failures', words.failures, html`<ul class="rows inbox">${failures.map(({ text, href }) => html`<li>${icon('warning')}<div><p class="said"><a href="${href}">${text}</a></p></div></li>`)}</ul>`)}`
}

function section(id: string, title: string, content: Html): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`
}

function call(
  { href, title, peer, asked, expires, is_destructive }: ApprovalRow,
  { approvals, requests }: Messages,
): Html {
  return html`<li>${avatar(peer.peerid, peer.name, peer.is_app)}<div><p class="said"><a href="${href}">${approvals.wants(peer.name, title)}</a>${is_destructive ? html` <span class="badge bad">${requests.destructive}</span>` : ''}</p>
<p class="kind">${approvals.requested(momentView(asked), momentView(expires))}</p></div><a class="button quiet" href="${href}">${requests.review}<span class="unseen"> ${title}</span></a></li>
`
}

function connection({ peer, relationship_name, message, asked }: ConnectionRequest, words: Words): Html {
  return html`<li>${avatar(peer.peerid, peer.name, peer.is_app)}<div><p class="said"><a href="${peer.href}">${words.wantsToConnect(peer.name, relationship_name)}</a>${message === '' ? '' : html` <q>${message}</q>`}</p>
<p class="kind">${peer.host === '' ? momentView(asked) : html`${peer.host} · ${momentView(asked)}`}</p></div><a class="button quiet" href="${peer.href}">${words.review}<span class="unseen"> ${peer.name}</span></a></li>
`
}

function history(values: RequestsValues, words: Words): Html {
  const { decisions, older_href, is_first, is_off, actor_www } = values
  return html`<section aria-labelledby="decided"><h2 id="decided">${words.history}</h2>
${is_off ? html`<p class="empty">${words.historyOff}</p>` : decisions.length === 0 ? html`<p class="empty">${words.noHistory}</p>` : html`<ul class="rows">${decisions.map((each) => decision(each, words))}</ul>`}
${
  is_first && older_href === null
    ? ''
    : html`<nav class="pager" aria-label="${words.history}">${is_first ? html`<span></span>` : html`<a href="${actor_www}/requests" rel="first">${words.newest}</a>`}${older_href === null ? html`<span></span>` : html`<a href="${older_href}" rel="next">${words.older}</a>`}</nav>`
}</section>`
}

function decision({ peer, what, is_approved, at, device }: DecisionRow, words: Words): Html {
  const name = peer.href === '' ? html`<strong>${peer.name}</strong>` : html`<a href="${peer.href}">${peer.name}</a>`
  return html`<li><p class="said">${words.decided(name, what)} <span class="badge ${is_approved ? 'good' : 'bad'}">${is_approved ? words.approved : words.denied}</span></p>
<p class="kind">${momentView(at)}${device === '' ? '' : html` · ${device}`}</p></li>
`
}
