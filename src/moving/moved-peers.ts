/** Statements of peers that moved to another service: the part of the peer (docs/spec/moving.md). */
import type { Actor } from '../actor/actor.ts'
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import { deleteNotices } from '../outbox/notice-store.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { arrivalPeerSecret, bindingOf } from '../secret/sealed-columns.ts'
import { open, seal } from '../secret/sealed.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import { parseBaseuri } from '../trust/baseuri.ts'
import { sealedSecret } from '../trust/new-trust.ts'
import { secretOf } from '../trust/record.ts'
import type { Trust } from '../trust/trust.ts'
import { accessChangedAt, findTrust, updateTrust } from '../trust/trust-store.ts'
import {
  type Arrival,
  type ArrivalPeer,
  findArrival,
  findArrivalPeer,
  retryPeer,
  setOfferedSecret,
} from './arrival-store.ts'
import { claimedAddress, isSameKey, type MoveStatement, verifyStatement } from './proof.ts'
import { followMoves, readMove } from './published-move.ts'

export interface MovedPeersDeps {
  readonly store: CatchUpStore
  readonly client: PeerClient
  readonly keyRing: KeyRing
  readonly baseUrl: string
  readonly config: Pick<Config, 'formerBaseUrls'>
  readonly now: () => number
  readonly live: Pick<Live, 'record'>
  readonly onReached: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  /** Continues the move of the actor itself. */
  readonly wake: (actorId: string) => void
  /** Reads the metadata of the peer again, in the background. */
  readonly refreshLater: (key: { readonly actorId: string; readonly peerId: string }) => void
}

/** A statement that the home of the peer has signed. */
interface ProvenStatement extends MoveStatement {
  /** The key of this home. */
  readonly publicKey: string
}

export class MovedPeers {
  readonly #deps: MovedPeersDeps

  constructor(deps: MovedPeersDeps) {
    this.#deps = deps
  }

  /**
   * Stores the new address and the new secret of a peer. A repeated statement changes nothing.
   *
   * @throws ServiceError `forbidden` for a statement that the new or the known address of the peer does not confirm, `not_found`
   *   without a relationship, `unavailable` when an address cannot be read now. Without a statement that the new address
   *   confirms, the answer does not depend on the relationship.
   */
  async take(actor: Actor, peerId: string, text: string): Promise<void> {
    const { store, live, onReached, wake, refreshLater } = this.#deps
    const found = await store.read((q) => findTrust(q, actor.id, peerId))
    const changedAt = await store.read((q) => accessChangedAt(q, { actorId: actor.id, peerId }))
    const before = found?.baseuri === '' ? null : found
    const to = parseBaseuri((await claimedAddress(text)) ?? '')
    if (to === null || !to.endsWith(`/${peerId}`)) throw refused('it names no address of the peer')
    // Only the holder of the secret may learn that it is the current one.
    if (before?.baseuri === to && before.secretHash === hashSecret(await unverifiedSecret(text))) return
    const claimed = await this.#claimed(actor, peerId, { to, text })
    if (before === null) throw noRelationship()
    const statement = await this.#verified(before, changedAt, claimed)
    if (statement === null) return
    await store.writeActor(actor.id, async (tx, locked) => {
      const current = await findTrust(tx, actor.id, peerId)
      if (current === null) throw noRelationship()
      // The addresses were read outside of the transaction, for as long as they took to answer.
      if (versionOf(current) !== versionOf(before))
        throw new ServiceError('unavailable', 'Cannot take this statement: the relationship changed meanwhile', {
          retryAfterSeconds: 1,
        })
      await this.#store(tx, actor, current, statement)
      await moveCompanion(tx, current, statement.from)
      // An offer of a secret was for the old service.
      await deleteNotices(tx, { actorId: actor.id, peerId }, 'renewal')
      await onReached(tx, actor.id, peerId)
      await live.record(tx, locked, 'trust', [peerId])
    })
    wake(actor.id)
    refreshLater({ actorId: actor.id, peerId })
  }

