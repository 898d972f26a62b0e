/** Positions as callers write them. */
import { ServiceError } from '../errors.ts'
import { kindOf, stringValue, type JsonText } from '../json/json.ts'

/** A position written as decimal digits; null for anything else. Positions beyond 2^53 are beyond every list. */
export function parseIndex(text: string): number | null {
  return /^[0-9]+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : null
}

/**
 * A position in a JSON value: a whole number, or a string of digits.
 *
 * @throws ServiceError `invalid_index`
 */
export function indexFromJson(value: JsonText): number {
  const written = stringValue(value)
  const index = written !== null ? parseIndex(written) : kindOf(value) === 'number' ? Number(value) : null
  if (index === null) throw refusal()
  return requireIndex(index)
}

/** @throws ServiceError `invalid_index` when the number is negative or not whole. */
export function requireIndex(index: number): number {
  // A whole number that is too big for exact arithmetic is as far beyond the end as any.
  if (Number.isInteger(index) && index >= 0) return Math.min(index, Number.MAX_SAFE_INTEGER) + 0
  throw refusal()
}

/**
 * As `requireIndex`; where the caller asks for it, -1 is the last position, -2 the one before. Null when there is no
 * such position.
 */
export function resolveIndex(index: number, length: number, fromEnd: boolean): number | null {
  const position = fromEnd && index < 0 ? requireIndex(-index) : requireIndex(index)
  const resolved = fromEnd && index < 0 ? length - position : position
  return resolved >= 0 && resolved < length ? resolved : null
}

/** Without the value itself, which is the caller's and would end up in the log. */
function refusal(): ServiceError {
  return new ServiceError('invalid_index', 'An index is a whole number from 0 on')
}
