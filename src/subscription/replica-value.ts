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

/** The value with the one at `below` merged in, or replaced. */
export function mergeBelow(
  stored: JsonText | undefined,
  below: readonly string[],
  value: JsonText,
  replaces: boolean,
): JsonText {
  const [key, ...deeper] = below
  if (key === undefined) return replaces ? value : mergePart(stored, value)
  const merged = new Map(stored === undefined ? [] : (members(stored) ?? []))
  if (deeper.length === 0 && value === gone) merged.delete(key)
  else merged.set(key, mergeBelow(merged.get(key), deeper, value, replaces))
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
