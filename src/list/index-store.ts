/**
 * The SQL of the indexes of lists. Each indexed field has one row for every item. While an index is built, a mark with an
 * empty key has the number of the next item to index. A mark without a field has the next item to upgrade.
 */
import type { Queries, Transaction } from '../store/store.ts'
import { type FieldCondition, fieldKey, fits } from './index-key.ts'
import type { ListAddress } from './list-address.ts'
import type { NewItem } from './list-store.ts'

/** A row of an index. */
export interface IndexEntry {
  readonly item: number
  readonly key: string
}

/** A value of a field, as a key. */
export interface FieldKey {
  readonly field: string
  readonly key: string
}

/** Adds the items to the indexes of the fields. */
export async function insertIndexed(
  tx: Transaction,
  { actorId, list }: ListAddress,
  fields: readonly string[],
  items: readonly NewItem[],
): Promise<void> {
  if (fields.length === 0 || items.length === 0) return
  await tx.run(
    `INSERT INTO list_index (actor_id, list, field, value_key, item)
     SELECT $1, $2, added.field, added.value_key, added.item
     FROM rows($3, field TEXT, value_key TEXT, item BIGINT) AS added WHERE true
     ON CONFLICT (actor_id, list, field, value_key, item) DO NOTHING`,
    actorId,
    list,
    JSON.stringify(items.flatMap(([item, value]) => fields.map((field) => [field, fieldKey(value, field), item]))),
  )
}

/** Removes the items from all indexes of the list. */
export async function deleteIndexed(
  tx: Transaction,
  { actorId, list }: ListAddress,
  items: readonly number[],
): Promise<void> {
  if (items.length === 0) return
  await tx.run(
    `DELETE FROM list_index WHERE actor_id = $1 AND list = $2 AND value_key <> ''
     AND item IN ARRAY (SELECT item FROM rows($3, item BIGINT) AS wanted)`,
    actorId,
    list,
    JSON.stringify(items.map((item) => [item])),
  )
}

export async function deleteAllIndexed(tx: Transaction, { actorId, list }: ListAddress): Promise<void> {
  await tx.run('DELETE FROM list_index WHERE actor_id = $1 AND list = $2', actorId, list)
}

/** The fields whose index is not complete, with the number of the next item to index. */
export async function findMarks(
  q: Queries,
  { actorId, list }: ListAddress,
  fields: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await q.all<{ field: string; item: number }>(
    `SELECT field, item FROM list_index WHERE actor_id = $1 AND list = $2 AND value_key = ''
     AND field IN ARRAY (SELECT field FROM rows($3, field TEXT) AS wanted)`,
    actorId,
    list,
    JSON.stringify(fields.map((field) => [field])),
  )
  return new Map(rows.map(({ field, item }) => [field, item]))
}

/** The field of the mark for the items themselves. */
export const everyItem = ''

/** Replaces the mark of a field. Null removes the mark: the index is complete. */
export async function setMark(
  tx: Transaction,
  { actorId, list }: ListAddress,
  field: string,
  next: number | null,
): Promise<void> {
  await tx.run(
    `DELETE FROM list_index WHERE actor_id = $1 AND list = $2 AND field = $3 AND value_key = ''`,
    actorId,
    list,
    field,
  )
  if (next === null) return
  await tx.run(
    `INSERT INTO list_index (actor_id, list, field, value_key, item) VALUES ($1, $2, $3, '', $4)`,
    actorId,
    list,
    field,
    next,
  )
}

/** The items after `after` whose field has the key, by number. At most `most`. */
export function findByKey(
  q: Queries,
  { actorId, list }: ListAddress,
  { field, key }: FieldKey,
  after: number,
  most: number,
): Promise<IndexEntry[]> {
  return q.all(
    `SELECT item, value_key AS "key" FROM list_index
     WHERE actor_id = $1 AND list = $2 AND field = $3 AND value_key = $4 AND item > $5 ORDER BY item LIMIT $6`,
    actorId,
    list,
    field,
    key,
    after,
    most,
  )
}

/**
 * The items after `after` by the key of the field, then by number. At most `most`.
 *
 * @param end The keys are below it, and in descending order not below it.
 */
export function findSorted(
  q: Queries,
  { actorId, list }: ListAddress,
  { field, isDescending }: { readonly field: string; readonly isDescending: boolean },
  { after, end, most }: { readonly after: IndexEntry; readonly end: string; readonly most: number },
): Promise<IndexEntry[]> {
  return q.all(
    isDescending
      ? `SELECT item, value_key AS "key" FROM list_index WHERE actor_id = $1 AND list = $2 AND field = $3
         AND (value_key, item) < ($4, $5) AND value_key >= $7 ORDER BY value_key DESC, item DESC LIMIT $6`
      : `SELECT item, value_key AS "key" FROM list_index WHERE actor_id = $1 AND list = $2 AND field = $3
         AND (value_key, item) > ($4, $5) AND value_key < $7 ORDER BY value_key, item LIMIT $6`,
    actorId,
    list,
    field,
    after.key,
    after.item,
    most,
    end,
  )
}

/** The items among `items` whose fields fit all conditions. */
export async function findMatching(
  q: Queries,
  address: ListAddress,
  conditions: readonly FieldCondition[],
  items: readonly number[],
): Promise<ReadonlySet<number>> {
  const { actorId, list } = address
  let left = items
  for (const condition of conditions) {
    if (left.length === 0) break
    const { field } = condition
    const [key, ...others] = 'keys' in condition ? condition.keys : []
    if (key === undefined || others.length > 0) {
      const entries = await findFieldKeys(q, address, field, left)
      left = entries.flatMap((entry) => (fits(condition, entry.key) ? [entry.item] : []))
      continue
    }
    const rows = await q.all<{ item: number }>(
      `SELECT item FROM list_index WHERE actor_id = $1 AND list = $2 AND field = $3 AND value_key = $4
       AND item IN ARRAY (SELECT item FROM rows($5, item BIGINT) AS wanted)`,
      actorId,
      list,
      field,
      key,
      JSON.stringify(left.map((item) => [item])),
    )
    left = rows.map(({ item }) => item)
  }
  return new Set(left)
}

/** The keys of the field of these items. */
export function findFieldKeys(
  q: Queries,
  { actorId, list }: ListAddress,
  field: string,
  items: readonly number[],
): Promise<IndexEntry[]> {
  if (items.length === 0) return Promise.resolve([])
  return q.all(
    `SELECT item, value_key AS "key" FROM list_index WHERE actor_id = $1 AND list = $2 AND field = $3 AND value_key <> ''
     AND item IN ARRAY (SELECT item FROM rows($4, item BIGINT) AS wanted)`,
    actorId,
    list,
    field,
    JSON.stringify(items.map((item) => [item])),
  )
}
