/** A list as applications hold it. */
import type { ListHandle, ListItem } from '../app/actor-handle.ts'
import { ServiceError } from '../errors.ts'
import { fromPlain, type Json, type JsonText, toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import type { IndexedItem } from '../list/list.ts'
import type { Lists, ListSpan } from '../property/lists.ts'

const create = { create: true } as const
const fromEnd = { fromEnd: true } as const
const defaultPageSize = 1000

export function listHandle(lists: Lists, access: Access, name: string): ListHandle {
  const metadata = async (): ReturnType<Lists['metadata']> => lists.metadata(access, name)
  return {
    name,
    create: async (texts = {}) => void (await lists.create(access, name, texts)),
    exists: async () => (await metadata()) !== null,
    length: async () => (await metadata())?.length ?? 0,
    metadata,

    append: async (item) => (await lists.append(access, name, fromPlain(item), create)).index,
    extend: async (items) => lists.extend(access, name, items.map(fromPlain), create),
    insert: async (index, item) =>
      require(await lists.insert(access, name, index, fromPlain(item), create), name, index),
    update: async (index, item) =>
      require(await lists.update(access, name, index, fromPlain(item), fromEnd), name, index),
    delete: async (index) => require(await lists.deleteItem(access, name, index, fromEnd), name, index),
    pop: async (index) => plainOf(await lists.pop(access, name, index)),
    clear: async () => lists.clear(access, name),
    remove: async () => lists.remove(access, name),

    get: async (index) => plainOf(await lists.item(access, name, index, fromEnd)),
    async items(start, end) {
      const page = await lists.items(access, name, spanOf(start, end))
      return (page?.items ?? []).map(({ item }) => toPlain(item))
    },
    async *pages(pageSize) {
      const size = Math.max(1, pageSize ?? defaultPageSize)
      for await (const page of lists.pages(access, name, size)) yield page.map(plainItem)
    },
    async *[Symbol.asyncIterator]() {
      for await (const page of lists.pages(access, name, defaultPageSize)) yield* page.map(plainItem)
    },

    async find(field, value) {
      const found = await lists.find(access, name, field, fromPlain(value))
      return found === null ? undefined : plainItem(found)
    },
    findAll: async (field, value) => (await lists.findAll(access, name, field, fromPlain(value))).map(plainItem),
    async itemsWithHandles(start, end) {
      const items = await lists.itemsWithHandles(access, name, spanOf(start, end))
      return items.map((item) => ({ ...plainItem(item), handle: item.handle }))
    },
    updateByHandle: async (handle, item) => lists.updateByHandle(access, name, handle, fromPlain(item)),
    deleteByHandle: async (handle) => lists.deleteByHandle(access, name, handle),
    updateWhere: async (field, value, item, options = {}) =>
      lists.updateWhere(access, name, field, fromPlain(value), fromPlain(item), options.firstOnly ?? false),
    removeWhere: async (field, value, options = {}) =>
      lists.removeWhere(access, name, field, fromPlain(value), options.firstOnly ?? false),
  }
}

/** Undefined for the whole list. */
function spanOf(start: number | undefined, end: number | undefined): ListSpan | undefined {
  return start === undefined && end === undefined ? undefined : { from: start ?? 0, to: end ?? null }
}

function plainItem({ index, item }: IndexedItem): ListItem {
  return { index, item: toPlain(item) }
}

function plainOf(item: JsonText | null): Json | undefined {
  return item === null ? undefined : toPlain(item)
}

function require(done: boolean, name: string, index: number): void {
  if (!done) throw new ServiceError('invalid_index', `List ${JSON.stringify(name)} has no item ${index}`)
}
