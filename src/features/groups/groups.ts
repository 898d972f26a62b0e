/** Groups: members, whose role decides what they may do (docs/decisions/240). */
import type { Registry } from '../../app/registry.ts'
import { managingRoles, memberType, noRoles, rulesOfRole } from '../../app/kinds/roles.ts'
import { findActorKind } from '../../actor/actor-store.ts'
import { quoted, ServiceError } from '../../errors.ts'
import type { LockedActor, Store, Transaction } from '../../store/store.ts'
import type { AdvanceApproval, Self } from '../../trust/trust-deps.ts'
import type { Permissions } from '../../trust/permissions.ts'
import { findTrust } from '../../trust/trust-store.ts'
import { isRequest, type Trust } from '../../trust/trust.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { CreatedInvitation, Invitations, InvitationWish } from '../invitations/invitations.ts'
import { findMember, findMembers, findRole, hasOther, putMember, type ShownMember } from './member-store.ts'

export interface GroupsDeps {
  readonly store: Store
  readonly registry: Pick<Registry, 'of' | 'all' | 'find'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly trusts: Pick<Trusts, 'change' | 'delete'>
  readonly permissions: Pick<Permissions, 'assign'>
  readonly invitations: Pick<Invitations, 'createForMember'>
}

/** The wish for a role of a member. */
export interface RoleWish {
  readonly role: string
  /** Who gives the role: `application`, or the id of a manager. */
  readonly by: string
}

export class Groups {
  readonly #deps: GroupsDeps

  constructor(deps: GroupsDeps) {
    this.#deps = deps
  }

  /** Returns the members by id. @throws ServiceError `not_found` for a kind without roles. */
  async list(group: Self): Promise<readonly ShownMember[]> {
    this.#rolesOf(group)
    return this.#deps.store.read((q) => findMembers(q, group.id))
  }

  /** Null: the peer is not a member. @throws ServiceError as `list` */
  async find(group: Self, peerId: string): Promise<ShownMember | null> {
    this.#rolesOf(group)
    return this.#deps.store.read((q) => findMember(q, group.id, peerId))
  }

  /** @throws ServiceError `bad_request` for an unknown role, and like `Invitations.create`. */
  async invite(group: Self, role: string, wish: Omit<InvitationWish, 'relationship'>): Promise<CreatedInvitation> {
    this.#requireRole(group, role)
    return this.#deps.invitations.createForMember(group.id, { ...wish, relationship: memberType(group.kind), role })
  }

  /**
   * Gives a member another role, or approves a request for membership with the role.
   *
   * @throws ServiceError `bad_request` for an unknown role, `not_found`, `conflict` when the last manager would lose the role.
   */
  async setRole(group: Self, peerId: string, wish: RoleWish): Promise<void> {
    const { store, trusts } = this.#deps
    this.#requireRole(group, wish.role)
    const trust = await store.read((q) => findTrust(q, group.id, peerId))
    if (trust !== null && isRequest(trust)) {
      const approval = { approved: true }
      const approves = { ...wish, approves: true }
      await trusts.change(group, peerId, null, approval, (_, tx, locked) => this.#set(tx, locked, peerId, approves))
      return
    }
    await store.writeActor(group.id, (tx, locked) => this.#set(tx, locked, peerId, { ...wish, approves: false }))
  }

  /** Ends a membership. Returns whether it existed. @throws ServiceError `conflict` for the last manager. */
  async remove(group: Self, peerId: string): Promise<boolean> {
    this.#rolesOf(group)
    return this.#deps.trusts.delete(group, peerId, memberType(group.kind), { byPeer: false, notify: true })
  }

  /** Gives all members of a group the rules that the application declares for their roles now. */
  async renew(groupId: string): Promise<void> {
    await this.#deps.store.writeActor(groupId, async (tx, locked) => {
      for (const { peerId, role, givenBy: by } of await findMembers(tx, groupId)) {
        const trust = await findTrust(tx, groupId, peerId)
        if (trust !== null) await this.#assign(tx, locked, trust, { role, by, isNotified: trust.approved })
      }
    })
  }

