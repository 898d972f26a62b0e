/** Decides the effect of a peer's trust request. Pure functions, without store, clock or network. */
import { isAsking, isRenewal, type Trust } from '../trust.ts'

export type RequestVerdict =
  /** A new relationship. */
  | { readonly kind: 'add' }
  /** The same relationship with a new secret. Rights and subscriptions stay. */
  | { readonly kind: 'rotate' }
  /** The relationship was not approved here. The peer requests it again with another trust type. */
  | { readonly kind: 'replace' }
  /** Both actors asked at once, and this actor's request wins. The peer's request counts as its approval. */
  | { readonly kind: 'join' }
  /** Both actors asked at once, and the peer's request wins. `agreed`: both requested the same trust type. */
  | { readonly kind: 'yield'; readonly agreed: boolean }
  /** The peer has the secret of its own request, and may still take the one of this actor's renewal. */
  | { readonly kind: 'both' }
  /** Both actors asked at once. Only the outcome of this actor's request decides; the peer's request changes nothing. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly because: string }

export interface AskedAgain {
  /** The actor that received the request. */
  readonly actorId: string
  readonly peerId: string
  readonly baseuri: string
  readonly relationship: string
  readonly comparesIds: boolean
  /** The request was probably sent while a request of this actor to the peer was under way. */
  readonly crossed: boolean
  /** The peer confirmed the request at its stored address. */
  readonly verified: boolean
}

/** @param now Unix milliseconds. */
export function judgeRequest(existing: Trust | null, asked: AskedAgain, now: number): RequestVerdict {
  if (existing === null) return { kind: 'add' }
  if (existing.establishedVia !== 'trust' && existing.establishedVia !== 'trustee') {
    return { kind: 'refuse', because: 'the existing relationship belongs to a client' }
  }
  // A request from another address, or without proof, could take over any relationship.
  if (existing.baseuri !== asked.baseuri) return { kind: 'refuse', because: 'it comes from another address' }
  const isAskingToo = isAsking(existing, now)
  // A peer that settles crossings by id keeps its secret when it is refused. After a 202 it would switch to the new one.
  if (!asked.verified && (isAskingToo || asked.crossed) && !asked.comparesIds) return { kind: 'wait' }
  if (!asked.verified) return { kind: 'refuse', because: 'the call-back did not confirm it' }
  if (isAskingToo) return judgeCrossing(existing, asked)
  if (existing.relationship === asked.relationship) return { kind: 'rotate' }
  if (existing.approved) return { kind: 'refuse', because: 'it requests another trust type than the approved one' }
  return { kind: 'replace' }
}

/**
 * Settles two requests that cross without another message: the request of the actor with the lower id wins on both
 * sides. A peer that does not know this rule keeps the last request that it saw, probably this actor's. It would delete
 * that record when refused.
 */
function judgeCrossing(existing: Trust, asked: AskedAgain): RequestVerdict {
  const sameName = existing.ownRequest?.relationship === asked.relationship
  if (asked.comparesIds && asked.peerId < asked.actorId) return { kind: 'yield', agreed: sameName }
  // The peer confirmed its own secret just now, and has lost the old one. Another answer than this one may still change that.
  if (!asked.comparesIds && isRenewal(existing) && (sameName || existing.relationship === asked.relationship))
    return { kind: 'both' }
  // During a renewal, a peer that settles by id must be refused. After a 201 it would switch to the secret that it
  // offered, and both would lose the shared secret if this actor's request never arrives.
  if (sameName && !isRenewal(existing)) return { kind: 'join' }
  return asked.comparesIds ? { kind: 'refuse', because: 'this actor’s own request counts' } : { kind: 'wait' }
}

/** Returns the side whose approval completed the relationship with this change. Null: not completed by this change. */
export function completedBy(
  before: Pick<Trust, 'approved' | 'peerApproved'> | null,
  after: Pick<Trust, 'approved' | 'peerApproved'>,
): 'local' | 'remote' | null {
  if (!after.approved || !after.peerApproved) return null
  if (before === null) return 'local'
  if (before.approved && before.peerApproved) return null
  return before.approved ? 'remote' : 'local'
}
