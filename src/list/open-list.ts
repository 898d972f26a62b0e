/** A list in one transaction: its head and the loaded nodes of its order. `save` writes all changes. */
import { isTemporary, ServiceError } from '../errors.ts'
import { type JsonText, pythonLength } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { fieldKey } from './index-key.ts'
import { deleteAllIndexed, deleteIndexed, everyItem, findMarks, insertIndexed, setMark } from './index-store.ts'
import { type ListAddress, versionOf } from './list-address.ts'
import { canBeKept, checksumOfItem, clearingSteps, type ListStep, stepsOf } from './steps/list-steps.ts'
import { damagedList } from './list-damage.ts'
import { type ListHead, type ListMetadata, metadataOf, readHeadText, writeHeadText } from './list-head.ts'
import {
  currentItems,
  deleteAllItems,
  deleteAllNodes,
  deleteItems,
  deleteNodes,
  findAllItems,
  findAllNodes,
  findItems,
  findNamed,
  findNodes,
  findSmallItems,
  insertItems,
  markRemoved,
  rowText,
  saveNodes,
  updateHead,
  updateItems,
  updateUpgradedItems,
  type NewItem,
  type SizedItem,
  type StoredItem,
} from './list-store.ts'
import type { Span } from './order-branch.ts'
import { OrderTree, type StoredNode } from './order-tree.ts'

/** The most items that one statement deletes. The trigger in migration 0001 has the same number. */
const maxClearedAtOnce = 2048

export class OpenList {
  readonly address: ListAddress
  readonly id: string
  readonly order: OrderTree
  readonly queries: Queries
  readonly #head: ListHead
  /** The version of the row: no item behind the marks of the indexes is older. */
  readonly version: number
  #nextItem: number

  private constructor(q: Queries, address: ListAddress, head: ListHead, version: number) {
    this.address = address
    this.id = head.id
    this.order = new OrderTree(address.list, head.root, head.nextNode)
    this.#head = head
    this.version = version
    this.queries = q
    this.#nextItem = head.nextItem
  }

  /** The list with this name. Null when it does not exist. @throws ServiceError `list_corrupted` */
  static async find(q: Queries, address: ListAddress): Promise<OpenList | null> {
    const row = await findNamed(q, address)
    if (row?.kind !== 'list') return null
    return new OpenList(q, address, readHeadText(address.list, row.value), row.version)
  }

  /** @throws ServiceError `not_found`, `list_corrupted` */
  static async require(q: Queries, address: ListAddress): Promise<OpenList> {
    const list = await OpenList.find(q, address)
    if (list === null) throw new ServiceError('not_found', `The list ${JSON.stringify(address.list)} does not exist`)
    return list
  }

  get length(): number {
    return this.order.length
  }

  /** `total_bytes` of the items. Null when the service never counted them. */
  get bytes(): number | null {
    return this.#head.bytes
  }

