/** Canonical JSON for digests: equal values give the same text, in any order of their members. */
import { createHash } from 'node:crypto'

export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url')
}

/** One text for all equal values. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  // JSON.stringify writes -0 as 0 and infinity as null, so different values would have the same digest.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}
