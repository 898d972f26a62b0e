/** The SQL of lists. A change fails when a statement affects an unexpected number of rows. */
import { removeLists } from '../actor/remote-rows.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, known } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { areIntact, checksumOf, itemName, requireIntact } from '../store/checksum.ts'
import { type ListAddress, versionOf } from './list-address.ts'
import type { StoredNode } from './order-tree.ts'

export interface StoredItem {
  readonly item: number
  readonly revision: number
  /** The value in the declared version of the list. */
  readonly value: JsonText
  /** The text of the row, when the row has an older version. */
  readonly older?: JsonText
}

/** An item as its row has it. */
export interface UnreadItem {
  readonly item: number
  readonly revision: number
  readonly value: string
  readonly version: number
}

/** An item with its size. */
export interface SizedItem {
  readonly item: number
  readonly revision: number
  /** The size of the row's text in UTF-8. */
  readonly bytes: number
  /** Null when the item is large. */
  readonly small: StoredItem | null
}

/** The largest value that is read together with its size, in bytes. */
const smallBytes = 1024

type ItemRow = UnreadItem & { readonly checksum: number | null }

/** The items in the declared version. @throws ServiceError `migration_failed`, `newer_data` */
export function currentItems(
  { format }: Pick<ListAddress, 'format'>,
  rows: readonly UnreadItem[],
): readonly StoredItem[] {
  const isCurrent = ({ version }: UnreadItem): boolean => version === format?.version
  if (format === null || rows.every(isCurrent)) return rows as readonly (UnreadItem & StoredItem)[]
  return rows.map((row) => {
    if (isCurrent(row)) return row as UnreadItem & StoredItem
    const { item, revision, value, version } = row
    return { item, revision, value: format.upgrade(value, version), older: known(value) }
  })
}

/** The text of the row of the item. */
export function rowText({ value, older }: StoredItem): JsonText {
  return older ?? value
}

/** `origin`: default is the origin of the transaction. `revision`: of an item that comes back; default is 1. */
export type NewItem = readonly [item: number, value: JsonText, origin?: string | undefined, revision?: number]

/** Matches the numbers in parameter 3. */
const isOneOf = (column: 'node' | 'item'): string =>
  `IN ARRAY (SELECT ${column} FROM rows($3, ${column} BIGINT) AS wanted)`

/** The property with the list's name: the head of the list, or a property of another kind. */
export async function findNamed(
  q: Queries,
  { actorId, list }: ListAddress,
): Promise<{ kind: string; value: string; version: number } | undefined> {
  return q.get('SELECT kind, value, version FROM property WHERE actor_id = $1 AND name = $2', actorId, list)
}

/** The property with this name, and the highest numbers that rows of a removed list of this name still use. */
export async function findForCreation(
  q: Queries,
  { actorId, list }: ListAddress,
): Promise<{
  readonly kind: string | null
  readonly lastItem: number
  readonly lastNode: number
}> {
  const row = await q.get<{ kind: string | null; lastItem: number; lastNode: number }>(
    `SELECT property.kind, COALESCE(removed_list.last_item, 0) AS "lastItem",
       COALESCE(removed_list.last_node, 0) AS "lastNode"
     FROM (SELECT 1 AS one) AS always
     LEFT JOIN property ON property.actor_id = $1 AND property.name = $2
     LEFT JOIN removed_list ON removed_list.actor_id = $1 AND removed_list.list = $2`,
    actorId,
    list,
  )
  return row ?? { kind: null, lastItem: 0, lastNode: 0 }
}

export async function insertHead(tx: Transaction, at: ListAddress, head: string): Promise<void> {
  expect(
    1,
    await tx.run(
      `INSERT INTO property (actor_id, name, kind, value, origin, version) VALUES ($1, $2, 'list', $3, $4, $5)`,
      at.actorId,
      at.list,
      head,
      tx.origin,
      versionOf(at),
    ),
  )
}

/**
 * @param version no item that an index contains has an older version.
 * @param origin of the last change.
 */
export async function updateHead(
  tx: Transaction,
  { actorId, list }: ListAddress,
  head: string,
  version: number,
  origin = tx.origin,
): Promise<void> {
  expect(
    1,
    await tx.run(
      `UPDATE property SET value = $3, origin = $4, version = $5 WHERE actor_id = $1 AND name = $2 AND kind = 'list'`,
      actorId,
      list,
      head,
      origin,
      version,
    ),
  )
}

