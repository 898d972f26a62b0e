/**
 * The turns of actors within this process. Changes of one actor wait for each other at its row in any case; waiting here
 * they hold no connection, so one busy actor does not take the pool away from all others.
 */
import { unavailable } from './failure.ts'

/** Two: while the first commits, the second already stands at the row. */
const AT_ONCE = 2

interface Queue {
  running: number
  readonly waiting: Set<() => void>
}

export class Turns {
  readonly #queues = new Map<string, Queue>()
  readonly #timeoutMs: number

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** @throws ServiceError `store_unavailable` when the turn does not come in time. */
  async take<T>(actorId: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(actorId)
    if (queue.running >= AT_ONCE) await this.#wait(queue)
    else queue.running += 1
    try {
      return await work()
    } finally {
      this.#next(actorId, queue)
    }
  }

  #queueOf(actorId: string): Queue {
    const existing = this.#queues.get(actorId)
    if (existing !== undefined) return existing
    const made: Queue = { running: 0, waiting: new Set() }
    this.#queues.set(actorId, made)
    return made
  }

  #wait(queue: Queue): Promise<void> {
    return new Promise((resolve, reject) => {
      const called = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        queue.waiting.delete(called)
        reject(unavailable('Too many changes wait for one actor'))
      }, this.#timeoutMs)
      queue.waiting.add(called)
    })
  }

  /** The place of the one that is done goes to the one that waits longest. */
  #next(actorId: string, queue: Queue): void {
    for (const called of queue.waiting) {
      queue.waiting.delete(called)
      called()
      return
    }
    queue.running -= 1
    if (queue.running === 0) this.#queues.delete(actorId)
  }
}
