/** A connection to the file. It prepares each statement once, runs it synchronously and throws SQLite's own errors. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { compile } from '../portable.ts'
import type { Param, QueryObserver } from '../store.ts'

/** Maximum number of prepared statements. It exceeds the number in the service; beyond it, the oldest is evicted. */
const MAX_STATEMENTS = 1_000

interface Prepared {
  /** Returns each row as an array. */
  readonly statement: StatementSync
  readonly parameters: number
  readonly columns: readonly string[]
}

export class Connection {
  readonly database: DatabaseSync
  readonly #observe: QueryObserver | undefined
  readonly #closed: () => void
  readonly #prepared = new Map<string, Prepared>()

  constructor(database: DatabaseSync, observe: QueryObserver | undefined, closed: () => void) {
    this.database = database
    this.#observe = observe
    this.#closed = closed
  }

  all<R extends object>(sql: string, params: Param[]): R[] {
    const { statement, columns } = this.#ready(sql, params)
    const rows = statement.all(...bound(params)) as unknown as SQLOutputValue[][]
    return rows.map((values) => rowOf<R>(columns, values))
  }

  get<R extends object>(sql: string, params: Param[]): R | undefined {
    const { statement, columns } = this.#ready(sql, params)
    const values = statement.get(...bound(params)) as unknown as SQLOutputValue[] | undefined
    return values === undefined ? undefined : rowOf<R>(columns, values)
  }

  run(sql: string, params: Param[]): number {
    const { statement } = this.#ready(sql, params)
    return Number(statement.run(...bound(params)).changes)
  }

  /** Runs BEGIN, SAVEPOINT and the like, without notifying the observer. */
  control(sql: string): void {
    this.#prepare(sql).statement.run()
  }

  /** The pages of the database, as the open transaction leaves it. */
  pageCount(): number {
    return Number((this.#prepare('PRAGMA page_count').statement.get() as unknown as SQLOutputValue[])[0])
  }

  get inTransaction(): boolean {
    return this.database.isOpen && this.database.isTransaction
  }

  close(): void {
    if (!this.database.isOpen) return
    this.#prepared.clear()
    this.database.close()
    this.#closed()
  }

  #ready(sql: string, params: Param[]): Prepared {
    const prepared = this.#prepared.get(sql) ?? this.#prepare(sql)
    // SQLite would treat a missing parameter as NULL.
    if (params.length !== prepared.parameters)
      throw new Error(`The statement takes ${prepared.parameters} parameters, not ${params.length}: ${sql}`)
    this.#observe?.(sql)
    return prepared
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const { text, parameters } = compile(sql, 'sqlite')
    const statement = this.database.prepare(text)
    statement.setReturnArrays(true)
    const prepared = { statement, parameters, columns: statement.columns().map(({ name }) => name) }
    if (this.#prepared.size >= MAX_STATEMENTS) {
      for (const oldest of this.#prepared.keys()) {
        this.#prepared.delete(oldest)
        break
      }
    }
    this.#prepared.set(sql, prepared)
    return prepared
  }
}

/**
 * Converts integers to bigint. `node:sqlite` binds a number as REAL, so `$1 / 2` and `$1 || ''` would differ from PostgreSQL.
 * The array is the rest parameter of one call, so it may be changed in place.
 */
function bound(params: Param[]): SQLInputValue[] {
  const values: SQLInputValue[] = params
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (typeof value === 'number' && Number.isSafeInteger(value)) values[index] = BigInt(value)
  }
  return values
}

/**
 * Builds a row from the array that `node:sqlite` returns. A row that `node:sqlite` returns as an object takes 60 bytes of
 * V8's old generation. Only a full collection frees them: 60 MB for a list of a million items.
 */
function rowOf<R extends object>(columns: readonly string[], values: readonly SQLOutputValue[]): R {
  const row: Record<string, SQLOutputValue | undefined> = {}
  // The iterator of `columns.entries()` would take half of the time of this function.
  for (let index = 0; index < columns.length; index++) row[columns[index] ?? ''] = values[index]
  return row as R
}
