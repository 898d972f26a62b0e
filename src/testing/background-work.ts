/** Waits until the services of a test have finished their background work. It observes the work, never the time. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Service } from '../service.ts'
import type { ClockWork } from './clock.ts'

export interface BackgroundWorkDeps {
  readonly now: () => number
  /** The running services of the test. */
  readonly services: () => readonly Service[]
  /** Number of calls between the services so far. */
  readonly calls: () => number
}

export class BackgroundWork implements ClockWork {
  readonly #deps: BackgroundWorkDeps
  #statements = 0

  constructor(deps: BackgroundWorkDeps) {
    this.#deps = deps
  }

  /** Receives each statement of a service. */
  readonly observe = (): void => {
    this.#statements++
  }

  async settle(): Promise<void> {
    for (let tried: number | null = null; ; ) {
      // A delivery makes work at the peer, and the peer may reply with a delivery, so one quiet pass ends the loop.
      const before = this.#statements + this.#deps.calls()
      await this.#pass()
      if (this.#statements + this.#deps.calls() !== before) continue
      const due = await this.nextDue()
      // Work that is still due after a wake cannot start now.
      if (due === null || due > this.#deps.now() || due === tried) return
      tried = due
      for (const { parts } of this.#deps.services()) {
        parts.deliveries.wake()
        parts.gaps.wake()
        parts.waitingChanges.wake()
        parts.expiries.wake()
        parts.jobs.wake()
      }
    }
  }

  async #pass(): Promise<void> {
    for (const service of this.#deps.services()) {
      const { auditLog, sessionUses, basicUses, purge, removedLists, listIndexes, limiter, live } = service.parts
      await service.settled()
      await Promise.all([
        auditLog.flush(),
        ...[sessionUses, basicUses, purge, removedLists, listIndexes, limiter, live].map((each) => each.settled()),
      ])
    }
    // Work that a finished promise continues begins within two turns of the event loop.
    await turn()
    await turn()
  }

  async nextDue(): Promise<number | null> {
    const found = await Promise.all(
      this.#deps
        .services()
        .flatMap(({ parts: { deliveries, gaps, expiries, waitingChanges, jobs } }) =>
          [deliveries, gaps, expiries, waitingChanges, jobs].map((each) => each.nextDue()),
        ),
    )
    const due = found.filter((time) => time !== null)
    return due.length === 0 ? null : Math.min(...due)
  }
}
