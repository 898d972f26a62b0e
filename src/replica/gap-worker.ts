/**
 * Fills gaps at their due time, also after a restart, and polls for gaps of other processes. A lease in the store makes sure
 * that only one process fetches.
 */
import { randomUUID } from 'node:crypto'
import { DuePoller } from '../due-poller.ts'
import type { Timers } from '../timers.ts'
import { type ErrorCode, ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { runInBackground } from '../observe/context.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { Store } from '../store/store.ts'
import type { SubscriberKey } from './subscriber.ts'
import { longestRetryMs } from './processor.ts'
import {
  bringGapsForward,
  bringGapsOfActorForward,
  claimGaps,
  findActorsWithGaps,
  findGapsDue,
} from './subscriber-store.ts'

type FillGap = (key: SubscriberKey) => Promise<void>

export interface GapWorkerDeps {
  readonly store: Store
  readonly times: Pick<PeerTimes, 'fetchLeaseMs'>
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly tracing: Tracing
}

const mostAtOnce = 8

const noLonger: ReadonlySet<ErrorCode> = new Set(['not_found', 'actor_not_found', 'actor_moving', 'actor_moved'])

export class GapWorker {
  readonly #deps: GapWorkerDeps
  readonly #running = new Set<Promise<void>>()
  readonly #poller: DuePoller
  #fillGap: FillGap | null = null

  constructor(deps: GapWorkerDeps) {
    this.#deps = deps
    this.#poller = new DuePoller(
      deps,
      {
        name: 'gaps',
        longestMs: longestRetryMs,
        find: findGapsDue,
        bringForward: bringGapsForward,
        claim: () => this.#claim(null),
        dueActors: findActorsWithGaps,
        bringActorForward: bringGapsOfActorForward,
        claimOf: (actorId) => this.#claim(actorId),
        hasRoom: () => this.#running.size < mostAtOnce,
      },
      'Cannot look for due gaps of subscriptions; the next poll tries again',
    )
  }

  /** Sets the function that fills a gap, once, before the first request. That function needs the worker, so it comes later. */
  connect(fillGap: FillGap): void {
    if (this.#fillGap !== null) throw new Error('Cannot connect the gap worker: it is already connected')
    this.#fillGap = fillGap
  }

  /** Looks for due gaps now. A sharded database is asked for the gaps of the actor, at the time when they are due. */
  readonly wake = (actorId?: string, dueAt?: number): void => this.#poller.wake(actorId, dueAt)

  /** Stops claiming gaps. Running fetches end with their calls. */
  stop(): Promise<void> {
    return this.#poller.stop()
  }

  /** Resolves when no fetch runs. Fetches that wait for a later time do not count. */
  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined || this.#running.size > 0) {
      await Promise.all([this.#poller.looking, ...this.#running])
    }
  }

  /** Returns when the next fetch is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null> {
    return this.#poller.nextDue()
  }

  /** Resolves with true when due gaps of the actor may be left. */
  async #claim(actorId: string | null): Promise<boolean> {
    const { store, now, times } = this.#deps
    const limit = mostAtOnce - this.#running.size
    if (limit <= 0) return true
    const keys = await store.write((tx) =>
      claimGaps(tx, { now: now(), until: now() + times.fetchLeaseMs, limit, actorId }),
    )
    for (const key of keys) {
      const run = this.#fill(key)
      this.#running.add(run)
      void run.finally(() => {
        this.#running.delete(run)
        this.wake()
      })
    }
    return keys.length === limit
  }

  async #fill(key: SubscriberKey): Promise<void> {
    const span = { kind: 'internal', isRoot: true, attributes: { 'troupe.actor': key.actorId } } as const
    const context = { requestId: randomUUID(), actorId: key.actorId, peerId: key.peerId }
    await runInBackground(async () => {
      try {
        await this.#deps.tracing.run('fill gap', span, async () => this.#fillGap?.(key))
      } catch (error) {
        // The subscription, its relationship or its actor was deleted meanwhile, or the actor is moving to another service.
        if (error instanceof ServiceError && noLonger.has(error.code)) return
        // The gap is retried after the lease.
        this.#deps.log.error({ error }, 'Cannot fill a gap of a subscription')
      }
    }, context)
  }
}
