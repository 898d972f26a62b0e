/** A request for a relationship, as a peer sends it. */
import { ServiceError } from '../../errors.ts'
import type { JsonText } from '../../json/json.ts'
import {
  hintField,
  objectSchema,
  optional,
  parsedField,
  plainStringField,
  readObject,
  stringField,
} from '../../json/fields.ts'
import { stringValue } from '../../json/json.ts'
import { baseuriField, idAt } from '../baseuri.ts'
import { parseRelationship } from '../relationship-name.ts'

export interface IncomingRequest {
  readonly peerId: string
  readonly baseuri: string
  readonly type: string
  readonly relationship: string
  readonly description: string
  /** Null: the receiver makes one. */
  readonly secret: string | null
  /** What the call-back has to show; null when nothing can be verified. */
  readonly verify: string | null
  /** Of two requests that cross, the sender lets that of the actor with the lower id count, as this service does. */
  readonly settlesById: boolean
}

export const settledById = 'lower-id'
/** What the answer to a request that crossed one says, when the one of the actor that answers counts. */
export const keptOwn = 'kept'

const what = 'take this trust request'

/** In characters: less could be guessed. */
const shortestSecret = 16

const fields = {
  baseuri: baseuriField('The actor that asks', 'the address of the actor that asks'),
  id: stringField('Of the actor that asks'),
  type: optional(plainStringField('The application type of the actor that asks')),
  secret: optional(
    parsedField(
      { type: 'string', minLength: shortestSecret, description: 'Made here when absent, and told in the answer' },
      `a text of at least ${shortestSecret} characters that a header can carry`,
      (value) => {
        const text = stringValue(value)
        return text === '' || (text !== null && isSecret(text)) ? text : undefined
      },
    ),
  ),
  desc: optional(plainStringField('What the asking owner says about it')),
  verify: optional(stringField('What the asking actor shows when it is called back')),
  crossing: hintField('How the asking actor settles two requests that cross', [settledById]),
}

export const incomingRequestSchema = objectSchema(fields)

/** @throws ServiceError `bad_request` */
export function parseIncomingRequest(relationshipName: string, body: JsonText): IncomingRequest {
  const relationship = parseRelationship(relationshipName)
  if (relationship === null) throw refused('the relationship cannot have this name')
  const { baseuri, id: peerId, type = '', secret = '', desc, verify = '', crossing } = readObject(what, fields, body)
  if (!isPeerId(peerId) || idAt(baseuri) !== peerId) throw refused('id must be the actor that baseuri names')
  return {
    peerId,
    baseuri,
    type,
    relationship,
    description: desc ?? '',
    secret: secret === '' ? null : secret,
    verify: verify === '' ? null : verify,
    settlesById: crossing !== undefined,
  }
}

function isPeerId(text: string): boolean {
  return text.length > 0 && text.length <= 255 && !/[\p{Cc}/]/u.test(text) && text.isWellFormed()
}

function isSecret(text: string): boolean {
  return text.length >= shortestSecret && text.length <= 500 && /^[!-~]+$/.test(text)
}

function refused(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot ${what}: ${why}`)
}
