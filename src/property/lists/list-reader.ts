/** Reads metadata, pages and matching items of lists, with checks of rights and hooks. */
import { ServiceError } from '../../errors.ts'
import { type JsonText, pythonLength } from '../../json/json.ts'
import type { Permission } from '../../permission/permission.ts'
import type { Reads } from '../../store/read-replicas.ts'
import { type Access, requireRight } from '../access.ts'
import * as list from '../../list/list.ts'
import type { ShortLists } from '../../list/short-list.ts'
import type { DeclaredKinds } from '../declared-kinds.ts'
import type { ListHooks } from './list-hooks.ts'
import { countList, type ListSpan, type QueriedList, type QueriedPage, queryList } from './list-queries.ts'
import type { StoredProperty } from '../property-store.ts'

export interface ListReaderDeps {
  readonly store: Reads
  readonly permission: Permission
  readonly hooks: ListHooks
  readonly declared: DeclaredKinds
  readonly listIndexes: Pick<list.ListIndexes, 'build'>
  readonly shortLists: ShortLists
}

export class ListReader {
  readonly #deps: ListReaderDeps

  constructor(deps: ListReaderDeps) {
    this.#deps = deps
  }

  /** The same reader of other data. Rights and hooks stay with the database. */
  from(store: Reads): ListReader {
    return new ListReader({ ...this.#deps, store })
  }

  #addressOf({ actor }: Access, name: string): list.ListAddress {
    return this.#deps.declared.of(actor).addressOf(actor.id, name)
  }

  /** The metadata of a list. Null when it does not exist or is hidden by a hook. Items are not read, their hooks not run. */
  async metadata(access: Access, name: string): Promise<list.ListMetadata | null> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    const stored = await this.#deps.store.read((q) => list.readMetadata(q, this.#addressOf(access, name)))
    const metadata = stored ?? this.#emptyMetadata(access, name)
    return metadata === null ? null : this.#shownMetadata(access, name, metadata)
  }

  /** Like `metadata`, for a list that the caller has found after a check of the right. */
  foundMetadata(access: Access, { name, content }: StoredProperty): Promise<list.ListMetadata | null> {
    return this.#shownMetadata(access, name, list.listMetadata(name, content))
  }

  async #shownMetadata(access: Access, name: string, metadata: list.ListMetadata): Promise<list.ListMetadata | null> {
    return (await this.#deps.hooks.showsFacts(access, name, metadata)) ? metadata : null
  }

