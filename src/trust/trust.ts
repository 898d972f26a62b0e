/** A relationship with another actor, seen from one side. */
import type { TrustFacts } from '../app/trust-record.ts'
import type { SecretHash } from '../secret/hash.ts'
import type { Sealed } from '../secret/sealed.ts'

/**
 * State of a relationship. Both owners approve separately. Only the approval of this actor's owner gives the peer
 * rights here.
 */
export type TrustState =
  /** This actor sent a request, and the peer's owner has not decided. */
  | { readonly kind: 'requested' }
  /** The peer sent a request, and this actor's owner has not decided. */
  | { readonly kind: 'pending' }
  /** This actor's owner approved. The peer's approval has not arrived here. */
  | { readonly kind: 'approved-here' }
  | { readonly kind: 'mutual' }

export type EstablishedVia = 'trust' | 'trustee' | 'oauth2_interactive' | 'oauth2_client' | 'oauth2' | 'api_key'

export interface Trust {
  readonly actorId: string
  readonly peerId: string
  /** The peer's root address without a trailing slash. Empty for a client. */
  readonly baseuri: string
  /** The peer's application type, a URN. */
  readonly type: string
  /** Name of the trust type, which decides the permissions and is a segment of paths. */
  readonly relationship: string
  readonly secret: Sealed
  readonly secretHash: SecretHash
  readonly verificationToken: Sealed
  readonly description: string
  /** Name that the owner gave the peer. Only the owner sees it. Empty: none. */
  readonly nickname: string
  readonly approved: boolean
  /** End of the approval, in Unix milliseconds. Null: no end. */
  readonly approvedUntil: number | null
  readonly peerApproved: boolean
  /** The verification call-back proved that the requester is at its `baseuri`. */
  readonly verified: boolean
  readonly establishedVia: EstablishedVia
  readonly facts: TrustFacts
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly lastAccessed: number
  readonly lastConnectedVia: string
  readonly ownRequest: OwnRequest | null
}

/** The last request of this actor to the peer, under way or answered. */
export interface OwnRequest {
  /** Identifies the request, so that its sender notices when a later one replaced it. */
  readonly id: string
  readonly relationship: string
  /** Unix milliseconds: the time of the response, or the end of the wait for it. */
  readonly until: number
  /** Hash of the offered secret, when it would replace an older one. */
  readonly nextSecretHash: SecretHash | null
  /** The description that the request carries. */
  readonly description?: string
  /** Unix milliseconds. This actor no longer confirms the request after this time. */
  readonly closedAt?: number
  /** The peer asked meanwhile and has the secret of its own request, so that the response to this one decides nothing. */
  readonly crossed?: true
}

/** Whether the owner's approval is valid at `now` (Unix milliseconds). */
export function isApprovedAt(
  { approved, approvedUntil }: Pick<Trust, 'approved' | 'approvedUntil'>,
  now: number,
): boolean {
  return approved && (approvedUntil === null || now < approvedUntil)
}

export function stateOf(trust: Pick<Trust, 'approved' | 'peerApproved'>): TrustState {
  if (trust.approved) return { kind: trust.peerApproved ? 'mutual' : 'approved-here' }
  return { kind: trust.peerApproved ? 'pending' : 'requested' }
}

/** Whether the relationship belongs to a program that acts for the owner, such as an AI client or an API key. */
export function isProgram({ establishedVia }: Pick<Trust, 'establishedVia'>): boolean {
  return establishedVia.startsWith('oauth2') || establishedVia === 'api_key'
}

/**
 * Whether a peer waits for the owner's approval. A program is approved from the beginning, so one without approval is paused
 * and waits for nothing.
 */
export function isRequest(trust: Pick<Trust, 'approved' | 'peerApproved' | 'establishedVia'>): boolean {
  return stateOf(trust).kind === 'pending' && !isProgram(trust)
}

/** The id of the client that has the relationship. Null for another actor. An API key is a client of its own. */
export function clientIdOf({ establishedVia, peerId, facts }: Pick<Trust, 'establishedVia' | 'peerId' | 'facts'>) {
  return establishedVia === 'api_key' ? peerId : (facts.oauth_client_id ?? null)
}

/** Whether both sides approved a relationship with another actor. */
export function isConnected(trust: Pick<Trust, 'approved' | 'peerApproved' | 'baseuri' | 'establishedVia'>): boolean {
  return stateOf(trust).kind === 'mutual' && trust.baseuri !== '' && !isProgram(trust)
}

/** Whether paths with this name address the relationship: its own name, or the name in a request under way. */
export function isNamed(trust: Pick<Trust, 'relationship' | 'ownRequest'>, relationship: string): boolean {
  return trust.relationship === relationship || trust.ownRequest?.relationship === relationship
}

/** Whether the last request of this actor offers a new secret, while the old one is still valid as well. */
export function isRenewal({ ownRequest }: Pick<Trust, 'ownRequest'>): boolean {
  return (ownRequest?.nextSecretHash ?? null) !== null
}

/** Whether a request of this actor is under way at `now` (Unix milliseconds). */
export function isAsking(trust: Pick<Trust, 'ownRequest'>, now: number): boolean {
  return trust.ownRequest !== null && now < trust.ownRequest.until
}

/** Whether a request of the peer may cross one of this actor. It may arrive up to `crossingMs` after the response. */
export function isCrossed(trust: Pick<Trust, 'ownRequest'>, now: number, crossingMs: number): boolean {
  return trust.ownRequest !== null && now < trust.ownRequest.until + crossingMs
}

/**
 * Whether the options of the peer are known, and it is not a service of this kind: those have the tag `moving`. The Python library
 * announces only some of many changes at the same time, and acknowledges callbacks whose data it could not fetch.
 */
export function isOtherImplementation({ aw_supported: tags }: TrustFacts): boolean {
  return tags !== undefined && !tags.split(',').some((tag) => tag.trim() === 'moving')
}
