/** Configuration of a provider: its metadata, and the differences between the kinds. */
import type { ProviderTokens } from '../provider.ts'
import type { Address } from '../../actor/address.ts'
import type { Facts } from './person.ts'
import type { Settings } from './settings.ts'

export interface Endpoints {
  readonly authorization: string
  readonly token: string
  /** Empty for a provider without userinfo. */
  readonly userinfo: string
}

/** Endpoints from the settings. Discovery at the issuer finds the missing ones. */
type GivenMetadata = { readonly [K in keyof Endpoints | 'keySet']: string | undefined }

export interface Metadata {
  readonly endpoints: Endpoints
  /** Every spelling of the provider's issuer. Empty for plain OAuth. */
  readonly issuers: readonly string[]
  /** True when the authorization response contains `iss` (RFC 9207). */
  readonly announcesIssuer: boolean
  /** URL of the key set. Null for a provider without id_tokens. */
  readonly keySet: string | null
  /** Supported client authentication methods. Null when the provider does not publish them. */
  readonly clientAuthentication: readonly string[] | null
  /** Algorithms of id_tokens, as discovery names them. Null or absent when it names none. */
  readonly signsWith?: readonly string[] | null
}

/** Data from which a person is identified, after the code was redeemed or the assertion verified. */
export interface Evidence {
  /** Null after an assertion. */
  readonly tokens: ProviderTokens | null
  /** Claims of the verified id_token. Null without an id_token. */
  readonly claims: Facts | null
  readonly userinfoEndpoint: string
  /**
   * Fetches JSON from the provider with the access token.
   *
   * @throws ProviderError `unreachable`, `identity`
   */
  readonly ask: (url: string) => Promise<unknown>
}

export interface ProviderIdentity {
  readonly facts: Facts
  /** The person's permanent id at the provider. Null when the provider sent none. */
  readonly subject: string | null
  readonly address: Address | null | 'failed'
}

/** Returns the client secret for one call. */
export type ClientSecret = (now: number) => Promise<string>

export interface ProviderPlan {
  readonly name: string
  readonly displayName: string
  readonly responseMode: 'query' | 'form_post'
  readonly clientId: string
  /** Null for a public client, which authenticates by the code verifier alone. */
  readonly clientSecret: ClientSecret | null
  readonly scope: string
  /** Null for the service's own callback. */
  readonly redirectUri: string | null
  readonly deepLink: string | null
  readonly audiences: readonly string[]
  readonly authorizationParameters: Readonly<Record<string, string>>
  /** Parameters that make the provider ask the person again; none where it has no such parameter. */
  readonly freshParameters: Readonly<Record<string, string>>
  readonly takesChallenge: boolean
  readonly takesLoginHint: boolean
  /** Accepted signature algorithms of id_tokens. */
  readonly algorithms: readonly string[]
  readonly hashesNonce: boolean
  /** Fixed metadata, or an issuer for discovery. The given endpoints override the discovered ones. */
  readonly metadata: Metadata | { readonly issuer: string; readonly given: GivenMetadata }
  /** @throws ProviderError */
  readonly identify: (evidence: Evidence) => Promise<ProviderIdentity>
}

/** Settings and defaults that most kinds share. */
export function commonPlan(
  settings: Settings,
  kind: { readonly displayName: string; readonly scope: string },
): Omit<ProviderPlan, 'clientSecret' | 'metadata' | 'identify'> {
  return {
    name: settings.name,
    displayName: settings.text('displayName') ?? kind.displayName,
    responseMode: 'query',
    clientId: settings.required('clientId'),
    scope: settings.text('scope') ?? kind.scope,
    redirectUri: settings.address('redirectUri') ?? null,
    deepLink: settings.address('deepLink') ?? null,
    audiences: settings.audiences,
    authorizationParameters: settings.authorizationParameters,
    freshParameters: {},
    takesChallenge: true,
    takesLoginHint: true,
    algorithms: ['RS256'],
    hashesNonce: false,
  }
}

const platformSuffix = /-(?:mobile|native)$/

/** Returns the name without its platform suffix. */
export function providerKindOf(name: string): string {
  return name.replace(platformSuffix, '')
}

export function isForPlatform(name: string): boolean {
  return platformSuffix.test(name)
}

/** Returns whether the scope requests an id_token. */
export function asksForIdToken(scope: string): boolean {
  return scope.split(' ').includes('openid')
}
