/**
 * Receives the callbacks of peers: orders them, applies each one once to the copy, and calls the application's handlers. A
 * callback is acknowledged only after its data and its sequence number were stored in one transaction.
 */
import { type EnqueueNotice, noticeTo } from '../outbox/notice.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, known } from '../json/json.ts'
import { AtOnce } from '../rate-limit/concurrency-limit.ts'
import type { Live } from '../live/live.ts'
import { findFact } from './facts-store.ts'
import { updateProfile } from './profile.ts'
import type { AfterCommit, LockedActor, Queries, Store, Transaction } from '../store/store.ts'
import { findTrust } from '../trust/trust-store.ts'
import type { Trust } from '../trust/trust.ts'
import { fetchedValue, type PeerData, type Snapshot } from './snapshot.ts'
import type { CallHooks } from './data-hooks.ts'
import {
  deletePendingAbove,
  deletePendingUpTo,
  findSubscriberSubscription,
  findSubscriberSubscriptions,
  findPending,
  findPendingNumbers,
  insertPending,
  markForFetch,
  type Progress,
  saveProgress,
} from './subscriber-store.ts'
import { keptByOthers, type SubscriberKey, type SubscriberSubscription, storesFor } from './subscriber.ts'
import {
  awaitsResync,
  type IncomingCallback,
  type CallbackVerdict,
  fetchAgainMs,
  judgeCallback,
  judgeResync,
  type Kept,
  keptText,
  type ProcessorPolicy,
  readKept,
  type ReceiverState,
} from './processor.ts'
import { applyChanges, readRemoteValues, replaceAll } from './remote-data.ts'
import { changesOf, type ReplicaChange } from './replica-change.ts'

export interface ReceiverDeps {
  readonly store: Store
  readonly data: PeerData
  readonly live: Pick<Live, 'record'>
  readonly policy: ProcessorPolicy
  /** The properties that make a profile. */
  readonly profileAttributes: readonly string[]
  readonly enqueue: EnqueueNotice
  readonly afterCommit: AfterCommit
  /** Passes applied changes to the application's handlers, after the commit. */
  readonly callHooks: CallHooks
  /** Looks for due gaps. */
  readonly wake: () => void
  readonly now: () => number
}

/** A sequence number with its data. */
type Item = Kept & { readonly sequence: number }

/** The state at the request for a snapshot, and the secret of the request. */
type Seen = Pick<SubscriberSubscription, 'gapDueAt' | 'sequence'> &
  Pick<Trust, 'secretHash'> & {
    /** Whether the peer requested the resync. */
    readonly isResync: boolean
    /** The rights that the peer granted. */
    readonly granted: JsonText | null
  }

/** A subscription under the lock of its actor. */
interface Locked {
  readonly actor: LockedActor
  readonly subscription: SubscriberSubscription
  readonly state: ReceiverState
  /** Whether its callbacks change the copy. False: another subscription covers the same data. */
  readonly isStored: boolean
  /** Names in its scope that other subscriptions copy. */
  readonly keptByOthers: ReadonlySet<string>
}

/** Concurrent fetches per peer. A peer may send any number of callbacks, and each response may be large. */
const mostFetching = 4
/** A resync is fetched again at once when the peer changes its grants meanwhile. */
const resyncRounds = 3

export class Receiver {
  readonly #deps: ReceiverDeps
  readonly #fetching = new AtOnce(mostFetching, 'This peer', 'callbacks whose data must be fetched')

  constructor(deps: ReceiverDeps) {
    this.#deps = deps
  }

  find(key: SubscriberKey): Promise<SubscriberSubscription | null> {
    return this.#deps.store.read((q) => findSubscriberSubscription(q, key))
  }

  /**
   * @throws ServiceError `too_many_requests` when too many callbacks are pending or fetched, `unavailable` when the data of the
   *   callback could not be fetched, `not_found` when the subscription does not exist.
   */
  async take(key: SubscriberKey, callback: IncomingCallback): Promise<void> {
    const { store, now, policy } = this.#deps
    const before = await store.read((q) => this.#stateOf(q, key))
    if (before === null) throw noSubscription()
    const verdict = judgeCallback(before, callback, now(), policy)
    if (verdict.kind === 'ignore') return
    if (verdict.kind === 'refuse') throw full(verdict.retryAfterSeconds)
    if (verdict.kind === 'replace') return this.#fetched(key, () => this.#takeResync(key, callback))
    const { data, url } = callback
    const kept =
      data === null && url !== null
        ? await this.#fetched(key, () => this.#keptOf(key, callback))
        : await this.#keptOf(key, callback)
    if (verdict.kind === 'pass') {
      const subscription = await this.find(key)
      if (subscription !== null) await this.#deps.callHooks(subscription, [{ ...callback, ...kept }])
      return
    }
    await this.#takeDiff(key, callback.sequence, kept)
  }

  async #fetched<T>({ actorId, peerId }: SubscriberKey, work: () => Promise<T>): Promise<T> {
    const release = this.#fetching.begin(JSON.stringify([actorId, peerId]))
    try {
      return await work()
    } finally {
      release()
    }
  }

