/** One call of a client, in the shape that every revision is brought to. */
import type { Actor } from '../../actor/actor.ts'
import type { ClientInfo, ClientQuestion, ClientType, LogLevel } from '../../app/mcp-declarations.ts'
import type { Caller } from '../../caller.ts'
import type { Params } from '../protocol/message.ts'
import type { Revision } from '../protocol/revisions.ts'
import type { McpClient, Session } from '../sessions/session.ts'

/** Who calls, proven by the token. */
export interface McpAccess {
  readonly actor: Actor
  readonly caller: Extract<Caller, { kind: 'client' }>
  readonly token: { readonly scope: string; readonly audience: string; readonly expiresAt: number }
  /** What the relationship remembers of the client; null for one that never told. */
  readonly remembered: ClientInfo | null
}

/** Of whom is counted what is under way: one client of one actor. */
export function clientKeyOf({ actor, caller }: McpAccess): string {
  return `${actor.id} ${caller.peerId}`
}

/** How a call reaches its client while it runs. */
export interface Channel {
  /** A method, because most calls never ask: an accessor in an object made for each call keeps the call until a full collection. */
  signal(): AbortSignal
  progress(done: number, total?: number, message?: string): void
  log(level: LogLevel, data: unknown, logger?: string): void
  /** @throws McpFailure `missing_capability` for what the client did not declare. */
  ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Readonly<Record<string, unknown>>>
  background(): void
}

/** What is asked, without the way back. */
export interface McpRequest {
  readonly access: McpAccess
  readonly revision: Revision
  readonly method: string
  readonly params: Params
  readonly client: McpClient
  /** Of a legacy client that has one. */
  readonly session: Session | null
  /** `Mcp-Session-Id`, whatever the client put there. */
  readonly sessionId: string | null
  readonly header: (field: string) => string | undefined
}

export interface InFlightCall extends McpRequest {
  readonly channel: Channel
  readonly held: ApprovalOutcome
}

/** Where a call records that it did not run for lack of the owner's approval; for the audit log. */
export interface ApprovalOutcome {
  as: { readonly decision: 'asked' | 'refused'; readonly reason: string } | null
}

/** A hint for texts: clients call themselves what they like. */
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
  const known = { version: text(version), title: text(title) }
  return {
    name: name.slice(0, 200),
    ...(known.version === undefined ? {} : { version: known.version }),
    ...(known.title === undefined ? {} : { title: known.title }),
  }
}
