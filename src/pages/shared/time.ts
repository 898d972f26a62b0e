/** A relative time for people, with the exact time as a tooltip. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import type { Html } from './values.ts'

export interface Moment {
  /** ISO 8601, UTC. */
  readonly at: string
  /** `3 minutes ago` or `in 2 hours`; the date for distant times. */
  readonly words: string
  /** The date and the time in the chosen time zone, such as `22 Nov 2026, 07:08:37 UTC`. */
  readonly exact: string
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const maxDays = 14

/** @param ms Unix milliseconds, like `now`. */
export function momentOf(ms: number, now: number, { time }: Pick<Messages, 'time'>): Moment {
  const date = new Date(ms)
  return { at: date.toISOString(), words: wordsOf(ms, now, time), exact: time.exact(date) }
}

function wordsOf(ms: number, now: number, time: Messages['time']): string {
  const distance = Math.abs(now - ms)
  const signed = (unitMs: number): number => Math.floor(distance / unitMs) * (ms < now ? -1 : 1)
  if (distance < minuteMs) return time.justNow
  if (distance < hourMs) return time.relative(signed(minuteMs), 'minute')
  if (distance < dayMs) return time.relative(signed(hourMs), 'hour')
  return distance < maxDays * dayMs ? time.relative(signed(dayMs), 'day') : time.date(new Date(ms))
}

export function momentView({ at, words, exact }: Moment): Html {
  return html`<time datetime="${at}" title="${exact}">${words}</time>`
}

export function exactView({ at, exact }: Moment): Html {
  return html`<time datetime="${at}">${exact}</time>`
}