  async #store(tx: Transaction, actor: Actor, current: Trust, statement: ProvenStatement): Promise<void> {
    const { keyRing, now } = this.#deps
    const { from, secret, isApproved, movedAt, statedAt } = statement
    const takenAt = now()
    const offered = await offeredTo(tx, current)
    const own = offered === null || !offersSecret(keyRing, offered, current) ? null : await findArrival(tx, actor.id)
    // Both moved: the secret of the later move wins on both sides, because no old service can know it. A statement that only brings
    // an address states the secret that an old service of this actor knows.
    const bringsSecret = secret !== secretOf(keyRing, current)
    const keepsOwn = own !== null && (!bringsSecret || isLater(own, { hereAt: movedAt, actorId: current.peerId }))
    if (offered !== null) {
      if (own !== null && !keepsOwn) await offer(tx, keyRing, current, secret)
      // The peer can be reached now, perhaps only at the address of this statement.
      await retryPeer(tx, current, takenAt)
    }
    const theirs = sealedSecret(keyRing, current, secret)
    const moved = {
      ...current,
      // Until the peer takes the statement of this actor, its new home accepts only the secret that it states.
      ...(keepsOwn ? { secret: theirs.secret } : theirs),
      baseuri: from,
      peerApproved: current.peerApproved || isApproved,
      ownRequest: null,
      facts: {
        ...current.facts,
        move_key: statement.publicKey,
        moved_at: new Date(movedAt).toISOString(),
        move_stated_at: new Date(statedAt).toISOString(),
        move_taken_at: new Date(takenAt).toISOString(),
      },
    }
    await updateTrust(tx, moved, takenAt)
  }

  /** The statement that the home at the address makes. Whether this home is the one of a related peer is still open. */
  async #claimed(
    actor: Actor,
    peerId: string,
    { to, text }: { readonly to: string; readonly text: string },
  ): Promise<ProvenStatement> {
    const { client, baseUrl, config, now } = this.#deps
    const reading = await readMove(client, to)
    if (reading.kind === 'failed') throw unreadable(reading.reason)
    if (reading.kind === 'none') throw refused('the address knows no move')
    const { publicKey } = reading.home
    // The peer may know this actor by a former address.
    const peers = [baseUrl, ...config.formerBaseUrls].map((base) => `${base}/${actor.id}`)
    const expected = { from: to, peers, now: now() }
    const statement = await verifyStatement(text, publicKey, expected).catch((error: unknown) => {
      throw refused(error instanceof Error ? error.message : String(error))
    })
    if (statement.actorId !== peerId) throw refused('it is about another actor')
    if (!usableSecret.test(statement.secret)) throw refused('its secret cannot be used')
    return { ...statement, publicKey }
  }

  /** Null: the statement, or a later one, was taken before. */
  async #verified(trust: Trust, changedAt: number, statement: ProvenStatement): Promise<ProvenStatement | null> {
    const { from: to } = statement
    const publicKey = await this.#keyFor(trust, to)
    if (!isSameKey(publicKey, statement.publicKey)) throw refused('the address has another key than the notice names')
    // A copy of an earlier statement must not bring its secret, or an address that the peer has left, back.
    if (!isNewer(statement, trust)) {
      if (to === trust.baseuri) return null
      throw refused('it is not newer than the last one')
    }
    // The two have agreed on another secret since. The peer repeats the statement with the secret that it has now.
    const isOfStatement = changedAt === timeOf(trust.facts.move_taken_at)
    if (statement.statedAt < Math.max(trust.createdAt, isOfStatement ? 0 : changedAt))
      throw refused('the relationship is newer than the statement')
    return statement
  }

  /**
   * The key of the peer at an address that the known address and the new one confirm. A peer may also have come back to the
   * known address.
   */
  async #keyFor({ peerId, baseuri, facts }: Trust, to: string): Promise<string> {
    const { client } = this.#deps
    const knownKey = facts.move_key ?? null
    if (to === baseuri) {
      const reading = await readMove(client, baseuri)
      if (reading.kind === 'failed') throw unreadable(reading.reason)
      // A home that has only asked another service, or still moves, has not left.
      const hasLeft = reading.kind === 'read' && (reading.home.leaving?.notice ?? null) !== null
      if (reading.kind === 'none' || reading.home.cameFrom.length === 0 || hasLeft)
        throw refused('the peer has not come to this address')
      if (knownKey !== null && !isSameKey(knownKey, reading.home.publicKey))
        throw refused('the address has another key than the one that is known')
      return reading.home.publicKey
    }
    const followed = await followMoves(this.#deps, { address: baseuri, actorId: peerId, publicKey: knownKey }, to)
    if (followed.kind === 'failed') throw unreadable(followed.reason)
    if (followed.kind === 'deleted') throw refused('the peer was deleted')
    if (followed.kind === 'unproven') throw refused(followed.reason)
    return followed.publicKey
  }
}

