/** Range requests (RFC 9110 section 14). */
import type { HttpRequest } from '../../../http/edge/request.ts'

export interface Range {
  /** The first byte. */
  readonly start: number
  /** The byte after the last one. */
  readonly end: number
}

/**
 * The part of a representation that the request names. Null: the whole, because the header is absent, malformed, of another
 * unit, names several ranges, or `If-Range` names another version.
 */
export function rangeOf(request: HttpRequest, size: number, tag: string): Range | 'unsatisfiable' | null {
  const header = request.header('range')
  if (header === undefined || request.method !== 'GET') return null
  // A date never matches: the service sends no Last-Modified, whose second may have two versions.
  const condition = request.header('if-range')
  if (condition !== undefined && condition.trim() !== `"${tag}"`) return null
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? []
  if (first === '') return last === '' ? null : lastBytes(Number(last), size)
  const start = Number(first)
  const end = last === '' ? size : Number(last) + 1
  if (end <= start && last !== '') return null
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size) }
}

function lastBytes(count: number, size: number): Range | 'unsatisfiable' {
  const length = Math.min(count, size)
  return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
}
