/**
 * Bulk updates of a list (R-LIST-05: `{"items":[{"index":…, …fields}]}`). Every index refers to the list before the batch.
 * Updates run first, in the given order. Entries without fields are deletions; they run last, from the highest index
 * down. A deletion therefore wins over an update of the same index.
 */
import { ServiceError } from '../errors.ts'
import { elements, members, object, type JsonText } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import type { ListChange } from './list-change.ts'
import { indexFromJson } from './list-index.ts'
import { OpenList } from './open-list.ts'

export interface BulkEntry {
  readonly index: number
  /** Null deletes the item. */
  readonly item: JsonText | null
}

export interface BulkResult {
  /** The number of updates, including several of one item. */
  readonly updated: number
  /** The number of deleted items. */
  readonly deleted: number
  /** Indices that the batch both updates and deletes. */
  readonly contradictions: readonly number[]
  readonly changes: readonly ListChange[]
}

/** The most entries of a bulk update, because other changes wait until all of them are stored. */
const maxEntries = 5000

/**
 * Reads the `items` of a bulk update.
 *
 * @throws ServiceError `invalid_value`, `invalid_index`; `payload_too_large` for more than `maxEntries`
 */
export function readBulk(items: JsonText): BulkEntry[] {
  const entries = elements(items)
  if (entries === null) throw new ServiceError('invalid_value', 'Cannot update a list: "items" is not an array')
  if (entries.length > maxEntries)
    throw new ServiceError(
      'payload_too_large',
      `Cannot update a list: "items" has ${entries.length} entries, and the most is ${maxEntries}. Send several requests`,
    )
  return entries.map((entry, at) => {
    const fields = members(entry)
    if (fields === null)
      throw new ServiceError('invalid_value', `Cannot update a list: entry ${at} of "items" is not an object`)
    const index = fields.get('index')
    if (index === undefined)
      throw new ServiceError('invalid_index', `Cannot update a list: entry ${at} of "items" has no index`)
    const others = [...fields].filter(([name]) => name !== 'index')
    return { index: indexFromJson(index), item: others.length === 0 ? null : object(others) }
  })
}

/**
 * Applies a batch. An update at the current length appends. A deletion beyond the end, and a second deletion of the same
 * index, is skipped and not counted.
 *
 * @throws ServiceError `invalid_value` when the list does not exist; `invalid_index` when an update is beyond the end;
 *   `list_corrupted`
 */
export async function bulk(
  tx: Transaction,
  at: ListAddress,
  entries: readonly BulkEntry[],
  nowMs: number,
): Promise<BulkResult> {
  if (entries.length === 0) return { updated: 0, deleted: 0, contradictions: [], changes: [] }
  const list = await OpenList.find(tx, at)
  if (list === null) {
    throw new ServiceError('invalid_value', `Cannot update the items of ${JSON.stringify(at.list)}: it is not a list`)
  }
  const plan = planBatch(entries, list.length)
  if (plan.steps.length === 0) return { updated: 0, deleted: 0, contradictions: [], changes: [] }

  const before = list.length
  const stays = (index: number): boolean => index < before
  const gone = [...plan.deleted].filter(stays)
  const updated = [...plan.values.keys()].filter(stays)
  const appends = plan.length > before ? [list.order.spanForInsert(before)] : []
  await list.load([...gone, ...updated].map(spanOf).concat(appends), gone.length > 0)
  const touched = [...new Set([...gone, ...updated])]
  const rows = await list.itemsOf(touched.map((index) => list.order.at(index)))
  const old = new Map(touched.map((index, position) => [index, rows[position]] as const))

  const added: (readonly [number, JsonText])[] = []
  for (let index = before; index < plan.length; index++) {
    const value = plan.values.get(index)
    if (value === undefined || plan.deleted.has(index)) continue
    const item = list.newItem()
    list.order.append(item)
    added.push([item, value])
  }
  for (const index of gone.toSorted((a, b) => b - a)) list.order.removeAt(index)

  const replaced = updated.flatMap((index) => {
    const [row, value] = [old.get(index), plan.values.get(index)]
    return row === undefined || value === undefined || plan.deleted.has(index) ? [] : [[row, value] as const]
  })
  const removed = gone.flatMap((index) => old.get(index) ?? [])
  await list.save(tx, nowMs, { update: replaced, delete: removed, insert: added })
  return {
    updated: plan.updates,
    deleted: plan.deleted.size,
    contradictions: [...plan.deleted].filter((index) => plan.values.has(index)),
    changes: describe(plan.steps, before, (index) => old.get(index)?.value),
  }
}

interface Batch {
  /** The last value given for each updated index. */
  readonly values: ReadonlyMap<number, JsonText>
  readonly deleted: ReadonlySet<number>
  /** The number of updates. */
  readonly updates: number
  /** The length after the updates and before the deletions. */
  readonly length: number
  /** The entries in the order in which they take effect. */
  readonly steps: readonly BulkEntry[]
}

function planBatch(entries: readonly BulkEntry[], before: number): Batch {
  const values = new Map<number, JsonText>()
  const steps: BulkEntry[] = []
  let length = before
  for (const entry of entries) {
    if (entry.item === null) continue
    if (entry.index > length) {
      throw new ServiceError(
        'invalid_index',
        `Cannot update item ${entry.index}: the list has only ${length} items at that point`,
      )
    }
    if (entry.index === length) length++
    values.set(entry.index, entry.item)
    steps.push(entry)
  }
  const updates = steps.length
  const deletions = entries.filter(({ index, item }) => item === null && index < length)
  const deleted = new Set(deletions.map(({ index }) => index).toSorted((a, b) => b - a))
  for (const index of deleted) steps.push({ index, item: null })
  return { values, deleted, updates, length, steps }
}

/** Describes each step as a change to the result of the steps before it. */
function describe(
  steps: readonly BulkEntry[],
  before: number,
  oldValue: (index: number) => JsonText | undefined,
): ListChange[] {
  const values = new Map<number, JsonText>()
  let length = before
  return steps.map(({ index, item }) => {
    const old = values.get(index) ?? oldValue(index)
    const old_item = old === undefined ? {} : { old_item: old }
    if (item === null) return { operation: 'delete', length: --length, index, ...old_item }
    values.set(index, item)
    if (index === length) return { operation: 'append', length: ++length, index, item }
    return { operation: 'update', length, index, item, ...old_item }
  })
}

const spanOf = (index: number): { from: number; to: number } => ({ from: index, to: index + 1 })
