/** The page on which a person signs in with a passkey, creates an account, or enters a recovery code. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import { passkeyForm } from './passkey-form.ts'
import { passkeyScript } from './passkey-script.ts'
import type { PasskeyValues } from './values.ts'

type Words = Messages['passkeys']

export function passkeyPage(values: PasskeyValues, { messages }: PageContext): Html {
  const { frame, passkeys: words, front } = messages
  const title = front.signIn(values.name)
  const { error, refused } = values
  return page(
    { ...values, title: error === null ? title : frame.errorTitle(title), messages, scripts: [passkeyScript] },
    html`
<section class="card">
<h1>${title}</h1>
${refused === 'sign_in' && error !== null ? html`<p class="error" role="alert">${error}</p>` : ''}
${passkeyForm(
  {
    action: values.action,
    kind: 'get',
    options: values.request_options,
    fields: fieldsOf(values, 'sign_in'),
    content: '',
    button: words.signIn,
    isMain: true,
  },
  words,
)}
</section>
${values.creation_options === null ? '' : newAccount(values, values.creation_options, words)}
<section class="card">
<details class="fold"${refused === 'recover' ? html` open` : ''}><summary>${words.lost}</summary>
<p>${words.lostText}</p>
<form method="post" action="${values.action}">${hiddenFields(fieldsOf(values, 'recover'))}
${formField({
  id: 'code',
  name: 'code',
  label: words.code,
  value: '',
  error: refused === 'recover' ? error : null,
  isOnlyMessage: true,
  attributes: { ...verbatim, required: true, maxlength: '100' },
})}
<button type="submit">${words.useCode}</button></form></details>
</section>
<section class="notes">
<h2>${words.about}</h2>
<p>${words.aboutText}</p>
</section>`,
  )
}

function newAccount(values: PasskeyValues, options: string, words: Words): Html {
  const { error, refused } = values
  return html`<section class="card">
<h2>${words.create}</h2>
<p>${words.createText}</p>
${passkeyForm(
  {
    action: values.action,
    kind: 'create',
    options,
    fields: fieldsOf(values, 'sign_up'),
    content: formField({
      id: 'owner',
      name: 'owner',
      label: words.owner,
      value: values.typed_name,
      hint: words.ownerHint,
      error: refused === 'sign_up' ? error : null,
      isOnlyMessage: true,
      attributes: { autocomplete: 'name', required: true, maxlength: '100' },
    }),
    button: words.createButton,
    isMain: false,
  },
  words,
)}
</section>`
}

function fieldsOf({ state, code_challenge }: PasskeyValues, action: string): Readonly<Record<string, string>> {
  return { state, code_challenge, action }
}
