/** View of `/<actor>/www/trust`: the actor's relationships, as a picture and as a list. */
import { html } from 'hono/html'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type Navigation } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import { mostInPicture, trustPicture } from './picture.ts'
import type { TrustStanding, TrustListValues, TrustRow } from './values.ts'
import type { Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function trustPage(values: TrustListValues, navigation: Navigation): Html {
  const { trusts, waiting, paging, actor_www } = values
  return actorPage(
    values,
    { title: 'Relationships', section: '/trust', navigation },
    html`
<h1>Relationships</h1>
<p class="lead">Other actors and apps that you know. Each may do what you allow, and nothing else.</p>
<p class="actions"><a class="button" href="${actor_www}/trust/new">Ask for a relationship</a></p>
${following(
  'relationships',
  ['trust'],
  html`
${waiting.length === 0 ? '' : waits(waiting)}
${
  paging.total === 0
    ? html`<p class="empty">You have no connections yet. Ask somebody, or give them your address.</p>`
    : html`
<section class="card stage" aria-labelledby="all">
<h2 id="all">${count(paging.total, 'relationship')}</h2>
${trustPicture(trusts)}
${paging.total > mostInPicture ? html`<p class="fine">The picture shows the last ${mostInPicture} that were in touch.</p>` : ''}
</section>
<ul class="rows">${trusts.map(row)}</ul>`
}`,
)}
${pager(paging, 'Parts of the list', `${actor_www}/trust`)}`,
  )
}

function waits(waiting: readonly TrustRow[]): Html {
  return html`<section class="card urgent" aria-labelledby="waiting">
<h2 id="waiting">${waiting.length === 1 ? 'Somebody waits for you' : `${waiting.length} wait for you`}</h2>
<ul class="plain">${waiting.map(
    ({ peer, desc, relationship_name }) =>
      html`<li><p><strong>${peer.name}</strong> asks for the relationship “${relationship_name}”${
        desc === '' ? '.' : html`: <q>${desc}</q>`
      }</p><p class="actions"><a class="button" href="${peer.href}">Decide about ${peer.name}</a></p></li>`,
  )}</ul></section>`
}

function row({
  peer,
  standing,
  standing_word,
  relationship_name,
  last_contact,
  has_custom_permissions,
}: TrustRow): Html {
  return html`<li><div class="row-head"><a href="${peer.href}">${peer.name}</a>${badge(standing, standing_word)}</div>
<p class="kind">${[
    peer.is_app ? 'App' : peer.host,
    relationship_name,
    ...(has_custom_permissions ? ['with rights of your own choice'] : []),
  ]
    .filter((text) => text !== '')
    .join(' · ')} · last contact ${momentView(last_contact)}</p></li>
`
}

/** Marks the standing by a symbol besides the color, for people who do not see colors. */
export function badge(standing: TrustStanding, text: string): Html {
  return html`<span class="badge ${standing}"><svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">${marks[standing]}</svg> ${text}</span>`
}

const marks: Readonly<Record<TrustStanding, Html>> = {
  waiting: html`<path class="full" d="M10 0 20 10 10 20 0 10z"/>`,
  asked: html`<circle cx="10" cy="10" r="8" stroke-dasharray="4 4"/>`,
  'approved-here': html`<circle cx="10" cy="10" r="8"/>`,
  mutual: html`<circle cx="10" cy="10" r="8"/><circle class="full" cx="10" cy="10" r="4.5"/>`,
}
