/** What the pages of subscriptions are made from. */
import type { Moment } from '../shared/time.ts'
import type { Paging } from '../properties/values.ts'
import type { PeerName, SeenProperty } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface SubscriptionRow {
  readonly subscriptionid: string
  readonly peer: PeerName
  /** In words: `everything in properties`. */
  readonly about: string
  /** In words: `is told of each change`. */
  readonly how: string
  /** The last number. */
  readonly sequence: number
  readonly state: string
  readonly is_in_order: boolean
  readonly since: Moment
  readonly href: string
}

export interface SubscriptionsValues extends ActorPageValues {
  /** Those of peers, of this page. */
  readonly listeners: readonly SubscriptionRow[]
  readonly paging: Paging
  /** Those of this actor to peers. */
  readonly listening: readonly SubscriptionRow[]
}

export interface TimelineRow {
  readonly sequence: number
  readonly outcome: 'waiting' | 'delivered' | 'failed' | 'superseded' | 'unsent'
  /** In words, with the reason where there is one. */
  readonly outcome_text: string
  readonly attempts: number
  readonly written: Moment
  readonly sent: Moment | null
  readonly acknowledged: Moment | null
}

export interface SubscriptionValues extends ActorPageValues {
  readonly subscription: SubscriptionRow
  /** True: this actor listens to the peer, and there is no time line. */
  readonly is_own: boolean
  /** What is known of the peer, of this page; empty unless `is_own`. */
  readonly known: readonly SeenProperty[]
  readonly entries: readonly TimelineRow[]
  /** How many failed for good; they can be sent again while they are kept. */
  readonly failed: number
  readonly paging: Paging
  readonly form_action: string
}
