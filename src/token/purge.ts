/** Removes what expired: tokens, chains that are left without any, and one-time records. */
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import { purgeOneTime } from './one-time-store.ts'
import { purgeTokens } from './token-store.ts'

const everyMs = 3_600_000

/** In one transaction, so that no other change waits for long. */
const batch = 500

export class Purge {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  #last = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(store: Store, log: Log, now: () => number) {
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /** At most once an hour in this process; nobody waits for it, and nothing fails with it. */
  occasionally(): void {
    const now = this.#now()
    // A clock that was set back must not put it off for longer.
    if (this.#running !== undefined || Math.abs(now - this.#last) < everyMs) return
    this.#last = now
    this.#running = runInBackground(() =>
      this.#purge(now)
        .catch((error: unknown) => this.#log.warn({ error }, 'Cannot remove expired tokens; the next hour tries again'))
        .finally(() => (this.#running = undefined)),
    )
  }

  async #purge(now: number): Promise<void> {
    for (const purge of [purgeTokens, purgeOneTime]) {
      let gone = batch
      while (gone === batch && !this.#isStopping) gone = await this.#store.write((tx) => purge(tx, now, batch))
    }
  }

  /** What was begun is ended after the batch that runs. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  /** Once what was begun is done. */
  async settled(): Promise<void> {
    await this.#running
  }
}
