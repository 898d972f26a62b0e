/**
 * The memory for request bodies. Each large body takes a share before the service reads it, and returns the share with the
 * response. Requests without a share wait, so that many bodies at once cannot exhaust a small container.
 */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../../../errors.ts'
import type { Timers } from '../../../timers.ts'

/** Requests that wait for a share. The connection of each buffers the beginning of its body. */
const maxWaiting = 64
const retryAfterSeconds = 5

const mib = 1024 * 1024
/** The service uses this much without large bodies, of the memory of the process and of V8's heap. */
const basis = { memory: 160 * mib, heap: 48 * mib }
/** Bytes that a byte of a body takes while it is read, parsed and stored. */
const factor = { memory: 8, heap: 8 }

export interface BodyShare {
  /** The body has arrived with this length. From now on, the share does not count against its sender. */
  arrived(bytes: number): void
  /** Returns the share. Further calls have no effect. */
  release(): void
}

interface Waiting {
  readonly source: string
  readonly bytes: number
  readonly admit: () => void
  readonly refuse: () => void
}

/** The part of the budget that one sender has. */
interface Usage {
  held: number
  arriving: number
}

export interface BodyBudgetOptions {
  readonly totalBytes: number
  /** The longest time that a request waits for a share, in milliseconds. */
  readonly waitMs: number
  readonly timers: Timers
}

export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #usages = new Map<string, Usage>()
  #held = 0
  #waiting: readonly Waiting[] = []

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /**
   * Waits for a share. A body that is larger than the budget needs all of it. The arriving bodies of one sender have at most
   * half of the budget, or one body, so a slow sender leaves room for others.
   *
   * @param onGone Calls a function when the client disconnects.
   * @throws ServiceError `unavailable`
   */
  async take(source: string, bytes: number, onGone: (then: () => void) => () => void): Promise<BodyShare> {
    const { totalBytes, waitMs, timers } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const request: Waiting = {
      source,
      bytes: Math.min(bytes, totalBytes),
      admit: resolve,
      refuse: () => {
        this.#waiting = this.#waiting.filter((other) => other !== request)
        reject(noRoom())
        this.#admit()
      },
    }
    this.#waiting = [...this.#waiting, request]
    this.#admit()
    if (this.#waiting.length > maxWaiting) this.#newestOfMost().refuse()
    const stops = this.#waiting.includes(request)
      ? [timers.setTimer(waitMs, request.refuse), onGone(request.refuse)]
      : []
    try {
      await promise
    } finally {
      for (const stop of stops) stop()
    }
    return this.#shareOf(request)
  }

  /** Admits requests in turn. A request that does not fit yet keeps later ones back, so that it is not passed forever. */
  #admit(): void {
    for (;;) {
      const next = this.#next()
      if (next === undefined || this.#held + next.bytes > this.#options.totalBytes) return
      this.#waiting = this.#waiting.filter((other) => other !== next)
      this.#count(next.source, next.bytes, next.bytes)
      next.admit()
    }
  }

  /** The next request: the first one of the sender that has least. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const request of this.#waiting) {
      const { held, arriving } = this.#usageOf(request.source)
      if (arriving > 0 && arriving + request.bytes > this.#options.totalBytes / 2) continue
      if (next === undefined || held < this.#usageOf(next.source).held) next = request
    }
    return next
  }

  /** The newest request of the sender with most waiting requests. One sender cannot keep others from waiting. */
  #newestOfMost(): Waiting {
    const bySource = [...Map.groupBy(this.#waiting, ({ source }) => source).values()]
    const most = bySource.reduce((found, other) => (other.length > found.length ? other : found))
    const newest = most.at(-1)
    if (newest === undefined) throw new Error('Cannot refuse a waiting request: no request waits')
    return newest
  }

  #shareOf({ source, bytes }: Waiting): BodyShare {
    let held = bytes
    let arriving = bytes
    const become = (heldThen: number): void => {
      this.#count(source, heldThen - held, -arriving)
      held = heldThen
      arriving = 0
      this.#admit()
    }
    return { arrived: (length) => become(Math.min(length, held)), release: () => become(0) }
  }

  #usageOf(source: string): Readonly<Usage> {
    return this.#usages.get(source) ?? { held: 0, arriving: 0 }
  }

  #count(source: string, held: number, arriving: number): void {
    const usage = this.#usageOf(source)
    const next = { held: usage.held + held, arriving: usage.arriving + arriving }
    this.#held += held
    if (next.held === 0) this.#usages.delete(source)
    else this.#usages.set(source, next)
  }
}

function noRoom(): ServiceError {
  return new ServiceError('unavailable', 'Cannot read the body now: other large bodies use the memory. Try again.', {
    retryAfterSeconds,
    headers: { Connection: 'close' },
  })
}

/** The budget that fits the memory of this process: that of its container or machine, and that of V8's heap. */
export function bodyBudgetBytes(leastBytes: number): number {
  const container = process.constrainedMemory()
  const memory = container > 0 ? Math.min(container, totalmem()) : totalmem()
  const heap = getHeapStatistics().heap_size_limit
  const fits = Math.min((memory - basis.memory) / factor.memory, (heap - basis.heap) / factor.heap)
  return Math.max(leastBytes, Math.floor(fits))
}
