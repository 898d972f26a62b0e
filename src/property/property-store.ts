/** The SQL of properties. All kinds share the table. */
import { removeLists } from '../actor/remote-rows.ts'
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { checksumOf, isIntact, requireIntact } from '../store/checksum.ts'

/** The kinds of properties, which `kinds.ts` implements. */
export type PropertyKind = 'value' | 'list'

/** A property as its row has it. `DeclaredKinds.current` upgrades a value of an older version. */
export interface UnreadProperty {
  readonly name: string
  readonly kind: PropertyKind
  /** The value, or the data that the kind stores in its place, such as the head of a list. `valueOf` distinguishes them. */
  readonly content: string
  /** The declared version with which the content was written. */
  readonly version: number
}

/** A property whose value has the declared version. */
export interface StoredProperty extends UnreadProperty {
  readonly content: JsonText
}

interface CheckedRow {
  readonly name: string
  readonly kind: PropertyKind
  readonly value: string
  readonly checksum: number | null
  readonly version: number
}

/** @throws ServiceError `value_corrupted` */
function toProperty(actorId: string, row: CheckedRow): UnreadProperty {
  requireIntact(actorId, row.name, row)
  return { name: row.name, kind: row.kind, content: row.value, version: row.version }
}

export function findProperty(q: Queries, actorId: string, name: string): Promise<UnreadProperty | null> {
  return q
    .get<CheckedRow>(
      'SELECT name, kind, value, checksum, version FROM property WHERE actor_id = $1 AND name = $2',
      actorId,
      name,
    )
    .then((row) => (row === undefined ? null : toProperty(actorId, row)))
}

/**
 * All properties, by name. An actor that was deleted during the request is an error. Otherwise it would look like an actor
 * that has removed all its properties.
 *
 * @throws ServiceError `actor_not_found`
 */
export async function findProperties(q: Queries, actorId: string): Promise<UnreadProperty[]> {
  const rows = await q.all<CheckedRow | { readonly name: null }>(
    `SELECT property.name, property.kind, property.value, property.checksum, property.version FROM actor
     LEFT JOIN property ON property.actor_id = actor.id WHERE actor.id = $1 ORDER BY property.name`,
    actorId,
  )
  if (rows.length === 0) throw new ServiceError('actor_not_found')
  return rows.flatMap((row) => (row.name === null ? [] : [toProperty(actorId, row)]))
}

/** Values up to this size are read with their page. */
const smallBytes = 4096
/** The most properties of a page. */
export const pageRows = 256

/** A property of a page. The content is null if it is long. */
export interface ListedProperty {
  readonly name: string
  readonly kind: PropertyKind
  readonly bytes: number
  readonly stored: UnreadProperty | null
}

export interface PropertyPageQuery {
  /** Only the properties after this name. */
  readonly after: string
  /** Only the properties of these names. Null: all. */
  readonly names: readonly string[] | null
  /** Which contents are read. The other ones are null. */
  readonly contents: 'short' | 'none'
}

/**
 * The next properties after a name, by name, at most `pageRows`. They fit into memory together.
 *
 * @throws ServiceError `actor_not_found`; `value_corrupted`
 */
export async function findPropertyPage(
  q: Queries,
  actorId: string,
  { after, names, contents }: PropertyPageQuery,
): Promise<ListedProperty[]> {
  type Listed = Omit<CheckedRow, 'value'> & { readonly value: string | null; readonly bytes: number }
  const rows = await q.all<Listed | { readonly name: null }>(
    `SELECT property.name, property.kind, property.checksum, property.version, octet_length(property.value) AS bytes,
       CASE WHEN octet_length(property.value) <= $3 THEN property.value END AS value
     FROM actor LEFT JOIN property ON property.actor_id = actor.id AND property.name > $2
       ${names === null ? '' : 'AND property.name IN (SELECT name FROM rows($4, name TEXT) AS wanted)'}
     WHERE actor.id = $1 ORDER BY property.name LIMIT ${pageRows}`,
    actorId,
    after,
    contents === 'short' ? smallBytes : 0,
    ...(names === null ? [] : [JSON.stringify(names.map((name) => [name]))]),
  )
  if (rows.length === 0) throw new ServiceError('actor_not_found')
  return rows.flatMap((row) => {
    if (row.name === null) return []
    const { name, kind, bytes, value } = row
    return [{ name, kind, bytes, stored: value === null ? null : toProperty(actorId, { ...row, value }) }]
  })
}

