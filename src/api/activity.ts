/** The handle by which applications read the audit log of an actor. */
import type { Activity, ActorHandle } from '../app/actor-handle.ts'
import type { AuditLogEntry } from '../audit-log/entry.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'

export function activityHandle(auditLog: AuditLog, actorId: string): ActorHandle['activity'] {
  return async ({ from, until, ...query } = {}) => {
    const times = { from: from?.getTime(), until: until?.getTime() }
    const { entries, next } = await auditLog.page(actorId, { ...query, ...times })
    return { entries: entries.map(activityOf), next }
  }
}

function activityOf({ id: _id, actorId: _actor, at, ...entry }: AuditLogEntry): Activity {
  return { ...entry, at: new Date(at) }
}
