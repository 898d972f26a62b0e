/**
 * Reads a list of any length page by page, with bounded memory. Each page is one snapshot; the list may change between
 * two pages. The scan continues after the last item that it read, at that item's current position. Concurrent insertions
 * and deletions therefore neither repeat nor skip items that exist during the whole scan.
 */
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../errors.ts'
import type { Queries, Store } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { damagedList } from './list-damage.ts'
import type { ListMetadata } from './list-head.ts'
import type { IndexEntry } from './index-store.ts'
import { findPosition } from './list-position.ts'
import { findPresent, type StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'
import type { Span } from './order-branch.ts'

/** Items per page of a long list: two full leaves of the order. A page blocks the event loop for a few milliseconds. */
export const pageItems = 256
/** The most items of a short list, which is read and changed in one step. */
const shortItems = 1024
/** The most bytes of a page, unless its first item alone is larger. */
export const pageBytes = 1_048_576

/** The store of a scan. `{ snapshot: (work) => work(tx) }` scans inside a transaction. */
export type SnapshotSource = Pick<Store, 'snapshot'>

export interface ScanPage {
  /** The position of the first item. */
  readonly from: number
  readonly rows: readonly StoredItem[]
  /** The numbers of the items of the span in the snapshot of the first page. Empty on other pages, and without a span. */
  readonly numbers: readonly number[]
  /** The metadata of the list in the snapshot of this page. */
  readonly metadata: ListMetadata
  readonly listId: string
  /** True for the last page of the scan. */
  readonly isLast: boolean
}

/** Positions of a list. `to` is exclusive; null means the end. */
export interface ScanSpan {
  readonly from: number
  readonly to: number | null
  /** Numbers of items: the span begins after the last one that still exists, and has as many positions. */
  readonly anchors?: readonly number[]
}

interface Cursor {
  readonly listId: string
  readonly orderVersion: string
  readonly next: number
  /** The number of positions left to read; null for all. */
  readonly left: number | null
  /** The item numbers of the last page. */
  readonly read: readonly number[]
}

export class ListScan {
  readonly #at: ListAddress
  readonly #span: ScanSpan
  #cursor: Cursor | null = null
  /** The last item of each page except the latest. */
  readonly #pageEnds: number[] = []

  /** @param span the positions to read. Default: all. */
  constructor(at: ListAddress, span: ScanSpan = { from: 0, to: null }) {
    this.#at = at
    this.#span = span
  }

  /**
   * The next page, with at most `most` items. Null when the list does not exist. Yields to the event loop first.
   *
   * @throws ServiceError `not_found` when the list was removed after the first page; `list_corrupted`
   */
  async next(store: SnapshotSource, most = pageItems): Promise<ScanPage | null> {
    if (this.#cursor !== null) await setImmediate()
    // The store may run this callback again, so the cursor moves only afterwards.
    const read = await store.snapshot((q) => this.#read(q, Math.min(most, pageItems)))
    if (read === null) return null
    const last = this.#cursor?.read.at(-1)
    if (last !== undefined) this.#pageEnds.push(last)
    this.#cursor = read.cursor
    return read.page
  }

  async #read(q: Queries, most: number): Promise<{ readonly page: ScanPage; readonly cursor: Cursor } | null> {
    const list = await OpenList.find(q, this.#at)
    const before = this.#cursor
    if (list === null && before === null) return null
    if (list === null || (before !== null && before.listId !== list.id)) {
      throw new ServiceError(
        'not_found',
        `Cannot read the list ${JSON.stringify(this.#at.list)}: it was removed during the read`,
      )
    }
    const from = Math.min(await this.#start(list), list.length)
    const left = before === null ? leftOf(this.#span) : before.left
    const rows = await this.#rows(list, { from, left }, most)
    const numbers = before === null && left !== null ? await numbersOf(list, { from, to: from + left }, rows) : []
    const repeated = new Set(before?.read)
    if (rows.some(({ item }) => repeated.has(item))) throw damagedList(this.#at.list, 'an item occurs at two positions')
    const next = from + rows.length
    const cursor: Cursor = {
      listId: list.id,
      orderVersion: list.orderVersion,
      next,
      left: left === null ? null : left - rows.length,
      read: rows.length === 0 && before !== null ? before.read : rows.map(({ item }) => item),
    }
    const isLast = next >= list.length || cursor.left === 0
    return { page: { from, rows, numbers, metadata: list.metadata, listId: list.id, isLast }, cursor }
  }

  async #rows(
    list: OpenList,
    { from, left }: { readonly from: number; readonly left: number | null },
    most: number,
  ): Promise<readonly StoredItem[]> {
    // Reading all rows of a short list detects rows that are missing from its order.
    const mayBeWhole = this.#cursor === null && left === null && from === 0 && isShort(list)
    if (mayBeWhole && (most === pageItems || list.length <= most)) return list.loadAll()
    const to = Math.min(list.length, from + Math.min(most, left ?? most))
    return rowsOf(list, { from, to })
  }

  #start(list: OpenList): Promise<number> | number {
    if (this.#cursor === null) {
      const { from, anchors = [] } = this.#span
      return anchors.length === 0 ? Math.max(0, from) : this.#continueAt(list, { read: anchors, next: from })
    }
    return this.#cursor.orderVersion === list.orderVersion ? this.#cursor.next : this.#continueAt(list, this.#cursor)
  }

  /** The position after the last item that was read and still exists. */
  async #continueAt(list: OpenList, { read, next }: Pick<Cursor, 'read' | 'next'>): Promise<number> {
    const last = await this.#lastPresent(list, read)
    if (last === null) return 0
    return (await findPosition(list, last, next - 1)) + 1
  }

  /** The last item that was read and still exists. Null when all of them were removed. */
  async #lastPresent(list: OpenList, read: readonly number[]): Promise<number | null> {
    for (const items of [read, this.#pageEnds]) {
      for (let end = items.length; end > 0; end -= pageItems) {
        const some = items.slice(Math.max(0, end - pageItems), end)
        const present = await findPresent(list.queries, this.#at, some)
        // Rows of a list that was removed are deleted later.
        const last = some.findLast((item) => present.has(item) && item >= list.firstItem)
        if (last !== undefined) return last
      }
    }
    return null
  }
}

function leftOf({ from, to }: ScanSpan): number | null {
  return to === null ? null : Math.max(0, to - Math.max(0, from))
}

async function rowsOf(list: OpenList, span: Span): Promise<readonly StoredItem[]> {
  await list.load([span])
  return list.itemsUpTo(span, pageBytes)
}

async function numbersOf(list: OpenList, { from, to }: Span, rows: readonly StoredItem[]): Promise<readonly number[]> {
  const end = Math.max(from, Math.min(to, list.length))
  if (end - from <= rows.length) return rows.map(({ item }) => item)
  await list.load([{ from, to: end }])
  return list.order.items({ from, to: end })
}

/** True when the list is read and changed in one step. False for a list whose bytes were never counted. */
export function isShort({ length, bytes }: { readonly length: number; readonly bytes: number | null }): boolean {
  return length <= shortItems && bytes !== null && bytes <= pageBytes
}

/** Yields all pages of a list. Yields nothing when the list does not exist. */
export async function* scanPages(store: SnapshotSource, at: ListAddress): AsyncGenerator<ScanPage> {
  const scan = new ListScan(at)
  for (;;) {
    const page = await scan.next(store)
    if (page === null) return
    yield page
    if (page.isLast) return
  }
}

/**
 * Where the next page of a list begins, by the numbers of items that were read. The position of an item changes when others are
 * inserted or deleted; its number stays.
 */
export interface PageStart {
  /** The position, when the list has not changed. */
  readonly position: number
  /** Numbers of items that were read, in their order. Empty: only the position counts. */
  readonly anchors: readonly number[]
}

/** The most numbers of a page, and of the pages before. */
const maxOfPage = 12
const maxBefore = 4

/**
 * The start of the page after these items. A page whose items were all deleted leaves the items before it.
 *
 * @param read the numbers of the items of the page.
 * @param before the start of the page itself.
 */
export function startAfter(position: number, read: readonly number[], before: PageStart | null): IndexEntry {
  // The last four items, and then fewer and fewer: it is enough that one of them still exists.
  const chosen = new Set<number>()
  for (let back = 1; back <= read.length && chosen.size < maxOfPage; back += back < 4 ? 1 : back)
    chosen.add(read[read.length - back] ?? 0)
  const anchors = [...(before?.anchors.slice(-maxBefore) ?? []), ...[...chosen].toReversed()]
  return { item: position, key: anchors.join(',') }
}

/** The start that `startAfter` wrote. */
export function pageStart({ item, key }: IndexEntry): PageStart {
  const anchors = /^\d{1,16}(?:,\d{1,16}){0,15}$/.test(key) ? key.split(',').map(Number) : []
  return { position: item, anchors }
}
