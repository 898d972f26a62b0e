/**
 * What peers send to this actor's subscriptions: put in order, applied to the copy once, and handed on. A callback is
 * acknowledged only when what it brought, and its number, are durable together.
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
import { fetchedValue, type PeerData, type Whole } from './snapshot.ts'
import type { HandOn } from './data-hooks.ts'
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
  type Callback,
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

export interface ReceiverParts {
  readonly store: Store
  readonly data: PeerData
  readonly live: Pick<Live, 'record'>
  readonly policy: ProcessorPolicy
  /** The properties that make a profile. */
  readonly profileAttributes: readonly string[]
  readonly enqueue: EnqueueNotice
  readonly afterCommit: AfterCommit
  /** Hands what was applied to the application's handlers, after the commit. */
  readonly handOn: HandOn
  /** Looks for gaps that are due. */
  readonly wake: () => void
  readonly now: () => number
}

/** One number with what it brought. */
type Item = Kept & { readonly sequence: number }

/** What was known when a whole was asked for, and the secret it was asked with. */
type Seen = Pick<SubscriberSubscription, 'gapDueAt' | 'sequence'> &
  Pick<Trust, 'secretHash'> & {
    /** The peer told to fetch it. */
    readonly isResync: boolean
    /** What the peer granted. */
    readonly granted: JsonText | null
  }

/** A subscription in its actor's turn. */
interface Locked {
  readonly actor: LockedActor
  readonly subscription: SubscriberSubscription
  readonly state: ReceiverState
  /** Whether what comes for it is stored, or another subscription's comes for the same. */
  readonly isStored: boolean
  /** What others keep of what comes for it. */
  readonly keptByOthers: ReadonlySet<string>
}

/** Callbacks of one peer for which something is fetched: it may send any number, and each answer may be large. */
const mostFetching = 4
/** A message of the peer about its grants may arrive while a resync is fetched: it is fetched again at once. */
const resyncRounds = 3

export class Receiver {
  readonly #parts: ReceiverParts
  readonly #fetching = new AtOnce(mostFetching, 'This peer', 'callbacks that have to be fetched')

  constructor(parts: ReceiverParts) {
    this.#parts = parts
  }

  find(key: SubscriberKey): Promise<SubscriberSubscription | null> {
    return this.#parts.store.read((q) => findSubscriberSubscription(q, key))
  }

  /**
   * @throws ServiceError `too_many_requests` when too many wait for a missing one or are fetched, `unavailable` when what the callback
   *   speaks of could not be fetched, `not_found` when the subscription ended meanwhile.
   */
  async take(key: SubscriberKey, callback: Callback): Promise<void> {
    const { store, now, policy } = this.#parts
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
      if (subscription !== null) await this.#parts.handOn(subscription, [{ ...callback, ...kept }])
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

  /** With its data, fetched where the callback gives only the address. */
  async #keptOf(key: SubscriberKey, { data, url, replaces, granularity }: Callback): Promise<Kept> {
    if (data !== null || url === null) return { data: data ?? known('{}'), replaces, granularity }
    const trust = await this.#parts.store.read((q) => findTrust(q, key.actorId, key.peerId))
    const diff = trust === null ? null : await this.#parts.data.diff(trust, url)
    if (diff === null) {
      // It is still among what can be polled.
      await this.#fetchSoon(key, false)
      throw unavailable('what changed could not be fetched')
    }
    return { ...diff, granularity: 'low' }
  }

