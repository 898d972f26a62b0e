/**
 * Handles: receipts for items as they were read. A handle works once, and only while its item is what it was: it names
 * the list, the item and its revision, and remembers the position only to find it faster.
 */
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import { damagedList } from './list-damage.ts'
import type { IndexedItem } from './list-read.ts'
import { findItems, type StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'
import type { Span } from './order-branch.ts'

export interface ItemWithHandle {
  readonly index: number
  readonly item: JsonText
  /** Opaque. */
  readonly handle: string
}

/**
 * All items, or those of a span, which may reach beyond the end. Null when there is no list of that name.
 *
 * @throws ServiceError `list_corrupted`
 */
export async function itemsWithHandles(q: Queries, at: ListAddress, span?: Span): Promise<ItemWithHandle[] | null> {
  const list = await OpenList.find(q, at)
  if (list === null) return null
  const from = Math.min(span?.from ?? 0, list.length)
  const to = Math.min(span?.to ?? list.length, list.length)
  if (span !== undefined) await list.load([{ from, to }])
  const rows = span === undefined ? await list.loadAll() : await list.items({ from, to })
  return rows.map((row, offset) => ({
    index: from + offset,
    item: row.value,
    handle: [list.id, row.item, row.revision, from + offset].join('.'),
  }))
}

/** The item and where it stands now. Null when it was changed or removed meanwhile. @throws as `updateByHandle` */
export async function findByHandle(q: Queries, at: ListAddress, handle: string): Promise<IndexedItem | null> {
  const receipt = parseHandle(handle)
  const found = await redeem(q, at, receipt)
  if (found === null) return null
  return { index: await positionOf(found.list, found.row.item, receipt.index), item: found.row.value }
}

/** Null when the item was changed or removed meanwhile. @throws ServiceError `invalid_value`, `list_corrupted` */
export async function updateByHandle(
  tx: Transaction,
  at: ListAddress,
  handle: string,
  item: JsonText,
  nowMs: number,
): Promise<ListChange | null> {
  const receipt = parseHandle(handle)
  const found = await redeem(tx, at, receipt)
  if (found === null) return null
  const { list, row } = found
  // Where equal items stand in the list, only the position tells a copy of it which one was meant.
  const index = await positionOf(list, row.item, receipt.index)
  await list.save(tx, nowMs, { update: [[row.item, item]] })
  return { operation: 'update', length: list.length, index, item, old_item: row.value }
}

/** Null when the item was changed or removed meanwhile. @throws ServiceError `invalid_value`, `list_corrupted` */
export async function deleteByHandle(
  tx: Transaction,
  at: ListAddress,
  handle: string,
  nowMs: number,
): Promise<ListChange | null> {
  const receipt = parseHandle(handle)
  const found = await redeem(tx, at, receipt)
  if (found === null) return null
  const { list, row } = found
  const index = await positionOf(list, row.item, receipt.index)
  list.order.removeAt(index)
  await list.save(tx, nowMs, { delete: [row.item] })
  return { operation: 'remove', length: list.length, index, item: row.value }
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

async function redeem(
  q: Queries,
  at: ListAddress,
  receipt: Receipt,
): Promise<{ list: OpenList; row: StoredItem } | null> {
  const list = await OpenList.find(q, at)
  if (list === null || list.id !== receipt.list) return null
  const [row] = await findItems(q, at, [receipt.item])
  return row === undefined || row.revision !== receipt.revision ? null : { list, row }
}

/** Where the item stands now: mostly where it stood, else somewhere in the whole order. Its leaf is loaded then. */
async function positionOf(list: OpenList, item: number, hint: number): Promise<number> {
  const index = Math.min(hint, list.length - 1)
  await list.load([{ from: index, to: index + 1 }], true)
  const near = list.order.positionOf(item)
  if (near !== null) return near
  await list.load([list.order.all], true)
  const position = list.order.positionOf(item)
  if (position === null) throw damagedList(list.address.list, `item ${item} stands outside the order`)
  return position
}
