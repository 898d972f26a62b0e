/** What an application declares, as types: hooks, methods, actions, resources and events. */
import type { ActorHandle, Subscription } from './actor-handle.ts'
import type { Caller } from '../caller.ts'
import type { Json } from '../json/json.ts'
import type { TrustRecord } from './trust-record.ts'
import type { Annotations, McpCall, MethodMcp, ToolDeclaration } from './mcp-declarations.ts'
import type { DeclaredSchema, InferOutput, JsonSchema } from './schema.ts'

/**
 * The result of a handler: any JSON value. `undefined` means that the handler did its work and has no result (204).
 * `null` means that the handler did not take the call, so the next handler of the name runs.
 */
export type HandlerResult = Json | object | undefined | void
type Awaitable<T> = T | Promise<T>

export type PropertyOperation = 'get' | 'put' | 'post' | 'delete'

export interface PropertyAccess {
  /** Reads and writes without calling property hooks again. */
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly operation: PropertyOperation
  /** What is read, written or deleted at `path`. */
  readonly value: Json
  /** All segments, the property's name first: `/properties/settings/theme` is `['settings', 'theme']`, item 0 of `notes` is `['notes', '0']`. */
  readonly path: readonly string[]
}

/** Gives the value back, changed or not. `null` hides it from a read and rejects a write. */
export type PropertyHook = (access: PropertyAccess) => Awaitable<Json | undefined>
export type PropertyHooks = { readonly [operation in PropertyOperation]?: PropertyHook }

export type { Annotations }

export interface OperationMetadata<S extends DeclaredSchema = DeclaredSchema> {
  readonly description?: string
  /** Checked before the handler runs, and published as JSON Schema. */
  readonly input?: S
  readonly output?: DeclaredSchema
  /** Published instead of what `input` derives. */
  readonly inputSchema?: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: Annotations
  /**
   * `owner`: every caller but the owner and the application needs the owner's approval for each call, with exactly its
   * arguments. Calls over HTTP are 403 `approval_required` until then. One handler that declares it covers the name.
   */
  readonly confirm?: 'owner'
}

export interface ActionMetadata<S extends DeclaredSchema = DeclaredSchema> extends OperationMetadata<S> {
  /** Offers the action to AI clients as a tool; absent: not offered. */
  readonly mcp?: true | ToolDeclaration
}

export interface MethodMetadata<S extends DeclaredSchema = DeclaredSchema> extends OperationMetadata<S> {
  /** Offers the method to AI clients, as a prompt or as a resource. */
  readonly mcp?: MethodMcp
}

export interface Call<Input = unknown> {
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly name: string
  readonly input: Input
  /** In a call by an AI client. */
  readonly mcp?: McpCall
}

export type Handler<Input = unknown> = (call: Call<Input>) => Awaitable<HandlerResult>
export type TypedHandler<S extends DeclaredSchema> = Handler<InferOutput<S>>

/** A page of the application's own, asked for below `/<actor>/www/`. */
export interface PageCall {
  readonly actor: ActorHandle
  readonly caller: Caller
  /** Below `/<actor>/www/`, decoded: `reports/2026`. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** Of the query, or of the form. */
  readonly fields: Readonly<Record<string, string>>
}
/**
 * `{ template, data }` shows the page of that name, a template of the folder or a function of `pages.custom`: it gets what
 * every page gets (`id`, `url`, `actor_root`, `actor_www`, `csrf_token` …), and `data` over it. Any other object is sent as
 * JSON; anything else means that there is no such page.
 */
export type PageHandler = (call: PageCall) => Awaitable<HandlerResult>

/** Input: the parsed body with `method` set to the HTTP method. */
export type ResourceHandler = Handler<{ readonly [member: string]: Json }>

export interface BotCall {
  readonly path: string
  readonly method: string
  readonly bot_token: string
  readonly body?: Json
}
export type BotHandler = (call: BotCall) => Awaitable<HandlerResult>

export interface CallbackCall {
  readonly actor: ActorHandle
  /** `anonymous` on callbacks that are open to everybody. */
  readonly caller: Caller
  readonly name: string
  /** The body with `method` set to GET, POST (also for PUT) or DELETE. */
  readonly data: { readonly [member: string]: Json }
}
/** The answer is sent; `true` stands for itself. */
export type CallbackHandler = (call: CallbackCall) => Awaitable<HandlerResult>

export interface CallbackOptions {
  /** Everybody may call it, without credentials: for webhooks, which prove by their content who they are. */
  readonly public?: boolean
}

