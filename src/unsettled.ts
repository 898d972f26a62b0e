/**
 * Work whose outcome could not be stored, under leases that have not ended. The leases are released as soon as the store
 * answers again. Otherwise the work would wait for their ends.
 */
import { ServiceError } from './errors.ts'
import { runInBackground } from './observe/context.ts'
import type { Cancel, Timers } from './timers.ts'

const retryMs = 1000

/**
 * Repeats a change once a second while the store is unavailable, until the time `until` in Unix milliseconds.
 *
 * @throws the error of the last attempt.
 */
export async function storePatiently<T>(
  { timers, now }: { readonly timers: Timers; readonly now: () => number },
  until: number,
  change: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await change()
    } catch (error) {
      const isUnavailable = error instanceof ServiceError && error.code === 'store_unavailable'
      if (!isUnavailable || now() + retryMs >= until) throw error
    }
    await new Promise<void>((resolve) => timers.setTimer(retryMs, resolve))
  }
}

export class Unsettled<T> {
  readonly #timers: Timers
  readonly #release: (work: readonly T[]) => Promise<readonly T[]>
  #work: T[] = []
  #isStopped = false
  #cancel: Cancel | undefined
  #releasing: Promise<void> | undefined

  /** @param release Resolves with the work whose leases could not be released. It must not reject. */
  constructor(timers: Timers, release: (work: readonly T[]) => Promise<readonly T[]>) {
    this.#timers = timers
    this.#release = release
  }

  add(...work: readonly T[]): void {
    this.#work.push(...work)
    this.#releaseLater()
  }

  /** The current attempt; undefined between two attempts. */
  get releasing(): Promise<void> | undefined {
    return this.#releasing
  }

  /** Makes no further attempts. Resolves with the work that is left. */
  async stop(): Promise<readonly T[]> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#releasing
    return this.#work.splice(0)
  }

  #releaseLater(): void {
    const isWaiting = this.#cancel !== undefined || this.#releasing !== undefined
    if (this.#work.length === 0 || isWaiting || this.#isStopped) return
    this.#cancel = this.#timers.setTimer(retryMs, () => {
      this.#cancel = undefined
      this.#releasing = runInBackground(() => this.#releaseAll()).finally(() => {
        this.#releasing = undefined
        this.#releaseLater()
      })
    })
  }

  async #releaseAll(): Promise<void> {
    this.#work.push(...(await this.#release(this.#work.splice(0))))
  }
}
