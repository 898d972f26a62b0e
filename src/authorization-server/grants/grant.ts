/** What every grant is given, and what it gives. */
import type { KeyRing } from '../../secret/key-ring.ts'
import type { Store } from '../../store/store.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { OneTime } from '../../token/one-time.ts'
import type { Tokens } from '../../token/tokens.ts'
import type { Client } from '../client.ts'
import type { TokenParameters } from '../token-request.ts'

export interface GrantDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly tokens: Tokens
  readonly keyRing: KeyRing
  /** Names of the service as a resource (RFC 8707). */
  readonly resources: readonly string[]
  readonly now: () => number
}

export interface GrantRequest {
  /** Authenticated. */
  readonly client: Client
  readonly parameters: TokenParameters
  /** When it had come, before anything was looked up for it (Unix milliseconds). */
  readonly receivedAt: number
}

export interface IssuedGrant {
  readonly tokens: IssuedTokens
  readonly scope: string
  /** False where there is nobody to ask again for (client credentials). */
  readonly isRefreshable: boolean
  /** Further members of the answer. */
  readonly members: Readonly<Record<string, string>>
}

/** @throws OAuthError; a fault of the store goes on as it is, and what was shown stays good. */
export type Grant = (deps: GrantDeps, request: GrantRequest) => Promise<IssuedGrant>
