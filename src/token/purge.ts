/** Deletes expired tokens, chains without tokens, and expired one-time records; on a sharded database, other rows too. */
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store, Transaction } from '../store/store.ts'
import { purgeOneTime } from './one-time-store.ts'
import { purgeTokens } from './token-store.ts'

const everyMs = 3_600_000

/** Deletes expired rows of one kind. */
export type PurgeStep = (tx: Transaction, now: number) => Promise<unknown>

/** Rows per transaction. Small transactions keep other writes from waiting. */
const batch = 500

export class Purge {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  #last = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined
  #isStopping = false
  #others: readonly PurgeStep[] = []

  constructor(store: Store, log: Log, now: () => number) {
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /**
   * Adds steps for a sharded database. There a request deletes only the expired rows of its own actor, because the server
   * of another actor may be down.
   */
  also(steps: readonly PurgeStep[]): void {
    if (this.#store.isSharded) this.#others = steps
  }

  /** Starts a purge in the background, at most once an hour in this process. A failure is only logged. */
  occasionally(): void {
    const now = this.#now()
    // `Math.abs`: a clock that was set back must not delay the purge.
    if (this.#running !== undefined || Math.abs(now - this.#last) < everyMs) return
    this.#last = now
    this.#running = runInBackground(() =>
      this.#purge(now)
        .catch((error: unknown) =>
          this.#log.warn({ error }, 'Cannot delete expired tokens: the service tries again in an hour'),
        )
        .finally(() => (this.#running = undefined)),
    )
  }

  async #purge(now: number): Promise<void> {
    for (const purge of [purgeTokens, purgeOneTime]) {
      let gone = batch
      while (gone === batch && !this.#isStopping) gone = await this.#store.write((tx) => purge(tx, now, batch))
    }
    for (const step of this.#others) if (!this.#isStopping) await this.#store.write((tx) => step(tx, now))
  }

  /** Stops after the running batch. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  /** Resolves when the running purge has finished. */
  async settled(): Promise<void> {
    await this.#running
  }
}
