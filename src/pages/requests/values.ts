/** Values of the inbox, and of the page of a call that waits for approval. */
import type { Moment } from '../shared/time.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues, LinkedText } from '../shared/values.ts'

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
  /** True when the application declares that the call may destroy data. */
  readonly is_destructive: boolean
  readonly asked: Moment
  readonly expires: Moment
  readonly state: 'waiting' | 'approved' | 'denied' | 'used'
}

/** A peer that wants to connect. */
export interface ConnectionRequest {
  readonly peer: PeerName
  readonly relationship_name: string
  /** The message of the peer; empty without one. */
  readonly message: string
  readonly asked: Moment
}

/** A decision of the owner. */
export interface DecisionRow {
  readonly peer: PeerName
  /** Such as `was allowed to use tool “clear_notes”`. */
  readonly what: string
  readonly is_approved: boolean
  readonly at: Moment
  /** The device of the owner, such as `Firefox on Linux`; empty if it is not known. */
  readonly device: string
}

export interface RequestsValues extends ActorPageValues {
  readonly connections: readonly ConnectionRequest[]
  readonly approvals: readonly ApprovalRow[]
  /** Subscriptions whose updates do not arrive. */
  readonly failures: readonly LinkedText[]
  readonly decisions: readonly DecisionRow[]
  /** Link to older decisions; null on the last page. */
  readonly older_href: string | null
  /** True for the latest decisions. */
  readonly is_first: boolean
  /** True when the operator turned the audit log off, which has the decisions. */
  readonly is_off: boolean
}

export interface ApprovalValues extends ActorPageValues {
  readonly approval: ApprovalRow
  /** The input that the call runs with, as the schema of the application converted it. */
  readonly arguments: ValueTree
  /** Names in `arguments` that the caller chose, because the application does not declare them. */
  readonly undeclared_arguments: readonly string[]
  /** The effect of the call in the words of the application; null when it declares no preview. */
  readonly preview: string | null
  /** True when the preview of the application failed. */
  readonly has_preview_failed: boolean
  /** The titles that the input schema declares, by the name of the argument. */
  readonly argument_titles: Readonly<Record<string, string>>
  readonly form_action: string
}
