import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Runtime } from '../runtime.ts'
import { Reports } from './reports.ts'

interface OperatorNeeds {
  readonly auditLog: AuditLog
  readonly deliveries: { wake(): void; backlog(): Promise<number> }
  readonly jobs: { wake(): void }
}

export function createReports({ store, now }: Runtime, { auditLog, deliveries, jobs }: OperatorNeeds): Reports {
  return new Reports({
    store,
    auditLog,
    now,
    backlog: () => deliveries.backlog(),
    wake: () => {
      deliveries.wake()
      jobs.wake()
    },
  })
}
