/**
 * The relationships of an actor that arrived. Peers that know the extension get a signed statement with the new address and a new
 * secret. Others get a trust request from the new address.
 */
import type { Actor } from '../actor/actor.ts'
import { findActor } from '../actor/actor-store.ts'
import { findKnownAddress } from '../config/known-address.ts'
import { reasonOf, retryAt } from '../job/outcome.ts'
import { known, stringValue } from '../json/json.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { arrivalKey, arrivalPeerSecret, bindingOf } from '../secret/sealed-columns.ts'
import { open, seal } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import { sealedSecret } from '../trust/new-trust.ts'
import { secretOf } from '../trust/record.ts'
import { isRenewal, type Trust } from '../trust/trust.ts'
import { findTrust, updateTrust } from '../trust/trust-store.ts'
import type { Trusts } from '../trust/trusts.ts'
import { isAccepted, isUnknownTo } from '../peer/ingress.ts'
import { answerText } from './answers.ts'
import {
  type Arrival,
  type ArrivalPeer,
  countPeers,
  findArrivalPeer,
  findDuePeers,
  hurryArrivalJob,
  setOfferedSecret,
  updatePeer,
} from './arrival-store.ts'
import type { PeerState } from './peer-states.ts'
import { membersIn, signStatement } from './proof.ts'
import { followMoves } from './published-move.ts'

/** The tag in `aw_supported` of peers that accept statements. */
const movingTag = 'moving'

export interface MovedRelationshipsDeps {
  readonly store: CatchUpStore
  readonly client: PeerClient
  readonly keyRing: KeyRing
  readonly baseUrl: string
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly live: Pick<Live, 'record'>
  readonly trusts: Trusts
  /** Starts what waits for the peer, in the transaction that stores its new secret. */
  readonly onReached: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
}

/** The state of a peer after an attempt. `later`: another attempt follows. */
interface Attempt {
  readonly state: PeerState | 'later'
  readonly reason: string
  /** The secret that the peer has taken. */
  readonly stated?: string
}

const maxAtOnce = 8
/** The pause between attempts for a peer that has failed, from half of it on. */
const rareMs = 3_600_000
/** Peers of one run. */
const maxPeers = 64

export class MovedRelationships {
  readonly #deps: MovedRelationshipsDeps

  constructor(deps: MovedRelationshipsDeps) {
    this.#deps = deps
  }

  /** Makes one attempt for each due peer. Returns when the next one is due; null when none is left. */
  async renew(arrival: Arrival, signal: AbortSignal): Promise<number | null> {
    const { store, now } = this.#deps
    const { actorId } = arrival
    const actor = await store.read((q) => findActor(q, actorId))
    if (actor?.residence !== 'here') return null
    const due = await store.read((q) => findDuePeers(q, actorId, now(), maxPeers))
    const waiting = due[Symbol.iterator]()
    const lane = async (): Promise<void> => {
      for (const peer of waiting) {
        if (signal.aborted) return
        await this.#attempt(arrival, actor, peer)
      }
    }
    await Promise.all(Array.from({ length: maxAtOnce }, lane))
    signal.throwIfAborted()
    return (await store.read((q) => countPeers(q, actorId))).dueAt
  }

  async #attempt(arrival: Arrival, actor: Actor, peer: ArrivalPeer): Promise<void> {
    const { store, log, live } = this.#deps
    const { actorId, peerId } = peer
    let made: Attempt
    try {
      made = await this.#one(arrival, actor, peer)
    } catch (error) {
      made = { state: 'later', reason: reasonOf(error) }
    }
    if (made.reason !== '') log.warn({ actorId, peerId, ...made }, 'Cannot tell a peer about a move')
    await store.writeActor(actorId, async (tx, locked) => {
      if (await this.#store(tx, peer, made)) await live.record(tx, locked, 'move', [peerId])
    })
  }

