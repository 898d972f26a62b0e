/**
 * Fills gaps at their due time, also after a restart, and polls for gaps of other processes. A lease in the store makes sure
 * that only one process fetches.
 */
import { randomUUID } from 'node:crypto'
import type { Cancel, Timers } from '../timers.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { runInBackground } from '../observe/context.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { Store } from '../store/store.ts'
import type { SubscriberKey } from './subscriber.ts'
import { longestRetryMs } from './processor.ts'
import { bringGapsForward, claimGaps, findGapsDue } from './subscriber-store.ts'

type FillGap = (key: SubscriberKey) => Promise<void>

export interface GapWorkerParts {
  readonly store: Store
  readonly times: Pick<PeerTimes, 'fetchLeaseMs'>
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly tracing: Tracing
}

/** Interval of polling for the gaps of other processes. */
const pollMs = 5000
const mostAtOnce = 8

export class GapWorker {
  readonly #parts: GapWorkerParts
  readonly #running = new Set<Promise<void>>()
  #looking: Promise<void> | undefined
  #isDue = false
  #isStopping = false
  #cancelTimer: Cancel = () => {}
  #fillGap: FillGap | null = null

  constructor(parts: GapWorkerParts) {
    this.#parts = parts
  }

  /** Once, before the first request: what fills a gap needs this worker for itself. */
  connect(fillGap: FillGap): void {
    if (this.#fillGap !== null) throw new Error('The gap worker is connected already')
    this.#fillGap = fillGap
  }

  /** Looks for due gaps now. */
  readonly wake = (): void => {
    if (this.#isStopping) return
    this.#isDue = true
    if (this.#looking !== undefined) return
    this.#cancelTimer()
    this.#looking = runInBackground(() => this.#look()).finally(() => {
      this.#looking = undefined
      if (this.#isDue) this.wake()
    })
  }

  /** Begins nothing new; what runs ends with the calls it makes. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelTimer()
    await this.#looking
  }

  /** Resolves when no fetch runs. Fetches that wait for a later time do not count. */
  async settled(): Promise<void> {
    while (this.#looking !== undefined || this.#running.size > 0) await Promise.all([this.#looking, ...this.#running])
  }

  async #look(): Promise<void> {
    const { store, timers, now, log } = this.#parts
    let wait = pollMs
    this.#isDue = false
    try {
      const due = await store.read(findGapsDue)
      const latest = now() + longestRetryMs
      if (due !== null && due.last > latest) await store.write((tx) => bringGapsForward(tx, latest, now()))
      if (due !== null && (due.next <= now() || due.last > latest)) await this.#claim()
      else if (due !== null) wait = Math.min(pollMs, due.next - now())
    } catch (error) {
      log.warn({ error }, 'Looking for what is missing in subscriptions failed; it is done again')
    }
    if (!this.#isStopping) this.#cancelTimer = timers.setTimer(Math.max(1, wait), this.wake)
  }

  async #claim(): Promise<void> {
    const { store, now, times } = this.#parts
    const limit = mostAtOnce - this.#running.size
    if (limit <= 0) return
    const keys = await store.write((tx) => claimGaps(tx, { now: now(), until: now() + times.fetchLeaseMs, limit }))
    for (const key of keys) {
      const run = this.#fill(key)
      this.#running.add(run)
      void run.finally(() => {
        this.#running.delete(run)
        this.wake()
      })
    }
  }

  async #fill(key: SubscriberKey): Promise<void> {
    const span = { kind: 'internal', isRoot: true, attributes: { 'troupe.actor': key.actorId } } as const
    const context = { requestId: randomUUID(), actorId: key.actorId, peerId: key.peerId }
    await runInBackground(async () => {
      try {
        await this.#parts.tracing.run('fill gap', span, async () => this.#fillGap?.(key))
      } catch (error) {
        // The subscription went meanwhile, with its relationship or its actor.
        if (error instanceof ServiceError && ['not_found', 'actor_not_found'].includes(error.code)) return
        // The gap is retried after the lease.
        this.#parts.log.error({ error }, 'What is missing in a subscription could not be fetched')
      }
    }, context)
  }
}
