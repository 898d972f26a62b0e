/** `/<actor>/www/approvals`: calls that wait for the owner's approval. */
import { html } from 'hono/html'
import type { ApprovalsValues } from './values.ts'
import { actorPage, following, type Navigation } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

export function approvalsPage(values: ApprovalsValues, navigation: Navigation): Html {
  const { approvals } = values
  return actorPage(
    values,
    {
      title: 'Waiting for your yes',
      section: '/apps',
      navigation,
      trail: [{ text: 'Connected apps', href: `${values.actor_www}/apps` }],
    },
    html`
<h1>Waiting for your yes</h1>
<p class="lead">Some things an app or a peer may do only when you approve, each time.</p>
${following(
  'approvals',
  ['approvals'],
  approvals.length === 0
    ? html`<p class="empty">Nothing waits for you.</p>`
    : html`<ul class="rows">${approvals.map(
        ({ href, title, peer, asked, expires }) =>
          html`<li><div class="row-head"><a href="${href}">${title}</a><span class="kind">asked ${momentView(asked)}, ends ${momentView(expires)}</span></div><p class="kind">${peer.name} wants to do this</p></li>`,
      )}</ul>`,
)}`,
  )
}
