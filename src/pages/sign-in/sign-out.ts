/** The page that confirms a sign-out requested by another site. */
import { html } from 'hono/html'
import { forgeryField, page, type PageContext } from '../shared/layout.ts'
import type { Html, SignOutValues } from '../shared/values.ts'

export function signOutPage(values: SignOutValues, { messages }: PageContext): Html {
  const { signIn: words } = messages
  const title = words.signOut(values.name)
  return page(
    { ...values, title, messages },
    html`
<section class="card">
<h1>${title}</h1>
<p class="lead">${words.signOutText}</p>
<form method="post" action="${values.base_path}/oauth/logout">${forgeryField(values)}<button class="button" type="submit">${words.signOutButton}</button></form>
</section>`,
  )
}
