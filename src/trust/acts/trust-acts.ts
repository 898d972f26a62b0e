/** Acts of an owner about relationships. API, pages and commands call these acts, which judge, record and refuse alike. */
import { quoted, ServiceError } from '../../errors.ts'
import type { JsonText } from '../../json/json.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import { futureTime } from '../../permission/grants.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { TrustTypes } from '../../permission/trust-types.ts'
import type { Queries } from '../../store/store.ts'
import { idAt } from '../baseuri.ts'
import { findOverride } from '../override-store.ts'
import { type Permissions, readOwnOverride } from '../permissions.ts'
import type { TrustChange } from '../trust-change.ts'
import { requireVersion, trustVersion } from '../trust-version.ts'
import { isApprovedAt, isConnected, type Trust } from '../trust.ts'
import type { RelationshipRequest, TrustJudge, Trusts } from '../trusts.ts'

export interface TrustActsDeps {
  readonly trusts: Pick<Trusts, 'change' | 'delete' | 'request' | 'require'>
  readonly permissions: Pick<Permissions, 'override'>
  readonly types: Pick<TrustTypes, 'needsConfirmation'>
  readonly signInAge: SignInAge
  /** Unix milliseconds. */
  readonly now: () => number
}

/** A relationship of the actor that acts. `relationship` null: any trust type. */
export interface TrustOfPeer {
  readonly peerId: string
  readonly relationship: string | null
}

/** A change of the API, which may set permissions too. */
export interface FullTrustChange extends TrustChange {
  readonly permissions?: JsonText | undefined
}

/** The version that the owner saw. Null: any version. */
export type SeenVersion = string | null

export class TrustActs {
  readonly #deps: TrustActsDeps

  constructor(deps: TrustActsDeps) {
    this.#deps = deps
  }

  /** Requests a relationship. @throws ServiceError like `Trusts.request` */
  async request(by: Acting, wish: RelationshipRequest): Promise<Trust> {
    const { trusts, signInAge } = this.#deps
    signInAge.require(by.caller)
    const trust = await trusts.request(by.actor, wish)
    noteIfOwner(by, 'trust.request')
    return trust
  }

  /** Requests another trust type from a connected peer. @throws ServiceError `conflict` when the connection ended or changed. */
  requestLevel(
    by: Acting,
    { peerId, baseuri, description }: Trust,
    relationship: string,
    seen: SeenVersion,
  ): Promise<Trust> {
    return this.request(by, {
      url: baseuri,
      relationship,
      description,
      // Otherwise, the request would create a new relationship.
      judge: async (before, tx) => {
        if (before === null || before.peerId !== peerId || !isConnected(before))
          throw new ServiceError('conflict', 'This connection ended or changed while you were deciding.', {
            refusal: 'trust_ended',
          })
        await requireSeen(seen, before, tx)
      },
    })
  }

  /**
   * Changes a relationship. Permissions are set before the approval that makes them effective.
   *
   * @throws ServiceError `forbidden` for what only the owner may change, `bad_request`, `not_found`
   */
  async change(by: Acting, { peerId, relationship }: TrustOfPeer, change: FullTrustChange): Promise<void> {
    const { trusts, permissions: rights, signInAge, now } = this.#deps
    const { permissions, approvedUntil, ...rest } = change
    requireOwnChange(by, peerId, rest)
    if (approvedUntil !== undefined && rest.approved !== true)
      throw new ServiceError('bad_request', 'Cannot change this relationship: approved_until needs approved to be true')
    const isWider = rest.approved === true || permissions !== undefined || rest.baseuri !== undefined
    if (isWider) signInAge.require(by.caller)
    const end =
      approvedUntil === undefined
        ? {}
        : { approvedUntil: futureTime('change this relationship', new Date(approvedUntil), now()) }
    if (permissions !== undefined) readOwnOverride(permissions)
    const trust = await trusts.require(by.actor.id, peerId, relationship)
    if (permissions !== undefined) await rights.override(trust, permissions, by.caller)
    await this.#change(by, { peerId, relationship }, { ...rest, ...end }, undefined)
  }

