/**
 * Runs the due rows of one kind: at their time, right after a commit of this process, and by polling those of other processes.
 * A lease covers a row while this process has it. The process renews its leases, so those of a killed process end soon.
 */
import { randomUUID } from 'node:crypto'
import { DuePoller } from '../due/due-poller.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { runInBackground } from '../observe/context.ts'
import { FairQueue, type Job } from '../outbox/fair-queue.ts'
import type { Store } from '../store/store.ts'
import type { Cancel, Timers } from '../timers.ts'
import { type EntryOutcome, settleEntries } from './entry-store.ts'
import {
  type ClaimedJob,
  claimJobs,
  type DueActor,
  jobRows,
  type JobKind,
  leaseKey,
  renewLeases,
  type Settled,
  settleJobs,
} from './job-store.ts'

/** The result of a run of a row: what is stored about the row and its entries. */
export interface RunResult {
  readonly settled: Omit<Settled, 'job'>
  readonly entries: readonly EntryOutcome[]
}

/** The work of one kind. */
export interface JobQueue {
  readonly kind: JobKind
  /** Runs a row. It must not reject. */
  readonly run: (job: ClaimedJob, signal: AbortSignal) => Promise<RunResult>
  /** Rows with the same host share a limit. */
  readonly hostOf: (job: ClaimedJob) => string
  /** The most rows that run at once: in this process, of an actor, and of a host. */
  readonly most: { readonly running: number; readonly ofActor: number; readonly ofHost: number }
  /** The longest possible delay of due work, in milliseconds. Work that is due later shows that the clock was set back. */
  readonly longestMs: number
  /** Interval of polling for the work of other processes. Default: 5 seconds. */
  readonly pollMs?: number
}

export interface JobWorkerDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  /** Time for running handlers to end when the service stops. */
  readonly shutdownMs: number
}

interface LeasedJob extends Job {
  /** The last claim. A run whose lease ended unnoticed, for example while the machine slept, continues with a later one. */
  claimed: ClaimedJob
  readonly since: number
  /** Ends the run: the service stops, or another process has the lease. */
  readonly abort: AbortController
}

/** The lease of a killed process ends after so long. */
export const leaseMs = 5000
const renewMs = 1500
/** Rows per claim. */
const maxClaimed = 100
/** Leased rows, from the claim to the commit of their results. */
const maxLeased = 400
/** A row that waited this long is released, so that other rows get its lease. */
const patienceMs = 5000
const putOffMs = 1000
/** Results per transaction. */
const maxSettled = 200

export class JobWorker {
  readonly #deps: JobWorkerDeps
  readonly #jobQueue: JobQueue
  readonly #poller: DuePoller
  readonly #queue: FairQueue<LeasedJob>
  readonly #leased = new Set<LeasedJob>()
  readonly #running = new Set<Promise<void>>()
  readonly #process = randomUUID()
  #claims = 0
  #isLeft = false
  #results: { readonly job: LeasedJob; readonly result: RunResult }[] = []
  /** Rows whose run has begun and whose result is not stored. A crash repeats them, so `most.running` limits them too. */
  readonly #begun = new Set<LeasedJob>()
  #settling: Promise<void> | undefined
  #cancelRenewal: Cancel | undefined
  #renewing: Promise<void> | undefined

