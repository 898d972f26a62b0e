/** The store port on PostgreSQL, or on a database that speaks its protocol. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { ServiceError } from '../../errors.ts'
import { migrate, type Migration, requireMigrated } from '../migrate.ts'
import { readSchema } from '../schema-text.ts'
import type { ReadReplica } from '../read-replicas.ts'
import { StoreStartError } from '../start-error.ts'
import type {
  LockedActor,
  Param,
  Queries,
  QueryObserver,
  Store,
  StoreLog,
  StoreUsage,
  Transaction,
  WriteOptions,
} from '../store.ts'
import {
  isConflictOfTurns,
  isLost,
  isReadOnly,
  isStalePlan,
  isTimeout,
  outcomeUnknown,
  translate,
  unavailable,
} from './failure.ts'
import {
  type ChangeOutcome,
  ChangeGroup,
  type GroupedChange,
  type TransactionEnd,
  waitingChange,
  type WaitingChange,
} from './change-group.ts'
import { tableBytes } from './compact.ts'
import { connectionTo } from './hosts.ts'
import { requireTablePrivileges, type SchemaDeps } from './database-schema.ts'
import { migrationTarget } from './migration-target.ts'
import { type DatabaseAddress, databaseAddress } from './pooler.ts'
import { Reader } from './reader.ts'
import { ServerClock } from './server-clock.ts'
import { type Begins, beginsFor, GRACE_MS, startupSettings } from './settings.ts'
import { isDistributed } from './sharding.ts'
import { requireFitSessions, requireReachable } from './start.ts'
import { StatementCache } from './statement-cache.ts'
import { AllServers } from './all-servers.ts'
import { PostgresTransaction } from './transaction.ts'
import { Turns } from './turns.ts'
import { types } from './types.ts'

export { readSchema }

export interface PostgresStoreOptions {
  /** The URL, with the parameter `pooler` of `pooler.ts`. */
  readonly url: string
  /** The schema of the tables. A start creates it. */
  readonly schema: string
  readonly migrations: readonly Migration[]
  /** Fails instead of creating or migrating the database. Default: false. */
  readonly mustExist?: boolean
  /** How long to wait for a server that cannot be reached, in milliseconds. Default: 0. */
  readonly waitMs?: number
  /** Number of connections for writes and snapshots. */
  readonly workers: number
  /** Number of pipelined connections for reads. */
  readonly readers: number
  /** Timeout for a free or new connection, in milliseconds. */
  readonly connectTimeoutMs: number
  /** Timeout for the actor's turn in this process, and again for a row that another process has locked, in milliseconds. */
  readonly lockTimeoutMs: number
  /** Timeout of a statement, in milliseconds. */
  readonly statementTimeoutMs: number
  /** Replaces the server's clock (Unix milliseconds). */
  readonly now: (() => number) | undefined
  readonly onQuery: QueryObserver | undefined
  readonly log: StoreLog
}

/** Maximum number of retries after conflicts with other transactions. */
const MAX_REPETITIONS = 5
/** Maximum number of waiting calls per connection; a further call fails immediately. */
const WAITING_PER_WORKER = 100

/** @throws StoreStartError with one sentence when the database cannot be used. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const address = databaseAddress(options.url)
  const first = await requireReachable(address, {
    timeoutMs: options.connectTimeoutMs,
    waitMs: options.waitMs ?? 0,
    log: options.log,
  })
  const store = new PostgresStore(options, address)
  try {
    await requireFitSessions(first, address.pooler, () => store.connected())
    const tables = readSchema(options.migrations).map(({ name }) => name)
    const schema: SchemaDeps = { schema: options.schema, tables, database: first.name }
    const target = migrationTarget(first.client, schema)
    await (options.mustExist === true ? requireMigrated : migrate)(options.migrations, target)
    await requireTablePrivileges(first.client, schema)
    store.setSharded(await isDistributed(first.client, options.schema))
    await store.setClock().catch((error: unknown) => {
      throw new StoreStartError('Cannot read the clock of the database.', error)
    })
    return store
  } catch (error) {
    await store.close()
    throw error
  } finally {
    await first.client.end()
  }
}

/** Returns a read replica. Its first read connects. @throws StoreStartError for an invalid URL. */
export function postgresReplica(options: PostgresStoreOptions): ReadReplica {
  const address = databaseAddress(options.url)
  const { host, pathname } = new URL(address.url)
  const store = new PostgresStore(options, address)
  return {
    name: `${host}${pathname}`,
    snapshot: (work) => store.snapshot(work),
    close: () => store.close(),
  }
}

