/** Creates the audit log entry for the owner's decision about a call. */
import type { AuditEntry } from '../audit-log/entry.ts'
import type { StoredApproval } from './approval-store.ts'
import type { Decided } from './approvals.ts'

/** The entry for a decision. It names the caller and the call, because the audit log is read by caller. */
export function decisionAct(
  { actorId, peerId, clientId, kind, operation }: Omit<StoredApproval, 'digest' | 'arguments'>,
  decided: Decided,
): Omit<AuditEntry, 'requestId'> {
  return {
    actorId,
    callerKind: clientId === '' ? 'peer' : 'client',
    caller: peerId,
    ...placeOf(kind, operation),
    decision: decided,
    reason: decided === 'approved' ? 'the owner approved it' : 'the owner denied it',
    status: 200,
  }
}

function placeOf(kind: StoredApproval['kind'], operation: string): Pick<AuditEntry, 'through' | 'method' | 'path'> {
  switch (kind) {
    case 'methods':
    case 'actions':
      return {
        through: 'http',
        method: 'POST',
        path: `/${kind}/${operation.split('/').map(encodeURIComponent).join('/')}`,
      }
    case 'tools':
      return { through: 'mcp', method: 'tools/call', path: operation }
    case 'prompts':
      return { through: 'mcp', method: 'prompts/get', path: operation }
    case 'resources':
      return { through: 'mcp', method: 'resources/read', path: operation }
    default:
      return kind satisfies never
  }
}
