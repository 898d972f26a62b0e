/**
 * Restores the body of a request that a framework has parsed. `express.json()` and similar middleware consume the bytes and
 * store the parsed value in `body`. The bytes are serialized again, so numbers have the precision of JavaScript.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../errors.ts'

export interface Framework {
  /** The full URL, when the framework cuts the mount path off `url`. */
  readonly originalUrl?: string
  readonly body?: unknown
}

/** @throws ServiceError `server_error` when the body was consumed and not kept, because an empty body would be wrong. */
export function bodyOfFramework(message: IncomingMessage & Framework): Uint8Array {
  const { body, headers } = message
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (body === undefined || body === null) {
    if (isEmpty(message)) return new Uint8Array()
    throw new ServiceError('server_error', undefined, {
      reason: 'A middleware consumed the body and did not store it in request.body',
    })
  }
  if (body instanceof Uint8Array) return body
  if (type === 'application/x-www-form-urlencoded' && typeof body === 'object') {
    return Buffer.from(new URLSearchParams(formFields(body)).toString())
  }
  // A string is the body itself, or the parsed value of a JSON string.
  if (typeof body === 'string' && (!isJson(type) || Buffer.byteLength(body) === Number(headers['content-length']))) {
    return Buffer.from(body)
  }
  return isEmpty(message) ? new Uint8Array() : Buffer.from(JSON.stringify(body, finite))
}

/** The framework reads a number beyond the range of a double as an infinity, which `JSON.stringify` would write as null. */
function finite(_name: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new ServiceError(
    'invalid_value',
    'A number of the body is beyond the range of a double (1.8e308): send it as a string',
  )
}

function isEmpty({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

/** Flattens form fields. Frameworks parse repeated fields to arrays, and names with brackets to objects. */
function formFields(value: object, name = ''): [string, string][] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, string][] => {
    const inside = name === '' ? key : Array.isArray(value) ? name : `${name}[${key}]`
    return typeof inner === 'object' && inner !== null ? formFields(inner, inside) : [[inside, String(inner)]]
  })
}
