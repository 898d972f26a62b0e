/**
 * Shapes of the members of records. An archive may be forged, and every later read of a row trusts what the service itself stores
 * there, so the import refuses a member with another shape.
 */
import { parseSteps } from '../list/list.ts'
import { isPeerId } from '../permission/reserved-ids.ts'
import { isIntact } from '../store/checksum.ts'
import type { Param } from '../store/store.ts'
import { elements, isObject, type JsonText, kindOf, members, normalize, stringValue } from '../json/json.ts'

/** Completes the sentence “it is not …”. Null: the shape is right. */
export type MemberCheck = (value: JsonText) => string | null

type Shape = (value: JsonText) => boolean

const isText: Shape = (value) => stringValue(value) !== null
/** A time in Unix milliseconds. `Date` has no later one. */
const isTime: Shape = (value) =>
  kindOf(value) === 'number' && Number.isSafeInteger(Number(value)) && Number(value) >= 0 && Number(value) <= latestTime
const latestTime = 8_640_000_000_000_000
const isFlag: Shape = (value) => value === 'true' || value === 'false'

function arrayOf(shape: Shape): Shape {
  return (value) => elements(value)?.every(shape) === true
}

/** An object whose members have these shapes, as far as it has them. Other members are not read. */
function objectWith(shapes: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
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

function nullOr(shape: Shape): Shape {
  return (value) => value === 'null' || shape(value)
}

function oneOf(values: readonly string[]): Shape {
  return (value) => values.includes(stringValue(value) ?? '')
}

/** JSON in a string. */
function jsonText(shape: Shape): Shape {
  return (value) => {
    const json = parsed(stringValue(value) ?? '')
    return json !== null && shape(json)
  }
}

function parsed(text: string): JsonText | null {
  try {
    return normalize(text)
  } catch {
    return null
  }
}

function check(what: string, shape: Shape): MemberCheck {
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
export const nameAndKey = check('a list of a name and a key', (value) => {
  return elements(value)?.length === 2 && arrayOf(isText)(value)
})

const callerKinds = ['creator', 'peer', 'client', 'trustee', 'operator', 'anonymous', 'application'] as const
const isOrigin = objectWith({ by: oneOf(callerKinds), name: isText, call: isText, request: isText, trace: isText }, [
  'by',
])

/** `parseOrigin` reads it. */
export const origin = check('an origin', (value) => value === '""' || jsonText(isOrigin)(value))
export const originObject = check('an origin', isOrigin)
export const originKind = choice(...callerKinds)

/** `OwnRequest` */
export const ownRequest = check(
  'a request',
  jsonText(
    objectWith(
      {
        id: isText,
        relationship: isText,
        until: isTime,
        description: isText,
        closedAt: isTime,
        crossed: (value) => value === 'true',
      },
      ['id', 'relationship', 'until'],
    ),
  ),
)

const isGrant = objectWith({ pattern: isText, operations: arrayOf(isText), until: isTime }, ['pattern', 'operations'])
const isRule = objectWith({
  patterns: arrayOf(isText),
  operations: arrayOf(isText),
  excluded_patterns: arrayOf(isText),
  allowed: arrayOf(isText),
  denied: arrayOf(isText),
  grants: arrayOf(isGrant),
  merge: isFlag,
})

/** `OverrideRules` */
export const overrideRules = check(
  'an object of rules',
  (value) => isObject(value) && [...(members(value)?.values() ?? [])].every(isRule),
)

/** `Secrets` of a webhook. */
export const webhookSecretsShape = check(
  'the secrets of a webhook',
  jsonText(objectWith({ secret: isText, old: isText, oldUntil: isTime }, ['secret'])),
)

/** `ServiceTokens` */
export const tokensOfService = check(
  'the tokens of a service',
  jsonText(
    objectWith({ accessToken: isText, refreshToken: nullOr(isText), expiresAt: nullOr(isTime), scope: isText }, [
      'accessToken',
      'refreshToken',
      'expiresAt',
      'scope',
    ]),
  ),
)

/** A stored callback. */
export const callback = check('a callback', jsonText(objectWith({ granularity: isText }, ['data'])))

export const webUrl = check('an http or https URL', (value) => {
  const protocol = URL.parse(stringValue(value) ?? '')?.protocol
  return protocol === 'https:' || protocol === 'http:'
})

export interface Misfit {
  readonly member: string
  readonly why: string
}

/** The content of a change is what reads it back: a value with its checksum, or the steps of a list. */
export function contentOfChange(actorId: string, row: Readonly<Record<string, Param>>): Misfit | null {
  const { name, kind, content = null, checksum = null } = row
  if (content === null) return null
  const text = String(content)
  if (parsed(text) !== text) return { member: 'content', why: 'it is not JSON' }
  if (kind === 'list') return isSteps(text) ? null : { member: 'content', why: 'it is not the steps of a list' }
  return isIntact(actorId, String(name), { value: text, checksum: checksum === null ? null : Number(checksum) })
    ? null
    : { member: 'checksum', why: 'the content has another one' }
}

function isSteps(text: string): boolean {
  try {
    parseSteps(text)
    return true
  } catch {
    return false
  }
}

/** The id of a peer. */
export const peerId = check('an id that a peer can have', (value) => isPeerId(stringValue(value) ?? ''))

/** A string without NUL and lone surrogates, which a store cannot keep. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
