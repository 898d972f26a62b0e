/** Finishes the work of earlier changes of an actor before a write that must see it. */
import { AfterCommitStore } from './after-commit-store.ts'
import type { LockedActor, Transaction } from './store.ts'

/** The work that earlier changes of an actor left behind their responses (publication/waiting-changes.ts). */
export interface WaitingWork {
  /** Whether so much waits that a further change must wait too. */
  isFull(actor: LockedActor): boolean
  /** Does the work in transactions of its own. False: it cannot be done now, and nothing may wait for it. */
  catchUp(actorId: string): Promise<boolean>
  /** Does the work in this transaction. */
  finish(tx: Transaction, actor: LockedActor): Promise<void>
}

/** After so many attempts, work that waits again is done in the transaction of the write. */
const maxCatchUps = 2

/** A store whose writes to an actor wait for the work of earlier changes. Before `connect`, no write waits. */
export class CatchUpStore extends AfterCommitStore {
  #waitingWork: WaitingWork | null = null

  /** Sets the work that writes to an actor wait for, once, while the service is assembled. */
  connect(work: WaitingWork): void {
    if (this.#waitingWork !== null) throw new Error('Cannot connect the waiting work: it is already connected')
    this.#waitingWork = work
  }

  /** Finishes the work of earlier changes first, so that `work` meets the subscriptions and rights as they were then. */
  override writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#afterWaiting(actorId, work, origin, () => true)
  }

  /** Like `writeActor`, for a change of data. Earlier changes may still wait. */
  changeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#afterWaiting(actorId, work, origin, (actor) => this.#waitingWork?.isFull(actor) === true)
  }

  /** Like `writeActor`, for the waiting work itself. It waits for no other work. */
  writeBehind<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return super.writeActor(actorId, work, origin)
  }

  async #afterWaiting<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin: string | undefined,
    mustWait: (actor: LockedActor) => boolean,
  ): Promise<T> {
    const waiting = this.#waitingWork
    if (waiting === null) return this.writeBehind(actorId, work, origin)
    let left = maxCatchUps
    for (let isStuck = false; ; ) {
      const done = await this.writeBehind(
        actorId,
        async (tx, actor) => {
          if (actor.waitingChanges > 0 && !isStuck && mustWait(actor)) {
            if (left > 0) return null
            await waiting.finish(tx, actor)
          }
          return { result: await work(tx, actor) }
        },
        origin,
      )
      if (done !== null) return done.result
      left -= 1
      isStuck = !(await waiting.catchUp(actorId))
    }
  }
}
