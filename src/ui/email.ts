/** Asks for the address that the provider did not vouch for. */
import { html } from 'hono/html'
import { page } from './layout.ts'
import type { EmailValues } from './sign-in-values.ts'
import type { Html } from './values.ts'

export function emailPage(values: EmailValues): Html {
  const isWrong = values.error !== null
  return page(
    { ...values, title: isWrong ? 'Not done: Your e-mail address' : 'Your e-mail address' },
    html`
<section class="card">
<h1>Your e-mail address</h1>
<p class="lead">${values.message}</p>
${isWrong ? html`<p class="error" role="alert" id="error">${values.error}</p>` : ''}
<form method="post" action="${values.action}">
<input type="hidden" name="session" value="${values.session_id}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" required maxlength="254" placeholder="you@example.com" value="${values.email}"${isWrong ? html` aria-invalid="true" aria-describedby="error" autofocus` : ''}>
<button type="submit">Continue</button>
</form>
</section>`,
  )
}
