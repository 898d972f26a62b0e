/** Entries of acts of operators in the audit log of an actor. */
import type { AuditEntry } from '../audit-log/entry.ts'
import { currentContext } from '../observe/context.ts'

/** Who opened a page of an actor, or changed something. */
export interface OperatorAct {
  /** Name of the operator, or `command`. */
  readonly operator: string
  /** Device of the operator, such as `Firefox on Linux`. */
  readonly device: string
}

export function actEntryOf(actorId: string, { operator, device }: OperatorAct): Omit<AuditEntry, 'method' | 'path'> {
  return {
    actorId,
    callerKind: 'operator',
    caller: operator,
    through: 'http',
    decision: 'allowed',
    reason: 'an operator of the service',
    status: 200,
    requestId: currentContext()?.requestId ?? '',
    device,
  }
}
