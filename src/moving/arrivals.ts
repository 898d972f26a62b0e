/**
 * Announcements of actors that move here from other services (docs/spec/moving.md). An id at one address proves nothing about
 * the same id at another one, so each address has its own announcement, key and archive. The first one whose address publishes
 * the signed notice becomes the actor (`landings.ts`).
 */
import { wasEverDeleted } from '../actor/actor-store.ts'
import { parseActorId } from '../actor/actor.ts'
import { progressOf } from '../archive/restore-actor.ts'
import type { Config } from '../config/options.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { ConcurrencyLimit } from '../rate-limit/concurrency-limit.ts'
import { hashSecret, type SecretHash } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { arrivalKey, bindingOf, departureSecrets } from '../secret/sealed-columns.ts'
import { open, seal } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Queries } from '../store/store.ts'
import { parseBaseuri } from '../trust/baseuri.ts'
import {
  type Arrival,
  deleteArrival,
  dropArchive,
  findAnnounced,
  findFrom,
  proveArrival,
  putArrival,
  storeArchive,
  surplusArchives,
  waitingArrivals,
} from './arrival-store.ts'
import { type Departure, findDeparture } from './departure-store.ts'
import type { Landings } from './landings.ts'
import { type HomeKeys, isSameKey, newHomeKeys, publicKeyIn, verifyNotice } from './proof.ts'
import { followMoves, type PublishedHome, readMove } from './published-move.ts'
import type { Spool } from './spool.ts'

export interface ArrivalsDeps {
  readonly store: CatchUpStore
  readonly client: PeerClient
  readonly keyRing: KeyRing
  readonly baseUrl: string
  readonly now: () => number
  readonly log: Log
  readonly config: Pick<Config, 'acceptMoves'>
  readonly spool: Spool
  readonly landings: Landings
}

/** The announcement of the old service. */
export interface Announcement {
  readonly actorId: string
  /** The old address. */
  readonly from: string
  readonly token: string
  readonly claimHash: string
}

/** An announcement is forgotten after this time, unless its address publishes the notice or cannot be read. */
const staleMs = 86_400_000
/** An announcement whose address cannot be read is kept so long, because the old service may have handed the actor over. */
const longestMs = 30 * staleMs
/** The new service asks the old address by itself after this time, because the old service may be gone since its notice. */
const askAfterMs = 600_000
const maxAsked = 100
/** Archives that wait for a notice. The old service sends one again that had to make room. */
const maxStored = 16
/** Archives that one sender may send at the same time. Until an archive is complete, it does not count as stored. */
const maxOfSender = 8
/** Addresses that are remembered as earlier homes. */
const maxOrigins = 10

type Waiting = Pick<Arrival, 'actorId' | 'createdAt' | 'tokenHash'>

/** Before all announcements. */
const first: Waiting = { createdAt: 0, actorId: '', tokenHash: '' as SecretHash }

function byAge(a: Waiting, b: Waiting): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt
  return `${a.actorId} ${a.tokenHash}` < `${b.actorId} ${b.tokenHash}` ? -1 : 1
}

/** The state of a move at the old address. */
type Answer =
  | { readonly kind: 'moved'; readonly movedAt: number }
  /** `unknown`: the address cannot be read now. */
  | { readonly kind: 'moving' | 'stopped' | 'unknown' }

export class Arrivals {
  readonly #deps: ArrivalsDeps
  readonly #ofMove = new ConcurrencyLimit(1, 'This move', 'archives')
  readonly #ofSender = new ConcurrencyLimit(maxOfSender, 'This sender', 'archives')
  /** The announcement that was asked last. */
  #asked: Waiting = first

  constructor(deps: ArrivalsDeps) {
    this.#deps = deps
  }

