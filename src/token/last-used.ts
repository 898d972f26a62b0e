/** When a session was last used: noted behind the request, at most once a minute. */
import { runBehindResponse } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Chain } from './chain.ts'
import { touchChain } from './token-store.ts'

const noteEveryMs = 60_000

/** Forgetting one costs a statement that changes nothing. */
const mostNoted = 10_000

export class Uses {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  /** When this process noted a use last: requests that came together read the same record. */
  readonly #noted = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()

  constructor(store: Store, log: Log, now: () => number) {
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /** Nobody waits for the note, and nothing fails with it. */
  note({ actorId, chainId, lastUsedAt }: Pick<Chain, 'actorId' | 'chainId' | 'lastUsedAt'>): void {
    const now = this.#now()
    if (now - lastUsedAt < noteEveryMs) return
    if (now - (this.#noted.get(chainId) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return
    if (this.#noted.size >= mostNoted) this.#noted.clear()
    this.#noted.set(chainId, now)
    const written = runBehindResponse(() =>
      this.#store.write((tx) => touchChain(tx, actorId, chainId, now, now - noteEveryMs)),
    )
      .catch((error: unknown) => {
        this.#noted.delete(chainId)
        this.#log.warn({ error }, 'Cannot note when a session was last used')
      })
      .finally(() => this.#writing.delete(written))
    this.#writing.add(written)
  }

  /** Once everything is written that was to be. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
