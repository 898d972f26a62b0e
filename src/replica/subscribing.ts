/** The subscriber's side: what this actor listens to, from the first request to the peer to the last. */
import { type EnqueueNotice, noticeTo } from '../outbox/notice.ts'
import { ServiceError } from '../errors.ts'
import { members, normalise, stringValue } from '../json/json.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import { findFact } from './facts-store.ts'
import type { PeerLinks } from './peer-link.ts'
import type { Access } from '../property/access.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import { findTrust } from '../trust/trust-store.ts'
import type { Trust } from '../trust/trust.ts'
import type { PeerData, Poll } from './snapshot.ts'
import {
  deleteSubscriberSubscription,
  findSubscriberSubscription,
  findSubscriberSubscriptions,
  insertSubscriberSubscription,
  markAllForFetch,
} from './subscriber-store.ts'
import { covers, type SubscriberKey, type SubscriberSubscription } from './subscriber.ts'
import type { Scope } from '../subscription/scope.ts'
import { callable, noSubscription, type Receiver } from './receiver.ts'
import { readRemote, type RemoteValue, removeAll, removeNames } from './remote-data.ts'

export interface SubscribingParts {
  readonly store: Store
  readonly links: PeerLinks
  readonly data: PeerData
  readonly receiver: Receiver
  readonly live: Pick<Live, 'record'>
  readonly enqueue: EnqueueNotice
  readonly afterCommit: AfterCommit
  /** Looks for gaps that are due. */
  readonly wake: () => void
  /** What is known about a peer besides its data: fetched when it is subscribed to and with every synchronisation. */
  readonly refreshFacts: (actor: Access['actor'], peerId: string, when: 'subscribed' | 'synchronised') => Promise<void>
  readonly findActor: (actorId: string) => Promise<Access['actor'] | null>
  /** The peer ended the relationship, as it turned out. One that was made anew since it was asked stays. */
  readonly endTrust: (actor: Access['actor'], asked: Trust) => Promise<void>
  readonly now: () => number
  readonly log: Log
}

export interface SubscriptionWish extends Scope {
  readonly granularity: string
}

export interface Subscribed {
  readonly subscription: SubscriberSubscription
  /** As the peer gave it. */
  readonly location: string
}

/** What came of asking a peer for what is missing. */
export type SyncResult =
  | {
      readonly kind: 'synced'
      readonly subscriptionId: string
      /** The last number applied. */
      readonly sequence: number
      /** True when the whole was fetched, not only what was missing. */
      readonly whole: boolean
    }
  | { readonly kind: 'refused'; readonly subscriptionId: string; readonly status: number }
  | { readonly kind: 'failed'; readonly subscriptionId: string; readonly reason: string }

export interface PeerSync {
  readonly results: readonly SyncResult[]
  /** Whether the peer turned out to have ended the relationship. */
  readonly trustEnded: boolean
}

/** The peer calls back before the whole is fetched; should this process die meanwhile, another one fetches it then. */
const firstFetchMs = 60_000
/** Longer than asking a peer about all its subscriptions takes. */
const decideMs = 60_000
/** Who asked for one subscription alone has the answer; about the others the peer is asked soon after. */
const decideSoonMs = 5000
const longestId = 256
const mostRounds = 16

export class Subscribing {
  readonly #parts: SubscribingParts

  constructor(parts: SubscribingParts) {
    this.#parts = parts
  }

  /** Oldest first; of one peer, or of all. */
  list(actorId: string, peerId: string | null = null): Promise<SubscriberSubscription[]> {
    return this.#parts.store.read((q) => findSubscriberSubscriptions(q, actorId, peerId))
  }

  /** What is known of the peer's data, by name. */
  known(actorId: string, peerId: string): Promise<ReadonlyMap<string, RemoteValue>> {
    return this.#parts.store.read((q) => readRemote(q, { actorId, peerId }))
  }

  /**
   * Asks the peer, keeps what it answered, and fetches what there is already.
   *
   * @throws ServiceError `peer_failed`
   */
  async subscribe(actor: Access['actor'], peerId: string, wish: SubscriptionWish): Promise<Subscribed> {
    const { store, now, live, afterCommit, wake, refreshFacts } = this.#parts
    const trust = callable(await store.read((q) => findTrust(q, actor.id, peerId)))
    if (trust === null) throw failed('there is no relationship with this peer')
    const { subscriptionId, location } = await this.#ask(trust, wish)
    const time = now()
    const subscription: SubscriberSubscription = {
      ...wish,
      actorId: actor.id,
      peerId,
      subscriptionId,
      sequence: 0,
      gapDueAt: time + firstFetchMs,
      resyncPending: true,
      isUnknown: false,
      attempts: 0,
      createdAt: time,
    }
    await store.writeActor(actor.id, async (tx, locked) => {
      if ((await findTrust(tx, actor.id, peerId)) === null) throw failed('the relationship ended meanwhile')
      await insertSubscriberSubscription(tx, subscription)
      await live.record(tx, locked, 'subscriptions', [subscriptionId])
      afterCommit(tx, wake)
    })
    // What is granted comes first: a right that changes while the whole is fetched has to be seen as a change.
    await refreshFacts(actor, peerId, 'subscribed')
    await this.#syncOne(trust, subscription, { asked: true, decidedAt: now() + decideSoonMs })
    return { subscription, location }
  }

