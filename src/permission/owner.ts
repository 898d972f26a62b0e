/** The owner rule: a peer may use the paths that name the peer, independent of its other rights. */
import type { Caller } from '../caller.ts'
import type { Verdict } from './permission.ts'

export interface OwnerRule {
  /** The path parameter that names the peer. */
  readonly param: string
  /**
   * The required state of the relationship. `any` is only for the state of the peer's own relationship, the notice of its
   * approval, and the end of the relationship.
   */
  readonly standing: 'approved' | 'any'
  /** True when only that peer has access. Even the creator has none. */
  readonly exclusive?: true
}

/** The verdict of the owner rule. Null when the rule does not apply; then the role table decides. */
export function judgeOwner(
  caller: Caller,
  peerId: string,
  { standing, exclusive }: Pick<OwnerRule, 'standing' | 'exclusive'>,
): Verdict | null {
  if (caller.kind !== 'peer' || caller.peerId === '' || caller.peerId !== peerId) {
    return exclusive === true ? { allowed: false, reason: 'only the peer in the path has access' } : null
  }
  if (standing === 'approved' && !caller.approved) return { allowed: false, reason: 'the relationship is not approved' }
  return { allowed: true, reason: 'the path names this peer' }
}
