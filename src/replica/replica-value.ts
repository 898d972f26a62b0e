/** Values of the copy: how parts are put into them, and how they are stored. Pure. */
import { isObject, type JsonText, members, object } from '../json/json.ts'

const gone = '""'

/** Objects are merged at every depth, `""` removes a key, everything else takes the place of what was there. */
export function mergePart(stored: JsonText | undefined, part: JsonText): JsonText {
  const given = members(part)
  if (given === null) return part
  const merged = new Map(stored === undefined ? [] : (members(stored) ?? []))
  for (const [key, value] of given) {
    if (value === gone) merged.delete(key)
    else merged.set(key, mergePart(merged.get(key), value))
  }
  return object(merged)
}

/**
 * The value with the one at `below` merged in, or put there, or removed when it is null; undefined when there is none, and
 * nothing to make one of.
 */
export function mergeBelow(
  stored: JsonText | undefined,
  below: readonly string[],
  value: JsonText | null,
  replaces: boolean,
): JsonText | undefined {
  const [key, ...deeper] = below
  if (key === undefined) {
    if (value === null) return undefined
    return replaces ? value : mergePart(stored, value)
  }
  const given = stored === undefined ? null : members(stored)
  const isGone = deeper.length === 0 && !replaces && value === gone
  const inner = isGone ? undefined : mergeBelow(given?.get(key), deeper, value, replaces)
  if (inner === undefined && given?.has(key) !== true) return stored
  const merged = new Map(given)
  if (inner === undefined) merged.delete(key)
  else merged.set(key, inner)
  return object(merged)
}

/** Objects are stored as they are, anything else inside one; so is an object that looks like such a cover. */
export function coveredValue(value: JsonText): JsonText {
  return isObject(value) && !isCover(value) ? value : object([['value', value]])
}

export function uncoveredValue(stored: JsonText): JsonText {
  return isCover(stored) ? (members(stored)?.get('value') ?? stored) : stored
}

function isCover(value: JsonText): boolean {
  const given = members(value)
  return given !== null && given.size === 1 && given.has('value')
}
