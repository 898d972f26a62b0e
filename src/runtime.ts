/** What every room of a running service needs. Each room has a function `createX(runtime, needs)`. */
import type { ActorHandles } from './app/actor-handles.ts'
import type { Identity } from './app/identity.ts'
import type { Registry } from './app/registry.ts'
import type { Config } from './config/options.ts'
import type { Live } from './live/live.ts'
import type { Log } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import type { Tracing } from './observe/tracing.ts'
import type { KeyRing } from './secret/key-ring.ts'
import type { AfterCommitStore } from './store/after-commit-store.ts'
import type { QueryObserver, Store } from './store/store.ts'
import type { Timers } from './timers.ts'

export interface Runtime {
  readonly config: Config
  readonly identity: Identity
  readonly registry: Registry
  /** Where the service is reached, without a slash at the end. */
  readonly baseUrl: string
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly store: AfterCommitStore
  /** Unix milliseconds, by the store's clock. */
  readonly now: () => number
  readonly timers: Timers
  /** Numbers from 0 to below 1, for what only has to differ between processes. */
  readonly random: () => number
  readonly keyRing: KeyRing
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly live: Live
  readonly handles: ActorHandles
}

/** What the runtime is put together from; a test or a simulation replaces some of it. */
export interface RuntimeOptions {
  readonly config: Config
  readonly identity: Identity
  readonly registry: Registry
  /** Where the service is reached, without a slash at the end. */
  readonly baseUrl: string
  readonly log?: Log
  /** Unix milliseconds; the one clock of the service, in place of the store's. */
  readonly now?: () => number
  /** What waits; the runtime's timers unless given. */
  readonly timers?: Timers
  /** Numbers from 0 to below 1, for what only has to differ between processes. */
  readonly random?: () => number
  /** Told of every statement, for counting. */
  readonly onQuery?: QueryObserver
  /** Stands between the domain and the store, for faults. */
  readonly wrapStore?: (store: Store) => Store
}
