/** Reads lists: their facts, their items page by page, and what matches, behind rights and hooks. */
import { ServiceError } from '../errors.ts'
import { type JsonText, pythonLength } from '../json/json.ts'
import type { Permission } from '../permission/permission.ts'
import type { Store } from '../store/store.ts'
import { type Access, listAddress, requireRight } from './access.ts'
import * as list from '../list/list.ts'
import type { ListHooks } from './list-hooks.ts'
import type { StoredProperty } from './property-store.ts'

export interface ListReaderDeps {
  readonly store: Store
  readonly permission: Permission
  readonly hooks: ListHooks
}

export class ListReader {
  readonly #deps: ListReaderDeps

  constructor(deps: ListReaderDeps) {
    this.#deps = deps
  }

  /** Null when there is no such list or its hook hides it. The items are not read, and their hooks do not run. */
  async metadata(access: Access, name: string): Promise<list.ListMetadata | null> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    const metadata = await this.#deps.store.read((q) => list.readMetadata(q, listAddress(access, name)))
    const isShown = metadata !== null && (await this.#deps.hooks.showsFacts(access, name, metadata))
    return isShown ? metadata : null
  }

  /** Whether the hooks show that there is such a list. It may be damaged. */
  async isShown(access: Access, { name, content }: StoredProperty): Promise<boolean> {
    if (this.#deps.hooks.isOpen(access, 'get', name)) return true
    return this.#deps.hooks.showsFacts(access, name, metadataOrDamaged(name, content))
  }

  /**
   * The list page by page, all of it or a span. Null when there is no such list, or a hook hides the first page.
   * Permission is checked again for each page.
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
      isComplete: first.isLast,
      async *pages() {
        yield items
        for await (const page of pages) yield page.items ?? []
      },
    }
  }

  /** As `open`, in pages of so many positions: an item that a hook hides leaves its page shorter. */
  async *pages(access: Access, name: string, size: number): AsyncGenerator<readonly list.IndexedItem[]> {
    let items: list.IndexedItem[] = []
    let positions = 0
    for await (const page of this.#pages(access, name, undefined, () => size - positions)) {
      // The list is hidden: with its first page, or from this one on.
      if (page.items === null) return
      items.push(...page.items)
      positions += page.positions
      if (positions < size && !page.isLast) continue
      if (positions > 0) yield items
      items = []
      positions = 0
    }
  }

  /** All items or a span; null as for `open`. `length` is the list's, hidden items included. */
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
    await requireRight(this.#deps.permission, access, 'read', [name])
    const position = await this.#deps.hooks.positionOf(access, 'get', name, index)
    const item = await this.#deps.store.snapshot((q) => list.readItem(q, listAddress(access, name), position, options))
    return item === null ? null : this.#deps.hooks.passRead(access, [name, String(position)], item)
  }

  /**
   * A list that was read with others, as the hooks show it. Null when they hide it.
   *
   * @param content Undefined for a list that is too long to be read with others.
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
    const passed = await this.#deps.hooks.passItems(access, name, indexed)
    return passed === null ? null : { metadata: content.metadata, items: passed.map(({ item }) => item) }
  }

  /** Facts and size of a list. */
  async size(access: Access, { name, content }: StoredProperty): Promise<ListSize> {
    const { metadata, bytes } = list.listFacts(name, content)
    return { name, metadata, bytes: bytes ?? (await this.#countBytes(access, name)) }
  }

  /** Only for a list whose bytes an older release did not store with it. */
  async #countBytes(access: Access, name: string): Promise<number> {
    let counted = 0
    for await (const { rows } of list.scanPages(this.#deps.store, listAddress(access, name)))
      for (const { value } of rows) counted += pythonLength(value)
    return counted
  }

  async find(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem | null> {
    for await (const match of this.#matches(access, name, field, value)) return match
    return null
  }

  async findAll(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem[]> {
    return Array.fromAsync(this.#matches(access, name, field, value))
  }

  /** Where hooks stand before the list, what they show is what is searched: nobody finds by a value that is hidden. */
  async *#matches(access: Access, name: string, field: string, value: JsonText): AsyncGenerator<list.IndexedItem> {
    for await (const { items } of this.#pages(access, name)) {
      for (const item of items ?? []) if (list.holds(item.item, field, value)) yield item
    }
  }

  /** All items or a span, as `items` gives them. */
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
    const scan = new list.ListScan(listAddress(access, name), span)
    for (;;) {
      await requireRight(this.#deps.permission, access, 'read', [name])
      const page = await scan.next(this.#deps.store, size())
      if (page === null) return
      yield await this.#seenPage(access, name, page)
      if (page.isLast) return
    }
  }

  async #seenPage(access: Access, name: string, page: list.ScanPage): Promise<SeenPage> {
    const { from, rows, metadata, listId, isLast } = page
    const items = await this.#deps.hooks.passItems(
      access,
      name,
      rows.map(({ value }, offset) => ({ index: from + offset, item: value })),
    )
    const handleAt = (index: number): string => {
      const row = rows[index - from]
      return row === undefined ? '' : list.handleOf(listId, row, index)
    }
    return { items, positions: rows.length, metadata, isLast, handleAt }
  }

  /** The item of a handle as it is now, with a new handle, however often it changed. Null when it was removed. */
  async locate(access: Access, name: string, handle: string): Promise<list.ItemWithHandle | null> {
    await requireRight(this.#deps.permission, access, 'read', [name])
    const found = await this.#deps.store.snapshot((q) => list.locate(q, listAddress(access, name), handle))
    if (found === null || this.#deps.hooks.isOpen(access, 'get', name)) return found
    const [shown] = (await this.#deps.hooks.passItems(access, name, [found])) ?? []
    return shown === undefined ? null : { ...found, item: shown.item }
  }
}

/** Positions of a list. `to` is excluded, and null for the end. */
export interface ListSpan {
  readonly from: number
  readonly to: number | null
}

/** A list that is read page by page. */
export interface ListReading {
  /** At the moment of the first page. */
  readonly metadata: list.ListMetadata
  readonly first: readonly list.IndexedItem[]
  /** Whether the first page is all. */
  readonly isComplete: boolean
  /** To be called once. The first page is among them. */
  pages(): AsyncGenerator<readonly list.IndexedItem[]>
}

export interface SeenList {
  readonly metadata: list.ListMetadata
  /** Null where they are too many to be read at once. */
  readonly items: readonly JsonText[] | null
}

export interface ListSize {
  readonly name: string
  readonly metadata: list.ListMetadata
  /** `total_bytes` of the items. */
  readonly bytes: number
}

interface SeenPage {
  /** Null when the list-wide hook hides them. */
  readonly items: readonly list.IndexedItem[] | null
  /** How many positions the page covers. */
  readonly positions: number
  readonly metadata: list.ListMetadata
  readonly isLast: boolean
  readonly handleAt: (index: number) => string
}

function metadataOrDamaged(name: string, head: string): list.ListMetadata | 'damaged' {
  try {
    return list.listMetadata(name, head)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return 'damaged'
    throw error
  }
}
