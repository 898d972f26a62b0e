/** Translates each statement once and names it, so that each connection parses and plans it once. */
import { compile } from '../portable.ts'
import type { Param, QueryObserver } from '../store.ts'

/** Maximum number of named statements, because the server keeps each one until its connection closes. */
const MAX_NAMED = 1_000

export interface Statement {
  readonly name?: string
  readonly text: string
  readonly parameters: number
  /** Whether the statement is a plain SELECT, which changes nothing even outside a transaction. */
  readonly reads: boolean
}

export class StatementCache {
  readonly #observe: QueryObserver | undefined
  readonly #named = new Map<string, Statement>()

  constructor(observe: QueryObserver | undefined) {
    this.#observe = observe
  }

  /** @throws Error when the number of parameters is wrong, which is a bug. */
  find(sql: string, params: readonly Param[]): Statement {
    const named = this.#named.get(sql) ?? this.#add(sql)
    if (params.length !== named.parameters)
      throw new Error(`The statement takes ${named.parameters} parameters, not ${params.length}: ${sql}`)
    this.#observe?.(sql)
    return named
  }

  #add(sql: string): Statement {
    const compiled = compile(sql, 'postgres')
    const statement = { ...compiled, reads: /^\s*SELECT\b/i.test(compiled.text) }
    if (this.#named.size >= MAX_NAMED) return statement
    const named = { name: `s${this.#named.size}`, ...statement }
    this.#named.set(sql, named)
    return named
  }
}
