/** What is known about a provider before it is asked anything, and in what one kind differs from another. */
import type { ProviderTokens } from '../provider.ts'
import type { Address } from '../../actor/address.ts'
import type { Facts } from './person.ts'
import type { Settings } from './settings.ts'

export interface Endpoints {
  readonly authorization: string
  readonly token: string
  /** Empty where there is none. */
  readonly userinfo: string
}

/** Endpoints from the settings. The others are found at the issuer. */
type GivenMetadata = { readonly [K in keyof Endpoints | 'keySet']: string | undefined }

export interface Metadata {
  readonly endpoints: Endpoints
  /** Every spelling of the provider's own name; none when it has not told one. */
  readonly issuers: readonly string[]
  /** The response names its issuer (RFC 9207). */
  readonly announcesIssuer: boolean
  /** Null where no id_token is looked at. */
  readonly keySet: string | null
  /** Null when it does not tell. */
  readonly clientAuthentication: readonly string[] | null
}

/** What is at hand once the code was taken, or an assertion proven. */
export interface Evidence {
  /** Null after an assertion. */
  readonly tokens: ProviderTokens | null
  /** Of the proven id_token. */
  readonly claims: Facts | null
  readonly userinfoEndpoint: string
  /**
   * Asks the provider with the access token.
   *
   * @throws ProviderError `unreachable`, `identity`
   */
  readonly ask: (url: string) => Promise<unknown>
}

export interface ProviderIdentity {
  readonly facts: Facts
  /** What never changes; null when the provider did not say. */
  readonly subject: string | null
  readonly address: Address | null | 'failed'
}

/** Makes the client's secret for one call. */
export type ClientSecret = (now: number) => Promise<string>

export interface ProviderPlan {
  readonly name: string
  readonly displayName: string
  readonly responseMode: 'query' | 'form_post'
  readonly clientId: string
  /** Null for a client that has none: a native application, which proves itself by the verifier alone. */
  readonly clientSecret: ClientSecret | null
  readonly scope: string
  /** Null for the address that the service has for it. */
  readonly redirectUri: string | null
  readonly deepLink: string | null
  readonly audiences: readonly string[]
  readonly authorizationParameters: Readonly<Record<string, string>>
  readonly takesChallenge: boolean
  readonly takesLoginHint: boolean
  /** Of id_tokens. */
  readonly algorithm: string
  readonly hashesNonce: boolean
  /** Known from the start, or found at an issuer; then the endpoints that are given take the place of those found. */
  readonly metadata: Metadata | { readonly issuer: string; readonly given: GivenMetadata }
  /** @throws ProviderError */
  readonly identify: (evidence: Evidence) => Promise<ProviderIdentity>
}

/** What most kinds have in common. */
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
    takesChallenge: true,
    takesLoginHint: true,
    algorithm: 'RS256',
    hashesNonce: false,
  }
}

const platformSuffix = /-(?:mobile|native)$/

/** The name before the suffix of a platform. */
export function providerKindOf(name: string): string {
  return name.replace(platformSuffix, '')
}

export function isForPlatform(name: string): boolean {
  return platformSuffix.test(name)
}

/** Whether it asks for an id_token. */
export function asksForIdToken(scope: string): boolean {
  return scope.split(' ').includes('openid')
}
