/** Clients: self-registered, created by an application, or described by a metadata document. */
import { ensureSystemActor } from '../actor/system-actor.ts'
import { isReservedName } from '../trust/names/reserved-names.ts'
import type { ClientStats } from '../app/actor-handle.ts'
import { quoted, ServiceError } from '../errors.ts'
import { putOverride } from '../trust/override-store.ts'
import { futureTime } from '../permission/grants.ts'
import type { OverrideRules } from '../permission/rules.ts'
import { hashSecret, sameSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomToken } from '../secret/random.ts'
import type { Store, Transaction } from '../store/store.ts'
import {
  actsForItself,
  type AuthMethod,
  type Client,
  cleanName,
  hasEnded,
  hasSecret,
  type GrantType,
  isDocumented,
  isPublic,
  systemActorId,
  systemCreator,
} from './client.ts'
import {
  countClientsOf,
  findClient,
  findClients,
  findClientsOf,
  insertClient,
  setClientEnd,
  setClientSecret,
} from './client-store.ts'
import type { ClientEnds } from './client-ends.ts'
import { ensureClientTrust } from './client-trust.ts'
import type { ClientAssertions } from './client-assertion.ts'
import type { MetadataDocuments } from './documents/metadata-document.ts'
import { OAuthError } from './oauth-error.ts'
import { parseRedirectUri } from './redirect-uri.ts'
import type { Registration } from './registration.ts'

export interface ClientsDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly documents: MetadataDocuments
  readonly ends: ClientEnds
  readonly now: () => number
}

/** A new client with its secret, which is available only here. */
export interface NewClient {
  readonly client: Client
  readonly secret: string | null
}

/** Parameters for a client that an application creates. */
export interface WantedClient {
  readonly name: string
  /** Default: `mcp_client`. */
  readonly trustType?: string
  /** Default: none. Then the client acts only for its actor, by its secret. */
  readonly redirectUris?: readonly string[]
  /** End of the client's access. Default: no end. */
  readonly until?: Date
}

const dayMs = 86_400_000
/** Lifetime of a self-registered client that no owner authorizes. */
const unusedMs = 7 * dayMs
/** Lifetime of a self-registered client after its last use of client credentials. */
export const idleMs = 30 * dayMs

/** Rules for self-registered clients. They share one actor, so no client may read data that another one stored. */
const sharedRules: OverrideRules = {
  properties: { denied: ['*'] },
  resources: { denied: ['actingweb://properties/*'] },
}

export class Clients {
  readonly #deps: ClientsDeps

  constructor(deps: ClientsDeps) {
    this.#deps = deps
  }

  /** Finds a client by its id. Null also after its end. @throws OAuthError `invalid_request` for an invalid metadata document. */
  async find(clientId: string): Promise<Client | null> {
    if (isDocumented({ clientId })) return this.#deps.documents.find(clientId)
    if (!/^[\w-]{1,128}$/.test(clientId)) return null
    const client = await this.#deps.store.read((q) => findClient(q, clientId))
    const now = this.#deps.now()
    if (client === null || hasEnded(client, now)) return null
    return client.expiresAt !== null && client.expiresAt < now ? null : client
  }

  /** Finds the registered clients among the ids, by id. */
  async registered(clientIds: readonly string[]): Promise<ReadonlyMap<string, Client>> {
    const clients = await this.#deps.store.read((q) => findClients(q, clientIds))
    return new Map(clients.map((client) => [client.clientId, client]))
  }

