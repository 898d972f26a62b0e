/**
 * Answers queries of lists: from indexes, or by reading the items of a list that is not long. In a transaction, the changes that
 * wait for its commit count too.
 */
import { setImmediate } from 'node:timers/promises'
import { quoted, ServiceError } from '../../errors.ts'
import * as list from '../../list/list.ts'
import type { Queries } from '../../store/store.ts'

/** The most items that a query without an index reads. */
export const maxScanned = 10_000

/** A list as the caller of a query sees it. */
export interface QueriedList {
  readonly name: string
  /** The fields with a declared index. */
  readonly indexes: readonly string[]
  /** True when no hook determines what the caller sees of an item. */
  readonly hasNoHooks: boolean
  /** Reads the stored list in a snapshot. */
  readonly stored: <T>(work: (q: Queries, at: list.ListAddress) => Promise<T>) => Promise<T>
  /** Reads the items of a span, or all items. */
  readonly pages: (span?: ListSpan) => AsyncIterable<QueriedPage>
  /** Starts to build the indexes of these fields. */
  readonly build: (fields: readonly string[]) => void
  /** Null outside of a transaction. */
  readonly pending: PendingItems | null
}

export type ListSpan = list.ScanSpan

export interface QueriedPage {
  /** Null when the hook of the list hides the items. */
  readonly items: readonly list.IndexedItem[] | null
  readonly metadata: list.ListMetadata
  readonly handleAt: (index: number) => string
  /** The number of the item, which stays when its position changes. */
  readonly numberAt: (index: number) => number
  /** The position of the first item, and the number of positions, of which a hook may hide some. */
  readonly from: number
  readonly positions: number
}

/** The changes of a list that are not stored yet. */
export interface PendingItems {
  /** The length of the list with its changes. */
  readonly length: number
  /** False when no stored item is left. */
  readonly hasStored: boolean
  /** The numbers of the stored items that were replaced or removed. */
  readonly gone: ReadonlySet<number>
  /** The new and the replaced items. */
  readonly written: readonly list.FoundItem[]
}

/**
 * A page of matching items. Empty when the list does not exist. Indexes answer if every field has one and no hook changes what
 * the caller sees. Otherwise the items are read, up to `maxScanned`.
 *
 * @throws ServiceError `index_required` for a longer list; `unavailable` while its index is built.
 */
export async function queryList(queried: QueriedList, asked: list.ItemQuery): Promise<list.FoundItems> {
  const { where, sort, after } = asked
  // SQLite answers within a turn of the event loop, so a reader of all pages would block it.
  if (after !== null) await setImmediate()
  if (where.length === 0 && sort === null) return inOrder(queried, asked)
  const fields = [...where.map(({ field }) => field), ...(sort === null ? [] : [sort.field])]
  return (await queryByIndex(queried, asked, fields)) ?? pageOfMatches(await scan(queried, where, fields), asked, null)
}

/** The number of matching items. @throws ServiceError as `queryList` */
export async function countList(queried: QueriedList, where: readonly list.FieldCondition[]): Promise<number> {
  const fields = where.map(({ field }) => field)
  return (await countByIndex(queried, where, fields)) ?? (await scan(queried, where, fields)).length
}

/** A page in the order of the list. Its `next` has a position, and numbers of items. */
async function inOrder(queried: QueriedList, { limit, after }: list.ItemQuery): Promise<list.FoundItems> {
  const start = after === null ? null : list.pageStart(after)
  const from = start?.position ?? 0
  const found: list.FoundItem[] = []
  const numbers: number[] = []
  let [length, end] = [0, from]
  for await (const page of queried.pages({ from, to: from + limit, anchors: start?.anchors ?? [] })) {
    const { items, metadata, handleAt, numberAt } = page
    length = metadata.length
    end = page.from + page.positions
    for (let index = page.from; index < end; index++) numbers.push(numberAt(index))
    for (const { index, item } of items ?? []) found.push({ item, handle: handleAt(index), number: numberAt(index) })
  }
  return { items: found, next: end < length ? list.startAfter(end, numbers, start) : null }
}

/** Null when the indexes cannot answer. */
async function queryByIndex(
  queried: QueriedList,
  asked: list.ItemQuery,
  fields: readonly string[],
): Promise<list.FoundItems | null> {
  if (!mayUseIndex(queried, fields)) return null
  const { pending } = queried
  const found = await readIndex(queried, (q, at) => list.queryIndexed(q, at, asked, pending?.gone))
  if (found === 'unindexed') return null
  const stored = found ?? { items: [], next: null }
  if (pending === null) return stored
  return pageOfMatches([...stored.items, ...matching(pending.written, asked.where)], asked, stored.next)
}

