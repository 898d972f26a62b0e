/** The database file: creates it with owner-only access, opens connections, and detects removal, replacement and failure. */
import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { NotCreatedError, StoreStartError } from '../start-error.ts'
import type { QueryObserver, StoreLog } from '../store.ts'
import { Connection } from './connection.ts'
import { isFault, resultCode, unavailable } from './failure.ts'

export interface DatabaseFileOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly onQuery: QueryObserver | undefined
  readonly log: StoreLog
  /** Size of the write-ahead log beyond which the operator is warned, in bytes. Default: 256 MiB. */
  readonly logAlarmBytes?: number
  /** Opens the file at a `file:` URL. Tests inject failures and connections here. */
  readonly open?: ((location: URL, options: DatabaseSyncOptions) => DatabaseSync) | undefined
}

/** Page cache of a connection, so that actors in use are read from memory however large the file is. */
const CACHE_KIB = 16 * 1024
/** Maximum size to which the write-ahead log is truncated after a burst, in bytes. */
const JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
const LOG_ALARM_BYTES = 256 * 1024 * 1024

/** The size of the file with its log of changes. */
export function fileBytes(path: string): number {
  return [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}

export class DatabaseFile {
  readonly path: string
  readonly #options: DatabaseFileOptions
  #identity: string | undefined
  #logIdentity: string | undefined
  #connections = 0
  #logAlarmed = false
  #present = true
  #fault: unknown

  constructor(options: DatabaseFileOptions) {
    this.path = resolve(options.path)
    this.#options = options
  }

  /** @throws NotCreatedError when the file does not exist but can be created; StoreStartError when it cannot. */
  requireMade(): void {
    let folder = dirname(this.path)
    try {
      if (statOf(this.path) !== undefined) return
      while (statOf(folder) === undefined) folder = dirname(folder)
      // The dot makes a file in place of a folder an error.
      accessSync(`${folder}/.`, constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot create the database file ${this.path}: ${reasonOf(error)}.`, error)
    }
    throw new NotCreatedError(`The database file ${this.path} does not exist yet; a start creates it.`)
  }

  /** Creates the folder and the file if missing. @throws StoreStartError when that fails. */
  prepare(): void {
    const folder = dirname(this.path)
    try {
      const created = mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (created !== undefined) syncFolder(dirname(created))
    } catch (error) {
      throw new StoreStartError(`Cannot create the folder ${folder} for the database: ${reasonOf(error)}.`, error)
    }
    try {
      // The file contains the values of all actors, so only its owner may read it. SQLite gives its log the same mode.
      closeSync(openSync(this.path, 'a', 0o600))
      accessSync(this.path, constants.R_OK | constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot open the database file ${this.path}: ${reasonOf(error)}.`, error)
    }
    try {
      // SQLite creates the log and its index in this folder.
      accessSync(folder, constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot write in the folder ${folder} of the database: ${reasonOf(error)}.`, error)
    }
    this.#identity = identityOf(statOf(this.path))
  }

  /** Opens a connection for writes. */
  connectWriter(): Connection {
    return this.#connect((database) => {
      const mode = database.prepare('PRAGMA journal_mode = WAL').get()
      if (mode?.['journal_mode'] !== 'wal')
        throw new StoreStartError(`Cannot use the database file ${this.path}: its file system has no write-ahead log.`)
      database.exec(`PRAGMA synchronous = ${this.#options.synchronous}`)
      // Needed on macOS only: a plain fsync there does not flush the cache of the disk.
      if (this.#options.synchronous === 'FULL') database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
      database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT}`)
    })
  }

  /** Opens a connection for reads only. */
  connectReader(): Connection {
    return this.#connect((database) => {
      database.exec('PRAGMA query_only = ON')
      // After its first read, this connection keeps the log open. Otherwise, closing the other connections would delete the log.
      database.exec('SELECT 1 FROM sqlite_schema LIMIT 1')
    })
  }

  #connect(configure: (database: DatabaseSync) => void): Connection {
    // `mode=rw`: a missing file is an error instead of a new, empty database.
    const location = pathToFileURL(this.path)
    location.search = '?mode=rw'
    const options: DatabaseSyncOptions = { enableForeignKeyConstraints: true, timeout: 0 }
    const database = this.#options.open?.(location, options) ?? new DatabaseSync(location, options)
    try {
      configure(database)
      // PostgreSQL compares LIKE patterns case-sensitively too.
      database.exec(`PRAGMA case_sensitive_like = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}`)
    } catch (error) {
      database.close()
      throw error
    }
    this.#connections++
    return new Connection(database, this.#options.onQuery, () => {
      this.#connections--
      // No connection holds the log, so the next connection may create a new one.
      if (this.#connections === 0) this.#logIdentity = undefined
    })
  }

  /**
   * Checks that the path still leads to the opened file. Writes to a removed file are lost when the process ends, so they
   * must not be reported as stored.
   *
   * @throws ServiceError `store_unavailable` when the file was removed or replaced.
   */
  requirePresent(): void {
    const identity = identityOf(statOf(this.path))
    // The log exists from the first connection until the last one is closed.
    const log = this.#connections === 0 ? undefined : statOf(`${this.path}-wal`)
    const logIdentity = identityOf(log)
    this.#logIdentity ??= logIdentity
    this.#present = identity === this.#identity && logIdentity === this.#logIdentity
    if (this.#present) {
      if (log !== undefined) this.#watchLog(log.size)
      return
    }
    const what = identity === this.#identity ? 'log of the database file' : 'database file'
    const gone = (identity === this.#identity ? logIdentity : identity) === undefined
    const reason = `The ${what} ${this.path} was ${gone ? 'removed' : 'replaced'} while in use`
    this.report(reason, undefined)
    throw unavailable(reason)
  }

  /** Warns when the log grows too large. SQLite restarts the log only when no reader uses it. */
  #watchLog(bytes: number): void {
    const limit = this.#options.logAlarmBytes ?? LOG_ALARM_BYTES
    if (bytes > limit && !this.#logAlarmed) {
      this.#logAlarmed = true
      this.#options.log(
        'warn',
        `The log of the database file ${this.path} has grown beyond ${limit} bytes: a reader keeps it in use`,
      )
    } else if (bytes <= limit) this.#logAlarmed = false
  }

  /** Whether the file was present at the last check. */
  get present(): boolean {
    return this.#present
  }

  /** Why the file is currently unusable; undefined while it is usable. */
  get fault(): unknown {
    return this.#fault
  }

  /** Records a failure of the disk or the file and reports it once. Returns whether the error was such a failure. */
  notice(error: unknown): boolean {
    if (!isFault(error)) return false
    this.report(`Cannot use the database file ${this.path}: ${error instanceof Error ? error.message : ''}`, error)
    return true
  }

  report(reason: string, cause: unknown): void {
    if (this.#fault === undefined) this.#options.log('error', reason, cause)
    this.#fault = cause ?? reason
  }

  /** Clears the failure after a write has succeeded. */
  recovered(): void {
    if (this.#fault === undefined) return
    this.#fault = undefined
    this.#options.log('warn', `The database file ${this.path} can be used again`)
  }

  /** Converts an error of SQLite to the error that ends a start. */
  startError(error: unknown): unknown {
    if (error instanceof StoreStartError) return error
    const code = resultCode(error) & 0xff
    if (code === 26)
      return new StoreStartError(`Cannot open the database file ${this.path}: it is not a database.`, error)
    if (code === 0) return error
    const said = error instanceof Error ? error.message : String(error)
    return new StoreStartError(`Cannot open the database file ${this.path}: ${said}.`, error)
  }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

/** Returns device and inode; undefined when the file does not exist. */
function identityOf(found: Stats | undefined): string | undefined {
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'permission denied'
    case 'EROFS':
      return 'the volume is read-only'
    case 'ENOSPC':
      return 'the disk is full'
    case 'EISDIR':
      return 'it is a folder'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of the path is not a folder'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

/** Syncs a folder: an entry in it survives a power loss only after that. */
function syncFolder(folder: string): void {
  // Windows cannot sync a folder and does not need it.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
