/** The page that asks for an address, when the provider vouched for none. */
import { html } from 'hono/html'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page } from '../shared/layout.ts'
import type { EmailValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function emailPage(values: EmailValues): Html {
  const isWrong = values.error !== null
  return page(
    { ...values, title: isWrong ? 'Not done: Your e-mail address' : 'Your e-mail address' },
    html`
<section class="card">
<h1>Your e-mail address</h1>
<p class="lead">${values.message}</p>
<form method="post" action="${values.action}">
<input type="hidden" name="session" value="${values.session_id}">
${formField({
  id: 'email',
  name: 'email',
  label: 'E-mail address',
  value: values.email,
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'email', maxlength: '254' },
})}
<button type="submit">Continue</button>
</form>
</section>`,
  )
}
