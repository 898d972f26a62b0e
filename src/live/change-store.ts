/** The SQL of watching actors. Times are Unix milliseconds. */
import type { Queries, Transaction } from '../store/store.ts'

export interface NumberedChange {
  readonly actorId: string
  readonly number: number
  readonly category: string
  readonly name: string
  /** JSON object of what changed. Empty: only the name is known. */
  readonly detail: string
  readonly at: number
  /** JSON of the origin of the change (origin.ts). Empty: unknown. */
  readonly origin: string
}

/** Stores changes with ascending numbers. The numbers follow the order of commits, because the actor's row is locked. */
export async function insertChanges(
  tx: Transaction,
  actorId: string,
  changes: readonly (readonly [category: string, name: string, detail: string])[],
  now: number,
): Promise<void> {
  const row = await tx.get<{ version: number }>(
    'UPDATE actor SET version = version + $2 WHERE id = $1 RETURNING version',
    actorId,
    changes.length,
  )
  const first = (row?.version ?? 0) - changes.length + 1
  await tx.run(
    `INSERT INTO recent_change (actor_id, number, category, name, detail, at, origin)
     SELECT $1, r.number, r.category, r.name, r.detail, $2, $4
     FROM rows($3, number BIGINT, category TEXT, name TEXT, detail TEXT) AS r`,
    actorId,
    now,
    JSON.stringify(changes.map((change, index) => [first + index, ...change])),
    tx.origin,
  )
}

export interface WatchTime {
  readonly now: number
  readonly until: number
}

/**
 * Starts watching an actor, and returns its latest change number. Waits for running transactions, so that every later
 * change gets a higher number. Null: the actor does not exist.
 *
 * Changes are not recorded between two times of watching. A number without a row then shows that changes may be missing.
 */
export async function beginWatching(
  tx: Transaction,
  actorId: string,
  { now, until }: WatchTime,
): Promise<number | null> {
  const row = await tx.get<{ version: number }>(
    `UPDATE actor SET version = CASE WHEN watched_until > 0 AND watched_until < $3 THEN version + 1 ELSE version END,
       watched_until = CASE WHEN watched_until > $2 THEN watched_until ELSE $2 END
     WHERE id = $1 RETURNING version`,
    actorId,
    until,
    now,
  )
  return row?.version ?? null
}

export async function keepWatching(
  tx: Transaction,
  actorIds: readonly string[],
  { now, until }: WatchTime,
): Promise<void> {
  await tx.run(
    `UPDATE actor SET version = CASE WHEN watched_until < $3 THEN version + 1 ELSE version END, watched_until = $2
     WHERE watched_until < $2 AND id IN (SELECT r.id FROM rows($1, id TEXT) AS r)`,
    JSON.stringify(actorIds.map((id) => [id])),
    until,
    now,
  )
}

/** Finds the changes of many actors, each after the last number that was seen, in ascending order. */
export async function findChanges(q: Queries, seen: ReadonlyMap<string, number>): Promise<readonly NumberedChange[]> {
  const rows = await q.all<{
    actor_id: string
    number: number
    category: string
    name: string
    detail: string
    at: number
    origin: string
  }>(
    `SELECT c.actor_id, c.number, c.category, c.name, c.detail, c.at, c.origin
     FROM rows($1, id TEXT, number BIGINT) AS r JOIN recent_change c ON c.actor_id = r.id AND c.number > r.number
     ORDER BY c.actor_id, c.number`,
    JSON.stringify([...seen]),
  )
  return rows.map(({ actor_id, ...rest }) => ({ actorId: actor_id, ...rest }))
}

export async function deleteChangesBefore(tx: Transaction, before: number): Promise<void> {
  await tx.run('DELETE FROM recent_change WHERE at < $1', before)
}
