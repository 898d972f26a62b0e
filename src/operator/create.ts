import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Runtime } from '../runtime.ts'
import type { FirstOperator } from '../sign-in/operators/first-operator.ts'
import type { Operators } from '../sign-in/operators/operators.ts'
import { OperatorActs } from './operator-acts.ts'
import { AccountActs, type AccountActsDeps } from './account-acts.ts'
import { Rankings } from './actor-ranking.ts'
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

interface AccountNeeds extends Pick<AccountActsDeps, 'actors' | 'oneTime' | 'resetLimits'> {
  readonly resets: { forget(): void; follow(): Promise<void> }
}

export function createOperator(runtime: Runtime, needs: OperatorNeeds & AccountNeeds) {
  const { store, tables, now, log } = runtime
  const { auditLog, deliveries, jobs } = needs
  const rankings = new Rankings(runtime)
  const reports = new Reports({
    rankings,
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
  return {
    reports,
    rankings,
    operatorActs: new OperatorActs({ ...needs, log }),
    accountActs: new AccountActs({ ...runtime, ...needs }),
    heartbeat: new Heartbeat({ ...runtime, follow: () => needs.resets.follow() }),
  }
}
