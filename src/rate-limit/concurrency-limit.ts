/** How much one caller may have under way at once in this process. */
import { ServiceError } from '../errors.ts'

export class AtOnce {
  readonly #most: number
  readonly #who: string
  readonly #what: string
  readonly #open = new Map<string, number>()

  /** @param who For the refusal, with `what` it has under way: `This client` and `streams`. */
  constructor(most: number, who: string, what: string) {
    this.#most = most
    this.#who = who
    this.#what = what
  }

  /** @param key Of whom it is counted. @returns what ends it, once. @throws ServiceError `too_many_requests` */
  begin(key: string): () => void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) {
      throw new ServiceError(
        'too_many_requests',
        `${this.#who} has ${open} ${this.#what} under way, the most there may be`,
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
