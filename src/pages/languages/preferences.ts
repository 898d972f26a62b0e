/**
 * The language, theme and time zone that a person chose for the pages. The browser keeps them in cookies, so that they also
 * apply to pages before the sign-in.
 */
import { cookieOf } from '../../http/edge/cookies/cookies.ts'
import type { RequestHead } from '../../http/edge/request.ts'
import type { Messages, Theme } from './language.ts'

export interface Preferences {
  /** BCP 47 tag. Null: a language that the browser accepts. */
  readonly language: string | null
  readonly theme: Theme | null
  /** Name in the IANA database. Null: UTC. */
  readonly timeZone: string | null
}

export const themes: readonly Theme[] = ['light', 'dark']

/** The time zones to choose from. */
export const timeZones: readonly string[] = [
  'UTC',
  ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC'),
]

const knownTimeZones: ReadonlySet<string> = new Set(timeZones)

export function themeNamed(text: string): Theme | null {
  return themes.find((theme) => theme === text) ?? null
}

export function isTimeZone(text: string): boolean {
  return knownTimeZones.has(text)
}

/** Reads the cookies. A value that the service does not know counts as none. */
export function preferencesOf(request: RequestHead): Preferences {
  const timeZone = cookieOf(request, cookieNames.timeZone) ?? ''
  return {
    language: cookieOf(request, cookieNames.language),
    theme: themeNamed(cookieOf(request, cookieNames.theme) ?? ''),
    timeZone: isTimeZone(timeZone) ? timeZone : null,
  }
}

const cookieNames = { language: '__Host-language', theme: '__Host-theme', timeZone: '__Host-time-zone' } as const
const cookieSeconds = 365 * 24 * 60 * 60

/** The `Set-Cookie` values by which a browser keeps the preferences for a year. */
export function preferenceCookies({ language, theme, timeZone }: Preferences): readonly string[] {
  return [
    cookie(cookieNames.language, language),
    cookie(cookieNames.theme, theme),
    cookie(cookieNames.timeZone, timeZone),
  ]
}

/** @param value Null deletes the cookie. */
function cookie(name: string, value: string | null): string {
  return `${name}=${value ?? ''}; Max-Age=${value === null ? 0 : cookieSeconds}; Path=/; Secure; HttpOnly; SameSite=Lax`
}

/** The messages with times in a time zone. An application's own language may ignore the zone. */
export function inTimeZone(messages: Messages, timeZone: string | null): Messages {
  if (timeZone === null) return messages
  const { time } = messages
  return {
    ...messages,
    time: {
      ...time,
      date: (at) => time.date(at, timeZone),
      day: (at) => time.day(at, timeZone),
      exact: (at) => time.exact(at, timeZone),
    },
  }
}
