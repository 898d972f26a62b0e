/** Parts of forms that give a peer access: the choice of a trust type, and the rights of the chosen type. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { fieldError, formField, verbatim } from '../shared/form-field.ts'
import { rightsList } from './rights-form-view.ts'
import type { AccessReview, DataAccess, OfferedMembership, RoleRow, TrustTypeChoice } from './values.ts'
import type { Html } from '../shared/values.ts'

/** Radio buttons, each with the rights of its type. */
export function levelChoice(
  {
    id,
    legend,
    chosen,
    error,
  }: { readonly id: string; readonly legend: string; readonly chosen: string; readonly error: string | null },
  choices: readonly TrustTypeChoice[],
  messages: Messages,
): Html {
  const words = messages.review
  const isWrong = error !== null
  return html`<fieldset class="choices" id="${id}"${isWrong ? html` aria-describedby="${id}-error"` : ''}><legend>${legend}</legend>
${choices.map(
  ({ name, display_name: shown, rights, reach }, index) =>
    html`<div class="level"><label class="choice"><input type="radio" name="trust_type" value="${name}" required${name === chosen ? html` checked` : ''}${
      isWrong && index === 0 ? html` autofocus` : ''
    }> <strong>${shown}</strong></label>
${rights.length === 0 ? html`<p class="fine">${words.none}</p>` : html`<ul class="grants">${rights.map(({ subject, sentences }) => html`<li>${words.grants(subject, sentences)}</li>`)}</ul>`}
${beyond(reach, messages)}</div>`,
)}${fieldError(id, error)}</fieldset>`
}

export function beyond(reach: readonly string[], { rights }: Messages): Html | string {
  return reach.length === 0 ? '' : html`<p class="warning">${rights.fullControl(reach)}</p>`
}

/** A role and its rights at the group. */
export function roleView({ name, description, rights }: RoleRow, { membership: words }: Messages): Html {
  return html`<p><strong>${description === '' ? name : words.described(name, description)}</strong></p>
${rights.length === 0 ? html`<p>${words.nothing}</p>` : rightsList(rights)}`
}

/** The membership that an invitation offers, with the rights of the role at the group. */
export function membershipView({ group, kind, role }: OfferedMembership, messages: Messages): Html {
  const { membership: words } = messages
  return html`<p>${words.becomes(group, kind, role.name)}</p>
<p>${words.inGroup}</p>
${roleView(role, messages)}`
}

/** Shows the rights of the type, then the current content that they open. */
export function reviewView(review: AccessReview, messages: Messages): Html {
  const { membership, rights, reach } = review
  if (membership === null) return accessView(review, messages)
  const { membership: words } = messages
  const isOneWay = reach.length === 0 && !rights.some(({ is_granted: isGranted }) => isGranted)
  return html`${membershipView(membership, messages)}
${isOneWay ? html`<p><strong>${words.oneWay}</strong></p>` : html`<p><strong>${words.otherWay}</strong></p>${accessView(review, messages)}`}`
}

function accessView({ who, level, rights, reach, now }: AccessReview, messages: Messages): Html {
  const words = messages.review
  return html`<p>${words.willBeAble(who, level)}</p>
${rightsList(rights)}
${beyond(reach, messages)}
${
  now.length === 0
    ? html`<p>${words.nothingNow}</p>`
    : html`<p>${words.now}</p><ul class="grants">${now.map(({ text, names, more }: DataAccess) => html`<li>${words.names(text, names, more)}</li>`)}</ul>`
}`
}

/** The confirmation field for a powerful type, which must not be given by a single click. */
export function confirmationField(
  id: string,
  { who, needs_confirmation: isNeeded }: AccessReview,
  { typed, error }: { readonly typed: string; readonly error: string | null },
  { review: words }: Messages,
): Html | string {
  if (!isNeeded) return ''
  return formField({
    id,
    name: 'confirmation',
    label: words.confirm(who),
    value: typed,
    error,
    attributes: { ...verbatim, required: true, maxlength: '2000' },
  })
}
