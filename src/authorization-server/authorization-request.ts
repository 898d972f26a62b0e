/** Validates requests at the authorization endpoint, before any page is shown (RFC 6749 section 4.1.1, RFC 7636, RFC 8707). */
import { type Client, isPublic } from './client.ts'
import type { WaitingDevice } from './device/waiting-device.ts'
import { OAuthError } from './oauth-error.ts'
import { matchesRedirect } from './redirect-uri.ts'
import { audienceOf, type ServiceAddresses, scopes, scopesOf } from './resources.ts'

/** Parameters with one value each. `repeated` names a parameter that was sent twice. */
export interface AuthorizationParameters {
  readonly get: (name: string) => string | undefined
  readonly repeated: string | null
}

/** A valid authorization request, which waits for the owner's consent. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  /** The `state`, returned byte for byte. Null when the client sent none. */
  readonly state: string | null
  readonly scope: string
  /** S256 challenge. Null when a confidential client sent none. */
  readonly codeChallenge: string | null
  /** Resource for which the tokens are valid. Empty when the client named none. */
  readonly audience: string
  /** The issuer that the client knows, when it is not `BASE_URL`. */
  readonly issuer?: string
  /** The device that shows the request (RFC 8628). Absent for a client that redirects the browser. */
  readonly device?: WaitingDevice
}

export type Judged =
  | { readonly kind: 'good'; readonly request: AuthorizationRequest }
  /** The client and its redirect URI are valid, so the client receives the error. */
  | {
      readonly kind: 'redirect'
      readonly redirectUri: string
      readonly state: string | null
      readonly issuer?: string
      readonly error: OAuthError
    }

const longest = 2048

/** The service adds it to a request that arrived at another of its addresses, because the response names the issuer. */
const issuerParameter = 'issuer'

/**
 * Validates an authorization request.
 *
 * @throws OAuthError for errors that a page of the service shows, because no redirect is safe: an unknown client, an
 *   unregistered redirect URI, a repeated parameter, and all PKCE errors (CHOICE-60).
 */
export function judgeAuthorization(
  parameters: AuthorizationParameters,
  client: Client | null,
  own: ServiceAddresses,
): Judged {
  const { get, repeated } = parameters
  if (repeated !== null) throw new OAuthError('invalid_request', `${repeated} is given twice`)
  if (client === null) throw new OAuthError('invalid_request', 'The client is not known here')
  const redirectUri = get('redirect_uri') ?? ''
  if (!client.redirectUris.some((registered) => matchesRedirect(registered, redirectUri))) {
    throw new OAuthError('invalid_request', 'redirect_uri is not registered for this client')
  }
  const state = get('state') ?? null
  // An invalid UTF-8 sequence cannot be returned byte for byte.
  if (state?.includes('\ufffd') === true) throw new OAuthError('invalid_request', 'state is not in UTF-8')
  const codeChallenge = challengeIn(get, client)
  const access = requestedAccess(get, own)
  const from = knownIssuer(get, own)
  if (access instanceof OAuthError) return { kind: 'redirect', redirectUri, state, ...from, error: access }
  return {
    kind: 'good',
    request: { clientId: client.clientId, redirectUri, state, codeChallenge, ...from, ...access },
  }
}

/** The address of this service from which the browser was redirected. Any other value counts as absent. */
function knownIssuer(
  get: AuthorizationParameters['get'],
  { otherBaseUrls }: ServiceAddresses,
): Pick<AuthorizationRequest, 'issuer'> {
  const issuer = otherBaseUrls.find((base) => base === get(issuerParameter))
  return issuer === undefined ? {} : { issuer }
}

/** The scope and the audience that the client requests, or the error that it receives at its redirect URI. */
function requestedAccess(get: AuthorizationParameters['get'], own: ServiceAddresses): Reach | OAuthError {
  for (const name of ['request', 'request_uri']) {
    if (get(name) !== undefined) return new OAuthError('invalid_request', `${name} is not supported`)
  }
  if ((get('response_mode') ?? 'query') !== 'query') {
    return new OAuthError('invalid_request', 'response_mode must be query')
  }
  if (get('response_type') !== 'code') {
    return new OAuthError('unsupported_response_type', 'response_type must be code')
  }
  if ((get('state') ?? '').length > longest) return new OAuthError('invalid_request', 'state is too long')
  return requestedReach(get, own)
}

type Reach = Pick<AuthorizationRequest, 'scope' | 'audience'>

/** Reads `scope` and `resource`. */
export function requestedReach(get: AuthorizationParameters['get'], own: ServiceAddresses): Reach | OAuthError {
  const audience = audienceOf(get('resource'), own)
  if (audience === null) return new OAuthError('invalid_target', 'resource is not served here')
  const offered = scopesOf(audience, own.baseUrl)
  const scope = parseScope(get('scope'), offered)
  if (scope === null) return new OAuthError('invalid_scope', `scope must contain ${offered.join(' or ')}`)
  return { scope, audience }
}

function challengeIn(get: AuthorizationParameters['get'], client: Client): string | null {
  const challenge = get('code_challenge')
  const method = get('code_challenge_method')
  if (challenge === undefined) {
    if (method !== undefined) throw new OAuthError('invalid_request', 'code_challenge is missing')
    if (isPublic(client)) throw new OAuthError('invalid_request', 'A public client must send code_challenge')
    return null
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthError('invalid_request', 'code_challenge must be 43 characters of base64url')
  }
  return challenge
}

/** Scopes of OpenID Connect, which clients send to every server. They name no resource here. */
const identityScopes: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
])

/**
 * Returns the offered scopes of a request. Default: all of them, also for a request that names only scopes of OpenID Connect.
 * Null for an invalid string, or without a known scope. Unknown scopes are ignored beside known ones. The response and the
 * consent page name what is granted (RFC 6749 section 3.3).
 */
export function parseScope(text: string | undefined, offered: readonly string[]): string | null {
  if (text === undefined) return offered.join(' ')
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text)) return null
  const asked = new Set(text.split(' '))
  const known = asked.intersection(new Set(offered))
  if (known.size > 0) return [...known].join(' ')
  return asked.isDisjointFrom(identityScopes) || !asked.isDisjointFrom(new Set(scopes)) ? null : offered.join(' ')
}

/** Returns the scope of a token request. Null for an invalid or empty one: a scope has one token or more (RFC 6749, 3.3). */
export function scopeIn(
  { get, has }: { readonly get: (name: string) => string | undefined; readonly has: (name: string) => boolean },
  offered: readonly string[] = scopes,
): string | null {
  return has('scope') && get('scope') === undefined ? null : parseScope(get('scope'), offered)
}
