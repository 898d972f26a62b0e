/** The one place where an error becomes an answer. */
import { present } from '../../json/present.ts'
import { type ErrorCode, ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import { type HttpResponse, json } from './response.ts'

/** What was not foreseen is a `server_error` without detail; its cause is in the log under the request's id. */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('server_error', undefined, { cause: error })
}

/** What clients of an endpoint know to read (WIRE-HTTP-01); everywhere else it is `error` and `message`. */
export type ErrorFamily = 'spa'

export function errorResponse(error: ServiceError, family?: ErrorFamily): HttpResponse {
  const { members, headers, retryAfterSeconds } = error.detail
  return json(
    error.status,
    family === 'spa'
      ? { error: true, status_code: error.status, message: error.message }
      : { ...members, error: error.code, message: error.message },
    { ...sendable(headers), ...present({ 'Retry-After': retryAfterSeconds?.toString() }) },
  )
}

/** An application's error may carry headers too: one that cannot be sent must not cost the answer. */
function sendable(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
    ),
  )
}

/** What an operator has to look at. Any other refusal is the sender's doing, and must not let senders fill the log. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'server_error',
  'store_unavailable',
  'list_corrupted',
  'value_corrupted',
])

export function logError(log: Log, error: ServiceError): void {
  if (faults.has(error.code)) log.error({ error }, 'A request failed')
  else if (log.isLevelEnabled('debug'))
    log.debug({ code: error.code, reason: error.detail.reason ?? error.message }, 'A request was refused')
}
