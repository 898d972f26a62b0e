/**
 * The order of a list: a counted tree of three levels. The root, in the list's head, refers to mids, a mid to leaves, and
 * a leaf contains item numbers. Each branch counts the items below it. The height is fixed, so the number of statements
 * that load or save a position does not depend on the length of the list: mids first, then leaves.
 *
 * A tree is loaded in part. The caller first loads the nodes that a change needs (`midsFor`, `leavesFor`). The change
 * then runs in memory, and `unsaved` returns the nodes to write and to delete.
 */
import { damagedList } from './list-damage.ts'
import {
  type Branch,
  type Child,
  disjoint,
  pick,
  readBranches,
  readPositives,
  type Span,
  total,
  writeBranches,
} from './order-branch.ts'

export interface StoredNode {
  readonly node: number
  readonly entries: string
}

/** The capacity of nodes. */
export interface NodeSizes {
  readonly leafItems: number
  readonly midLeaves: number
}

export const nodeSizes: NodeSizes = { leafItems: 128, midLeaves: 64 }

export interface UnsavedTree {
  readonly root: readonly Branch[]
  readonly nextNode: number
  readonly changed: readonly StoredNode[]
  readonly removed: readonly number[]
}

/** An insertion or removal, with its position at that moment. */
export interface OrderMove {
  readonly kind: 'insert' | 'remove'
  /** The number of the item. */
  readonly row: number
  readonly index: number
}

interface Place {
  readonly rootAt: number
  readonly midAt: number
  readonly offset: number
}

export class OrderTree {
  readonly #list: string
  readonly #sizes: NodeSizes
  readonly #root: Child[]
  readonly #mids = new Map<number, Child[]>()
  readonly #leaves = new Map<number, number[]>()
  /** Requested nodes that are not loaded yet, with their expected number of items. */
  readonly #awaited = new Map<number, number>()
  readonly #dirty = new Set<number>()
  readonly #created = new Set<number>()
  readonly #removed = new Set<number>()
  readonly #moves: OrderMove[] = []
  #nextNode: number
  #length = 0

