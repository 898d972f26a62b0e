/** One row of the table of methods: what the protocol says of a method, and the handler of its calls. */
import type { InFlightCall, McpAccess, McpRequest } from './call/call.ts'
import type { RunningCalls } from './call/running-calls.ts'
import type { Reauthorize } from './change-notifications.ts'
import type { Catalogue } from './catalogue/catalogue.ts'
import type { Codec } from './codecs/codec.ts'
import type { McpDeps } from './deps.ts'
import type { Id, MessageParams } from './protocol/message.ts'
import type { Reply } from './protocol/reply.ts'
import type { McpResult } from './protocol/result.ts'
import type { LegacyRevision, Revision } from './protocol/revisions.ts'
import type { Session } from './sessions/session.ts'
import type { McpSessions } from './sessions/sessions.ts'

export type Capabilities = Readonly<Record<string, object>>

interface MethodFacts {
  readonly name: string
  readonly revisions: readonly Revision[]
  /** The parameter that names what a call is about. `Mcp-Name` mirrors it (2026-07-28), and the audit log records it. */
  readonly target?: 'name' | 'uri' | 'taskId'
  /** What a server that has the method declares. Members of one capability that several rows declare are merged. */
  readonly capabilities?: (catalogue: Catalogue, revision: Revision) => Capabilities
}

/** A call with a result. It is measured, recorded in the audit log, and limited in how many run at once. */
export interface CallMethod extends MethodFacts {
  readonly kind: 'call'
  readonly handle: (deps: McpDeps, call: InFlightCall) => Promise<McpResult> | McpResult
  /** The declarations that the target names. Metrics and spans name declared targets only, so that labels stay few. */
  readonly declaredIn?: 'tools' | 'prompts'
  /** The handler may ask the client for input, so the result may be `input_required`. */
  readonly mayAskClient?: true
  /** A result may carry an error for the model to read (`isError`). */
  readonly hasErrorResult?: true
  /** How long a client may cache a result, in milliseconds. Nothing may be cached when it is absent. */
  readonly ttlMs?: number
  /** The call may change something, so the audit log keeps each one instead of counting them. */
  readonly mayChange?: true
  /** What the call does, for the page of the activity: a verb and its object. Default: `ask for` and the method's name. */
  readonly auditWords?: (target: string) => string
  /** Leaves out what an older revision does not know. */
  readonly downgrade?: (revision: LegacyRevision, body: MessageParams) => MessageParams
}

/** A request about the session and nothing of the actor's. The result is `{}`; without a session nothing happens. */
export interface SessionMethod extends MethodFacts {
  readonly kind: 'session'
  /** @throws McpFailure */
  readonly handle: (sessions: McpSessions, session: Session | null, params: MessageParams) => Promise<void>
}

/** The request that agrees on a revision and opens the session. It decides its revision itself. */
export interface HandshakeMethod extends MethodFacts {
  readonly kind: 'handshake'
  /** @throws McpFailure */
  readonly handle: (deps: McpDeps, access: McpAccess, id: Id, params: MessageParams) => Promise<Reply>
}

/** A request whose answer is a stream that stays open. */
export interface StreamMethod extends MethodFacts {
  readonly kind: 'stream'
  /** @throws McpFailure */
  readonly open: (
    deps: McpDeps,
    codec: Codec,
    id: Id,
    request: McpRequest,
    reauthorize: Reauthorize,
  ) => Promise<(signal: AbortSignal) => AsyncGenerator<object>>
}

/** A message without an answer. */
export interface NotificationMethod extends MethodFacts {
  readonly kind: 'notification'
  readonly handle: (running: RunningCalls, session: Session, params: MessageParams) => void
}

export type McpMethod = CallMethod | SessionMethod | HandshakeMethod | StreamMethod | NotificationMethod
