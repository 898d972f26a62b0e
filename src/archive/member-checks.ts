/**
 * Shapes of the members of records. An archive may be forged, and every later read of a row trusts what the service itself stores
 * there, so the import refuses a member with another shape.
 */
import { parseSteps } from '../list/list.ts'
import { isPeerId } from '../permission/reserved-ids.ts'
import { isIntact } from '../store/checksum.ts'
import { elements, isObject, members, stringValue } from '../json/json.ts'
import type { Misfit, RecordRow } from '../table/record-kind.ts'
import {
  arrayOf,
  check,
  choice,
  inJsonText,
  isFlag,
  isText,
  isTime,
  nullOr,
  objectWith,
  oneOf,
  parsed,
} from '../table/shapes.ts'

export const nameAndKey = check('a list of a name and a key', (value) => {
  return elements(value)?.length === 2 && arrayOf(isText)(value)
})

const callerKinds = ['creator', 'peer', 'client', 'trustee', 'operator', 'anonymous', 'application'] as const
const isOrigin = objectWith({ by: oneOf(callerKinds), name: isText, call: isText, request: isText, trace: isText }, [
  'by',
])

/** `parseOrigin` reads it. */
export const origin = check('an origin', (value) => value === '""' || inJsonText(isOrigin)(value))
export const originObject = check('an origin', isOrigin)
export const originKind = choice(...callerKinds)

/** `OwnRequest` */
export const ownRequest = check(
  'a request',
  inJsonText(
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

/** `ServiceTokens` */
export const tokensOfService = check(
  'the tokens of a service',
  inJsonText(
    objectWith({ accessToken: isText, refreshToken: nullOr(isText), expiresAt: nullOr(isTime), scope: isText }, [
      'accessToken',
      'refreshToken',
      'expiresAt',
      'scope',
    ]),
  ),
)

/** A stored callback. `readKept` reads it without parsing it again. */
export const callback = check('a callback', (value) => {
  const text = stringValue(value) ?? ''
  return parsed(text) === text && inJsonText(objectWith({ granularity: isText }, ['data']))(value)
})

/** The content of a change is what reads it back: a value with its checksum, or the steps of a list. */
export function contentOfChange(actorId: string, row: RecordRow): Misfit | null {
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
