/**
 * Moves of actors to other services: the part of the old service (docs/spec/moving.md). The actor is frozen, its archive is
 * sent, and one transaction hands it over. Any process continues a move after a crash.
 */
import { type Actor, parseActorId } from '../actor/actor.ts'
import {
  deleteActor,
  findActor,
  lockResident,
  type Resident,
  setResidence,
  type StoredActor,
} from '../actor/actor-store.ts'
import { exportActor, type ExportDeps, wholeView } from '../archive/export-actor.ts'
import type { MailPort } from '../app/background/mail-port.ts'
import type { Config } from '../config/options.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { ClaimedJob } from '../job/job-store.ts'
import { reasonOf, retryAt } from '../job/outcome.ts'
import { later, removed, singleRunQueue } from '../job/single-run.ts'
import type { JobQueue, RunResult } from '../job/worker.ts'
import type { Live } from '../live/live.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { deleteNoticesOfActors, holdNotices } from '../outbox/notice-store.ts'
import { backoffMs } from '../outbox/policy.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import { judgeUrl, liesBelow, type PeerPolicy } from '../peer/url-rules.ts'
import { hashSecret } from '../secret/hash.ts'
import { randomToken } from '../secret/random.ts'
import { arrivalKey, bindingOf, departureSecrets } from '../secret/sealed-columns.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { isAccepted } from '../peer/ingress.ts'
import { answerText } from './answers.ts'
import { type Arrival, beginWork, deleteArrival, findArrival } from './arrival-store.ts'
import {
  deleteDeparture,
  type Departure,
  endWork,
  findDeparture,
  hasMoveLease,
  insertMoveJob,
  pauseWork,
  putDeparture,
  updateDeparture,
} from './departure-store.ts'
import { type HomeKeys, membersIn, newHomeKeys, publicKeyIn, signNotice } from './proof.ts'
import { stopMove } from './stop-move.ts'

export interface DeparturesDeps extends Pick<ExportDeps, 'keyRing' | 'bytes' | 'baseUrl' | 'tables'> {
  readonly store: CatchUpStore
  readonly client: PeerClient
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly live: Pick<Live, 'record'>
  readonly mail: Pick<MailPort, 'event'>
  readonly config: Pick<Config, 'movedDays' | 'formerBaseUrls'>
  readonly addressRules: PeerPolicy
  /** Whether an import runs, which would continue during the move. */
  readonly isImporting: (actorId: string) => Promise<boolean>
  /** Starts the move of the actor. */
  readonly wake: (actorId: string) => void
  /** Starts the work that an actor has waiting. */
  readonly wakeAll: (actorId: string) => void
  /** Deletes the list rows and files that the deletion of the actor leaves behind. */
  readonly deleteLeftovers: (actorId: string) => void
  /** Stores which deletions the copies of peers may lack. */
  readonly keepMissed: (tx: Transaction, actorId: string) => Promise<void>
}

interface DepartureSecrets {
  /** The private key of this home, a JSON Web Key. It stays here, also when the actor comes back. */
  readonly key: string
  /** Authenticates the old service at the new one. Empty when the new service has confirmed the move. */
  readonly token: string
  /** The code by which the owner takes the actor at the new service. */
  readonly claim: string
  /** True when the new service has confirmed that it has the actor. */
  readonly isConfirmed?: true
}

/** A move, for the owner. */
export interface ShownDeparture extends Pick<Departure, 'url' | 'state' | 'reason' | 'begunAt'> {
  /** URL at the new service by which the owner takes the actor. */
  readonly claimUrl: string
}

const maxRunning = 2
/** The pause until callbacks have ended. */
const quietMs = 500
/** The pause while the new service unpacks the archive. */
const unpackMs = 1000
/** The longest transfer of an archive, in seconds. */
const transferSeconds = 3600
/** The longest time without progress of a transfer, and until its answer, in seconds. */
const silenceSeconds = 300
const dayMs = 86_400_000
/** The longest pause between attempts to reach a new service that has the actor and has not confirmed it. */
const longestPauseMs = 3_600_000

export class Departures {
  readonly #deps: DeparturesDeps

  constructor(deps: DeparturesDeps) {
    this.#deps = deps
  }

