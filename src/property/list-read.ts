/** Reading the items of lists. All of it wants one moment: a snapshot, or the transaction of a change. */
import type { JsonText } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { metadataOf, readHeadText, type ListMetadata } from './list-head.ts'
import { resolveIndex } from './list-index.ts'
import { findAllItems, findAllNodes } from './list-store.ts'
import { arrange, OpenList } from './open-list.ts'
import type { Span } from './order-branch.ts'
import { OrderTree } from './order-tree.ts'

export interface IndexedItem {
  readonly index: number
  readonly item: JsonText
}

export interface ListPage {
  /** Of the whole list. */
  readonly length: number
  readonly items: readonly IndexedItem[]
}

/** Null when there is no such list or no such position. @throws ServiceError `invalid_index`, `list_corrupted` */
export async function readItem(
  q: Queries,
  at: ListAddress,
  index: number,
  options: { readonly fromEnd?: boolean } = {},
): Promise<JsonText | null> {
  const list = await OpenList.find(q, at)
  const position = resolveIndex(index, list?.length ?? 0, options.fromEnd ?? false)
  if (list === null || position === null) return null
  await list.load([{ from: position, to: position + 1 }])
  return (await list.item(position)).value
}

/**
 * The items in order, all of them or those of a span; a span may reach beyond the end. Null when there is no list of
 * that name.
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
 * The items of several lists by two statements, however many there are. `heads` holds the text of each list's row, as
 * `findProperties` gives it.
 *
 * @throws ServiceError `list_corrupted` for the first list that is damaged.
 */
export async function readManyLists(
  q: Queries,
  actorId: string,
  heads: ReadonlyMap<string, string>,
): Promise<Map<string, { readonly metadata: ListMetadata; readonly items: readonly JsonText[] }>> {
  if (heads.size === 0) return new Map()
  const lists = [...heads.keys()]
  const rows = await Promise.all([findAllNodes(q, actorId, lists), findAllItems(q, actorId, lists)])
  const nodes = Map.groupBy(rows[0], (row) => row.list)
  const items = Map.groupBy(rows[1], (row) => row.list)
  const found = new Map<string, { metadata: ListMetadata; items: readonly JsonText[] }>()
  for (const [list, text] of heads) {
    const head = readHeadText(list, text)
    const order = new OrderTree(list, head.root, head.nextNode)
    const inOrder = arrange(list, order, head.nextItem, nodes.get(list) ?? [], items.get(list) ?? [])
    found.set(list, { metadata: metadataOf(head), items: inOrder.map(({ value }) => value) })
  }
  return found
}

/**
 * Goes through a list page by page. Each page is one moment, not the whole: while others insert and delete, an item may
 * be seen twice or not at all, as with any paging by position.
 *
 * @param read reads one span, for example `(span) => store.snapshot((q) => readItems(q, at, span))`.
 * @param size items per page.
 */
export async function* pages(
  read: (span: Span) => Promise<ListPage | null>,
  size = 1000,
): AsyncGenerator<readonly IndexedItem[]> {
  for (let from = 0; ; from += size) {
    const page = await read({ from, to: from + size })
    if (page === null || page.items.length === 0) return
    yield page.items
    if (from + size >= page.length) return
  }
}
