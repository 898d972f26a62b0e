/**
 * Builds the indexes of lists that are older than the declaration of the index, or than the version of their items. It works
 * in the background and in batches, so that neither the event loop nor the actor waits. Changes of the list maintain the
 * index from the first batch on. A start or another process continues an unfinished build when a query needs the index.
 */
import { setImmediate } from 'node:timers/promises'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { ListAddress } from './list-address.ts'
import { keepUpBatch } from './list-upkeep.ts'

export interface ListIndexesDeps {
  readonly store: Pick<Store, 'writeActor'>
  readonly log: Log
}

export class ListIndexes {
  readonly #deps: ListIndexesDeps
  readonly #building = new Map<string, Promise<void>>()
  #isStopping = false

  constructor(deps: ListIndexesDeps) {
    this.#deps = deps
  }

  /** Starts to build the indexes of these fields, unless this process builds indexes of the list already. */
  build(at: ListAddress, fields: readonly string[]): void {
    const key = JSON.stringify([at.actorId, at.list])
    if (this.#isStopping || this.#building.has(key)) return
    const built = runInBackground(() => this.#run(at, fields)).finally(() => this.#building.delete(key))
    this.#building.set(key, built)
  }

  /** Stops after the current batches. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.settled()
  }

  /** Resolves when no build runs. */
  async settled(): Promise<void> {
    while (this.#building.size > 0) await Promise.all(this.#building.values())
  }

  async #run(at: ListAddress, fields: readonly string[]): Promise<void> {
    try {
      let isMore = true
      while (isMore && !this.#isStopping) {
        isMore = (await this.#deps.store.writeActor(at.actorId, (tx) => keepUpBatch(tx, at, fields))).isMore
        await setImmediate()
      }
    } catch (error) {
      this.#deps.log.warn({ error, list: at.list }, 'Cannot build an index of a list; the next query will retry')
    }
  }
}