/** The properties in `names` that exist, by name. @throws ServiceError `value_corrupted` */
export async function findNamedProperties(
  q: Queries,
  actorId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, UnreadProperty>> {
  const rows = await q.all<CheckedRow>(
    `SELECT name, kind, value, checksum, version FROM property
     WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
  return new Map(rows.map((row) => [row.name, toProperty(actorId, row)]))
}

/** A property of any actor, without its content. */
export interface VersionRow {
  readonly actorId: string
  readonly name: string
  readonly kind: PropertyKind
  readonly version: number
}

/** The next properties of all actors, by actor and name. */
export function findVersions(
  q: Queries,
  after: Pick<VersionRow, 'actorId' | 'name'> | undefined,
  most: number,
): Promise<VersionRow[]> {
  return q.all(
    `SELECT actor_id AS "actorId", name, kind, version FROM property WHERE (actor_id, name) > ($1, $2)
     ORDER BY actor_id, name LIMIT $3`,
    after?.actorId ?? '',
    after?.name ?? '',
    most,
  )
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

/** A property before a write. The value is undefined for a list, and for a damaged value, which a write may replace. */
export interface PropertyBefore {
  readonly kind: string
  readonly value: string | undefined
  readonly version: number
}

/** The kind and value of the properties in `names` that exist. */
export async function findBefore(
  q: Queries,
  actorId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, PropertyBefore>> {
  const rows = await q.all<CheckedRow>(
    `SELECT name, kind, CASE WHEN kind = 'value' THEN value ELSE '' END AS value, checksum, version FROM property
     WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
  return new Map(rows.map((row) => [row.name, beforeOf(actorId, row)]))
}

/**
 * Like `findBefore`, for many values, which do not fit into memory together: a value is undefined when it differs from the
 * written one in its length, unless a subscription to one of its keys needs it.
 */
export async function findBeforeWrite(
  q: Queries,
  actorId: string,
  written: ReadonlyMap<string, JsonText>,
): Promise<ReadonlyMap<string, PropertyBefore>> {
  // CROSS JOIN keeps the order of the tables: SQLite would compare each property of the actor with each name.
  const rows = await q.all<Omit<CheckedRow, 'value'> & { readonly value: string | null }>(
    `SELECT property.name, property.kind, property.checksum, property.version,
       CASE WHEN property.kind = 'value' AND (octet_length(property.value) = wanted.bytes
         OR property.name IN (SELECT s.subtarget FROM publisher_subscription s WHERE s.actor_id = $1 AND s.resource <> ''))
       THEN property.value END AS value
     FROM rows($2, name TEXT, bytes BIGINT) AS wanted
     CROSS JOIN property WHERE property.actor_id = $1 AND property.name = wanted.name`,
    actorId,
    JSON.stringify([...written].map(([name, value]) => [name, Buffer.byteLength(value)])),
  )
  return new Map(
    rows.map((row) => {
      const { name, kind, version, value } = row
      const before = value === null ? { kind, value: undefined, version } : beforeOf(actorId, { ...row, value })
      return [name, before]
    }),
  )
}

function beforeOf(actorId: string, row: CheckedRow): PropertyBefore {
  const { kind, version, value } = row
  return { kind, value: kind === 'value' && isIntact(actorId, row.name, row) ? value : undefined, version }
}

/** A value to store, with the declared version of its name. */
export interface NewValue {
  readonly name: string
  readonly value: JsonText
  readonly version: number
  /** Default: the origin of the transaction. */
  readonly origin?: string
}

/** Stores a value. False when a list has the name; the row then stays unchanged. */
export function putValue(tx: Transaction, actorId: string, value: NewValue): Promise<boolean> {
  return upsertValue(tx, actorId, value, '')
}

/** Like `putValue`, but also false when the same value is already stored intact. */
export function putChangedValue(tx: Transaction, actorId: string, value: NewValue): Promise<boolean> {
  const differs = `property.value <> excluded.value OR COALESCE(property.checksum, -1) <> excluded.checksum
         OR property.version <> excluded.version`
  return upsertValue(tx, actorId, value, `AND (${differs})`)
}

async function upsertValue(
  tx: Transaction,
  actorId: string,
  { name, value, version, origin = tx.origin }: NewValue,
  condition: string,
): Promise<boolean> {
  const changed = await tx.run(
    `INSERT INTO property (actor_id, name, kind, value, origin, checksum, version)
     VALUES ($1, $2, 'value', $3, $4, $5, $6)
     ON CONFLICT (actor_id, name) DO UPDATE
       SET value = excluded.value, origin = excluded.origin, checksum = excluded.checksum, version = excluded.version
       WHERE property.kind = 'value' ${condition}`,
    actorId,
    name,
    value,
    origin,
    checksumOf(actorId, name, value),
    version,
  )
  return changed === 1
}

/** Stores several values, at most one for each name. False when a list has one of the names; its row then stays unchanged. */
export async function putValues(tx: Transaction, actorId: string, values: readonly NewValue[]): Promise<boolean> {
  // The rows, not their number: Citus counts the rows of such a SELECT, also those that the condition leaves out.
  const changed = await tx.all(
    `INSERT INTO property (actor_id, name, kind, value, origin, checksum, version)
     SELECT $1, entry.name, 'value', entry.value, COALESCE(entry.origin, $3), entry.crc, entry.version
     FROM rows($2, name TEXT, value TEXT, crc BIGINT, version BIGINT, origin TEXT) AS entry WHERE true
     ON CONFLICT (actor_id, name) DO UPDATE
       SET value = excluded.value, origin = excluded.origin, checksum = excluded.checksum, version = excluded.version
       WHERE property.kind = 'value'
     RETURNING name`,
    actorId,
    JSON.stringify(values.map((value) => [...newRow(actorId, value), value.origin ?? null])),
    tx.origin,
  )
  return changed.length === values.length
}

/** Replaces values by their upgraded forms. The rows keep the origin of the last change. */
export async function putUpgradedValues(tx: Transaction, actorId: string, values: readonly NewValue[]): Promise<void> {
  if (values.length === 0) return
  await tx.run(
    `INSERT INTO property (actor_id, name, kind, value, checksum, version)
     SELECT $1, entry.name, 'value', entry.value, entry.crc, entry.version
     FROM rows($2, name TEXT, value TEXT, crc BIGINT, version BIGINT) AS entry WHERE true
     ON CONFLICT (actor_id, name) DO UPDATE
       SET value = excluded.value, checksum = excluded.checksum, version = excluded.version
       WHERE property.kind = 'value'`,
    actorId,
    JSON.stringify(values.map((value) => newRow(actorId, value))),
  )
}

function newRow(actorId: string, { name, value, version }: NewValue): readonly (string | number)[] {
  return [name, value, checksumOf(actorId, name, value), version]
}

/** Deletes values and returns their number. Lists with one of the names stay. */
export function deleteValues(tx: Transaction, actorId: string, names: readonly string[]): Promise<number> {
  return tx.run(
    `DELETE FROM property WHERE actor_id = $1 AND kind = 'value' AND name IN (SELECT name FROM rows($2, name TEXT) AS wanted)`,
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
}

/** Deletes the values and lists in `names`, including items. */
export async function deleteNamedProperties(tx: Transaction, actorId: string, names: readonly string[]): Promise<void> {
  if (tx.isSharded) await removeLists(tx, actorId, names)
  await tx.run(
    'DELETE FROM property WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS removed)',
    actorId,
    JSON.stringify(names.map((name) => [name])),
  )
}
