/** Lists: one function for each thing that can be done, in one transaction, behind rights and hooks. */
import type { PropertyOperation } from '../app/declarations.ts'
import { ServiceError } from '../errors.ts'
import { array, type JsonText, known, members, pythonLength } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import { refusal } from '../permission/permission.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { Record as RecordChange } from './change.ts'
import * as list from '../list/list.ts'
import { listDiff } from './list-diff.ts'
import type { ListHooks } from './list-hooks.ts'
import { readTexts } from '../list/list-texts.ts'
import type { Expected, PropertyParts } from './properties.ts'
import { quote } from './properties.ts'
import { findProperties, type StoredProperty } from './property-store.ts'

export interface ListsParts extends Pick<PropertyParts, 'store' | 'writer' | 'permission' | 'versions'> {
  readonly hooks: ListHooks
  readonly now: () => number
  /** Called after a list may have left rows behind. */
  readonly deleteRemoved: () => void
}

type ListWork<T> = (
  tx: Transaction,
  at: list.ListAddress,
  now: number,
) => Promise<{ changes: readonly list.ListChange[]; result: T }>

export class Lists {
  readonly #parts: ListsParts

  constructor(parts: ListsParts) {
    this.#parts = parts
  }

  // Reading

  /** Null when there is no such list or its hook hides it. The items are not read, and their hooks do not run. */
  async metadata(access: Access, name: string): Promise<list.ListMetadata | null> {
    await this.#require(access, 'read', name)
    const metadata = await this.#parts.store.read((q) => list.readMetadata(q, address(access, name)))
    const isShown = metadata !== null && (await this.#parts.hooks.showsFacts(access, name, metadata))
    return isShown ? metadata : null
  }

  /** Those of these properties that stay when the hooks of lists have spoken. */
  async withoutHidden(access: Access, shown: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const visible: StoredProperty[] = []
    for (const property of shown) {
      if (property.kind === 'value' || (await this.#isShown(access, property))) visible.push(property)
    }
    return visible
  }

  async #isShown(access: Access, { name, head }: { readonly name: string; readonly head: string }): Promise<boolean> {
    if (this.#parts.hooks.isOpen(access, 'get', name)) return true
    return this.#parts.hooks.showsFacts(access, name, metadataOrDamaged(name, head))
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

  /** The list as one value, after the hooks. */
  async value(access: Access, name: string): Promise<JsonText | null> {
    const page = await this.items(access, name)
    return page === null ? null : array(page.items.map(({ item }) => item))
  }

  async item(
    access: Access,
    name: string,
    index: number,
    options: { fromEnd?: boolean } = {},
  ): Promise<JsonText | null> {
    await this.#require(access, 'read', name)
    const position = await this.#parts.hooks.positionOf(access, 'get', name, index)
    const item = await this.#parts.store.snapshot((q) => list.readItem(q, address(access, name), position, options))
    return item === null ? null : this.#parts.hooks.passRead(access, [name, String(position)], item)
  }

  /**
   * Values, and lists with their items where they are short, in one moment: three statements, however many there are.
   * The items of the other lists are still to be read, and to pass their hooks.
   */
  async everything(access: Access): Promise<Everything> {
    return this.#everything(access, (q, heads) => list.readManyLists(q, access.actor.id, list.shortLists(heads)))
  }

  /** As `everything`, with at most so many of the first items of each list. */
  async starts(access: Access, count: number): Promise<Everything> {
    return this.#everything(access, (q, heads) => list.readStarts(q, access.actor.id, heads, count))
  }

  async #everything(
    access: Access,
    read: (q: Queries, heads: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, list.ListContent>>,
  ): Promise<Everything> {
    const { store, permission } = this.#parts
    const { stored, contents } = await store.snapshot(async (q) => {
      const properties = await findProperties(q, access.actor.id)
      return { stored: properties, contents: await read(q, headsOf(properties)) }
    })
    const names = stored.map(({ name }) => name)
    const right = { category: 'properties', right: 'read' } as const
    const visible = await permission.filter(access.actor.id, access.caller, right, names)
    const shown = stored.filter(({ name }) => visible.has(name))
    const lists = new Map<string, SeenList>()
    for (const property of shown) {
      if (property.kind !== 'list') continue
      const seen = await this.#seen(access, property, contents.get(property.name))
      if (seen !== null) lists.set(property.name, seen)
    }
    return { stored: shown, lists }
  }

  /** Null when a hook hides it. */
  async #seen(
    access: Access,
    { name, head }: { readonly name: string; readonly head: string },
    content: list.ListContent | undefined,
  ): Promise<SeenList | null> {
    if (content === undefined) {
      const metadata = list.listMetadata(name, head)
      return (await this.#parts.hooks.showsFacts(access, name, metadata)) ? { metadata, items: null } : null
    }
    const indexed = content.items.map((item, index) => ({ index, item }))
    const passed = await this.#parts.hooks.passItems(access, name, indexed)
    return passed === null ? null : { metadata: content.metadata, items: passed.map(({ item }) => item) }
  }

  /** `total_bytes` of the list: as it is stored with it, or counted where an older release did not store it. */
  async totalBytes(access: Access, name: string, head: string): Promise<number> {
    const { bytes } = list.listFacts(name, head)
    if (bytes !== null) return bytes
    let counted = 0
    for await (const { rows } of this.#rows(address(access, name)))
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
    const scan = new list.ListScan(address(access, name), span)
    for (;;) {
      await this.#require(access, 'read', name)
      const page = await scan.next(this.#parts.store, size())
      if (page === null) return
      yield await this.#seenPage(access, name, page)
      if (page.isLast) return
    }
  }

  async #seenPage(access: Access, name: string, page: list.ScanPage): Promise<SeenPage> {
    const { from, rows, metadata, listId, isLast } = page
    const items = await this.#parts.hooks.passItems(
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

  async *#rows(at: list.ListAddress): AsyncGenerator<list.ScanPage> {
    const scan = new list.ListScan(at)
    for (;;) {
      const page = await scan.next(this.#parts.store)
      if (page === null) return
      yield page
      if (page.isLast) return
    }
  }

  // Changing

  /** Makes the list, or changes its texts when it exists. True when it is new. */
  async create(access: Access, name: string, texts: list.ListTexts, { expected }: Expected = {}): Promise<boolean> {
    await this.#pass(access, 'post', [name], known('[]'))
    return this.#change(access, name, async (tx, at, now) => {
      await this.#parts.versions.require(tx, at.actorId, name, { whole: expected })
      const { isNew, change } = await list.makeList(tx, at, texts, now)
      return { changes: [change], result: isNew }
    })
  }

  /** @param expected `PropertyVersion.texts` of what the texts take the place of. */
  async setTexts(access: Access, name: string, texts: list.ListTexts, { expected }: Expected = {}): Promise<void> {
    const given = known(JSON.stringify(texts))
    const passed = await this.#pass(access, 'put', [name, 'metadata'], given)
    const kept = passed === given ? texts : readTexts(members(passed) ?? new Map())
    await this.#changeOne(access, name, async (tx, at, now) => {
      await this.#parts.versions.require(tx, at.actorId, name, { texts: expected })
      return list.setMetadata(tx, at, kept, now)
    })
  }

  /** The new item as it was stored, after the hooks. `create` makes the list when there is none. */
  async append(
    access: Access,
    name: string,
    given: JsonText,
    options: { create?: boolean } = {},
  ): Promise<list.IndexedItem> {
    const right = rightToAdd(options)
    const item = await this.#pass(access, 'post', [name], given, right)
    const change = await this.#changeOne(
      access,
      name,
      async (tx, at, now) => {
        if (options.create === true) await list.createList(tx, at, {}, now)
        return list.append(tx, at, item, now)
      },
      right,
    )
    return { index: change?.index ?? 0, item }
  }

  async extend(
    access: Access,
    name: string,
    given: readonly JsonText[],
    options: { create?: boolean } = {},
  ): Promise<void> {
    const right = rightToAdd(options)
    await this.#require(access, right, name)
    const items: JsonText[] = []
    for (const item of given) items.push(await this.#parts.hooks.passWrite(access, 'post', [name], item))
    await this.#changeOne(
      access,
      name,
      async (tx, at, now) => {
        if (options.create === true) await list.createList(tx, at, {}, now)
        return list.extend(tx, at, items, now)
      },
      right,
    )
  }

  /** False when `index` is beyond the end. */
  async insert(
    access: Access,
    name: string,
    index: number,
    given: JsonText,
    options: { create?: boolean } = {},
  ): Promise<boolean> {
    const path = [name, String(index)]
    const item = await this.#pass(access, 'post', path, given)
    const change = await this.#changeOne(access, name, async (tx, at, now) => {
      const isNew = options.create === true && (await list.createList(tx, at, {}, now))
      const inserted = await list.insert(tx, at, index, item, now)
      // Thrown, so that the refusal leaves no empty list behind.
      if (inserted === null && isNew)
        throw new ServiceError('invalid_index', `List ${JSON.stringify(name)} has no item ${index}`)
      return inserted
    })
    return change !== null
  }

  /** Replaces an item; with `orAppend` an index equal to the length appends. False when `index` is beyond that. */
  async update(
    access: Access,
    name: string,
    index: number,
    given: JsonText,
    options: { orAppend?: boolean; fromEnd?: boolean } = {},
  ): Promise<boolean> {
    if (options.orAppend !== true) await this.#require(access, 'write', name)
    const mayReplace = options.orAppend !== true || (await this.#mayReplace(access, name, index))
    const position = await this.#parts.hooks.positionOf(access, 'put', name, index)
    const item = await this.#parts.hooks.passWrite(access, 'put', [name, String(position)], given)
    const change = await this.#changeOne(
      access,
      name,
      async (tx, at, now) => {
        const made = await list.update(tx, at, { ...options, index: position }, item, now)
        if (!mayReplace && made !== null) requireOnlyAdded(access, name, [made])
        return made
      },
      mayReplace ? 'write' : 'append',
    )
    return change !== null
  }

  /** False for a caller that may add to the list and not replace its items. */
  async #mayReplace(access: Access, name: string, index: number): Promise<boolean> {
    const { permission } = this.#parts
    const { actor, caller } = access
    if (!permission.isRuled(caller)) return true
    const writable = await permission.filter(actor.id, caller, { category: 'properties', right: 'write' }, [name])
    if (writable.has(name)) return true
    await this.#require(access, 'append', name)
    await this.requireBehindLast(access, name, [index])
    return false
  }

  /**
   * For a caller that may only add, before hooks see anything of it.
   *
   * @throws ServiceError `forbidden` when one of the indexes is that of an item.
   */
  async requireBehindLast(access: Access, name: string, indexes: readonly number[]): Promise<void> {
    const metadata = await this.#parts.store.read((q) => list.readMetadata(q, address(access, name)))
    if (indexes.some((index) => index < (metadata?.length ?? 0))) throw onlyAdding(access, name)
  }

  /** False when there is no such item. */
  async deleteItem(access: Access, name: string, index: number, options: { fromEnd?: boolean } = {}): Promise<boolean> {
    const position = await this.#passItemDelete(access, name, index, options)
    return (
      (await this.#changeOne(access, name, (tx, at, now) => list.deleteItemAt(tx, at, position, now, options))) !== null
    )
  }

  /** What was removed; null when there is no such item. */
  async pop(access: Access, name: string, index = -1): Promise<JsonText | null> {
    const position = await this.#passItemDelete(access, name, index, { fromEnd: true })
    const change = await this.#changeOne(access, name, (tx, at, now) => list.pop(tx, at, now, position))
    return change?.item ?? null
  }

  async clear(access: Access, name: string): Promise<void> {
    await this.#require(access, 'write', name)
    await this.#parts.hooks.passListDelete(access, name)
    await this.#changeOne(access, name, (tx, at, now) => list.clear(tx, at, now))
    this.#parts.deleteRemoved()
  }

  /** Removes the list itself. False when there was none. */
  async remove(access: Access, name: string, { expected }: Expected = {}): Promise<boolean> {
    await this.#require(access, 'delete', name)
    await this.#parts.hooks.passListDelete(access, name)
    const removal = await this.#changeOne(
      access,
      name,
      async (tx, at) => {
        await this.#parts.versions.require(tx, at.actorId, name, { whole: expected })
        return list.deleteList(tx, at)
      },
      'delete',
    )
    if (removal !== null) this.#parts.deleteRemoved()
    return removal !== null
  }

  /** The item of a handle as it is now, with a new handle, however often it changed. Null when it was removed. */
  async locate(access: Access, name: string, handle: string): Promise<list.ItemWithHandle | null> {
    await this.#require(access, 'read', name)
    const found = await this.#parts.store.snapshot((q) => list.locate(q, address(access, name), handle))
    if (found === null || this.#parts.hooks.isOpen(access, 'get', name)) return found
    const [shown] = (await this.#parts.hooks.passItems(access, name, [found])) ?? []
    return shown === undefined ? null : { ...found, item: shown.item }
  }

  async updateByHandle(access: Access, name: string, handle: string, given: JsonText): Promise<boolean> {
    await this.#require(access, 'write', name)
    let item = given
    if (!this.#parts.hooks.isOpen(access, 'put', name)) {
      const found = await this.#parts.store.snapshot((q) => list.findByHandle(q, address(access, name), handle))
      if (found === null) return false
      item = await this.#parts.hooks.passWrite(access, 'put', [name, String(found.index)], given)
    }
    return (
      (await this.#changeMany(access, name, (tx, at, now) => list.updateByHandles(tx, at, [[handle, item]], now))) > 0
    )
  }

  async deleteByHandle(access: Access, name: string, handle: string): Promise<boolean> {
    await this.#require(access, 'write', name)
    if (!this.#parts.hooks.isOpen(access, 'delete', name)) {
      const found = await this.#parts.store.snapshot((q) => list.findByHandle(q, address(access, name), handle))
      if (found === null) return false
      await this.#parts.hooks.passDelete(access, [name, String(found.index)], found.item)
    }
    return (await this.#changeMany(access, name, (tx, at, now) => list.deleteByHandles(tx, at, [handle], now))) > 0
  }

  /** The number of items changed. A long list is changed page by page, each page as a whole. */
  async updateWhere(
    access: Access,
    name: string,
    field: string,
    value: JsonText,
    given: JsonText,
    firstOnly: boolean,
  ): Promise<number> {
    const { hooks } = this.#parts
    if (hooks.isOpen(access, 'put', name) && (await this.#isShort(access, name))) {
      return this.#changeMany(access, name, (tx, at, now) =>
        list.updateWhere(tx, at, { field, value, firstOnly }, given, now),
      )
    }
    return this.#changeMatches(access, name, { field, value, firstOnly }, async (matches) => {
      const updates: (readonly [handle: string, item: JsonText])[] = []
      for (const { index, handle } of matches)
        updates.push([handle, await hooks.passWrite(access, 'put', [name, String(index)], given)])
      return (tx, at, now) => list.updateByHandles(tx, at, updates, now)
    })
  }

  /** The number of items removed, as `updateWhere`. */
  async removeWhere(access: Access, name: string, field: string, value: JsonText, firstOnly: boolean): Promise<number> {
    const { hooks } = this.#parts
    if (hooks.isOpen(access, 'delete', name) && (await this.#isShort(access, name))) {
      return this.#changeMany(access, name, (tx, at, now) => list.removeWhere(tx, at, { field, value, firstOnly }, now))
    }
    return this.#changeMatches(access, name, { field, value, firstOnly }, async (matches) => {
      for (const { index, item } of matches) await hooks.passDelete(access, [name, String(index)], item)
      const handles = matches.map(({ handle }) => handle)
      return (tx, at, now) => list.deleteByHandles(tx, at, handles, now)
    })
  }

  async #isShort(access: Access, name: string): Promise<boolean> {
    const facts = await this.#parts.store.read((q) => list.readFacts(q, address(access, name)))
    return facts === null || list.isShort(facts)
  }

  /** What matches, page by page, each item pinned by its handle: hooks judge exactly what is changed after them. */
  async #changeMatches(
    access: Access,
    name: string,
    { field, value, firstOnly }: { readonly field: string; readonly value: JsonText; readonly firstOnly: boolean },
    prepare: (matches: readonly list.ItemWithHandle[]) => Promise<ChangeWork>,
  ): Promise<number> {
    await this.#require(access, 'write', name)
    let changed = 0
    let isThere = false
    for await (const { from, rows, listId } of this.#rows(address(access, name))) {
      isThere = true
      const found = rows.flatMap((row, offset) =>
        list.holds(row.value, field, value)
          ? [{ index: from + offset, item: row.value, handle: list.handleOf(listId, row, from + offset) }]
          : [],
      )
      const matches = firstOnly ? found.slice(0, 1) : found
      if (matches.length === 0) continue
      changed += await this.#changeMany(access, name, await prepare(matches))
      if (firstOnly) break
    }
    if (!isThere) throw new ServiceError('not_found', `There is no list ${quote([name])}`)
    return changed
  }

  /** Runs the hooks of a bulk update, entry by entry, before anything is stored; the right to write was asked for. */
  async passBulk(access: Access, name: string, entries: readonly list.BulkEntry[]): Promise<list.BulkEntry[]> {
    const { hooks } = this.#parts
    const passed: list.BulkEntry[] = []
    for (const { index, item } of entries) {
      const path = [name, String(index)]
      const value = item === null ? null : await hooks.passWrite(access, 'put', path, item)
      passed.push({ index, item: value })
    }
    // As in the list itself, deletions come last.
    const deleted = entries.filter(({ item }) => item === null).map(({ index }) => index)
    await hooks.passItemDeletes(access, name, deleted)
    return passed
  }

  async #changeMany(access: Access, name: string, work: ChangeWork): Promise<number> {
    return this.#change(access, name, async (tx, at, now) => {
      const changes = await work(tx, at, now)
      return { changes, result: changes.length }
    })
  }

  async #changeOne<C extends list.ListChange>(
    access: Access,
    name: string,
    work: (tx: Transaction, at: list.ListAddress, now: number) => Promise<C | null>,
    right: Right = 'write',
  ): Promise<C | null> {
    return this.#change(
      access,
      name,
      async (tx, at, now) => {
        const change = await work(tx, at, now)
        return { changes: change === null ? [] : [change], result: change }
      },
      right,
    )
  }

  async #change<T>(access: Access, name: string, work: ListWork<T>, right: Right = 'write'): Promise<T> {
    await this.#require(access, right, name)
    return this.#parts.writer.change(access.actor.id, access.caller, async (tx, record) => {
      const { changes, result } = await work(tx, address(access, name), this.#parts.now())
      recordAll(record, name, changes)
      return result
    })
  }

  /** Rights are granted on lists, not on positions; changing and removing an item writes the list, adding one appends to it. */
  async #require(access: Access, right: Right, name: string): Promise<void> {
    await this.#parts.permission.require(access.actor.id, access.caller, {
      category: 'properties',
      right,
      target: name,
    })
  }

  /** The position that the hooks agreed to. */
  async #passItemDelete(access: Access, name: string, index: number, options: { fromEnd?: boolean }): Promise<number> {
    await this.#require(access, 'write', name)
    const position = await this.#parts.hooks.positionOf(access, 'delete', name, index)
    await this.#parts.hooks.passItemDelete(access, name, position, options)
    return position
  }

  async #pass(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
    right: Right = 'write',
  ): Promise<JsonText> {
    await this.#require(access, right, path[0] ?? '')
    return this.#parts.hooks.passWrite(access, operation, path, value)
  }
}

