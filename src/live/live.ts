/**
 * Lets pages and clients watch the changes of an actor, made by any process. Changes have numbers in the order of their
 * commits. They are stored for some minutes, and only while the actor is watched. A process polls all its watched
 * actors with one statement.
 */
import { Poller } from '../poller.ts'
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
  | 'trust'
  | 'subscriptions'
  | 'sessions'
  | 'approvals'
  | 'tasks'
  /** Announced by the application: the tools, prompts or resources that AI clients are offered have changed. */
  | 'tools'
  | 'prompts'
  | 'resources'
  /** One resource of the application, by its URI. */
  | 'resource'

/** The name of what changed, without the value. Each reader fetches the value with its own rights. */
export interface LiveChange extends Omit<NumberedChange, 'actorId' | 'category'> {
  readonly category: LiveCategory
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
/** Limit of changes that wait for one watcher. A watcher that exceeds it is ended, so that its client starts again. */
const mostWaiting = 1000

interface Watch {
  readonly actorId: string
  seen: number
  readonly waiting: LiveChange[]
  wake: (() => void) | null
  isReleased: boolean
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
    names: readonly string[],
  ): Promise<void> {
    const now = this.#deps.now()
    if (actor.watchedUntil < now || names.length === 0) return
    const distinct = [...new Set(names)].map((name) => [category, name] as const)
    await insertChanges(tx, actor.id, distinct, now)
    this.#deps.afterCommit(tx, this.#wake)
  }

  /** Announces a change that is not part of a transaction. @throws ServiceError `actor_not_found` */
  announce(actorId: string, category: LiveCategory, name: string): Promise<void> {
    return this.#deps.store.writeActor(actorId, (tx, actor) => this.record(tx, actor, category, [name]))
  }

  /**
   * Yields changes from now on, in batches, until the signal aborts or the service stops. Yields nothing when the actor
   * does not exist.
   */
  async *watch(actorId: string, signal: AbortSignal, onBegun?: () => void): AsyncGenerator<readonly LiveChange[]> {
    const { store, now } = this.#deps
    const seen = await store.write((tx) => beginWatching(tx, actorId, now() + watchMs))
    if (seen === null) return
    const watch: Watch = { actorId, seen, waiting: [], wake: null, isReleased: false }
    const wake = (): void => watch.wake?.()
    signal.addEventListener('abort', wake)
    this.#watches.add(watch)
    this.#poller.schedule(pollMs)
    onBegun?.()
    try {
      while (!signal.aborted && !this.#poller.isStopping && !watch.isReleased) {
        if (watch.waiting.length > 0) yield watch.waiting.splice(0)
        else
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
    const seen = new Map<string, number>()
    for (const { actorId, seen: number } of this.#watches) {
      seen.set(actorId, Math.min(number, seen.get(actorId) ?? Number.POSITIVE_INFINITY))
    }
    const found = await store.read((q) => findChanges(q, seen))
    for (const { actorId, category, ...change } of found) {
      for (const watch of this.#watches) {
        if (watch.actorId !== actorId || change.number <= watch.seen) continue
        watch.seen = change.number
        if (watch.waiting.length < mostWaiting) {
          watch.waiting.push({ ...change, category: category as LiveCategory })
        } else {
          watch.isReleased = true
          watch.waiting.length = 0
          this.#watches.delete(watch)
        }
        watch.wake?.()
      }
    }
    if (now() - this.#renewedAt < renewMs) return
    this.#renewedAt = now()
    await store.write(async (tx) => {
      await keepWatching(tx, [...seen.keys()], now() + watchMs)
      await deleteChangesBefore(tx, now() - keepMs)
    })
  }
}
