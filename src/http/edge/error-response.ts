/** Converts errors to responses, in one place. */
import { present } from '../../json/present.ts'
import { withoutPeerError } from '../../app/peer-errors.ts'
import { needsOperator, ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import { logOutage } from '../../observe/outage-lines.ts'
import { type HttpResponse, json } from './response.ts'

/** Converts an unexpected error to a `server_error` without detail. The log has its cause under the request's id. */
export function toServiceError(thrown: unknown): ServiceError {
  const error = withoutPeerError(thrown)
  return error instanceof ServiceError ? error : new ServiceError('server_error', undefined, { cause: error })
}

/** The error formats other than the default of `error` and `message` (WIRE-HTTP-01). */
export type ErrorFamily = 'spa' | ((error: ServiceError) => object)

export function errorResponse(error: ServiceError, family?: ErrorFamily): HttpResponse {
  const { headers, retryAfterSeconds } = error.detail
  return json(error.status, bodyOf(error, family), {
    ...sendable(headers),
    ...present({ 'Retry-After': retryAfterSeconds?.toString() }),
  })
}

function bodyOf(error: ServiceError, family: ErrorFamily | undefined): object {
  if (typeof family === 'function') return family(error)
  return family === 'spa'
    ? { error: true, status_code: error.status, message: error.message }
    : { ...error.detail.members, error: error.code, message: error.message }
}

/** Drops invalid headers. Errors of an application may contain them, and they must not prevent the response. */
function sendable(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
    ),
  )
}

export function logError(log: Log, error: ServiceError): void {
  if (error.code === 'store_unavailable') logOutage(log, { error }, 'A request failed')
  else if (needsOperator(error)) log.error({ error }, 'A request failed')
  else if (log.isLevelEnabled('debug'))
    log.debug({ code: error.code, reason: error.detail.reason ?? error.message }, 'A request was refused')
}
