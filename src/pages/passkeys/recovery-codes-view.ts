/** Recovery codes, which are shown only once. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { commonAssets } from '../shared/assets.ts'
import { copyButton } from '../shared/forms.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import type { RecoveryCodesValues } from './values.ts'

/** The page before the first sign-in to a new account. */
export function recoveryCodesPage(values: RecoveryCodesValues, { messages }: PageContext): Html {
  const { passkeys: words } = messages
  return page(
    { ...values, title: words.codes, messages, scripts: [commonAssets.script] },
    html`
<section class="card">
<h1>${words.codes}</h1>
<p class="lead">${words.codesText}</p>
${codeList(values.codes, messages)}
<p><a class="button" href="${values.continue_url}">${words.codesSaved}</a></p>
</section>`,
  )
}

/** The list, and a button that copies all codes. */
export function codeList(codes: readonly string[], messages: Messages): Html {
  const { codes: label } = messages.passkeys
  return html`<ol id="codes" aria-label="${label}">${codes.map(
    (code) => html`<li><code>${code}</code></li>
`,
  )}</ol>
<p>${copyButton('codes', label, messages)}</p>`
}
