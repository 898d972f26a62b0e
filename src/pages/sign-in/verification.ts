/** The pages that verify an address: a button, because mail scanners open links, and the outcome. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { VerificationValues } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['signIn']

export function verificationPage(values: VerificationValues, { messages }: PageContext): Html {
  const { signIn: words } = messages
  const isVerified = values.status === 'verified'
  return page(
    { ...values, title: isVerified ? words.verified : words.verify, messages },
    isVerified ? done(values, words) : ask(values, words),
  )
}

function ask(values: VerificationValues, words: Words): Html {
  return html`
<section class="card">
<h1>${words.verify}</h1>
<p class="lead">${values.message}</p>
<p><strong>${values.email}</strong></p>
<form method="post" action="${values.action}">
<input type="hidden" name="verify" value="${values.token}">
<button type="submit">${words.verifyButton(values.email)}</button>
</form>
</section>
<section class="notes">
<p>${words.verifyIgnore}</p>
</section>`
}

function done(values: VerificationValues, words: Words): Html {
  return html`
<section class="card">
<h1>${words.verified}</h1>
<p class="lead" role="status">${values.message}</p>
<p><strong>${values.email}</strong></p>
<p><a class="button" href="${values.redirect_url}">${words.continue}</a></p>
</section>`
}
