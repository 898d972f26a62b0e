/** Fresh stores for tests, the same tests on both databases, and stores that fail when told to. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe } from 'node:test'
import pg from 'pg'
import { ServiceError } from '../../src/errors.ts'
import { isInBackground } from '../../src/observe/context.ts'
import { readMigrations } from '../../src/store/migrate.ts'
import { openStore, type StoreOptions } from '../../src/open-store.ts'
import type { Dialect } from '../../src/store/portable.ts'
import type { Param, Queries, QueryObserver, Store, Transaction } from '../../src/store/store.ts'
import { administer, sharedPostgresUrl } from './postgres.ts'

export interface TestDatabase {
  readonly dialect: Dialect
  /** For `openStore`. */
  readonly url: string
  readonly remove: () => Promise<void>
}

/** Opens a migrated store on a database of its own, or on the one whose address is given; both go with the test. */
export type OpenTestStore = (options?: Partial<StoreOptions>) => Promise<Store>

/**
 * Declares the same tests for SQLite and for PostgreSQL.
 *
 * What is opened in a test is closed after it; what is opened in `before`, after the last test. Databases go at the end.
 */
export function forEachStore(
  declare: (dialect: Dialect, open: OpenTestStore, database: () => Promise<TestDatabase>) => void,
): void {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    describe(dialect === 'sqlite' ? 'on SQLite' : 'on PostgreSQL', () => {
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
        // Later, all together: PostgreSQL takes its time to see that the connections of a moment ago are gone.
        ofFile.push(() => created.remove())
        return created
      }
      const open: OpenTestStore = async (options = {}) => {
        const url = options.url ?? (await database()).url
        const store = await openStore({ ...options, url })
        current.push(() => store.close())
        return store
      }
      declare(dialect, open, database)
      // Hooks run in the order of their declaration: the databases go after whatever the tests keep open on them.
      after(() => undo(ofFile))
    })
  }
}

/** Last first, and all of it even when something fails. */
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

/** An empty SQLite file in a folder of its own, or a new PostgreSQL database with this release's schema. */
export async function createTestDatabase(dialect: Dialect): Promise<TestDatabase> {
  if (dialect === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-store-'))
    return {
      dialect,
      url: `sqlite:${join(folder, 'troupe.db')}`,
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }
  const server = await sharedPostgresUrl()
  return createPostgresDatabase(server, await template(server))
}

/** A new database on a server; empty unless it is made after a template. */
export async function createPostgresDatabase(server: string, after?: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(server, `CREATE DATABASE ${name}${after === undefined ? '' : ` TEMPLATE ${after}`}`)
  return {
    dialect: 'postgres',
    url: databaseUrl(server, name),
    remove: () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

const templates = new Map<string, Promise<string>>()

/** A migrated database to copy: a copy costs less than a migration. Test files that share a server share it. */
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
    // Test files run side by side: the first makes it, the others wait here.
    await client.query('SELECT pg_advisory_lock(1)')
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount === 0) {
      const draft = `${name}_draft`
      await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
      await client.query(`CREATE DATABASE ${draft}`)
      const store = await openStore({ url: databaseUrl(server, draft) })
      await store.close()
      await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`)
    }
  } finally {
    await client.end()
  }
  return name
}

/** Collects the statements of a store: pass `onQuery` when opening it. */
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
  /** Fails the n-th statement from now, counted from 1. Statements of background work neither count nor fail. */
  readonly at?: number
  /** Fails the statements with this text. */
  readonly matching?: RegExp
  /** How many statements fail (default 1). */
  readonly times?: number
  /** What they fail with (default: `store_unavailable`). */
  readonly error?: () => Error
}

export interface FaultyStore extends Store {
  /** How many statements came since the plan was made, without those of background work. */
  readonly seen: number
  /** How many of them failed. */
  readonly failed: number
  /** Starts over with another plan; without one nothing fails any more. */
  plan(plan?: FaultPlan): void
}

/** For `assert.rejects`: the store cannot be used now, for this reason. */
export const unavailable = (reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error))
  assert.equal(error.code, 'store_unavailable')
  assert.equal(error.status, 503)
  assert.match(error.detail.reason ?? '', reason)
  assert.equal(error.detail.retryAfterSeconds, 1)
  return true
}

/** The same store, for a test that puts something in the place of one of its members. */
export function bound(store: Store): Store {
  return {
    dialect: store.dialect,
    now: store.now,
    read: (work) => store.read(work),
    snapshot: (work) => store.snapshot(work),
    write: (work, how) => store.write(work, how),
    writeActor: (actorId, work, origin) => store.writeActor(actorId, work, origin),
    ping: () => store.ping(),
    close: () => store.close(),
  }
}

/** A store whose statements fail as planned, and as a real one would: the whole transaction fails with the statement. */
export function faulty(store: Store, first: FaultPlan = {}): FaultyStore {
  let plan = first
  let seen = 0
  let failed = 0
  const judge = (sql: string): void => {
    // A worker that polls while a request runs would take the fault that was planned for the request.
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
  const transacted = async <Q extends Queries, T>(inner: Q, work: (wrapped: Wrapped) => Promise<T>): Promise<T> => {
    const wrapped = new Wrapped(inner, judge)
    const result = await work(wrapped)
    if (wrapped.failure !== undefined) throw wrapped.failure.error
    return result
  }
  return {
    dialect: store.dialect,
    now: store.now,
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
    read: (work) => store.read((q) => work(new Wrapped(q, judge))),
    snapshot: (work) => store.snapshot((q) => transacted(q, work)),
    write: (work) => store.write((tx) => transacted(tx, work)),
    writeActor: (actorId, work, origin) =>
      store.writeActor(actorId, (tx, actor) => transacted(tx, (w) => work(w, actor)), origin),
    ping: () => store.ping(),
    close: () => store.close(),
  }
}

class Wrapped implements Transaction {
  readonly #inner: Queries
  readonly #judge: (sql: string) => void
  failure: { readonly error: unknown } | undefined

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
    if (!('run' in this.#inner)) throw new Error('Only a transaction changes anything')
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
