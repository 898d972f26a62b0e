/** The file: created for its owner alone, connected to, and watched for being removed, replaced or failing. */
import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { NotMadeYetError, StoreStartError } from '../start-error.ts'
import type { QueryObserver, StoreLog } from '../store.ts'
import { Connection } from './connection.ts'
import { isFault, resultCode, unavailable } from './failure.ts'

export interface DatabaseFileOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly onQuery: QueryObserver | undefined
  readonly log: StoreLog
  /** The size of the log beyond which the operator is told (bytes, default 256 MiB). */
  readonly logAlarmBytes?: number
  /** Opens the file at a `file:` address. Tests break things here. */
  readonly open?: (location: URL, options: DatabaseSyncOptions) => DatabaseSync
}

/** Pages that a connection keeps at most, so that the actors in use are read from memory however large the file is. */
const CACHE_KIB = 16 * 1024
/** Bounds what the log keeps on disk after a burst (bytes). */
const JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
const LOG_ALARM_BYTES = 256 * 1024 * 1024

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

  /** @throws NotMadeYetError when there is no file but one could be made; StoreStartError when it could not. */
  requireMade(): void {
    let folder = dirname(this.path)
    try {
      if (statOf(this.path) !== undefined) return
      while (statOf(folder) === undefined) folder = dirname(folder)
      // With the dot a file in the place of a folder is an error.
      accessSync(`${folder}/.`, constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot make the database file ${this.path}: ${reasonOf(error)}.`, error)
    }
    throw new NotMadeYetError(`There is no database file ${this.path} yet; a start makes it.`)
  }

  /** Creates folder and file where they are missing. @throws StoreStartError when that is not possible. */
  prepare(): void {
    const folder = dirname(this.path)
    try {
      const created = mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (created !== undefined) syncFolder(dirname(created))
    } catch (error) {
      throw new StoreStartError(`Cannot create the folder ${folder} for the database: ${reasonOf(error)}.`, error)
    }
    try {
      // SQLite gives its log the mode of this file. The values of every actor are in here: its owner alone may read it.
      closeSync(openSync(this.path, 'a', 0o600))
      accessSync(this.path, constants.R_OK | constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot open the database file ${this.path}: ${reasonOf(error)}.`, error)
    }
    try {
      // The log and its index are created beside the file.
      accessSync(folder, constants.W_OK)
    } catch (error) {
      throw new StoreStartError(`Cannot write in the folder ${folder} of the database: ${reasonOf(error)}.`, error)
    }
    this.#identity = identityOf(statOf(this.path))
  }

  /** A connection that writes. */
  connectWriter(): Connection {
    return this.#connect((database) => {
      const mode = database.prepare('PRAGMA journal_mode = WAL').get()
      if (mode?.['journal_mode'] !== 'wal')
        throw new StoreStartError(`Cannot use the database file ${this.path}: its file system has no write-ahead log.`)
      database.exec(`PRAGMA synchronous = ${this.#options.synchronous}`)
      // Only macOS knows the difference: there a plain sync stops at the cache of the disk.
      if (this.#options.synchronous === 'FULL') database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
      database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT}`)
    })
  }

  /** A connection that only reads. */
  connectReader(): Connection {
    return this.#connect((database) => {
      database.exec('PRAGMA query_only = ON')
      // From its first read on a connection keeps the log where it is; without one, closing the others would remove it.
      database.exec('SELECT 1 FROM sqlite_schema LIMIT 1')
    })
  }

  #connect(configure: (database: DatabaseSync) => void): Connection {
    // `mode=rw`: a file that is gone is an error, never a new and empty database.
    const location = pathToFileURL(this.path)
    location.search = '?mode=rw'
    const options: DatabaseSyncOptions = { enableForeignKeyConstraints: true, timeout: 0 }
    const database = this.#options.open?.(location, options) ?? new DatabaseSync(location, options)
    try {
      configure(database)
      // As PostgreSQL compares.
      database.exec(`PRAGMA case_sensitive_like = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}`)
    } catch (error) {
      database.close()
      throw error
    }
    this.#connections++
    return new Connection(database, this.#options.onQuery, () => {
      this.#connections--
      // Nobody holds the log any more: the next connection may begin another.
      if (this.#connections === 0) this.#logIdentity = undefined
    })
  }

  /**
   * What is written to a file without a name is lost when the process ends, so it must not be reported as stored.
   *
   * @throws ServiceError `store_unavailable` when the path leads to another file or to none.
   */
  requirePresent(): void {
    const identity = identityOf(statOf(this.path))
    // The log appears with the first connection, and stays until the last one is closed.
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

  /** The log starts over when no reader is in it; one that stays keeps it growing. */
  #watchLog(bytes: number): void {
    const limit = this.#options.logAlarmBytes ?? LOG_ALARM_BYTES
    if (bytes > limit && !this.#logAlarmed) {
      this.#logAlarmed = true
      this.#options.log(
        'warn',
        `The log of the database file ${this.path} has grown beyond ${limit} bytes: a reader stays in it`,
      )
    } else if (bytes <= limit) this.#logAlarmed = false
  }

  /** Whether the file was there when it was last looked for. */
  get present(): boolean {
    return this.#present
  }

  /** The reason for which the file was last found unusable, undefined while it is in order. */
  get fault(): unknown {
    return this.#fault
  }

  /** Remembers a fault of the disk or the file, and tells the operator once. Says whether it was one. */
  notice(error: unknown): boolean {
    if (!isFault(error)) return false
    this.report(`The database file ${this.path} cannot be used: ${error instanceof Error ? error.message : ''}`, error)
    return true
  }

  report(reason: string, cause: unknown): void {
    if (this.#fault === undefined) this.#options.log('error', reason, cause)
    this.#fault = cause ?? reason
  }

  /** Called after a change was stored. */
  recovered(): void {
    if (this.#fault === undefined) return
    this.#fault = undefined
    this.#options.log('warn', `The database file ${this.path} can be used again`)
  }

  /** The sentence with which a start ends for what SQLite said. */
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

/** Device and inode; undefined when there is no such file. */
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
      return 'there is no space left'
    case 'EISDIR':
      return 'it is a folder'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of the path is not a folder'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

/** A new folder survives a power loss only when the folder that names it was synced. */
function syncFolder(folder: string): void {
  // Windows cannot sync a folder, and needs none.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
