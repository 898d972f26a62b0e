/** Takes back changes of a list. Items that others have changed since are conflicts, and then nothing changes. */
import type { JsonText } from '../../json/json.ts'
import type { Queries, Transaction } from '../../store/store.ts'
import type { ListAddress } from '../list-address.ts'
import type { ListChange } from '../list-change.ts'
import { deleteList, makeList } from '../list-creation.ts'
import { findPosition } from '../list-position.ts'
import { checksumOfItem, type ListStep } from './list-steps.ts'
import { findItems, type StoredItem } from '../list-store.ts'
import { OpenList, type ListTexts } from '../open-list.ts'

/** The steps of one kept change, oldest first. */
export interface KeptSteps {
  readonly listId: string
  readonly steps: readonly ListStep[]
}

/** The most items that one reversal changes. */
const maxRows = 10_000
/** Nodes around the positions of the steps are loaded together, up to this distance. */
const nearItems = 256

/** `conflict`: another change has touched the same items since. */
export type Reversal = { readonly changes: readonly ListChange[] } | 'conflict'

/**
 * Takes back changes, given from the oldest to the newest. Other changes of other items may lie between them.
 *
 * @throws ServiceError `list_corrupted`
 */
export async function reverseSteps(
  tx: Transaction,
  at: ListAddress,
  kept: readonly KeptSteps[],
  nowMs: number,
): Promise<Reversal> {
  const reversal = new RunningReversal(tx, at, nowMs)
  const rows = kept.reduce((sum, { steps }) => sum + steps.reduce((n, step) => n + rowsOf(step), 0), 0)
  if (rows > maxRows) return 'conflict'
  return (await reversal.run(kept)) ? { changes: reversal.changes } : 'conflict'
}

function rowsOf(step: ListStep): number {
  return step.kind === 'insert' ? step.after.length : 1
}

/** An item during a reversal. */
interface Row {
  readonly number: number
  readonly revision: number
  readonly value: JsonText
  /** The stored row. Null for an item that the reversal puts back. */
  readonly stored: StoredItem | null
}

/** The items that changes have added and that still exist, by their numbers. */
export async function findAdded(
  q: Queries,
  at: ListAddress,
  kept: readonly KeptSteps[],
): Promise<ReadonlyMap<number, JsonText>> {
  const numbers = kept.flatMap(({ steps }) =>
    steps.flatMap((step) => (step.kind === 'insert' ? step.after.map((_, n) => step.row + n) : [])),
  )
  return new Map((await findItems(q, at, [...new Set(numbers)])).map(({ item, value }) => [item, value]))
}

class RunningReversal {
  readonly #tx: Transaction
  readonly #at: ListAddress
  readonly #now: number
  readonly changes: ListChange[] = []
  #list: OpenList | null = null
  /** The id of the list to which the next steps must belong. */
  #listId = ''
  /** The items by the number that the steps give them. Null: removed. */
  #rows = new Map<number, Row | null>()
  #removed: Row[] = []
  #texts: ListTexts = {}
  #isChanged = false

  constructor(tx: Transaction, at: ListAddress, nowMs: number) {
    this.#tx = tx
    this.#at = at
    this.#now = nowMs
  }

