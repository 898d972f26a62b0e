/** The handle by which applications read a list of a peer's copy. */
import { setImmediate } from 'node:timers/promises'
import type { RemoteListHandle } from '../app/actor-handle.ts'
import { toPlain } from '../json/json.ts'
import { writeCursor } from '../property/item-query.ts'
import { readRemoteItems, type RemoteAddress, type RemoteItems } from '../replica/copy/remote-data.ts'
import { queryRemoteList, remoteMatches } from '../replica/copy/remote-list.ts'
import type { Store } from '../store/store.ts'
import { askedOf, conditionsOf, defaultPageSize, plainItem } from './list.ts'

/** @param copied Returns the name that the copy has. */
export function remoteListHandle(
  store: Store,
  address: RemoteAddress,
  name: string,
  copied: (name: string) => Promise<string>,
): RemoteListHandle {
  const read = async (start: number, end?: number): Promise<RemoteItems | null> => {
    const stored = await copied(name)
    return store.snapshot((q) => readRemoteItems(q, address, stored, start, end))
  }
  const items = async (start = 0, end?: number) => ((await read(start, end))?.items ?? []).map(toPlain)

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
      const found = await queryRemoteList(store, { ...address, name: await copied(name) }, askedOf(query))
      return { items: found.items.map(({ item }) => ({ item: toPlain(item) })), next: writeCursor(found.next) }
    },
    async count(where) {
      const conditions = conditionsOf(where)
      return conditions.length === 0
        ? ((await read(0, 0))?.length ?? 0)
        : (await remoteMatches(store, { ...address, name: await copied(name) }, conditions)).length
    },
  }
}
