/** The interface of a kind of property. `kinds.ts` lists the kinds, and CONTRIBUTING.md describes how to add one. */
import type { JsonText } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import type { Permission } from '../permission/permission.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { ActorWriter, Change, Record } from './change.ts'
import type { DeclaredKinds } from './declared-kinds.ts'
import type { ListReader } from './lists/list-reader.ts'
import type { ListWriter } from './lists/list-writer.ts'
import type { PropertyGate } from './property-hooks.ts'
import type { UnreadProperty, StoredProperty } from './property-store.ts'
import type { Values } from './values.ts'
import type { Versions } from './version.ts'

export interface PropertyMethods {
  /** The description in the resource list of AI clients. */
  readonly description: string
  /**
   * True when the row holds metadata and the items have their own rows. Rights, including `append`, then apply to the
   * name. Otherwise the row holds the value, and rights apply along the path.
   */
  readonly holdsItems: boolean
  /** The number of items. 0 for a kind without items. @throws ServiceError `list_corrupted` */
  readonly itemCount: (property: UnreadProperty) => number
  /** The entry in the listing of all properties. */
  readonly entry: (property: StoredProperty) => JsonText
  /** The diff for this property when all properties are deleted. */
  readonly removal: (name: string) => Change
  /** Handles GET. Null for a path without a value, and for a value that a hook hides. */
  readonly read: (
    kindDeps: KindDeps,
    access: Access,
    property: StoredProperty,
    request: PropertyRequest,
  ) => Promise<PropertyContent | null>
  /** The content of the MCP resource: the full value, or `range.count` items starting at `range.from`. */
  readonly resource: (
    kindDeps: KindDeps,
    access: Access,
    property: StoredProperty,
    range: { readonly from: number | null; readonly count: number },
  ) => Promise<Part | null>
  /** Handles PUT below the name, or with an index. */
  readonly put: (kindDeps: KindDeps, access: Access, request: PropertyRequest, value: JsonText) => Promise<void>
  /**
   * Handles PUT at the name of a property of this kind, inside the transaction. The empty string deletes the property.
   * Without this function, the request fails because the name is taken (409).
   */
  readonly replace?: (tx: Transaction, actor: LockedActor, property: StoredProperty, value: JsonText) => Promise<Change>
  /** Handles POST. */
  readonly add: (kindDeps: KindDeps, access: Access, path: readonly string[], value: JsonText) => Promise<Added>
  /** Handles DELETE. False when the name did not exist. */
  readonly remove: (kindDeps: KindDeps, access: Access, request: PropertyRequest, expected?: string) => Promise<boolean>
  /** The step for an entry of a bulk write that creates or changes a property of this kind. Null for any other entry. */
  readonly bulkStep?: (name: string, fields: ReadonlyMap<string, JsonText>) => BulkStep | null
}

/** Dependencies of the functions of a kind. */
export interface KindDeps {
  readonly writer: ActorWriter
  readonly permission: Permission
  readonly gate: PropertyGate
  readonly declared: DeclaredKinds
  readonly versions: Versions
  readonly values: Values
  readonly listReader: ListReader
  readonly listWriter: ListWriter
}

/** The path and options of a request. */
export interface PropertyRequest {
  /** The name, followed by keys or a position. */
  readonly path: readonly string[]
  /** The query parameter `index`. */
  readonly index?: string | undefined
  /** True to read metadata in place of items. */
  readonly isShort?: boolean
  /** True for the version that the client has. The content of a list is then empty. */
  readonly isKnown?: ((version: string) => boolean) | undefined
}

/** The content of a response. Large content comes in pieces, to limit memory. `isWhole` is false for part of a property. */
export type PropertyContent = (
  | { readonly json: JsonText; readonly isWhole: boolean }
  | { readonly pieces: AsyncIterable<string> }
) & {
  /**
   * The version of the content. It may be older than the content, but never newer. Null for a long list whose hooks determine
   * what the caller sees.
   */
  readonly version: () => string | null
}

export interface Part {
  readonly json: JsonText
  /** The next page: its first index, and the length of the list. Null on the last page. */
  readonly next: { readonly from: number; readonly length: number } | null
}

export interface Added {
  /** The stored value, after the hooks. */
  readonly value: JsonText
  /** The position below the given name. Null for the name itself. */
  readonly position: number | null
}

/** A step of a bulk write for one name, other than setting a value. */
export interface BulkStep {
  readonly right: Right
  /** @throws ServiceError `invalid_name` */
  readonly checkName: () => void
  /** The same step for a caller that may append but not write. @throws ServiceError `forbidden` */
  readonly onlyAdding?: (kindDeps: KindDeps, access: Access) => Promise<BulkStep>
  /** Runs the hooks and returns the step as they changed it. */
  readonly runHooks: (kindDeps: KindDeps, access: Access, operation: 'put' | 'post') => Promise<BulkStep>
  /** Stores the change. Returns the string that the response contains in place of a value. */
  readonly store: (tx: Transaction, actor: LockedActor, record: Record, context: StepContext) => Promise<JsonText>
}

export interface StepContext {
  readonly access: Access
  readonly declared: DeclaredKinds
  /** Unix milliseconds. */
  readonly now: number
}
