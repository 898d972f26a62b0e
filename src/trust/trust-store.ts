/** The SQL of relationships. */
import type { Quota } from '../quota/quota.ts'
import type { SecretHash } from '../secret/hash.ts'
import type { Param, Queries, Row, Transaction } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import type { OwnRequest, Trust } from './trust.ts'

/** Relationships count, with those that wait. */
export const relationshipsQuota: Quota = {
  name: 'relationships',
  setting: 'maxRelationships',
  unit: 'relationships',
  counts: 'Relationships with peers and with apps count, and requests that wait for an approval.',
  remedy: 'End relationships that are not needed.',
  tables: ['trust'],
  sql: 'SELECT COUNT(*) AS used FROM trust WHERE actor_id = $1',
}

type TrustRow = Row<Omit<Trust, 'facts' | 'ownRequest'>> & {
  readonly facts: string
  readonly request: string | null
  readonly nextSecretHash: SecretHash | null
}

const columns = `actor_id AS "actorId", peer_id AS "peerId", baseuri, type, relationship, secret, secret_hash AS "secretHash",
  verification_token AS "verificationToken", description, nickname, approved, approved_until AS "approvedUntil", peer_approved AS "peerApproved", verified,
  established_via AS "establishedVia", facts, request, next_secret_hash AS "nextSecretHash", created_at AS "createdAt",
  last_accessed AS "lastAccessed", last_connected_via AS "lastConnectedVia"`

function toTrust({ request, nextSecretHash, ...row }: TrustRow): Trust {
  return {
    ...row,
    approved: row.approved !== 0,
    peerApproved: row.peerApproved !== 0,
    verified: row.verified !== 0,
    facts: JSON.parse(row.facts) as TrustFacts,
    ownRequest:
      request === null ? null : { ...(JSON.parse(request) as Omit<OwnRequest, 'nextSecretHash'>), nextSecretHash },
  }
}

export async function findTrust(q: Queries, actorId: string, peerId: string): Promise<Trust | null> {
  const row = await q.get<TrustRow>(
    `SELECT ${columns} FROM trust WHERE actor_id = $1 AND peer_id = $2`,
    actorId,
    peerId,
  )
  return row === undefined ? null : toTrust(row)
}

/** When the peer last got access by an approval, or another trust type, secret or address. Unix milliseconds; 0: never. */
export async function accessChangedAt(
  q: Queries,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
): Promise<number> {
  const row = await q.get<{ at: number }>(
    'SELECT access_changed_at AS at FROM trust WHERE actor_id = $1 AND peer_id = $2',
    actorId,
    peerId,
  )
  return row?.at ?? 0
}

/** Finds the relationship of this actor that has a secret with this hash. */
export async function findTrustBySecret(q: Queries, actorId: string, secret: SecretHash): Promise<Trust | null> {
  const row = await q.get<TrustRow>(
    `SELECT ${columns} FROM trust WHERE actor_id = $1 AND (secret_hash = $2 OR next_secret_hash = $2)`,
    actorId,
    secret,
  )
  return row === undefined ? null : toTrust(row)
}

/** The facts of a relationship that authenticate a request of the peer. */
export type CallingPeer = Pick<Trust, 'peerId' | 'relationship' | 'approved' | 'approvedUntil' | 'lastAccessed'>

/** Like `findTrustBySecret`, for each request of the peer, which needs only five columns. */
export function findPeerBySecret(q: Queries, actorId: string, secret: SecretHash): Promise<CallingPeer | null> {
  return q
    .get<Row<CallingPeer>>(
      `SELECT peer_id AS "peerId", relationship, approved, approved_until AS "approvedUntil",
       last_accessed AS "lastAccessed"
     FROM trust WHERE actor_id = $1 AND (secret_hash = $2 OR next_secret_hash = $2)`,
      actorId,
      secret,
    )
    .then((row) => (row === undefined ? null : { ...row, approved: row.approved !== 0 }))
}

/** Returns the relationships of an actor, ordered by peer. `findTrustPage` needs less memory. */
export async function findTrusts(q: Queries, actorId: string): Promise<Trust[]> {
  const rows = await q.all<TrustRow>(`SELECT ${columns} FROM trust WHERE actor_id = $1 ORDER BY peer_id`, actorId)
  return rows.map(toTrust)
}

/** Which relationships to read. Absent: any. */
export interface TrustFilter {
  readonly relationship?: string | undefined
  /** The peer's application type. */
  readonly type?: string | undefined
  readonly peerId?: string | undefined
}

/** The most relationships of a page. */
export const trustsOfPage = 256

