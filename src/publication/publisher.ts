/**
 * Writes the diffs of a change. The number of statements is constant. With few subscriptions the diffs are written in the
 * transaction of the change, otherwise behind its response (docs/decisions/050).
 */
import { isTemporary } from '../errors.ts'
import { currentContext } from '../observe/context.ts'
import type { Permission, Relation } from '../permission/permission.ts'
import { isObject, type JsonText, known, members, object } from '../json/json.ts'
import { type Change, type ChangeSink, changedNames } from '../property/change.ts'
import type { LockedActor, Queries, Transaction } from '../store/store.ts'
import { requestOrigin } from '../origin.ts'
import type { ChangedRights } from '../trust/permissions.ts'
import { changedCopy, deletionDiff, deletionsIn, inEachScope, readerBy } from './changed-rights.ts'
import {
  dropOldest,
  type DiffEntry,
  clearDeletions,
  findMissedDeletions,
  findSubscribers,
  insertEntries,
  raiseSequence,
  type Made,
  type Subscriber,
} from './diff-store.ts'
import {
  findOpen,
  insertMissed,
  insertMissedOfAll,
  keepMissedDiffs,
  markShown,
  type MissedDeletion,
  type NamedDeletion,
  takeMissed,
} from './missed-store.ts'
import { projectDiff, type ProjectedDiff } from './project-diff.ts'
import { deliversCallbacks, type Scope } from '../subscription/scope.ts'
import type { SubscriptionOf } from './backlog-store.ts'
import { findSuspensions, type Suspension } from './suspension-store.ts'
import { isApprovedAt } from '../trust/trust.ts'
import { type MayRead, type MayReadSome, maySeeAny, visiblePart } from './visibility.ts'
import {
  deleteWaitingChange,
  findWaitingChange,
  insertWaitingChange,
  moveWaitingChange,
  type PostponedChange,
} from './waiting-store.ts'

/** Starts the delivery of entries after their transaction has committed. */
export type Announce = (tx: Transaction, actorId: string, entries: readonly DiffEntry[]) => void

export interface PublisherDeps {
  readonly permission: Permission
  readonly now: () => number
  /** Maximum number of stored diffs per subscription. */
  readonly maxDiffs: number
  readonly announce: Announce
  /** Starts the writing of diffs after the transaction of their change has committed. */
  readonly announceWaiting: (tx: Transaction, actorId: string) => void
  /** The diffs of an actor with more subscriptions are written behind the response of the change. */
  readonly maxDirectSubscriptions: number
}

/** The properties that exist. */
export type PresentOf = (q: Queries, actorId: string) => Promise<Parameters<typeof changedCopy>[2]>

/** A waiting change counts as so many subscriptions at least: reading it has a cost of its own. */
const leastCost = 25
/** When its diffs have more characters together, a change is written behind the response. */
const maxCharacters = 4_194_304
/** Subscriptions that are read together. */
const maxSubscribers = 256
/** A longer change counts as several subscriptions, and so does a change of many items. */
const charactersOfOne = 65_536
const changesOfOne = 8
/** More diffs than this are written behind the response. */
const maxDirectDiffs = 2048

export class Publisher {
  readonly #deps: PublisherDeps
  /** Transactions with changes that wait. The row that they have locked does not count these. */
  readonly #postponing = new WeakSet<Transaction>()

  constructor(deps: PublisherDeps) {
    this.#deps = deps
  }

