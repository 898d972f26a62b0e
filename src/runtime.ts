/** The dependencies that every room of a running service shares. Each room has a function `createX(runtime, needs)`. */
import type { ActorHandles } from './app/actor-handles.ts'
import type { Identity } from './app/identity.ts'
import type { MailPort } from './app/background/mail-port.ts'
import type { Registry } from './app/registry.ts'
import type { Config } from './config/options.ts'
import type { Live } from './live/live.ts'
import type { Log } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import type { Tracing } from './observe/tracing.ts'
import type { TypeRules } from './permission/declared-types.ts'
import type { Quotas } from './quota/quota.ts'
import type { KeyRing } from './secret/key-ring.ts'
import type { CatchUpStore } from './store/catch-up-store.ts'
import type { ReadReplicas } from './store/read-replicas.ts'
import type { Migration, QueryObserver, Store } from './store/store.ts'
import type { Table, WithTables } from './table/table.ts'
import type { Timers } from './timers.ts'

export interface Runtime {
  readonly config: Config
  readonly identity: Identity
  readonly registry: Registry
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** The path prefix of every URL of the service; empty without a prefix. */
  readonly basePath: string
  readonly store: CatchUpStore
  readonly readReplicas: ReadReplicas
  readonly quotas: Quotas
  /** The tables of features. */
  readonly tables: readonly Table[]
  /** The migrations of features that the application adds. */
  readonly featureMigrations: readonly Migration[]
  /** Unix milliseconds, by the store's clock. */
  readonly now: () => number
  readonly timers: Timers
  /** Returns a number from 0 to below 1, for jitter that must only differ between processes. */
  readonly random: () => number
  /** The changes of an actor with more subscriptions are answered before their diffs are written. */
  readonly maxDirectSubscriptions: number
  readonly keyRing: KeyRing
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly live: Live
  readonly handles: ActorHandles
  readonly mail: MailPort
  readonly continued: Continued | null
  /** The trust types whose declared rules are others than at the last start, with those of before. */
  readonly redeclared: TypeRules
}

/** The data continues a copy, such as a restored backup. Times are Unix milliseconds. */
export interface Continued {
  readonly since: number
  /** The time of the copy. Null: unknown. */
  readonly copiedAt: number | null
}

/** The options of the runtime. Tests and simulations replace some of them. */
export interface RuntimeOptions extends WithTables {
  readonly config: Config
  readonly identity: Identity
  readonly registry: Registry
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly log?: Log
  /** Uses an empty store in memory instead of the configured database. Default: false. */
  readonly inMemory?: boolean
  /** How long the start waits for a PostgreSQL server that cannot be reached, in milliseconds. Default: 0. */
  readonly databaseWaitMs?: number
  /** Replaces the store's clock for the whole service, in Unix milliseconds. */
  readonly now?: () => number
  /** The timers of the service. Default: the timers of Node.js. */
  readonly timers?: Timers
  /** Returns a number from 0 to below 1, for jitter that must only differ between processes. Default: `Math.random`. */
  readonly random?: () => number
  /** The changes of an actor with more subscriptions are answered before their diffs are written. Default: 64. */
  readonly maxDirectSubscriptions?: number
  /** Receives every SQL statement, so that a test can count them. */
  readonly onQuery?: QueryObserver
  /** Wraps the store, so that a test can inject faults. */
  readonly wrapStore?: (store: Store) => Store
}
