/** The SQL of a replacement: what goes, what stays, and what subscribers receive. */
import { deleteAllLookups } from '../actor/lookup.ts'
import { kinds } from '../property/kinds.ts'
import type { PropertyKind } from '../property/property-store.ts'
import { inEachScope } from '../publication/changed-rights.ts'
import { insertMissedOfAll, keepAllMissedDiffs } from '../publication/missed-store.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { RecordRow } from '../table/record-kind.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import { insertResyncs } from './restored-rows.ts'

/** Properties of one transaction. Each of their values may be long. */
const batchProperties = 16
const batchRows = 500

/** The attributes about peers. They belong to the relationships and subscriptions that stay, not to the content. */
const bucketsOfPeers: ReadonlySet<string> = new Set(['_peer_profiles', '_peer_capabilities', '_peer_permissions'])
const copies = 'remote:'
/** The mark of an import that has begun. */
const archiveBucket = '_archive'

const ofPeersInSql = `(bucket IN ('${[...bucketsOfPeers, archiveBucket].join("', '")}') OR substr(bucket, 1, ${copies.length}) = '${copies}')`

/** Whether an attribute stays as it is now. */
export function isOfPeers(bucket: string): boolean {
  return bucketsOfPeers.has(bucket) || bucket === archiveBucket || bucket.startsWith(copies)
}

/** The attributes that a replacement leaves as they are. */
export async function stayingAttributes(
  q: Queries,
  actorId: string,
  hasSecrets: boolean,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  const found = await q.get<{ entries: number; bytes: number }>(
    `SELECT COUNT(*) AS entries, CAST(COALESCE(SUM(octet_length(name) + octet_length(data)), 0) AS BIGINT) AS bytes
     FROM attribute WHERE actor_id = $1${hasSecrets ? ` AND ${ofPeersInSql}` : ''}`,
    actorId,
  )
  return found ?? { entries: 0, bytes: 0 }
}

/** Whether the owner imports an archive. */
export async function hasRunningImport(tx: Transaction, actorId: string): Promise<boolean> {
  const row = await tx.get(`SELECT actor_id FROM job WHERE actor_id = $1 AND kind = 'import' AND done < last`, actorId)
  return row !== undefined
}

/** The peers without a relationship. */
export async function findUnrelated(q: Queries, actorId: string, peers: readonly string[]): Promise<string[]> {
  const unrelated: string[] = []
  for (let at = 0; at < peers.length; at += batchRows) {
    const some = peers.slice(at, at + batchRows)
    const found = await q.all<{ peerId: string }>(
      `SELECT peer_id AS "peerId" FROM trust WHERE actor_id = $1
         AND peer_id IN ARRAY (SELECT peer FROM rows($2, peer TEXT) AS archived)`,
      actorId,
      JSON.stringify(some.map((peer) => [peer])),
    )
    const related = new Set(found.map(({ peerId }) => peerId))
    unrelated.push(...some.filter((peer) => !related.has(peer)))
  }
  return unrelated
}

/** A value of the actor, with the value of the archive. Null: the archive has none. */
export interface ReplacedValue {
  readonly name: string
  readonly value: string | null
}

export interface ClearedActor {
  readonly actorId: string
  /** The actor with the content of the archive. */
  readonly trial: string
  readonly keep: (tx: Transaction, values: readonly ReplacedValue[]) => Promise<void>
}

/** Deletes some properties. The rows of long lists are deleted later. False: none is left. */
export async function clearProperties(tx: Transaction, { actorId, trial, keep }: ClearedActor): Promise<boolean> {
  const rows = await tx.all<{ name: string; kind: PropertyKind }>(
    'SELECT name, kind FROM property WHERE actor_id = $1 ORDER BY name LIMIT $2',
    actorId,
    batchProperties,
  )
  if (rows.length === 0) return false
  const names = JSON.stringify(rows.map(({ name }) => [name]))
  const archived = await tx.all<{ name: string; kind: string; value: string | null }>(
    `SELECT name, kind, CASE WHEN kind = 'value' THEN value END AS value FROM property WHERE actor_id = $1
       AND name IN ARRAY (SELECT name FROM rows($2, name TEXT) AS gone)`,
    trial,
    names,
  )
  const valueOf = new Map(archived.map(({ name, value }) => [name, value]))
  // The resync of a subscriber deletes nothing.
  const deleted = rows.filter(({ name }) => !valueOf.has(name))
  await insertMissedOfAll(
    tx,
    actorId,
    deleted.map(({ name, kind }) => inEachScope({ name, data: kinds[kind].removal(name).blob })),
  )
  const values = rows.filter(({ kind }) => kind === 'value')
  await keep(
    tx,
    values.map(({ name }) => ({ name, value: valueOf.get(name) ?? null })),
  )
  await tx.run(
    `DELETE FROM property WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS gone)`,
    actorId,
    names,
  )
  return true
}

