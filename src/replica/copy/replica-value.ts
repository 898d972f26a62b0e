/** Merges parts into values of the copy, and converts values to their stored form. Pure functions. */
import { isObject, type JsonText, members, object } from '../../json/json.ts'

const gone = '""'

/** Merges objects at every depth. `""` deletes a key, and every other value replaces the previous one. */
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
 * Merges `value` at the path `below`, or replaces or deletes (null) the value there. Undefined: the result is no longer
 * a value.
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

/** Wraps every value except an object in an object. An object that looks like such a wrapper is wrapped too. */
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
