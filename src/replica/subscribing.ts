/** Subscriber side: creates, syncs and ends the subscriptions that this actor holds at peers. */
import { type EnqueueNotice, noticeTo } from '../outbox/notice.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, members, normalize, stringValue } from '../json/json.ts'
import { toNfc } from '../json/nfc.ts'
import { type Live, subscriptionChange } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import { findFact } from './facts-store.ts'
import type { PeerLinks } from './peer-link.ts'
import { checkRuns } from './processor.ts'
import type { Access } from '../property/access.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import { findTrust } from '../trust/trust-store.ts'
import { isOtherImplementation, type Trust } from '../trust/trust.ts'
import type { PeerData, Poll, PolledDiff } from './snapshot.ts'
import {
  deleteSubscriberSubscription,
  findSubscriberSubscription,
  findSubscriberSubscriptions,
  insertSubscriberSubscription,
  markAllForFetch,
} from './subscriber-store.ts'
import { coversTarget, type SubscriberKey, type SubscriberSubscription } from './subscriber.ts'
import type { Scope } from '../subscription/scope.ts'
import type { CopyWriter } from './copy-writer.ts'
import type { FetchSchedule } from './fetch-schedule.ts'
import { callable, noSubscription } from './locked-subscription.ts'
import { readRemote, type RemoteValue, removeAll, removeNames } from './copy/remote-data.ts'

export interface SubscribingDeps {
  readonly store: Store
  readonly links: PeerLinks
  readonly data: PeerData
  readonly copy: CopyWriter
  readonly fetches: FetchSchedule
  readonly live: Pick<Live, 'record'>
  readonly enqueue: EnqueueNotice
  readonly afterCommit: AfterCommit
  /** Looks for due gaps. */
  readonly wake: (actorId: string, dueAt?: number) => void
  /** Metadata of peers, fetched when this actor subscribes and with every sync. */
  readonly refreshFacts: (actor: Access['actor'], peerId: string, when: 'subscribed' | 'synchronized') => Promise<void>
  readonly findActor: (actorId: string) => Promise<Access['actor'] | null>
  /** Deletes a relationship that the peer has ended, unless it was renewed since the request. */
  readonly endTrust: (actor: Access['actor'], asked: Trust) => Promise<void>
  readonly now: () => number
  readonly log: Log
}

export interface SubscriptionWish extends Scope {
  readonly granularity: string
}

export interface Subscribed {
  readonly subscription: SubscriberSubscription
  /** URL that the peer assigned to the subscription. */
  readonly location: string
}

/** Result of a sync with a peer. */
export type SyncResult =
  | {
      readonly kind: 'synced'
      readonly subscriptionId: string
      /** The last sequence number that was applied. */
      readonly sequence: number
      /** True: a snapshot was fetched. False: only missing diffs. */
      readonly whole: boolean
    }
  | { readonly kind: 'refused'; readonly subscriptionId: string; readonly status: number }
  | { readonly kind: 'failed'; readonly subscriptionId: string; readonly reason: string }

export interface PeerSync {
  readonly results: readonly SyncResult[]
  /** Whether the peer has ended the relationship. */
  readonly trustEnded: boolean
}

/** Time after which another process fetches the snapshot of a new subscription, if this process dies. */
const firstFetchMs = 60_000
/** Longer than the requests for all subscriptions of a peer take. */
const decideMs = 60_000
/** Delay before the other subscriptions of a peer are checked. */
const decideSoonMs = 5000
const longestId = 256
const maxRounds = 16

export class Subscribing {
  readonly #deps: SubscribingDeps

  constructor(deps: SubscribingDeps) {
    this.#deps = deps
  }

  /** Oldest first. `peerId` null: of all peers. */
  list(actorId: string, peerId: string | null = null): Promise<SubscriberSubscription[]> {
    return this.#deps.store.read((q) => findSubscriberSubscriptions(q, actorId, peerId))
  }

  /** The copy of the peer's data, by name. */
  known(actorId: string, peerId: string): Promise<ReadonlyMap<string, RemoteValue>> {
    return this.#deps.store.read((q) => readRemote(q, { actorId, peerId }))
  }