/**
 * Deletes the head. False when the list does not exist. A trigger deletes the order and the items, or leaves the rows of
 * a long list to `RemovedLists`.
 */
export async function deleteHead(tx: Transaction, { actorId, list }: ListAddress): Promise<boolean> {
  if (tx.isSharded) await removeLists(tx, actorId, [list])
  return (await tx.run(`DELETE FROM property WHERE actor_id = $1 AND name = $2 AND kind = 'list'`, actorId, list)) > 0
}

/** The nodes that exist. */
export async function findNodes(
  q: Queries,
  { actorId, list }: ListAddress,
  nodes: readonly number[],
): Promise<StoredNode[]> {
  const [first] = nodes
  if (first === undefined) return []
  if (nodes.length === 1)
    return q.all(
      'SELECT node, entries FROM list_node WHERE actor_id = $1 AND list = $2 AND node = $3',
      actorId,
      list,
      first,
    )
  return q.all(
    `SELECT node, entries FROM list_node
     WHERE actor_id = $1 AND list = $2 AND node ${isOneOf('node')}`,
    actorId,
    list,
    column(nodes),
  )
}

export async function saveNodes(
  tx: Transaction,
  { actorId, list }: ListAddress,
  nodes: readonly StoredNode[],
): Promise<void> {
  if (nodes.length === 0) return
  const saved = await tx.run(
    `INSERT INTO list_node (actor_id, list, node, entries)
     SELECT $1, $2, changed.node, changed.entries FROM rows($3, node BIGINT, entries TEXT) AS changed WHERE true
     ON CONFLICT (actor_id, list, node) DO UPDATE SET entries = excluded.entries`,
    actorId,
    list,
    JSON.stringify(nodes.map(({ node, entries }) => [node, entries])),
  )
  expect(nodes.length, saved)
}

export async function deleteNodes(
  tx: Transaction,
  { actorId, list }: ListAddress,
  nodes: readonly number[],
): Promise<void> {
  if (nodes.length === 0) return
  const deleted = await tx.run(
    `DELETE FROM list_node
     WHERE actor_id = $1 AND list = $2 AND node ${isOneOf('node')}`,
    actorId,
    list,
    column(nodes),
  )
  expect(nodes.length, deleted)
}

/**
 * Returns the requested items; ids without an item are left out.
 *
 * @throws ServiceError `value_corrupted`, `migration_failed`, `newer_data`
 */
export async function findItems(q: Queries, at: ListAddress, items: readonly number[]): Promise<readonly StoredItem[]> {
  const { actorId, list } = at
  const [first] = items
  if (first === undefined) return []
  const rows =
    items.length === 1
      ? await q.all<ItemRow>(
          'SELECT item, revision, value, checksum, version FROM list_item WHERE actor_id = $1 AND list = $2 AND item = $3',
          actorId,
          list,
          first,
        )
      : await q.all<ItemRow>(
          `SELECT item, revision, value, checksum, version FROM list_item
           WHERE actor_id = $1 AND list = $2 AND item ${isOneOf('item')}`,
          actorId,
          list,
          column(items),
        )
  for (const row of rows) requireIntact(actorId, itemName(list, row.item), row)
  return currentItems(at, rows)
}

/** The items that exist, without large values. @throws ServiceError as `findItems` */
export async function findSmallItems(q: Queries, at: ListAddress, items: readonly number[]): Promise<SizedItem[]> {
  if (items.length === 0) return []
  const { actorId, list } = at
  const rows = await q.all<Readonly<Record<'item' | 'revision' | 'bytes' | 'version', number>> & SmallValue>(
    `SELECT item, revision, checksum, version, octet_length(value) AS bytes,
       CASE WHEN octet_length(value) <= ${smallBytes} THEN value END AS value
     FROM list_item WHERE actor_id = $1 AND list = $2 AND item ${isOneOf('item')}`,
    actorId,
    list,
    column(items),
  )
  return rows.map(({ item, revision, bytes, version, value, checksum }) => {
    if (value === null) return { item, revision, bytes, small: null }
    requireIntact(actorId, itemName(list, item), { value, checksum })
    const [small = null] = currentItems(at, [{ item, revision, value, version }])
    return { item, revision, bytes, small }
  })
}

interface SmallValue {
  readonly value: string | null
  readonly checksum: number | null
}

