/** A clock that a test sets, and the timers that wait by it. */
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
      // No time has to pass: a service with `shutdownSeconds: 0` also stops after a failed test, which left calls open.
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

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.length
  }

  /** Lets time pass; what is due meanwhile begins, each at its time. */
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
 * Passes time in steps until the condition holds. The services finish their background work between two steps, so a
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
