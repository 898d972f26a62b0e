/** The pages of the development provider, in the style of the service. */
import { html } from 'hono/html'
import type { LocalChoice, LocalPages } from '../../sign-in/local/local-server.ts'
import { findAsset } from '../shared/assets.ts'
import { emailAddress, formField } from '../shared/form-field.ts'
import { page } from '../shared/layout.ts'
import type { Html, SiteValues } from '../shared/values.ts'

/** @param name Name of the application. */
export function localPages(name: string): LocalPages {
  const site = { base_path: '', name }
  return {
    choice: async (values) => String(await localChoicePage(site, values)),
    ended: async () => String(await localEndedPage(site)),
    asset: (file) => findAsset(file)?.asset ?? null,
  }
}

function localChoicePage(site: SiteValues, { person, email, isRefused }: LocalChoice): Html {
  return page(
    { ...site, title: `${isRefused ? 'Not done: ' : ''}Sign in locally` },
    html`
<section class="card">
<h1>Sign in locally</h1>
<p class="lead"><strong>For development only.</strong> No password is needed here: choose who you are. In production people sign in with the providers that are configured.</p>
<form method="post">
<button type="submit" name="email" value="${person.email}">Sign in as ${person.name}</button>
</form>
</section>
<section class="card">
<h2>Or be somebody else</h2>
<form method="post" novalidate>
${formField({
  id: 'email',
  name: 'email',
  label: 'E-mail address',
  value: email,
  error: isRefused ? 'This is not an e-mail address.' : null,
  isOnlyMessage: true,
  attributes: { ...emailAddress, type: 'email', maxlength: '254' },
})}
<button type="submit">Sign in</button>
</form>
</section>
<section class="notes">
<form method="post"><button type="submit" class="quiet" name="cancel" value="1">Cancel</button></form>
</section>`,
  )
}

function localEndedPage(site: SiteValues): Html {
  return page(
    { ...site, title: 'Nothing to choose' },
    html`
<section class="card">
<h1>Nothing to choose</h1>
<p class="lead">This sign-in is over, or the service was restarted since. Go back to the service and sign in again.</p>
</section>`,
  )
}
