/** Values of the page of the audit log. */
import type { ActivityKind, ActivityOutcome } from '../../audit-log/filter.ts'
import type { Moment } from '../shared/time.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'
import type { RestoredData } from './restored-data.ts'

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

/** The fields of the filter, as the form shows them. Empty: everything. */
export interface ChosenFilter {
  /** A peer, client or address. */
  readonly caller: string
  readonly outcome: ActivityOutcome | ''
  readonly kind: ActivityKind | ''
  readonly property: string
  /** The first and the last day (UTC), such as `2026-11-27`. */
  readonly from: string
  readonly to: string
}

export interface ActivityValues extends ActorPageValues {
  readonly entries: readonly ActivityRow[]
  /** Entries by day, latest first. */
  readonly days: readonly { readonly day: string; readonly entries: readonly ActivityRow[] }[]
  /** Callers for the filter. */
  readonly callers: readonly PeerName[]
  readonly filter: ChosenFilter
  readonly is_filtered: boolean
  readonly newest_href: string
  readonly older_href: string | null
  /** Files with all entries that fit the filter. */
  readonly export_links: { readonly csv: string; readonly json: string }
  readonly is_first: boolean
  /** True when the operator turned the audit log off. */
  readonly is_off: boolean
  /** The service continues a copy of its data, for 30 days. Null: it does not, or the actor is younger. */
  readonly restored: RestoredData | null
}
