/** The statements of one transaction or snapshot. It rejects statements after its end. */
import type { LockedActor, Param, Transaction } from '../store.ts'
import { LOCK_ACTOR, requireActor } from '../lock-actor.ts'
import type { Connection } from './connection.ts'
import { translate } from './failure.ts'

export class Statements implements Transaction {
  readonly isSharded = false
  readonly origin: string
  readonly #connection: Connection
  #over = false
  #failed = false
  #failure: unknown

  constructor(connection: Connection, origin = '') {
    this.origin = origin
    this.#connection = connection
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    try {
      this.#requireUsable()
      return Promise.resolve(this.#connection.all<R>(sql, params))
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    try {
      this.#requireUsable()
      return Promise.resolve(this.#connection.get<R>(sql, params))
    } catch (error) {
      return Promise.reject(this.#fail(error))
    }
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    try {
      this.#requireUsable()
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
