/** The handle by which applications use a list. */
import type { ListHandle, ListItem } from '../app/actor-handle.ts'
import type { ListQuery } from '../app/list-query.ts'
import { ServiceError } from '../errors.ts'
import { fromPlain, type Json, type JsonText, toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import { readItemQuery, readWhere, writeCursor } from '../property/item-query.ts'
import type { FieldKey, FoundItems, IndexedItem, ItemQuery } from '../list/list.ts'
import type { ListSpan } from '../property/lists/list-queries.ts'
import type { ListReader } from '../property/lists/list-reader.ts'
import type { ListWriter } from '../property/lists/list-writer.ts'

const create = { create: true } as const
const fromEnd = { fromEnd: true } as const
export const defaultPageSize = 1000

export interface ListHandleDeps {
  readonly listReader: ListReader
  readonly listWriter: ListWriter
}

export function listHandle({ listReader, listWriter }: ListHandleDeps, access: Access, name: string): ListHandle {
  const metadata = async (): ReturnType<ListReader['metadata']> => listReader.metadata(access, name)
  return {
    name,
    create: async (texts = {}) => void (await listWriter.create(access, name, texts)),
    exists: async () => (await metadata()) !== null,
    length: async () => (await metadata())?.length ?? 0,
    metadata,

    append: async (item) => (await listWriter.append(access, name, fromPlain(item), create)).index,
    extend: async (items) => {
      await listWriter.extend(access, name, items.map(fromPlain), create)
    },
    insert: async (index, item) =>
      requireItem(await listWriter.insert(access, name, index, fromPlain(item), create), name, index),
    update: async (index, item) =>
      requireItem(await listWriter.update(access, name, index, fromPlain(item), fromEnd), name, index),
    delete: async (index) => requireItem(await listWriter.deleteItem(access, name, index, fromEnd), name, index),
    pop: async (index) => plainOf(await listWriter.pop(access, name, index)),
    clear: async () => listWriter.clear(access, name),
    remove: async () => listWriter.remove(access, name),

    get: async (index) => plainOf(await listReader.item(access, name, index, fromEnd)),
    async items(start, end) {
      const page = await listReader.items(access, name, spanOf(start, end))
      return (page?.items ?? []).map(({ item }) => toPlain(item))
    },
    async *pages(pageSize) {
      const size = Math.max(1, pageSize ?? defaultPageSize)
      for await (const page of listReader.pages(access, name, size)) yield page.map(plainItem)
    },
    async *[Symbol.asyncIterator]() {
      for await (const page of listReader.pages(access, name, defaultPageSize)) yield* page.map(plainItem)
    },

    async find(field, value) {
      const found = await listReader.find(access, name, field, fromPlain(value))
      return found === null ? undefined : plainItem(found)
    },
    findAll: async (field, value) => (await listReader.findAll(access, name, field, fromPlain(value))).map(plainItem),
    async itemsWithHandles(start, end) {
      const items = await listReader.itemsWithHandles(access, name, spanOf(start, end))
      return items.map((item) => ({ ...plainItem(item), handle: item.handle }))
    },
    ...queryCalls({
      query: (asked) => listReader.query(access, name, asked),
      count: (where) => listReader.count(access, name, where),
    }),
    updateByHandle: async (handle, item) => listWriter.updateByHandle(access, name, handle, fromPlain(item)),
    deleteByHandle: async (handle) => listWriter.deleteByHandle(access, name, handle),
    updateWhere: async (field, value, item, options = {}) =>
      listWriter.updateWhere(access, name, { ...options, field, value: fromPlain(value) }, fromPlain(item)),
    removeWhere: async (field, value, options = {}) =>
      listWriter.removeWhere(access, name, { ...options, field, value: fromPlain(value) }),
  }
}

/** Answers the queries of a list. */
interface Answering {
  query(asked: ItemQuery): Promise<FoundItems>
  count(where: readonly FieldKey[]): Promise<number>
}

export function queryCalls(answering: Answering): Pick<ListHandle, 'query' | 'count'> {
  return {
    async query(query) {
      const { items, next } = await answering.query(askedOf(query))
      return { items: items.map(({ item, handle }) => ({ item: toPlain(item), handle })), next: writeCursor(next) }
    },
    count: async (where) => answering.count(conditionsOf(where)),
  }
}

/** @throws ServiceError `bad_request` */
export function askedOf({ where, sort, limit, after }: ListQuery = {}): ItemQuery {
  return readItemQuery({ where: textsOf(where), sort, limit, after })
}

/** @throws ServiceError `bad_request` */
export function conditionsOf(where: object | undefined): FieldKey[] {
  return readWhere(textsOf(where))
}

function textsOf(where: object = {}): ReadonlyMap<string, JsonText> {
  return new Map(
    Object.entries(where).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, fromPlain(value)] as const],
    ),
  )
}

/** Returns undefined for the entire list. */
function spanOf(start: number | undefined, end: number | undefined): ListSpan | undefined {
  return start === undefined && end === undefined ? undefined : { from: start ?? 0, to: end ?? null }
}

export function plainItem({ index, item }: IndexedItem): ListItem {
  return { index, item: toPlain(item) }
}

export function plainOf(item: JsonText | null): Json | undefined {
  return item === null ? undefined : toPlain(item)
}

/** @throws ServiceError `invalid_index` */
export function requireItem(done: boolean, name: string, index: number): void {
  if (!done) throw new ServiceError('invalid_index', `List ${JSON.stringify(name)} has no item ${index}`)
}
