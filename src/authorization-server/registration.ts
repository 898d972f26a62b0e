/** Validates the registration request of a client (RFC 7591 section 2). */
import type { Json } from '../json/json.ts'
import { type AuthMethod, authMethods, cleanName, type ClientMetadata, type GrantType, grantTypes } from './client.ts'
import { isReservedName } from '../trust/names/reserved-names.ts'
import { OAuthError } from './oauth-error.ts'
import { parseRedirectUri, placeOf } from './redirect-uri.ts'
import { keysIn } from './documents/client-keys.ts'

export interface Registration {
  readonly name: string
  readonly authMethod: AuthMethod
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly GrantType[]
  readonly trustType: string
  readonly metadata: ClientMetadata
}

const maxRedirects = 20
/** Maximum length of a registration in characters, because strangers can register clients. */
const maxKept = 8192
const addresses = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri'] as const
const texts = ['software_id', 'software_version', 'application_type'] as const
const longestText = 2048

const optionalString = { type: ['string', 'null'] }
const optionalAddress = { type: ['string', 'null'], format: 'uri' }

/** JSON Schema of the body that `readRegistration` reads (RFC 7591 section 2). */
export const registrationSchema = {
  type: 'object',
  properties: {
    client_name: { ...optionalString, description: 'Shown to the owner. Default: the host of the first redirect URI' },
    redirect_uris: { type: ['array', 'null'], maxItems: maxRedirects, items: { type: 'string' } },
    grant_types: { type: ['array', 'null'], items: { type: 'string' } },
    token_endpoint_auth_method: { ...optionalString, enum: [...authMethods, null] },
    trust_type: optionalString,
    jwks: { type: ['object', 'null'] },
    ...Object.fromEntries(addresses.map((name) => [name, optionalAddress])),
    ...Object.fromEntries(texts.map((name) => [name, {}])),
  },
}

/**
 * Reads a registration. Ignores members that the service decides, and fetches no URL.
 *
 * @param offered The trust types that a client may request.
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri`
 */
export function readRegistration(body: Json, offered: readonly string[]): Registration {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OAuthError('invalid_client_metadata', 'The registration must be a JSON object')
  }
  const fields = body as { readonly [member: string]: Json | undefined }
  const grants = grantTypesIn(fields['grant_types'])
  const redirectUris = redirectsIn(fields['redirect_uris'], grants.includes('authorization_code'))
  const authMethod = authMethodIn(fields['token_endpoint_auth_method'])
  const registration: Registration = {
    name: nameIn(fields['client_name'], redirectUris),
    authMethod,
    redirectUris,
    grantTypes: grants,
    trustType: trustTypeIn(fields['trust_type'], offered),
    metadata: { ...metadataIn(fields), ...(authMethod === 'private_key_jwt' ? requiredKeys(fields) : {}) },
  }
  if (JSON.stringify(registration).length > maxKept)
    throw new OAuthError(
      'invalid_client_metadata',
      `The registration is too long: the maximum is ${maxKept} characters`,
    )
  return registration
}

/** The name is optional (RFC 7591 section 2), and the connector of Claude sends none. The owner then sees where the code goes. */
function nameIn(given: Json | undefined, redirectUris: readonly string[]): string {
  const isMissing = given === undefined || given === null
  const text = isMissing ? placeOf(redirectUris[0] ?? '') : given
  const name = typeof text === 'string' ? cleanName(text) : ''
  if (name === '') throw new OAuthError('invalid_client_metadata', 'client_name must contain printable characters')
  if (isReservedName(name))
    throw new OAuthError(
      'invalid_client_metadata',
      'client_name is reserved for the owner, the operators and this service: choose the name of the client',
    )
  return name
}

function requiredKeys(fields: { readonly [member: string]: Json | undefined }): ReturnType<typeof keysIn> {
  const keys = keysIn(fields)
  if (Object.keys(keys).length === 0) {
    throw new OAuthError(
      'invalid_client_metadata',
      'private_key_jwt requires public keys: send jwks, or an https URL as jwks_uri',
    )
  }
  return keys
}

function authMethodIn(value: Json | undefined): AuthMethod {
  if (value === undefined || value === null) return 'client_secret_post'
  const method = authMethods.find((known) => known === value)
  if (method === undefined) {
    throw new OAuthError(
      'invalid_client_metadata',
      `token_endpoint_auth_method must be one of ${authMethods.join(', ')}`,
    )
  }
  return method
}

function grantTypesIn(value: Json | undefined): readonly GrantType[] {
  if (value === undefined || value === null) return ['authorization_code', 'refresh_token']
  if (!Array.isArray(value) || value.some((each) => typeof each !== 'string')) {
    throw new OAuthError('invalid_client_metadata', 'grant_types must be a list of strings')
  }
  const known = grantTypes.filter((grant) => value.includes(grant))
  if (known.length === 0)
    throw new OAuthError('invalid_client_metadata', `grant_types must contain one of ${grantTypes.join(', ')}`)
  return known
}

function redirectsIn(value: Json | undefined, isNeeded: boolean): readonly string[] {
  if (value === undefined || value === null) {
    if (!isNeeded) return []
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris is missing: authorization_code requires it')
  }
  if (!Array.isArray(value) || value.length > maxRedirects || (isNeeded && value.length === 0)) {
    throw new OAuthError('invalid_redirect_uri', `redirect_uris must be a list of 1 to ${maxRedirects} URLs`)
  }
  // The response lists what was registered. One URI that cannot be used does not make the others useless.
  const usable = value.filter((uri): uri is string => typeof uri === 'string' && parseRedirectUri(uri) !== null)
  if (value.length > 0 && usable.length === 0) {
    throw new OAuthError(
      'invalid_redirect_uri',
      'Each of redirect_uris must be an https URL, a loopback URL, or a URL with an application-defined scheme',
    )
  }
  return usable
}

function trustTypeIn(value: Json | undefined, offered: readonly string[]): string {
  if (value === undefined || value === null) return 'mcp_client'
  if (typeof value !== 'string' || !offered.includes(value)) {
    throw new OAuthError('invalid_client_metadata', 'trust_type is not available to clients')
  }
  return value
}

function metadataIn(fields: { readonly [member: string]: Json | undefined }): ClientMetadata {
  const found: Record<string, string> = {}
  const { jwks = null } = fields
  if (typeof jwks !== 'object' || Array.isArray(jwks))
    throw new OAuthError('invalid_client_metadata', 'jwks must be a set of public keys')
  for (const name of addresses) {
    const value = fields[name]
    if (value === undefined || value === null || value === '') continue
    const url = typeof value === 'string' && value.length <= longestText ? URL.parse(value) : null
    if (url === null || !['http:', 'https:'].includes(url.protocol)) {
      throw new OAuthError('invalid_client_metadata', `${name} must be an http or https URL`)
    }
    if (name !== 'jwks_uri') found[name] = url.href
  }
  for (const name of texts) {
    const value = fields[name]
    if (typeof value === 'string') found[name] = cleanName(value)
  }
  return found
}
