/** The SQL of buckets. One statement takes from a bucket, so concurrent requests cannot exceed the limit. */
import { byKey } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { burstMs, intervalMs, type Rate, type Taken } from './gcra.ts'

/** The same computation as `take` in `gcra.ts`: $2 is now, $3 the interval of all that is taken, $4 the burst. */
const from = `CASE WHEN rate_limit.empty_at < $2 THEN $2
                   WHEN rate_limit.empty_at > $2 + CAST($4 AS BIGINT) THEN $2 + $4 ELSE rate_limit.empty_at END`
const fits = `(${from}) + $3 <= $2 + $4`

const TAKE = `INSERT INTO rate_limit (key, empty_at, refused) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT), 0)
  ON CONFLICT (key) DO UPDATE SET
    empty_at = CASE WHEN ${fits} THEN (${from}) + $3 ELSE ${from} END,
    refused = CASE WHEN ${fits} THEN 0 ELSE rate_limit.refused + 1 END
  RETURNING empty_at, refused`

/** Takes `count` from the bucket, or nothing. */
export async function takeStored(tx: Transaction, key: string, now: number, rate: Rate, count = 1): Promise<Taken> {
  const taken = intervalMs(rate) * count
  // An empty bucket has no row, with which the statement compares.
  if (taken > burstMs(rate)) return { isAllowed: false, emptyAt: now }
  const row = await tx.get<{ empty_at: number; refused: number }>(TAKE, key, now, taken, burstMs(rate))
  if (row === undefined) throw new Error('Cannot read the rate limit: the upsert returned no row')
  return { isAllowed: row.refused === 0, emptyAt: row.empty_at }
}

export async function findBuckets(q: Queries, keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await byKey(q, keys, (named, params) =>
    q.all<{ key: string; empty_at: number }>(
      `SELECT b.key, b.empty_at FROM rate_limit AS b WHERE ${named('b.key')}`,
      ...params,
    ),
  )
  return new Map(rows.map((row) => [row.key, row.empty_at]))
}

/** Makes every authentication at the actor read the stored buckets first, until the given time. */
export async function guardActor(tx: Transaction, actorId: string, until: number): Promise<void> {
  await tx.run('UPDATE actor SET guarded_until = $2 WHERE id = $1 AND guarded_until < $2', actorId, until)
}

/** Ends what `guardActor` began. */
export async function releaseActor(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('UPDATE actor SET guarded_until = 0 WHERE id = $1', actorId)
}

/** Returns how many of the buckets existed. */
export async function deleteBuckets(tx: Transaction, keys: readonly string[]): Promise<number> {
  let deleted = 0
  for (const key of keys) deleted += await tx.run('DELETE FROM rate_limit WHERE key = $1', key)
  return deleted
}

const lastReset = 'limits_reset'

/** When limits were reset last, in Unix milliseconds. Null: never. */
export async function findLastReset(q: Queries): Promise<number | null> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', lastReset)
  return row === undefined ? null : Number(row.value)
}

export async function storeReset(tx: Transaction, now: number): Promise<void> {
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value',
    lastReset,
    String(now),
  )
}

/** Deletes at most `limit` empty buckets, which no longer limit anything. Returns how many. */
export async function purgeBuckets(tx: Transaction, now: number, limit: number): Promise<number> {
  return tx.run(
    'DELETE FROM rate_limit WHERE key IN (SELECT key FROM rate_limit WHERE empty_at < $1 ORDER BY empty_at LIMIT $2)',
    now,
    limit,
  )
}
