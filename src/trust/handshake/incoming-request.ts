/** A request for a relationship, as a peer sends it. */
import { ServiceError } from '../../errors.ts'
import type { JsonText } from '../../json/json.ts'
import { idAt, parseBaseuri } from '../baseuri.ts'
import { requestFieldsOf, plainText, textField } from '../fields.ts'
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

/** @throws ServiceError `bad_request` */
export function parseIncomingRequest(relationshipName: string, body: JsonText): IncomingRequest {
  const relationship = parseRelationship(relationshipName)
  if (relationship === null) throw refused('the relationship cannot have this name')
  const fields = requestFieldsOf(body, what)
  const baseuri = parseBaseuri(textField(fields, 'baseuri', what) ?? '')
  if (baseuri === null) throw refused('baseuri must be the address of the actor that asks')
  const peerId = textField(fields, 'id', what) ?? ''
  if (!isPeerId(peerId) || idAt(baseuri) !== peerId) throw refused('id must be the actor that baseuri names')
  const secret = textField(fields, 'secret', what) ?? ''
  if (secret !== '' && !isSecret(secret)) {
    throw refused(`secret must have at least ${shortestSecret} characters that a header can carry`)
  }
  const verify = textField(fields, 'verify', what) ?? ''
  return {
    peerId,
    baseuri,
    type: plainText(fields, 'type', what) ?? '',
    relationship,
    description: plainText(fields, 'desc', what) ?? '',
    secret: secret === '' ? null : secret,
    verify: verify === '' ? null : verify,
    settlesById: fields.get('crossing') === `"${settledById}"`,
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
