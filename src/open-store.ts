/** Opens the store at a URL. A driver is loaded only when the URL needs it. */
import { channel } from 'node:diagnostics_channel'
import { currentContext, isInBackground } from './observe/context.ts'
import { readMigrations, type Migration } from './store/migrate.ts'
import { ReadReplicas } from './store/read-replicas.ts'
import { requireRestored } from './incarnation/incarnation.ts'
import type { SchemaTable } from './store/schema-text.ts'
import { StoreStartError } from './store/start-error.ts'
import type { DatabaseFileOptions } from './store/sqlite/database-file.ts'
import type { QueryObserver, Store, StoreLog } from './store/store.ts'
import { type Placements, placementsWith } from './table/placement.ts'
import type { WithTables } from './table/table.ts'

/** The schema of the tables on PostgreSQL, unless another is configured. */
export const defaultSchema = 'troupe'

export interface StoreOptions {
  /** `sqlite:<file>` or `postgres://…`. */
  readonly url: string
  /** PostgreSQL: the schema of the tables (default `troupe`). */
  readonly schema?: string
  /**
   * SQLite: FULL (default) syncs the disk before a change is acknowledged. NORMAL does not, so a power loss may lose the
   * latest changes.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** How long a change waits for a locked file or row (milliseconds, default 5000). */
  readonly lockTimeoutMs?: number
  /** SQLite: the size of a file whose space deletions use when the disk is full, in bytes (default 0: none). */
  readonly reserveBytes?: number
  /** SQLite: the maximum number of changes in one COMMIT (default 256). */
  readonly batchSize?: number
  /** PostgreSQL: connections for changes and snapshots (default 10). Reads have two separate connections. */
  readonly workers?: number
  /** PostgreSQL: how long a call waits for a connection (milliseconds, default `lockTimeoutMs`). */
  readonly connectTimeoutMs?: number
  /** PostgreSQL: how long opening waits for a server that cannot be reached (milliseconds, default 0). */
  readonly waitMs?: number
  /** PostgreSQL: how long one statement may take (milliseconds, default `lockTimeoutMs` + 5000). */
  readonly statementTimeoutMs?: number
  /** SQLite: opens the file of the database, so that a test can replace connections. */
  readonly openFile?: DatabaseFileOptions['open']
  /** Replaces the store's clock (`Store.now`), in Unix milliseconds. */
  readonly now?: (() => number) | undefined
  /** Requires an existing store and neither creates nor migrates it (default false). */
  readonly mustExist?: boolean
  readonly onQuery?: QueryObserver
  readonly log?: StoreLog
  /** The migrations to run. Default: the migrations of this release. */
  readonly migrations?: readonly Migration[]
  /** The migrations of features that the application adds, which run after `migrations`. Default: none. */
  readonly featureMigrations?: readonly Migration[]
}

/**
 * @throws StoreStartError with one sentence for the operator when the store cannot be used; NotCreatedError when
 *   `mustExist` is set and a start would create or migrate the store.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const store = await openDriver(options)
  // Only the migrations of this release have settings.
  if (options.mustExist !== true || options.migrations !== undefined) return store
  try {
    await requireRestored(store)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function migrationsOf({ migrations, featureMigrations = [] }: StoreOptions): readonly Migration[] {
  return [...(migrations ?? readMigrations()), ...featureMigrations]
}

async function openDriver(options: StoreOptions): Promise<Store> {
  const log: StoreLog = options.log ?? (() => {})
  const lockTimeoutMs = options.lockTimeoutMs ?? 5_000
  const migrations = migrationsOf(options)
  const mustExist = options.mustExist ?? false
  if (options.url.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('./store/sqlite/sqlite-store.ts')
    return openSqliteStore({
      path: sqlitePath(options.url),
      synchronous: options.synchronous ?? 'FULL',
      busyTimeoutMs: lockTimeoutMs,
      batchSize: options.batchSize ?? 256,
      reserve: { bytes: options.reserveBytes ?? 0 },
      snapshotConnections: 4,
      now: options.now,
      migrations,
      mustExist,
      onQuery: published('sqlite', options.onQuery),
      open: options.openFile,
      log,
    })
  }
  if (/^postgres(ql)?:/.test(options.url)) {
    const { openPostgresStore } = await import('./store/postgres/postgres-store.ts')
    return openPostgresStore({
      url: options.url,
      schema: options.schema ?? defaultSchema,
      workers: options.workers ?? 10,
      readers: 2,
      connectTimeoutMs: options.connectTimeoutMs ?? lockTimeoutMs,
      waitMs: options.waitMs ?? 0,
      lockTimeoutMs,
      statementTimeoutMs: options.statementTimeoutMs ?? lockTimeoutMs + 5_000,
      now: options.now,
      migrations,
      mustExist,
      onQuery: published('postgres', options.onQuery),
      log,
    })
  }
  throw new StoreStartError('Cannot open the store: its URL must begin with "sqlite:" or "postgres:".')
}

/** How long compacting waits for the changes of a running service, in milliseconds. */
const compactTimeoutMs = 60_000

