/** A table as the feature that owns it declares it. The lists of the core contain the tables of all features. */
import type { Quota } from '../quota/quota.ts'
import type { SealedColumn } from '../secret/sealed-columns.ts'
import type { ManyRows } from '../store/delete-in-parts.ts'
import type { Migration, Transaction } from '../store/store.ts'
import type { Placement } from './placement.ts'
import type { ContentKind, RecordKind } from './record-kind.ts'

export interface Table {
  readonly name: string
  /** Its place on a sharded database. */
  readonly place: Extract<Placement, { kind: 'distributed' }>
  /** The key after `actor_id` that an application declares. A start compares it with the migrations. */
  readonly key?: readonly string[]
  /** Its columns with secrets, which a key rotation seals again. */
  readonly sealed?: readonly SealedColumn[]
  /** Its rows in an archive. */
  readonly records?: RecordKind
  /** The limits of its rows for an actor. */
  readonly quotas?: readonly Quota[]
  /** Its rows that can read or receive what an owner stores later. The owner of an arrived actor keeps them by choice. */
  readonly reader?: TableReader
  /** Its rows that are credentials, which end after a restore. */
  readonly credential?: TableCredential
  /** The key of its rows after `actor_id`, when an actor may have so many that a deletion takes them in parts. */
  readonly manyRows?: Omit<ManyRows, 'table' | 'where'>
  /** The column with the bytes in objects of an actor, for operators. The table has at most one row of an actor. */
  readonly storedBytes?: string
  /** The kind of its rows in `job`, which have the same ids: the queues of what its rows send. */
  readonly queues?: string
}

export interface TableReader {
  readonly kind: string
  /** Anyone with a link may become this reader. Readers with an address are listed before. */
  readonly isLink?: true
  /** Selects `id`, `name`, `address`, `relationship` and `rules` for the actor `$1`, in a fixed order, at most `$2` rows. */
  readonly sql: string
  readonly end: (tx: Transaction, actorId: string, id: string) => Promise<unknown>
}

export interface TableCredential {
  /** In the report. */
  readonly name: string
  /** FROM and WHERE of the rows. `$1` is the time. */
  readonly rows: string
  /** The column with the id. */
  readonly id: string
  /** Ends the credential in the transaction that has locked its actor. */
  readonly end: (tx: Transaction, actorId: string, id: string) => Promise<unknown>
}

/** The tables of a store that a check or a command reads. */
export interface WithTables {
  readonly tables: readonly Table[]
  /** The scripts of features that an application adds. */
  readonly featureMigrations?: readonly Migration[]
}

/** The records with content. */
export function contentKindsOf(tables: readonly Table[]): readonly ContentKind[] {
  return tables.flatMap(({ records }) =>
    records?.content === undefined ? [] : [{ ...records, content: records.content }],
  )
}