  readonly sink: ChangeSink = async (tx, actor, changes) => {
    if (actor.subscriptionCount === 0) return
    const { maxDirectSubscriptions } = this.#deps
    const { subscriptionCount } = actor
    const isLong =
      subscriptionCount * charactersOf(changes) > maxCharacters || subscriptionCount * changes.length > maxDirectDiffs
    const isBehind = subscriptionCount > maxDirectSubscriptions || (isLong && Number.isFinite(maxDirectSubscriptions))
    if (isBehind || this.#postponing.has(tx)) return this.#postpone(tx, actor, changes)
    if (actor.waitingChanges > 0 && !(await this.#wroteWaiting(tx, actor.id))) return this.#postpone(tx, actor, changes)
    const subscribers = await findSubscribers(tx, actor.id, 'properties', { subtargets: changedNames(changes) })
    if (subscribers.length === 0) return
    const [suspensions, mayRead] = await Promise.all([
      findSuspensions(tx, actor.id),
      this.#readers(tx, actor.id, subscribers),
    ])
    const live = withoutSuspended(changes, suspensions)
    await this.#keepSuspended(tx, actor.id, changes, suspensions)
    await this.#write(tx, actor.id, entriesOf(live, subscribers, mayRead, this.#now(tx)))
  }

  /** Resolves with false when a waiting change cannot be written, such as a damaged one. The worker logs the reason. */
  async #wroteWaiting(tx: Transaction, actorId: string): Promise<boolean> {
    try {
      await this.writeWaiting(tx, actorId, Number.MAX_SAFE_INTEGER)
      return true
    } catch (error) {
      if (isTemporary(error)) throw error
      return false
    }
  }

  /** Stores the changes for `writeWaiting`, without the parts that are suspended now. */
  async #postpone(tx: Transaction, actor: LockedActor, changes: readonly Change[]): Promise<void> {
    const effective = changes.filter(({ changesNothing }) => changesNothing !== true)
    if (effective.length === 0) return
    const suspensions = await findSuspensions(tx, actor.id)
    await this.#keepSuspended(tx, actor.id, effective, suspensions)
    const live = withoutSuspended(effective, suspensions)
    if (live.length === 0) return
    this.#postponing.add(tx)
    await insertWaitingChange(tx, actor.id, { changes: live, ...this.#now(tx) })
    this.#deps.announceWaiting(tx, actor.id)
  }

  /** The resync that follows a suspension deletes nothing. */
  async #keepSuspended(
    tx: Transaction,
    actorId: string,
    changes: readonly Change[],
    suspensions: readonly Suspension[],
  ): Promise<void> {
    if (suspensions.length === 0) return
    const deleted = changes.flatMap(deletionsOf).filter(({ name }) => isSuspended(suspensions, 'properties', name))
    if (deleted.length === 0) return
    await insertMissedOfAll(tx, actorId, deleted.map(inEachScope))
  }

  /**
   * Writes the diffs of waiting changes, oldest change first, for at most `most` subscriptions. Resolves with false when
   * nothing waits.
   */
  async writeWaiting(tx: Transaction, actorId: string, most: number): Promise<boolean> {
    let begun: PostponedChange | null = null
    for (let left = most; left > 0; ) {
      const waiting: PostponedChange | null = begun ?? (await findWaitingChange(tx, actorId))
      if (waiting === null) return false
      const { changes, position } = waiting
      const cost = Math.max(1, charactersOf(changes) / charactersOfOne, changes.length / changesOfOne)
      // Reading a long change again for few subscriptions would take longer than writing their diffs.
      if (left < most && left < cost) return true
      const fitting = Math.max(1, Math.floor(Math.min(left, maxSubscribers) / cost))
      const subscribers = await findSubscribers(tx, actorId, 'properties', {
        subtargets: changedNames(changes),
        page: { after: waiting, most: fitting },
      })
      if (subscribers.length > 0) {
        const mayRead = await this.#readers(tx, actorId, subscribers)
        await this.#write(tx, actorId, entriesOf(changes, subscribers, mayRead, waiting))
      }
      const last = subscribers.at(-1)
      const isDone = last === undefined || subscribers.length < fitting
      begun = isDone ? null : { ...waiting, peerId: last.peerId, subscriptionId: last.subscriptionId }
      if (begun === null) await deleteWaitingChange(tx, actorId, position)
      else await moveWaitingChange(tx, actorId, begun)
      left -= Math.max(subscribers.length * cost, leastCost)
    }
    return true
  }

  /** Writes one resync for each subscription of a resumed target whose peer may read any of it. */
  async resync(
    tx: Transaction,
    actorId: string,
    { target, subtarget }: Suspension,
    presentOf: PresentOf,
  ): Promise<void> {
    const subscribers = await findSubscribers(tx, actorId, target, subtarget === '' ? {} : { subtargets: [subtarget] })
    await this.#keepMissed(tx, actorId, subscribers)
    await this.#resyncSubscribers(tx, actorId, subscribers, { name: subtarget, presentOf })
  }

  /**
   * Writes one resync for each subscription of a peer whose rights are restored: changes in the meantime got no sequence
   * number. A suspended subscription gets its resync on resume. Returns whether the peer has subscriptions.
   */
  async resyncPeer(tx: Transaction, actor: LockedActor, peerId: string, presentOf: PresentOf): Promise<boolean> {
    if (actor.subscriptionCount === 0) return false
    const subscribers = await findSubscribers(tx, actor.id, 'properties', { peerId })
    if (subscribers.length === 0) return false
    const suspensions = await findSuspensions(tx, actor.id)
    const live = subscribers.filter(({ target, subtarget }) => !isSuspended(suspensions, target, subtarget))
    await this.#keepMissed(tx, actor.id, live)
    await this.#resyncSubscribers(tx, actor.id, live, { name: '', presentOf })
    return true
  }

  /** A resync ends the doubt about a copy. So the deletions of diffs that failed before it follow it, as they follow a repair. */
  async #keepMissed(tx: Transaction, actorId: string, subscribers: readonly Subscriber[]): Promise<void> {
    const withCallbacks = subscribers.filter(({ granularity }) => deliversCallbacks(granularity))
    if (withCallbacks.length === 0) return
    await keepMissedDiffs(
      tx,
      withCallbacks.map(({ peerId, subscriptionId, sequence }) => ({
        actorId,
        peerId,
        subscriptionId,
        upTo: sequence,
      })),
      true,
    )
  }

  /**
   * Writes one resync for a copy in doubt, and the deletions that did not arrive, because the Python library keeps what a full
   * state lacks. False: the subscription is suspended, or its peer may read nothing of it.
   *
   * @param options `hasState`: the copy only lacks deletions.
   */
  async repair(
    tx: Transaction,
    actorId: string,
    of: SubscriptionOf,
    options: { readonly presentOf: PresentOf; readonly hasState: boolean },
  ): Promise<boolean> {
    const [subscriber] = await this.#live(tx, actorId, of)
    if (subscriber === undefined) return false
    if (options.hasState) return this.#resyncSubscribers(tx, actorId, [subscriber], { name: '', ...options })
    const missed = await findMissedDeletions(tx, { actorId, ...of })
    if (missed.length > 0) await clearDeletions(tx, { actorId, ...of, upTo: subscriber.sequence })
    return this.#resyncSubscribers(tx, actorId, [subscriber], { name: '', ...options, missed })
  }

  /** Continues the numbers of a subscription after one that its peer knows, with a resync. False: they are there already. */
  async continueAfter(
    tx: Transaction,
    actorId: string,
    of: SubscriptionOf & { readonly upTo: number },
    presentOf: PresentOf,
  ): Promise<boolean> {
    await keepMissedDiffs(tx, [{ ...of, actorId }])
    if (!(await raiseSequence(tx, { ...of, actorId }))) return false
    await this.#resyncSubscribers(tx, actorId, await this.#live(tx, actorId, of), { name: '', presentOf })
    return true
  }

  async #live(
    tx: Transaction,
    actorId: string,
    { peerId, subscriptionId }: SubscriptionOf,
  ): Promise<readonly Subscriber[]> {
    const ofPeer = await findSubscribers(tx, actorId, 'properties', { peerId })
    const suspensions = await findSuspensions(tx, actorId)
    return ofPeer.filter(
      ({ subscriptionId: id, target, subtarget }) =>
        id === subscriptionId && !isSuspended(suspensions, target, subtarget),
    )
  }

