/** Queries of lists in the copy of a peer's data. */
import { setImmediate } from 'node:timers/promises'
import { quoted, ServiceError } from '../../errors.ts'
import {
  type FieldCondition,
  type FoundItem,
  type FoundItems,
  type ItemQuery,
  type PageStart,
  pageStart,
  startAfter,
} from '../../list/list.ts'
import { maxQueried } from '../../property/item-query.ts'
import { holdsAll, maxScanned, pageOfMatches } from '../../property/lists/list-queries.ts'
import type { Queries, Store } from '../../store/store.ts'
import { readRemoteItems, readRemoteRange, type RemoteAddress, type RemoteRange } from './remote-data.ts'

export interface RemoteListAddress extends RemoteAddress {
  /** The name of the list. */
  readonly name: string
}

/**
 * A page of a copied list. Empty when the copy does not contain the list. A copy has no index, so the items of a list that is
 * not long are compared.
 *
 * @throws ServiceError `index_required`
 */
export async function queryRemoteList(
  store: Pick<Store, 'snapshot'>,
  list: RemoteListAddress,
  asked: ItemQuery,
): Promise<FoundItems> {
  const { where, sort, limit, after } = asked
  const isRange = where.length === 0 && sort === null
  if (!isRange) return pageOfMatches(await remoteMatches(store, list, where), asked, null)
  const start = after === null ? null : pageStart(after)
  const found = await store.snapshot((q) => readRemoteRange(q, list, start ?? { position: 0, anchors: [] }, limit))
  return rangeFrom(start, found)
}

/** Returns the items that have these values. @throws ServiceError `index_required` */
export function remoteMatches(
  store: Pick<Store, 'snapshot'>,
  list: RemoteListAddress,
  where: readonly FieldCondition[],
): Promise<FoundItem[]> {
  return store.snapshot((q) => findMatches(q, list, where))
}

async function findMatches(
  q: Queries,
  list: RemoteListAddress,
  where: readonly FieldCondition[],
): Promise<FoundItem[]> {
  const { name } = list
  const matches: FoundItem[] = []
  for (let from = 0; ; from += maxQueried) {
    const found = await readRemoteItems(q, list, name, from, from + maxQueried)
    if (found === null || found.items.length === 0) return matches
    if (found.length > maxScanned)
      throw new ServiceError(
        'index_required',
        `Cannot query the copy of the list ${quoted(name)} of ${found.length} items: a copy has no index. Query the list of the peer`,
      )
    for (const [at, item] of found.items.entries()) if (holdsAll(item, where)) matches.push(foundAt(from + at, item))
    // SQLite answers within a turn of the event loop, so a reader of all pages would block it.
    await setImmediate()
  }
}

function rangeFrom(start: PageStart | null, found: RemoteRange | null): FoundItems {
  const { items, length, from, places } = found ?? { items: [], length: 0, from: 0, places: [] }
  const to = from + items.length
  return {
    items: items.map((item, at) => foundAt(from + at, item)),
    next: to < length ? startAfter(to, places, start) : null,
  }
}

/** A copied item has its position instead of a number, and no handle. */
function foundAt(position: number, item: FoundItem['item']): FoundItem {
  return { item, handle: '', number: position }
}
