/** The page for an identity that an unproven actor already uses: join that actor by its passphrase, or create a new one. */
import { html } from 'hono/html'
import { formField } from '../shared/form-field.ts'
import { page } from '../shared/layout.ts'
import type { ClaimValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function claimPage(values: ClaimValues): Html {
  const isWrong = values.error !== null
  return page(
    { ...values, title: isWrong ? 'Not done: Which actor is yours?' : 'Which actor is yours?' },
    html`
<section class="card">
<h1>Which actor is yours?</h1>
<p class="lead">You showed that <strong>${values.email}</strong> is yours. Somebody made an actor under that name before, without showing it.</p>
${isWrong && !values.can_join ? html`<p class="error" role="alert">${values.error}</p>` : ''}
${values.can_join ? join(values) : ''}
<form${values.can_join ? html` class="other"` : ''} method="post" action="${values.action}">
<input type="hidden" name="claim" value="${values.claim}">
<input type="hidden" name="choice" value="new">
<button${values.can_join ? html` class="quiet"` : ''} type="submit">Begin with a new actor</button>
</form>
</section>
<section class="notes">
<h2>What happens to the other one?</h2>
<p>${
      values.can_join
        ? 'If you made it, its passphrase opens it here, with everything in it. '
        : 'If you made it by typing this address, open the link that was sent to you, in the browser where you typed it, before you sign in here again. '
    }If you begin with a new actor, the other one stays with the person who made it and never sees what you do. ${
      values.can_join
        ? 'On the page “Programs with a password” you then decide whether its passphrase keeps working.'
        : ''
    }</p>
</section>`,
  )
}

function join(values: ClaimValues): Html {
  return html`<form method="post" action="${values.action}">
<input type="hidden" name="claim" value="${values.claim}">
<input type="hidden" name="choice" value="join">
${formField({
  id: 'passphrase',
  name: 'passphrase',
  label: 'It is mine, and this is its passphrase',
  // Pages never contain a secret.
  value: '',
  error: values.error,
  isOnlyMessage: true,
  attributes: { type: 'password', autocomplete: 'current-password', required: true, maxlength: '512' },
})}
<button type="submit">Open it</button>
</form>
`
}
