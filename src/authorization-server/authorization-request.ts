/** A request at the authorization endpoint (RFC 6749 section 4.1.1, RFC 7636, RFC 8707), judged before anybody is asked. */
import { type Client, isPublic } from './client.ts'
import { OAuthError } from './oauth-error.ts'
import { matchesRedirect } from './redirect-uri.ts'

/** One value of each; `repeated` names a parameter that came twice. */
export interface AuthorizationParameters {
  readonly get: (name: string) => string | undefined
  readonly repeated: string | null
}

/** What the owner is asked to agree to, and what comes of it. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  /** Byte for byte as it came; null without one. */
  readonly state: string | null
  readonly scope: string
  /** S256; null for a confidential client that sent none. */
  readonly codeChallenge: string | null
  /** What the tokens are good for; empty when the client named nothing. */
  readonly audience: string
}

export type Judged =
  | { readonly kind: 'good'; readonly request: AuthorizationRequest }
  /** Client and redirect are proven good, so the client is told. */
  | {
      readonly kind: 'redirect'
      readonly redirectUri: string
      readonly state: string | null
      readonly error: OAuthError
    }

export const scopes: readonly string[] = ['mcp']

const longest = 2048

/**
 * @param resources Names that the service has as a resource, without a slash at the end.
 * @throws OAuthError for what is told on a page of the service, because nobody else may be believed: an unknown client, an
 *   address that is not the client's, a parameter that came twice, and everything about PKCE (CHOICE-60).
 */
export function judgeAuthorization(
  parameters: AuthorizationParameters,
  client: Client | null,
  resources: readonly string[],
): Judged {
  const { get, repeated } = parameters
  if (repeated !== null) throw new OAuthError('invalid_request', `${repeated} is given twice`)
  if (client === null) throw new OAuthError('invalid_request', 'The client is not known here')
  const redirectUri = get('redirect_uri') ?? ''
  if (!client.redirectUris.some((registered) => matchesRedirect(registered, redirectUri))) {
    throw new OAuthError('invalid_request', 'redirect_uri is none that the client registered')
  }
  const state = get('state') ?? null
  // What is no text cannot come back byte for byte.
  if (state?.includes('\ufffd') === true) throw new OAuthError('invalid_request', 'state is not in UTF-8')
  const codeChallenge = challengeIn(get, client)
  const access = requestedAccess(get, resources)
  if (access instanceof OAuthError) return { kind: 'redirect', redirectUri, state, error: access }
  return { kind: 'good', request: { clientId: client.clientId, redirectUri, state, codeChallenge, ...access } }
}

/** The scope and the audience that the client requests, or the error that it receives at its redirect URI. */
function requestedAccess(
  get: AuthorizationParameters['get'],
  resources: readonly string[],
): Pick<AuthorizationRequest, 'scope' | 'audience'> | OAuthError {
  for (const name of ['request', 'request_uri']) {
    if (get(name) !== undefined) return new OAuthError('invalid_request', `${name} is not supported`)
  }
  if ((get('response_mode') ?? 'query') !== 'query') {
    return new OAuthError('invalid_request', 'response_mode has to be query')
  }
  if (get('response_type') !== 'code') {
    return new OAuthError('unsupported_response_type', 'response_type has to be code')
  }
  if ((get('state') ?? '').length > longest) return new OAuthError('invalid_request', 'state is too long')
  const scope = parseScope(get('scope'))
  if (scope === null) return new OAuthError('invalid_scope', `The scope is ${scopes.join(' ')}`)
  const audience = audienceOf(get('resource'), resources)
  if (audience === null) return new OAuthError('invalid_target', 'resource is not served here')
  return { scope, audience }
}

function challengeIn(get: AuthorizationParameters['get'], client: Client): string | null {
  const challenge = get('code_challenge')
  const method = get('code_challenge_method')
  if (challenge === undefined) {
    if (method !== undefined) throw new OAuthError('invalid_request', 'code_challenge is missing')
    if (isPublic(client)) throw new OAuthError('invalid_request', 'A public client has to send code_challenge')
    return null
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method has to be S256')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthError('invalid_request', 'code_challenge has to be 43 characters of base64url')
  }
  return challenge
}

/**
 * Scopes that are served, `mcp` when none is named; null for a text outside of the grammar or with a scope that is not.
 * Clients ask for what they know from elsewhere (`offline_access`, `openid`); that is left out.
 */
export function parseScope(text: string | undefined): string | null {
  if (text === undefined) return scopes.join(' ')
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text)) return null
  const known = new Set(text.split(' ')).intersection(new Set(scopes))
  return known.size === 0 ? null : [...known].join(' ')
}

/** Of a request for tokens. To ask for nothing is no scope (RFC 6749 section 3.3); null for that too. */
export function scopeIn({
  get,
  has,
}: {
  readonly get: (name: string) => string | undefined
  readonly has: (name: string) => boolean
}): string | null {
  return has('scope') && get('scope') === undefined ? null : parseScope(get('scope'))
}

/** RFC 8707: an absolute address without a fragment, of this service. Empty for none; null for another. */
export function audienceOf(resource: string | undefined, resources: readonly string[]): string | null {
  if (resource === undefined) return ''
  const url = URL.parse(resource)
  if (url === null || resource.includes('#') || !/^https?:$/.test(url.protocol)) return null
  const canonical = url.href.replace(/\/$/, '')
  return resources.find((known) => known === canonical) ?? null
}
