/**
 * A list in a transaction: the stored list with the changes of the transaction. Reads come from the stored list. Changes run
 * the hooks at once, and wait as steps for the commit.
 */
import { setImmediate } from 'node:timers/promises'
import { checkListName } from '../actor/property-name.ts'
import { ServiceError } from '../errors.ts'
import { array, type JsonText, known } from '../json/json.ts'
import { absent } from '../json/absent.ts'
import * as list from '../list/list.ts'
import type { Access } from '../property/access.ts'
import { nameIsTaken, quote } from '../property/property-errors.ts'
import type { DeclaredKinds } from '../property/declared-kinds.ts'
import type { ListHooks } from '../property/lists/list-hooks.ts'
import {
  countList,
  type ListSpan,
  type QueriedList,
  type QueriedPage,
  queryList,
} from '../property/lists/list-queries.ts'
import { recordAll } from '../property/lists/list-writer.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { TransactionEntry, TransactionStep } from './entry.ts'
import { ListPieces, type PiecePlace, type WrittenItem } from './list-pieces.ts'

/** The transaction of a list. */
export interface TransactionScope {
  readonly access: Access
  readonly hooks: ListHooks
  readonly declared: DeclaredKinds
  readonly listIndexes: Pick<list.ListIndexes, 'build'>
  /** Unix milliseconds. */
  readonly now: () => number
  /** The property of the name as the transaction sees it. */
  entry(name: string): Promise<TransactionEntry>
  /** Reads stored data. @throws OvertakenError when the property is no longer the one that the transaction has read. */
  readStored<T>(entry: TransactionEntry, work: (q: Queries) => Promise<T>): Promise<T>
  /** Adds a step of the commit. */
  push(step: TransactionStep): void
}

/** An item at a place of the list. */
interface Placed {
  readonly item: JsonText
  /** The position of the stored item and its row. Null for an item that is not stored yet. */
  readonly stored: { readonly position: number; readonly found: list.ItemRow } | null
}

interface TransactionPage {
  readonly placed: readonly Placed[]
  /** The items before the hooks of reads. */
  readonly raw: readonly list.IndexedItem[]
  /** The items after the hooks. */
  readonly items: readonly list.IndexedItem[]
}

type OpenEntry = TransactionEntry & { list: NonNullable<TransactionEntry['list']> }

export class TransactionList {
  readonly #scope: TransactionScope
  readonly #name: string

  constructor(scope: TransactionScope, name: string) {
    this.#scope = scope
    this.#name = name
  }

