/** The SQL of background work. Statements of workers begin with the comment `jobs`. */
import { DueRows } from '../due/due-rows.ts'
import { type ActorRow, byActor, firstOf, naming, runByActor } from '../store/by-key.ts'
import type { Store, Transaction } from '../store/store.ts'

/** `event`, `alarm`, one of `singleRuns`, or the queue of a feature. */
export type JobKind = string

/** The kinds that are one run of the service itself, without a queue that waits: a list of SQL. */
export const singleRuns = `('import', 'move', 'arrival')`

export interface JobKey {
  readonly actorId: string
  readonly kind: JobKind
  /** Empty for events, imports and moves, the id of the row that a queue of a feature belongs to, or the name and key of the alarm. */
  readonly id: string
}

/** A row under the lease of a worker. */
export interface ClaimedJob extends JobKey {
  /** Creator of the actor. */
  readonly creator: string
  readonly actorKind: string
  readonly lease: string
  readonly last: number
  readonly done: number
  readonly attempts: number
  readonly failingSince: number | null
  /** For an alarm: its time, its data and its hops. */
  readonly at: number | null
  /** Names what was set: the setting of an alarm, an import, a move. Empty for events. */
  readonly entryId: string
  readonly data: string
  readonly hops: number
}

/** The outcome of a run of a row. */
export interface Settled {
  readonly job: ClaimedJob
  /** The last entry that needs no further attempt. Null: the row is deleted. */
  readonly done: number | null
  /** Time of the next attempt, if entries are left. */
  readonly dueAt: number
  readonly state: 'live' | 'stopped'
  readonly attempts: number
  readonly failingSince: number | null
  readonly reason: string
}

export async function claimJobs(
  tx: Transaction,
  claim: {
    readonly kind: JobKind
    readonly lease: string
    readonly now: number
    readonly until: number
    readonly limit: number
    /** Null: all actors besides those in `without`. */
    readonly actorId: string | null
    readonly without: readonly string[]
  },
): Promise<ClaimedJob[]> {
  const { actorId } = claim
  return tx.all<ClaimedJob>(
    `/* jobs */ UPDATE job SET due_at = $2, lease = $3 WHERE (actor_id, kind, id) IN (
       SELECT j.actor_id, j.kind, j.id FROM job j
       WHERE j.kind = $4 AND j.due_at <= $1 AND j.actor_id NOT IN (SELECT actor FROM rows($6, actor TEXT) AS busy)
         ${naming(actorId, 'j.actor_id', 7).sql}
       ORDER BY j.due_at LIMIT $5 FOR UPDATE SKIP LOCKED)${naming(actorId, 'job.actor_id', 7).sql}
     RETURNING actor_id AS "actorId", kind, id, lease, last, done, attempts, failing_since AS "failingSince", at,
       entry_id AS "entryId", data, hops,
       (SELECT a.creator FROM actor a WHERE a.id = ${actorId === null ? 'job.actor_id' : '$7'}) AS creator,
       (SELECT a.kind FROM actor a WHERE a.id = ${actorId === null ? 'job.actor_id' : '$7'}) AS "actorKind"`,
    claim.now,
    claim.until,
    claim.lease,
    claim.kind,
    claim.limit,
    JSON.stringify(claim.without.map((busy) => [busy])),
    ...naming(actorId, '', 7).params,
  )
}

type Lease = Pick<ClaimedJob, 'actorId' | 'kind' | 'id' | 'lease'>

/** Extends the leases. Resolves with those that still exist, by `leaseKey`. */
export async function renewLeases(tx: Transaction, leases: readonly Lease[], until: number): Promise<Set<string>> {
  const kept = new Set<string>()
  await runByActor(tx, leases.map(keyRow).toSorted(byKey), async (own, only) => {
    const rows = await tx.all<Pick<Lease, 'actorId' | 'id' | 'lease'>>(
      `/* jobs */ UPDATE job SET due_at = $2 FROM rows($1, actor TEXT, of_kind TEXT, job TEXT, claim TEXT) AS r
       WHERE actor_id = r.actor AND kind = r.of_kind AND id = r.job AND lease = r.claim${naming(only, 'actor_id', 3).sql}
       RETURNING actor_id AS "actorId", id, lease`,
      JSON.stringify(own),
      until,
      ...naming(only, '', 3).params,
    )
    for (const row of rows) kept.add(leaseKey(row))
    return rows.length
  })
  return kept
}

/** Names a lease among those of one kind. */
export function leaseKey({ actorId, id, lease }: Pick<Lease, 'actorId' | 'id' | 'lease'>): string {
  return JSON.stringify([actorId, id, lease])
}

