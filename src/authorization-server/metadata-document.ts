/**
 * Clients that are known by the address of a document about them (OAuth Client ID Metadata Document). The address is
 * somebody else's choice, so it is fetched by the guarded client, bounded, and what cannot be used is not kept.
 */
import { defaultMaxDepth, normalise, toPlain } from '../json/json.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { cleanName, type Client, type ClientMetadata, systemActorId } from './client.ts'
import { OAuthError } from './oauth-error.ts'
import { parseRedirectUri } from './redirect-uri.ts'

const mostBytes = 5120
const mostRedirects = 20
const mostKept = 500
const timeouts = { connectSeconds: 5, readSeconds: 5 }

/** How long a document is kept, whatever its answer says. A consent and the tokens that follow it see the same one. */
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
  /** Whoever asks meanwhile waits for the same answer: nobody is made to ask somebody else many times at once. */
  readonly #asked = new Map<string, Promise<Kept>>()

  constructor(client: PeerClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  /** @throws OAuthError `invalid_request` when there is none, or none that can be used; that is not remembered. */
  async find(clientId: string): Promise<Client> {
    const kept = this.#kept.get(clientId)
    if (kept !== undefined && kept.until > this.#now()) return kept.client
    if (!isClientAddress(clientId)) throw unusable('its address is none that a client may have')
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
    // The oldest goes, so that a flood of others costs one fetch each and no more.
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
      return { document: toPlain(normalise(outcome.body, defaultMaxDepth)), headers: outcome.headers }
    } catch {
      throw unusable('it is not JSON')
    }
  }
}

/** What the answer allows (RFC 9111 section 5.2.2), within the bounds. */
function freshSeconds(headers: Readonly<Record<string, string>>): number {
  const control = headers['cache-control']?.toLowerCase() ?? ''
  if (/(?:^|,)\s*no-(?:store|cache)\b/.test(control)) return keptSeconds.least
  const [, age] = /(?:^|,)\s*max-age="?(\d{1,9})/.exec(control) ?? []
  if (age === undefined) return keptSeconds.unsaid
  return Math.min(Math.max(Number(age), keptSeconds.least), keptSeconds.most)
}

/** https, with a path, without anything that lets one document have two addresses. */
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
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw unusable('it is no object')
  const fields = document as { readonly [member: string]: unknown }
  if (fields['client_id'] !== clientId) throw unusable('it is about another client')
  const name = typeof fields['client_name'] === 'string' ? cleanName(fields['client_name']) : ''
  if (name === '') throw unusable('it names no client')
  const method = fields['token_endpoint_auth_method'] ?? 'none'
  if (method !== 'none' || 'client_secret' in fields) throw unusable('a client of this kind is public')
  const uris = fields['redirect_uris']
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > mostRedirects) throw unusable('it names no redirect')
  const redirectUris = uris.map((uri: unknown) => {
    if (typeof uri !== 'string' || parseRedirectUri(uri) === null) throw unusable('it names a redirect that may not be')
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
  }
}

function metadataOf(fields: { readonly [member: string]: unknown }): ClientMetadata {
  const uri = fields['client_uri']
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url !== null && url.protocol === 'https:' ? { client_uri: url.href } : {}
}

function unusable(why: string): OAuthError {
  return new OAuthError('invalid_request', `The document about the client cannot be used: ${why}`)
}
