/** The page for an identity that an unproven actor already uses: join that actor by its passphrase, or create a new one. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { ClaimValues } from './values.ts'
import type { Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

export function claimPage(values: ClaimValues, { messages }: PageContext): Html {
  const { frame, signIn: words } = messages
  const isWrong = values.error !== null
  return page(
    { ...values, title: isWrong ? frame.errorTitle(words.claim) : words.claim, messages },
    html`
<section class="card">
<h1>${words.claim}</h1>
<p class="lead">${words.claimText(visible(values.email))}</p>
${isWrong && !values.can_join ? html`<p class="error" role="alert">${values.error}</p>` : ''}
${values.can_join ? join(values, words) : ''}
<form${values.can_join ? html` class="other"` : ''} method="post" action="${values.action}">
<input type="hidden" name="claim" value="${values.claim}">
<input type="hidden" name="choice" value="new">
<button${values.can_join ? html` class="quiet"` : ''} type="submit">${words.claimNew}</button>
</form>
</section>
<section class="notes">
<h2>${words.claimAbout}</h2>
<p>${values.can_join ? words.claimJoin : words.claimLink} ${words.claimOther} ${values.can_join ? words.claimDecide : ''}</p>
</section>`,
  )
}

function join(values: ClaimValues, words: Messages['signIn']): Html {
  return html`<form method="post" action="${values.action}">
<input type="hidden" name="claim" value="${values.claim}">
<input type="hidden" name="choice" value="join">
${formField({
  id: 'passphrase',
  name: 'passphrase',
  label: words.claimPassphrase,
  // Pages never contain a secret.
  value: '',
  error: values.error,
  isOnlyMessage: true,
  attributes: { type: 'password', autocomplete: 'current-password', required: true, maxlength: '512' },
})}
<button type="submit">${words.claimOpen}</button>
</form>
`
}
