/** Relationships of an actor: requesting, receiving, approving, changing and ending them. */
import { setImmediate } from 'node:timers/promises'
import { quoted, ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import { currentContext } from '../observe/context.ts'
import { isSecretInDoubt } from '../outbox/notice-store.ts'
import type { PeerOutcome } from '../peer/peer-client.ts'
import type { LockedActor, Queries, Transaction } from '../store/store.ts'
import { copiedAddress } from './baseuri.ts'
import { endTrust } from './end-trust.ts'
import { fireDeleted, fireIfCompleted } from './events.ts'
import { parseIncomingRequest } from './handshake/incoming-request.ts'
import { initiate, type TrustWish } from './handshake/initiate.ts'
import type { OfferedRelationship } from './handshake/peer-calls.ts'
import { approvalNotice, deletionNotices, receivesNotices } from './trust-notifications.ts'
import { type Offer, settle } from './handshake/renewal.ts'
import { type Received, receiveRequest } from './handshake/receive.ts'
import type { TrustChange } from './trust-change.ts'
import type { TrustRecord } from '../app/trust-record.ts'
import { secretOf, tokensOf, type TrustSecrets, trustRecord } from './record.ts'
import { type InvitationLink, linkOf, parseLink } from './handshake/invitation-link.ts'
import { parseRelationship } from './relationship-name.ts'
import { countPending, findTrust, findTrustPage, type TrustFilter, trustsOfPage, updateTrust } from './trust-store.ts'
import { isApprovedAt, isNamed, isRequest, type Trust } from './trust.ts'
import type { Self, TrustDeps } from './trust-deps.ts'

export interface RelationshipRequest {
  /** Root address of the peer, or the link of an invitation. */
  readonly url: string
  /** Name of the trust type. Default, also when empty: that of the invitation, or the configured one. */
  readonly relationship?: string | undefined
  readonly description?: string | undefined
  readonly type?: string | undefined
  /** See `TrustWish`. */
  readonly judge?: TrustWish['judge'] | undefined
}

/** Throws to prevent a change. Runs in the transaction, and gets the relationship that is stored at that moment. */
export type TrustJudge = (before: Trust, tx: Transaction, actor: LockedActor) => Promise<void>

/** Who sees the record of a relationship. */
export type Audience = 'owner' | 'old session' | 'peer' | 'others'

export class Trusts {
  readonly #deps: TrustDeps

  constructor(deps: TrustDeps) {
    this.#deps = deps
  }

  /** Returns the relationships that match the filter, ordered by peer. `pages` needs less memory. */
  async list(actorId: string, filter: TrustFilter = {}): Promise<Trust[]> {
    return (await Array.fromAsync(this.pages(actorId, filter))).flat()
  }

  /** Like `list`, in pages. Each page is read on its own, so a change in between shows in later pages only. */
  async *pages(actorId: string, filter: TrustFilter = {}): AsyncGenerator<readonly Trust[], undefined> {
    for (let after = ''; ; ) {
      const page = await this.#deps.store.read((q) => findTrustPage(q, actorId, filter, after))
      yield page
      const last = page.at(-1)
      if (last === undefined || page.length < trustsOfPage) return
      after = last.peerId
      await setImmediate()
    }
  }

  /** The number of requests of peers that wait for the owner's approval. */
  countPending(actorId: string): Promise<number> {
    return this.#deps.store.read((q) => countPending(q, actorId))
  }

  find(actorId: string, peerId: string): Promise<Trust | null> {
    return this.#deps.store.read((q) => findTrust(q, actorId, peerId))
  }

  /**
   * The record for a viewer: the owner sees secret, token and nickname, the peer sees its token, an old session of the owner
   * sees the nickname, and others see neither.
   */
  shown(trust: Trust, to: Audience): TrustRecord & Partial<TrustSecrets> {
    const { keyRing } = this.#deps
    const isOwner = to === 'owner' || to === 'old session'
    return {
      ...trustRecord(trust),
      ...(to === 'owner' ? { secret: secretOf(keyRing, trust) } : {}),
      ...(isOwner && trust.nickname !== '' ? { nickname: trust.nickname } : {}),
      ...(to === 'owner' || to === 'peer' ? tokensOf(keyRing, trust) : {}),
    }
  }

  /** @throws ServiceError `not_found` when the actor has no such relationship. Null: any trust type. */
  async require(actorId: string, peerId: string, relationship: string | null): Promise<Trust> {
    return this.#deps.store.read((q) => required(q, actorId, peerId, relationship))
  }

  /** @throws ServiceError `bad_request`, `peer_failed`, `conflict` */
  async request(actor: Self, wish: RelationshipRequest): Promise<Trust> {
    const { url, relationship = '', description = '', type, judge } = wish
    const link = parseLink(url)
    const baseuri = link?.baseuri ?? copiedAddress(url)
    if (baseuri === null) throw refused('ask for this relationship', 'url is not the address of an actor')
    const byDefault =
      link === null || relationship !== '' ? this.#deps.defaultRelationship : await this.#invitedTo(link)
    const name = parseRelationship(relationship === '' ? byDefault : relationship)
    if (name === null) throw refused('ask for this relationship', 'the relationship cannot have this name')
    return initiate(this.#deps, actor, {
      baseuri,
      relationship: name,
      description,
      invitation: link?.code,
      type,
      judge,
    })
  }

  async #invitedTo(link: InvitationLink): Promise<string> {
    const offered = await this.invitedTo(link)
    if (offered === null)
      throw refused('ask for this relationship', 'the invitation was used, has ended or cannot be reached')
    // No invitation has such a type. The service behind the link would choose its own access to this actor.
    if (this.#deps.needsConfirmation(offered.relationship))
      throw refused(
        'ask for this relationship',
        `the invitation names the trust type ${quoted(offered.relationship)}, which only the owner can choose`,
      )
    return offered.relationship
  }

  /** Reads the invitation with this link. Null: it was used, has ended or cannot be reached. */
  invitedTo(link: InvitationLink): Promise<OfferedRelationship | null> {
    return this.#deps.calls.invitedTo(linkOf(link))
  }

  /** Finds out whether a peer has the offered secret. Null: the outcome is known. */
  settleRenewal(actor: Self, offer: Offer): Promise<PeerOutcome | null> {
    return settle(this.#deps, actor, offer)
  }

  /** @throws ServiceError `bad_request`, `forbidden` */
  async receive(actor: Self, relationship: string, body: JsonText): Promise<Received> {
    return receiveRequest(this.#deps, actor, parseIncomingRequest(relationship, body))
  }

  /**
   * Stores a change of the owner, and notifies the peer of an approval. Resolves after the first attempt or after a
   * second; further attempts follow in the background. Approving again notifies the peer again.
   *
   * The peer is not notified of a withdrawn approval, because the protocol has no message for that: peers read
   * `approved` true and ignore everything else. The peer notices with its next request, and in its own record here.
   *
   * @throws ServiceError `not_found`
   */
  async change(
    actor: Self,
    peerId: string,
    relationship: string | null,
    change: TrustChange,
    judge?: TrustJudge,
  ): Promise<Trust> {
    const { store, live, enqueueAwaited, onRenewed, onApproved, onApprovalEnded, scheduleExpiry } = this.#deps
    const { before, after, attempts } = await store.writeActor(actor.id, async (tx, locked) => {
      const before = await required(tx, actor.id, peerId, relationship)
      if (this.#deps.isOfMembers(before.relationship, locked)) requireUnpaused(change)
      await judge?.(before, tx, locked)
      const after = changed(before, change)
      await updateTrust(tx, after, this.#deps.now())
      if (change.approvedUntil !== undefined) await scheduleExpiry(tx, after, change.approvedUntil)
      await live.record(tx, locked, 'trust', [peerId])
      const wasApproved = isApprovedAt(before, this.#deps.now())
      const isApproval = after.approved && !wasApproved
      if (wasApproved && !after.approved) await onApprovalEnded(tx, locked, before)
      if (isApproval) await onRenewed(tx, actor.id, peerId)
      const attempts = await enqueueAwaited(
        tx,
        change.approved === true && receivesNotices(after) ? [approvalNotice(after)] : [],
      )
      if (isApproval) await onApproved(tx, locked, after)
      return { before, after, attempts }
    })
    if (change.approved === true && isRequest(before)) this.#decided(after, 'approved')
    // The notice comes first, so that event handlers find a peer that knows of the approval.
    await attempts()
    await fireIfCompleted(this.#deps, actor, before, after)
    return after
  }

  /** The application may also decide, in the name of the owner. Only the owner's own decision is recorded as one. */
  #decided(trust: Trust, decided: 'approved' | 'denied'): void {
    const context = currentContext()
    if (context?.caller?.kind !== 'creator') return
    context.isDecision = true
    this.#deps.onDecided(trust, decided)
  }

  /** Stores that the peer's owner approved. @throws ServiceError `not_found` */
  async approvedByPeer(actor: Self, peerId: string, relationship: string): Promise<void> {
    const { before, after } = await this.#deps.store.writeActor(actor.id, async (tx, locked) => {
      const before = await required(tx, actor.id, peerId, relationship)
      const after = { ...before, peerApproved: true }
      if (!before.peerApproved) {
        await updateTrust(tx, after, this.#deps.now())
        await this.#deps.live.record(tx, locked, 'trust', [peerId])
        await this.#deps.onRenewed(tx, actor.id, peerId)
      }
      return { before, after }
    })
    await fireIfCompleted(this.#deps, actor, before, after)
  }

  /**
   * Deletes the relationship here at once, with everything that depends on it, and then notifies the peer. Resolves
   * after the first attempt or after a second; further attempts follow in the background. False: there was none,
   * because the peer may have ended it first.
   */
  async delete(
    actor: Self,
    peerId: string,
    relationship: string | null,
    { byPeer, notify, judge }: { readonly byPeer: boolean; readonly notify: boolean; readonly judge?: TrustJudge },
  ): Promise<boolean> {
    const { store, enqueueAwaited, keyRing } = this.#deps
    const ended = await store.writeActor(actor.id, async (tx, locked) => {
      const found = await findNamed(tx, actor.id, peerId, relationship)
      if (found === null) return null
      await judge?.(found, tx, locked)
      const isNotified = notify && receivesNotices(found) && found.baseuri !== `${this.#deps.baseUrl}/${actor.id}`
      const notices = isNotified ? await deletionNotices(tx, keyRing, [found]) : []
      await endTrust(this.#deps, tx, locked, found)
      return { trust: found, attempts: await enqueueAwaited(tx, notices) }
    })
    if (ended === null) return false
    if (!byPeer && isRequest(ended.trust)) this.#decided(ended.trust, 'denied')
    await Promise.all([fireDeleted(this.#deps, actor, ended.trust, byPeer), ended.attempts()])
    return true
  }

  /**
   * Deletes a relationship that the peer no longer has. Does nothing when the relationship was renewed since the peer
   * was asked, or the peer may have another secret.
   */
  async endedByPeer(actor: Self, { peerId, secretHash }: Pick<Trust, 'peerId' | 'secretHash'>): Promise<void> {
    const ended = await this.#deps.store.writeActor(actor.id, async (tx, locked) => {
      const found = await findTrust(tx, actor.id, peerId)
      if (found?.secretHash !== secretHash || (await isSecretInDoubt(tx, found, found.secret))) return null
      await endTrust(this.#deps, tx, locked, found)
      return found
    })
    if (ended !== null) await fireDeleted(this.#deps, actor, ended, true)
  }
}

async function required(q: Queries, actorId: string, peerId: string, relationship: string | null): Promise<Trust> {
  const trust = await findNamed(q, actorId, peerId, relationship)
  if (trust === null) {
    throw new ServiceError('not_found', `This relationship with peer ${quoted(peerId)} does not exist`)
  }
  return trust
}

async function findNamed(
  q: Queries,
  actorId: string,
  peerId: string,
  relationship: string | null,
): Promise<Trust | null> {
  const trust = await findTrust(q, actorId, peerId)
  return trust === null || relationship === null || isNamed(trust, relationship) ? trust : null
}

function refused(what: string, why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot ${what}: ${why}`)
}

/** @throws ServiceError `conflict` */
function requireUnpaused({ approved, approvedUntil }: TrustChange): void {
  if (approved === false || approvedUntil !== undefined)
    throw new ServiceError('conflict', 'Cannot pause a member of a group: remove the member instead', {
      refusal: 'role_decides',
    })
}

function changed(before: Trust, change: TrustChange): Trust {
  return {
    ...before,
    approved: change.approved ?? before.approved,
    approvedUntil: change.approved === undefined ? before.approvedUntil : (change.approvedUntil ?? null),
    baseuri: change.baseuri ?? before.baseuri,
    description: change.description ?? before.description,
    nickname: change.nickname ?? before.nickname,
  }
}
