/** Pictures of people and apps, made of their id and name: the same id always has the same color. */
import { hash } from 'node:crypto'
import { html } from 'hono/html'
import { charactersOf } from '../languages/language-data.ts'
import type { Html } from './values.ts'

/** Backgrounds on which white text has a contrast of at least 5:1. */
const colors = ['#7a2e3a', '#1d5590', '#1b6338', '#5a3d99', '#8a4b00', '#0f6670', '#9c2f6b', '#4c5560'] as const

/**
 * Renders an avatar with initials: a circle for a person, a square for an app. It is decoration beside the name.
 *
 * @param id Decides the color.
 * @param name Gives the initials.
 */
export function avatar(id: string, name: string, isApp = false): Html {
  return html`<svg class="avatar" viewBox="0 0 40 40" aria-hidden="true">${avatarMark(id, name, isApp)}</svg>`
}

/** The shapes of an avatar, in a square of 40 units, for another picture. */
export function avatarMark(id: string, name: string, isApp = false): Html {
  const color = colors[hash('sha256', id, 'buffer').readUInt8(0) % colors.length] ?? colors[0]
  return html`<rect width="40" height="40" rx="${isApp ? 10 : 20}" fill="${color}"/><text x="20" y="25.5">${initialsOf(name)}</text>`
}

/** Returns the first letters of the first and the last word, such as `AL` for `Ada Lovelace` and for `ada.lovelace@…`. */
export function initialsOf(name: string): string {
  const words = (name.split('@')[0] ?? '').split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  const [first = '', ...rest] = words.map((word) => charactersOf(word).next().value ?? '')
  return `${first}${rest.at(-1) ?? ''}`.toUpperCase()
}