type KeyRow = [actorId: string, kind: string, id: string, lease: string]

function keyRow({ actorId, kind, id, lease }: Lease): KeyRow {
  return [actorId, kind, id, lease]
}

/** Transactions that lock several rows lock them in one order. */
function byKey([actor, , id]: ActorRow, [otherActor, , otherId]: ActorRow): number {
  return JSON.stringify([actor, id]) < JSON.stringify([otherActor, otherId]) ? -1 : 1
}

/**
 * Ends leases. A row that another worker has claimed meanwhile, or that was set again, stays as it is. Resolves with the
 * actors of rows that have a further attempt.
 */
export async function settleJobs(tx: Transaction, all: readonly Settled[]): Promise<readonly DueActor[]> {
  const ended = all.filter(({ done }) => done === null)
  await runByActor(tx, ended.map(({ job }) => keyRow(job)).toSorted(byKey), (own, only) =>
    tx.run(
      `/* jobs */ DELETE FROM job WHERE (actor_id, kind, id, lease) IN
           (SELECT r.actor, r.of_kind, r.job, r.claim FROM rows($1, actor TEXT, of_kind TEXT, job TEXT, claim TEXT) AS r)
           ${naming(only, 'actor_id', 2).sql}`,
      JSON.stringify(own),
      ...naming(only, '', 2).params,
    ),
  )
  const kept = all
    .flatMap(({ job, done, dueAt, state, attempts, failingSince, reason }) =>
      done === null ? [] : [[...keyRow(job), done, dueAt, state, attempts, failingSince, reason]],
    )
    .toSorted(byKey)
  if (kept.length === 0) return []
  const settled = await byActor(tx, kept, firstOf, (own, only) =>
    tx.all<{ actorId: string; dueAt: number | null }>(
      `/* jobs */ UPDATE job SET done = r.finished, attempts = r.failures, failing_since = r.since, reason = r.why,
         state = r.now_in, lease = '',
         due_at = CASE WHEN r.now_in = 'stopped' OR last <= r.finished THEN NULL ELSE r.due END
       FROM rows($1, actor TEXT, of_kind TEXT, job TEXT, claim TEXT, finished BIGINT, due BIGINT, now_in TEXT,
         failures BIGINT, since BIGINT, why TEXT) AS r
       WHERE actor_id = r.actor AND kind = r.of_kind AND id = r.job AND lease = r.claim${naming(only, 'actor_id', 2).sql}
       RETURNING actor_id AS "actorId", due_at AS "dueAt"`,
      JSON.stringify(own),
      ...naming(only, '', 2).params,
    ),
  )
  return settled.flatMap(({ actorId, dueAt }) => (dueAt === null ? [] : [{ actorId, dueAt }]))
}

/** An actor with work that is due at a time. */
export interface DueActor {
  readonly actorId: string
  readonly dueAt: number
}

/** The due rows of one kind. */
export function jobRows(kind: JobKind): DueRows {
  return new DueRows({ table: 'job', comment: 'jobs', kind })
}

/** The numbers of rows that wait, and of failed alarms and entries. */
export async function countJobs(
  store: Pick<Store, 'readAllServers'>,
  now: number,
): Promise<{ readonly kind: JobKind; readonly due: number; readonly failed: number }[]> {
  const found = await store.readAllServers<{ kind: JobKind; due: number; failed: number }>(
    `/* jobs */ SELECT kind, CAST(SUM(due) AS BIGINT) AS due, CAST(SUM(failed) AS BIGINT) AS failed FROM (
       SELECT kind, COUNT(*) AS due, 0 AS failed FROM job WHERE due_at IS NOT NULL AND (kind <> 'alarm' OR due_at <= $1)
         GROUP BY kind
       UNION ALL SELECT kind, 0, COUNT(*) FROM job WHERE state = 'stopped' AND kind = 'alarm' GROUP BY kind
       UNION ALL SELECT kind, 0, COUNT(*) FROM job_entry WHERE outcome = 'failed' GROUP BY kind) AS counted
     GROUP BY kind`,
    now,
  )
  const sum = (rows: readonly { due: number; failed: number }[], of: 'due' | 'failed'): number =>
    rows.reduce((total, row) => total + row[of], 0)
  return [...Map.groupBy(found, ({ kind }) => kind)].map(([kind, rows]) => ({
    kind,
    due: sum(rows, 'due'),
    failed: sum(rows, 'failed'),
  }))
}

/** Deletes the alarms that failed before a time. */
export async function deleteOldJobs(tx: Transaction, before: number): Promise<void> {
  await tx.run(`/* jobs */ DELETE FROM job WHERE kind = 'alarm' AND state = 'stopped' AND failing_since < $1`, before)
}
