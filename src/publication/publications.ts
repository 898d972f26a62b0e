/** Publisher side: operations of peers and of the owner on subscriptions at this actor. */
import { setImmediate } from 'node:timers/promises'
import type { ActorHandle } from '../app/actor-handle.ts'
import { fire } from '../app/events.ts'
import type { Registry } from '../app/registry.ts'
import type { Caller } from '../caller.ts'
import { type EnqueueNotice, noticeTo } from '../outbox/notice.ts'
import { repairDelayMs } from '../outbox/policy.ts'
import { beginRepair, onlyDeletions, redriveQueues } from './queue-store.ts'
import { ServiceError } from '../errors.ts'
import { type Live, subscriptionChange } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import type { Permission } from '../permission/permission.ts'
import type { Access } from '../property/access.ts'
import { randomId } from '../secret/random.ts'
import type { AfterCommit, Queries, Store, Transaction } from '../store/store.ts'
import { isOtherImplementation } from '../trust/trust.ts'
import { findTrust } from '../trust/trust-store.ts'
import { type Backlog, countFailing, findBacklogs, findUndelivered, type SubscriptionOf } from './backlog-store.ts'
import {
  acknowledgeDiffs,
  clearDiff,
  findDiff,
  findDiffs,
  findUnapplied,
  findTimeline,
  type StoredDiff,
  type TimelineEntry,
} from './diff-store.ts'
import { deliversCallbacks, type Scope } from '../subscription/scope.ts'
import {
  countSubscriptions,
  deletePublisherSubscription,
  findPublisherSubscription,
  findPublisherSubscriptions,
  findSubscriptionPage,
  findSubscriptionsOf,
  insertPublisherSubscription,
} from './publisher-store.ts'
import { keepAcknowledged } from './missed-store.ts'
import type { PresentOf, Publisher } from './publisher.ts'
import {
  findRecords,
  type Records,
  recordsOfPage,
  type RecordFilter,
  type SubscriptionRecord,
} from '../subscription/record-store.ts'
import { deleteSuspension, findSuspensions, insertSuspension, type Suspension } from './suspension-store.ts'
import { type PublisherSubscription, publisherView } from './publisher-subscription.ts'
import { shownPart } from './changed-rights.ts'
import { type MayRead, withheld } from './visibility.ts'
import type { WaitingChanges } from './waiting-changes.ts'

export interface PublicationsDeps {
  readonly store: Store
  readonly registry: Registry
  readonly permission: Permission
  readonly publisher: Publisher
  readonly presentOf: PresentOf
  readonly waitingChanges: Pick<WaitingChanges, 'catchUp'>
  readonly live: Live
  readonly log: Log
  readonly now: () => number
  /** Maximum number of subscriptions that a peer may hold at an actor. */
  readonly maxPeerSubscriptions: number
  /** A longer diff is sent as a URL. */
  readonly maxHighGranularityBytes: number
  readonly enqueue: EnqueueNotice
  readonly afterCommit: AfterCommit
  /** Starts the delivery of due diffs. */
  readonly wake: (actorId: string) => void
  readonly handleOf: (actor: Access['actor']) => ActorHandle
}

export interface SubscriptionRequest extends Scope {
  readonly granularity: string
}

export interface SubscriptionWithBacklog {
  readonly subscription: PublisherSubscription
  /** Undefined: nothing waits. */
  readonly backlog: Backlog | undefined
}

/** Response to a poll. */
export interface Polled {
  readonly subscription: PublisherSubscription
  /** The diffs as they are stored. */
  readonly diffs: readonly StoredDiff[]
  /** More diffs follow than fit into the answer. */
  readonly isCut: boolean
  /** The diff as the caller sees it. */
  readonly shown: (diff: StoredDiff) => StoredDiff
}

export interface Timeline {
  readonly subscription: PublisherSubscription
  /** Descending by sequence number. */
  readonly entries: readonly TimelineEntry[]
  readonly backlog: Backlog | undefined
}

