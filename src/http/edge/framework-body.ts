/**
 * The body of a request that a framework read before it came here: `express.json()` and the like leave the bytes read and
 * their reading in `body`. From that the bytes are made again; numbers are those of JavaScript by then.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../errors.ts'

export interface Framework {
  /** The whole address, where the mount path is cut off `url`. */
  readonly originalUrl?: string
  readonly body?: unknown
}

/** @throws ServiceError `server_error` when somebody read the body and kept nothing: an empty one would mean something else. */
export function bodyOfFramework(message: IncomingMessage & Framework): Uint8Array {
  const { body, headers } = message
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (body === undefined || body === null) {
    if (isEmpty(message)) return new Uint8Array()
    throw new ServiceError('server_error', undefined, {
      reason: 'The body was read before the request came to the service, and is not in request.body',
    })
  }
  if (body instanceof Uint8Array) return body
  if (type === 'application/x-www-form-urlencoded' && typeof body === 'object') {
    return Buffer.from(new URLSearchParams(formFields(body)).toString())
  }
  // A text is either what was sent or, from a JSON parser, what was sent without its quotes.
  if (typeof body === 'string' && (!isJson(type) || Buffer.byteLength(body) === Number(headers['content-length']))) {
    return Buffer.from(body)
  }
  return isEmpty(message) ? new Uint8Array() : Buffer.from(JSON.stringify(body))
}

function isEmpty({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

/** Repeated fields come as arrays, and names with brackets as objects. */
function formFields(value: object, name = ''): [string, string][] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, string][] => {
    const inside = name === '' ? key : Array.isArray(value) ? name : `${name}[${key}]`
    return typeof inner === 'object' && inner !== null ? formFields(inner, inside) : [[inside, String(inner)]]
  })
}
