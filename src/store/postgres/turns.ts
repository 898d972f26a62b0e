/**
 * Queues the writes of each actor within this process. They would wait for the actor's row lock anyway, but a waiting write
 * here holds no connection, so one busy actor cannot exhaust the pool.
 */
import { unavailable } from './failure.ts'

/** Writes per actor that may run at once: while the first one commits, the second one already waits for the row lock. */
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
        reject(unavailable('Timed out because too many writes wait for one actor'))
      }, this.#timeoutMs)
      queue.waiting.add(called)
    })
  }

  /** Starts the write that has waited longest, or releases the place. */
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
