/** Reads a short list by one statement, outside a transaction, or from memory while its head is unchanged. */
import { ServiceError } from '../errors.ts'
import { array, type JsonText, known } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { lengthOf, type ListHead, metadataOf, readHeadText } from './list-head.ts'
import type { ListContent } from './list-read.ts'
import { isShort } from './list-scan.ts'
import { findListRows, type ListRows } from './list-store.ts'
import { arrange } from './open-list.ts'
import { OrderTree } from './order-tree.ts'

/** A list that was read at once. */
export interface ShortList extends ListContent {
  /** The array of all items. */
  readonly whole: JsonText
}

/** Most characters of the lists that are kept in memory. Each takes one or two bytes, and as many again for its items. */
const keptChars = 2_097_152

/**
 * Reads short lists, and keeps those that were read last. The head of a list has its id and the number of its changes, so
 * the items of a list with the same head are the same (docs/decisions/064).
 */
export class ShortLists {
  /** By actor, name, declared version and head. The list that was read last is the last entry. */
  readonly #kept = new Map<string, ShortList>()
  readonly #most: number
  #chars = 0

  constructor(most = keptChars) {
    this.#most = most
  }

  /**
   * The metadata and items of a short list. Null for any other list, and for one that is damaged or was replaced since its
   * head was read. `ListScan` then reads the list and names the damage.
   *
   * @param headText the head, as a statement before this one returned it.
   * @throws ServiceError `list_corrupted` for a damaged head.
   */
  async read(q: Queries, at: ListAddress, headText: JsonText): Promise<ShortList | null> {
    const key = keyOf(at, headText)
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      return kept
    }
    const before = readHeadText(at.list, headText)
    if (!isShortHead(before)) return null
    const rows = await findListRows(q, at, before)
    if (rows === null) return null
    const head = rows.head === headText ? before : readHeadText(at.list, rows.head)
    const isSame = head.id === before.id && head.firstItem === before.firstItem && head.firstNode === before.firstNode
    const list = isSame && isShortHead(head) ? listOf(at.list, head, rows) : null
    if (list !== null) this.#keep(keyOf(at, known(rows.head)), list)
    return list
  }

  #keep(key: string, list: ShortList): void {
    const chars = key.length + list.whole.length
    if (chars > this.#most / 8 || this.#kept.has(key)) return
    this.#kept.set(key, list)
    this.#chars += chars
    for (const [oldest, { whole }] of this.#kept) {
      if (this.#chars <= this.#most) return
      this.#kept.delete(oldest)
      this.#chars -= oldest.length + whole.length
    }
  }
}

function keyOf({ actorId, list, format }: ListAddress, head: JsonText): string {
  return `${actorId}/${list}\n${format?.version ?? ''}\n${head}`
}

function listOf(list: string, head: ListHead, { nodes, items }: ListRows): ShortList | null {
  try {
    const order = new OrderTree(list, head.root, head.nextNode)
    const inOrder = arrange(list, order, head.nextItem, nodes, items)
    const values = inOrder.map(({ value }) => value)
    return { metadata: metadataOf(head), items: values, whole: array(values) }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return null
    throw error
  }
}

function isShortHead(head: ListHead): boolean {
  return isShort({ length: lengthOf(head), bytes: head.bytes })
}