  async #stateOf(q: Queries, key: SubscriberKey): Promise<ReceiverState | null> {
    const subscription = await findSubscriberSubscription(q, key)
    return subscription === null ? null : stateOf(subscription, await findPendingNumbers(q, key))
  }

  /** Fetches the data when the callback has only a URL. */
  async #keptOf(key: SubscriberKey, { data, url, replaces, granularity }: IncomingCallback): Promise<Kept> {
    if (data !== null || url === null) return { data: data ?? known('{}'), replaces, granularity }
    const trust = await this.#deps.store.read((q) => findTrust(q, key.actorId, key.peerId))
    const diff = trust === null ? null : await this.#deps.data.diff(trust, url)
    if (diff === null) {
      // The diff can still be polled.
      await this.#fetchSoon(key, false)
      throw unavailable('the data of the diff could not be fetched')
    }
    return { ...diff, granularity: 'low' }
  }

  async #takeDiff(key: SubscriberKey, sequence: number, kept: Kept): Promise<void> {
    const { store, now, policy } = this.#deps
    const done = await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null) throw noSubscription()
      const verdict = judgeCallback(locked.state, { type: 'diff', sequence }, now(), policy)
      switch (verdict.kind) {
        case 'apply': {
          const waited = await waiting(tx, key, locked.state, sequence + 1, verdict.upTo)
          return { locked, items: await this.#apply(tx, locked, [{ ...kept, sequence }, ...waited], verdict) }
        }
        case 'hold':
          await insertPending(tx, key, { sequence, body: keptText(kept) }, now())
          if (verdict.gapDueAt !== locked.state.gapDueAt) {
            await this.#save(tx, locked, { gapDueAt: verdict.gapDueAt })
          }
          return null
        case 'refuse':
          throw full(verdict.retryAfterSeconds)
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
    await this.#save(tx, locked, {
      sequence: upTo,
      // A copy that differs from the peer is fetched again at once.
      gapDueAt: isIntact ? (subscription.resyncPending ? subscription.gapDueAt : gapDueAt) : now(),
      resyncPending: subscription.resyncPending || !isIntact,
      isUnknown: false,
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

  async #save(tx: Transaction, { actor, subscription }: Locked, progress: Partial<Progress>): Promise<void> {
    const { sequence, gapDueAt, resyncPending, isUnknown, attempts } = { ...subscription, ...progress }
    await saveProgress(tx, subscription, { sequence, gapDueAt, resyncPending, isUnknown, attempts })
    await this.#deps.live.record(tx, actor, 'subscriptions', [subscription.subscriptionId])
    if (gapDueAt !== null && gapDueAt !== subscription.gapDueAt) this.#deps.afterCommit(tx, this.#deps.wake)
  }

  async #takeResync(key: SubscriberKey, { sequence }: IncomingCallback): Promise<void> {
    for (let round = 0; round < resyncRounds; round += 1) {
      if ((await this.#fetchAndReplace(key, sequence)) === 'replaced') return
    }
    throw overtaken()
  }

  async #fetchAndReplace(key: SubscriberKey, sequence: number): Promise<'replaced' | 'other-grants'> {
    const { store } = this.#deps
    const [subscription, trust, granted] = await store.read((q) =>
      Promise.all([
        findSubscriberSubscription(q, key),
        findTrust(q, key.actorId, key.peerId),
        findFact(q, key, 'permissions'),
      ]),
    )
    if (subscription === null || trust === null) throw noSubscription()
    const snapshot = await this.#deps.data.snapshot(trust, subscription, key.subscriptionId, sequence)
    if (snapshot.kind === 'failed') {
      await this.#fetchSoon(key, true)
      throw unavailable(snapshot.reason)
    }
    const { secretHash } = trust
    if (await this.replace(key, snapshot, { ...subscription, secretHash, granted, isResync: true })) return 'replaced'
    if ((await store.read((q) => findFact(q, key, 'permissions'))) === granted) throw overtaken()
    return 'other-grants'
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
      const locked = await lock(tx, key, actor)
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
      await this.#save(tx, locked, {
        sequence: verdict.upTo,
        gapDueAt: isMoving || !isIntact ? now() + policy.gapTimeoutMs : verdict.gapDueAt,
        resyncPending: isMoving || !isIntact,
        isUnknown: false,
        attempts: 0,
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
      const locked = await lock(tx, key, actor)
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

  /** Deletes pending callbacks that the peer cannot have sent. They would cause a gap forever. */
  async dropImpossible(key: SubscriberKey, sequence: number, askedAt: number): Promise<void> {
    const { store } = this.#deps
    const pending = await store.read((q) => findPendingNumbers(q, key))
    if ((pending.at(-1) ?? 0) <= sequence) return
    await store.writeActor(key.actorId, (tx) => deletePendingAbove(tx, key, sequence, askedAt))
  }

  /** Marks the subscription as in sync after the peer reported no further diffs. A pending resync stays. */
  async markInSync(key: SubscriberKey): Promise<void> {
    await this.#deps.store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null || locked.subscription.resyncPending || locked.state.pending.length > 0) return
      await this.#save(tx, locked, { gapDueAt: null, isUnknown: false, attempts: 0 })
    })
  }

  /** Schedules the next fetch after a failure, with backoff. */
  async postpone(key: SubscriberKey): Promise<void> {
    const { store, now } = this.#deps
    await store.writeActor(key.actorId, async (tx) => {
      const subscription = await findSubscriberSubscription(tx, key)
      if (subscription === null || (subscription.gapDueAt === null && !subscription.resyncPending)) return
      const attempts = subscription.attempts + 1
      await saveProgress(tx, key, { ...subscription, attempts, gapDueAt: now() + fetchAgainMs(attempts) })
      this.#deps.afterCommit(tx, this.#deps.wake)
    })
  }

  /**
   * The peer answered 404 for this subscription. Marks it unknown and fetches the other subscriptions of the peer: the
   * responses show whether only this one is gone or the whole relationship. Retried at `dueAt` until that is decided.
   */
  async markUnknown(key: SubscriberKey, dueAt: number): Promise<void> {
    const { store, now, afterCommit, wake } = this.#deps
    await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null) return
      await this.#save(tx, locked, { gapDueAt: dueAt, resyncPending: true, isUnknown: true })
      if (locked.subscription.isUnknown) return
      await markForFetch(tx, key, now())
      afterCommit(tx, wake)
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
      await saveProgress(tx, key, { ...subscription, gapDueAt: null, attempts: 0 })
    })
  }

  async #fetchSoon(key: SubscriberKey, needsSnapshot: boolean): Promise<void> {
    const { store, now, policy } = this.#deps
    await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null) return
      const { subscription } = locked
      await this.#save(tx, locked, {
        gapDueAt: subscription.gapDueAt ?? now() + policy.gapTimeoutMs,
        resyncPending: subscription.resyncPending || needsSnapshot,
      })
    })
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

