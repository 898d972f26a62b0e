/** The handle by which an application's handlers use an actor. */
import type { Json } from '../json/json.ts'
import type { NewGrant, Withdrawal } from '../permission/grants.ts'
import type { OperationOf, RuledCategory } from '../permission/rules.ts'
import type { AlarmSetting, AlarmsHandle, TransactionAlarms } from './background/alarms.ts'
import type { DeclaredList, DeclaredProperty } from './data-declarations.ts'
import type { HistoryHandle } from './history/history-handle.ts'
import type { GroupKind, GroupOfActor, MembersHandle } from './kinds/groups.ts'
import type { KeysHandle } from './keys.ts'
import type { ListQuery, ListQueryPage, ListWhere } from './list-query.ts'
import type { PeerHandle, PeerListPage } from './peer-handle.ts'
import type { PropertyPath } from './property-path.ts'
import type { ServiceRequest } from './service-declaration.ts'
import type { TrustRecord } from './trust-record.ts'

/** A declared property or list of any type. */
export type AnyDeclared = Pick<DeclaredProperty | DeclaredList, 'kind' | 'name'>

/** Reads of properties. */
export interface ReadingHandle {
  /** Returns the value, or undefined when it does not exist. Rounds numbers beyond double precision. */
  get(path: PropertyPath): Promise<Json | undefined>
  /** Returns the value of a declared property, or its default. Undefined when it has neither. */
  get<Value, Given, Missing>(property: DeclaredProperty<Value, Given, Missing>): Promise<Value | Missing>
  /** Returns the value as JSON text, in which numbers have all their digits. Undefined when it does not exist. */
  getText(path: PropertyPath | AnyDeclared): Promise<string | undefined>
  /**
   * Returns every property that is not a list, by name. They are in memory together, up to the quota of the actor. A transaction
   * reads them all again for its commit. Outside of a transaction, `entries` reads them page by page.
   */
  all(): Promise<{ [name: string]: Json }>
  /** Returns the names and lengths of all lists. */
  lists(): Promise<{ readonly name: string; readonly length: number }[]>
}

/** Reads of properties outside of a transaction. */
export interface PagedReadingHandle extends ReadingHandle {
  /**
   * Yields every property that is not a list, with its name: by name, then the defaults of declared properties. A page of at most
   * 256 properties or 1 MiB is in memory, or one value. A change in between shows where its name has not been read yet.
   */
  entries(): AsyncIterable<readonly [name: string, value: Json]>
}

/** Reads of properties that may be old. One replica answers all reads of a handle, or the database itself. */
export interface StaleHandle extends PagedReadingHandle {
  /** Age of the oldest data that this handle has read, in seconds. 0 when no read replica answered. */
  ageSeconds(): number
}

/** Writes of properties. */
export interface WritingHandle {
  /**
   * Stores a value. Below a name, objects merge key by key, as over HTTP. `''` at a name deletes the property.
   *
   * @throws ServiceError `conflict` when the name is a list, or a value on the path is not an object.
   */
  set(path: PropertyPath, value: Json | object): Promise<void>
  /** Stores a value of a declared property. @throws ServiceError `invalid_value` naming the field that does not fit. */
  set<Value, Given, Missing>(property: DeclaredProperty<Value, Given, Missing>, value: Given): Promise<void>
  /**
   * Stores a value given as JSON text, as `set` does. Numbers keep all their digits.
   *
   * @throws ServiceError `invalid_json`; `invalid_value` for a number beyond the range of a double.
   */
  setText(path: PropertyPath | AnyDeclared, json: string): Promise<void>
  /** Deletes a property, a list or a key. Returns whether the property existed. @throws ServiceError `not_found` for a key. */
  delete(path: PropertyPath | AnyDeclared): Promise<boolean>
  /**
   * Replaces a value by the result of `change`, which receives the current value, and returns it. No other change comes
   * between: `change` runs again when one did. Numbers that `change` returns unchanged keep all their digits.
   *
   * @throws ServiceError `conflict` when other changes came between 50 times.
   */
  update(path: PropertyPath, change: (value: Json | undefined) => Json | object | Promise<Json | object>): Promise<Json>
  update<Value, Given, Missing>(
    property: DeclaredProperty<Value, Given, Missing>,
    change: (value: Value | Missing) => Given | Promise<Given>,
  ): Promise<Value>
}