  /**
   * After a change of rights: deletes from the copies of the peer what it may no longer read, and lets it fetch what it may read
   * now. The Python library compares only the patterns of the permissions that it receives. A peer without callbacks keeps no
   * copy that this service maintains. One whose approval ends, or whose subscription is suspended, gets the deletions with its
   * next resync. One that had no approval before may not know the present names.
   */
  async rightsChanged(tx: Transaction, actor: LockedActor, change: ChangedRights, presentOf: PresentOf): Promise<void> {
    if (actor.subscriptionCount === 0) return
    const { peerId } = change
    const found = await findSubscribers(tx, actor.id, 'properties', { peerId })
    const made = this.#now(tx)
    const isApproved = (one: Subscriber): boolean => isApprovedAt(one, made.createdAt)
    const knowing = found.filter(
      (one) => deliversCallbacks(one.granularity) && (isApproved(one) || change.endsApproval === true),
    )
    if (knowing.length === 0) return
    const [present, suspensions] = await Promise.all([presentOf(tx, actor.id), findSuspensions(tx, actor.id)])
    const changed = knowing.map((subscriber) => ({ subscriber, ...changedCopy(change, subscriber, present) }))
    await this.#showLost(tx, actor.id, change, knowing)
    const isSent = ({ subscriber }: (typeof changed)[number]): boolean =>
      isApproved(subscriber) && !isSuspended(suspensions, subscriber.target, subscriber.subtarget)
    for (const { subscriber, lost } of changed.filter((one) => one.lost.length > 0 && !isSent(one)))
      await insertMissed(
        tx,
        actor.id,
        subscriber,
        lost.map((one) => eachInDiff(one, subscriber)),
      )
    const sent = changed
      .filter(isSent)
      .map(({ subscriber, lost, needsState }) => ({ subscriber, data: deletionDiff(lost, subscriber), needsState }))
    const entries = sent.flatMap(({ subscriber, data }): DiffEntry[] =>
      data === null ? [] : [erasureOf(subscriber, subscriber.sequence + 1, data, made)],
    )
    await this.#write(tx, actor.id, { entries, made })
    const behind = sent.flatMap(({ subscriber, data, needsState }) =>
      needsState ? [{ ...subscriber, sequence: subscriber.sequence + Number(data !== null) }] : [],
    )
    await this.#resyncSubscribers(tx, actor.id, behind, { name: '', presentOf: () => Promise.resolve(present) })
  }

