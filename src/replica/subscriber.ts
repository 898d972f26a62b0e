/** A subscription of this actor to a peer. */
import { isTold, type Scope } from '../subscription/scope.ts'

export interface OutboundSubscription extends Scope {
  readonly actorId: string
  readonly peerId: string
  /** Minted by the peer. */
  readonly subscriptionId: string
  readonly granularity: string
  /** The last number applied. */
  readonly sequence: number
  /** Unix milliseconds at which everything is fetched anew, because something is missing; null when nothing is. */
  readonly gapDueAt: number | null
  /** The next synchronisation fetches the whole: the copy is known to be wrong. */
  readonly resyncPending: boolean
  /** The peer said that it does not know it. */
  readonly isUnknown: boolean
  /** How often fetching failed in a row. */
  readonly attempts: number
  readonly createdAt: number
}

export type OutboundKey = Pick<OutboundSubscription, 'actorId' | 'peerId' | 'subscriptionId'>

/** A callback that came before the ones it follows, or one that is ready to be applied. */
export interface Numbered {
  readonly sequence: number
  /** JSON text of `HeldBody`. */
  readonly body: string
}

/**
 * Whether what comes for this subscription goes into the copy. Where several cover the same, one alone does: applied
 * twice, an addition to a list would be there twice.
 *
 * @param ofPeer all subscriptions to the same peer.
 */
export function storesFor(subscription: OutboundSubscription, ofPeer: readonly OutboundSubscription[]): boolean {
  if (subscription.target !== 'properties') return false
  return !ofPeer.some((other) => other !== subscription && takesPlaceOf(other, subscription))
}

/**
 * The names inside a subscription's scope that another one keeps: one that is told of its property at once goes before a
 * wide one that is only polled.
 */
export function keptByOthers(
  subscription: OutboundSubscription,
  ofPeer: readonly OutboundSubscription[],
): ReadonlySet<string> {
  const others = ofPeer.filter(
    (other) =>
      other.subtarget !== '' &&
      other.resource === '' &&
      !other.isUnknown &&
      !covers(other, subscription) &&
      covers(subscription, other),
  )
  return new Set(others.filter((other) => storesFor(other, ofPeer)).map(({ subtarget }) => subtarget))
}

function takesPlaceOf(other: OutboundSubscription, one: OutboundSubscription): boolean {
  // One that the peer does not know gets nothing.
  if (other.isUnknown) return false
  // One that is only polled knows less than one that is told.
  if (!covers(other, one) || (isTold(one.granularity) && !isTold(other.granularity))) return false
  if (!covers(one, other) || (isTold(other.granularity) && !isTold(one.granularity))) return true
  return other.createdAt === one.createdAt ? other.subscriptionId < one.subscriptionId : other.createdAt < one.createdAt
}

/** Whether everything in the second scope is in the first one. */
export function covers(wide: Scope, narrow: Scope): boolean {
  if (wide.target !== narrow.target) return false
  if (wide.subtarget === '') return true
  return wide.subtarget === narrow.subtarget && (wide.resource === '' || wide.resource === narrow.resource)
}
