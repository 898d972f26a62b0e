/** The handle by which applications read a list of a peer's copy. */
import { setImmediate } from 'node:timers/promises'
import type { RemoteListHandle } from '../app/actor-handle.ts'
import { quoted, ServiceError } from '../errors.ts'
import { toPlain } from '../json/json.ts'
import type { FieldKey, FoundItem, FoundItems } from '../list/list.ts'
import { writeCursor } from '../property/item-query.ts'
import { holdsAll, mostScanned, pageOfMatches } from '../property/list-queries.ts'
import { readRemoteItems, type RemoteAddress, type RemoteItems } from '../replica/copy/remote-data.ts'
import type { Queries, Store } from '../store/store.ts'
import { askedOf, conditionsOf, defaultPageSize, plainItem } from './list.ts'

export function remoteListHandle(store: Store, address: RemoteAddress, name: string): RemoteListHandle {
  const read = (start: number, end?: number): Promise<RemoteItems | null> =>
    store.snapshot((q) => readRemoteItems(q, address, name, start, end))
  const items = async (start = 0, end?: number) => ((await read(start, end))?.items ?? []).map(toPlain)
  const matches = (where: readonly FieldKey[]) => store.snapshot((q) => findMatches(q, address, name, where))

  async function* pages(pageSize = defaultPageSize) {
    const size = Math.max(1, pageSize)
    for (let from = 0; ; from += size) {
      const found = await read(from, from + size)
      if (found === null || found.items.length === 0) return
      yield found.items.map((item, at) => plainItem({ index: from + at, item }))
      // SQLite answers within a turn of the event loop, so a reader of all pages would block it.
      await setImmediate()
    }
  }

  return {
    name,
    exists: async () => (await read(0, 0)) !== null,
    length: async () => (await read(0, 0))?.length ?? 0,
    get: async (index) => (await items(index, index === -1 ? undefined : index + 1))[0],
    items,
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page
    },
    async query(query) {
      const asked = askedOf(query)
      const { where, sort, limit, after } = asked
      const from = after?.item ?? 0
      const isRange = where.length === 0 && sort === null
      const found = isRange
        ? rangeFrom(from, await read(from, from + limit))
        : pageOfMatches(await matches(where), asked, null)
      return { items: found.items.map(({ item }) => ({ item: toPlain(item) })), next: writeCursor(found.next) }
    },
    async count(where) {
      const conditions = conditionsOf(where)
      return conditions.length === 0 ? ((await read(0, 0))?.length ?? 0) : (await matches(conditions)).length
    },
  }
}

function rangeFrom(from: number, found: RemoteItems | null): FoundItems {
  const { items, length } = found ?? { items: [], length: 0 }
  const to = from + items.length
  return {
    items: items.map((item, at) => foundAt(from + at, item)),
    next: to < length ? { item: to, key: '' } : null,
  }
}

/** A copied item has its position instead of a number, and no handle. */
function foundAt(position: number, item: FoundItem['item']): FoundItem {
  return { item, handle: '', number: position }
}

/** @throws ServiceError `index_required` */
async function findMatches(
  q: Queries,
  address: RemoteAddress,
  name: string,
  where: readonly FieldKey[],
): Promise<FoundItem[]> {
  const matches: FoundItem[] = []
  for (let from = 0; ; from += defaultPageSize) {
    const found = await readRemoteItems(q, address, name, from, from + defaultPageSize)
    if (found === null || found.items.length === 0) return matches
    if (found.length > mostScanned)
      throw new ServiceError(
        'index_required',
        `Cannot query the copy of the list ${quoted(name)} of ${found.length} items: a copy has no index. Query the list of the peer`,
      )
    for (const [at, item] of found.items.entries()) if (holdsAll(item, where)) matches.push(foundAt(from + at, item))
    await setImmediate()
  }
}
