/** Runs callbacks after a transaction is durable. The transaction itself registers them. */
import type { AfterCommit, Follow, LockedActor, Transaction, WriteOptions } from './store.ts'
import { WrappedStore } from './wrapped-store.ts'

/**
 * A store whose transactions accept after-commit callbacks. A failed or repeated attempt discards its callbacks. The write
 * resolves after all callbacks have.
 */
export class AfterCommitStore extends WrappedStore {
  readonly #follows = new WeakMap<Transaction, Follow[]>()

  readonly afterCommit: AfterCommit = (tx, follow) => {
    const follows = this.#follows.get(tx)
    if (follows === undefined)
      throw new Error('Cannot register an after-commit callback: the transaction is over or belongs to another store')
    follows.push(follow)
  }

  override async write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T> {
    let follows: Follow[] = []
    const result = await super.write((tx) => {
      this.#follows.set(tx, (follows = []))
      return work(tx)
    }, how)
    await run(follows)
    return result
  }

  override async writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    let follows: Follow[] = []
    const result = await super.writeActor(
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
}

async function run(follows: readonly Follow[]): Promise<void> {
  for (const follow of follows) await follow()
}