/**
 * An actor in a transaction. Reads see the changes of the transaction. All changes are stored together at its end, or none.
 *
 * @public
 */
export interface TransactionHandle extends ReadingHandle, WritingHandle, AlarmSetting {
  readonly id: string
  readonly creator: string
  /** `person`, or the name of the kind that `App.kind` declares. */
  readonly kind: string
  /** URL of the actor, without a trailing slash. */
  readonly url: string
  list(name: string): TransactionListHandle
  list<Item, Given>(list: DeclaredList<Item, Given>): TransactionListHandle<Item, Given>
  readonly alarms: TransactionAlarms
}

/** An actor, for the code of the application. Its calls need no rights. @public */
export interface ActorHandle extends PagedReadingHandle, WritingHandle, AlarmSetting {
  readonly id: string
  readonly creator: string
  /** `person`, or the name of the kind that `App.kind` declares. */
  readonly kind: string
  /** URL of the actor, without a trailing slash. */
  readonly url: string

  /**
   * Runs `work` with reads and writes of this actor that are one: no other change of what it reads comes between, and its
   * changes are stored together after it has finished, or not at all when it throws. `work` runs again when another change
   * came between, so it should have no effect outside of its handle. Other transactions of the actor wait meanwhile.
   *
   * @throws ServiceError `conflict` when other changes came between 50 times; `bad_request` inside a transaction, and for
   *   more than 10,000 changes.
   */
  transaction<T>(work: (tx: TransactionHandle) => Promise<T>): Promise<T>

  /** Returns reads that a read replica may answer with data of at most this age, in seconds. Default: no read is old. */
  within(age: { readonly seconds: number }): StaleHandle
  list(name: string): ListHandle
  list<Item, Given>(list: DeclaredList<Item, Given>): ListHandle<Item, Given>

  /** Relationships with other actors. */
  readonly trust: TrustHandle
  /**
   * Subscribes to a peer and fetches its current data. Default scope: all properties. Default granularity: `high`.
   *
   * @throws ServiceError `peer_failed`
   */
  subscribe(
    peerId: string,
    to?: { target?: string; subtarget?: string; resource?: string; granularity?: 'high' | 'low' | 'none' },
  ): Promise<Subscription>
  /** Deletes the subscription here at once and notifies the peer. Returns whether it existed. */
  unsubscribe(peerId: string, subscriptionId: string): Promise<boolean>
  /** Fetches the missing diffs of one subscription, or of all subscriptions to the peer. @throws ServiceError `not_found` */
  sync(peerId: string, subscriptionId?: string): Promise<SyncSummary>
  /** Returns the stored copy of a peer's data, its profile and capabilities. */
  remote(peerId: string): RemoteHandle
  /**
   * Another actor, to call with the rights that it grants to this actor: `actor.peer<typeof app>(peerId)`. The relationship
   * must be approved.
   */
  peer<Application = unknown>(peerId: string): PeerHandle<Application>
  /** A group of this kind that the actor is a member of, to call with the rights of the role. @experimental */
  peer<Kind extends GroupKind>(kind: Kind, groupId: string): PeerHandle<Kind>

  /** Subscriptions of peers to this actor. */
  readonly subscriptions: SubscriptionsHandle

  /**
   * Notifies connected AI clients that the list of tools, prompts or resources changed, or one resource, given by its URI.
   * The service announces changes of properties and lists itself.
   */
  announce(changed: 'tools' | 'prompts' | 'resources' | { readonly resource: string }): Promise<void>

  /** The alarms that are set. `alarm` sets one. */
  readonly alarms: AlarmsHandle

  /** The changes of properties and lists, with what they replaced. `undo` takes them back. @experimental */
  readonly history: HistoryHandle

  /** The sign-in of the owner. */
  readonly signIn: SignInHandle

  /** The actor's connections to third-party services. @experimental */
  readonly services: ServicesHandle

  /**
   * Returns whether the creator is verified: by an identity provider, by a link in an e-mail, or by the application
   * (`actors.create` with `verified`).
   */
  isProven(): Promise<boolean>

