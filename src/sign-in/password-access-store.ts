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

/** Rows that an owner decides about: every actor created under the creator that this owner proved. */
const ofOwner = `password_access p JOIN account own ON own.identifier = p.creator AND own.verified = 1
  WHERE own.actor_id = $1`

/** Lists pending decisions first, then the newest. */
export async function findPasswordAccess(q: Queries, ownerId: string, limit: number): Promise<PasswordAccessRecord[]> {
  return q.all(
    `SELECT ${columns} FROM ${ofOwner}
     ORDER BY CASE p.decision WHEN 'pending' THEN 0 ELSE 1 END, p.proven_at DESC, p.actor_id LIMIT $2`,
    ownerId,
    limit,
  )
}

export async function findOnePasswordAccess(
  q: Queries,
  ownerId: string,
  actorId: string,
): Promise<PasswordAccessRecord | null> {
  const row = await q.get<PasswordAccessRecord>(
    `SELECT ${columns} FROM ${ofOwner} AND p.actor_id = $2`,
    ownerId,
    actorId,
  )
  return row ?? null
}

/** Finds the creator that Basic credentials may still name. Null after a revocation. */
export async function findPasswordName(q: Queries, actorId: string): Promise<string | null> {
  const row = await q.get<{ creator: string }>(
    `SELECT creator FROM password_access WHERE actor_id = $1 AND decision <> 'revoked'`,
    actorId,
  )
  return row?.creator ?? null
}

/** Records every actor of a proven creator as pending, except actors with an account: their owners sign in by a provider. */
export async function insertSupersededAccess(
  tx: Transaction,
  { creator, keep, now }: { readonly creator: string; readonly keep: string; readonly now: number },
): Promise<void> {
  await tx.run(
    `INSERT INTO password_access (actor_id, creator, decision, proven_at)
     SELECT id, creator, 'pending', CAST($3 AS BIGINT) FROM actor
     WHERE creator = $1 AND id <> $2 AND NOT EXISTS (SELECT 1 FROM account WHERE account.actor_id = actor.id)
     ON CONFLICT (actor_id) DO UPDATE
     SET creator = excluded.creator, decision = excluded.decision, proven_at = excluded.proven_at, decided_at = NULL`,
    creator,
    keep,
    now,
  )
}

export async function insertJoinedAccess(
  tx: Transaction,
  { actorId, creator, now }: { readonly actorId: string; readonly creator: string; readonly now: number },
): Promise<void> {
  await tx.run(
    `INSERT INTO password_access (actor_id, creator, decision, proven_at) VALUES ($1, $2, 'pending', $3)
     ON CONFLICT (actor_id) DO UPDATE
     SET creator = excluded.creator, decision = excluded.decision, proven_at = excluded.proven_at, decided_at = NULL`,
    actorId,
    creator,
    now,
  )
}

export async function setPasswordDecision(
  tx: Transaction,
  { actorId, decision, now }: { readonly actorId: string; readonly decision: PasswordDecision; readonly now: number },
): Promise<void> {
  await tx.run('UPDATE password_access SET decision = $2, decided_at = $3 WHERE actor_id = $1', actorId, decision, now)
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
