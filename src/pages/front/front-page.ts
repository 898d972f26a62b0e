/** The front page: sign in, or create an actor. */
import { html } from 'hono/html'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page } from '../shared/layout.ts'
import type { FactoryValues, Html } from '../shared/values.ts'

export function factoryPage(values: FactoryValues): Html {
  return page(
    { ...values, title: titleOf(values) },
    html`
<section class="card">
<h1>${titleOf(values)}</h1>
${values.description === '' ? '' : html`<p class="lead">${values.description}</p>`}
${values.notice === null ? '' : html`<p class="notice" role="status">${values.notice}</p>`}
${values.is_continuing && values.oauth_enabled ? html`<p>Sign in to continue to the page that you opened.</p>` : ''}
${values.error === null || !values.oauth_enabled ? '' : html`<p class="error" role="alert">${values.error}</p>`}
${values.password_url === null ? '' : html`<p><a class="button" href="${values.password_url}">Sign in with your passphrase</a></p>`}
${values.oauth_enabled ? providers(values) : values.is_creation_open ? form(values) : closed(values)}
${values.continue_url === null ? '' : html`<p><a href="${values.continue_url}">Continue as ${values.signed_in_as}</a></p>`}
</section>
<section class="notes">
<h2>What is an actor?</h2>
<p>Your own corner of this service: an address of its own, with your data, your relationships and your rules about who may see what.</p>
<ul>
<li>Only you, and those you allow, can read or change it.</li>
<li>Other actors, phones and AI assistants reach it through one set of rules.</li>
<li>Delete it, and everything in it is gone.</li>
</ul>
<p>Programs begin with the <a href="${values.base_path}/openapi.json">description of the API</a>.</p>
</section>`,
  )
}

function titleOf({ oauth_enabled, is_creation_open }: FactoryValues): string {
  return oauth_enabled || !is_creation_open ? 'Sign in' : 'Create your actor'
}

function closed({ error }: FactoryValues): Html {
  return html`${error === null ? '' : html`<p class="error" role="alert">${error}</p>`}
<p>Actors are created by the application of this service.</p>`
}

function providers(values: FactoryValues): Html {
  return html`<ul class="providers">${values.oauth_providers.map(
    (provider) => html`<li><a class="button" href="${provider.url}">Continue with ${provider.display_name}</a></li>`,
  )}</ul>`
}

function form(values: FactoryValues): Html {
  return html`<form method="post" action="${values.base_path}/">
${formField({
  id: 'creator',
  name: 'creator',
  label: 'Your e-mail address',
  value: values.creator,
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'text', inputmode: 'email', maxlength: '512' },
})}
<button type="submit">Create actor</button>
</form>`
}