  /** Programs that act for the actor, each with its own secret. */
  readonly clients: ClientsHandle
  /** API keys: credentials of programs and devices, each with its own rights. */
  readonly keys: KeysHandle
  /** The members of the group, for an actor of a kind with roles. @experimental */
  readonly members: MembersHandle
  /** Returns the groups of this kind that the actor is a member of, here or at other services, by id. @experimental */
  groups(kind: GroupKind): Promise<GroupOfActor[]>

  /**
   * Returns the audit log, newest first: accesses by peers, AI clients, trustees and anonymous callers, not by the owner.
   * Accesses of the last seconds may be missing, because the service writes them in batches.
   *
   * @throws ServiceError `bad_request` for a limit outside 1 to 1000 (default: 100), or an invalid cursor.
   */
  activity(query?: ActivitySearch): Promise<ActivityPage>
}

/** The sign-in of the owner of an actor. @public */
export interface SignInHandle {
  /** Returns undefined when the owner never signed in through a provider. */
  get(): Promise<SignIn | undefined>
  /**
   * Returns the provider's tokens from the last sign-in, for calls to the provider on behalf of the owner.
   * Only a refresh token remains after the owner signed out.
   */
  providerTokens(): Promise<ProviderAccess | undefined>
}

/** The stored facts about the sign-in of an owner. @public */
export interface SignIn {
  /** The email address, or the provider's id for the person. */
  readonly identifier: string
  /** Kind of the provider of the last sign-in, such as `google`. */
  readonly provider?: string
  /** Method of the first sign-in, such as `google_oauth2`. */
  readonly authMethod?: string
  readonly email?: string
  /** True when a provider vouched for the address, or the owner opened the link that was sent to it. */
  readonly emailVerified: boolean
  /** True when a person who proves the identifier to a provider is signed in to this actor. */
  readonly isProven: boolean
  /** Time of the first sign-in. */
  readonly createdAt?: Date
  /** The fields as stored: `oauth_provider`, `auth_method`, `email`, `email_verified`, `created_at` … */
  readonly fields: Readonly<Record<string, string>>
}

export interface ProviderAccess {
  readonly accessToken?: string
  readonly expiresAt?: Date
  readonly refreshToken?: string
}

/** The third-party services of an actor. @experimental */
export interface ServicesHandle {
  /** @throws ServiceError `not_found` for a service that is not declared. */
  get(name: string): ServiceHandle
  /** Returns every declared service. */
  list(): Promise<{ readonly name: string; readonly connected: boolean }[]>
}

/** A third-party service that the owner of an actor can connect. @experimental */
export interface ServiceHandle {
  readonly name: string
  /**
   * Returns the URL at which the signed-in owner starts to connect the account.
   *
   * @param redirect Path on this service to which the browser returns afterwards.
   */
  connectUrl(redirect?: string): string
  /** Returns undefined while the actor is not connected. */
  connection(): Promise<ServiceConnection | undefined>
  /**
   * Returns a valid access token; the service refreshes an expired one first.
   *
   * @throws ServiceError `not_connected` when the owner must connect (again), `service_failed`.
   */
  accessToken(): Promise<string>
  /**
   * Sends a request to the service with the actor's token. Only URLs below the service's `apiUrls` receive the token.
   * A rejected token is refreshed once. The response is text of at most 16 MiB; redirects are not followed.
   *
   * @throws ServiceError `bad_request` for any other URL, `not_connected`, `service_failed`.
   */
  fetch(url: string, request?: ServiceRequest): Promise<Response>
  /**
   * Deletes the connection here, then revokes the token where the service supports it. Returns whether a connection existed.
   *
   * @throws ServiceError `service_failed` when revoking failed; the connection is deleted here all the same.
   */
  disconnect(): Promise<boolean>
}

/** Facts about the connection to a third-party service. @experimental */
export interface ServiceConnection {
  readonly connectedAt: Date
  /** Expiry of the access token; null when the service states none. */
  readonly expiresAt: Date | null
  /** The granted scopes, separated by spaces. */
  readonly scope: string
}

