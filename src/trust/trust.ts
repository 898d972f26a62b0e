/** A relationship with another actor, seen from one side. */
import type { TrustFacts } from '../app/trust-record.ts'
import type { SecretHash } from '../secret/hash.ts'
import type { Sealed } from '../secret/sealed.ts'

/**
 * Where a relationship stands. Approval is what the owner of this actor and the owner of the other one said; only the
 * first gives the peer any right here.
 */
export type TrustState =
  /** This actor asked, and the peer's owner has not answered. */
  | { readonly kind: 'requested' }
  /** The peer asked, and this actor's owner has not answered. */
  | { readonly kind: 'pending' }
  /** This actor's owner approved; the peer's has not, as far as is known here. */
  | { readonly kind: 'approved-here' }
  | { readonly kind: 'mutual' }

export type EstablishedVia = 'trust' | 'trustee' | 'oauth2_interactive' | 'oauth2_client' | 'oauth2'

export interface Trust {
  readonly actorId: string
  readonly peerId: string
  /** The peer's root address without a slash at the end; empty for a client that has none. */
  readonly baseuri: string
  /** The peer's application type, a URN. */
  readonly type: string
  /** The trust type's name, which is the permission level and a segment of paths. */
  readonly relationship: string
  readonly secret: Sealed
  readonly secretHash: SecretHash
  readonly verificationToken: Sealed
  readonly description: string
  readonly approved: boolean
  readonly peerApproved: boolean
  /** The requester proved, by the verification call-back, that it is at its `baseuri`. */
  readonly verified: boolean
  readonly establishedVia: EstablishedVia
  readonly facts: TrustFacts
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly lastAccessed: number
  readonly lastConnectedVia: string
  readonly ownRequest: OwnRequest | null
}

/** The last request of this actor to the peer, on its way or answered. */
export interface OwnRequest {
  /** Whoever finishes the request finds out by it whether the request still counts. */
  readonly id: string
  readonly relationship: string
  /** Unix milliseconds: when it was answered, or when nobody waits for an answer any more. */
  readonly until: number
  /** Of the secret that it offers, when that is to replace an older one. */
  readonly nextSecretHash: SecretHash | null
  /** What it says of the relationship. */
  readonly description?: string
  /** Unix milliseconds: nobody confirms it any more since then. */
  readonly closedAt?: number
}

export function stateOf(trust: Pick<Trust, 'approved' | 'peerApproved'>): TrustState {
  if (trust.approved) return { kind: trust.peerApproved ? 'mutual' : 'approved-here' }
  return { kind: trust.peerApproved ? 'pending' : 'requested' }
}

/** Whether both sides approved a relationship with another actor. */
export function isConnected(trust: Pick<Trust, 'approved' | 'peerApproved' | 'baseuri' | 'establishedVia'>): boolean {
  return stateOf(trust).kind === 'mutual' && trust.baseuri !== '' && !trust.establishedVia.startsWith('oauth2')
}

/** Whether paths with this relationship mean it: its own, and the one that a request under way asks for. */
export function isNamed(trust: Pick<Trust, 'relationship' | 'ownRequest'>, relationship: string): boolean {
  return trust.relationship === relationship || trust.ownRequest?.relationship === relationship
}

/** Whether the last request of this actor offers a secret in the place of another one, and both are good. */
export function isRenewal({ ownRequest }: Pick<Trust, 'ownRequest'>): boolean {
  return (ownRequest?.nextSecretHash ?? null) !== null
}

/** Whether a request of this actor is on its way to the peer now (Unix milliseconds). */
export function isAsking(trust: Pick<Trust, 'ownRequest'>, now: number): boolean {
  return trust.ownRequest !== null && now < trust.ownRequest.until
}

/** Whether a request that the peer sends crosses one of this actor: it may arrive `crossingMs` after the answer. */
export function isCrossed(trust: Pick<Trust, 'ownRequest'>, now: number, crossingMs: number): boolean {
  return trust.ownRequest !== null && now < trust.ownRequest.until + crossingMs
}
