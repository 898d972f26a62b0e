/** The page that authorizes a client. It shows the client, the destination of the response and the rights before sign-in. */
import { html } from 'hono/html'
import type { ConsentValues, OfferedTrustType } from './values.ts'
import { page } from '../shared/layout.ts'
import { rightsList } from '../relationships/rights-form-view.ts'
import type { Html } from '../shared/values.ts'

export function consentPage(values: ConsentValues): Html {
  return page(
    { ...values, title: `Let ${values.client_name} in?` },
    html`
<section class="card">
<h1>Let “${values.client_name}” in?</h1>
<p class="lead">It wants to use your actor here${values.signed_in_as === null ? '' : html`, <strong>${values.signed_in_as}</strong>`}.</p>
${values.error === null ? '' : html`<p class="error" role="alert" id="error">${values.error}</p>`}
<dl class="facts">
${values.client_host === '' ? '' : html`<dt>Described by</dt><dd>${values.client_host}</dd>`}
<dt>Afterwards it sends you to</dt><dd><strong>${values.redirect_host}</strong></dd>
</dl>
${values.is_local ? html`<p class="notice">That is your own computer: any program on it can wait there. Go on only if you started one just now.</p>` : ''}
<form method="post" action="${values.form_action}">
<input type="hidden" name="consent" value="${values.consent}">
${access(values)}
<div class="stack">
${allow(values)}
<button class="quiet" type="submit" name="decision" value="deny">Do not let it in</button>
</div>
</form>
</section>
<section class="notes">
<h2>What happens then?</h2>
<ul>
<li>The name above is what the program calls itself; it is not verified.</li>
<li>It gets a key of its own, never your password or your provider’s.</li>
<li>Everything it does is listed under Activity, and you can take the key back at any time under Connected apps.</li>
</ul>
</section>`,
  )
}

function access({ trust_types: types, default_trust_type: chosen }: ConsentValues): Html {
  const [only, ...more] = types
  if (only !== undefined && more.length === 0) {
    return html`<input type="hidden" name="trust_type" value="${only.name}">
<p><strong>${only.display_name}</strong><br>${only.description}</p>
${may(only)}`
  }
  return html`<fieldset><legend>What it may do</legend>
${types.map(
  (type) =>
    html`<label class="choice tall"><input type="radio" name="trust_type" value="${type.name}"${type.name === chosen ? html` checked` : ''}> <span><strong>${type.display_name}</strong><small>${type.description}</small></span></label>
${may(type)}`,
)}
</fieldset>`
}

function may({ display_name: name, rights }: OfferedTrustType): Html {
  return html`<details class="fold"><summary>What it may do then<span class="unseen">: ${name}</span></summary>${rightsList(rights)}</details>`
}

function allow({ signed_in_as: owner, oauth_providers: providers }: ConsentValues): Html {
  const others = providers.map(
    ({ name, display_name: shown }) =>
      html`<button${owner === null ? '' : html` class="quiet"`} type="submit" name="provider" value="${name}">${owner === null ? 'Let it in: continue with' : 'Use another account of'} ${shown}</button>`,
  )
  return owner === null
    ? html`${others}`
    : html`<button type="submit" name="decision" value="allow">Let it in</button>${others}`
}
