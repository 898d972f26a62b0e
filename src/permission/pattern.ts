/** Patterns in rules: `*` is any run of characters, slashes included, `?` is one; letter case counts. */

/**
 * Whether a pattern covers a target. One that ends in `://` covers what begins with it, and one that ends in `/*` also
 * covers the name before the slash: the parent holds everything below it.
 */
export function covers(pattern: string, target: string): boolean {
  if (pattern === '*' || pattern === target) return true
  // Nearly always the first letter tells.
  const first = pattern[0]
  if (target !== '' && first !== target[0] && first !== '*' && first !== '?') return false
  if (pattern.endsWith('://')) return target.startsWith(pattern)
  if (pattern.endsWith('/*') && matches(pattern.slice(0, -2), target)) return true
  return matches(pattern, target)
}

/** Whether something that begins with the prefix is covered; by a pattern with more than a `*` at its end, may be. */
export function coversSomeOf(pattern: string, prefix: string): boolean {
  const literal = literalOf(pattern)
  if (literal.startsWith(prefix)) return true
  return (literal !== pattern || pattern.endsWith('://')) && prefix.startsWith(literal)
}

/** Whether everything that begins with the prefix is covered, by this pattern alone. */
export function coversAllOf(pattern: string, prefix: string): boolean {
  const literal = literalOf(pattern)
  return (pattern === `${literal}*` || pattern.endsWith('://')) && prefix.startsWith(literal)
}

/** Whether something below the target, not the target itself, is covered: then the target cannot be given as a whole. */
export function reachesBelow(pattern: string, target: string): boolean {
  return literalOf(pattern).startsWith(`${target}/`)
}

/** What stands before the first `*` or `?`. */
function literalOf(pattern: string): string {
  return /^[^*?]*/.exec(pattern)?.[0] ?? ''
}

/** Whether a pattern covers something that the target lies below: what is kept by its name is kept with all its parts. */
export function coversAbove(pattern: string, target: string): boolean {
  for (let end = target.lastIndexOf('/'); end > 0; end = target.lastIndexOf('/', end - 1)) {
    if (covers(pattern, target.slice(0, end))) return true
  }
  return false
}

/** Two positions and one point to return to: the time grows with length times length at worst, never faster. */
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
