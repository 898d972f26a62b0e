/** Looks at the quotas of actors behind the responses: at most once a minute for each actor, and one actor at a time. */
import { Poller } from '../../due/poller.ts'
import type { Core } from '../feature.ts'

/** Shortest time between two looks at the same actor, in milliseconds. A look may count every row of the actor. */
const pauseMs = 60_000

export class QuotaLooks {
  readonly #deps: Pick<Core, 'now' | 'log'>
  readonly #look: (actorId: string) => Promise<void>
  readonly #poller: Poller
  /** Actors whose changes came near a quota since their last look. */
  readonly #waiting = new Set<string>()
  /** The times of the looks in the last minute, the oldest first. */
  readonly #looks = new Map<string, number>()

  constructor(deps: Pick<Core, 'now' | 'log' | 'timers'>, look: (actorId: string) => Promise<void>) {
    this.#deps = deps
    this.#look = look
    this.#poller = new Poller(deps.timers, () => this.#run())
  }

  /** Looks at the actor as soon as a minute has passed since its last look. */
  readonly add = (actorId: string): void => {
    if (this.#waiting.has(actorId)) return
    this.#waiting.add(actorId)
    this.#poller.wake()
  }

  wake(): void {}

  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined) await this.#poller.looking
  }

  nextDue(): Promise<null> {
    return Promise.resolve(null)
  }

  stop(): Promise<void> {
    return this.#poller.stop()
  }

  /** Returns the milliseconds until the next actor may be looked at, or null when no actor waits. */
  async #run(): Promise<number | null> {
    const { now, log } = this.#deps
    this.#forgetLooks()
    for (const actorId of this.#waiting) {
      if (this.#poller.isStopping) return null
      if (this.#looks.has(actorId)) continue
      this.#waiting.delete(actorId)
      this.#looks.set(actorId, now())
      try {
        await this.#look(actorId)
      } catch (error) {
        log.warn({ error, actorId }, 'Cannot look whether an actor is near its quotas')
      }
    }
    const [oldest] = this.#looks.values()
    return this.#waiting.size === 0 || oldest === undefined ? null : oldest + pauseMs - now()
  }

  #forgetLooks(): void {
    const { now } = this.#deps
    for (const [actorId, at] of this.#looks) {
      if (at + pauseMs > now()) return
      this.#looks.delete(actorId)
    }
  }
}
