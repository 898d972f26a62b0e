/** Items found by what one of their fields holds. Items that are no objects, or lack the field, never match. */
import { equal, getAt, type JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import type { IndexedItem } from './list-read.ts'
import type { StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'

export interface WhereOptions {
  /** Only the first match; else every one. */
  readonly firstOnly?: boolean
}

/** The first match; null when nothing matches or there is no such list. @throws ServiceError `list_corrupted` */
export async function find(q: Queries, at: ListAddress, field: string, value: JsonText): Promise<IndexedItem | null> {
  const [first] = await matches(await OpenList.find(q, at), field, value, true)
  return first === undefined ? null : { index: first.index, item: first.row.value }
}

/** @throws ServiceError `list_corrupted` */
export async function findAll(q: Queries, at: ListAddress, field: string, value: JsonText): Promise<IndexedItem[]> {
  const found = await matches(await OpenList.find(q, at), field, value, false)
  return found.map(({ index, row }) => ({ index, item: row.value }))
}

/**
 * Replaces what matches, by one value or by what `replacement` makes of each; one change for each.
 *
 * @throws ServiceError `not_found`, `list_corrupted`
 */
export async function updateWhere(
  tx: Transaction,
  at: ListAddress,
  field: string,
  value: JsonText,
  replacement: JsonText | ((item: JsonText) => JsonText),
  nowMs: number,
  options: WhereOptions = {},
): Promise<ListChange[]> {
  const list = await OpenList.require(tx, at)
  const found = await matches(list, field, value, options.firstOnly ?? false)
  if (found.length === 0) return []
  const replaced = found.map(({ index, row }) => ({
    index,
    row,
    item: typeof replacement === 'string' ? replacement : replacement(row.value),
  }))
  await list.save(tx, nowMs, { update: replaced.map(({ row, item }) => [row.item, item] as const) })
  return replaced.map(({ index, row, item }) => ({
    operation: 'update',
    length: list.length,
    index,
    item,
    old_item: row.value,
  }))
}

/** Removes what matches; one change for each, in the order of the list. @throws ServiceError `not_found`, `list_corrupted` */
export async function removeWhere(
  tx: Transaction,
  at: ListAddress,
  field: string,
  value: JsonText,
  nowMs: number,
  options: WhereOptions = {},
): Promise<ListChange[]> {
  const list = await OpenList.require(tx, at)
  const before = list.length
  const found = await matches(list, field, value, options.firstOnly ?? false)
  if (found.length === 0) return []
  for (const { index } of found.toReversed()) list.order.removeAt(index)
  await list.save(tx, nowMs, { delete: found.map(({ row }) => row.item) })
  return found.map(({ row }, removed) => ({ operation: 'remove', length: before - removed - 1, item: row.value }))
}

/** Whether the item is an object whose field has this value. */
export function holds(item: JsonText, field: string, value: JsonText): boolean {
  const held = getAt(item, [field])
  return held !== undefined && equal(held, value)
}

async function matches(
  list: OpenList | null,
  field: string,
  value: JsonText,
  firstOnly: boolean,
): Promise<{ readonly index: number; readonly row: StoredItem }[]> {
  const found: { index: number; row: StoredItem }[] = []
  for (const [index, row] of (list === null ? [] : await list.loadAll()).entries()) {
    if (!holds(row.value, field, value)) continue
    found.push({ index, row })
    if (firstOnly) break
  }
  return found
}
