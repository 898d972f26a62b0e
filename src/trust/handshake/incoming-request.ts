/** A trust request as a peer sends it. */
import { quoted, ServiceError } from '../../errors.ts'
import type { JsonText } from '../../json/json.ts'
import {
  hintField,
  messageField,
  nullable,
  objectSchema,
  optional,
  parsedField,
  plainStringField,
  readObject,
  stringField,
} from '../../json/fields.ts'
import { stringValue } from '../../json/json.ts'
import { isPeerId, isReservedId } from '../../permission/reserved-ids.ts'
import { baseuriField, idAt } from '../baseuri.ts'
import { parseRelationship } from '../relationship-name.ts'

export interface IncomingRequest {
  readonly peerId: string
  readonly baseuri: string
  readonly type: string
  readonly relationship: string
  readonly description: string
  /** Null: the receiver creates the secret. */
  readonly secret: string | null
  /** Token that the requester must return in the verification. Null: nothing can be verified. */
  readonly verify: string | null
  /** The sender settles crossing requests as this service does: the request of the actor with the lower id wins. */
  readonly comparesIds: boolean
  /** Code of an invitation of the receiver. Null: none. */
  readonly invitation: string | null
}

export const settledById = 'lower-id'
/** Value of `crossing` in the response when two trust requests cross and the responder's own request wins. */
export const keptOwn = 'kept'

const what = 'take this trust request'

/** In characters. A shorter secret could be guessed. */
const shortestSecret = 16

const fields = {
  baseuri: baseuriField('Address of the requesting actor', 'the address of the requesting actor'),
  id: stringField('Id of the requesting actor'),
  type: nullable(plainStringField('Application type of the requesting actor')),
  secret: optional(
    parsedField(
      { type: 'string', minLength: shortestSecret, description: 'The receiver creates it when absent, and returns it' },
      `a string of ${shortestSecret} to 500 printable ASCII characters without spaces`,
      (value) => {
        const text = stringValue(value)
        return text === '' || (text !== null && isSecret(text)) ? text : undefined
      },
    ),
  ),
  desc: nullable(messageField('Message of the requesting owner. The receiver keeps 2,000 characters')),
  verify: optional(stringField('Token that the requesting actor returns in the verification')),
  invitation: optional(stringField('Code of an invitation, which approves the request immediately')),
  crossing: hintField('How the requesting actor settles two requests that cross', [settledById]),
}

export const incomingRequestSchema = objectSchema(fields)

/** @throws ServiceError `bad_request` */
export function parseIncomingRequest(relationshipName: string, body: JsonText): IncomingRequest {
  const relationship = parseRelationship(relationshipName)
  if (relationship === null) throw refused('the relationship cannot have this name')
  const {
    baseuri,
    id: peerId,
    type = '',
    secret = '',
    desc,
    verify = '',
    crossing,
    invitation = '',
  } = readObject(what, fields, body)
  if (isReservedId(peerId)) throw refused(`the id ${quoted(peerId)} is reserved`)
  if (!isPeerId(peerId) || idAt(baseuri) !== peerId) throw refused('id must be the actor that baseuri names')
  return {
    peerId,
    baseuri,
    type,
    relationship,
    description: desc ?? '',
    secret: secret === '' ? null : secret,
    verify: verify === '' ? null : verify,
    comparesIds: crossing !== undefined,
    invitation: invitation === '' ? null : invitation,
  }
}

function isSecret(text: string): boolean {
  return text.length >= shortestSecret && text.length <= 500 && /^[!-~]+$/.test(text)
}

function refused(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot ${what}: ${why}`)
}