  constructor(deps: JobWorkerDeps, jobQueue: JobQueue) {
    this.#deps = deps
    this.#jobQueue = jobQueue
    const { running, ofActor, ofHost } = jobQueue.most
    this.#queue = new FairQueue(
      { running, perActor: ofActor, perPeer: 1, perHost: ofHost },
      ({ claimed }) => claimed.attempts > 0,
    )
    const { kind } = jobQueue
    this.#poller = new DuePoller(
      deps,
      {
        ...jobRows(kind).work({
          name: `${kind}s`,
          longestMs: jobQueue.longestMs,
          claim: (actorId) => this.#claim(actorId),
          hasCapacity: () => this.#capacity > 0,
        }),
        ...(jobQueue.pollMs === undefined ? {} : { pollMs: jobQueue.pollMs }),
      },
      `Cannot look for due ${kind}s; the next poll tries again`,
    )
  }

  /** Looks for due work now. On a sharded database, the look at `dueAt` claims the work of this actor. Default: now. */
  readonly wake = (actorId?: string, dueAt?: number): void => this.#poller.wake(actorId, dueAt)

  /** Returns when the next work is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null> {
    return this.#poller.nextDue()
  }

  /** Resolves when nothing runs. Work that is due later does not count. */
  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined || this.#running.size > 0 || this.#settling !== undefined) {
      await Promise.all([this.#poller.looking, this.#settling, ...this.#running])
    }
  }

  /** Begins no further runs, gives the running ones some time, and releases the leases. */
  async stop(): Promise<void> {
    await this.#poller.stop()
    this.#release(
      this.#queue.withdraw(() => true),
      0,
    )
    await this.#within(this.#deps.shutdownMs, Promise.all(this.#running))
    for (const { abort } of this.#leased) abort.abort(new Error('The service stops'))
    // A handler that ignores the signal must not delay the stop. Its lease ends, so another process runs it again.
    await this.#within(stopMs, Promise.all(this.#running))
    await this.#settling
    this.#cancelRenewal?.()
    await this.#renewing
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const { promise: timeUp, resolve } = Promise.withResolvers<void>()
    const cancel = this.#deps.timers.setTimer(ms, resolve)
    await Promise.race([work, timeUp])
    cancel()
  }

  get #capacity(): number {
    return maxLeased - this.#leased.size
  }

  /** Leases due rows of the actor; null: of all actors. Resolves with true when due rows of the actor may be left. */
  async #claim(actorId: string | null): Promise<boolean> {
    this.#putOff()
    const limit = Math.min(maxClaimed, this.#capacity)
    this.#isLeft ||= limit <= 0
    if (limit <= 0) return true
    const { store, now } = this.#deps
    const lease = `${this.#process} ${++this.#claims}`
    const since = now()
    const busy = this.#queue.busyActors
    this.#isLeft ||= busy.length > 0
    if (actorId !== null && busy.includes(actorId)) return true
    const without = actorId === null ? busy : []
    const { kind } = this.#jobQueue
    const claim = { kind, lease, now: since, until: since + leaseMs, limit, actorId, without }
    // A lost lease is harmless: another one is taken.
    const jobs = await store.write((tx) => claimJobs(tx, claim), { durability: 'relaxed' })
    const held = new Map([...this.#leased].map((job) => [keyOf(job.claimed), job]))
    for (const claimed of jobs) {
      const running = held.get(keyOf(claimed))
      if (running !== undefined && isSameWork(running.claimed, claimed)) {
        running.claimed = claimed
        continue
      }
      const host = this.#jobQueue.hostOf(claimed)
      const abort = new AbortController()
      const job = { actorId: claimed.actorId, peerId: claimed.id, host, claimed, since, abort }
      this.#leased.add(job)
      this.#queue.add(job)
    }
    this.#renewLater()
    this.#begin()
    const isFull = jobs.length === limit
    if (isFull) this.wake()
    return isFull
  }

  /** Keeps an actor or host with many rows from using up the leases. */
  #putOff(): void {
    const latest = this.#deps.now() - patienceMs
    this.#release(
      this.#queue.withdraw(({ since }) => since < latest),
      putOffMs,
    )
  }

  #release(jobs: readonly LeasedJob[], forMs: number): void {
    for (const job of jobs) {
      const { done, attempts, failingSince } = job.claimed
      const dueAt = this.#deps.now() + forMs
      const settled = { done, dueAt, state: 'live', attempts, failingSince, reason: '' } as const
      this.#results.push({ job, result: { settled, entries: [] } })
    }
    this.#settle()
  }

  #begin(): void {
    if (this.#poller.isStopping) return
    while (this.#begun.size < this.#jobQueue.most.running) {
      const job = this.#queue.take()
      if (job === null) return
      this.#begun.add(job)
      const run = this.#run(job)
      this.#running.add(run)
      void run.finally(() => this.#running.delete(run))
    }
  }

  async #run(job: LeasedJob): Promise<void> {
    const result = await this.#jobQueue.run(job.claimed, job.abort.signal)
    this.#queue.done(job)
    this.#results.push({ job, result })
    this.#settle()
    this.#begin()
  }

  /** Stores results. Those of runs that end meanwhile share the next transaction. */
  #settle(): void {
    if (this.#results.length === 0) return
    this.#settling ??= runInBackground(() => this.#settleAll()).finally(() => {
      this.#settling = undefined
      this.#settle()
    })
  }

  async #settleAll(): Promise<void> {
    const { store, log } = this.#deps
    // Runs that end in the same turn share a transaction. A renewal locks the same rows.
    await this.#renewing
    const results = this.#results.splice(0, maxSettled)
    let due: readonly DueActor[] = []
    try {
      due = await store.write(async (tx) => {
        await settleEntries(
          tx,
          results.flatMap(({ job: { claimed }, result }) => result.entries.map((outcome) => ({ ...claimed, outcome }))),
        )
        return settleJobs(
          tx,
          results.map(({ job, result }) => ({ ...result.settled, job: job.claimed })),
        )
      })
    } catch (error) {
      log.warn({ error }, `Cannot store that ${this.#jobQueue.kind}s were handled; they run again after their leases`)
      // The next search of a sharded database may be minutes away.
      for (const { job } of results) this.wake(job.actorId, this.#deps.now() + leaseMs)
    }
    for (const { job } of results) {
      this.#leased.delete(job)
      this.#begun.delete(job)
    }
    this.#begin()
    if (this.#leased.size === 0) this.#cancelRenewal?.()
    if (this.#poller.isStopping) return
    for (const { actorId, dueAt } of due) this.wake(actorId, dueAt)
    // After a claim, the next look is a whole interval away, but other work may be due earlier.
    if (due.length === 0) this.wake()
    if (this.#isLeft && this.#leased.size < maxLeased / 2) {
      this.#isLeft = false
      this.wake()
    }
  }

  #renewLater(): void {
    if (this.#cancelRenewal !== undefined || this.#leased.size === 0) return
    const cancel = this.#deps.timers.setTimer(renewMs, () => {
      this.#cancelRenewal = undefined
      this.#renewing = runInBackground(() => this.#renew()).finally(() => this.#renewLater())
    })
    this.#cancelRenewal = () => {
      this.#cancelRenewal = undefined
      cancel()
    }
  }

  async #renew(): Promise<void> {
    const { store, now, log } = this.#deps
    await this.#settling
    const held = [...this.#leased].map((job) => ({ job, claimed: job.claimed }))
    if (held.length === 0) return
    try {
      const until = now() + leaseMs
      const kept = await store.write(
        (tx) =>
          renewLeases(
            tx,
            held.map(({ claimed }) => claimed),
            until,
          ),
        { durability: 'relaxed' },
      )
      for (const { job, claimed } of held) {
        const isLost = job.claimed === claimed && !kept.has(leaseKey(claimed))
        if (isLost) job.abort.abort(new Error('Another process has taken over this work'))
      }
    } catch (error) {
      log.warn({ error }, `Cannot renew the leases of running ${this.#jobQueue.kind}s`)
    }
  }
}

/** False when the work was set again, or another process has stored a result since the first claim. */
function isSameWork(first: ClaimedJob, second: ClaimedJob): boolean {
  const { done, attempts, failingSince, at, entryId } = first
  return (
    done === second.done &&
    attempts === second.attempts &&
    failingSince === second.failingSince &&
    at === second.at &&
    entryId === second.entryId
  )
}

function keyOf({ actorId, id }: ClaimedJob): string {
  return JSON.stringify([actorId, id])
}

/** Time for aborted runs to end. */
const stopMs = 1000
