/** View of `/<actor>/invite/<code>`: the page that an invited person opens. */
import { html } from 'hono/html'
import type { Messages } from '../../../pages/languages/language.ts'
import { copyButton } from '../../../pages/shared/forms.ts'
import { page, type PageContext } from '../../../pages/shared/layout.ts'
import type { Html } from '../../../pages/shared/values.ts'
import { beyond, membershipView } from '../../../pages/relationships/access-review-view.ts'
import { rightsList } from '../../../pages/relationships/rights-form-view.ts'
import { connectionStyle } from '../../../pages/relationships/style.ts'
import type { InvitedValues } from './values.ts'

export function invitedPage(values: InvitedValues, { messages }: PageContext): Html {
  const { invited: words } = messages
  const { inviter, level, membership, rights, reach, name } = values
  const title = inviter === '' ? words.title(name) : words.titleFrom(inviter, name)
  return page(
    { ...values, title, messages, styles: [connectionStyle] },
    html`
<section class="card">
<h1>${title}</h1>
${
  membership === null
    ? html`<p class="lead">${words.text(level)}</p>
${rightsList(rights)}
${beyond(reach, messages)}`
    : html`${membershipView(membership, messages)}
<p><strong>${messages.membership.oneWay}</strong></p>
<p class="fine">${words.nothingYet}</p>`
}
${next(values, messages)}
</section>
<section class="notes">
<h2>${words.elsewhere}</h2>
<p>${words.elsewhereText}</p>
<p><code id="invitation-link">${values.link}</code></p>
${copyButton('invitation-link', words.link, messages)}
</section>`,
  )
}

function next({ signed_in_as, is_own, continue_href }: InvitedValues, { invited: words }: Messages): Html | string {
  if (is_own) return html`<p class="notice" role="status">${words.own}</p>`
  if (continue_href === null) return ''
  return signed_in_as === null
    ? html`<p><a class="button" href="${continue_href}">${words.signIn}</a></p>`
    : html`<p><a class="button" href="${continue_href}">${words.review}</a></p><p class="fine">${words.signedInAs(signed_in_as)}</p>`
}
