/** Reads all data of a store, so that a test can check that a request changed nothing. */
import type { Store } from '../../src/store/store.ts'
import { bound } from './stores.ts'

/** The rows of each table as JSON strings, sorted. */
export type Dump = Readonly<Record<string, readonly string[]>>

const turn = /^{"key":"[a-z ]+ \d"/

/**
 * Returns whether a row is the turn of a search over a sharded database (src/due/due-search.ts). Processes take turns also
 * without a request.
 */
export function isTurn(table: string, row: string): boolean {
  return table === 'rate_limit' && turn.test(row)
}

/** A replacer of `JSON.stringify`. The last use of a passphrase is stored behind any later request. */
export function withoutUse(column: string, value: unknown): unknown {
  return column === 'basic_used_at' ? undefined : value
}

/** Dumps every table. The database lists its tables, so a new table is included without a change here. */
export async function dumpStore(store: Store): Promise<Dump> {
  return store.snapshot(async (q) => {
    const tables = await q.all<{ name: string }>(
      `SELECT name FROM
       /*sqlite: sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' */
       /*postgres: (SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'troupe') AS tables */
       ORDER BY name`,
    )
    // Sent together: a test may dump the store hundreds of times.
    const all = await Promise.all(tables.map(({ name }) => q.all<object>(`SELECT * FROM ${name}`)))
    return Object.fromEntries(
      tables.map(({ name }, n) => [
        name,
        (all[n] ?? [])
          .map((row) => JSON.stringify(row, withoutUse))
          .filter((row) => !isTurn(name, row))
          .sort(),
      ]),
    )
  })
}

/** Dumps a store, and reads it again only when a write has begun or ended since the last dump. */
export class StoreDumps {
  #store: Store | undefined
  #last: { readonly dump: Promise<Dump>; readonly writes: number } | undefined
  /** The number of writes that began, and of those that ended. */
  writes = 0

  /** `wrapStore` of the service. */
  readonly wrap = (store: Store): Store => {
    this.#store = store
    return {
      ...bound(store),
      write: (work, how) => this.#count(store.write(work, how)),
      writeActor: (actorId, work, origin) => this.#count(store.writeActor(actorId, work, origin)),
    }
  }

  dump(): Promise<Dump> {
    const store = this.#store
    if (store === undefined) throw new Error('The service has not started yet')
    if (this.#last?.writes !== this.writes) this.#last = { dump: dumpStore(store), writes: this.writes }
    return this.#last.dump
  }

  async #count<T>(work: Promise<T>): Promise<T> {
    this.writes += 1
    try {
      return await work
    } finally {
      this.writes += 1
    }
  }
}

/** Returns the rows of one actor. */
export function rowsOf(dump: Dump, actorId: string): Dump {
  const isOfActor = (row: string): boolean => {
    const { id, actor_id: owner } = JSON.parse(row) as { id?: unknown; actor_id?: unknown }
    return (owner ?? id) === actorId
  }
  return Object.fromEntries(Object.entries(dump).map(([table, rows]) => [table, rows.filter(isOfActor)]))
}
