/** A subscription of this actor under the actor's lock, with the diffs that wait and the part of the copy that it may change. */
import type { Trust } from '../trust/trust.ts'
import { ServiceError } from '../errors.ts'
import { type Live, subscriptionChange } from '../live/live.ts'
import type { AfterCommit, LockedActor, Transaction } from '../store/store.ts'
import { awaitsResync, type Kept, readKept, type ReceiverState } from './processor.ts'
import { applyChanges } from './copy/remote-data.ts'
import { changesOf, type ReplicaChange } from './copy/replica-change.ts'
import { keptByOthers, type SubscriberKey, type SubscriberSubscription, storesFor } from './subscriber.ts'
import {
  findPending,
  findPendingNumbers,
  findSubscriberSubscriptions,
  type Progress,
  saveProgress,
} from './subscriber-store.ts'

/** A sequence number with its data. */
export type Item = Kept & { readonly sequence: number }

/** A subscription under the lock of its actor. */
export interface Locked {
  readonly actor: LockedActor
  readonly subscription: SubscriberSubscription
  readonly state: ReceiverState
  /** Whether its callbacks change the copy. False: another subscription covers the same data. */
  readonly isStored: boolean
  /** Names in its scope that other subscriptions copy. */
  readonly keptByOthers: ReadonlySet<string>
}

export interface SaveDeps {
  readonly live: Pick<Live, 'record'>
  readonly afterCommit: AfterCommit
  /** Looks for gaps of the actor that are due, at `dueAt` again. */
  readonly wake: (actorId: string, dueAt?: number) => void
}

export async function lockSubscription(
  tx: Transaction,
  key: SubscriberKey,
  actor: LockedActor,
): Promise<Locked | null> {
  const ofPeer = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
  const subscription = ofPeer.find(({ subscriptionId }) => subscriptionId === key.subscriptionId)
  if (subscription === undefined) return null
  const state = receiverState(subscription, await findPendingNumbers(tx, key))
  // The callback shows that the peer knows the subscription.
  const spokenOf = { ...subscription, isUnknown: false }
  const places = ofPeer.map((other) => (other === subscription ? spokenOf : other))
  return {
    actor,
    subscription,
    state,
    isStored: storesFor(spokenOf, places),
    keptByOthers: keptByOthers(spokenOf, places),
  }
}

export function receiverState(subscription: SubscriberSubscription, pending: readonly number[]): ReceiverState {
  const { sequence, gapDueAt, publishedAt } = subscription
  return { sequence, pending, gapDueAt, publishedAt, awaitsResync: awaitsResync(subscription) }
}

export async function waiting(
  tx: Transaction,
  key: SubscriberKey,
  { pending }: ReceiverState,
  from: number,
  to: number,
): Promise<Item[]> {
  if (!pending.some((sequence) => sequence >= from && sequence <= to)) return []
  return (await findPending(tx, key, from, to)).map(({ sequence, body }) => ({ ...readKept(body), sequence }))
}

/** False: the copy differs from the state of the peer. */
export function applyItems(tx: Transaction, locked: Locked, items: readonly Item[], now: number): Promise<boolean> {
  return applyChanges(tx, locked.subscription, changesIn(locked, items), now)
}

export function changesIn({ subscription, isStored, keptByOthers }: Locked, items: readonly Item[]): ReplicaChange[] {
  const changes = isStored ? items.flatMap(({ data, replaces }) => changesOf(subscription, data, replaces)) : []
  return changes.filter(({ name }) => !keptByOthers.has(name))
}

/** Stores the progress of a subscription, notifies watchers, and wakes the worker when a fetch became due. */
export async function saveSubscription(
  { live, afterCommit, wake }: SaveDeps,
  tx: Transaction,
  { actor, subscription, isStored }: Locked,
  progress: Partial<Progress>,
): Promise<void> {
  const after = { ...subscription, ...progress }
  const { gapDueAt } = after
  await saveProgress(tx, subscription, after)
  await live.record(tx, actor, 'subscriptions', [subscriptionChange(subscription.subscriptionId, subscription.peerId)])
  if (isStored && progress.sequence !== undefined) await live.record(tx, actor, 'remote', [subscription.peerId])
  if (gapDueAt !== null && gapDueAt !== subscription.gapDueAt) afterCommit(tx, () => wake(actor.id, gapDueAt))
}

export function noSubscription(): ServiceError {
  return new ServiceError('not_found', 'This subscription does not exist')
}

/** The relationship for calls to the peer. Null: the peer cannot be called. */
export function callable(trust: Trust | null): Trust | null {
  return trust === null || trust.baseuri === '' ? null : trust
}