class PostgresStore implements Store {
  readonly dialect = 'postgres'
  readonly #options: PostgresStoreOptions
  readonly #cache: StatementCache
  readonly #reader: Reader
  readonly #pool: pg.Pool
  readonly #turns: Turns<WaitingChange<unknown>>
  readonly #clock: ServerClock
  readonly now: () => number
  isSharded = false
  readonly #begins: Begins
  readonly #allServers: AllServers
  #running = 0
  #drained: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresStoreOptions, { url, hosts, pooler }: DatabaseAddress) {
    this.#options = options
    this.#allServers = new AllServers({ snapshot: (work) => this.snapshot(work), log: options.log })
    this.#begins = beginsFor(pooler, options)
    this.#cache = new StatementCache(options.onQuery, pooler !== 'unprepared')
    this.#turns = new Turns(options.lockTimeoutMs)
    const Client = connectionTo(hosts)
    const config: pg.ClientConfig = {
      connectionString: url,
      types,
      pipeline: true,
      keepAlive: true,
      fallback_application_name: 'troupe',
      connectionTimeoutMillis: options.connectTimeoutMs,
      ...(pooler === 'none' ? startupSettings(options) : {}),
      query_timeout: options.statementTimeoutMs + GRACE_MS,
    }
    this.#reader = new Reader({
      connect: () => this.#connectReader(new Client(config)),
      cache: this.#cache,
      connections: options.readers,
      pingTimeoutMs: options.connectTimeoutMs,
      begin: this.#begins.read,
    })
    this.#clock = new ServerClock({ ask: () => this.#reader.time() })
    this.now = options.now ?? this.#clock.now
    this.#pool = new pg.Pool({ ...config, Client, max: options.workers, idleTimeoutMillis: 60_000 })
    // A broken connection emits `error`. Without a listener, that event would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#pool.on('error', (error) => options.log('warn', 'An idle connection to the database broke', error))
  }

  /** Returns a connection for reads. */
  async connected(): Promise<pg.Client> {
    return this.#reader.connected()
  }

  setSharded(isSharded: boolean): void {
    this.isSharded = isSharded
    this.#reader.isSharded = isSharded
  }

  async setClock(): Promise<void> {
    if (this.#options.now === undefined) await this.#clock.set()
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
    return this.#counted(() => this.#transact({ begin: this.#begins.snapshot }, work))
  }

  readAllServers<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.isSharded ? this.#allServers.read<R>(sql, params) : this.read((q) => q.all<R>(sql, ...params))
  }

  write<T>(
    work: (tx: Transaction) => Promise<T>,
    { turn, durability = 'full', origin }: WriteOptions = {},
  ): Promise<T> {
    const transact = (): Promise<T> => this.#transact({ begin: this.#begins.write[durability], origin }, work)
    return this.#counted(() => (turn === undefined ? transact() : this.#turns.take(`turn ${turn}`, transact)))
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    const change: GroupedChange<T> = { work, origin }
    return this.#counted(() =>
      this.#turns.take(
        actorId,
        () => this.#lead(actorId, change),
        () => waitingChange(change, () => this.#turns.take(actorId, () => this.#lead(actorId, change))),
      ),
    )
  }

  /** Runs a change, and the changes of the same actor that wait when it has locked the actor. */
  async #lead<T>(actorId: string, change: GroupedChange<T>): Promise<T> {
    const begin = { begin: this.#begins.write.full, origin: change.origin }
    let group: ChangeGroup | undefined
    const outcome = await this.#transact<ChangeOutcome<T>>(
      begin,
      async (transaction) => {
        const actor = await transaction.lockActor(actorId)
        if (this.isSharded || !this.#turns.canJoin(actorId))
          return { kind: 'done', value: await change.work(transaction, actor) }
        group = new ChangeGroup(transaction, actor, this.#options.lockTimeoutMs)
        const own = await group.run(change)
        while (group.hasCapacity) {
          const waiting = this.#turns.join(actorId)
          if (waiting === undefined) break
          await group.join(waiting)
        }
        group.close()
        return own
      },
      (end) => {
        group?.end(end)
        group = undefined
      },
    )
    if (outcome.kind === 'failed') throw outcome.error
    if (outcome.kind === 'done') return outcome.value
    return this.#transact(begin, async (transaction) => change.work(transaction, await transaction.lockActor(actorId)))
  }

  async ping(): Promise<void> {
    if (this.#closing !== undefined) throw closed()
    await this.#reader.ping()
  }

  async usage(): Promise<StoreUsage> {
    const waiting = this.#pool.waitingCount
    // The server that plans the statements has no rows of a sharded database.
    if (this.isSharded) return { bytes: null, freeBytes: null, waiting }
    const row = await this.read((q) => q.get<{ bytes: number }>(tableBytes, pg.escapeIdentifier(this.#options.schema)))
    return { bytes: row?.bytes ?? 0, freeBytes: null, waiting }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#drained = resolve))
    await Promise.all([this.#pool.end(), this.#reader.close()])
  }

  async #counted<T>(transaction: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw closed()
    this.#running++
    try {
      return await transaction()
    } finally {
      this.#running--
      if (this.#running === 0) this.#drained?.()
    }
  }

  async #transact<T>(
    { begin, origin }: { readonly begin: string; readonly origin?: string | undefined },
    work: (transaction: PostgresTransaction) => Promise<T>,
    onEnd: (end: TransactionEnd) => void = () => {},
  ): Promise<T> {
    let mayReconnect = true
    for (let repetition = 0; ; repetition++) {
      const client = await this.#takeClient()
      const transaction = new PostgresTransaction(begin, {
        client,
        cache: this.#cache,
        origin,
        isSharded: this.isSharded,
      })
      let committing = false
      try {
        const result = await work(transaction)
        committing = transaction.failure === undefined
        await transaction.commit()
        client.release()
        onEnd({ kind: 'committed' })
        return result
      } catch (error) {
        // `work` may have replaced the error of a failed statement by its own error.
        const raised = transaction.failure ?? error
        const lost = isLost(raised)
        const stale = isStalePlan(raised) || isReadOnly(raised)
        await this.#giveBack(client, transaction, raised)
        if (lost && committing) {
          const unknown = outcomeUnknown(raised)
          onEnd({ kind: 'unknown', error: unknown })
          throw unknown
        }
        onEnd({ kind: 'rolled back' })
        if (isConflictOfTurns(raised) && repetition < MAX_REPETITIONS) {
          await pause(2 ** repetition * 4 * Math.random())
          continue
        }
        if (mayReconnect && (stale || (lost && !isTimeout(raised)))) {
          mayReconnect = false
          continue
        }
        throw translate(error)
      }
    }
  }

  /** Returns the connection to the pool after a rollback, or closes it. */
  async #giveBack(client: pg.PoolClient, transaction: PostgresTransaction, raised: unknown): Promise<void> {
    const stale = isStalePlan(raised)
    // Behind a pooler, a new connection may get the session with the stale plan again.
    if (stale && this.#begins.read !== undefined) this.#cache.stopNaming()
    if (stale || isReadOnly(raised) || isLost(raised)) {
      client.release(true)
      return
    }
    try {
      await transaction.rollback()
      client.release()
    } catch {
      client.release(true)
    }
  }

  async #takeClient(): Promise<pg.PoolClient> {
    if (this.#pool.waitingCount >= this.#options.workers * WAITING_PER_WORKER)
      throw unavailable('Too many calls wait for a connection to the database')
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw translate(error)
    }
  }

  async #connectReader(client: pg.Client): Promise<pg.Client> {
    client.on('error', (error) => this.#options.log('warn', 'A connection to the database broke', error))
    await client.connect()
    return client
  }
}

function closed(): ServiceError {
  return new ServiceError('shutting_down', undefined, { reason: 'The store is closed' })
}
