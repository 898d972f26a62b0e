/** The handle by which applications use an actor in a transaction. */
import type { ListItem, PropertyPath, TransactionHandle, TransactionListHandle } from '../app/actor-handle.ts'
import { fromPlain, toPlain } from '../json/json.ts'
import type { ActorTransaction } from '../transaction/actor-transaction.ts'
import type { TransactionList } from '../transaction/transaction-list.ts'
import { defaultPageSize, plainItem, plainOf, requireItem } from './list.ts'

export function transactionHandle(
  transaction: ActorTransaction,
  actor: Pick<TransactionHandle, 'id' | 'creator' | 'url'>,
): TransactionHandle {
  return {
    id: actor.id,
    creator: actor.creator,
    url: actor.url,
    get: async (path) => plainOf(await transaction.get(segmentsOf(path))),
    all: async () => Object.fromEntries([...(await transaction.all())].map(([name, value]) => [name, toPlain(value)])),
    lists: async () => [...(await transaction.lists())].map(([name, length]) => ({ name, length })),
    set: async (path, value) => transaction.set(segmentsOf(path), fromPlain(value)),
    delete: async (path) => transaction.delete(segmentsOf(path)),
    async update(path, change) {
      const segments = segmentsOf(path)
      const value = fromPlain(await change(plainOf(await transaction.get(segments))))
      await transaction.set(segments, value)
      return toPlain(value)
    },
    list: (name) => transactionListHandle(transaction.list(name), name),
  }
}

function transactionListHandle(list: TransactionList, name: string): TransactionListHandle {
  return {
    name,
    create: async (texts = {}) => list.create(texts),
    exists: async () => (await list.metadata()) !== null,
    length: async () => (await list.metadata())?.length ?? 0,
    metadata: async () => list.metadata(),

    append: async (item) => list.extend([fromPlain(item)]),
    extend: async (items) => void (await list.extend(items.map(fromPlain))),
    insert: async (index, item) => requireItem(await list.insert(index, fromPlain(item)), name, index),
    update: async (index, item) => requireItem(await list.update(index, fromPlain(item)), name, index),
    delete: async (index) => requireItem((await list.remove(index, 'delete')) !== null, name, index),
    pop: async (index = -1) => plainOf(await list.remove(index, 'pop')),
    clear: async () => list.clear(),
    remove: async () => list.delete(),

    get: async (index) => plainOf(await list.get(index)),
    async items(start, end) {
      const items = (await Array.fromAsync(list.pages(start, end))).flat()
      return items.map(({ item }) => toPlain(item))
    },
    async *pages(pageSize) {
      const size = Math.max(1, pageSize ?? defaultPageSize)
      let page: ListItem[] = []
      for await (const items of list.pages()) {
        for (const item of items) {
          page.push(plainItem(item))
          if (page.length < size) continue
          yield page
          page = []
        }
      }
      if (page.length > 0) yield page
    },
    async *[Symbol.asyncIterator]() {
      for await (const items of list.pages()) yield* items.map(plainItem)
    },

    async find(field, value) {
      const [found] = await list.find({ field, value: fromPlain(value), firstOnly: true })
      return found === undefined ? undefined : plainItem(found)
    },
    findAll: async (field, value) => (await list.find({ field, value: fromPlain(value) })).map(plainItem),
    updateByHandle: async (handle, item) => list.updateByHandle(handle, fromPlain(item)),
    deleteByHandle: async (handle) => list.deleteByHandle(handle),
    updateWhere: async (field, value, item, options = {}) =>
      list.updateWhere({ ...options, field, value: fromPlain(value) }, fromPlain(item)),
    removeWhere: async (field, value, options = {}) => list.removeWhere({ ...options, field, value: fromPlain(value) }),
  }
}

/** The segments of a path. */
export function segmentsOf(path: PropertyPath): readonly string[] {
  return typeof path === 'string' ? path.split('/') : path
}
