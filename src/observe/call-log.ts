/** The logger that handlers of the application receive. */
import { currentContext } from './context.ts'
import type { Log } from './log.ts'

/**
 * Writes to the log of the service, in its format and from its level on (`LOG_LEVEL`). Each line has the request id,
 * the id of the actor and the operation. Members that are named as secrets, such as `password` or `token`, are left out up to
 * the third level.
 *
 * @public
 */
export interface CallLog {
  debug(message: string): void
  debug(fields: object, message: string): void
  info(message: string): void
  info(fields: object, message: string): void
  warn(message: string): void
  warn(fields: object, message: string): void
  error(message: string): void
  error(fields: object, message: string): void
}

const secrets = [
  'password',
  'passphrase',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'authorization',
  'cookie',
]
const redact = { paths: secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' }

/** pino compiles the paths for each logger, so one logger is the parent of all. */
const parents = new WeakMap<Log, Log>()

/** @param operation The kind and name of the operation, such as `actions/add_note`. */
export function callLog(
  log: Log,
  operation: string,
  actorId: string,
): { readonly log: CallLog; readonly requestId: string } {
  let parent = parents.get(log)
  if (parent === undefined) parents.set(log, (parent = log.child({}, { redact })))
  const requestId = currentContext()?.requestId ?? ''
  return { log: parent.child({ operation, actorId, requestId }), requestId }
}
