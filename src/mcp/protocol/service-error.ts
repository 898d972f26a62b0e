/** Faults of the service in the protocol's words. */
import { ServiceError } from '../../errors.ts'
import { McpFailure } from './failure.ts'

/**
 * What was refused keeps its words; a fault of the store goes on as it is, because it is answered by status and not by a
 * code (503 tells clients to keep their tokens); everything else is `internal` without detail.
 */
export function toServiceError(error: unknown): Error {
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
