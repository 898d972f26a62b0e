import type { AuditLog } from '../audit-log/audit-log.ts'
import { rememberClient } from '../authorization-server/client-access.ts'
import { currentContext } from '../observe/context.ts'
import type { Approvals } from '../operation/approvals.ts'
import type { Permission } from '../permission/permission.ts'
import type { PropertyModule } from '../property/create.ts'
import type { Runtime } from '../runtime.ts'
import type { Catalogues } from './catalogue/catalogues.ts'
import { McpEndpoint } from './endpoint.ts'
import { McpSessions } from './sessions/sessions.ts'
import { McpTasks } from './tasks/tasks.ts'

interface McpNeeds {
  readonly catalogues: Catalogues
  readonly permission: Permission
  readonly property: PropertyModule
  readonly approvals: Approvals
  readonly auditLog: AuditLog
}

export function createMcp(runtime: Runtime, { catalogues, permission, property, approvals, auditLog }: McpNeeds) {
  const { config, identity, store, timers, now, live, keyRing, handles } = runtime
  return new McpEndpoint({
    ...runtime,
    catalogues,
    permission,
    properties: property.properties,
    handleOf: handles.of,
    server: { name: identity.name, version: identity.version },
    instructions: config.mcpInstructions,
    sessions: new McpSessions({ store, timers, now }),
    tasks: new McpTasks({ store, live, keyRing, timers, permission, now }),
    approvals,
    remember: rememberClient(store),
    note: ({ access, method, target, decision, reason, isRead }) =>
      auditLog.record({
        actorId: access.actor.id,
        callerKind: 'client',
        caller: access.caller.peerId,
        through: 'mcp',
        method,
        path: target,
        decision,
        reason,
        status: 200,
        requestId: currentContext()?.requestId ?? '',
        isRead,
      }),
  })
}
