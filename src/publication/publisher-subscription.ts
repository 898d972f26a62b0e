/** Publisher side: a subscription that a peer holds at this actor. */
import type { Subscription } from '../app/actor-handle.ts'
import type { SubscriptionRecord } from '../subscription/record-store.ts'
import type { Scope } from '../subscription/scope.ts'
import { subscriptionView } from '../subscription/view.ts'

export interface PublisherSubscription extends Scope {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
  /** `high` sends diffs and `low` sends their URLs. With any other granularity the peer polls. */
  readonly granularity: string
  /** The last sequence number. */
  readonly sequence: number
  /** The last sequence number that needs no further attempt. */
  readonly committed: number
  /** No callbacks are sent for a stopped subscription until a redrive. */
  readonly state: 'live' | 'stopped'
  /** Start of the current series of failures (Unix milliseconds). Null after a success. */
  readonly failingSince: number | null
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Number of changes of the actor whose diffs are not written yet. */
  readonly waitingChanges: number
}

/** A publisher-side subscription as the wire and applications see it. */
export function publisherView(subscription: Omit<SubscriptionRecord, 'callback'>): Subscription {
  return subscriptionView({ ...subscription, callback: false })
}
