/** What differs between the kinds of properties. `kinds.ts` lists the kinds, and CONTRIBUTING.md says how to add one. */
import type { JsonText } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import type { Permission } from '../permission/permission.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { ActorWriter, Change, Record } from './change.ts'
import type { ListReader } from './list-reader.ts'
import type { ListWriter } from './list-writer.ts'
import type { PropertyGate } from './property-hooks.ts'
import type { StoredProperty } from './property-store.ts'
import type { Values } from './values.ts'

export interface Kind {
  /** For AI clients that list their resources. */
  readonly description: string
  /**
   * True: the row holds facts, and the items have rows of their own. Rights are granted on the name as a whole, and
   * `append` is one of them. False: the row holds the value, and rights are granted along the path.
   */
  readonly holdsItems: boolean
  /** Number of items; 0 for a kind that holds none. @throws ServiceError `list_corrupted` */
  readonly itemCount: (property: StoredProperty) => number
  /** In the listing of all properties. */
  readonly entry: (property: StoredProperty) => JsonText
  /** The diff of a deletion of all properties. */
  readonly removal: (name: string) => Change
  /** GET. Null for a place without a value, and for a value that a hook hides. */
  readonly read: (
    room: KindRoom,
    access: Access,
    property: StoredProperty,
    request: PropertyRequest,
  ) => Promise<PropertyContent | null>
  /** The content of the MCP resource: the whole, or so many items from `range.from` on. */
  readonly resource: (
    room: KindRoom,
    access: Access,
    property: StoredProperty,
    range: { readonly from: number | null; readonly count: number },
  ) => Promise<Part | null>
  /** PUT below the name, or with an index. */
  readonly put: (room: KindRoom, access: Access, request: PropertyRequest, value: JsonText) => Promise<void>
  /**
   * PUT at the name of a property of this kind, inside the transaction; the empty string deletes. Without this function
   * the name is taken (409).
   */
  readonly replace?: (tx: Transaction, actor: LockedActor, property: StoredProperty, value: JsonText) => Promise<Change>
  /** POST. */
  readonly add: (room: KindRoom, access: Access, path: readonly string[], value: JsonText) => Promise<Added>
  /** DELETE. False when the name did not exist. */
  readonly remove: (room: KindRoom, access: Access, request: PropertyRequest, expected?: string) => Promise<boolean>
  /** An entry of a bulk write that makes or changes a property of this kind; null for every other entry. */
  readonly bulkStep?: (name: string, fields: ReadonlyMap<string, JsonText>) => BulkStep | null
}

/** What the functions of a kind work with. */
export interface KindRoom {
  readonly writer: ActorWriter
  readonly permission: Permission
  readonly gate: PropertyGate
  readonly values: Values
  readonly listReader: ListReader
  readonly listWriter: ListWriter
}

/** The place that a request names. */
export interface PropertyRequest {
  /** The name, and the keys or the position below it. */
  readonly path: readonly string[]
  /** The query parameter `index`. */
  readonly index?: string | undefined
  /** Facts in place of items. */
  readonly isShort?: boolean
}

/** Pieces are for what is too long to be held in memory. `isWhole`: the property itself and not a part of it. */
export type PropertyContent =
  | { readonly json: JsonText; readonly isWhole: boolean }
  | { readonly pieces: AsyncIterable<string> }

export interface Part {
  readonly json: JsonText
  /** Items that follow; null at the end. */
  readonly next: { readonly from: number; readonly length: number } | null
}

export interface Added {
  /** As it was stored, after the hooks. */
  readonly value: JsonText
  /** Below the name that was given; null for the name itself. */
  readonly position: number | null
}

/** What a bulk write does to one name, other than setting a value. */
export interface BulkStep {
  readonly right: Right
  /** @throws ServiceError `invalid_name` */
  readonly checkName: () => void
  /** The same step for a caller that may append and not write. @throws ServiceError `forbidden` */
  readonly onlyAdding?: (room: KindRoom, access: Access) => Promise<BulkStep>
  /** Runs the hooks and returns what they made of the step. */
  readonly pass: (room: KindRoom, access: Access, operation: 'put' | 'post') => Promise<BulkStep>
  /** Returns what the response says in place of a value. */
  readonly store: (tx: Transaction, actor: LockedActor, record: Record, context: StepContext) => Promise<JsonText>
}

export interface StepContext {
  readonly access: Access
  /** Unix milliseconds. */
  readonly now: number
}
