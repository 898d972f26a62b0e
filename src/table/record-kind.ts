/** The records of an archive that are rows of one table (docs/archives.md). */
import { present } from '../json/present.ts'
import type { SealedColumn } from '../secret/sealed-columns.ts'
import type { Param, Transaction } from '../store/store.ts'
import type { MemberCheck } from './shapes.ts'

/**
 * How a member of a record is stored. `time`: Unix milliseconds as an ISO 8601 text; `never`: like `time`, with 0 for null. `json`:
 * JSON as text, with an empty text for null. `value`: JSON as text. `flag`: 0 or 1. `secret`: sealed.
 */
export type MemberType = 'text' | 'integer' | 'flag' | 'time' | 'never' | 'json' | 'value' | 'secret'

export type RecordRow = Readonly<Record<string, Param>>

export interface Misfit {
  readonly member: string
  readonly why: string
}

export interface RecordMember {
  readonly name: string
  readonly column: string
  readonly type: MemberType
  /** Place of a secret. */
  readonly sealed?: SealedColumn
  /** The shape that its readers rely on. Default: any value of the type. */
  readonly check?: MemberCheck
  /** True when null is a value of the member. */
  readonly isNullable?: true
  /** True when archives of earlier releases lack the member. It is null then. */
  readonly isOptional?: true
}

export interface RecordKind {
  readonly kind: string
  readonly table: string
  /** The column with the id of the actor. Default: `actor_id`. */
  readonly owner?: string
  /** The columns of the key besides the actor, which order the records. Without one, the actor has at most one record. */
  readonly key: readonly string[]
  readonly members: readonly RecordMember[]
  /** Which rows of the table have this kind. */
  readonly where?: string
  /** True for records that only archives with secrets contain. */
  readonly isSecret?: true
  /** True for records that only an archive for a move contains: what waits, and continues at the new service. */
  readonly isOfMove?: true
  /** A column of long texts. A page ends before they become too long together. */
  readonly longColumn?: string
  /** Checks what the members of a row are together. Returns the member that does not fit, and why. */
  readonly checkRow?: (actorId: string, row: RecordRow) => Misfit | null
  /** Inserts the rows of an import, with what the service keeps beside them. Default: inserts the rows alone. */
  readonly insert?: (tx: Transaction, actorId: string, rows: readonly RecordRow[]) => Promise<void>
  /** The content of the rows in the storage of objects. An archive has it after each record. */
  readonly content?: RecordContent
}

/**
 * Each row has an object, whose key is in the column `object`. Its size and SHA-256 are in the columns `size` and `hash`. The key of
 * the table is the actor and `name`.
 */
export interface RecordContent {
  /** The members that two contents of one name are compared by. */
  readonly compared: readonly RecordMember[]
  readonly limits: readonly ContentLimit[]
  /** Inserts a row of an import, or replaces the row with its name. */
  readonly put: (tx: Transaction, actorId: string, row: RecordRow) => Promise<void>
  /** Stores beside the rows of an imported actor how many they are. */
  readonly count: (tx: Transaction, actorId: string) => Promise<void>
  /** Deletes the rows of an actor. */
  readonly clear: (tx: Transaction, actorId: string) => Promise<void>
}

export interface ContentTotals {
  readonly count: number
  readonly bytes: number
  readonly largest: number
}

/** A limit of the contents of an actor. */
export interface ContentLimit {
  readonly of: keyof ContentTotals
  /** The option that has the limit, by its name in code. */
  readonly setting: string
  /** The counted things, as they follow a number: `bytes of files`. */
  readonly unit: string
}

export type ContentKind = RecordKind & Required<Pick<RecordKind, 'content'>>

type More = Pick<RecordMember, 'check' | 'isNullable' | 'isOptional'>

/** Makes members of a type, whose column has their name unless it is given. */
function typed(type: MemberType) {
  return (name: string, more: (More & { readonly column?: string }) | string = {}): RecordMember =>
    typeof more === 'string' ? { name, column: more, type } : { name, column: name, type, ...more }
}

export const mayBeNull = { isNullable: true } as const
export const mayBeAbsent = { isNullable: true, isOptional: true } as const

/** Makes the members of a record. */
export const member = {
  text: typed('text'),
  integer: typed('integer'),
  flag: typed('flag'),
  time: typed('time'),
  never: typed('never'),
  json: typed('json'),
  value: typed('value'),
  secret: (name: string, sealed: SealedColumn, check?: MemberCheck): RecordMember => ({
    name,
    column: sealed.column,
    type: 'secret',
    sealed,
    ...present({ check }),
  }),
} as const