  /**
   * Agrees to take an actor. The old address must publish this move. Returns the public key of the new home.
   *
   * @throws ServiceError `forbidden` where no actors may come from this address, the address does not publish the move, or the
   *   id lived here and its notices do not lead to the address; `conflict` when the actor is here; `invalid_value`, `peer_failed`.
   */
  async announce(announced: Announcement): Promise<string> {
    const { store, now, keyRing, baseUrl } = this.#deps
    const { actorId, from, token } = announced
    const to = `${baseUrl}/${actorId}`
    if (!isAccepted(this.#deps.config.acceptMoves, from))
      throw new ServiceError('forbidden', 'This service takes no accounts from other services, or not from this one')
    const isAddress = parseBaseuri(from) === from && from.endsWith(`/${actorId}`) && from !== to
    if (parseActorId(actorId) !== actorId || !isAddress)
      throw new ServiceError('invalid_value', 'Cannot take the account: its id or its address is not valid')
    const left = await store.read((q) => requireFree(q, actorId))
    const home = await this.#publishedAt(from)
    const isPublished =
      home?.leaving?.to === to && home.leaving.notice === null && home.leaving.tokenHash === hashSecret(token)
    if (!isPublished)
      throw new ServiceError(
        'forbidden',
        'Cannot take the account: its address does not announce a move to this service',
      )
    if (left !== null) await this.#requireChain(left, from, home)
    const keys = await this.#keysFor(left)
    const origins = JSON.stringify([from, ...originsOf(left)].slice(0, maxOrigins))
    return store.write(async (tx) => {
      await requireFree(tx, actorId)
      const [earlier, sameToken] = [
        await findFrom(tx, actorId, from),
        await findAnnounced(tx, actorId, hashSecret(token)),
      ]
      // The token names one announcement.
      if (earlier?.state === 'moved' || (sameToken !== null && sameToken.originUrl !== from)) throw taken(actorId)
      // The network repeated the request. The notice may name the key of the first answer already.
      if (sameToken !== null && sameToken.originKey === home.publicKey) return sameToken.publicKey
      if (earlier !== null) await this.#deps.spool.release(tx, actorId, earlier.object)
      await putArrival(tx, {
        actorId,
        originUrl: from,
        originKey: home.publicKey,
        tokenHash: hashSecret(token),
        claimHash: announced.claimHash as SecretHash,
        publicKey: keys.publicKey,
        privateKey: seal(keyRing, keys.privateKey, bindingOf(arrivalKey, actorId, from)),
        origins,
        createdAt: now(),
      })
      return keys.publicKey
    })
  }

  /**
   * Takes the archive. It becomes the actor when the old address has published its notice.
   *
   * @param source Address of the sender. Null: unknown.
   * @throws ServiceError `not_found` when the move was not announced, `unauthorized` without a token, `arrival_refused`,
   *   `too_many_requests` while the archive, or too many of the sender, arrive, and the errors of `Spool.take`.
   */
  async take(
    actorId: string,
    { token, source }: { readonly token: string | null; readonly source: string | null },
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state === 'refused') throw refusal(arrival)
    if (arrival.state === 'here' || arrival.object !== '') return
    const endMove = this.#ofMove.begin(arrival.tokenHash)
    try {
      const endSender = this.#ofSender.begin(source ?? '')
      try {
        await this.#store(arrival, content)
      } finally {
        endSender()
      }
    } finally {
      endMove()
    }
  }

  async #store(arrival: Arrival, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { spool, landings } = this.#deps
    const { actorId } = arrival
    await spool.take(actorId, content, async (tx, object) => {
      if (!(await storeArchive(tx, arrival, object))) return false
      if (arrival.state === 'moved') await landings.begin(tx, actorId)
      return true
    })
    if (arrival.state === 'moved') landings.wake(actorId)
    await this.#dropSurplus()
  }

