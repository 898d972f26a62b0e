/** Creates the audit log entries for decisions of the owner: about a call, and about a request to connect. */
import type { AuditEntry } from '../audit-log/entry.ts'
import { currentContext } from '../observe/context.ts'
import type { StoredApproval } from './approval-store.ts'
import type { Decided } from './approvals.ts'

/** The entry for a decision. It names the caller and the call, because the audit log is read by caller. */
export function decisionAct(
  { actorId, peerId, clientId, kind, operation }: Omit<StoredApproval, 'digest' | 'arguments'>,
  decided: Decided,
): AuditEntry {
  const callerKind = clientId === '' ? 'peer' : 'client'
  return { actorId, callerKind, caller: peerId, ...placeOf(kind, operation), ...decision(decided) }
}

/** The entry for a decision about a peer's request to connect. */
export function connectionAct(
  {
    actorId,
    peerId,
    relationship,
  }: { readonly actorId: string; readonly peerId: string; readonly relationship: string },
  decided: Decided,
): AuditEntry {
  const path = `/trust/${encodeURIComponent(relationship)}`
  return { actorId, callerKind: 'peer', caller: peerId, through: 'http', method: 'POST', path, ...decision(decided) }
}

function decision(decided: Decided): Pick<AuditEntry, 'decision' | 'reason' | 'status' | 'requestId' | 'device'> {
  const context = currentContext()
  return {
    decision: decided,
    reason: decided === 'approved' ? 'the owner approved it' : 'the owner denied it',
    status: 200,
    requestId: context?.requestId ?? '',
    device: context?.caller?.kind === 'creator' ? (context.device?.() ?? '') : '',
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