/** The numbers of the items that exist. */
export async function findPresent(
  q: Queries,
  { actorId, list }: ListAddress,
  items: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await q.all<{ item: number }>(
    `SELECT item FROM list_item WHERE actor_id = $1 AND list = $2 AND item ${isOneOf('item')}`,
    actorId,
    list,
    column(items),
  )
  return new Set(rows.map(({ item }) => item))
}

/** The nodes that exist, by list. */
export async function findNodesOf(
  q: Queries,
  actorId: string,
  nodes: readonly (readonly [list: string, node: number])[],
): Promise<Map<string, StoredNode[]>> {
  if (nodes.length === 0) return new Map()
  const rows = await q.all<StoredNode & { readonly list: string }>(
    `SELECT stored.list, stored.node, stored.entries FROM rows($2, list TEXT, node BIGINT) AS wanted
     JOIN list_node AS stored ON stored.actor_id = $1 AND stored.list = wanted.list AND stored.node = wanted.node`,
    actorId,
    JSON.stringify(nodes),
  )
  return Map.groupBy(rows, ({ list }) => list)
}

/** The items that exist, by list. @throws ServiceError `value_corrupted` */
export async function findItemsOf(
  q: Queries,
  actorId: string,
  items: readonly (readonly [list: string, item: number])[],
): Promise<Map<string, UnreadItem[]>> {
  if (items.length === 0) return new Map()
  const rows = await q.all<ItemRow & { readonly list: string }>(
    `SELECT stored.list, stored.item, stored.revision, stored.value, stored.checksum, stored.version
     FROM rows($2, list TEXT, item BIGINT) AS wanted
     JOIN list_item AS stored ON stored.actor_id = $1 AND stored.list = wanted.list AND stored.item = wanted.item`,
    actorId,
    JSON.stringify(items),
  )
  for (const row of rows) requireIntact(actorId, itemName(row.list, row.item), row)
  return Map.groupBy(rows, ({ list }) => list)
}

/** The nodes of several lists whose number is at least `from`. */
export async function findAllNodes(
  q: Queries,
  actorId: string,
  lists: readonly string[],
  from = 1,
): Promise<(StoredNode & { readonly list: string })[]> {
  const [only] = lists
  if (only === undefined) return []
  if (lists.length === 1)
    return q.all(
      'SELECT list, node, entries FROM list_node WHERE actor_id = $1 AND list = $2 AND node >= $3',
      actorId,
      only,
      from,
    )
  return q.all(
    `SELECT list, node, entries FROM list_node
     WHERE actor_id = $1 AND list IN (SELECT list FROM rows($2, list TEXT) AS wanted) AND node >= $3`,
    actorId,
    column(lists),
    from,
  )
}

/** The items of several lists whose number is at least `from`, unordered. @throws ServiceError `value_corrupted` */
export async function findAllItems(
  q: Queries,
  actorId: string,
  lists: readonly string[],
  from = 1,
): Promise<(UnreadItem & { readonly list: string })[]> {
  const [only] = lists
  if (only === undefined) return []
  const rows =
    lists.length === 1
      ? await q.all<ItemRow & { readonly list: string }>(
          `SELECT list, item, revision, value, checksum, version FROM list_item
           WHERE actor_id = $1 AND list = $2 AND item >= $3`,
          actorId,
          only,
          from,
        )
      : await q.all<ItemRow & { readonly list: string }>(
          `SELECT list, item, revision, value, checksum, version FROM list_item
           WHERE actor_id = $1 AND list IN (SELECT list FROM rows($2, list TEXT) AS wanted) AND item >= $3`,
          actorId,
          column(lists),
          from,
        )
  for (const row of rows) requireIntact(actorId, itemName(row.list, row.item), row)
  return rows
}

/** All rows of a list, in one snapshot. */
export interface ListRows {
  readonly head: string
  readonly nodes: readonly StoredNode[]
  readonly items: readonly { readonly item: number; readonly value: JsonText }[]
}

const versionRange = ', min(version) AS oldest, max(version) AS newest'

type VersionRange = Readonly<Partial<Record<'oldest' | 'newest', number | null>>>

function areCurrent(format: ListAddress['format'], { oldest = null, newest }: VersionRange): boolean {
  return format === null || oldest === null || (oldest === format.version && newest === oldest)
}

