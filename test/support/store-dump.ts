/** Reads all data of a store, so that a test can check that a request changed nothing. */
import type { Store } from '../../src/store/store.ts'

/** The rows of each table as JSON strings, sorted. */
export type Dump = Readonly<Record<string, readonly string[]>>

const turn = /^{"key":"[a-z ]+ \d"/

/**
 * Returns whether a row is the turn of a search over a sharded database (src/due-search.ts). Processes take turns also
 * without a request.
 */
export function isTurn(table: string, row: string): boolean {
  return table === 'rate_limit' && turn.test(row)
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
          .map((row) => JSON.stringify(row))
          .filter((row) => !isTurn(name, row))
          .sort(),
      ]),
    )
  })
}

/** Returns the rows of one actor. */
export function rowsOf(dump: Dump, actorId: string): Dump {
  const isOfActor = (row: string): boolean => {
    const { id, actor_id: owner } = JSON.parse(row) as { id?: unknown; actor_id?: unknown }
    return (owner ?? id) === actorId
  }
  return Object.fromEntries(Object.entries(dump).map(([table, rows]) => [table, rows.filter(isOfActor)]))
}
