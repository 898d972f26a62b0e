/** Writes the copy of a peer's data: each change once and in order, in one transaction with its sequence number. */
import { type EnqueueNotice, noticeTo } from '../outbox/notice.ts'
import { ServiceError } from '../errors.ts'
import type { JsonText } from '../json/json.ts'
import type { Store, Transaction } from '../store/store.ts'
import { findTrust } from '../trust/trust-store.ts'
import type { Trust } from '../trust/trust.ts'
import type { CallHooks } from './data-hooks.ts'
import { findFact } from './facts-store.ts'
import {
  applyItems,
  changesIn,
  type Item,
  lockSubscription,
  type Locked,
  noSubscription,
  saveSubscription,
  type SaveDeps,
  waiting,
} from './locked-subscription.ts'
import {
  type CallbackVerdict,
  checkedNow,
  checkTimeAfterChange,
  judgeCallback,
  judgeResync,
  type Kept,
  keptText,
  type ProcessorPolicy,
} from './processor.ts'
import { updateProfile } from './profile.ts'
import { readRemoteValues, replaceAll } from './copy/remote-data.ts'
import { fetchedValue, type Snapshot } from './snapshot.ts'
import { deletePendingUpTo, insertPending } from './subscriber-store.ts'
import type { SubscriberKey, SubscriberSubscription } from './subscriber.ts'

export interface CopyWriterDeps extends SaveDeps {
  readonly store: Store
  readonly policy: ProcessorPolicy
  /** The properties that make a profile. */
  readonly profileAttributes: readonly string[]
  readonly enqueue: EnqueueNotice
  /** Passes applied changes to the application's handlers, after the commit. */
  readonly callHooks: CallHooks
  readonly now: () => number
}

/** The state at the request for a snapshot, and the secret of the request. */
export type Seen = Pick<SubscriberSubscription, 'gapDueAt' | 'sequence'> &
  Pick<Trust, 'secretHash'> & {
    /** Whether the peer requested the resync. */
    readonly isResync: boolean
    /** The rights that the peer granted. */
    readonly granted: JsonText | null
  }

export class CopyWriter {
  readonly #deps: CopyWriterDeps

  constructor(deps: CopyWriterDeps) {
    this.#deps = deps
  }

