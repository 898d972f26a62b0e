/** Migrations on PostgreSQL: one transaction each, under an advisory lock shared by all processes of the service. */
import pg from 'pg'
import type { MigrationTarget } from '../migrate.ts'
import { compile } from '../portable.ts'
import { StoreStartError } from '../start-error.ts'
import { withoutForeignKeys } from '../schema-text.ts'
import { lackOfCreation, prepareSchema, type SchemaDeps, searchPath } from './database-schema.ts'
import { isDistributed } from './sharding.ts'

/** Key of the advisory lock: "troupe" in ASCII, which other programs are unlikely to use. */
const LOCK = '128017593888869'
/** `lock_not_available` and `insufficient_privilege`, by PostgreSQL's table of error codes. */
const [LOCK_TIMEOUT, NOT_PERMITTED] = ['55P03', '42501']

export function migrationTarget(client: pg.Client, schema: SchemaDeps): MigrationTarget {
  return {
    dialect: 'postgres',
    async exclusively(step) {
      await client.query('BEGIN')
      try {
        // The lock ends with the transaction, so a killed process does not keep it.
        await client.query("SET LOCAL lock_timeout = '60s'")
        await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
        await client.query(searchPath(schema.schema))
        await prepareSchema(client, schema)
        const result = await step({
          script: async (text) => {
            await client.query((await isDistributed(client, schema.schema)) ? withoutForeignKeys(text) : text)
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
        throw new StoreStartError(await sentenceFor(error, client, schema), error)
      }
    },
  }
}

async function sentenceFor(error: unknown, client: pg.Client, schema: SchemaDeps): Promise<string> {
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  if (code === LOCK_TIMEOUT)
    return 'Cannot migrate the database: another process has held the migration lock for a minute.'
  const lacking = code === NOT_PERMITTED ? await lackOfCreation(client, schema) : null
  return lacking ?? `Cannot migrate the database: ${error instanceof Error ? error.message : String(error)}.`
}
