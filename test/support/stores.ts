/** Creates stores for tests, runs the same tests on both databases, and makes stores fail as planned. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { constants, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe } from 'node:test'
import pg from 'pg'
import { ServiceError } from '../../src/errors.ts'
import { isInBackground } from '../../src/observe/context.ts'
import { readMigrations } from '../../src/store/migrate.ts'
import { openStore, type StoreOptions } from '../../src/open-store.ts'
import type { Dialect } from '../../src/store/portable.ts'
import type { Param, Queries, QueryObserver, Store, Transaction } from '../../src/store/store.ts'
import {
  citusEntrance,
  citusServers,
  createCitusDatabase,
  databaseUrl,
  dropDatabase,
  freezeDatabase,
  onAllServers,
  setUpCopy,
} from './citus.ts'
import { administer, quickFolder, sharedPostgresUrl } from './postgres.ts'

export interface TestDatabase {
  readonly dialect: Dialect
  /** The URL for `openStore`. */
  readonly url: string
  readonly remove: () => Promise<void>
}

/** A database that tests use one after the other. Each finds it as a new one. */
export interface LentDatabase {
  readonly url: string
  /** Ends the use, after the services of the test have stopped. */
  giveBack(): void
}

/** Opens a migrated store on a new database, or on the database with the given URL. The test run closes and deletes both. */
export type OpenTestStore = (options?: Partial<StoreOptions>) => Promise<Store>

/** The pooler of `npm run pgbouncer`, which is about PostgreSQL only. */
const givenPooler = (): string => process.env['TROUPE_TEST_POOLER'] ?? ''
const dialects: readonly Dialect[] =
  givenPooler() === '' && citusServers().length === 0 ? ['sqlite', 'postgres'] : ['postgres']

/** The environment variable with which a run declares the tests of services on a sharded database. */
export const shardedVariable = 'TROUPE_TEST_SHARDED'

interface StoreKind {
  readonly title: string
  readonly dialect: Dialect
  /** Whether services run the statements of a sharded database. */
  readonly isSharded: boolean
}

const kinds: readonly StoreKind[] = dialects.map((dialect) => ({
  title: dialect === 'sqlite' ? 'on SQLite' : 'on PostgreSQL',
  dialect,
  isSharded: false,
}))
const shardedKind: StoreKind = { title: 'on sharded PostgreSQL', dialect: 'postgres', isSharded: true }

/**
 * Declares the same tests for SQLite and for PostgreSQL.
 *
 * A store opened in a test closes after that test, and one opened in `before` after the last test. Databases are deleted last.
 */
export function forEachStore(
  declare: (
    dialect: Dialect,
    open: OpenTestStore,
    database: () => Promise<TestDatabase>,
    lend: () => Promise<LentDatabase>,
    isSharded: boolean,
  ) => void,
  { withSharded = false } = {},
): void {
  const isDeclared = withSharded && process.env[shardedVariable] === 'yes' && kinds.length > 1
  for (const { title, dialect, isSharded } of isDeclared ? [...kinds, shardedKind] : kinds) {
    describe(title, () => {
      const ofFile: (() => Promise<void>)[] = []
      const ofTest: (() => Promise<void>)[] = []
      let current = ofFile
      beforeEach(() => {
        current = ofTest
      })
      afterEach(async () => {
        current = ofFile
        await undo(ofTest)
      })

      const database = async (): Promise<TestDatabase> => {
        const created = await createTestDatabase(dialect)
        // All databases are deleted at the end, because PostgreSQL notices closed connections with a delay.
        ofFile.push(() => created.remove())
        return created
      }
      const open: OpenTestStore = async (options = {}) => {
        const url = options.url ?? (await database()).url
        // A process may be paused for seconds. Tests of this limit set their own.
        const store = await openStore({ lockTimeoutMs: 60_000, ...options, url })
        current.push(() => store.close())
        return store
      }
      const returned: ReusedDatabase[] = []
      const lend = async (): Promise<LentDatabase> => {
        // A new file with a schema costs less than the deletion of rows.
        if (dialect === 'sqlite' || citusServers().length > 0 || givenPooler() !== '')
          return { url: (await database()).url, giveBack() {} }
        const again = returned.pop()
        await again?.empty()
        const lent = again ?? new ReusedDatabase((await database()).url)
        if (again === undefined) ofFile.push(() => lent.close())
        return { url: lent.url, giveBack: () => void returned.push(lent) }
      }
      declare(dialect, open, database, lend, isSharded)
      // Hooks run in the order of declaration, so the databases are deleted after the tests closed their connections.
      after(() => undo(ofFile))
    })
  }
}

