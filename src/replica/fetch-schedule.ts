/** Decides when the data of a subscription is fetched: after gaps, failures and responses that the peer does not know it. */
import type { Store } from '../store/store.ts'
import { lockSubscription, saveSubscription, type SaveDeps } from './locked-subscription.ts'
import { checkedLater, checkedNow, fetchAgainMs, type ProcessorPolicy } from './processor.ts'
import type { SubscriberKey } from './subscriber.ts'
import {
  deletePendingAbove,
  findPendingNumbers,
  findSubscriberSubscription,
  findSubscriberSubscriptions,
  markForFetch,
  saveProgress,
} from './subscriber-store.ts'

export interface FetchScheduleDeps extends SaveDeps {
  readonly store: Store
  readonly policy: ProcessorPolicy
  readonly now: () => number
}

export class FetchSchedule {
  readonly #deps: FetchScheduleDeps

  constructor(deps: FetchScheduleDeps) {
    this.#deps = deps
  }

  /** Deletes pending callbacks that the peer cannot have sent. They would cause a gap forever. */
  async dropImpossible(key: SubscriberKey, sequence: number, askedAt: number): Promise<void> {
    const { store } = this.#deps
    const pending = await store.read((q) => findPendingNumbers(q, key))
    if ((pending.at(-1) ?? 0) <= sequence) return
    await store.writeActor(key.actorId, (tx) => deletePendingAbove(tx, key, sequence, askedAt))
  }

  /**
   * Marks the subscription as in sync after the peer reported no further diffs. Resolves with false when a resync or callbacks
   * are pending, which stay.
   *
   * @param isChecked The report also is the comparison of the copy with the peer that is due.
   */
  async markInSync(key: SubscriberKey, isChecked: boolean): Promise<boolean> {
    const { store, now } = this.#deps
    return store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null || locked.subscription.resyncPending || locked.state.pending.length > 0) return false
      const checked = isChecked ? checkedNow(locked.subscription, now()) : checkedLater(locked.subscription, now())
      await saveSubscription(this.#deps, tx, locked, { gapDueAt: null, isUnknown: false, attempts: 0, ...checked })
      return true
    })
  }

  /** Schedules the next fetch after a failure, with backoff. */
  async postpone(key: SubscriberKey): Promise<void> {
    const { store, now, afterCommit, wake } = this.#deps
    await store.writeActor(key.actorId, async (tx) => {
      const subscription = await findSubscriberSubscription(tx, key)
      if (subscription === null || (subscription.gapDueAt === null && !subscription.resyncPending)) return
      const attempts = subscription.attempts + 1
      const gapDueAt = now() + fetchAgainMs(attempts)
      await saveProgress(tx, key, { ...subscription, attempts, gapDueAt })
      afterCommit(tx, () => wake(key.actorId, gapDueAt))
    })
  }

  /**
   * The peer answered 404 for this subscription. Marks it unknown and fetches the other subscriptions of the peer: the
   * responses show whether only this one is gone or the whole relationship. Retried at `dueAt` until that is decided.
   */
  async markUnknown(key: SubscriberKey, dueAt: number): Promise<void> {
    const { store, now, afterCommit, wake } = this.#deps
    await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null) return
      await saveSubscription(this.#deps, tx, locked, { gapDueAt: dueAt, resyncPending: true, isUnknown: true })
      if (locked.subscription.isUnknown) return
      await markForFetch(tx, key, now())
      afterCommit(tx, () => wake(key.actorId))
    })
  }

  /**
   * The peer knows other subscriptions. Stops retrying until a sync, a callback or a change of the relationship, which
   * fetches a snapshot. Keeps retrying when the other subscriptions ended meanwhile.
   */
  async stopRetrying(key: SubscriberKey): Promise<void> {
    await this.#deps.store.writeActor(key.actorId, async (tx) => {
      const ofPeer = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
      const subscription = ofPeer.find(({ subscriptionId }) => subscriptionId === key.subscriptionId)
      if (subscription?.isUnknown !== true || ofPeer.every(({ isUnknown }) => isUnknown)) return
      await saveProgress(tx, key, { ...subscription, gapDueAt: null, attempts: 0, checkAt: null })
    })
  }

  /** Schedules a fetch after a callback whose data could not be fetched. */
  async fetchSoon(key: SubscriberKey, needsSnapshot: boolean): Promise<void> {
    const { store, now, policy } = this.#deps
    await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null) return
      const { subscription } = locked
      await saveSubscription(this.#deps, tx, locked, {
        gapDueAt: subscription.gapDueAt ?? now() + policy.gapTimeoutMs,
        resyncPending: subscription.resyncPending || needsSnapshot,
      })
    })
  }
}
