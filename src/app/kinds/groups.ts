/** Members of groups: of actors of a kind with roles, with which the members have relationships. */
/** A member of a group. @experimental */
export interface GroupMember<Role extends string = string> {
  /** The id of the member's actor. */
  readonly id: string
  /** The URL of the member's actor. */
  readonly url: string
  /** The name that the group gave the member. Empty: none. */
  readonly name: string
  readonly role: Role
  /** When the member got the role. */
  readonly since: Date
  /** Who gave the role: `application`, `owner`, `invitation` or the id of a manager. */
  readonly by: string
}

/** An invitation of a person to a group. @experimental */
export interface MemberInvitation {
  readonly id: string
  /** The link, which is available only here. */
  readonly url: string
  readonly createdAt: Date
  readonly endsAt: Date
}

/** The members of a group. Each call of an actor whose kind has no roles throws ServiceError `not_found`. @experimental */
export interface MembersHandle<Role extends string = string> {
  /** Returns the members by id. */
  list(): Promise<GroupMember<Role>[]>
  get(id: string): Promise<GroupMember<Role> | undefined>
  /**
   * Creates an invitation that one person can use. The person who opens its link becomes a member with the role.
   *
   * @throws ServiceError as `actor.invitations.create`
   */
  invite(role: Role, invitation?: { readonly nickname?: string; readonly endsAt?: Date }): Promise<MemberInvitation>
  /**
   * Gives a member another role. It applies to the next request, and the member's service receives it. Approves an actor that
   * requested to be a member.
   *
   * @throws ServiceError `not_found` without a member or a request, `conflict` when the last manager would lose the role.
   */
  setRole(id: string, role: Role): Promise<void>
  /** Ends the membership. Returns whether it existed. @throws ServiceError `conflict` for the last manager. */
  remove(id: string): Promise<boolean>
}

/** A group that an actor is a member of. @experimental */
export interface GroupOfActor {
  readonly id: string
  readonly url: string
  /** The name of the group, as it was last received. Empty until then. */
  readonly name: string
  readonly since: Date
}

/** The kind of a group, which `App.kind` returned. */
export interface GroupKind {
  readonly kind: string
}