  /** Stores the role of an invited member. A role that is no longer declared grants nothing. */
  readonly invited = async (
    tx: Transaction,
    actor: LockedActor,
    trust: Trust,
    { role }: AdvanceApproval,
  ): Promise<void> => {
    if (role === null) return
    await this.#store(tx, actor, trust, { role, by: 'invitation', isNotified: false })
  }

  /** Refuses the end of the relationship with the last manager. */
  readonly ending = async (tx: Transaction, groupId: string, peerId: string): Promise<void> => {
    if (this.#deps.registry.all.every(({ roles }) => roles.size === 0)) return
    const role = await findRole(tx, groupId, peerId)
    if (role === null) return
    const kind = await findActorKind(tx, groupId)
    await this.#requireOther(tx, { id: groupId, kind }, peerId, role)
  }

  async #set(
    tx: Transaction,
    actor: LockedActor,
    peerId: string,
    { role, by, approves }: RoleWish & { readonly approves: boolean },
  ): Promise<void> {
    const trust = await findTrust(tx, actor.id, peerId)
    const isMember = trust?.relationship === memberType(actor.kind)
    // A request that arrived meanwhile would have a role without an approval.
    if (trust === null || !isMember || (isRequest(trust) && !approves))
      throw new ServiceError('not_found', `Cannot set the role of ${quoted(peerId)}: it is not a member of the group`)
    const before = await findRole(tx, actor.id, peerId)
    if (before === role) return
    if (before !== null && !this.#manages(actor, role)) await this.#requireOther(tx, actor, peerId, before)
    await this.#store(tx, actor, trust, { role, by, isNotified: trust.approved })
  }

  async #store(
    tx: Transaction,
    actor: LockedActor,
    trust: Trust,
    { role, by, isNotified }: RoleWish & { readonly isNotified: boolean },
  ): Promise<void> {
    await putMember(tx, actor.id, { peerId: trust.peerId, role, since: this.#deps.now(), givenBy: by })
    await this.#assign(tx, actor, trust, { role, by, isNotified })
  }

  async #assign(
    tx: Transaction,
    actor: LockedActor,
    trust: Trust,
    { role, by, isNotified }: RoleWish & { readonly isNotified: boolean },
  ): Promise<void> {
    const { permissions, registry } = this.#deps
    const { roles, data } = registry.of(actor)
    const declared = roles.get(role)
    const rules = declared === undefined ? {} : rulesOfRole(declared, data)
    await permissions.assign(tx, actor, trust, { rules, by, isNotified })
  }

  /** @throws ServiceError `conflict` when the member has the only role that manages. */
  async #requireOther(
    tx: Transaction,
    group: { readonly id: string; readonly kind: string },
    peerId: string,
    role: string,
  ): Promise<void> {
    const managing = managingRoles(this.#deps.registry.find(group.kind)?.roles ?? new Map())
    if (!managing.includes(role) || (await hasOther(tx, group.id, peerId, managing))) return
    throw new ServiceError(
      'conflict',
      'Cannot take the role of the last manager: give another member a role that manages first',
      { refusal: 'last_manager' },
    )
  }

  #manages(group: { readonly kind: string }, role: string): boolean {
    return this.#rolesOf(group).get(role)?.manages === true
  }

  #rolesOf(group: { readonly kind: string }) {
    const { roles } = this.#deps.registry.of(group)
    if (roles.size === 0) throw noRoles(group.kind)
    return roles
  }

  #requireRole(group: { readonly kind: string }, role: string): void {
    const roles = this.#rolesOf(group)
    if (!roles.has(role))
      throw new ServiceError(
        'bad_request',
        `Cannot give the role ${quoted(role)}: it does not exist. The roles are ${[...roles.keys()].join(', ')}`,
      )
  }
}
