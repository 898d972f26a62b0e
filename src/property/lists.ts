/** Lists: one function for each thing that can be done, in one transaction, behind rights and hooks. */
import type { PropertyOperation } from '../app/declarations.ts'
import { ServiceError } from '../errors.ts'
import { array, type JsonText, known, members } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { Record as RecordChange } from './change.ts'
import * as list from './list.ts'
import { listDiff } from './list-diff.ts'
import type { ListHooks } from './list-hooks.ts'
import { readTexts } from './list-texts.ts'
import type { PropertyParts } from './properties.ts'
import { quote } from './properties.ts'
import { findProperties, type StoredProperty } from './property-store.ts'

export interface ListsParts extends Pick<PropertyParts, 'store' | 'writer' | 'permission'> {
  readonly hooks: ListHooks
  readonly now: () => number
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

  /** Null when there is no such list or a hook hides it: then its length and its texts are hidden with it. */
  async metadata(access: Access, name: string): Promise<list.ListMetadata | null> {
    await this.#require(access, 'read', name)
    if (this.#parts.hooks.isOpen(access, 'get', name))
      return this.#parts.store.read((q) => list.readMetadata(q, address(access, name)))
    const { metadata, page } = await this.#parts.store.snapshot(async (q) => ({
      metadata: await list.readMetadata(q, address(access, name)),
      page: await list.readItems(q, address(access, name)),
    }))
    return page === null || (await this.#parts.hooks.passItems(access, name, page.items)) === null ? null : metadata
  }

  /** Those of these properties that stay when the hooks of lists have spoken. Lists without hooks cost nothing. */
  async withoutHidden(access: Access, shown: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const isHooked = ({ kind, name }: StoredProperty): boolean =>
      kind === 'list' && !this.#parts.hooks.isOpen(access, 'get', name)
    const hooked = new Set(shown.filter(isHooked).map(({ name }) => name))
    if (hooked.size === 0) return shown
    // The heads once more: those given may be of another moment than the items.
    const contents = await this.#parts.store.snapshot(async (q) => {
      const stored = await findProperties(q, access.actor.id)
      return list.readManyLists(q, access.actor.id, headsOf(stored.filter(({ name }) => hooked.has(name))))
    })
    const visible = await this.#shown(access, contents)
    return shown.filter(({ name }) => !hooked.has(name) || visible.has(name))
  }

  /** All items or a span; null when there is no such list or a hook hides it. `length` is the list's, hidden items included. */
  async items(access: Access, name: string, span?: { from: number; to: number }): Promise<list.ListPage | null> {
    await this.#require(access, 'read', name)
    const page = await this.#parts.store.snapshot((q) => list.readItems(q, address(access, name), span))
    const shown = page === null ? null : await this.#parts.hooks.passItems(access, name, page.items)
    return page === null || shown === null ? null : { length: page.length, items: shown }
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

  /** Values and lists with their items, in one moment: three statements, however many there are. */
  async everything(
    access: Access,
  ): Promise<{ readonly stored: readonly StoredProperty[]; readonly lists: ReadonlyMap<string, ListContent> }> {
    const { store, permission } = this.#parts
    const { stored, contents } = await store.snapshot(async (q) => {
      const properties = await findProperties(q, access.actor.id)
      return { stored: properties, contents: await list.readManyLists(q, access.actor.id, headsOf(properties)) }
    })
    const names = stored.map(({ name }) => name)
    const visible = await permission.filter(
      access.actor.id,
      access.caller,
      { category: 'properties', right: 'read' },
      names,
    )
    const lists = await this.#shown(access, new Map([...contents].filter(([name]) => visible.has(name))))
    return { stored: stored.filter(({ name }) => visible.has(name)), lists }
  }

  /** The lists as the hooks show them; hidden ones are left out. */
  async #shown(access: Access, contents: ReadonlyMap<string, ListContent>): Promise<Map<string, ListContent>> {
    const shown = new Map<string, ListContent>()
    for (const [name, { metadata, items }] of contents) {
      const indexed = items.map((item, index) => ({ index, item }))
      const passed = await this.#parts.hooks.passItems(access, name, indexed)
      if (passed !== null) shown.set(name, { metadata, items: passed.map(({ item }) => item) })
    }
    return shown
  }

  async find(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem | null> {
    if (!this.#parts.hooks.isOpen(access, 'get', name))
      return (await this.findAll(access, name, field, value))[0] ?? null
    return this.#snapshot(access, name, (q, at) => list.find(q, at, field, value))
  }

  /** Where hooks stand before the list, what they show is what is searched: nobody finds by a value that is hidden. */
  async findAll(access: Access, name: string, field: string, value: JsonText): Promise<list.IndexedItem[]> {
    if (this.#parts.hooks.isOpen(access, 'get', name))
      return this.#snapshot(access, name, (q, at) => list.findAll(q, at, field, value))
    const page = await this.items(access, name)
    return (page?.items ?? []).filter(({ item }) => list.holds(item, field, value))
  }

  /** All items or a span, as `items` gives them. */
  async itemsWithHandles(
    access: Access,
    name: string,
    span?: { from: number; to: number },
  ): Promise<list.ItemWithHandle[]> {
    const items = (await this.#snapshot(access, name, (q, at) => list.itemsWithHandles(q, at, span))) ?? []
    if (this.#parts.hooks.isOpen(access, 'get', name)) return items
    const shown = (await this.#parts.hooks.passItems(access, name, items)) ?? []
    const handles = new Map(items.map(({ index, handle }) => [index, handle]))
    return shown.map(({ index, item }) => ({ index, item, handle: handles.get(index) ?? '' }))
  }

  async #snapshot<T>(access: Access, name: string, work: (q: Queries, at: list.ListAddress) => Promise<T>): Promise<T> {
    await this.#require(access, 'read', name)
    return this.#parts.store.snapshot((q) => work(q, address(access, name)))
  }

  // Changing

  /** Makes the list, or changes its texts when it exists. True when it is new. */
  async create(access: Access, name: string, texts: list.ListTexts): Promise<boolean> {
    await this.#pass(access, 'post', [name], known('[]'))
    return this.#change(access, name, async (tx, at, now) => {
      const isNew = await list.createList(tx, at, texts, now)
      return { changes: [await createdChange(tx, at, texts, isNew)], result: isNew }
    })
  }

  async setTexts(access: Access, name: string, texts: list.ListTexts): Promise<void> {
    const given = known(JSON.stringify(texts))
    const passed = await this.#pass(access, 'put', [name, 'metadata'], given)
    const kept = passed === given ? texts : readTexts(members(passed) ?? new Map())
    await this.#changeOne(access, name, (tx, at, now) => list.setMetadata(tx, at, kept, now))
  }

  /** The new item as it was stored, after the hooks. `create` makes the list when there is none. */
  async append(
    access: Access,
    name: string,
    given: JsonText,
    options: { create?: boolean } = {},
  ): Promise<list.IndexedItem> {
    const item = await this.#pass(access, 'post', [name], given)
    const change = await this.#changeOne(access, name, async (tx, at, now) => {
      if (options.create === true) await list.createList(tx, at, {}, now)
      return list.append(tx, at, item, now)
    })
    return { index: change?.index ?? 0, item }
  }

  async extend(
    access: Access,
    name: string,
    given: readonly JsonText[],
    options: { create?: boolean } = {},
  ): Promise<void> {
    await this.#require(access, 'write', name)
    const items: JsonText[] = []
    for (const item of given) items.push(await this.#parts.hooks.passWrite(access, 'post', [name], item))
    await this.#changeOne(access, name, async (tx, at, now) => {
      if (options.create === true) await list.createList(tx, at, {}, now)
      return list.extend(tx, at, items, now)
    })
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
    await this.#require(access, 'write', name)
    const position = await this.#parts.hooks.positionOf(access, 'put', name, index)
    const item = await this.#parts.hooks.passWrite(access, 'put', [name, String(position)], given)
    return (
      (await this.#changeOne(access, name, (tx, at, now) => list.update(tx, at, position, item, now, options))) !== null
    )
  }

  /** False when there is no such item. */
  async deleteItem(access: Access, name: string, index: number, options: { fromEnd?: boolean } = {}): Promise<boolean> {
    const position = await this.#passItemDelete(access, name, index, options)
    return (
      (await this.#changeOne(access, name, (tx, at, now) => list.deleteAt(tx, at, position, now, options))) !== null
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
  }

  /** Removes the list itself. False when there was none. */
  async remove(access: Access, name: string): Promise<boolean> {
    await this.#require(access, 'delete', name)
    await this.#parts.hooks.passListDelete(access, name)
    return (await this.#changeOne(access, name, (tx, at) => list.deleteList(tx, at), 'delete')) !== null
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
      (await this.#changeOne(access, name, (tx, at, now) => list.updateByHandle(tx, at, handle, item, now))) !== null
    )
  }

  async deleteByHandle(access: Access, name: string, handle: string): Promise<boolean> {
    await this.#require(access, 'write', name)
    if (!this.#parts.hooks.isOpen(access, 'delete', name)) {
      const found = await this.#parts.store.snapshot((q) => list.findByHandle(q, address(access, name), handle))
      if (found === null) return false
      await this.#parts.hooks.passDelete(access, [name, String(found.index)], found.item)
    }
    return (await this.#changeOne(access, name, (tx, at, now) => list.deleteByHandle(tx, at, handle, now))) !== null
  }

  async updateWhere(
    access: Access,
    name: string,
    field: string,
    value: JsonText,
    given: JsonText,
    firstOnly: boolean,
  ): Promise<number> {
    if (!this.#parts.hooks.isOpen(access, 'put', name)) {
      const updates: (readonly [handle: string, item: JsonText])[] = []
      for (const { index, handle } of await this.#matches(access, name, field, value, firstOnly))
        updates.push([handle, await this.#parts.hooks.passWrite(access, 'put', [name, String(index)], given)])
      return this.#changeEach(access, name, updates, (tx, at, now, [handle, item]) =>
        list.updateByHandle(tx, at, handle, item, now),
      )
    }
    return this.#changeMany(access, name, (tx, at, now) =>
      list.updateWhere(tx, at, field, value, given, now, { firstOnly }),
    )
  }

  async removeWhere(access: Access, name: string, field: string, value: JsonText, firstOnly: boolean): Promise<number> {
    if (!this.#parts.hooks.isOpen(access, 'delete', name)) {
      const found = await this.#matches(access, name, field, value, firstOnly)
      for (const { index, item } of found) await this.#parts.hooks.passDelete(access, [name, String(index)], item)
      return this.#changeEach(access, name, found, (tx, at, now, { handle }) =>
        list.deleteByHandle(tx, at, handle, now),
      )
    }
    return this.#changeMany(access, name, (tx, at, now) => list.removeWhere(tx, at, field, value, now, { firstOnly }))
  }

  /** What matches now, each pinned by its handle: hooks judge exactly what is changed after them. */
  async #matches(
    access: Access,
    name: string,
    field: string,
    value: JsonText,
    firstOnly: boolean,
  ): Promise<readonly list.ItemWithHandle[]> {
    await this.#require(access, 'write', name)
    const items = await this.#parts.store.snapshot((q) => list.itemsWithHandles(q, address(access, name)))
    if (items === null) throw new ServiceError('not_found', `There is no list ${quote([name])}`)
    const found = items.filter(({ item }) => list.holds(item, field, value))
    return firstOnly ? found.slice(0, 1) : found
  }

  /** The number of `works` that still found their item. */
  async #changeEach<W>(
    access: Access,
    name: string,
    works: readonly W[],
    change: (tx: Transaction, at: list.ListAddress, now: number, work: W) => Promise<list.ListChange | null>,
  ): Promise<number> {
    return this.#changeMany(access, name, async (tx, at, now) => {
      const changes: list.ListChange[] = []
      for (const work of works) {
        const made = await change(tx, at, now, work)
        if (made !== null) changes.push(made)
      }
      return changes
    })
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

  async #changeMany(
    access: Access,
    name: string,
    work: (tx: Transaction, at: list.ListAddress, now: number) => Promise<list.ListChange[]>,
  ): Promise<number> {
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

  /** Rights are granted on lists, not on positions; whatever changes an item, its removal included, writes the list. */
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
  ): Promise<JsonText> {
    await this.#require(access, 'write', path[0] ?? '')
    return this.#parts.hooks.passWrite(access, operation, path, value)
  }
}

export interface ListContent {
  readonly metadata: list.ListMetadata
  readonly items: readonly JsonText[]
}

export function recordAll(record: RecordChange, name: string, changes: readonly list.ListChange[]): void {
  for (const change of changes) record(listDiff(name, change))
}

/** A list that was made, or made again, is told of as a change of its texts. */
export async function createdChange(
  tx: Transaction,
  at: list.ListAddress,
  texts: list.ListTexts,
  isNew: boolean,
): Promise<list.ListChange> {
  const length = isNew ? 0 : ((await list.readMetadata(tx, at))?.length ?? 0)
  return { operation: 'metadata', length, ...texts }
}

function headsOf(stored: readonly StoredProperty[]): Map<string, string> {
  return new Map(
    stored.flatMap((property) => (property.kind === 'list' ? [[property.name, property.head] as const] : [])),
  )
}

function address(access: Access, name: string): list.ListAddress {
  return { actorId: access.actor.id, list: name }
}
