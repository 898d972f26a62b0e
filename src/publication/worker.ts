/**
 * Delivers what is due: at once after a commit of this process, at its time, and, looking once a second, what other
 * processes left. What is being delivered is held in the store for a while, so that a process that dies leaves nothing
 * behind that is lost or stuck.
 */
import { randomUUID } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import { runInBackground } from '../observe/context.ts'
import { connectionsPerOrigin } from '../peer/guarded-client.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { hostOf } from '../peer/url-rules.ts'
import { dropOldest, type Entry } from './diff-store.ts'
import { FairQueue, type Job } from '../outbox/fair-queue.ts'
import {
  bringForward,
  claimLanes,
  countLanes,
  deleteOldDeliveries,
  findAged,
  findDue,
  type LaneKey,
  release,
} from './queue-store.ts'
import { type HeldLane, type LaneTurnParts, LaneTurns } from './delivery-batch.ts'
import { longestPutOffMs } from '../outbox/policy.ts'
import { type ClaimedNotice, claimNotices, deleteOldNotices, postponeNotice } from '../outbox/notice-store.ts'
import { NoticeTurns, type SettleRenewal } from '../outbox/notice-turn.ts'
import type { Cancel, Timers } from '../timers.ts'

export interface WorkerParts extends Omit<LaneTurnParts, 'isStopping' | 'isCut'> {
  readonly settleRenewal: SettleRenewal
  readonly timers: Timers
  /** Calls of one actor at once. */
  readonly maxConcurrentCallbacks: number
  readonly maxDiffAgeMs: number
  /** Where the running calls may still take so long when the service stops. */
  readonly shutdownMs: number
}

type Held = Job & { readonly since: number } & (
    | { readonly kind: 'lane'; readonly holder: HeldLane }
    | { readonly kind: 'notice'; readonly notice: ClaimedNotice; readonly held: number }
  )

/** Calls of the whole process at once. */
const mostRunning = 256
/** What waited for so long gives its place to others for a while. */
const patienceMs = 5000
const putOffMs = 1000
/** Lanes and notices that wait, are told or are settled. */
const mostHeld = 512
/** Claimed at once. */
const mostClaimed = 64
/** How long work that another process left may lie unseen. */
const pollMs = 1000
const cleanMs = 3_600_000
/** The longest time that a request waits for the first attempt to notify a peer of it. */
const mostRequestWaitMs = 1000
const mostCleaned = 100
/** As many peers are remembered to have failed. */
const mostSuspects = 10_000