/** Null when the indexes cannot answer. */
async function countByIndex(
  queried: QueriedList,
  where: readonly list.FieldCondition[],
  fields: readonly string[],
): Promise<number | null> {
  if (!mayUseIndex(queried, fields)) return null
  const { pending } = queried
  if (pending !== null && where.length === 0) return pending.length
  let counted = matching(pending?.written ?? [], where).length
  let from: list.IndexEntry | null = null
  for (;;) {
    const after: list.IndexEntry | null = from
    const found: Awaited<ReturnType<typeof list.countIndexed>> | 'unindexed' = await readIndex(queried, (q, at) =>
      list.countIndexed(q, at, where, after, pending?.gone),
    )
    if (found === 'unindexed') return null
    if (found === null) return counted
    counted += found.count
    if (found.next === null) return counted
    from = found.next
    await setImmediate()
  }
}

/** Null when no item is stored. Starts to build a missing index. */
async function readIndex<T extends object>(
  { pending, stored, build }: QueriedList,
  read: (q: Queries, at: list.ListAddress) => Promise<T | list.Unindexed | null>,
): Promise<T | 'unindexed' | null> {
  if (pending?.hasStored === false) return null
  const found = await stored(read)
  if (found === null || !('unindexed' in found)) return found
  build(found.unindexed)
  return 'unindexed'
}

/** True when indexes of the fields are declared, and no hook hides items that they contain. */
function mayUseIndex({ hasNoHooks, indexes }: QueriedList, fields: readonly string[]): boolean {
  return hasNoHooks && fields.every((field) => indexes.includes(field))
}

/** The matching items of a list that is not long. */
async function scan(
  queried: QueriedList,
  where: readonly list.FieldCondition[],
  fields: readonly string[],
): Promise<readonly list.FoundItem[]> {
  const found: list.FoundItem[] = []
  for await (const { items, metadata, handleAt, numberAt } of queried.pages()) {
    if (metadata.length > maxScanned) throw tooLong(queried, metadata.length, fields)
    for (const { index, item } of items ?? []) {
      if (holdsAll(item, where)) found.push({ item, handle: handleAt(index), number: numberAt(index) })
    }
  }
  return found
}

function tooLong({ name, hasNoHooks, indexes }: QueriedList, length: number, fields: readonly string[]): ServiceError {
  const what = `Cannot query the list ${quoted(name)} of ${length} items`
  if (!hasNoHooks)
    return new ServiceError('index_required', `${what}: a hook determines what a caller sees of each item`)
  const missing = fields.filter((field) => !indexes.includes(field))
  if (missing.length === 0)
    return new ServiceError('unavailable', `${what}: its index is being built. Try again later`, {
      retryAfterSeconds: 5,
    })
  return new ServiceError(
    'index_required',
    `${what}: it has no index of ${missing.map(quoted).join(' and ')}. Declare it in \`indexes\` of the list`,
  )
}

/** Whether the fields of the item fit the conditions. */
export function holdsAll(item: list.IndexedItem['item'], where: readonly list.FieldCondition[]): boolean {
  return where.every((condition) => list.fits(condition, list.fieldKey(item, condition.field)))
}

function matching(items: readonly list.FoundItem[], where: readonly list.FieldCondition[]): readonly list.FoundItem[] {
  return items.filter(({ item }) => holdsAll(item, where))
}

/**
 * The page of these items, which match.
 *
 * @param end where the search of the items ended. Null: they are all matching items.
 */
export function pageOfMatches(
  items: readonly list.FoundItem[],
  { sort, limit, after }: list.ItemQuery,
  end: list.IndexEntry | null,
): list.FoundItems {
  const entries = items.map((found) => ({
    found,
    item: found.number,
    key: sort === null ? '' : list.fieldKey(found.item, sort.field),
  }))
  const later = new Set(end === null ? [] : list.sortEntries(entries, sort, end))
  const all = list.sortEntries(entries, sort, after).filter((entry) => !later.has(entry))
  const page = all.slice(0, limit)
  const last = page.at(-1)
  const next = last !== undefined && all.length > page.length ? { item: last.item, key: last.key } : end
  return { items: page.map(({ found }) => found), next }
}
