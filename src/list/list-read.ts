/** Reads items of lists. Callers must pass a snapshot or the transaction of a change, so that all rows match. */
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import type { ItemFormat, ListAddress } from './list-address.ts'
import { lengthOf, type ListHead, type ListMetadata, metadataOf, readHeadText } from './list-head.ts'
import { resolveIndex } from './list-index.ts'
import {
  currentItems,
  findAllItems,
  findAllNodes,
  findItemsOf,
  findNodesOf,
  type StoredItem,
  type UnreadItem,
} from './list-store.ts'
import { arrange, inOrder, OpenList } from './open-list.ts'
import type { Span } from './order-branch.ts'
import { OrderTree } from './order-tree.ts'

export interface IndexedItem {
  readonly index: number
  readonly item: JsonText
}

export interface ListContent {
  readonly metadata: ListMetadata
  /** The items in the declared version. @throws ServiceError `migration_failed`, `newer_data` */
  readonly items: readonly JsonText[]
}

/** The format of the items of each list. */
export type FormatOf = (list: string) => ItemFormat | null

export interface ListPage {
  /** The length of the list, which may exceed the page. */
  readonly length: number
  readonly items: readonly IndexedItem[]
}

/** One item. Null when the list or the position does not exist. @throws ServiceError `invalid_index`, `list_corrupted` */
export async function readItem(
  q: Queries,
  at: ListAddress,
  index: number,
  options: { readonly fromEnd?: boolean } = {},
): Promise<JsonText | null> {
  return (await readItemRow(q, at, index, options))?.row.value ?? null
}

/** An item as it is stored, with the id of its list. */
export interface ItemRow {
  readonly listId: string
  readonly row: StoredItem
}

/** Like `readItem`, with the numbers that identify the item and its revision. */
export async function readItemRow(
  q: Queries,
  at: ListAddress,
  index: number,
  options: { readonly fromEnd?: boolean } = {},
): Promise<ItemRow | null> {
  const list = await OpenList.find(q, at)
  const position = resolveIndex(index, list?.length ?? 0, options.fromEnd ?? false)
  if (list === null || position === null) return null
  await list.load([{ from: position, to: position + 1 }])
  return { listId: list.id, row: await list.item(position) }
}

/**
 * The items of a span, which may reach beyond the end, or all items of a short list. Null when the list does not exist.
 * `ListScan` reads longer lists.
 *
 * @throws ServiceError `list_corrupted`
 */
export async function readItems(q: Queries, at: ListAddress, span?: Span): Promise<ListPage | null> {
  const list = await OpenList.find(q, at)
  if (list === null) return null
  const from = Math.min(Math.max(span?.from ?? 0, 0), list.length)
  const to = Math.min(Math.max(span?.to ?? list.length, from), list.length)
  let items
  if (span === undefined) {
    items = await list.loadAll()
  } else {
    await list.load([{ from, to }])
    items = await list.items({ from, to })
  }
  return { length: list.length, items: items.map(({ value }, offset) => ({ index: from + offset, item: value })) }
}

/**
 * The items at the positions that exist. Empty when the list does not exist.
 *
 * @throws ServiceError `list_corrupted`
 */
export async function readItemsAt(q: Queries, at: ListAddress, indices: readonly number[]): Promise<IndexedItem[]> {
  return [...(await readRowsAt(q, at, indices))].map(([index, { row }]) => ({ index, item: row.value }))
}

/** Like `readItemsAt`, with the numbers that identify each item and its revision. */
export async function readRowsAt(
  q: Queries,
  at: ListAddress,
  indices: readonly number[],
): Promise<ReadonlyMap<number, ItemRow>> {
  const list = await OpenList.find(q, at)
  if (list === null) return new Map()
  const present = [...new Set(indices)].filter((index) => index < list.length)
  await list.load(present.map((index) => ({ from: index, to: index + 1 })))
  const rows = await list.itemsOf(present.map((index) => list.order.at(index)))
  return new Map(rows.map((row, position) => [present[position] ?? 0, { listId: list.id, row }]))
}

/** Limits for lists that are read together, in items and bytes. */
const togetherItems = 4096
const togetherBytes = 1_048_576

