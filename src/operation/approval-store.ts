/** The SQL of calls that need the owner's approval. Times are Unix milliseconds. */
import type { Place } from '../audit-log/entry.ts'
import type { Sealed } from '../secret/sealed.ts'
import { naming } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'

export type ApprovalState = 'waiting' | 'approved' | 'denied' | 'used'

/** The kind of call: to `/<actor>/methods` or `/<actor>/actions`, or one of the three kinds of AI clients. */
export type ApprovalKind = 'methods' | 'actions' | 'tools' | 'prompts' | 'resources'

export interface StoredApproval {
  readonly actorId: string
  readonly approvalId: string
  readonly peerId: string
  /** The OAuth client. Empty for a peer. */
  readonly clientId: string
  readonly kind: ApprovalKind
  readonly operation: string
  readonly digest: string
  readonly arguments: Sealed
  readonly state: ApprovalState
  /** How often the call ran with this approval. */
  readonly runs: number
  readonly createdAt: number
  readonly expiresAt: number
}

const columns = `actor_id AS "actorId", approval_id AS "approvalId", peer_id AS "peerId", client_id AS "clientId", kind,
  operation, digest, arguments, state, runs, created_at AS "createdAt", expires_at AS "expiresAt"`

export async function insertApproval(tx: Transaction, row: StoredApproval): Promise<void> {
  await tx.run(
    `INSERT INTO approval (actor_id, approval_id, peer_id, client_id, kind, operation, digest, arguments, state, runs,
       created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    row.actorId,
    row.approvalId,
    row.peerId,
    row.clientId,
    row.kind,
    row.operation,
    row.digest,
    row.arguments,
    row.state,
    row.runs,
    row.createdAt,
    row.expiresAt,
  )
}

/** The latest approval for exactly this call, without used ones. */
export async function findApprovalFor(
  q: Queries,
  key: Pick<StoredApproval, 'actorId' | 'peerId' | 'clientId' | 'digest'>,
  now: number,
): Promise<StoredApproval | null> {
  const row = await q.get<StoredApproval>(
    `SELECT ${columns} FROM approval
     WHERE actor_id = $1 AND peer_id = $2 AND client_id = $3 AND digest = $4 AND state <> 'used' AND expires_at > $5
     ORDER BY created_at DESC, approval_id LIMIT 1`,
    key.actorId,
    key.peerId,
    key.clientId,
    key.digest,
    now,
  )
  return row ?? null
}

export async function findApproval(q: Queries, actorId: string, approvalId: string): Promise<StoredApproval | null> {
  const row = await q.get<StoredApproval>(
    `SELECT ${columns} FROM approval WHERE actor_id = $1 AND approval_id = $2`,
    actorId,
    approvalId,
  )
  return row ?? null
}

/** Waiting approvals, newest first. With `before`, only approvals after that position. */
export async function findWaiting(
  q: Queries,
  actorId: string,
  now: number,
  { limit, before }: { readonly limit: number; readonly before: Place | null },
): Promise<StoredApproval[]> {
  return q.all<StoredApproval>(
    `SELECT ${columns} FROM approval WHERE actor_id = $1 AND state = 'waiting' AND expires_at > $2
       AND (CAST($3 AS BIGINT) IS NULL OR created_at < $3 OR (created_at = $3 AND approval_id < $4))
     ORDER BY created_at DESC, approval_id DESC LIMIT $5`,
    actorId,
    now,
    before?.at ?? null,
    before?.id ?? null,
    limit,
  )
}

/** A change of state at `now`. The approval expires at `until`. Both are Unix milliseconds. */
export interface ApprovalMove {
  readonly from: ApprovalState
  /** Another state from which the change is allowed. */
  readonly orFrom?: ApprovalState
  readonly to: ApprovalState
  readonly now: number
  readonly until: number
}

/** Changes the state with one conditional statement. False when the approval has expired or is not in the state `from`. */
export async function moveApproval(
  tx: Transaction,
  actorId: string,
  approvalId: string,
  { from, orFrom = from, to, now, until }: ApprovalMove,
): Promise<boolean> {
  const moved = await tx.run(
    `UPDATE approval SET state = $4, expires_at = $6, runs = runs + CASE WHEN $4 = 'used' THEN 1 ELSE 0 END
     WHERE actor_id = $1 AND approval_id = $2 AND (state = $3 OR state = $7) AND expires_at > $5`,
    actorId,
    approvalId,
    from,
    to,
    now,
    until,
    orFrom,
  )
  return moved === 1
}

/** Counts the waiting approvals of an actor, at most `most`. */
export async function countAllWaiting(q: Queries, actorId: string, now: number, most: number): Promise<number> {
  const row = await q.get<{ waiting: number }>(
    `SELECT COUNT(*) AS waiting FROM (
       SELECT approval_id FROM approval WHERE actor_id = $1 AND state = 'waiting' AND expires_at > $2 LIMIT $3) AS each`,
    actorId,
    now,
    most,
  )
  return row?.waiting ?? 0
}

export async function countWaiting(q: Queries, actorId: string, peerId: string, now: number): Promise<number> {
  const row = await q.get<{ waiting: number }>(
    `SELECT COUNT(*) AS waiting FROM approval WHERE actor_id = $1 AND peer_id = $2 AND state = 'waiting' AND expires_at > $3`,
    actorId,
    peerId,
    now,
  )
  return row?.waiting ?? 0
}

/** @param actorId Null: of all actors. */
export async function deleteExpiredApprovals(tx: Transaction, now: number, actorId: string | null): Promise<void> {
  const named = naming(actorId, 'actor_id', 2)
  await tx.run(`DELETE FROM approval WHERE expires_at < $1${named.sql}`, now, ...named.params)
}
