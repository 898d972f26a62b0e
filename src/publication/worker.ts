/**
 * Delivers callbacks and notices: right after a commit of this process, at their due time, and, by polling once a
 * second, those of other processes. Leases in the store expire, so the work of a crashed process is continued by
 * another one.
 */
import { randomUUID } from 'node:crypto'
import { isTemporary, isWithoutActor } from '../errors.ts'
import { runInBackground } from '../observe/context.ts'
import { connectionsPerOrigin } from '../peer/guarded-client.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { hostOf } from '../peer/url-rules.ts'
import { dropOldest, type DiffEntry } from './diff-store.ts'
import { FairQueue, type Job } from '../outbox/fair-queue.ts'
import {
  bringActorForward,
  bringForward,
  claimProbe,
  claimQueues,
  countDueQueues,
  deleteOldDeliveries,
  findAged,
  findDue,
  findDueActors,
  type QueueKey,
  releaseLeases,
} from './queue-store.ts'
import { DeliveryBatches, type DeliveryBatchDeps, type QueueLease } from './delivery-batch.ts'
import { longestPutOffMs } from '../outbox/policy.ts'
import { type ClaimedNotice, claimNotices, deleteOldNotices, postponeNotice } from '../outbox/notice-store.ts'
import { NoticeSender, type SettleRenewal } from '../outbox/notice-sender.ts'
import { DueSearch } from '../due/due-search.ts'
import type { QueuedNotice } from '../outbox/deliveries.ts'
import { Poller } from '../due/poller.ts'
import type { Timers } from '../timers.ts'
import { Unsettled } from '../unsettled.ts'

export interface WorkerDeps extends Omit<DeliveryBatchDeps, 'isStopping' | 'isCut'> {
  readonly settleRenewal: SettleRenewal
  readonly timers: Timers
  /** Concurrent calls per actor. */
  readonly maxConcurrentCallbacks: number
  readonly maxDiffAgeMs: number
  /** Time for running calls to end when the service stops. */
  readonly shutdownMs: number
}

type LeasedJob = Job & { readonly since: number } & (
    | { readonly kind: 'queue'; readonly lease: QueueLease }
    | { readonly kind: 'notice'; readonly notice: ClaimedNotice; readonly leasedUntil: number }
  )

/** Concurrent calls per process. */
const maxRunning = 256
/** A job that waited this long is postponed, so that other jobs get its lease. */
const patienceMs = 5000
const putOffMs = 1000
/** Work that the store has interrupted is repeated after so long. Its peer may have received it. */
const repeatMs = 5000
/** Leased queues and notices, from the claim to the commit. */
const maxLeased = 512
/** Queues, and notices, per claim. */
const maxClaimed = 64
/** Interval of polling for the work of other processes. */
const defaultPollMs = 1000
const cleanMs = 3_600_000
/** Maximum time that a request waits for the first attempt to notify a peer. */
const maxRequestWaitMs = 1000
const maxCleaned = 100
/** Limit of the set of failing peers. */
const maxFailingPeers = 10_000

export class DeliveryWorker {
  readonly #deps: WorkerDeps
  readonly #queue: FairQueue<LeasedJob>
  readonly #batches: DeliveryBatches
  readonly #notices: NoticeSender
  readonly #failingPeers = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #unsettled: Unsettled<LeasedJob>
  readonly #waiters = new Map<string, { readonly sequence: number; readonly resolve: () => void }[]>()
  /** Keys are ids of notices. */
  readonly #noticeWaiters = new Map<string, () => void>()
  readonly #poller: Poller
  readonly #search: DueSearch
  readonly #pollMs: number
  /** Whether due work was not claimed, because the limit of leases was reached. */
  #isLeft = false
  #isCut = false
  #cleanedAt: number

