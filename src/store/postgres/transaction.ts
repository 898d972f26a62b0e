/** One transaction on one connection. */
import { control, sendControl } from './send.ts'
import type { Statement } from './statement-cache.ts'
import { PostgresStatements, type PostgresStatementsDeps } from './statements.ts'

export class PostgresTransaction extends PostgresStatements {
  readonly #begun: Promise<void>
  #hasBegun = false
  /** True when a statement waits for BEGIN, so that all later statements wait too. */
  #holding = false

  /** @param begin The statement that begins the transaction. */
  constructor(begin: string, deps: PostgresStatementsDeps) {
    super(deps)
    this.#begun = new Promise((resolve) => {
      sendControl(deps.client, begin, (error) => {
        if (error) this.fail(error)
        this.#hasBegun = true
        resolve()
      })
    })
  }

  /** Sends `SAVEPOINT` or the like. When it fails, the transaction cannot commit. */
  control(sql: string): void {
    sendControl(this.client, sql, (error) => {
      if (error) this.fail(error)
    })
  }

  /** Returns the statements of one change in this transaction. */
  statements(origin: string | undefined): PostgresStatements {
    return new PostgresStatements({ client: this.client, cache: this.cache, origin, isSharded: this.isSharded })
  }

  /**
   * Commits, and resolves once the change is durable. Throws the error of a failed statement even if `work` caught it, because
   * PostgreSQL would silently answer COMMIT with ROLLBACK.
   */
  async commit(): Promise<void> {
    this.finish()
    await this.#begun
    if (this.failed) throw this.failure
    const result = await control(this.client, 'COMMIT')
    if (result.command === 'COMMIT') return
    // A control statement that was sent before the COMMIT failed.
    if (this.failed) throw this.failure
    throw new Error('The database rolled the transaction back')
  }

  async rollback(): Promise<void> {
    this.finish()
    // A statement that still waits for BEGIN would otherwise run after ROLLBACK, outside the transaction.
    this.fail(new Error('Cannot run a statement: the transaction was rolled back'))
    await control(this.client, 'ROLLBACK')
  }

  protected override whenReady(statement: Statement, ask: () => void): void {
    // A write must wait until BEGIN has succeeded: otherwise it could run outside the transaction.
    if (this.#hasBegun || (statement.reads && !this.#holding)) {
      ask()
      return
    }
    this.#holding = true
    void this.#begun.then(ask)
  }
}
