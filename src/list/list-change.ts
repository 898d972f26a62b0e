/** A change of a list, in the terms of the protocol's list diffs. */
import type { JsonText } from '../json/json.ts'

export const listOperations = [
  'append',
  'insert',
  'update',
  'extend',
  'delete',
  'pop',
  'clear',
  'delete_all',
  'remove',
  'metadata',
] as const

export type ListOperation = (typeof listOperations)[number]

export interface ListChange {
  readonly operation: ListOperation
  /** The length after the change. */
  readonly length: number
  /** The position of the change; for `extend`, of the first new item. Absent for items that `removeWhere` removed. */
  readonly index?: number
  /** The new item; for `pop` and `remove`, the removed item. */
  readonly item?: JsonText
  /** The items that `extend` added. */
  readonly items?: readonly JsonText[]
  /** The item before an `update` or `delete`. */
  readonly old_item?: JsonText
  /** The new description of a `metadata` change. */
  readonly description?: string
  readonly explanation?: string
  /** True when the list is the same as before. */
  readonly changesNothing?: true
}
