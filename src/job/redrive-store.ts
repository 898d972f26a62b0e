/** The SQL of `troupe redrive` for background work: runs again what failed for good. */
import { isHere } from '../actor/actor-store.ts'
import type { Param, Transaction } from '../store/store.ts'
import type { JobKind } from './job-store.ts'

export interface RedrivenJobs {
  /** Number of events and messages of features. */
  readonly entries: number
  readonly alarms: number
}

/** Which work to redrive. A missing member means any, and work of any actor that is here. */
export interface Redriven {
  readonly actorId?: string | undefined
  readonly kind?: JobKind
  readonly id?: string
}

/** Runs failed entries and alarms again, and continues stopped queues. An entry runs before those that wait, in its old place. */
export async function redriveJobs(tx: Transaction, of: Redriven, now: number): Promise<RedrivenJobs> {
  const where = (table: 'job' | 'job_entry'): string =>
    Object.entries({ actor_id: of.actorId, kind: of.kind, [table === 'job' ? 'id' : 'job_id']: of.id })
      .filter(([, value]) => value !== undefined)
      .map(([column], index) => ` AND ${table}.${column} = $${index + 2}`)
      .join('') + (of.actorId === undefined ? isHere(`${table}.actor_id`) : '')
  const params: Param[] = [of.actorId, of.kind, of.id].filter((value) => value !== undefined)
  const entries = await tx.run(
    `/* jobs */ UPDATE job_entry SET outcome = 'waiting', attempts = 0
     WHERE outcome = 'failed' AND created_at <= $1${where('job_entry')}`,
    now,
    ...params,
  )
  // A queue under a lease keeps its entries in order: its worker looks for the first one that waits.
  await tx.run(
    `/* jobs */ UPDATE job SET state = 'live', attempts = 0, failing_since = NULL, reason = '', lease = '',
       due_at = CAST($1 AS BIGINT),
       done = COALESCE((SELECT MIN(e.number) - 1 FROM job_entry e WHERE e.actor_id = job.actor_id AND e.kind = job.kind
         AND e.job_id = job.id AND e.outcome = 'waiting'), done)
     WHERE kind <> 'alarm' AND (state = 'stopped' OR EXISTS (SELECT 1 FROM job_entry e WHERE e.actor_id = job.actor_id
       AND e.kind = job.kind AND e.job_id = job.id AND e.outcome = 'waiting'))${where('job')}`,
    now,
    ...params,
  )
  const alarms = await tx.run(
    `/* jobs */ UPDATE job SET state = 'live', attempts = 0, failing_since = NULL, reason = '', due_at = CAST($1 AS BIGINT)
     WHERE kind = 'alarm' AND state = 'stopped'${where('job')}`,
    now,
    ...params,
  )
  return { entries, alarms }
}