  /** Stores the outcome of an attempt. False: another process, or the peer itself, was faster. */
  async #store(tx: Transaction, peer: ArrivalPeer, made: Attempt): Promise<boolean> {
    const { now } = this.#deps
    const { actorId, peerId, attempts } = peer
    const current = await findArrivalPeer(tx, actorId, peerId)
    if (current === null || (made.state === 'later' && isOld(peer, current))) return false
    // Meanwhile, the relationship was renewed, or the peer moved, too, and its secret won. The peer gets a statement with that one.
    const trust = made.stated === undefined ? null : await findTrust(tx, actorId, peerId)
    const isOvertaken = trust !== null && trust.secretHash !== hashSecret(made.stated ?? '')
    const { state, at } = this.#next(made, attempts, isOvertaken)
    const isOver = state === 'informed' || state === 'asked'
    await updatePeer(
      tx,
      {
        ...current,
        state,
        reason: made.reason,
        // The relationship has the secret that is in use.
        secret: isOver ? this.#sealed(peer, '') : current.secret,
        attempts: attempts + 1,
        updatedAt: now(),
      },
      at,
    )
    if (state === 'informed') await this.#useNewSecret(tx, peer)
    // The process that has the work may have ended it, because it had informed the peer.
    if (isOvertaken) await hurryArrivalJob(tx, actorId, now())
    return true
  }

  /** The state after an attempt, and when another one follows. */
  #next(
    made: Attempt,
    attempts: number,
    isOvertaken: boolean,
  ): { readonly state: PeerState; readonly at: number | null } {
    const { now, random } = this.#deps
    if (made.state !== 'later') return isOvertaken ? { state: 'waiting', at: now() } : { state: made.state, at: null }
    const at = retryAt({ now: now(), attempts, random: random() })
    // The peer may be down for days, and knows only the former address. So the attempts become rare, and never end.
    return at === null ? { state: 'failed', at: now() + rareAttemptMs(random()) } : { state: 'waiting', at }
  }

  async #one(arrival: Arrival, actor: Actor, peer: ArrivalPeer): Promise<Attempt> {
    const { store, client } = this.#deps
    const trust = await store.read((q) => findTrust(q, peer.actorId, peer.peerId))
    if (trust === null) return { state: 'failed', reason: 'The relationship has ended' }
    // The peer may have either secret, and a statement would bring one of them back.
    if (isRenewal(trust)) return { state: 'later', reason: 'Another request to the peer is under way' }
    const meta = await client.call({ method: 'GET', url: `${trust.baseuri}/meta` })
    if (meta.kind !== 'answered') return { state: 'later', reason: meta.reason }
    if (meta.status === 308) return this.#follow(arrival, actor, peer, trust)
    if (isUnknownByCode(meta)) return this.#endedBy(actor, peer)
    if (meta.status !== 200) return { state: 'later', reason: `The peer answered ${meta.status}` }
    return hasTag(meta.body) ? this.#inform(arrival, actor, peer, trust) : this.#askAgain(actor, peer, trust)
  }

  /** The peer has moved, too. Its own statement must still find the address that is known here. */
  async #follow(arrival: Arrival, actor: Actor, peer: ArrivalPeer, trust: Trust): Promise<Attempt> {
    const from = { address: trust.baseuri, actorId: trust.peerId, publicKey: trust.facts.move_key ?? null }
    const followed = await followMoves(this.#deps, from, null)
    if (followed.kind === 'deleted') return this.#endedBy(actor, peer)
    if (followed.kind !== 'followed') return { state: 'later', reason: followed.reason }
    return this.#inform(arrival, actor, peer, { ...trust, baseuri: followed.to })
  }

  async #inform(arrival: Arrival, actor: Actor, peer: ArrivalPeer, trust: Trust): Promise<Attempt> {
    const { client, keyRing, baseUrl, now } = this.#deps
    const { actorId } = peer
    if (arrival.hereAt === null) throw new Error('Only an actor that is here tells its peers')
    const [lastLeft] = JSON.parse(arrival.origins) as string[]
    if (lastLeft === `${baseUrl}/${actorId}`) return { state: 'later', reason: 'This process has a former BASE_URL' }
    const key = open(keyRing, arrival.privateKey, bindingOf(arrivalKey, actorId, arrival.originUrl))
    const stated = this.#currentSecret(peer, trust)
    const statement = await signStatement(key, {
      from: `${baseUrl}/${actorId}`,
      actorId,
      peer: trust.baseuri,
      secret: stated,
      isApproved: trust.approved,
      movedAt: arrival.hereAt,
      // The clock of the old service may have been ahead.
      statedAt: Math.max(now(), arrival.hereAt),
    })
    const url = `${trust.baseuri}/callbacks/moved/${encodeURIComponent(actorId)}`
    const outcome = await client.call({ method: 'POST', url, body: JSON.stringify({ statement }) })
    if (isAccepted(outcome)) return { state: 'informed', reason: '', stated }
    if (isUnknownByCode(outcome)) return this.#endedBy(actor, peer)
    return { state: 'later', reason: reasonIn(outcome) }
  }

  /** The peer ended the relationship, or was deleted, and its message went to the old service. */
  async #endedBy(actor: Actor, { peerId }: ArrivalPeer): Promise<Attempt> {
    await this.#deps.trusts.delete(actor, peerId, null, { byPeer: true, notify: false })
    return { state: 'failed', reason: 'The peer has ended the relationship' }
  }

  /** Stores the secret that the peer has now. */
  async #useNewSecret(tx: Transaction, peer: ArrivalPeer): Promise<void> {
    const { keyRing, now, onReached } = this.#deps
    const { actorId, peerId } = peer
    const trust = await findTrust(tx, actorId, peerId)
    const secret = this.#newSecret(peer)
    // The peer may have renewed the relationship since.
    if (trust === null || trust.secretHash !== hashSecret(secret)) return
    await updateTrust(tx, { ...trust, ...sealedSecret(keyRing, trust, secret) }, now())
    await onReached(tx, actorId, peerId)
  }

  /**
   * Asks again, from the new address and with a new secret. The peer keeps its copy, its subscriptions and their numbers, and its
   * owner approves again. Nothing is ended: a Python peer would delete all of it.
   */
  async #askAgain(actor: Actor, peer: ArrivalPeer, trust: Trust): Promise<Attempt> {
    const before = this.#newSecret(peer)
    if (before === '') {
      const known = await this.#deps.store.read(findKnownAddress)
      if (known?.asksAgain !== true) return { state: 'kept', reason: '' }
      await this.#markAsked(peer, trust)
    }
    // An earlier attempt whose answer was lost, or a request of the peer.
    else if (trust.secretHash !== hashSecret(before)) return { state: 'asked', reason: '' }
    // Asking would approve the request of the peer, which is the decision of the owner.
    if (!trust.approved) return { state: 'failed', reason: 'The peer must send its request again, to the new address' }
    const { baseuri, relationship, description } = trust
    try {
      await this.#deps.trusts.request(actor, { url: baseuri, relationship, description })
      return { state: 'asked', reason: '' }
    } catch (error) {
      return { state: 'later', reason: reasonOf(error) }
    }
  }

  /** Stores the secret before the request, so that a later attempt notices that the request has replaced it. */
  async #markAsked({ actorId, peerId }: ArrivalPeer, trust: Trust): Promise<void> {
    const { store, keyRing } = this.#deps
    const peer = { actorId, peerId }
    await store.writeActor(actorId, (tx) => setOfferedSecret(tx, peer, this.#sealed(peer, secretOf(keyRing, trust))))
  }

  /** The secret that the actor accepts from the peer: the new one of the move, unless a trust request has replaced it since. */
  #currentSecret(peer: ArrivalPeer, trust: Trust): string {
    const offered = this.#newSecret(peer)
    return trust.secretHash === hashSecret(offered) ? offered : secretOf(this.#deps.keyRing, trust)
  }

  #newSecret(peer: Pick<ArrivalPeer, 'actorId' | 'peerId' | 'secret'>): string {
    return open(this.#deps.keyRing, peer.secret, bindingOf(arrivalPeerSecret, peer.actorId, peer.peerId))
  }

  #sealed({ actorId, peerId }: Pick<ArrivalPeer, 'actorId' | 'peerId'>, secret: string): ArrivalPeer['secret'] {
    return seal(this.#deps.keyRing, secret, bindingOf(arrivalPeerSecret, actorId, peerId))
  }
}

/** An answer that ends a relationship needs the error code: gateways answer 404 without a body, or with JSON of their own. */
function isUnknownByCode(outcome: PeerOutcome): boolean {
  const code = isUnknownTo(outcome) ? answerText(outcome, 'error') : null
  return code === 'not_found' || code === 'actor_not_found'
}

function hasTag(meta: string): boolean {
  const tags = stringValue(membersIn(meta)?.get('aw_supported') ?? known('""')) ?? ''
  return tags.split(',').some((tag) => tag.trim() === movingTag)
}

function reasonIn(outcome: PeerOutcome): string {
  if (outcome.kind !== 'answered') return outcome.reason
  const message = answerText(outcome, 'message')
  return message === null ? `The peer answered ${outcome.status}` : `The peer answered: ${message}`
}

/** Whether the outcome of a later attempt is stored already. */
function isOld({ attempts, state }: ArrivalPeer, current: ArrivalPeer): boolean {
  return current.state !== state || current.attempts !== attempts
}

function rareAttemptMs(random: number): number {
  return Math.round(rareMs * (0.5 + random / 2))
}
