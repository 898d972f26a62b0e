/**
 * The steps of a change of a list, from which `list-reversal.ts` restores the state before it. A step names an item by the number
 * of its row, which stays when the positions of other items change.
 */
import { crc32 } from 'node:zlib'
import { array, elements, type JsonText, known, members, object, stringText, stringValue } from '../../json/json.ts'
import type { Transaction } from '../../store/store.ts'
import type { OrderMove } from '../order-tree.ts'

export type ListStep =
  /** Items with successive numbers at successive positions. `after`: the checksum of each one. */
  | { readonly kind: 'insert'; readonly row: number; readonly index: number; readonly after: readonly number[] }
  /** `item`: the removed item, and its revision then. */
  | {
      readonly kind: 'remove'
      readonly row: number
      readonly index: number
      readonly revision: number
      readonly item: JsonText
    }
  /** `item`: the item before. `after`: the checksum of the item after. */
  | {
      readonly kind: 'update'
      readonly row: number
      readonly index: number
      readonly after: number
      readonly item: JsonText
    }
  /** The texts before. */
  | { readonly kind: 'texts'; readonly description: string; readonly explanation: string }
  | { readonly kind: 'create' }
  /** The list was removed, after its items. `nextItem`: `ListHead.nextItem` */
  | { readonly kind: 'delete'; readonly description: string; readonly explanation: string; readonly nextItem: number }

/** Recognizes an item. It tells whether others have changed it since. */
export function checksumOfItem(item: JsonText): number {
  return crc32(item)
}

/** The steps of one change of one list. */
export interface ListSteps {
  readonly list: string
  /** `ListHead.id`. Empty for a list that cannot be read. */
  readonly listId: string
  /** The declared version of the items. */
  readonly version: number
  /** Null when there are too many to keep. */
  readonly steps: readonly ListStep[] | null
  /** Default: the origin of the transaction. */
  readonly origin?: string | undefined
}

/** Stores the steps of changes of lists, so that they can be taken back. */
export interface ListHistory {
  readonly keep: (tx: Transaction, actorId: string, changes: readonly ListSteps[]) => Promise<void>
  /** Whether content stays in the history when the same change makes this many other entries. */
  readonly keepsBeside: (others: number) => boolean
}

/** The most steps of one change that are kept. A longer list is removed without a copy of its items. */
const maxSteps = 2048
/** The most characters of items that are copied to the history when their lists are removed. */
const maxCharacters = 1_048_576

/** Whether so many items can be copied to the history when they are removed together. */
export function canBeKept(items: number, characters: number): boolean {
  return items <= maxSteps && characters <= maxCharacters
}

/** The steps that remove all items, from the last to the first, so that each is put back at its position. */
export function clearingSteps(items: readonly ItemBefore[]): ListStep[] {
  return items
    .map(({ item, revision, value }, index): ListStep => ({ kind: 'remove', row: item, index, revision, item: value }))
    .toReversed()
}

/** The texts of a list. */
interface Texts {
  readonly description: string
  readonly explanation: string
}

/** A stored item before a change. */
interface ItemBefore {
  readonly item: number
  readonly revision: number
  readonly value: JsonText
}

/** A change that `OpenList.save` writes. */
export interface SavedChange {
  /** The insertions and removals of the order, as they happened. */
  readonly moves: readonly OrderMove[]
  /** The values of inserted items. */
  readonly inserted: ReadonlyMap<number, JsonText>
  readonly updated: readonly (readonly [before: ItemBefore, after: JsonText])[]
  /** The position of an updated item. */
  readonly positionOf: (item: number) => number
  readonly removed: readonly ItemBefore[]
  /** The texts before, if they change. */
  readonly texts: Texts | null
}

