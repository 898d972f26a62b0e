/** The SQL of the entries of a queue: events, and messages of features. */
import { naming, runByActor } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { JobKey, JobKind } from './job-store.ts'

/** An entry to append. */
export interface NewEntry {
  readonly entryId: string
  readonly type: string
  /** JSON. */
  readonly data: string
}

/** An entry that waits. */
export interface WaitingEntry extends NewEntry {
  readonly number: number
  readonly origin: string
  readonly hops: number
  readonly createdAt: number
  readonly attempts: number
}

/** The outcome of an attempt. */
export interface EntryOutcome {
  readonly number: number
  readonly outcome: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly sentAt: number | null
  readonly answeredAt: number | null
  readonly status: number | null
  readonly reason: string
}

/** An entry as the owner sees it. */
export interface ShownEntry extends EntryOutcome {
  readonly entryId: string
  readonly type: string
  readonly createdAt: number
}

/** One queue with the entries that it gets. */
export interface Append {
  readonly id: string
  readonly entries: readonly NewEntry[]
}

/**
 * Appends entries to queues of one kind of the actor, in the transaction of the change. Creates a missing queue. A stopped
 * queue keeps its entries until a redrive. Returns the number of the last entry of each queue.
 */
export async function appendEntries(
  tx: Transaction,
  { actorId, kind }: Pick<JobKey, 'actorId' | 'kind'>,
  appends: readonly Append[],
  made: { readonly now: number; readonly hops: number; readonly origin: string },
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.all<{ id: string; last: number }>(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at)
     SELECT $1, $2, r.job, r.added, CAST($4 AS BIGINT), CAST($4 AS BIGINT) FROM rows($3, job TEXT, added BIGINT) AS r
     WHERE true
     ON CONFLICT (actor_id, kind, id) DO UPDATE SET last = job.last + excluded.last,
       due_at = CASE WHEN job.state = 'stopped' THEN NULL ELSE COALESCE(job.due_at, excluded.due_at) END
     RETURNING id, last`,
    actorId,
    kind,
    JSON.stringify(appends.map(({ id, entries }) => [id, entries.length])),
    made.now,
  )
  const last = new Map(rows.map((row) => [row.id, row.last]))
  const numbered = appends.flatMap(({ id, entries }) =>
    entries.map(({ entryId, type, data }, index) => [
      id,
      (last.get(id) ?? 0) - entries.length + index + 1,
      entryId,
      type,
      data,
    ]),
  )
  await tx.run(
    `INSERT INTO job_entry (actor_id, kind, job_id, number, entry_id, type, data, origin, hops, created_at)
     SELECT $1, $2, r.job, r.number, r.entry, r.type, r.data, $4, CAST($5 AS BIGINT), CAST($6 AS BIGINT)
     FROM rows($3, job TEXT, number BIGINT, entry TEXT, type TEXT, data TEXT) AS r`,
    actorId,
    kind,
    JSON.stringify(numbered),
    made.origin,
    made.hops,
    made.now,
  )
  return last
}

/**
 * Limit of an entry that is read together with others, in characters. A longer one is read alone: the workers hold the
 * entries of many queues in memory, each while its receiver may be slow.
 */
const longestTogether = 2048

/** The next entries of a queue, in order. */
export async function findJobEntries(
  q: Queries,
  { actorId, kind, id }: JobKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<WaitingEntry[]> {
  const rows = await q.all<Omit<WaitingEntry, 'data'> & { readonly data: string | null }>(
    `/* jobs */ SELECT number, entry_id AS "entryId", type, origin, hops, created_at AS "createdAt", attempts,
       CASE WHEN LENGTH(data) <= $6 OR number = (SELECT f.number FROM job_entry f WHERE f.actor_id = $1 AND f.kind = $2
         AND f.job_id = $3 AND f.number > $4 AND f.outcome = 'waiting' ORDER BY f.number LIMIT 1) THEN data END AS data
     FROM job_entry WHERE actor_id = $1 AND kind = $2 AND job_id = $3 AND number > $4 AND outcome = 'waiting'
     ORDER BY number LIMIT $5`,
    actorId,
    kind,
    id,
    after,
    limit,
    longestTogether,
  )
  return untilLong(rows)
}

/** The first entry, and those after it before the first long one. */
function untilLong(rows: readonly (Omit<WaitingEntry, 'data'> & { readonly data: string | null })[]): WaitingEntry[] {
  const entries: WaitingEntry[] = []
  for (const { data, ...row } of rows) {
    if (data === null) break
    entries.push({ ...row, data })
    if (data.length > longestTogether) break
  }
  return entries
}

type EntryRow = readonly [actorId: string, kind: JobKind, id: string, outcome: EntryOutcome]

/** Deletes delivered entries that no timeline shows, and stores the outcomes of the others. A delivered entry keeps no data. */
export async function settleEntries(
  tx: Transaction,
  outcomes: readonly (JobKey & { readonly outcome: EntryOutcome })[],
): Promise<void> {
  const rows = outcomes.map(({ actorId, kind, id, outcome }): EntryRow => [actorId, kind, id, outcome])
  const isGone = ([, kind, , { outcome }]: EntryRow): boolean => kind === 'event' && outcome === 'delivered'
  await runByActor(
    tx,
    rows.filter(isGone).map(([actorId, kind, id, { number }]) => [actorId, kind, id, number]),
    (own, only) =>
      tx.run(
        `/* jobs */ DELETE FROM job_entry WHERE (actor_id, kind, job_id, number) IN
           (SELECT r.actor, r.of_kind, r.job, r.entry FROM rows($1, actor TEXT, of_kind TEXT, job TEXT, entry BIGINT) AS r)
           ${naming(only, 'actor_id', 2).sql}`,
        JSON.stringify(own),
        ...naming(only, '', 2).params,
      ),
  )
  const kept = rows
    .filter((row) => !isGone(row))
    .map(([actorId, kind, id, { number, outcome, attempts, sentAt, answeredAt, status, reason }]) => [
      actorId,
      kind,
      id,
      number,
      outcome,
      attempts,
      sentAt,
      answeredAt,
      status,
      reason,
    ])
  await runByActor(tx, kept, (own, only) =>
    tx.run(
      `/* jobs */ UPDATE job_entry SET data = CASE WHEN r.result = 'delivered' THEN '' ELSE data END, outcome = r.result, attempts = r.tries, sent_at = r.sent, answered_at = r.answered,
         status = r.code, reason = r.why
       FROM rows($1, actor TEXT, of_kind TEXT, job TEXT, entry BIGINT, result TEXT, tries BIGINT, sent BIGINT,
         answered BIGINT, code BIGINT, why TEXT) AS r
       WHERE actor_id = r.actor AND kind = r.of_kind AND job_id = r.job AND number = r.entry${naming(only, 'actor_id', 2).sql}`,
      JSON.stringify(own),
      ...naming(only, '', 2).params,
    ),
  )
}

/** The entries of a queue, newest first. */
export function findJobTimeline(
  q: Queries,
  { actorId, kind, id }: JobKey,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<ShownEntry[]> {
  return q.all<ShownEntry>(
    `SELECT number, entry_id AS "entryId", type, created_at AS "createdAt", outcome, attempts, sent_at AS "sentAt",
       answered_at AS "answeredAt", status, reason
     FROM job_entry WHERE actor_id = $1 AND kind = $2 AND job_id = $3 AND number < $4 ORDER BY number DESC LIMIT $5`,
    actorId,
    kind,
    id,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  )
}

/** Deletes the entries of queues up to a number, because a queue keeps a limited number. */
export async function dropEntries(
  tx: Transaction,
  { actorId, kind }: Pick<JobKey, 'actorId' | 'kind'>,
  queues: readonly { readonly id: string; readonly upTo: number }[],
): Promise<void> {
  // By the key: with a condition on each row, SQLite would read all rows of all queues.
  await tx.run(
    `DELETE FROM job_entry WHERE actor_id = $1 AND kind = $2 AND (job_id, number) IN (
       SELECT e.job_id, e.number FROM rows($3, job TEXT, most BIGINT) AS r
       CROSS JOIN job_entry AS e WHERE e.actor_id = $1 AND e.kind = $2 AND e.job_id = r.job AND e.number <= r.most)`,
    actorId,
    kind,
    JSON.stringify(queues.map(({ id, upTo }) => [id, upTo])),
  )
}

/** Deletes entries that were written before a time. */
export async function deleteOldEntries(tx: Transaction, before: number): Promise<void> {
  await tx.run('/* jobs */ DELETE FROM job_entry WHERE created_at < $1', before)
}
