/** Converts the results of an application's handlers and hooks to JSON. */
import { ServiceError } from '../errors.ts'
import { fromPlain, type JsonText } from '../json/json.ts'

/** @throws ServiceError `server_error` for a value that JSON cannot represent: the handler is at fault, not the caller. */
export function handlerResult(value: unknown): JsonText {
  try {
    return fromPlain(value)
  } catch (cause) {
    throw new ServiceError('server_error', undefined, { cause })
  }
}