  /** Null when the list does not exist, or a hook hides it. */
  async metadata(): Promise<list.ListMetadata | null> {
    const metadata = metadataOf(await this.#entry())
    if (metadata === null) return null
    return (await this.#scope.hooks.showsFacts(this.#scope.access, this.#name, metadata)) ? metadata : null
  }

  /** Creates the list, or changes its texts when it exists. */
  async create(texts: list.ListTexts): Promise<void> {
    const entry = await this.#entry()
    const { access, declared, hooks } = this.#scope
    declared.of(this.#scope.access.actor).requireList(this.#name)
    await hooks.runWriteHooks(access, 'post', [this.#name], known('[]'))
    this.#requireFree(entry)
    entry.list ??= { pieces: new ListPieces(0), metadata: list.newListMetadata(this.#scope.now()) }
    const { description = entry.list.metadata.description, explanation = entry.list.metadata.explanation } = texts
    entry.list = { ...entry.list, metadata: { ...entry.list.metadata, description, explanation } }
    this.#push(async (tx, at, now) => [(await list.makeList(tx, at, texts, now)).change])
  }

  /** Adds the items at the end, and creates a missing list. Returns the index of the first one. */
  async extend(given: readonly JsonText[]): Promise<number> {
    const entry = await this.#entry()
    const items: JsonText[] = []
    for (const item of given) items.push(await this.#runHooks('post', [this.#name], item))
    const { pieces } = this.#made(entry)
    const index = pieces.length
    for (const item of items) pieces.insert(pieces.length, item)
    const [first] = items
    this.#push(async (tx, at, now) => {
      await list.createList(tx, at, {}, now)
      if (first === undefined) return []
      return only(items.length === 1 ? await list.append(tx, at, first, now) : await list.extend(tx, at, items, now))
    })
    return index
  }

  /** Inserts the item before the index, and creates a missing list. False when the index is beyond the end. */
  async insert(index: number, given: JsonText): Promise<boolean> {
    const entry = await this.#entry()
    const item = await this.#runHooks('post', [this.#name, String(index)], given)
    const position = list.resolveIndex(index, (entry.list?.pieces.length ?? 0) + 1, false)
    if (position === null) return false
    this.#made(entry).pieces.insert(position, item)
    this.#push(async (tx, at, now) => {
      await list.createList(tx, at, {}, now)
      return only(await list.insert(tx, at, position, item, now))
    })
    return true
  }

  /** Replaces an item. Negative indexes count from the end. False when the position does not exist. */
  async update(index: number, given: JsonText): Promise<boolean> {
    const entry = await this.#existing()
    const at = list.resolveIndex(index, entry.list.pieces.length, true)
    const item = await this.#runHooks('put', [this.#name, String(at ?? index)], given)
    const position = list.resolveIndex(at ?? index, entry.list.pieces.length, true)
    if (position === null) return false
    this.#replace(entry, position, item)
    return true
  }

  #replace(entry: OpenEntry, position: number, item: JsonText): void {
    entry.list.pieces.replace(position, item)
    this.#push(async (tx, at, now) => only(await list.update(tx, at, { index: position }, item, now)))
  }

  /** Removes an item and returns it. Negative indexes count from the end. Null when the position does not exist. */
  async remove(index: number, operation: 'delete' | 'pop'): Promise<JsonText | null> {
    const entry = operation === 'pop' ? await this.#openOrNull() : await this.#existing()
    const position = list.resolveIndex(index, entry?.list.pieces.length ?? 0, true)
    if (entry === null || position === null) return null
    const [{ item } = { item: absent }] = await this.#itemsAt(entry, entry.list.pieces.span(position, position + 1))
    await this.#scope.hooks.runDeleteHooks(this.#scope.access, [this.#name, String(position)], item)
    this.#takeOut(entry, position, operation)
    return item
  }

  #takeOut(entry: OpenEntry, position: number, operation: 'delete' | 'pop'): void {
    entry.list.pieces.remove(position)
    this.#push(async (tx, at, now) =>
      only(
        operation === 'pop' ? await list.pop(tx, at, now, position) : await list.deleteItemAt(tx, at, position, now),
      ),
    )
  }

  async clear(): Promise<void> {
    const entry = await this.#existing()
    await this.#runListDeleteHooks(entry)
    entry.list.pieces.clear()
    this.#push(async (tx, at, now) => [await list.clear(tx, at, now)], { leavesRows: true })
  }

  /** Deletes the list itself. False when it does not exist. */
  async delete(): Promise<boolean> {
    const entry = await this.#openOrNull()
    if (entry === null) return false
    await this.#runListDeleteHooks(entry)
    const open: TransactionEntry = entry
    open.list = null
    this.#push(async (tx, at) => only(await list.deleteList(tx, at)), { leavesRows: true, isRemoval: true })
    return true
  }

  /** Null when the position does not exist, or a hook hides the item. Negative indexes count from the end. */
  async get(index: number): Promise<JsonText | null> {
    const entry = await this.#openOrNull()
    const position = list.resolveIndex(index, entry?.list.pieces.length ?? 0, true)
    if (entry === null || position === null) return null
    const [found] = await this.#itemsAt(entry, entry.list.pieces.span(position, position + 1))
    if (found === undefined) return null
    return this.#scope.hooks.runReadHooks(this.#scope.access, [this.#name, String(position)], found.item)
  }

  /** Yields the items of the span page by page. The span refers to the list at the first page. */
  async *pages(from = 0, to: number | null = null): AsyncGenerator<readonly list.IndexedItem[]> {
    for await (const { items } of this.#pages(from, to)) yield items
  }

  /** The first matching items, at most `most`. */
  async find(match: list.ItemMatch): Promise<list.IndexedItem[]> {
    const found: list.IndexedItem[] = []
    for await (const { items } of this.#pages(0, null)) {
      found.push(...items.filter(({ item }) => list.holds(item, match.field, match.value)))
      if (match.firstOnly === true && found.length > 0) return found.slice(0, 1)
    }
    return found
  }

  /** Replaces matching items and returns their number. */
  async updateWhere(match: list.ItemMatch, given: JsonText): Promise<number> {
    const found = await this.#matches(match)
    for (const { index } of found) await this.update(index, given)
    return found.length
  }

  /** Removes matching items and returns their number. */
  async removeWhere(match: list.ItemMatch): Promise<number> {
    const found = await this.#matches(match)
    for (const { index } of found.toReversed()) await this.remove(index, 'delete')
    return found.length
  }

  /** Replaces the item of a handle. False when the item has changed since the handle was made. */
  async updateByHandle(handle: string, given: JsonText): Promise<boolean> {
    const position = await this.#positionOf(handle)
    return position !== null && this.update(position, given)
  }

  /** Removes the item of a handle. False when the item has changed since the handle was made. */
  async deleteByHandle(handle: string): Promise<boolean> {
    const position = await this.#positionOf(handle)
    return position !== null && (await this.remove(position, 'delete')) !== null
  }

  /** A page of matching items, with the changes of the transaction. @throws ServiceError as `queryList` */
  async query(asked: list.ItemQuery): Promise<list.FoundItems> {
    const entry = await this.#openOrNull()
    return entry === null ? { items: [], next: null } : queryList(await this.#queried(entry), asked)
  }

  /** The number of matching items, with the changes of the transaction. @throws ServiceError as `queryList` */
  async count(where: readonly list.FieldCondition[]): Promise<number> {
    const entry = await this.#openOrNull()
    return entry === null ? 0 : countList(await this.#queried(entry), where)
  }

  async #queried(entry: OpenEntry): Promise<QueriedList> {
    const { access, declared, hooks, listIndexes } = this.#scope
    const { pieces } = entry.list
    const written = pieces.written()
    const gone = await this.#numbersOfGone(entry, written)
    const base = entry.stored?.kind === 'list' ? list.nextItemOf(this.#name, entry.stored.content) : 1
    const numberOf = ({ origin }: WrittenItem): number =>
      'added' in origin ? base + origin.added : (gone.get(origin.stored) ?? origin.stored)
    const numbered = new Map(written.map((one) => [one.position, { ...one, number: numberOf(one) }]))
    return {
      name: this.#name,
      indexes: declared.of(this.#scope.access.actor).indexesOf(this.#name),
      hasNoHooks: hooks.hasNoHooks(access, 'get', this.#name),
      stored: (work) => this.#scope.readStored(entry, (q) => work(q, this.#address())),
      pages: (span) => this.#queriedPages(entry, numbered, span),
      build: (fields) => listIndexes.build(this.#address(), fields),
      pending: {
        length: pieces.length,
        hasStored: pieces.hasStored,
        gone: new Set(gone.values()),
        written: [...numbered.values()].map(({ item, write, number }) => ({
          item,
          handle: handleOfWrite(write),
          number,
        })),
      },
    }
  }

  /** The numbers of the stored items that the transaction replaced or removed, by position. */
  async #numbersOfGone(entry: OpenEntry, written: readonly WrittenItem[]): Promise<ReadonlyMap<number, number>> {
    const { pieces, metadata } = entry.list
    const positions = pieces.hasStored
      ? pieces.gone(metadata.length)
      : written.flatMap(({ origin }) => ('stored' in origin ? [origin.stored] : []))
    if (positions.length === 0) return new Map()
    const rows = await this.#scope.readStored(entry, (q) => list.readRowsAt(q, this.#address(), positions))
    return new Map([...rows].map(([position, { row }]) => [position, row.item]))
  }

  async *#queriedPages(
    entry: OpenEntry,
    numbered: ReadonlyMap<number, WrittenItem & { readonly number: number }>,
    { from, to }: ListSpan = { from: 0, to: null },
  ): AsyncGenerator<QueriedPage> {
    const metadata = { ...entry.list.metadata, length: entry.list.pieces.length }
    for await (const { placed, raw, items } of this.#pages(from, to)) {
      const first = raw[0]?.index ?? from
      yield {
        items,
        from: first,
        positions: raw.length,
        metadata,
        handleAt(index) {
          const stored = placed[index - first]?.stored ?? null
          if (stored !== null) return list.handleOf(stored.found.listId, stored.found.row, stored.position)
          const written = numbered.get(index)
          return written === undefined ? '' : handleOfWrite(written.write)
        },
        numberAt: (index) => placed[index - first]?.stored?.found.row.item ?? numbered.get(index)?.number ?? 0,
      }
    }
  }

  async #positionOf(handle: string): Promise<number | null> {
    const entry = await this.#openOrNull()
    const write = writeOfHandle(handle)
    if (write !== null) return entry?.list.pieces.positionOfWrite(write) ?? null
    if (entry === null || entry.stored?.kind !== 'list') return null
    const found = await this.#scope.readStored(entry, (q) => list.findByHandle(q, this.#address(), handle))
    return found === null ? null : entry.list.pieces.positionOf(found.index)
  }

  /** The matching items as they are stored or written, without the hooks of reads. */
  async #matches({ field, value, firstOnly = false }: list.ItemMatch): Promise<list.IndexedItem[]> {
    await this.#existing()
    const found: list.IndexedItem[] = []
    for await (const { raw } of this.#pages(0, null)) {
      found.push(...raw.filter(({ item }) => list.holds(item, field, value)))
      if (firstOnly && found.length > 0) return found.slice(0, 1)
    }
    return found
  }

  async *#pages(from: number, to: number | null): AsyncGenerator<TransactionPage> {
    const entry = await this.#openOrNull()
    if (entry === null) return
    const { pieces } = entry.list
    const end = Math.min(to ?? pieces.length, pieces.length)
    let next = Math.max(0, from)
    do {
      if (next > 0) await setImmediate()
      const pageEnd = Math.min(next + list.pageItems, end)
      const placed = await this.#itemsAt(entry, pieces.span(next, pageEnd))
      const raw = placed.map(({ item }, offset) => ({ index: next + offset, item }))
      const items = await this.#scope.hooks.runItemHooks(this.#scope.access, this.#name, raw)
      // A hook hides the list from this page onwards.
      if (items === null) return
      yield { placed, raw, items }
      next = pageEnd
    } while (next < end)
  }

  async #itemsAt(entry: TransactionEntry, places: readonly PiecePlace[]): Promise<Placed[]> {
    const positions = places.flatMap((place) => ('stored' in place ? [place.stored] : []))
    const rows =
      positions.length === 0
        ? new Map<number, list.ItemRow>()
        : await this.#scope.readStored(entry, (q) => list.readRowsAt(q, this.#address(), positions))
    return places.flatMap((place): Placed[] => {
      if ('item' in place) return [{ item: place.item, stored: null }]
      const found = rows.get(place.stored)
      return found === undefined ? [] : [{ item: found.row.value, stored: { position: place.stored, found } }]
    })
  }

  async #runListDeleteHooks(entry: OpenEntry): Promise<void> {
    const { hooks, access } = this.#scope
    if (hooks.hasNoHooks(access, 'delete', this.#name)) return
    const metadata = metadataOf(entry)
    const { length } = entry.list.pieces
    const isShort = length <= list.pageItems
    const value =
      metadata !== null && !isShort
        ? list.factsOf(metadata)
        : array((await this.#itemsAt(entry, entry.list.pieces.span(0, length))).map(({ item }) => item))
    await hooks.runDeleteHooks(access, [this.#name], value)
  }

  #entry(): Promise<TransactionEntry> {
    return this.#scope.entry(this.#name)
  }

  async #openOrNull(): Promise<OpenEntry | null> {
    const entry = await this.#entry()
    return isOpenEntry(entry) ? entry : null
  }

  /** @throws ServiceError `not_found` */
  async #existing(): Promise<OpenEntry> {
    const entry = await this.#openOrNull()
    if (entry === null) throw new ServiceError('not_found', `The list ${quote([this.#name])} does not exist`)
    return entry
  }

  /** The list, which is created when it does not exist. */
  #made(entry: TransactionEntry): OpenEntry['list'] {
    this.#requireFree(entry)
    entry.list ??= { pieces: new ListPieces(0), metadata: list.newListMetadata(this.#scope.now()) }
    return entry.list
  }

  #requireFree(entry: TransactionEntry): void {
    checkListName(this.#name)
    if (entry.value !== null) throw nameIsTaken(this.#name, 'value')
  }

  async #runHooks(operation: 'put' | 'post', path: readonly string[], given: JsonText): Promise<JsonText> {
    const { access, declared, hooks } = this.#scope
    return declared
      .of(this.#scope.access.actor)
      .fitItem(path, await hooks.runWriteHooks(access, operation, path, given))
  }

  #push(
    work: (tx: Transaction, at: list.ListAddress, now: number) => Promise<readonly list.ListChange[]>,
    { leavesRows = false, isRemoval = false }: { readonly leavesRows?: boolean; readonly isRemoval?: boolean } = {},
  ): void {
    const { declared, now } = this.#scope
    this.#scope.push({
      leavesRows,
      run: async (tx, record) => {
        if (!isRemoval) await declared.of(this.#scope.access.actor).ensureList(tx, this.#address(), now())
        recordAll(record, this.#name, await work(tx, this.#address(), now()))
      },
    })
  }

  #address(): list.ListAddress {
    return this.#scope.declared.of(this.#scope.access.actor).addressOf(this.#scope.access.actor.id, this.#name)
  }
}

/** The handle of an item that the transaction wrote. It is valid in this transaction. */
function handleOfWrite(write: number): string {
  return `written.${write}`
}

/** Null for the handle of a stored item. */
function writeOfHandle(handle: string): number | null {
  const [, write] = /^written\.([0-9]{1,16})$/.exec(handle) ?? []
  return write === undefined ? null : Number(write)
}

function isOpenEntry(entry: TransactionEntry): entry is OpenEntry {
  return entry.list !== null
}

function metadataOf({ list: open }: TransactionEntry): list.ListMetadata | null {
  return open === null ? null : { ...open.metadata, length: open.pieces.length }
}

/**
 * The change of a step. The commit has compared the stored list with the one that the transaction has read, so the change
 * always exists.
 */
function only(change: list.ListChange | null): list.ListChange[] {
  return change === null ? [] : [change]
}
