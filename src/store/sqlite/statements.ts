/** The statements of one transaction or snapshot. It rejects statements after its end. */
import type { LockedActor, Param, Transaction } from '../store.ts'
import { LOCK_ACTOR, requireActor } from '../lock-actor.ts'
import type { Connection } from './connection.ts'
import { translate } from './failure.ts'

/** A statement that deletes what actors have stored, and one that stores more. */
const deletion = /^(?:\/\* [a-z ]+ \*\/ )?DELETE FROM (?:actor|property|list_item|attribute|file|history|activity)\b/
const addition = /^INSERT INTO (?:property|list_item|attribute|file)\b/

export class Statements implements Transaction {
  readonly isSharded = false
  readonly origin: string
  readonly #connection: Connection
  readonly #isWatched: boolean
  #over = false
  #deletes = false
  #adds = false
  #failed = false
  #failure: unknown

  /** @param isWatched Whether `frees` is needed. */
  constructor(connection: Connection, origin = '', isWatched = false) {
    this.origin = origin
    this.#connection = connection
    this.#isWatched = isWatched
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    try {
      this.#requireUsable()
      this.#note(sql)
      return Promise.resolve(this.#connection.all<R>(sql, params))
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    try {
      this.#requireUsable()
      this.#note(sql)
      return Promise.resolve(this.#connection.get<R>(sql, params))
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    try {
      this.#requireUsable()
      this.#note(sql)
      return Promise.resolve(this.#connection.run(sql, params))
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
