/** Reads the parameters and the client credentials of a token request. */
import type { AuthMethod } from './client.ts'
import type { PresentedClient } from './clients.ts'
import { OAuthError } from './oauth-error.ts'

export interface TokenParameters {
  /** Returns a parameter. An empty value counts as absent (RFC 6749 section 3.2). */
  readonly get: (name: string) => string | undefined
  /** Returns whether the parameter was sent, even if it is empty. */
  readonly has: (name: string) => boolean
  /** Name of a parameter that was sent twice. */
  readonly repeated: string | null
}

/**
 * Reads the client credentials from the header or the body.
 *
 * @param authorization The `Authorization` header, if present.
 * @throws OAuthError `invalid_request` for two secrets or two client ids, `invalid_client` for missing
 *   credentials or a malformed header.
 */
export function readClientCredentials(parameters: TokenParameters, authorization: string | undefined): PresentedClient {
  const { get, repeated } = parameters
  if (repeated !== null) throw new OAuthError('invalid_request', `${repeated} is given twice`)
  const inBody = { clientId: get('client_id'), secret: get('client_secret') }
  const assertion = get('client_assertion')
  if (assertion !== undefined) {
    if (inBody.secret !== undefined || authorization !== undefined)
      throw new OAuthError('invalid_request', 'The client authenticates in two ways')
    return asserted(assertion, get('client_assertion_type'), inBody.clientId)
  }
  if (authorization === undefined) {
    if (inBody.clientId === undefined) throw new OAuthError('invalid_client', 'client_id is missing')
    const method: AuthMethod = inBody.secret === undefined ? 'none' : 'client_secret_post'
    return { clientId: inBody.clientId, secret: inBody.secret ?? null, method }
  }
  const basic = readBasic(authorization)
  if (basic === null) throw new OAuthError('invalid_client', 'The Authorization header is malformed')
  // Postman and requests-oauthlib send the same credentials twice.
  if (inBody.secret !== undefined && inBody.secret !== basic.secret)
    throw new OAuthError('invalid_request', 'The secret is given in two places')
  if (inBody.clientId !== undefined && inBody.clientId !== basic.clientId) {
    throw new OAuthError('invalid_request', 'client_id differs from the Authorization header')
  }
  // Go and requests-oauthlib send the header for public clients, too. An empty secret authenticates nothing.
  if (basic.secret === '') return { clientId: basic.clientId, secret: null, method: 'none' }
  return { ...basic, method: 'client_secret_basic' }
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The client of an assertion is its subject, which the request may repeat (RFC 7523 section 3). */
function asserted(assertion: string, type: string | undefined, clientId: string | undefined): PresentedClient {
  if (type !== assertionType) throw new OAuthError('invalid_request', `client_assertion_type must be ${assertionType}`)
  const subject = subjectOf(assertion)
  if (subject === null) throw new OAuthError('invalid_client', 'client_assertion is not a JWT with a subject')
  if (clientId !== undefined && clientId !== subject)
    throw new OAuthError('invalid_request', 'client_id differs from the subject of the assertion')
  return { clientId: subject, secret: assertion, method: 'private_key_jwt' }
}

/** The subject that a JWT claims. Its signature is not verified. Null: none. */
function subjectOf(jwt: string): string | null {
  try {
    const claims: unknown = JSON.parse(utf8.decode(Buffer.from(jwt.split('.', 2)[1] ?? '', 'base64url')))
    const subject = typeof claims === 'object' && claims !== null && 'sub' in claims ? claims.sub : null
    return typeof subject === 'string' && subject !== '' ? subject : null
  } catch {
    return null
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses Basic credentials, whose two parts are form-encoded (RFC 6749 section 2.3.1). */
function readBasic(authorization: string): { readonly clientId: string; readonly secret: string } | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization) ?? []
  if (encoded === undefined) return null
  try {
    const text = utf8.decode(Buffer.from(encoded, 'base64'))
    const colon = text.indexOf(':')
    if (colon < 0) return null
    const clientId = formDecoded(text.slice(0, colon))
    return clientId === '' ? null : { clientId, secret: formDecoded(text.slice(colon + 1)) }
  } catch {
    return null
  }
}

/** @throws URIError for a bad escape. */
function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
