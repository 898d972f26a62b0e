import type { Runtime } from '../runtime.ts'
import { AuditLog, type NameEntries } from './audit-log.ts'
import { dayMs } from './entry.ts'

export function createAuditLog(
  { config, store, timers, now, log, metrics }: Runtime,
  { nameEntries }: { readonly nameEntries: NameEntries },
): AuditLog {
  return new AuditLog({
    store,
    timers,
    now,
    log,
    metrics,
    maxPerActor: config.activityPerActor,
    maxAgeMs: config.activityDays * dayMs,
    nameEntries,
  })
}
