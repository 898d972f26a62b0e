/** Converts between JSON text and plain JavaScript values. */
import { types } from 'node:util'
import { ServiceError } from '../errors.ts'
import { KeptDigits } from './kept-digits.ts'
import { replaceLoneSurrogates } from './normalize.ts'
import { halfPair, hasLoneSurrogate } from './surrogates.ts'
import { defaultMaxDepth, known, type Json, type JsonText } from './text.ts'

/** Only text with such a part may have a number beyond the range of a double. */
const longNumber = /[eE]\+?\d{3}|(?<!\d)\d{200}/

/**
 * The plain value. Numbers that JavaScript cannot represent lose precision. A number beyond the range of a double, which older
 * versions stored, becomes the largest double, because a handler that returns an infinity would fail.
 */
export function toPlain(text: JsonText): Json {
  return (longNumber.test(text) ? JSON.parse(text, withinRange) : JSON.parse(text)) as Json
}

function withinRange(_name: string, value: unknown): unknown {
  return value === Infinity ? Number.MAX_VALUE : value === -Infinity ? -Number.MAX_VALUE : value
}

/**
 * The JSON text of a plain JavaScript value. Like `JSON.stringify`, it calls `toJSON` and leaves out members that are
 * `undefined`. It rejects values that `JSON.stringify` would silently change: NaN, a `Map`, a `Set`, a class instance. It rejects
 * half a surrogate pair too.
 *
 * @throws ServiceError `invalid_value` with the path of the value that JSON cannot represent.
 */
export function fromPlain(value: unknown): JsonText {
  return wellFormed(known(write(value, '', [], undefined)))
}

/** Like `fromPlain`, with U+FFFD in place of half a surrogate pair. A handler may cut a string anywhere. */
export function fromResult(value: unknown): JsonText {
  return replaceLoneSurrogates(known(write(value, '', [], undefined)))
}

/**
 * Like `fromPlain`, for a value that was made from a stored one. Numbers that it has unchanged keep their stored digits.
 *
 * @throws ServiceError `invalid_value`
 */
export function fromPlainOver(stored: JsonText | null, value: unknown): JsonText {
  return wellFormed(known(write(value, '', [], stored === null ? undefined : KeptDigits.in(stored))))
}

function wellFormed(text: JsonText): JsonText {
  if (hasLoneSurrogate(text)) throw halfPair('Cannot store the value as JSON: it contains')
  return text
}

/** @param path the containers from the outermost to the current one. */
function write(given: unknown, key: string, path: readonly Place[], digits: KeptDigits | undefined): string {
  const value = hasToJson(given) ? given.toJSON(key) : given
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) refuse(String(value), key, path)
      return digits?.of(value) ?? numberText(value)
    case 'object':
      return value === null ? 'null' : writeObject(value, key, path, digits)
    case 'bigint':
      return refuse('a bigint', key, path)
    case 'function':
      return refuse('a function', key, path)
    case 'symbol':
    case 'undefined':
      break
  }
  return refuse(String(value), key, path)
}

/** JSON.stringify would write -0 as 0. */
function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function writeObject(value: object, key: string, path: readonly Place[], digits: KeptDigits | undefined): string {
  if (types.isBoxedPrimitive(value)) return write(value.valueOf(), key, path, digits)
  if (!Array.isArray(value) && !isPlainObject(value)) refuse(`${classOf(value)} instead of a plain object`, key, path)
  for (const place of path) if (place.container === value) refuse('a reference to itself', key, path)
  if (path.length >= defaultMaxDepth) refuse(`more than ${defaultMaxDepth} nested levels`, key, path)
  const inside = [...path, { container: value, key }]
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value
    return `[${Array.from(items, (item, index) => write(item, String(index), inside, digits?.at(index))).join(',')}]`
  }
  let out = ''
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    out += `${out === '' ? '{' : ','}${JSON.stringify(name)}:${write(member, name, inside, digits?.at(name))}`
  }
  return out === '' ? '{}' : `${out}}`
}

/** Accepts plain objects of other realms too: the prototype of each has no prototype. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function classOf(value: object): string {
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an instance of a class'
}

interface Place {
  readonly container: object
  readonly key: string
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
}

function refuse(what: string, key: string, path: readonly Place[]): never {
  const steps = path.slice(1, 5).map((place) => JSON.stringify(place.key))
  if (path.length > 5) steps.push('…')
  else if (path.length > 0) steps.push(JSON.stringify(key))
  const where = steps.length === 0 ? '' : ` at ${steps.join(' / ')}`
  throw new ServiceError('invalid_value', `Cannot store the value as JSON: it contains ${what}${where}`)
}
