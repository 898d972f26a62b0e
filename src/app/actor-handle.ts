/** The actor as an application's handlers hold it. */
import type { Json } from '../json/json.ts'
import type { ServiceRequest } from './service-declaration.ts'
import type { TrustRecord } from './trust-record.ts'

export interface ActorHandle {
  readonly id: string
  readonly creator: string
  /** The actor's address, without a slash at the end. */
  readonly url: string

  /** The value as plain JavaScript; undefined when there is none. Numbers beyond double precision are rounded here only. */
  get(name: string): Promise<Json | undefined>
  /** As `get`, of every property that is not a list. */
  all(): Promise<{ [name: string]: Json }>
  /** `''` removes the property, as over HTTP. @throws ServiceError `conflict` when the name is a list. */
  set(name: string, value: Json | object): Promise<void>
  /** Removes a property or a list. True when there was one. */
  delete(name: string): Promise<boolean>
  list(name: string): ListHandle
  /** Names and lengths of the lists. */
  lists(): Promise<{ readonly name: string; readonly length: number }[]>

  /** Relationships with other actors. */
  readonly trust: TrustHandle
  /**
   * Begins to listen to a peer and fetches what it shows: all properties unless a part is named, with every change
   * (granularity `high`) unless told otherwise.
   *
   * @throws ServiceError `peer_failed`
   */
  subscribe(
    peerId: string,
    to?: { target?: string; subtarget?: string; resource?: string; granularity?: 'high' | 'low' | 'none' },
  ): Promise<Subscription>
  /** Ends it here at once and tells the peer. False when there was none. */
  unsubscribe(peerId: string, subscriptionId: string): Promise<boolean>
  /** Fetches what is missing of one subscription, or of all to the peer. @throws ServiceError `not_found` */
  sync(peerId: string, subscriptionId?: string): Promise<SyncSummary>
  /** What is known of a peer: the copy of its data, and its facts. */
  remote(peerId: string): RemoteHandle

  /** Who listens to the actor. */
  readonly subscriptions: SubscriptionsHandle

  /**
   * Tells the AI clients that listen: what they are offered is another (a list that a predicate or a right decides), or one
   * resource of the application, by its address. Properties and lists tell by themselves.
   */
  announce(changed: 'tools' | 'prompts' | 'resources' | { readonly resource: string }): Promise<void>

  /** How the owner signs in. */
  readonly signIn: SignInHandle

  /** What the actor has at third-party services. */
  readonly services: ServicesHandle

  /** Programs that act for the actor by a secret of their own. */
  readonly clients: ClientsHandle

  /**
   * Who touched the actor, the newest first: peers, clients, trustees and strangers, not its owner. Entries of the last
   * seconds may be missing.
   *
   * @throws ServiceError `bad_request` for a limit outside 1 to 1000 (100 unless given), or a cursor that `next` never was.
   */
  activity(query?: { caller?: string; limit?: number; cursor?: string }): Promise<ActivityPage>
}

export interface SignInHandle {
  /** Undefined for an actor whose owner never signed in through a provider. */
  get(): Promise<SignIn | undefined>
  /**
   * What the provider gave at the last sign-in, for calls to it on behalf of the owner; it is told to nobody else. Empty
   * after the owner signed out, except for a refresh token.
   */
  providerTokens(): Promise<ProviderAccess | undefined>
}

export interface SignIn {
  /** The address, or the provider's name for the person. */
  readonly identifier: string
  /** Kind of the provider of the last sign-in: `google`. */
  readonly provider?: string
  /** Of the first sign-in: `google_oauth2`. */
  readonly authMethod?: string
  readonly email?: string
  /** A provider vouched for the address, or the link that was sent to it was followed. */
  readonly emailVerified: boolean
  /** Whoever proves to a provider that the identifier is theirs is signed in to this actor. */
  readonly isProven: boolean
  /** Of the first sign-in. */
  readonly createdAt?: Date
  /** As they are stored: `oauth_provider`, `auth_method`, `email`, `email_verified`, `created_at` … */
  readonly fields: Readonly<Record<string, string>>
}

export interface ProviderAccess {
  readonly accessToken?: string
  readonly expiresAt?: Date
  readonly refreshToken?: string
}

export interface ServicesHandle {
  /** @throws ServiceError `not_found` for a service that the application does not know. */
  get(name: string): ServiceHandle
  /** Every service that the application knows. */
  list(): Promise<{ readonly name: string; readonly connected: boolean }[]>
}

export interface ServiceHandle {
  readonly name: string
  /**
   * Where the owner's browser begins to connect; for the signed-in owner alone.
   *
   * @param redirect Path on this service to go on to afterwards.
   */
  connectUrl(redirect?: string): string
  /** Undefined while the actor is not connected. */
  connection(): Promise<ServiceConnection | undefined>
  /**
   * A token that is good now, refreshed when it has to be.
   *
   * @throws ServiceError `not_connected` when the owner has to connect (again), `service_failed`.
   */
  accessToken(): Promise<string>
  /**
   * Asks the service as the actor. The token goes only to addresses below the service's `apiUrls`; one that is not taken
   * is refreshed, once. The answer is text of at most 16 MiB; redirects are not followed.
   *
   * @throws ServiceError `bad_request` for another address, `not_connected`, `service_failed`.
   */
  fetch(url: string, request?: ServiceRequest): Promise<Response>
  /**
   * Ends it here, then gives the token back where the service takes it. False when there was none.
   *
   * @throws ServiceError `service_failed` when the service could not be told; here it is ended all the same.
   */
  disconnect(): Promise<boolean>
}

