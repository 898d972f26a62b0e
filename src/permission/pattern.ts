/**
 * Patterns in rules. `*` matches any characters including slashes, `?` matches one. Patterns are case-sensitive. Patterns and
 * targets are compared in the Unicode form NFC, so that no spelling of a name evades a rule.
 */
import { toNfc } from '../json/nfc.ts'

/**
 * True when a pattern covers a target. A pattern that ends in `://` covers every target with this prefix. A pattern that
 * ends in `/*` also covers the name before the slash, because the parent contains everything below it.
 */
export function covers(pattern: string, target: string): boolean {
  return coversAsWritten(toNfc(pattern), toNfc(target))
}

/**
 * Like `covers`, but also compares the target as it is written: `cafe*` also excludes an old name that begins with these letters
 * and a combining accent. It also compares addresses whose letters are percent-encoded, in any Unicode form and in either case.
 * Use it for what excludes, because a change of forms must not open anything.
 */
export function coversInAnyForm(pattern: string, target: string): boolean {
  if (covers(pattern, target) || (toNfc(target) !== target && coversAsWritten(pattern, target))) return true
  return (encodedByte.test(pattern) || encodedByte.test(target)) && covers(readable(pattern), readable(target))
}

/** A percent-encoded byte of a character outside of ASCII. Inside, the encoding has a meaning: `%2F` is not a separator. */
const encodedByte = /(%[89a-f][0-9a-f])/i

function readable(text: string): string {
  let read = ''
  let encoded = ''
  // The bytes are the odd parts. Those of one character have empty parts between them.
  for (const [index, part] of text.split(encodedByte).entries()) {
    if (index % 2 === 1) encoded += part
    else if (part !== '') {
      read += decoded(encoded) + part
      encoded = ''
    }
  }
  return read + decoded(encoded)
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

function coversAsWritten(pattern: string, target: string): boolean {
  if (pattern === '*' || pattern === target) return true
  // Fast path: most targets already differ in the first character.
  const first = pattern[0]
  if (target !== '' && first !== target[0] && first !== '*' && first !== '?') return false
  if (pattern.endsWith('://')) return target.startsWith(pattern)
  if (pattern.endsWith('/*') && matches(pattern.slice(0, -2), target)) return true
  return matches(pattern, target)
}

/** True when the pattern may cover a name with the prefix. Exact, unless it has wildcards other than a final `*`. */
export function coversSomeOf(pattern: string, given: string): boolean {
  const literal = literalOf(pattern)
  const prefix = toNfc(given)
  if (literal.startsWith(prefix)) return true
  return (literal !== toNfc(pattern) || pattern.endsWith('://')) && prefix.startsWith(literal)
}

/** True when this pattern alone covers every name with the prefix. */
export function coversAllOf(pattern: string, prefix: string): boolean {
  const literal = literalOf(pattern)
  return (toNfc(pattern) === `${literal}*` || pattern.endsWith('://')) && toNfc(prefix).startsWith(literal)
}

/** True when the pattern covers something below the target. The full value of the target must then not be disclosed. */
export function reachesBelow(pattern: string, target: string): boolean {
  return literalOf(pattern).startsWith(`${toNfc(target)}/`)
}

/** The part of the pattern before the first `*` or `?`, in the form NFC. */
function literalOf(pattern: string): string {
  return /^[^*?]*/.exec(toNfc(pattern))?.[0] ?? ''
}

/** True when the pattern covers a parent of the target: the exclusion of a name also covers everything below the name. */
export function coversAbove(pattern: string, target: string): boolean {
  for (let end = target.lastIndexOf('/'); end > 0; end = target.lastIndexOf('/', end - 1)) {
    if (coversInAnyForm(pattern, target.slice(0, end))) return true
  }
  return false
}

/** Matches with one backtracking point, so that the time is at most quadratic. */
function matches(pattern: string, target: string): boolean {
  let at = 0
  let position = 0
  let star = -1
  let resume = 0
  while (position < target.length) {
    if (pattern[at] === '*') {
      star = at++
      resume = position
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === target[position])) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++resume
    } else {
      return false
    }
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