  /**
   * Subscribes at the peer, stores the subscription, and fetches the current state.
   *
   * @throws ServiceError `peer_failed`
   */
  async subscribe(actor: Access['actor'], peerId: string, wish: SubscriptionWish): Promise<Subscribed> {
    const { store, now, live, afterCommit, wake, refreshFacts } = this.#deps
    const trust = callable(await store.read((q) => findTrust(q, actor.id, peerId)))
    if (trust === null) throw failed('this actor has no relationship with the peer')
    const { subscriptionId, location, subtarget } = await this.#ask(trust, wish)
    const time = now()
    const subscription: SubscriberSubscription = {
      ...wish,
      subtarget,
      actorId: actor.id,
      peerId,
      subscriptionId,
      sequence: 0,
      gapDueAt: time + firstFetchMs,
      resyncPending: true,
      isUnknown: false,
      attempts: 0,
      publishedAt: null,
      checkAt: null,
      checkedAt: null,
      createdAt: time,
    }
    await store.writeActor(actor.id, async (tx, locked) => {
      if ((await findTrust(tx, actor.id, peerId)) === null) throw failed('the relationship ended meanwhile')
      await insertSubscriberSubscription(tx, subscription)
      await live.record(tx, locked, 'subscriptions', [subscriptionChange(subscriptionId, peerId)])
      afterCommit(tx, () => wake(actor.id, time + firstFetchMs))
    })
    // Read the grants first, so that a change during the fetch of the snapshot is noticed.
    await refreshFacts(actor, peerId, 'subscribed')
    await this.#syncOne(trust, subscription, { asked: true, decidedAt: now() + decideSoonMs })
    return { subscription, location }
  }

