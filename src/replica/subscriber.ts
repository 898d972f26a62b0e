/** Subscriber side: a subscription that this actor holds at a peer. */
import type { Subscription } from '../app/actor-handle.ts'
import type { SubscriptionRecord } from '../subscription/record-store.ts'
import { deliversCallbacks, type Scope } from '../subscription/scope.ts'
import { subscriptionView } from '../subscription/view.ts'

export interface SubscriberSubscription extends Scope {
  readonly actorId: string
  readonly peerId: string
  /** Assigned by the peer. */
  readonly subscriptionId: string
  readonly granularity: string
  /** The last sequence number that was applied. */
  readonly sequence: number
  /** Time at which an open gap leads to a resync (Unix milliseconds). Null without a gap. */
  readonly gapDueAt: number | null
  /** The copy is wrong, so the next sync fetches the full state. */
  readonly resyncPending: boolean
  /** The peer answered that the subscription does not exist. */
  readonly isUnknown: boolean
  /** Failed syncs in a row. */
  readonly attempts: number
  /** Time of the last change that was applied, on the clock of the peer (Unix milliseconds). Null: unknown. */
  readonly publishedAt: number | null
  /** Time of the next comparison with the peer (Unix milliseconds). Null: nothing changed since the last one. */
  readonly checkAt: number | null
  /** Time of the last comparison that was due. Null: never. */
  readonly checkedAt: number | null
  readonly createdAt: number
}

export type SubscriberKey = Pick<SubscriberSubscription, 'actorId' | 'peerId' | 'subscriptionId'>

/** A callback that waits for earlier ones, or that is ready to be applied. */
export interface Numbered {
  readonly sequence: number
  /** The stored diff: a `Kept` as a JSON string. */
  readonly body: string
}

/**
 * Whether callbacks of this subscription change the copy. When several subscriptions cover the same data, only one
 * does, because a list operation that is applied twice would add its items twice.
 *
 * @param ofPeer All subscriptions to the same peer.
 */
export function storesFor(subscription: SubscriberSubscription, ofPeer: readonly SubscriberSubscription[]): boolean {
  if (subscription.target !== 'properties') return false
  return !ofPeer.some((other) => other !== subscription && takesPlaceOf(other, subscription))
}

/**
 * Returns the names in the scope that another subscription copies. A narrow subscription with callbacks takes
 * precedence over a wide one that is polled.
 */
export function keptByOthers(
  subscription: SubscriberSubscription,
  ofPeer: readonly SubscriberSubscription[],
): ReadonlySet<string> {
  const others = ofPeer.filter(
    (other) =>
      other.subtarget !== '' &&
      other.resource === '' &&
      !other.isUnknown &&
      !coversTarget(other, subscription) &&
      coversTarget(subscription, other),
  )
  return new Set(others.filter((other) => storesFor(other, ofPeer)).map(({ subtarget }) => subtarget))
}

function takesPlaceOf(other: SubscriberSubscription, one: SubscriberSubscription): boolean {
  // An unknown subscription receives no callbacks.
  if (other.isUnknown) return false
  // A polled subscription is less current than one with callbacks.
  if (!coversTarget(other, one) || (deliversCallbacks(one.granularity) && !deliversCallbacks(other.granularity)))
    return false
  if (!coversTarget(one, other) || (deliversCallbacks(other.granularity) && !deliversCallbacks(one.granularity)))
    return true
  return other.createdAt === one.createdAt ? other.subscriptionId < one.subscriptionId : other.createdAt < one.createdAt
}

/** Whether the first scope contains the second one. */
export function coversTarget(wide: Scope, narrow: Scope): boolean {
  if (wide.target !== narrow.target) return false
  if (wide.subtarget === '') return true
  return wide.subtarget === narrow.subtarget && (wide.resource === '' || wide.resource === narrow.resource)
}

/** A subscriber-side subscription as the wire and applications see it. */
export function subscriberView(subscription: Omit<SubscriptionRecord, 'callback'>): Subscription {
  return subscriptionView({ ...subscription, callback: true })
}
