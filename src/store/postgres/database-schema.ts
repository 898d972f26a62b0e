/** The schema that contains the tables of the service: its name, its creation, and the privileges that it needs. */
import type pg from 'pg'
import { StoreStartError } from '../start-error.ts'

export interface SchemaDeps {
  /** The name of the schema: lowercase letters, digits and underscores, so it needs no escape besides quotes. */
  readonly schema: string
  /** The names of the tables of the service. */
  readonly tables: readonly string[]
  /** Name of the database for messages. */
  readonly database: string
}

/** Truth values are numbers: 1 or 0. */
interface Privileges {
  readonly role: string
  readonly exists: number
  /** May create a schema in the database. */
  readonly createsSchemas: number
  /** May use the schema. 0 when it does not exist, like the next field. */
  readonly usesSchema: number
  readonly createsTables: number
}

export function searchPath(schema: string): string {
  return `SET LOCAL search_path TO "${schema}"`
}

/**
 * Creates the schema if it is missing, and checks that no other program has tables of the same names there. Runs inside
 * the transaction of a migration, whose search path is the schema.
 *
 * @throws StoreStartError that names the missing privilege, or the table of another program.
 */
export async function prepareSchema(client: pg.Client, deps: SchemaDeps): Promise<void> {
  const { schema, database } = deps
  const { role, exists, createsSchemas, usesSchema } = await privilegesOf(client, schema)
  if (exists === 0) {
    if (createsSchemas === 0)
      throw new StoreStartError(
        `Cannot use ${database}: the role "${role}" lacks the privilege CREATE on the database, and the schema "${schema}" does not exist.`,
      )
    await client.query(`CREATE SCHEMA "${schema}"`)
    return
  }
  if (usesSchema === 0)
    throw new StoreStartError(
      `Cannot use ${database}: the role "${role}" lacks the privilege USAGE on the schema "${schema}".`,
    )
  const foreign = await foreignTable(client, deps)
  if (foreign !== undefined)
    throw new StoreStartError(
      `Cannot use the schema "${schema}" of ${database}: it contains a table "${foreign}" of another program; set DATABASE_SCHEMA to a schema of this service alone.`,
    )
}

async function privilegesOf(client: pg.Client, schema: string): Promise<Privileges> {
  const { rows } = await client.query<Privileges>(
    `SELECT current_user AS role, count(*) AS exists,
            CAST(has_database_privilege(current_database(), 'CREATE') AS INTEGER) AS "createsSchemas",
            count(*) FILTER (WHERE has_schema_privilege(oid, 'USAGE')) AS "usesSchema",
            count(*) FILTER (WHERE has_schema_privilege(oid, 'CREATE')) AS "createsTables"
     FROM pg_namespace WHERE nspname = $1`,
    [schema],
  )
  if (rows[0] === undefined) throw new Error('the server did not answer a query')
  return rows[0]
}

/** Returns a table of the service's names that the service did not create. */
async function foreignTable(client: pg.Client, { schema, tables }: SchemaDeps): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `SELECT c.relname AS name,
            ARRAY (SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) AS columns
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = ANY ($2) ORDER BY c.relname`,
    [schema, ['schema_migrations', ...tables]],
  )
  const migrations = rows.find(({ name }) => name === 'schema_migrations')
  if (migrations === undefined) return rows[0]?.name
  return migrations.columns.includes('checksum') ? undefined : migrations.name
}

/** Returns the sentence for a migration that failed, because the role may not create tables. Null: it may. */
export async function lackOfCreation(client: pg.Client, { schema, database }: SchemaDeps): Promise<string | null> {
  const { role, createsTables } = await privilegesOf(client, schema)
  return createsTables === 0
    ? `Cannot migrate ${database}: the role "${role}" lacks the privilege CREATE on the schema "${schema}".`
    : null
}

const needed = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

/** @throws StoreStartError that names the first table of which the role lacks a privilege. */
export async function requireTablePrivileges(client: pg.Client, deps: SchemaDeps): Promise<void> {
  const { rows } = await client.query<{ role: string; name: string; missing: string[] }>(
    `SELECT current_user AS role, c.relname AS name, array_agg(p.privilege ORDER BY p.position) AS missing
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace,
       unnest($3::text[]) WITH ORDINALITY AS p (privilege, position)
     WHERE n.nspname = $1 AND c.relname = ANY ($2) AND c.relkind IN ('r', 'p')
       AND NOT has_table_privilege(c.oid, p.privilege)
     GROUP BY c.relname ORDER BY c.relname LIMIT 1`,
    [deps.schema, deps.tables, needed],
  )
  const [lacking] = rows
  if (lacking === undefined) return
  const noun = lacking.missing.length === 1 ? 'privilege' : 'privileges'
  throw new StoreStartError(
    `Cannot use ${deps.database}: the role "${lacking.role}" lacks the ${noun} ${lacking.missing.join(', ')} on the table "${deps.schema}"."${lacking.name}".`,
  )
}