/** The steps of a change. Null when there are too many to keep. */
export function stepsOf({ moves, inserted, updated, positionOf, removed, texts }: SavedChange): ListStep[] | null {
  const steps: ListStep[] = []
  for (const [{ item, value }, after] of updated)
    steps.push({ kind: 'update', row: item, index: positionOf(item), after: checksumOfItem(after), item: value })
  const before = new Map(removed.map((row) => [row.item, row]))
  for (const { kind, row, index } of moves) {
    if (kind === 'insert') addInsertion(steps, row, index, checksumOfItem(inserted.get(row) ?? known('null')))
    else {
      const { revision = 1, value = known('null') } = before.get(row) ?? {}
      steps.push({ kind: 'remove', row, index, revision, item: value })
    }
  }
  if (texts !== null) steps.push({ kind: 'texts', ...texts })
  return steps.length > maxSteps ? null : steps
}

function addInsertion(steps: ListStep[], row: number, index: number, after: number): void {
  const last = steps.at(-1)
  const continues =
    last?.kind === 'insert' && last.row + last.after.length === row && last.index + last.after.length === index
  if (continues) steps[steps.length - 1] = { ...last, after: [...last.after, after] }
  else steps.push({ kind: 'insert', row, index, after: [after] })
}

/** Serializes steps. Items stay as they are. */
export function stepsText(listId: string, steps: readonly ListStep[]): JsonText {
  return object([
    ['list', stringText(listId)],
    ['steps', array(steps.map(stepText))],
  ])
}

function stepText(step: ListStep): JsonText {
  switch (step.kind) {
    case 'insert':
      return array([stringText('insert'), number(step.row), number(step.index), array(step.after.map(number))])
    case 'remove':
      return array([stringText('remove'), number(step.row), number(step.index), number(step.revision), step.item])
    case 'update':
      return array([stringText('update'), number(step.row), number(step.index), number(step.after), step.item])
    case 'create':
      return array([stringText('create')])
    case 'delete':
      return array([
        stringText('delete'),
        stringText(step.description),
        stringText(step.explanation),
        number(step.nextItem),
      ])
    case 'texts':
      return array([stringText('texts'), stringText(step.description), stringText(step.explanation)])
  }
}

function number(value: number): JsonText {
  return known(String(value))
}

/** Reads what `stepsText` wrote. @throws Error for any other text */
export function parseSteps(text: string): { readonly listId: string; readonly steps: readonly ListStep[] } {
  const fields = members(known(text))
  const list = fields?.get('list')
  const steps = fields?.get('steps')
  if (list === undefined || steps === undefined) throw new Error('the steps of a list cannot be read')
  return { listId: textIn(list), steps: (elements(steps) ?? []).map(parseStep) }
}

function parseStep(text: JsonText): ListStep {
  const [kind, ...rest] = elements(text) ?? []
  const [a = nothing, b = nothing, c = nothing, d = nothing] = rest
  switch (kind === undefined ? '' : textIn(kind)) {
    case 'insert':
      return { kind: 'insert', row: wholeIn(a), index: wholeIn(b), after: (elements(c) ?? []).map(wholeIn) }
    case 'remove':
      return { kind: 'remove', row: wholeIn(a), index: wholeIn(b), revision: wholeIn(c), item: d }
    case 'update':
      return { kind: 'update', row: wholeIn(a), index: wholeIn(b), after: wholeIn(c), item: d }
    case 'create':
      return { kind: 'create' }
    case 'texts':
      return { kind: 'texts', description: textIn(a), explanation: textIn(b) }
    case 'delete':
      return { kind: 'delete', description: textIn(a), explanation: textIn(b), nextItem: wholeIn(c) }
    default:
      throw new Error('the steps of a list have an unknown kind')
  }
}

const nothing = known('null')

function textIn(json: JsonText): string {
  const text = stringValue(json)
  if (text === null) throw new Error('the steps of a list have a member that is not a string')
  return text
}

function wholeIn(json: JsonText): number {
  const number = Number(json)
  if (!/^\d+$/.test(json) || !Number.isSafeInteger(number))
    throw new Error('the steps of a list have a member that is not a whole number')
  return number
}
