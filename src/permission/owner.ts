/** The owner rule: a peer may use the paths that name it, whatever its relationship carries besides. */
import type { Caller } from '../caller.ts'
import type { Verdict } from './permission.ts'

export interface OwnerRule {
  /** The path parameter that names the peer. */
  readonly param: string
  /**
   * Nothing of an actor is open to a peer that its owner has not approved, except the state of its own relationship, the
   * notice that it approved, and the end of the relationship.
   */
  readonly standing: 'approved' | 'any'
  /** Nobody but that peer may come, not even the creator. */
  readonly exclusive?: true
}

/** Null where the rule has nothing to say: the coarse table decides. */
export function judgeOwner(
  caller: Caller,
  peerId: string,
  { standing, exclusive }: Pick<OwnerRule, 'standing' | 'exclusive'>,
): Verdict | null {
  if (caller.kind !== 'peer' || caller.peerId === '' || caller.peerId !== peerId) {
    return exclusive === true ? { allowed: false, reason: 'only the peer that the path names may' } : null
  }
  if (standing === 'approved' && !caller.approved) return { allowed: false, reason: 'the relationship is not approved' }
  return { allowed: true, reason: 'the path is its own' }
}