  constructor(deps: WorkerDeps) {
    this.#deps = deps
    const perActor = deps.maxConcurrentCallbacks
    const limits = {
      running: maxRunning,
      perActor,
      // When all concurrent calls fail, the circuit opens with no further call on its way.
      perPeer: Math.max(1, Math.min(Math.floor(perActor / 5), deps.policy.circuitThreshold)),
      perHost: connectionsPerOrigin,
    }
    this.#queue = new FairQueue(limits, (job) => this.#failingPeers.has(peerKey(job)))
    const isCut = (): boolean => this.#isCut
    this.#poller = new Poller(deps.timers, () => this.#look())
    this.#pollMs = deps.timers.pollMs ?? defaultPollMs
    this.#search = new DueSearch(deps, {
      name: 'deliveries',
      pollMs: this.#pollMs,
      longestMs: longestPutOffMs(deps.policy),
      find: findDue,
      bringForward,
      claim: () => this.#claim(null),
      dueActors: findDueActors,
      bringActorForward,
      claimOf: (actorId) => this.#claim(actorId),
      hasCapacity: () => this.#capacity > 0,
    })
    this.#batches = new DeliveryBatches({ ...deps, isStopping: () => this.#poller.isStopping, isCut })
    this.#notices = new NoticeSender({ ...deps, isCut })
    // The pause protects the peer.
    this.#unsettled = new Unsettled(deps.timers, (jobs) =>
      this.#release(
        jobs.filter((job) => leaseEnd(job) > deps.now()),
        repeatMs,
      ),
    )
    this.#cleanedAt = deps.now()
  }

  /** Looks for due work now. A sharded database is asked for the work of these actors, which this process has changed. */
  readonly wake = (...actorIds: readonly string[]): void => {
    for (const actorId of actorIds) this.#search.note(actorId)
    this.#poller.wake()
  }

  /** Resolves when each of the entries was sent once, or cannot be sent now. */
  async attempted(actorId: string, entries: readonly DiffEntry[]): Promise<void> {
    const due = entries.filter(({ dueAt }) => dueAt !== null && dueAt <= this.#deps.now())
    if (due.length === 0 || this.#poller.isStopping) return
    const all = Promise.all(
      due.map(
        ({ peerId, subscriptionId, sequence }) =>
          new Promise<void>((resolve) => {
            const key = queueKey({ actorId, peerId, subscriptionId })
            this.#waiters.set(key, [...(this.#waiters.get(key) ?? []), { sequence, resolve }])
          }),
      ),
    )
    this.wake(actorId)
    // Another process may have the lease of a queue.
    await this.#within(this.#deps.times.callMs, all)
  }

  /**
   * Starts the delivery and resolves when each of the notices was sent once or cannot be sent now, or after one second,
   * because a request waits for it.
   */
  async firstAttempts(notices: readonly QueuedNotice[]): Promise<void> {
    if (this.#poller.isStopping) return
    const ids = notices.map(({ id }) => id)
    const all = Promise.all(ids.map((id) => new Promise<void>((resolve) => this.#noticeWaiters.set(id, resolve))))
    this.wake(...notices.map(({ actorId }) => actorId))
    await this.#within(maxRequestWaitMs, all)
    for (const id of ids) this.#noticeWaiters.delete(id)
  }

  /** Resolves with `work`, or after `ms`. */
  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const { promise: timeUp, resolve } = Promise.withResolvers<void>()
    const cancel = this.#deps.timers.setTimer(ms, resolve)
    await Promise.race([work, timeUp])
    cancel()
  }

  /** Begins no new calls, waits for the running ones, and releases the leases of the others. */
  async stop(client: Pick<PeerClient, 'close'>): Promise<void> {
    await this.#poller.stop()
    this.#unsettled.add(...(await this.#release(this.#queue.withdraw(() => true))))
    await this.#within(this.#deps.shutdownMs, Promise.all(this.#running))
    this.#isCut = true
    await client.close()
    await Promise.all(this.#running)
    await this.#release(await this.#unsettled.stop())
    for (const key of this.#waiters.keys()) this.#answerWaiters(key, Number.POSITIVE_INFINITY)
    for (const resolve of this.#noticeWaiters.values()) resolve()
  }

  /** Resolves when no delivery runs. Deliveries that wait for a later time do not count. */
  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined || this.#running.size > 0 || this.#unsettled.releasing !== undefined) {
      await Promise.all([this.#poller.looking, this.#unsettled.releasing, ...this.#running])
    }
  }

  /** Returns when the next delivery is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null> {
    return this.#search.nextDue()
  }

  /** Number of queues with diffs to send. */
  backlog(): Promise<number> {
    return countDueQueues(this.#deps.store)
  }

  /** Leases that this process may still take. */
  get #capacity(): number {
    return maxLeased - this.#queue.waiting - this.#running.size
  }

  async #look(): Promise<number> {
    const { now, log, store } = this.#deps
    let wait = this.#pollMs
    try {
      // On a sharded database, several claims set this again.
      if (store.isSharded) this.#isLeft = false
      wait = await this.#search.look()
      this.#begin()
      await this.#putOff()
      if (Math.abs(now() - this.#cleanedAt) >= cleanMs) await this.#clean()
    } catch (error) {
      log.warn({ error }, 'Cannot continue the delivery of callbacks; the next poll tries again')
    }
    return wait
  }

  /** Leases due work of the actor; null: of all actors. Resolves with true when due work of the actor may be left. */
  async #claim(actorId: string | null): Promise<boolean> {
    const limit = Math.min(maxClaimed, this.#capacity)
    const busy = this.#queue.busyActors
    const isBusy = actorId === null ? busy.length > 0 : busy.includes(actorId)
    const isLeft = limit <= 0 || isBusy
    this.#isLeft = isLeft || (actorId !== null && this.#isLeft)
    if (limit <= 0 || (actorId !== null && isBusy)) return true
    const { store, times } = this.#deps
    const now = this.#deps.now()
    const until = now + times.leaseMs
    const noticesUntil = now + times.noticeLeaseMs
    const claim = { now, limit, actorId, without: actorId === null ? busy : [] }
    const [queues, notices] = await store.write((tx) =>
      Promise.all([claimQueues(tx, { ...claim, until }), claimNotices(tx, { ...claim, until: noticesUntil })]),
    )
    for (const { baseuri, failures, ...queue } of queues) {
      if (failures > 0) this.#addFailingPeer(peerKey(queue))
      this.#queue.add({
        kind: 'queue',
        actorId: queue.actorId,
        peerId: queue.peerId,
        host: hostOf(baseuri),
        since: now,
        lease: { queue, until },
      })
    }
    for (const notice of notices) {
      this.#queue.add({
        kind: 'notice',
        actorId: notice.actorId,
        peerId: notice.peerId,
        host: hostOf(notice.baseuri),
        since: now,
        notice,
        leasedUntil: noticesUntil,
      })
    }
    this.#begin()
    const isFull = queues.length === limit || notices.length === limit
    if (isFull) this.wake()
    return isFull
  }

  /** Keeps a slow host, or an actor with many jobs, from using up the leases. */
  async #putOff(): Promise<void> {
    const latest = this.#deps.now() - patienceMs
    const late = this.#queue.withdraw(({ since }) => since < latest)
    this.#unsettled.add(...(await this.#release(late, putOffMs)))
    for (const job of late) this.#answerAll(job)
  }

  #begin(): void {
    if (this.#poller.isStopping) return
    for (let job = this.#queue.take(); job !== null; job = this.#queue.take()) {
      const run = this.#run(job)
      this.#running.add(run)
      void run.finally(() => this.#running.delete(run))
    }
  }

  async #run(job: LeasedJob): Promise<void> {
    const requestId = (job.kind === 'notice' && job.notice.requestId) || randomUUID()
    const context = { requestId, actorId: job.actorId, peerId: job.peerId }
    let hasMore = false
    try {
      hasMore = await runInBackground(
        () => (job.kind === 'queue' ? this.#runBatch(job) : this.#sendNotice(job)),
        context,
      )
    } catch (error) {
      if (!isWithoutActor(error)) {
        runInBackground(() => this.#deps.log.error({ error }, 'Cannot send a callback'), context)
        if (isTemporary(error)) this.#unsettled.add(job)
      }
      // A concurrent deletion of the actor leaves only the notices about it. They are retried after the lease.
      // The callbacks of an actor that moves are sent by its new service. The move waits for the ends of their leases.
      else if (job.kind === 'queue') this.#unsettled.add(...(await this.#release([job], putOffMs)))
      this.#answerAll(job)
    }
    if (hasMore && job.kind === 'queue') {
      if (this.#poller.isStopping) this.#unsettled.add(...(await this.#release([job])))
      else this.#queue.add({ ...job, since: this.#deps.now() })
    }
    this.#begin()
    // A free place, or a delivered notice, may let other work begin.
    if (job.kind === 'notice' && hasMore) this.wake(job.actorId)
    else if (this.#isLeft && this.#queue.waiting < maxClaimed) this.wake()
  }

  async #runBatch(job: LeasedJob & { kind: 'queue' }): Promise<boolean> {
    let wasFailing = false
    const batch = await this.#inPlace(job, async () => {
      const result = await this.#batches.run(job.lease)
      wasFailing = this.#failingPeers.has(peerKey(job))
      if (result.reached !== null) this.#noteReach(job, result.reached)
      // The circuit must count this failure before the next call to the peer.
      if (result.reached === false) await result.hasMore
      return result
    })
    const hasMore = await batch.hasMore
    // Queues of a failing peer are leased one by one: the next one may begin, or a message that waited for the deletion.
    if (wasFailing || batch.reached === false || batch.hasErased) this.wake(job.actorId)
    this.#answerWaiters(queueKey(job.lease.queue), hasMore ? (batch.attempted ?? 0) : Number.POSITIVE_INFINITY)
    return hasMore
  }

  #sendNotice(job: LeasedJob & { kind: 'notice' }): Promise<boolean> {
    return this.#inPlace(job, async () => {
      const hasArrived = await this.#notices.send(job.notice, job.leasedUntil)
      this.#answerAll(job)
      this.#noteReach(job, hasArrived)
      return hasArrived
    })
  }

  /** Frees the job's place after its calls, before their outcome is committed. */
  async #inPlace<T>(job: LeasedJob, calls: () => Promise<T>): Promise<T> {
    try {
      return await calls()
    } finally {
      this.#queue.done(job)
      this.#begin()
    }
  }

  #noteReach(job: Job, isReached: boolean): void {
    const key = peerKey(job)
    if (isReached) this.#failingPeers.delete(key)
    else this.#addFailingPeer(key)
  }

  #addFailingPeer(key: string): void {
    if (this.#failingPeers.size >= maxFailingPeers) this.#failingPeers.clear()
    this.#failingPeers.add(key)
  }

  /** Resolves all waiters of a job: it was sent, or cannot be sent now. */
  #answerAll(job: LeasedJob): void {
    if (job.kind === 'queue') this.#answerWaiters(queueKey(job.lease.queue), Number.POSITIVE_INFINITY)
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

  /** Resolves with the work whose leases could not be released. */
  async #release(jobs: readonly LeasedJob[], forMs = 0): Promise<readonly LeasedJob[]> {
    if (jobs.length === 0) return []
    // On a sharded database, the server of one actor may be down.
    const groups = this.#deps.store.isSharded ? Map.groupBy(jobs, ({ actorId }) => actorId).values() : [jobs]
    const kept: LeasedJob[] = []
    for (const group of groups) if (!(await this.#releaseTogether(group, this.#deps.now() + forMs))) kept.push(...group)
    return kept
  }

  async #releaseTogether(jobs: readonly LeasedJob[], dueAt: number): Promise<boolean> {
    const { store, log } = this.#deps
    const leases = jobs.flatMap((job) => (job.kind === 'queue' ? [job.lease] : []))
    const notices = jobs.flatMap((job) => (job.kind === 'notice' ? [job] : []))
    try {
      await store.write(async (tx) => {
        if (leases.length > 0) await releaseLeases(tx, leases, dueAt)
        // A probe without an outcome would keep the circuit open until the end of its lease.
        for (const { queue, probedUntil } of leases) {
          if (probedUntil !== undefined) await claimProbe(tx, queue, probedUntil, dueAt)
        }
        for (const { notice, leasedUntil } of notices) {
          await postponeNotice(tx, notice, { leasedUntil, dueAt, counts: false, reason: '' })
        }
      })
      return true
    } catch (error) {
      log.warn({ error }, 'Cannot release the leases of callbacks; the service tries again')
      return false
    }
  }

  /** Deletes diffs that are too old to be polled. */
  async #clean(): Promise<void> {
    const { store, now, maxDiffAgeMs } = this.#deps
    const since = now() - maxDiffAgeMs
    const aged = await store.read((q) => findAged(q, since, maxCleaned))
    await store.write(async (tx) => {
      await dropOldest(tx, aged, now())
      await deleteOldDeliveries(tx, since)
      // A notice is given up after one such period at the latest, and then kept for the operator for another one.
      await deleteOldNotices(tx, since - maxDiffAgeMs)
    })
    if (aged.length < maxCleaned) this.#cleanedAt = now()
  }
}

function queueKey({ actorId, peerId, subscriptionId }: QueueKey): string {
  return JSON.stringify([actorId, peerId, subscriptionId])
}

function leaseEnd(job: LeasedJob): number {
  return job.kind === 'queue' ? job.lease.until : job.leasedUntil
}

function peerKey({ actorId, peerId }: Pick<Job, 'actorId' | 'peerId'>): string {
  return JSON.stringify([actorId, peerId])
}
