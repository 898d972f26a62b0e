/**
 * The statements that find rows with a due time, for every table that has such rows. The claim of the rows, which differs from
 * table to table, stays with the table.
 */
import type { ShardedWork } from './due-search.ts'
import { naming } from '../store/by-key.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'

export interface DueTable {
  /** A table with the columns `actor_id` and `due_at`: Unix milliseconds, or null for a row that is not due. */
  readonly table: string
  /** Begins each statement, so that logs and tests tell background work apart. */
  readonly comment: string
  /** Only the rows whose column `kind` has this value. Default: all rows. */
  readonly kind?: string
}

/** The earliest and the latest due time, in Unix milliseconds. */
export interface DueTimes {
  readonly next: number
  readonly last: number
}

interface DueHandling {
  /** Claims and handles due rows, of one actor or of all. Resolves with true when due rows may be left. */
  readonly claim: (actorId: string | null) => Promise<boolean>
  /** `ShardedWork.name` */
  readonly name: string
  /** `DueWork.longestMs` */
  readonly longestMs: number
  /** `ShardedWork.hasCapacity`. Default: always. */
  readonly hasCapacity?: () => boolean
}

export class DueRows {
  readonly #table: string
  readonly #comment: string
  readonly #kind: readonly string[]
  /** A condition with the first parameter. */
  readonly #only: string

  constructor({ table, comment, kind }: DueTable) {
    this.#table = table
    this.#comment = comment
    this.#kind = kind === undefined ? [] : [kind]
    this.#only = kind === undefined ? '' : 'kind = $1 AND '
  }

  /** Null: no row is due at any time. */
  async find(q: Queries): Promise<DueTimes | null> {
    const rows = `FROM ${this.#table} WHERE ${this.#only}due_at IS NOT NULL`
    const row = await q.get<{ next: number | null; last: number | null }>(
      `/* ${this.#comment} */ SELECT (SELECT MIN(due_at) ${rows}) AS next, (SELECT MAX(due_at) ${rows}) AS last`,
      ...this.#kind,
    )
    const { next = null, last = null } = row ?? {}
    return next === null || last === null ? null : { next, last }
  }

  /** Returns the work of a `DuePoller` that finds the rows. */
  work({ claim, hasCapacity = () => true, name, longestMs }: DueHandling): Omit<ShardedWork, 'pollMs'> {
    return {
      name,
      longestMs,
      hasCapacity,
      find: (q) => this.find(q),
      dueActors: (until, latest, max) => this.actors(until, latest, max),
      bringForward: (tx, latest, now) => this.#bringForward(tx, latest, now, null),
      bringActorForward: (tx, actorId, latest, now) => this.#bringForward(tx, latest, now, actorId),
      claim: () => claim(null),
      claimOf: claim,
    }
  }

  /** The statement that finds up to `max` actors with rows that are due until `until`, or after `latest`. */
  actors(until: number, latest: number, max: number): [sql: string, ...params: Param[]] {
    const at = this.#kind.length
    return [
      `/* ${this.#comment} */ SELECT actor_id AS "actorId", MIN(due_at) AS next, MAX(due_at) AS last FROM ${this.#table}
       WHERE ${this.#only}(due_at <= $${at + 1} OR due_at > $${at + 2}) GROUP BY actor_id ORDER BY MIN(due_at)
       LIMIT $${at + 3}`,
      ...this.#kind,
      until,
      latest,
      max,
    ]
  }

  /** Makes the rows due now that are due after `latest`. */
  async #bringForward(tx: Transaction, latest: number, now: number, actorId: string | null): Promise<void> {
    const at = this.#kind.length
    const named = naming(actorId, 'actor_id', at + 3)
    await tx.run(
      `/* ${this.#comment} */ UPDATE ${this.#table} SET due_at = $${at + 2}
       WHERE ${this.#only}due_at > $${at + 1}${named.sql}`,
      ...this.#kind,
      latest,
      now,
      ...named.params,
    )
  }
}
