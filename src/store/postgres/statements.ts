/** The statements of one change on the connection of its transaction. */
import type pg from 'pg'
import { LOCK_ACTOR, requireActor } from '../lock-actor.ts'
import type { LockedActor, Param, Transaction } from '../store.ts'
import { translate } from './failure.ts'
import { type StatementResult, send } from './send.ts'
import type { Statement, StatementCache } from './statement-cache.ts'

export interface PostgresStatementsDeps {
  readonly client: pg.Client
  readonly cache: StatementCache
  /** `Transaction.origin` */
  readonly origin?: string | undefined
  /** `Queries.isSharded` */
  readonly isSharded: boolean
}

export class PostgresStatements implements Transaction {
  readonly isSharded: boolean
  readonly origin: string
  protected readonly client: pg.Client
  protected readonly cache: StatementCache
  #keepsActor = true
  #pending = 0
  #answered: (() => void) | undefined
  #over = false
  #failed = false
  #failure: unknown

  constructor({ client, cache, origin = '', isSharded }: PostgresStatementsDeps) {
    this.client = client
    this.cache = cache
    this.origin = origin
    this.isSharded = isSharded
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

  get failed(): boolean {
    return this.#failed
  }

  /** The driver's error of the first failed statement. */
  get failure(): unknown {
    return this.#failure
  }

  /** Whether the locked row of the actor is still current after these statements. */
  get keepsActor(): boolean {
    return this.#keepsActor
  }

  /** Makes all later statements fail, including statements that still wait to be sent. Only the first error counts. */
  fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#failure = error
  }

  /** Accepts no further statement. */
  finish(): void {
    this.#over = true
  }

  /** Resolves when every statement has its answer, also those that `work` did not wait for. */
  async answered(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#answered = resolve))
  }

  /** Sends a statement now or later. */
  protected whenReady(_statement: Statement, ask: () => void): void {
    ask()
  }

  #ask<T>(sql: string, params: Param[], pick: (result: StatementResult) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over) throw new Error('Cannot run a statement: the transaction is over')
      if (this.#failed) throw translate(this.#failure)
      const statement = this.cache.find(sql, params)
      this.#keepsActor &&= statement.keepsActor
      this.#pending += 1
      this.whenReady(statement, () => {
        if (this.#failed) {
          reject(translate(this.#failure))
          this.#count()
          return
        }
        send(this.client, statement, params, (error, result) => {
          if (error) this.fail(error)
          if (this.#failed) reject(translate(this.#failure))
          else resolve(pick(result))
          this.#count()
        })
      })
    })
  }

  #count(): void {
    this.#pending -= 1
    if (this.#pending === 0) this.#answered?.()
  }
}
