/** Types of an application's declarations: hooks, methods, actions, resources and events. */
import type { ActorHandle, Subscription, TransactionHandle } from './actor-handle.ts'
import type { ChangeEvents } from './background/background.ts'
import type { Caller } from '../caller.ts'
import type { Json } from '../json/json.ts'
import type { CallLog } from '../observe/call-log.ts'
import type { TrustRecord } from './trust-record.ts'
import type { Annotations, McpCall, MethodMcp, ToolDeclaration } from './mcp-declarations.ts'
import type { DeclaredSchema, InferOutput, JsonSchema, StandardSchema } from './schema.ts'

/**
 * The result of a handler: any JSON value. `undefined` means that the handler did its work and has no result (204).
 * `null` means that the handler declined the call, so the next handler of the name runs. Methods, actions and resources may
 * also return a `Response`: a file, CSV or a stream. The service drops headers that it owns, such as cookies.
 *
 * @public
 */
export type HandlerResult = Json | object | undefined | void
type Awaitable<T> = T | Promise<T>

/**
 * The type that a handler returns for a declared output. It includes `null`, which declines the call. An output that is
 * JSON Schema, and an absent one, allow any result.
 *
 * @public
 */
export type ResultFor<S> =
  S extends StandardSchema<infer Output> ? (unknown extends Output ? HandlerResult : Output | null) : HandlerResult

export type PropertyOperation = 'get' | 'put' | 'post' | 'delete'

/** The input of a property hook: who accesses which value, and how. @public */
export interface PropertyAccess {
  /** Reads and writes without calling property hooks again. */
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly operation: PropertyOperation
  /** The value that is read, written or deleted at `path`. */
  readonly value: Json
  /**
   * The path segments, starting with the property's name: `['settings', 'theme']` for `/properties/settings/theme`,
   * `['notes', '0']` for item 0 of the list `notes`.
   */
  readonly path: readonly string[]
  readonly log: CallLog
  /** The id of the request, which its response and its log lines have. Empty for an access that no request caused. */
  readonly requestId: string
}

/** Returns the value, changed or not. `null` hides the value from a read and rejects a write. @public */
export type PropertyHook = (access: PropertyAccess) => Awaitable<Json | undefined>
/** The hooks of a property, one for each kind of access. @public */
export type PropertyHooks = { readonly [operation in PropertyOperation]?: PropertyHook }

export type { Annotations }

/** The declaration of a method or an action. @public */
export interface OperationMetadata<
  S extends DeclaredSchema = DeclaredSchema,
  R extends DeclaredSchema = DeclaredSchema,
> {
  readonly description?: string
  /** Schema of the input, checked before the handler runs and published as JSON Schema. */
  readonly input?: S
  /**
   * Schema of the result, published as JSON Schema. The handler returns its type. In development and in tests, a result
   * that does not fit is a 500, and the log names the field. In production, results are sent without this check.
   */
  readonly output?: R
  /** JSON Schema to publish instead of the one derived from `input`. */
  readonly inputSchema?: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: Annotations
  /**
   * `owner`: each call needs owner approval for exactly its arguments, unless the owner or the application is the caller.
   * HTTP calls return 403 `approval_required` until then. One declaring handler covers all handlers of the name.
   * `{ owner: true, preview }` also describes the effect of a call, for the page on which the owner decides.
   */
  readonly confirm?: 'owner' | OwnerApproval<InferOutput<S>>
  /**
   * Runs each call as one transaction (`ActorHandle.transaction`): the handler receives a `TransactionHandle`, and runs again
   * when another change came between. Default: false.
   */
  readonly exclusive?: boolean
}

export interface OwnerApproval<Input = unknown> {
  readonly owner: true
  /**
   * Describes the effect of the call to the owner in one or two sentences, such as `Deletes 3 notes.` It must only read.
   * A page shows at most 1,000 characters as text, and waits at most 2 seconds. An error never prevents the decision.
   */
  preview?(call: { readonly actor: ActorHandle; readonly input: Input }): Awaitable<string>
}

export interface ActionMetadata<S extends DeclaredSchema = DeclaredSchema, R extends DeclaredSchema = DeclaredSchema>
  extends OperationMetadata<S, R> {
  /** Offers the action to AI clients as a tool. */
  readonly mcp?: true | ToolDeclaration
}

export interface MethodMetadata<
  S extends DeclaredSchema = DeclaredSchema,
  R extends DeclaredSchema = DeclaredSchema,
  M extends MethodMcp = MethodMcp,
