/** Keys of JSON values in an index, and the conditions of queries on them. Their order as text is the order of the values, in both databases. */
import { getAt, type JsonText, kindOf, stringValue } from '../json/json.ts'

/** The characters of a string that its key contains. Strings with the same beginning have the same place in a sort. */
export const keyChars = 200

/** The key of a field that the item lacks, and of an object or an array. */
export const noKey = '0'

/** The key of a field of an item. */
export function fieldKey(item: JsonText, field: string): string {
  return valueKey(getAt(item, [field]))
}

/** Null, then booleans, numbers, and strings by code points. Numbers compare as 64-bit floating-point numbers. */
export function valueKey(value: JsonText | undefined): string {
  if (value === undefined) return noKey
  switch (kindOf(value)) {
    case 'null':
      return '1'
    case 'boolean':
      return value === 'true' ? '21' : '20'
    case 'number':
      return `3${numberKey(Number(value))}`
    case 'string':
      return `4${stringKey(stringValue(value) ?? '')}`
    default:
      return noKey
  }
}

/** Compares keys as the databases do, by the bytes of their UTF-8. */
export function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The bits of the number in hexadecimal, with those of negative numbers inverted, so that they sort by value. */
function numberKey(number: number): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, number === 0 ? 0 : number)
  const bits = view.getBigUint64(0)
  const isNegative = bits >> 63n === 1n
  const ordered = isNegative ? bits ^ 0xffff_ffff_ffff_ffffn : bits | (1n << 63n)
  return ordered.toString(16).padStart(16, '0')
}

/** PostgreSQL stores no NUL and no lone surrogate. */
function stringKey(text: string): string {
  const start = text.slice(0, keyChars).toWellFormed()
  return start.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001')
}

/** A field that must have one of these keys, in ascending order, or a key from `from` to before `to`. */
export type FieldCondition =
  | { readonly field: string; readonly keys: readonly string[] }
  | { readonly field: string; readonly from: string; readonly to: string }

export function fits(condition: FieldCondition, key: string): boolean {
  if ('keys' in condition) return condition.keys.includes(key)
  return compareKeys(key, condition.from) >= 0 && compareKeys(key, condition.to) < 0
}

/** Whether one key fits. The items of one key are in the order in which they were added. */
export function isOneKey(condition: FieldCondition): boolean {
  return 'keys' in condition && condition.keys.length === 1
}

/** The least text after a key. No key of another value is between them (`stringKey`). */
export function afterKey(key: string): string {
  return `${key}\u0001`
}

/** The least text after all keys that begin with a prefix. */
export function afterPrefix(prefix: string): string {
  const points = Array.from(prefix)
  const last = points.pop()?.codePointAt(0) ?? 0
  if (last === 0x10_ff_ff) return afterPrefix(points.join(''))
  // The surrogates between these two code points are no text.
  return points.join('') + String.fromCodePoint(last === 0xd7_ff ? 0xe0_00 : last + 1)
}
