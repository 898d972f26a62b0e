/** Types of an application's declarations for AI clients: tools, prompts and resources of MCP. */
import type { ActorHandle } from './actor-handle.ts'
import type { Caller } from '../caller.ts'
import type { DeclaredSchema, JsonSchema } from './schema.ts'

type Awaitable<T> = T | Promise<T>

/** Hints of MCP about an operation, sent in `annotations`. */
export interface Annotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly idempotentHint?: boolean
  readonly destructiveHint?: boolean
  readonly openWorldHint?: boolean
}

/** An icon that AI clients show. @public */
export interface Icon {
  /** An `https:` or `data:` URL. */
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
  readonly theme?: 'light' | 'dark'
}

/** Kinds of AI clients. The client itself states its name, so the kind may choose descriptions but never grants a right. */
export type ClientType = 'chatgpt' | 'claude' | 'cursor' | 'mcp_inspector' | 'universal'

/** The caller for whom a tool is listed or described. */
export interface ToolAudience {
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly clientType: ClientType
}

/** An action that is offered as a tool. Absent members come from the action, except the output schema. @public */
export interface ToolDeclaration {
  /** 1 to 64 characters of `[A-Za-z0-9_.-]`. Default: the action's name. */
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** Schema to publish and check instead of the action's input. */
  readonly inputSchema?: JsonSchema
  /** Schema of `structuredContent`. Never taken from the action (R-OP-06). */
  readonly output?: DeclaredSchema
  readonly annotations?: Annotations
  readonly icons?: readonly Icon[]
  /** Lists the tool only for these kinds of clients. Other clients with the right can still call it. */
  readonly allowedClients?: readonly ClientType[]
  readonly clientDescriptions?: { readonly [client in ClientType]?: string }
  /** Returns whether the tool is listed; an unlisted tool stays callable. An error hides the tool. */
  readonly visible?: (audience: ToolAudience) => Awaitable<boolean>
  /** Returns the description for this actor. Null or an error keeps the declared description. */
  readonly describe?: (audience: ToolAudience) => Awaitable<string | null>
  /** Equivalent to `confirm` of the action: it applies to every caller, not only to AI clients. */
  readonly confirm?: 'owner'
  /** `required`: only clients that support tasks can call the tool. See `mcp.background()`. */
  readonly task?: 'required'
}

/** Returns proposals for an argument that begins with `value`. At most 100 are sent. @public */
export type Completer = (request: {
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly value: string
  /** Values of the arguments that are already filled in. */
  readonly known: Readonly<Record<string, string>>
}) => Awaitable<readonly string[]>

/** An argument of a prompt. @public */
export interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
  readonly complete?: Completer
}

/**
 * A method that is offered as a prompt. Its result is a string, `{prompt}`, or `{messages}` in the form of MCP.
 *
 * @public
 */
export interface PromptDeclaration {
  readonly name?: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly PromptArgument[]
  readonly icons?: readonly Icon[]
}

/** A method that is offered as a resource, or as many resources by a URI template. @public */
export interface ResourceDeclaration {
  /** URI or URI template (RFC 6570, level 1 and `{+name}`), such as `notes://{id}`. Default: `actingweb://<method>`. */
  readonly uri?: string
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** Default: `application/json`. */
  readonly mimeType?: string
  readonly icons?: readonly Icon[]
  /** Proposals for the variables of a URI template. */
  readonly complete?: { readonly [variable: string]: Completer }
}

/** How AI clients see a method: as a prompt, or as resources. @public */
export type MethodMcp =
  | { readonly prompt: PromptDeclaration | true; readonly resource?: undefined }
  | { readonly resource: ResourceDeclaration | true; readonly prompt?: undefined }

// Types for handlers that run in a call by an AI client.

/** The statement of an AI client about itself. @public */
export interface ClientInfo {
  readonly name: string
  readonly version?: string | undefined
  readonly title?: string | undefined
}

/** The request context of a call by an AI client (R-MCP-08). @public */
export interface McpContext {
  readonly client_id: string
  readonly trust_relationship: string
  readonly peer_id: string
  readonly token_data: { readonly scope: string; readonly audience: string; readonly expires_at: number }
  /** `Mcp-Session-Id`, if the client sent it. */
  readonly transport_session_id: string | null
  readonly client_info: ClientInfo | null
}

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

/** A question to the person at the client, as a flat form (2025-06-18, "Elicitation"). @public */
export interface FormQuestion {
  readonly message: string
  readonly schema: JsonSchema
}

/** The answer of the person at an AI client to a form. @public */
export type FormAnswer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' | 'cancel' }

/** A request to the client. */
export type ClientQuestion =
  | { readonly elicit: FormQuestion }
  /** A URL for the person to open, for data that must not pass through the client. */
  | { readonly open: { readonly message: string; readonly url: string } }
  /** Parameters of `sampling/createMessage`: deprecated by the protocol, but some clients support nothing else. */
  | { readonly sample: Readonly<Record<string, unknown>> }
  | { readonly roots: true }

/** Features of the AI client that a handler can use; absent in calls by other callers. @public */
export interface McpCall {
  readonly context: McpContext
  readonly protocolVersion: string
  readonly clientType: ClientType
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal
  /** Sends progress if the client requested it. `done` must increase with each call. */
  progress(done: number, total?: number, message?: string): void
  /** Sends a log message if the client requested messages of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void
  /**
   * Asks the person at the client. Where the protocol version has no server requests, the call returns the questions, and
   * the handler runs again from its beginning once the client sends the answers. Code before the question must tolerate this.
   *
   * @throws McpFailure when the client does not support such questions.
   */
  elicit(key: string, question: FormQuestion): Promise<FormAnswer>
  /** Asks several questions at once. Returns the answers, in the form of MCP, under the same keys. */
  ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Readonly<Record<string, unknown>>>
  /** Continues the work as a task after the response, if the client supports tasks; otherwise has no effect. */
  background(): void
}