  /** True unless a hook hides the list, which may be damaged. */
  async isShown(access: Access, { name, content }: StoredProperty): Promise<boolean> {
    if (this.#deps.hooks.hasNoHooks(access, 'get', name)) return true
    return this.#deps.hooks.showsFacts(access, name, metadataOrDamaged(name, content))
  }

  /**
   * Opens a list or a span of it to read page by page. Null when it does not exist, or a hook hides the first page. The
   * right to read is checked for each page.
   *
   * @throws ServiceError from the pages: `not_found` when the list is removed meanwhile, `forbidden`, `list_corrupted`
   */
  async open(access: Access, name: string, span?: ListSpan): Promise<ListReading | null> {
    const pages = this.#pages(access, name, span)
    const first = (await pages.next()).value
    if (first === undefined || first.items === null) return null
    const items: readonly list.IndexedItem[] = first.items
    return {
      metadata: first.metadata,
      first: items,
      from: first.from,
      numbers: first.numbers,
      isComplete: first.isLast,
      whole: null,
      async *pages() {
        yield items
        for await (const page of pages) yield page.items ?? []
      },
    }
  }

  /** Like `open`, for a list that the caller has found after a check of the right. One statement reads a short list. */
  async openFound(access: Access, property: StoredProperty): Promise<ListReading | null> {
    const { name, content } = property
    const { store, shortLists } = this.#deps
    const short = await store.read((q) => shortLists.read(q, this.#addressOf(access, name), content))
    if (short === null) return this.open(access, name)
    const indexed = short.items.map((item, index) => ({ index, item }))
    const items = await this.#deps.hooks.runItemHooks(access, name, indexed)
    if (items === null) return null
    return {
      metadata: short.metadata,
      first: items,
      from: 0,
      numbers: [],
      isComplete: true,
      whole: items === indexed ? short.whole : null,
      async *pages() {
        yield items
      },
    }
  }

  /** Like `open`, in pages of `size` positions. A page is shorter when a hook hides an item. */
  async *pages(access: Access, name: string, size: number): AsyncGenerator<readonly list.IndexedItem[]> {
    let items: list.IndexedItem[] = []
    let positions = 0
    for await (const page of this.#pages(access, name, undefined, () => size - positions)) {
      // A hook hides the list from this page onwards.
      if (page.items === null) return
      items.push(...page.items)
      positions += page.positions
      if (positions < size && !page.isLast) continue
      if (positions > 0) yield items
      items = []
      positions = 0
    }
  }

  /** All items or a span. Null as for `open`. `length` is the length of the list, including hidden items. */
  async items(access: Access, name: string, span?: ListSpan): Promise<list.ListPage | null> {
    const reading = await this.open(access, name, span)
    if (reading === null) return null
    const items: list.IndexedItem[] = []
    for await (const page of reading.pages()) items.push(...page)
    return { length: reading.metadata.length, items }
  }

  async item(
    access: Access,
    name: string,
    index: number,
    options: { fromEnd?: boolean } = {},
  ): Promise<JsonText | null> {
    return (await this.itemRow(access, name, index, options))?.item ?? null
  }

  /** An item after the hooks, with its row. */
  async itemRow(
    access: Access,
    name: string,
    index: number,
    options: { fromEnd?: boolean } = {},
  ): Promise<{ readonly item: JsonText; readonly row: list.ItemRow } | null> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    const position = await this.#deps.hooks.positionOf(access, 'get', name, index)
    const row = await this.#deps.store.snapshot((q) =>
      list.readItemRow(q, this.#addressOf(access, name), position, options),
    )
    if (row === null) return null
    const item = await this.#deps.hooks.runReadHooks(access, [name, String(position)], row.row.value)
    return item === null ? null : { item, row }
  }

  /**
   * A list that was read together with others, after the hooks. Null when a hook hides it.
   *
   * @param content Undefined for a list that is too long to be read together with others.
   */
  async seen(
    access: Access,
    { name, content: head }: StoredProperty,
    content: list.ListContent | undefined,
  ): Promise<SeenList | null> {
    if (content === undefined) {
      const metadata = list.listMetadata(name, head)
      return (await this.#deps.hooks.showsFacts(access, name, metadata)) ? { metadata, items: null } : null
    }
    const indexed = content.items.map((item, index) => ({ index, item }))
    const passed = await this.#deps.hooks.runItemHooks(access, name, indexed)
    return passed === null ? null : { metadata: content.metadata, items: passed.map(({ item }) => item) }
  }

  /** The metadata and size of a list. */
  async size(access: Access, { name, content }: StoredProperty): Promise<ListSize> {
    const { metadata, bytes } = list.listFacts(name, content)
    return { name, metadata, bytes: bytes ?? (await this.#countBytes(access, name)) }
  }

  /** Counts the bytes of a list from an older release, which did not store them. */
  async #countBytes(access: Access, name: string): Promise<number> {
    let counted = 0
    for await (const { rows } of list.scanPages(this.#deps.store, this.#addressOf(access, name)))
      for (const row of rows) counted += pythonLength(list.rowText(row))
    return counted
  }

  async find(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem | null> {
    for await (const match of this.#matches(access, name, field, value)) return match
    return null
  }

  async findAll(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem[]> {
    return Array.fromAsync(this.#matches(access, name, field, value))
  }

  /** Yields matching items. The search uses the items after the hooks, so that it cannot reveal hidden values. */
  async *#matches(access: Access, name: string, field: string, value: JsonText): AsyncGenerator<list.IndexedItem> {
    for await (const { items } of this.#pages(access, name)) {
      for (const item of items ?? []) if (list.holds(item.item, field, value)) yield item
    }
  }

  /** A page of matching items. Empty when the list does not exist. @throws ServiceError as `queryList` */
  async query(access: Access, name: string, asked: list.ItemQuery): Promise<list.FoundItems> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    return queryList(this.#queried(access, name), asked)
  }

  /** The number of matching items. @throws ServiceError as `queryList` */
  async count(access: Access, name: string, where: readonly list.FieldCondition[]): Promise<number> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    return countList(this.#queried(access, name), where)
  }

  #queried(access: Access, name: string): QueriedList {
    const { store, declared, hooks, listIndexes } = this.#deps
    const at = this.#addressOf(access, name)
    return {
      name,
      indexes: declared.of(access.actor).indexesOf(name),
      hasNoHooks: hooks.hasNoHooks(access, 'get', name),
      stored: (work) => store.snapshot((q) => work(q, at)),
      pages: (span) => this.#pages(access, name, span),
      build: (fields) => listIndexes.build(at, fields),
      pending: null,
    }
  }

  /** Like `items`, with a handle for each item. */
  async itemsWithHandles(access: Access, name: string, span?: ListSpan): Promise<list.ItemWithHandle[]> {
    const found: list.ItemWithHandle[] = []
    for await (const { items, handleAt } of this.#pages(access, name, span)) {
      for (const { index, item } of items ?? []) found.push({ index, item, handle: handleAt(index) })
    }
    return found
  }

  async *#pages(
    access: Access,
    name: string,
    span?: ListSpan,
    size: () => number = () => list.pageItems,
  ): AsyncGenerator<SeenPage, undefined> {
    const scan = new list.ListScan(this.#addressOf(access, name), span)
    for (;;) {
      await requireRight(this.#deps.permission, access, 'read', [name])
      const page = await scan.next(this.#deps.store, size())
      const metadata = page === null ? this.#emptyMetadata(access, name) : null
      if (metadata !== null) yield emptyPage(metadata)
      if (page === null) return
      yield await this.#seenPage(access, name, page)
      if (page.isLast) return
    }
  }

  /** The metadata of a declared list that no one has written to yet. Null for any other name. */
  #emptyMetadata({ actor }: Access, name: string): list.ListMetadata | null {
    const property = this.#deps.declared.of(actor).present(name, null)
    return property?.kind === 'list' ? list.listMetadata(name, property.content) : null
  }

  async #seenPage(access: Access, name: string, page: list.ScanPage): Promise<SeenPage> {
    const { from, rows, numbers, metadata, listId, isLast } = page
    const items = await this.#deps.hooks.runItemHooks(
      access,
      name,
      rows.map(({ value }, offset) => ({ index: from + offset, item: value })),
    )
    const numberAt = (index: number): number => rows[index - from]?.item ?? 0
    const handleAt = (index: number): string => {
      const row = rows[index - from]
      return row === undefined ? '' : list.handleOf(listId, row, index)
    }
    return { items, from, numbers, positions: rows.length, metadata, isLast, handleAt, numberAt }
  }

  /** The current version of the item of a handle, with a new handle. Null when the item was removed. */
  async locate(access: Access, name: string, handle: string): Promise<list.ItemWithHandle | null> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    const found = await this.#deps.store.snapshot((q) => list.locate(q, this.#addressOf(access, name), handle))
    if (found === null || this.#deps.hooks.hasNoHooks(access, 'get', name)) return found
    const [shown] = (await this.#deps.hooks.runItemHooks(access, name, [found])) ?? []
    return shown === undefined ? null : { ...found, item: shown.item }
  }
}

/** A list that is read page by page. */
export interface ListReading {
  /** The metadata in the snapshot of the first page. */
  readonly metadata: list.ListMetadata
  readonly first: readonly list.IndexedItem[]
  /** The position of the first item, and the numbers of the items of a span. */
  readonly from: number
  readonly numbers: readonly number[]
  /** True when the first page is the only page. */
  readonly isComplete: boolean
  /** The array of all items, if it is known already. */
  readonly whole: JsonText | null
  /** All pages, including the first. Call it only once. */
  pages(): AsyncGenerator<readonly list.IndexedItem[]>
}

export interface SeenList {
  readonly metadata: list.ListMetadata
  /** Null when there are too many items to read together. */
  readonly items: readonly JsonText[] | null
}

export interface ListSize {
  readonly name: string
  readonly metadata: list.ListMetadata
  /** `total_bytes` of the items. */
  readonly bytes: number
}

interface SeenPage extends QueriedPage {
  readonly numbers: readonly number[]
  readonly isLast: boolean
}

function emptyPage(metadata: list.ListMetadata): SeenPage {
  return {
    items: [],
    from: 0,
    numbers: [],
    positions: 0,
    metadata,
    isLast: true,
    handleAt: () => '',
    numberAt: () => 0,
  }
}

function metadataOrDamaged(name: string, head: string): list.ListMetadata | 'damaged' {
  try {
    return list.listMetadata(name, head)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return 'damaged'
    throw error
  }
}
