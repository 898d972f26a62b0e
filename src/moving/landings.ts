/** Proven arrivals become actors: their archives are unpacked, one after the other for an id, by any process. */
import { personKind } from '../app/kinds/person.ts'
import { insertActor, lockResident, setResidence } from '../actor/actor-store.ts'
import { deleteArriving, restoreActor, type RestoreDeps } from '../archive/restore-actor.ts'
import { isTemporary, ServiceError } from '../errors.ts'
import type { ClaimedJob } from '../job/job-store.ts'
import { ended, later, removed, singleRunQueue } from '../job/single-run.ts'
import type { JobQueue, RunResult } from '../job/worker.ts'
import type { Live } from '../live/live.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { deleteHeldNotices } from '../outbox/notice-store.ts'
import { backoffMs } from '../outbox/policy.ts'
import type { SecretHash } from '../secret/hash.ts'
import { randomId, randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import {
  type Arrival,
  completeArrival,
  dropArchive,
  findAnnounced,
  findArrival,
  findFirstMoved,
  findMoved,
  insertArrivalJob,
  refuseArrival,
} from './arrival-store.ts'
import { arrivingActor } from './arriving-rows.ts'
import { deleteDeparture } from './departure-store.ts'
import type { MovedRelationships } from './moved-relationships.ts'
import type { Spool } from './spool.ts'

export interface LandingsDeps
  extends Pick<RestoreDeps, 'keyRing' | 'bytes' | 'tables' | 'uniqueCreator' | 'deleteRemoved'> {
  readonly store: CatchUpStore
  readonly timers: Timers
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly live: Pick<Live, 'record'>
  readonly spool: Spool
  readonly relationships: MovedRelationships
  /** Starts the work of the arrival. */
  readonly wake: (actorId: string) => void
  /** Deletes the content that an actor has left here, when it comes back. */
  readonly deleteLeft: (tx: Transaction, actorId: string) => Promise<void>
  /** Deletes the list rows and files of an actor whose arrival was given up. */
  readonly deleteLeftovers: (actorId: string) => void
}

const shortestPauseMs = 10_000
const longestPauseMs = 3_600_000
const maxRunning = 4
/** Attempts to unpack an archive. The old service has the actor until then, and an id that waits for one archive is blocked for others. */
const maxAttempts = 10
/** How long a request waits for the archive to be unpacked. */
const longestWaitMs = 5000

export class Landings {
  readonly #deps: LandingsDeps
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(deps: LandingsDeps) {
    this.#deps = deps
  }

  /** Gives the id to the proven arrival that was first, unless an actor has it. Call `wake` after the commit. */
  async begin(tx: Transaction, actorId: string): Promise<void> {
    const { keyRing, store } = this.#deps
    const actor = await lockResident(tx, actorId)
    if (actor?.residence === 'arriving') return
    const hasLeft = actor?.residence === 'moved'
    if (actor !== null && !hasLeft) return this.#refuseAll(tx, actorId)
    if ((await findFirstMoved(tx, actorId)) === null) return
    // Only its owner can have moved it on from where it went (`Arrivals.announce`).
    if (hasLeft) await this.#deps.deleteLeft(tx, actorId)
    const passphrase = seal(keyRing, randomPassphrase(), bindingOf(actorPassphrase, actorId))
    const creator = `importing:${actorId}`
    const draft = {
      id: actorId,
      creator,
      passphrase,
      trusteeRoot: null,
      createdAt: store.now(),
      guardedUntil: 0,
      kind: personKind,
    }
    // Two processes read the notices of two addresses at the same time. The second one tries again.
    if (!(await insertActor(tx, draft))) throw new ServiceError('unavailable', undefined, { retryAfterSeconds: 1 })
    await setResidence(tx, actorId, 'arriving')
    await insertArrivalJob(
      tx,
      actorId,
      { dueAt: this.#deps.now(), lease: '', attempts: 0, entryId: randomId() },
      store.now(),
    )
  }

  wake(actorId: string): void {
    this.#deps.wake(actorId)
  }

  /** Continues a proven arrival whose process was killed between two steps. */
  async resume(actorId: string): Promise<void> {
    await this.#deps.store.write((tx) => this.begin(tx, actorId))
    this.wake(actorId)
  }

  /** The arrival after some seconds, or as soon as it is decided. Null: it is gone. */
  async result(actorId: string, tokenHash: SecretHash): Promise<Arrival | null> {
    const { store, timers } = this.#deps
    const { promise: changed, resolve } = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(actorId) ?? new Set()
    this.#waiting.set(actorId, waiting.add(resolve))
    const cancel = timers.setTimer(longestWaitMs, resolve)
    try {
      const current = await store.read((q) => findAnnounced(q, actorId, tokenHash))
      if (current?.state !== 'moved' || current.object === '') return current
      this.wake(actorId)
      await changed
      return await store.read((q) => findAnnounced(q, actorId, tokenHash))
    } finally {
      cancel()
      waiting.delete(resolve)
      if (waiting.size === 0) this.#waiting.delete(actorId)
    }
  }

  readonly jobQueue: JobQueue = singleRunQueue(maxRunning, {
    kind: 'arrival',
    run: (job, signal) => this.#run(job, signal),
    longestMs: longestPauseMs,
  })

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { now, random, log, metrics } = this.#deps
    const { actorId, attempts } = job
    try {
      const result = await runInBackground(() => this.#step(job, signal))
      metrics.jobRun('arrival', 'done')
      return result
    } catch (error) {
      if (!signal.aborted) log.warn({ error, actorId }, 'Cannot continue the arrival of an actor now')
      metrics.jobRun('arrival', 'retry')
      const pauseMs = Math.max(shortestPauseMs, backoffMs(attempts, random(), longestPauseMs))
      return later(job, { dueAt: now() + (signal.aborted ? 0 : pauseMs), attempts: attempts + 1 })
    } finally {
      for (const resolve of this.#waiting.get(actorId) ?? []) resolve()
    }
  }

  async #step(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { store, now, relationships } = this.#deps
    const { actorId } = job
    const here = await store.read((q) => findArrival(q, actorId))
    if (here === null) {
      if (!(await this.#land(job))) return removed
      return later(job, { dueAt: now(), attempts: 0 })
    }
    // The row stays for a later retry of the owner.
    if (here.claimHash !== '') return ended
    const dueAt = await relationships.renew(here, signal)
    return dueAt === null ? ended : later(job, { dueAt, attempts: 0 })
  }

  /** Unpacks the archive. False: no arrival is left that may become the actor. */
  async #land({ actorId, attempts }: ClaimedJob): Promise<boolean> {
    const { store, spool, keyRing, tables } = this.#deps
    const arrival = await store.read((q) => findFirstMoved(q, actorId))
    if (arrival === null) {
      await this.#clear(actorId, async () => {})
      return false
    }
    const content = await spool.open(arrival.object)
    if (content === null) {
      // The old service has the content until the actor is here.
      await this.#clear(actorId, (tx) => dropArchive(tx, arrival))
      return false
    }
    try {
      await restoreActor(
        {
          ...this.#deps,
          arriving: arrivingActor({ keyRing, tables, now: store.now }, actorId),
          hasMissedChanges: false,
          completing: (tx, { trusteeRoot }) => this.#complete(tx, arrival, trusteeRoot),
        },
        content,
      )
      return true
    } catch (error) {
      const reason = refusalIn(error, attempts + 1 >= maxAttempts)
      if (reason === null) throw error
      await this.#clear(actorId, async (tx) => {
        await this.#refuse(tx, arrival, reason)
        await this.begin(tx, actorId)
      })
      return false
    } finally {
      spool.wakeUnused(actorId)
    }
  }

  async #complete(tx: Transaction, arrival: Arrival, trusteeRoot: string | null): Promise<void> {
    const { now, live, spool } = this.#deps
    const { actorId, movedAt, object } = arrival
    const actor = await lockResident(tx, actorId)
    // Later than the move, also where the clock of the old service is ahead: peers compare the times of moves.
    const hereAt = Math.max(now(), (movedAt ?? 0) + 1)
    if (actor === null || !(await completeArrival(tx, arrival, { hereAt, trusteeRoot })))
      throw new ServiceError('unavailable', 'The arrival has changed while its archive was unpacked')
    await spool.release(tx, actorId, object)
    await setResidence(tx, actorId, 'here')
    // The actor may have left here earlier.
    await deleteDeparture(tx, actorId)
    await live.record(tx, actor, 'move', [actorId])
  }

  /** Deletes what was unpacked, in one transaction with `then`. */
  async #clear(actorId: string, then: (tx: Transaction) => Promise<void>): Promise<void> {
    const { store, tables, deleteLeftovers, log } = this.#deps
    await store.write(async (tx) => {
      await deleteArriving(tx, actorId, { now: store.now(), tables })
      await deleteHeldNotices(tx, actorId)
      await then(tx)
    })
    log.info({ actorId }, 'An announced actor does not come here')
    deleteLeftovers(actorId)
    this.wake(actorId)
  }

  async #refuse(tx: Transaction, arrival: Arrival, reason: string): Promise<void> {
    if (await refuseArrival(tx, arrival, reason.slice(0, 500)))
      await this.#deps.spool.release(tx, arrival.actorId, arrival.object)
  }

  /** Another actor has the id. */
  async #refuseAll(tx: Transaction, actorId: string): Promise<void> {
    for (const arrival of await findMoved(tx, actorId))
      await this.#refuse(tx, arrival, 'an actor with this id is here already')
  }
}

/** Why an archive that could not be unpacked never becomes the actor. Null: a later attempt may succeed. */
function refusalIn(error: unknown, isLast: boolean): string | null {
  const isOfArchive = error instanceof ServiceError && (error.status < 500 || error.code === 'quota_exceeded')
  if (isOfArchive) return error.message
  if (!isLast || isTemporary(error)) return null
  return 'its archive cannot be unpacked here'
}
