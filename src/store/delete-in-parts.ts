/** Deletes many rows of an actor. SQLite runs a statement without a pause, so other work runs between those for the parts. */
import { setImmediate } from 'node:timers/promises'
import type { Param, Transaction } from './store.ts'

const rowsOfStatement = 500
const bytesOfStatement = 4_194_304

/** The rows of a table that belong to an actor. */
export interface ManyRows {
  readonly table: string
  /** The columns of the key after the actor. */
  readonly key: string
  /** The size of a row in bytes, as SQL. */
  readonly size: string
  /** Default: all rows of the actor. */
  readonly where?: string
}

/** @param params `$1` is the actor; the others are those of `where`. */
export async function deleteInParts(
  tx: Transaction,
  { table, key, size, where = 'true' }: ManyRows,
  ...params: readonly Param[]
): Promise<void> {
  const deletePart = `/* delete */ DELETE FROM ${table} WHERE actor_id = $1 AND (${key}) IN (
      SELECT ${key} FROM (
        SELECT ${key}, SUM(size) OVER (ORDER BY ${key}) - size AS before FROM (
          SELECT ${key}, ${size} AS size FROM ${table} WHERE actor_id = $1 AND ${where}
          ORDER BY ${key} LIMIT ${rowsOfStatement}) AS page
      ) AS sized WHERE before < ${bytesOfStatement})`
  const findOne = `/* delete */ SELECT 1 AS found FROM ${table} WHERE actor_id = $1 AND ${where} LIMIT 1`
  // On PostgreSQL, a statement also deletes nothing when another transaction deleted the rows that it chose.
  do {
    while ((await tx.run(deletePart, ...params)) > 0) await setImmediate()
  } while ((await tx.get(findOne, ...params)) !== undefined)
}

/**
 * Deletes the rows of those of these tables that have many. Few rows are left to the cascade of the row that they belong to.
 *
 * @param params as for `deleteInParts`
 */
export async function deleteWhereMany(
  tx: Transaction,
  tables: readonly ManyRows[],
  ...params: readonly Param[]
): Promise<void> {
  const counts = tables.map(
    ({ table, size, where = 'true' }) =>
      `SELECT '${table}' AS name, COUNT(*) AS entries, COALESCE(SUM(size), 0) AS bytes
       FROM (SELECT ${size} AS size FROM ${table} WHERE actor_id = $1 AND ${where} LIMIT ${rowsOfStatement + 1}) AS ${table}_page`,
  )
  const large = await tx.all<{ name: string }>(
    `/* delete */ SELECT name FROM (${counts.join(' UNION ALL ')}) AS counted
     WHERE entries > ${rowsOfStatement} OR bytes > ${bytesOfStatement}`,
    ...params,
  )
  const names = new Set(large.map(({ name }) => name))
  for (const rows of tables) if (names.has(rows.table)) await deleteInParts(tx, rows, ...params)
}