/** A PostgreSQL database whose rows can be deleted, which takes a tenth of the time of another database. */
class ReusedDatabase {
  readonly url: string
  readonly #client: pg.Client
  #statements: Promise<string> | undefined

  constructor(url: string) {
    this.url = url
    this.#client = new pg.Client({ connectionString: url })
  }

  /** Deletes all rows that the migrations did not write. */
  async empty(): Promise<void> {
    this.#statements ??= this.#connect()
    const statements = await this.#statements
    // A statement of a service that crashed may still run on the server: it would deadlock with the deletion, or write after it.
    await this.#client.query(
      `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    await this.#client.query(statements)
  }

  async close(): Promise<void> {
    if (this.#statements !== undefined) await this.#client.end()
  }

  async #connect(): Promise<string> {
    await this.#client.connect()
    // The deletion needs no order of the tables, and must not change other tables.
    await this.#client.query('SET session_replication_role = replica')
    const { rows } = await this.#client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
       WHERE relnamespace = 'troupe'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'schema_migrations'`,
    )
    return rows.map(({ name }) => `DELETE FROM ${name}`).join('; ')
  }
}

/** Runs the steps from last to first. A failing step does not stop the others. */
async function undo(steps: (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Creates a folder in which the first store creates a SQLite file. */
export function createFileFolder(): TestDatabase {
  const folder = mkdtempSync(join(quickFolder(), 'troupe-store-'))
  return {
    dialect: 'sqlite',
    url: `sqlite:${join(folder, 'troupe.db')}`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

let sqliteTemplate: Promise<Buffer> | undefined

/** Returns the bytes of a SQLite file with the schema of this release. */
async function createSqliteTemplate(): Promise<Buffer> {
  const { url, remove } = createFileFolder()
  try {
    await (await openStore({ url })).close()
    return readFileSync(url.slice('sqlite:'.length))
  } finally {
    await remove()
  }
}

/** Creates a SQLite file, or a PostgreSQL database, with the schema of this release. */
export async function createTestDatabase(dialect: Dialect): Promise<TestDatabase> {
  if (dialect === 'sqlite') {
    sqliteTemplate ??= createSqliteTemplate()
    const template = await sqliteTemplate
    const database = createFileFolder()
    writeFileSync(database.url.slice('sqlite:'.length), template, { mode: 0o600 })
    return database
  }
  const server = await sharedPostgresUrl()
  return createPostgresDatabase(server, await template(server))
}

/** Copies a database that no service uses. */
export async function copyTestDatabase({ dialect, url }: Pick<TestDatabase, 'dialect' | 'url'>): Promise<TestDatabase> {
  if (dialect === 'postgres') return createPostgresDatabase(await sharedPostgresUrl(), new URL(url).pathname.slice(1))
  const copy = createFileFolder()
  copyFileSync(url.slice('sqlite:'.length), copy.url.slice('sqlite:'.length), constants.COPYFILE_FICLONE)
  return copy
}

/** Creates a database on a server, empty or as a copy of the template `after`. */
export async function createPostgresDatabase(server: string, after?: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const cluster = citusServers()
  const isCluster = cluster[0] === server
  const servers = isCluster ? cluster : [server]
  // A copy of the files takes a third of the time of the default, which writes each page to the log.
  const copy = after === undefined ? '' : ` TEMPLATE ${after} STRATEGY FILE_COPY`
  await onAllServers(servers, `CREATE DATABASE ${name}${copy}`)
  if (servers.length > 1 && after !== undefined) await setUpCopy(servers, name)
  return {
    dialect: 'postgres',
    url: throughPooler(server, databaseUrl(isCluster ? citusEntrance() : server, name)),
    remove: () => dropDatabase(servers, name),
  }
}

/** Returns the URL through the pooler of `npm run pgbouncer`, which is in front of the server that all tests share. */
function throughPooler(server: string, url: string): string {
  const pooler = givenPooler()
  if (pooler === '' || server !== process.env['TROUPE_TEST_POSTGRES']) return url
  const through = new URL(pooler)
  through.pathname = new URL(url).pathname
  return through.href
}

const templates = new Map<string, Promise<string>>()

/** Returns a migrated template database, because a copy costs less than a migration. Test files with one server share it. */
function template(server: string): Promise<string> {
  const known = templates.get(server) ?? createTemplate(server)
  templates.set(server, known)
  return known
}

async function createTemplate(server: string): Promise<string> {
  const schema = createHash('sha256').update(JSON.stringify(readMigrations())).digest('hex').slice(0, 16)
  const name = `troupe_${schema}`
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    // Test files run in parallel: the first creates the template, and the others wait for this lock.
    await client.query('SELECT pg_advisory_lock(1)')
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount === 0) {
      const draft = `${name}_draft`
      const cluster = citusServers()
      const servers = cluster[0] === server ? cluster : [server]
      await dropDatabase(servers, draft)
      if (servers.length > 1) {
        await createCitusDatabase(servers, draft)
        await freezeDatabase(servers, draft)
      } else {
        await client.query(`CREATE DATABASE ${draft}`)
        const store = await openStore({ url: databaseUrl(server, draft) })
        await store.close()
      }
      // The first server is last: its database shows the other test files that all copies exist.
      for (const one of servers.toReversed()) await administer(one, `ALTER DATABASE ${draft} RENAME TO ${name}`)
    }
  } finally {
    await client.end()
  }
  return name
}

/** Collects the statements of a store that is opened with the returned `onQuery`. */
export function counting(): { readonly onQuery: QueryObserver; readonly statements: string[]; reset(): void } {
  const statements: string[] = []
  return {
    statements,
    onQuery: (sql) => void statements.push(sql),
    reset() {
      statements.length = 0
    },
  }
}

export interface FaultPlan {
  /** Fails the n-th statement from now, counted from 1. Statements of background work do not count and do not fail. */
  readonly at?: number
  /** Fails the statements that match this pattern. */
  readonly matching?: RegExp
  /** The number of statements that fail. Default: 1. */
  readonly times?: number
  /** Creates the error of a failing statement. Default: `store_unavailable`. */
  readonly error?: () => Error
}

export interface FaultyStore extends Store {
  /** The number of statements since the plan began, without statements of background work. */
  readonly seen: number
  /** The number of statements that failed since the plan began. */
  readonly failed: number
  /** Begins another plan. Without an argument, no further statement of the plan fails. */
  plan(plan?: FaultPlan): void
  /**
   * Holds background work, besides the plan: its statements that match this pattern find no actor, so it does nothing and
   * reports no error. Without an argument, no background work is held.
   */
  hold(pattern?: RegExp): void
}

/** Returns a check for `assert.rejects`: the store is unavailable for this reason. */
export const unavailable = (reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error))
  assert.equal(error.code, 'store_unavailable')
  assert.equal(error.status, 503)
  assert.match(error.detail.reason ?? '', reason)
  assert.equal(error.detail.retryAfterSeconds, 1)
  return true
}

