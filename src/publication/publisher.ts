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
import { changedCopy, missedErasure } from './changed-rights.ts'
import {
  dropOldest,
  type DiffEntry,
  findMissedDeletions,
  findSubscribers,
  insertEntries,
  type Made,
  type Subscriber,
} from './diff-store.ts'
import { projectDiff, type ProjectedDiff } from './project-diff.ts'
import { deliversCallbacks, type Scope } from '../subscription/scope.ts'
import type { SubscriptionOf } from './backlog-store.ts'
import { findSuspensions, type Suspension } from './suspension-store.ts'
import { isApprovedAt } from '../trust/trust.ts'
import { type MayRead, type MayReadSome, maySeeAny, visiblePart } from './visibility.ts'
import { deleteWaitingChange, findWaitingChange, insertWaitingChange, moveWaitingChange } from './waiting-store.ts'

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
  readonly mostDirectSubscriptions: number
}

/** A waiting change counts as so many subscriptions at least: reading it has a cost of its own. */
const leastCost = 25
/** The diffs of one statement have this many characters together, or are one. SQLite writes them without a pause. */
const mostCharacters = 4_194_304
/** A longer change counts as several subscriptions. */
const charactersOfOne = 16_384

export class Publisher {
  readonly #deps: PublisherDeps

  constructor(deps: PublisherDeps) {
    this.#deps = deps
  }

