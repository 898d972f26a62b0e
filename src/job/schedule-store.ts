/** The SQL of schedules. Statements of workers begin with the comment `schedules`. */
import { byKey } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'

/** An occurrence under the lease of this process. */
export interface Occurrence {
  readonly scheduledAt: number
  /** Failed attempts. */
  readonly attempts: number
}

/** Stores a schedule that is new, or whose timing has changed. */
export async function putSchedule(tx: Transaction, name: string, timing: string, first: number): Promise<void> {
  await tx.run(
    `/* schedules */ INSERT INTO schedule (name, timing, scheduled_at, due_at) VALUES ($1, $2, $3, $3)
     ON CONFLICT (name) DO UPDATE SET timing = excluded.timing, scheduled_at = excluded.scheduled_at,
       due_at = excluded.due_at, lease = '', attempts = 0
     WHERE schedule.timing <> excluded.timing`,
    name,
    timing,
    first,
  )
}

/** When the schedules are due, by name. */
export async function findSchedules(q: Queries, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await byKey(q, names, (named, params) =>
    q.all<{ name: string; dueAt: number }>(
      `/* schedules */ SELECT name, due_at AS "dueAt" FROM schedule WHERE ${named('name')}`,
      ...params,
    ),
  )
  return new Map(rows.map(({ name, dueAt }) => [name, dueAt]))
}

/** Leases a due schedule until `until`. Null: another process has it. */
export async function claimSchedule(
  tx: Transaction,
  name: string,
  claim: { readonly timing: string; readonly now: number; readonly until: number; readonly lease: string },
): Promise<Occurrence | null> {
  const [claimed] = await tx.all<Occurrence>(
    `/* schedules */ UPDATE schedule SET due_at = $3, lease = $4 WHERE name = $1 AND due_at <= $2 AND timing = $5
     RETURNING scheduled_at AS "scheduledAt", attempts`,
    name,
    claim.now,
    claim.until,
    claim.lease,
    claim.timing,
  )
  return claimed ?? null
}

/** False: another process has the schedule, or its timing was changed. */
export async function renewSchedule(tx: Transaction, name: string, lease: string, until: number): Promise<boolean> {
  const renewed = await tx.run(
    '/* schedules */ UPDATE schedule SET due_at = $3 WHERE name = $1 AND lease = $2',
    name,
    lease,
    until,
  )
  return renewed === 1
}

/** The outcome of a run of an occurrence. */
export interface EndedRun {
  readonly lease: string
  /** The occurrence that is due next: a later one, or the same one again. */
  readonly scheduledAt: number
  readonly dueAt: number
  readonly attempts: number
  /** The run that ended. */
  readonly ran: number
  readonly endedAt: number
  readonly reason: string
}

export async function endSchedule(tx: Transaction, name: string, run: EndedRun): Promise<void> {
  await tx.run(
    `/* schedules */ UPDATE schedule SET scheduled_at = $3, due_at = $4, attempts = $5, last_scheduled_at = $6,
       last_ended_at = $7, reason = $8, lease = ''
     WHERE name = $1 AND lease = $2`,
    name,
    run.lease,
    run.scheduledAt,
    run.dueAt,
    run.attempts,
    run.ran,
    run.endedAt,
    run.reason,
  )
}

/** Runs the schedules again whose last run failed for good. Returns their number. */
export async function redriveSchedules(tx: Transaction, now: number): Promise<number> {
  return tx.run(
    `/* schedules */ UPDATE schedule SET due_at = $1, scheduled_at = last_scheduled_at, attempts = 0, reason = ''
     WHERE reason <> '' AND attempts = 0 AND lease = '' AND last_scheduled_at IS NOT NULL`,
    now,
  )
}
