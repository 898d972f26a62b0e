/** A form that asks the device for a passkey. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { hiddenFields } from '../shared/forms.ts'
import type { Html } from '../shared/values.ts'

export interface PasskeyForm {
  readonly action: string
  /** Whether the device signs with a passkey or creates one. */
  readonly kind: 'get' | 'create'
  /** JSON of the options for the device. */
  readonly options: string
  readonly fields: Readonly<Record<string, string>>
  /** Visible fields. */
  readonly content: Html | string
  readonly button: string
  /** False for a button that is not the main one of the page. */
  readonly isMain: boolean
}

/** The script says in the paragraph why the device did not respond. */
export function passkeyForm(
  { action, kind, options, fields, content, button, isMain }: PasskeyForm,
  words: Messages['passkeys'],
): Html {
  const { cancelled, known, unsupported, failed } = words
  return html`<form method="post" action="${action}" data-passkey="${kind}" data-options="${options}" data-cancelled="${cancelled}" data-known="${known}" data-unsupported="${unsupported}" data-failed="${failed}">${hiddenFields({ ...fields, response: '' })}
${content}<noscript><p class="field-error">${words.needsScript}</p></noscript>
<p class="field-error" role="alert"></p>
<button${isMain ? '' : html` class="quiet"`} type="submit">${button}</button></form>`
}