/** At the service itself, below no actor. */
export interface AppCallbackCall {
  readonly name: string
  readonly data: { readonly [member: string]: Json }
}
export type AppCallbackHandler = (call: AppCallbackCall) => Awaitable<HandlerResult>

/** A callback of a peer as it came: only where automatic sequencing is off. `false` refuses it. */
export interface SubscriptionCall {
  readonly actor: ActorHandle
  readonly subscription: Subscription
  readonly peer_id: string
  readonly data: { readonly [member: string]: Json }
}
export type SubscriptionHandler = (call: SubscriptionCall) => unknown

/** What a peer sent, in order, once, and stored already. */
export interface SubscriptionData {
  readonly actor: ActorHandle
  readonly peer_id: string
  readonly target: string
  /** Relative to what is subscribed to; after a resync the whole. */
  readonly data: Json
  readonly sequence: number
  readonly callback_type: 'diff' | 'resync' | 'permission'
}
export type SubscriptionDataHandler = (data: SubscriptionData) => unknown

/** A kind of companion: an actor that another service makes on request, for this actor to look after. */
export interface CompanionKind {
  /** Where actors are made: the root of the other service. */
  readonly factory: string
  /** What the new actor has to be; anything unless given. */
  readonly type?: string
  readonly relationship: string
}

/** The lifecycle events and their arguments, given by name. */
export interface Events {
  /** Once, inside creation. */
  actor_created: { readonly actor: ActorHandle }
  /** Before the wipe of an HTTP DELETE: the actor can still be read. External calls do not belong here. */
  actor_deleted: { readonly actor: ActorHandle }
  /** After that wipe. */
  actor_deleted_complete: { readonly actor: null; readonly actor_id: string }
  /**
   * A person proved to a provider who they are, or typed an address after that. Before anything of the sign-in is stored:
   * `false` from any handler refuses it, as does a handler that throws, and then nothing is.
   */
  oauth_success: {
    readonly actor: ActorHandle
    /** The identity: the address that the provider vouched for or that was typed, else the provider's name for the person. */
    readonly email: string
    /** The provider's, never shown to a browser; empty after an assertion (jwt-bearer). */
    readonly access_token: string
    /** The provider's answer: `access_token`, `refresh_token`, `id_token`, `expires_in`, as far as given. */
    readonly token_data: Readonly<Record<string, unknown>>
    /** What the provider says about the person, with `display_name`, `given_name`, `family_name`, `sub`; without `email` after free-text entry. */
    readonly user_info: Readonly<Record<string, unknown>>
  }
  /** An address was typed that no provider vouches for: the application sends it the link, which is good once, for a day. */
  email_verification_required: {
    readonly actor: ActorHandle
    readonly email: string
    readonly verification_url: string
    readonly token: string
  }
  /**
   * A person proved to be the creator of actors that were created without proof, by `POST /` for example. These actors
   * have another creator now; their Basic credentials work until the person decides (`/<actor>/password-access`).
   */
  creator_superseded: {
    /** Of the person. */
    readonly actor: ActorHandle
    /** The name that was proven. */
    readonly creator: string
    /** Ids of the actors that had the name, the first 100. */
    readonly superseded: readonly string[]
  }
  /** The link was followed. */
  email_verified: { readonly actor: ActorHandle; readonly email: string }
  /** This actor asked a peer, and the peer took the request. */
  trust_initiated: TrustEvent
  /** A peer asked; its answer goes out after the handlers. */
  trust_request_received: TrustEvent
  /** This actor's approval completed that of both sides; once each time that happens. */
  trust_fully_approved_local: TrustEvent
  /** The peer's approval did. */
  trust_fully_approved_remote: TrustEvent
  /** After the relationship is gone here. */
  trust_deleted: TrustEvent & { readonly initiated_by_peer: boolean }
  /** After a peer's subscription to this actor is gone, by the peer's wish or the owner's. */
  subscription_deleted: {
    readonly actor: ActorHandle
    readonly peer_id: string
    readonly subscription_id: string
    /** As it was last. */
    readonly subscription_data: object
    readonly initiated_by_peer: boolean
  }
}

export interface TrustEvent {
  readonly actor: ActorHandle
  readonly peer_id: string
  readonly relationship: string
  /** As it is now, or was last; without secrets. */
  readonly trust_data: TrustRecord
}

export type EventName = keyof Events
export type EventHandler<E extends EventName> = (event: Events[E]) => unknown
