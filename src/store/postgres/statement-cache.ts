/** Translates each statement once and names it, so that each connection parses and plans it once. */
import { compile } from '../portable.ts'
import type { Param, QueryObserver } from '../store.ts'

/** Maximum number of statements to keep, because the server keeps each named one until its connection closes. */
const MAX_KNOWN = 1_000

export interface Statement {
  /** Undefined for a statement that is parsed and planned each time. */
  name?: string | undefined
  readonly text: string
  readonly parameters: number
  /** Whether the statement is a plain SELECT, which changes nothing even outside a transaction. */
  readonly reads: boolean
  /** Whether `LOCK_ACTOR` returns the same row after the statement as before. */
  readonly keepsActor: boolean
}

export class StatementCache {
  readonly #observe: QueryObserver | undefined
  readonly #known = new Map<string, Statement>()
  #names: boolean

  /** @param names False where a connection pooler would lose prepared statements. */
  constructor(observe: QueryObserver | undefined, names = true) {
    this.#observe = observe
    this.#names = names
  }

  /** @throws Error when the number of parameters is wrong, which is a bug. */
  find(sql: string, params: readonly Param[]): Statement {
    const statement = this.#known.get(sql) ?? this.#add(sql)
    if (params.length !== statement.parameters)
      throw new Error(`The statement takes ${statement.parameters} parameters, not ${params.length}: ${sql}`)
    this.#observe?.(sql)
    return statement
  }

  /** Stops the use of prepared statements, also for statements that were already found. */
  stopNaming(): void {
    this.#names = false
    for (const statement of this.#known.values()) statement.name = undefined
  }

  #add(sql: string): Statement {
    const compiled = compile(sql, 'postgres')
    const { text } = compiled
    const statement = { ...compiled, reads: /^\s*SELECT\b/i.test(text), keepsActor: keepsActor(text) }
    if (this.#known.size >= MAX_KNOWN) return statement
    const known = this.#names ? { name: `s${this.#known.size}`, ...statement } : statement
    this.#known.set(sql, known)
    return known
  }
}

/**
 * Tables whose changes never reach the row of an actor or its subscriptions, not even by a trigger or a foreign key, besides
 * the counts for quotas: `quota/quota-store.ts` knows that they are older.
 */
export const TABLES_APART: readonly string[] = ['property', 'list_node', 'list_item', 'list_index']

function keepsActor(text: string): boolean {
  const changes = text.matchAll(/\b(?:INSERT INTO|DELETE FROM|(?<!DO )UPDATE(?: ONLY)?|MERGE INTO)\s+(\w+)/gi)
  return [...changes].every(([, table = '']) => TABLES_APART.includes(table))
}