/**
 * The head, and all nodes and items from the numbers of `from`. Null when the list does not exist, when a row is damaged or
 * has no checksum, or when an item does not have the declared version.
 *
 * Each column comes as one string, because a row for each item would cost more than the rest of a request. No stored text
 * contains a line break: JSON escapes them, and the store removes white space between tokens.
 */
export async function findListRows(
  q: Queries,
  { actorId, list, format }: ListAddress,
  from: { readonly firstNode: number; readonly firstItem: number },
): Promise<ListRows | null> {
  const row = await q.get<
    Readonly<Record<'head' | 'nodes' | 'items' | 'checksums' | 'texts', string | null>> & VersionRange
  >(
    `SELECT (SELECT value FROM property WHERE actor_id = $1 AND name = $2 AND kind = 'list') AS head,
       (SELECT string_agg(CAST(node AS TEXT) || entries, '\n') FROM list_node
        WHERE actor_id = $1 AND list = $2 AND node >= $3) AS nodes,
       string_agg(CAST(item AS TEXT), ',') AS items, string_agg(CAST(checksum AS TEXT), ',') AS checksums,
       string_agg(value, '\n') AS texts${format === null ? '' : versionRange}
     FROM list_item WHERE actor_id = $1 AND list = $2 AND item >= $4`,
    actorId,
    list,
    from.firstNode,
    from.firstItem,
  )
  if (row === undefined || row.head === null || !areCurrent(format, row)) return null
  const numbers = integersOf(row.items)
  const checksums = integersOf(row.checksums)
  const joined = row.texts ?? ''
  const texts = row.texts === null ? [] : joined.split('\n')
  if (texts.length !== numbers.length || checksums.length !== numbers.length) return null
  if (!areIntact(actorId, list, { numbers, checksums, texts, joined })) return null
  const items = texts.map((text, at) => ({ item: numbers[at] ?? 0, value: known(text) }))
  return { head: row.head, nodes: (row.nodes?.split('\n') ?? []).map(nodeOf), items }
}

function integersOf(text: string | null): number[] {
  return JSON.parse(`[${text ?? ''}]`) as number[]
}

/** A node from its number, followed by its entries. */
function nodeOf(text: string): StoredNode {
  const end = text.indexOf('[')
  return { node: Number(text.slice(0, end)), entries: text.slice(end) }
}

export async function insertItems(tx: Transaction, at: ListAddress, items: readonly NewItem[]): Promise<void> {
  const { actorId, list } = at
  const [first] = items
  if (first === undefined) return
  const inserted =
    items.length === 1
      ? await tx.run(
          `INSERT INTO list_item (actor_id, list, item, revision, value, origin, checksum, version)
           VALUES ($1, $2, $3, $8, $4, $5, $6, $7)`,
          actorId,
          list,
          first[0],
          first[1],
          first[2] ?? tx.origin,
          checksumOf(actorId, itemName(list, first[0]), first[1]),
          versionOf(at),
          first[3] ?? 1,
        )
      : await tx.run(
          `INSERT INTO list_item (actor_id, list, item, revision, value, origin, checksum, version)
           SELECT $1, $2, added.item, COALESCE(added.revision, 1), added.value, COALESCE(added.origin, $4), added.crc, $5
           FROM rows($3, item BIGINT, value TEXT, crc BIGINT, origin TEXT, revision BIGINT) AS added`,
          actorId,
          list,
          withChecksums(actorId, list, items),
          tx.origin,
          versionOf(at),
        )
  expect(items.length, inserted)
}

export async function updateItems(tx: Transaction, at: ListAddress, items: readonly NewItem[]): Promise<void> {
  const { actorId, list } = at
  const [first] = items
  if (first === undefined) return
  const updated =
    items.length === 1
      ? await tx.run(
          `UPDATE list_item SET value = $4, revision = revision + 1, origin = $5, checksum = $6, version = $7
           WHERE actor_id = $1 AND list = $2 AND item = $3`,
          actorId,
          list,
          first[0],
          first[1],
          tx.origin,
          checksumOf(actorId, itemName(list, first[0]), first[1]),
          versionOf(at),
        )
      : // An upsert, although every item exists: both databases would run UPDATE … FROM as a scan of the whole list.
        await tx.run(
          `INSERT INTO list_item (actor_id, list, item, revision, value, origin, checksum, version)
           SELECT $1, $2, changed.item, 1, changed.value, $4, changed.crc, $5
           FROM rows($3, item BIGINT, value TEXT, crc BIGINT) AS changed WHERE true
           ON CONFLICT (actor_id, list, item) DO UPDATE
             SET value = excluded.value, revision = list_item.revision + 1, origin = excluded.origin,
               checksum = excluded.checksum, version = excluded.version`,
          actorId,
          list,
          withChecksums(actorId, list, items),
          tx.origin,
          versionOf(at),
        )
  expect(items.length, updated)
}