/** Clients of the authorization server that belong to an actor. @public */
export interface ClientsHandle {
  /**
   * Creates a client that acts for this actor with the rights of `trustType`. It gets tokens at `/oauth/token` by
   * `client_credentials`. With `redirectUris`, owners of other actors can authorize it too.
   *
   * @returns the client with its secret, which cannot be read again.
   * @throws ServiceError `invalid_value` for a name that cannot be displayed, or a redirect URI that is not allowed;
   *   `bad_request` for an end that is not in the future.
   */
  create(client: {
    readonly name: string
    /** Default: `mcp_client`. */
    readonly trustType?: string
    readonly redirectUris?: readonly string[]
    /** The time at which its access ends, by the clock of the database. Default: no end. */
    readonly until?: Date
  }): Promise<{ readonly client: ActorClient; readonly secret: string }>
  /** Returns the clients, newest first. */
  list(): Promise<ActorClient[]>
  get(clientId: string): Promise<ActorClient | undefined>
  /** Replaces the secret; tokens of the client stay valid. Returns undefined when the client does not exist. */
  rotateSecret(clientId: string): Promise<string | undefined>
  /**
   * Moves the end of the client's access; null removes the end. It applies to the tokens that the client has, from its next
   * request on. Returns whether the client exists.
   *
   * @throws ServiceError `bad_request` for an end that is not in the future.
   */
  moveEnd(clientId: string, until: Date | null): Promise<boolean>
  /** Deletes the client and revokes all its tokens at once, also those of other owners. Returns whether it existed. */
  delete(clientId: string): Promise<boolean>
  stats(): Promise<ClientStats>
}

/** A program that acts for an actor. @public */
export interface ActorClient {
  readonly clientId: string
  readonly name: string
  /** The trust type whose rules limit the client. */
  readonly trustType: string
  readonly redirectUris: readonly string[]
  readonly createdAt: Date
  /** When the client last obtained tokens for itself, or an owner authorized it; null when neither happened. */
  readonly lastUsedAt: Date | null
  /** The end of its access. Null: no end. */
  readonly until: Date | null
}

export interface ClientStats {
  readonly total: number
  /** Number of clients that hold valid tokens. */
  readonly active: number
  /** Number of clients by trust type. */
  readonly trustTypes: Readonly<Record<string, number>>
}

/** Selects entries of the audit log. */
export interface ActivitySearch {
  /** Only entries of this peer, client or address. */
  readonly caller?: string
  /** `allowed` includes calls that the owner approved, and `denied` those that the owner denied. */
  readonly outcome?: 'allowed' | 'asked' | 'denied'
  /** Subject of the requests. `operations` are actions, methods, resources, and everything that AI clients call. */
  readonly kind?: 'properties' | 'files' | 'operations' | 'connections' | 'updates' | 'other'
  /** Only requests for this property or a part of it. */
  readonly property?: string
  /** Only entries at or after this time. */
  readonly from?: Date
  /** Only entries before this time. */
  readonly until?: Date
  readonly limit?: number
  /** `next` of the previous page. */
  readonly cursor?: string
}

/** A page of the audit log. @public */
export interface ActivityPage {
  readonly entries: readonly Activity[]
  /** Cursor of the next page, with older entries; null on the last page. */
  readonly next: string | null
}

/** An entry of the audit log. It never contains a value, a query or a credential. @public */
export interface Activity {
  /** Time of the first access; `times` counts repetitions within a minute. */
  readonly at: Date
  /** `owner`: the owner changed who may reach the actor. */
  readonly callerKind: 'owner' | 'peer' | 'client' | 'trustee' | 'operator' | 'anonymous'
  /** Id of the peer or client; the name of the operator; `owner`; for an anonymous caller its IP address, if known. */
  readonly caller: string
  /** `push`: this service sent the values to a subscriber. */
  readonly through: 'http' | 'callback' | 'mcp' | 'push'
  readonly method: string
  /** Path below the actor. */
  readonly path: string
  /** `asked`: the call waits for the owner's approval and did not run. */
  readonly decision: 'allowed' | 'asked' | 'approved' | 'denied' | 'refused'
  readonly reason: string
  readonly status: number
  readonly requestId: string
  readonly times: number
}

/** An operation, alone where it names its category, such as `read` for properties, or with it, such as `resources.read`. */
export type AskedOperation =
  | OperationOf<Exclude<RuledCategory, 'resources'>>
  | { [Category in RuledCategory]: `${Category}.${OperationOf<Category>}` }[RuledCategory]