/**
 * Returns the space of deleted data to the file system, while services may run.
 *
 * @param options.isFull PostgreSQL: writes each table again. Requests to the table wait meanwhile. SQLite always does so.
 * @returns the size before and after, in bytes.
 * @throws StoreStartError for a store that does not exist or cannot be compacted
 */
export async function compactStore(
  options: Pick<StoreOptions, 'url' | 'schema'> & { readonly isFull: boolean },
): Promise<{ readonly before: number; readonly after: number }> {
  const { url, schema = defaultSchema, isFull } = options
  // Opening the store says in one sentence why it cannot be used.
  await (await openStore({ url, schema, workers: 1, mustExist: true })).close()
  if (url.startsWith('sqlite:')) {
    const { compactSqlite } = await import('./store/sqlite/compact.ts')
    return compactSqlite(sqlitePath(url), compactTimeoutMs)
  }
  const { compactPostgres } = await import('./store/postgres/compact.ts')
  return compactPostgres(url, schema, isFull)
}

/** Opens an empty store in the memory of this process. Its data ends with the store. No URL names this store. */
export async function openStoreInMemory({
  now,
  onQuery,
  featureMigrations = [],
}: Pick<StoreOptions, 'now' | 'onQuery' | 'featureMigrations'>): Promise<Store> {
  const { openMemoryStore } = await import('./store/sqlite/memory-store.ts')
  const migrations = [...readMigrations(), ...featureMigrations]
  return openMemoryStore({ migrations, now, onQuery: published('sqlite', onQuery) })
}

/** How long a read waits for a connection to a read replica before the database itself answers (milliseconds). */
const replicaConnectMs = 1_000

/**
 * Returns reads from the replicas at the URLs. Without URLs, the store answers all reads.
 *
 * @throws StoreStartError for replicas of SQLite, and for an invalid URL.
 */
export async function openReadReplicas(
  store: Store,
  urls: readonly string[],
  options: Pick<StoreOptions, 'schema' | 'workers' | 'lockTimeoutMs' | 'log' | 'onQuery'> = {},
): Promise<ReadReplicas> {
  const log: StoreLog = options.log ?? (() => {})
  if (urls.length === 0) return new ReadReplicas({ store, replicas: [], log })
  if (store.dialect === 'sqlite')
    throw new StoreStartError('Cannot use read replicas: the database is SQLite; set DATABASE_URL to a PostgreSQL.')
  const { postgresReplica } = await import('./store/postgres/postgres-store.ts')
  const lockTimeoutMs = options.lockTimeoutMs ?? 5_000
  const replicas = urls.map((url) =>
    postgresReplica({
      url,
      schema: options.schema ?? defaultSchema,
      workers: options.workers ?? 10,
      readers: 1,
      connectTimeoutMs: replicaConnectMs,
      lockTimeoutMs,
      statementTimeoutMs: lockTimeoutMs + 5_000,
      // The age of data is measured by the clock of the database, not of the replica.
      now: store.now,
      migrations: [],
      onQuery: published('postgres', options.onQuery),
      log,
    }),
  )
  return new ReadReplicas({ store, replicas, log })
}

