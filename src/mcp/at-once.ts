/** How much one client may have under way at once in this process. */
import { ServiceError } from '../errors.ts'
import type { McpAccess } from './call.ts'

export class AtOnce {
  readonly #most: number
  readonly #what: string
  readonly #open = new Map<string, number>()

  constructor(most: number, what: string) {
    this.#most = most
    this.#what = what
  }

  /** @returns what ends it, once. @throws ServiceError `too_many_requests` */
  begin({ actor, caller }: McpAccess): () => void {
    const key = `${actor.id} ${caller.peerId}`
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) {
      throw new ServiceError(
        'too_many_requests',
        `This client has ${open} ${this.#what} under way, the most there may be`,
        {
          retryAfterSeconds: 5,
        },
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
