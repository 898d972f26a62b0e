/**
 * Queues the writes of each actor within this process. They would wait for the actor's row lock anyway, but a waiting write
 * here holds no connection, so one busy actor cannot exhaust the pool. A running write may take waiting ones along.
 */
import { unavailable } from './failure.ts'

/** Writes per actor that may run at once: while the first one commits, the second one already waits for the row lock. */
const AT_ONCE = 2

/** A waiting write that a running write of the same name may run in its own transaction. */
export interface Joinable<T> {
  /** The result of the write after it was joined. */
  readonly outcome: Promise<T>
}

interface Waiting<M> {
  readonly member: M | undefined
  /** Ends the wait. */
  readonly call: (how: 'turn' | 'joined') => void
}

interface Queue<M> {
  running: number
  readonly waiting: Set<Waiting<M>>
}

export class Turns<M extends Joinable<unknown>> {
  readonly #queues = new Map<string, Queue<M>>()
  readonly #timeoutMs: number

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /**
   * @param member Creates what `join` returns while the write waits. Default: the write cannot be joined.
   * @throws ServiceError `store_unavailable` when the turn does not come in time.
   */
  async take<T>(actorId: string, work: () => Promise<T>, member?: () => M & Joinable<T>): Promise<T> {
    const queue = this.#queueOf(actorId)
    if (queue.running >= AT_ONCE) {
      const joinable = member?.()
      if ((await this.#wait(queue, joinable)) === 'joined' && joinable !== undefined) return joinable.outcome
    } else queue.running += 1
    try {
      return await work()
    } finally {
      this.#next(actorId, queue)
    }
  }

  canJoin(actorId: string): boolean {
    return this.#firstJoinable(actorId) !== undefined
  }

  /** Takes the joinable write that has waited longest out of the queue. */
  join(actorId: string): M | undefined {
    const waiting = this.#firstJoinable(actorId)
    waiting?.call('joined')
    return waiting?.member
  }

  #firstJoinable(actorId: string): Waiting<M> | undefined {
    for (const waiting of this.#queues.get(actorId)?.waiting ?? []) if (waiting.member !== undefined) return waiting
    return undefined
  }

  #queueOf(actorId: string): Queue<M> {
    const existing = this.#queues.get(actorId)
    if (existing !== undefined) return existing
    const made: Queue<M> = { running: 0, waiting: new Set() }
    this.#queues.set(actorId, made)
    return made
  }

  #wait(queue: Queue<M>, member: M | undefined): Promise<'turn' | 'joined'> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting<M> = {
        member,
        call: (how) => {
          clearTimeout(timer)
          queue.waiting.delete(waiting)
          resolve(how)
        },
      }
      const timer = setTimeout(() => {
        queue.waiting.delete(waiting)
        reject(unavailable('Timed out because too many writes wait for one actor'))
      }, this.#timeoutMs)
      queue.waiting.add(waiting)
    })
  }

  /** Starts the write that has waited longest, or releases the place. */
  #next(actorId: string, queue: Queue<M>): void {
    const [first] = queue.waiting
    if (first !== undefined) {
      first.call('turn')
      return
    }
    queue.running -= 1
    if (queue.running === 0) this.#queues.delete(actorId)
  }
}
