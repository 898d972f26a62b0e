/** Converts errors to responses, in one place. */
import { present } from '../../json/present.ts'
import { withoutPeerError } from '../../app/peer-errors.ts'
import { type ErrorCode, ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import { type HttpResponse, json } from './response.ts'

/** Converts an unexpected error to a `server_error` without detail. The log has its cause under the request's id. */
export function toServiceError(thrown: unknown): ServiceError {
  const error = withoutPeerError(thrown)
  return error instanceof ServiceError ? error : new ServiceError('server_error', undefined, { cause: error })
}

/** The error formats other than the default of `error` and `message` (WIRE-HTTP-01). */
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

/** Drops invalid headers. Errors of an application may contain them, and they must not prevent the response. */
function sendable(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
    ),
  )
}

/** The errors that an operator must examine. Clients cause all others and must not be able to fill the log. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'server_error',
  'store_unavailable',
  'list_corrupted',
  'value_corrupted',
  'migration_failed',
  'newer_data',
  'file_missing',
  'secret_lost',
  'insufficient_storage',
])

export function logError(log: Log, error: ServiceError): void {
  if (faults.has(error.code)) log.error({ error }, 'A request failed')
  else if (log.isLevelEnabled('debug'))
    log.debug({ code: error.code, reason: error.detail.reason ?? error.message }, 'A request was refused')
}
