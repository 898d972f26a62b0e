/** The pages between the owner's decision and the client. They have no form, so no policy for forms applies to what follows. */
import { html } from 'hono/html'
import type { Presentation } from '../languages/language.ts'
import { page } from '../shared/layout.ts'
import type { Html, SiteValues } from '../shared/values.ts'

/** @param target The redirect URI of the client with the response. @param shown The target for people. */
export function leavingPage(
  site: SiteValues,
  { messages }: Pick<Presentation, 'messages'>,
  { target, shown }: { readonly target: string; readonly shown: string },
): Html {
  const { consent: words } = messages
  return page(
    { ...site, title: words.leaving, messages },
    html`
<section class="card">
<h1>${words.leaving}</h1>
<p class="lead" role="status">${words.leavingText}</p>
<p><a class="button" href="${target}">${words.continueTo(shown)}</a></p>
</section>`,
  )
}

/** @param site The site of the client, where the owner begins again. Null for a program. */
export function decidedPage(
  site: SiteValues,
  { messages }: Pick<Presentation, 'messages'>,
  client: { readonly target: string; readonly shown: string } | null,
): Html {
  const { consent: words } = messages
  return page(
    { ...site, title: words.decided, messages },
    html`
<section class="card">
<h1>${words.decided}</h1>
<p class="lead" role="status">${words.decidedText}</p>
${client === null ? '' : html`<p><a class="button" href="${client.target}">${words.continueTo(client.shown)}</a></p>`}
</section>`,
  )
}
