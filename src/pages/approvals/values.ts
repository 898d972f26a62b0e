/** Values of the pages of calls that wait for approval. */
import type { Moment } from '../shared/time.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface ApprovalRow {
  readonly id: string
  readonly href: string
  readonly peer: PeerName
  readonly kind: 'methods' | 'actions' | 'tools' | 'prompts' | 'resources'
  /** Name of the method or action. */
  readonly operation: string
  /** Title that the application declared. */
  readonly title: string
  readonly description: string
  readonly asked: Moment
  readonly expires: Moment
  readonly state: 'waiting' | 'approved' | 'denied' | 'used'
}

export interface ApprovalsValues extends ActorPageValues {
  readonly approvals: readonly ApprovalRow[]
}

export interface ApprovalValues extends ActorPageValues {
  readonly approval: ApprovalRow
  readonly arguments: ValueTree
  readonly form_action: string
}
