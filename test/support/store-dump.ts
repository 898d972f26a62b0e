/** Everything that a store holds, so that a test can say: this request changed nothing. */
import type { Store } from '../../src/store/store.ts'

/** Table to rows, each as JSON text, in an order of their own. */
export type Dump = Readonly<Record<string, readonly string[]>>

/** The tables come from the database itself, so that a new one is part of every dump from its first day. */
export async function dumpStore(store: Store): Promise<Dump> {
  return store.snapshot(async (q) => {
    const tables = await q.all<{ name: string }>(
      `SELECT name FROM
       /*sqlite: sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' */
       /*postgres: (SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public') AS tables */
       ORDER BY name`,
    )
    const dump: Record<string, string[]> = {}
    for (const { name } of tables) {
      const rows = await q.all<object>(`SELECT * FROM ${name}`)
      dump[name] = rows.map((row) => JSON.stringify(row)).sort()
    }
    return dump
  })
}

/** The rows of one actor. */
export function rowsOf(dump: Dump, actorId: string): Dump {
  const isOfActor = (row: string): boolean => {
    const { id, actor_id: owner } = JSON.parse(row) as { id?: unknown; actor_id?: unknown }
    return (owner ?? id) === actorId
  }
  return Object.fromEntries(Object.entries(dump).map(([table, rows]) => [table, rows.filter(isOfActor)]))
}
