/** A clock that a test controls, with timers that follow it. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Timers } from '../../src/timers.ts'
import { until } from './until.ts'

export class ManualClock {
  #time: number
  #timers: { readonly at: number; readonly run: () => void }[] = []

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

  /** Advances the clock, and runs each due timer at its time. */
  pass(ms: number): void {
    const end = this.#time + ms
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers = this.#timers.filter((other) => other !== next)
      this.#time = Math.max(this.#time, next.at)
      next.run()
    }
    this.#time = end
  }
}

/**
 * Advances the clock in steps until the condition holds. The services finish background work between two steps, so a
 * slow machine needs no more steps than a fast one.
 */
export async function passUntil(
  clock: ManualClock,
  services: readonly { settled(): Promise<void> }[],
  holds: () => boolean | Promise<boolean>,
  stepMs = 100,
): Promise<void> {
  await until(holds, async () => {
    clock.pass(stepMs)
    await turn()
    for (const service of services) await service.settled()
  })
}
