/** Returns the free space of the tables to the file system. */
import type pg from 'pg'
import { StoreStartError } from '../start-error.ts'
import { databaseAddress } from './pooler.ts'
import { requireReachable } from './start.ts'

/**
 * Vacuums every table of the schema, while the service runs. PostgreSQL then uses the free space again, and returns the part
 * at the end of each table.
 *
 * @param isFull Writes each table again, so that all free space returns. Every access to the table waits meanwhile.
 * @returns the size of the tables and their indexes before and after, in bytes.
 * @throws StoreStartError
 */
export async function compactPostgres(
  url: string,
  schema: string,
  isFull: boolean,
): Promise<{ readonly before: number; readonly after: number }> {
  const { client } = await requireReachable(databaseAddress(url), { timeoutMs: 10_000, waitMs: 0, log: () => {} })
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
       WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' ORDER BY oid`,
      [client.escapeIdentifier(schema)],
    )
    const before = await sizeOf(client, schema)
    for (const { name } of rows) await client.query(`VACUUM (${isFull ? 'FULL, ' : ''}ANALYZE) ${name}`)
    return { before, after: await sizeOf(client, schema) }
  } catch (error) {
    throw new StoreStartError(
      `Cannot compact the database: ${error instanceof Error ? error.message : String(error)}.`,
      error,
    )
  } finally {
    await client.end()
  }
}

/** The bytes of all tables of a schema and of their indexes. Its parameter is the schema as an identifier. */
export const tableBytes = `/* usage */ SELECT CAST(COALESCE(SUM(pg_total_relation_size(oid)), 0) AS BIGINT) AS bytes FROM pg_class
  WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'`

async function sizeOf(client: pg.Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(tableBytes, [client.escapeIdentifier(schema)])
  return Number(rows[0]?.bytes ?? 0)
}
