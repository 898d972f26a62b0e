/** The SQL of objects: the bytes of files and archives in their storage. */
import { DueRows, type DueTimes } from '../due/due-rows.ts'
import { changeByKey, naming, runByActor } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'

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

/** Until this time (Unix milliseconds), no object is deleted, because a backup copies the objects. */
const heldSetting = 'file_objects_held_until'

/** Keeps all objects until a time. A later time of another backup stays. */
export async function holdObjects(tx: Transaction, until: number): Promise<void> {
  await tx.run(
    `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
       WHERE CAST(setting.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
    heldSetting,
    String(until),
  )
}

export const objectRows = new DueRows({ table: 'file_object', comment: 'files' })

/** Like `objectRows.find`, and not before the end of a backup. */
export async function findDueObject(q: Queries): Promise<DueTimes | null> {
  const due = await objectRows.find(q)
  if (due === null) return null
  const held = await q.get<{ readonly until: number }>(
    '/* files */ SELECT CAST(value AS BIGINT) AS until FROM setting WHERE name = $1',
    heldSetting,
  )
  return { ...due, next: Math.max(due.next, held?.until ?? 0) }
}

/** Leases due objects until `until`. Other processes leave them alone meanwhile. `actorId` null: of all actors. */
export function claimObjects(
  tx: Transaction,
  claim: { readonly now: number; readonly until: number; readonly limit: number; readonly actorId: string | null },
): Promise<ObjectKey[]> {
  const { now, until, limit, actorId } = claim
  // A sharded database has no backups of this kind.
  const unlessHeld = tx.isSharded
    ? ''
    : ` AND NOT EXISTS (SELECT 1 FROM setting WHERE name = '${heldSetting}' AND CAST(value AS BIGINT) > $1)`
  return tx.all<ObjectKey>(
    `/* files */ UPDATE file_object SET state = 'unused', due_at = $2 WHERE (actor_id, object) IN (
       SELECT o.actor_id, o.object FROM file_object o WHERE o.due_at <= $1${unlessHeld}${naming(actorId, 'o.actor_id', 4).sql}
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
