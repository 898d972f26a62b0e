/** The handle by which application code calls another actor. */
import type { Json } from '../json/json.ts'
import type { DeclaredList, DeclaredProperty } from './data-declarations.ts'
import type { InputOf, NameOf, OperationsOf, ResultOf } from './declared-operations.ts'
import type { ListQuery, ListWhere } from './list-query.ts'
import type { PropertyPath } from './property-path.ts'

/**
 * Another actor with an approved relationship. Every call is one request to the peer, which checks the rights of this actor.
 * The types are those of this code: the service does not compare an answer with them.
 *
 * Each call throws `PeerRefused`, `PeerUnreachable` or `PeerTimeout`. Before it sends anything, it throws a ServiceError:
 * `not_found` without a relationship, `forbidden` while the owner has not approved it, `bad_request` for a program without
 * an address and inside a transaction.
 *
 * @typeParam Application the type of the peer's application, whose declared actions and methods have types.
 * @public
 */
export interface PeerHandle<Application = unknown> {
  /** The id of the peer. */
  readonly id: string
  /** Calls an action of the peer and returns its result. Undefined when the action has none. */
  action<Name extends NameOf<OperationsOf<Application, '~actions'>>>(
    name: Name,
    ...input: InputOf<OperationsOf<Application, '~actions'>, Name>
  ): Promise<ResultOf<OperationsOf<Application, '~actions'>, Name>>
  /** Calls a method of the peer and returns its result. Undefined when the method has none. */
  method<Name extends NameOf<OperationsOf<Application, '~methods'>>>(
    name: Name,
    ...input: InputOf<OperationsOf<Application, '~methods'>, Name>
  ): Promise<ResultOf<OperationsOf<Application, '~methods'>, Name>>
  /** Returns a value, or the items of a list. Undefined when the peer does not have it. */
  get(path: PropertyPath): Promise<Json | undefined>
  get<Value, Given, Missing>(property: DeclaredProperty<Value, Given, Missing>): Promise<Value | undefined>
  /** Stores a value at the peer. Below a name, objects merge key by key. */
  set(path: PropertyPath, value: Json | object): Promise<void>
  set<Value, Given, Missing>(property: DeclaredProperty<Value, Given, Missing>, value: Given): Promise<void>
  /** A list of the peer. It must exist there. */
  list(name: string): PeerListHandle
  list<Item, Given>(list: DeclaredList<Item, Given>): PeerListHandle<Item, Given>
}

/** A list of a peer. Its calls throw the same errors as those of `PeerHandle`. @public */
export interface PeerListHandle<Item = Json, Given = Json | object> {
  readonly name: string
  length(): Promise<number>
  /** Returns the item, or undefined beyond the end. Negative indexes count from the end. */
  get(index: number): Promise<Item | undefined>
  /** Returns `limit` items from `start`. Default: all. A peer that runs Troupe accepts limits up to 1000. */
  items(range?: { readonly start?: number; readonly limit?: number }): Promise<Item[]>
  /**
   * Returns a page of the items whose fields have these values, as the query of an own list does. The indexes of the peer answer.
   * A page may be shorter than its limit: `next` says whether more follow.
   */
  query(query?: ListQuery<Item>): Promise<PeerListPage<Item>>
  /** Returns the number of items whose fields have these values. With a condition, it reads all pages of the query. */
  count(where?: ListWhere<Item>): Promise<number>
  /** Adds an item at the end and returns its index. */
  append(item: Given): Promise<number>
}

/** A page of the items of a peer’s list. @public */
export interface PeerListPage<Item = Json> {
  readonly items: readonly { readonly item: Item }[]
  /** For `after` of the next page. Null on the last page. */
  readonly next: string | null
}
