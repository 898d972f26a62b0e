/** The handle by which applications use an actor in a transaction. */
import type { AnyDeclared, ListItem, TransactionHandle, TransactionListHandle } from '../app/actor-handle.ts'
import type { PropertyPath } from '../app/property-path.ts'
import type { Alarms } from '../job/alarms.ts'
import { fromPlain, fromPlainOver, normalize, toPlain } from '../json/json.ts'
import type { ActorTransaction } from '../transaction/actor-transaction.ts'
import type { TransactionList } from '../transaction/transaction-list.ts'
import { transactionAlarms } from './alarms.ts'
import { defaultPageSize, plainItem, plainOf, queryCalls, requireItem } from './list.ts'

export function transactionHandle(
  transaction: ActorTransaction,
  actor: Pick<TransactionHandle, 'id' | 'creator' | 'kind' | 'url'>,
  alarms: Alarms,
): TransactionHandle {
  return {
    ...transactionAlarms(alarms, transaction, actor),
    id: actor.id,
    creator: actor.creator,
    kind: actor.kind,
    url: actor.url,
    get: async (path: PropertyPath | AnyDeclared): Promise<never> =>
      declaredType(plainOf(await transaction.get(await storedPath(transaction, path)))),
    getText: async (path) => (await transaction.get(await storedPath(transaction, path))) ?? undefined,
    all: async () => Object.fromEntries([...(await transaction.all())].map(([name, value]) => [name, toPlain(value)])),
    lists: async () => [...(await transaction.lists())].map(([name, length]) => ({ name, length })),
    set: async (path: PropertyPath | AnyDeclared, value: unknown) =>
      transaction.set(await storedPath(transaction, path), fromPlain(value)),
    setText: async (path, json) => transaction.set(await storedPath(transaction, path), normalize(json)),
    delete: async (path) => transaction.delete(await storedPath(transaction, path)),
    update: (path: PropertyPath | AnyDeclared, change: ValueChange): Promise<never> =>
      updateIn(transaction, path, change),
    list: (list: string | AnyDeclared): TransactionListHandle<never, never> =>
      declaredType(transactionListHandle(transaction, nameOf(list))),
  }
}

function transactionListHandle(transaction: ActorTransaction, name: string): TransactionListHandle {
  const list = async (): Promise<TransactionList> => transaction.list(await transaction.nameOf(name))
  return {
    name,
    create: async (texts = {}) => (await list()).create(texts),
    exists: async () => (await (await list()).metadata()) !== null,
    length: async () => (await (await list()).metadata())?.length ?? 0,
    metadata: async () => (await list()).metadata(),

    append: async (item) => (await list()).extend([fromPlain(item)]),
    extend: async (items) => void (await (await list()).extend(items.map(fromPlain))),
    insert: async (index, item) => requireItem(await (await list()).insert(index, fromPlain(item)), name, index),
    update: async (index, item) => requireItem(await (await list()).update(index, fromPlain(item)), name, index),
    delete: async (index) => requireItem((await (await list()).remove(index, 'delete')) !== null, name, index),
    pop: async (index = -1) => plainOf(await (await list()).remove(index, 'pop')),
    clear: async () => (await list()).clear(),
    remove: async () => (await list()).delete(),

    get: async (index) => plainOf(await (await list()).get(index)),
    async items(start, end) {
      const items = (await Array.fromAsync((await list()).pages(start, end))).flat()
      return items.map(({ item }) => toPlain(item))
    },
    async *pages(pageSize) {
      const size = Math.max(1, pageSize ?? defaultPageSize)
      let page: ListItem[] = []
      for await (const items of (await list()).pages()) {
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
      for await (const items of (await list()).pages()) yield* items.map(plainItem)
    },

    async find(field, value) {
      const [found] = await (await list()).find({ field, value: fromPlain(value), firstOnly: true })
      return found === undefined ? undefined : plainItem(found)
    },
    findAll: async (field, value) => (await (await list()).find({ field, value: fromPlain(value) })).map(plainItem),
    ...queryCalls({
      query: async (asked) => (await list()).query(asked),
      count: async (where) => (await list()).count(where),
    }),
    updateByHandle: async (handle, item) => (await list()).updateByHandle(handle, fromPlain(item)),
    deleteByHandle: async (handle) => (await list()).deleteByHandle(handle),
    updateWhere: async (field, value, item, options = {}) =>
      (await list()).updateWhere({ ...options, field, value: fromPlain(value) }, fromPlain(item)),
    removeWhere: async (field, value, options = {}) =>
      (await list()).removeWhere({ ...options, field, value: fromPlain(value) }),
  }
}

/** The segments of a path, with the name of the property that the transaction means. */
async function storedPath(transaction: ActorTransaction, path: PropertyPath | AnyDeclared): Promise<readonly string[]> {
  const [name = '', ...below] = segmentsOf(path)
  return [await transaction.nameOf(name), ...below]
}

/** Replaces the value at the path by the result of `change`. Returns the stored value. */
export async function updateIn(
  transaction: ActorTransaction,
  path: PropertyPath | AnyDeclared,
  change: ValueChange,
): Promise<never> {
  const segments = await storedPath(transaction, path)
  const before = await transaction.get(segments)
  const after = await change(declaredType(plainOf(before)))
  await transaction.set(segments, fromPlainOver(before, after))
  return declaredType(plainOf(await transaction.get(segments)))
}

/** A function that `update` calls with the current value. */
export type ValueChange = (value: never) => unknown

/** The segments of a path. A declared name is one segment. */
export function segmentsOf(path: PropertyPath | AnyDeclared): readonly string[] {
  if (typeof path === 'string') return path.split('/')
  return 'name' in path ? [path.name] : path
}

export function nameOf(list: string | AnyDeclared): string {
  return typeof list === 'string' ? list : list.name
}

/** Gives a result the type of its declaration. Every write has checked the stored data against the declared schema. */
export function declaredType(result: unknown): never {
  return result as never
}
