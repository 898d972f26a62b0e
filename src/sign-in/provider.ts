/** Interface of identity providers. The folder `providers` has one file for each kind. */
import type { Address } from '../actor/address.ts'
import type { Transaction } from '../store/store.ts'

/** Userinfo of a person: the provider's own members, and these members if they can be derived (WIRE-SIGNIN-02). */
export interface UserInfo {
  readonly [member: string]: unknown
  readonly sub?: string
  readonly email?: string
  readonly display_name?: string
  readonly given_name?: string
  readonly family_name?: string
}

/** Tokens of the provider. They are stored sealed and never sent to a browser. */
export interface ProviderTokens {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  readonly id_token?: string | undefined
  /** Seconds from now, as the provider reported. */
  readonly expires_in?: number | undefined
}

/** A person whom the provider authenticated. */
export interface Person {
  readonly userInfo: UserInfo
  /** Null after an assertion (jwt-bearer), which has no tokens. */
  readonly tokens: ProviderTokens | null
  /** Permanent id of the person at the provider: `google:<sub>`, `github:<id>`. */
  readonly stableId: string
  /**
   * The normalized email address that the provider confirms: the primary address, else the first verified one. Null when
   * the provider confirms none. `failed` when the lookup itself failed.
   */
  readonly address: Address | null | 'failed'
  /** When the provider asked the person (`auth_time`), in Unix milliseconds. Default: now. */
  readonly authenticatedAt?: number
  /** The account that the person proved to own by a passkey of this service. The identity mode then has no effect. */
  readonly own?: OwnAccount
}

export interface OwnAccount {
  readonly actorId: string
  /** The account to create. Null: the account exists. */
  readonly newAccount: NewOwnAccount | null
}

export interface NewOwnAccount {
  /** The creator of the actor. */
  readonly name: string
  readonly identifier: string
  /** Stores what opens the account, in the transaction that creates it. */
  readonly store: (tx: Transaction) => Promise<void>
}

export interface ProviderAuthorization {
  readonly state: string
  readonly nonce: string
  /** S256 challenge. Null when the provider does not support PKCE. */
  readonly codeChallenge: string | null
  readonly loginHint?: string
  /** Asks the person again, although the provider knows them. */
  readonly isFresh?: boolean
}

export interface CodeExchange {
  readonly code: string
  /** The `redirect_uri` of the authorization request (native clients). Default: the provider's `redirectUri`. */
  readonly redirectUri?: string | undefined
  readonly codeVerifier: string | null
  /** Null when a native client requested the code itself. */
  readonly nonce: string | null
  /** `iss` of the authorization response (RFC 9207), if present. */
  readonly issuer?: string | undefined
  /** The form field `user` of the first sign-in. Apple sends the person's name only there. */
  readonly user?: string | undefined
}

export interface Provider {
  /** Configured name: `google`, `google-mobile`, `acme`. */
  readonly name: string
  /** The name without its suffix, used in states, events and stored fields. */
  readonly kind: string
  readonly displayName: string
  readonly responseMode: 'query' | 'form_post'
  readonly platform: 'web' | 'any'
  /** Callback URL, as registered with the provider. */
  readonly redirectUri: string
  /** URL of the mobile application that receives the ticket. Null for a provider without a deep link. */
  readonly deepLink: string | null
  /** Like the next two endpoints, empty until discovery finds it (`Providers.ready`). */
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userinfoEndpoint: string
  /** True for the provider of a service without configured ones. */
  readonly isDefault?: boolean
  /** True when audiences are configured, so that `verifyAssertion` works. */
  readonly takesAssertions: boolean
  /** @throws ProviderError `unreachable` when the discovery of its endpoints fails. */
  authorizationUrl(request: ProviderAuthorization): Promise<string>
  /** @throws ProviderError */
  exchange(exchange: CodeExchange): Promise<Person>
  /**
   * Verifies an id_token that a native application got from the provider (RFC 7523).
   *
   * @param nonce The application's nonce. The claim must equal it, or its hexadecimal SHA-256 if the provider hashes it.
   * @returns the person, a fingerprint that detects a reuse of the assertion, and the time until which the fingerprint
   *   must be stored (Unix seconds).
   * @throws ProviderError `assertion`
   */
  verifyAssertion(assertion: string, nonce: string): Promise<{ person: Person; fingerprint: string; until: number }>
}

export type ProviderFailure =
  /** The provider rejected the code. */
  | 'exchange'
  /** The provider sent tokens, but no valid identity. */
  | 'identity'
  /** The assertion is malformed, or has another issuer or audience. */
  | 'assertion'
  /** The provider sent no valid response in time. */
  | 'unreachable'

/** Failure of a call to a provider. The message is for the log and contains no credential. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly failure: ProviderFailure
  /** Status of the provider's HTTP response; undefined when no response arrived or the response itself was fine. */
  readonly status: number | undefined

  constructor(failure: ProviderFailure, message: string, detail: { status?: number; cause?: unknown } = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.failure = failure
    this.status = detail.status
  }
}

/** Why people cannot sign in at a provider. */
export interface ProviderProblem {
  readonly provider: string
  readonly reason: string
}

/** The configured providers. */
export interface Providers {
  /** All providers in the order of configuration. The first is the default. */
  readonly all: readonly Provider[]
  /** Finds a provider by its exact name, or by a `-mobile`/`-native` variant of its name (CHOICE-64). Null for others. */
  find(name: string): Provider | null
  /** Resolves when the discovery of every provider has succeeded or failed. */
  ready(): Promise<void>
  /** Discovers all providers, and returns those at which people cannot sign in. */
  problems(): Promise<readonly ProviderProblem[]>
}