  /**
   * Makes the announced actor the one that is here, when its address has published the notice. Returns whether its owner has
   * taken it.
   *
   * @throws ServiceError `not_found`, `unauthorized`; `conflict` when the old service still has the actor; `archive_missing`;
   *   `unavailable` while the archive is unpacked; `arrival_refused` when it never comes.
   */
  async activate(actorId: string, token: string | null): Promise<boolean> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state === 'announced' || arrival.state === 'stored') {
      const answer = await this.#ask(arrival)
      if (answer.kind !== 'moved')
        throw new ServiceError('conflict', 'Cannot activate the account: its old address publishes no valid notice')
      await this.#prove(arrival, answer.movedAt)
    }
    const current = await this.#deps.landings.result(actorId, arrival.tokenHash)
    if (current?.state === 'here') return current.claimHash === ''
    if (current === null || current.state === 'refused') throw refusal(current)
    if (current.object === '') throw new ServiceError('archive_missing')
    throw new ServiceError('unavailable', 'The archive of the account is being unpacked', { retryAfterSeconds: 1 })
  }

  /** Gives up an arrival that the old service has stopped. @throws ServiceError `not_found`, `unauthorized`, `conflict` */
  async cancel(actorId: string, token: string | null): Promise<void> {
    const arrival = await this.#require(actorId, token)
    if (arrival.state === 'here')
      throw new ServiceError('conflict', 'Cannot stop the move: the account is here already')
    if (arrival.state === 'moved' || (await this.#ask(arrival)).kind === 'moved')
      throw new ServiceError('conflict', 'Cannot stop the move: the old address redirects here')
    await this.#discard(arrival)
  }

  /** Asks the addresses of announcements that wait for long, and forgets those that lead nowhere. */
  async settleWaiting(): Promise<void> {
    const { store, now, landings } = this.#deps
    // Announcements whose addresses do not answer stay for a month, and must not keep later ones from their turn.
    const found = await store.readAllServers<Waiting>(...waitingArrivals(now() - askAfterMs, this.#asked, maxAsked))
    const waiting = found.toSorted(byAge).slice(0, maxAsked)
    this.#asked = waiting[maxAsked - 1] ?? first
    for (const { actorId, tokenHash } of waiting) {
      const arrival = await store.read((q) => findAnnounced(q, actorId, tokenHash))
      if (arrival === null) continue
      const age = now() - arrival.createdAt
      if (arrival.state === 'moved') await landings.resume(actorId)
      else if (arrival.state === 'refused') {
        if (age > longestMs) await this.#discard(arrival)
      } else {
        const answer = await this.#ask(arrival)
        if (answer.kind === 'moved') await this.#prove(arrival, answer.movedAt)
        else if (age > (answer.kind === 'unknown' ? longestMs : staleMs)) await this.#discard(arrival)
      }
    }
  }

  /** The notice of the old address was read. */
  async #prove(arrival: Arrival, movedAt: number): Promise<void> {
    const { store, now, landings } = this.#deps
    await store.write(async (tx) => {
      if (await proveArrival(tx, arrival, { movedAt, provedAt: now() })) await landings.begin(tx, arrival.actorId)
    })
    landings.wake(arrival.actorId)
  }

  /** Asks the old address. */
  async #ask({ actorId, originUrl, originKey, publicKey }: Arrival): Promise<Answer> {
    const { client, baseUrl, log, now } = this.#deps
    const reading = await readMove(client, originUrl)
    if (reading.kind === 'failed') return { kind: 'unknown' }
    const leaving = reading.kind === 'read' ? reading.home.leaving : null
    const to = `${baseUrl}/${actorId}`
    if (leaving?.to !== to) return { kind: 'stopped' }
    if (leaving.notice === null) return { kind: 'moving' }
    try {
      const notice = await verifyNotice(leaving.notice, originKey, { from: originUrl, now: now() })
      const isOurs = notice.to === to && notice.actorId === actorId && isSameKey(notice.newKey, publicKey)
      return isOurs ? { kind: 'moved', movedAt: notice.movedAt } : { kind: 'stopped' }
    } catch (error) {
      log.warn({ error, actorId }, 'The old service of an actor publishes a notice that is not valid')
      return { kind: 'unknown' }
    }
  }

  /** @throws ServiceError `peer_failed` when the address cannot be read */
  async #publishedAt(from: string): Promise<PublishedHome | null> {
    const reading = await readMove(this.#deps.client, from)
    if (reading.kind === 'failed')
      throw new ServiceError('peer_failed', 'Cannot take the account: its address cannot be read', {
        reason: reading.reason,
      })
    return reading.kind === 'read' ? reading.home : null
  }

  /**
   * The id lived here, and may come back only from the home to which its notices lead.
   *
   * @throws ServiceError `forbidden`
   */
  async #requireChain({ actorId, url, newKey }: Departure, from: string, home: PublishedHome): Promise<void> {
    if (url === from && isSameKey(newKey, home.publicKey)) return
    const followed =
      url === from
        ? null
        : await followMoves(this.#deps, { address: url, actorId, publicKey: publicKeyIn(newKey) }, from)
    if (followed?.kind !== 'followed' || !isSameKey(followed.publicKey, home.publicKey))
      throw new ServiceError(
        'forbidden',
        `Cannot take the account: ${quoted(actorId)} lived here, and its notices do not lead to this address`,
      )
  }

  /** The keys of this home of the actor. They stay the same when it comes back, so that earlier notices about them stay true. */
  async #keysFor(left: Departure | null): Promise<HomeKeys> {
    if (left === null) return newHomeKeys()
    const secrets = open(this.#deps.keyRing, left.secrets, bindingOf(departureSecrets, left.actorId))
    const { key } = JSON.parse(secrets) as { readonly key: string }
    return { publicKey: left.publicKey, privateKey: key }
  }

  async #discard(arrival: Arrival): Promise<void> {
    const { store, spool } = this.#deps
    const { actorId, tokenHash } = arrival
    await store.write(async (tx) => {
      const current = await findAnnounced(tx, actorId, tokenHash)
      if (current === null || current.state === 'here' || current.state === 'moved') return
      await spool.release(tx, actorId, current.object)
      await deleteArrival(tx, current)
    })
    spool.wakeUnused(actorId)
  }

  /** Makes room, so that archives without a notice never take more than some space. */
  async #dropSurplus(): Promise<void> {
    const { store, spool } = this.#deps
    const surplus = await store.readAllServers<Pick<Arrival, 'actorId' | 'tokenHash'>>(...surplusArchives(maxStored))
    for (const { actorId, tokenHash } of surplus) {
      await store.write(async (tx) => {
        const arrival = await findAnnounced(tx, actorId, tokenHash)
        if (arrival?.state !== 'stored') return
        await spool.release(tx, actorId, arrival.object)
        await dropArchive(tx, arrival)
      })
      spool.wakeUnused(actorId)
    }
  }

  async #require(actorId: string, token: string | null): Promise<Arrival> {
    if (token === null) throw new ServiceError('unauthorized', 'Present the token of the move as a bearer token')
    const found = await this.#deps.store.read((q) => findAnnounced(q, actorId, hashSecret(token)))
    if (found === null) throw new ServiceError('not_found', `Actor ${quoted(actorId)} is not expected here`)
    return found
  }
}

