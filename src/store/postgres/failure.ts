/** What an error on the way to PostgreSQL means (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
import pg from 'pg'
import { ServiceError } from '../../errors.ts'

/** Codes with which a server ends the session; the word FATAL beside them comes in the language of the server. */
const ENDS_SESSION = /^(08...|57P0.|25P0[34]|XX...)$/

/** The server refused the statement and the session goes on; anything that is not of this kind ended the session. */
function isRefusal(error: unknown): error is pg.DatabaseError {
  return (
    error instanceof pg.DatabaseError &&
    error.severity !== 'FATAL' &&
    error.severity !== 'PANIC' &&
    !ENDS_SESSION.test(error.code ?? '')
  )
}

/** Another transaction was in the way; nothing was changed, and a repetition may succeed. */
export function isConflictOfTurns(error: unknown): boolean {
  return isRefusal(error) && (error.code === '40001' || error.code === '40P01')
}

/** A statement prepared before the schema changed; a new connection prepares it anew. */
export function isStalePlan(error: unknown): boolean {
  return isRefusal(error) && error.code === '0A000' && error.message.startsWith('cached plan')
}

export function unavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('store_unavailable', undefined, { reason, cause, retryAfterSeconds: 1 })
}

export function outcomeUnknown(cause: unknown): ServiceError {
  return new ServiceError(
    'store_unavailable',
    'The connection to storage broke during the commit: whether the change was made is unknown',
    { reason: 'The connection to the database broke during the commit', cause },
  )
}

/** The service's error for one of the driver; anything that is a mistake of ours stays what it is. */
export function translate(error: unknown): unknown {
  if (error instanceof ServiceError) return error
  if (error instanceof pg.DatabaseError) return translateCode(error)
  return isOfConnection(error) ? unavailable('The connection to the database broke', error) : error
}

function translateCode(error: pg.DatabaseError): unknown {
  const code = error.code ?? ''
  if (constraints.includes(code))
    return new ServiceError('conflict', undefined, { reason: 'A constraint of the database refused it', cause: error })
  // A lone surrogate in a JSON text; of any other type it is a mistake of ours.
  const isSurrogate = code === '22P02' && error.message.endsWith('type json')
  if (isSurrogate || unstorable.includes(code))
    return new ServiceError('invalid_value', undefined, { reason: 'The database cannot hold the value', cause: error })
  const reason = reasons.get(code) ?? reasons.get(code.slice(0, 2))
  if (reason !== undefined) return unavailable(reason, error)
  return isRefusal(error) ? error : unavailable('The database ended the session', error)
}

const constraints: readonly string[] = [
  '23505', // unique_violation
  '23503', // foreign_key_violation
  '23P01', // exclusion_violation
]

const unstorable: readonly string[] = [
  '22021', // character_not_in_repertoire: NUL in a text
  '22P05', // untranslatable_character: \u0000 in a JSON text
  '54000', // program_limit_exceeded: too large for an index
]

/** By code, or by the class of codes: its first two characters. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['40001', 'Other transactions were in the way each time'],
  ['40P01', 'Other transactions were in the way each time'],
  ['57014', 'The statement took longer than it may'], // query_canceled
  ['55P03', 'The lock could not be had in time'], // lock_not_available
  ['25006', 'The database takes no changes'], // read_only_sql_transaction: a standby
  ['08', 'The database cannot answer'], // connection
  ['53', 'The database cannot answer'], // resources: disk, memory, connections
  ['57', 'The database cannot answer'], // operator: shutdown, restart
  ['58', 'The database cannot answer'], // input and output
  ['XX', 'The database cannot answer'], // damage
])

/** The driver has no type for these: system errors carry `syscall`, its own ones only a text. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('syscall' in error || error instanceof AggregateError) return true
  return /^(Connection terminated|timeout e|Query read timeout|Client (has encountered|was closed)|Cannot use a pool|The server does not support SSL)/.test(
    error.message,
  )
}

/** Whether the session is gone, so that the connection must not be used again. */
export function isLost(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? !isRefusal(error) : isOfConnection(error)
}

/** It did not answer in time: a repetition would wait as long again. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /^(Query read timeout|timeout e)/.test(error.message)
}
