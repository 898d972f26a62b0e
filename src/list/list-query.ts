/**
 * Queries by indexed fields. Callers pass a snapshot. The cost of a page does not depend on the length of the list: a page that
 * finds few items among many is shorter than its limit, and the next one continues after what was searched.
 */
import type { JsonText } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import { compareKeys, type FieldCondition, fits, isOneKey } from './index-key.ts'
import { findByKey, findFieldKeys, findMarks, findMatching, findSorted, type IndexEntry } from './index-store.ts'
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
  readonly where: readonly FieldCondition[]
  /** Null: in the order in which the items were added. `where` then names one key of a field. */
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
  where: readonly FieldCondition[],
  after: IndexEntry | null,
  without = none,
): Promise<{ readonly count: number; readonly next: IndexEntry | null } | Unindexed | null> {
  const list = await OpenList.find(q, at)
  if (list === null) return null
  const [first, ...others] = oneKeyFirst(where)
  if (first === undefined) return { count: list.length, next: null }
  const unindexed = await withoutIndex(
    list,
    where.map(({ field }) => field),
  )
  if (unindexed.length > 0) return { unindexed }
  const entries = await findFitting(list, first, after ?? beginning, maxExamined)
  const matching = await findMatching(q, at, others, presentIn(list, entries, without))
  return { count: matching.size, next: entries.length < maxExamined ? null : (entries.at(-1) ?? null) }
}

/** The fields that have no complete index of items in the declared version. */
async function withoutIndex(list: OpenList, fields: readonly string[]): Promise<readonly string[]> {
  // The index of an older release has no keys of newer items.
  list.requireReadable()
  if (list.version !== versionOf(list.address)) return [...new Set(fields)]
  const marks = await findMarks(list.queries, list.address, fields)
  return [...new Set(fields)].filter((field) => !list.indexes.includes(field) || marks.has(field))
}

async function find(list: OpenList, asked: ItemQuery, without: ReadonlySet<number>): Promise<Found> {
  const { where, sort, limit, after } = asked
  const { queries: q, address: at, firstItem } = list
  const [first, ...others] = oneKeyFirst(where)
  if (sort === null) {
    const [key] = first !== undefined && 'keys' in first ? first.keys : []
    if (first === undefined || key === undefined) return { entries: [], next: null }
    const begin = { key, item: Math.max(after?.item ?? 0, firstItem - 1) }
    return examine(list, {
      where: others,
      without,
      limit,
      begin,
      read: (last, most) => findByKey(q, at, { field: first.field, key }, last.item, most),
    })
  }
  return findInOrder(list, asked, sort, without)
}

/** A page in the order of a field. */
async function findInOrder(
  list: OpenList,
  { where, limit, after }: ItemQuery,
  sort: ItemSort,
  without: ReadonlySet<number>,
): Promise<Found> {
  const { queries: q, address: at } = list
  const [first, ...others] = oneKeyFirst(where)
  const along = where.find((condition) => condition.field === sort.field && 'from' in condition)
  const few = first === undefined || first === along ? null : await findFitting(list, first, beginning, fewMatches + 1)
  if (few !== null && few.length <= fewMatches) {
    const matching = await findMatching(q, at, others, presentIn(list, few, without))
    const entries = await findFieldKeys(q, at, sort.field, [...matching])
    return pageOf(sortEntries(entries, sort, after), limit)
  }
  const { from, to } = along !== undefined && 'from' in along ? along : { from: '0', to: '~' }
  const [start, end] = sort.isDescending ? [to, from] : [from, to]
  return examine(list, {
    where: where.filter((condition) => condition !== along),
    without,
    limit,
    begin: after !== null && (along === undefined || fits(along, after.key)) ? after : { key: start, item: -1 },
    read: (last, most) => findSorted(q, at, sort, { after: last, end, most }),
  })
}

const beginning: IndexEntry = { key: '', item: -1 }

/** One key has fewer items than a range, and in the order in which they were added. */
function oneKeyFirst(where: readonly FieldCondition[]): readonly FieldCondition[] {
  return where.toSorted((a, b) => Number(isOneKey(b)) - Number(isOneKey(a)))
}

/** The entries of a condition after `after`, by key, then by number. At most `most`. */
async function findFitting(
  { queries: q, address: at, firstItem }: OpenList,
  condition: FieldCondition,
  after: IndexEntry,
  most: number,
): Promise<readonly IndexEntry[]> {
  const { field } = condition
  if ('from' in condition) {
    const { from, to } = condition
    const begin = compareKeys(after.key, from) < 0 ? { key: from, item: -1 } : after
    return findSorted(q, at, { field, isDescending: false }, { after: begin, end: to, most })
  }
  const found: IndexEntry[] = []
  for (const key of condition.keys) {
    if (compareKeys(key, after.key) < 0 || found.length >= most) continue
    const last = Math.max(key === after.key ? after.item : -1, firstItem - 1)
    found.push(...(await findByKey(q, at, { field, key }, last, most - found.length)))
  }
  return found
}

interface Examination {
  readonly where: readonly FieldCondition[]
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