  /** The peer was allowed to read names until now, whose deletions it has missed. */
  async #showLost(
    tx: Transaction,
    actorId: string,
    { peerId, before, after }: ChangedRights,
    subscribers: readonly Subscriber[],
  ): Promise<void> {
    const open = await findOpen(tx, actorId, peerId)
    const lost = open.filter(({ subscriptionId, data }) => {
      const subscriber = subscribers.find((one) => one.subscriptionId === subscriptionId)
      if (subscriber === undefined) return false
      const [mayBefore, mayAfter] = [readerBy(before, subscriber), readerBy(after, subscriber)]
      return deletionsIn(data, subscriber).some(({ name }) => mayBefore(name) && !mayAfter(name))
    })
    if (lost.length > 0) await markShown(tx, actorId, lost)
  }

  /** Writes one resync for each subscription whose peer may read any of it, and what it has missed. Returns whether one was written. */
  async #resyncSubscribers(
    tx: Transaction,
    actorId: string,
    subscribers: readonly Subscriber[],
    { name, presentOf, missed = [], hasState = false }: ResyncOptions,
  ): Promise<boolean> {
    const made = this.#now(tx)
    // A peer without approval gets all of it with the approval.
    const approved = subscribers.filter((subscriber) => isApprovedAt(subscriber, made.createdAt))
    if (approved.length === 0) return false
    const [mayRead, taken] = await Promise.all([
      this.#readers(tx, actorId, approved),
      takeMissed(tx, actorId, approved),
    ])
    const isMissing = taken.length > 0 || missed.length > 0
    const present = new Set(isMissing ? (await presentOf(tx, actorId)).map((one) => one.name) : [])
    const bySubscription = Map.groupBy(taken, keyOf)
    const entries = approved.flatMap((subscriber): DiffEntry[] => {
      const may = mayRead(subscriber)
      const own = [...(bySubscription.get(keyOf(subscriber)) ?? []), ...missed.map((data) => ({ data, isShown: true }))]
      const data = deletionDiff(missedBy(subscriber, own, may, present), subscriber)
      const first = subscriber.sequence + 1
      if (hasState) return data === null ? [] : [erasureOf(subscriber, first, data, made)]
      // The peer takes the deletions only in order, so a resync precedes them also when it may read nothing.
      if (data === null) return maySeeAny(subscriber, name, may) ? [resyncOf(subscriber, first, made)] : []
      return [resyncOf(subscriber, first, made), erasureOf(subscriber, first + 1, data, made)]
    })
    await this.#write(tx, actorId, { entries, made })
    return entries.length > 0
  }

  #now(tx: Transaction): Made {
    return { createdAt: this.#deps.now(), hops: currentContext()?.hops ?? 0, origin: tx.origin || requestOrigin() }
  }

  async #write(tx: Transaction, actorId: string, { entries, made }: Written): Promise<void> {
    if (entries.length === 0) return
    await insertEntries(tx, actorId, entries, made)
    await dropOldest(tx, this.#overfull(actorId, entries), this.#deps.now())
    this.#deps.announce(tx, actorId, entries)
  }

  /** Checks the limit once per stride, so most changes need no statement for it. */
  #overfull(actorId: string, entries: readonly DiffEntry[]): Parameters<typeof dropOldest>[1] {
    const { maxDiffs } = this.#deps
    const stride = Math.max(1, Math.floor(maxDiffs / 16))
    // A change of many items has many entries of one subscription. The last one decides.
    const last = new Map(
      entries
        .filter(({ sequence }) => sequence > maxDiffs && sequence % stride === 0)
        .map((entry) => [keyOf(entry), entry]),
    )
    return [...last.values()].map(({ peerId, subscriptionId, sequence }) => ({
      actorId,
      peerId,
      subscriptionId,
      upTo: sequence - maxDiffs,
    }))
  }

  async #readers(
    q: Queries,
    actorId: string,
    subscribers: readonly Subscriber[],
  ): Promise<(subscriber: Subscriber) => MayReadSome> {
    const now = this.#deps.now()
    const relationOf = (subscriber: Subscriber): Relation => {
      const { peerId, relationship } = subscriber
      return {
        actorId,
        caller: { kind: 'peer', peerId, relationship, approved: isApprovedAt(subscriber, now), via: 'bearer' },
      }
    }
    const judgeOf = await this.#deps.permission.judgeMany(
      q,
      [...new Map(subscribers.map((subscriber) => [subscriber.peerId, relationOf(subscriber)])).values()],
      { category: 'properties', right: 'read' },
    )
    const readers = new Map<ReturnType<typeof judgeOf>, MayReadSome>()
    return (subscriber) => {
      const judge = judgeOf(relationOf(subscriber))
      const mayRead: MayReadSome = readers.get(judge) ?? ((path, isPrefix) => judge(path, isPrefix).allowed)
      readers.set(judge, mayRead)
      return mayRead
    }
  }
}

