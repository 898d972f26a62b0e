/** SQL of clients. Times are Unix milliseconds. */
import type { Quota } from '../quota/quota.ts'
import type { SecretHash } from '../secret/hash.ts'
import { byKey, changeByKey } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { AuthMethod, Client, ClientMetadata, GrantType } from './client.ts'

/** The clients of an owner count: the API keys. Those that register themselves belong to the service. */
export const keysQuota: Quota = {
  name: 'keys',
  setting: 'maxKeys',
  unit: 'keys',
  counts: 'API keys and the clients that belong to the actor count.',
  remedy: 'Revoke keys that are not needed.',
  tables: ['oauth_client'],
  sql: 'SELECT COUNT(*) AS used FROM oauth_client WHERE actor_id = $1',
}

interface ClientRow {
  readonly client_id: string
  readonly actor_id: string
  readonly name: string
  readonly secret_hash: string | null
  readonly auth_method: string
  readonly redirect_uris: string
  readonly grant_types: string
  readonly trust_type: string
  readonly metadata: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly expires_at: number | null
  readonly ends_at: number | null
}

const columns = `client_id, actor_id, name, secret_hash, auth_method, redirect_uris, grant_types, trust_type, metadata,
  created_at, last_used_at, expires_at, ends_at`

function toClient(row: ClientRow): Client {
  return {
    clientId: row.client_id,
    ownerId: row.actor_id,
    name: row.name,
    secretHash: row.secret_hash as SecretHash | null,
    authMethod: row.auth_method as AuthMethod,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    grantTypes: JSON.parse(row.grant_types) as GrantType[],
    trustType: row.trust_type,
    metadata: JSON.parse(row.metadata) as ClientMetadata,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    until: row.ends_at,
  }
}

export async function insertClient(tx: Transaction, client: Client): Promise<void> {
  await tx.run(
    `INSERT INTO oauth_client (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    client.clientId,
    client.ownerId,
    client.name,
    client.secretHash,
    client.authMethod,
    JSON.stringify(client.redirectUris),
    JSON.stringify(client.grantTypes),
    client.trustType,
    JSON.stringify(client.metadata),
    client.createdAt,
    client.lastUsedAt,
    client.expiresAt,
    client.until,
  )
}

export async function findClient(q: Queries, clientId: string): Promise<Client | null> {
  const row = await q.get<ClientRow>(`SELECT ${columns} FROM oauth_client WHERE client_id = $1`, clientId)
  return row === undefined ? null : toClient(row)
}

/** Finds the registered clients among the ids, in any order. */
export async function findClients(q: Queries, clientIds: readonly string[]): Promise<Client[]> {
  const rows = await byKey(q, clientIds, (named, params) =>
    q.all<ClientRow>(`SELECT ${columns} FROM oauth_client WHERE ${named('client_id')}`, ...params),
  )
  return rows.map(toClient)
}

/** Lists the clients of an actor, newest first. */
export async function findClientsOf(q: Queries, actorId: string): Promise<Client[]> {
  const rows = await q.all<ClientRow>(
    `SELECT ${columns} FROM oauth_client WHERE actor_id = $1 ORDER BY created_at DESC, client_id`,
    actorId,
  )
  return rows.map(toClient)
}

export interface ClientCount {
  readonly trustType: string
  readonly total: number
  /** Number of clients with tokens. */
  readonly active: number
}

/** Counts the clients of an actor for each trust type. */
export async function countClientsOf(q: Queries, actorId: string, now: number): Promise<ClientCount[]> {
  if (q.isSharded) return countRemoteClients(q, actorId, now)
  const rows = await q.all<{ trust_type: string; total: number; active: number }>(
    `SELECT trust_type, COUNT(*) AS total,
       COUNT(CASE WHEN EXISTS (SELECT 1 FROM token_chain c WHERE c.client_id = oauth_client.client_id AND c.ends_at >= $2)
         THEN 1 END) AS active
     FROM oauth_client WHERE actor_id = $1 GROUP BY trust_type ORDER BY trust_type`,
    actorId,
    now,
  )
  return rows.map(({ trust_type, total, active }) => ({ trustType: trust_type, total, active }))
}

/** Like `countClientsOf`, where clients and chains are on different servers. */
async function countRemoteClients(q: Queries, actorId: string, now: number): Promise<ClientCount[]> {
  const clients = await findClientsOf(q, actorId)
  const ids = clients.map(({ clientId }) => clientId)
  const chains = await byKey(q, ids, (named, params) =>
    q.all<{ clientId: string }>(
      `SELECT DISTINCT client_id AS "clientId" FROM token_chain WHERE ${named('client_id')} AND ends_at >= $2`,
      ...params,
      now,
    ),
  )
  const used = new Set(chains.map(({ clientId }) => clientId))
  return [...Map.groupBy(clients, ({ trustType }) => trustType)]
    .map(([trustType, ofType]) => ({
      trustType,
      total: ofType.length,
      active: ofType.filter(({ clientId }) => used.has(clientId)).length,
    }))
    .toSorted((a, b) => (a.trustType < b.trustType ? -1 : 1))
}

/** Returns false when the actor has no such confidential client. */
export async function setClientSecret(
  tx: Transaction,
  actorId: string,
  clientId: string,
  secretHash: SecretHash,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE oauth_client SET secret_hash = $3 WHERE client_id = $2 AND actor_id = $1 AND secret_hash IS NOT NULL`,
    actorId,
    clientId,
    secretHash,
  )
  return changed === 1
}

