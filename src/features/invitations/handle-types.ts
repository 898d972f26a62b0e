/** Invitations, as applications create and list them. @experimental */
export interface NewInvitation {
  /** Name of the trust type that the invited person gets. Default: the configured one. */
  readonly relationship?: string
  /** Name by which the owner will see the connection, of at most 80 characters. Default: none. */
  readonly nickname?: string
  /** End of the invitation, at most 90 days away. Default: in seven days. */
  readonly endsAt?: Date
}

/** An invitation of an actor. @experimental */
export interface ActorInvitation {
  readonly id: string
  readonly relationship: string
  /** Empty: none. */
  readonly nickname: string
  readonly createdAt: Date
  readonly endsAt: Date
}

/** Invitations: links that connect another person with the actor, without a request. @experimental */
export interface InvitationsHandle {
  /**
   * Creates an invitation that one person can use. `url` is available only here, because the service stores a hash of its code.
   * The person who opens it reviews the connection, and is connected immediately after confirming.
   *
   * @throws ServiceError `bad_request` for a trust type that people cannot give each other, a nickname that is too long, or an
   *   end that is past or more than 90 days away; `conflict` when 100 invitations are open.
   */
  create(invitation?: NewInvitation): Promise<ActorInvitation & { readonly url: string }>
  /** Returns the open invitations, newest first. */
  list(): Promise<ActorInvitation[]>
  /** Revokes an invitation. Returns whether it was open. */
  revoke(id: string): Promise<boolean>
}

declare module '../../app/actor-handle.ts' {
  interface ActorHandle {
    /** Links that connect another person with the actor. @experimental */
    readonly invitations: InvitationsHandle
  }
}
