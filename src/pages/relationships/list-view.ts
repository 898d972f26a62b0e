/** View of `/<actor>/www/trust`: the actor's relationships, as a picture and as a list. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { listingStyle } from '../listing/style.ts'
import { filterView, searchForm, sortedHeading } from '../listing/view.ts'
import { avatar } from '../shared/avatar.ts'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import { connectionStyle } from './style.ts'
import { maxInPicture, trustPicture } from './picture.ts'
import type { TrustStanding, TrustListValues, TrustRow } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['connections']

export function trustPage(values: TrustListValues, context: PageContext): Html {
  const { waiting, paging } = values
  const { messages } = context
  const words = messages.connections
  return actorPage(
    values,
    { ...context, title: words.title, section: '/trust', styles: [listingStyle, connectionStyle] },
    html`
<div class="head"><h1>${words.title}</h1>
${values.connection_count === 0 ? '' : searchForm(`${values.actor_www}/trust`, values.search, words.searchLabel, messages)}</div>
<p class="lead">${words.text}</p>
<p class="actions"><a class="button" href="${values.actor_www}/trust/new">${words.connect}</a>${context.invitesAt === null ? '' : html`<a class="button quiet" href="${values.actor_www}${context.invitesAt}">${words.invite}</a>`}${values.is_group && context.membersAt !== null ? html`<a class="button quiet" href="${values.actor_www}${context.membersAt}">${messages.membership.title}</a>` : ''}</p>
${following('relationships', ['trust'], html`${waiting.length === 0 ? '' : waits(waiting, words)}${listing(values, messages)}`)}
${pager(paging, values.address, messages)}
${following('picture', ['trust'], html`${picture(values, words)}`)}`,
  )
}

function listing(values: TrustListValues, messages: Messages): Html {
  const { trusts, kinds, columns, connection_count, actor_www } = values
  const words = messages.connections
  if (connection_count === 0) return html`<p class="empty">${words.empty}</p>`
  return html`${filterView(words.kindFilter, kinds, messages)}
${
  trusts.length === 0
    ? html`<p class="empty">${words.noMatch} <a href="${actor_www}/trust">${words.showAll}</a></p>`
    : html`<div class="table connections" role="region" aria-label="${words.title}" tabindex="0"><table><thead><tr>${columns.map((column) => sortedHeading(column, words.columns))}</tr></thead>
<tbody>${trusts.map((trust) => row(trust, words))}</tbody></table></div>`
}`
}

function picture({ latest, connection_count }: TrustListValues, words: Words): Html | string {
  if (connection_count === 0) return ''
  return html`<section class="card stage" aria-labelledby="picture-title">
<h2 id="picture-title">${words.latest}</h2>
${trustPicture(latest, words.you)}
${connection_count > maxInPicture ? html`<p class="fine">${words.inPicture(maxInPicture)}</p>` : ''}
</section>`
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
  return html`<tr><th scope="row"><div class="who">${avatar(peer.peerid, peer.name, peer.is_app)}<div><a href="${peer.href}">${peer.name}</a> <span class="kind">${peer.is_app ? words.app : peer.host}</span></div></div></th><td>${relationship_name}${has_custom_permissions ? html` <span class="badge">${words.customAccess}</span>` : ''}</td><td>${badge(standing, standing_word)}</td><td>${momentView(last_contact)}</td></tr>
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
