/** View of `/<actor>/www/members`: the members of a group with their roles, and the forms that change them. */
import { html } from 'hono/html'
import type { Messages } from '../../../pages/languages/language.ts'
import { roleView } from '../../../pages/relationships/access-review-view.ts'
import { connectionStyle } from '../../../pages/relationships/style.ts'
import { avatar } from '../../../pages/shared/avatar.ts'
import { formField, selectField } from '../../../pages/shared/form-field.ts'
import { confirmation, hiddenFields, pager, signInAgain } from '../../../pages/shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../../../pages/shared/layout.ts'
import { momentView } from '../../../pages/shared/time.ts'
import type { Html } from '../../../pages/shared/values.ts'
import { longestNickname } from '../../../trust/trust-change.ts'
import { createdCard, daysField } from '../../invitations/pages/invite-view.ts'
import type { MemberRow, MembersValues } from './values.ts'

export function membersPage(values: MembersValues, context: PageContext): Html {
  const { actor_www, created, error_field, form_action, paging, members } = values
  const { messages } = context
  const { membership: words } = messages
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/trust',
      styles: [connectionStyle],
      trail: [{ text: messages.connections.title, href: `${actor_www}/trust` }],
      isAnswer: created !== null,
      wrongField: error_field === 'nickname' ? error_field : null,
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${created === null ? '' : createdCard(created, messages)}
${values.fresh_href === null ? '' : html`<section class="card">${signInAgain(values.fresh_href, messages)}</section>`}
${following(
  'members',
  ['trust'],
  html`${requests(values, messages)}
<ul class="plain">${members.map((member) => memberCard(values, member, messages))}</ul>
${members.length + values.requests.length === 0 ? html`<p class="empty">${words.none}</p>` : ''}`,
)}
${values.is_one ? html`<p><a href="${form_action}">${words.all}</a></p>` : pager(paging, form_action, messages)}
${values.fresh_href === null ? invitation(values, messages) : ''}
<section class="card" aria-labelledby="roles"><h2 id="roles">${words.roles}</h2>
${values.roles.map((role) => html`${roleView(role, messages)}${role.manages ? html`<p class="fine">${words.manages}</p>` : ''}`)}</section>`,
  )
}

function requests(values: MembersValues, messages: Messages): Html | string {
  const { requests: all } = values
  const { membership: words } = messages
  if (all.length === 0) return ''
  return html`<section class="card urgent" aria-labelledby="requests"><h2 id="requests">${words.requests(all.length)}</h2>
<p>${words.requestsText}</p>
<ul class="plain">${all.map((member) => memberCard(values, member, messages))}</ul></section>`
}

function memberCard(values: MembersValues, member: MemberRow, messages: Messages): Html {
  const { peer, role, since, by, is_last_manager: isLast } = member
  const { membership: words } = messages
  return html`<li class="card"><div class="who">${avatar(peer.peerid, peer.name, peer.is_app)}<div><a href="${peer.href}">${peer.name}</a> <span class="kind">${peer.host}</span></div></div>
<p>${role === '' ? words.noRole : words.has(role, momentView(since))}${by === '' ? '' : html` <span class="kind">${by}</span>`}</p>
${isLast ? html`<p class="fine">${words.lastManager}</p>` : html`${values.fresh_href === null ? roleForm(values, member, messages) : ''}${removal(values, member, messages)}`}</li>`
}

function roleForm(values: MembersValues, { peer, role }: MemberRow, { membership: words }: Messages): Html {
  const choices = values.roles.map(({ name }) => ({ value: name, label: name }))
  return html`<form class="line" method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'role', member: peer.peerid })}
${selectField({ id: `role-${encodeURIComponent(peer.peerid)}`, name: 'role', label: words.roleOf(peer.name), value: role === '' ? leastOf(values) : role }, choices)}
<button class="quiet" type="submit">${role === '' ? words.give(peer.name) : words.changeOf(peer.name)}</button></form>`
}

/** The role that a form offers first does not manage, if there is such a role. */
function leastOf({ roles }: MembersValues): string {
  return (roles.findLast(({ manages }) => !manages) ?? roles[0])?.name ?? ''
}

function removal(values: MembersValues, { peer }: MemberRow, messages: Messages): Html {
  const { membership: words } = messages
  return confirmation(
    values,
    {
      action: values.form_action,
      fields: { action: 'remove', member: peer.peerid },
      summary: html`${words.remove}<span class="unseen"> ${peer.name}</span>`,
      warning: words.removeText(peer.name),
      button: words.removeButton(peer.name),
      isDanger: true,
    },
    messages,
  )
}

function invitation(values: MembersValues, messages: Messages): Html {
  const { form_action, roles, typed, error, error_field: wrong } = values
  const { forms, invite, membership: words, peer } = messages
  return html`<form class="card" method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'invite' })}
<h2>${words.invite}</h2>
<p>${words.inviteText}</p>
${selectField(
  { id: 'role', name: 'role', label: words.role, value: typed.role === '' ? leastOf(values) : typed.role },
  roles.map(({ name }) => ({ value: name, label: name })),
)}
${formField({
  id: 'nickname',
  name: 'nickname',
  label: forms.optional(peer.nickname),
  value: typed.nickname,
  hint: peer.nicknameHint,
  error: wrong === 'nickname' ? error : null,
  attributes: { autocomplete: 'off', maxlength: String(longestNickname) },
})}
${daysField(typed.days, null, messages)}
<button type="submit">${invite.create}</button></form>`
}
