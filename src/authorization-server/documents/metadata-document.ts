/**
 * Clients whose id is the URL of a document about them (OAuth Client ID Metadata Document). Strangers choose the URL, so
 * the guarded HTTP client fetches it with limits, and invalid documents are not cached.
 */
import { defaultMaxDepth, normalize, toPlain } from '../../json/json.ts'
import type { PeerClient } from '../../peer/peer-client.ts'
import { isReservedName } from '../../trust/names/reserved-names.ts'
import { cleanName, type Client, type ClientMetadata, systemActorId } from '../client.ts'
import { OAuthError } from '../oauth-error.ts'
import { parseRedirectUri } from '../redirect-uri.ts'

const mostBytes = 5120
const mostRedirects = 20
const mostKept = 500
const timeouts = { connectSeconds: 5, readSeconds: 5 }

/** Cache times in seconds: default, minimum, maximum. A consent and the token request after it see the same document. */
const keptSeconds = { unsaid: 300, least: 60, most: 86_400 }

interface Kept {
  readonly client: Client
  /** Unix milliseconds. */
  readonly until: number
}

export class MetadataDocuments {
  readonly #client: PeerClient
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()
  /** Running fetches. Concurrent callers share one, so that strangers cannot cause many requests to a third party. */
  readonly #asked = new Map<string, Promise<Kept>>()

  constructor(client: PeerClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  /** Finds the client. @throws OAuthError `invalid_request` without a valid document; the failure is not cached. */
  async find(clientId: string): Promise<Client> {
    const kept = this.#kept.get(clientId)
    if (kept !== undefined && kept.until > this.#now()) return kept.client
    if (!isClientAddress(clientId)) throw unusable('its URL is not a valid client id')
    const asked = this.#asked.get(clientId) ?? this.#ask(clientId)
    this.#asked.set(clientId, asked)
    try {
      return (await asked).client
    } finally {
      this.#asked.delete(clientId)
    }
  }

  async #ask(clientId: string): Promise<Kept> {
    const { document, headers } = await this.#fetch(clientId)
    const now = this.#now()
    const kept = { client: toClient(clientId, document, now), until: now + freshSeconds(headers) * 1000 }
    // The oldest entry is deleted, so the cache stays bounded and an evicted document costs one more fetch.
    this.#kept.delete(clientId)
    for (const [oldest] of this.#kept) {
      if (this.#kept.size < mostKept) break
      this.#kept.delete(oldest)
    }
    this.#kept.set(clientId, kept)
    return kept
  }

  async #fetch(url: string): Promise<{ document: unknown; headers: Readonly<Record<string, string>> }> {
    const outcome = await this.#client.call({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      maxAnswerBytes: mostBytes,
      timeouts,
    })
    if (outcome.kind !== 'answered' || outcome.status !== 200) throw unusable('it cannot be fetched')
    try {
      return { document: toPlain(normalize(outcome.body, defaultMaxDepth)), headers: outcome.headers }
    } catch {
      throw unusable('it is not JSON')
    }
  }
}

/** Returns the freshness lifetime of the response in seconds (RFC 9111 section 5.2.2), within `keptSeconds`. */
function freshSeconds(headers: Readonly<Record<string, string>>): number {
  const control = headers['cache-control']?.toLowerCase() ?? ''
  if (/(?:^|,)\s*no-(?:store|cache)\b/.test(control)) return keptSeconds.least
  const [, age] = /(?:^|,)\s*max-age="?(\d{1,9})/.exec(control) ?? []
  if (age === undefined) return keptSeconds.unsaid
  return Math.min(Math.max(Number(age), keptSeconds.least), keptSeconds.most)
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
  const name = typeof fields['client_name'] === 'string' ? cleanName(fields['client_name']) : ''
  if (name === '') throw unusable('client_name is missing or not printable')
  if (isReservedName(name)) throw unusable('client_name is reserved for the owner, the operators and this service')
  const method = fields['token_endpoint_auth_method'] ?? 'none'
  if (method !== 'none' || 'client_secret' in fields) throw unusable('the client must be public')
  const uris = fields['redirect_uris']
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > mostRedirects)
    throw unusable(`redirect_uris must be a list of 1 to ${mostRedirects} URLs`)
  const redirectUris = uris.map((uri: unknown) => {
    if (typeof uri !== 'string' || parseRedirectUri(uri) === null) throw unusable('a redirect URI is not allowed')
    return uri
  })
  return {
    clientId,
    ownerId: systemActorId,
    name,
    secretHash: null,
    authMethod: 'none',
    redirectUris,
    grantTypes: ['authorization_code', 'refresh_token'],
    trustType: 'mcp_client',
    metadata: metadataOf(fields),
    createdAt: now,
    lastUsedAt: null,
    expiresAt: null,
    until: null,
  }
}

function metadataOf(fields: { readonly [member: string]: unknown }): ClientMetadata {
  const uri = fields['client_uri']
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url !== null && url.protocol === 'https:' ? { client_uri: url.href } : {}
}

function unusable(why: string): OAuthError {
  return new OAuthError('invalid_request', `Cannot use the client metadata document: ${why}`)
}
