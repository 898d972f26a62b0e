/**
 * Writes the diffs of changes that wait, behind the response of the change (docs/decisions/050): right after its commit, and
 * by polling, those that a process left that has died.
 */
import { DuePoller } from '../due-poller.ts'
import { isTemporary, ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { AfterCommitStore, WaitingWork } from '../store/after-commit-store.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import type { Publisher } from './publisher.ts'
import { bringChangesForward, findActorsWithChanges, findDueChange, scheduleChanges } from './waiting-store.ts'

interface WaitingChangesDeps {
  readonly store: AfterCommitStore
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly publisher: Pick<Publisher, 'writeWaiting'>
}

/** Subscriptions per transaction: a change of the actor waits for one transaction at most. */
const mostPerTransaction = 250
/** When more diffs of an actor wait, its next change waits too. */
const mostWaiting = 20_000
/** Actors per look. */
const mostActors = 64
const retryMs = 5000

export class WaitingChanges implements WaitingWork {
  readonly #deps: WaitingChangesDeps
  readonly #poller: DuePoller

  constructor(deps: WaitingChangesDeps) {
    this.#deps = deps
    this.#poller = new DuePoller(
      deps,
      {
        name: 'changes',
        longestMs: retryMs,
        find: findDueChange,
        bringForward: bringChangesForward,
        claim: () => this.#writeDue(),
        dueActors: findActorsWithChanges,
        bringActorForward: (tx, actorId, _latest, now) => scheduleChanges(tx, actorId, now),
        claimOf: (actorId) => this.#writeTurns([actorId]),
        hasRoom: () => true,
      },
      'Cannot look for waiting changes; the next poll tries again',
    )
  }

  /** Looks for waiting changes now. A sharded database is asked for those of this actor. */
  readonly wake = (actorId?: string): void => this.#poller.wake(actorId)

  /** Resolves when the current look has ended. */
  stop(): Promise<void> {
    return this.#poller.stop()
  }

  settled(): Promise<void> {
    return this.#poller.settled()
  }

  /** Returns when the next waiting change is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null> {
    return this.#poller.nextDue()
  }

  isFull({ subscriptionCount, waitingChanges }: LockedActor): boolean {
    return subscriptionCount * (waitingChanges + 1) > mostWaiting
  }

  async catchUp(actorId: string): Promise<boolean> {
    try {
      while (await this.#writeSome(actorId));
      return true
    } catch (error) {
      if (isTemporary(error) || isGone(error)) throw error
      this.#deps.log.error({ error, actorId }, 'Cannot write the diffs of a change; the service tries again')
      return false
    }
  }

  async finish(tx: Transaction, { id }: LockedActor): Promise<void> {
    await this.#deps.publisher.writeWaiting(tx, id, Number.MAX_SAFE_INTEGER)
  }

  /** One transaction. Resolves with true when changes may be left. */
  #writeSome(actorId: string): Promise<boolean> {
    const { store, publisher } = this.#deps
    return store.writeBehind(actorId, (tx) => publisher.writeWaiting(tx, actorId, mostPerTransaction))
  }

  async #writeDue(): Promise<boolean> {
    const { store, now } = this.#deps
    const found = await store.read((q) =>
      q.all<{ actorId: string }>(...findActorsWithChanges(now(), Number.MAX_SAFE_INTEGER, mostActors)),
    )
    const isLeft = await this.#writeTurns(found.map(({ actorId }) => actorId))
    if (found.length === mostActors) this.wake()
    return isLeft
  }

  /** The actors take turns, one transaction each. Resolves with false: a failed actor has a later due time. */
  async #writeTurns(actorIds: readonly string[]): Promise<boolean> {
    const waiting = [...actorIds]
    for (let actorId = waiting.shift(); actorId !== undefined && !this.#poller.isStopping; actorId = waiting.shift()) {
      try {
        if (await this.#writeSome(actorId)) waiting.push(actorId)
      } catch (error) {
        if (!isGone(error)) await this.#putOff(actorId, error)
      }
    }
    return false
  }

  async #putOff(actorId: string, error: unknown): Promise<void> {
    const { store, now, log } = this.#deps
    log.error({ error, actorId }, 'Cannot write the diffs of a change; the service tries again')
    await store.write((tx) => scheduleChanges(tx, actorId, now() + retryMs))
  }
}

/** The actor was deleted meanwhile. */
function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'actor_not_found'
}