export class DeliveryWorker {
  readonly #parts: WorkerParts
  readonly #queue: FairQueue<Held>
  readonly #lanes: LaneTurns
  readonly #notices: NoticeTurns
  readonly #suspects = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #waiters = new Map<string, { readonly sequence: number; readonly resolve: () => void }[]>()
  /** By the id of the notice. */
  readonly #noticeWaiters = new Map<string, () => void>()
  #looking: Promise<void> | undefined
  #isDue = false
  /** Something due was left where it is, because enough is held already. */
  #isLeft = false
  #isStopping = false
  #isCut = false
  #cleanedAt: number
  #cancelTimer: Cancel = () => {}

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const perActor = parts.maxConcurrentCallbacks
    const limits = {
      running: mostRunning,
      perActor,
      // As many calls that all fail open the circuit, and no call more is on its way.
      perPeer: Math.max(1, Math.min(Math.floor(perActor / 5), parts.policy.circuitThreshold)),
      perHost: connectionsPerOrigin,
    }
    this.#queue = new FairQueue(limits, (job) => this.#suspects.has(peerKey(job)))
    const isCut = (): boolean => this.#isCut
    this.#lanes = new LaneTurns({ ...parts, isStopping: () => this.#isStopping, isCut })
    this.#notices = new NoticeTurns({ ...parts, isCut })
    this.#cleanedAt = parts.now()
  }

  /** Looks for what is due, now. */
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

  /** Resolves when each of the numbers was tried once, or cannot be tried now. */
  async attempted(actorId: string, entries: readonly Entry[]): Promise<void> {
    const due = entries.filter(({ dueAt }) => dueAt !== null && dueAt <= this.#parts.now())
    if (due.length === 0 || this.#isStopping) return
    const all = Promise.all(
      due.map(
        ({ peerId, subscriptionId, sequence }) =>
          new Promise<void>((resolve) => {
            const key = laneKey({ actorId, peerId, subscriptionId })
            this.#waiters.set(key, [...(this.#waiters.get(key) ?? []), { sequence, resolve }])
          }),
      ),
    )
    this.wake()
    // Another process may hold a lane.
    await this.#within(this.#parts.times.callMs, all)
  }

  /**
   * Starts the delivery and resolves when each of the notices was tried once, or cannot be tried now; a second later at
   * the latest, because a request waits for it.
   */
  async firstAttempts(ids: readonly string[]): Promise<void> {
    if (this.#isStopping) return
    const all = Promise.all(ids.map((id) => new Promise<void>((resolve) => this.#noticeWaiters.set(id, resolve))))
    this.wake()
    await this.#within(mostRequestWaitMs, all)
    for (const id of ids) this.#noticeWaiters.delete(id)
  }

  /** Resolves with `work`, or after `ms`. */
  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const { promise: timeUp, resolve } = Promise.withResolvers<void>()
    const cancel = this.#parts.timers.setTimer(ms, resolve)
    await Promise.race([work, timeUp])
    cancel()
  }

  /** Begins nothing new, lets running calls end within their time, and gives back what was not begun. */
  async stop(client: Pick<PeerClient, 'close'>): Promise<void> {
    this.#isStopping = true
    this.#cancelTimer()
    await this.#looking
    await this.#giveBack(this.#queue.withdraw(() => true))
    await this.#within(this.#parts.shutdownMs, Promise.all(this.#running))
    this.#isCut = true
    await client.close()
    await Promise.all(this.#running)
    for (const key of this.#waiters.keys()) this.#answerWaiters(key, Number.POSITIVE_INFINITY)
    for (const resolve of this.#noticeWaiters.values()) resolve()
  }

  /** Resolves when no delivery runs. Deliveries that wait for a later time do not count. */
  async settled(): Promise<void> {
    while (this.#looking !== undefined || this.#running.size > 0) await Promise.all([this.#looking, ...this.#running])
  }

  /** How many lanes have something to send. */
  backlog(): Promise<number> {
    return this.#parts.store.read(countLanes)
  }

  async #look(): Promise<void> {
    const { store, policy, timers, now, log } = this.#parts
    let wait = pollMs
    this.#isDue = false
    try {
      const due = await store.read(findDue)
      const latest = now() + longestPutOffMs(policy)
      if (due !== null && due.last > latest) await store.write((tx) => bringForward(tx, latest, now()))
      if (due !== null && (due.next <= now() || due.last > latest)) await this.#claim()
      else if (due !== null) wait = Math.min(pollMs, due.next - now())
      this.#begin()
      await this.#putOff()
      if (Math.abs(now() - this.#cleanedAt) >= cleanMs) await this.#clean()
    } catch (error) {
      log.warn({ error }, 'The delivery of callbacks could not go on; it tries again')
    }
    if (!this.#isStopping) this.#cancelTimer = timers.setTimer(Math.max(1, wait), this.wake)
  }

  async #claim(): Promise<void> {
    const limit = Math.min(mostClaimed, mostHeld - this.#queue.waiting - this.#running.size)
    const without = this.#queue.busyActors
    this.#isLeft = limit <= 0 || without.length > 0
    if (limit <= 0) return
    const { store, times } = this.#parts
    const now = this.#parts.now()
    const until = now + times.leaseMs
    const noticesUntil = now + times.noticeLeaseMs
    const claim = { now, limit, without }
    const [lanes, notices] = await store.write((tx) =>
      Promise.all([claimLanes(tx, { ...claim, until }), claimNotices(tx, { ...claim, until: noticesUntil })]),
    )
    for (const { baseuri, failures, ...lane } of lanes) {
      const { actorId, peerId } = lane
      if (failures > 0) this.#suspect(peerKey(lane))
      this.#queue.add({
        kind: 'lane',
        actorId,
        peerId,
        host: hostOf(baseuri),
        since: now,
        holder: { lane, held: until },
      })
    }
    for (const notice of notices) {
      const { actorId, peerId, baseuri } = notice
      this.#queue.add({
        kind: 'notice',
        actorId,
        peerId,
        host: hostOf(baseuri),
        since: now,
        notice,
        held: noticesUntil,
      })
    }
    if (lanes.length === limit || notices.length === limit) this.#isDue = true
  }

  /** A host that is slow, or an actor that has much, keeps nobody else from being held. */
  async #putOff(): Promise<void> {
    const latest = this.#parts.now() - patienceMs
    const late = this.#queue.withdraw(({ since }) => since < latest)
    await this.#giveBack(late, putOffMs)
    for (const job of late) this.#answerAll(job)
  }

  #begin(): void {
    if (this.#isStopping) return
    for (let job = this.#queue.take(); job !== null; job = this.#queue.take()) {
      const run = this.#run(job)
      this.#running.add(run)
      void run.finally(() => this.#running.delete(run))
    }
  }

  async #run(job: Held): Promise<void> {
    const requestId = (job.kind === 'notice' && job.notice.requestId) || randomUUID()
    const context = { requestId, actorId: job.actorId, peerId: job.peerId }
    let hasMore = false
    try {
      hasMore = await runInBackground(() => (job.kind === 'lane' ? this.#turn(job) : this.#tell(job)), context)
    } catch (error) {
      // The actor may have gone meanwhile, with everything but its leave. What is left stays held for a while, and is tried
      // again after that.
      const isGone = error instanceof ServiceError && error.code === 'actor_not_found'
      if (!isGone) runInBackground(() => this.#parts.log.error({ error }, 'A callback could not be sent'), context)
      this.#answerAll(job)
    }
    if (hasMore && job.kind === 'lane') {
      if (this.#isStopping) await this.#giveBack([job])
      else this.#queue.add({ ...job, since: this.#parts.now() })
    }
    this.#begin()
    // What ended may have made place for what was left, or be what the next notice of its lane waited for.
    if ((this.#isLeft && this.#queue.waiting < mostClaimed) || (job.kind === 'notice' && hasMore)) this.wake()
  }

  async #turn(job: Held & { kind: 'lane' }): Promise<boolean> {
    let wasSuspect = false
    const turn = await this.#inPlace(job, async () => {
      const taken = await this.#lanes.take(job.holder)
      wasSuspect = this.#suspects.has(peerKey(job))
      if (taken.reached !== null) this.#noteReach(job, taken.reached)
      // The next call to a failing peer is judged by a count that has this one.
      if (taken.reached === false) await taken.hasMore
      return taken
    })
    const hasMore = await turn.hasMore
    // Lanes of a failing peer are taken one by one: the next may be.
    if (wasSuspect || turn.reached === false) this.wake()
    this.#answerWaiters(laneKey(job.holder.lane), hasMore ? (turn.attempted ?? 0) : Number.POSITIVE_INFINITY)
    return hasMore
  }

  #tell(job: Held & { kind: 'notice' }): Promise<boolean> {
    return this.#inPlace(job, async () => {
      const hasArrived = await this.#notices.take(job.notice, job.held)
      this.#answerAll(job)
      this.#noteReach(job, hasArrived)
      return hasArrived
    })
  }

  /** Its place goes to another when its calls are over, while their outcome is still being kept. */
  async #inPlace<T>(job: Held, calls: () => Promise<T>): Promise<T> {
    try {
      return await calls()
    } finally {
      this.#queue.done(job)
      this.#begin()
    }
  }

  #noteReach(job: Job, isReached: boolean): void {
    const key = peerKey(job)
    if (isReached) this.#suspects.delete(key)
    else this.#suspect(key)
  }

  #suspect(key: string): void {
    if (this.#suspects.size >= mostSuspects) this.#suspects.clear()
    this.#suspects.add(key)
  }

  /** It was tried, or cannot be now. */
  #answerAll(job: Held): void {
    if (job.kind === 'lane') this.#answerWaiters(laneKey(job.holder.lane), Number.POSITIVE_INFINITY)
    else this.#noticeWaiters.get(job.notice.id)?.()
  }

  #answerWaiters(key: string, upTo: number): void {
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) return
    const others = waiters.filter(({ sequence }) => sequence > upTo)
    if (others.length === 0) this.#waiters.delete(key)
    else this.#waiters.set(key, others)
    for (const { sequence, resolve } of waiters) if (sequence <= upTo) resolve()
  }

  async #giveBack(jobs: readonly Held[], forMs = 0): Promise<void> {
    if (jobs.length === 0) return
    const { store, now, log } = this.#parts
    const dueAt = now() + forMs
    const lanes = jobs.flatMap((job) => (job.kind === 'lane' ? [job.holder] : []))
    const notices = jobs.flatMap((job) => (job.kind === 'notice' ? [job] : []))
    try {
      await store.write(async (tx) => {
        if (lanes.length > 0) await release(tx, lanes, dueAt)
        for (const { notice, held } of notices) {
          await postponeNotice(tx, { id: notice.id, held, dueAt, counts: false, reason: '' })
        }
      })
    } catch (error) {
      log.warn({ error }, 'Callbacks that were not begun are held until their time is over')
    }
  }

  /** Drops what is too old to be kept for polling. */
  async #clean(): Promise<void> {
    const { store, now, maxDiffAgeMs } = this.#parts
    const since = now() - maxDiffAgeMs
    const aged = await store.read((q) => findAged(q, since, mostCleaned))
    await store.write(async (tx) => {
      await dropOldest(tx, aged, now())
      await deleteOldDeliveries(tx, since)
      // It is given up after one such time at the latest, and kept for the operator for another.
      await deleteOldNotices(tx, since - maxDiffAgeMs)
    })
    if (aged.length < mostCleaned) this.#cleanedAt = now()
  }
}

function laneKey({ actorId, peerId, subscriptionId }: LaneKey): string {
  return JSON.stringify([actorId, peerId, subscriptionId])
}

function peerKey({ actorId, peerId }: Pick<Job, 'actorId' | 'peerId'>): string {
  return JSON.stringify([actorId, peerId])
}
