/**
 * Item handles: each identifies one version of a list item. A handle becomes invalid when its item changes, so a change
 * through it takes effect once. It contains the list, the item, its revision, and the position as a hint for the search.
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

/** The handle of an item at its current revision. */
export function handleOf(listId: string, { item, revision }: StoredItem, index: number): string {
  return [listId, item, revision, index].join('.')
}

/** The item and its current position. Null when it has changed or was removed since. @throws as `updateByHandles` */
export async function findByHandle(q: Queries, at: ListAddress, handle: string): Promise<IndexedItem | null> {
  const { found } = await redeem(q, at, [handle])
  const [only] = found
  return only === undefined ? null : { index: only.index, item: only.row.value }
}

/** The current version of the item, with a new handle. Null when the item was removed. */
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
 * Replaces the items whose handles are still valid. Returns one change for each replaced item.
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
  // A list may contain equal items. A subscriber's copy needs the position to find the right one.
  return found.map(({ row, index, handle }) => ({
    operation: 'update',
    length: list.length,
    index,
    item: values.get(handle) ?? row.value,
    old_item: row.value,
  }))
}

/**
 * Removes the items whose handles are still valid. Returns one change for each removed item, in list order.
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
  if (list === undefined)
    throw new ServiceError('invalid_value', 'Invalid item handle: use a handle that the list returned')
  return { list, item: Number(item), revision: Number(revision), index: Number(index) }
}

interface Redeemed {
  readonly handle: string
  readonly row: StoredItem
  /** The current position of the item. */
  readonly index: number
}

/** The items whose handles are still valid, with the nodes of their positions loaded. */
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
