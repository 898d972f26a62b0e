/** The logger that handlers of the application receive. */
import type { ChildLoggerOptions } from 'pino'
import { isSecretMember } from '../json/secret-names.ts'
import { currentContext } from './context.ts'
import { describeError, type Log, plainTexts } from './log.ts'

/**
 * Writes to the log of the service, in its format and from its level on (`LOG_LEVEL`). Each line has the request id,
 * the id of the actor and the operation. Members with the name of a secret, such as `newPassword` or `api_key`, become
 * `[redacted]` at every depth.
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

const censored: ChildLoggerOptions = {
  formatters: { log: (event) => plainTexts(withoutSecrets({ ...event })) },
  // The formatter has described the errors.
  serializers: { error: (error: unknown) => error, err: (error: unknown) => error },
}

/** @param operation The kind and name of the operation, such as `actions/add_note`. */
export function callLog(
  log: Log,
  operation: string,
  actorId: string,
): { readonly log: CallLog; readonly requestId: string } {
  const requestId = currentContext()?.requestId ?? ''
  return { log: log.child({ operation, actorId, requestId }, censored), requestId }
}

/** Copies each member by itself, so that a value without JSON, such as a cycle, costs only its member. */
function withoutSecrets(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).flatMap(([name, value]) => {
      try {
        const member = { [name]: name === 'error' && value !== undefined ? describeError(value) : value }
        return Object.entries(JSON.parse(JSON.stringify(member, censor)) as Record<string, unknown>)
      } catch {
        return [[name, '[cannot be written as JSON]']]
      }
    }),
  )
}

/** A replacer of `JSON.stringify`. An error may have `toJSON` that returns the request with its headers. */
function censor(this: Record<string, unknown>, name: string, value: unknown): unknown {
  if (isSecretMember(name, value)) return '[redacted]'
  const given = this[name]
  if (given instanceof Error) return describeError(given)
  return typeof value === 'bigint' ? String(value) : value
}