/** Returns the next relationships of an actor after a peer, ordered by peer. */
export async function findTrustPage(
  q: Queries,
  actorId: string,
  { relationship, type, peerId }: TrustFilter,
  after: string,
): Promise<Trust[]> {
  const params: Param[] = [actorId, after]
  const conditions = Object.entries({ relationship, type, peer_id: peerId }).flatMap(([column, value]) =>
    value === undefined ? [] : [` AND ${column} = $${params.push(value)}`],
  )
  const rows = await q.all<TrustRow>(
    `SELECT ${columns} FROM trust WHERE actor_id = $1 AND peer_id > $2${conditions.join('')}
     ORDER BY peer_id LIMIT ${trustsOfPage}`,
    ...params,
  )
  return rows.map(toTrust)
}

/** Counts the requests of peers that wait for the owner's approval. A program makes none. */
export async function countPending(q: Queries, actorId: string): Promise<number> {
  const row = await q.get<{ pending: number }>(
    `SELECT COUNT(*) AS pending FROM trust
     WHERE actor_id = $1 AND approved = 0 AND peer_approved = 1 AND established_via IN ('trust', 'trustee')`,
    actorId,
  )
  return row?.pending ?? 0
}

/**
 * Adds a relationship.
 *
 * @throws ServiceError `conflict` when the actor already has one with this peer, or with this secret.
 */
export async function insertTrust(tx: Transaction, trust: Trust): Promise<void> {
  await tx.run(
    `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
       description, approved, peer_approved, verified, established_via, facts, request, next_secret_hash, approved_until,
       nickname, created_at, last_accessed, last_connected_via)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
    trust.actorId,
    trust.peerId,
    ...changeable(trust),
    trust.createdAt,
    trust.lastAccessed,
    trust.lastConnectedVia,
  )
}

/**
 * Replaces everything except the key and the times. False: the relationship does not exist. Notes the time when the peer gets
 * access by the change: by an approval, a later end, or another trust type, secret or address.
 */
export async function updateTrust(tx: Transaction, trust: Trust, now: number): Promise<boolean> {
  const updated = await tx.run(
    `UPDATE trust SET baseuri = $3, type = $4, relationship = $5, secret = $6, secret_hash = $7, verification_token = $8,
       description = $9, approved = $10, peer_approved = $11, verified = $12, established_via = $13, facts = $14,
       request = $15, next_secret_hash = $16, approved_until = $17, nickname = $18,
       access_changed_at = CASE WHEN approved < $10 OR relationship <> $5 OR secret_hash <> $7 OR baseuri <> $3
         OR approved_until < COALESCE(CAST($17 AS BIGINT), ${Number.MAX_SAFE_INTEGER}) THEN $19 ELSE access_changed_at END
     WHERE actor_id = $1 AND peer_id = $2`,
    trust.actorId,
    trust.peerId,
    ...changeable(trust),
    now,
  )
  return updated === 1
}

/** Records a contact. Does nothing when another process recorded one after `before`. All times are Unix milliseconds. */
export async function touchTrust(
  tx: Transaction,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
  { via, now, before }: { readonly via: string; readonly now: number; readonly before: number },
): Promise<void> {
  await tx.run(
    `UPDATE trust SET last_accessed = $3, last_connected_via = $4
     WHERE actor_id = $1 AND peer_id = $2 AND last_accessed <= $5`,
    actorId,
    peerId,
    now,
    via,
    before,
  )
}

function changeable(trust: Trust): (string | number | null)[] {
  const { ownRequest } = trust
  return [
    trust.baseuri,
    trust.type,
    trust.relationship,
    trust.secret,
    trust.secretHash,
    trust.verificationToken,
    trust.description,
    Number(trust.approved),
    Number(trust.peerApproved),
    Number(trust.verified),
    trust.establishedVia,
    JSON.stringify(trust.facts),
    ownRequest === null ? null : JSON.stringify({ ...ownRequest, nextSecretHash: undefined }),
    ownRequest?.nextSecretHash ?? null,
    trust.approved ? trust.approvedUntil : null,
    trust.nickname,
  ]
}

/** Deletes a relationship with its subscriptions, diffs, overrides and pending callbacks. False: there was none. */
export async function deleteTrust(tx: Transaction, actorId: string, peerId: string): Promise<boolean> {
  return (await tx.run('DELETE FROM trust WHERE actor_id = $1 AND peer_id = $2', actorId, peerId)) === 1
}

/** Deletes the relationships of all actors with these clients. Only the transaction that deleted a row gets it. */
export async function deleteTrustsOfClients(
  tx: Transaction,
  clientIds: readonly string[],
): Promise<{ readonly trust: Trust; readonly clientId: string }[]> {
  const rows = await tx.all<TrustRow & { readonly clientId: string }>(
    `DELETE FROM trust WHERE client_id IN (SELECT id FROM rows($1, id TEXT) AS ended)
     RETURNING ${columns}, client_id AS "clientId"`,
    JSON.stringify(clientIds.map((id) => [id])),
  )
  return rows.map(({ clientId, ...row }) => ({ trust: toTrust(row), clientId }))
}
