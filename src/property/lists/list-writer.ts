/** Changes lists, with checks of rights and hooks. Each function runs in one transaction, except on long lists. */
import type { PropertyOperation } from '../../app/declarations.ts'
import { ServiceError } from '../../errors.ts'
import { type JsonText, known, members } from '../../json/json.ts'
import type { Right } from '../../permission/operation.ts'
import { refusal } from '../../permission/permission.ts'
import type { LockedActor, Transaction } from '../../store/store.ts'
import { type Access, requireRight } from '../access.ts'
import type { Record as RecordChange } from '../change.ts'
import * as list from '../../list/list.ts'
import { listDiff } from './list-diff.ts'
import type { ListHooks } from './list-hooks.ts'
import { readTexts } from '../../list/list-texts.ts'
import { quote } from '../property-errors.ts'
import { SharedChanges } from '../shared-changes.ts'
import type { Expected, ValuesDeps } from '../values.ts'

export interface ListWriterDeps extends Pick<ValuesDeps, 'store' | 'writer' | 'permission' | 'versions' | 'declared'> {
  readonly hooks: ListHooks
  readonly now: () => number
  /** Whether changes of the actor are announced, each with its own origin. */
  readonly isObserved: (actor: LockedActor) => boolean
  /** Called when a change may have left rows to delete. */
  readonly deleteRemoved: (actorId: string) => void
}

/** An append that passed its checks. */
interface Append {
  readonly name: string
  readonly item: JsonText
  /** Whether a missing list is created. */
  readonly creates: boolean
}

type ListWork<T> = (
  tx: Transaction,
  at: list.ListAddress,
  now: number,
) => Promise<{ changes: readonly list.ListChange[]; result: T }>

export class ListWriter {
  readonly #deps: ListWriterDeps
  /** Appends to the same list, with the position of the first one. */
  readonly #sharedAppends: SharedChanges<Append, number>

