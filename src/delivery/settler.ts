/** Writes down what turns of lanes came to: those that end while one transaction runs share the next. */
import type { Store } from '../store/store.ts'
import { type Settlement, settle } from './lane-store.ts'

interface Waiter {
  readonly settlement: Settlement
  readonly resolve: (hasMore: boolean) => void
  readonly reject: (error: unknown) => void
}

/** One transaction takes no more, so that a lane never waits for a crowd. */
const mostAtOnce = 200

export class Settler {
  readonly #store: Store
  readonly #now: () => number
  #waiting: Waiter[] = []
  #isRunning = false

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Whether the lane is still held and has more to do now. Durable when it resolves. */
  settle(settlement: Settlement): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ settlement, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, mostAtOnce)
      try {
        const kept = await this.#store.write((tx) =>
          settle(
            tx,
            batch.map(({ settlement }) => settlement),
            this.#now(),
          ),
        )
        batch.forEach(({ resolve }, index) => resolve(kept[index] === true))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }
}
