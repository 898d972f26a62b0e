/** Lists in archives: their rows as they are stored, and how a list comes back with the numbers of its items. */
import { type JsonText, known } from '../../json/json.ts'
import type { Transaction } from '../../store/store.ts'
import type { ListAddress } from '../list-address.ts'
import { lengthOf, type ListHead, readHeadText, writeHeadText } from '../list-head.ts'
import { scanPages, type SnapshotSource } from '../list-scan.ts'
import { findNamed, insertHead, type StoredItem, type UnreadItem, updateHead } from '../list-store.ts'
import { OpenList } from '../open-list.ts'

export interface ArchivedList
  extends Pick<ListHead, 'id' | 'description' | 'explanation' | 'createdAt' | 'updatedAt' | 'nextItem' | 'revision'> {
  readonly list: string
  /** The number of items when the head was read. */
  readonly length: number
}

/** @throws ServiceError `list_corrupted` */
export function archivedList(list: string, headText: string): ArchivedList {
  const head = readHeadText(list, headText)
  const { id, description, explanation, createdAt, updatedAt, nextItem, revision } = head
  return { list, id, description, explanation, createdAt, updatedAt, nextItem, revision, length: lengthOf(head) }
}

/** An item with the numbers that its row has. */
export interface ArchivedItem {
  readonly item: number
  readonly revision: number
  readonly version: number
  readonly value: JsonText
}

/** The items of a list in their order, page by page. Each page is one snapshot. Without a format, they are as they are stored. */
export async function* archivedItems(
  store: SnapshotSource,
  at: ListAddress,
): AsyncGenerator<{ readonly from: number; readonly items: readonly ArchivedItem[] }> {
  const { format } = at
  for await (const { from, rows } of scanPages(store, at)) {
    const items = rows.map((row) => {
      const { item, revision, value } = row
      return { item, revision, value, version: format?.version ?? storedVersion(row) }
    })
    yield { from, items }
  }
}

/** Without a format, a page has the rows themselves. */
function storedVersion(row: StoredItem): number {
  return (row as StoredItem & UnreadItem).version
}

/** Creates the list without items. */
export async function beginList(tx: Transaction, actorId: string, archived: ArchivedList): Promise<void> {
  const { list, length: _length, ...texts } = archived
  const head: ListHead = {
    ...texts,
    nextNode: 1,
    firstItem: 1,
    firstNode: 1,
    bytes: 0,
    root: [],
    indexes: [],
    newestVersion: 1,
  }
  await insertHead(tx, { actorId, list, format: null }, writeHeadText(head))
}

/** Appends items with their numbers. */
export async function returnItems(
  tx: Transaction,
  actorId: string,
  list: string,
  items: readonly ArchivedItem[],
  nowMs: number,
): Promise<void> {
  for (const run of runsOfOneVersion(items)) {
    const open = await OpenList.require(tx, { actorId, list, format: formatOf(run[0]?.version ?? 1) })
    if (open.length > 0) await open.load([open.order.spanForInsert(open.length)])
    for (const { item } of run) open.order.append(item)
    await open.save(tx, nowMs, { insert: run.map(({ item, value, revision }) => [item, value, undefined, revision]) })
  }
}

/** Sets the times and the counters, after all items are back. */
export async function endList(
  tx: Transaction,
  actorId: string,
  archived: ArchivedList,
  { oldest, last }: { readonly oldest: number; readonly last: number },
): Promise<void> {
  const at: ListAddress = { actorId, list: archived.list, format: null }
  const row = await findNamed(tx, at)
  const head = readHeadText(archived.list, row?.value ?? '')
  const { createdAt, updatedAt, revision, nextItem } = archived
  const text = writeHeadText({ ...head, createdAt, updatedAt, revision, nextItem: Math.max(nextItem, last + 1) })
  await updateHead(tx, at, text, oldest)
}

function runsOfOneVersion(items: readonly ArchivedItem[]): ArchivedItem[][] {
  const runs: ArchivedItem[][] = []
  for (const item of items) {
    const run = runs.at(-1)
    if (run?.[0]?.version === item.version) run.push(item)
    else runs.push([item])
  }
  return runs
}

/** Writes items of this version. It reads none. */
function formatOf(version: number): NonNullable<ListAddress['format']> {
  return { version, upgrade: (text) => known(text), requireReadable: () => {} }
}
