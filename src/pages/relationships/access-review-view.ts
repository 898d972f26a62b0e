/** Parts of forms that give a peer access: the choice of a trust type, and the rights of the chosen type. */
import { html } from 'hono/html'
import { fieldError, formField, verbatim } from '../shared/form-field.ts'
import { rightsList } from './rights-form-view.ts'
import type { AccessReview, DataAccess, TrustTypeChoice } from './values.ts'
import type { Html } from '../shared/values.ts'

/** Radio buttons, each with the rights of its type. */
export function levelChoice(
  id: string,
  legend: string,
  choices: readonly TrustTypeChoice[],
  { chosen, error }: { readonly chosen: string; readonly error: string | null },
): Html {
  const isWrong = error !== null
  return html`<fieldset class="choices" id="${id}"${isWrong ? html` aria-describedby="${id}-error"` : ''}><legend>${legend}</legend>
${choices.map(
  ({ name, display_name: shown, rights, reach }, index) =>
    html`<div class="level"><label class="choice"><input type="radio" name="trust_type" value="${name}" required${name === chosen ? html` checked` : ''}${
      isWrong && index === 0 ? html` autofocus` : ''
    }> <strong>${shown}</strong></label>
${rights.length === 0 ? html`<p class="fine">No access by default.</p>` : html`<ul class="grants">${rights.map(({ subject, sentences }) => html`<li><span>${subject}:</span> ${sentences.join(' ')}</li>`)}</ul>`}
${beyond(reach)}</div>`,
)}${fieldError(id, error)}</fieldset>`
}

export function beyond(reach: readonly string[]): Html | string {
  return reach.length === 0 ? '' : html`<p class="warning"><strong>Full control:</strong> ${reach.join(' ')}</p>`
}

/** Shows the rights of the type, then the current content that they open. */
export function reviewView({ who, level, rights, reach, now }: AccessReview): Html {
  return html`<p><strong>${who}</strong> will be able to do this in your account, as <strong>${level}</strong>:</p>
${rightsList(rights)}
${beyond(reach)}
${
  now.length === 0
    ? html`<p>Of what you have now: nothing.</p>`
    : html`<p>Of what you have now, they can:</p><ul class="grants">${now.map(dataAccess)}</ul>`
}`
}

function dataAccess({ text, names, more }: DataAccess): Html {
  return html`<li>${text}: <span class="names">${names.map((name) => `“${name}”`).join(', ')}${more === 0 ? '' : ` and ${more} more`}</span></li>`
}

/** The confirmation field for a powerful type, which must not be given by a single click. */
export function confirmationField(
  id: string,
  { who, needs_confirmation: isNeeded }: AccessReview,
  { typed, error }: { readonly typed: string; readonly error: string | null },
): Html | string {
  if (!isNeeded) return ''
  return formField({
    id,
    name: 'confirmation',
    label: html`To confirm, type <strong>${who}</strong> or their address`,
    value: typed,
    error,
    attributes: { ...verbatim, required: true, maxlength: '2000' },
  })
}
