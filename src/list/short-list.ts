/** Reads a short list by one statement, outside a transaction. */
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Queries } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { lengthOf, type ListHead, metadataOf, readHeadText } from './list-head.ts'
import type { ListContent } from './list-read.ts'
import { isShort } from './list-scan.ts'
import { findListRows, type ListRows } from './list-store.ts'
import { arrange } from './open-list.ts'
import { OrderTree } from './order-tree.ts'

/**
 * The metadata and items of a short list. Null for any other list, and for one that is damaged or was replaced since its
 * head was read. `ListScan` then reads the list and names the damage.
 *
 * @param headText the head, as a statement before this one returned it.
 * @throws ServiceError `list_corrupted` for a damaged head.
 */
export async function readShortList(q: Queries, at: ListAddress, headText: JsonText): Promise<ListContent | null> {
  const before = readHeadText(at.list, headText)
  if (!isShortHead(before)) return null
  const rows = await findListRows(q, at, before)
  if (rows === null) return null
  const head = rows.head === headText ? before : readHeadText(at.list, rows.head)
  const isSame = head.id === before.id && head.firstItem === before.firstItem && head.firstNode === before.firstNode
  return isSame && isShortHead(head) ? contentOf(at.list, head, rows) : null
}

function contentOf(list: string, head: ListHead, { nodes, items }: ListRows): ListContent | null {
  try {
    const order = new OrderTree(list, head.root, head.nextNode)
    const inOrder = arrange(list, order, head.nextItem, nodes, items)
    return { metadata: metadataOf(head), items: inOrder.map(({ value }) => value) }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return null
    throw error
  }
}

function isShortHead(head: ListHead): boolean {
  return isShort({ length: lengthOf(head), bytes: head.bytes })
}
