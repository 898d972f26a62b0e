/** Stores when a session or a peer was last active: after the response, at most once a minute for each. */
import { runBehindResponse } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store, Transaction } from '../store/store.ts'

const writeEveryMs = 60_000

/** The number of keys in memory. Forgetting a key only costs a statement that changes nothing. */
const maxKeys = 10_000

interface Touch {
  readonly key: string
  /** The stored time of the last use, in Unix milliseconds. */
  readonly lastAt: number
  /** Writes the time `now`, unless another process has written a time after `before`. */
  readonly write: (tx: Transaction, now: number, before: number) => Promise<void>
  /** The log message when the write fails. */
  readonly failure: string
}

export class LastUse {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  /** The time of this process's last write of each key. Concurrent requests read the same record and would all write. */
  readonly #written = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()

  constructor(store: Store, log: Log, now: () => number) {
    this.#store = store
    this.#log = log
    this.#now = now
  }

  protected isDue(lastAt: number): boolean {
    return this.#now() - lastAt >= writeEveryMs
  }

  /** Starts a write when it is due. The request does not wait for the write, and its failure is only logged. */
  protected touch({ key, lastAt, write, failure }: Touch): void {
    if (!this.isDue(lastAt) || !this.isDue(this.#written.get(key) ?? Number.NEGATIVE_INFINITY)) return
    const now = this.#now()
    if (this.#written.size >= maxKeys) this.#written.clear()
    this.#written.set(key, now)
    const written = runBehindResponse(() =>
      this.#store.write((tx) => write(tx, now, now - writeEveryMs), { durability: 'relaxed' }),
    )
      .catch((error: unknown) => {
        this.#written.delete(key)
        this.#log.warn({ error }, failure)
      })
      .finally(() => this.#writing.delete(written))
    this.#writing.add(written)
  }

  /** Resolves when every write has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
