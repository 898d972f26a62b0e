/** The SQL of legacy sessions. Times are Unix milliseconds. */
import type { SecretHash } from '../../secret/hash.ts'
import { naming } from '../../store/by-key.ts'
import type { Queries, Transaction } from '../../store/store.ts'

export interface StoredSession {
  readonly hash: SecretHash
  readonly actorId: string
  readonly peerId: string
  readonly clientId: string
  readonly revision: string
  /** JSON. */
  readonly client: string
  readonly logLevel: string
  /** JSON array of addresses. */
  readonly subscriptions: string
  readonly expiresAt: number
}

export async function insertSession(tx: Transaction, session: StoredSession): Promise<void> {
  await tx.run(
    `INSERT INTO mcp_session (hash, actor_id, peer_id, client_id, revision, client, log_level, subscriptions, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    session.hash,
    session.actorId,
    session.peerId,
    session.clientId,
    session.revision,
    session.client,
    session.logLevel,
    session.subscriptions,
    session.expiresAt,
  )
}

/** The session with this hash. Null for a session of another client. */
export async function findSession(
  q: Queries,
  hash: SecretHash,
  owner: { readonly actorId: string; readonly peerId: string; readonly clientId: string },
): Promise<StoredSession | null> {
  const row = await q.get<StoredSession>(
    `SELECT hash, actor_id AS "actorId", peer_id AS "peerId", client_id AS "clientId", revision, client,
       log_level AS "logLevel", subscriptions, expires_at AS "expiresAt"
     FROM mcp_session WHERE hash = $1 AND actor_id = $2 AND peer_id = $3 AND client_id = $4`,
    hash,
    owner.actorId,
    owner.peerId,
    owner.clientId,
  )
  return row ?? null
}

/** The key of a session. */
export type SessionKey = Pick<StoredSession, 'actorId' | 'hash'>

export async function storeLogLevel(tx: Transaction, { actorId, hash }: SessionKey, level: string): Promise<void> {
  await tx.run('UPDATE mcp_session SET log_level = $3 WHERE actor_id = $1 AND hash = $2', actorId, hash, level)
}

export async function setSubscriptions(
  tx: Transaction,
  { actorId, hash }: SessionKey,
  subscriptions: string,
): Promise<void> {
  await tx.run(
    'UPDATE mcp_session SET subscriptions = $3 WHERE actor_id = $1 AND hash = $2',
    actorId,
    hash,
    subscriptions,
  )
}

export async function prolongSession(tx: Transaction, { actorId, hash }: SessionKey, until: number): Promise<void> {
  await tx.run('UPDATE mcp_session SET expires_at = $3 WHERE actor_id = $1 AND hash = $2', actorId, hash, until)
}

export async function deleteSession(tx: Transaction, { actorId, hash }: SessionKey): Promise<void> {
  await tx.run('DELETE FROM mcp_session WHERE actor_id = $1 AND hash = $2', actorId, hash)
}

/** Deletes all but the `keep` most recently used sessions of a client. */
export async function deleteOldSessions(
  tx: Transaction,
  { actorId, peerId }: { readonly actorId: string; readonly peerId: string },
  keep: number,
): Promise<void> {
  await tx.run(
    `DELETE FROM mcp_session WHERE actor_id = $1 AND hash IN (
       SELECT hash FROM mcp_session WHERE actor_id = $1 AND peer_id = $2
       ORDER BY expires_at DESC, hash LIMIT 1000 OFFSET $3)`,
    actorId,
    peerId,
    keep,
  )
}

/** @param actorId Null: of all actors. */
export async function deleteExpiredSessions(tx: Transaction, now: number, actorId: string | null): Promise<void> {
  const named = naming(actorId, 'actor_id', 2)
  await tx.run(`DELETE FROM mcp_session WHERE expires_at < $1${named.sql}`, now, ...named.params)
}

/** Stores an answer. Ignores a second answer with the same id, and more than `most` answers of a session. */
export async function insertAnswer(
  tx: Transaction,
  { actorId, hash }: SessionKey,
  requestId: string,
  body: string,
  most: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO mcp_answer (actor_id, session, request_id, body)
     SELECT actor_id, hash, CAST($3 AS TEXT), CAST($4 AS TEXT) FROM mcp_session
     WHERE actor_id = $1 AND hash = $2
       AND (SELECT COUNT(*) FROM mcp_answer WHERE actor_id = $1 AND session = $2) < $5
     ON CONFLICT DO NOTHING`,
    actorId,
    hash,
    requestId,
    body,
    most,
  )
}

/** True when the answer exists. Most polls stop here, without the write transaction of `takeAnswer`. */
export async function hasAnswer(q: Queries, { actorId, hash }: SessionKey, requestId: string): Promise<boolean> {
  const row = await q.get(
    'SELECT 1 AS found FROM mcp_answer WHERE actor_id = $1 AND session = $2 AND request_id = $3',
    actorId,
    hash,
    requestId,
  )
  return row !== undefined
}

/** Deletes the answer and returns it. Null when it does not exist. */
export async function takeAnswer(
  tx: Transaction,
  { actorId, hash }: SessionKey,
  requestId: string,
): Promise<string | null> {
  const row = await tx.get<{ body: string }>(
    'DELETE FROM mcp_answer WHERE actor_id = $1 AND session = $2 AND request_id = $3 RETURNING body',
    actorId,
    hash,
    requestId,
  )
  return row?.body ?? null
}
