/** Range requests (RFC 9110 section 14). */
import type { HttpRequest } from '../../edge/request.ts'

/**
 * The part of a representation that the request names: its first byte, and the byte after its last one. Null: the whole, because
 * the header is absent, malformed, of another unit, names several ranges, or `If-Range` names another version.
 */
export function rangeOf(
  request: HttpRequest,
  size: number,
  tag: string,
): { readonly start: number; readonly end: number } | 'unsatisfiable' | null {
  const header = request.header('range')
  if (header === undefined || request.method !== 'GET') return null
  const condition = request.header('if-range')
  // A date never matches: the service sends no Last-Modified, whose second may have two versions.
  if (condition !== undefined && condition.trim() !== `"${tag}"`) return null
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? []
  if (first === '' && last === '') return null
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}
