/** Reads the members of one container, and builds containers from members. */
import { endOfValue, MemberWalk } from './scan.ts'
import { isArray, isObject, known, type JsonText } from './text.ts'

/** The members of an object in their order; null when the text is not an object. */
export function members(text: JsonText): ReadonlyMap<string, JsonText> | null {
  if (!isObject(text)) return null
  const found = new Map<string, JsonText>()
  const walk = new MemberWalk(text, 0)
  while (walk.next()) {
    walk.pass()
    found.set(keyOf(walk.rawKey()), known(text.slice(walk.valueStart, walk.valueEnd)))
  }
  return found
}

/** The elements of an array; null when the text is not an array. */
export function elements(text: JsonText): readonly JsonText[] | null {
  if (!isArray(text)) return null
  const found: JsonText[] = []
  let at = 1
  while (text.charCodeAt(at) !== 0x5d) {
    if (text.charCodeAt(at) === 0x2c) at++
    const end = endOfValue(text, at)
    if (end === at) throw new RangeError('A JSON text lacks a value')
    found.push(known(text.slice(at, end)))
    at = end
  }
  return found
}

/** An object of these members. When a name occurs again, the last value wins, at the position of the first. */
export function object(entries: Iterable<readonly [string, JsonText]>): JsonText {
  const unique = new Map<string, JsonText>()
  for (const [name, value] of entries) unique.set(JSON.stringify(name), value)
  let out = ''
  for (const [key, value] of unique) out += `${out === '' ? '{' : ','}${key}:${value}`
  return known(out === '' ? '{}' : `${out}}`)
}

export function array(items: readonly JsonText[]): JsonText {
  return known(`[${items.join(',')}]`)
}

function keyOf(rawKey: string): string {
  if (!rawKey.includes('\\')) return rawKey.slice(1, -1)
  const key: unknown = JSON.parse(rawKey)
  return String(key)
}
