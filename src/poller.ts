/** A loop that looks for work when it is woken, and at the time that its last look returned. One look runs at a time. */
import { runInBackground } from './observe/context.ts'
import type { Queries, Store, Transaction } from './store/store.ts'
import type { Cancel, Timers } from './timers.ts'

export class Poller {
  readonly #timers: Timers
  readonly #look: () => Promise<number | null>
  #looking: Promise<void> | undefined
  #isWoken = false
  #isStopping = false
  #cancelTimer: Cancel = () => {}

  /** @param look returns the time until the next look, in milliseconds; null: not before the loop is woken. Never rejects. */
  constructor(timers: Timers, look: () => Promise<number | null>) {
    this.#timers = timers
    this.#look = look
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** The look that runs. */
  get looking(): Promise<void> | undefined {
    return this.#looking
  }

  /** Looks now, or once more after the look that runs. */
  readonly wake = (): void => {
    if (this.#isStopping) return
    this.#isWoken = true
    if (this.#looking !== undefined) return
    this.#cancelTimer()
    this.#looking = runInBackground(() => this.#run()).finally(() => {
      this.#looking = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Moves the next look to this time, in milliseconds from now. */
  schedule(ms: number): void {
    this.#cancelTimer()
    if (!this.#isStopping) this.#cancelTimer = this.#timers.setTimer(Math.max(1, ms), this.wake)
  }

  /** Begins no further look. Resolves when the look that runs has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelTimer()
    await this.#looking
  }

  async #run(): Promise<void> {
    this.#isWoken = false
    const wait = await this.#look()
    if (wait !== null) this.schedule(wait)
  }
}

/** Work that is stored with a due time and claimed by a lease. */
export interface DueWork {
  /** The earliest and the latest due time, in Unix milliseconds; null without work. */
  readonly find: (q: Queries) => Promise<{ readonly next: number; readonly last: number } | null>
  /** No work is due later than this from now, in milliseconds, unless the clock was set back. */
  readonly longestMs: number
  /** Makes work that is due after `latest` due at `now`. */
  readonly bringForward: (tx: Transaction, latest: number, now: number) => Promise<unknown>
  readonly claim: () => Promise<void>
  /** Interval of polling for the work of other processes. */
  readonly pollMs: number
}

interface DueWorkDeps {
  readonly store: Pick<Store, 'read' | 'write'>
  readonly now: () => number
}

/** Claims the work that is due. Returns the time until the next look, in milliseconds. */
export async function claimDue({ store, now }: DueWorkDeps, work: DueWork): Promise<number> {
  const due = await store.read(work.find)
  if (due === null) return work.pollMs
  const latest = now() + work.longestMs
  if (due.last > latest) await store.write((tx) => work.bringForward(tx, latest, now()))
  if (due.next > now() && due.last <= latest) return Math.min(work.pollMs, due.next - now())
  await work.claim()
  return work.pollMs
}
