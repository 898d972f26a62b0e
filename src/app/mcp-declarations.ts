/** What an application declares for AI clients: tools, prompts and resources of the Model Context Protocol, as types. */
import type { ActorHandle } from './actor-handle.ts'
import type { Caller } from '../caller.ts'
import type { DeclaredSchema, JsonSchema } from './schema.ts'

type Awaitable<T> = T | Promise<T>

/** Hints of the Model Context Protocol; they travel in `annotations`. */
export interface Annotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly idempotentHint?: boolean
  readonly destructiveHint?: boolean
  readonly openWorldHint?: boolean
}

export interface Icon {
  /** An https or data address. */
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
  readonly theme?: 'light' | 'dark'
}

/** Kinds of clients, by the name they give themselves: a hint for texts, never a right. */
export type ClientType = 'chatgpt' | 'claude' | 'cursor' | 'mcp_inspector' | 'universal'

/** What a predicate is asked about. */
export interface ToolAudience {
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly clientType: ClientType
}

/** An action that is offered as a tool. What is not given here is taken from the action, but for the output schema. */
export interface ToolDeclaration {
  /** 1 to 64 of `[A-Za-z0-9_.-]`; the action's name unless given. */
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** Published and checked in place of the action's input. */
  readonly inputSchema?: JsonSchema
  /** What `structuredContent` has to fit. Never taken from the action (R-OP-06). */
  readonly output?: DeclaredSchema
  readonly annotations?: Annotations
  readonly icons?: readonly Icon[]
  /** Listed for these only. A hint, not a right: the tool stays callable for whoever may use it. */
  readonly allowedClients?: readonly ClientType[]
  readonly clientDescriptions?: { readonly [client in ClientType]?: string }
  /** Whether it is listed; it stays callable. One that throws hides it. */
  readonly visible?: (audience: ToolAudience) => Awaitable<boolean>
  /** The description for this actor; null and a throw leave the declared one. */
  readonly describe?: (audience: ToolAudience) => Awaitable<string | null>
  /** The same as `confirm` of the action: it holds for every caller, not for AI clients alone. */
  readonly confirm?: 'owner'
  /** `required`: only for clients that take tasks. A tool that goes on behind its answer calls `mcp.background()`. */
  readonly task?: 'required'
}

/** Proposes values for an argument that begins with `value`. At most 100 are sent. */
export type Completer = (request: {
  readonly actor: ActorHandle
  readonly caller: Caller
  readonly value: string
  /** Arguments that are known already. */
  readonly known: Readonly<Record<string, string>>
}) => Awaitable<readonly string[]>

export interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
  readonly complete?: Completer
}

/** A method that is offered as a prompt: its answer is a text, `{prompt}`, or `{messages}` of the protocol. */
export interface PromptDeclaration {
  readonly name?: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly PromptArgument[]
  readonly icons?: readonly Icon[]
}

/** A method that is offered as a resource, or as many of them behind a template. */
export interface ResourceDeclaration {
  /** RFC 6570, level 1 and `{+name}`: `notes://{id}`. `actingweb://<method>` unless given. */
  readonly uri?: string
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** `application/json` unless given. */
  readonly mimeType?: string
  readonly icons?: readonly Icon[]
  /** For the variables of a template. */
  readonly complete?: { readonly [variable: string]: Completer }
}

export type MethodMcp =
  | { readonly prompt: PromptDeclaration | true; readonly resource?: undefined }
  | { readonly resource: ResourceDeclaration | true; readonly prompt?: undefined }

// What a handler may use while an AI client calls it.

export interface ClientInfo {
  readonly name: string
  readonly version?: string | undefined
  readonly title?: string | undefined
}

/** The request context of a call by an AI client (R-MCP-08). */
export interface McpContext {
  readonly client_id: string
  readonly trust_relationship: string
  readonly peer_id: string
  readonly token_data: { readonly scope: string; readonly audience: string; readonly expires_at: number }
  /** `Mcp-Session-Id`, where the client sent one. */
  readonly transport_session_id: string | null
  readonly client_info: ClientInfo | null
}

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

/** A question to the person at the client, as a flat form (2025-06-18, "Elicitation"). */
export interface FormQuestion {
  readonly message: string
  readonly schema: JsonSchema
}

export type FormAnswer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' | 'cancel' }

/** What the client may be asked for; keys are the handler's own. */
export type ClientQuestion =
  | { readonly elicit: FormQuestion }
  /** An address for the person to open, where something is asked that must not pass through the client. */
  | { readonly open: { readonly message: string; readonly url: string } }
  /** Parameters of `sampling/createMessage`; deprecated by the protocol, but some clients offer nothing else. */
  | { readonly sample: Readonly<Record<string, unknown>> }
  | { readonly roots: true }

/** The hands of a handler in a call by an AI client; absent in every other call. */
export interface McpCall {
  readonly context: McpContext
  readonly protocolVersion: string
  readonly clientType: ClientType
  /** Aborted when the client cancelled the call or went away. */
  readonly signal: AbortSignal
  /** Told when the client asked for it; `done` must grow. */
  progress(done: number, total?: number, message?: string): void
  /** Told when the client asked for messages of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void
  /**
   * Asks the person at the client. Where the protocol has no requests of servers, the call is answered with the questions
   * and the handler runs again from its beginning when the answers are there: what comes before an `ask` has to bear that.
   *
   * @throws McpFailure when the client cannot be asked.
   */
  elicit(key: string, question: FormQuestion): Promise<FormAnswer>
  /** Several questions at once; the answers under the same keys, as the protocol has them. */
  ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Readonly<Record<string, unknown>>>
  /** The rest of the work goes on behind the answer where the client takes tasks; elsewhere this changes nothing. */
  background(): void
}
