/** Finds the name that a mistyped name most likely meant. */

/** Longer names are not compared, because a comparison takes time proportional to the product of both lengths. */
const longest = 64
const maxCompared = 500

/** The name with the fewest edits, at most a third of its length. Case, `-` and `_` do not count. Null without such a name. */
export function nearestName(given: string, names: readonly string[]): string | null {
  const plain = plainOf(given)
  if (plain.length === 0 || plain.length > longest) return null
  let nearest: string | null = null
  let fewest = Number.POSITIVE_INFINITY
  for (const name of names.slice(0, maxCompared)) {
    const other = plainOf(name)
    if (other.length > longest) continue
    const edits = editsBetween(plain, other)
    if (edits < fewest && edits <= Math.ceil(Math.max(plain.length, other.length) / 3)) {
      nearest = name
      fewest = edits
    }
  }
  return nearest
}

function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '')
}

/** The Levenshtein distance, row by row. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
