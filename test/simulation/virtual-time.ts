/** Virtual time: due events run one after another, and all consequences of an event settle before the next one. */
import type { Cancel } from '../../src/timers.ts'

/** Unix milliseconds at which every simulation begins. */
export const beginning = Date.UTC(2031, 0, 1)

interface Due {
  readonly at: number
  /** Insertion order, for events that are due at the same moment. */
  readonly order: number
  readonly run: () => Promise<void> | void
  cancelled: boolean
}

export class VirtualTime {
  #now = beginning
  #order = 0
  #due: Due[] = []
  #activity = 0

  readonly now = (): number => this.#now

  /** Seconds since the beginning, for the trace. */
  get clock(): string {
    return `${((this.#now - beginning) / 1000).toFixed(3)} s`
  }

  after(milliseconds: number, run: () => Promise<void> | void): Cancel {
    this.stir()
    const due: Due = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, run, cancelled: false }
    let low = 0
    let high = this.#due.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#due[middle]
      if (other !== undefined && (other.at < due.at || (other.at === due.at && other.order < due.order)))
        low = middle + 1
      else high = middle
    }
    this.#due.splice(low, 0, due)
    return () => {
      due.cancelled = true
    }
  }

  pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(milliseconds, resolve)
    })
  }

  /** Records activity outside of the queue, whose consequences must settle first. */
  stir(): void {
    this.#activity++
  }

  /** Runs all events that are due up to the moment. */
  async runUntil(moment: number): Promise<void> {
    await this.settle()
    for (;;) {
      const next = this.#due[0]
      if (next === undefined || next.at > moment) break
      this.#due.shift()
      if (next.cancelled) continue
      this.#now = next.at
      await next.run()
      await this.settle()
    }
    this.#now = Math.max(this.#now, moment)
  }

  /**
   * Waits until no activity remains. Nothing here waits for real input or output, so all code either continues within one
   * turn of the event loop or waits for the queue.
   */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const before = this.#activity
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
      quiet = this.#activity === before ? quiet + 1 : 0
    }
  }
}
