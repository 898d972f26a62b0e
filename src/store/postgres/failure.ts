/** Classifies and translates errors of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
import pg from 'pg'
import { ServiceError } from '../../errors.ts'

/** Codes that end the session. The driver's severity is not enough, because the server translates the word FATAL. */
const ENDS_SESSION = /^(08...|57P0.|25P0[34]|XX...)$/

/** Whether the server rejected the statement and the session continues. Any other error ended the session. */
function isRefusal(error: unknown): error is pg.DatabaseError {
  return (
    error instanceof pg.DatabaseError &&
    error.severity !== 'FATAL' &&
    error.severity !== 'PANIC' &&
    !ENDS_SESSION.test(error.code ?? '')
  )
}

/** Whether the transaction conflicted with another one, changed nothing, and may succeed on a retry. */
export function isConflictOfTurns(error: unknown): boolean {
  return isRefusal(error) && (error.code === '40001' || error.code === '40P01')
}

/** Whether a statement waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return isRefusal(error) && error.code === '55P03'
}

/** Whether a statement was prepared before the schema changed. A new connection prepares it again. */
export function isStalePlan(error: unknown): boolean {
  return isRefusal(error) && error.code === '0A000' && error.message.startsWith('cached plan')
}

/** Whether the server became a standby, so that another host may accept changes. */
export function isReadOnly(error: unknown): boolean {
  return isRefusal(error) && error.code === '25006'
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

/** Converts an error of the driver to a ServiceError. Returns errors that are bugs of this service unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof ServiceError) return error
  if (error instanceof pg.DatabaseError) return translateCode(error)
  return isOfConnection(error) ? unavailable('The connection to the database broke', error) : error
}

function translateCode(error: pg.DatabaseError): unknown {
  const code = error.code ?? ''
  if (constraints.includes(code))
    return new ServiceError('conflict', undefined, {
      reason: 'A database constraint rejected the change',
      cause: error,
    })
  // Type json: the JSON contains a lone surrogate. For any other type, the error is a bug of this service.
  const isSurrogate = code === '22P02' && error.message.endsWith('type json')
  if (isSurrogate || unstorable.includes(code))
    return new ServiceError('invalid_value', undefined, { reason: 'The database cannot store the value', cause: error })
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
  '22021', // character_not_in_repertoire: NUL in a string
  '22P05', // untranslatable_character: \u0000 in JSON
  '54000', // program_limit_exceeded: too large for an index
]

/** Reasons by code, or by class of codes (its first two characters). */
const reasons: ReadonlyMap<string, string> = new Map([
  ['40001', 'Every attempt conflicted with other transactions'],
  ['40P01', 'Every attempt conflicted with other transactions'],
  ['57014', 'The statement timed out'], // query_canceled
  ['55P03', 'Timed out while waiting for a lock'], // lock_not_available
  ['26000', 'A connection pooler lost a prepared statement'], // invalid_sql_statement_name
  ['42P05', 'A connection pooler lost a prepared statement'], // duplicate_prepared_statement
  ['25006', 'The database is read-only'], // read_only_sql_transaction: a standby
  ['08', 'The database is unavailable'], // connection
  ['53', 'The database is unavailable'], // resources: disk, memory, connections
  ['57', 'The database is unavailable'], // operator: shutdown, restart
  ['58', 'The database is unavailable'], // input and output
  ['XX', 'The database is unavailable'], // damage
])

/** Whether an error concerns the connection. System errors have `syscall`; the driver's own errors have only a message. */
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

/** Whether the server did not answer in time. A retry would wait for the timeout again. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /^(Query read timeout|timeout e)/.test(error.message)
}