/** Whether a peer may do an operation. @public */
export interface Allowance {
  readonly allowed: boolean
  /** The reason in one sentence, which names the rule. */
  readonly reason: string
  /** How the owner can reverse the result, in one sentence. */
  readonly toChange: string
  /** When the grant or the approval ends that allows it. Null: it has no end, or is not allowed. */
  readonly until: Date | null
  /** True when each call also needs the owner's approval. */
  readonly needsApproval: boolean
}

/** Relationships with all of these facts. */
export interface TrustSelection {
  /** The trust type. */
  readonly relationship?: string
  /** The application type of the peer. */
  readonly type?: string
  readonly peerId?: string
}

/** The relationships of an actor. @public */
export interface TrustHandle {
  /** Returns the relationships, ordered by peer id. They are in memory together; `all` reads them page by page. */
  list(filter?: TrustSelection): Promise<TrustRecord[]>
  /** Yields the relationships, ordered by peer id, in pages of 256. A change in between shows in later pages. */
  all(filter?: TrustSelection): AsyncIterable<TrustRecord>
  get(peerId: string): Promise<TrustRecord | undefined>
  /**
   * Requests a relationship with the actor at `url`. Without `relationship`, requests the default trust type.
   *
   * @throws ServiceError `peer_failed` when the peer rejects the request or fails, `conflict` while another request to it runs.
   */
  request(url: string, relationship?: string, description?: string): Promise<TrustRecord>
  /**
   * Approves the relationship and notifies the peer, even when it was approved before. The approval ends at `until`, by the
   * clock of the database. Without `until`, it has no end, also when an earlier approval had one.
   *
   * @throws ServiceError `not_found`, `bad_request` when `until` is not in the future.
   */
  approve(peerId: string, options?: { until?: Date }): Promise<TrustRecord>
  /**
   * Grants operations on the targets of patterns, in addition to the trust type and the owner's override. Takes effect at
   * once and until `until`, and the peer is notified of both. A later grant of the same operations on the same pattern replaces the earlier one.
   *
   * @throws ServiceError `not_found`, `bad_request` when a category, a pattern, an operation or `until` is not valid.
   */
  grant(peerId: string, granted: NewGrant): Promise<void>
  /**
   * Removes grants: those of the given patterns and operations, or all. The trust type and the owner's override stay.
   * Returns whether one of them existed.
   *
   * @throws ServiceError `not_found`, `bad_request` like `grant`.
   */
  withdraw(peerId: string, granted?: Withdrawal): Promise<boolean>
  /**
   * Returns whether the peer may do the operation, and why, by the rules that the service enforces.
   *
   * @throws ServiceError `not_found`, `bad_request` for an unknown operation.
   */
  may(peerId: string, operation: AskedOperation, target: string): Promise<Allowance>
  /** Deletes the relationship here at once and notifies the peer. Returns whether it existed. */
  delete(peerId: string): Promise<boolean>
  /**
   * Returns the relationship with the companion of this kind. Creates the companion when it does not exist.
   *
   * @throws ServiceError `peer_failed` when the other service rejects the request or fails, `bad_request` for an unknown kind.
   * @experimental
   */
  companion(kind: string): Promise<TrustRecord>
  /**
   * Deletes the companion and the relationship with it. Returns whether it existed.
   *
   * @throws ServiceError `peer_failed`
   * @experimental
   */
  deleteCompanion(kind: string): Promise<boolean>
}

/** The subscriptions of peers to an actor. @public */
export interface SubscriptionsHandle {
  /** Returns the subscriptions of all peers, or of one peer, to this actor; oldest first. */
  listeners(peerId?: string): Promise<Subscription[]>
  /**
   * Stops recording diffs for the target (or for this part of it) until `resume`. Returns false when it was suspended already.
   */
  suspend(target: string, subtarget?: string): Promise<boolean>
  /** Ends the suspension; each affected subscriber fetches the full state once. Returns false when it was not suspended. */
  resume(target: string, subtarget?: string): Promise<boolean>
  suspended(): Promise<{ readonly target: string; readonly subtarget: string }[]>
  /** Deletes a peer's subscription and notifies the peer. Returns whether it existed. */
  revoke(peerId: string, subscriptionId: string): Promise<boolean>
  /** Returns the outcomes of the latest diffs, newest first; undefined when the subscription does not exist. */
  timeline(peerId: string, subscriptionId: string): Promise<Delivery[] | undefined>
  /** Retries permanently failed diffs that are still stored. Returns their number; undefined without the subscription. */
  redrive(peerId: string, subscriptionId: string): Promise<number | undefined>
}