/** The lists that are short enough to be read together, in their order. Includes damaged lists. */
export function shortLists(heads: ReadonlyMap<string, string>): Map<string, string> {
  let items = 0
  let bytes = 0
  const short = [...heads].filter(([list, text]) => {
    const head = headOrNull(list, text)
    if (head === null) return true
    if (head.bytes === null || head.firstItem > 1) return false
    const isShort = items + lengthOf(head) <= togetherItems && bytes + head.bytes <= togetherBytes
    if (isShort) {
      items += lengthOf(head)
      bytes += head.bytes
    }
    return isShort
  })
  return new Map(short)
}

function headOrNull(list: string, text: string): ListHead | null {
  try {
    return readHeadText(list, text)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return null
    throw error
  }
}

/**
 * The items of several short lists, read by two statements. `heads` maps each list to its row's text, as
 * `findProperties` returns it; `shortLists` selects the lists.
 *
 * @throws ServiceError `list_corrupted` for the first list that is damaged.
 */
export async function readManyLists(
  q: Queries,
  actorId: string,
  heads: ReadonlyMap<string, string>,
  formatOf: FormatOf,
): Promise<Map<string, ListContent>> {
  if (heads.size === 0) return new Map()
  const lists = [...heads.keys()]
  const rows = await Promise.all([findAllNodes(q, actorId, lists), findAllItems(q, actorId, lists)])
  const nodes = Map.groupBy(rows[0], (row) => row.list)
  const items = Map.groupBy(rows[1], (row) => row.list)
  const found = new Map<string, ListContent>()
  for (const [list, text] of heads) {
    const head = readHeadText(list, text)
    const order = new OrderTree(list, head.root, head.nextNode)
    const inOrder = arrange(list, order, head.nextItem, nodes.get(list) ?? [], items.get(list) ?? [])
    found.set(list, contentOf(metadataOf(head), formatOf(list), inOrder))
  }
  return found
}

/**
 * The first items of several lists, read by three statements.
 *
 * @param heads as for `readManyLists`.
 * @throws ServiceError `list_corrupted` for the first list that is damaged.
 */
export async function readStarts(
  q: Queries,
  actorId: string,
  heads: ReadonlyMap<string, string>,
  count: number,
  formatOf: FormatOf,
): Promise<Map<string, ListContent>> {
  const lists = [...heads].map(([list, text]) => {
    const head = readHeadText(list, text)
    const order = new OrderTree(list, head.root, head.nextNode)
    const span = { from: 0, to: Math.min(count, order.length) }
    return { list, order, span, metadata: metadataOf(head) }
  })
  const mids = await findNodesOf(
    q,
    actorId,
    pairs(lists, ({ order, span }) => order.midsFor([span])),
  )
  for (const { list, order } of lists) order.giveMids(mids.get(list) ?? [])
  const leaves = await findNodesOf(
    q,
    actorId,
    pairs(lists, ({ order, span }) => order.leavesFor([span])),
  )
  for (const { list, order } of lists) order.giveLeaves(leaves.get(list) ?? [])
  const rows = await findItemsOf(
    q,
    actorId,
    pairs(lists, ({ order, span }) => order.items(span)),
  )
  return new Map(
    lists.map(({ list, order, span, metadata }) => {
      const items = inOrder(list, order.items(span), rows.get(list) ?? [])
      return [list, contentOf(metadata, formatOf(list), items)]
    }),
  )
}

/** Upgrades the items when they are used, because a caller may not see every list. */
function contentOf(metadata: ListMetadata, format: ItemFormat | null, rows: readonly UnreadItem[]): ListContent {
  let items: readonly JsonText[] | undefined
  return {
    metadata,
    get items() {
      items ??= currentItems({ format }, rows).map(({ value }) => value)
      return items
    },
  }
}

function pairs<L extends { readonly list: string }>(
  lists: readonly L[],
  numbersOf: (list: L) => readonly number[],
): (readonly [list: string, number: number])[] {
  return lists.flatMap((one) => numbersOf(one).map((number) => [one.list, number] as const))
}
