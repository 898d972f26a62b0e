/** The store port on one SQLite file, using `node:sqlite`. */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ServiceError } from '../../errors.ts'
import { migrate, type Migration, requireMigrated } from '../migrate.ts'
import { StoreStartError } from '../start-error.ts'
import type { LockedActor, Param, Queries, Store, StoreUsage, Transaction, WriteOptions } from '../store.ts'
import { retryBusy } from './busy.ts'
import type { Connection } from './connection.ts'
import { DatabaseFile, type DatabaseFileOptions, fileBytes } from './database-file.ts'
import { DiskReserve, type ReserveSettings } from './disk-reserve.ts'
import { isBusy } from './failure.ts'
import { GroupCommit } from './group-commit.ts'
import { Reader } from './reader.ts'
import { ReadLock } from './read-lock.ts'
import { Snapshots } from './snapshots.ts'
import { refuseSqliteVersion } from './version.ts'

export interface SqliteStoreOptions extends DatabaseFileOptions {
  readonly migrations: readonly Migration[]
  /** Fails instead of creating or migrating the database. Default: false. */
  readonly mustExist?: boolean
  /** Replaces this machine's clock (Unix milliseconds). */
  readonly now?: (() => number) | undefined
  /** Timeout for the lock of another process, in milliseconds. */
  readonly busyTimeoutMs: number
  /** Maximum number of writes that share one COMMIT. */
  readonly batchSize: number
  /** The space for deletions on a full disk. Default: none. */
  readonly reserve?: ReserveSettings
  /** Maximum number of concurrent snapshots. */
  readonly snapshotConnections: number
}

/** @throws StoreStartError with one sentence when the file cannot be used. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const refusal = refuseSqliteVersion(process.versions.sqlite ?? '')
  if (refusal !== null) throw new StoreStartError(refusal)
  const file = new DatabaseFile(options)
  if (options.mustExist === true) file.requireMade()
  file.prepare()
  let writer: Connection | undefined
  try {
    writer = await retryBusy(() => file.connectWriter(), options.busyTimeoutMs)
    await migrateFile(writer, options)
    file.requirePresent()
    const connection = await retryBusy(() => file.connectReader(), options.busyTimeoutMs)
    const lock = new ReadLock(file)
    const reader = new Reader(file, connection, lock, options.busyTimeoutMs)
    const reserve = new DiskReserve({ bytes: 0, ...options.reserve, path: file.path, log: options.log })
    // A command beside the service makes no file, but may use the space of the service's.
    if (options.mustExist !== true) reserve.open()
    const snapshots = new Snapshots(file, {
      connections: options.snapshotConnections,
      busyTimeoutMs: options.busyTimeoutMs,
    })
    return new SqliteStore(
      file,
      reader,
      snapshots,
      new GroupCommit(file, writer, lock, { ...options, reserve }),
      options.now ?? Date.now,
    )
  } catch (error) {
    writer?.close()
    if (isBusy(error))
      throw new StoreStartError(`Cannot open the database file ${file.path}: another process keeps it locked.`, error)
    throw file.startError(error)
  }
}

function migrateFile(writer: Connection, options: SqliteStoreOptions): Promise<void> {
  return (options.mustExist === true ? requireMigrated : migrate)(options.migrations, {
    dialect: 'sqlite',
    async exclusively(step) {
      await retryBusy(() => writer.control('BEGIN IMMEDIATE'), options.busyTimeoutMs)
      try {
        const result = await step({
          script: async (text) => writer.database.exec(text),
          all: async (sql, ...params) => writer.all(sql, params),
          run: async (sql, ...params) => writer.run(sql, params),
        })
        writer.control('COMMIT')
        return result
      } catch (error) {
        if (writer.inTransaction) writer.control('ROLLBACK')
        throw error
      }
    },
  })
}

class SqliteStore implements Store {
  readonly dialect = 'sqlite'
  readonly isSharded = false
  readonly now: () => number
  readonly #file: DatabaseFile
  readonly #reader: Reader
  readonly #snapshots: Snapshots
  readonly #writer: GroupCommit
  #closing: Promise<void> | undefined

  constructor(file: DatabaseFile, reader: Reader, snapshots: Snapshots, writer: GroupCommit, now: () => number) {
    this.#file = file
    this.#reader = reader
    this.#snapshots = snapshots
    this.#writer = writer
    this.now = now
  }

  read<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closed())
    try {
      return work(this.#reader)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    return this.#closing === undefined ? this.#snapshots.take(work) : Promise.reject(closed())
  }

  readAllServers<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.read((q) => q.all<R>(sql, ...params))
  }

  write<T>(work: (tx: Transaction) => Promise<T>, how: WriteOptions = {}): Promise<T> {
    return this.#closing === undefined ? this.#writer.write(work, how) : Promise.reject(closed())
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#closing === undefined ? this.#writer.writeActor(actorId, work, origin) : Promise.reject(closed())
  }

  async ping(): Promise<void> {
    if (this.#closing !== undefined) throw closed()
    this.#file.requirePresent()
    if (this.#file.fault !== undefined) await this.#writer.probe()
    await this.#reader.check()
  }

  async usage(): Promise<StoreUsage> {
    const { path } = this.#file
    const { bavail, bsize } = await statfs(dirname(path))
    return { bytes: fileBytes(path), freeBytes: bavail * bsize, waiting: this.#writer.waiting }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#snapshots.close()])
    this.#reader.close()
  }
}

export function closed(): ServiceError {
  return new ServiceError('shutting_down', undefined, { reason: 'The store is closed' })
}