  /**
   * Approves a relationship with its stored trust type, which may be another one than the owner saw.
   *
   * @param confirm Throws when the trust type needs a confirmation that the owner did not give.
   */
  async approve(by: Acting, peerId: string, seen: SeenVersion, confirm: (trust: Trust) => void): Promise<void> {
    const { types, signInAge } = this.#deps
    signInAge.require(by.caller)
    await this.#changeAny(by, peerId, { approved: true }, async (before, tx) => {
      await requireSeen(seen, before, tx)
      if (types.needsConfirmation(before.relationship)) confirm(before)
    })
  }

  /** Withdraws the approval. */
  async withdraw(by: Acting, peerId: string, seen: SeenVersion): Promise<void> {
    await this.#changeAny(by, peerId, { approved: false }, (before, tx) => requireSeen(seen, before, tx))
  }

  /** Moves the end of the approval, in Unix milliseconds. Null: no end. Does not approve again. */
  async moveApprovalEnd(by: Acting, peerId: string, until: number | null, seen: SeenVersion): Promise<void> {
    const { signInAge, now } = this.#deps
    signInAge.require(by.caller)
    const change = { approved: true, ...(until === null ? {} : { approvedUntil: until }) }
    await this.#changeAny(by, peerId, change, async (before, tx) => {
      await requireSeen(seen, before, tx)
      if (!isApprovedAt(before, now()))
        throw new ServiceError('conflict', 'The approval ended while you were deciding. You can approve again.', {
          refusal: 'approval_ended',
        })
    })
  }

  /** Sets the owner's own name for the peer. Empty: none. */
  async rename(by: Acting, peerId: string, nickname: string): Promise<void> {
    await this.#changeAny(by, peerId, { nickname }, undefined)
  }

  /** Pauses a program or an API key, until the owner resumes it. @throws ServiceError `conflict` when `judge` throws one. */
  async setApproval(by: Acting, peerId: string, approved: boolean, judge: TrustJudge): Promise<void> {
    if (approved) this.#deps.signInAge.require(by.caller)
    await this.#changeAny(by, peerId, { approved }, judge)
  }

  /** Ends a relationship. @param notify Whether the peer is notified, if it did not end the relationship itself. */
  async end(
    by: Acting,
    { peerId, relationship }: TrustOfPeer,
    { notify, seen = null }: { readonly notify: boolean; readonly seen?: SeenVersion },
  ): Promise<void> {
    const { trusts } = this.#deps
    const { actor, caller } = by
    const trust = await trusts.require(actor.id, peerId, relationship)
    const byPeer = caller.kind === 'peer' && caller.peerId === peerId
    const judge: TrustJudge = (before, tx) => requireSeen(seen, before, tx)
    await trusts.delete(actor, peerId, relationship, { byPeer, notify: notify && !byPeer, judge })
    noteIfOwner(by, 'trust.end', { relationship: trust.relationship, peer: peerId })
  }

  #changeAny(by: Acting, peerId: string, change: TrustChange, judge: TrustJudge | undefined): Promise<void> {
    return this.#change(by, { peerId, relationship: null }, change, judge)
  }

  async #change(
    by: Acting,
    { peerId, relationship }: TrustOfPeer,
    change: TrustChange,
    judge: TrustJudge | undefined,
  ): Promise<void> {
    const after = await this.#deps.trusts.change(by.actor, peerId, relationship, change, judge)
    noteIfOwner(by, 'trust.change', { relationship: after.relationship, peer: peerId })
  }
}

/** @throws ServiceError */
function requireOwnChange({ caller }: Acting, peerId: string, { baseuri, nickname }: TrustChange): void {
  const isOther = caller.kind === 'peer' || caller.kind === 'client'
  // Requests with the secret go to this URL, and only the owner may see the secret.
  if (baseuri !== undefined && isOther)
    throw new ServiceError('forbidden', 'Cannot change the address of the peer: only the owner may')
  if (baseuri !== undefined && idAt(baseuri) !== peerId) {
    throw new ServiceError(
      'bad_request',
      `Cannot change the address of the peer: it must end with the id of the peer, ${quoted(peerId)}`,
    )
  }
  if (nickname !== undefined && isOther)
    throw new ServiceError('forbidden', 'Cannot change the nickname of the peer: only the owner may')
}

/** @throws ServiceError `conflict` when the relationship or its permissions changed since the owner saw them. */
async function requireSeen(seen: SeenVersion, stored: Trust, q: Queries): Promise<void> {
  if (seen === null) return
  requireVersion(seen, trustVersion(stored, await findOverride(q, stored.actorId, stored.peerId)))
}
