/** The picture of the relationships: the actor in the middle, the peers around it. The list contains the same information. */
import { html } from 'hono/html'
import type { TrustStanding, TrustRow } from './values.ts'
import type { Html } from '../shared/values.ts'

const width = 400
const height = 380
const middle = { x: width / 2, y: height / 2 }
const ring = { x: 92, y: 128 }
/** Maximum number of peers, because more would overlap. */
export const maxInPicture = 12
const longestLabel = 13

interface Place {
  readonly x: number
  readonly y: number
  /** Text anchor of the label, on the outer side. */
  readonly anchor: 'start' | 'middle' | 'end'
  readonly labelX: number
  readonly labelY: number
}

/** Returns evenly spaced places on a circle, the first one on top. */
function peerPlaces(count: number): readonly Place[] {
  return Array.from({ length: count }, (_, index) => {
    const angle = (index / count) * 2 * Math.PI - Math.PI / 2
    const [across, down] = [round(Math.cos(angle)), round(Math.sin(angle))]
    const x = round(middle.x + ring.x * across)
    const y = round(middle.y + ring.y * down)
    const anchor = Math.abs(across) < 0.1 ? 'middle' : across > 0 ? 'start' : 'end'
    return {
      x,
      y,
      anchor,
      labelX: anchor === 'middle' ? x : x + (anchor === 'start' ? 20 : -20),
      labelY: anchor !== 'middle' ? y - 2 : down < 0 ? y - 38 : y + 32,
    }
  })
}

/** @param you Label of the owner. */
export function trustPicture(trusts: readonly TrustRow[], you: string): Html {
  const shown = trusts.slice(0, maxInPicture)
  const places = peerPlaces(shown.length)
  const placed = shown.flatMap((trust, index) => {
    const place = places[index]
    return place === undefined ? [] : [{ trust, place }]
  })
  return html`<svg class="picture" viewBox="0 0 ${width} ${height}" aria-hidden="true" focusable="false">
${placed.map(({ trust, place }) => line(trust.standing, place))}
<circle class="node you" cx="${middle.x}" cy="${middle.y}" r="27"/>
<text class="you-label" x="${middle.x}" y="${middle.y + 5}" text-anchor="middle">${you}</text>
${placed.map(({ trust, place }) => node(trust, place))}
</svg>`
}

/** Draws a line: solid when both sides approved, dashed for one, dotted for none. */
function line(standing: TrustStanding, { x, y }: Place): Html {
  return html`<line class="tie ${standing}" x1="${middle.x}" y1="${middle.y}" x2="${x}" y2="${y}"/>`
}

function node({ peer, standing, standing_word }: TrustRow, place: Place): Html {
  const name = peer.name.length > longestLabel ? `${peer.name.slice(0, longestLabel - 1).trimEnd()}…` : peer.name
  const { anchor, labelX, labelY } = place
  return html`<a href="${peer.href}" tabindex="-1"><title>${peer.name}</title>${shape(standing, peer.is_app, place)}
<text class="name" x="${labelX}" y="${labelY}" text-anchor="${anchor}">${name}</text>
<text class="standing" x="${labelX}" y="${labelY + 17}" text-anchor="${anchor}">${standing_word}</text></a>`
}

/** Draws a peer: a ring in a circle is mutual, a diamond waits, a dashed outline was requested; apps are squares. */
function shape(standing: TrustStanding, isApp: boolean, { x, y }: Place): Html {
  const classes = `node ${standing}`
  if (standing === 'waiting') {
    const points = `${x},${y - 16} ${x + 16},${y} ${x},${y + 16} ${x - 16},${y}`
    return html`<polygon class="${classes}" points="${points}"/><text class="mark" x="${x}" y="${y + 5}" text-anchor="middle">!</text>`
  }
  if (isApp)
    return html`<rect class="${classes}" x="${x - 12}" y="${y - 12}" width="24" height="24" rx="6"/><rect class="core ${standing}" x="${x - 6}" y="${y - 6}" width="12" height="12" rx="3"/>`
  const core = standing === 'mutual' ? html`<circle class="core mutual" cx="${x}" cy="${y}" r="8"/>` : ''
  return html`<circle class="${classes}" cx="${x}" cy="${y}" r="13"/>${core}`
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
