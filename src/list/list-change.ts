/** What a change did to a list, in the terms of the protocol's list diffs. */
import type { JsonText } from '../json/json.ts'

export type ListOperation =
  | 'append'
  | 'insert'
  | 'update'
  | 'delete'
  | 'remove'
  | 'pop'
  | 'extend'
  | 'clear'
  | 'delete_all'
  | 'metadata'

export interface ListChange {
  readonly operation: ListOperation
  /** The length after the change. */
  readonly length: number
  /** Where it happened; for `extend` the position of the first item. Absent for those that `removeWhere` took. */
  readonly index?: number
  /** The new item; for `pop` and `remove` the one that was taken out. */
  readonly item?: JsonText
  /** The items that `extend` added. */
  readonly items?: readonly JsonText[]
  /** What stood there before an `update` or `delete`. */
  readonly old_item?: JsonText
  /** The texts that a `metadata` change gave. */
  readonly description?: string
  readonly explanation?: string
  /** The list is as it was before. */
  readonly changesNothing?: true
}
