/** The handle by which applications use a list. */
import type { ListHandle, ListItem } from '../app/actor-handle.ts'
import type { ListQuery } from '../app/list-query.ts'
import { ServiceError } from '../errors.ts'
import { fromPlain, type Json, type JsonText, toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import { readItemQuery, readWhere, writeCursor } from '../property/item-query.ts'
import type { FieldCondition, FoundItems, IndexedItem, ItemQuery } from '../list/list.ts'
import type { ListSpan } from '../property/lists/list-queries.ts'
import type { ListReader } from '../property/lists/list-reader.ts'
import type { Properties } from '../property/properties.ts'
import type { ListWriter } from '../property/lists/list-writer.ts'

const create = { create: true } as const
const fromEnd = { fromEnd: true } as const
export const defaultPageSize = 1000

export interface ListHandleDeps {
  readonly properties: Pick<Properties, 'nameOf'>
  readonly listReader: ListReader
  readonly listWriter: ListWriter
}

export function listHandle(
  { properties, listReader, listWriter }: ListHandleDeps,
  access: Access,
  name: string,
): ListHandle {
  const stored = async (): Promise<string> => properties.nameOf(access.actor.id, name)
  const metadata = async (): ReturnType<ListReader['metadata']> => listReader.metadata(access, await stored())
  return {
    name,
    create: async (texts = {}) => void (await listWriter.create(access, await stored(), texts)),
    exists: async () => (await metadata()) !== null,
    length: async () => (await metadata())?.length ?? 0,
    metadata,

    append: async (item) => (await listWriter.append(access, await stored(), fromPlain(item), create)).index,
    extend: async (items) => {
      await listWriter.extend(access, await stored(), items.map(fromPlain), create)
    },
    insert: async (index, item) =>
      requireItem(await listWriter.insert(access, await stored(), index, fromPlain(item), create), name, index),
    update: async (index, item) =>
      requireItem(await listWriter.update(access, await stored(), index, fromPlain(item), fromEnd), name, index),
    delete: async (index) =>
      requireItem(await listWriter.deleteItem(access, await stored(), index, fromEnd), name, index),
    pop: async (index) => plainOf(await listWriter.pop(access, await stored(), index)),
    clear: async () => listWriter.clear(access, await stored()),
    remove: async () => listWriter.remove(access, await stored()),

    ...readingCalls(listReader, access, stored),
    updateByHandle: async (handle, item) => listWriter.updateByHandle(access, await stored(), handle, fromPlain(item)),
    deleteByHandle: async (handle) => listWriter.deleteByHandle(access, await stored(), handle),
    updateWhere: async (field, value, item, options = {}) =>
      listWriter.updateWhere(access, await stored(), { ...options, field, value: fromPlain(value) }, fromPlain(item)),
    removeWhere: async (field, value, options = {}) =>
      listWriter.removeWhere(access, await stored(), { ...options, field, value: fromPlain(value) }),
  }
}

type ReadingCalls = Pick<
  ListHandle,
  'get' | 'items' | 'pages' | typeof Symbol.asyncIterator | 'find' | 'findAll' | 'itemsWithHandles' | 'query' | 'count'
>

/** @param stored The stored name of the list. */
function readingCalls(listReader: ListReader, access: Access, stored: () => Promise<string>): ReadingCalls {
  return {
    get: async (index) => plainOf(await listReader.item(access, await stored(), index, fromEnd)),
    async items(start, end) {
      const page = await listReader.items(access, await stored(), spanOf(start, end))
      return (page?.items ?? []).map(({ item }) => toPlain(item))
    },
    async *pages(pageSize) {
      const size = Math.max(1, pageSize ?? defaultPageSize)
      for await (const page of listReader.pages(access, await stored(), size)) yield page.map(plainItem)
    },
    async *[Symbol.asyncIterator]() {
      for await (const page of listReader.pages(access, await stored(), defaultPageSize)) yield* page.map(plainItem)
    },

    async find(field, value) {
      const found = await listReader.find(access, await stored(), field, fromPlain(value))
      return found === null ? undefined : plainItem(found)
    },
    findAll: async (field, value) =>
      (await listReader.findAll(access, await stored(), field, fromPlain(value))).map(plainItem),
    async itemsWithHandles(start, end) {
      const items = await listReader.itemsWithHandles(access, await stored(), spanOf(start, end))
      return items.map((item) => ({ ...plainItem(item), handle: item.handle }))
    },
    ...queryCalls({
      query: async (asked) => listReader.query(access, await stored(), asked),
      count: async (where) => listReader.count(access, await stored(), where),
    }),
  }
}

/** Answers the queries of a list. */
interface Answering {
  query(asked: ItemQuery): Promise<FoundItems>
  count(where: readonly FieldCondition[]): Promise<number>
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
export function conditionsOf(where: object | undefined): FieldCondition[] {
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