/** Moves the end of a client. Null: no end. Returns false when the client does not belong to the actor. */
export async function setClientEnd(
  tx: Transaction,
  actorId: string,
  clientId: string,
  until: number | null,
): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE oauth_client SET ends_at = $3 WHERE client_id = $2 AND actor_id = $1',
    actorId,
    clientId,
    until,
  )
  return changed === 1
}

/** Makes a client permanent after an owner authorized it. Locks it until the commit. Returns false when it does not exist. */
export async function keepClient(tx: Transaction, clientId: string, now: number): Promise<boolean> {
  const kept = await tx.run(
    'UPDATE oauth_client SET last_used_at = $2, expires_at = NULL WHERE client_id = $1',
    clientId,
    now,
  )
  return kept === 1
}

/** Records use by a client that acts for itself, and moves its expiry, if any, to `expiresAt`. Otherwise like `keepClient`. */
export async function noteClientCame(
  tx: Transaction,
  clientId: string,
  now: number,
  expiresAt: number,
): Promise<boolean> {
  const noted = await tx.run(
    `UPDATE oauth_client SET last_used_at = $2, expires_at = CASE WHEN expires_at IS NULL THEN NULL ELSE CAST($3 AS BIGINT) END
     WHERE client_id = $1`,
    clientId,
    now,
    expiresAt,
  )
  return noted === 1
}

/** Ties a relationship to a client, so that both are deleted together. */
export async function tieTrustToClient(
  tx: Transaction,
  actorId: string,
  peerId: string,
  clientId: string,
): Promise<void> {
  await tx.run('UPDATE trust SET client_id = $3 WHERE actor_id = $1 AND peer_id = $2', actorId, peerId, clientId)
}

/** A locked client that is about to be deleted. */
export interface EndingClient {
  readonly clientId: string
  readonly ownerId: string
}

/** Locks a client until the commit, so that no owner authorizes it meanwhile. Null when it does not belong to the actor. */
export async function holdClient(tx: Transaction, clientId: string, actorId: string): Promise<EndingClient | null> {
  const row = await tx.get(
    'SELECT 1 AS found FROM oauth_client WHERE client_id = $1 AND actor_id = $2 FOR UPDATE',
    clientId,
    actorId,
  )
  return row === undefined ? null : { clientId, ownerId: actorId }
}

/** Locks expired clients like `holdClient`. Skips clients that another transaction has locked. */
export async function holdUnusedClients(tx: Transaction, now: number): Promise<EndingClient[]> {
  if (tx.isSharded) {
    const unused = await tx.all<EndingClient>(
      'SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE expires_at < $1',
      now,
    )
    return holdAll(tx, unused)
  }
  return tx.all(
    `SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE expires_at < $1
     FOR UPDATE SKIP LOCKED`,
    now,
  )
}

/** Locks the clients of these actors like `holdClient`. */
export async function holdClientsOf(tx: Transaction, actorIds: readonly string[]): Promise<EndingClient[]> {
  if (tx.isSharded) {
    const owned = await tx.all<EndingClient>(
      `SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client
       WHERE actor_id IN (SELECT id FROM rows($1, id TEXT) AS gone)`,
      JSON.stringify(actorIds.map((id) => [id])),
    )
    return holdAll(tx, owned)
  }
  return tx.all(
    `SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client
     WHERE actor_id IN (SELECT id FROM rows($1, id TEXT) AS gone) ORDER BY client_id FOR UPDATE`,
    JSON.stringify(actorIds.map((id) => [id])),
  )
}

/** Locks clients one by one, in the order of their ids. */
async function holdAll(tx: Transaction, clients: readonly EndingClient[]): Promise<EndingClient[]> {
  const held: EndingClient[] = []
  for (const { clientId, ownerId } of clients.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1))) {
    const client = await holdClient(tx, clientId, ownerId)
    if (client !== null) held.push(client)
  }
  return held
}

/** Deletes clients. Their tokens are already deleted with the relationships. */
export async function deleteClients(tx: Transaction, clientIds: readonly string[]): Promise<void> {
  await changeByKey(tx, clientIds, async (named, params) => {
    await tx.run(`DELETE FROM oauth_client WHERE ${named('client_id')}`, ...params)
    return []
  })
}
