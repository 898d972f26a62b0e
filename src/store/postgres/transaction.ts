/** The statements of one transaction on one connection. */
import type pg from 'pg'
import { LOCK_ACTOR, requireActor } from '../lock-actor.ts'
import type { LockedActor, Param, Transaction } from '../store.ts'
import { translate } from './failure.ts'
import { control, type StatementResult, send, sendControl } from './send.ts'
import type { StatementCache } from './statement-cache.ts'

export interface Begin {
  /** The statement that begins the transaction. */
  readonly begin: string
  /** `Transaction.origin` */
  readonly origin?: string | undefined
  /** `Queries.isSharded` */
  readonly isSharded: boolean
}

export class PostgresTransaction implements Transaction {
  readonly isSharded: boolean
  readonly origin: string
  readonly #client: pg.Client
  readonly #cache: StatementCache
  readonly #begun: Promise<void>
  #hasBegun = false
  /** True when a statement waits for BEGIN, so that all later statements wait too. */
  #holding = false
  #over = false
  #failed = false
  #failure: unknown

  constructor(client: pg.Client, cache: StatementCache, { begin, origin = '', isSharded }: Begin) {
    this.isSharded = isSharded
    this.origin = origin
    this.#client = client
    this.#cache = cache
    this.#begun = new Promise((resolve) => {
      sendControl(client, begin, (error) => {
        if (error) this.#fail(error)
        this.#hasBegun = true
        resolve()
      })
    })
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.#ask(sql, params, (result) => result.rows as R[])
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    return this.#ask(sql, params, (result) => result.rows[0] as R | undefined)
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    return this.#ask(sql, params, (result) => result.rowCount ?? 0)
  }

  async lockActor(actorId: string): Promise<LockedActor> {
    return requireActor(await this.get<LockedActor>(LOCK_ACTOR, actorId))
  }

  /** The driver's error of the first failed statement. */
  get failure(): unknown {
    return this.#failure
  }

  /**
   * Commits, and resolves once the change is durable. Throws the error of a failed statement even if `work` caught it, because
   * PostgreSQL would silently answer COMMIT with ROLLBACK.
   */
  async commit(): Promise<void> {
    this.#over = true
    await this.#begun
    if (this.#failed) throw this.#failure
    const result = await control(this.#client, 'COMMIT')
    if (result.command !== 'COMMIT') throw new Error('The database rolled the transaction back')
  }

  async rollback(): Promise<void> {
    this.#over = true
    // A statement that still waits for BEGIN would otherwise run after ROLLBACK, outside the transaction.
    this.#fail(new Error('Cannot run a statement: the transaction was rolled back'))
    await control(this.#client, 'ROLLBACK')
  }

  #ask<T>(sql: string, params: Param[], pick: (result: StatementResult) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over) throw new Error('Cannot run a statement: the transaction is over')
      if (this.#failed) throw translate(this.#failure)
      const statement = this.#cache.find(sql, params)
      const ask = (): void => {
        if (this.#failed) {
          reject(translate(this.#failure))
          return
        }
        send(this.#client, statement, params, (error, result) => {
          if (error) this.#fail(error)
          if (this.#failed) reject(translate(this.#failure))
          else resolve(pick(result))
        })
      }
      // A write must wait until BEGIN has succeeded: otherwise it could run outside the transaction.
      if (this.#hasBegun || (statement.reads && !this.#holding)) {
        ask()
        return
      }
      this.#holding = true
      void this.#begun.then(ask)
    })
  }

  #fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#failure = error
  }
}