  /**
   * Asks the other service, freezes the actor and begins the move.
   *
   * @param target URL of the other service, or of one of its pages.
   * @throws ServiceError `invalid_value` for an address that is not one of another service; `conflict` while the actor moves or
   *   an import runs; `peer_failed` when the other service does not agree. Then nothing has changed.
   */
  async begin(actor: Pick<Actor, 'id'>, target: string): Promise<ShownDeparture> {
    const { store, now, wake, client } = this.#deps
    const service = await this.#serviceAt(target)
    await this.#requireReady(actor.id)
    const { keys, origins } = await this.#homeOf(actor.id)
    const secrets = { key: keys.privateKey, token: randomToken(), claim: randomToken() }
    const begunAt = now()
    const url = `${service}/${actor.id}`
    const departure = {
      actorId: actor.id,
      url,
      publicKey: keys.publicKey,
      origins,
      secrets: this.#seal(actor.id, secrets),
      begunAt,
    }
    await store.writeActor(actor.id, (tx) => putDeparture(tx, departure))
    const outcome = await client.call({
      method: 'POST',
      url: `${service}/moves`,
      body: JSON.stringify({
        actor: actor.id,
        from: this.#addressOf(actor.id),
        token: secrets.token,
        claim_hash: hashSecret(secrets.claim),
      }),
    })
    const newKey = outcome.kind === 'answered' && outcome.status === 201 ? keyInAnswer(outcome.body) : null
    if (newKey === null) {
      await store.writeActor(actor.id, (tx) => deleteOwn(tx, departure))
      throw refusedBy(outcome)
    }
    await store.writeActor(actor.id, async (tx, locked) => {
      const found = await findDeparture(tx, actor.id)
      if (found?.secrets !== departure.secrets) throw alreadyMoving()
      await updateDeparture(tx, { ...found, state: 'moving', newKey })
      await setResidence(tx, actor.id, 'moving')
      await insertMoveJob(tx, actor.id, now())
      await this.#deps.live.record(tx, locked, 'move', [actor.id])
    })
    wake(actor.id)
    await this.#deps.mail.event({ kind: 'move_started', actorId: actor.id, to: url })
    return { url, state: 'moving', reason: '', begunAt, claimUrl: claimUrlOf(url, secrets.claim) }
  }