/** Copies a store into a plain object, so that a test can replace one of its methods. */
export function bound(store: Store): Store {
  return {
    dialect: store.dialect,
    now: store.now,
    isSharded: store.isSharded,
    read: (work) => store.read(work),
    snapshot: (work) => store.snapshot(work),
    readAllServers: (sql, ...params) => store.readAllServers(sql, ...params),
    write: (work, how) => store.write(work, how),
    writeActor: (actorId, work, origin) => store.writeActor(actorId, work, origin),
    ping: () => store.ping(),
    usage: () => store.usage(),
    close: () => store.close(),
  }
}

/** A store that runs the statements of a sharded database, all of them on its one server. */
export function asSharded(store: Store): Store {
  const read = (q: Queries): Queries => ({
    isSharded: true,
    all: (sql, ...params) => q.all(sql, ...params),
    get: (sql, ...params) => q.get(sql, ...params),
  })
  const write = (tx: Transaction): Transaction => ({
    ...read(tx),
    origin: tx.origin,
    run: (sql, ...params) => tx.run(sql, ...params),
  })
  return {
    ...bound(store),
    isSharded: true,
    read: (work) => store.read((q) => work(read(q))),
    snapshot: (work) => store.snapshot((q) => work(read(q))),
    write: (work, how) => store.write((tx) => work(write(tx)), how),
    writeActor: (actorId, work, origin) => store.writeActor(actorId, (tx, actor) => work(write(tx), actor), origin),
  }
}

