/**
 * Lets pages and clients watch the changes of an actor, made by any process. Changes have numbers in the order of their
 * commits. They are stored for some minutes, and only while the actor is watched. A process polls all its watched
 * actors with one statement.
 */
import { Poller } from '../due/poller.ts'
import type { Timers } from '../timers.ts'
import type { Log } from '../observe/log.ts'
import type { AfterCommit, LockedActor, Store, Transaction } from '../store/store.ts'
import {
  beginWatching,
  deleteChangesBefore,
  findChanges,
  insertChanges,
  keepWatching,
  type NumberedChange,
} from './change-store.ts'

export type LiveCategory =
  | 'properties'
  | 'files'
  | 'trust'
  | 'subscriptions'
  /** The copy of a peer's data, by the id of the peer. */
  | 'remote'
  | 'sessions'
  | 'approvals'
  | 'tasks'
  /** The progress of the import of an archive. */
  | 'import'
  /** A move to another service, or from one. */
  | 'move'
  /** Announced by the application: the tools, prompts or resources that AI clients are offered have changed. */
  | 'tools'
  | 'prompts'
  | 'resources'
  /** One resource of the application, by its URI. */
  | 'resource'

/** The name of what changed, without the value unless the detail has it. Each reader fetches the value with its own rights. */
export interface LiveChange extends Omit<NumberedChange, 'actorId' | 'category'> {
  readonly category: LiveCategory
}

/** A change to record: its name, or its name with a JSON object of what changed. */
export type RecordedChange = string | { readonly name: string; readonly detail: string }

/** A change of a subscription, with the peer of the relationship. */
export function subscriptionChange(subscriptionId: string, peerId: string): RecordedChange {
  return { name: subscriptionId, detail: JSON.stringify({ peerid: peerId }) }
}

export interface LiveDeps {
  readonly store: Store
  readonly afterCommit: AfterCommit
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
}

/** Maximum delay until a change by another process is noticed. */
const pollMs = 1000
const watchMs = 90_000
const renewMs = 30_000
const keepMs = 300_000
/** Limits of changes that wait for one watcher. A watcher that exceeds them is ended, so that its client starts again. */
const maxWaiting = 1000
const maxWaitingCharacters = 262_144

interface Watch {
  readonly actorId: string
  seen: number
  /** Changes are recorded until then, in Unix milliseconds. */
  until: number
  readonly waiting: LiveChange[]
  waitingCharacters: number
  wake: (() => void) | null
  isReleased: boolean
}

export interface Watching {
  /** The number of the latest change before the watch. Every change with a higher number follows. */
  readonly number: number
  /** True when the watch continues after the change that the caller named, without a gap. */
  readonly isResumed: boolean
  /** Yields changes in batches until the signal aborts, changes were missed, or the service stops. Read it once. */
  readonly changes: (signal: AbortSignal) => AsyncGenerator<readonly LiveChange[]>
  /** Ends a watch whose changes are never read. */
  readonly end: () => void
}

export class Live {
  readonly #deps: LiveDeps
  readonly #watches = new Set<Watch>()
  readonly #poller: Poller
  #renewedAt = 0

  constructor(deps: LiveDeps) {
    this.#deps = deps
    this.#poller = new Poller(deps.timers, () => this.#look())
  }

  /** Records a change in its transaction, with the actor's row locked. Runs no statement while the actor is not watched. */
  async record(
    tx: Transaction,
    actor: Pick<LockedActor, 'id' | 'watchedUntil'>,
    category: LiveCategory,
    changes: readonly RecordedChange[],
  ): Promise<void> {
    const now = this.#deps.now()
    if (actor.watchedUntil < now || changes.length === 0) return
    const rows = [...new Set(changes)].map((change) =>
      typeof change === 'string'
        ? ([category, change, ''] as const)
        : ([category, change.name, change.detail] as const),
    )
    await insertChanges(tx, actor.id, rows, now)
    this.#deps.afterCommit(tx, this.#wake)
  }

  /** Announces a change that is not part of a transaction. @throws ServiceError `actor_not_found` */
  announce(actorId: string, category: LiveCategory, change: RecordedChange): Promise<void> {
    return this.#deps.store.writeActor(actorId, (tx, actor) => this.record(tx, actor, category, [change]))
  }

  /**
   * Yields changes from now on, in batches, until the signal aborts, changes were missed, or the service stops. Yields
   * nothing when the actor does not exist.
   */
  async *watch(actorId: string, signal: AbortSignal, onBegun?: () => void): AsyncGenerator<readonly LiveChange[]> {
    const watching = await this.begin(actorId)
    if (watching === null) return
    onBegun?.()
    yield* watching.changes(signal)
  }

