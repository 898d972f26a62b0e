/** Opens the store that an address names. Each driver is loaded only when it is the one. */
import { readMigrations, type Migration } from './store/migrate.ts'
import { StoreStartError } from './store/start-error.ts'
import type { QueryObserver, Store, StoreLog } from './store/store.ts'

export interface StoreOptions {
  /** `sqlite:<file>` or `postgres://…`. */
  readonly url: string
  /**
   * SQLite: FULL (default) syncs the disk before a change is answered; NORMAL does not, and a power loss may take the
   * last changes with it.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** How long a change waits for what somebody else has locked: the file, or a row (milliseconds, default 5000). */
  readonly lockTimeoutMs?: number
  /** SQLite: how many changes share one COMMIT at most (default 256). */
  readonly batchSize?: number
  /** PostgreSQL: connections for changes and snapshots (default 10; reads have two of their own). */
  readonly workers?: number
  /** PostgreSQL: how long a call waits for a free or new connection (milliseconds, by default as long as for a lock). */
  readonly connectTimeoutMs?: number
  /** PostgreSQL: how long one statement may take (milliseconds, by default 5000 longer than it may wait for a lock). */
  readonly statementTimeoutMs?: number
  /** Unix milliseconds, in place of the store's own clock (`Store.now`). */
  readonly now?: (() => number) | undefined
  /** Takes the store as it is: makes and migrates nothing (default false). */
  readonly mustExist?: boolean
  readonly onQuery?: QueryObserver
  readonly log?: StoreLog
  /** The scripts to migrate with, when not those of this release. */
  readonly migrations?: readonly Migration[]
}

/**
 * @throws StoreStartError with one sentence for the operator when the store cannot be used; NotMadeYetError when it must
 *   exist, and a start would make or migrate it.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const log: StoreLog = options.log ?? (() => {})
  const lockTimeoutMs = options.lockTimeoutMs ?? 5_000
  const migrations = options.migrations ?? readMigrations()
  const mustExist = options.mustExist ?? false
  if (options.url.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('./store/sqlite/sqlite-store.ts')
    return openSqliteStore({
      path: sqlitePath(options.url),
      synchronous: options.synchronous ?? 'FULL',
      busyTimeoutMs: lockTimeoutMs,
      batchSize: options.batchSize ?? 256,
      snapshotConnections: 4,
      now: options.now,
      migrations,
      mustExist,
      onQuery: options.onQuery,
      log,
    })
  }
  if (/^postgres(ql)?:/.test(options.url)) {
    const { openPostgresStore } = await import('./store/postgres/postgres-store.ts')
    return openPostgresStore({
      url: options.url,
      workers: options.workers ?? 10,
      readers: 2,
      connectTimeoutMs: options.connectTimeoutMs ?? lockTimeoutMs,
      lockTimeoutMs,
      statementTimeoutMs: options.statementTimeoutMs ?? lockTimeoutMs + 5_000,
      now: options.now,
      migrations,
      mustExist,
      onQuery: options.onQuery,
      log,
    })
  }
  throw new StoreStartError('The address of the store has to begin with "sqlite:" or "postgres:".')
}

/** `sqlite:data/troupe.db`, `sqlite:/srv/troupe.db` and `sqlite:///srv/troupe.db`. */
function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith(':') || path.startsWith('//'))
    throw new StoreStartError('The address of an SQLite store has to name a file, as in "sqlite:data/troupe.db".')
  return path
}
