/**
 * Runs callbacks after a transaction is durable. The transaction itself registers them. Also finishes the work of earlier
 * changes of an actor before a write that must see it.
 */
import type { AfterCommit, Follow, LockedActor, Store, Transaction, WriteOptions } from './store.ts'

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
const mostCatchUps = 2

/**
 * A store whose transactions accept after-commit callbacks. A failed or repeated attempt discards its callbacks. The write
 * resolves after all callbacks have.
 */
export class AfterCommitStore implements Store {
  readonly #inner: Store
  readonly #follows = new WeakMap<Transaction, Follow[]>()
  #waitingWork: WaitingWork | null = null

  constructor(inner: Store) {
    this.#inner = inner
  }

  get dialect(): Store['dialect'] {
    return this.#inner.dialect
  }

  get now(): Store['now'] {
    return this.#inner.now
  }

  get isSharded(): boolean {
    return this.#inner.isSharded
  }

  readonly afterCommit: AfterCommit = (tx, follow) => {
    const follows = this.#follows.get(tx)
    if (follows === undefined)
      throw new Error('Cannot register an after-commit callback: the transaction is over or belongs to another store')
    follows.push(follow)
  }

  read: Store['read'] = (work) => this.#inner.read(work)
  snapshot: Store['snapshot'] = (work) => this.#inner.snapshot(work)
  sweep: Store['sweep'] = (sql, ...params) => this.#inner.sweep(sql, ...params)

  async write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T> {
    let follows: Follow[] = []
    const result = await this.#inner.write((tx) => {
      this.#follows.set(tx, (follows = []))
      return work(tx)
    }, how)
    await run(follows)
    return result
  }

  /** Sets the work that writes to an actor wait for, once, while the service is assembled. */
  connect(work: WaitingWork): void {
    this.#waitingWork = work
  }

  /** Finishes the work of earlier changes first, so that `work` meets the subscriptions and rights as they were then. */
  writeActor<T>(
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

  async #afterWaiting<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin: string | undefined,
    mustWait: (actor: LockedActor) => boolean,
  ): Promise<T> {
    const waiting = this.#waitingWork
    if (waiting === null) return this.writeBehind(actorId, work, origin)
    let left = mostCatchUps
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

  /** Like `writeActor`, for the waiting work itself. It waits for no other work. */
  async writeBehind<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    let follows: Follow[] = []
    const result = await this.#inner.writeActor(
      actorId,
      (tx, actor) => {
        this.#follows.set(tx, (follows = []))
        return work(tx, actor)
      },
      origin,
    )
    await run(follows)
    return result
  }

  ping: Store['ping'] = () => this.#inner.ping()
  close: Store['close'] = () => this.#inner.close()
}

async function run(follows: readonly Follow[]): Promise<void> {
  for (const follow of follows) await follow()
}
