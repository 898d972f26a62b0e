import type { Runtime } from '../runtime.ts'
import { AuditLog } from './audit-log.ts'
import { dayMs } from './entry.ts'

export function createAuditLog({ config, store, timers, now, log, metrics }: Runtime): AuditLog {
  return new AuditLog({
    store,
    timers,
    now,
    log,
    metrics,
    mostPerActor: config.activityPerActor,
    maxAgeMs: config.activityDays * dayMs,
  })
}
