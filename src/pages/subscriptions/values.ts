/** Values of the pages of subscriptions. */
import type { ListingFilter } from '../listing/choices.ts'
import type { Moment } from '../shared/time.ts'
import type { Paging } from '../properties/values.ts'
import type { PeerName, SeenProperty } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface SubscriptionRow {
  readonly subscriptionid: string
  readonly peer: PeerName
  /** Scope in words: `everything in properties`. */
  readonly about: string
  /** Way of delivery in words: `is sent each change`. */
  readonly how: string
  /** The last sequence number. */
  readonly sequence: number
  readonly state: string
  readonly is_in_order: boolean
  readonly since: Moment
  readonly href: string
}

export interface SubscriptionsValues extends ActorPageValues {
  /** Subscriptions of peers to this actor, on this page. */
  readonly listeners: readonly SubscriptionRow[]
  readonly paging: Paging
  /** Subscriptions of this actor to peers. */
  readonly listening: readonly SubscriptionRow[]
}

/** `late`: delivered after several attempts, or as part of a later update. */
export type TimelineMark = 'delivered' | 'late' | 'waiting' | 'failed'

export interface TimelineRow {
  readonly sequence: number
  readonly outcome: 'waiting' | 'delivered' | 'failed' | 'superseded' | 'unsent'
  /** Outcome in words, with the reason if any. */
  readonly outcome_text: string
  readonly mark: TimelineMark
  /** The first names that changed. Empty: everything, as after a resync. */
  readonly changed: readonly string[]
  /** Number of names that `changed` leaves out. */
  readonly more_changed: number
  readonly attempts: number
  readonly written: Moment
  readonly sent: Moment | null
  readonly acknowledged: Moment | null
}

export interface SubscriptionValues extends ActorPageValues {
  readonly subscription: SubscriptionRow
  /** True when this actor is the subscriber; such a page has no timeline. */
  readonly is_own: boolean
  /** The copied data of the peer on this page; empty unless `is_own`. */
  readonly known: readonly SeenProperty[]
  readonly entries: readonly TimelineRow[]
  /** The latest 30 updates, oldest first. */
  readonly marks: readonly TimelineMark[]
  /** The outcomes of `marks` in words; empty when `is_own`. */
  readonly summary: string
  readonly filters: readonly ListingFilter[]
  /** Path of this page with its filter, without the page number. */
  readonly address: string
  /** Time of the next attempt while updates are held back; null otherwise. */
  readonly next_attempt: Moment | null
  /** Number of permanently failed diffs, which can be retried while they are stored. */
  readonly failed: number
  readonly paging: Paging
  readonly form_action: string
}
