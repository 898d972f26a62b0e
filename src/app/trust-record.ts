/** The record of a relationship as applications, owners and peers see it. @public */
export interface TrustRecord extends TrustFacts {
  /** Id of the actor that stores the relationship. */
  readonly id: string
  readonly peerid: string
  readonly baseuri: string
  readonly type: string
  readonly relationship: string
  readonly desc: string
  readonly approved: boolean
  /** ISO 8601, UTC: the end of the approval. Absent without an end. */
  readonly approved_until?: string
  readonly peer_approved: boolean
  readonly verified: boolean
  readonly established_via: string
  /** ISO 8601, UTC. */
  readonly created_at: string
  readonly last_accessed: string
  readonly last_connected_at: string
  readonly last_connected_via: string
}

/** Optional facts about the peer or client. */
export interface TrustFacts {
  readonly peer_identifier?: string
  /** The name of the client to which the owner consented. */
  readonly client_name?: string
  /** The name that the client claims, when it is another one. */
  readonly client_claimed_name?: string | undefined
  /** The host at which the client received its access, or publishes its metadata. Empty: none. */
  readonly client_host?: string
  readonly client_version?: string | undefined
  readonly client_platform?: string
  readonly oauth_client_id?: string
  readonly aw_supported?: string
  /** When the peer moved to its address, from another service. */
  readonly moved_at?: string
  /** When the peer made the last statement about its move, by its clock. */
  readonly move_stated_at?: string
  /** When this service took that statement, by its own clock. */
  readonly move_taken_at?: string
  /** The public key of the peer at its address, a JSON Web Key, when it came there from another service. */
  readonly move_key?: string
  readonly aw_version?: string
  /** ISO 8601. */
  readonly capabilities_fetched_at?: string
}