const usableSecret = /^[!-~]{16,500}$/

/** Changes with all that a statement changes, and with the secret. */
function versionOf({ baseuri, createdAt, secretHash, facts }: Trust): string {
  return JSON.stringify([baseuri, createdAt, secretHash, facts.move_key, facts.moved_at, facts.move_stated_at])
}

/** The secret that this actor has offered since its own move, and that the peer may not have yet. Null: none. */
async function offeredTo(tx: Transaction, { actorId, peerId }: Trust): Promise<ArrivalPeer | null> {
  const found = await findArrivalPeer(tx, actorId, peerId)
  return found?.state === 'waiting' || found?.state === 'failed' ? found : null
}

/** Whether a peer is offered a new secret. A changed address of the service brings none. */
function offersSecret(ring: KeyRing, { actorId, peerId, secret }: ArrivalPeer, trust: Trust): boolean {
  const offered = open(ring, secret, bindingOf(arrivalPeerSecret, actorId, peerId))
  return offered !== '' && offered !== secretOf(ring, trust)
}

function isLater(
  own: Pick<Arrival, 'hereAt' | 'actorId'>,
  other: { readonly hereAt: number; readonly actorId: string },
): boolean {
  const at = own.hereAt ?? 0
  return at > other.hereAt || (at === other.hereAt && own.actorId < other.actorId)
}

/** Whether the peer made the statement after the last one that was taken. */
function isNewer({ movedAt, statedAt }: MoveStatement, { facts }: Trust): boolean {
  const lastMoved = timeOf(facts.moved_at)
  return movedAt > lastMoved || (movedAt === lastMoved && statedAt > timeOf(facts.move_stated_at))
}

function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text)
}

async function offer(tx: Transaction, ring: KeyRing, { actorId, peerId }: Trust, secret: string): Promise<void> {
  await setOfferedSecret(tx, { actorId, peerId }, seal(ring, secret, bindingOf(arrivalPeerSecret, actorId, peerId)))
}

async function unverifiedSecret(text: string): Promise<string> {
  const { decodeJwt } = await import('jose')
  const { secret } = decodeJwt(text)
  return typeof secret === 'string' ? secret : ''
}

/** The peer may be an actor that this actor created. */
async function moveCompanion(tx: Transaction, { actorId, peerId, baseuri }: Trust, to: string): Promise<void> {
  await tx.run(
    'UPDATE companion SET baseuri = $4 WHERE actor_id = $1 AND peer_id = $2 AND baseuri = $3',
    actorId,
    peerId,
    baseuri,
    to,
  )
}

function refused(reason: string): ServiceError {
  return new ServiceError('forbidden', 'Cannot take this statement: the addresses of the peer do not confirm it', {
    reason,
  })
}

function unreadable(reason: string): ServiceError {
  const text = 'Cannot take this statement now: an address of the peer cannot be read'
  return new ServiceError('unavailable', text, { reason, retryAfterSeconds: 5 })
}

function noRelationship(): ServiceError {
  return new ServiceError('not_found', 'This actor has no relationship with the peer')
}
