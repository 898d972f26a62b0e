import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Runtime } from '../runtime.ts'
import type { FirstOperator } from '../sign-in/operators/first-operator.ts'
import type { Operators } from '../sign-in/operators/operators.ts'
import { OperatorActs } from './operator-acts.ts'
import { Heartbeat } from './processes.ts'
import { Reports, type ReportsDeps } from './reports.ts'
import { serviceState, type ServiceStateDeps } from './service-state.ts'

interface OperatorNeeds {
  readonly auditLog: AuditLog
  readonly deliveries: { wake(): void; backlog(): Promise<number> }
  readonly jobs: { wake(): void }
  readonly suspension: ReportsDeps['suspension']
  readonly operators: Operators
  readonly firstOperator: FirstOperator
  readonly newestBackup: ServiceStateDeps['newestBackup']
}

export function createOperator(runtime: Runtime, needs: OperatorNeeds) {
  const { store, tables, now, log } = runtime
  const { auditLog, deliveries, jobs } = needs
  const reports = new Reports({
    suspension: needs.suspension,
    state: () => serviceState({ ...runtime, newestBackup: needs.newestBackup }),
    store,
    tables,
    auditLog,
    now,
    backlog: () => deliveries.backlog(),
    wake: () => {
      deliveries.wake()
      jobs.wake()
    },
  })
  return { reports, operatorActs: new OperatorActs({ ...needs, log }), heartbeat: new Heartbeat(runtime) }
}
