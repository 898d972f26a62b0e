/** SQL of password access: actors that a program created under a creator that a person proved later. */
import type { Queries, Transaction } from '../store/store.ts'

export type PasswordDecision = 'pending' | 'kept' | 'revoked'

export interface PasswordAccessRecord {
  /** The actor that the program created. */
  readonly actorId: string
  /** The creator that the program named. */
  readonly creator: string
  readonly decision: PasswordDecision
  /** When the person proved to be the creator (Unix milliseconds). */
  readonly provenAt: number
}

const columns = 'p.actor_id AS "actorId", p.creator, p.decision, p.proven_at AS "provenAt"'

/** Finds the creator that this owner proved. Null: the owner proved none. */
export async function findProvenCreator(q: Queries, ownerId: string): Promise<string | null> {
  const row = await q.get<{ identifier: string }>(
    'SELECT identifier FROM account WHERE actor_id = $1 AND verified = 1',
    ownerId,
  )
  return row?.identifier ?? null
}

/**
 * Lists the actors that programs created under a creator: that of the owner first, because strangers can create any number of
 * the others, then pending decisions, then the newest.
 */
export async function findPasswordAccess(
  q: Queries,
  { creator, ownerId }: { readonly creator: string; readonly ownerId: string },
  limit: number,
): Promise<PasswordAccessRecord[]> {
  return q.all(
    `SELECT ${columns} FROM password_access p WHERE p.creator = $1
     ORDER BY CASE WHEN p.actor_id = $3 THEN 0 WHEN p.decision = 'pending' THEN 1 ELSE 2 END, p.proven_at DESC, p.actor_id
     LIMIT $2`,
    creator,
    limit,
    ownerId,
  )
}

export async function hasPendingAccess(q: Queries, creator: string): Promise<boolean> {
  const row = await q.get(
    `SELECT 1 AS found FROM password_access WHERE creator = $1 AND decision = 'pending' LIMIT 1`,
    creator,
  )
  return row !== undefined
}

export async function findOnePasswordAccess(
  q: Queries,
  creator: string,
  actorId: string,
): Promise<PasswordAccessRecord | null> {
  const row = await q.get<PasswordAccessRecord>(
    `SELECT ${columns} FROM password_access p WHERE p.creator = $1 AND p.actor_id = $2`,
    creator,
    actorId,
  )
  return row ?? null
}

/** Whether Basic credentials may still name this creator. False after a revocation. */
export async function hasPasswordName(q: Queries, creator: string, actorId: string): Promise<boolean> {
  const row = await q.get(
    `SELECT 1 AS found FROM password_access WHERE creator = $1 AND actor_id = $2 AND decision <> 'revoked'`,
    creator,
    actorId,
  )
  return row !== undefined
}

/** Records actors of a proven creator as pending. */
export async function insertSupersededAccess(
  tx: Transaction,
  { creator, actorIds, now }: { readonly creator: string; readonly actorIds: readonly string[]; readonly now: number },
): Promise<void> {
  if (actorIds.length === 0) return
  await tx.run(
    `INSERT INTO password_access (creator, actor_id, decision, proven_at)
     SELECT $1, r.id, 'pending', CAST($3 AS BIGINT) FROM rows($2, id TEXT) AS r WHERE true
     ON CONFLICT (creator, actor_id) DO UPDATE
     SET decision = excluded.decision, proven_at = excluded.proven_at, decided_at = NULL`,
    creator,
    JSON.stringify(actorIds.map((id) => [id])),
    now,
  )
}

export async function insertJoinedAccess(
  tx: Transaction,
  { actorId, creator, now }: { readonly actorId: string; readonly creator: string; readonly now: number },
): Promise<void> {
  await insertSupersededAccess(tx, { creator, actorIds: [actorId], now })
}

export async function setPasswordDecision(
  tx: Transaction,
  {
    creator,
    actorId,
    decision,
    now,
  }: {
    readonly creator: string
    readonly actorId: string
    readonly decision: PasswordDecision
    readonly now: number
  },
): Promise<void> {
  await tx.run(
    'UPDATE password_access SET decision = $3, decided_at = $4 WHERE creator = $1 AND actor_id = $2',
    creator,
    actorId,
    decision,
    now,
  )
}

/** @param beganWith Ends only sessions that began this way; null ends every session. */
export async function endSessionsOf(tx: Transaction, actorId: string, beganWith: string | null): Promise<void> {
  await tx.run(
    `DELETE FROM token_chain WHERE actor_id = $1 AND kind = 'session'
     AND began_with = COALESCE(CAST($2 AS TEXT), began_with)`,
    actorId,
    beganWith,
  )
}
