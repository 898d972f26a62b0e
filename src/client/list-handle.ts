/** A list of the actor, or the copy of a peer's list. */
import type { ListQuery } from '../app/list-query.ts'
import { type RequestSender, pathOf, strongVersion } from './connection.ts'
import type { ChangeStream } from './live.ts'
import { Watched } from './watched.ts'

/** A part of a list. @public */
export interface ListPart<Item> {
  readonly items: readonly Item[]
  /** The index of the first item. Null for the result of a query. */
  readonly start: number | null
  /** The length of the entire list. Null for the result of a query. */
  readonly length: number | null
  /** For `after` of the next part. Null when this is the last one. */
  readonly next: string | null
  /** The version of the list, for `ifVersion`. Null for a list that has none. */
  readonly version: string | null
}

/** Names the items of a part: by `start`, or by a query. @public */
export type ListSelection<Item> = ListQuery<Item> & {
  /** The index of the first item. Not with `where`, `sort` or `after`. Default: 0. */
  readonly start?: number
}

/** A list that can be read: one of the actor, or of a peer. @public */
export interface ReadableList<Item> extends AsyncIterable<Item> {
  readonly name: string
  /** Returns a part of the list: at most `limit` items, from 1 to 1000. Default: the first 1000 items. */
  read(selection?: ListSelection<Item>): Promise<ListPart<Item>>
  length(): Promise<number>
  /** Calls `onPart` with the part now and after each change. Returns the function that ends this. */
  live(
    onPart: (part: ListPart<Item>) => void,
    selection?: ListSelection<Item>,
    onError?: (error: Error) => void,
  ): () => void
  /** The part with its state, for `useList`. The same selection has the same object. */
  watched(selection?: ListSelection<Item>): Watched<ListPart<Item>>
}

export interface IfVersion {
  /** `version` of the part that was read. The change is refused with 412 when the list changed since. */
  readonly ifVersion?: string | null
}

/** A list of the actor. @public */
export interface ClientList<Item, Given> extends ReadableList<Item> {
  /** Adds an item at the end, and returns its index. */
  append(item: Given): Promise<number>
  /** Replaces the item at this index. */
  update(index: number, item: Given, condition?: IfVersion): Promise<void>
  /** Deletes the item at this index. */
  delete(index: number, condition?: IfVersion): Promise<void>
}

export interface ListSource {
  readonly name: string
  /** The path of the items. */
  readonly address: string
  /** The changes that concern the list. */
  readonly category: string
  readonly changed: string
}

export function clientList<Item, Given>(
  connection: RequestSender,
  live: ChangeStream,
  name: string,
): ClientList<Item, Given> {
  const address = `/properties${pathOf([name])}/items`
  // A change of the list, unlike one of the item, compares the version of the list.
  const change = (body: object, { ifVersion = null }: IfVersion = {}): Promise<Response> =>
    connection.request('POST', address, { body, headers: ifVersion === null ? {} : { 'if-match': ifVersion } })
  return {
    ...readableList<Item>(connection, live, { name, address, category: 'properties', changed: name }),
    async append(item) {
      const response = await change({ action: 'add', item_value: item })
      return ((await response.json()) as { readonly index: number }).index
    },
    async update(index, item, condition) {
      await change({ action: 'update', item_index: index, item_value: item }, condition)
    },
    async delete(index, condition) {
      await change({ action: 'delete', item_index: index }, condition)
    },
  }
}

export function readableList<Item>(
  connection: RequestSender,
  live: ChangeStream,
  { name, address, category, changed }: ListSource,
): ReadableList<Item> {
  const watchedParts = new Map<string, Watched<ListPart<Item>>>()
  const read = async (selection: ListSelection<Item> = {}): Promise<ListPart<Item>> => {
    const response = await connection.request('GET', `${address}?${queryOf(selection)}`)
    return partOf(response, selection)
  }
  const watched = (selection: ListSelection<Item> = {}): Watched<ListPart<Item>> => {
    const key = queryOf(selection)
    const known = watchedParts.get(key)
    if (known !== undefined) return known
    const part = new Watched(live, {
      concerns: (change) => change.category === category && change.name === changed,
      read: () => read(selection),
    })
    watchedParts.set(key, part)
    return part
  }
  return {
    name,
    read,
    watched,
    length: async () => (await read({ limit: 1 })).length ?? 0,
    live: (onPart, selection, onError) => watched(selection).live(onPart, onError),
    async *[Symbol.asyncIterator]() {
      let after: string | null = null
      do {
        const part: ListPart<Item> = await read(after === null ? {} : { after })
        yield* part.items
        after = part.next
      } while (after !== null)
    },
  }
}

/** A query has conditions or an order. Every other part is a range of the list. */
function isQuery<Item>({ where = {}, sort, after }: ListSelection<Item>): boolean {
  return Object.keys(where).length > 0 || sort !== undefined || (after ?? null) !== null
}

function queryOf<Item>(selection: ListSelection<Item>): string {
  const { where = {}, sort, after, start, limit } = selection
  const query = new URLSearchParams()
  for (const [field, value] of Object.entries<unknown>(where)) {
    if (typeof value === 'object' && value !== null) {
      for (const [operator, compared] of Object.entries(value))
        if (compared !== undefined) query.set(`where[${field}][${operator}]`, JSON.stringify(compared))
    } else query.set(`where[${field}]`, JSON.stringify(value))
  }
  if (sort !== undefined) query.set('sort', sort)
  if ((after ?? null) !== null) query.set('after', String(after))
  if (start !== undefined || !isQuery(selection)) query.set('start', String(start ?? 0))
  if (limit !== undefined) query.set('limit', String(limit))
  return query.toString()
}

interface Answer<Item> {
  readonly items: readonly { readonly item: Item }[]
  readonly count?: number
  readonly next?: string | number
  /** The next page of a range. */
  readonly after?: string
}

async function partOf<Item>(response: Response, selection: ListSelection<Item>): Promise<ListPart<Item>> {
  const { items, count, next, after } = (await response.json()) as Answer<Item>
  return {
    items: items.map(({ item }) => item),
    start: isQuery(selection) ? null : (selection.start ?? 0),
    length: count ?? null,
    next: after ?? (next === undefined ? null : String(next)),
    version: strongVersion(response),
  }
}
