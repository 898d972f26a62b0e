/** Classifies and translates the errors of SQLite (https://www.sqlite.org/rescode.html). */
import { ServiceError } from '../../errors.ts'

const PERM = 3
const BUSY = 5
const LOCKED = 6
const NOMEM = 7
const READONLY = 8
const INTERRUPT = 9
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const TOOBIG = 18
const CONSTRAINT_FOREIGNKEY = 787
const CONSTRAINT_PRIMARYKEY = 1555
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_ROWID = 2579
const AUTH = 23
const NOTADB = 26

/** Returns the extended result code, or 0 for an error that SQLite did not raise. */
export function resultCode(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode : 0
}

/** Whether another process holds a lock, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  const primary = resultCode(error) & 0xff
  return primary === BUSY || primary === LOCKED || primary === PROTOCOL
}

/** Whether the file or its disk failed. The connection is reopened, and the health check fails until a write succeeds. */
export function isFault(error: unknown): boolean {
  const primary = resultCode(error) & 0xff
  return (
    primary === IOERR ||
    primary === READONLY ||
    primary === CORRUPT ||
    primary === NOTADB ||
    primary === CANTOPEN ||
    primary === PERM
  )
}

/** Whether a read connection rejected a write, which is a bug of this service and not a failure of the file. */
export function isRefusedWrite(error: unknown): boolean {
  return resultCode(error) === READONLY
}

/** Whether the disk has no room for the change. */
export function isFull(error: unknown): boolean {
  return (resultCode(error) & 0xff) === FULL
}

export function diskFull(cause?: unknown): ServiceError {
  return unavailable(fullReason, cause)
}

export function unavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('store_unavailable', undefined, { reason, cause, retryAfterSeconds: 1 })
}

const fullReason = 'The disk is full'

const reasons: ReadonlyMap<number, string> = new Map([
  [BUSY, 'The database is locked by another process'],
  [LOCKED, 'The database is locked by another process'],
  [PROTOCOL, 'The database is locked by another process'],
  [FULL, fullReason],
  [READONLY, 'The database cannot be written'],
  [PERM, 'The database cannot be written'],
  [AUTH, 'The database cannot be written'],
  [IOERR, 'The disk below the database failed'],
  [CANTOPEN, 'The disk below the database failed'],
  [CORRUPT, 'The database is damaged'],
  [NOTADB, 'The database is damaged'],
  [NOMEM, 'The database could not finish the statement'],
  [INTERRUPT, 'The database could not finish the statement'],
])

const constraints: readonly number[] = [
  CONSTRAINT_UNIQUE,
  CONSTRAINT_PRIMARYKEY,
  CONSTRAINT_ROWID,
  CONSTRAINT_FOREIGNKEY,
]

/** Converts an error of SQLite to a ServiceError. Returns errors that are bugs of this service unchanged. */
export function translate(error: unknown): unknown {
  const code = resultCode(error)
  const primary = code & 0xff
  const reason = reasons.get(primary)
  if (reason !== undefined) return unavailable(reason, error)
  if (primary === TOOBIG)
    return new ServiceError('invalid_value', undefined, { reason: 'The value is too large for SQLite', cause: error })
  if (constraints.includes(code))
    return new ServiceError('conflict', undefined, {
      reason: 'A database constraint rejected the change',
      cause: error,
    })
  return error
}