> extends OperationMetadata<S, R> {
  /**
   * Offers the method to AI clients, as a prompt or as a resource. Without `input`, the arguments of the prompt or the
   * variables of the URI template are the input of the method, for every caller.
   */
  readonly mcp?: M
}

/** The input of a handler: the actor, the caller and the checked input. @public */
export interface Call<Input = unknown, Actor = ActorHandle> {
  readonly actor: Actor
  readonly caller: Caller
  readonly name: string
  readonly input: Input
  readonly log: CallLog
  /** The id of the request, which its response and its log lines have. Empty for a call that no request caused. */
  readonly requestId: string
  /** Features of the AI client; only in calls by an AI client. */
  readonly mcp?: McpCall
}

/** Handles a method or an action. @public */
export type Handler<Input = unknown, Result = HandlerResult> = (call: Call<Input>) => Awaitable<Result>
export type TypedHandler<S extends DeclaredSchema, R extends DeclaredSchema> = Handler<InferOutput<S>, ResultFor<R>>
/** A handler of an exclusive operation. @public */
export type ExclusiveHandler<Input = unknown, Result = HandlerResult> = (
  call: Call<Input, TransactionHandle>,
) => Awaitable<Result>

/** A request for an application-defined page below `/<actor>/www/`. @public */
export interface PageCall {
  readonly actor: ActorHandle
  readonly caller: Caller
  /** Decoded path below `/<actor>/www/`, such as `reports/2026`. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** Fields of the query (GET) or of the form (POST). */
  readonly fields: Readonly<Record<string, string>>
  readonly log: CallLog
  /** The id of the request, which its response and its log lines have. */
  readonly requestId: string
}
/**
 * Handles an application-defined page. `{ template, data }` renders a template of the folder or a function of
 * `pages.custom`. It receives the values of every page (`id`, `url`, `actor_root`, `actor_www`, `csrf_token` …), overridden
 * by `data`. A `Response` is sent as it is. Any other object is sent as JSON. Any other
 * result means 404.
 *
 * @public
 */
export type PageHandler = (call: PageCall) => Awaitable<HandlerResult>

/** Input: the parsed body with `method` set to the HTTP method. @public */
export type ResourceHandler = Handler<{ readonly [member: string]: Json }>

/** The input of a bot handler. @experimental */
export interface BotCall {
  readonly path: string
  readonly method: string
  readonly bot_token: string
  readonly body?: Json
}
/** Handles the messages to `POST /bot`. @experimental */
export type BotHandler = (call: BotCall) => Awaitable<HandlerResult>

/** The input of a callback handler. @public */
export interface CallbackCall {
  readonly actor: ActorHandle
  /** `anonymous` on public callbacks called without credentials. */
  readonly caller: Caller
  readonly name: string
  /** The parsed body, with `method` set to GET, POST (also for PUT) or DELETE. */
  readonly data: { readonly [member: string]: Json }
}
/**
 * Handles a callback. An object is the response; another truthy result sends `true`; otherwise the next handler runs.
 *
 * @public
 */
export type CallbackHandler = (call: CallbackCall) => Awaitable<HandlerResult>

export interface CallbackOptions {
  /** Allows calls without credentials, for other services: the handler must verify the sender from the content. */
  readonly public?: boolean
}

/** A callback to the service itself, without an actor. @public */
export interface AppCallbackCall {
  readonly name: string
  readonly data: { readonly [member: string]: Json }
}
/** Handles the calls of `/callbacks/<name>`. @public */
export type AppCallbackHandler = (call: AppCallbackCall) => Awaitable<HandlerResult>

/** A peer's callback as received; used only when automatic sequencing is off. The result `false` rejects it. @public */
export interface SubscriptionCall {
  readonly actor: ActorHandle
  readonly subscription: Subscription
  readonly peer_id: string
  readonly data: { readonly [member: string]: Json }
}
/** Handles the callbacks of peers as they arrive, unordered. @public */
export type SubscriptionHandler = (call: SubscriptionCall) => unknown

/** Data from a peer, already stored. It is delivered in order and once. @public */
export interface SubscriptionData {
  readonly actor: ActorHandle
  readonly peer_id: string
  readonly target: string
  /** The change, relative to the scope of the subscription; after a resync the full state. */
  readonly data: Json
  readonly sequence: number
  readonly callback_type: 'diff' | 'resync' | 'permission'
}
/** Handles a change of a peer’s data, in order and once. @public */
export type SubscriptionDataHandler = (data: SubscriptionData) => unknown