/** The stored copy of a peer's data, updated by subscriptions. Reading it sends no request to the peer. @public */
export interface RemoteHandle {
  /**
   * Returns the value, or the items of a list; undefined when the copy does not contain the name. The types are those of this
   * code: the service does not compare the copy with them.
   */
  get(name: string): Promise<Json | undefined>
  get<Value, Given, Missing>(property: DeclaredProperty<Value, Given, Missing>): Promise<Value | undefined>
  get<Item, Given>(list: DeclaredList<Item, Given>): Promise<Item[] | undefined>
  /** A list of the copy, to read a part of it. A list that the copy does not contain is empty. */
  list(name: string): RemoteListHandle
  list<Item, Given>(list: DeclaredList<Item, Given>): RemoteListHandle<Item>
  /** Returns all values and lists, by name. They are in memory together; `get` and `list` read a part of the copy. */
  all(): Promise<{ [name: string]: Json }>
  /** Returns the subscriptions that update the copy. */
  subscriptions(): Promise<Subscription[]>
  /** Returns the configured properties of the peer, with `fetched_at` and `fetch_error`. */
  profile(): Promise<Json | undefined>
  /** Returns the peer's methods and actions. */
  capabilities(): Promise<Json | undefined>
  /** Returns the rights that the peer grants to this actor. */
  permissions(): Promise<Json | undefined>
}

/** A list in the copy of a peer's data. Reading it sends no request to the peer. @public */
export interface RemoteListHandle<Item = Json> {
  readonly name: string
  /** Whether the copy contains the list. */
  exists(): Promise<boolean>
  length(): Promise<number>
  /** Returns the item, or undefined beyond the end. Negative indexes count from the end. */
  get(index: number): Promise<Item | undefined>
  /** Returns the items from `start` up to but not including `end`. The array is in memory; use `pages` for long lists. */
  items(start?: number, end?: number): Promise<Item[]>
  /** Yields pages of items in order. Default page size: 1000. A change between two pages moves the items that follow it. */
  pages(pageSize?: number): AsyncIterable<readonly ListItem<Item>[]>
  /** Yields the items in order, read page by page. */
  [Symbol.asyncIterator](): AsyncIterator<ListItem<Item>>
  /**
   * Returns a page of the items whose fields have these values. A copy has no indexes, so at most 10,000 items are searched.
   *
   * @throws ServiceError `index_required` for a longer list; `actor.peer(id).list(name)` has the indexes of the peer.
   */
  query(query?: ListQuery<Item>): Promise<PeerListPage<Item>>
  /** Returns the number of items whose fields have these values. @throws ServiceError as `query` */
  count(where?: ListWhere<Item>): Promise<number>
}

/** The result of a sync. @public */
export interface SyncSummary {
  readonly subscriptions: readonly {
    readonly subscriptionid: string
    /** `refused`: the peer answered `status`. `failed`: the peer did not answer. */
    readonly outcome: 'synced' | 'refused' | 'failed'
    readonly status?: number
    readonly sequence?: number
  }[]
  /** True when the peer had deleted the relationship, so that it was deleted here too. */
  readonly trustEnded: boolean
}

/** A subscription in either direction, in its wire form. @public */
export interface Subscription {
  readonly id: string
  readonly peerid: string
  readonly subscriptionid: string
  readonly granularity: string
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly sequence: number
  /** True when this actor is the subscriber. */
  readonly callback: boolean
}

/** The outcome of one diff. @public */
export interface Delivery {
  readonly sequence: number
  /** `superseded`: replaced by a resync or by the peer's acknowledgement. `unsent`: stored for polling only. */
  readonly outcome: 'waiting' | 'delivered' | 'failed' | 'superseded' | 'unsent'
  readonly reason: string
  readonly attempts: number
  readonly writtenAt: Date
  readonly sentAt: Date | null
  readonly answeredAt: Date | null
  readonly acknowledgedAt: Date | null
}

