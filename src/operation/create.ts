import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Permission } from '../permission/permission.ts'
import type { Runtime } from '../runtime.ts'
import { decisionAct } from './approval-act.ts'
import { Approvals } from './approvals.ts'
import { Callbacks } from './callbacks.ts'
import { Once } from './idempotency.ts'
import { Operations } from './operations.ts'

interface OperationNeeds {
  readonly permission: Permission
  readonly auditLog: AuditLog
}

export function createOperations(runtime: Runtime, { permission, auditLog }: OperationNeeds) {
  const { config, registry, store, live, keyRing, timers, now, log, baseUrl, handles, metrics } = runtime
  const handleOf = handles.of
  const approvals = new Approvals({
    store,
    afterCommit: store.afterCommit,
    live,
    mail: runtime.mail,
    keyRing,
    addressOf: (actorId, approvalId) => {
      // Without pages, the address is the API endpoint, which works for the owner in every configuration.
      const own = `${baseUrl}/{actor}/${config.webUi ? 'www/approvals' : 'approvals'}/{approval}`
      return (config.approvalUrl ?? own).replaceAll('{actor}', actorId).replaceAll('{approval}', approvalId)
    },
    note: (approval, decided) => auditLog.record(decisionAct(approval, decided)),
    now,
  })
  return {
    approvals,
    operations: new Operations({ registry, permission, approvals, handleOf, timers, log, metrics }),
    callbacks: new Callbacks({ registry, log, handleOf }),
    once: new Once({ store, keyRing, timers, now }),
  }
}