/** A kind of companion: an actor that this actor creates at another service and controls. @experimental */
export interface CompanionKind {
  /** URL at which the other service creates actors: its root. */
  readonly factory: string
  /** Required actor type (URN). Default: any type. */
  readonly type?: string
  readonly relationship: string
}

/**
 * The events and their arguments: lifecycle events, which fire once, and events of changes, which are stored.
 *
 * @public
 */
export interface Events extends ChangeEvents {
  /** An actor is being created. Fires once. */
  actor_created: { readonly actor: ActorHandle }
  /** An HTTP DELETE, or the form of the overview page, is about to delete the actor. Make no external calls here. */
  actor_deleted: { readonly actor: ActorHandle }
  /** An HTTP DELETE, or the form of the overview page, has deleted the actor. */
  actor_deleted_complete: { readonly actor: null; readonly actor_id: string }
  /**
   * A person signed in at a provider, or typed an address afterwards; nothing is stored yet. A handler that returns
   * `false` or throws rejects the sign-in, and nothing is stored.
   */
  oauth_success: {
    readonly actor: ActorHandle
    /** The identity: the email address that the provider vouched for or the person typed, else the provider's id. */
    readonly email: string
    /** The provider's access token, never sent to a browser; empty after an assertion (jwt-bearer). */
    readonly access_token: string
    /** The provider's token response: `access_token`, `refresh_token`, `id_token`, `expires_in`, as far as given. */
    readonly token_data: Readonly<Record<string, unknown>>
    /**
     * The provider's claims about the person, with `display_name`, `given_name`, `family_name` and `sub`.
     * `email` is absent after free-text entry.
     */
    readonly user_info: Readonly<Record<string, unknown>>
  }
  /** A typed address needs verification: the application sends it the link, which is valid once, for a day. */
  email_verification_required: {
    readonly actor: ActorHandle
    readonly email: string
    readonly verification_url: string
    readonly token: string
  }
  /**
   * A person proved to own a creator name that other actors had without proof, for example by `POST /`. These actors
   * now have another creator; their Basic credentials work until the person decides (`/<actor>/password-access`).
   */
  creator_superseded: {
    /** The person's actor. */
    readonly actor: ActorHandle
    /** The proven creator name. */
    readonly creator: string
    /** Ids of the actors that had the name, at most 100. */
    readonly superseded: readonly string[]
  }
  /**
   * A person signs in by email: the application sends them the link and the code, which are valid once, for ten minutes. A
   * handler that returns `false` or throws tells the person that the email could not be sent.
   */
  sign_in_link_requested: { readonly email: string; readonly url: string; readonly code: string }
  /**
   * A message to a person is due: the application sends it with a mailer of its own, in place of `TROUPE_SMTP_URL`. A handler
   * that throws is called again later, and one that returns `false` ends the message. A process that is killed meanwhile does
   * not call it again.
   */
  mail: {
    /** The same for each call: a `Message-ID`, as in `<…@notes.example.com>`. */
    readonly message_id: string
    /** Such as `sign_in_link`. */
    readonly kind: string
    readonly to: string
    readonly subject: string
    readonly text: string
    /** Null: the message has only text. */
    readonly html: string | null
    /** Further headers of the message. */
    readonly headers: Readonly<Record<string, string>>
  }
  /** The owner opened the verification link. */
  email_verified: { readonly actor: ActorHandle; readonly email: string }
  /** This actor requested a relationship, and the peer accepted the request. */
  trust_initiated: TrustEvent
  /** A peer requested a relationship; the response is sent after the handlers ran. */
  trust_request_received: TrustEvent
  /** This actor's approval completed the approval of both actors. Fires each time that happens. */
  trust_fully_approved_local: TrustEvent
  /** The peer's approval completed the approval of both actors. */
  trust_fully_approved_remote: TrustEvent
  /** The relationship has been deleted here. */
  trust_deleted: TrustEvent & { readonly initiated_by_peer: boolean }
  /** A peer's subscription to this actor has been deleted, by the peer or by the owner. */
  subscription_deleted: {
    readonly actor: ActorHandle
    readonly peer_id: string
    readonly subscription_id: string
    /** The subscription's last state. */
    readonly subscription_data: object
    readonly initiated_by_peer: boolean
  }
}

/** The argument of events about a relationship. @public */
export interface TrustEvent {
  readonly actor: ActorHandle
  readonly peer_id: string
  readonly relationship: string
  /** The relationship's current or last state, without secrets. */
  readonly trust_data: TrustRecord
}

export type EventName = keyof Events
/** Handles an event. Its arguments follow from the name of the event. @public */
export type EventHandler<E extends EventName> = (event: Events[E]) => unknown
