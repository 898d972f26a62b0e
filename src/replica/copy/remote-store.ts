/** The SQL of copies of peers' data. Each function runs one statement, however much it reads or writes. */
import { type JsonText, known } from '../../json/json.ts'
import type { Queries, Transaction } from '../../store/store.ts'

/** Finds the given keys that exist. */
export async function findKeys(
  q: Queries,
  actorId: string,
  bucket: string,
  keys: readonly string[],
): Promise<Map<string, JsonText>> {
  if (keys.length === 0) return new Map()
  const rows = await q.all<{ name: string; data: string }>(
    `SELECT name, data FROM attribute WHERE actor_id = $1 AND bucket = $2
       AND name IN ARRAY (SELECT name FROM rows($3, name TEXT) AS wanted)`,
    actorId,
    bucket,
    JSON.stringify(keys.map((key) => [key])),
  )
  return new Map(rows.map(({ name, data }) => [name, known(data)]))
}

export async function findAllKeys(q: Queries, actorId: string, bucket: string): Promise<Map<string, JsonText>> {
  const rows = await q.all<{ name: string; data: string }>(
    'SELECT name, data FROM attribute WHERE actor_id = $1 AND bucket = $2 ORDER BY name',
    actorId,
    bucket,
  )
  return new Map(rows.map(({ name, data }) => [name, known(data)]))
}

/** A key with its new content: a JSON string, or the content that another key has before the statement. */
export type KeyWrite = readonly [key: string, data: JsonText | null, source: string | null]

export async function writeKeys(
  tx: Transaction,
  actorId: string,
  bucket: string,
  writes: readonly KeyWrite[],
  now: number,
): Promise<void> {
  if (writes.length === 0) return
  await tx.run(
    `INSERT INTO attribute (actor_id, bucket, name, data, timestamp)
     SELECT $1, $2, entry.target, COALESCE(entry.data, old.data), CAST($4 AS BIGINT)
     FROM rows($3, target TEXT, data TEXT, source TEXT) AS entry
     LEFT JOIN attribute old ON old.actor_id = $1 AND old.bucket = $2 AND old.name = entry.source
     WHERE COALESCE(entry.data, old.data) IS NOT NULL
     ON CONFLICT (actor_id, bucket, name) DO UPDATE SET data = excluded.data, timestamp = excluded.timestamp`,
    actorId,
    bucket,
    JSON.stringify(writes),
    now,
  )
}

export async function deleteKeys(
  tx: Transaction,
  actorId: string,
  bucket: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await tx.run(
    `DELETE FROM attribute WHERE actor_id = $1 AND bucket = $2
       AND name IN ARRAY (SELECT name FROM rows($3, name TEXT) AS wanted)`,
    actorId,
    bucket,
    JSON.stringify(keys.map((key) => [key])),
  )
}

export async function deleteBucket(tx: Transaction, actorId: string, bucket: string): Promise<void> {
  await tx.run('DELETE FROM attribute WHERE actor_id = $1 AND bucket = $2', actorId, bucket)
}