  /** Registers a client at its own request. It belongs to the system actor, and expires unless an owner authorizes it. */
  async register(registration: Registration): Promise<NewClient> {
    await ensureSystemActor(this.#deps, systemActorId, systemCreator)
    return this.#insert(systemActorId, registration, { lifetimeMs: unusedMs, until: null })
  }

  /**
   * Creates a client for an actor at the application's request. The client may act for that actor.
   *
   * @throws ServiceError `invalid_value`, `bad_request` for an end that is not in the future, `actor_not_found`
   */
  create(actorId: string, wanted: WantedClient): Promise<NewClient> {
    const name = cleanName(wanted.name)
    if (name === '')
      throw new ServiceError('invalid_value', 'Cannot create a client: its name has no printable characters')
    if (isReservedName(name))
      throw new ServiceError('invalid_value', `Cannot create a client: the name ${quoted(name)} is reserved`)
    const refused = wanted.redirectUris?.find((uri) => parseRedirectUri(uri) === null)
    if (refused !== undefined) {
      throw new ServiceError('invalid_value', `Cannot create a client: the redirect URI ${refused} is not allowed`)
    }
    const until = wanted.until === undefined ? null : futureTime('create a client', wanted.until, this.#deps.now())
    const registration: Registration = {
      name,
      authMethod: 'client_secret_post',
      redirectUris: wanted.redirectUris ?? [],
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      trustType: wanted.trustType ?? 'mcp_client',
      metadata: {},
    }
    return this.#insert(actorId, registration, { lifetimeMs: null, until })
  }

  /** Deletes expired clients. */
  purge(tx: Transaction, now: number): Promise<void> {
    return this.#deps.ends.endUnused(tx, now)
  }

  async #insert(
    ownerId: string,
    registration: Registration,
    { lifetimeMs, until }: { readonly lifetimeMs: number | null; readonly until: number | null },
  ): Promise<NewClient> {
    const { store, now } = this.#deps
    const at = now()
    const secret = hasSecret(registration) ? randomToken(32) : null
    const client: Client = {
      ...registration,
      clientId: `mcp_${randomId()}`,
      ownerId,
      secretHash: secret === null ? null : hashSecret(secret),
      createdAt: at,
      lastUsedAt: null,
      expiresAt: lifetimeMs === null ? null : at + lifetimeMs,
      until,
    }
    const insert = async (tx: Transaction): Promise<void> => {
      if (!tx.isSharded) await this.purge(tx, at)
      await insertClient(tx, client)
    }
    if (!actsForItself(client)) await store.write(insert)
    else {
      await store.writeActor(ownerId, async (tx) => {
        await insert(tx)
        await this.#insertOwnTrust(tx, client)
      })
    }
    return { client, secret }
  }

  async #insertOwnTrust(tx: Transaction, client: Client): Promise<void> {
    const { ownerId: actorId, clientId: identifier, trustType: relationship, createdAt: now } = client
    const peerId = await ensureClientTrust(tx, this.#deps.keyRing, client, {
      actorId,
      identifier,
      relationship,
      redirectUri: '',
      now,
    })
    if (actorId !== systemActorId) return
    await putOverride(tx, actorId, peerId, {
      rules: sharedRules,
      createdBy: systemCreator,
      notes: 'The actor is shared with every program that registers itself',
      updatedAt: now,
    })
  }

  /** Lists the clients of an actor, newest first. */
  list(actorId: string): Promise<Client[]> {
    return this.#deps.store.read((q) => findClientsOf(q, actorId))
  }

  /** Replaces the secret. Null when the client does not belong to the actor, or is public. */
  async rotateSecret(actorId: string, clientId: string): Promise<string | null> {
    const secret = randomToken(32)
    const changed = await this.#deps.store.write((tx) => setClientSecret(tx, actorId, clientId, hashSecret(secret)))
    return changed ? secret : null
  }

  /**
   * Moves the end of a client. Null: the client gets no end. Returns false when it does not belong to the actor.
   *
   * @throws ServiceError `bad_request` for an end that is not in the future.
   */
  moveEnd(actorId: string, clientId: string, until: Date | null): Promise<boolean> {
    const end = until === null ? null : futureTime('move the end of the client', until, this.#deps.now())
    return this.#deps.store.write((tx) => setClientEnd(tx, actorId, clientId, end))
  }

  async stats(actorId: string): Promise<ClientStats> {
    const { store, now } = this.#deps
    const counts = await store.read((q) => countClientsOf(q, actorId, now()))
    return {
      total: counts.reduce((sum, { total }) => sum + total, 0),
      active: counts.reduce((sum, { active }) => sum + active, 0),
      trustTypes: Object.fromEntries(counts.map(({ trustType, total }) => [trustType, total])),
    }
  }

  /** Finds a client of an actor. Null when it does not belong to the actor. */
  async findOf(actorId: string, clientId: string): Promise<Client | null> {
    const client = await this.#deps.store.read((q) => findClient(q, clientId))
    return client?.ownerId === actorId ? client : null
  }

  /** Deletes a client with all its relationships and tokens. Returns false when it does not belong to the actor. */
  delete(actorId: string, clientId: string): Promise<boolean> {
    return this.#deps.store.write((tx) => this.#deps.ends.end(tx, clientId, actorId))
  }
}

/** The credentials that a client presents at the token endpoint. */
export interface PresentedClient {
  readonly clientId: string
  /** The secret, or the assertion of `private_key_jwt`. Null: neither. */
  readonly secret: string | null
  readonly method: AuthMethod
}

/**
 * Authenticates a client by its secret or its assertion; a public client presents neither. The secret may come in the header
 * or in the body, because libraries choose the place by themselves (RFC 6749 section 2.3.1).
 *
 * @throws OAuthError `invalid_client`
 */
export async function authenticate(
  client: Client | null,
  presented: PresentedClient,
  assertions: Pick<ClientAssertions, 'isProven'>,
): Promise<Client> {
  // Secrets are compared even for an unknown client, so that the time does not distinguish it from a wrong secret.
  const expected = client?.secretHash ?? hashSecret('no client has this secret')
  const fits = sameSecret(hashSecret(presented.secret ?? ''), expected)
  if (client === null || !(await isProven(client, presented, fits, assertions)))
    throw new OAuthError('invalid_client', 'Client authentication failed: unknown client or wrong credentials')
  return client
}

function isProven(
  client: Client,
  { method, secret }: PresentedClient,
  secretFits: boolean,
  assertions: Pick<ClientAssertions, 'isProven'>,
): Promise<boolean> | boolean {
  if (hasSecret(client)) return method !== 'private_key_jwt' && secret !== null && secretFits
  if (method === 'private_key_jwt') return secret !== null && assertions.isProven(client, secret)
  return method === 'none' && isPublic(client)
}

export function mayUse(client: Client, grant: GrantType): boolean {
  return client.grantTypes.includes(grant)
}
