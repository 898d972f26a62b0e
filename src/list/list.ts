/**
 * Lists: ordered items with metadata. Changes run in a transaction of the actor (`store.writeActor`) and return a
 * `ListChange`. Reads beyond the head need a consistent view: `store.snapshot`, or the same transaction.
 *
 * The number of statements of an operation does not depend on the length of the list. Every function throws
 * `list_corrupted` when it finds stored parts that contradict each other.
 */
import type { JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import { listFacts, type ListFacts, listMetadata, type ListMetadata } from './list-head.ts'
import { resolveIndex } from './list-index.ts'
import { textsChange } from './list-creation.ts'
import { findNamed } from './list-store.ts'
import { OpenList, type ListTexts } from './open-list.ts'

export { firstVersion, type ItemFormat, type ListAddress } from './list-address.ts'
export { bulk, readBulk, type BulkEntry, type BulkResult } from './list-bulk.ts'
export type { ListChange, ListOperation } from './list-change.ts'
export { holds, type ItemMatch, removeWhere, updateWhere } from './list-find.ts'
export { deleteByHandles, findByHandle, handleOf, locate, updateByHandles, type ItemWithHandle } from './item-handle.ts'
export {
  emptyHeadText,
  factsOf,
  listFacts,
  listMetadata,
  newListMetadata,
  nextItemOf,
  type ListFacts,
  type ListMetadata,
} from './list-head.ts'
export {
  archivedItems,
  archivedList,
  beginList,
  endList,
  returnItems,
  type ArchivedItem,
  type ArchivedList,
} from './archive/archived-list.ts'
export {
  countIndexed,
  queryIndexed,
  sortEntries,
  type FoundItem,
  type FoundItems,
  type ItemQuery,
  type Unindexed,
} from './list-query.ts'
export type { ListIndexes } from './list-indexes.ts'
export { countOlder, keepUpBatch } from './list-upkeep.ts'
export { rowText } from './list-store.ts'
export {
  afterKey,
  afterPrefix,
  compareKeys,
  type FieldCondition,
  fieldKey,
  fits,
  isOneKey,
  keyChars,
  valueKey,
  noKey,
} from './index-key.ts'
export type { IndexEntry } from './index-store.ts'
export { indexFromJson, parseIndex, resolveIndex } from './list-index.ts'
export {
  readItem,
  readItemRow,
  readItems,
  readItemsAt,
  readManyLists,
  readRowsAt,
  readStarts,
  shortLists,
  type IndexedItem,
  type ItemRow,
  type ListContent,
  type ListPage,
} from './list-read.ts'
export {
  canBeKept,
  type ListHistory,
  type ListStep,
  type ListSteps,
  parseSteps,
  stepsText,
} from './steps/list-steps.ts'
export { findAdded, type KeptSteps, type Reversal, reverseSteps } from './steps/list-reversal.ts'
export { createList, deleteList, ensureList, keepDeletions, makeList } from './list-creation.ts'
export {
  isShort,
  ListScan,
  pageItems,
  pageStart,
  scanPages,
  startAfter,
  type PageStart,
  type ScanPage,
  type ScanSpan,
} from './list-scan.ts'
export type { ListTexts } from './open-list.ts'

/** The metadata of a list. Null when the list does not exist. @throws ServiceError `list_corrupted` */
export async function readMetadata(q: Queries, at: ListAddress): Promise<ListMetadata | null> {
  const row = await findNamed(q, at)
  return row?.kind === 'list' ? listMetadata(at.list, row.value) : null
}

/** The metadata and size of a list. Null when the list does not exist. @throws ServiceError `list_corrupted` */
export async function readFacts(q: Queries, at: ListAddress): Promise<ListFacts | null> {
  const row = await findNamed(q, at)
  return row?.kind === 'list' ? listFacts(at.list, row.value) : null
}

/** Replaces the description or explanation, as given. @throws ServiceError `not_found`, `list_corrupted` */
export async function setMetadata(
  tx: Transaction,
  at: ListAddress,
  texts: ListTexts,
  nowMs: number,
): Promise<ListChange> {
  const list = await OpenList.require(tx, at)
  await list.save(tx, nowMs, {}, texts)
  return textsChange(list, texts)
}

/** @throws ServiceError `not_found`, `list_corrupted` */
export async function append(tx: Transaction, at: ListAddress, item: JsonText, nowMs: number): Promise<ListChange> {
  const list = await OpenList.require(tx, at)
  return addItem(tx, list, { operation: 'append', index: list.length, item }, nowMs)
}

/** Appends items of different origins. Returns a change for each. @throws ServiceError `not_found`, `list_corrupted` */
export async function appendEach(
  tx: Transaction,
  at: ListAddress,
  items: readonly { readonly item: JsonText; readonly origin: string }[],
  nowMs: number,
): Promise<(ListChange & { readonly index: number })[]> {
  const list = await OpenList.require(tx, at)
  const first = list.length
  await list.load([list.order.spanForInsert(first)])
  const insert = items.map(({ item, origin }) => [list.newItem(), item, origin] as const)
  for (const [item] of insert) list.order.append(item)
  await list.save(tx, nowMs, { insert })
  return items.map(({ item }, n) => ({ operation: 'append', index: first + n, item, length: first + n + 1 }))
}

/** Appends items. Null when `items` is empty, because nothing changes. @throws ServiceError `not_found`, `list_corrupted` */
export async function extend(
  tx: Transaction,
  at: ListAddress,
  items: readonly JsonText[],
  nowMs: number,
): Promise<ListChange | null> {
  const list = await OpenList.require(tx, at)
  const index = list.length
  if (items.length === 0) return null
  await list.load([list.order.spanForInsert(index)])
  const added = items.map((value) => [list.newItem(), value] as const)
  for (const [item] of added) list.order.append(item)
  await list.save(tx, nowMs, { insert: added })
  return { operation: 'extend', length: list.length, index, items }
}

/**
 * Inserts an item before the item at `index`, or appends it when `index` is the length. Null when `index` is greater.
 *
 * @throws ServiceError `not_found`, `invalid_index`, `list_corrupted`
 */
export async function insert(
  tx: Transaction,
  at: ListAddress,
  index: number,
  item: JsonText,
  nowMs: number,
): Promise<ListChange | null> {
  const list = await OpenList.require(tx, at)
  const position = resolveIndex(index, list.length + 1, false)
  return position === null ? null : addItem(tx, list, { operation: 'insert', index: position, item }, nowMs)
}

/** The position of an item, and how to interpret it. */
export interface ItemPlace {
  readonly index: number
  /** An index equal to the length appends. */
  readonly orAppend?: boolean
  /** Negative indexes count from the end. */
  readonly fromEnd?: boolean
}

/**
 * Replaces the item at a position, and never fills up the list to reach it. Null when the position does not exist.
 *
 * @throws ServiceError `not_found`, `invalid_index`, `list_corrupted`
 */
export async function update(
  tx: Transaction,
  at: ListAddress,
  { index, orAppend = false, fromEnd = false }: ItemPlace,
  item: JsonText,
  nowMs: number,
): Promise<ListChange | null> {
  const list = await OpenList.require(tx, at)
  if (orAppend && index === list.length) return addItem(tx, list, { operation: 'append', index, item }, nowMs)
  const position = resolveIndex(index, list.length, fromEnd)
  if (position === null) return null
  await list.load([{ from: position, to: position + 1 }])
  const old = await list.item(position)
  await list.save(tx, nowMs, { update: [[old, item]] })
  return { operation: 'update', length: list.length, index: position, item, old_item: old.value }
}

/** Deletes one item. Null beyond the end. @throws ServiceError `not_found`, `invalid_index`, `list_corrupted` */
export async function deleteItemAt(
  tx: Transaction,
  at: ListAddress,
  index: number,
  nowMs: number,
  options: { readonly fromEnd?: boolean } = {},
): Promise<ListChange | null> {
  const list = await OpenList.require(tx, at)
  const position = resolveIndex(index, list.length, options.fromEnd ?? false)
  if (position === null) return null
  const old_item = await takeOut(tx, list, position, nowMs)
  return { operation: 'delete', length: list.length, index: position, old_item }
}

/**
 * Removes and returns one item. Negative indexes count from the end. Null when the position does not exist.
 *
 * @param index Default: -1, the last item.
 * @throws ServiceError `not_found`, `invalid_index`, `list_corrupted`
 */
export async function pop(
  tx: Transaction,
  at: ListAddress,
  nowMs: number,
  index = -1,
): Promise<(ListChange & { readonly item: JsonText; readonly index: number }) | null> {
  const list = await OpenList.require(tx, at)
  const position = resolveIndex(index, list.length, true)
  if (position === null) return null
  const item = await takeOut(tx, list, position, nowMs)
  return { operation: 'pop', length: list.length, index: position, item }
}

/** Removes every item. @throws ServiceError `not_found`, `list_corrupted` */
export async function clear(tx: Transaction, at: ListAddress, nowMs: number): Promise<ListChange> {
  const list = await OpenList.require(tx, at)
  const wasEmpty = list.length === 0
  await list.clear(tx, nowMs)
  return { operation: 'clear', length: 0, ...(wasEmpty ? { changesNothing: true } : {}) }
}

async function addItem(
  tx: Transaction,
  list: OpenList,
  added: { readonly operation: 'append' | 'insert'; readonly index: number; readonly item: JsonText },
  nowMs: number,
): Promise<ListChange> {
  await list.load([list.order.spanForInsert(added.index)])
  const item = list.newItem()
  list.order.insert(added.index, item)
  await list.save(tx, nowMs, { insert: [[item, added.item]] })
  return { ...added, length: list.length }
}

async function takeOut(tx: Transaction, list: OpenList, index: number, nowMs: number): Promise<JsonText> {
  await list.load([{ from: index, to: index + 1 }], true)
  const item = await list.item(index)
  list.order.removeAt(index)
  await list.save(tx, nowMs, { delete: [item] })
  return item.value
}
