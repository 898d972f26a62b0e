/**
 * Queries by indexed fields. Callers pass a snapshot. The cost of a page does not depend on the length of the list: a page that
 * finds few items among many is shorter than its limit, and the next one continues after what was searched.
 */
import type { JsonText } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import { compareKeys } from './index-key.ts'
import {
  type FieldKey,
  findByKey,
  findFieldKeys,
  findMarks,
  findMatching,
  findSorted,
  type IndexEntry,
} from './index-store.ts'
import { handleOf } from './item-handle.ts'
import { type ListAddress, versionOf } from './list-address.ts'
import { pageBytes } from './list-scan.ts'
import { OpenList } from './open-list.ts'

/** The most entries of an index that a page examines. Their examination blocks the event loop for a few milliseconds. */
const maxExamined = 2000
/** The most matches that a page sorts in memory. */
const fewMatches = 1000

export interface ItemSort {
  readonly field: string
  readonly isDescending: boolean
}

export interface ItemQuery {
  /** The values that fields must have. */
  readonly where: readonly FieldKey[]
  /** Null: in the order in which the items were added. */
  readonly sort: ItemSort | null
  readonly limit: number
  /** The last item of the page before. */
  readonly after: IndexEntry | null
}

export interface FoundItem {
  readonly item: JsonText
  readonly handle: string
  /** The number of the item. Equal items are in the order of their numbers. */
  readonly number: number
}

export interface FoundItems {
  readonly items: readonly FoundItem[]
  /** Where the next page begins. Null on the last page. */
  readonly next: IndexEntry | null
}

/** The fields of a query that have no complete index. */
export interface Unindexed {
  readonly unindexed: readonly string[]
}

/** No item. */
const none: ReadonlySet<number> = new Set()

interface Found {
  readonly entries: readonly IndexEntry[]
  readonly next: IndexEntry | null
}

/**
 * A page of matching items. Null when the list does not exist.
 *
 * @param without the numbers of items that do not count.
 * @throws ServiceError `list_corrupted`
 */
export async function queryIndexed(
  q: Queries,
  at: ListAddress,
  asked: ItemQuery,
  without = none,
): Promise<FoundItems | Unindexed | null> {
  const list = await OpenList.find(q, at)
  if (list === null) return null
  const fields = [...asked.where.map(({ field }) => field), ...(asked.sort === null ? [] : [asked.sort.field])]
  const unindexed = await withoutIndex(list, fields)
  if (unindexed.length > 0) return { unindexed }
  const { entries, next } = await find(list, asked, without)
  const rows = await list.numberedUpTo(
    entries.map(({ item }) => item),
    pageBytes,
  )
  const items = rows.map((row) => ({
    item: row.value,
    // Without deletions and insertions, this is the position.
    handle: handleOf(list.id, row, Math.min(list.length - 1, row.item - list.firstItem)),
    number: row.item,
  }))
  return { items, next: rows.length < entries.length ? (entries[rows.length - 1] ?? null) : next }
}

/**
 * Counts matching items among the next ones. Null when the list does not exist.
 *
 * @param after the result of the count before.
 * @param without the numbers of items that do not count.
 */
export async function countIndexed(
  q: Queries,
  at: ListAddress,
  where: readonly FieldKey[],
  after: number,
  without = none,
): Promise<{ readonly count: number; readonly next: number | null } | Unindexed | null> {
  const list = await OpenList.find(q, at)
  if (list === null) return null
  const [first, ...others] = where
  if (first === undefined) return { count: list.length, next: null }
  const unindexed = await withoutIndex(
    list,
    where.map(({ field }) => field),
  )
  if (unindexed.length > 0) return { unindexed }
  const entries = await findByKey(q, at, first, Math.max(after, list.firstItem - 1), maxExamined)
  const matching = await findMatching(q, at, others, presentIn(list, entries, without))
  return { count: matching.size, next: entries.length < maxExamined ? null : (entries.at(-1)?.item ?? null) }
}

/** The fields that have no complete index of items in the declared version. */
async function withoutIndex(list: OpenList, fields: readonly string[]): Promise<readonly string[]> {
  // The index of an older release has no keys of newer items.
  list.requireReadable()
  if (list.version !== versionOf(list.address)) return [...new Set(fields)]
  const marks = await findMarks(list.queries, list.address, fields)
  return [...new Set(fields)].filter((field) => !list.indexes.includes(field) || marks.has(field))
}

async function find(
  list: OpenList,
  { where, sort, limit, after }: ItemQuery,
  without: ReadonlySet<number>,
): Promise<Found> {
  const { queries: q, address: at, firstItem } = list
  const [first, ...others] = where
  if (sort === null) {
    if (first === undefined) return { entries: [], next: null }
    const begin = { key: first.key, item: Math.max(after?.item ?? 0, firstItem - 1) }
    return examine(list, {
      where: others,
      without,
      limit,
      begin,
      read: (last, most) => findByKey(q, at, first, last.item, most),
    })
  }
  const few = first === undefined ? null : await findByKey(q, at, first, firstItem - 1, fewMatches + 1)
  if (few !== null && few.length <= fewMatches) {
    const matching = await findMatching(q, at, others, presentIn(list, few, without))
    const entries = await findFieldKeys(q, at, sort.field, [...matching])
    return pageOf(sortEntries(entries, sort, after), limit)
  }
  const begin = after ?? { key: sort.isDescending ? '~' : '', item: -1 }
  return examine(list, { where, without, limit, begin, read: (last, most) => findSorted(q, at, sort, last, most) })
}

interface Examination {
  readonly where: readonly FieldKey[]
  readonly without: ReadonlySet<number>
  readonly limit: number
  readonly begin: IndexEntry
  /** Reads the entries after the last one. */
  readonly read: (last: IndexEntry, most: number) => Promise<readonly IndexEntry[]>
}

/** The next matching entries. Entries of removed items, which are deleted later, do not count. */
async function examine(list: OpenList, { where, without, limit, begin, read }: Examination): Promise<Found> {
  const found: IndexEntry[] = []
  let last = begin
  let examined = 0
  let most = where.length === 0 ? limit + 1 : Math.min(maxExamined, 4 * limit)
  for (;;) {
    const entries = await read(last, most)
    const matching = await findMatching(list.queries, list.address, where, presentIn(list, entries, without))
    found.push(...entries.filter(({ item }) => matching.has(item)))
    last = entries.at(-1) ?? last
    examined += entries.length
    if (found.length > limit) return pageOf(found, limit)
    if (entries.length < most) return { entries: found, next: null }
    if (examined >= maxExamined) return { entries: found, next: last }
    most = maxExamined
  }
}

function pageOf(entries: readonly IndexEntry[], limit: number): Found {
  const page = entries.slice(0, limit)
  return { entries: page, next: entries.length > limit ? (page.at(-1) ?? null) : null }
}

/** The entries after `after`, in order. */
export function sortEntries<E extends IndexEntry>(
  entries: readonly E[],
  sort: ItemSort | null,
  after: IndexEntry | null,
): readonly E[] {
  const direction = sort?.isDescending === true ? -1 : 1
  const compare = (a: IndexEntry, b: IndexEntry): number =>
    direction * ((sort === null ? 0 : compareKeys(a.key, b.key)) || a.item - b.item)
  return entries.filter((entry) => after === null || compare(entry, after) > 0).toSorted(compare)
}

/** The numbers of the entries whose items count. */
function presentIn(list: OpenList, entries: readonly IndexEntry[], without: ReadonlySet<number>): number[] {
  return entries.flatMap(({ item }) => (item < list.firstItem || without.has(item) ? [] : [item]))
}
