/**
 * Builds the indexes of lists that are older than the declaration of the index. It works in the background and in batches, so that
 * neither the event loop nor the actor waits. Changes of the list maintain the index from the first batch on. A start or
 * another process continues an unfinished build when a query needs the index.
 */
import { setImmediate } from 'node:timers/promises'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store, Transaction } from '../store/store.ts'
import { findMarks, findUnindexed, insertIndexed, setMark } from './index-store.ts'
import type { ListAddress } from './list-address.ts'
import { OpenList } from './open-list.ts'

/** Items per transaction. */
const batchItems = 500

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
        isMore = await this.#deps.store.writeActor(at.actorId, (tx) => buildBatch(tx, at, fields))
        await setImmediate()
      }
    } catch (error) {
      this.#deps.log.warn({ error, list: at.list }, 'Cannot build an index of a list; the next query will retry')
    }
  }
}

/** Indexes the next items. False when the indexes of all fields are complete, or the list does not exist. */
async function buildBatch(tx: Transaction, at: ListAddress, fields: readonly string[]): Promise<boolean> {
  const list = await OpenList.find(tx, at)
  if (list === null) return false
  const added = fields.filter((field) => !list.indexes.includes(field))
  if (added.length > 0) {
    await list.addIndexes(tx, added)
    for (const field of added) await setMark(tx, at, field, list.firstItem)
    return true
  }
  const marks = await findMarks(tx, at, fields)
  const from = Math.min(...marks.values())
  const behind = [...marks].filter(([, next]) => next === from).map(([field]) => field)
  if (behind.length === 0) return false
  const items = await findUnindexed(tx, at, Math.max(from, list.firstItem), batchItems)
  await insertIndexed(
    tx,
    at,
    behind,
    items.map(({ item, value }) => [item, value] as const),
  )
  const last = items.at(-1)
  const next = items.length < batchItems || last === undefined ? null : last.item + 1
  for (const field of behind) await setMark(tx, at, field, next)
  return true
}