interface ResyncOptions {
  /** The name that is resumed. Empty: the whole target. */
  readonly name: string
  readonly presentOf: PresentOf
  /** Deletions in diffs that the only subscriber did not get, ascending. */
  readonly missed?: readonly JsonText[]
  /** The copy has the full state, and gets only the deletions. */
  readonly hasState?: boolean
}

interface Written {
  readonly entries: readonly DiffEntry[]
  readonly made: Made
}

function keyOf({ peerId, subscriptionId }: SubscriptionOf): string {
  return JSON.stringify([peerId, subscriptionId])
}

/** The names that a change deletes. */
function deletionsOf({ subtarget, resource, blob }: Change): NamedDeletion[] {
  if (resource !== null) return []
  return deletionsIn(subtarget === null ? blob : object([[subtarget, blob]]), wholeTarget)
}

const wholeTarget: Scope = { target: 'properties', subtarget: '', resource: '' }

function eachInDiff(deletion: NamedDeletion, scope: Scope): NamedDeletion {
  return { ...deletion, data: deletionDiff([deletion], scope) ?? deletion.data }
}

/** Returns the deletions that a subscriber has missed and may learn, besides those of properties that it is shown now. */
function missedBy(
  subscriber: Subscriber,
  own: readonly Pick<MissedDeletion, 'data' | 'isShown'>[],
  mayRead: MayReadSome,
  present: ReadonlySet<string>,
): NamedDeletion[] {
  return own.flatMap(({ data, isShown }) =>
    deletionsIn(data, subscriber).filter(({ name }) => {
      const isReadable = mayRead(name) || (subscriber.subtarget !== '' && maySeeAny(subscriber, name, mayRead))
      return isReadable ? !present.has(name) : isShown
    }),
  )
}

function charactersOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { blob }) => sum + blob.length, 0)
}