/** A message of the diagnostics channel `troupe:statement`. */
export interface ExecutedStatement {
  readonly dialect: Store['dialect']
  /** The text before its translation for the database, with parameters as `$1`. */
  readonly sql: string
  /** Who caused the statement: the kind of the caller, `background` for work behind responses, or `none`. */
  readonly caller: string
}

const executed = channel('troupe:statement')

/** Returns an observer that also publishes each statement on the channel, if a subscriber listens. */
function published(dialect: Store['dialect'], onQuery: QueryObserver | undefined): QueryObserver {
  return (sql) => {
    onQuery?.(sql)
    if (!executed.hasSubscribers) return
    const caller = isInBackground() ? 'background' : (currentContext()?.caller?.kind ?? 'none')
    executed.publish({ dialect, sql, caller } satisfies ExecutedStatement)
  }
}

/** The tables that migrations create on PostgreSQL. */
export async function tablesOf(migrations: readonly Migration[]): Promise<SchemaTable[]> {
  return (await import('./store/postgres/postgres-store.ts')).readSchema(migrations)
}

/** Copies the SQLite file of a URL while others use it. */
export async function copySqliteFile(url: string, copy: string): Promise<void> {
  await (await import('./store/sqlite/copy-database.ts')).copyDatabase(sqlitePath(url), copy)
}

/** Returns the first damage of an SQLite file that no process uses. Null: none was found. */
export async function damageOfSqliteFile(path: string): Promise<string | null> {
  return (await import('./store/sqlite/copy-database.ts')).damageOf(path)
}

/** Returns the name of an object in the schema of an SQLite file that the migrations do not make. Null: none. */
export async function strangeObjectOfSqliteFile(
  path: string,
  migrations: readonly Migration[],
): Promise<string | null> {
  return (await import('./store/sqlite/copy-database.ts')).strangeObjectOf(path, migrations)
}

/** Accepts `sqlite:data/troupe.db`, `sqlite:/srv/troupe.db` and `sqlite:///srv/troupe.db`. */
export function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith(':') || path.startsWith('//'))
    throw new StoreStartError('Cannot open the store: its URL must name a file, as in "sqlite:data/troupe.db".')
  return path
}

/** A step of `troupe scale`, in words. */
export interface ScaleTitle {
  readonly title: string
}

/** Distributes the tables of a PostgreSQL database over a Citus cluster, or lists the missing steps. */
export async function scaleStore(
  { url, schema = defaultSchema, ...tables }: Pick<StoreOptions, 'url' | 'schema'> & WithTables,
  { shards, isDry }: { readonly shards: number; readonly isDry: boolean },
  onStep: (step: ScaleTitle) => void,
): Promise<void> {
  if (!/^postgres(ql)?:/.test(url))
    throw new StoreStartError('Cannot distribute the tables: DATABASE_URL must begin with "postgres:".')
  const { scaleDatabase } = await import('./store/postgres/scale.ts')
  await scaleDatabase(url, { ...declared(tables), schema, shards, isDry }, onStep)
}

/** The missing steps of a distributed database. Null: the database is plain. */
export async function missingScaleSteps({
  url,
  schema = defaultSchema,
  ...tables
}: Pick<StoreOptions, 'url' | 'schema'> & WithTables): Promise<readonly ScaleTitle[] | null> {
  if (!/^postgres(ql)?:/.test(url)) return null
  const { missingSteps } = await import('./store/postgres/scale.ts')
  return missingSteps(url, { ...declared(tables), schema })
}

function declared({ tables, featureMigrations = [] }: WithTables): {
  migrations: Migration[]
  placements: Placements
} {
  return { migrations: [...readMigrations(), ...featureMigrations], placements: placementsWith(tables) }
}
