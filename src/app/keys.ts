/** API keys, as applications create and list them. */
import type { NewGrant } from '../permission/grants.ts'
import type { RuledCategory } from '../permission/rules.ts'

/** The input of `actor.keys.create`. @public */
export interface NewKey {
  /** Shown to the owner, such as `Sensor in the kitchen`. */
  readonly name: string
  /** Rights of the key. Nothing else is allowed. */
  readonly grants: Omit<NewGrant, 'until'>
  /** The time at which the key ends, by the clock of the database. Default: no end. */
  readonly until?: Date
}

/** Operations on the targets of one pattern. */
export interface KeyGrant {
  readonly category: RuledCategory
  readonly pattern: string
  readonly operations: readonly string[]
  /** End of the grant. Null: it ends with the key. */
  readonly until: Date | null
}

/** An API key of an actor, without its secret. @public */
export interface ActorKey {
  /** Also the id of the key's relationship: `actor.trust.grant(id, …)` adds a grant. */
  readonly id: string
  readonly name: string
  readonly grants: readonly KeyGrant[]
  readonly createdAt: Date
  /** Time of the last use, to the minute. Null: the key was never used. */
  readonly lastUsedAt: Date | null
  /** End of the key. Null: no end. */
  readonly until: Date | null
}

/** API keys of the actor: credentials of programs and devices, each with its own rights. @public */
export interface KeysHandle {
  /**
   * Creates a key. `key` is available only here, because the service stores its hash. A program sends it as a bearer token to
   * the addresses of the actor and to `/mcp`.
   *
   * @throws ServiceError `invalid_value` for a name without printable characters, `bad_request` when a grant or `until` is not
   *   valid, `conflict` when the actor has too many keys.
   */
  create(key: NewKey): Promise<{ readonly id: string; readonly key: string }>
  /** Returns the keys, newest first. A revoked or ended key is deleted. */
  list(): Promise<ActorKey[]>
  /** Renames the key. Returns whether it exists. @throws ServiceError `invalid_value` */
  rename(id: string, name: string): Promise<boolean>
  /**
   * Moves the end of the key. Null: it gets no end. Returns whether the key exists.
   *
   * @throws ServiceError `bad_request` for an end that is not in the future.
   */
  moveEnd(id: string, until: Date | null): Promise<boolean>
  /** Ends the key, immediately in every process. Returns whether it existed. */
  revoke(id: string): Promise<boolean>
}
