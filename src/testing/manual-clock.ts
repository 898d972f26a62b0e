/** A clock that a test controls, with timers that follow it. */
import type { Timers } from '../timers.ts'

interface Waiting {
  readonly at: number
  readonly run: () => void
}

export class ManualClock {
  #time: number
  #timers: Waiting[] = []

  constructor(time = 1_900_000_000_000) {
    this.#time = time
  }

  readonly now = (): number => this.#time

  readonly timers: Timers = {
    setTimer: (ms, run) => {
      // A timer of 0 ms fires without the clock, so that a service with `shutdownSeconds: 0` stops after a failed test.
      if (ms <= 0) {
        const immediate = setImmediate(run)
        return () => clearImmediate(immediate)
      }
      const timer = { at: this.#time + ms, run }
      this.#timers.push(timer)
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer)
      }
    },
  }

  /** The number of waiting timers. */
  get waiting(): number {
    return this.#timers.length
  }

  /** The time of the next timer, in Unix milliseconds; null when none waits. */
  get next(): number | null {
    return this.#earliest()?.at ?? null
  }

  /** Advances the clock, and runs each due timer at its time. */
  pass(ms: number): void {
    const end = this.#time + ms
    for (let next = this.#earliest(); next !== undefined && next.at <= end; next = this.#earliest()) {
      const { at, run } = next
      this.#timers = this.#timers.filter((other) => other !== next)
      this.#time = Math.max(this.#time, at)
      run()
    }
    this.#time = end
  }

  #earliest(): Waiting | undefined {
    return this.#timers.reduce<Waiting | undefined>(
      (first, timer) => (first === undefined || timer.at < first.at ? timer : first),
      undefined,
    )
  }
}
