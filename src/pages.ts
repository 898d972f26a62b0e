/**
 * `troupe/pages`: the values that pages receive, for an application that replaces built-in pages.
 *
 * @example
 * ```ts
 * import { html } from 'troupe'
 * import type { Html, PageValues } from 'troupe/pages'
 *
 * export function dashboard({ creator }: PageValues<'dashboard'>): Html {
 *   return html`<h1>${creator}</h1>`
 * }
 * ```
 */
export type { OwnPages, Pages, PageValues } from './features/pages.ts'
export type { ActorPageValues, Html, SiteValues } from './pages/shared/values.ts'
export type { ConsoleOptions, MessageOverrides, Messages } from './pages/languages/language.ts'
export type { EnglishNoun } from './pages/languages/english.ts'
export type { GermanNoun } from './pages/languages/german-noun.ts'