  /**
   * Begins to watch. Null: the actor does not exist.
   *
   * @param after Continues after the change with this number, if the later changes are still stored.
   */
  async begin(actorId: string, after: number | null = null): Promise<Watching | null> {
    const { store, now } = this.#deps
    const time = { now: now(), until: now() + watchMs }
    const number = await store.write((tx) => beginWatching(tx, actorId, time))
    if (number === null) return null
    const watch: Watch = {
      actorId,
      seen: number,
      until: time.until,
      waiting: [],
      waitingCharacters: 0,
      wake: null,
      isReleased: false,
    }
    this.#watches.add(watch)
    this.#poller.schedule(pollMs)
    let isResumed = false
    try {
      const missed = after === null ? null : await this.#missed(actorId, after, number)
      isResumed = missed !== null
      watch.waiting.unshift(...(missed ?? []))
    } catch (error) {
      this.#watches.delete(watch)
      throw error
    }
    return {
      number,
      isResumed,
      changes: (signal) => this.#changesOf(watch, signal),
      end: () => void this.#watches.delete(watch),
    }
  }

  /** Reads the changes after one number up to another. Null: some of them were not recorded, or are no longer stored. */
  async #missed(actorId: string, after: number, upTo: number): Promise<readonly LiveChange[] | null> {
    const count = upTo - after
    if (count === 0) return []
    if (count < 0 || count > maxWaiting) return null
    const found = await this.#deps.store.read((q) => findChanges(q, new Map([[actorId, after]])))
    const missed = found.filter(({ number }) => number <= upTo)
    return missed.length === count ? missed.map(changeOf) : null
  }

  async *#changesOf(watch: Watch, signal: AbortSignal): AsyncGenerator<readonly LiveChange[]> {
    const wake = (): void => watch.wake?.()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted && !this.#poller.isStopping && !watch.isReleased) {
        if (watch.waiting.length > 0) {
          watch.waitingCharacters = 0
          yield watch.waiting.splice(0)
        } else
          await new Promise<void>((resolve) => {
            watch.wake = resolve
          })
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#watches.delete(watch)
    }
  }

  stop(): void {
    void this.#poller.stop()
    for (const watch of this.#watches) watch.wake?.()
  }

  async settled(): Promise<void> {
    await this.#poller.looking
  }

  readonly #wake = (): void => {
    if (this.#watches.size > 0) this.#poller.wake()
  }

  /** Polls for changes. Stops polling while this process watches no actor. */
  async #look(): Promise<number | null> {
    if (this.#watches.size === 0) return null
    try {
      await this.#collect()
    } catch (error) {
      this.#deps.log.warn({ error }, 'Cannot read recent changes; the next poll tries again')
    }
    return this.#watches.size === 0 ? null : pollMs
  }

  async #collect(): Promise<void> {
    const { store, now } = this.#deps
    // This process was suspended for so long that changes may not have been recorded.
    for (const watch of this.#watches) if (watch.until < now()) this.#release(watch)
    const seen = new Map<string, number>()
    for (const { actorId, seen: number } of this.#watches) {
      seen.set(actorId, Math.min(number, seen.get(actorId) ?? Number.POSITIVE_INFINITY))
    }
    const found = await store.read((q) => findChanges(q, seen))
    for (const change of found) {
      for (const watch of this.#watches) {
        if (watch.actorId === change.actorId && change.number > watch.seen) this.#give(watch, change)
      }
    }
    await this.#renew([...seen.keys()])
  }

  #give(watch: Watch, change: NumberedChange): void {
    const isNext = change.number === watch.seen + 1
    watch.seen = change.number
    watch.waitingCharacters += change.detail.length
    if (!isNext || watch.waiting.length >= maxWaiting || watch.waitingCharacters > maxWaitingCharacters) {
      this.#release(watch)
      return
    }
    watch.waiting.push(changeOf(change))
    watch.wake?.()
  }

  /** Ends a watch that missed changes. Its client begins again and reads everything. */
  #release(watch: Watch): void {
    watch.isReleased = true
    watch.waiting.length = 0
    this.#watches.delete(watch)
    watch.wake?.()
  }

  /** Deletes the records of changes that no stream can miss any longer. */
  async deleteOld(): Promise<void> {
    const before = this.#deps.now() - keepMs
    await this.#deps.store.write((tx) => deleteChangesBefore(tx, before))
  }

  async #renew(actorIds: readonly string[]): Promise<void> {
    const { store, now } = this.#deps
    if (now() - this.#renewedAt < renewMs) return
    this.#renewedAt = now()
    const time = { now: now(), until: now() + watchMs }
    const watches = [...this.#watches].filter(({ actorId }) => actorIds.includes(actorId))
    await store.write(async (tx) => {
      await keepWatching(tx, actorIds, time)
      await deleteChangesBefore(tx, time.now - keepMs)
    })
    for (const watch of watches) watch.until = Math.max(watch.until, time.until)
  }
}

function changeOf({ actorId: _actorId, category, ...change }: NumberedChange): LiveChange {
  return { ...change, category: category as LiveCategory }
}
