/** Content that arrives takes space, and no quota counts it until it is complete. Therefore little of it may arrive at a time. */
import { ConcurrencyLimit } from '../rate-limit/concurrency-limit.ts'

export class Arriving {
  readonly #limit: ConcurrencyLimit

  /** @param who The subject of the error message, such as `This caller`. @param what The counted things, such as `uploads`. */
  constructor(most: number, who: string, what: string) {
    this.#limit = new ConcurrencyLimit(most, who, what)
  }

  /** @param key The sender to count. @throws ServiceError `too_many_requests`; what `take` throws */
  async take<T>(key: string, take: () => Promise<T>): Promise<T> {
    const end = this.#limit.begin(key)
    try {
      return await take()
    } finally {
      end()
    }
  }
}
