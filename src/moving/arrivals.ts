/**
 * Moves of actors from other services: the part of the new service (docs/spec/moving.md). The archive comes in while the actor is
 * out of reach. The actor is here when the old service has published its signed notice, and not before.
 */
import { parseActorId } from '../actor/actor.ts'
import { lockResident, setPassphrase, setResidence } from '../actor/actor-store.ts'
import { limited } from '../archive/limited.ts'
import { deleteArriving, isComplete, restoreActor, type RestoreDeps } from '../archive/restore-actor.ts'
import type { Config } from '../config/options.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { ClaimedJob } from '../job/job-store.ts'
import { ended, later, removed } from '../job/single-run.ts'
import type { Lane, RunResult } from '../job/worker.ts'
import type { Live } from '../live/live.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { deleteHeldNotices } from '../outbox/notice-store.ts'
import { backoffMs } from '../outbox/policy.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { hashSecret, sameSecret, type SecretHash } from '../secret/hash.ts'
import { randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, arrivalKey, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import { deleteDeparture } from './departure-store.ts'
import {
  type Arrival,
  type ArrivalPeer,
  beginWork,
  countPeers,
  deleteArrival,
  endClaim,
  findArrival,
  findArrivalPeers,
  hurryArrivalJob,
  insertArrivalJob,
  moveArrival,
  type PeerState,
  putArrival,
  retryFailedPeers,
  staleArrivals,
} from './arrival-store.ts'
import type { MovedRelationships } from './moved-relationships.ts'
import { arrivingActor } from './arriving-rows.ts'
import { isSameKey, publicPartOf, verifyNotice } from './proof.ts'
import { readMove } from './published-move.ts'

export interface ArrivalsDeps extends Pick<RestoreDeps, 'keyRing' | 'bytes' | 'uniqueCreator' | 'deleteRemoved'> {
  readonly store: CatchUpStore
  readonly client: PeerClient
  readonly baseUrl: string
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly live: Pick<Live, 'record'>
  readonly config: Pick<Config, 'acceptMoves' | 'maxImportBytes'>
  readonly relationships: MovedRelationships
  /** Starts the work of the arrival. */
  readonly wake: (actorId: string) => void
  /** Starts the work that an actor has waiting. */
  readonly wakeAll: (actorId: string) => void
  /** Deletes the list rows and files that an actor leaves behind that does not come. */
  readonly deleteLeftovers: (actorId: string) => void
}

/** The announcement of the old service. */
export interface Announcement {
  readonly actorId: string
  /** The old address. */
  readonly from: string
  readonly token: string
  readonly claimHash: string
  /** The private key of the move, a JSON Web Key. */
  readonly key: string
}

/** An arrival, for the owner. */
export interface ShownArrival {
  readonly originUrl: string
  readonly hereAt: number
  readonly counts: Readonly<Partial<Record<PeerState, number>>>
  /** Up to 200 peers, those that need a look first. */
  readonly peers: readonly Pick<ArrivalPeer, 'peerId' | 'baseuri' | 'state' | 'reason' | 'updatedAt'>[]
}

const mostShown = 200
/** The old service activates the actor. Without its message, the new service asks it after this time, and then less often. */
const askMs = 10_000
const longestPauseMs = 3_600_000
const pollMs = 300_000
const mostRunning = 4
/** An archive that has not come after this time is not expected any longer. */
const staleMs = 86_400_000
const mostStale = 100
/** A complete actor is kept so long while its old address does not announce the move. */
const longestWaitMs = 30 * staleMs

export class Arrivals {
  readonly #deps: ArrivalsDeps

  constructor(deps: ArrivalsDeps) {
    this.#deps = deps
  }

  /**
   * Agrees to take an actor. The old address must publish this move.
   *
   * @throws ServiceError `forbidden` where no actors may come or the old address does not publish the move, `conflict` when the
   *   actor exists here, `invalid_value`, `peer_failed`.
   */
  async announce(announced: Announcement): Promise<void> {
    const { store, config, keyRing, now, baseUrl, client } = this.#deps
    const { actorId, from, token, claimHash, key } = announced
    if (!config.acceptMoves) throw new ServiceError('forbidden', 'This service takes no accounts from other services')
    const publicKey = publicPartOf(key)
    if (parseActorId(actorId) !== actorId || publicKey === null || !from.endsWith(`/${actorId}`))
      throw new ServiceError('invalid_value', 'Cannot take the account: its id, its address or its key is not valid')
    if (await store.read((q) => isComplete(q, actorId))) throw taken(actorId)
    const reading = await readMove(client, from)
    if (reading.kind === 'failed')
      throw new ServiceError('peer_failed', 'Cannot take the account: its address cannot be read', {
        reason: reading.reason,
      })
    const move = reading.kind === 'read' ? reading.move : null
    const isPublished =
      move !== null &&
      move.to === `${baseUrl}/${actorId}` &&
      move.notice === null &&
      move.tokenHash === hashSecret(token) &&
      isSameKey(move.publicKey, publicKey)
    if (!isPublished)
      throw new ServiceError(
        'forbidden',
        'Cannot take the account: its address does not announce a move to this service',
      )
    await store.write(async (tx) => {
      if (await isComplete(tx, actorId)) throw taken(actorId)
      await deleteArriving(tx, actorId, now())
      await putArrival(tx, {
        actorId,
        originUrl: from,
        tokenHash: hashSecret(token),
        claimHash: claimHash as SecretHash,
        publicKey,
        privateKey: seal(keyRing, key, bindingOf(arrivalKey, actorId)),
        createdAt: now(),
      })
    })
  }

  /**
   * Takes the archive. The actor is complete afterwards, and waits for the notice of the old service.
   *
   * @throws ServiceError `not_found` when the move was not announced, `unauthorized` or `forbidden` without the right token, and
   *   the errors of `restoreActor`.
   */
  async take(actorId: string, token: string | null, content: AsyncIterable<Uint8Array>): Promise<void> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state !== 'announced') return
    const { store, now, wake, config } = this.#deps
    await restoreActor(
      {
        ...this.#deps,
        arriving: arrivingActor(this.#deps.keyRing, actorId),
        hasMissedChanges: false,
        completing: async (tx) => {
          if (!(await moveArrival(tx, arrival, { from: 'announced', to: 'arrived', hereAt: null }))) throw overtaken()
          await insertArrivalJob(tx, actorId, now() + askMs, store.now())
        },
      },
      limited(content, config.maxImportBytes, 'Cannot take the account: its archive'),
    )
    wake(actorId)
  }

  /**
   * Activates an actor whose old service has published the notice.
   *
   * @throws ServiceError `not_found`, `forbidden`; `conflict` when the old service still has the actor.
   */
  async activate(actorId: string, token: string | null): Promise<void> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state === 'here') return
    const activated = await this.#activate(arrival)
    if (activated === 'waiting' || activated === 'gone')
      throw new ServiceError('conflict', 'Cannot activate the account: its old address publishes no valid notice')
  }

  /** Gives up an arrival that the old service has stopped. @throws ServiceError `not_found`, `forbidden`, `conflict` */
  async cancel(actorId: string, token: string | null): Promise<void> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state === 'here')
      throw new ServiceError('conflict', 'Cannot stop the move: the account is here already')
    if ((await this.#ask(arrival)) === 'moved')
      throw new ServiceError('conflict', 'Cannot stop the move: the old address redirects here')
    await this.#discard(arrival)
  }

  /**
   * Finds the actor that a code takes.
   *
   * @returns null when the code is wrong or was used.
   */
  async findByCode(
    actorId: string,
    code: string,
  ): Promise<{ readonly originUrl: string; readonly isHere: boolean } | null> {
    const found = await this.#deps.store.read((q) => findArrival(q, actorId))
    if (found === null || found.claimHash === '' || !sameSecret(hashSecret(code), found.claimHash)) return null
    return { originUrl: found.originUrl, isHere: found.state === 'here' }
  }

  /**
   * Gives the actor a new passphrase, for its owner.
   *
   * @throws ServiceError `forbidden` when the code is wrong or was used; `conflict` before the actor is here.
   */
  async takeByPassphrase(actorId: string, code: string): Promise<string> {
    const { store, keyRing } = this.#deps
    const found = await this.findByCode(actorId, code)
    if (found === null) throw new ServiceError('forbidden', 'This link is not valid, or was used')
    if (!found.isHere) throw new ServiceError('conflict', 'This account is not here yet')
    const passphrase = randomPassphrase()
    await store.writeActor(actorId, async (tx) => {
      if (!(await endClaim(tx, actorId))) throw new ServiceError('forbidden', 'This link is not valid, or was used')
      await setPassphrase(tx, actorId, seal(keyRing, passphrase, bindingOf(actorPassphrase, actorId)))
    })
    return passphrase
  }

  /** The arrival of an actor that is here. Null: it was created here. */
  async find(actorId: string): Promise<ShownArrival | null> {
    const { store } = this.#deps
    const arrival = await store.read((q) => findArrival(q, actorId))
    if (arrival?.state !== 'here') return null
    const [{ counts }, peers] = await store.read((q) =>
      Promise.all([countPeers(q, actorId), findArrivalPeers(q, actorId, mostShown)]),
    )
    return { originUrl: arrival.originUrl, hereAt: arrival.hereAt ?? 0, counts, peers }
  }

  /** Notifies the failed peers again. Returns their number. */
  async retry(actorId: string): Promise<number> {
    const { store, now, live, wake } = this.#deps
    const again = await store.writeActor(actorId, async (tx, locked) => {
      const peers = await retryFailedPeers(tx, actorId, now())
      if (peers > 0) await hurryArrivalJob(tx, actorId, now())
      await live.record(tx, locked, 'move', [actorId])
      return peers
    })
    if (again > 0) wake(actorId)
    return again
  }

  /** Deletes arrivals whose archive has not come for a day, with what had come in. */
  async deleteStale(): Promise<void> {
    const { store, now } = this.#deps
    const stale = await store.sweep<{ actorId: string }>(...staleArrivals(now() - staleMs, mostStale))
    for (const { actorId } of stale) {
      const arrival = await store.read((q) => findArrival(q, actorId))
      if (arrival?.state === 'announced') await this.#discard(arrival)
    }
  }

  readonly lane: Lane = {
    kind: 'arrival',
    run: (job, signal) => this.#run(job, signal),
    hostOf: ({ actorId }) => actorId,
    most: { running: mostRunning, ofActor: 1, ofHost: 1 },
    longestMs: longestPauseMs,
    pollMs,
  }

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { now, random, log, metrics, store, relationships } = this.#deps
    const { actorId, attempts } = job
    const pauseMs = Math.max(askMs, backoffMs(attempts, random(), longestPauseMs))
    try {
      const found = await store.read((q) => findArrival(q, actorId))
      if (found === null || found.state === 'announced') return removed
      const arrival = found.state === 'here' ? found : await runInBackground(() => this.#activate(found))
      if (arrival === 'gone') return removed
      if (arrival === 'waiting') return later(job, { dueAt: now() + pauseMs, attempts: attempts + 1 })
      const dueAt = await runInBackground(() => relationships.renew(arrival, signal))
      metrics.jobRun('arrival', 'done')
      // The row stays for a later retry of the owner.
      return dueAt === null ? ended : later(job, { dueAt, attempts: 0 })
    } catch (error) {
      if (!signal.aborted) log.warn({ error, actorId }, 'Cannot continue the arrival of an actor now')
      metrics.jobRun('arrival', 'retry')
      return later(job, { dueAt: now() + (signal.aborted ? 0 : pauseMs), attempts: attempts + 1 })
    }
  }

  /** The arrival of an actor that is here. `waiting`: not handed over, or the old service cannot be asked. `gone`: it does not come. */
  async #activate(arrival: Arrival): Promise<Arrival | 'waiting' | 'gone'> {
    const { store, now, live, wake, wakeAll } = this.#deps
    const { actorId } = arrival
    const answer = await this.#ask(arrival)
    // The old service may be out of order, and may hand the actor over later.
    if (answer === 'stopped' && now() - arrival.createdAt > longestWaitMs) {
      await this.#discard(arrival)
      return 'gone'
    }
    if (answer !== 'moved') return 'waiting'
    const isHere = await store.write(async (tx) => {
      const actor = await lockResident(tx, actorId)
      if (actor?.residence !== 'arriving') return false
      if (!(await moveArrival(tx, arrival, { from: 'arrived', to: 'here', hereAt: now() }))) return false
      await setResidence(tx, actorId, 'here')
      // The actor may have left here earlier.
      await deleteDeparture(tx, actorId)
      await beginWork(tx, actorId, now())
      await hurryArrivalJob(tx, actorId, now())
      await live.record(tx, actor, 'move', [actorId])
      return true
    })
    if (isHere) {
      wake(actorId)
      wakeAll(actorId)
    }
    const current = await store.read((q) => findArrival(q, actorId))
    return current?.state === 'here' ? current : 'waiting'
  }

  /** Asks the old address. `unknown`: it cannot be read now. */
  async #ask(arrival: Arrival): Promise<'moved' | 'moving' | 'stopped' | 'unknown'> {
    const { client, baseUrl, log } = this.#deps
    const { actorId, originUrl, publicKey } = arrival
    const reading = await readMove(client, originUrl)
    if (reading.kind === 'failed') return 'unknown'
    if (reading.kind !== 'read') return 'stopped'
    const { move } = reading
    const to = `${baseUrl}/${actorId}`
    if (move.to !== to || !isSameKey(move.publicKey, publicKey)) return 'stopped'
    if (move.notice === null) return 'moving'
    try {
      const notice = await verifyNotice(move.notice, publicKey, originUrl)
      return notice.to === to && notice.actorId === actorId ? 'moved' : 'unknown'
    } catch (error) {
      log.warn({ error, actorId }, 'The old service of an actor publishes a notice that is not valid')
      return 'unknown'
    }
  }

  async #discard(arrival: Arrival): Promise<void> {
    const { store, now, deleteLeftovers } = this.#deps
    const { actorId, tokenHash } = arrival
    const isDiscarded = await store.write(async (tx) => {
      await lockResident(tx, actorId)
      const current = await findArrival(tx, actorId)
      if (current === null || current.tokenHash !== tokenHash || current.state === 'here') return false
      await deleteArriving(tx, actorId, now())
      await deleteHeldNotices(tx, actorId)
      await deleteArrival(tx, actorId)
      return true
    })
    if (isDiscarded) deleteLeftovers(actorId)
  }

  async #require(actorId: string, token: string | null): Promise<Arrival> {
    const found = await this.#deps.store.read((q) => findArrival(q, actorId))
    if (found === null) throw new ServiceError('not_found', `Actor ${quoted(actorId)} is not expected here`)
    if (token === null) throw new ServiceError('unauthorized', 'Present the token of the move as a bearer token')
    if (!sameSecret(hashSecret(token), found.tokenHash))
      throw new ServiceError('forbidden', 'The token is not that of this move')
    return found
  }
}

function taken(actorId: string): ServiceError {
  return new ServiceError('conflict', `Cannot take the account: actor ${quoted(actorId)} exists here already`)
}

function overtaken(): ServiceError {
  return new ServiceError('conflict', 'Cannot take the account: another move of it was announced')
}