  get metadata(): ListMetadata {
    return metadataOf(this.#head)
  }

  /** Changes with every insertion and deletion, but not with updates. */
  get orderVersion(): string {
    return `${this.id} ${this.#head.nextItem} ${this.length}`
  }

  newItem(): number {
    return this.#nextItem++
  }

  /** Loads the nodes for these positions, by at most two statements. */
  async load(spans: readonly Span[], shrinking = false): Promise<void> {
    this.order.giveMids(await findNodes(this.queries, this.address, this.order.midsFor(spans, shrinking)))
    this.order.giveLeaves(await findNodes(this.queries, this.address, this.order.leavesFor(spans, shrinking)))
  }

  /** Loads the whole order and returns all items, by two statements. */
  async loadAll(): Promise<readonly StoredItem[]> {
    const { actorId, list } = this.address
    const { firstNode, firstItem } = this.#head
    const [nodes, items] = await Promise.all([
      findAllNodes(this.queries, actorId, [list], firstNode),
      findAllItems(this.queries, actorId, [list], firstItem),
    ])
    return currentItems(this.address, arrange(list, this.order, this.#nextItem, nodes, items))
  }

  /** The items at these loaded positions, in order. */
  async items(span: Span): Promise<readonly StoredItem[]> {
    return this.itemsOf(this.order.items(span))
  }

  async item(index: number): Promise<StoredItem> {
    const [item] = await this.itemsOf([this.order.at(index)])
    if (item === undefined) throw damagedList(this.address.list, `position ${index} is empty`)
    return item
  }

  /** The items with these numbers, in the same order. */
  async itemsOf(items: readonly number[]): Promise<readonly StoredItem[]> {
    return inOrder(this.address.list, items, await findItems(this.queries, this.address, items))
  }

  /** The first of the items at these positions that fit into `maxBytes`, but at least one. */
  async itemsUpTo(span: Span, maxBytes: number): Promise<StoredItem[]> {
    return this.numberedUpTo(this.order.items(span), maxBytes)
  }

  /** The first of the items with these numbers that fit into `maxBytes`, but at least one. */
  async numberedUpTo(numbers: readonly number[], maxBytes: number): Promise<StoredItem[]> {
    const { list } = this.address
    const sized = inOrder(list, numbers, await findSmallItems(this.queries, this.address, numbers))
    const kept: SizedItem[] = []
    let bytes = 0
    for (const item of sized) {
      bytes += item.bytes
      if (kept.length > 0 && bytes > maxBytes) break
      kept.push(item)
    }
    const large = kept.filter(({ small }) => small === null).map(({ item }) => item)
    const read = new Map((await findItems(this.queries, this.address, large)).map((item) => [item.item, item]))
    return kept.map(({ item, small }) => {
      const whole = small ?? read.get(item)
      if (whole === undefined) throw damagedList(list, `item ${item} is missing`)
      return whole
    })
  }

  /**
   * Writes the items, the changed nodes of the order, and the head. The statements run concurrently; the transaction
   * fails when one of them fails.
   */
  async save(tx: Transaction, nowMs: number, items: ItemChanges = {}, texts: ListTexts = {}): Promise<void> {
    const { root, nextNode, changed, removed } = this.order.unsaved()
    const { insert = [], update = [], delete: deleted = [] } = items
    const added = insert.map(([, value]) => value)
    const bytes = this.#bytesAfter(
      [...added, ...update.map(([, value]) => value)],
      [...update.map(([old]) => rowText(old)), ...deleted.map(rowText)],
    )
    await Promise.all([
      updateItems(
        tx,
        this.address,
        update.map(([{ item }, value]) => [item, value]),
      ),
      deleteItems(
        tx,
        this.address,
        deleted.map(({ item }) => item),
      ),
      insertItems(tx, this.address, insert),
      saveNodes(tx, this.address, changed),
      deleteNodes(tx, this.address, removed),
      this.#saveHead(tx, nowMs, { ...texts, root, nextNode, bytes }, insert.at(-1)?.[2]),
      this.#saveIndexes(tx, items),
      this.#keepChange(tx, items, texts),
    ])
    const [first] = insert
    if (first !== undefined && versionOf(this.address) < this.version) await this.#markOlder(tx, first[0])
  }

  async #keepChange(tx: Transaction, items: ItemChanges, texts: ListTexts): Promise<void> {
    if (this.address.history === undefined) return
    const { insert = [], update = [], delete: removed = [], passing = [] } = items
    const { description, explanation } = this.#head
    const isRetitled =
      (texts.description ?? description) !== description || (texts.explanation ?? explanation) !== explanation
    const steps = stepsOf({
      moves: this.order.moves,
      inserted: new Map([
        ...insert.map(([item, value]) => [item, value] as const),
        ...passing.map(({ item, value }) => [item, value] as const),
      ]),
      updated: update.filter(([old, value]) => old.value !== value),
      positionOf: (item) => this.order.positionOf(item) ?? 0,
      removed: [...removed, ...passing],
      texts: isRetitled ? { description, explanation } : null,
    })
    const origins = new Set(insert.map(([, , origin]) => origin))
    // Items of several callers are added together. Each caller has its own entry.
    const isShared = steps !== null && origins.size > 1
    await this.#keep(
      tx,
      isShared
        ? insert.map(([row, item, origin], n) => ({
            steps: [
              { kind: 'insert', row, index: this.length - insert.length + n, after: [checksumOfItem(item)] } as const,
            ],
            origin,
          }))
        : [{ steps, origin: insert[0]?.[2] }],
    )
  }

