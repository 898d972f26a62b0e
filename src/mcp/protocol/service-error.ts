/** Converts errors of the service to failures of the protocol. */
import { ServiceError } from '../../errors.ts'
import { McpFailure } from './failure.ts'

/**
 * Converts an error. A refusal keeps its message. An unavailable store remains a `ServiceError`, because clients need its
 * status: 503 means that their tokens are still valid. Every unexpected error becomes `internal`, without details.
 */
export function toMcpServiceError(error: unknown): Error {
  if (!(error instanceof ServiceError)) return new McpFailure('internal', 'Internal error', undefined, error)
  switch (error.code) {
    case 'store_unavailable':
    case 'shutting_down':
    case 'too_many_requests':
      return error
    case 'forbidden':
    case 'unauthorized':
      return new McpFailure('not_permitted', error.message)
    case 'server_error':
      return new McpFailure('internal', 'Internal error', undefined, error)
    default:
      return new McpFailure('invalid_params', error.message)
  }
}
