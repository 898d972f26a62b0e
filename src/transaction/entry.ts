import type { JsonText } from '../json/json.ts'
import type { ListMetadata } from '../list/list.ts'
import type { Record } from '../property/change.ts'
import type { UnreadProperty } from '../property/property-store.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { ListPieces } from './list-pieces.ts'

/** A name in a transaction: what is stored, and what the transaction has made of it. */
export interface TransactionEntry {
  /** The stored property when the transaction read it first. Null when it did not exist. */
  readonly stored: UnreadProperty | null
  /** The value as the transaction sees it. Null when the name has no value. */
  value: JsonText | null
  /** The list as the transaction sees it. Null when the name has no list. `metadata` has the stored length. */
  list: { readonly pieces: ListPieces; readonly metadata: ListMetadata } | null
}

/** A change of a transaction, which waits for the commit. The commit may run it more than once. */
export interface TransactionStep {
  readonly run: (tx: Transaction, record: Record, actor: LockedActor) => Promise<void>
  /** True when the change may leave rows to delete in the background. */
  readonly leavesRows: boolean
}
