/** The actor's record and the rules for its id and creator. */
import { ServiceError } from '../errors.ts'
import { isReservedId } from '../permission/reserved-ids.ts'
import type { Sealed } from '../secret/sealed.ts'
import { isCompatibilityForm, lowerAscii, parseAddress, trimAscii } from './address.ts'

export interface Actor {
  readonly id: string
  readonly creator: string
  readonly passphrase: Sealed
  readonly trusteeRoot: string | null
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Unix milliseconds. Until then, failed attempts in the store are checked too (`rate-limit/failed-attempts.ts`). */
  readonly guardedUntil: number
  /** Chooses the declarations of the application: `person`, or a name of `App.kind`. It never changes. */
  readonly kind: string
}

export const defaultCreator = 'creator'

/** The creator of an actor that is of no person. No identity of a person has this form, so no person signs in to it. */
export function creatorOfKind({ id, kind }: Pick<Actor, 'id' | 'kind'>): string {
  return `${kind}/${id}`
}

/** First path segments of routes. An actor id must not be one of them. */
const routeWords = new Set([
  'admin',
  'oauth',
  'mcp',
  'login',
  'callbacks',
  'moves',
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

const longestWord = Math.max(...[...routeWords].map(({ length }) => length))

/** Checks an id that code chose. It has only letters, digits, `-` and `_`, so exactly one spelling of a path names it. */
export function parseActorId(text: string): string | null {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text)) return null
  if (isReservedId(text)) return null
  return text.length <= longestWord && routeWords.has(text.toLowerCase()) ? null : text
}

/**
 * Normalizes an e-mail address. An empty string means the default creator.
 *
 * @throws ServiceError `invalid_value`, also for an address that differs from another one only in compatibility letters.
 */
export function normalizeCreator(text: string | undefined): string {
  const trimmed = trimAscii(text ?? '')
  if (trimmed === '') return defaultCreator
  if (trimmed.length > 512 || /\p{Cc}/u.test(trimmed) || !trimmed.isWellFormed()) {
    throw new ServiceError(
      'invalid_value',
      'Cannot use this creator: it must be at most 512 characters without control characters',
    )
  }
  if (isCompatibilityForm(trimmed) && trimmed.normalize('NFKC').includes('@')) {
    throw new ServiceError(
      'invalid_value',
      'Cannot use this creator: the address has letters of another form, such as full-width letters. Write it with ordinary letters',
    )
  }
  return parseAddress(trimmed) ?? (trimmed.includes('@') ? lowerAscii(trimmed) : trimmed)
}