/**
 * Wraps a store whose statements fail as planned. As in a real store, the whole transaction fails with the statement.
 *
 * @param firstHeld The first pattern of `hold`.
 */
export function faulty(store: Store, first: FaultPlan = {}, firstHeld?: RegExp): FaultyStore {
  let plan = first
  let held = firstHeld
  let seen = 0
  let failed = 0
  const judge = (sql: string): void => {
    // Otherwise a background worker that polls during a request could receive the fault planned for the request.
    const isCounted = !isInBackground()
    if (isCounted) seen++
    if (failed >= (plan.times ?? 1)) return
    const due = isCounted && plan.at !== undefined && seen >= plan.at
    if (!due && plan.matching?.test(sql) !== true) return
    failed++
    throw (
      plan.error?.() ??
      new ServiceError('store_unavailable', undefined, { reason: 'A planned fault', retryAfterSeconds: 1 })
    )
  }
  /** Decides now whether the statements of a transaction are background work: other work may run them with its own. */
  const judging = (): ((sql: string) => void) => {
    const isHeld = isInBackground()
    return (sql) => {
      if (isHeld && held?.test(sql) === true) throw new ServiceError('actor_not_found')
      judge(sql)
    }
  }
  const transacted = async <T>(wrapped: Wrapped, work: (wrapped: Wrapped) => Promise<T>): Promise<T> => {
    const result = await work(wrapped)
    if (wrapped.failure !== undefined) throw wrapped.failure.error
    return result
  }
  return {
    dialect: store.dialect,
    now: store.now,
    isSharded: store.isSharded,
    readAllServers: (sql, ...params) => {
      judging()(sql)
      return store.readAllServers(sql, ...params)
    },
    get seen() {
      return seen
    },
    get failed() {
      return failed
    },
    plan(next = {}) {
      plan = next
      seen = 0
      failed = 0
    },
    hold(pattern) {
      held = pattern
    },
    read: (work) => {
      const judgeOne = judging()
      return store.read((q) => work(new Wrapped(q, judgeOne)))
    },
    snapshot: (work) => {
      const judgeOne = judging()
      return store.snapshot((q) => transacted(new Wrapped(q, judgeOne), work))
    },
    write: (work) => {
      const judgeOne = judging()
      return store.write((tx) => transacted(new Wrapped(tx, judgeOne), work))
    },
    writeActor: (actorId, work, origin) => {
      const judgeOne = judging()
      return store.writeActor(
        actorId,
        (tx, actor) => transacted(new Wrapped(tx, judgeOne), (w) => work(w, actor)),
        origin,
      )
    },
    ping: () => store.ping(),
    usage: () => store.usage(),
    close: () => store.close(),
  }
}

class Wrapped implements Transaction {
  readonly #inner: Queries
  readonly #judge: (sql: string) => void
  failure: { readonly error: unknown } | undefined

  get isSharded(): boolean {
    return this.#inner.isSharded
  }

  get origin(): string {
    return 'origin' in this.#inner ? (this.#inner as Transaction).origin : ''
  }

  constructor(inner: Queries, judge: (sql: string) => void) {
    this.#inner = inner
    this.#judge = judge
  }

  async all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    this.#check(sql)
    return this.#inner.all<R>(sql, ...params)
  }

  async get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    this.#check(sql)
    return this.#inner.get<R>(sql, ...params)
  }

  async run(sql: string, ...params: Param[]): Promise<number> {
    this.#check(sql)
    if (!('run' in this.#inner)) throw new Error('Cannot change data outside a transaction')
    return (this.#inner as Transaction).run(sql, ...params)
  }

  #check(sql: string): void {
    try {
      this.#judge(sql)
    } catch (error) {
      this.failure ??= { error }
      throw error
    }
  }
}
