/** What a change leads to for those who listen: in its own transaction, in as many statements for one as for a thousand. */
import { currentContext } from '../observe/context.ts'
import type { Permission, Relation } from '../permission/permission.ts'
import { isObject, known, members, object } from '../json/json.ts'
import { type Change, type ChangeSink, namesIn } from '../property/change.ts'
import type { LockedActor, Queries, Transaction } from '../store/store.ts'
import { dropOldest, type Entry, findListeners, insertEntries, type Listener } from './diff-store.ts'
import { fit } from './project-diff.ts'
import { isTold } from '../subscription/scope.ts'
import { findSuspensions, type Suspension } from './suspension-store.ts'
import { type MayRead, type MayReadSome, maySeeAny, visiblePart } from './visibility.ts'

/** Numbers that have to be sent, once their transaction is durable. */
export type Announce = (tx: Transaction, actorId: string, entries: readonly Entry[]) => void

export interface PublisherParts {
  readonly permission: Permission
  readonly now: () => number
  /** How many numbers of a subscription are kept. */
  readonly maxDiffs: number
  readonly announce: Announce
}

export class Publisher {
  readonly #parts: PublisherParts

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  readonly sink: ChangeSink = async (tx, actor, changes) => {
    if (actor.listeners === 0) return
    const listeners = await findListeners(tx, actor.id, 'properties', { subtargets: namesIn(changes) })
    if (listeners.length === 0) return
    const [suspensions, mayRead] = await Promise.all([
      findSuspensions(tx, actor.id),
      this.#readers(tx, actor.id, listeners),
    ])
    const live = withoutSuspended(changes, suspensions)
    if (live.length === 0) return
    const now = this.#parts.now()
    const entries = listeners.flatMap((listener) => entriesFor(listener, live, mayRead(listener), now))
    await this.#write(tx, actor.id, entries, now)
  }

  /** One resync for every subscription that a resumed target concerns, and whose peer may see anything of it. */
  async resync(tx: Transaction, actorId: string, { target, subtarget }: Suspension): Promise<void> {
    const listeners = await findListeners(tx, actorId, target, subtarget === '' ? {} : { subtargets: [subtarget] })
    await this.#resyncListeners(tx, actorId, listeners, subtarget)
  }

  /**
   * One resync for every subscription of a peer that gets its rights back: changes of the meantime have no number. A
   * suspended subscription gets its resync when its target is resumed. Returns whether the peer has subscriptions.
   */
  async resyncPeer(tx: Transaction, actor: LockedActor, peerId: string): Promise<boolean> {
    if (actor.listeners === 0) return false
    const listeners = await findListeners(tx, actor.id, 'properties', { peerId })
    if (listeners.length === 0) return false
    const suspensions = await findSuspensions(tx, actor.id)
    const live = listeners.filter(({ target, subtarget }) => !isSuspended(suspensions, target, subtarget))
    await this.#resyncListeners(tx, actor.id, live, '')
    return true
  }

  async #resyncListeners(
    tx: Transaction,
    actorId: string,
    listeners: readonly Listener[],
    name: string,
  ): Promise<void> {
    if (listeners.length === 0) return
    const mayRead = await this.#readers(tx, actorId, listeners)
    const now = this.#parts.now()
    const entries = listeners
      .filter((listener) => maySeeAny(listener, name, mayRead(listener)))
      .map((listener) => ({
        ...entryOf(listener, listener.sequence + 1, now),
        kind: 'resync' as const,
        data: known('""'),
        replaces: false,
      }))
    await this.#write(tx, actorId, entries, now)
  }

  async #write(tx: Transaction, actorId: string, entries: readonly Entry[], now: number): Promise<void> {
    if (entries.length === 0) return
    await insertEntries(tx, actorId, entries, now, currentContext()?.hops ?? 0)
    await dropOldest(tx, this.#overfull(actorId, entries), now)
    this.#parts.announce(tx, actorId, entries)
  }

  /** Looked after every so many numbers only, so that the numbers between cost nothing. */
  #overfull(actorId: string, entries: readonly Entry[]): Parameters<typeof dropOldest>[1] {
    const { maxDiffs } = this.#parts
    const stride = Math.max(1, Math.floor(maxDiffs / 16))
    return entries
      .filter(({ sequence }) => sequence > maxDiffs && sequence % stride === 0)
      .map(({ peerId, subscriptionId, sequence }) => ({ actorId, peerId, subscriptionId, upTo: sequence - maxDiffs }))
  }

  async #readers(
    q: Queries,
    actorId: string,
    listeners: readonly Listener[],
  ): Promise<(listener: Listener) => MayReadSome> {
    const relationOf = ({ peerId, relationship, approved }: Listener): Relation => ({
      actorId,
      caller: { kind: 'peer', peerId, relationship, approved, via: 'bearer' },
    })
    const judgeOf = await this.#parts.permission.judgeMany(
      q,
      [...new Map(listeners.map((listener) => [listener.peerId, relationOf(listener)])).values()],
      { category: 'properties', right: 'read' },
    )
    return (listener) => {
      const judge = judgeOf(relationOf(listener))
      return (path, isPrefix) => judge(path, isPrefix).allowed
    }
  }
}

/** What a peer may not see at all gets no number, so that nobody waits for it. */
function entriesFor(listener: Listener, changes: readonly Change[], mayRead: MayRead, now: number): Entry[] {
  const entries: Entry[] = []
  for (const change of changes) {
    const fitted = fit(change, listener)
    const data = fitted === null ? null : visiblePart(fitted.data, listener, mayRead)
    if (fitted === null || data === null) continue
    const { replaces } = fitted
    entries.push({ ...entryOf(listener, listener.sequence + entries.length + 1, now), kind: 'diff', data, replaces })
  }
  return entries
}

function entryOf(
  { peerId, subscriptionId, granularity, isStopped, openUntil }: Listener,
  sequence: number,
  now: number,
): Omit<Entry, 'kind' | 'data' | 'replaces'> {
  const isSent = isTold(granularity)
  const dueAt = isSent && !isStopped ? Math.max(now, openUntil ?? 0) : null
  return { peerId, subscriptionId, sequence, isTold: isSent, dueAt }
}

/** A suspended target covers its subtargets; of a bulk write what is not suspended remains. */
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
