/** Shapes that members of records may have. */
import { elements, isObject, type JsonText, kindOf, members, normalize, stringValue } from '../json/json.ts'

/** Completes the sentence “it is not …”. Null: the shape is right. */
export type MemberCheck = (value: JsonText) => string | null

export type Shape = (value: JsonText) => boolean

export const isText: Shape = (value) => stringValue(value) !== null
/** A time in Unix milliseconds. `Date` has no later one. */
export const isTime: Shape = (value) =>
  kindOf(value) === 'number' && Number.isSafeInteger(Number(value)) && Number(value) >= 0 && Number(value) <= latestTime
const latestTime = 8_640_000_000_000_000
export const isFlag: Shape = (value) => value === 'true' || value === 'false'

export function arrayOf(shape: Shape): Shape {
  return (value) => elements(value)?.every(shape) === true
}

/** An object whose members have these shapes, as far as it has them. Other members are not read. */
export function objectWith(shapes: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  return (value) => {
    const found = members(value)
    return (
      found !== null &&
      required.every((name) => found.has(name)) &&
      Object.entries(shapes).every(([name, shape]) => {
        const member = found.get(name)
        return member === undefined || shape(member)
      })
    )
  }
}

export function nullOr(shape: Shape): Shape {
  return (value) => value === 'null' || shape(value)
}

export function oneOf(values: readonly string[]): Shape {
  return (value) => values.includes(stringValue(value) ?? '')
}

/** JSON in a string. */
export function inJsonText(shape: Shape): Shape {
  return (value) => {
    const json = parsed(stringValue(value) ?? '')
    return json !== null && shape(json)
  }
}

export function parsed(text: string): JsonText | null {
  try {
    return normalize(text, undefined, 'keep')
  } catch {
    return null
  }
}

export function check(what: string, shape: Shape): MemberCheck {
  return (value) => (shape(value) ? null : what)
}

export function choice(...values: readonly string[]): MemberCheck {
  return check(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, oneOf(values))
}

export const texts = check('a list of strings', arrayOf(isText))
export const textsByName = check(
  'an object of strings',
  (value) => isObject(value) && [...(members(value)?.values() ?? [])].every(isText),
)

export const webUrl = check('an http or https URL', (value) => {
  const protocol = URL.parse(stringValue(value) ?? '')?.protocol
  return protocol === 'https:' || protocol === 'http:'
})
