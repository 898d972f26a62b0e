/** Migrations on PostgreSQL: one transaction each, under an advisory lock shared by all processes of the service. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { MigrationStatements, MigrationTarget } from '../migrate.ts'
import { compile } from '../portable.ts'
import { StoreStartError } from '../start-error.ts'
import { withoutForeignKeys } from '../schema-text.ts'
import { lackOfCreation, prepareSchema, type SchemaDeps, searchPath } from './database-schema.ts'
import { isDistributed } from './sharding.ts'

/** Key of the advisory lock: "troupe" in ASCII, which other programs are unlikely to use. */
const LOCK = '128017593888869'
/** `lock_not_available` and `insufficient_privilege`, by PostgreSQL's table of error codes. */
const [LOCK_TIMEOUT, NOT_PERMITTED] = ['55P03', '42501']

/** Pause between two attempts of a script, in milliseconds. The statements that waited behind the attempt then run. */
const pauseMs = 1000
/** Time for which a script is attempted, in milliseconds. */
const defaultPatienceMs = 60_000

/** Another transaction holds a lock on a table that a script changes. */
class TablesInUseError extends StoreStartError {}

/** @param patienceMs Time for which a script is attempted while another transaction uses its tables. Default: a minute. */
export function migrationTarget(
  client: pg.Client,
  schema: SchemaDeps,
  patienceMs = defaultPatienceMs,
): MigrationTarget {
  return {
    dialect: 'postgres',
    async exclusively(step) {
      const beganAt = performance.now()
      for (;;) {
        try {
          return await attempt(client, schema, step)
        } catch (error) {
          if (!(error instanceof TablesInUseError) || performance.now() - beganAt >= patienceMs) throw error
          await pause(pauseMs)
        }
      }
    },
  }
}

async function attempt<T>(
  client: pg.Client,
  schema: SchemaDeps,
  step: (statements: MigrationStatements) => Promise<T>,
): Promise<T> {
  await client.query('BEGIN')
  try {
    // The lock ends with the transaction, so a killed process does not keep it.
    await client.query("SET LOCAL lock_timeout = '60s'")
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
    await client.query(searchPath(schema.schema))
    await prepareSchema(client, schema)
    const result = await step({
      script: (text) => runScript(client, schema, text),
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
}

/** @throws TablesInUseError */
async function runScript(client: pg.Client, { schema }: SchemaDeps, text: string): Promise<void> {
  const script = (await isDistributed(client, schema)) ? withoutForeignKeys(text) : text
  // While ALTER TABLE waits for a transaction that reads the table, all later statements on the table wait behind it.
  await client.query("SET LOCAL lock_timeout = '2s'")
  try {
    await client.query(script)
  } catch (error) {
    if (!hasCode(error, LOCK_TIMEOUT)) throw error
    throw new TablesInUseError(
      'Cannot migrate the database: another transaction, such as a backup, uses the tables; start again when it has ended.',
      error,
    )
  }
}

function hasCode(error: unknown, code: string | undefined): boolean {
  return error instanceof pg.DatabaseError && error.code === code
}

async function sentenceFor(error: unknown, client: pg.Client, schema: SchemaDeps): Promise<string> {
  if (hasCode(error, LOCK_TIMEOUT))
    return 'Cannot migrate the database: another process has held the migration lock for a minute.'
  const lacking = hasCode(error, NOT_PERMITTED) ? await lackOfCreation(client, schema) : null
  return lacking ?? `Cannot migrate the database: ${error instanceof Error ? error.message : String(error)}.`
}
