/** What an application's handlers and hooks give back, as JSON. */
import { ServiceError } from '../errors.ts'
import { fromPlain, type JsonText } from '../json/json.ts'

/** @throws ServiceError `server_error` for what JSON cannot hold: that is the handler's fault, never the caller's. */
export function handlerResult(value: unknown): JsonText {
  try {
    return fromPlain(value)
  } catch (cause) {
    throw new ServiceError('server_error', undefined, { cause })
  }
}