/** Replaces items by their upgraded forms. The rows keep their revision and the origin of the last change. */
export async function updateUpgradedItems(tx: Transaction, at: ListAddress, items: readonly NewItem[]): Promise<void> {
  const { actorId, list } = at
  if (items.length === 0) return
  const updated = await tx.run(
    `INSERT INTO list_item (actor_id, list, item, revision, value, checksum, version)
     SELECT $1, $2, changed.item, 1, changed.value, changed.crc, $4
     FROM rows($3, item BIGINT, value TEXT, crc BIGINT) AS changed WHERE true
     ON CONFLICT (actor_id, list, item) DO UPDATE
       SET value = excluded.value, checksum = excluded.checksum, version = excluded.version`,
    actorId,
    list,
    withChecksums(actorId, list, items),
    versionOf(at),
  )
  expect(items.length, updated)
}

/** The numbers of the next items, in order. */
export async function findItemNumbers(
  q: Queries,
  { actorId, list }: ListAddress,
  from: number,
  most: number,
): Promise<number[]> {
  const rows = await q.all<{ item: number }>(
    'SELECT item FROM list_item WHERE actor_id = $1 AND list = $2 AND item >= $3 ORDER BY item LIMIT $4',
    actorId,
    list,
    from,
    most,
  )
  return rows.map(({ item }) => item)
}

export async function deleteItems(
  tx: Transaction,
  { actorId, list }: ListAddress,
  items: readonly number[],
): Promise<void> {
  const [first] = items
  if (first === undefined) return
  const deleted =
    items.length === 1
      ? await tx.run('DELETE FROM list_item WHERE actor_id = $1 AND list = $2 AND item = $3', actorId, list, first)
      : await tx.run(
          `DELETE FROM list_item
           WHERE actor_id = $1 AND list = $2 AND item ${isOneOf('item')}`,
          actorId,
          list,
          column(items),
        )
  expect(items.length, deleted)
}

/** Deletes the items whose number is at least `from`. Returns how many it deleted. */
export function deleteAllItems(tx: Transaction, { actorId, list }: ListAddress, from: number): Promise<number> {
  return tx.run('DELETE FROM list_item WHERE actor_id = $1 AND list = $2 AND item >= $3', actorId, list, from)
}

/** Deletes the nodes whose number is at least `from`. Returns how many it deleted. */
export function deleteAllNodes(tx: Transaction, { actorId, list }: ListAddress, from: number): Promise<number> {
  return tx.run('DELETE FROM list_node WHERE actor_id = $1 AND list = $2 AND node >= $3', actorId, list, from)
}

/** Schedules the rows up to these numbers for deletion by `RemovedLists`. */
export async function markRemoved(
  tx: Transaction,
  { actorId, list }: ListAddress,
  { lastItem, lastNode }: { readonly lastItem: number; readonly lastNode: number },
): Promise<void> {
  const marked = await tx.run(
    `INSERT INTO removed_list (actor_id, list, next_item, last_item, last_node) VALUES ($1, $2, 1, $3, $4)
     ON CONFLICT (actor_id, list) DO UPDATE SET last_item = excluded.last_item, last_node = excluded.last_node`,
    actorId,
    list,
    lastItem,
    lastNode,
  )
  expect(1, marked)
}

function withChecksums(actorId: string, list: string, items: readonly NewItem[]): string {
  return JSON.stringify(
    items.map(([item, value, origin = null, revision = null]) => [
      item,
      value,
      checksumOf(actorId, itemName(list, item), value),
      origin,
      revision,
    ]),
  )
}

function column(values: readonly (string | number)[]): string {
  return JSON.stringify(values.map((value) => [value]))
}

/** Fails the change when a statement affected the wrong rows: the transaction has read them, so they must exist. */
function expect(rows: number, touched: number): void {
  if (rows === touched) return
  throw new ServiceError('store_unavailable', 'Cannot store the change to the list: the stored rows do not match it', {
    reason: `A statement affected ${touched} rows instead of ${rows}`,
  })
}
