/** SQL of one-time records. All times are Unix milliseconds. */
import type { SecretHash } from '../secret/hash.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'

export interface NewRecord {
  readonly hash: SecretHash
  readonly purpose: string
  readonly actorId: string | null
  readonly provider: string
  readonly browser: SecretHash | null
  readonly data: Sealed
  readonly expiresAt: number
}

export interface Conditions {
  readonly purpose: string
  /** Null matches any provider. */
  readonly provider: string | null
  /** Null when the browser is unknown; it matches only unbound records. */
  readonly browser: SecretHash | null
}

export interface OneTimeRow {
  readonly actorId: string | null
  readonly provider: string
  readonly data: string
  readonly usedAt: number | null
}

const columns = 'actor_id AS "actorId", provider, data, used_at AS "usedAt"'

export async function insertRecord(tx: Transaction, record: NewRecord): Promise<void> {
  await tx.run(
    `INSERT INTO one_time (hash, purpose, actor_id, provider, browser, data, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    record.hash,
    record.purpose,
    record.actorId,
    record.provider,
    record.browser,
    record.data,
    record.expiresAt,
  )
}

/** Consumes a record in one statement, so that exactly one caller gets the row. Binds an unbound record to the browser. */
export async function consumeRecord(
  tx: Transaction,
  hash: SecretHash,
  { purpose, provider, browser }: Conditions,
  now: number,
): Promise<OneTimeRow | null> {
  const row = await tx.get<OneTimeRow>(
    `UPDATE one_time SET used_at = $2, browser = COALESCE(browser, CAST($5 AS TEXT))
     WHERE hash = $1 AND purpose = $3 AND provider = COALESCE(CAST($4 AS TEXT), provider)
       AND (browser IS NULL OR browser = CAST($5 AS TEXT)) AND used_at IS NULL AND expires_at >= $2
     RETURNING ${columns}`,
    hash,
    now,
    purpose,
    provider,
    browser,
  )
  return row ?? null
}

/** Finds a record that the same browser consumed at `since` or later. */
export async function repeatRecord(
  q: Queries,
  hash: SecretHash,
  { purpose, provider, browser }: Conditions,
  since: number,
): Promise<OneTimeRow | null> {
  const row = await q.get<OneTimeRow>(
    `SELECT ${columns} FROM one_time
     WHERE hash = $1 AND purpose = $2 AND provider = COALESCE(CAST($3 AS TEXT), provider) AND browser = $4
       AND used_at >= $5`,
    hash,
    purpose,
    provider,
    browser,
    since,
  )
  return row ?? null
}

/** Finds a used or unused record within its lifetime. */
export async function findRecord(
  q: Queries,
  hash: SecretHash,
  { purpose, provider, browser }: Conditions,
  now: number,
): Promise<OneTimeRow | null> {
  const row = await q.get<OneTimeRow>(
    `SELECT ${columns} FROM one_time
     WHERE hash = $1 AND purpose = $2 AND provider = COALESCE(CAST($3 AS TEXT), provider)
       AND (browser IS NULL OR browser = CAST($4 AS TEXT)) AND expires_at >= $5`,
    hash,
    purpose,
    provider,
    browser,
    now,
  )
  return row ?? null
}

/** Replaces the data and the expiry of a used record. */
export async function amendRecord(tx: Transaction, hash: SecretHash, data: Sealed, expiresAt: number): Promise<void> {
  await tx.run(
    'UPDATE one_time SET data = $2, expires_at = $3 WHERE hash = $1 AND used_at IS NOT NULL',
    hash,
    data,
    expiresAt,
  )
}

/** Inserts a record that is already used. Returns false when it exists. */
export async function insertMark(
  tx: Transaction,
  { hash, purpose, data, expiresAt }: Pick<NewRecord, 'hash' | 'purpose' | 'data' | 'expiresAt'>,
  now: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO one_time (hash, purpose, provider, data, expires_at, used_at) VALUES ($1, $2, '', $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    hash,
    purpose,
    data,
    expiresAt,
    now,
  )
  return inserted === 1
}

export async function deleteRecord(tx: Transaction, hash: SecretHash): Promise<void> {
  await tx.run('DELETE FROM one_time WHERE hash = $1', hash)
}

/** Deletes up to `limit` records that expired before `now`. @returns the number of deleted records. */
export async function purgeOneTime(tx: Transaction, now: number, limit: number): Promise<number> {
  if (tx.isSharded) {
    const gone = await tx.all<{ hash: string }>(
      'SELECT hash FROM one_time WHERE expires_at < $1 ORDER BY expires_at LIMIT $2',
      now,
      limit,
    )
    // The purges of two processes delete in the same order, so none waits for the other in a circle.
    for (const hash of gone.map((record) => record.hash).toSorted())
      await tx.run('DELETE FROM one_time WHERE hash = $1 AND expires_at < $2', hash, now)
    return gone.length
  }
  return tx.run(
    `DELETE FROM one_time WHERE hash IN (
       SELECT hash FROM one_time WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    now,
    limit,
  )
}

/** Deletes the records of an actor for one purpose, on every server of a sharded database. */
export async function deletePurposeOf(tx: Transaction, actorId: string, purpose: string): Promise<void> {
  await tx.run('DELETE FROM one_time WHERE actor_id = $1 AND purpose = $2', actorId, purpose)
}

/** Deletes the records of a deleted actor on every server of a sharded database. A plain one has deleted them with the actor. */
export async function deleteRecordsOf(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM one_time WHERE actor_id = $1', actorId)
}
