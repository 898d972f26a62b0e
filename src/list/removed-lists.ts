/**
 * Deletes the rows of removed lists in the background, in batches. One statement for all rows would block the event loop
 * on SQLite and keep the actor's row locked. The next start, or another process, continues an unfinished deletion.
 */
import { setImmediate } from 'node:timers/promises'
import type { Cancel, Timers } from '../timers.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import { naming } from '../store/by-key.ts'
import type { Store, Transaction } from '../store/store.ts'

/** Rows per transaction. */
const batchRows = 500
/** Interval of the search for deletions that another process left unfinished, in milliseconds. */
const lookAgainMs = 600_000
const afterFailureMs = 5000
/** Actors per search of a sharded database. */
const maxFound = 500

export interface RemovedListsDeps {
  readonly store: Store
  readonly timers: Timers
  readonly log: Log
}

interface RemovedList {
  readonly actorId: string
  readonly list: string
  readonly nextItem: number
  readonly lastItem: number
  readonly lastNode: number
}

export class RemovedLists {
  readonly #deps: RemovedListsDeps
  #running: Promise<void> | undefined
  #isDue = false
  /** Actors of a sharded database whose lists this process has removed. */
  #actors = new Set<string>()
  #isStopping = false
  #cancelTimer: Cancel = () => {}

  constructor(deps: RemovedListsDeps) {
    this.#deps = deps
  }

  /**
   * Starts a deletion in the background. While one runs, the next follows it. On a sharded database, it concerns the lists
   * of the actor; without an actor, a search of all servers.
   */
  readonly wake = (actorId?: string): void => {
    if (this.#isStopping) return
    if (actorId !== undefined) this.#actors.add(actorId)
    this.#isDue = true
    if (this.#running !== undefined) return
    this.#cancelTimer()
    this.#running = runInBackground(() => this.#run()).finally(() => {
      this.#running = undefined
      if (this.#isDue) this.wake()
    })
  }

  /** Stops after the current batch. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelTimer()
    await this.#running
  }

  /** Deletes the rows of the actor's removed lists. Waits for rows that another process deletes at the same time. */
  deleteRowsOf(actorId: string): Promise<void> {
    return this.#deleteOf(actorId, 'wait')
  }

  /** Resolves when no deletion runs. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async #run(): Promise<void> {
    const { timers, log } = this.#deps
    let wait = lookAgainMs
    this.#isDue = false
    for (const actorId of await this.#takeActors()) {
      try {
        await this.#deleteOf(actorId, 'skip')
      } catch (error) {
        wait = afterFailureMs
        log.warn({ error }, 'Cannot delete rows of a removed list; the service will retry')
      }
    }
    if (!this.#isStopping) this.#cancelTimer = timers.setTimer(wait, () => this.wake())
  }

  /** Null: all actors, on a plain database. */
  async #takeActors(): Promise<readonly (string | null)[]> {
    const { store, log } = this.#deps
    const actors = [...this.#actors]
    this.#actors.clear()
    if (!store.isSharded) return [null]
    if (actors.length > 0) return actors
    try {
      const found = await store.readAllServers<{ actorId: string }>(
        '/* removed lists */ SELECT DISTINCT actor_id AS "actorId" FROM removed_list LIMIT $1',
        maxFound,
      )
      return found.map(({ actorId }) => actorId)
    } catch (error) {
      log.warn({ error }, 'Cannot search for rows of removed lists; the service will retry')
      return []
    }
  }

  async #deleteOf(actorId: string | null, held: HeldRows): Promise<void> {
    const { store } = this.#deps
    const named = naming(actorId, 'actor_id', 1)
    const hasRows = async (): Promise<boolean> => {
      const sql = `/* removed lists */ SELECT list FROM removed_list WHERE true${named.sql} LIMIT 1`
      return (await store.read((q) => q.get(sql, ...named.params))) !== undefined
    }
    let isMore = await hasRows()
    while (isMore && !this.#isStopping) {
      await setImmediate()
      const isDeleted = await store.write((tx) => deleteBatch(tx, actorId, held), { durability: 'relaxed' })
      // The statement that waited for a row finds none when the other process deleted it, although others may be left.
      if (!isDeleted) isMore = held === 'wait' && (await hasRows())
    }
  }
}

/** `wait`: wait for the rows that another process deletes. `skip`: leave them to that process. */
type HeldRows = 'skip' | 'wait'

/**
 * Deletes one batch, of the actor or, with null, of any actor. False when it found no rows. With `skip`, concurrent processes
 * work on different lists.
 */
async function deleteBatch(tx: Transaction, only: string | null, held: HeldRows): Promise<boolean> {
  const named = naming(only, 'actor_id', 1)
  const removed = await tx.get<RemovedList>(
    `/* removed lists */ SELECT actor_id AS "actorId", list, next_item AS "nextItem", last_item AS "lastItem",
       last_node AS "lastNode" FROM removed_list WHERE true${named.sql} LIMIT 1 FOR UPDATE${held === 'skip' ? ' SKIP LOCKED' : ''}`,
    ...named.params,
  )
  if (removed === undefined) return false
  const { actorId, list, nextItem, lastItem, lastNode } = removed
  const batch = await tx.get<{ last: number | null }>(
    `/* removed lists */ SELECT max(item) AS last FROM (SELECT item FROM list_item
       WHERE actor_id = $1 AND list = $2 AND item >= $3 AND item <= $4 ORDER BY item LIMIT ${batchRows}) AS batch`,
    actorId,
    list,
    nextItem,
    lastItem,
  )
  if (typeof batch?.last === 'number') {
    await tx.run(
      '/* removed lists */ DELETE FROM list_item WHERE actor_id = $1 AND list = $2 AND item >= $3 AND item <= $4',
      actorId,
      list,
      nextItem,
      batch.last,
    )
    await tx.run(
      '/* removed lists */ DELETE FROM list_index WHERE actor_id = $1 AND list = $2 AND item >= $3 AND item <= $4',
      actorId,
      list,
      nextItem,
      batch.last,
    )
    await tx.run(
      '/* removed lists */ UPDATE removed_list SET next_item = $3 WHERE actor_id = $1 AND list = $2',
      actorId,
      list,
      batch.last + 1,
    )
    return true
  }
  const nodes = await tx.run(
    `/* removed lists */ DELETE FROM list_node WHERE actor_id = $1 AND list = $2 AND node IN ARRAY (
       SELECT node FROM list_node WHERE actor_id = $1 AND list = $2 AND node <= $3 ORDER BY node LIMIT ${batchRows})`,
    actorId,
    list,
    lastNode,
  )
  if (nodes < batchRows) {
    await tx.run('/* removed lists */ DELETE FROM removed_list WHERE actor_id = $1 AND list = $2', actorId, list)
  }
  return true
}