  constructor(deps: ListWriterDeps) {
    this.#deps = deps
    const { writer, declared, now, isObserved } = deps
    this.#sharedAppends = new SharedChanges({
      writer,
      isObserved,
      async store(tx, record, actor, appends) {
        const [{ given, access }] = appends
        const at = declared.of(access.actor).addressOf(actor.id, given.name)
        await declared.of(access.actor).ensureList(tx, at, now())
        if (given.creates) await list.createList(tx, at, {}, now())
        const items = appends.map(({ given: { item }, origin }) => ({ item, origin }))
        const changes = await list.appendEach(tx, at, items, now())
        for (const [n, change] of changes.entries())
          await record(listDiff(given.name, change), appends[n]?.access.caller ?? access.caller)
        return changes[0]?.index ?? 0
      },
    })
  }

  #addressOf({ actor }: Access, name: string): list.ListAddress {
    return this.#deps.declared.of(actor).addressOf(actor.id, name)
  }

  /** Creates the list, or changes its texts when it exists. True when it is new. */
  async create(access: Access, name: string, texts: list.ListTexts, { expected }: Expected = {}): Promise<boolean> {
    this.#deps.declared.of(access.actor).requireList(name)
    await this.#runHooks(access, 'post', [name], known('[]'))
    return this.#change(access, name, async (tx, at, now) => {
      await this.#deps.versions.require(tx, access.actor, name, { whole: expected })
      const { isNew, change } = await list.makeList(tx, at, texts, now)
      return { changes: [change], result: isNew }
    })
  }

  /** Sets the texts. @param expected `PropertyVersion.texts` of the texts to replace. */
  async setTexts(access: Access, name: string, texts: list.ListTexts, { expected }: Expected = {}): Promise<void> {
    const given = known(JSON.stringify(texts))
    const passed = await this.#runHooks(access, 'put', [name, 'metadata'], given)
    const kept = passed === given ? texts : readTexts(members(passed) ?? new Map())
    await this.#changeOne(access, name, async (tx, at, now) => {
      await this.#deps.versions.require(tx, access.actor, name, { texts: expected })
      return list.setMetadata(tx, at, kept, now)
    })
  }

  /** Appends an item and returns it as stored, after the hooks. `create` creates a missing list. */
  async append(
    access: Access,
    name: string,
    given: JsonText,
    options: { create?: boolean } = {},
  ): Promise<list.IndexedItem> {
    const right = rightToAdd(options)
    const item = await this.#runItemHooks(access, 'post', [name], given, right)
    if (access.condition === undefined) {
      await this.#require(access, right, name)
      return { index: await this.#appendShared(access, { name, item, creates: options.create === true }), item }
    }
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

  async #appendShared(access: Access, append: Append): Promise<number> {
    const key = JSON.stringify([access.actor.id, append.name, append.creates])
    const { result, place } = await this.#sharedAppends.add(key, access, append, append.item.length)
    return result + place
  }

  /** Appends items together and returns the length after them; null without items. `create` creates a missing list. */
  async extend(
    access: Access,
    name: string,
    given: readonly JsonText[],
    options: { create?: boolean } = {},
  ): Promise<number | null> {
    const right = rightToAdd(options)
    await this.#require(access, right, name)
    const items: JsonText[] = []
    for (const item of given) items.push(await this.#runItemHooks(access, 'post', [name], item, right))
    const change = await this.#changeOne(
      access,
      name,
      async (tx, at, now) => {
        if (options.create === true) await list.createList(tx, at, {}, now)
        return list.extend(tx, at, items, now)
      },
      right,
    )
    return change?.length ?? null
  }

  /** Inserts an item. False when `index` is beyond the end. */
  async insert(
    access: Access,
    name: string,
    index: number,
    given: JsonText,
    options: { create?: boolean } = {},
  ): Promise<boolean> {
    const path = [name, String(index)]
    const item = await this.#runItemHooks(access, 'post', path, given)
    const change = await this.#changeOne(access, name, async (tx, at, now) => {
      const isNew = options.create === true && (await list.createList(tx, at, {}, now))
      const inserted = await list.insert(tx, at, index, item, now)
      // The error rolls back the creation of the list.
      if (inserted === null && isNew)
        throw new ServiceError('invalid_index', `List ${JSON.stringify(name)} has no item ${index}`)
      return inserted
    })
    return change !== null
  }

  /** Replaces an item. With `orAppend`, an index equal to the length appends. False for an index beyond the end. */
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
    const item = this.#fit(
      access,
      [name, String(position)],
      await this.#deps.hooks.runWriteHooks(access, 'put', [name, String(position)], given),
    )
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

  /** False for a caller that may append to the list but not replace its items. */
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
   * Checks the indexes of a caller that may only append, before any hooks run.
   *
   * @throws ServiceError `forbidden` when an index is the position of an existing item.
   */
  async requireBehindLast(access: Access, name: string, indexes: readonly number[]): Promise<void> {
    const metadata = await this.#deps.store.read((q) => list.readMetadata(q, this.#addressOf(access, name)))
    if (indexes.some((index) => index < (metadata?.length ?? 0))) throw onlyAdding(access, name)
  }

  /** Deletes one item. False when it does not exist. */
  async deleteItem(access: Access, name: string, index: number, options: { fromEnd?: boolean } = {}): Promise<boolean> {
    const position = await this.#runItemDeleteHooks(access, name, index, options)
    return (
      (await this.#changeOne(access, name, (tx, at, now) => list.deleteItemAt(tx, at, position, now, options))) !== null
    )
  }

  /** Removes and returns one item. Null when it does not exist. */
  async pop(access: Access, name: string, index = -1): Promise<JsonText | null> {
    const position = await this.#runItemDeleteHooks(access, name, index, { fromEnd: true })
    const change = await this.#changeOne(access, name, (tx, at, now) => list.pop(tx, at, now, position))
    return change?.item ?? null
  }

  async clear(access: Access, name: string): Promise<void> {
    await this.#require(access, 'write', name)
    await this.#deps.hooks.runListDeleteHooks(access, name)
    await this.#changeOne(access, name, (tx, at, now) => list.clear(tx, at, now))
    this.#deps.deleteRemoved(access.actor.id)
  }

  /** Removes the list itself. False when it does not exist. */
  async remove(access: Access, name: string, { expected }: Expected = {}): Promise<boolean> {
    await this.#require(access, 'delete', name)
    await this.#deps.hooks.runListDeleteHooks(access, name)
    const removal = await this.#changeOne(
      access,
      name,
      async (tx, at) => {
        await this.#deps.versions.require(tx, access.actor, name, { whole: expected })
        return list.deleteList(tx, at)
      },
      'delete',
    )
    if (removal !== null) this.#deps.deleteRemoved(access.actor.id)
    return removal !== null
  }

  async updateByHandle(access: Access, name: string, handle: string, given: JsonText): Promise<boolean> {
    await this.#require(access, 'write', name)
    let item = this.#deps.declared.of(access.actor).fitItem([name], given)
    if (!this.#deps.hooks.hasNoHooks(access, 'put', name)) {
      const found = await this.#deps.store.snapshot((q) => list.findByHandle(q, this.#addressOf(access, name), handle))
      if (found === null) return false
      const path = [name, String(found.index)]
      item = this.#fit(access, path, await this.#deps.hooks.runWriteHooks(access, 'put', path, given))
    }
    return (
      (await this.#changeMany(access, name, (tx, at, now) => list.updateByHandles(tx, at, [[handle, item]], now))) > 0
    )
  }

  /**
   * Moves an item, as a removal and an insertion. Returns false when it was removed meanwhile, or changed while it moved.
   *
   * @param to Position after the move, counted from 0.
   * @throws ServiceError `invalid_index` when `to` is beyond the end.
   */
  async move(access: Access, name: string, handle: string, to: number): Promise<boolean> {
    await this.#require(access, 'write', name)
    const found = await this.#deps.store.snapshot((q) => list.locate(q, this.#addressOf(access, name), handle))
    if (found === null) return false
    const { hooks } = this.#deps
    await hooks.runDeleteHooks(access, [name, String(found.index)], found.item)
    const path = [name, String(to)]
    const item = this.#fit(access, path, await hooks.runWriteHooks(access, 'post', path, found.item))
    return this.#change(access, name, async (tx, at, now) => {
      const removed = await list.deleteByHandles(tx, at, [found.handle], now)
      if (removed.length === 0) return { changes: [], result: false }
      const inserted = await list.insert(tx, at, to, item, now)
      // The error rolls back the removal.
      if (inserted === null) throw new ServiceError('invalid_index', `List ${quote([name])} has no position ${to}`)
      return { changes: [...removed, inserted], result: true }
    })
  }

  async deleteByHandle(access: Access, name: string, handle: string): Promise<boolean> {
    await this.#require(access, 'write', name)
    if (!this.#deps.hooks.hasNoHooks(access, 'delete', name)) {
      const found = await this.#deps.store.snapshot((q) => list.findByHandle(q, this.#addressOf(access, name), handle))
      if (found === null) return false
      await this.#deps.hooks.runDeleteHooks(access, [name, String(found.index)], found.item)
    }
    return (await this.#changeMany(access, name, (tx, at, now) => list.deleteByHandles(tx, at, [handle], now))) > 0
  }

  /** Replaces matching items and returns their number. A long list is changed in one transaction per page. */
  async updateWhere(access: Access, name: string, match: list.ItemMatch, given: JsonText): Promise<number> {
    const { hooks } = this.#deps
    if (hooks.hasNoHooks(access, 'put', name) && (await this.#isShort(access, name))) {
      const item = this.#fit(access, [name], given)
      return this.#changeMany(access, name, (tx, at, now) => list.updateWhere(tx, at, match, item, now))
    }
    return this.#changeMatches(access, name, match, async (matches) => {
      const updates: (readonly [handle: string, item: JsonText])[] = []
      for (const { index, handle } of matches) {
        const path = [name, String(index)]
        updates.push([handle, this.#fit(access, path, await hooks.runWriteHooks(access, 'put', path, given))])
      }
      return (tx, at, now) => list.updateByHandles(tx, at, updates, now)
    })
  }

  /** Removes matching items and returns their number. A long list is changed in one transaction per page. */
  async removeWhere(access: Access, name: string, match: list.ItemMatch): Promise<number> {
    const { hooks } = this.#deps
    if (hooks.hasNoHooks(access, 'delete', name) && (await this.#isShort(access, name))) {
      return this.#changeMany(access, name, (tx, at, now) => list.removeWhere(tx, at, match, now))
    }
    return this.#changeMatches(access, name, match, async (matches) => {
      for (const { index, item } of matches) await hooks.runDeleteHooks(access, [name, String(index)], item)
      const handles = matches.map(({ handle }) => handle)
      return (tx, at, now) => list.deleteByHandles(tx, at, handles, now)
    })
  }

  async #isShort(access: Access, name: string): Promise<boolean> {
    const facts = await this.#deps.store.read((q) => list.readFacts(q, this.#addressOf(access, name)))
    return facts === null || list.isShort(facts)
  }

  /** Changes matching items page by page. Handles ensure that the items that change are those that the hooks saw. */
  async #changeMatches(
    access: Access,
    name: string,
    { field, value, firstOnly = false }: list.ItemMatch,
    prepare: (matches: readonly list.ItemWithHandle[]) => Promise<ChangeWork>,
  ): Promise<number> {
    await this.#require(access, 'write', name)
    let changed = 0
    let isThere = false
    for await (const { from, rows, listId } of list.scanPages(this.#deps.store, this.#addressOf(access, name))) {
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

  /** Runs the hooks for each entry of a bulk update before anything is stored. The caller has checked the right. */
  async runBulkHooks(access: Access, name: string, entries: readonly list.BulkEntry[]): Promise<list.BulkEntry[]> {
    const { hooks } = this.#deps
    const passed: list.BulkEntry[] = []
    for (const { index, item } of entries) {
      const path = [name, String(index)]
      const value = item === null ? null : this.#fit(access, path, await hooks.runWriteHooks(access, 'put', path, item))
      passed.push({ index, item: value })
    }
    // Deletions take effect after all updates, so their hooks run last.
    const deleted = entries.filter(({ item }) => item === null).map(({ index }) => index)
    await hooks.runItemsDeleteHooks(access, name, deleted)
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
    return this.#deps.writer.change(access, async (tx, record) => {
      const at = this.#addressOf(access, name)
      if (right !== 'delete') await this.#deps.declared.of(access.actor).ensureList(tx, at, this.#deps.now())
      const { changes, result } = await work(tx, at, this.#deps.now())
      recordAll(record, name, changes)
      return result
    })
  }

  /** Requires a right on the list, because positions have no rights. Changing an item needs `write`, adding one `append`. */
  #require(access: Access, right: Right, name: string): Promise<void> | undefined {
    return requireRight(this.#deps.permission, access, right, [name])
  }

  /** Runs the hooks for a deletion and returns the position that they saw. */
  async #runItemDeleteHooks(
    access: Access,
    name: string,
    index: number,
    options: { fromEnd?: boolean },
  ): Promise<number> {
    await this.#require(access, 'write', name)
    const position = await this.#deps.hooks.positionOf(access, 'delete', name, index)
    await this.#deps.hooks.runItemDeleteHooks(access, name, position, options)
    return position
  }

  async #runItemHooks(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    given: JsonText,
    right?: Right,
  ): Promise<JsonText> {
    return this.#fit(access, path, await this.#runHooks(access, operation, path, given, right))
  }

  #fit({ actor }: Access, path: readonly string[], item: JsonText): JsonText {
    return this.#deps.declared.of(actor).fitItem(path, item)
  }

  async #runHooks(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
    right: Right = 'write',
  ): Promise<JsonText> {
    await this.#require(access, right, path[0] ?? '')
    return this.#deps.hooks.runWriteHooks(access, operation, path, value)
  }
}

/** Creating a list needs `write`; adding to a list needs only `append`. */
function rightToAdd({ create }: { readonly create?: boolean }): Right {
  return create === true ? 'write' : 'append'
}

/**
 * Rejects changes other than appends inside the transaction, for a caller that may only append.
 *
 * @throws ServiceError `forbidden`
 */
export function requireOnlyAdded(access: Access, name: string, changes: readonly list.ListChange[]): void {
  if (changes.some(({ operation }) => operation !== 'append')) throw onlyAdding(access, name)
}

function onlyAdding({ caller }: Access, name: string): ServiceError {
  const operation = { category: 'properties', right: 'write', target: name } as const
  return refusal(caller, operation, { allowed: false, reason: 'it may add items, but not change them' })
}

type ChangeWork = (tx: Transaction, at: list.ListAddress, now: number) => Promise<list.ListChange[]>

export function recordAll(record: RecordChange, name: string, changes: readonly list.ListChange[]): void {
  for (const change of changes) record(listDiff(name, change))
}
