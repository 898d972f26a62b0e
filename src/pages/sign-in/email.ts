/** The page that asks for an address, when the provider vouched for none. */
import { html } from 'hono/html'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { EmailValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function emailPage(values: EmailValues, { messages }: PageContext): Html {
  const { frame, signIn: words } = messages
  return page(
    { ...values, title: values.error === null ? words.email : frame.errorTitle(words.email), messages },
    html`
<section class="card">
<h1>${words.email}</h1>
<p class="lead">${values.message}</p>
<form method="post" action="${values.action}">
<input type="hidden" name="session" value="${values.session_id}">
${formField({
  id: 'email',
  name: 'email',
  label: words.emailLabel,
  value: values.email,
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'email', maxlength: '254' },
})}
<button type="submit">${words.continue}</button>
</form>
</section>`,
  )
}
