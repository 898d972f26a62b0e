/** The SQL of alarms. Each one is a row of `job`. */
import type { Param, Queries, Transaction } from '../store/store.ts'

export interface NewAlarm {
  readonly id: string
  /** Unix milliseconds. */
  readonly at: number
  readonly entryId: string
  /** JSON. Empty: no data. */
  readonly data: string
  /** Number of changes that led to the alarm. */
  readonly hops: number
}

export interface StoredAlarm extends Omit<NewAlarm, 'hops'> {
  readonly dueAt: number | null
  readonly state: 'live' | 'stopped'
  readonly attempts: number
  readonly reason: string
}

/** Stores an alarm, in place of the one with the same id. The end of a run of the older one no longer changes the row. */
export async function putAlarm(tx: Transaction, actorId: string, alarm: NewAlarm, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at, at, entry_id, data, hops)
     VALUES ($1, 'alarm', $2, 1, $3, $4, $3, $5, $6, $7)
     ON CONFLICT (actor_id, kind, id) DO UPDATE SET due_at = excluded.due_at, lease = '', state = 'live', attempts = 0,
       failing_since = NULL, reason = '', done = 0, created_at = excluded.created_at, at = excluded.at,
       entry_id = excluded.entry_id, data = excluded.data, hops = excluded.hops`,
    actorId,
    alarm.id,
    alarm.at,
    now,
    alarm.entryId,
    alarm.data,
    alarm.hops,
  )
}

/** Returns false when the alarm is not set. */
export async function deleteAlarm(tx: Transaction, actorId: string, id: string): Promise<boolean> {
  return (await tx.run(`DELETE FROM job WHERE actor_id = $1 AND kind = 'alarm' AND id = $2`, actorId, id)) > 0
}

/** The alarms of the actor, the next one first. `id` null: all. */
export function findAlarms(q: Queries, actorId: string, id: string | null): Promise<StoredAlarm[]> {
  const params: Param[] = id === null ? [actorId] : [actorId, id]
  return q.all<StoredAlarm>(
    `SELECT id, at, entry_id AS "entryId", data, due_at AS "dueAt", state, attempts, reason FROM job
     WHERE actor_id = $1 AND kind = 'alarm'${id === null ? '' : ' AND id = $2'} ORDER BY at, id`,
    ...params,
  )
}
