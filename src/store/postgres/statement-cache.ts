/** Texts translated once and named, so that each connection parses and plans them once. */
import { compile } from '../portable.ts'
import type { Param, QueryObserver } from '../store.ts'

/** A server keeps a named statement as long as its connection lives, so their number is bounded. Later texts have none. */
const MAX_NAMED = 1_000

export interface Statement {
  readonly name?: string
  readonly text: string
  readonly parameters: number
  /** It changes nothing, even outside a transaction. */
  readonly reads: boolean
}

export class StatementCache {
  readonly #observe: QueryObserver | undefined
  readonly #named = new Map<string, Statement>()

  constructor(observe: QueryObserver | undefined) {
    this.#observe = observe
  }

  /** @throws Error when the number of parameters is wrong, which is a mistake of ours. */
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
