/** The shape of incoming JSON-RPC 2.0 messages. */

export type Id = string | number
export type MessageParams = { readonly [member: string]: unknown }

export type Message =
  | { readonly kind: 'request'; readonly id: Id; readonly method: string; readonly params: MessageParams }
  | { readonly kind: 'notification'; readonly method: string; readonly params: MessageParams }
  | { readonly kind: 'response'; readonly id: Id; readonly body: MessageParams }

/** Not a valid message. The id is present where it could be read, so that the sender can match the error. */
export interface Malformed {
  readonly kind: 'malformed'
  readonly code: -32700 | -32600
  readonly why: string
  readonly id?: Id
}

/** A batch stays one, because the revision decides whether it is valid. */
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
  if (!isRecord(value)) return malformed('a message is an object')
  const { jsonrpc, id, method, params = {} } = value
  const known = isId(id) ? { id } : {}
  if (jsonrpc !== '2.0') return malformed('"jsonrpc" must be "2.0"', known)
  if ('id' in value && !isId(id)) return malformed('"id" must be a text or an integer')
  if (method === undefined && isId(id) && ('result' in value || 'error' in value)) {
    return { kind: 'response', id, body: value }
  }
  if (typeof method !== 'string' || method === '') return malformed('"method" must be a text', known)
  if (method.length > longestMethod) return malformed('"method" is too long', known)
  // `"params": null` is not JSON-RPC, but older clients send it for "none".
  if (params !== null && !isRecord(params)) return malformed('"params" must be an object', known)
  const given = params ?? {}
  return isId(id) ? { kind: 'request', id, method, params: given } : { kind: 'notification', method, params: given }
}

function malformed(why: string, known: { id?: Id } = {}): Malformed {
  return { kind: 'malformed', code: -32600, why, ...known }
}

export function isRecord(value: unknown): value is MessageParams {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))
}