  async #keep(
    tx: Transaction,
    changes: readonly { readonly steps: readonly ListStep[] | null; readonly origin?: string | undefined }[],
  ): Promise<void> {
    const { actorId, list, history } = this.address
    const kept = changes.filter(({ steps }) => steps?.length !== 0)
    if (history === undefined || kept.length === 0) return
    const facts = { list, listId: this.id, version: versionOf(this.address) }
    await history.keep(
      tx,
      actorId,
      kept.map((change) => ({ ...facts, ...change })),
    )
  }

  /** A newer release must upgrade the items that this release has added, from this number on. */
  async #markOlder(tx: Transaction, item: number): Promise<void> {
    const fields = [everyItem, ...this.#head.indexes]
    const marks = await findMarks(tx, this.address, fields)
    for (const field of fields) {
      if (!marks.has(field)) await setMark(tx, this.address, field, item)
    }
  }

  async #saveIndexes(tx: Transaction, { insert = [], update = [], delete: deleted = [] }: ItemChanges): Promise<void> {
    const { indexes } = this.#head
    if (indexes.length === 0) return
    const moved = update.filter(
      ([old, value]) =>
        old.older !== undefined || indexes.some((field) => fieldKey(old.value, field) !== fieldKey(value, field)),
    )
    const gone = [...moved.map(([{ item }]) => item), ...deleted.map(({ item }) => item)]
    await deleteIndexed(tx, this.address, gone)
    const added = [...insert, ...moved.map(([{ item }, value]) => [item, value] as const)]
    await insertIndexed(tx, this.address, indexes, added)
  }

  /** @throws ServiceError `newer_data` when an item may be newer than the declaration. */
  requireReadable(): void {
    this.address.format?.requireReadable(this.#head.newestVersion)
  }

  /** The indexed fields, complete or not. */
  get indexes(): readonly string[] {
    return this.#head.indexes
  }

  get nextItem(): number {
    return this.#nextItem
  }

  get firstItem(): number {
    return this.#head.firstItem
  }

  /** Maintains indexes of these fields too from now on, with items of the declared version. */
  async addIndexes(tx: Transaction, fields: readonly string[]): Promise<void> {
    const indexes = [...this.#head.indexes, ...fields]
    const head = writeHeadText({ ...this.#head, indexes, newestVersion: versionOf(this.address) })
    await updateHead(tx, this.address, head, versionOf(this.address))
  }

  /** Writes back items that were upgraded when they were read. Callers see no change. */
  async saveUpgraded(tx: Transaction, items: readonly StoredItem[]): Promise<void> {
    const older = items.filter((item) => item.older !== undefined)
    if (older.length === 0) return
    const values = older.map(({ item, value }) => [item, value] as const)
    const bytes = this.#bytesAfter(
      values.map(([, value]) => value),
      older.map(rowText),
    )
    await updateUpgradedItems(tx, this.address, values)
    await updateHead(tx, this.address, writeHeadText({ ...this.#head, bytes }), this.version)
    if (this.#head.indexes.length === 0) return
    await deleteIndexed(
      tx,
      this.address,
      values.map(([item]) => item),
    )
    await insertIndexed(tx, this.address, this.#head.indexes, values)
  }

  #bytesAfter(added: readonly JsonText[], removed: readonly JsonText[]): number | null {
    if (this.#head.bytes === null) return null
    const bytes = this.#head.bytes + sizeOf(added) - sizeOf(removed)
    return bytes < 0 ? null : bytes
  }

  /** Removes every item and the whole order. `RemovedLists` deletes the rows of a long list later. */
  async clear(tx: Transaction, nowMs: number): Promise<void> {
    if (this.address.history !== undefined) {
      const isKept = canBeKept(this.length, this.bytes ?? 0)
      await this.#keep(tx, [
        { steps: isKept ? await readableOrNull(async () => clearingSteps(await this.loadAll())) : null },
      ])
    }
    if (this.length > maxClearedAtOnce) {
      const { nextItem, nextNode } = this.#head
      await Promise.all([
        markRemoved(tx, this.address, { lastItem: nextItem - 1, lastNode: nextNode - 1 }),
        this.#saveHead(tx, nowMs, { root: [], bytes: 0, firstItem: nextItem, firstNode: nextNode }),
      ])
      return
    }
    const [deleted, nodes] = await Promise.all([
      deleteAllItems(tx, this.address, this.#head.firstItem),
      deleteAllNodes(tx, this.address, this.#head.firstNode),
      this.#saveHead(tx, nowMs, { root: [], bytes: 0 }),
      this.#head.indexes.length === 0 ? undefined : deleteAllIndexed(tx, this.address),
    ])
    if (deleted !== this.length) {
      throw damagedList(this.address.list, `it has ${deleted} items, but the head counts ${this.length}`)
    }
    // Every mid has at least one leaf.
    if (nodes < 2 * this.#head.root.length) throw damagedList(this.address.list, 'nodes of its order are missing')
  }

  async #saveHead(tx: Transaction, nowMs: number, changes: Partial<ListHead>, origin?: string): Promise<void> {
    // The time never decreases, even when the clock was set back.
    const updatedAt = new Date(Math.max(nowMs, Date.parse(this.#head.updatedAt))).toISOString()
    await updateHead(
      tx,
      this.address,
      writeHeadText({
        ...this.#head,
        ...changes,
        nextItem: this.#nextItem,
        updatedAt,
        revision: this.#head.revision + 1,
        newestVersion: Math.max(this.#head.newestVersion, versionOf(this.address)),
      }),
      this.version,
      origin,
    )
  }
}

export interface ItemChanges {
  readonly insert?: readonly NewItem[]
  readonly update?: readonly (readonly [old: StoredItem, value: JsonText])[]
  readonly delete?: readonly StoredItem[]
  /** Items that the change inserts and removes again. */
  readonly passing?: readonly StoredItem[]
}

export interface ListTexts {
  readonly description?: string
  readonly explanation?: string
}

/**
 * Sorts all items of a list by its order, given all its rows.
 *
 * @throws ServiceError `list_corrupted` when rows are missing, or are not in the order.
 */
export function arrange<R extends { readonly item: number }>(
  list: string,
  order: OrderTree,
  nextItem: number,
  nodes: readonly StoredNode[],
  items: readonly R[],
): readonly R[] {
  order.giveMids(givenFor(order.midsFor([order.all]), nodes))
  order.giveLeaves(givenFor(order.leavesFor([order.all]), nodes))
  if (nodes.length > order.nodeCount) throw damagedList(list, 'nodes are not in the order')
  if (items.length > order.length) throw damagedList(list, 'items are not in the order')
  if (items.some((row) => row.item >= nextItem)) throw damagedList(list, 'an item has a number that was never assigned')
  return inOrder(list, order.items(order.all), items)
}

/** The rows of the wanted nodes. The filter keeps nodes of one level from being used at the other level. */
function givenFor(wanted: readonly number[], nodes: readonly StoredNode[]): StoredNode[] {
  const names = new Set(wanted)
  return nodes.filter(({ node }) => names.has(node))
}

/** Null for a damaged list, which can be removed but not be put back. */
export async function readableOrNull<T>(read: () => Promise<T> | T): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ServiceError && !isTemporary(error)) return null
    throw error
  }
}

function sizeOf(values: readonly JsonText[]): number {
  let bytes = 0
  for (const value of values) bytes += pythonLength(value)
  return bytes
}

/** The rows, each with a different number, sorted by these item numbers. @throws ServiceError `list_corrupted` */
export function inOrder<R extends { readonly item: number }>(
  list: string,
  items: readonly number[],
  rows: readonly R[],
): readonly R[] {
  // Items that were only appended are in the order of their numbers.
  if (items.length === rows.length && items.every((item, at) => item === rows[at]?.item)) return rows
  const found = new Map(rows.map((row) => [row.item, row]))
  if (new Set(items).size !== items.length) throw damagedList(list, 'an item occurs at two positions')
  return items.map((item) => {
    const row = found.get(item)
    if (row === undefined) throw damagedList(list, `item ${item} is missing`)
    return row
  })
}
