/** JSON text in stored form, which is also sent: valid, minified, without duplicate names, numbers as written. */
declare const jsonText: unique symbol
export type JsonText = string & { readonly [jsonText]: true }

/** A JSON value. @public */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** Default limit for nested containers. Values within the limit are safe for later readers too. */
export const defaultMaxDepth = 64

export function kindOf(text: JsonText): JsonKind {
  switch (text.charCodeAt(0)) {
    case 0x7b: // {
      return 'object'
    case 0x5b: // [
      return 'array'
    case 0x22: // "
      return 'string'
    case 0x74: // t
    case 0x66: // f
      return 'boolean'
    case 0x6e: // n
      return 'null'
    default:
      return 'number'
  }
}

export const isObject = (text: JsonText): boolean => kindOf(text) === 'object'
export const isArray = (text: JsonText): boolean => kindOf(text) === 'array'
export const isString = (text: JsonText): boolean => kindOf(text) === 'string'
export const isNull = (text: JsonText): boolean => text === 'null'

/**
 * Marks text that is in stored form: it came from the store, or was built from parts in stored form. Other text must
 * pass through `normalize`.
 */
export function known(text: string): JsonText {
  return text as JsonText
}

/** The stored form of a string. Lone surrogates become escapes, so that every store can keep it. */
export function stringText(value: string): JsonText {
  return known(JSON.stringify(value))
}

/** The decoded JSON string. Null for any other value. */
export function stringValue(text: JsonText): string | null {
  const value: unknown = isString(text) ? JSON.parse(text) : null
  return typeof value === 'string' ? value : null
}
