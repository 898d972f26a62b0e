/** Finds items by the value of one field. Items without the field, or of another JSON type than object, never match. */
import { equal, getAt, type JsonText } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import type { StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'

/** Selects the items whose field has a value. */
export interface ItemMatch {
  readonly field: string
  readonly value: JsonText
  /** Selects only the first match. Default: every match. */
  readonly firstOnly?: boolean
}

/**
 * Replaces the matching items of a short list, by one value or by the result of `replacement` for each item. Returns one
 * change for each.
 *
 * @throws ServiceError `not_found`, `list_corrupted`
 */
export async function updateWhere(
  tx: Transaction,
  at: ListAddress,
  match: ItemMatch,
  replacement: JsonText | ((item: JsonText) => JsonText),
  nowMs: number,
): Promise<ListChange[]> {
  const list = await OpenList.require(tx, at)
  const found = await matches(list, match)
  if (found.length === 0) return []
  const replaced = found.map(({ index, row }) => ({
    index,
    row,
    item: typeof replacement === 'string' ? replacement : replacement(row.value),
  }))
  await list.save(tx, nowMs, { update: replaced.map(({ row, item }) => [row, item] as const) })
  return replaced.map(({ index, row, item }) => ({
    operation: 'update',
    length: list.length,
    index,
    item,
    old_item: row.value,
  }))
}

/** Removes the matching items of a short list; returns one change for each. @throws ServiceError `not_found`, `list_corrupted` */
export async function removeWhere(
  tx: Transaction,
  at: ListAddress,
  match: ItemMatch,
  nowMs: number,
): Promise<ListChange[]> {
  const list = await OpenList.require(tx, at)
  const before = list.length
  const found = await matches(list, match)
  if (found.length === 0) return []
  for (const { index } of found.toReversed()) list.order.removeAt(index)
  await list.save(tx, nowMs, { delete: found.map(({ row }) => row) })
  return found.map(({ row }, removed) => ({ operation: 'remove', length: before - removed - 1, item: row.value }))
}

/** Whether the item is an object whose field has this value. */
export function holds(item: JsonText, field: string, value: JsonText): boolean {
  const held = getAt(item, [field])
  return held !== undefined && equal(held, value)
}

async function matches(
  list: OpenList,
  { field, value, firstOnly = false }: ItemMatch,
): Promise<{ readonly index: number; readonly row: StoredItem }[]> {
  const found: { index: number; row: StoredItem }[] = []
  for (const [index, row] of (await list.loadAll()).entries()) {
    if (!holds(row.value, field, value)) continue
    found.push({ index, row })
    if (firstOnly) break
  }
  return found
}
