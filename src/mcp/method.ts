/** One row of the table of methods: the facts that the protocol defines for a method, and the handler of its calls. */
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
  /** The parameter with the target of a call. `Mcp-Name` mirrors it (2026-07-28), and the audit log records it. */
  readonly target?: 'name' | 'uri' | 'taskId'
  /** The capabilities that a server with this method declares. Members of the same capability of several rows are merged. */
  readonly capabilities?: (catalogue: Catalogue, revision: Revision) => Capabilities
}

/** A call with a result. It has metrics, an entry in the audit log, and a limit on concurrent calls. */
export interface CallMethod extends MethodFacts {
  readonly kind: 'call'
  readonly handle: (deps: McpDeps, call: InFlightCall) => Promise<McpResult> | McpResult
  /** The declarations in which the target is looked up. Metrics and spans name declared targets only, to limit labels. */
  readonly declaredIn?: 'tools' | 'prompts'
  /** The handler may ask the client for input, so the result may be `input_required`. */
  readonly mayAskClient?: true
  /** A result may carry an error for the model to read (`isError`). */
  readonly hasErrorResult?: true
  /** How long a client may cache a result, in milliseconds. Default: no caching. */
  readonly ttlMs?: number
  /** The call may change something, so the audit log keeps each one instead of counting them. */
  readonly mayChange?: true
  /** Removes members that an older revision does not have. */
  readonly downgrade?: (revision: LegacyRevision, body: MessageParams) => MessageParams
}

/** A request about the session, not about the actor. The result is `{}`. Without a session, the request has no effect. */
export interface SessionMethod extends MethodFacts {
  readonly kind: 'session'
  /** @throws McpFailure */
  readonly handle: (sessions: McpSessions, session: Session | null, params: MessageParams) => Promise<void>
}

/** The request that negotiates a revision and opens the session. It selects its own revision. */
export interface HandshakeMethod extends MethodFacts {
  readonly kind: 'handshake'
  /** @throws McpFailure */
  readonly handle: (deps: McpDeps, access: McpAccess, id: Id, params: MessageParams) => Promise<Reply>
}

/** A request whose response is a stream that stays open. */
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

/** A message without a response. */
export interface NotificationMethod extends MethodFacts {
  readonly kind: 'notification'
  readonly handle: (running: RunningCalls, session: Session, params: MessageParams) => void
}

export type McpMethod = CallMethod | SessionMethod | HandshakeMethod | StreamMethod | NotificationMethod
