/** Limits how many requests or streams one caller may have open at once in this process. */
import { ServiceError } from '../errors.ts'

export class ConcurrencyLimit {
  readonly #most: number
  readonly #who: string
  readonly #what: string
  readonly #open = new Map<string, number>()

  /** @param who The subject of the error message, such as `This client`. @param what The counted things, such as `streams`. */
  constructor(most: number, who: string, what: string) {
    this.#most = most
    this.#who = who
    this.#what = what
  }

  /** @param key The caller to count. @returns a function that releases the slot. @throws ServiceError `too_many_requests` */
  begin(key: string): () => void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) {
      throw new ServiceError(
        'too_many_requests',
        `${this.#who} already has ${open} ${this.#what} open, which is the maximum`,
        { retryAfterSeconds: 5 },
      )
    }
    this.#open.set(key, open + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = (this.#open.get(key) ?? 1) - 1
      if (left === 0) this.#open.delete(key)
      else this.#open.set(key, left)
    }
  }
}
