/** The front page: sign in, or create an actor. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page, type PageContext } from '../shared/layout.ts'
import type { FactoryValues, Html, SignInProvider } from '../shared/values.ts'

type Words = Messages['front']

export function factoryPage(values: FactoryValues, { messages }: PageContext): Html {
  const { front: words } = messages
  const title = titleOf(values, words)
  return page(
    { ...values, title, messages },
    html`
<section class="card">
<h1>${title}</h1>
${values.description === '' ? '' : html`<p class="lead">${values.description}</p>`}
${values.notice === null ? '' : html`<p class="notice" role="status">${values.notice}</p>`}
${values.is_continuing && values.oauth_enabled ? html`<p>${words.continueToPage}</p>` : ''}
${values.error === null || !values.oauth_enabled ? '' : html`<p class="error" role="alert">${values.error}</p>`}
${values.password_url === null ? '' : html`<p><a class="button" href="${values.password_url}">${words.withPassphrase}</a></p>`}
${values.oauth_enabled ? providers(values, words) : values.is_creation_open ? form(values, words) : closed(values, words)}
${values.continue_url === null || values.signed_in_as === null ? '' : html`<p><a href="${values.continue_url}">${words.continueAs(values.signed_in_as)}</a></p>`}
</section>
<section class="notes">
<h2>${words.about}</h2>
<p>${words.aboutText(values.name)}</p>
<ul>
<li>${words.isPrivate}</li>
<li>${words.isConnected}</li>
<li>${words.isErasable}</li>
</ul>
<p>${words.developers(`${values.base_path}/openapi.json`)}</p>
</section>`,
  )
}

function titleOf({ name, oauth_enabled, is_creation_open }: FactoryValues, words: Words): string {
  return oauth_enabled || !is_creation_open ? words.signIn(name) : words.create
}

function closed({ error }: FactoryValues, words: Words): Html {
  return html`${error === null ? '' : html`<p class="error" role="alert">${error}</p>`}
<p>${words.closed}</p>`
}

function providers(values: FactoryValues, words: Words): Html {
  return html`<ul class="providers">${values.oauth_providers.map(
    (provider) => html`<li><a class="button" href="${provider.url}">${buttonOf(provider, words)}</a></li>`,
  )}</ul>`
}

function buttonOf({ name, display_name: shown }: SignInProvider, words: Words): string {
  return name === 'local' ? words.continueAsTestUser : words.continueWith(shown)
}

function form(values: FactoryValues, words: Words): Html {
  return html`<form method="post" action="${values.base_path}/">
${formField({
  id: 'creator',
  name: 'creator',
  label: words.email,
  value: values.creator,
  error: values.error,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'text', inputmode: 'email', maxlength: '512' },
})}
<button type="submit">${words.createButton}</button>
</form>`
}
