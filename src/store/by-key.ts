/**
 * Statements about several keys. A sharded database routes a statement to the servers of its keys only when the statement
 * names them, each on its own or in an array.
 */
import type { Param, Queries, Transaction } from './store.ts'

/** Builds the condition that a column is one of the keys. */
export type NamedKeys = (column: string) => string

/**
 * Runs `ask` for the keys, such as the ids of actors. `ask` puts `params` first and its own parameters after them, from `$2`
 * on. A database runs the statement without keys too, so that the number of statements does not depend on the data.
 */
export async function byKey<R>(
  q: Queries,
  keys: readonly string[],
  ask: (named: NamedKeys, params: readonly Param[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const [only] = keys
  if (keys.length === 1 && only !== undefined) return [...(await ask(isOne, [only]))]
  if (q.isSharded) return [...(await (only === undefined ? ask(isNone, ['']) : ask(isInArray, [arrayText(keys)])))]
  return [...(await ask(isAmong, [JSON.stringify(keys.map((id) => [id]))]))]
}

/**
 * Like `byKey`, for a change. A sharded database runs one statement for each key, in the order of the keys: servers that
 * change rows of several keys at once could wait for each other.
 */
export async function changeByKey<R>(
  tx: Transaction,
  keys: readonly string[],
  change: (named: NamedKeys, params: readonly Param[]) => Promise<readonly R[]>,
): Promise<R[]> {
  if (!tx.isSharded) return byKey(tx, keys, change)
  const results: R[] = []
  for (const key of [...new Set(keys)].toSorted()) results.push(...(await change(isOne, [key])))
  return results
}

const isOne: NamedKeys = (column) => `${column} = $1`
const isAmong: NamedKeys = (column) => `${column} IN (SELECT key FROM rows($1, key TEXT) AS named)`
/** A sharded database asks no server for this condition. It asks all servers for an empty array. */
const isNone: NamedKeys = (column) => `${column} = $1 AND FALSE`
/** A sharded database asks only the servers of the keys in an array. It asks all servers for the keys of a join. */
const isInArray: NamedKeys = (column) => `${column} = ANY($1::text[])`

/** An array of PostgreSQL, as text. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
}

/**
 * Runs `ask` once for all rows on a plain database, with null, and once for the rows of each actor on a sharded database.
 * There the statement names the actor on each table, besides the join with the rows.
 */
export async function byActor<T, R>(
  q: Queries,
  rows: readonly T[],
  actorOf: (row: T) => string,
  ask: (rows: readonly T[], actorId: string | null) => Promise<readonly R[]>,
): Promise<R[]> {
  if (!q.isSharded) return [...(await ask(rows, null))]
  const results: R[] = []
  for (const [actorId, own] of Map.groupBy(rows, actorOf)) results.push(...(await ask(own, actorId)))
  return results
}

/** A row for `rows(…)` whose first column is the actor. */
export type ActorRow = readonly (string | number | null)[]

export function firstOf(row: ActorRow): string {
  return String(row[0])
}

/** Like `byActor`, for a change with rows that begin with the actor. Without rows, it runs nothing. */
export async function runByActor(
  tx: Queries,
  rows: readonly ActorRow[],
  run: (rows: readonly ActorRow[], actorId: string | null) => Promise<number>,
): Promise<void> {
  if (rows.length > 0) await byActor(tx, rows, firstOf, async (own, only) => [await run(own, only)])
}

/** The condition that a column is the actor, or nothing without an actor, and its parameter. */
export function naming(actorId: string | null, column: string, place: number): { sql: string; params: string[] } {
  return actorId === null ? { sql: '', params: [] } : { sql: ` AND ${column} = $${place}`, params: [actorId] }
}
