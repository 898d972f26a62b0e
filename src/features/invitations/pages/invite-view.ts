/** View of `/<actor>/www/trust/invite`: the form that creates an invitation, its link, and the open invitations. */
import { html } from 'hono/html'
import type { Messages } from '../../../pages/languages/language.ts'
import { longestNickname } from '../../../trust/trust-change.ts'
import { formField, selectField } from '../../../pages/shared/form-field.ts'
import { copyButton, hiddenFields, signInAgain } from '../../../pages/shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../../../pages/shared/layout.ts'
import { momentView } from '../../../pages/shared/time.ts'
import type { Html } from '../../../pages/shared/values.ts'
import { levelChoice } from '../../../pages/relationships/access-review-view.ts'
import { connectionStyle } from '../../../pages/relationships/style.ts'
import { qrCode } from '../../../pages/consent/qr-code.ts'
import { invitationDays, type OpenInvitation, type TrustInviteValues } from './values.ts'

export function trustInvitePage(values: TrustInviteValues, context: PageContext): Html {
  const { actor_www, created, error_field } = values
  const { messages } = context
  const { invite: words } = messages
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/trust',
      styles: [connectionStyle],
      trail: [{ text: messages.connections.title, href: `${actor_www}/trust` }],
      isAnswer: created !== null,
      wrongField: error_field,
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${created === null ? '' : createdCard(created, messages)}
${values.fresh_href === null ? form(values, messages) : html`<section class="card">${signInAgain(values.fresh_href, messages)}</section>`}
${openInvitations(values, messages)}`,
  )
}

/** The link of a new invitation, which no later page shows. */
export function createdCard({ url, level, ends }: NonNullable<TrustInviteValues['created']>, messages: Messages): Html {
  const { invite: words } = messages
  return html`<section class="card urgent" id="created-invitation" role="status" tabindex="-1" autofocus aria-labelledby="created-title"><h2 id="created-title">${words.created}</h2>
<p>${words.createdText(level, momentView(ends))}</p>
<p><code id="invitation-link">${url}</code></p>
<p class="actions">${copyButton('invitation-link', words.link, messages)}<a class="button quiet" href="mailto:?body=${encodeURIComponent(url)}">${words.byEmail}</a></p>
${qrCode(url, words.qr)}
</section>`
}

function form(values: TrustInviteValues, messages: Messages): Html {
  const { invite: words, forms, peer, request } = messages
  const {
    form_action,
    trust_types,
    default_relationship: byDefault,
    typed,
    error,
    error_field: wrong,
    inviter,
  } = values
  const least = trust_types.some(({ name }) => name === byDefault) ? byDefault : (trust_types[0]?.name ?? '')
  const errorOf = (field: string): string | null => (wrong === field ? error : null)
  return html`<form class="card" method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'create' })}
${levelChoice(
  {
    id: 'trust_type',
    legend: request.level,
    chosen: typed.trust_type === '' ? least : typed.trust_type,
    error: errorOf('trust_type'),
  },
  trust_types,
  messages,
)}
${formField({
  id: 'nickname',
  name: 'nickname',
  label: forms.optional(peer.nickname),
  value: typed.nickname,
  hint: peer.nicknameHint,
  error: errorOf('nickname'),
  attributes: { autocomplete: 'off', maxlength: String(longestNickname) },
})}
${daysField(typed.days, errorOf('days'), messages)}
<p class="fine">${inviter === '' ? words.withoutName : words.theySee(inviter)}</p>
<button type="submit">${words.create}</button></form>`
}

/** The choice of the days for which an invitation is valid. */
export function daysField(days: string, error: string | null, { invite: words }: Messages): Html {
  return selectField(
    { id: 'days', name: 'days', label: words.valid, value: days, error },
    invitationDays.map((value) => ({ value, label: words.days(Number(value)) })),
  )
}

function openInvitations(values: TrustInviteValues, { invite: words }: Messages): Html | string {
  const { invitations } = values
  if (invitations.length === 0) return ''
  return html`<section class="card" aria-labelledby="open-invitations"><h2 id="open-invitations">${words.open(invitations.length)}</h2>
<ul class="plain">${invitations.map((invitation) => openInvitation(values, invitation, words))}</ul></section>`
}

function openInvitation(
  values: TrustInviteValues,
  { id, level, nickname, ends }: OpenInvitation,
  words: Messages['invite'],
): Html {
  const who = nickname === '' ? level : nickname
  return html`<li class="row-head"><p>${words.invitation(nickname, level)} <span class="kind">${words.ends(momentView(ends))}</span></p>
<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'revoke', invitation: id })}<button class="quiet" type="submit">${words.revoke(who)}</button></form></li>`
}