/** An item of a list, with its index. @public */
export interface ListItem<Item = Json> {
  readonly index: number
  readonly item: Item
}

/** A version of an item: a write through its handle fails after another write changed the item. @public */
export interface ListItemWithHandle<Item = Json> extends ListItem<Item> {
  readonly handle: string
}

/** Facts about a list. @public */
export interface ListMetadata {
  readonly description: string
  readonly explanation: string
  readonly created_at: string
  readonly updated_at: string
  readonly version: string
  readonly item_type: string
  readonly chunk_size: number
  readonly length: number
}

/**
 * An ordered list. Its first item or `create` creates it. Indexes count from 0; negative indexes count from the end.
 *
 * @public
 */
export interface ListHandle<Item = Json, Given = Json | object> {
  readonly name: string
  /** Creates the list, or changes the description and explanation of an existing list. */
  create(texts?: { description?: string; explanation?: string }): Promise<void>
  exists(): Promise<boolean>
  /** Returns the stored length; reads no items and runs no hooks. */
  length(): Promise<number>
  metadata(): Promise<ListMetadata | null>

  /** Adds an item at the end and returns its index. */
  append(item: Given): Promise<number>
  extend(items: readonly Given[]): Promise<void>
  /** Inserts the item so that it has this index. An index equal to the length appends. */
  insert(index: number, item: Given): Promise<void>
  /** Replaces an item. @throws ServiceError `invalid_index` beyond the end. */
  update(index: number, item: Given): Promise<void>
  delete(index: number): Promise<void>
  /** Removes an item (default: the last one) and returns exactly that item; undefined when the list is empty. */
  pop(index?: number): Promise<Item | undefined>
  clear(): Promise<void>
  /** Deletes the list itself. Returns whether it existed. */
  remove(): Promise<boolean>

  get(index: number): Promise<Item | undefined>
  /** Returns the items from `start` up to but not including `end`. The array is in memory; use `pages` for long lists. */
  items(start?: number, end?: number): Promise<Item[]>
  /**
   * Yields pages of items in order. Default page size: 1000. The list may change between pages: an item that exists
   * throughout appears exactly once.
   *
   * @throws ServiceError `not_found` when the list is deleted after the first page.
   */
  pages(pageSize?: number): AsyncIterable<readonly ListItem<Item>[]>
  /** Yields the items in order, read page by page. */
  [Symbol.asyncIterator](): AsyncIterator<ListItem<Item>>

  /** Returns the first object in the list whose `field` equals `value`. */
  find(field: string, value: Json): Promise<ListItem<Item> | undefined>
  findAll(field: string, value: Json): Promise<ListItem<Item>[]>
  /**
   * Returns a page of the items whose fields have these values. Declared `indexes` answer for a list of any length. Without an
   * index, at most 10,000 items are searched. A page may be shorter than its limit: `next` says whether more follow.
   *
   * @throws ServiceError `index_required` for a longer list; `unavailable` while a new index is built.
   */
  query(query?: ListQuery<Item>): Promise<ListQueryPage<Item>>
  /** Returns the number of items whose fields have these values. @throws ServiceError as `query` */
  count(where?: ListWhere<Item>): Promise<number>
  /** Returns the items from `start` up to but not including `end`, each with its handle. */
  itemsWithHandles(start?: number, end?: number): Promise<ListItemWithHandle<Item>[]>
  /** Returns false when the item was changed or removed after the handle was created. */
  updateByHandle(handle: string, item: Given): Promise<boolean>
  deleteByHandle(handle: string): Promise<boolean>
  /** Returns the number of changed items. Beyond 1024 items or 1 MiB, each page of the list is one transaction. */
  updateWhere(field: string, value: Json, item: Given, options?: { firstOnly?: boolean }): Promise<number>
  removeWhere(field: string, value: Json, options?: { firstOnly?: boolean }): Promise<number>
}

/**
 * A list in a transaction. Its reads and queries see the changes of the transaction. The handle of an item that the transaction
 * wrote is valid in this transaction.
 *
 * @public
 */
export type TransactionListHandle<Item = Json, Given = Json | object> = Omit<
  ListHandle<Item, Given>,
  'itemsWithHandles'
>
