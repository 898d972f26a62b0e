/** Parses list positions that callers send. */
import { ServiceError } from '../errors.ts'
import { kindOf, stringValue, type JsonText } from '../json/json.ts'

/** A position in decimal digits. Null for any other string. Positions beyond 2^53 are beyond the end of every list. */
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

/** @throws ServiceError `invalid_index` when the number is negative or not an integer. */
export function requireIndex(index: number): number {
  // Integers beyond exact arithmetic are beyond the end of every list.
  if (Number.isInteger(index) && index >= 0) return Math.min(index, Number.MAX_SAFE_INTEGER) + 0
  throw refusal()
}

/**
 * The position for an index, or null when the position does not exist. With `fromEnd`, -1 is the last position and -2
 * the position before it.
 *
 * @throws ServiceError `invalid_index`
 */
export function resolveIndex(index: number, length: number, fromEnd: boolean): number | null {
  const position = fromEnd && index < 0 ? requireIndex(-index) : requireIndex(index)
  const resolved = fromEnd && index < 0 ? length - position : position
  return resolved >= 0 && resolved < length ? resolved : null
}

/** The message omits the value, because caller data must not enter the log. */
function refusal(): ServiceError {
  return new ServiceError('invalid_index', 'Invalid index: expected a whole number of at least 0')
}
