/** Migrations on PostgreSQL: one transaction each, under an advisory lock shared by all processes of the service. */
import pg from 'pg'
import type { MigrationTarget } from '../migrate.ts'
import { compile } from '../portable.ts'
import { StoreStartError } from '../start-error.ts'

/** Key of the advisory lock: "troupe" in ASCII, which other programs are unlikely to use. */
const LOCK = '128017593888869'

export function migrationTarget(client: pg.Client): MigrationTarget {
  return {
    dialect: 'postgres',
    async exclusively(step) {
      await client.query('BEGIN')
      try {
        // The lock ends with the transaction, so a killed process does not keep it.
        await client.query("SET LOCAL lock_timeout = '60s'")
        await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
        const result = await step({
          script: async (text) => {
            await client.query(text)
          },
          all: async <R extends object>(sql: string, ...params: (string | number | null)[]) =>
            (await client.query<R>(compile(sql, 'postgres').text, params)).rows,
          run: async (sql, ...params) => (await client.query(compile(sql, 'postgres').text, params)).rowCount ?? 0,
        })
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {})
        if (error instanceof StoreStartError) throw error
        const said = error instanceof Error ? error.message : String(error)
        throw new StoreStartError(
          error instanceof pg.DatabaseError && error.code === '55P03'
            ? 'Cannot migrate the database: another process has held the migration lock for a minute.'
            : `Cannot migrate the database: ${said}.`,
          error,
        )
      }
    },
  }
}
