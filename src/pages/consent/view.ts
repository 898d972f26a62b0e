/** The page that authorizes a client. It shows the client, the destination of the response and the rights before sign-in. */
import { html } from 'hono/html'
import type { ConsentValues, OfferedTrustType } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { page, type PageContext } from '../shared/layout.ts'
import { rightsList } from '../relationships/rights-form-view.ts'
import type { Html } from '../shared/values.ts'

export function consentPage(values: ConsentValues, { messages }: PageContext): Html {
  const { consent: words } = messages
  const title = words.title(values.client_name, values.name)
  return page(
    { ...values, title, messages },
    html`
<section class="card">
<h1>${title}</h1>
${values.signed_in_as === null ? '' : html`<p class="lead">${words.signedInAs(values.signed_in_as)}</p>`}
${values.error === null ? '' : html`<p class="error" role="alert" id="error">${values.error}</p>`}
<dl class="facts">
${values.client_host === '' ? '' : html`<dt>${words.publisher}</dt><dd>${values.client_host}</dd>`}
${values.user_code === null ? html`<dt>${words.returnsTo}</dt><dd><strong>${values.redirect_host}</strong></dd>` : html`<dt>${messages.device.code}</dt><dd><strong>${values.user_code}</strong></dd>`}
</dl>
${values.user_code === null ? '' : html`<p class="notice">${messages.device.compare}</p>`}
${values.is_local ? html`<p class="notice">${words.isLocal}</p>` : ''}
<form method="post" action="${values.form_action}">
<input type="hidden" name="consent" value="${values.consent}">
${access(values, messages)}
<div class="stack">
${allow(values, words)}
<button class="quiet" type="submit" name="decision" value="deny">${words.deny}</button>
</div>
</form>
</section>
<section class="notes">
<h2>${words.about}</h2>
<ul>
<li>${words.unverified}</li>
<li>${words.noPassword}</li>
<li>${words.canEnd}</li>
</ul>
</section>`,
  )
}

function access(
  { trust_types: types, default_trust_type: chosen, client_name: client }: ConsentValues,
  messages: Messages,
): Html {
  const [only, ...more] = types
  if (only !== undefined && more.length === 0) {
    return html`<input type="hidden" name="trust_type" value="${only.name}">
<p><strong>${only.display_name}</strong><br>${only.description}</p>
${may(only, messages)}`
  }
  return html`<fieldset><legend>${messages.consent.access(client)}</legend>
${types.map(
  (type) =>
    html`<label class="choice tall"><input type="radio" name="trust_type" value="${type.name}"${type.name === chosen ? html` checked` : ''}> <span><strong>${type.display_name}</strong><small>${type.description}</small></span></label>
${may(type, messages)}`,
)}
</fieldset>`
}

function may({ display_name: name, rights }: OfferedTrustType, { consent }: Messages): Html {
  return html`<details class="fold"><summary>${consent.accessOf(name)}</summary>${rightsList(rights)}</details>`
}

function allow({ signed_in_as: owner, oauth_providers: providers }: ConsentValues, words: Messages['consent']): Html {
  const others = providers.map(
    ({ name, display_name: shown }) =>
      html`<button${owner === null ? '' : html` class="quiet"`} type="submit" name="provider" value="${name}">${owner === null ? words.allowWith(shown) : words.useOther(shown)}</button>`,
  )
  return owner === null
    ? html`${others}`
    : html`<button type="submit" name="decision" value="allow">${words.allow}</button>${others}`
}
