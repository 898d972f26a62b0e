/** The SQL of suspensions: the work of an actor stops at once, and is due again when an operator resumes the actor. */
import { singleRuns } from '../job/job-store.ts'
import { holdNotices } from '../outbox/notice-store.ts'
import type { Transaction } from '../store/store.ts'
import { beginWork } from './arrival-store.ts'

/** The due time of checks that wait for the resumption: the latest date, in Unix milliseconds. */
const heldUntil = 8_640_000_000_000_000

/**
 * Begins no further work of the actor, and ends its leases, because a suspension lasts for months. A run without a lease stores no
 * outcome and no due time, like that of a killed process, and is repeated after the resumption. Notices about ends of
 * relationships are sent.
 */
export async function holdWork(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('UPDATE publisher_subscription SET due_at = NULL, leased_until = 0 WHERE actor_id = $1', actorId)
  await tx.run(
    `UPDATE subscriber_subscription SET gap_due_at = NULL, leased_until = 0,
       check_at = CASE WHEN check_at IS NULL THEN NULL ELSE CAST($2 AS BIGINT) END
     WHERE actor_id = $1`,
    actorId,
    heldUntil,
  )
  await holdNotices(tx, actorId)
  await tx.run(`UPDATE job SET due_at = NULL, lease = '' WHERE actor_id = $1`, actorId)
}

/** Makes the work due that `holdWork` stopped. */
export async function resumeWork(tx: Transaction, actorId: string, now: number): Promise<void> {
  await beginWork(tx, actorId, now)
  await tx.run(
    'UPDATE subscriber_subscription SET check_at = $2 WHERE actor_id = $1 AND check_at = $3',
    actorId,
    now,
    heldUntil,
  )
  await tx.run(
    `UPDATE job SET due_at = $2
     WHERE actor_id = $1 AND kind IN ${singleRuns} AND state = 'live' AND due_at IS NULL AND last > done`,
    actorId,
    now,
  )
}