export interface ServiceConnection {
  readonly connectedAt: Date
  /** Of the access token; null when the service does not say. */
  readonly expiresAt: Date | null
  /** What was granted, separated by blanks. */
  readonly scope: string
}

/** Clients of the authorization server that belong to an actor. */
export interface ClientsHandle {
  /**
   * Makes a client, which gets tokens at `/oauth/token` by `client_credentials` and acts for this actor with them, as far
   * as `trustType` goes. With `redirectUris` other owners may let it in, too.
   *
   * @returns with its secret, which is shown this once.
   * @throws ServiceError `invalid_value` for a name that cannot be shown, or an address that nobody may be sent back to.
   */
  create(client: {
    readonly name: string
    /** `mcp_client` unless given. */
    readonly trustType?: string
    readonly redirectUris?: readonly string[]
  }): Promise<{ readonly client: ActorClient; readonly secret: string }>
  /** The newest first. */
  list(): Promise<ActorClient[]>
  get(clientId: string): Promise<ActorClient | undefined>
  /** Another secret in place of the one that it has; its tokens stay good. Undefined when there is no such client. */
  rotateSecret(clientId: string): Promise<string | undefined>
  /** With its tokens, and with those that other owners gave it, at once. False when there was none. */
  delete(clientId: string): Promise<boolean>
  stats(): Promise<ClientStats>
}

export interface ActorClient {
  readonly clientId: string
  readonly name: string
  /** The kind of relationship by which it acts for the actor. */
  readonly trustType: string
  readonly redirectUris: readonly string[]
  readonly createdAt: Date
  /** When it last came for tokens of its own, or an owner let it in; null when that never was. */
  readonly lastUsedAt: Date | null
}

export interface ClientStats {
  readonly total: number
  /** Those that hold tokens now. */
  readonly active: number
  /** How many of each kind of relationship. */
  readonly trustTypes: Readonly<Record<string, number>>
}

export interface ActivityPage {
  readonly entries: readonly Activity[]
  /** The cursor of the page of older entries; null on the last one. */
  readonly next: string | null
}

/** Never a value, a query or a credential. */
export interface Activity {
  /** The first time, where the same happened again within a minute. */
  readonly at: Date
  readonly callerKind: 'peer' | 'client' | 'trustee' | 'anonymous'
  /** The peer's or client's id; of somebody unknown the address, as far as it is known. */
  readonly caller: string
  readonly through: 'http' | 'callback' | 'mcp'
  readonly method: string
  /** Below the actor. */
  readonly path: string
  /** `asked`: it waits for the owner's yes, and was not done. */
  readonly decision: 'allowed' | 'asked' | 'approved' | 'denied' | 'refused'
  readonly reason: string
  readonly status: number
  readonly requestId: string
  readonly times: number
}

export interface TrustHandle {
  /** By peer. */
  list(filter?: { relationship?: string; type?: string; peerId?: string }): Promise<TrustRecord[]>
  get(peerId: string): Promise<TrustRecord | undefined>
  /**
   * Asks the actor at `url`; the default relationship unless one is named.
   *
   * @throws ServiceError `peer_failed` when the other actor does not take part, `conflict` while it is being asked already.
   */
  request(url: string, relationship?: string, description?: string): Promise<TrustRecord>
  /** Also tells the peer, again when it was approved before. @throws ServiceError `not_found` */
  approve(peerId: string): Promise<TrustRecord>
  /** Ends it here at once and tells the peer. True when there was one. */
  delete(peerId: string): Promise<boolean>
  /**
   * The relationship with the companion of this kind, which is made when there is none.
   *
   * @throws ServiceError `peer_failed` when the other service does not take part, `bad_request` for an unknown kind.
   */
  companion(kind: string): Promise<TrustRecord>
  /** Deletes the companion itself and the relationship. True when there was one. @throws ServiceError `peer_failed` */
  deleteCompanion(kind: string): Promise<boolean>
}

export interface SubscriptionsHandle {
  /** Subscriptions of peers to this actor, of one peer where it is named; oldest first. */
  listeners(peerId?: string): Promise<Subscription[]>
  /**
   * From now on changes to the target (or to this part of it) are told to nobody and get no number. False when it was so
   * already.
   */
  suspend(target: string, subtarget?: string): Promise<boolean>
  /** Everybody concerned fetches the whole, once. False when it was not suspended. */
  resume(target: string, subtarget?: string): Promise<boolean>
  suspended(): Promise<{ readonly target: string; readonly subtarget: string }[]>
  /** Ends a peer's subscription and tells the peer. False when there was none. */
  revoke(peerId: string, subscriptionId: string): Promise<boolean>
  /** What became of the latest changes, the last one first; undefined without such a subscription. */
  timeline(peerId: string, subscriptionId: string): Promise<Delivery[] | undefined>
  /** Sends again what failed for good and is still kept. How many changes; undefined without such a subscription. */
  redrive(peerId: string, subscriptionId: string): Promise<number | undefined>
}

