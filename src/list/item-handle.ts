/**
 * Handles: receipts for items as they were read. A handle works once, and only while its item is what it was: it names
 * the list, the item and its revision, and remembers the position only to find it faster.
 */
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import { findPosition } from './list-position.ts'
import type { IndexedItem } from './list-read.ts'
import { findItems, type StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'

export interface ItemWithHandle {
  readonly index: number
  readonly item: JsonText
  /** Opaque. */
  readonly handle: string
}

/** What a handle says of an item as it was read. */
export function handleOf(listId: string, { item, revision }: StoredItem, index: number): string {
  return [listId, item, revision, index].join('.')
}

/** The item and where it stands now. Null when it was changed or removed meanwhile. @throws as `updateByHandles` */
export async function findByHandle(q: Queries, at: ListAddress, handle: string): Promise<IndexedItem | null> {
  const { found } = await redeem(q, at, [handle])
  const [only] = found
  return only === undefined ? null : { index: only.index, item: only.row.value }
}

/** The item of the handle as it is now, at any revision, with a new handle. Null when it was removed. */
export async function locate(q: Queries, at: ListAddress, handle: string): Promise<ItemWithHandle | null> {
  const receipt = parseHandle(handle)
  const list = await OpenList.find(q, at)
  if (list === null || list.id !== receipt.list) return null
  const [row] = await findItems(q, at, [receipt.item])
  if (row === undefined) return null
  const hint = Math.min(receipt.index, list.length - 1)
  await list.load([{ from: hint, to: hint + 1 }], true)
  const index = list.order.positionOf(row.item) ?? (await findPosition(list, row.item, hint, true))
  return { index, item: row.value, handle: handleOf(list.id, row, index) }
}

/**
 * Replaces the items that were not changed or removed meanwhile; one change for each.
 *
 * @throws ServiceError `invalid_value`, `list_corrupted`
 */
export async function updateByHandles(
  tx: Transaction,
  at: ListAddress,
  updates: readonly (readonly [handle: string, item: JsonText])[],
  nowMs: number,
): Promise<ListChange[]> {
  const { list, found } = await redeem(
    tx,
    at,
    updates.map(([handle]) => handle),
  )
  if (list === null || found.length === 0) return []
  const values = new Map(updates)
  const update = found.map(({ row, handle }) => [row, values.get(handle) ?? row.value] as const)
  await list.save(tx, nowMs, { update })
  // Where equal items stand in the list, only the position tells a copy of it which one was meant.
  return found.map(({ row, index, handle }) => ({
    operation: 'update',
    length: list.length,
    index,
    item: values.get(handle) ?? row.value,
    old_item: row.value,
  }))
}

/**
 * Removes the items that were not changed or removed meanwhile; one change for each, in the order of the list.
 *
 * @throws ServiceError `invalid_value`, `list_corrupted`
 */
export async function deleteByHandles(
  tx: Transaction,
  at: ListAddress,
  handles: readonly string[],
  nowMs: number,
): Promise<ListChange[]> {
  const { list, found } = await redeem(tx, at, handles)
  if (list === null || found.length === 0) return []
  const before = list.length
  const inOrder = found.toSorted((a, b) => a.index - b.index)
  for (const { index } of inOrder.toReversed()) list.order.removeAt(index)
  await list.save(tx, nowMs, { delete: inOrder.map(({ row }) => row) })
  return inOrder.map(({ row, index }, removed) => ({
    operation: 'remove',
    length: before - removed - 1,
    index: index - removed,
    item: row.value,
  }))
}

interface Receipt {
  readonly list: string
  readonly item: number
  readonly revision: number
  readonly index: number
}

function parseHandle(handle: string): Receipt {
  const [, list, item, revision, index] =
    /^([0-9a-f]+)\.([0-9]{1,16})\.([0-9]{1,16})\.([0-9]{1,16})$/.exec(handle) ?? []
  if (list === undefined) throw new ServiceError('invalid_value', 'This is not a handle of a list item')
  return { list, item: Number(item), revision: Number(revision), index: Number(index) }
}

interface Redeemed {
  readonly handle: string
  readonly row: StoredItem
  /** Where the item stands now. */
  readonly index: number
}

/** The items that are still as their handles say, with their parts of the order loaded. */
async function redeem(
  q: Queries,
  at: ListAddress,
  handles: readonly string[],
): Promise<{ readonly list: OpenList | null; readonly found: readonly Redeemed[] }> {
  const receipts = new Map(handles.map((handle) => [handle, parseHandle(handle)]))
  const list = await OpenList.find(q, at)
  if (list === null) return { list, found: [] }
  const ofList = [...receipts].filter(([, receipt]) => receipt.list === list.id)
  const numbers = [...new Set(ofList.map(([, { item }]) => item))]
  const rows = new Map((await findItems(q, at, numbers)).map((row) => [row.item, row]))
  const current = ofList.flatMap(([handle, { item, revision, index }]) => {
    const row = rows.get(item)
    return row?.revision === revision ? [{ handle, row, hint: Math.min(index, list.length - 1) }] : []
  })
  await list.load(
    current.map(({ hint }) => ({ from: hint, to: hint + 1 })),
    true,
  )
  const found: Redeemed[] = []
  for (const { handle, row, hint } of current) {
    const near = list.order.positionOf(row.item)
    const index = near ?? (await findPosition(list, row.item, hint, true))
    if (!found.some((other) => other.row.item === row.item)) found.push({ handle, row, index })
  }
  return { list, found }
}
