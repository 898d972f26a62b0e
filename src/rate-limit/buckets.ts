/** A bounded number of rate-limit buckets in memory. */
import { isExhausted, type Rate, take, type Taken } from './gcra.ts'

export class Buckets {
  readonly #most: number
  readonly #emptyAt = new Map<string, number>()

  constructor(most = 10_000) {
    this.#most = most
  }

  get size(): number {
    return this.#emptyAt.size
  }

  clear(): void {
    this.#emptyAt.clear()
  }

  emptyAt(key: string): number {
    return this.#emptyAt.get(key) ?? 0
  }

  take(key: string, now: number, rate: Rate, count = 1): Taken {
    const taken = take(this.emptyAt(key), now, rate, count)
    this.#set(key, taken.emptyAt, now)
    return taken
  }

  /** Fills the bucket at least as far as `emptyAt` says. */
  raise(key: string, emptyAt: number, now: number): void {
    if (emptyAt > this.emptyAt(key) && emptyAt > now) this.#set(key, emptyAt, now)
  }

  isExhausted(key: string, now: number, rate: Rate): boolean {
    const emptyAt = this.#emptyAt.get(key)
    return emptyAt !== undefined && isExhausted(emptyAt, now, rate)
  }

  #set(key: string, emptyAt: number, now: number): void {
    if (!this.#emptyAt.has(key) && this.#emptyAt.size >= this.#most) this.#makeRoom(now)
    this.#emptyAt.set(key, emptyAt)
  }

  /** Deletes the empty buckets, then the oldest ones, until a tenth of the space is free. */
  #makeRoom(now: number): void {
    for (const [key, emptyAt] of this.#emptyAt) if (emptyAt <= now) this.#emptyAt.delete(key)
    const surplus = this.#emptyAt.size - Math.floor(this.#most * 0.9)
    let removed = 0
    for (const key of this.#emptyAt.keys()) {
      if (removed++ >= surplus) break
      this.#emptyAt.delete(key)
    }
  }
}