  async #takeDiff(key: SubscriberKey, sequence: number, kept: Kept): Promise<void> {
    const { store, now, policy } = this.#parts
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
    if (done !== null) await this.#parts.handOn(done.locked.subscription, diffs(done.items))
  }

  /** In one go with the number: either all of it is there afterwards, or nothing. */
  async #apply(
    tx: Transaction,
    locked: Locked,
    items: readonly Item[],
    { upTo, gapDueAt }: Extract<CallbackVerdict, { kind: 'apply' | 'replace' }>,
  ): Promise<readonly Item[]> {
    const { now } = this.#parts
    const { subscription, state } = locked
    const isIntact = await applyItems(tx, locked, items, now())
    await this.#updateProfile(tx, locked, new Set(changesIn(locked, items).map(({ name }) => name)))
    await this.#save(tx, locked, {
      sequence: upTo,
      // A copy that differs is fetched anew, at once.
      gapDueAt: isIntact ? (subscription.resyncPending ? subscription.gapDueAt : gapDueAt) : now(),
      resyncPending: subscription.resyncPending || !isIntact,
      isUnknown: false,
    })
    if (state.pending.length > 0) await deletePendingUpTo(tx, subscription, upTo)
    if (items.some(({ granularity }) => granularity === 'low')) await this.#acknowledge(tx, subscription, upTo)
    return items
  }

  /** The copy has the new values already. A subscription to a key has only that key of a value. */
  async #updateProfile(tx: Transaction, { actor, subscription, isStored }: Locked, names: ReadonlySet<string>) {
    if (!isStored || subscription.resource !== '') return
    const attributes = this.#parts.profileAttributes.filter((name) => names.has(name))
    if (attributes.length === 0) return
    const values = await readRemoteValues(tx, subscription, attributes)
    if (await updateProfile(tx, subscription, values, this.#parts.now())) {
      await this.#parts.live.record(tx, actor, 'trust', [subscription.peerId])
    }
  }

  /** The peer keeps a low diff until it hears that it arrived. */
  async #acknowledge(tx: Transaction, subscription: SubscriberSubscription, sequence: number): Promise<void> {
    const { actorId, peerId, subscriptionId } = subscription
    const trust = await findTrust(tx, actorId, peerId)
    if (trust === null) return
    const path = ['subscriptions', actorId, subscriptionId]
    await this.#parts.enqueue(tx, noticeTo(trust, 'acknowledge', 'PUT', path, { sequence }))
  }

  async #save(tx: Transaction, { actor, subscription }: Locked, progress: Partial<Progress>): Promise<void> {
    const { sequence, gapDueAt, resyncPending, isUnknown, attempts } = { ...subscription, ...progress }
    await saveProgress(tx, subscription, { sequence, gapDueAt, resyncPending, isUnknown, attempts })
    await this.#parts.live.record(tx, actor, 'subscriptions', [subscription.subscriptionId])
    if (gapDueAt !== null && gapDueAt !== subscription.gapDueAt) this.#parts.afterCommit(tx, this.#parts.wake)
  }

  async #takeResync(key: SubscriberKey, { sequence }: Callback): Promise<void> {
    for (let round = 0; round < resyncRounds; round += 1) {
      if ((await this.#fetchAndReplace(key, sequence)) === 'replaced') return
    }
    throw overtaken()
  }

  async #fetchAndReplace(key: SubscriberKey, sequence: number): Promise<'replaced' | 'other-grants'> {
    const { store } = this.#parts
    const [subscription, trust, granted] = await store.read((q) =>
      Promise.all([
        findSubscriberSubscription(q, key),
        findTrust(q, key.actorId, key.peerId),
        findFact(q, key, 'permissions'),
      ]),
    )
    if (subscription === null || trust === null) throw noSubscription()
    const whole = await this.#parts.data.whole(trust, subscription, key.subscriptionId, sequence)
    if (whole.kind === 'failed') {
      await this.#fetchSoon(key, true)
      throw unavailable(whole.reason)
    }
    const { secretHash } = trust
    if (await this.replace(key, whole, { ...subscription, secretHash, granted, isResync: true })) return 'replaced'
    if ((await store.read((q) => findFact(q, key, 'permissions'))) === granted) throw overtaken()
    return 'other-grants'
  }

  /**
   * Puts a whole into the place of what there is, and what waited for it after that.
   *
   * @param seen the subscription when the whole was asked for; what was applied since gives way to a resync, up to its
   *   number.
   * @returns false when something was applied since, or the relationship was made anew, or a newer whole was asked for, or
   *   the peer said anew what it grants.
   */
  async replace(key: SubscriberKey, whole: Extract<Whole, { kind: 'whole' }>, seen: Seen): Promise<boolean> {
    const { store, now, policy } = this.#parts
    const { fetched, sequence, isMoving } = whole
    const done = await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null) throw noSubscription()
      const { sequence: applied } = locked.state
      // A resync that the peer repeats may be behind: what it told after that is acknowledged, and told once.
      if (applied !== seen.sequence && (!seen.isResync || applied > sequence)) return null
      if (locked.subscription.resyncPending && locked.subscription.gapDueAt !== seen.gapDueAt) return null
      // With an older secret everything is refused, which looks as if there were nothing.
      if ((await findTrust(tx, key.actorId, key.peerId))?.secretHash !== seen.secretHash) return null
      // With other rights the peer shows something else at the same number: what it withdrew, or not yet what it granted.
      if ((await findFact(tx, key, 'permissions')) !== seen.granted) return null
      const verdict = judgeResync(locked.state, sequence, now(), policy)
      const { subscription, state, isStored } = locked
      const own = new Map([...fetched, ...[...locked.keptByOthers].map((name) => [name, { kind: 'kept' }] as const)])
      if (isStored) await replaceAll(tx, key, subscription, own, now())
      const waited = await waiting(tx, key, state, sequence + 1, verdict.upTo)
      const isIntact = await applyItems(tx, locked, waited, now())
      const names = subscription.subtarget === '' ? this.#parts.profileAttributes : [subscription.subtarget]
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
    await this.#parts.handOn(done.subscription, [{ type: 'resync', sequence, data }, ...diffs(done.waited)])
    return true
  }

  /**
   * Applies what was polled, with what waited for it, as far as it follows without a gap.
   *
   * @returns the last number applied.
   */
  async applyPolled(key: SubscriberKey, polled: readonly Item[]): Promise<number> {
    const { store, now, policy } = this.#parts
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
    await this.#parts.handOn(done.locked.subscription, diffs(done.items))
    return done.items.at(-1)?.sequence ?? done.locked.state.sequence
  }

  /** Drops what waits and cannot be the peer's own: it would be waited for again and again. */
  async dropImpossible(key: SubscriberKey, sequence: number, askedAt: number): Promise<void> {
    const { store } = this.#parts
    const pending = await store.read((q) => findPendingNumbers(q, key))
    if ((pending.at(-1) ?? 0) <= sequence) return
    await store.writeActor(key.actorId, (tx) => deletePendingAbove(tx, key, sequence, askedAt))
  }

  /** No number is missing (any more), as far as the peer says. What makes the whole necessary stays. */
  async settle(key: SubscriberKey): Promise<void> {
    await this.#parts.store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null || locked.subscription.resyncPending || locked.state.pending.length > 0) return
      await this.#save(tx, locked, { gapDueAt: null, isUnknown: false, attempts: 0 })
    })
  }

  /** Fetching failed: it is tried again later, ever more seldom. */
  async postpone(key: SubscriberKey): Promise<void> {
    const { store, now } = this.#parts
    await store.writeActor(key.actorId, async (tx) => {
      const subscription = await findSubscriberSubscription(tx, key)
      if (subscription === null || (subscription.gapDueAt === null && !subscription.resyncPending)) return
      const attempts = subscription.attempts + 1
      await saveProgress(tx, key, { ...subscription, attempts, gapDueAt: now() + fetchAgainMs(attempts) })
      this.#parts.afterCommit(tx, this.#parts.wake)
    })
  }

  /**
   * The peer does not know it. The others have to see for themselves what it kept for them, and they tell whether it alone
   * is gone: it stays due, at `dueAt`, until that is decided, in this process or in another one.
   */
  async doubt(key: SubscriberKey, dueAt: number): Promise<void> {
    const { store, now, afterCommit, wake } = this.#parts
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
   * The peer knows others: nobody asks again until somebody wants to, or the peer calls, or anything changes of the
   * relationship; then the whole is fetched. When those ended meanwhile it stays due.
   */
  async rest(key: SubscriberKey): Promise<void> {
    await this.#parts.store.writeActor(key.actorId, async (tx) => {
      const ofPeer = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
      const subscription = ofPeer.find(({ subscriptionId }) => subscriptionId === key.subscriptionId)
      if (subscription?.isUnknown !== true || ofPeer.every(({ isUnknown }) => isUnknown)) return
      await saveProgress(tx, key, { ...subscription, gapDueAt: null, attempts: 0 })
    })
  }

  async #fetchSoon(key: SubscriberKey, whole: boolean): Promise<void> {
    const { store, now, policy } = this.#parts
    await store.writeActor(key.actorId, async (tx, actor) => {
      const locked = await lock(tx, key, actor)
      if (locked === null) return
      const { subscription } = locked
      await this.#save(tx, locked, {
        gapDueAt: subscription.gapDueAt ?? now() + policy.gapTimeoutMs,
        resyncPending: subscription.resyncPending || whole,
      })
    })
  }
}

async function lock(tx: Transaction, key: SubscriberKey, actor: LockedActor): Promise<Locked | null> {
  const ofPeer = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
  const subscription = ofPeer.find(({ subscriptionId }) => subscriptionId === key.subscriptionId)
  if (subscription === undefined) return null
  const state = stateOf(subscription, await findPendingNumbers(tx, key))
  // What comes for it says that the peer knows it.
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

/** False when the copy turned out to differ from what the peer has. */
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
  return new ServiceError('not_found', 'There is no such subscription')
}

function full(retryAfterSeconds: number): ServiceError {
  return new ServiceError('too_many_requests', 'Cannot take this callback: too many wait for one that is missing', {
    retryAfterSeconds,
    members: { retry_after: retryAfterSeconds },
  })
}

function overtaken(): ServiceError {
  return unavailable('everything was to be fetched anew meanwhile')
}

function unavailable(reason: string): ServiceError {
  return new ServiceError('unavailable', 'Cannot take this callback now: what it speaks of could not be fetched', {
    reason,
    retryAfterSeconds: 5,
  })
}

/** What a subscription's calls go to; null when the relationship is none that could be called. */
export function callable(trust: Trust | null): Trust | null {
  return trust === null || trust.baseuri === '' ? null : trust
}
