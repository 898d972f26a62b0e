/** Whether Citus distributes the tables over servers (`troupe scale init`). */
import type pg from 'pg'

export async function isDistributed(client: pg.Client, schema: string): Promise<boolean> {
  const catalog = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)
  if (catalog.rowCount === 0) return false
  const found = await client.query(
    `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass($1) AND partmethod = 'h'`,
    [`"${schema}".actor`],
  )
  return found.rowCount === 1
}
