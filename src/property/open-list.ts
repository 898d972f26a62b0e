/** A list inside one transaction: its head and as much of its order as the work needs, saved as a whole. */
import { ServiceError } from '../errors.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { damagedList } from './list-damage.ts'
import { readHeadText, writeHeadText, type ListHead } from './list-head.ts'
import {
  deleteAllItems,
  deleteAllNodes,
  deleteItems,
  deleteNodes,
  findAllItems,
  findAllNodes,
  findItems,
  findNamed,
  findNodes,
  insertItems,
  saveNodes,
  updateHead,
  updateItems,
  type NewItem,
  type StoredItem,
} from './list-store.ts'
import type { Span } from './order-branch.ts'
import { OrderTree, type StoredNode } from './order-tree.ts'

export class OpenList {
  readonly address: ListAddress
  readonly id: string
  readonly order: OrderTree
  readonly #head: ListHead
  readonly #q: Queries
  #nextItem: number

  private constructor(q: Queries, address: ListAddress, head: ListHead) {
    this.address = address
    this.id = head.id
    this.order = new OrderTree(address.list, head.root, head.nextNode)
    this.#head = head
    this.#q = q
    this.#nextItem = head.nextItem
  }

  /** Null when there is no list of that name. @throws ServiceError `list_corrupted` */
  static async find(q: Queries, address: ListAddress): Promise<OpenList | null> {
    const row = await findNamed(q, address)
    return row?.kind === 'list' ? new OpenList(q, address, readHeadText(address.list, row.value)) : null
  }

  /** @throws ServiceError `not_found`, `list_corrupted` */
  static async require(q: Queries, address: ListAddress): Promise<OpenList> {
    const list = await OpenList.find(q, address)
    if (list === null) throw new ServiceError('not_found', `There is no list ${JSON.stringify(address.list)}`)
    return list
  }

  get length(): number {
    return this.order.length
  }

  newItem(): number {
    return this.#nextItem++
  }

  /** Loads what the order needs for these positions: two statements at most. */
  async load(spans: readonly Span[], shrinking = false): Promise<void> {
    this.order.giveMids(await findNodes(this.#q, this.address, this.order.midsFor(spans, shrinking)))
    this.order.giveLeaves(await findNodes(this.#q, this.address, this.order.leavesFor(spans, shrinking)))
  }

  /** Loads the whole order and returns all items in it: two statements. */
  async loadAll(): Promise<StoredItem[]> {
    const { actorId, list } = this.address
    const [nodes, items] = await Promise.all([
      findAllNodes(this.#q, actorId, [list]),
      findAllItems(this.#q, actorId, [list]),
    ])
    return arrange(list, this.order, this.#nextItem, nodes, items)
  }

  /** The items at these loaded positions, in order. */
  async items(span: Span): Promise<StoredItem[]> {
    return this.itemsOf(this.order.items(span))
  }

  async item(index: number): Promise<StoredItem> {
    const [item] = await this.itemsOf([this.order.at(index)])
    if (item === undefined) throw damagedList(this.address.list, `position ${index} is empty`)
    return item
  }

  /** These items in this order. */
  async itemsOf(items: readonly number[]): Promise<StoredItem[]> {
    return inOrder(this.address.list, items, await findItems(this.#q, this.address, items))
  }

  /**
   * Writes the items, the changed parts of the order, and the head. The statements do not wait for one another; the
   * transaction fails with any of them.
   */
  async save(tx: Transaction, nowMs: number, items: ItemChanges = {}, texts: ListTexts = {}): Promise<void> {
    const { root, nextNode, changed, removed } = this.order.unsaved()
    await Promise.all([
      updateItems(tx, this.address, items.update ?? []),
      deleteItems(tx, this.address, items.delete ?? []),
      insertItems(tx, this.address, items.insert ?? []),
      saveNodes(tx, this.address, changed),
      deleteNodes(tx, this.address, removed),
      this.#saveHead(tx, nowMs, { ...texts, root, nextNode }),
    ])
  }

  /** Removes every item and the whole order. */
  async clear(tx: Transaction, nowMs: number): Promise<void> {
    const [deleted, nodes] = await Promise.all([
      deleteAllItems(tx, this.address),
      deleteAllNodes(tx, this.address),
      this.#saveHead(tx, nowMs, { root: [] }),
    ])
    if (deleted !== this.length) {
      throw damagedList(this.address.list, `it has ${deleted} items where the head counts ${this.length}`)
    }
    // Every mid has a leaf.
    if (nodes < 2 * this.#head.root.length) throw damagedList(this.address.list, 'nodes of its order are missing')
  }

  async #saveHead(tx: Transaction, nowMs: number, changes: Partial<ListHead>): Promise<void> {
    // A clock that was set back does not make a change look older than the one before it.
    const updatedAt = new Date(Math.max(nowMs, Date.parse(this.#head.updatedAt))).toISOString()
    await updateHead(
      tx,
      this.address,
      writeHeadText({ ...this.#head, ...changes, nextItem: this.#nextItem, updatedAt }),
    )
  }
}

export interface ItemChanges {
  readonly insert?: readonly NewItem[]
  readonly update?: readonly NewItem[]
  readonly delete?: readonly number[]
}

export interface ListTexts {
  readonly description?: string
  readonly explanation?: string
}

/**
 * All items of a list in their order, from all its rows.
 *
 * @throws ServiceError `list_corrupted` when rows are missing or stand outside the order.
 */
export function arrange(
  list: string,
  order: OrderTree,
  nextItem: number,
  nodes: readonly StoredNode[],
  items: readonly StoredItem[],
): StoredItem[] {
  order.giveMids(givenFor(order.midsFor([order.all]), nodes))
  order.giveLeaves(givenFor(order.leavesFor([order.all]), nodes))
  if (nodes.length > order.nodeCount) throw damagedList(list, 'nodes stand outside the order')
  if (items.length > order.length) throw damagedList(list, 'items stand outside the order')
  if (items.some((row) => row.item >= nextItem)) throw damagedList(list, 'an item has a number that was never given')
  return inOrder(list, order.items(order.all), items)
}

/** The rows of these nodes: a node of one level must not serve as one of the other. */
function givenFor(wanted: readonly number[], nodes: readonly StoredNode[]): StoredNode[] {
  const names = new Set(wanted)
  return nodes.filter(({ node }) => names.has(node))
}

function inOrder(list: string, items: readonly number[], rows: readonly StoredItem[]): StoredItem[] {
  const found = new Map(rows.map((row) => [row.item, row]))
  if (new Set(items).size !== items.length) throw damagedList(list, 'an item stands at two positions')
  return items.map((item) => {
    const row = found.get(item)
    if (row === undefined) throw damagedList(list, `item ${item} is missing`)
    return row
  })
}
