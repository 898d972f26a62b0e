/** A call of a client, in the same form for every revision. */
import type { Actor } from '../../actor/actor.ts'
import type { ClientInfo, ClientQuestion, ClientType, LogLevel } from '../../app/mcp-declarations.ts'
import type { Caller } from '../../caller.ts'
import type { MessageParams } from '../protocol/message.ts'
import type { Revision } from '../protocol/revisions.ts'
import type { McpClient, Session } from '../sessions/session.ts'

/** The authenticated caller. */
export interface McpAccess {
  readonly actor: Actor
  readonly caller: Extract<Caller, { kind: 'client' }>
  readonly token: { readonly scope: string; readonly audience: string; readonly expiresAt: number }
  /** The client info of an earlier request. Null for a client that never sent it. */
  readonly remembered: ClientInfo | null
}

/** The key of limits: one client of one actor. */
export function clientKeyOf({ actor, caller }: McpAccess): string {
  return `${actor.id} ${caller.peerId}`
}

/** How a call reaches its client while it runs. */
export interface Channel {
  /** A method, not an accessor: an accessor in an object made for each call keeps the call alive until a full collection. */
  signal(): AbortSignal
  progress(done: number, total?: number, message?: string): void
  log(level: LogLevel, data: unknown, logger?: string): void
  /** Asks without checks: the context of the handler checks the capabilities of the client, and its answers. */
  ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Readonly<Record<string, unknown>>>
  background(): void
}

/** A request, without a channel to the client. */
export interface McpRequest {
  readonly access: McpAccess
  readonly revision: Revision
  readonly method: string
  readonly params: MessageParams
  readonly client: McpClient
  /** Null for a modern request, and for a legacy client without a session. */
  readonly session: Session | null
  /** `Mcp-Session-Id` as the client sent it, valid or not. */
  readonly sessionId: string | null
  readonly header: (field: string) => string | undefined
}

export interface InFlightCall extends McpRequest {
  readonly channel: Channel
  readonly held: ApprovalOutcome
}

/** Records for the audit log that a call did not run because it lacks the owner's approval. */
export interface ApprovalOutcome {
  as: { readonly decision: 'asked' | 'refused'; readonly reason: string } | null
}

/** Guesses the kind of client from its name. A hint for descriptions only, because clients choose their names freely. */
export function clientTypeOf(info: ClientInfo | null): ClientType {
  const name = info?.name.toLowerCase() ?? ''
  if (/openai|chatgpt|gpt/.test(name)) return 'chatgpt'
  if (/claude|anthropic/.test(name)) return 'claude'
  if (name.includes('cursor')) return 'cursor'
  return name.includes('mcp-inspector') ? 'mcp_inspector' : 'universal'
}

export function readClientInfo(value: unknown): ClientInfo | null {
  if (typeof value !== 'object' || value === null) return null
  const { name, version, title } = value as { name?: unknown; version?: unknown; title?: unknown }
  if (typeof name !== 'string' || name === '') return null
  const text = (given: unknown): string | undefined => (typeof given === 'string' ? given.slice(0, 200) : undefined)
  return { name: name.slice(0, 200), version: text(version), title: text(title) }
}