  async #ask(
    trust: Trust,
    wish: SubscriptionWish,
  ): Promise<{ subscriptionId: string; location: string; subtarget: string }> {
    const { actorId } = trust
    const { target, subtarget, resource, granularity } = wish
    const body = JSON.stringify({
      id: actorId,
      target,
      ...(subtarget === '' ? {} : { subtarget }),
      ...(resource === '' ? {} : { resource }),
      granularity,
    })
    const outcome = await this.#deps.links.call(trust, 'POST', ['subscriptions', actorId], body)
    if (outcome.kind !== 'answered') throw failed(outcome.reason)
    if (outcome.status !== 201) throw failed(`the peer answered ${outcome.status}`)
    const answer = membersIn(outcome.body)
    const subscriptionId = idIn(answer)
    if (subscriptionId === null) throw failed('the response has no valid subscription id')
    const { location } = outcome.headers
    if (location === undefined || location === '' || !/^[!-~]+$/.test(location)) {
      // Without the notice the peer would send callbacks forever.
      await this.#deps.store.write((tx) => this.#notifyEnded(tx, trust, subscriptionId))
      throw failed('the response has no valid Location')
    }
    return { subscriptionId, location, subtarget: publishedName(answer, subtarget) }
  }

  /** Deletes the subscription at once and notifies the peer later, with retries. False: it did not exist. */
  unsubscribe(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, true)
  }

  /** The peer reports the end of a subscription. False: it did not exist. */
  endedByPeer(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, false)
  }

  /** Deletes a subscription that the peer does not know, unless a callback arrived since. */
  #endDead(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, false, ({ isUnknown }) => isUnknown)
  }

  #end(
    key: SubscriberKey,
    notify: boolean,
    isMeant: (found: SubscriberSubscription) => boolean = () => true,
  ): Promise<boolean> {
    const { store, live, afterCommit, wake } = this.#deps
    return store.writeActor(key.actorId, async (tx, locked) => {
      const trust = notify ? await findTrust(tx, key.actorId, key.peerId) : null
      const found = await findSubscriberSubscription(tx, key)
      if (found === null || !isMeant(found)) return false
      if (!(await deleteSubscriberSubscription(tx, key))) return false
      await live.record(tx, locked, 'subscriptions', [subscriptionChange(key.subscriptionId, key.peerId)])
      await this.#forget(tx, key)
      await live.record(tx, locked, 'remote', [key.peerId])
      if (callable(trust) !== null && trust !== null) await this.#notifyEnded(tx, trust, key.subscriptionId)
      afterCommit(tx, () => wake(key.actorId))
      return true
    })
  }

  /** Deletes copied data that no other subscription covers. Other subscriptions may copy their own data again. */
  async #forget(tx: Transaction, key: SubscriberKey): Promise<void> {
    const others = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
    const covering = others.filter(({ target }) => target === 'properties')
    if (covering.length === 0) return removeAll(tx, key)
    const name = (subtarget: string): Scope => ({ target: 'properties', subtarget, resource: '' })
    await removeNames(
      tx,
      key,
      (found) => !covering.some((other) => coversTarget(other, name(found)) || other.subtarget === found),
    )
    // The peer may no longer know the remaining subscriptions.
    await markAllForFetch(tx, key, this.#deps.now())
  }

  async #notifyEnded(tx: Transaction, trust: Trust, subscriptionId: string): Promise<void> {
    const path = ['callbacks', 'subscriptions', trust.actorId, subscriptionId]
    await this.#deps.enqueue(tx, noticeTo(trust, 'unsubscribe', 'DELETE', path))
  }

  /**
   * Fetches missing diffs, or a snapshot when they are unknown. Never deletes a subscription.
   *
   * @throws ServiceError `not_found`
   */
  async sync(key: SubscriberKey): Promise<SyncResult> {
    const found = await this.#deps.store.read((q) =>
      Promise.all([findTrust(q, key.actorId, key.peerId), findSubscriberSubscription(q, key)]),
    )
    const trust = callable(found[0])
    if (trust === null || found[1] === null) throw noSubscription()
    return this.#syncOne(trust, found[1], { asked: true, decidedAt: this.#deps.now() + decideSoonMs })
  }

  /** Like `sync`, to fill a gap. Fetches a snapshot only when the missing diffs are not available. */
  async fill(key: SubscriberKey): Promise<void> {
    const found = await this.#deps.store.read((q) =>
      Promise.all([findTrust(q, key.actorId, key.peerId), findSubscriberSubscription(q, key)]),
    )
    const trust = callable(found[0])
    if (trust === null || found[1] === null) return
    const { now } = this.#deps
    const { checkAt } = found[1]
    // Another implementation may change data without an announcement and without a gap in the numbers.
    const isCheck = checkAt !== null && checkAt <= now() && isOtherImplementation(trust.facts)
    // A publisher that announces every change needs no check.
    if (checkAt === checkRuns && !isCheck && (await this.#deps.fetches.markInSync(key, true))) return
    const decidedAt = now() + decideMs
    if (!isGone(await this.#syncOne(trust, found[1], { asked: isCheck, decidedAt }))) return
    // An unknown subscription may mean that the relationship has ended. The other subscriptions show which.
    const actor = await this.#deps.findActor(key.actorId)
    if (actor !== null) await this.syncPeer(actor, key.peerId)
  }

  /**
   * @param how.asked True for an explicit request, which fetches a snapshot even when no diff is missing.
   * @param how.decidedAt Unix milliseconds of the next request about an unknown subscription.
   */
  async #syncOne(
    trust: Trust,
    subscription: SubscriberSubscription,
    { asked, decidedAt }: { readonly asked: boolean; readonly decidedAt: number },
  ): Promise<SyncResult> {
    const { subscriptionId } = subscription
    let result: SyncResult
    try {
      result = await this.#syncOnce(trust, subscription, asked)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'store_unavailable') throw error
      result = { kind: 'failed', subscriptionId, reason: error.message }
    }
    if (result.kind === 'failed') {
      this.#deps.log.warn({ reason: result.reason, subscriptionId }, 'Cannot synchronize a subscription')
    }
    if (isGone(result)) await this.#deps.fetches.markUnknown(subscription, decidedAt)
    else if (result.kind !== 'synced') await this.#deps.fetches.postpone(subscription)
    return result
  }

  async #syncOnce(trust: Trust, subscription: SubscriberSubscription, asked: boolean): Promise<SyncResult> {
    const { store, data, copy, fetches } = this.#deps
    const { subscriptionId } = subscription
    const { secretHash } = trust
    let hasApplied = false
    for (let round = 1; round <= maxRounds; round++) {
      const askedAt = this.#deps.now()
      const poll: Poll = await data.poll(trust, subscriptionId)
      if (poll.kind !== 'polled') return { ...poll, subscriptionId }
      await fetches.dropImpossible(subscription, poll.sequence, askedAt)
      const [before, granted] = await store.read((q) =>
        Promise.all([findSubscriberSubscription(q, subscription), findFact(q, subscription, 'permissions')]),
      )
      if (before === null) throw noSubscription()
      const applied = await this.#applyPolled(trust, before, poll.diffs)
      const isAdvanced = applied > before.sequence
      if (isAdvanced && applied < poll.sequence) {
        hasApplied = true
        continue
      }
      const isUnchanged = poll.sequence === before.sequence && !before.resyncPending
      if (isAdvanced || (isUnchanged && (hasApplied || !asked))) {
        // A poll compares the numbers only.
        await fetches.markInSync(subscription, !asked)
        return { kind: 'synced', subscriptionId, sequence: applied, whole: false }
      }
      const snapshot = await data.snapshot(trust, subscription, subscriptionId, poll.sequence)
      if (snapshot.kind === 'failed') return { ...snapshot, subscriptionId }
      // A callback that arrived meanwhile is newer than the snapshot.
      if (!(await copy.replace(subscription, snapshot, { ...before, secretHash, granted, isResync: false }))) continue
      if (snapshot.sequence > 0) await data.acknowledge(trust, subscriptionId, snapshot.sequence)
      return { kind: 'synced', subscriptionId, sequence: snapshot.sequence, whole: true }
    }
    return { kind: 'failed', subscriptionId, reason: 'The peer kept changing during the sync' }
  }

  /**
   * Applies and acknowledges the diffs that follow the copy without a gap.
   *
   * @returns the last sequence number that was applied.
   */
  async #applyPolled(trust: Trust, before: SubscriberSubscription, diffs: readonly PolledDiff[]): Promise<number> {
    const { data, copy } = this.#deps
    const news = diffs.filter(({ sequence }) => sequence > before.sequence)
    if (before.resyncPending || news[0]?.sequence !== before.sequence + 1) return before.sequence
    const sequence = await copy.applyPolled(
      before,
      news.map((diff) => ({ ...diff, granularity: '' })),
    )
    if (sequence > before.sequence) await data.acknowledge(trust, before.subscriptionId, sequence)
    return sequence
  }

  /**
   * Syncs all subscriptions to a peer. When the peer knows none of them, it is asked whether the relationship still
   * exists, and the ended ones are deleted. When the peer knows some of them, none is deleted.
   */
  async syncPeer(actor: Access['actor'], peerId: string): Promise<PeerSync> {
    const { store, data, fetches, refreshFacts, endTrust, now } = this.#deps
    const [found, subscriptions] = await store.read((q) =>
      Promise.all([findTrust(q, actor.id, peerId), findSubscriberSubscriptions(q, actor.id, peerId)]),
    )
    const trust = callable(found)
    if (trust === null)
      throw new ServiceError('not_found', 'Cannot synchronize: this actor has no relationship with the peer')
    const decidedAt = now() + decideMs
    const results: SyncResult[] = []
    for (const subscription of subscriptions) {
      results.push(await this.#syncOne(trust, subscription, { asked: true, decidedAt }))
    }
    const unknown = subscriptions.filter((_, index) => isGone(results[index]))
    if (unknown.length > 0 && unknown.length === subscriptions.length) {
      const isKnown = await data.knowsUs(trust)
      if (isKnown === false) {
        await endTrust(actor, trust)
        return { results, trustEnded: true }
      }
      for (const subscription of unknown) {
        if (isKnown === true) await this.#endDead(subscription)
        else await fetches.postpone(subscription)
      }
    } else {
      for (const subscription of unknown) await fetches.stopRetrying(subscription)
    }
    await refreshFacts(actor, peerId, 'synchronized')
    return { results, trustEnded: false }
  }
}

function isGone(result: SyncResult | undefined): boolean {
  return result?.kind === 'refused' && result.status === 404
}

function membersIn(body: string): ReadonlyMap<string, JsonText> | null {
  try {
    return members(normalize(body, undefined, 'keep'))
  } catch {
    return null
  }
}

function idIn(answer: ReadonlyMap<string, JsonText> | null): string | null {
  const id = stringValue(answer?.get('subscriptionid') ?? normalize('null'))
  return id === null || id === '' || id.length > longestId || !/^[^\0/]+$/.test(id) || !id.isWellFormed() ? null : id
}

/** The name as the publisher has it, when it is the given one in another Unicode form. Its diffs and addresses use this form. */
function publishedName(answer: ReadonlyMap<string, JsonText> | null, given: string): string {
  const name = stringValue(answer?.get('subtarget') ?? normalize('null'))
  return name !== null && toNfc(name) === toNfc(given) ? name : given
}

/** `reason` is only for the log. */
function failed(reason: string): ServiceError {
  return new ServiceError('peer_failed', 'Cannot subscribe: the other actor did not return a valid response', {
    reason,
  })
}
