/** The clock of a test. It stands still until the test advances it. */
import { isInBackground } from '../observe/context.ts'
import type { Timers } from '../timers.ts'
import { ManualClock } from './manual-clock.ts'

/** Milliseconds, or a number with its unit, such as `500ms`, `90s`, `15m`, `1.5h` or `30d`. */
export type Duration = number | `${number}${keyof typeof units}`

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** @throws TypeError for a duration that is negative or has another form. */
export function millisecondsOf(duration: Duration): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? []
  const ms =
    typeof duration === 'number' ? duration : Number(amount) * (units[unit as keyof typeof units] ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms
  throw new TypeError(
    `Cannot advance the clock by ${JSON.stringify(duration)}: expected a duration such as '90s' or '1h'`,
  )
}

/** The work of the services, which the clock finishes at each moment before it continues. */
export interface ClockWork {
  /** Resolves when nothing runs that can finish now. */
  settle(): Promise<void>
  /** When the next stored work is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null>
}

export class VirtualClock {
  readonly #clock: ManualClock
  readonly #work: ClockWork

  constructor(start: number, work: ClockWork) {
    this.#clock = new ManualClock(start)
    this.#work = work
  }

  readonly now = (): number => this.#clock.now()

  readonly timers: Timers = {
    // Each test has its own store, and `advance` wakes the workers.
    pollMs: Number.POSITIVE_INFINITY,
    setTimer: (ms, run) => {
      if (ms === Number.POSITIVE_INFINITY) return () => {}
      const cancelVirtual = this.#clock.timers.setTimer(ms, () => fire())
      // A request may wait for a timer, and its test waits for the request, so this timer follows the real time too.
      const real = ms > 0 && !isInBackground() ? setTimeout(() => fire(), ms) : undefined
      const cancel = (): void => {
        cancelVirtual()
        clearTimeout(real)
      }
      const fire = (): void => {
        cancel()
        run()
      }
      return cancel
    },
  }

  /**
   * Advances the clock. Timers, retries and expiries happen at their time, one after another, and each one finishes before
   * the clock continues.
   */
  async advance(duration: Duration): Promise<void> {
    const end = this.now() + millisecondsOf(duration)
    await this.#work.settle()
    for (;;) {
      const next = await this.#nextMoment()
      if (next > end) break
      this.#clock.pass(next - this.now())
      await this.#work.settle()
    }
    this.#clock.pass(end - this.now())
    await this.#work.settle()
  }

  async #nextMoment(): Promise<number> {
    const moments = [this.#clock.next, await this.#work.nextDue()].filter((moment) => moment !== null)
    // Work that is due but cannot start now is tried again a second later.
    return Math.min(...moments.map((moment) => (moment > this.now() ? moment : this.now() + 1000)))
  }
}
