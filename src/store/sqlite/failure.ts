/** What an error of SQLite means to a caller (https://www.sqlite.org/rescode.html). */
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

/** The extended result code, or 0 for an error that SQLite did not raise. */
export function resultCode(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode : 0
}

/** Somebody else holds a lock: the same statement may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  const primary = resultCode(error) & 0xff
  return primary === BUSY || primary === LOCKED || primary === PROTOCOL
}

/** The file or the disk below it cannot be trusted any more: the connection is opened anew, health is red until then. */
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

/** On a connection that only reads: somebody wanted to write, which is a mistake of ours and no fault of the file. */
export function isRefusedWrite(error: unknown): boolean {
  return resultCode(error) === READONLY
}

export function unavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('store_unavailable', undefined, { reason, cause, retryAfterSeconds: 1 })
}

const reasons: ReadonlyMap<number, string> = new Map([
  [BUSY, 'The database is locked by another process'],
  [LOCKED, 'The database is locked by another process'],
  [PROTOCOL, 'The database is locked by another process'],
  [FULL, 'There is no space left for the database'],
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

/** The service's error for one of SQLite; anything that is a mistake of ours stays what it is. */
export function translate(error: unknown): unknown {
  const code = resultCode(error)
  const primary = code & 0xff
  const reason = reasons.get(primary)
  if (reason !== undefined) return unavailable(reason, error)
  if (primary === TOOBIG)
    return new ServiceError('invalid_value', undefined, { reason: 'Larger than SQLite stores', cause: error })
  if (constraints.includes(code))
    return new ServiceError('conflict', undefined, { reason: 'A constraint of the database refused it', cause: error })
  return error
}
