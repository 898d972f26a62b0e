/** Changes lists: one function for each thing that can be done, in one transaction, behind rights and hooks. */
import type { PropertyOperation } from '../app/declarations.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, known, members } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import { refusal } from '../permission/permission.ts'
import type { Transaction } from '../store/store.ts'
import { type Access, listAddress, requireRight } from './access.ts'
import type { Record as RecordChange } from './change.ts'
import * as list from '../list/list.ts'
import { listDiff } from './list-diff.ts'
import type { ListHooks } from './list-hooks.ts'
import { readTexts } from '../list/list-texts.ts'
import { quote } from './property-errors.ts'
import type { Expected, ValuesDeps } from './values.ts'

export interface ListWriterDeps extends Pick<ValuesDeps, 'store' | 'writer' | 'permission' | 'versions'> {
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

export class ListWriter {
  readonly #deps: ListWriterDeps

  constructor(deps: ListWriterDeps) {
    this.#deps = deps
  }

  /** Makes the list, or changes its texts when it exists. True when it is new. */
  async create(access: Access, name: string, texts: list.ListTexts, { expected }: Expected = {}): Promise<boolean> {
    await this.#pass(access, 'post', [name], known('[]'))
    return this.#change(access, name, async (tx, at, now) => {
      await this.#deps.versions.require(tx, at.actorId, name, { whole: expected })
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
      await this.#deps.versions.require(tx, at.actorId, name, { texts: expected })
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
    for (const item of given) items.push(await this.#deps.hooks.passWrite(access, 'post', [name], item))
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
    const position = await this.#deps.hooks.positionOf(access, 'put', name, index)
    const item = await this.#deps.hooks.passWrite(access, 'put', [name, String(position)], given)
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
    const { permission } = this.#deps
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
    const metadata = await this.#deps.store.read((q) => list.readMetadata(q, listAddress(access, name)))
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
    await this.#deps.hooks.passListDelete(access, name)
    await this.#changeOne(access, name, (tx, at, now) => list.clear(tx, at, now))
    this.#deps.deleteRemoved()
  }

  /** Removes the list itself. False when there was none. */
  async remove(access: Access, name: string, { expected }: Expected = {}): Promise<boolean> {
    await this.#require(access, 'delete', name)
    await this.#deps.hooks.passListDelete(access, name)
    const removal = await this.#changeOne(
      access,
      name,
      async (tx, at) => {
        await this.#deps.versions.require(tx, at.actorId, name, { whole: expected })
        return list.deleteList(tx, at)
      },
      'delete',
    )
    if (removal !== null) this.#deps.deleteRemoved()
    return removal !== null
  }

  async updateByHandle(access: Access, name: string, handle: string, given: JsonText): Promise<boolean> {
    await this.#require(access, 'write', name)
    let item = given
    if (!this.#deps.hooks.isOpen(access, 'put', name)) {
      const found = await this.#deps.store.snapshot((q) => list.findByHandle(q, listAddress(access, name), handle))
      if (found === null) return false
      item = await this.#deps.hooks.passWrite(access, 'put', [name, String(found.index)], given)
    }
    return (
      (await this.#changeMany(access, name, (tx, at, now) => list.updateByHandles(tx, at, [[handle, item]], now))) > 0
    )
  }

  async deleteByHandle(access: Access, name: string, handle: string): Promise<boolean> {
    await this.#require(access, 'write', name)
    if (!this.#deps.hooks.isOpen(access, 'delete', name)) {
      const found = await this.#deps.store.snapshot((q) => list.findByHandle(q, listAddress(access, name), handle))
      if (found === null) return false
      await this.#deps.hooks.passDelete(access, [name, String(found.index)], found.item)
    }
    return (await this.#changeMany(access, name, (tx, at, now) => list.deleteByHandles(tx, at, [handle], now))) > 0
  }

  /** The number of items changed. A long list is changed page by page, each page as a whole. */
  async updateWhere(access: Access, name: string, match: list.ItemMatch, given: JsonText): Promise<number> {
    const { hooks } = this.#deps
    if (hooks.isOpen(access, 'put', name) && (await this.#isShort(access, name))) {
      return this.#changeMany(access, name, (tx, at, now) => list.updateWhere(tx, at, match, given, now))
    }
    return this.#changeMatches(access, name, match, async (matches) => {
      const updates: (readonly [handle: string, item: JsonText])[] = []
      for (const { index, handle } of matches)
        updates.push([handle, await hooks.passWrite(access, 'put', [name, String(index)], given)])
      return (tx, at, now) => list.updateByHandles(tx, at, updates, now)
    })
  }

  /** The number of items removed, as `updateWhere`. */
  async removeWhere(access: Access, name: string, match: list.ItemMatch): Promise<number> {
    const { hooks } = this.#deps
    if (hooks.isOpen(access, 'delete', name) && (await this.#isShort(access, name))) {
      return this.#changeMany(access, name, (tx, at, now) => list.removeWhere(tx, at, match, now))
    }
    return this.#changeMatches(access, name, match, async (matches) => {
      for (const { index, item } of matches) await hooks.passDelete(access, [name, String(index)], item)
      const handles = matches.map(({ handle }) => handle)
      return (tx, at, now) => list.deleteByHandles(tx, at, handles, now)
    })
  }

  async #isShort(access: Access, name: string): Promise<boolean> {
    const facts = await this.#deps.store.read((q) => list.readFacts(q, listAddress(access, name)))
    return facts === null || list.isShort(facts)
  }

  /** What matches, page by page, each item pinned by its handle: hooks judge exactly what is changed after them. */
  async #changeMatches(
    access: Access,
    name: string,
    { field, value, firstOnly = false }: list.ItemMatch,
    prepare: (matches: readonly list.ItemWithHandle[]) => Promise<ChangeWork>,
  ): Promise<number> {
    await this.#require(access, 'write', name)
    let changed = 0
    let isThere = false
    for await (const { from, rows, listId } of list.scanPages(this.#deps.store, listAddress(access, name))) {
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
    if (!isThere) throw new ServiceError('not_found', `The list ${quote([name])} does not exist`)
    return changed
  }

  /** Runs the hooks of a bulk update, entry by entry, before anything is stored; the right to write was asked for. */
  async passBulk(access: Access, name: string, entries: readonly list.BulkEntry[]): Promise<list.BulkEntry[]> {
    const { hooks } = this.#deps
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
    return this.#deps.writer.change(access.actor.id, access.caller, async (tx, record) => {
      const { changes, result } = await work(tx, listAddress(access, name), this.#deps.now())
      recordAll(record, name, changes)
      return result
    })
  }

  /** Rights are granted on lists, not on positions; changing and removing an item writes the list, adding one appends to it. */
  #require(access: Access, right: Right, name: string): Promise<void> {
    return requireRight(this.#deps.permission, access, right, [name])
  }

  /** The position that the hooks agreed to. */
  async #passItemDelete(access: Access, name: string, index: number, options: { fromEnd?: boolean }): Promise<number> {
    await this.#require(access, 'write', name)
    const position = await this.#deps.hooks.positionOf(access, 'delete', name, index)
    await this.#deps.hooks.passItemDelete(access, name, position, options)
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
    return this.#deps.hooks.passWrite(access, operation, path, value)
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

export function recordAll(record: RecordChange, name: string, changes: readonly list.ListChange[]): void {
  for (const change of changes) record(listDiff(name, change))
}
