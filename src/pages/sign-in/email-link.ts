/** The page of a sign-in by email: asks for the address, then for the code; the link in the email has the code. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { emailAddress, formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { EmailLinkValues } from './values.ts'
import type { Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

type Words = Messages['emailLink']

export function emailLinkPage(values: EmailLinkValues, { messages }: PageContext): Html {
  const { frame, front, emailLink: words } = messages
  const { code, sent_to, error, name } = values
  const title = code !== '' ? words.confirm : sent_to === null ? front.signIn(name) : words.sent
  return page(
    { ...values, title: error === null ? title : frame.errorTitle(title), messages },
    html`
<section class="card">
<h1>${title}</h1>
${code !== '' ? confirmation(values, words) : sent_to === null ? asking(values, words) : waiting(values, sent_to, words)}
</section>`,
  )
}

function asking(values: EmailLinkValues, words: Words): Html {
  return html`<p class="lead">${words.text}</p>
<form method="post" action="${values.action}">${hiddenFields(fieldsOf(values, 'send'))}
${formField({
  id: 'email',
  name: 'email',
  label: words.email,
  value: values.email,
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'email', maxlength: '254' },
})}
<button type="submit">${words.send}</button></form>`
}

function waiting(values: EmailLinkValues, sentTo: string, words: Words): Html {
  return html`<p class="lead" role="status">${words.sentText(visible(sentTo))}</p>
<form method="post" action="${values.action}">${hiddenFields({ ...fieldsOf(values, 'enter'), sent_to: sentTo })}
${formField({
  id: 'code',
  name: 'code',
  label: words.code,
  value: '',
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...verbatim, autocomplete: 'one-time-code', required: true, maxlength: '20' },
})}
<button type="submit">${words.enter}</button></form>
<form method="post" action="${values.action}">${hiddenFields({ ...fieldsOf(values, 'send'), email: sentTo })}<button class="quiet" type="submit">${words.again}</button></form>`
}

/** Mail scanners open links, so the link alone signs in to nothing. */
function confirmation(values: EmailLinkValues, words: Words): Html {
  return html`<p class="lead">${words.confirmText}</p>
<form method="post" action="${values.action}">${hiddenFields({ ...fieldsOf(values, 'enter'), code: values.code })}<button type="submit">${words.enter}</button></form>`
}

function fieldsOf({ state, code_challenge }: EmailLinkValues, action: string): Readonly<Record<string, string>> {
  return { state, code_challenge, action }
}
