/**
 * The access map: people and apps at the start, the owner's data at the end, and a ribbon for each access. The same content
 * is a table below it. The style sheet dims the other ribbons while a person or a place is hovered or has the focus.
 */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { avatarMark } from '../shared/avatar.ts'
import type { Html } from '../shared/values.ts'
import { fitText } from './fit-text.ts'
import type { AccessMapValues, MapAccess, MapPerson, MapPlace } from './values.ts'

type Words = Messages['accessMap']

const width = 640
const box = { width: 196, height: 38, inset: 10, mark: 38 }
const top = 22
const pitch = 46
const nameSize = 12.5
const detailSize = 10.5

/** @param direction The picture is mirrored for languages that are written from right to left. */
export function accessMap(map: AccessMapValues, words: Words, direction: 'ltr' | 'rtl'): Html {
  const { people, places, access } = map
  const height = top + Math.max(people.length, places.length) * pitch
  const isMirrored = direction === 'rtl'
  const first = isMirrored ? width - box.width - 1 : 1
  const last = isMirrored ? 1 : width - box.width - 1
  return html`<div class="map-scroll"><svg class="map" viewBox="0 0 ${width} ${height}" role="group" aria-label="${words.title}">
<clipPath id="map-box"><rect x="3" width="${box.width - 6}" height="${box.height}"/></clipPath>
<text x="${isMirrored ? width - 1 : 1}" y="11">${words.people}</text><text x="${isMirrored ? 1 : width - 1}" y="11" text-anchor="end">${words.data}</text>
${access.map((row, person) => row.map((cell, place) => ribbons(cell, { person, place, isMirrored })))}
${people.map((person, index) => personNode(person, { index, x: first, isMirrored }))}
${places.map((place, index) => placeNode(place, { index, x: last, isMirrored }))}
</svg></div>`
}

interface Tie {
  readonly person: number
  readonly place: number
  readonly isMirrored: boolean
}

function ribbons(access: MapAccess, tie: Tie): Html | string {
  if (access === 'none') return ''
  if (access === 'both') return html`${ribbon('run', tie, -3)}${ribbon('ask', tie, 3)}`
  return ribbon(access, tie)
}

/** @param offset Distance from the middle of the boxes, for ribbons side by side. */
function ribbon(kind: MapAccess, { person, place, isMirrored }: Tie, offset = 0): Html {
  const [from, to] = isMirrored ? [width - box.width - 1, box.width + 1] : [box.width + 1, width - box.width - 1]
  const [start, end] = [person, place].map((index) => top + index * pitch + box.height / 2 + offset)
  return html`<path class="${kind} p${person} t${place}" d="M${from} ${start}C${width / 2} ${start} ${width / 2} ${end} ${to} ${end}"/>`
}

interface Spot {
  readonly index: number
  readonly x: number
  readonly isMirrored: boolean
}

function personNode({ peerid, name, detail, href, is_app }: MapPerson, spot: Spot): Html {
  const { index, isMirrored } = spot
  const markX = isMirrored ? box.width - 31 : 7
  return html`<a class="p${index}" href="${href}" transform="${move(spot)}">${frame}<g class="avatar" aria-hidden="true" transform="translate(${markX} 7) scale(.6)">${avatarMark(peerid, name, is_app)}</g>${lines(name, detail, box.mark, isMirrored)}</a>
`
}

function placeNode({ name, detail, href }: MapPlace, spot: Spot): Html {
  const content = html`${frame}${lines(name, detail, box.inset, spot.isMirrored)}`
  return href === ''
    ? html`<g class="t${spot.index}" transform="${move(spot)}">${content}</g>
`
    : html`<a class="t${spot.index}" href="${href}" transform="${move(spot)}">${content}</a>
`
}

const frame = html`<rect width="${box.width}" height="${box.height}"/>`

function move({ index, x }: Spot): string {
  return `translate(${x} ${top + index * pitch})`
}

/** The two lines in a box, with the full texts as its title when a line was cut. @param inset Space before the text. */
function lines(name: string, detail: string, inset: number, isMirrored: boolean): Html {
  const x = isMirrored ? box.width - inset : inset
  const room = box.width - inset - box.inset
  const [shownName, shownDetail] = [fitText(name, room, nameSize), fitText(detail, room, detailSize)]
  const isCut = shownName !== name || shownDetail !== detail
  const title = isCut ? html`<title>${[name, detail].filter((line) => line !== '').join(' · ')}</title>` : ''
  const second = detail === '' ? '' : html` <text x="${x}" y="30">${shownDetail}</text>`
  return html`${title}<text class="name" x="${x}" y="${detail === '' ? 23 : 16}">${shownName}</text>${second}`
}

/** The content of the map as a table, for readers who do not see the picture. */
export function accessTable({ people, places, access }: AccessMapValues, words: Words): Html {
  return html`<details class="fold"><summary>${words.table}</summary>
<div class="table" tabindex="0" role="group" aria-label="${words.title}"><table><thead><tr><th scope="col">${words.people}</th>${places.map(
    ({ name, detail }) => html`<th scope="col">${name}<br>${detail}</th>`,
  )}</tr></thead><tbody>
${people.map(
  ({ name, detail }, row) =>
    html`<tr><th scope="row">${name}<br>${detail}</th>${access[row]?.map((cell) => html`<td>${words[cell]}</td>`)}</tr>
`,
)}</tbody></table></div></details>`
}
