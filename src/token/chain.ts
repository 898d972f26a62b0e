/** A chain: all tokens of one sign-in on one device, or of one consent to one client. */
import { randomToken } from '../secret/random.ts'
import type { ChainKind } from './token-text.ts'

/** How a chain began. Owners recognize their sessions by it. */
export type Beginning =
  | 'web'
  | 'spa'
  | 'mobile'
  | 'native'
  | 'passphrase'
  | 'email'
  | 'import'
  | 'mcp'
  | 'key'
  | 'host'
  /** A link of an operator. */
  | 'operator'

/** The client of a chain, and the reach of its tokens. */
export interface ClientGrant {
  readonly clientId: string
  /** The client's relationship with the actor. The chain is deleted with the relationship. */
  readonly peerId: string
  /** Resource of the tokens (RFC 8707). Empty for none. */
  readonly audience: string
  /** Scopes, separated by spaces. Empty for none. */
  readonly scope: string
}

export interface Chain {
  readonly actorId: string
  readonly chainId: string
  readonly kind: ChainKind
  /** Null for a session. */
  readonly client: ClientGrant | null
  readonly beganWith: string
  /** Description such as "Firefox on Linux". */
  readonly device: string
  /** Unix milliseconds, like the other times. */
  readonly createdAt: number
  /** When the person proved who they are. A provider may have asked them before the session began. */
  readonly authenticatedAt: number
  /** Accurate to one minute. */
  readonly lastUsedAt: number
  /** Fixed end, which refreshing does not extend. */
  readonly endsAt: number
}

/** Lifetimes of tokens, in milliseconds. */
export const tokenLifetimes: Readonly<Record<ChainKind, { readonly access: number; readonly refresh: number }>> = {
  session: { access: 3_600_000, refresh: 1_209_600_000 },
  client: { access: 3_600_000, refresh: 2_592_000_000 },
}

/** The end of a chain without an end, in Unix milliseconds: the latest date. */
export const noEnd = 8_640_000_000_000_000

/** Returns 128 random bits as 22 characters. The id identifies a chain to its owner and is not a credential. */
export function newChainId(): string {
  return randomToken(16)
}

/** New tokens of a chain, with the data of the token response. */
export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Lifetime of the access token, in seconds from now. */
  readonly expiresIn: number
  /** Expiry of the access token, in Unix seconds. */
  readonly expiresAt: number
  /** Lifetime of the refresh token, in seconds from now. */
  readonly refreshExpiresIn: number
  readonly actorId: string
  readonly chainId: string
  /** Identity of the actor's owner: an email address, or a provider's id for a person. */
  readonly identifier: string
  /** Null for a session. */
  readonly client: ClientGrant | null
}