type Address = { readonly actorId: string; readonly peerId: string; readonly subscriptionId: string }

/** Time during which a peer can read a cleared diff again, in case the response was lost. */
const repeatMs = 60_000
/** Maximum size of a poll. The peer gets the remaining diffs after it acknowledged these. */
const maxPollBytes = 4_194_304
const maxTimelineEntries = 1000
const longestName = 1024

export class Publications {
  readonly #deps: PublicationsDeps

  constructor(deps: PublicationsDeps) {
    this.#deps = deps
  }

  /** Lists the subscriptions of a peer. `peerId` null: of all peers. */
  list(actorId: string, peerId: string | null = null): Promise<PublisherSubscription[]> {
    const { store } = this.#deps
    return this.#upToDate(
      actorId,
      () => store.read((q) => findPublisherSubscriptions(q, actorId, peerId)),
      ([first]) => first,
    )
  }

  /** The number of subscriptions that fail, at most `most`. */
  countFailing(actorId: string, most: number): Promise<number> {
    return this.#deps.store.read((q) => countFailing(q, actorId, most))
  }

  /** The number of subscriptions that peers hold at the actor. */
  count(actorId: string): Promise<number> {
    return this.#deps.store.read((q) => countSubscriptions(q, actorId))
  }

  /** Subscriptions of all peers, oldest first, from the offset on, with their backlogs. */
  listPage(
    actorId: string,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<readonly SubscriptionWithBacklog[]> {
    return this.#withBacklogs(actorId, (q) => findSubscriptionPage(q, actorId, page))
  }

  /** At most `most` subscriptions whose updates do not arrive, of all peers or of one, with their backlogs. */
  undelivered(actorId: string, peerId: string | null, most: number): Promise<readonly SubscriptionWithBacklog[]> {
    return this.#withBacklogs(actorId, async (q) => {
      const found = await findUndelivered(q, actorId, peerId, { now: this.#deps.now(), most })
      return findSubscriptionsOf(q, actorId, found)
    })
  }

  /** Reads subscriptions and their backlogs in one snapshot. */
  #withBacklogs(
    actorId: string,
    find: (q: Queries) => Promise<readonly PublisherSubscription[]>,
  ): Promise<readonly SubscriptionWithBacklog[]> {
    const read = async (q: Queries) => {
      const subscriptions = await find(q)
      const backlogs = await findBacklogs(q, actorId, subscriptions)
      const keyOf = ({ peerId, subscriptionId }: SubscriptionOf): string => JSON.stringify([peerId, subscriptionId])
      const behind = new Map(backlogs.map((backlog) => [keyOf(backlog), backlog]))
      return subscriptions.map((subscription) => ({ subscription, backlog: behind.get(keyOf(subscription)) }))
    }
    const { store } = this.#deps
    return this.#upToDate(
      actorId,
      () => store.snapshot(read),
      ([first]) => first?.subscription,
    )
  }

  /** Subscriptions of both sides, as the wire lists them, in pages. Each page is read on its own. */
  async *records(actorId: string, filter: RecordFilter): AsyncGenerator<readonly SubscriptionRecord[], undefined> {
    const { store } = this.#deps
    for (let after: SubscriptionRecord | null = null; ; ) {
      const last: SubscriptionRecord | null = after
      const { records }: Records = await this.#upToDate(
        actorId,
        () => store.read((q) => findRecords(q, actorId, filter, last)),
        (read) => read,
      )
      yield records
      after = records.at(-1) ?? null
      if (after === null || records.length < recordsOfPage) return
      await setImmediate()
    }
  }

  /** The subscription of either side. Null: it does not exist. */
  async record({ actorId, peerId, subscriptionId }: Address): Promise<SubscriptionRecord | null> {
    const { value } = await this.records(actorId, { peerId, subscriptionId }).next()
    return value?.[0] ?? null
  }

  /**
   * Creates a subscription.
   *
   * @throws ServiceError `invalid_value`; `forbidden` when the peer has the maximum number of subscriptions;
   * `not_found`
   *   when the relationship does not exist.
   */
  async subscribe(actorId: string, peerId: string, wanted: SubscriptionRequest): Promise<PublisherSubscription> {
    for (const value of [wanted.target, wanted.subtarget, wanted.resource, wanted.granularity]) {
      if (value.length > longestName)
        throw new ServiceError('invalid_value', `Cannot subscribe: a name is longer than ${longestName} characters`)
    }
    const { store, now, live, maxPeerSubscriptions } = this.#deps
    const subscription: PublisherSubscription = {
      actorId,
      peerId,
      subscriptionId: randomId(),
      target: wanted.target,
      subtarget: wanted.subtarget,
      resource: wanted.resource,
      granularity: wanted.granularity,
      sequence: 0,
      committed: 0,
      state: 'live',
      failingSince: null,
      createdAt: now(),
      waitingChanges: 0,
    }
    await store.writeActor(actorId, async (tx, locked) => {
      if ((await findTrust(tx, actorId, peerId)) === null) {
        throw new ServiceError('not_found', 'Cannot subscribe: this actor has no relationship with the peer')
      }
      if (!(await insertPublisherSubscription(tx, subscription, maxPeerSubscriptions))) {
        throw new ServiceError(
          'forbidden',
          `Cannot subscribe: a peer may have at most ${maxPeerSubscriptions} subscriptions`,
        )
      }
      await live.record(tx, locked, 'subscriptions', [subscriptionChange(subscription.subscriptionId, peerId)])
    })
    return subscription
  }

  /** Reads without clearing. Null: the subscription does not exist. */
  async poll(address: Address, caller: Caller): Promise<Polled | null> {
    const { actorId, peerId, subscriptionId } = address
    const read = async (q: Queries): Promise<Polled | null> => {
      const subscription = await findPublisherSubscription(q, actorId, peerId, subscriptionId)
      if (subscription === null) return null
      const { diffs, isCut } = await findDiffs(q, actorId, peerId, subscriptionId, maxPollBytes)
      const mayRead = diffs.length === 0 ? () => false : await this.#reader(q, actorId, caller)
      return { subscription, diffs, isCut, shown: (diff) => shown(diff, subscription, mayRead) }
    }
    const { store } = this.#deps
    return this.#upToDate(
      actorId,
      () => store.snapshot(read),
      (polled) => polled?.subscription,
    )
  }

  /**
   * Reads one diff. Null: it does not exist.
   *
   * @param clears Marks the diff as read, as GET does in the protocol.
   */
  async readOne(
    address: Address,
    sequence: number,
    caller: Caller,
    clears: boolean,
  ): Promise<{ subscription: PublisherSubscription; diff: StoredDiff } | null> {
    const { store, now } = this.#deps
    const { actorId, peerId, subscriptionId } = address
    const at = now()
    const place = { ...address, sequence }
    const readable = { readableSince: at - repeatMs, mayRepeat: caller.kind === 'peer' }
    const readWith = async (q: Queries, find: () => Promise<StoredDiff | null>) => {
      const subscription = await findPublisherSubscription(q, actorId, peerId, subscriptionId)
      const diff = subscription === null ? null : await find()
      if (subscription === null || diff === null) return { subscription, diff: null }
      return { subscription, diff: shown(diff, subscription, await this.#reader(q, actorId, caller)) }
    }
    const { subscription, diff } = await this.#upToDate(
      actorId,
      () =>
        clears
          ? store.write((tx) => readWith(tx, () => clearDiff(tx, place, { ...readable, now: at })))
          : store.snapshot((q) => readWith(q, () => findDiff(q, place, readable))),
      (read) => (read.diff === null ? read.subscription : null),
    )
    return subscription === null || diff === null ? null : { subscription, diff }
  }

  /** Acknowledges everything up to `sequence`, or all diffs with 0. False: the subscription does not exist. */
  async acknowledge(address: Address, sequence: number): Promise<boolean> {
    const { actorId, peerId, subscriptionId } = address
    const { store, now } = this.#deps
    const write = async (tx: Transaction): Promise<PublisherSubscription | null> => {
      const subscription = await findPublisherSubscription(tx, actorId, peerId, subscriptionId)
      if (subscription === null) return null
      const upTo = sequence === 0 ? subscription.sequence : Math.min(sequence, subscription.sequence)
      await this.#doubtUnapplied(tx, { ...address, upTo })
      await acknowledgeDiffs(tx, { ...address, upTo }, now())
      return subscription
    }
    const acknowledged = await this.#upToDate(
      actorId,
      () => store.write(write),
      (found) => (found !== null && (sequence === 0 || sequence > found.sequence) ? found : null),
    )
    if (acknowledged !== null && isAhead(sequence, acknowledged)) await this.#catchUpWith(address, sequence)
    return acknowledged !== null
  }

  /** The copy of another implementation is in doubt when it acknowledges what it may not have applied. */
  async #doubtUnapplied(tx: Transaction, prefix: Address & { readonly upTo: number }): Promise<void> {
    const { actorId, peerId } = prefix
    const { now, maxHighGranularityBytes, afterCommit, wake } = this.#deps
    const { deletions, unread } = await findUnapplied(tx, prefix, maxHighGranularityBytes)
    if (deletions === 0 && unread === 0) return
    const trust = await findTrust(tx, actorId, peerId)
    if (trust === null || !isOtherImplementation(trust.facts)) return
    if (deletions > 0) await keepAcknowledged(tx, prefix)
    // The deletions do not depend on the full state, so they need not wait for it.
    const at = unread > 0 ? now() + repairDelayMs(0, 1, false) : now()
    await beginRepair(tx, prefix, { at, failures: unread > 0 ? 0 : onlyDeletions })
    afterCommit(tx, () => wake(actorId))
  }

  /**
   * The peer acknowledged a number that this actor has not used: the data went back in time, and no mark said so. The peer ignores
   * known numbers, so the next number follows its own, as a resync.
   */
  async #catchUpWith(address: Address, sequence: number): Promise<void> {
    const { store, publisher, presentOf, log } = this.#deps
    const { actorId } = address
    const isRaised = await store.writeActor(actorId, (tx) =>
      publisher.continueAfter(tx, actorId, { ...address, upTo: sequence }, presentOf),
    )
    if (isRaised)
      log.warn(
        { subscriptionId: address.subscriptionId, sequence },
        'A subscriber knows later changes than the publisher, so its copy is renewed; run troupe restored after a restore',
      )
  }

  /** Deletes a subscription. The peer is notified when the owner does so. False: the subscription did not exist. */
  async end(actor: Access['actor'], address: Omit<Address, 'actorId'>, by: 'peer' | 'owner'): Promise<boolean> {
    const { peerId, subscriptionId } = address
    const ended = await this.#deps.store.writeActor(actor.id, async (tx, locked) => {
      const subscription = await findPublisherSubscription(tx, actor.id, peerId, subscriptionId)
      if (subscription === null) return null
      await deletePublisherSubscription(tx, actor.id, peerId, subscriptionId)
      await this.#deps.live.record(tx, locked, 'subscriptions', [subscriptionChange(subscriptionId, peerId)])
      if (by === 'owner') await this.#notifyRevoked(tx, subscription)
      return subscription
    })
    if (ended === null) return false
    const { registry, log, handleOf } = this.#deps
    await fire(registry, log, 'subscription_deleted', {
      actor: handleOf(actor),
      peer_id: peerId,
      subscription_id: subscriptionId,
      subscription_data: publisherView(ended),
      initiated_by_peer: by === 'peer',
    })
    return true
  }

  async #notifyRevoked(tx: Transaction, { actorId, peerId, subscriptionId }: PublisherSubscription): Promise<void> {
    const trust = await findTrust(tx, actorId, peerId)
    if (trust === null || trust.baseuri === '') return
    await this.#deps.enqueue(tx, noticeTo(trust, 'revoke', 'DELETE', ['subscriptions', actorId, subscriptionId]))
  }

  /** Outcomes of the latest sequence numbers. Null: the subscription does not exist. */
  async timeline({ actorId, peerId, subscriptionId }: Address): Promise<Timeline | null> {
    const read = async (q: Queries): Promise<Timeline | null> => {
      const subscription = await findPublisherSubscription(q, actorId, peerId, subscriptionId)
      if (subscription === null) return null
      const entries = await findTimeline(q, actorId, peerId, subscriptionId, maxTimelineEntries)
      const [backlog] = await findBacklogs(q, actorId, [{ peerId, subscriptionId }])
      return { subscription, entries, backlog }
    }
    const { store } = this.#deps
    return this.#upToDate(
      actorId,
      () => store.snapshot(read),
      (timeline) => timeline?.subscription,
    )
  }

  /** Sends failed diffs that are still stored again, and returns their number. Null: the subscription does not exist. */
  async redrive(address: Address): Promise<number | null> {
    const { store, now, afterCommit, wake } = this.#deps
    const { actorId, peerId, subscriptionId } = address
    return store.write(async (tx) => {
      if ((await findPublisherSubscription(tx, actorId, peerId, subscriptionId)) === null) return null
      const redriven = await redriveQueues(tx, address, now())
      afterCommit(tx, () => wake(actorId))
      return redriven
    })
  }

  suspensions(actorId: string): Promise<Suspension[]> {
    return this.#deps.store.read((q) => findSuspensions(q, actorId))
  }

  /** Changes to the target get no sequence number from now on. False: it was suspended already. */
  suspend(actorId: string, suspension: Suspension): Promise<boolean> {
    return this.#deps.store.writeActor(actorId, (tx) => insertSuspension(tx, actorId, suspension))
  }

  /** Sends one resync to each subscription of the target. False: it was not suspended. */
  resume(actorId: string, suspension: Suspension): Promise<boolean> {
    return this.#deps.store.writeActor(actorId, async (tx) => {
      if (!(await deleteSuspension(tx, actorId, suspension))) return false
      await this.#deps.publisher.resync(tx, actorId, suspension, this.#deps.presentOf)
      return true
    })
  }

  /**
   * Runs `work` again after the waiting diffs are written, so that it meets every change that was made before.
   *
   * @param stateOf Returns what shows whether diffs wait that concern the result. Null or undefined: none.
   */
  async #upToDate<T>(
    actorId: string,
    work: () => Promise<T>,
    stateOf: (result: T) => Pick<PublisherSubscription, 'waitingChanges'> | null | undefined,
  ): Promise<T> {
    const result = await work()
    if ((stateOf(result)?.waitingChanges ?? 0) === 0) return result
    await this.#deps.waitingChanges.catchUp(actorId)
    return work()
  }

  async #reader(q: Queries, actorId: string, caller: Caller): Promise<MayRead> {
    const { permission } = this.#deps
    const operation = { category: 'properties', right: 'read' } as const
    if (!permission.isRuled(caller)) {
      const { allowed } = permission.mayTouch(caller, { category: 'subscriptions', right: 'read' })
      return () => allowed
    }
    const relation = { actorId, caller }
    const judge = (await permission.judgeMany(q, [relation], operation))(relation)
    return (path) => judge(path).allowed
  }
}

/** A number far beyond the counter only means "everything". */
const maxAhead = 10_000_000

/** A peer that only polls notices a lower number itself. */
function isAhead(acknowledged: number, { sequence, granularity }: PublisherSubscription): boolean {
  return deliversCallbacks(granularity) && acknowledged > sequence && acknowledged - sequence <= maxAhead
}

function shown(diff: StoredDiff, scope: Scope, mayRead: MayRead): StoredDiff {
  if (diff.kind === 'erasure') return diff
  const data = shownPart(diff.data, scope, mayRead)
  return data === null ? { ...diff, data: withheld, replaces: false } : { ...diff, data }
}