/** Deletes the lookups and the rows with content, and the alarms when the archive has some. */
export async function clearOthers(
  tx: Transaction,
  {
    actorId,
    hasSecrets,
    now,
    tables,
  }: WithTables & { readonly actorId: string; readonly hasSecrets: boolean; readonly now: number },
): Promise<void> {
  if (tx.isSharded) await deleteAllLookups(tx, actorId)
  else await tx.run('DELETE FROM property_lookup WHERE actor_id = $1', actorId)
  await tx.run(`UPDATE file_object SET state = 'unused', due_at = $2 WHERE actor_id = $1`, actorId, now)
  for (const { content } of contentKindsOf(tables)) await content.clear(tx, actorId)
  if (hasSecrets) await tx.run(`DELETE FROM job WHERE actor_id = $1 AND kind = 'alarm'`, actorId)
}

/** Deletes some attributes. False: none is left. */
export async function clearAttributes(tx: Transaction, actorId: string): Promise<boolean> {
  const deleted = await tx.run(
    `DELETE FROM attribute WHERE actor_id = $1 AND (bucket, name) IN (
       SELECT bucket, name FROM attribute WHERE actor_id = $1 AND NOT ${ofPeersInSql} ORDER BY bucket, name LIMIT ${batchRows})`,
    actorId,
  )
  return deleted > 0
}

/** Forgets objects that were never stored. */
export async function discardObjects(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM file_object WHERE actor_id = $1', actorId)
}

/**
 * Writes one resync for each subscription, in the place of everything that waits: it is about the replaced content. Suspended
 * targets get theirs when they resume, and stopped queues with their next repair, which is due now.
 */
export async function resyncSubscribers(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run('DELETE FROM waiting_change WHERE actor_id = $1', actorId)
  await tx.run('UPDATE actor SET waiting_changes = 0 WHERE id = $1', actorId)
  await keepAllMissedDiffs(tx, actorId)
  await tx.run('DELETE FROM diff WHERE actor_id = $1', actorId)
  await tx.run(
    `UPDATE delivery SET outcome = 'superseded' WHERE actor_id = $1 AND outcome = 'waiting'
       AND sequence > (SELECT s.committed FROM publisher_subscription s
         WHERE s.actor_id = $1 AND s.peer_id = delivery.peer_id AND s.subscription_id = delivery.subscription_id)`,
    actorId,
  )
  await tx.run(
    `UPDATE publisher_subscription SET committed = sequence, attempts = 0, uncertain = 0,
       repair_at = CASE WHEN state = 'stopped' THEN CAST($2 AS BIGINT) ELSE repair_at END
     WHERE actor_id = $1`,
    actorId,
    now,
  )
  for (let after: RecordRow | undefined = { peer_id: '', subscription_id: '' }; after !== undefined; ) {
    const rows: RecordRow[] = await tx.all<RecordRow>(
      `SELECT s.peer_id, s.subscription_id, s.granularity, s.sequence, s.state FROM publisher_subscription s
       WHERE s.actor_id = $1 AND (s.peer_id, s.subscription_id) > ($2, $3) AND s.state = 'live'
         AND NOT EXISTS (SELECT 1 FROM suspension x
           WHERE x.actor_id = $1 AND x.target = s.target AND x.subtarget IN ('', s.subtarget))
       ORDER BY s.peer_id, s.subscription_id LIMIT ${batchRows}`,
      actorId,
      after['peer_id'] ?? '',
      after['subscription_id'] ?? '',
    )
    if (rows.length > 0) await insertResyncs(tx, actorId, rows, now)
    after = rows.length < batchRows ? undefined : rows.at(-1)
  }
}