/** Making a list is more than adding to one. */
function rightToAdd({ create }: { readonly create?: boolean }): Right {
  return create === true ? 'write' : 'append'
}

/**
 * For a caller that may only add: refuses inside the transaction what turned out to be something else.
 *
 * @throws ServiceError `forbidden`
 */
export function requireOnlyAdded(access: Access, name: string, changes: readonly list.ListChange[]): void {
  if (changes.some(({ operation }) => operation !== 'append')) throw onlyAdding(access, name)
}

function onlyAdding({ caller }: Access, name: string): ServiceError {
  const operation = { category: 'properties', right: 'write', target: name } as const
  return refusal(caller, operation, { allowed: false, reason: 'it may add items, and change none' })
}

type ChangeWork = (tx: Transaction, at: list.ListAddress, now: number) => Promise<list.ListChange[]>

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

export interface Everything {
  readonly stored: readonly StoredProperty[]
  readonly lists: ReadonlyMap<string, SeenList>
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

export function recordAll(record: RecordChange, name: string, changes: readonly list.ListChange[]): void {
  for (const change of changes) record(listDiff(name, change))
}

function metadataOrDamaged(name: string, head: string): list.ListMetadata | 'damaged' {
  try {
    return list.listMetadata(name, head)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return 'damaged'
    throw error
  }
}

function headsOf(stored: readonly StoredProperty[]): Map<string, string> {
  return new Map(
    stored.flatMap((property) => (property.kind === 'list' ? [[property.name, property.head] as const] : [])),
  )
}

function address(access: Access, name: string): list.ListAddress {
  return { actorId: access.actor.id, list: name }
}
