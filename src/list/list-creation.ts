/** Creates and deletes lists. */
import { checkListName } from '../actor/property-name.ts'
import { ServiceError } from '../errors.ts'
import { randomBytes } from '../secret/random.ts'
import type { Transaction } from '../store/store.ts'
import { type ListAddress, versionOf } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import { lengthOf, type ListHead, readHeadText, writeHeadText } from './list-head.ts'
import { canBeKept, clearingSteps, type ListStep, type ListSteps } from './steps/list-steps.ts'
import {
  currentItems,
  deleteHead,
  findAllItems,
  findAllNodes,
  findForCreation,
  findNamed,
  insertHead,
  type StoredItem,
} from './list-store.ts'
import { arrange, OpenList, readableOrNull, type ListTexts } from './open-list.ts'
import { OrderTree } from './order-tree.ts'

/**
 * Creates an empty list. An existing list keeps its items, and the given texts replace its description or explanation.
 *
 * @returns true when the list is new.
 * @throws ServiceError `invalid_name`; `conflict` when a simple property has the name; `list_corrupted`
 */
export async function createList(tx: Transaction, at: ListAddress, texts: ListTexts, nowMs: number): Promise<boolean> {
  return (await makeList(tx, at, texts, nowMs)).isNew
}

/** Creates the list if it does not exist, with indexes of these fields. @throws ServiceError as `createList` */
export async function ensureList(
  tx: Transaction,
  at: ListAddress,
  { description, explanation, indexes }: Required<ListTexts> & { readonly indexes: readonly string[] },
  nowMs: number,
): Promise<void> {
  if ((await findNamed(tx, at)) === undefined) await makeList(tx, at, { description, explanation }, nowMs, { indexes })
}

/** A new list, besides its texts. */
interface NewList {
  readonly indexes?: readonly string[]
  /** The id of a list that comes back. Default: a new one. */
  readonly id?: string
  /** The next number of the list that comes back. Default: 1. */
  readonly nextItem?: number
}

/** Like `createList`, but also returns the metadata change that subscribers receive. */
export async function makeList(
  tx: Transaction,
  at: ListAddress,
  texts: ListTexts,
  nowMs: number,
  { indexes = [], id = randomBytes(8).toString('hex'), nextItem = 1 }: NewList = {},
): Promise<{ readonly isNew: boolean; readonly change: ListChange }> {
  checkListName(at.list)
  const { kind, lastItem, lastNode } = await findForCreation(tx, at)
  if (kind !== null && kind !== 'list') {
    throw new ServiceError('conflict', `Cannot create the list ${JSON.stringify(at.list)}: a property has this name`)
  }
  if (kind === 'list') {
    const list = await OpenList.require(tx, at)
    if (texts.description !== undefined || texts.explanation !== undefined) await list.save(tx, nowMs, {}, texts)
    return { isNew: false, change: textsChange(list, texts) }
  }
  const now = new Date(nowMs).toISOString()
  const head = {
    id,
    description: texts.description ?? '',
    explanation: texts.explanation ?? '',
    createdAt: now,
    updatedAt: now,
    nextItem: Math.max(lastItem + 1, nextItem),
    nextNode: lastNode + 1,
    firstItem: lastItem + 1,
    firstNode: lastNode + 1,
    bytes: 0,
    root: [],
    revision: 1,
    indexes,
    newestVersion: versionOf(at),
  }
  await insertHead(tx, at, writeHeadText(head))
  const { actorId, list, history } = at
  await history?.keep(tx, actorId, [{ list, listId: head.id, version: versionOf(at), steps: [{ kind: 'create' }] }])
  return { isNew: true, change: { operation: 'metadata', length: 0, ...texts } }
}

/** The change of the description and explanation. */
export function textsChange(list: OpenList, texts: ListTexts): ListChange {
  const { description, explanation } = list.metadata
  const isSame = (given: string | undefined, stored: string): boolean => given === undefined || given === stored
  const changesNothing = isSame(texts.description, description) && isSame(texts.explanation, explanation)
  return { operation: 'metadata', length: list.length, ...texts, ...(changesNothing ? { changesNothing } : {}) }
}

/** Removes the list, even when it is damaged. Null when the list does not exist. */
export async function deleteList(tx: Transaction, at: ListAddress): Promise<ListChange | null> {
  if (at.history !== undefined) {
    const row = await findNamed(tx, at)
    if (row?.kind === 'list') await keepDeletions(tx, at.actorId, [{ at, head: row.value }])
  }
  return (await deleteHead(tx, at)) ? { operation: 'delete_all', length: 0 } : null
}

/** A list that is removed next, with the text of its head. */
interface Removed {
  readonly at: ListAddress
  readonly head: string
}

/** Keeps the items of lists that are removed next, by three statements. Long and damaged lists are kept without items. */
export async function keepDeletions(
  tx: Transaction,
  actorId: string,
  lists: readonly Removed[],
  others = 0,
): Promise<void> {
  const history = lists[0]?.at.history
  if (history === undefined) return
  const changes: ListSteps[] = []
  const isKept = history.keepsBeside(others)
  const short: (Removed & { readonly read: ListHead })[] = []
  let [items, characters] = [0, 0]
  for (const { at, head } of lists) {
    const read = await readableOrNull(() => readHeadText(at.list, head))
    if (read !== null) {
      items += lengthOf(read)
      characters += read.bytes ?? 0
    }
    if (isKept && read !== null && canBeKept(items, characters)) short.push({ at, head, read })
    else changes.push({ list: at.list, listId: read?.id ?? '', version: versionOf(at), steps: null })
  }
  const names = short.map(({ at }) => at.list)
  const rows = await readableOrNull(() =>
    Promise.all([findAllNodes(tx, actorId, names), findAllItems(tx, actorId, names)]),
  )
  for (const { at, read } of short) {
    const { id, description, explanation, nextItem } = read
    const steps = rows === null ? null : await readableOrNull(() => clearingSteps(itemsIn(at, read, rows)))
    const deletion: ListStep = { kind: 'delete', description, explanation, nextItem }
    changes.push({
      list: at.list,
      listId: id,
      version: versionOf(at),
      steps: steps === null ? null : [...steps, deletion],
    })
  }
  await history.keep(tx, actorId, changes)
}

type NodeRows = Awaited<ReturnType<typeof findAllNodes>>
type ItemRows = Awaited<ReturnType<typeof findAllItems>>

/** The items of one of several lists, in order. @throws ServiceError */
function itemsIn(
  at: ListAddress,
  head: ListHead,
  [nodes, items]: readonly [NodeRows, ItemRows],
): readonly StoredItem[] {
  const order = new OrderTree(at.list, head.root, head.nextNode)
  const own = items.filter(({ list, item }) => list === at.list && item >= head.firstItem)
  const ownNodes = nodes.filter(({ list, node }) => list === at.list && node >= head.firstNode)
  return currentItems(at, arrange(at.list, order, head.nextItem, ownNodes, own))
}
