/**
 * The store port in the memory of this process, for tests of applications. SQLite shares a database in memory only
 * between connections that lock each other out, so one connection serves all: a read waits for the running write, and a
 * write waits for the open snapshots.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DatabaseSync } from 'node:sqlite'
import { migrate, type Migration, type MigrationTarget } from '../migrate.ts'
import type {
  LockedActor,
  Param,
  Queries,
  QueryObserver,
  Store,
  StoreUsage,
  Transaction,
  WriteOptions,
} from '../store.ts'
import { Connection } from './connection.ts'
import { isRefusedWrite, translate } from './failure.ts'
import { closed } from './sqlite-store.ts'
import { Statements } from './statements.ts'

export interface MemoryStoreOptions {
  readonly migrations: readonly Migration[]
  /** Replaces this machine's clock (Unix milliseconds). */
  readonly now?: (() => number) | undefined
  readonly onQuery?: QueryObserver | undefined
}

/** Migrates a database that no other connection uses. */
export function onConnection(connection: Connection): MigrationTarget {
  return {
    dialect: 'sqlite',
    exclusively: (step) =>
      step({
        script: async (text) => connection.database.exec(text),
        all: async (sql, ...params) => connection.all(sql, params),
        run: async (sql, ...params) => connection.run(sql, params),
      }),
  }
}

/** Opens an empty, migrated database. */
export async function openMemoryStore({ migrations, now = Date.now, onQuery }: MemoryStoreOptions): Promise<Store> {
  const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true })
  // PostgreSQL compares LIKE patterns case-sensitively too.
  database.exec('PRAGMA case_sensitive_like = ON; PRAGMA temp_store = MEMORY')
  const connection = new Connection(database, onQuery, () => {})
  await migrate(migrations, onConnection(connection))
  connection.control('PRAGMA query_only = ON')
  return new MemoryStore(connection, now)
}

/** A running write. */
interface Turn {
  isOver: boolean
}

class MemoryStore implements Store {
  readonly dialect = 'sqlite'
  readonly isSharded = false
  readonly now: () => number
  readonly #connection: Connection
  /** The write in whose asynchronous context the code runs. */
  readonly #turns = new AsyncLocalStorage<Turn>()
  #writing: Promise<void> | undefined
  #snapshots = 0
  #snapshotsOver: PromiseWithResolvers<void> | undefined
  /** Ends with the last write that waits. */
  #queue: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection
    this.now = now
  }

  async read<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw closed()
    return work(this.#reads)
  }

  readonly #reads: Queries = {
    isSharded: false,
    all: <R extends object>(sql: string, ...params: Param[]) => this.#look(() => this.#connection.all<R>(sql, params)),
    get: <R extends object>(sql: string, ...params: Param[]) => this.#look(() => this.#connection.get<R>(sql, params)),
  }

  async #look<T>(statement: () => T): Promise<T> {
    await this.#noWrite()
    try {
      return statement()
    } catch (error) {
      throw isRefusedWrite(error) ? error : translate(error)
    }
  }

  /** Resolves while no write runs. Code inside of a write does not wait for that write. */
  async #noWrite(): Promise<void> {
    while (this.#writing !== undefined && this.#turns.getStore()?.isOver !== false) await this.#writing
    if (this.#isClosed) throw closed()
  }

  readAllServers<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.read((q) => q.all<R>(sql, ...params))
  }

  /** No write runs during the work, so all its reads see the same state without a transaction. */
  async snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    await this.#noWrite()
    const statements = new Statements(this.#connection)
    this.#snapshots++
    try {
      const result = await work(statements)
      statements.finish()
      return result
    } catch (error) {
      statements.close()
      throw isRefusedWrite(error) ? error : translate(error)
    } finally {
      this.#snapshots--
      if (this.#snapshots === 0) this.#snapshotsOver?.resolve()
    }
  }

  write<T>(work: (tx: Transaction) => Promise<T>, { origin }: WriteOptions = {}): Promise<T> {
    return this.#enqueue(origin, (statements) => work(statements))
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#enqueue(origin, (statements) => work(statements, statements.lockActor(actorId)))
  }

  async #enqueue<T>(origin: string | undefined, work: (statements: Statements) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw closed()
    const earlier = this.#queue
    const { promise: over, resolve } = Promise.withResolvers<void>()
    this.#queue = over
    await earlier
    while (this.#snapshots > 0) {
      this.#snapshotsOver = Promise.withResolvers()
      await this.#snapshotsOver.promise
    }
    this.#writing = over
    const turn: Turn = { isOver: false }
    try {
      return await this.#turns.run(turn, () => this.#transact(new Statements(this.#connection, origin), work))
    } finally {
      turn.isOver = true
      this.#writing = undefined
      resolve()
    }
  }

  async #transact<T>(statements: Statements, work: (statements: Statements) => Promise<T>): Promise<T> {
    const connection = this.#connection
    connection.control('PRAGMA query_only = OFF')
    try {
      connection.control('BEGIN')
      const result = await work(statements)
      statements.finish()
      connection.control('COMMIT')
      return result
    } catch (error) {
      statements.close()
      if (connection.inTransaction) connection.control('ROLLBACK')
      throw translate(error)
    } finally {
      connection.control('PRAGMA query_only = ON')
    }
  }

  async ping(): Promise<void> {
    if (this.#isClosed) throw closed()
  }

  async usage(): Promise<StoreUsage> {
    return { bytes: null, freeBytes: null, waiting: 0 }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#queue
    this.#connection.close()
  }
}
