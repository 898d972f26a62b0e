/** View of `/<actor>/www/trust`: the actor's relationships, as a picture and as a list. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import { connectionStyle } from './style.ts'
import { mostInPicture, trustPicture } from './picture.ts'
import type { TrustStanding, TrustListValues, TrustRow } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['connections']

export function trustPage(values: TrustListValues, context: PageContext): Html {
  const { trusts, waiting, paging, actor_www } = values
  const { messages } = context
  const words = messages.connections
  return actorPage(
    values,
    { ...context, title: words.title, section: '/trust', styles: [connectionStyle] },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
<p class="actions"><a class="button" href="${actor_www}/trust/new">${words.connect}</a><a class="button quiet" href="${actor_www}/trust/invite">${words.invite}</a></p>
${following(
  'relationships',
  ['trust'],
  html`
${waiting.length === 0 ? '' : waits(waiting, words)}
${
  paging.total === 0
    ? html`<p class="empty">${words.empty}</p>`
    : html`
<section class="card stage" aria-labelledby="all">
<h2 id="all">${words.total(paging.total)}</h2>
${trustPicture(trusts, words.you)}
${paging.total > mostInPicture ? html`<p class="fine">${words.inPicture(mostInPicture)}</p>` : ''}
</section>
<ul class="rows">${trusts.map((trust) => row(trust, words))}</ul>`
}`,
)}
${pager(paging, `${actor_www}/trust`, messages)}`,
  )
}

function waits(waiting: readonly TrustRow[], words: Words): Html {
  return html`<section class="card urgent" aria-labelledby="waiting">
<h2 id="waiting">${words.pending(waiting.length)}</h2>
<ul class="plain">${waiting.map(
    ({ peer, desc, relationship_name }) =>
      html`<li><p>${words.wants(peer.name, relationship_name)}${desc === '' ? '' : html` <q>${desc}</q>`}</p><p class="actions"><a class="button" href="${peer.href}">${words.review(peer.name)}</a></p></li>`,
  )}</ul></section>`
}

function row(
  { peer, standing, standing_word, relationship_name, last_contact, has_custom_permissions }: TrustRow,
  words: Words,
): Html {
  return html`<li><div class="row-head"><a href="${peer.href}">${peer.name}</a>${badge(standing, standing_word)}</div>
<p class="kind">${[
    peer.is_app ? words.app : peer.host,
    relationship_name,
    ...(has_custom_permissions ? [words.customAccess] : []),
  ]
    .filter((text) => text !== '')
    .join(' · ')} · ${words.active(momentView(last_contact))}</p></li>
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