  async #ask(trust: Trust, wish: SubscriptionWish): Promise<{ subscriptionId: string; location: string }> {
    const { actorId } = trust
    const { target, subtarget, resource, granularity } = wish
    const body = JSON.stringify({
      id: actorId,
      target,
      ...(subtarget === '' ? {} : { subtarget }),
      ...(resource === '' ? {} : { resource }),
      granularity,
    })
    const outcome = await this.#parts.links.call(trust, 'POST', ['subscriptions', actorId], body)
    if (outcome.kind !== 'answered') throw failed(outcome.reason)
    if (outcome.status !== 201) throw failed(`the peer answered ${outcome.status}`)
    const subscriptionId = idIn(outcome.body)
    if (subscriptionId === null) throw failed('the answer names no subscription')
    const { location } = outcome.headers
    if (location === undefined || location === '' || !/^[!-~]+$/.test(location)) {
      // The peer has it and would call for ever.
      await this.#parts.store.write((tx) => this.#tellEnded(tx, trust, subscriptionId))
      throw failed('the answer has no Location')
    }
    return { subscriptionId, location }
  }

  /** Ends it here at once; the peer is told afterwards, however long that takes. False when there was none. */
  unsubscribe(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, true)
  }

  /** The peer says that it ended. False when there was none. */
  endedByPeer(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, false)
  }

  /** The peer does not know it. Unless it spoke of it since. */
  #endDead(key: SubscriberKey): Promise<boolean> {
    return this.#end(key, false, ({ isUnknown }) => isUnknown)
  }

  #end(
    key: SubscriberKey,
    tell: boolean,
    isMeant: (found: SubscriberSubscription) => boolean = () => true,
  ): Promise<boolean> {
    const { store, live, afterCommit, wake } = this.#parts
    return store.writeActor(key.actorId, async (tx, locked) => {
      const trust = tell ? await findTrust(tx, key.actorId, key.peerId) : null
      const found = await findSubscriberSubscription(tx, key)
      if (found === null || !isMeant(found)) return false
      if (!(await deleteSubscriberSubscription(tx, key))) return false
      await live.record(tx, locked, 'subscriptions', [key.subscriptionId])
      await this.#forget(tx, key)
      if (callable(trust) !== null && trust !== null) await this.#tellEnded(tx, trust, key.subscriptionId)
      afterCommit(tx, wake)
      return true
    })
  }

  /** What no other subscription covers goes; where one took the place of others, these have their own again. */
  async #forget(tx: Transaction, key: SubscriberKey): Promise<void> {
    const others = await findSubscriberSubscriptions(tx, key.actorId, key.peerId)
    const covering = others.filter(({ target }) => target === 'properties')
    if (covering.length === 0) return removeAll(tx, key)
    const name = (subtarget: string): Scope => ({ target: 'properties', subtarget, resource: '' })
    await removeNames(
      tx,
      key,
      (found) => !covering.some((other) => covers(other, name(found)) || other.subtarget === found),
    )
    // Of those that are left the peer may know none.
    await markAllForFetch(tx, key, this.#parts.now())
  }

  async #tellEnded(tx: Transaction, trust: Trust, subscriptionId: string): Promise<void> {
    const path = ['callbacks', 'subscriptions', trust.actorId, subscriptionId]
    await this.#parts.enqueue(tx, noticeTo(trust, 'unsubscribe', 'DELETE', path))
  }

  /**
   * Fetches what is missing, or the whole where that cannot be told. Nothing is removed, whatever the peer answers.
   *
   * @throws ServiceError `not_found`
   */
  async sync(key: SubscriberKey): Promise<SyncResult> {
    const found = await this.#parts.store.read((q) =>
      Promise.all([findTrust(q, key.actorId, key.peerId), findSubscriberSubscription(q, key)]),
    )
    const trust = callable(found[0])
    if (trust === null || found[1] === null) throw noSubscription()
    return this.#syncOne(trust, found[1], { asked: true, decidedAt: this.#parts.now() + decideSoonMs })
  }

  /** As `sync`, because a number is missing: the whole is fetched only when the missing ones cannot be had. */
  async fill(key: SubscriberKey): Promise<void> {
    const found = await this.#parts.store.read((q) =>
      Promise.all([findTrust(q, key.actorId, key.peerId), findSubscriberSubscription(q, key)]),
    )
    const trust = callable(found[0])
    if (trust === null || found[1] === null) return
    const decidedAt = this.#parts.now() + decideMs
    if (!isGone(await this.#syncOne(trust, found[1], { asked: false, decidedAt }))) return
    // One that the peer does not know may be dead, and so may the relationship: the others tell.
    const actor = await this.#parts.findActor(key.actorId)
    if (actor !== null) await this.syncPeer(actor, key.peerId)
  }

  /**
   * @param how.asked somebody wants to know, so that the whole is fetched when nothing is known to be missing.
   * @param how.decidedAt Unix milliseconds: when the peer is asked again about one that it does not know.
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
      this.#parts.log.warn({ reason: result.reason, subscriptionId }, 'A subscription could not be synchronised')
    }
    if (isGone(result)) await this.#parts.receiver.doubt(subscription, decidedAt)
    else if (result.kind !== 'synced') await this.#parts.receiver.postpone(subscription)
    return result
  }

  async #syncOnce(trust: Trust, subscription: SubscriberSubscription, asked: boolean): Promise<SyncResult> {
    const { store, data, receiver } = this.#parts
    const { subscriptionId } = subscription
    const { secretHash } = trust
    let hasApplied = false
    for (let round = 1; round <= mostRounds; round++) {
      const askedAt = this.#parts.now()
      const poll: Poll = await data.poll(trust, subscriptionId)
      if (poll.kind !== 'polled') return { ...poll, subscriptionId }
      await receiver.dropImpossible(subscription, poll.sequence, askedAt)
      const [before, granted] = await store.read((q) =>
        Promise.all([findSubscriberSubscription(q, subscription), findFact(q, subscription, 'permissions')]),
      )
      if (before === null) throw noSubscription()
      const news = poll.diffs.filter(({ sequence }) => sequence > before.sequence)
      const last = news.at(-1)
      if (!before.resyncPending && last !== undefined && news[0]?.sequence === before.sequence + 1) {
        const sequence = await receiver.applyPolled(
          subscription,
          news.map((diff) => ({ ...diff, granularity: '' })),
        )
        hasApplied ||= sequence > before.sequence
        if (sequence > before.sequence) {
          await data.acknowledge(trust, subscriptionId, sequence)
          if (sequence >= poll.sequence) {
            await receiver.settle(subscription)
            return { kind: 'synced', subscriptionId, sequence, whole: false }
          }
          continue
        }
      }
      if (poll.sequence === before.sequence && !before.resyncPending && (hasApplied || !asked)) {
        await receiver.settle(subscription)
        return { kind: 'synced', subscriptionId, sequence: before.sequence, whole: false }
      }
      const whole = await data.whole(trust, subscription, subscriptionId, poll.sequence)
      if (whole.kind === 'failed') return { ...whole, subscriptionId }
      // What a callback brought meanwhile is newer than what was fetched.
      if (!(await receiver.replace(subscription, whole, { ...before, secretHash, granted, isResync: false }))) continue
      if (whole.sequence > 0) await data.acknowledge(trust, subscriptionId, whole.sequence)
      return { kind: 'synced', subscriptionId, sequence: whole.sequence, whole: true }
    }
    return { kind: 'failed', subscriptionId, reason: 'The peer went on changing all the time' }
  }

  /**
   * Synchronises every subscription to the peer. When the peer knows none of them any more, either they are dead or the
   * relationship is: it is asked which, and what is dead goes. When it knows some, nothing does.
   */
  async syncPeer(actor: Access['actor'], peerId: string): Promise<PeerSync> {
    const { store, data, receiver, refreshFacts, endTrust, now } = this.#parts
    const [found, subscriptions] = await store.read((q) =>
      Promise.all([findTrust(q, actor.id, peerId), findSubscriberSubscriptions(q, actor.id, peerId)]),
    )
    const trust = callable(found)
    if (trust === null)
      throw new ServiceError('not_found', 'Cannot synchronise: there is no relationship with this peer')
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
        else await receiver.postpone(subscription)
      }
    } else {
      for (const subscription of unknown) await receiver.rest(subscription)
    }
    await refreshFacts(actor, peerId, 'synchronised')
    return { results, trustEnded: false }
  }
}

function isGone(result: SyncResult | undefined): boolean {
  return result?.kind === 'refused' && result.status === 404
}

function idIn(body: string): string | null {
  try {
    const id = stringValue(members(normalise(body))?.get('subscriptionid') ?? normalise('null'))
    return id === null || id === '' || id.length > longestId || !/^[^\0/]+$/.test(id) || !id.isWellFormed() ? null : id
  } catch {
    return null
  }
}

/** The reason is for the log. */
function failed(reason: string): ServiceError {
  return new ServiceError('peer_failed', 'Cannot subscribe: the other actor did not answer as it has to', { reason })
}
