/**
 * Invitations: links by which the owner of an actor approves a relationship in advance (docs/decisions/079). The first
 * request that carries the code of a link, and whose sender is verified, is approved immediately.
 */
import { quoted, ServiceError } from '../../errors.ts'
import type { TrustType, TrustTypes } from '../../permission/trust-types.ts'
import { hashSecret } from '../../secret/hash.ts'
import { randomId } from '../../secret/random.ts'
import type { Queries, Store } from '../../store/store.ts'
import { longestNickname, nicknameIn } from '../../trust/trust-change.ts'
import {
  deleteEndedInvitations,
  deleteInvitation,
  findInvitation,
  findInvitations,
  insertInvitation,
  type Invitation,
} from './invitation-store.ts'
import { isCode, linkOf, newCode } from '../../trust/handshake/invitation-link.ts'

export interface InvitationsDeps {
  readonly store: Store
  /** Unix milliseconds. */
  readonly now: () => number
  readonly baseUrl: string
  readonly defaultRelationship: string
  readonly types: TrustTypes
  /** The types that people may give each other. */
  readonly offered: () => readonly TrustType[]
}

export interface InvitationWish {
  /** Name of the trust type. Default: the configured one. */
  readonly relationship?: string | undefined
  /** Nickname that the connection will have. Default: none. */
  readonly nickname?: string | undefined
  /** Unix milliseconds. Default: in seven days. */
  readonly endsAt?: number | undefined
}

/** An invitation to a group, whose trust type and role the group has checked. */
export interface MemberWish extends Omit<InvitationWish, 'relationship'> {
  readonly relationship: string
  readonly role: string
}

export interface CreatedInvitation {
  readonly invitation: Invitation
  /** The link, which is returned only here, because the service stores a hash of the code. */
  readonly url: string
}

const dayMs = 86_400_000
const defaultDays = 7
export const longestDays = 90
export const maxInvitations = 100

export class Invitations {
  readonly #deps: InvitationsDeps

  constructor(deps: InvitationsDeps) {
    this.#deps = deps
  }

  /**
   * Creates an invitation that one person can use.
   *
   * @throws ServiceError `bad_request` for a trust type that people cannot give each other, a nickname that is too long, or
   *   an end that is past or more than 90 days away; `conflict` when the actor has 100 open invitations.
   */
  async create(actorId: string, wish: InvitationWish): Promise<CreatedInvitation> {
    return this.#create(actorId, { ...wish, relationship: this.#relationshipOf(wish.relationship ?? ''), role: null })
  }

  /** Like `create`, for a member of a group. @throws ServiceError as `create` */
  createForMember(actorId: string, wish: MemberWish): Promise<CreatedInvitation> {
    return this.#create(actorId, wish)
  }

  async #create(
    actorId: string,
    { relationship, role, ...wish }: Omit<MemberWish, 'role'> & { readonly role: string | null },
  ): Promise<CreatedInvitation> {
    const { store, baseUrl } = this.#deps
    const now = this.#deps.now()
    const code = newCode()
    const invitation = {
      actorId,
      invitationId: randomId(),
      codeHash: hashSecret(code),
      relationship,
      nickname: nicknameOf(wish.nickname ?? ''),
      role,
      createdAt: now,
      endsAt: endOf(wish.endsAt, now),
    }
    await store.writeActor(actorId, async (tx) => {
      await deleteEndedInvitations(tx, actorId, now)
      if ((await findInvitations(tx, actorId, now)).length >= maxInvitations)
        throw new ServiceError('conflict', `Cannot invite: ${maxInvitations} invitations are open. Revoke one first`)
      await insertInvitation(tx, invitation)
    })
    return { invitation, url: linkOf({ baseuri: `${baseUrl}/${actorId}`, code }) }
  }

  /** Returns the open invitations, newest first. */
  list(actorId: string): Promise<Invitation[]> {
    const { store, now } = this.#deps
    return store.read((q) => findInvitations(q, actorId, now()))
  }

  /** Revokes an invitation. Returns whether it existed. */
  async revoke(actorId: string, invitationId: string): Promise<boolean> {
    return this.#deps.store.writeActor(actorId, (tx) => deleteInvitation(tx, { actorId, invitationId }))
  }

  /** Returns the open invitation with this code. */
  find(actorId: string, code: string): Promise<Invitation | null> {
    const { store, now } = this.#deps
    return store.read((q) => findByCode(q, { actorId, code, now: now() }))
  }

  #relationshipOf(name: string): string {
    const { types, offered, defaultRelationship } = this.#deps
    const wanted = name === '' ? defaultRelationship : name
    if (types.find(wanted) === undefined) throw refused(`the trust type ${quoted(wanted)} does not exist`)
    if (types.needsConfirmation(wanted))
      throw refused(`the trust type ${quoted(wanted)} can only be given to an existing connection`)
    if (!offered().some((type) => type.name === wanted))
      throw refused(`the trust type ${quoted(wanted)} is for programs`)
    return wanted
  }
}

/** Returns the open invitation with this code. Null also for a string that is not a code. */
export async function findByCode(
  q: Queries,
  { actorId, code, now }: { readonly actorId: string; readonly code: string; readonly now: number },
): Promise<Invitation | null> {
  return isCode(code) ? findInvitation(q, { actorId, codeHash: hashSecret(code), now }) : null
}

function nicknameOf(text: string): string {
  const nickname = nicknameIn(text)
  if (nickname === null) throw refused(`a nickname has at most ${longestNickname} characters`)
  return nickname
}

function endOf(wanted: number | undefined, now: number): number {
  const end = wanted ?? now + defaultDays * dayMs
  // Also false for an invalid time.
  if (!(end > now)) throw refused('ends_at must be in the future')
  if (end > now + longestDays * dayMs) throw refused(`an invitation ends within ${longestDays} days`)
  return end
}

function refused(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot invite: ${why}`)
}