  async find(actorId: string): Promise<ShownDeparture | null> {
    const found = await this.#deps.store.read((q) => findDeparture(q, actorId))
    if (found === null || found.state === 'asking') return null
    const { url, state, reason, begunAt } = found
    return { url, state, reason, begunAt, claimUrl: claimUrlOf(url, this.#open(found).claim) }
  }

  /** The document about moves at the address of an actor. Null: it never moved. @throws ServiceError `actor_not_found` */
  async published(actorId: string): Promise<object | null> {
    const { store, now } = this.#deps
    const [actor, found, arrival] = await store.read((q) =>
      Promise.all([findActor(q, actorId), findDeparture(q, actorId), findArrival(q, actorId)]),
    )
    if (found !== null && isPublished(found, actor, now())) {
      const notices = await this.#noticesOf(found, () => this.#open(found).key, found.begunAt)
      const home = { to: found.url, key: JSON.parse(found.publicKey) as object, ...fromOf(found.origins), ...notices }
      return found.state === 'moved'
        ? { state: 'moved', ...home, notice: found.notice }
        : { state: 'moving', ...home, token_hash: hashSecret(this.#open(found).token) }
    }
    const isDeleted = actor === null && arrival !== null
    if (!isDeleted && (actor === null || actor.residence === 'arriving'))
      throw new ServiceError('actor_not_found', `Actor ${quoted(actorId)} does not exist`)
    if (arrival === null) return null
    if (isDeleted) return { state: 'deleted', key: JSON.parse(arrival.publicKey) as object, ...fromOf(arrival.origins) }
    const key = (): string => keysOf(this.#deps.keyRing, arrival).privateKey
    const notices = await this.#noticesOf(arrival, key, arrival.hereAt ?? arrival.createdAt)
    return { state: 'arrived', key: JSON.parse(arrival.publicKey) as object, ...fromOf(arrival.origins), ...notices }
  }

  /** Notices by which former addresses of the actor at this service lead to the current one, signed with the key of this home. */
  async #noticesOf(
    { actorId, publicKey, origins }: Pick<Departure, 'actorId' | 'publicKey' | 'origins'>,
    key: () => string,
    movedAt: number,
  ): Promise<{ readonly notices?: readonly string[] }> {
    const { config, now } = this.#deps
    const former = new Set(config.formerBaseUrls.map((base) => `${base}/${actorId}`))
    const left = (JSON.parse(origins) as string[]).filter((from) => former.has(from))
    if (left.length === 0) return {}
    const [to, privateKey] = [this.#addressOf(actorId), key()]
    const sign = (from: string): Promise<string> =>
      signNotice(privateKey, { from, to, actorId, newKey: publicKey, movedAt }, now())
    return { notices: await Promise.all(left.map(sign)) }
  }

  /**
   * The new address of an actor that has moved. Null: it has not.
   *
   * @throws ServiceError `gone` after the redirect has ended. A Python peer deletes its copy and the relationship when an actor
   *   does not exist (404), and leaves both alone at any other status.
   */
  async movedTo(actorId: string): Promise<{ readonly url: string; readonly notice: string } | null> {
    if (parseActorId(actorId) === null) return null
    const found = await this.#deps.store.read((q) => findDeparture(q, actorId))
    if (found?.state !== 'moved') return null
    if ((found.endsAt ?? 0) <= this.#deps.now())
      throw new ServiceError('gone', 'The actor moved to another service, and its address redirects no longer')
    return { url: found.url, notice: found.notice }
  }

  /** Gives the move up. The actor stays. False: it does not move, or has moved already. */
  async stop(actorId: string): Promise<boolean> {
    const { store, now } = this.#deps
    const stopped = await store.write(async (tx) => {
      const found = await stopMove(tx, actorId, now())
      if (found !== null) await this.#noteStay(tx, found.actor)
      return found
    })
    if (stopped === null) return false
    // Without this message, the new service notices by itself that the actor does not come.
    await this.#call(stopped.departure, 'DELETE', '')
    return true
  }

  readonly jobQueue: JobQueue = singleRunQueue(maxRunning, {
    kind: 'move',
    run: (job, signal) => this.#run(job, signal),
    longestMs: longestPauseMs,
  })

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { now, random, log, metrics } = this.#deps
    const { actorId, attempts } = job
    try {
      await runInBackground(() => this.#move(job, signal))
      metrics.jobRun('move', 'done')
      return removed
    } catch (error) {
      if (signal.aborted) return later(job, { dueAt: now(), attempts, reason: '' })
      if (error instanceof NotNow) return later(job, { dueAt: now() + error.pauseMs, attempts, reason: '' })
      const reason = reasonOf(error)
      log.warn({ error, actorId, attempt: attempts + 1 }, 'Cannot move an actor now')
      const at = error instanceof Refused ? null : retryAt({ now: now(), attempts, random: random() })
      if (at === null && (await this.#giveUp(job, reason).catch(() => false))) {
        metrics.jobRun('move', 'failed')
        return removed
      }
      metrics.jobRun('move', 'retry')
      const dueAt = at ?? now() + backoffMs(attempts, random(), longestPauseMs)
      return later(job, { dueAt, attempts: attempts + 1, reason })
    }
  }

  async #move(job: ClaimedJob, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps
    const { actorId } = job
    const [actor, departure] = await store.read((q) => both(q, actorId))
    if (actor === null || departure === null) return
    if (departure.state === 'moving') {
      if (!(await store.write((tx) => this.#pause(tx, actorId)))) throw new NotNow()
      await this.#send(actor, departure, signal)
      if (!(await this.#handOver(departure, job))) return
      await this.#deps.mail.event({ kind: 'move_finished', actorId, to: departure.url })
    }
    const outcome = await this.#call(departure, 'POST', '/activation')
    if (isAccepted(outcome)) return this.#confirmed(actorId, outcome)
    const code = answerText(outcome, 'error')
    // The actor was there, and its owner has moved it on.
    if (code === 'not_found' && (await this.#isConfirmed(actorId))) return this.#delete(actorId)
    if (code === 'archive_missing') await this.#send(actor, departure, signal)
    if (code === 'archive_missing' || code === 'unavailable') throw new NotNow(unpackMs)
    // The new service promises by this code that the actor is not there and never comes by this notice.
    if (code === 'arrival_refused') return this.#takeBack(actorId, reasonIn(outcome))
    throw new Error(`The new service has not confirmed the move: ${reasonIn(outcome)}`)
  }

  /** The archive has no outcomes of callbacks, so it takes along what the copies of peers miss. False: callbacks are on their way. */
  async #pause(tx: Transaction, actorId: string): Promise<boolean> {
    const isPaused = await pauseWork(tx, actorId, this.#deps.now())
    if (isPaused) await this.#deps.keepMissed(tx, actorId)
    return isPaused
  }

  async #send(actor: StoredActor, departure: Departure, signal: AbortSignal): Promise<void> {
    const plan = { view: wholeView, hasSecrets: true, isMove: true } as const
    const archive = exportActor(this.#deps, actor, plan)
    const outcome = await this.#call(departure, 'PUT', '', bytesOf(archive, signal))
    signal.throwIfAborted()
    if (isAccepted(outcome)) return
    const text = `The new service did not take the account: ${reasonIn(outcome)}`
    const isFinal = outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500
    throw isFinal && outcome.status !== 408 && outcome.status !== 429 ? new Refused(text) : new Error(text)
  }

  /**
   * The moment of the move: from here on, the new service has the actor. False: the move was stopped.
   *
   * @throws NotNow
   */
  async #handOver(departure: Departure, job: ClaimedJob): Promise<boolean> {
    const { store, now, config, live } = this.#deps
    const { actorId, url: to } = departure
    const hereSince = (await store.read((q) => findArrival(q, actorId)))?.hereAt ?? 0
    // Later than the arrival, also where the clock of an earlier home was ahead: peers compare the times of moves.
    const movedAt = Math.max(now(), hereSince + 1)
    const notice = await signNotice(
      this.#open(departure).key,
      { from: this.#addressOf(actorId), to, actorId, newKey: departure.newKey, movedAt },
      now(),
    )
    return store.write(async (tx) => {
      const actor = await lockResident(tx, actorId)
      const current = await findDeparture(tx, actorId)
      if (actor?.residence !== 'moving' || current?.secrets !== departure.secrets) return false
      if (!(await hasMoveLease(tx, actorId, job.lease))) throw new NotNow()
      const endsAt = movedAt + config.movedDays * dayMs
      await updateDeparture(tx, { ...current, state: 'moved', notice, reason: '', movedAt, endsAt })
      await setResidence(tx, actorId, 'moved')
      await endWork(tx, actorId)
      await holdNotices(tx, actorId)
      await live.record(tx, actor, 'move', [actorId])
      return true
    })
  }

  /**
   * The new service has the actor. Its sign-in and its content stay until the owner has taken it there, because the owner finds
   * the link by this sign-in. A service without `taken` never tells.
   *
   * @throws NotNow
   */
  async #confirmed(actorId: string, outcome: PeerOutcome): Promise<void> {
    const { store, now } = this.#deps
    const found = await store.read((q) => findDeparture(q, actorId))
    const body = outcome.kind === 'answered' ? outcome.body : ''
    const isWaiting = membersIn(body)?.get('taken') === 'false' && (found?.endsAt ?? 0) > now()
    if (!isWaiting || found === null) return this.#delete(actorId)
    await store.write(async (tx) => {
      const current = await findDeparture(tx, actorId)
      if (current?.state !== 'moved') return
      const secrets = this.#open(current)
      if (secrets.isConfirmed !== true)
        await updateDeparture(tx, { ...current, secrets: this.#seal(actorId, { ...secrets, isConfirmed: true }) })
    })
    const since = now() - (found.movedAt ?? 0)
    throw new NotNow(Math.min(longestPauseMs, Math.max(unpackMs, since / 4)))
  }

  async #isConfirmed(actorId: string): Promise<boolean> {
    const found = await this.#deps.store.read((q) => findDeparture(q, actorId))
    return found?.state === 'moved' && this.#open(found).isConfirmed === true
  }

  /** Deletes the content of an actor that comes back, in the transaction of its arrival. */
  async deleteLeft(tx: Transaction, actorId: string): Promise<void> {
    await this.#deleteContent(tx, actorId)
    this.#deps.store.afterCommit(tx, () => this.#deps.deleteLeftovers(actorId))
  }

  /** Deletes the content that the new service has. The redirect stays. */
  async #delete(actorId: string): Promise<void> {
    const { store, deleteLeftovers } = this.#deps
    await store.write((tx) => this.#deleteContent(tx, actorId))
    deleteLeftovers(actorId)
  }

  async #deleteContent(tx: Transaction, actorId: string): Promise<void> {
    const { now, tables } = this.#deps
    const actor = await lockResident(tx, actorId)
    const found = await findDeparture(tx, actorId)
    if (actor?.residence !== 'moved') return
    if (found !== null)
      await updateDeparture(tx, {
        ...found,
        secrets: this.#seal(actorId, { ...this.#open(found), token: '', claim: '' }),
      })
    await deleteNoticesOfActors(tx, [actorId])
    await tx.run(`UPDATE file_object SET state = 'unused', due_at = $2 WHERE actor_id = $1`, actorId, now())
    await deleteActor(tx, actorId, { now: now(), tables })
    const arrival = await findArrival(tx, actorId)
    if (arrival !== null) await deleteArrival(tx, arrival)
  }

  /** The new service never takes the actor, which therefore stays. Its address names the new one no longer. */
  async #takeBack(actorId: string, reason: string): Promise<void> {
    await this.#deps.store.write(async (tx) => {
      const actor = await lockResident(tx, actorId)
      const found = await findDeparture(tx, actorId)
      if (actor?.residence !== 'moved' || found?.state !== 'moved') return
      await updateDeparture(tx, { ...found, state: 'failed', notice: '', reason, movedAt: null, endsAt: null })
      await this.#resume(tx, actor)
    })
  }

  /** Ends a move that cannot succeed. The actor stays. False: it has moved already. */
  #giveUp({ actorId, lease }: ClaimedJob, reason: string): Promise<boolean> {
    return this.#deps.store.write(async (tx) => {
      const actor = await lockResident(tx, actorId)
      const found = await findDeparture(tx, actorId)
      const isOurs = await hasMoveLease(tx, actorId, lease)
      if (actor?.residence !== 'moving' || found === null || !isOurs) return false
      await updateDeparture(tx, { ...found, state: 'failed', reason })
      await this.#resume(tx, actor)
      return true
    })
  }

  /** The actor stays, and its work continues. */
  async #resume(tx: Transaction, actor: Resident): Promise<void> {
    await setResidence(tx, actor.id, 'here')
    await beginWork(tx, actor.id, this.#deps.now())
    await this.#noteStay(tx, actor)
  }

  async #noteStay(tx: Transaction, actor: Resident): Promise<void> {
    const { store, live, wakeAll } = this.#deps
    await live.record(tx, actor, 'move', [actor.id])
    store.afterCommit(tx, () => wakeAll(actor.id))
  }

  /** Calls the new service about this move. */
  #call(
    departure: Departure,
    method: 'PUT' | 'POST' | 'DELETE',
    path: string,
    stream?: AsyncIterable<Uint8Array>,
  ): Promise<PeerOutcome> {
    const service = departure.url.slice(0, departure.url.lastIndexOf('/'))
    const { token } = this.#open(departure)
    const url = `${service}/moves/${encodeURIComponent(departure.actorId)}${path}`
    return this.#deps.client.call({
      method,
      url,
      bearer: { secret: token, baseuri: service },
      ...(stream === undefined
        ? {}
        : {
            stream,
            headers: { 'Content-Type': 'application/x-ndjson' },
            timeouts: { connectSeconds: 30, readSeconds: transferSeconds, silenceSeconds },
          }),
    })
  }

  /** @throws ServiceError `invalid_value` */
  async #serviceAt(text: string): Promise<string> {
    const { addressRules, baseUrl, config } = this.#deps
    const trimmed = text.trim()
    const judged = judgeUrl(trimmed.includes('://') ? trimmed : `https://${trimmed}`, addressRules)
    if ('refused' in judged)
      throw new ServiceError('invalid_value', `Cannot move to ${quoted(trimmed)}: the URL ${judged.refused}`)
    const { url } = judged
    if (url.username !== '' || url.search !== '' || url.hash !== '')
      throw new ServiceError(
        'invalid_value',
        `Cannot move to ${quoted(trimmed)}: name the service without further parts`,
      )
    if ([baseUrl, ...config.formerBaseUrls].some((own) => liesBelow(url, own)))
      throw new ServiceError('invalid_value', 'Cannot move: this is the service itself')
    return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`
  }

  async #requireReady(actorId: string): Promise<void> {
    const { store, isImporting } = this.#deps
    const found = await store.read((q) => findDeparture(q, actorId))
    if (found?.state === 'moving') throw alreadyMoving()
    if (await isImporting(actorId))
      throw new ServiceError('conflict', 'Cannot move the account: an import runs. Wait until it ends, or stop it.')
  }

  /** The keys of this home of the actor, and from where it came here. */
  async #homeOf(actorId: string): Promise<{ readonly keys: HomeKeys; readonly origins: string }> {
    const { store, keyRing } = this.#deps
    const [arrival, earlier] = await store.read((q) =>
      Promise.all([findArrival(q, actorId), findDeparture(q, actorId)]),
    )
    if (arrival !== null) return { keys: keysOf(keyRing, arrival), origins: arrival.origins }
    // A move that failed.
    if (earlier !== null)
      return {
        keys: { publicKey: earlier.publicKey, privateKey: this.#open(earlier).key },
        origins: earlier.origins,
      }
    return { keys: await newHomeKeys(), origins: '[]' }
  }

  #addressOf(actorId: string): string {
    return `${this.#deps.baseUrl}/${actorId}`
  }

  #seal(actorId: string, secrets: DepartureSecrets): Sealed {
    return seal(this.#deps.keyRing, JSON.stringify(secrets), bindingOf(departureSecrets, actorId))
  }

  #open({ actorId, secrets }: Pick<Departure, 'actorId' | 'secrets'>): DepartureSecrets {
    return JSON.parse(open(this.#deps.keyRing, secrets, bindingOf(departureSecrets, actorId))) as DepartureSecrets
  }
}

/** A refusal of the new service, which a repetition would not change. */
class Refused extends Error {}

/** Work that began before the move has not ended, or a later claim continues the move. */
class NotNow extends Error {
  readonly pauseMs: number

  constructor(pauseMs = quietMs) {
    super()
    this.pauseMs = pauseMs
  }
}

function both(q: Queries, actorId: string): Promise<[StoredActor | null, Departure | null]> {
  return Promise.all([findActor(q, actorId), findDeparture(q, actorId)])
}

async function deleteOwn(tx: Transaction, { actorId, secrets }: Pick<Departure, 'actorId' | 'secrets'>): Promise<void> {
  if ((await findDeparture(tx, actorId))?.secrets === secrets) await deleteDeparture(tx, actorId)
}

function keysOf(ring: KeyRing, { actorId, originUrl, publicKey, privateKey }: Arrival): HomeKeys {
  return { publicKey, privateKey: open(ring, privateKey, bindingOf(arrivalKey, actorId, originUrl)) }
}

/** Whether the address of the actor states this move. A later life of the id here does not. */
function isPublished({ state, endsAt }: Departure, actor: StoredActor | null, now: number): boolean {
  if (state === 'moved') return (actor === null || actor.residence === 'moved') && (endsAt ?? 0) > now
  return state !== 'failed' && actor !== null
}

function fromOf(origins: string): { readonly from?: readonly string[] } {
  const from = JSON.parse(origins) as string[]
  return from.length === 0 ? {} : { from }
}

/** The public key of the new home. Null: the answer has none. */
function keyInAnswer(body: string): string | null {
  return publicKeyIn(membersIn(body)?.get('key') ?? 'null')
}

async function* bytesOf(lines: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  for await (const text of lines) {
    signal.throwIfAborted()
    yield Buffer.from(text)
  }
}

function claimUrlOf(url: string, claim: string): string {
  const at = url.lastIndexOf('/')
  return `${url.slice(0, at)}/moves${url.slice(at)}/claim?code=${claim}`
}

/** The message of the new service, in one line. */
function reasonIn(outcome: PeerOutcome): string {
  if (outcome.kind !== 'answered') return outcome.reason
  return answerText(outcome, 'message') ?? `it answered ${outcome.status}`
}

function refusedBy(outcome: PeerOutcome): ServiceError {
  if (outcome.kind !== 'answered') {
    const text = 'Cannot move the account: the other service could not be reached'
    return new ServiceError('peer_failed', text, { reason: outcome.reason })
  }
  const said = outcome.status === 201 ? 'its answer has no key' : reasonIn(outcome)
  const text = `Cannot move the account: the other service did not agree: ${said}`
  return new ServiceError('peer_failed', text, { members: { said } })
}

function alreadyMoving(): ServiceError {
  return new ServiceError('conflict', 'Cannot move the account: it moves already')
}
