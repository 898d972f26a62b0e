/** The actor's record and the rules for its id and creator. */
import { ServiceError } from '../errors.ts'
import type { Sealed } from '../secret/sealed.ts'
import { parseAddress } from './address.ts'

export interface Actor {
  readonly id: string
  readonly creator: string
  readonly passphrase: Sealed
  readonly trusteeRoot: string | null
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Unix milliseconds; until then attempts at its credentials are looked at closely (`rate-limit/failed-attempts.ts`). */
  readonly guardedUntil: number
}

export const defaultCreator = 'creator'

/** First path segments that are not actors: an id never shadows one of them. */
const routeWords = new Set([
  'oauth',
  'mcp',
  'login',
  'callbacks',
  'bot',
  'health',
  'metrics',
  'static',
  'assets',
  'docs',
  'redoc',
  'events',
  'services',
  'app',
  'www',
])

/**
 * An id that code chose: letters, digits, `-` and `_`, so that one spelling of a path names it and no dot or percent
 * sign can turn it into another.
 */
export function parseActorId(text: string): string | null {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text) && !routeWords.has(text.toLowerCase()) ? text : null
}

/** An e-mail address is brought into its one spelling; nothing given means the default creator. */
export function normaliseCreator(text: string | undefined): string {
  const trimmed = text?.trim() ?? ''
  if (trimmed === '') return defaultCreator
  if (trimmed.length > 512 || /\p{Cc}/u.test(trimmed) || !trimmed.isWellFormed()) {
    throw new ServiceError(
      'invalid_value',
      'Cannot use this creator: it must be at most 512 characters without control characters',
    )
  }
  return parseAddress(trimmed) ?? (trimmed.includes('@') ? trimmed.toLowerCase() : trimmed)
}
