/** The audit log entries of values that a callback carried to its subscriber. */
import { type AuditEntry, entryReasons } from '../audit-log/entry.ts'
import { type JsonText, members } from '../json/json.ts'
import type { Scope } from '../subscription/scope.ts'
import type { QueueKey } from './queue-store.ts'

/** A callback with more names has one entry about all of them. */
const maxNamed = 20

/**
 * @param carried The values in the callback.
 * @param status The subscriber's answer. 0: the answer is unknown.
 */
export function pushEntries(
  { actorId, peerId }: QueueKey,
  { subtarget, resource }: Scope,
  carried: JsonText,
  { status, requestId }: Pick<AuditEntry, 'status' | 'requestId'>,
): AuditEntry[] {
  return pathsOf({ subtarget, resource }, carried).map((path) => ({
    actorId,
    callerKind: 'peer',
    caller: peerId,
    through: 'push',
    method: 'POST',
    path: ['/properties', ...path.map(encodeURIComponent)].join('/'),
    decision: 'allowed',
    reason: entryReasons.subscription,
    status,
    requestId,
    isRead: true,
  }))
}

/** The properties, or the part of one, whose values the callback carried. */
function pathsOf({ subtarget, resource }: Omit<Scope, 'target'>, carried: JsonText): string[][] {
  if (subtarget !== '') return [resource === '' ? [subtarget] : [subtarget, resource]]
  const names = [...(members(carried)?.keys() ?? [])]
  return names.length > maxNamed ? [[]] : names.map((name) => [name])
}
