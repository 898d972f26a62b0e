/** A loop that looks for work when it is woken, and after the delay that the last look returned. One look runs at a time. */
import { runInBackground } from '../observe/context.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { Cancel, Timers } from '../timers.ts'

export class Poller {
  readonly #timers: Timers
  readonly #look: () => Promise<number | null>
  #looking: Promise<void> | undefined
  #isWoken = false
  #isStopping = false
  #cancelTimer: Cancel = () => {}

  /** @param look Returns the milliseconds until the next look, or null to wait for `wake`. It must not reject. */
  constructor(timers: Timers, look: () => Promise<number | null>) {
    this.#timers = timers
    this.#look = look
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** The current look; undefined while idle. */
  get looking(): Promise<void> | undefined {
    return this.#looking
  }

  /** Looks now, or again after the current look. */
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

  /** Schedules the next look in `ms` milliseconds and replaces an earlier schedule. */
  schedule(ms: number): void {
    this.#cancelTimer()
    if (!this.#isStopping) this.#cancelTimer = this.#timers.setTimer(Math.max(1, ms), this.wake)
  }

  /** Prevents further looks. Resolves when the current look has ended. */
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
  /** The longest possible delay of due work, in milliseconds. Work that is due later shows that the clock was set back. */
  readonly longestMs: number
  /** Moves work that is due after `latest` to `now`. */
  readonly bringForward: (tx: Transaction, latest: number, now: number) => Promise<unknown>
  readonly claim: () => Promise<unknown>
  /** Interval of polling for the work of other processes. */
  readonly pollMs: number
}

interface DueWorkDeps {
  readonly store: Pick<Store, 'read' | 'write'>
  readonly now: () => number
}

/** Claims the due work. Returns the milliseconds until the next look. */
export async function claimDue({ store, now }: DueWorkDeps, work: DueWork): Promise<number> {
  const due = await store.read(work.find)
  if (due === null) return work.pollMs
  const latest = now() + work.longestMs
  if (due.last > latest) await store.write((tx) => work.bringForward(tx, latest, now()))
  if (due.next > now() && due.last <= latest) return Math.min(work.pollMs, due.next - now())
  await work.claim()
  return work.pollMs
}