/**
 * Returns where the actor went when it lived here. Null: it never did.
 *
 * @throws ServiceError `conflict` when an actor has the id; `forbidden` when one had it, and was deleted.
 */
async function requireFree(q: Queries, actorId: string): Promise<Departure | null> {
  const [progress, departure] = [await progressOf(q, actorId), await findDeparture(q, actorId)]
  // The content of an actor that left stays until its owner has taken it at the new service.
  const hasLeft = departure?.state === 'moved'
  // A proven arrival that is being unpacked is decided later.
  if (progress === 'complete' && !hasLeft) throw taken(actorId)
  if (hasLeft) return departure
  if (await wasEverDeleted(q, actorId))
    throw new ServiceError('forbidden', `Cannot take the account: actor ${quoted(actorId)} was deleted here`)
  return null
}

function originsOf(departure: Departure | null): readonly string[] {
  return departure === null ? [] : (JSON.parse(departure.origins) as string[])
}

/** Whether actors may come from an address. */
function isAccepted(accepted: Config['acceptMoves'], from: string): boolean {
  return accepted === true || (Array.isArray(accepted) && accepted.includes(URL.parse(from)?.origin ?? ''))
}

function taken(actorId: string): ServiceError {
  return new ServiceError('conflict', `Cannot take the account: actor ${quoted(actorId)} exists here already`)
}

function refusal(arrival: Arrival | null): ServiceError {
  const reason = arrival?.reason ?? ''
  return new ServiceError('arrival_refused', reason === '' ? undefined : `Cannot take the account: ${reason}`)
}
