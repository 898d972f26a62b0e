/** The SQL of properties. All kinds share the table. */
import { removeLists } from '../actor/remote-rows.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, known } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { checksumOf, isIntact, requireIntact } from '../store/checksum.ts'

/** The kinds of properties, which `kinds.ts` implements. */
export type PropertyKind = 'value' | 'list'

export interface StoredProperty {
  readonly name: string
  readonly kind: PropertyKind
  /** The value, or the data that the kind stores in its place, such as the head of a list. `valueOf` distinguishes them. */
  readonly content: JsonText
}

interface PropertyRow {
  readonly name: string
  readonly kind: PropertyKind
  readonly value: string
  readonly checksum: number | null
}

/** @throws ServiceError `value_corrupted` */
function toProperty(actorId: string, row: PropertyRow): StoredProperty {
  requireIntact(actorId, row.name, row)
  return { name: row.name, kind: row.kind, content: known(row.value) }
}

export async function findProperty(q: Queries, actorId: string, name: string): Promise<StoredProperty | null> {
  const row = await q.get<PropertyRow>(
    'SELECT name, kind, value, checksum FROM property WHERE actor_id = $1 AND name = $2',
    actorId,
    name,
  )
  return row === undefined ? null : toProperty(actorId, row)
}

/**
 * All properties, by name. An actor that was deleted during the request is an error. Otherwise it would look like an actor
 * that has removed all its properties.
 *
 * @throws ServiceError `actor_not_found`
 */
export async function findProperties(q: Queries, actorId: string): Promise<StoredProperty[]> {
  const rows = await q.all<PropertyRow | { readonly name: null }>(
    `SELECT property.name, property.kind, property.value, property.checksum FROM actor
     LEFT JOIN property ON property.actor_id = actor.id WHERE actor.id = $1 ORDER BY property.name`,
    actorId,
  )
  if (rows.length === 0) throw new ServiceError('actor_not_found')
  return rows.flatMap((row) => (row.name === null ? [] : [toProperty(actorId, row)]))
}

/** The properties in `names` that exist, by name. @throws ServiceError `value_corrupted` */
export async function findNamedProperties(
  q: Queries,
  actorId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, StoredProperty>> {
  const rows = await q.all<PropertyRow>(
    `SELECT name, kind, value, checksum FROM property
     WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
  return new Map(rows.map((row) => [row.name, toProperty(actorId, row)]))
}

/** The kinds of the properties in `names` that exist. */
export async function findKinds(
  q: Queries,
  actorId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, PropertyKind>> {
  const rows = await q.all<{ name: string; kind: PropertyKind }>(
    'SELECT name, kind FROM property WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)',
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
  return new Map(rows.map((row) => [row.name, row.kind]))
}

/**
 * The kind and value of the properties in `names` that exist. The value is undefined for a list, and for a damaged value,
 * which a write may replace.
 */
export async function findBefore(
  q: Queries,
  actorId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, { readonly kind: string; readonly value: JsonText | undefined }>> {
  const rows = await q.all<PropertyRow>(
    `SELECT name, kind, CASE WHEN kind = 'value' THEN value ELSE '' END AS value, checksum FROM property
     WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
  return new Map(
    rows.map((row) => [
      row.name,
      {
        kind: row.kind,
        value: row.kind === 'value' && isIntact(actorId, row.name, row) ? known(row.value) : undefined,
      },
    ]),
  )
}

/** Stores a value. False when a list has the name; the row then stays unchanged. */
export function putValue(tx: Transaction, actorId: string, name: string, value: JsonText): Promise<boolean> {
  return upsertValue(tx, actorId, name, value, '')
}

/** Like `putValue`, but also false when the same value is already stored intact. */
export function putChangedValue(tx: Transaction, actorId: string, name: string, value: JsonText): Promise<boolean> {
  const differs = 'property.value <> excluded.value OR COALESCE(property.checksum, -1) <> excluded.checksum'
  return upsertValue(tx, actorId, name, value, `AND (${differs})`)
}

async function upsertValue(
  tx: Transaction,
  actorId: string,
  name: string,
  value: JsonText,
  condition: string,
): Promise<boolean> {
  const changed = await tx.run(
    `INSERT INTO property (actor_id, name, kind, value, origin, checksum) VALUES ($1, $2, 'value', $3, $4, $5)
     ON CONFLICT (actor_id, name) DO UPDATE
       SET value = excluded.value, origin = excluded.origin, checksum = excluded.checksum
       WHERE property.kind = 'value' ${condition}`,
    actorId,
    name,
    value,
    tx.origin,
    checksumOf(actorId, name, value),
  )
  return changed === 1
}

/** Stores several values. The caller has checked that no list has one of the names. */
export async function putValues(
  tx: Transaction,
  actorId: string,
  values: ReadonlyMap<string, JsonText>,
): Promise<void> {
  await tx.run(
    `INSERT INTO property (actor_id, name, kind, value, origin, checksum)
     SELECT $1, entry.name, 'value', entry.value, $3, entry.crc
     FROM rows($2, name TEXT, value TEXT, crc BIGINT) AS entry WHERE true
     ON CONFLICT (actor_id, name) DO UPDATE
       SET value = excluded.value, origin = excluded.origin, checksum = excluded.checksum
       WHERE property.kind = 'value'`,
    actorId,
    JSON.stringify([...values].map(([name, value]) => [name, value, checksumOf(actorId, name, value)])),
    tx.origin,
  )
}

/** Deletes values and returns their number. Lists with one of the names stay. */
export function deleteValues(tx: Transaction, actorId: string, names: readonly string[]): Promise<number> {
  return tx.run(
    `DELETE FROM property WHERE actor_id = $1 AND kind = 'value' AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
}

/** Deletes all values and lists, including items. */
export async function deleteAllProperties(tx: Transaction, actorId: string): Promise<void> {
  if (tx.isSharded) await removeLists(tx, actorId, null)
  await tx.run('DELETE FROM property WHERE actor_id = $1', actorId)
}
