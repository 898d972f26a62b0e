/** A chain: one sign-in on one device, or one consent to one client, and all tokens that come of it. */
import { randomToken } from '../secret/random.ts'
import type { ChainKind } from './token-text.ts'

/** How a chain began, as its owner recognises it. */
export type Beginning = 'web' | 'spa' | 'mobile' | 'native' | 'passphrase' | 'email' | 'import' | 'mcp'

/** Of a client: who it is and how far its tokens reach. */
export interface ClientGrant {
  readonly clientId: string
  /** Its relationship with the actor, with which the chain goes. */
  readonly peerId: string
  /** RFC 8707; empty for none. */
  readonly audience: string
  /** Space-separated; empty for none. */
  readonly scope: string
}

export interface Chain {
  readonly actorId: string
  readonly chainId: string
  readonly kind: ChainKind
  /** Null for a session. */
  readonly client: ClientGrant | null
  readonly beganWith: string
  /** In words: "Firefox on Linux". */
  readonly device: string
  /** Unix milliseconds, as the others. */
  readonly createdAt: number
  /** At most a minute behind. */
  readonly lastUsedAt: number
  /** However often it is refreshed, it ends then. */
  readonly endsAt: number
}

/** In milliseconds. */
export const tokenLifetimes: Readonly<Record<ChainKind, { readonly access: number; readonly refresh: number }>> = {
  session: { access: 3_600_000, refresh: 1_209_600_000 },
  client: { access: 3_600_000, refresh: 2_592_000_000 },
}

/** 128 bits as 22 characters. It names a chain to its owner and opens nothing. */
export function newChainId(): string {
  return randomToken(16)
}

/** What a client of the service holds of a chain. */
export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Of the access token, in seconds from now. */
  readonly expiresIn: number
  /** Of the access token, in Unix seconds. */
  readonly expiresAt: number
  /** In seconds from now. */
  readonly refreshExpiresIn: number
  readonly actorId: string
  readonly chainId: string
  /** Who the actor belongs to: an address, or a provider's name for a person. */
  readonly identifier: string
  /** Null for a session. */
  readonly client: ClientGrant | null
}
