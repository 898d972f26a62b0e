/** Values of the page of the audit log. */
import type { Moment } from '../shared/time.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface ActivityRow {
  readonly at: Moment
  /** Null for an anonymous caller. */
  readonly peer: PeerName | null
  /** Display name of the caller, such as `Grace Hopper`. */
  readonly who: string
  /** `changed the property “color”`; for a refused request `change the property “color”`. */
  readonly what: string
  readonly is_refused: boolean
  /** Why the request was allowed or refused. */
  readonly reason: string
  readonly times: number
  /** Link to the activity of this caller alone; empty when the page is already filtered. */
  readonly only_href: string
  readonly request: string
}

export interface ActivityValues extends ActorPageValues {
  readonly entries: readonly ActivityRow[]
  /** Entries by day, latest first. */
  readonly days: readonly { readonly day: string; readonly entries: readonly ActivityRow[] }[]
  /** Callers for the filter. */
  readonly callers: readonly PeerName[]
  /** The selected peer, client or address; empty for all callers. */
  readonly caller: string
  readonly caller_name: string
  readonly older_href: string | null
  readonly is_first: boolean
  /** True when the operator turned the audit log off. */
  readonly is_off: boolean
}
