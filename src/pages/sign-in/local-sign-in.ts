/** The pages of the development provider, in the style of the service. */
import { html } from 'hono/html'
import type { LocalChoice, LocalPages } from '../../sign-in/local/local-server.ts'
import type { PageLanguage } from '../languages/language.ts'
import type { Languages } from '../languages/languages.ts'
import { commonAssets, findAsset } from '../shared/assets.ts'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page } from '../shared/layout.ts'
import { siteValues } from '../shared/site.ts'
import type { Html, SiteValues } from '../shared/values.ts'

/** @param name Name of the application. */
export function localPages(name: string, languages: Languages): LocalPages {
  const site = (language: PageLanguage): SiteValues =>
    siteValues({ basePath: '', identity: { name } }, { ...language, theme: null })
  return {
    choice: async (values, acceptLanguage) => {
      const language = languages.accepted(acceptLanguage)
      return String(await localChoicePage(site(language), values, language))
    },
    ended: async (acceptLanguage) => {
      const language = languages.accepted(acceptLanguage)
      return String(await localEndedPage(site(language), language))
    },
    asset: (file) => findAsset(file, [...languages.ownAssets, ...Object.values(commonAssets)])?.asset ?? null,
  }
}

function localChoicePage(
  site: SiteValues,
  { person, email, isRefused }: LocalChoice,
  { messages }: PageLanguage,
): Html {
  const { frame, testUsers: words, signInErrors } = messages
  return page(
    { ...site, title: isRefused ? frame.errorTitle(words.title) : words.title, messages },
    html`
<section class="card">
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
<form method="post">
<button type="submit" name="email" value="${person.email}">${words.signInAs(person.name)}</button>
</form>
</section>
<section class="card">
<h2>${words.other}</h2>
<form method="post" novalidate>
${formField({
  id: 'email',
  name: 'email',
  label: words.email,
  value: email,
  error: isRefused ? signInErrors.invalidEmail : null,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'email', maxlength: '254' },
})}
<button type="submit">${words.signIn}</button>
</form>
</section>
<section class="notes">
<form method="post"><button type="submit" class="quiet" name="cancel" value="1">${words.cancel}</button></form>
</section>`,
  )
}

function localEndedPage(site: SiteValues, { messages }: PageLanguage): Html {
  const { testUsers: words } = messages
  return page(
    { ...site, title: words.over, messages },
    html`
<section class="card">
<h1>${words.over}</h1>
<p class="lead">${words.overText}</p>
</section>`,
  )
}
