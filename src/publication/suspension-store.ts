/** The SQL of suspended targets. */
import type { Queries, Transaction } from '../store/store.ts'

export interface Suspension {
  readonly target: string
  /** Empty: the whole target. */
  readonly subtarget: string
}

export async function findSuspensions(q: Queries, actorId: string): Promise<Suspension[]> {
  const rows = await q.all<{ target: string; subtarget: string }>(
    'SELECT target, subtarget FROM suspension WHERE actor_id = $1 ORDER BY target, subtarget',
    actorId,
  )
  return rows.map(({ target, subtarget }) => ({ target, subtarget }))
}

/** False: the target was suspended already. */
export async function insertSuspension(tx: Transaction, actorId: string, suspension: Suspension): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO suspension (actor_id, target, subtarget) VALUES ($1, $2, $3)
     ON CONFLICT (actor_id, target, subtarget) DO NOTHING`,
    actorId,
    suspension.target,
    suspension.subtarget,
  )
  return inserted === 1
}

/** False: the target was not suspended. */
export async function deleteSuspension(tx: Transaction, actorId: string, suspension: Suspension): Promise<boolean> {
  const deleted = await tx.run(
    'DELETE FROM suspension WHERE actor_id = $1 AND target = $2 AND subtarget = $3',
    actorId,
    suspension.target,
    suspension.subtarget,
  )
  return deleted === 1
}
