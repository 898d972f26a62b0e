/** A provider of identities, as sign-in sees it: one file for each kind in `providers`. */
import type { Address } from '../actor/address.ts'

/** What a provider says about a person: its own members, and these when they could be derived (WIRE-SIGNIN-02). */
export interface UserInfo {
  readonly [member: string]: unknown
  readonly sub?: string
  readonly email?: string
  readonly display_name?: string
  readonly given_name?: string
  readonly family_name?: string
}

/** Kept sealed, never shown to a browser. */
export interface ProviderTokens {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  readonly id_token?: string | undefined
  /** Seconds from now, as the provider said. */
  readonly expires_in?: number | undefined
}

/** A person, proven by the provider. */
export interface Person {
  readonly userInfo: UserInfo
  /** Null after an assertion (jwt-bearer), which comes without any. */
  readonly tokens: ProviderTokens | null
  /** The provider's name for the person, stable for ever: `google:<sub>`, `github:<id>`. */
  readonly stableId: string
  /**
   * The address that the provider vouches for, normalised: the primary one, else the first verified one; null when it
   * vouches for none. `failed`: the look-up itself did not work, so nobody knows.
   */
  readonly address: Address | null | 'failed'
}

export interface ProviderAuthorization {
  readonly state: string
  readonly nonce: string
  /** S256; null where the provider takes none. */
  readonly codeChallenge: string | null
  readonly loginHint?: string
}

export interface CodeExchange {
  readonly code: string
  /** As it was sent when the code was asked for; the provider's own unless given (native clients). */
  readonly redirectUri?: string | undefined
  readonly codeVerifier: string | null
  /** Null when the code was asked for elsewhere (native clients). */
  readonly nonce: string | null
  /** `iss` of the authorization response (RFC 9207), when it came with one. */
  readonly issuer?: string | undefined
  /** The form field `user` of the first sign-in, where the provider sends the name only there. */
  readonly user?: string | undefined
}

export interface Provider {
  /** As configured: `google`, `google-mobile`, `acme`. */
  readonly name: string
  /** The name before the suffix: what state, events and stored fields call it. */
  readonly kind: string
  readonly displayName: string
  readonly responseMode: 'query' | 'form_post'
  readonly platform: 'web' | 'any'
  /** Where the provider sends the browser back to, as registered with it. */
  readonly redirectUri: string
  /** Where a mobile application gets its ticket; null for a provider without one. */
  readonly deepLink: string | null
  /** This and the next two: empty until they are found, where the provider publishes them (`Providers.ready`). */
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userinfoEndpoint: string
  /** True when `verifyAssertion` can be asked (configured audiences). */
  readonly takesAssertions: boolean
  /** @throws ProviderError `unreachable` when its endpoints have to be discovered and cannot. */
  authorizationUrl(request: ProviderAuthorization): Promise<string>
  /** @throws ProviderError */
  exchange(exchange: CodeExchange): Promise<Person>
  /**
   * An id_token that a native application got from the provider (RFC 7523).
   *
   * @param nonce As the application made it. Compared verbatim, or also as hexadecimal SHA-256 where the provider hashes it.
   * @returns besides the person what makes a second showing of the same assertion recognisable, and until when it has to
   *   be (Unix seconds).
   * @throws ProviderError `assertion`
   */
  verifyAssertion(assertion: string, nonce: string): Promise<{ person: Person; fingerprint: string; until: number }>
}

export type ProviderFailure =
  /** The code was not taken. */
  | 'exchange'
  /** Tokens came, but not who it is. */
  | 'identity'
  /** The assertion is not one, not the provider's, or not for us. */
  | 'assertion'
  /** No answer in time, or none that can be read. */
  | 'unreachable'

/** The message is for the log; it holds no credential. */
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

/** What sign-in asks of the configured providers. */
export interface Providers {
  /** In the order of configuration; the first is the default. */
  readonly all: readonly Provider[]
  /** By its exact name, or a `-mobile`/`-native` variant that resolves to its base provider (CHOICE-64); null for any other text. */
  find(name: string): Provider | null
  /** Resolves when the endpoints of every provider are known, or cannot be found now. */
  ready(): Promise<void>
}