  /**
   * Applies the diff of a callback with the diffs that waited for it, or stores the diff until the missing ones arrive.
   *
   * @throws ServiceError `too_many_requests` when too many callbacks are pending, `not_found` when the subscription does not
   *   exist.
   */
  async applyCallback(key: SubscriberKey, sequence: number, kept: Kept): Promise<void> {
    const { store, now, policy } = this.#deps
    const done = await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null) throw noSubscription()
      const verdict = judgeCallback(locked.state, { ...kept, type: 'diff', sequence }, now(), policy)
      switch (verdict.kind) {
        case 'apply': {
          const waited = await waiting(tx, key, locked.state, sequence + 1, verdict.upTo)
          return { locked, items: await this.#apply(tx, locked, [{ ...kept, sequence }, ...waited], verdict) }
        }
        case 'hold':
          await insertPending(tx, key, { sequence, body: keptText(kept) }, now())
          if (verdict.gapDueAt !== locked.state.gapDueAt) {
            await saveSubscription(this.#deps, tx, locked, { gapDueAt: verdict.gapDueAt })
          }
          return null
        case 'refuse':
          throw tooManyPending(verdict.retryAfterSeconds)
        case 'went-back':
          await saveSubscription(this.#deps, tx, locked, {
            gapDueAt: locked.state.gapDueAt ?? now() + policy.gapTimeoutMs,
            resyncPending: true,
          })
          return null
        case 'ignore':
        case 'replace':
        case 'pass':
          return null
        default:
          return verdict satisfies never
      }
    })
    if (done !== null) await this.#deps.callHooks(done.locked.subscription, diffs(done.items))
  }

  /**
   * Replaces the copy by a snapshot, and applies the pending callbacks after it.
   *
   * @param seen the subscription at the request. A resync overrides changes that were applied since, up to its sequence
   *   number.
   * @returns false when a change was applied since, the relationship was renewed, a newer snapshot was requested, or the
   *   peer changed its grants.
   */
  async replace(key: SubscriberKey, snapshot: Extract<Snapshot, { kind: 'snapshot' }>, seen: Seen): Promise<boolean> {
    const { store, now, policy } = this.#deps
    const { fetched, sequence, isMoving } = snapshot
    const done = await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null) throw noSubscription()
      if (await isOutdated(tx, locked, sequence, seen)) return null
      const verdict = judgeResync(locked.state, sequence, now(), policy)
      const { subscription, state, isStored } = locked
      const own = new Map([...fetched, ...[...locked.keptByOthers].map((name) => [name, { kind: 'kept' }] as const)])
      if (isStored) await replaceAll(tx, key, subscription, own, now())
      const waited = await waiting(tx, key, state, sequence + 1, verdict.upTo)
      const isIntact = await applyItems(tx, locked, waited, now())
      const names = subscription.subtarget === '' ? this.#deps.profileAttributes : [subscription.subtarget]
      await this.#updateProfile(tx, locked, new Set(names.filter((name) => !locked.keptByOthers.has(name))))
      if (state.pending.length > 0) await deletePendingUpTo(tx, key, Math.max(verdict.dropUpTo, verdict.upTo))
      await saveSubscription(this.#deps, tx, locked, {
        sequence: verdict.upTo,
        gapDueAt: isMoving || !isIntact ? now() + policy.gapTimeoutMs : verdict.gapDueAt,
        resyncPending: isMoving || !isIntact,
        isUnknown: false,
        attempts: 0,
        publishedAt: waited.at(-1)?.publishedAt ?? snapshot.publishedAt ?? subscription.publishedAt,
        ...checkedNow(subscription, now()),
      })
      return { subscription, waited }
    })
    if (done === null) return false
    const data = fetchedValue(fetched, done.subscription)
    await this.#deps.callHooks(done.subscription, [{ type: 'resync', sequence, data }, ...diffs(done.waited)])
    return true
  }

  /**
   * Applies polled diffs and pending callbacks up to the first gap.
   *
   * @returns the last sequence number that was applied.
   */
  async applyPolled(key: SubscriberKey, polled: readonly Item[]): Promise<number> {
    const { store, now, policy } = this.#deps
    const done = await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lockSubscription(tx, key, actor)
      if (locked === null) throw noSubscription()
      const { state } = locked
      const known_ = new Map(polled.map((item) => [item.sequence, item]))
      const waited = await waiting(tx, key, state, state.sequence + 1, Number.MAX_SAFE_INTEGER)
      for (const item of waited) known_.set(item.sequence, item)
      const items: Item[] = []
      for (let next = known_.get(state.sequence + 1); next !== undefined; next = known_.get(next.sequence + 1)) {
        items.push(next)
      }
      const last = items.at(-1)
      if (last === undefined) return { locked, items }
      const { sequence: upTo } = last
      const hasGap = state.pending.some((sequence) => sequence > upTo)
      await this.#apply(tx, locked, items, {
        kind: 'apply',
        upTo,
        gapDueAt: hasGap ? now() + policy.gapTimeoutMs : null,
      })
      return { locked, items }
    })
    await this.#deps.callHooks(done.locked.subscription, diffs(done.items))
    return done.items.at(-1)?.sequence ?? done.locked.state.sequence
  }

  /** Stores data and sequence number in the same transaction. */
  async #apply(
    tx: Transaction,
    locked: Locked,
    items: readonly Item[],
    { upTo, gapDueAt }: Extract<CallbackVerdict, { kind: 'apply' | 'replace' }>,
  ): Promise<readonly Item[]> {
    const { now } = this.#deps
    const { subscription, state } = locked
    const isIntact = await applyItems(tx, locked, items, now())
    await this.#updateProfile(tx, locked, new Set(changesIn(locked, items).map(({ name }) => name)))
    await saveSubscription(this.#deps, tx, locked, {
      sequence: upTo,
      // A copy that differs from the peer is fetched again at once.
      gapDueAt: isIntact ? (subscription.resyncPending ? subscription.gapDueAt : gapDueAt) : now(),
      resyncPending: subscription.resyncPending || !isIntact,
      isUnknown: false,
      publishedAt: items.at(-1)?.publishedAt ?? subscription.publishedAt,
      checkAt: checkTimeAfterChange(subscription, now()),
    })
    if (state.pending.length > 0) await deletePendingUpTo(tx, subscription, upTo)
    if (items.some(({ granularity }) => granularity === 'low')) await this.#acknowledge(tx, subscription, upTo)
    return items
  }

  /** Reads the copy, which has the new values. A subscription to a key has only that key of a value. */
  async #updateProfile(tx: Transaction, { actor, subscription, isStored }: Locked, names: ReadonlySet<string>) {
    if (!isStored || subscription.resource !== '') return
    const attributes = this.#deps.profileAttributes.filter((name) => names.has(name))
    if (attributes.length === 0) return
    const values = await readRemoteValues(tx, subscription, attributes)
    if (await updateProfile(tx, subscription, values, this.#deps.now())) {
      await this.#deps.live.record(tx, actor, 'trust', [subscription.peerId])
    }
  }

  /** Acknowledges a low diff, which the peer keeps until then. */
  async #acknowledge(tx: Transaction, subscription: SubscriberSubscription, sequence: number): Promise<void> {
    const { actorId, peerId, subscriptionId } = subscription
    const trust = await findTrust(tx, actorId, peerId)
    if (trust === null) return
    const path = ['subscriptions', actorId, subscriptionId]
    await this.#deps.enqueue(tx, noticeTo(trust, 'acknowledge', 'PUT', path, { sequence }))
  }
}

/** Whether a snapshot at `sequence` can no longer replace the copy, because something has changed since the request. */
async function isOutdated(
  tx: Transaction,
  { subscription, state }: Locked,
  sequence: number,
  seen: Seen,
): Promise<boolean> {
  // A repeated resync may be older than callbacks that were acknowledged since, which the peer will not repeat.
  if (state.sequence !== seen.sequence && (!seen.isResync || state.sequence > sequence)) return true
  if (subscription.resyncPending && subscription.gapDueAt !== seen.gapDueAt) return true
  // The peer refuses every request with an older secret, which looks like an empty state.
  const trust = await findTrust(tx, subscription.actorId, subscription.peerId)
  if (trust?.secretHash !== seen.secretHash) return true
  // With other rights the peer returns other data at the same sequence number.
  return (await findFact(tx, subscription, 'permissions')) !== seen.granted
}

function diffs(
  items: readonly Item[],
): { readonly type: 'diff'; readonly sequence: number; readonly data: Item['data'] }[] {
  return items.map(({ sequence, data }) => ({ type: 'diff', sequence, data }))
}

/** The refusal of a callback while too many wait for a missing one. */
export function tooManyPending(retryAfterSeconds: number): ServiceError {
  return new ServiceError('too_many_requests', 'Cannot take this callback: too many callbacks wait for a missing one', {
    retryAfterSeconds,
    members: { retry_after: retryAfterSeconds },
  })
}
