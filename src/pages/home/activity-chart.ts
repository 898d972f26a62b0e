/** A bar for the requests of each day, with the denied ones in another color. The same content is a table for screen readers. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import type { Html } from '../shared/values.ts'
import type { ActivityDay } from './values.ts'

const width = 280
const height = 64
const gap = 6

/** @param direction The first day is at the start of the line. */
export function activityChart(days: readonly ActivityDay[], words: Messages['home'], direction: 'ltr' | 'rtl'): Html {
  const most = Math.max(1, ...days.map(({ requests }) => requests))
  const pitch = width / Math.max(1, days.length)
  const bars = days.map(({ requests, denied }, index) => {
    const x = round((direction === 'rtl' ? days.length - 1 - index : index) * pitch)
    return html`${bar('', { x, width: pitch - gap, height: (requests / most) * height })}${bar('denied', { x, width: pitch - gap, height: (denied / most) * height })}`
  })
  return html`<svg class="bars" viewBox="0 0 ${width} ${height + 1}" aria-hidden="true">${bars}<path d="M0 ${height + 0.5}H${width}"/></svg>
<p class="ends"><span>${days[0]?.words}</span><span>${days.at(-1)?.words}</span></p>
<div class="unseen"><table><caption>${words.chart}</caption><tr><td><th scope="col">${words.requested}<th scope="col">${words.denied}${days.map(
    (day) => html`<tr><th scope="row">${day.words}<td>${day.requests}<td>${day.denied}`,
  )}</table></div>`
}

interface Bar {
  readonly x: number
  readonly width: number
  readonly height: number
}

/** Shows at least 2 units for a day with a request, because a thinner bar is hard to see. */
function bar(kind: string, of: Bar): Html | string {
  if (of.height === 0) return ''
  const tall = round(Math.max(2, of.height))
  return html`<rect${kind === '' ? '' : html` class="${kind}"`} x="${of.x}" y="${round(height - tall)}" width="${round(of.width)}" height="${tall}" rx="2"/>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
