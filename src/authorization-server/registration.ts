/** What a program asks for when it registers itself (RFC 7591 section 2), judged. */
import type { Json } from '../json/json.ts'
import { type AuthMethod, authMethods, cleanName, type ClientMetadata, type GrantType, grantTypes } from './client.ts'
import { OAuthError } from './oauth-error.ts'
import { parseRedirectUri } from './redirect-uri.ts'

export interface Registration {
  readonly name: string
  readonly authMethod: AuthMethod
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly GrantType[]
  readonly trustType: string
  readonly metadata: ClientMetadata
}

const mostRedirects = 20
/** Of all that a client says of itself, in characters: strangers fill the store with it. */
const mostKept = 8192
const addresses = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri'] as const
const texts = ['software_id', 'software_version', 'application_type'] as const
const longestText = 2048

const optionalString = { type: ['string', 'null'] }
const optionalAddress = { type: ['string', 'null'], format: 'uri' }

/** What `readRegistration` reads (RFC 7591 section 2). */
export const registrationSchema = {
  type: 'object',
  required: ['client_name'],
  properties: {
    client_name: { type: 'string', description: 'Shown to the owner' },
    redirect_uris: { type: ['array', 'null'], maxItems: mostRedirects, items: { type: 'string' } },
    grant_types: { type: ['array', 'null'], items: { type: 'string' } },
    token_endpoint_auth_method: { ...optionalString, enum: [...authMethods, null] },
    trust_type: optionalString,
    ...Object.fromEntries(addresses.map((name) => [name, optionalAddress])),
    ...Object.fromEntries(texts.map((name) => [name, {}])),
  },
}

/**
 * Members that are the service's to decide are ignored; nothing is fetched.
 *
 * @param offered The trust types that a client may ask for.
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri`
 */
export function readRegistration(body: Json, offered: readonly string[]): Registration {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OAuthError('invalid_client_metadata', 'The registration has to be a JSON object')
  }
  const fields = body as { readonly [member: string]: Json | undefined }
  const given = fields['client_name']
  const name = typeof given === 'string' ? cleanName(given) : ''
  if (name === '') throw new OAuthError('invalid_client_metadata', 'client_name has to be a name that can be shown')
  const grants = grantTypesIn(fields['grant_types'])
  const registration: Registration = {
    name,
    authMethod: authMethodIn(fields['token_endpoint_auth_method']),
    redirectUris: redirectsIn(fields['redirect_uris'], grants.includes('authorization_code')),
    grantTypes: grants,
    trustType: trustTypeIn(fields['trust_type'], offered),
    metadata: metadataIn(fields),
  }
  if (JSON.stringify(registration).length > mostKept)
    throw new OAuthError('invalid_client_metadata', 'The registration is too long to be kept')
  return registration
}

function authMethodIn(value: Json | undefined): AuthMethod {
  if (value === undefined || value === null) return 'client_secret_post'
  const method = authMethods.find((known) => known === value)
  if (method === undefined) {
    throw new OAuthError('invalid_client_metadata', `token_endpoint_auth_method is one of ${authMethods.join(', ')}`)
  }
  return method
}

function grantTypesIn(value: Json | undefined): readonly GrantType[] {
  if (value === undefined || value === null) return ['authorization_code', 'refresh_token']
  if (!Array.isArray(value) || value.some((each) => typeof each !== 'string')) {
    throw new OAuthError('invalid_client_metadata', 'grant_types has to be a list of names')
  }
  const known = grantTypes.filter((grant) => value.includes(grant))
  if (known.length === 0) throw new OAuthError('invalid_client_metadata', `grant_types are ${grantTypes.join(', ')}`)
  return known
}

function redirectsIn(value: Json | undefined, isNeeded: boolean): readonly string[] {
  if (value === undefined || value === null) {
    if (!isNeeded) return []
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris has to name where the owner is sent back to')
  }
  if (!Array.isArray(value) || value.length > mostRedirects || (isNeeded && value.length === 0)) {
    throw new OAuthError('invalid_redirect_uri', `redirect_uris has to be a list of 1 to ${mostRedirects} addresses`)
  }
  return value.map((uri, index) => {
    if (typeof uri !== 'string' || parseRedirectUri(uri) === null) {
      throw new OAuthError(
        'invalid_redirect_uri',
        `redirect_uris[${index}] has to be an https address, one of this machine, or one of an application's own scheme`,
      )
    }
    return uri
  })
}

function trustTypeIn(value: Json | undefined, offered: readonly string[]): string {
  if (value === undefined || value === null) return 'mcp_client'
  if (typeof value !== 'string' || !offered.includes(value)) {
    throw new OAuthError('invalid_client_metadata', 'trust_type is none that a client may ask for')
  }
  return value
}

function metadataIn(fields: { readonly [member: string]: Json | undefined }): ClientMetadata {
  const found: Record<string, string> = {}
  for (const name of addresses) {
    const value = fields[name]
    if (value === undefined || value === null) continue
    const url = typeof value === 'string' && value.length <= longestText ? URL.parse(value) : null
    if (url === null || !['http:', 'https:'].includes(url.protocol)) {
      throw new OAuthError('invalid_client_metadata', `${name} has to be an http or https address`)
    }
    if (name !== 'jwks_uri') found[name] = url.href
  }
  for (const name of texts) {
    const value = fields[name]
    if (typeof value === 'string') found[name] = cleanName(value)
  }
  return found
}
