/** The statements of one transaction or snapshot. It rejects statements after its end. */
import type { LockedActor, Param, Transaction } from '../store.ts'
import { LOCK_ACTOR, requireActor } from '../lock-actor.ts'
import type { Connection } from './connection.ts'
import { translate, unavailable } from './failure.ts'
import type { WriterTurn } from './writer-turn.ts'

/** A statement that deletes what actors have stored, and one that stores more. */
const deletion = /^(?:\/\* [a-z ]+ \*\/ )?DELETE FROM (?:actor|property|list_item|attribute|file|history|activity)\b/
const addition = /^INSERT INTO (?:property|list_item|attribute|file)\b/

interface StatementsOptions {
  /** Whether `frees` is needed. Default: false. */
  readonly isWatched?: boolean
  /** Default: no statement waits for a later turn of the event loop. */
  readonly turn?: WriterTurn
  /** False: the statements fail with `tooLong` after many turns. Default: true. */
  readonly mayBeLong?: boolean
}

/** The failure of a job that must run again as the first one of a transaction. */
export const tooLong = unavailable('The change is too long to share a transaction')

export class Statements implements Transaction {
  readonly isSharded = false
  readonly origin: string
  readonly #connection: Connection
  readonly #isWatched: boolean
  readonly #turn: WriterTurn | undefined
  readonly #mayBeLong: boolean
  #over = false
  #deletes = false
  #adds = false
  #failed = false
  #failure: unknown

  constructor(
    connection: Connection,
    origin = '',
    { isWatched = false, turn, mayBeLong = true }: StatementsOptions = {},
  ) {
    this.origin = origin
    this.#connection = connection
    this.#isWatched = isWatched
    this.#turn = turn
    this.#mayBeLong = mayBeLong
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    try {
      this.#requireUsable()
      this.#note(sql)
      const rows = this.#connection.all<R>(sql, params)
      return this.#turn?.settle(rows, rows.length, params) ?? Promise.resolve(rows)
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    try {
      this.#requireUsable()
      this.#note(sql)
      const row = this.#connection.get<R>(sql, params)
      return this.#turn?.settle(row, 1, params) ?? Promise.resolve(row)
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    try {
      this.#requireUsable()
      this.#note(sql)
      const changed = this.#connection.run(sql, params)
      return this.#turn?.settle(changed, changed, params) ?? Promise.resolve(changed)
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  lockActor(actorId: string): LockedActor {
    return requireActor(this.#connection.get<LockedActor>(LOCK_ACTOR, [actorId]))
  }

  /** Writes a page without changing anything. (An UPDATE to the same value would write no page.) */
  touch(): void {
    this.#connection.control('PRAGMA user_version = 0')
  }

  /** Whether the transaction deletes what actors have stored, and stores nothing for them. */
  get frees(): boolean {
    return this.#deletes && !this.#adds
  }

  /** The error of the statement that failed first, as SQLite raised it. */
  get failure(): unknown {
    return this.#failure
  }

  /**
   * Ends the transaction. As on PostgreSQL, a failed statement fails the whole transaction, even when `work` caught the error.
   */
  finish(): void {
    this.close()
    if (this.#failed) throw this.#failure
  }

  close(): void {
    this.#over = true
  }

  #note(sql: string): void {
    if (!this.#isWatched) return
    this.#deletes ||= deletion.test(sql.trimStart())
    this.#adds ||= addition.test(sql.trimStart())
  }

  #requireUsable(): void {
    if (this.#over) throw new Error('Cannot run a statement: the transaction is over')
    if (this.#failed) throw this.#failure
    if (!this.#mayBeLong && this.#turn?.isLongJob === true) throw tooLong
  }

  /** Keeps SQLite's first error for the end of the transaction, and returns the translated error. */
  #fail(error: unknown): unknown {
    if (!this.#failed && !this.#over) {
      this.#failed = true
      this.#failure = error
    }
    return translate(error)
  }
}
