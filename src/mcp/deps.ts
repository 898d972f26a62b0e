/** Dependencies of the MCP methods. */
import type { ClientInfo } from '../app/mcp-declarations.ts'
import type { McpAccess } from './call/call.ts'
import type { Approvals } from '../operation/approvals.ts'
import type { Access } from '../property/access.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import type { Timers } from '../timers.ts'
import type { AuditDecision } from '../audit-log/entry.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { Permission } from '../permission/permission.ts'
import type { Properties } from '../property/properties.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Catalogues } from './catalogue/catalogues.ts'
import type { McpSessions } from './sessions/sessions.ts'
import type { McpTasks } from './tasks/tasks.ts'

export interface AuditedCall {
  readonly access: McpAccess
  readonly method: string
  readonly target: string
  readonly decision: AuditDecision
  readonly reason: string
  /** True for a call that changes nothing. The audit log counts repetitions instead of keeping each call. */
  readonly isRead: boolean
}

export interface McpDeps {
  readonly catalogues: Catalogues
  readonly permission: Permission
  readonly properties: Properties
  readonly handleOf: (actor: Access['actor']) => ActorHandle
  readonly keyRing: KeyRing
  readonly server: { readonly name: string; readonly version: string }
  readonly instructions: string
  readonly live: Live
  readonly sessions: McpSessions
  readonly tasks: McpTasks
  readonly approvals: Approvals
  /** Stores in the relationship how the client introduced itself. */
  readonly remember: (access: McpAccess, info: ClientInfo) => Promise<void>
  /** Records the call in the audit log. */
  readonly note: (act: AuditedCall) => void
  readonly metrics: Pick<Metrics, 'mcpCalled' | 'mcpSessionBegun'>
  readonly tracing: Tracing
  readonly log: Log
  readonly timers: Timers
  readonly now: () => number
}
