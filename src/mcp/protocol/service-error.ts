/** Converts errors of the service to failures of the protocol. */
import { catalogue, type ErrorCode, ServiceError } from '../../errors.ts'
import { McpFailure } from './failure.ts'
import { type Id, isId } from './message.ts'
import { rpcError } from './reply.ts'

/**
 * Errors that fail the HTTP request when the service itself throws them: 503 means that the tokens of the client are still
 * valid, and 429 that the client must send less.
 */
const transport: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'shutting_down', 'too_many_requests'])

const noPermission: ReadonlySet<ErrorCode> = new Set(['forbidden', 'unauthorized'])

/** Errors below 500 that say nothing about the parameters. */
const notAboutParameters: ReadonlySet<ErrorCode> = new Set([
  'peer_failed',
  'peer_refused',
  'request_timeout',
  'too_many_requests',
])

/**
 * Converts an error that the service threw. A refusal keeps its message. An error of the transport remains a
 * `ServiceError`, because clients need its status. Every unexpected error becomes `internal`, without details.
 */
export function toMcpServiceError(error: unknown): Error {
  if (error instanceof ServiceError && transport.has(error.code)) return error
  return handlerFailure(error)
}

/** Converts an error that a handler of the application threw. The client receives the text and the code, never a cause. */
export function handlerFailure(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error
  if (!isDeliberate(error)) return new McpFailure('internal', 'Internal error', undefined, error)
  const { code, message, status } = error
  const data = { error: code }
  if (noPermission.has(code)) return new McpFailure('not_permitted', message, data)
  const failed = status >= 500 || notAboutParameters.has(code)
  return new McpFailure(failed ? 'failed' : 'invalid_params', message, data, error)
}

/** The text of an error for a model, with the code. Null for an unexpected error, whose details only the log has. */
export function textForModel(error: unknown): string | null {
  if (!isDeliberate(error)) return null
  const { retryAfterSeconds } = error.detail
  const later = retryAfterSeconds === undefined ? '' : `. Try again in ${retryAfterSeconds} s`
  return `${error.message} (${error.code})${later}`
}

/** False for `server_error` with the text of the catalogue, which is how the service reports a defect of a handler. */
function isDeliberate(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false
  return error.code !== 'server_error' || error.message !== catalogue.server_error.text
}

/** The error of a request whose id is known, for `transportError`. */
export function withId(error: unknown, id: Id | undefined): unknown {
  if (!(error instanceof ServiceError) || id === undefined) return error
  const { code, message, detail } = error
  return new ServiceError(code, message, { ...detail, members: { ...detail.members, id } })
}

/** The JSON-RPC body of an error with its own HTTP status, with the id of the request where it is known. */
export function transportError({ code, message, status, detail }: ServiceError): object {
  const id = detail.members?.['id']
  return rpcError(isId(id) ? id : undefined, {
    code: status >= 500 || status === 429 ? -32603 : -32600,
    message,
    data: { error: code },
  })
}

/** The last message of a stream whose request fails after the stream began. */
export function lateError(id: Id, error: unknown): object {
  if (!isDeliberate(error)) return rpcError(id, { code: -32603, message: 'Internal error' })
  return rpcError(id, { code: -32603, message: error.message, data: { error: error.code } })
}
