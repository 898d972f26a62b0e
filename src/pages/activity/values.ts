/** What the page of the access ledger is made from. */
import type { Moment } from '../shared/time.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface ActivityRow {
  readonly at: Moment
  /** Null for somebody unknown. */
  readonly peer: PeerName | null
  /** `Grace Hopper`, `Somebody at 10.0.0.1`. */
  readonly who: string
  /** `changed the property “color”`; of what was refused `change the property “color”`. */
  readonly what: string
  readonly is_refused: boolean
  /** Why it was let, or refused. */
  readonly reason: string
  readonly times: number
  /** Shows what this caller did, alone; empty where it does so already. */
  readonly only_href: string
  readonly request: string
}

export interface ActivityValues extends ActorPageValues {
  readonly entries: readonly ActivityRow[]
  /** By day, the latest first. */
  readonly days: readonly { readonly day: string; readonly entries: readonly ActivityRow[] }[]
  /** Who can be chosen. */
  readonly callers: readonly PeerName[]
  /** The peer, client or address that is chosen; empty for everybody. */
  readonly caller: string
  readonly caller_name: string
  readonly older_href: string | null
  readonly is_first: boolean
  /** The operator keeps no ledger. */
  readonly is_off: boolean
}