async function lock(tx: Transaction, key: SubscriberKey, actor: LockedActor): Promise<Locked | null> {
  const ofPeer = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
  const subscription = ofPeer.find(({ subscriptionId }) => subscriptionId === key.subscriptionId)
  if (subscription === undefined) return null
  const state = stateOf(subscription, await findPendingNumbers(tx, key))
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

function stateOf(subscription: SubscriberSubscription, pending: readonly number[]): ReceiverState {
  const { sequence, gapDueAt } = subscription
  return { sequence, pending, gapDueAt, awaitsResync: awaitsResync(subscription) }
}

async function waiting(
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
function applyItems(tx: Transaction, locked: Locked, items: readonly Item[], now: number): Promise<boolean> {
  return applyChanges(tx, locked.subscription, changesIn(locked, items), now)
}

function changesIn({ subscription, isStored, keptByOthers }: Locked, items: readonly Item[]): ReplicaChange[] {
  const changes = isStored ? items.flatMap(({ data, replaces }) => changesOf(subscription, data, replaces)) : []
  return changes.filter(({ name }) => !keptByOthers.has(name))
}

function diffs(
  items: readonly Item[],
): { readonly type: 'diff'; readonly sequence: number; readonly data: Item['data'] }[] {
  return items.map(({ sequence, data }) => ({ type: 'diff', sequence, data }))
}

export function noSubscription(): ServiceError {
  return new ServiceError('not_found', 'This subscription does not exist')
}

function full(retryAfterSeconds: number): ServiceError {
  return new ServiceError('too_many_requests', 'Cannot take this callback: too many callbacks wait for a missing one', {
    retryAfterSeconds,
    members: { retry_after: retryAfterSeconds },
  })
}

function overtaken(): ServiceError {
  return unavailable('another snapshot was requested, or the peer changed, meanwhile')
}

function unavailable(reason: string): ServiceError {
  return new ServiceError('unavailable', 'Cannot take this callback now: its data could not be fetched', {
    reason,
    retryAfterSeconds: 5,
  })
}

/** The relationship for calls to the peer. Null: the peer cannot be called. */
export function callable(trust: Trust | null): Trust | null {
  return trust === null || trust.baseuri === '' ? null : trust
}
