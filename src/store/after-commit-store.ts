/** Runs callbacks after a transaction is durable. The transaction itself registers them. */
import type { AfterCommit, Follow, LockedActor, Store, Transaction, WriteOptions } from './store.ts'

/**
 * A store whose transactions accept after-commit callbacks. A failed or repeated attempt discards its callbacks. The write
 * resolves after all callbacks have.
 */
export class AfterCommitStore implements Store {
  readonly #inner: Store
  readonly #follows = new WeakMap<Transaction, Follow[]>()

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

  async writeActor<T>(
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
