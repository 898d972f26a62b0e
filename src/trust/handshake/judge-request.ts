/** What a request of a peer leads to: the rule, without a store, a clock or a network. */
import { isAsking, isRenewal, type Trust } from '../trust.ts'

export type RequestVerdict =
  /** A new relationship. */
  | { readonly kind: 'add' }
  /** The same relationship under a new secret: rights and subscriptions stay. */
  | { readonly kind: 'rotate' }
  /** Nobody had approved it here: it is asked for anew, under another name. */
  | { readonly kind: 'replace' }
  /** Both asked at once, and this actor's request counts: the peer's says that it agrees. */
  | { readonly kind: 'join' }
  /** Both asked at once, and the peer's request counts. `agreed`: they asked for the same. */
  | { readonly kind: 'yield'; readonly agreed: boolean }
  /** Both asked at once, and this actor's request alone decides. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly because: string }

export interface AskedAgain {
  /** The actor that is asked. */
  readonly actorId: string
  readonly peerId: string
  readonly baseuri: string
  readonly relationship: string
  readonly settlesById: boolean
  /** It was sent, as far as can be told, while a request of this actor was on its way to the peer. */
  readonly crossed: boolean
  /** The peer showed, at the address that is stored, that the request is its own. */
  readonly verified: boolean
}

/** @param now Unix milliseconds. */
export function judgeRequest(existing: Trust | null, asked: AskedAgain, now: number): RequestVerdict {
  if (existing === null) return { kind: 'add' }
  if (existing.establishedVia !== 'trust' && existing.establishedVia !== 'trustee') {
    return { kind: 'refuse', because: 'the relationship is one with a client' }
  }
  // Whoever may ask from another address, or without proof, may take every relationship over.
  if (existing.baseuri !== asked.baseuri) return { kind: 'refuse', because: 'it comes from another address' }
  const isAskingToo = isAsking(existing, now)
  // One that settles such things by id keeps what it had when it is refused; a promise would part the two secrets.
  if (!asked.verified && (isAskingToo || asked.crossed) && !asked.settlesById) return { kind: 'wait' }
  if (!asked.verified) return { kind: 'refuse', because: 'the call-back did not confirm it' }
  if (isAskingToo) return judgeCrossing(existing, asked)
  if (existing.relationship === asked.relationship) return { kind: 'rotate' }
  if (existing.approved) return { kind: 'refuse', because: 'it asks for other rights than those that were approved' }
  return { kind: 'replace' }
}

/**
 * Two actors that ask each other at once agree without a word: the request of the one with the lower id counts on both
 * sides. A peer that does not know this keeps the last request that it saw, which is most likely this actor's; refused,
 * it would forget that one too.
 */
function judgeCrossing(existing: Trust, asked: AskedAgain): RequestVerdict {
  const sameName = existing.ownRequest?.relationship === asked.relationship
  if (asked.settlesById && asked.peerId < asked.actorId) return { kind: 'yield', agreed: sameName }
  // A peer that was told that this actor agrees would change to its secret, and lose the one that both have if this
  // actor's request does not arrive.
  if (sameName && !(asked.settlesById && isRenewal(existing))) return { kind: 'join' }
  return asked.settlesById ? { kind: 'refuse', because: 'this actor’s own request counts' } : { kind: 'wait' }
}

/** Who completed the approval of both sides, when this change did. */
export function completedBy(
  before: Pick<Trust, 'approved' | 'peerApproved'> | null,
  after: Pick<Trust, 'approved' | 'peerApproved'>,
): 'local' | 'remote' | null {
  if (!after.approved || !after.peerApproved) return null
  if (before === null) return 'local'
  if (before.approved && before.peerApproved) return null
  return before.approved ? 'remote' : 'local'
}