  /** @throws ServiceError `list_corrupted` */
  constructor(list: string, root: readonly Branch[], nextNode: number, sizes: NodeSizes = nodeSizes) {
    this.#list = list
    this.#sizes = sizes
    this.#nextNode = nextNode
    this.#root = root.map(({ node, count }) => ({ node, count }))
    this.#check(this.#root, 'the head')
    for (const { count } of this.#root) this.#length += count
  }

  get length(): number {
    return this.#length
  }

  /** Every position. */
  get all(): Span {
    return { from: 0, to: this.#length }
  }

  /** The position to load before an insertion at `index`: its leaf receives the item. */
  spanForInsert(index: number): Span {
    return { from: Math.min(index, this.#length - 1), to: Math.min(index, this.#length - 1) + 1 }
  }

  /**
   * The mids to load before the caller uses these positions. With `shrinking`, every position may be removed, so the
   * result includes neighbors with which a shrunken node could be joined.
   */
  midsFor(spans: readonly Span[], shrinking = false): number[] {
    const { leafItems, midLeaves } = this.#sizes
    const joinUpTo = shrinking ? leafItems * joined(midLeaves) : null
    const wanted = pick(this.#root, 0, disjoint(spans), joinUpTo)
    return this.#await(wanted, this.#mids)
  }

  /** The leaves to load before the caller uses these positions. Their mids must be loaded. */
  leavesFor(spans: readonly Span[], shrinking = false): number[] {
    const { leafItems } = this.#sizes
    const joinUpTo = shrinking ? joined(leafItems) : null
    const sorted = disjoint(spans)
    const wanted: Child[] = []
    let first = 0
    for (const { node, count } of this.#root) {
      const inside = sorted.filter((span) => span.from < first + count && span.to > first)
      if (inside.length > 0) wanted.push(...pick(this.#mid(node), first, inside, joinUpTo))
      first += count
    }
    return this.#await(wanted, this.#leaves)
  }

  /** @throws ServiceError `list_corrupted` when a node is missing or contradicts its branch. */
  giveMids(rows: readonly StoredNode[]): void {
    for (const [node, count, entries] of this.#given(rows)) {
      const children = readBranches(entries)
      if (children === null) throw this.#damaged(`node ${node} is not an array of branches`)
      this.#check(children, `node ${node}`)
      let found = 0
      for (const child of children) found += child.count
      if (found !== count) throw this.#damaged(`node ${node} counts ${found} items instead of ${count}`)
      this.#mids.set(node, children)
    }
  }

  /** @throws ServiceError `list_corrupted` when a node is missing or contradicts its branch. */
  giveLeaves(rows: readonly StoredNode[]): void {
    for (const [node, count, entries] of this.#given(rows)) {
      const items = readPositives(entries)
      if (items === null) throw this.#damaged(`node ${node} is not an array of item numbers`)
      if (items.length !== count) throw this.#damaged(`node ${node} holds ${items.length} items instead of ${count}`)
      this.#leaves.set(node, items)
    }
  }

  /** The item at an existing position. */
  at(index: number): number {
    const place = this.#locate(index)
    const item = this.#leaf(this.#childAt(place)).at(place.offset)
    if (item === undefined) throw this.#damaged(`position ${index} is empty`)
    return item
  }

  /** The items at these positions, in order. */
  items(span: Span): number[] {
    const found: number[] = []
    if (span.from >= span.to) return found
    let first = 0
    for (const { node, count } of this.#root) {
      if (first >= span.to) break
      if (first + count > span.from) {
        let start = first
        for (const leaf of this.#mid(node)) {
          if (start >= span.to) break
          if (start + leaf.count > span.from) {
            found.push(...this.#leaf(leaf).slice(Math.max(0, span.from - start), span.to - start))
          }
          start += leaf.count
        }
      }
      first += count
    }
    return found
  }

  /** The position of an item in the loaded leaves. Null when they do not contain it. */
  positionOf(item: number): number | null {
    let first = 0
    for (const { node, count } of this.#root) {
      let start = first
      for (const leaf of this.#mids.get(node) ?? []) {
        const offset = this.#leaves.get(leaf.node)?.indexOf(item) ?? -1
        if (offset >= 0) return start + offset
        start += leaf.count
      }
      first += count
    }
    return null
  }

  /** The number of mids and leaves to which the loaded nodes refer. */
  get nodeCount(): number {
    let nodes = this.#root.length
    for (const { node } of this.#root) nodes += this.#mids.get(node)?.length ?? 0
    return nodes
  }

  /** The insertions and removals, as they happened. */
  get moves(): readonly OrderMove[] {
    return this.#moves
  }

  append(item: number): void {
    this.insert(this.#length, item)
  }

  /** Inserts an item before the item at `index`, or after the last item. */
  insert(index: number, item: number): void {
    this.#moves.push({ kind: 'insert', row: item, index: Math.min(index, this.#length) })
    const top = this.#root
    if (top.length === 0) {
      const leaf = this.#newLeaf([item])
      top.push(this.#newMid([leaf]))
      this.#length = 1
      return
    }
    const place = index < this.#length ? this.#locate(index) : this.#end()
    const mid = top[place.rootAt]
    if (mid === undefined) throw this.#damaged(`position ${index} does not exist`)
    const leaves = this.#mid(mid.node)
    const leaf = this.#childAt(place)
    const items = this.#leaf(leaf)
    const isFirst = index === 0
    const isLast = index === this.#length
    this.#length++
    mid.count++
    this.#dirty.add(mid.node)
    if (items.length < this.#sizes.leafItems) {
      items.splice(place.offset, 0, item)
      leaf.count++
      this.#dirty.add(leaf.node)
      return
    }
    // A full leaf at an end of the list stays full, so that lists that grow at an end have full leaves. Elsewhere the leaf
    // is halved: otherwise, repeated insertions between two full leaves would create leaves with one item each.
    if (isFirst || isLast) {
      leaves.splice(isFirst ? 0 : leaves.length, 0, this.#newLeaf([item]))
    } else {
      const half = items.length >> 1
      const right = items.splice(half)
      if (place.offset <= half) items.splice(place.offset, 0, item)
      else right.splice(place.offset - half, 0, item)
      leaf.count = items.length
      this.#dirty.add(leaf.node)
      leaves.splice(place.midAt + 1, 0, this.#newLeaf(right))
    }
    if (leaves.length > this.#sizes.midLeaves) this.#splitMid(place.rootAt, isFirst, isLast)
  }

  /** Removes the item at an existing position from the order, and returns it. */
  removeAt(index: number): number {
    const place = this.#locate(index)
    const mid = this.#root[place.rootAt]
    const leaf = this.#childAt(place)
    const items = this.#leaf(leaf)
    const [item] = items.splice(place.offset, 1)
    if (mid === undefined || item === undefined) throw this.#damaged(`position ${index} is empty`)
    this.#moves.push({ kind: 'remove', row: item, index })
    this.#length--
    mid.count--
    leaf.count--
    this.#dirty.add(mid.node)
    this.#dirty.add(leaf.node)
    const leaves = this.#mid(mid.node)
    if (items.length === 0) {
      leaves.splice(place.midAt, 1)
      this.#drop(leaf.node, this.#leaves)
    } else {
      this.#joinLeaf(leaves, place.midAt)
    }
    if (leaves.length === 0) {
      this.#root.splice(place.rootAt, 1)
      this.#drop(mid.node, this.#mids)
    } else {
      this.#joinMid(place.rootAt)
    }
    return item
  }

  unsaved(): UnsavedTree {
    const changed: StoredNode[] = []
    for (const node of this.#dirty) {
      const leaf = this.#leaves.get(node)
      const entries = leaf ?? writeBranches(this.#mid(node))
      changed.push({ node, entries: JSON.stringify(entries) })
    }
    return { root: this.#root, nextNode: this.#nextNode, changed, removed: [...this.#removed] }
  }

  #locate(index: number): Place {
    let left = index
    for (const [rootAt, { node, count }] of this.#root.entries()) {
      if (left < count) {
        for (const [midAt, leaf] of this.#mid(node).entries()) {
          if (left < leaf.count) return { rootAt, midAt, offset: left }
          left -= leaf.count
        }
      }
      left -= count
    }
    throw new RangeError(`The list has no position ${index}`)
  }

  /** The place after the last item. */
  #end(): Place {
    const rootAt = this.#root.length - 1
    const leaves = this.#mid(this.#root[rootAt]?.node ?? 0)
    const midAt = leaves.length - 1
    return { rootAt, midAt, offset: leaves[midAt]?.count ?? 0 }
  }

  #childAt(place: Place): Child {
    const mid = this.#root[place.rootAt]
    const leaf = mid === undefined ? undefined : this.#mid(mid.node)[place.midAt]
    if (leaf === undefined) throw this.#damaged('a branch refers to a missing node')
    return leaf
  }

  #mid(node: number): Child[] {
    const children = this.#mids.get(node)
    if (children === undefined) throw new Error(`The mid ${node} of the list's order is not loaded`)
    return children
  }

  #leaf({ node }: Child): number[] {
    const items = this.#leaves.get(node)
    if (items === undefined) throw new Error(`The leaf ${node} of the list's order is not loaded`)
    return items
  }

  #newLeaf(items: number[]): Child {
    return this.#create(this.#leaves, items, items.length)
  }

  #newMid(leaves: Child[]): Child {
    return this.#create(this.#mids, leaves, total(leaves))
  }

  #create<E>(nodes: Map<number, E[]>, entries: E[], count: number): Child {
    const node = this.#nextNode++
    nodes.set(node, entries)
    this.#created.add(node)
    this.#dirty.add(node)
    return { node, count }
  }

  #drop(node: number, nodes: Map<number, unknown>): void {
    nodes.delete(node)
    this.#dirty.delete(node)
    if (!this.#created.delete(node)) this.#removed.add(node)
  }

  #splitMid(rootAt: number, isFirst: boolean, isLast: boolean): void {
    const mid = this.#root[rootAt]
    if (mid === undefined) return
    const leaves = this.#mid(mid.node)
    const keep = isFirst ? 1 : isLast ? leaves.length - 1 : leaves.length >> 1
    const right = this.#newMid(leaves.splice(keep))
    mid.count = total(leaves)
    this.#root.splice(rootAt + 1, 0, right)
  }

  /** Joins a leaf that lost an item with a neighbor when both fit into one leaf with space left. */
  #joinLeaf(leaves: Child[], at: number): void {
    for (const leftAt of [at, at - 1]) {
      const left = leaves[leftAt]
      const right = leaves[leftAt + 1]
      if (left === undefined || right === undefined) continue
      if (left.count + right.count > joined(this.#sizes.leafItems)) continue
      const into = this.#leaves.get(left.node)
      const from = this.#leaves.get(right.node)
      if (into === undefined || from === undefined) continue
      into.push(...from)
      left.count = into.length
      this.#dirty.add(left.node)
      leaves.splice(leftAt + 1, 1)
      this.#drop(right.node, this.#leaves)
      return
    }
  }

  #joinMid(at: number): void {
    for (const leftAt of [at, at - 1]) {
      const left = this.#root[leftAt]
      const right = this.#root[leftAt + 1]
      if (left === undefined || right === undefined) continue
      const into = this.#mids.get(left.node)
      const from = this.#mids.get(right.node)
      if (into === undefined || from === undefined) continue
      if (into.length + from.length > joined(this.#sizes.midLeaves)) continue
      into.push(...from)
      left.count += right.count
      this.#dirty.add(left.node)
      this.#root.splice(leftAt + 1, 1)
      this.#drop(right.node, this.#mids)
      return
    }
  }

  #await(wanted: readonly Child[], loaded: ReadonlyMap<number, unknown>): number[] {
    const missing: number[] = []
    for (const { node, count } of wanted) {
      if (loaded.has(node)) continue
      if (this.#awaited.has(node)) throw this.#damaged(`node ${node} occurs at two places`)
      this.#awaited.set(node, count)
      missing.push(node)
    }
    return missing
  }

  /** The requested nodes, each with its expected count and its entries. */
  *#given(rows: readonly StoredNode[]): Generator<[node: number, count: number, entries: unknown]> {
    const found = new Map(rows.map((row) => [row.node, row.entries]))
    for (const [node, count] of this.#awaited) {
      const text = found.get(node)
      if (text === undefined) throw this.#damaged(`node ${node} is missing`)
      if (this.#mids.has(node) || this.#leaves.has(node)) throw this.#damaged(`node ${node} occurs at two places`)
      yield [node, count, this.#parse(node, text)]
    }
    this.#awaited.clear()
  }

  #parse(node: number, text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      throw this.#damaged(`node ${node} cannot be read`)
    }
  }

  #check(branches: readonly Branch[], where: string): void {
    for (const { node } of branches) {
      if (node >= this.#nextNode) throw this.#damaged(`${where} refers to node ${node}, which was never created`)
    }
  }

  #damaged(detail: string): Error {
    return damagedList(this.#list, detail)
  }
}

/** The most entries of two neighbors that are joined. The space left keeps the next insertions from splitting them again. */
const joined = (size: number): number => size - (size >> 2)
