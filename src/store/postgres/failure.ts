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
  switch (code) {
    case '23505': // unique_violation
    case '23503': // foreign_key_violation
    case '23P01': // exclusion_violation
      return new ServiceError('conflict', undefined, {
        reason: 'A constraint of the database refused it',
        cause: error,
      })
    case '22021': // character_not_in_repertoire: NUL in a text
    case '22P05': // untranslatable_character: \u0000 in a JSON text
    case '54000': // program_limit_exceeded: too large for an index
      return new ServiceError('invalid_value', undefined, {
        reason: 'The database cannot hold the value',
        cause: error,
      })
    case '40001':
    case '40P01':
      return unavailable('Other transactions were in the way each time', error)
    case '57014': // query_canceled
      return unavailable('The statement took longer than it may', error)
    case '55P03': // lock_not_available
      return unavailable('The lock could not be had in time', error)
    case '25006': // read_only_sql_transaction: a standby
      return unavailable('The database takes no changes', error)
    case '22P02': // A lone surrogate in a JSON text; of any other type it is a mistake of ours.
      return error.message.endsWith('type json')
        ? new ServiceError('invalid_value', undefined, { reason: 'The database cannot hold the value', cause: error })
        : error
  }
  switch (code.slice(0, 2)) {
    case '08': // connection
    case '53': // resources: disk, memory, connections
    case '57': // operator: shutdown, restart
    case '58': // input and output
    case 'XX': // damage
      return unavailable('The database cannot answer', error)
  }
  return isRefusal(error) ? error : unavailable('The database ended the session', error)
}

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
