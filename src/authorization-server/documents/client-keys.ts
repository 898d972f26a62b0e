/** The public keys of clients that sign assertions (RFC 7591 section 2: `jwks` and `jwks_uri`). */
import type { createLocalJWKSet, JSONWebKeySet, JWTHeaderParameters } from 'jose'
import type { PeerClient } from '../../peer/peer-client.ts'
import type { Client, ClientMetadata } from '../client.ts'
import { OAuthError } from '../oauth-error.ts'
import { FetchedDocuments } from './fetched-documents.ts'

const maxBytes = 65_536
const maxKeys = 20
/** Minimum interval between fetches for unknown keys. It limits the fetches that a client causes with invented key ids. */
const leastMs = 5000

type KeySet = ReturnType<typeof createLocalJWKSet>

export class ClientKeys {
  readonly #documents: FetchedDocuments<KeySet>

  constructor(client: PeerClient, now: () => number) {
    this.#documents = new FetchedDocuments({
      client,
      now,
      maxBytes,
      read: (_, document) => keySet(document),
      unusable,
    })
  }

  /**
   * Finds the key that a token names.
   *
   * @throws JOSEError when the client has no such key; OAuthError `invalid_client` when its keys cannot be fetched.
   */
  async find({ metadata }: Pick<Client, 'metadata'>, header: JWTHeaderParameters): ReturnType<KeySet> {
    const { errors } = await import('jose')
    if (metadata.jwks !== undefined) return (await keySet(metadata.jwks))(header)
    if (metadata.jwks_uri === undefined) throw new errors.JWKSNoMatchingKey('The client has no keys')
    const cached = await this.#documents.find(metadata.jwks_uri)
    try {
      return await cached(header)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return (await this.#documents.newer(metadata.jwks_uri, leastMs))(header)
    }
  }
}

/** Reads where a client publishes its keys. Empty: it has none that can be used. */
export function keysIn(fields: { readonly [member: string]: unknown }): Pick<ClientMetadata, 'jwks' | 'jwks_uri'> {
  const { jwks, jwks_uri: address } = fields
  if (isKeySet(jwks)) return { jwks }
  const url = typeof address === 'string' ? URL.parse(address) : null
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === ''
    ? { jwks_uri: url.href }
    : {}
}

/** A set of public keys. A shared secret is not one, and a private key must never be published. */
function isKeySet(value: unknown): value is JSONWebKeySet {
  const { keys } = (value ?? {}) as { readonly keys?: unknown }
  return Array.isArray(keys) && keys.length > 0 && keys.length <= maxKeys && keys.every(isPublicKey)
}

function isPublicKey(key: unknown): boolean {
  return typeof key === 'object' && key !== null && !('d' in key) && !('k' in key) && 'kty' in key
}

async function keySet(document: unknown): Promise<KeySet> {
  const { createLocalJWKSet } = await import('jose')
  if (!isKeySet(document)) throw unusable('it has no public keys')
  return createLocalJWKSet(document)
}

function unusable(why: string): OAuthError {
  return new OAuthError('invalid_client', `Cannot use the key set of the client: ${why}`)
}