function entriesOf(
  changes: readonly Change[],
  subscribers: readonly Subscriber[],
  mayRead: (subscriber: Subscriber) => MayRead,
  made: Made,
): Written {
  const diffsOf = diffsByScope(changes)
  const entries = subscribers.flatMap((subscriber) =>
    diffsOf(subscriber, mayRead(subscriber)).map((diff, index) => ({
      ...entryOf(subscriber, subscriber.sequence + index + 1, made),
      kind: 'diff' as const,
      ...diff,
    })),
  )
  return { entries, made }
}

/** A diff without the parts that the peer may not read. */
interface VisibleDiff extends ProjectedDiff, Pick<DiffEntry, 'deletions'> {
  /** See `DiffEntry`. */
  readonly changed: string
}

/** Subscribers with the same scope and the same rights share their diffs. */
function diffsByScope(changes: readonly Change[]): (scope: Scope, mayRead: MayRead) => readonly VisibleDiff[] {
  const byRights = new Map<MayRead, Map<string, readonly VisibleDiff[]>>()
  return (scope, mayRead) => {
    const byScope = byRights.get(mayRead) ?? new Map<string, readonly VisibleDiff[]>()
    byRights.set(mayRead, byScope)
    const key = JSON.stringify([scope.target, scope.subtarget, scope.resource])
    const diffs = byScope.get(key) ?? diffsFor(scope, changes, mayRead)
    byScope.set(key, diffs)
    return diffs
  }
}

/** A change that the peer may not read gets no sequence number, so the peer sees no gap. */
function diffsFor(scope: Scope, changes: readonly Change[], mayRead: MayRead): VisibleDiff[] {
  return changes.flatMap((change) => {
    const projected = projectDiff(change, scope)
    const data = projected === null ? null : visiblePart(projected.data, scope, mayRead)
    if (projected === null || data === null) return []
    const deletions = deletionDiff(deletionsIn(data, scope), scope)
    return [{ data, replaces: projected.replaces, deletions, changed: changedIn(data, scope) }]
  })
}

const maxNamed = 5

/** The names in a diff, for the delivery log. */
function changedIn(data: JsonText, { subtarget }: Scope): string {
  const names = subtarget === '' ? [...(members(data)?.keys() ?? [])] : [subtarget]
  const more = names.length - maxNamed
  return JSON.stringify(more > 0 ? [...names.slice(0, maxNamed), more] : names)
}

function entryOf(
  { peerId, subscriptionId, granularity, isStopped, openUntil }: Subscriber,
  sequence: number,
  { createdAt }: Made,
): Omit<DiffEntry, 'kind' | 'data' | 'replaces' | 'deletions' | 'changed'> {
  const isSent = deliversCallbacks(granularity)
  const dueAt = isSent && !isStopped ? Math.max(createdAt, openUntil ?? 0) : null
  return { peerId, subscriptionId, sequence, isCallback: isSent, dueAt }
}

function resyncOf(subscriber: Subscriber, sequence: number, made: Made): DiffEntry {
  const nothing = { data: known('""'), replaces: false, deletions: null, changed: '' }
  return { ...entryOf(subscriber, sequence, made), kind: 'resync', ...nothing }
}

function erasureOf(subscriber: Subscriber, sequence: number, data: JsonText, made: Made): DiffEntry {
  const deleted = { data, replaces: false, deletions: data, changed: changedIn(data, subscriber) }
  return { ...entryOf(subscriber, sequence, made), kind: 'erasure', ...deleted }
}

/** A suspended target includes its subtargets. The other properties of a bulk write remain. */
function withoutSuspended(changes: readonly Change[], suspensions: readonly Suspension[]): readonly Change[] {
  if (suspensions.length === 0) return changes
  return changes.flatMap((change) => {
    const { target, subtarget, blob } = change
    if (subtarget !== null) return isSuspended(suspensions, target, subtarget) ? [] : [change]
    if (!isObject(blob)) return [change]
    const live = [...(members(blob) ?? [])].filter(([name]) => !isSuspended(suspensions, target, name))
    return live.length === 0 ? [] : [{ ...change, blob: object(live) }]
  })
}

function isSuspended(suspensions: readonly Suspension[], target: string, name: string): boolean {
  return suspensions.some((suspended) => suspended.target === target && ['', name].includes(suspended.subtarget))
}
