/** Clients whose id is the URL of a document about them (OAuth Client ID Metadata Document). */
import type { PeerClient } from '../../peer/peer-client.ts'
import { isReservedName } from '../../trust/names/reserved-names.ts'
import { type AuthMethod, cleanName, type Client, type ClientMetadata, systemActorId } from '../client.ts'
import { OAuthError } from '../oauth-error.ts'
import { parseRedirectUri } from '../redirect-uri.ts'
import { keysIn } from './client-keys.ts'
import { FetchedDocuments } from './fetched-documents.ts'

const maxBytes = 5120
const maxRedirects = 20

export class MetadataDocuments {
  readonly #documents: FetchedDocuments<Client>

  constructor(client: PeerClient, now: () => number) {
    const read = (clientId: string, document: unknown): Client => toClient(clientId, document, now())
    this.#documents = new FetchedDocuments({ client, now, maxBytes, read, unusable })
  }

  /** Finds the client. @throws OAuthError `invalid_request` without a valid document; the failure is not cached. */
  async find(clientId: string): Promise<Client> {
    if (!isClientAddress(clientId)) throw unusable('its URL is not a valid client id')
    return this.#documents.find(clientId)
  }
}

/** Accepts https URLs with a path, in normalized form, so that no document has two client ids. */
export function isClientAddress(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    url.username === '' &&
    url.password === '' &&
    !text.includes('#') &&
    !/(?:^|\/)(?:\.|%2e){1,2}(?:[/?]|$)/i.test(text.slice('https://'.length)) &&
    url.href === text
  )
}

function toClient(clientId: string, document: unknown, now: number): Client {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw unusable('it must be an object')
  const fields = document as { readonly [member: string]: unknown }
  if (fields['client_id'] !== clientId) throw unusable('its client_id differs from its URL')
  if ('client_secret' in fields) throw unusable('the client must be public')
  const keys = keysIn(fields)
  return {
    clientId,
    ownerId: systemActorId,
    name: nameIn(fields, clientId),
    secretHash: null,
    authMethod: authMethodIn(fields, keys),
    redirectUris: redirectsIn(fields['redirect_uris']),
    grantTypes: ['authorization_code', 'refresh_token'],
    trustType: 'mcp_client',
    metadata: { ...metadataOf(fields), ...keys },
    createdAt: now,
    lastUsedAt: null,
    expiresAt: null,
    until: null,
  }
}

function nameIn(fields: { readonly [member: string]: unknown }, clientId: string): string {
  const { client_name: given = new URL(clientId).host } = fields
  const name = typeof given === 'string' ? cleanName(given) : ''
  if (name === '') throw unusable('client_name is not printable')
  if (isReservedName(name)) throw unusable('client_name is reserved for the owner, the operators and this service')
  return name
}

/**
 * A document may prefer one method and list all that the client can use, as that of ChatGPT does. A client that can be public
 * is public, and its assertions are accepted, too.
 */
function authMethodIn(fields: { readonly [member: string]: unknown }, keys: Pick<ClientMetadata, 'jwks'>): AuthMethod {
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_methods_supported: listed } = fields
  const others: readonly unknown[] = Array.isArray(listed) ? listed : []
  const methods = preferred === undefined ? others : [preferred, ...others]
  if (methods.length === 0 || methods.includes('none')) return 'none'
  if (methods.includes('private_key_jwt') && Object.keys(keys).length > 0) return 'private_key_jwt'
  throw unusable('the client must be public, or use private_key_jwt with jwks or jwks_uri')
}

/** The URIs that a client may use. One that may not be registered does not make the others useless. */
function redirectsIn(uris: unknown): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > maxRedirects)
    throw unusable(`redirect_uris must be a list of 1 to ${maxRedirects} URLs`)
  const usable = uris.filter((uri): uri is string => typeof uri === 'string' && parseRedirectUri(uri) !== null)
  if (usable.length === 0) throw unusable('no redirect URI is allowed')
  return usable
}

function metadataOf(fields: { readonly [member: string]: unknown }): ClientMetadata {
  const uri = fields['client_uri']
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url !== null && url.protocol === 'https:' ? { client_uri: url.href } : {}
}

function unusable(why: string): OAuthError {
  return new OAuthError('invalid_request', `Cannot use the client metadata document: ${why}`)
}
