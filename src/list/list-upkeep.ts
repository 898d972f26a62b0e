/**
 * Upgrades the items of a list to the declared version and completes its indexes, batch by batch. The version of the head and the
 * marks say how far the work is, so that another process can continue. Callers see the same items before and after.
 */
import type { Queries, Transaction } from '../store/store.ts'
import { everyItem, findMarks, insertIndexed, setMark } from './index-store.ts'
import { type ListAddress, versionOf } from './list-address.ts'
import { pageBytes } from './list-scan.ts'
import { findItemNumbers, type StoredItem } from './list-store.ts'
import { OpenList } from './open-list.ts'

/** Items per transaction. */
const batchItems = 500

export interface KeptUp {
  /** False when every item has the declared version and the indexes are complete, or the list does not exist. */
  readonly isMore: boolean
  /** The number of items that were upgraded. */
  readonly upgraded: number
}

/** Upgrades and indexes the next items. @throws ServiceError `migration_failed`; `newer_data` */
export async function keepUpBatch(tx: Transaction, at: ListAddress, fields: readonly string[]): Promise<KeptUp> {
  const list = await OpenList.find(tx, at)
  // A process of the newer release keeps up a list with a newer version.
  if (list === null || list.version > versionOf(at)) return { isMore: false, upgraded: 0 }
  const added = fields.filter((field) => !list.indexes.includes(field))
  const isOlder = list.version < versionOf(at)
  if (isOlder || added.length > 0) {
    await list.addIndexes(tx, added)
    const begun = isOlder ? [everyItem, ...list.indexes, ...added] : added
    for (const field of begun) await setMark(tx, at, field, list.firstItem)
    return { isMore: true, upgraded: 0 }
  }
  const marks = await findMarks(tx, at, [everyItem, ...list.indexes])
  const from = Math.min(...marks.values())
  const behind = [...marks].filter(([, next]) => next === from).map(([field]) => field)
  if (behind.length === 0) return { isMore: false, upgraded: 0 }
  const { items, next } = await itemsFrom(list, tx, from)
  await list.saveUpgraded(tx, items)
  await insertIndexed(
    tx,
    at,
    behind.filter((field) => field !== everyItem),
    items.map(({ item, value }) => [item, value] as const),
  )
  for (const field of behind) await setMark(tx, at, field, next)
  return { isMore: true, upgraded: items.filter(isUpgraded).length }
}

/**
 * Counts the next items of an older version, and upgrades them in memory. Null when no item has an older version.
 *
 * @param from `next` of the count before.
 */
export async function countOlder(
  q: Queries,
  at: ListAddress,
  from: number,
): Promise<{ readonly older: number; readonly next: number | null } | null> {
  const list = await OpenList.find(q, at)
  if (list === null || list.version > versionOf(at)) return null
  const mark = (await findMarks(q, at, [everyItem])).get(everyItem)
  const start = list.version < versionOf(at) ? list.firstItem : mark
  if (start === undefined) return null
  const { items, next } = await itemsFrom(list, q, Math.max(start, from))
  return { older: items.filter(isUpgraded).length, next }
}

async function itemsFrom(
  list: OpenList,
  q: Queries,
  from: number,
): Promise<{ readonly items: readonly StoredItem[]; readonly next: number | null }> {
  const numbers = await findItemNumbers(q, list.address, Math.max(from, list.firstItem), batchItems)
  const items = await list.numberedUpTo(numbers, pageBytes)
  const last = items.at(-1)
  const isEnd = items.length === numbers.length && numbers.length < batchItems
  return { items, next: isEnd || last === undefined ? null : last.item + 1 }
}

function isUpgraded({ older }: StoredItem): boolean {
  return older !== undefined
}
