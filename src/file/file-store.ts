/** The SQL of files. */
import { changeByKey, naming, runByActor } from '../store/by-key.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'

/** What is stored about a file. */
export interface FileFacts {
  readonly name: string
  readonly size: number
  /** The media type, as declared. */
  readonly type: string
  /** SHA-256 of the bytes, as 64 hexadecimal digits. */
  readonly hash: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface StoredFile extends FileFacts {
  /** The key of its bytes. */
  readonly object: string
}

const columns = 'name, object, size, type, hash, created_at AS "createdAt", updated_at AS "updatedAt"'

export async function findFile(q: Queries, actorId: string, name: string): Promise<StoredFile | null> {
  const row = await q.get<StoredFile>(`SELECT ${columns} FROM file WHERE actor_id = $1 AND name = $2`, actorId, name)
  return row ?? null
}

/** No name has this code point, so it sorts after every character of a name. */
const afterAll = '\u{10ffff}'

/** Files in the order of their names, compared byte by byte. */
export function findFiles(
  q: Queries,
  actorId: string,
  { prefix, after, limit }: { readonly prefix: string; readonly after: string; readonly limit: number },
): Promise<StoredFile[]> {
  return q.all<StoredFile>(
    `SELECT ${columns} FROM file WHERE actor_id = $1 AND name > $2 AND name >= $3 AND name < $4 ORDER BY name LIMIT $5`,
    actorId,
    after,
    prefix,
    `${prefix}${afterAll}`,
    limit,
  )
}

export async function putFile(tx: Transaction, actorId: string, file: StoredFile): Promise<void> {
  await tx.run(
    `INSERT INTO file (actor_id, name, object, size, type, hash, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (actor_id, name) DO UPDATE SET object = excluded.object, size = excluded.size, type = excluded.type,
       hash = excluded.hash, updated_at = excluded.updated_at`,
    actorId,
    file.name,
    file.object,
    file.size,
    file.type,
    file.hash,
    file.createdAt,
    file.updatedAt,
  )
}

export async function deleteFile(tx: Transaction, actorId: string, name: string): Promise<void> {
  await tx.run('DELETE FROM file WHERE actor_id = $1 AND name = $2', actorId, name)
}

export interface Usage {
  readonly files: number
  readonly bytes: number
}

export async function findUsage(q: Queries, actorId: string): Promise<Usage> {
  const row = await q.get<Usage>('SELECT files, bytes FROM file_usage WHERE actor_id = $1', actorId)
  return row ?? { files: 0, bytes: 0 }
}

export async function putUsage(tx: Transaction, actorId: string, { files, bytes }: Usage): Promise<void> {
  await tx.run(
    `INSERT INTO file_usage (actor_id, files, bytes) VALUES ($1, $2, $3)
     ON CONFLICT (actor_id) DO UPDATE SET files = excluded.files, bytes = excluded.bytes`,
    actorId,
    files,
    bytes,
  )
}

/** An object whose deletion is due, or that is being written. */
export interface ObjectKey {
  readonly actorId: string
  readonly object: string
}

/** Records an object before its bytes are written. It is deleted at `dueAt` unless a file gets it. */
export async function insertObject(tx: Transaction, { actorId, object }: ObjectKey, dueAt: number): Promise<void> {
  await tx.run(
    `INSERT INTO file_object (actor_id, object, state, due_at) VALUES ($1, $2, 'writing', $3)`,
    actorId,
    object,
    dueAt,
  )
}

/** Extends the lease of an upload. */
export async function renewObject(tx: Transaction, { actorId, object }: ObjectKey, dueAt: number): Promise<void> {
  await tx.run(
    `UPDATE file_object SET due_at = $3 WHERE actor_id = $1 AND object = $2 AND state = 'writing'`,
    actorId,
    object,
    dueAt,
  )
}

/** Gives a written object to a file. False: its deletion has begun. */
export async function keepObject(tx: Transaction, { actorId, object }: ObjectKey): Promise<boolean> {
  const kept = await tx.run(
    `UPDATE file_object SET state = 'used', due_at = NULL WHERE actor_id = $1 AND object = $2 AND state = 'writing'`,
    actorId,
    object,
  )
  return kept === 1
}

/** Makes the deletion of an object due that a file had. */
export async function releaseObject(tx: Transaction, { actorId, object }: ObjectKey, now: number): Promise<void> {
  await tx.run(
    `UPDATE file_object SET state = 'unused', due_at = $3 WHERE actor_id = $1 AND object = $2`,
    actorId,
    object,
    now,
  )
}

/**
 * Makes the deletion of an object due whose upload failed, also when a deletion has removed its row while the bytes were
 * written. A file keeps the object: the commit of its row may have succeeded without an answer.
 */
export async function abandonObject(tx: Transaction, { actorId, object }: ObjectKey, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO file_object (actor_id, object, state, due_at) VALUES ($1, $2, 'unused', $3)
     ON CONFLICT (actor_id, object) DO UPDATE SET state = excluded.state, due_at = excluded.due_at
     WHERE file_object.state = 'writing'`,
    actorId,
    object,
    now,
  )
}

/** Makes the deletion of all objects of actors due. */
export async function releaseObjectsOf(tx: Transaction, actorIds: readonly string[], now: number): Promise<void> {
  await changeByKey(tx, actorIds, async (named, params) => [
    await tx.run(`UPDATE file_object SET state = 'unused', due_at = $2 WHERE ${named('actor_id')}`, ...params, now),
  ])
}

/** Earliest and latest due time. Null: nothing waits. */
export async function findDueObject(q: Queries): Promise<{ readonly next: number; readonly last: number } | null> {
  const row = await q.get<{ readonly next: number | null; readonly last: number | null }>(
    `/* files */ SELECT (SELECT MIN(due_at) FROM file_object WHERE due_at IS NOT NULL) AS next,
       (SELECT MAX(due_at) FROM file_object WHERE due_at IS NOT NULL) AS last`,
  )
  const { next = null, last = null } = row ?? {}
  return next === null || last === null ? null : { next, last }
}

/** The statement that finds up to `most` actors with objects that are due until `now`, or after `latest`. */
export function findActorsWithObjects(now: number, latest: number, most: number): [sql: string, ...params: Param[]] {
  return [
    `/* files */ SELECT actor_id AS "actorId", MAX(due_at) AS last FROM file_object
     WHERE due_at <= $1 OR due_at > $2 GROUP BY actor_id ORDER BY MIN(due_at) LIMIT $3`,
    now,
    latest,
    most,
  ]
}

/** Makes the objects due now that are due after `latest`. `actorId` null: of all actors. */
export async function bringObjectsForward(
  tx: Transaction,
  { latest, now, actorId }: { readonly latest: number; readonly now: number; readonly actorId: string | null },
): Promise<void> {
  const only = naming(actorId, 'actor_id', 3)
  await tx.run(
    `/* files */ UPDATE file_object SET due_at = $2 WHERE due_at > $1${only.sql}`,
    latest,
    now,
    ...only.params,
  )
}

/** Leases due objects until `until`. Other processes leave them alone meanwhile. `actorId` null: of all actors. */
export function claimObjects(
  tx: Transaction,
  claim: { readonly now: number; readonly until: number; readonly limit: number; readonly actorId: string | null },
): Promise<ObjectKey[]> {
  const { now, until, limit, actorId } = claim
  return tx.all<ObjectKey>(
    `/* files */ UPDATE file_object SET state = 'unused', due_at = $2 WHERE (actor_id, object) IN (
       SELECT o.actor_id, o.object FROM file_object o WHERE o.due_at <= $1${naming(actorId, 'o.actor_id', 4).sql}
       ORDER BY o.due_at LIMIT $3 FOR UPDATE SKIP LOCKED)${naming(actorId, 'file_object.actor_id', 4).sql}
     RETURNING actor_id AS "actorId", object`,
    now,
    until,
    limit,
    ...naming(actorId, '', 4).params,
  )
}

/** Deletes the rows of objects that no longer exist. */
export async function deleteObjects(tx: Transaction, keys: readonly ObjectKey[]): Promise<void> {
  await runByActor(
    tx,
    keys.map(({ actorId, object }) => [actorId, object] as const),
    (own, only) =>
      tx.run(
        `/* files */ DELETE FROM file_object WHERE (actor_id, object) IN
           (SELECT r.actor, r.gone FROM rows($1, actor TEXT, gone TEXT) AS r)${naming(only, 'actor_id', 2).sql}`,
        JSON.stringify(own),
        ...naming(only, '', 2).params,
      ),
  )
}

/** Sets when the deletion of objects is tried again. */
export async function postponeObjects(tx: Transaction, keys: readonly ObjectKey[], dueAt: number): Promise<void> {
  await runByActor(
    tx,
    keys.map(({ actorId, object }) => [actorId, object] as const),
    (own, only) =>
      tx.run(
        `/* files */ UPDATE file_object SET due_at = $2 WHERE (actor_id, object) IN
           (SELECT r.actor, r.kept FROM rows($1, actor TEXT, kept TEXT) AS r)${naming(only, 'actor_id', 3).sql}`,
        JSON.stringify(own),
        dueAt,
        ...naming(only, '', 3).params,
      ),
  )
}
