/** The shape of incoming JSON-RPC 2.0 messages. */
import { isRecord } from '../../json/is-record.ts'

export type Id = string | number
export type MessageParams = { readonly [member: string]: unknown }

export type Message =
  | { readonly kind: 'request'; readonly id: Id; readonly method: string; readonly params: MessageParams }
  | { readonly kind: 'notification'; readonly method: string; readonly params: MessageParams }
  | { readonly kind: 'response'; readonly id: Id; readonly body: MessageParams }

/** An invalid message. The id is present when it could be read, so that the sender can match the error. */
export interface Malformed {
  readonly kind: 'malformed'
  readonly code: -32700 | -32600
  readonly why: string
  readonly id?: Id | undefined
}

/** The parsed body. A batch is kept as such, because the revision decides whether it is valid. */
export type MessageBody =
  | Message
  | Malformed
  | { readonly kind: 'batch'; readonly entries: readonly (Message | Malformed)[] }

const longestMethod = 256

export function readBody(text: string): MessageBody {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'malformed', code: -32700, why: 'the body is not JSON' }
  }
  if (!Array.isArray(value)) return readMessage(value)
  return { kind: 'batch', entries: value.map(readMessage) }
}

function readMessage(value: unknown): Message | Malformed {
  if (!isRecord(value)) return malformed('a message must be an object')
  const { jsonrpc, method } = value
  const id = isId(value['id']) ? value['id'] : undefined
  if (jsonrpc !== '2.0') return malformed('"jsonrpc" must be "2.0"', id)
  if ('id' in value && id === undefined) return malformed('"id" must be a string or an integer')
  const isResponse = method === undefined && ('result' in value || 'error' in value)
  return isResponse && id !== undefined ? { kind: 'response', id, body: value } : readCall(value, id)
}

/** Reads a request, which has an id, or a notification, which lacks one. */
function readCall({ method, params }: MessageParams, id: Id | undefined): Message | Malformed {
  if (typeof method !== 'string' || method === '') return malformed('"method" must be a string', id)
  if (method.length > longestMethod) return malformed('"method" is too long', id)
  // `"params": null` violates JSON-RPC, but older clients send it in place of absent params.
  const given = params ?? {}
  if (!isRecord(given)) return malformed('"params" must be an object', id)
  return id === undefined
    ? { kind: 'notification', method, params: given }
    : { kind: 'request', id, method, params: given }
}

function malformed(why: string, id?: Id): Malformed {
  return { kind: 'malformed', code: -32600, why, id }
}

export { isRecord }

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))
}
