/** Interface of the grants of the token endpoint. */
import type { ServiceAddresses } from '../resources.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import type { Store } from '../../store/store.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { OneTime } from '../../token/one-time.ts'
import type { Tokens } from '../../token/tokens.ts'
import type { Client } from '../client.ts'
import type { Polls } from '../device/device-codes.ts'
import type { TokenParameters } from '../token-request.ts'

export interface GrantDeps extends ServiceAddresses {
  readonly store: Store
  readonly oneTime: OneTime
  readonly tokens: Tokens
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly polls: Polls
}

export interface GrantRequest {
  /** The authenticated client. */
  readonly client: Client
  readonly parameters: TokenParameters
  /** Time at which the request arrived, before any lookup (Unix milliseconds). */
  readonly receivedAt: number
}

export interface IssuedGrant {
  readonly tokens: IssuedTokens
  readonly scope: string
  /** False where the client cannot use a refresh token: for client credentials, or without that grant. */
  readonly isRefreshable: boolean
  /** Further members of the response. */
  readonly members: Readonly<Record<string, string>>
}

/** Issues tokens. @throws OAuthError. A store error passes through, and the presented code or token stays valid. */
export type Grant = (deps: GrantDeps, request: GrantRequest) => Promise<IssuedGrant>
