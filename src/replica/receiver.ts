/**
 * Receives the callbacks of peers: judges each one, fetches the data that it refers to, and passes it to the copy. A callback is
 * acknowledged only after its data and its sequence number were stored in one transaction.
 */
import { ServiceError } from '../errors.ts'
import { known } from '../json/json.ts'
import { ConcurrencyLimit } from '../rate-limit/concurrency-limit.ts'
import type { Queries, Store } from '../store/store.ts'
import { findTrust } from '../trust/trust-store.ts'
import { type CopyWriter, tooManyPending } from './copy-writer.ts'
import type { CallHooks } from './data-hooks.ts'
import { findFact } from './facts-store.ts'
import type { FetchSchedule } from './fetch-schedule.ts'
import { noSubscription, receiverState } from './locked-subscription.ts'
import {
  type IncomingCallback,
  judgeCallback,
  type Kept,
  type ProcessorPolicy,
  type ReceiverState,
} from './processor.ts'
import type { PeerData } from './snapshot.ts'
import { findPendingNumbers, findSubscriberSubscription } from './subscriber-store.ts'
import type { SubscriberKey, SubscriberSubscription } from './subscriber.ts'

export interface ReceiverDeps {
  readonly store: Store
  readonly data: PeerData
  readonly copy: CopyWriter
  readonly fetches: FetchSchedule
  readonly policy: ProcessorPolicy
  /** Passes a callback without data to the application's handlers. */
  readonly callHooks: CallHooks
  readonly now: () => number
}

/** Concurrent fetches per peer. A peer may send any number of callbacks, and each response may be large. */
const maxFetching = 4
/** A resync is fetched again at once when the peer changes its grants meanwhile. */
const resyncRounds = 3

export class Receiver {
  readonly #deps: ReceiverDeps
  readonly #fetching = new ConcurrencyLimit(maxFetching, 'This peer', 'callbacks whose data must be fetched')

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
    const before = await store.read((q) => this.#receiverState(q, key))
    if (before === null) throw noSubscription()
    const verdict = judgeCallback(before, callback, now(), policy)
    if (verdict.kind === 'ignore') return
    if (verdict.kind === 'went-back') return this.#deps.fetches.fetchSoon(key, true)
    if (verdict.kind === 'refuse') throw tooManyPending(verdict.retryAfterSeconds)
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
    await this.#deps.copy.applyCallback(key, callback.sequence, kept)
  }

  async #fetched<T>({ actorId, peerId }: SubscriberKey, work: () => Promise<T>): Promise<T> {
    const release = this.#fetching.begin(JSON.stringify([actorId, peerId]))
    try {
      return await work()
    } finally {
      release()
    }
  }

  async #receiverState(q: Queries, key: SubscriberKey): Promise<ReceiverState | null> {
    const subscription = await findSubscriberSubscription(q, key)
    return subscription === null ? null : receiverState(subscription, await findPendingNumbers(q, key))
  }

  /** Fetches the data when the callback has only a URL. */
  async #keptOf(key: SubscriberKey, callback: IncomingCallback): Promise<Kept> {
    const { data, url, replaces, granularity, publishedAt } = callback
    if (data !== null || url === null) return { data: data ?? known('{}'), replaces, granularity, publishedAt }
    const trust = await this.#deps.store.read((q) => findTrust(q, key.actorId, key.peerId))
    const diff = trust === null ? null : await this.#deps.data.diff(trust, url)
    if (diff === null) {
      // The diff can still be polled.
      await this.#deps.fetches.fetchSoon(key, false)
      throw unavailable('the data of the diff could not be fetched')
    }
    return { ...diff, granularity: 'low', publishedAt }
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
      await this.#deps.fetches.fetchSoon(key, true)
      throw unavailable(snapshot.reason)
    }
    const { secretHash } = trust
    if (await this.#deps.copy.replace(key, snapshot, { ...subscription, secretHash, granted, isResync: true }))
      return 'replaced'
    if ((await store.read((q) => findFact(q, key, 'permissions'))) === granted) throw overtaken()
    return 'other-grants'
  }
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
