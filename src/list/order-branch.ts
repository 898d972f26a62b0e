/** Branches of a list's order: how they are stored, and which of them contain given positions. */

/** A node and the number of items below it. */
export interface Branch {
  readonly node: number
  readonly count: number
}

/** A branch of a loaded node. */
export interface Child {
  readonly node: number
  count: number
}

/** Positions from `from` up to but excluding `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The same positions as ordered spans that do not overlap. */
export function disjoint(spans: readonly Span[]): Span[] {
  const merged: { from: number; to: number }[] = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from >= to) continue
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  return merged
}

/**
 * The children that contain these disjoint, ordered positions. With `joinUpTo`, all the positions may be removed. The
 * result then includes each neighbor that has at most `joinUpTo` items together with the rest of a shrunken child.
 */
export function pick(
  children: readonly Child[],
  first: number,
  spans: readonly Span[],
  joinUpTo: number | null,
): Child[] {
  const wanted = new Set<Child>()
  let start = first
  let next = 0
  for (const [at, child] of children.entries()) {
    const end = start + child.count
    let touched = 0
    for (let span = spans[next]; span !== undefined && span.from < end; span = spans[++next]) {
      touched += Math.max(0, Math.min(span.to, end) - Math.max(span.from, start))
      if (span.to > end) break
    }
    if (touched > 0) {
      wanted.add(child)
      if (joinUpTo !== null) {
        const left = child.count - touched
        for (const neighbor of [children[at - 1], children[at + 1]]) {
          if (neighbor !== undefined && neighbor.count + left <= joinUpTo) wanted.add(neighbor)
        }
      }
    }
    start = end
  }
  return [...wanted]
}

/** Branches in stored form: node, count, node, count, … (pairs would take three times as long to parse). */
export function writeBranches(branches: readonly Branch[]): number[] {
  const entries: number[] = []
  for (const { node, count } of branches) entries.push(node, count)
  return entries
}

/** Reads the output of `writeBranches`. Null for any other value. */
export function readBranches(value: unknown): Child[] | null {
  const entries = readPositives(value)
  if (entries === null || entries.length % 2 !== 0) return null
  const branches: Child[] = []
  for (let at = 0; at < entries.length; at += 2) branches.push({ node: entries[at] ?? 0, count: entries[at + 1] ?? 0 })
  return branches
}

/** Null when the value is not an array of positive integers. */
export function readPositives(value: unknown): number[] | null {
  if (!Array.isArray(value)) return null
  const entries: unknown[] = value
  return entries.every(isPositive) ? entries : null
}

/** The number of items below all children. */
export function total(children: readonly Child[]): number {
  let count = 0
  for (const child of children) count += child.count
  return count
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