  readonly sink: ChangeSink = async (tx, actor, changes) => {
    if (actor.subscriptionCount === 0) return
    const { mostDirectSubscriptions } = this.#deps
    const isLong = actor.subscriptionCount * charactersOf(changes) > mostCharacters
    if (actor.subscriptionCount > mostDirectSubscriptions || (isLong && Number.isFinite(mostDirectSubscriptions)))
      return this.#postpone(tx, actor, changes)
    if (actor.waitingChanges > 0 && !(await this.#wroteWaiting(tx, actor.id))) return this.#postpone(tx, actor, changes)
    const subscribers = await findSubscribers(tx, actor.id, 'properties', { subtargets: changedNames(changes) })
    if (subscribers.length === 0) return
    const [suspensions, mayRead] = await Promise.all([
      findSuspensions(tx, actor.id),
      this.#readers(tx, actor.id, subscribers),
    ])
    const live = withoutSuspended(changes, suspensions)
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
    const live = withoutSuspended(effective, await findSuspensions(tx, actor.id))
    if (live.length === 0) return
    await insertWaitingChange(tx, actor.id, { changes: live, ...this.#now(tx) })
    this.#deps.announceWaiting(tx, actor.id)
  }

  /**
   * Writes the diffs of waiting changes, oldest change first, for at most `most` subscriptions. Resolves with false when
   * nothing waits.
   */
  async writeWaiting(tx: Transaction, actorId: string, most: number): Promise<boolean> {
    for (let left = most; left > 0; ) {
      const waiting = await findWaitingChange(tx, actorId)
      if (waiting === null) return false
      const { changes, position } = waiting
      const cost = Math.max(1, charactersOf(changes) / charactersOfOne)
      const fitting = Math.max(1, Math.floor(Math.min(left, mostCharacters / charactersOfOne) / cost))
      const subscribers = await findSubscribers(tx, actorId, 'properties', {
        subtargets: changedNames(changes),
        page: { after: waiting, most: fitting },
      })
      if (subscribers.length > 0) {
        const mayRead = await this.#readers(tx, actorId, subscribers)
        await this.#write(tx, actorId, entriesOf(changes, subscribers, mayRead, waiting))
      }
      const last = subscribers.at(-1)
      if (last === undefined || subscribers.length < fitting) await deleteWaitingChange(tx, actorId, position)
      else await moveWaitingChange(tx, actorId, { ...last, position })
      left -= Math.max(subscribers.length * cost, leastCost)
    }
    return true
  }

  /** Writes one resync for each subscription of a resumed target whose peer may read any of it. */
  async resync(tx: Transaction, actorId: string, { target, subtarget }: Suspension): Promise<void> {
    const subscribers = await findSubscribers(tx, actorId, target, subtarget === '' ? {} : { subtargets: [subtarget] })
    await this.#resyncSubscribers(tx, actorId, subscribers, subtarget)
  }

  /**
   * Writes one resync for each subscription of a peer whose rights are restored: changes in the meantime got no sequence
   * number. A suspended subscription gets its resync on resume. Returns whether the peer has subscriptions.
   */
  async resyncPeer(tx: Transaction, actor: LockedActor, peerId: string): Promise<boolean> {
    if (actor.subscriptionCount === 0) return false
    const subscribers = await findSubscribers(tx, actor.id, 'properties', { peerId })
    if (subscribers.length === 0) return false
    const suspensions = await findSuspensions(tx, actor.id)
    const live = subscribers.filter(({ target, subtarget }) => !isSuspended(suspensions, target, subtarget))
    await this.#resyncSubscribers(tx, actor.id, live, '')
    return true
  }

  /** Writes one resync for a subscription. False: it is suspended, or its peer may read nothing of it. */
  async resyncOne(tx: Transaction, actorId: string, of: SubscriptionOf): Promise<boolean> {
    return this.#resyncSubscribers(tx, actorId, await this.#live(tx, actorId, of), '')
  }

  /**
   * Like `resyncOne`, for a copy in doubt. Deletions that did not arrive follow the resync, because the Python library keeps what a
   * full state lacks.
   */
  async repair(
    tx: Transaction,
    actorId: string,
    of: SubscriptionOf,
    presentOf: (q: Queries, actorId: string) => Promise<readonly { readonly name: string }[]>,
  ): Promise<boolean> {
    const [subscriber] = await this.#live(tx, actorId, of)
    if (subscriber === undefined) return false
    const missed = await findMissedDeletions(tx, { actorId, ...of })
    if (missed.length === 0) return this.#resyncSubscribers(tx, actorId, [subscriber], '')
    const present = new Set((await presentOf(tx, actorId)).map(({ name }) => name))
    const mayRead = (await this.#readers(tx, actorId, [subscriber]))(subscriber)
    const erasure = missedErasure(missed, subscriber, (name) => {
      const isReadable = mayRead(name) || (subscriber.subtarget !== '' && maySeeAny(subscriber, name, mayRead))
      return isReadable && present.has(name)
    })
    if (erasure === null) return this.#resyncSubscribers(tx, actorId, [subscriber], '')
    const made = this.#now(tx)
    // The peer takes the deletions only in order, so a resync precedes them also when it may read nothing.
    const [first, second] = [subscriber.sequence + 1, subscriber.sequence + 2]
    const entries = [resyncOf(subscriber, first, made), erasureOf(subscriber, second, erasure, made)]
    await this.#write(tx, actorId, { entries, made })
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
   * copy that this service maintains. One without approval may not know the present names.
   */
  async rightsChanged(
    tx: Transaction,
    actor: LockedActor,
    change: ChangedRights,
    presentOf: (q: Queries, actorId: string) => Promise<Parameters<typeof changedCopy>[2]>,
  ): Promise<void> {
    if (actor.subscriptionCount === 0) return
    const found = await findSubscribers(tx, actor.id, 'properties', { peerId: change.peerId })
    const made = this.#now(tx)
    const sent = found.filter((one) => deliversCallbacks(one.granularity) && isApprovedAt(one, made.createdAt))
    if (sent.length === 0) return
    const [present, suspensions] = await Promise.all([presentOf(tx, actor.id), findSuspensions(tx, actor.id)])
    const changed = sent
      .filter(({ target, subtarget }) => !isSuspended(suspensions, target, subtarget))
      .map((subscriber) => ({ subscriber, ...changedCopy(change, subscriber, present) }))
    const entries = changed.flatMap(({ subscriber, erasure }): DiffEntry[] =>
      erasure === null ? [] : [erasureOf(subscriber, subscriber.sequence + 1, erasure, made)],
    )
    await this.#write(tx, actor.id, { entries, made })
    const behind = changed.flatMap(({ subscriber, erasure, needsState }) =>
      needsState ? [{ ...subscriber, sequence: subscriber.sequence + Number(erasure !== null) }] : [],
    )
    await this.#resyncSubscribers(tx, actor.id, behind, '')
  }

  /** Returns whether a resync was written. */
  async #resyncSubscribers(
    tx: Transaction,
    actorId: string,
    subscribers: readonly Subscriber[],
    name: string,
  ): Promise<boolean> {
    if (subscribers.length === 0) return false
    const mayRead = await this.#readers(tx, actorId, subscribers)
    const made = this.#now(tx)
    const entries = subscribers
      .filter((subscriber) => maySeeAny(subscriber, name, mayRead(subscriber)))
      .map((subscriber) => resyncOf(subscriber, subscriber.sequence + 1, made))
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
    return entries
      .filter(({ sequence }) => sequence > maxDiffs && sequence % stride === 0)
      .map(({ peerId, subscriptionId, sequence }) => ({ actorId, peerId, subscriptionId, upTo: sequence - maxDiffs }))
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

interface Written {
  readonly entries: readonly DiffEntry[]
  readonly made: Made
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
interface VisibleDiff extends ProjectedDiff {
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
    return projected === null || data === null
      ? []
      : [{ data, replaces: projected.replaces, changed: changedIn(data, scope) }]
  })
}

const mostNamed = 5

/** The names in a diff, for the delivery log. */
function changedIn(data: JsonText, { subtarget }: Scope): string {
  const names = subtarget === '' ? [...(members(data)?.keys() ?? [])] : [subtarget]
  const more = names.length - mostNamed
  return JSON.stringify(more > 0 ? [...names.slice(0, mostNamed), more] : names)
}

function entryOf(
  { peerId, subscriptionId, granularity, isStopped, openUntil }: Subscriber,
  sequence: number,
  { createdAt }: Made,
): Omit<DiffEntry, 'kind' | 'data' | 'replaces' | 'changed'> {
  const isSent = deliversCallbacks(granularity)
  const dueAt = isSent && !isStopped ? Math.max(createdAt, openUntil ?? 0) : null
  return { peerId, subscriptionId, sequence, isCallback: isSent, dueAt }
}

function resyncOf(subscriber: Subscriber, sequence: number, made: Made): DiffEntry {
  return { ...entryOf(subscriber, sequence, made), kind: 'resync', data: known('""'), replaces: false, changed: '' }
}

function erasureOf(subscriber: Subscriber, sequence: number, data: JsonText, made: Made): DiffEntry {
  const changed = changedIn(data, subscriber)
  return { ...entryOf(subscriber, sequence, made), kind: 'erasure', data, replaces: false, changed }
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
