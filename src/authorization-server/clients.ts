/** Clients: registered by themselves, made by an application, or described by a document at their own address. */
import type { Actors } from '../actor/actors.ts'
import { hashSecret, sameSecret } from '../secret/hash.ts'
import { randomId, randomToken } from '../secret/random.ts'
import type { Store } from '../store/store.ts'
import { type AuthMethod, type Client, cleanName, type GrantType, systemActorId, systemCreator } from './client.ts'
import {
  deleteClient,
  deleteTrustsOfClient,
  deleteUnusedClients,
  findClient,
  findClients,
  findClientsOf,
  insertClient,
  setClientSecret,
} from './client-store.ts'
import type { MetadataDocuments } from './metadata-document.ts'
import { OAuthError } from './oauth-error.ts'
import type { Registration } from './registration.ts'

export interface ClientsParts {
  readonly store: Store
  readonly actors: Pick<Actors, 'ensureSystemActor'>
  readonly documents: MetadataDocuments
  readonly now: () => number
}

/** The secret is shown once, here. */
export interface NewClient {
  readonly client: Client
  readonly secret: string | null
}

const dayMs = 86_400_000
/** One that registered itself and that nobody let in within this time goes. */
const unusedDays = 30

export class Clients {
  readonly #parts: ClientsParts

  constructor(parts: ClientsParts) {
    this.#parts = parts
  }

  /** @throws OAuthError `invalid_request` when a metadata document cannot be used. */
  async find(clientId: string): Promise<Client | null> {
    if (clientId.startsWith('https://')) return this.#parts.documents.find(clientId)
    if (!/^[\w-]{1,128}$/.test(clientId)) return null
    return this.#parts.store.read((q) => findClient(q, clientId))
  }

  /** Those of the ids that are registered here, in one statement; documents at other places are not asked for. */
  async registered(clientIds: readonly string[]): Promise<ReadonlyMap<string, Client>> {
    const found = await this.#parts.store.read((q) => findClients(q, clientIds))
    return new Map(found.map((client) => [client.clientId, client]))
  }

  /** A program registers itself: it belongs to nobody until an owner lets it in. */
  async register(registration: Registration): Promise<NewClient> {
    await this.#parts.actors.ensureSystemActor(systemActorId, systemCreator)
    const isForItself = registration.grantTypes.includes('client_credentials')
    return this.#insert(systemActorId, registration, isForItself ? null : unusedDays)
  }

  /** An application makes one for an actor, which may act for that actor by itself. */
  create(
    actorId: string,
    wanted: { readonly name: string; readonly trustType?: string; readonly redirectUris?: readonly string[] },
  ): Promise<NewClient> {
    const name = cleanName(wanted.name)
    if (name === '') throw new OAuthError('invalid_client_metadata', 'The client needs a name that can be shown')
    const registration: Registration = {
      name,
      authMethod: 'client_secret_post',
      redirectUris: wanted.redirectUris ?? [],
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      trustType: wanted.trustType ?? 'mcp_client',
      metadata: {},
    }
    return this.#insert(actorId, registration, null)
  }

  async #insert(ownerId: string, registration: Registration, lifetimeDays: number | null): Promise<NewClient> {
    const { store, now } = this.#parts
    const at = now()
    const secret = registration.authMethod === 'none' ? null : randomToken(32)
    const client: Client = {
      ...registration,
      clientId: `mcp_${randomId()}`,
      ownerId,
      secretHash: secret === null ? null : hashSecret(secret),
      createdAt: at,
      lastUsedAt: null,
      expiresAt: lifetimeDays === null ? null : at + lifetimeDays * dayMs,
    }
    await store.write(async (tx) => {
      await deleteUnusedClients(tx, at)
      await insertClient(tx, client)
    })
    return { client, secret }
  }

  /** The newest first. */
  list(actorId: string): Promise<Client[]> {
    return this.#parts.store.read((q) => findClientsOf(q, actorId))
  }

  /** Null for one that is not the actor's, or has no secret. */
  async rotateSecret(actorId: string, clientId: string): Promise<string | null> {
    const secret = randomToken(32)
    const changed = await this.#parts.store.write((tx) => setClientSecret(tx, actorId, clientId, hashSecret(secret)))
    return changed ? secret : null
  }

  /** With every relationship that owners have with it, and their tokens, at once. False for one that is not the actor's. */
  delete(actorId: string, clientId: string): Promise<boolean> {
    return this.#parts.store.write(async (tx) => {
      if (!(await deleteClient(tx, clientId, actorId))) return false
      await deleteTrustsOfClient(tx, clientId)
      return true
    })
  }
}

/** What a client shows of itself at the token endpoint. */
export interface Presented {
  readonly clientId: string
  readonly secret: string | null
  readonly method: AuthMethod
}

/**
 * By the method that it registered, and no other. Nothing tells an unknown client from a wrong secret: the secrets are
 * compared in both cases.
 *
 * @throws OAuthError `invalid_client`
 */
export function authenticate(client: Client | null, presented: Presented, challenge: string | undefined): Client {
  const expected = client?.secretHash ?? hashSecret('nobody has this secret')
  const fits = sameSecret(hashSecret(presented.secret ?? ''), expected)
  const isGood =
    client !== null &&
    presented.method === client.authMethod &&
    (client.authMethod === 'none' ? presented.secret === null : fits)
  if (!isGood) throw new OAuthError('invalid_client', 'The client is not known, or did not prove who it is', challenge)
  return client
}

export function mayUse(client: Client, grant: GrantType): boolean {
  return client.grantTypes.includes(grant)
}
