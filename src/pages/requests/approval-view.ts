/** `/<actor>/www/approvals/<id>`: one call that needs the owner's approval, which the owner allows once or refuses. */
import { own } from '../../json/json.ts'
import { html } from 'hono/html'
import type { ApprovalRow, ApprovalValues } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { avatar } from '../shared/avatar.ts'
import { claimedName } from '../apps/claimed-name.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Member } from '../shared/value-tree.ts'
import { quotedValueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'
import { requestStyle } from './style.ts'

type Words = Messages['approvals']

export function approvalPage(values: ApprovalValues, context: PageContext): Html {
  const { approval, actor_www } = values
  const { messages } = context
  const words = messages.approvals
  const { peer, title, description, kind, operation } = approval
  return actorPage(
    values,
    {
      ...context,
      title,
      section: '/requests',
      styles: [requestStyle],
      trail: [{ text: messages.navigation.requests, href: `${actor_www}/requests` }],
    },
    following(
      'approval',
      ['approvals'],
      html`
<div class="person">${avatar(peer.peerid, peer.name, peer.is_app)}<h1>${words.wants(peer.name, title)}</h1></div>
<section class="card${approval.state === 'waiting' ? ' urgent' : ''}" aria-label="${words.requestedBy(peer.name)}">
<p>${peer.host === '' ? words.unverifiedApp : words.fromHost(peer.host)}${approval.is_destructive ? html` <span class="badge bad">${messages.requests.destructive}</span>` : ''}</p>
${claimedName(peer, messages)}
<p>${description}</p>
${values.preview === null ? '' : html`<p class="answer">${values.preview}</p>`}
${values.has_preview_failed ? html`<p class="fine">${words.noPreview}</p>` : ''}
<h2>${words.details}</h2>
${argumentsView(values, messages)}
${approval.state === 'waiting' ? decision(values, words) : html`<p class="answer"><strong>${outcomeOf(approval, words)}</strong></p>${approval.state === 'approved' ? withdrawal(values, words) : ''}`}
</section>
<p class="fine">${messages.calls[kind](operation, momentView(approval.asked), peer.href === '' ? peer.name : html`<a href="${peer.href}">${peer.name}</a>`)}</p>`,
      approval.id,
    ),
  )
}

/** The declared arguments, and apart from them those whose names the caller chose. */
function argumentsView(values: ApprovalValues, messages: Messages): Html {
  const { arguments: input, undeclared_arguments: undeclared, approval } = values
  if (input.kind !== 'object') return quotedValueView(input, messages)
  if (input.members.length === 0) return html`<p>${messages.approvals.noInput}</p>`
  const [declared, other] = [false, true].map((isOther) =>
    input.members.filter(({ name }) => undeclared.includes(name) === isOther),
  )
  const table = (members: readonly Member[] = []): Html | string =>
    members.length === 0 ? '' : argumentsTable(members, values, messages)
  return html`${table(declared)}${
    undeclared.length === 0
      ? ''
      : html`<h3>${messages.approvals.otherInput}</h3>
<p class="fine">${messages.approvals.namedByCaller(approval.peer.name)}</p>
${table(other)}`
  }`
}

/** A table with the titles that the application declared for the names. */
function argumentsTable(
  members: readonly Member[],
  { argument_titles: titles }: ApprovalValues,
  messages: Messages,
): Html {
  return html`<div class="table arguments" role="region" aria-label="${messages.approvals.details}" tabindex="0"><table><tbody>${members.map(
    ({ name, value }) =>
      html`<tr><th scope="row">${titleOf(titles, name)}</th><td class="wide">${quotedValueView(value, messages)}</td></tr>`,
  )}</tbody></table></div>`
}

function titleOf(titles: Readonly<Record<string, string>>, name: string): Html {
  const title = Object.hasOwn(titles, name) ? own(titles, name) : undefined
  return title === undefined ? html`<span class="key">${name}</span>` : html`${title} <span class="key">${name}</span>`
}

function outcomeOf({ state, peer }: ApprovalRow, words: Words): string {
  if (state === 'approved') return words.approved(peer.name)
  return state === 'denied' ? words.denied : words.used
}

/** The form that withdraws an approval, until the call is made. */
function withdrawal(values: ApprovalValues, words: Words): Html {
  return html`<form method="post" action="${values.form_action}">${forgeryField(values)}<input type="hidden" name="decision" value="refuse"><button class="quiet" type="submit">${words.withdraw}</button></form>`
}

/** Both choices have the same size. The denial is first when the call may destroy data. */
function decision(values: ApprovalValues, words: Words): Html {
  const { form_action, approval } = values
  const button = (choice: string, text: string, look: string): Html =>
    html`<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="decision" value="${choice}"><button${look === '' ? '' : html` class="${look}"`} type="submit">${text}</button></form>`
  const allow = button('allow', words.allow, approval.is_destructive ? 'danger' : '')
  const deny = button('refuse', words.deny, 'quiet')
  return html`<p class="fine">${words.once(momentView(approval.expires))}</p>
<div class="facing">${approval.is_destructive ? html`${deny}${allow}` : html`${allow}${deny}`}</div>`
}
