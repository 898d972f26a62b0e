/** A relative time for people, with the exact time as a tooltip. */
import { html } from 'hono/html'
import type { Html } from './values.ts'

export interface Moment {
  /** ISO 8601, UTC. */
  readonly at: string
  /** `3 minutes ago` or `in 2 hours`; the date for distant times. */
  readonly words: string
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** @param ms Unix milliseconds, like `now`. */
export function momentOf(ms: number, now: number): Moment {
  return { at: new Date(ms).toISOString(), words: wordsOf(ms, now) }
}

function wordsOf(ms: number, now: number): string {
  const distance = Math.abs(now - ms)
  if (distance < minuteMs) return 'just now'
  const span = spanOf(distance)
  if (span === null) return dayOf(new Date(ms))
  return ms < now ? `${span} ago` : `in ${span}`
}

function spanOf(distance: number): string | null {
  if (distance < hourMs) return many(Math.floor(distance / minuteMs), 'minute')
  if (distance < dayMs) return many(Math.floor(distance / hourMs), 'hour')
  return distance < 14 * dayMs ? many(Math.floor(distance / dayMs), 'day') : null
}

function many(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function dayOf(date: Date): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(date)
}

function exactly(at: string): string {
  const date = new Date(at)
  return `${dayOf(date)}, ${at.slice(11, 19)} UTC`
}

/** The date and time as plain text, in UTC. @param ms Unix milliseconds. */
export function exactText(ms: number): string {
  return exactly(new Date(ms).toISOString())
}

export function momentView({ at, words }: Moment): Html {
  return html`<time datetime="${at}" title="${exactly(at)}">${words}</time>`
}

/** Renders a time with seconds, for events within moments of each other. */
export function clockView({ at }: Moment): Html {
  return html`<time datetime="${at}" title="${exactly(at)}">${at.slice(11, 23)}</time>`
}

export function exactView({ at }: Moment): Html {
  return html`<time datetime="${at}">${exactly(at)}</time>`
}