  /** False for a conflict. */
  async run(kept: readonly KeptSteps[]): Promise<boolean> {
    await this.#open()
    await this.#load(kept)
    for (const { listId, steps } of kept.toReversed()) {
      for (const step of steps.toReversed()) {
        if (step.kind === 'delete') {
          if (!(await this.#restoreList(listId, step))) return false
        } else {
          if (this.#list === null || this.#listId !== listId) return false
          const isReversed = step.kind === 'create' ? await this.#removeList() : await this.#reverse(this.#list, step)
          if (!isReversed) return false
        }
      }
    }
    await this.#save()
    return true
  }

  async #open(): Promise<void> {
    this.#list = await OpenList.find(this.#tx, this.#at)
    this.#listId = this.#list?.id ?? ''
  }

  /** Loads the items that the steps name, and the nodes near their positions, by three statements. */
  async #load(kept: readonly KeptSteps[]): Promise<void> {
    const list = this.#list
    if (list === null) return
    const own = kept.filter(({ listId }) => listId === list.id).flatMap(({ steps }) => steps)
    const numbers = own.flatMap((step) => {
      if (step.kind === 'insert') return step.after.map((_, n) => step.row + n)
      return step.kind === 'update' || step.kind === 'remove' ? [step.row] : []
    })
    for (const stored of await findItems(this.#tx, this.#at, [...new Set(numbers)]))
      this.#rows.set(stored.item, { number: stored.item, revision: stored.revision, value: stored.value, stored })
    const spans = own.flatMap((step) => {
      if (step.kind !== 'insert' && step.kind !== 'remove' && step.kind !== 'update') return []
      const end = step.index + rowsOf(step) + nearItems
      return [{ from: Math.max(0, step.index - nearItems), to: Math.min(list.length, end) }]
    })
    await list.load(spans, true)
  }

  async #reverse(list: OpenList, step: Exclude<ListStep, { readonly kind: 'create' | 'delete' }>): Promise<boolean> {
    this.#isChanged = true
    switch (step.kind) {
      case 'insert':
        for (const [n, after] of [...step.after.entries()].toReversed())
          if (!(await this.#takeOut(list, step.row + n, step.index + n, after))) return false
        return true
      case 'remove':
        return this.#putBack(list, step)
      case 'update':
        return this.#setBack(list, step)
      case 'texts': {
        const { description, explanation } = step
        this.#texts = { description, explanation }
        this.changes.push({ operation: 'metadata', length: list.length, description, explanation })
        return true
      }
    }
  }

  async #takeOut(list: OpenList, number: number, near: number, after: number): Promise<boolean> {
    const row = this.#rows.get(number)
    if (row === undefined || row === null || checksumOfItem(row.value) !== after) return false
    const index = await this.#positionOf(list, row, near)
    await list.load([{ from: index, to: index + 1 }], true)
    list.order.removeAt(index)
    this.#rows.set(number, null)
    this.#removed.push(row)
    this.changes.push({ operation: 'delete', length: list.length, index, old_item: row.value })
    return true
  }

  /** False for an item that is back already. */
  async #putBack(list: OpenList, step: Extract<ListStep, { readonly kind: 'remove' }>): Promise<boolean> {
    if ((this.#rows.get(step.row) ?? null) !== null) return false
    const index = Math.min(step.index, list.length)
    await list.load([list.order.spanForInsert(index)])
    // The version of the order contains the next number, so it changes also when the item gets its number back.
    const next = list.newItem()
    const number = step.row < next && step.row >= list.firstItem ? step.row : next
    list.order.insert(index, number)
    this.#rows.set(step.row, { number, revision: step.revision + 1, value: step.item, stored: null })
    this.changes.push({ operation: 'insert', length: list.length, index, item: step.item })
    return true
  }

  async #setBack(list: OpenList, step: Extract<ListStep, { readonly kind: 'update' }>): Promise<boolean> {
    const row = this.#rows.get(step.row)
    if (row === undefined || row === null || checksumOfItem(row.value) !== step.after) return false
    const index = await this.#positionOf(list, row, step.index)
    this.#rows.set(step.row, { ...row, value: step.item })
    const { length } = list
    this.changes.push({ operation: 'update', length, index, item: step.item, old_item: row.value })
    return true
  }

  async #positionOf(list: OpenList, { number }: Row, near: number): Promise<number> {
    return list.order.positionOf(number) ?? findPosition(list, number, near, true)
  }

  /** Creates the list again. False when a property has the name. */
  async #restoreList(id: string, step: Extract<ListStep, { readonly kind: 'delete' }>): Promise<boolean> {
    if (this.#list !== null) return false
    const { description, explanation, nextItem } = step
    const made = await makeList(this.#tx, this.#at, { description, explanation }, this.#now, { id, nextItem })
    const { isNew, change } = made
    if (!isNew) return false
    this.changes.push(change)
    await this.#open()
    this.#rows = new Map()
    this.#removed = []
    this.#texts = {}
    return true
  }

  /** Removes the list that the kept changes created. False when it has items of others. */
  async #removeList(): Promise<boolean> {
    if (this.#list === null || this.#list.length > 0) return false
    await this.#save()
    const change = await deleteList(this.#tx, this.#at)
    if (change !== null) this.changes.push(change)
    this.#list = null
    return true
  }

  async #save(): Promise<void> {
    const list = this.#list
    if (list === null || !this.#isChanged) return
    const present = [...this.#rows.values()].filter((row) => row !== null)
    await list.save(
      this.#tx,
      this.#now,
      {
        insert: present.flatMap((row) =>
          row.stored !== null ? [] : [[row.number, row.value, undefined, row.revision] as const],
        ),
        update: present.flatMap((row) =>
          row.stored === null || row.value === row.stored.value ? [] : [[row.stored, row.value] as const],
        ),
        delete: this.#removed.flatMap(({ stored }) => stored ?? []),
        passing: this.#removed.flatMap(({ number, revision, value, stored }) =>
          stored === null ? [{ item: number, revision, value }] : [],
        ),
      },
      this.#texts,
    )
    this.#isChanged = false
  }
}
