/** The pages that verify an address: a button, because mail scanners open links, and the outcome. */
import { html } from 'hono/html'
import { page } from '../shared/layout.ts'
import type { VerificationValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function verificationPage(values: VerificationValues): Html {
  return page(
    { ...values, title: values.status === 'verified' ? 'Address verified' : 'Is this address yours?' },
    values.status === 'verified' ? done(values) : ask(values),
  )
}

function ask(values: VerificationValues): Html {
  return html`
<section class="card">
<h1>Is this address yours?</h1>
<p class="lead">${values.message}</p>
<p><strong>${values.email}</strong></p>
<form method="post" action="${values.action}">
<input type="hidden" name="verify" value="${values.token}">
<button type="submit">Yes, verify it</button>
</form>
</section>
<section class="notes">
<p>If you did not enter this address here, close this page. Nothing happens then.</p>
</section>`
}

function done(values: VerificationValues): Html {
  return html`
<section class="card">
<h1>Address verified</h1>
<p class="lead" role="status">${values.message}</p>
<p><strong>${values.email}</strong></p>
<p><a class="button" href="${values.redirect_url}">Continue</a></p>
</section>`
}
