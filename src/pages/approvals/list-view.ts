/** `/<actor>/www/approvals`: calls that wait for the owner's approval. */
import { html } from 'hono/html'
import type { ApprovalsValues } from './values.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

export function approvalsPage(values: ApprovalsValues, context: PageContext): Html {
  const { approvals } = values
  const { messages } = context
  const words = messages.approvals
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/apps',
      trail: [{ text: messages.navigation.apps, href: `${values.actor_www}/apps` }],
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${following(
  'approvals',
  ['approvals'],
  approvals.length === 0
    ? html`<p class="empty">${words.empty}</p>`
    : html`<ul class="rows">${approvals.map(
        ({ href, title, peer, asked, expires }) =>
          html`<li><div class="row-head"><a href="${href}">${title}</a><span class="kind">${words.requested(momentView(asked), momentView(expires))}</span></div><p class="kind">${words.requestedBy(peer.name)}</p></li>`,
      )}</ul>`,
)}`,
  )
}
