/** The page that confirms a sign-out requested by another site. */
import { html } from 'hono/html'
import { forgeryField, page } from '../shared/layout.ts'
import type { Html, SignOutValues } from '../shared/values.ts'

export function signOutPage(values: SignOutValues): Html {
  return page(
    { ...values, title: 'Sign out?' },
    html`
<section class="card">
<h1>Sign out?</h1>
<p class="lead">Another site sent you here. Nothing happens unless you press the button.</p>
<form method="post" action="${values.base_path}/oauth/logout">${forgeryField(values)}<button class="button" type="submit">Sign out</button></form>
</section>`,
  )
}