/** The copy of what a peer published, kept up to date by subscriptions; nothing is asked of the peer. */
export interface RemoteHandle {
  /** The value, or the items of a list; undefined when nothing is known. */
  get(name: string): Promise<Json | undefined>
  /** Values and lists by name. */
  all(): Promise<{ [name: string]: Json }>
  /** The subscriptions that keep it up to date. */
  subscriptions(): Promise<Subscription[]>
  /** The configured properties of the peer, with `fetched_at` and `fetch_error`. */
  profile(): Promise<Json | undefined>
  /** Its methods and actions. */
  capabilities(): Promise<Json | undefined>
  /** What it grants to this actor. */
  permissions(): Promise<Json | undefined>
}

export interface SyncSummary {
  readonly subscriptions: readonly {
    readonly subscriptionid: string
    /** `refused`: the peer answered `status`. `failed`: it could not be asked now. */
    readonly outcome: 'synced' | 'refused' | 'failed'
    readonly status?: number
    readonly sequence?: number
  }[]
  /** The peer does not know the relationship any more, so it ended here too. */
  readonly trustEnded: boolean
}

/** A subscription in either direction, as the wire shows it. */
export interface Subscription {
  readonly id: string
  readonly peerid: string
  readonly subscriptionid: string
  readonly granularity: string
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly sequence: number
  /** True where this actor is the one that listens. */
  readonly callback: boolean
}

/** What became of one change. */
export interface Delivery {
  readonly sequence: number
  /** `superseded`: a resync, or the peer's acknowledgement, took its place. `unsent`: kept for polling only. */
  readonly outcome: 'waiting' | 'delivered' | 'failed' | 'superseded' | 'unsent'
  readonly reason: string
  readonly attempts: number
  readonly writtenAt: Date
  readonly sentAt: Date | null
  readonly answeredAt: Date | null
  readonly acknowledgedAt: Date | null
}

export interface ListItem {
  readonly index: number
  readonly item: Json
}

/** An item as it was when it was read: changing through the handle fails once somebody else changed the item. */
export interface ListItemWithHandle extends ListItem {
  readonly handle: string
}

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
 * An ordered list. It comes into being with its first item or with `create`. Indexes count from 0; negative ones
 * count from the end.
 */
export interface ListHandle {
  readonly name: string
  /** Makes the list, or changes its texts when it exists. */
  create(texts?: { description?: string; explanation?: string }): Promise<void>
  exists(): Promise<boolean>
  /** As it is stored with the list: neither the items nor their hooks are touched. */
  length(): Promise<number>
  metadata(): Promise<ListMetadata | null>

  /** The index the item got. */
  append(item: Json | object): Promise<number>
  extend(items: readonly (Json | object)[]): Promise<void>
  /** The item stands at `index` afterwards; `index` may be the length. */
  insert(index: number, item: Json | object): Promise<void>
  /** @throws ServiceError `invalid_index` beyond the end. */
  update(index: number, item: Json | object): Promise<void>
  delete(index: number): Promise<void>
  /** Removes an item (the last one unless told) and gives back exactly what was removed; undefined when the list is empty. */
  pop(index?: number): Promise<Json | undefined>
  clear(): Promise<void>
  /** Removes the list itself. */
  remove(): Promise<boolean>

  get(index: number): Promise<Json | undefined>
  /** All items, or those from `start` up to and not including `end`. The array holds them all; `pages` reads long lists. */
  items(start?: number, end?: number): Promise<Json[]>
  /**
   * Pages of items in order. Default page size: 1000. The list may change between pages: an item that is there all the
   * time comes exactly once.
   *
   * @throws ServiceError `not_found` when the list is removed after the first page.
   */
  pages(pageSize?: number): AsyncIterable<readonly ListItem[]>
  /** Items in order, read page by page as `pages` does. */
  [Symbol.asyncIterator](): AsyncIterator<ListItem>

  /** The first item that is an object whose `field` equals `value`. */
  find(field: string, value: Json): Promise<ListItem | undefined>
  findAll(field: string, value: Json): Promise<ListItem[]>
  /** All items, or those from `start` up to and not including `end`. */
  itemsWithHandles(start?: number, end?: number): Promise<ListItemWithHandle[]>
  /** False when the item was changed or removed since the handle was made. */
  updateByHandle(handle: string, item: Json | object): Promise<boolean>
  deleteByHandle(handle: string): Promise<boolean>
  /** The number of items changed. A list of more than 1024 items or 1 MiB is changed page by page, each page as a whole. */
  updateWhere(field: string, value: Json, item: Json | object, options?: { firstOnly?: boolean }): Promise<number>
  removeWhere(field: string, value: Json, options?: { firstOnly?: boolean }): Promise<number>
}
