/** Distributes the tables over the servers of a Citus cluster, and checks that they are distributed. */
import type pg from 'pg'
import type { Migration } from '../migrate.ts'
import type { Placements } from '../../table/placement.ts'
import { type ForeignKey, readSchema, type SchemaTable } from '../schema-text.ts'
import { StoreStartError } from '../start-error.ts'
import { searchPath } from './database-schema.ts'
import { databaseAddress } from './pooler.ts'
import { requireReachable } from './start.ts'

export interface ScaleStep {
  /** The change in words. */
  readonly title: string
  /** Statements of one transaction. */
  readonly sql: readonly string[]
}

export interface ScaleOptions {
  readonly placements: Placements
  readonly migrations: readonly Migration[]
  /** The schema of the tables. */
  readonly schema: string
  /** Number of shards of each distributed table. It cannot be changed easily later. */
  readonly shards: number
}

/**
 * Settings of the connections to the workers. The settings of the service's own session do not reach the workers.
 * The planner settings are those of `postgres-store.ts`.
 */
export const databaseSettings: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  lock_timeout: '5s',
  // A server that does not accept connections must fail its own statements soon: the default is 30 seconds.
  'citus.node_connection_timeout': '3s',
}

/** A plain database finds the look-ups of an actor by an index, so its actor_lookup is empty. */
const lookupsOfActors: ScaleStep = {
  title: 'Record the look-ups of each actor',
  sql: [
    `INSERT INTO actor_lookup (actor_id, name, value) SELECT actor_id, name, value FROM property_lookup
     ON CONFLICT DO NOTHING`,
  ],
}

interface State {
  readonly places: ReadonlyMap<string, string>
  readonly foreignKeys: ReadonlyMap<string, string>
  /** Triggers of the migrations, with their tables. */
  readonly triggers: ReadonlyMap<string, string>
  readonly settings: readonly string[]
}

/** Returns the missing steps in their order: none for a database that is completely distributed. */
export async function planScale(client: pg.Client, options: ScaleOptions): Promise<ScaleStep[]> {
  const { migrations, shards, schema, placements } = options
  await requireCitus(client)
  const state = await inTransaction(client, schema, () => readState(client, options))
  const waiting = Object.keys(placements).filter((name) => !state.places.has(name))
  return [
    ...(waiting.length === 0 ? [] : dropped(state)),
    ...(waiting.includes('actor_lookup') ? [lookupsOfActors] : []),
    ...waiting.map((table) => distribution(placements, table, shards)),
    ...keys(placements, readSchema(migrations), waiting.length === 0 ? state.foreignKeys : new Map()),
    ...(await settingSteps(client, state)),
  ]
}

/** Runs the steps, each in its own transaction. A run after an interrupted one continues with the missing steps. */
export async function runScale(
  client: pg.Client,
  options: ScaleOptions,
  onStep: (step: ScaleStep) => void,
): Promise<void> {
  for (const step of await planScale(client, options)) {
    onStep(step)
    try {
      await inTransaction(client, options.schema, async () => {
        await client.query(`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`)
        await client.query('SET LOCAL lock_timeout TO 0')
        for (const sql of step.sql) await client.query(sql)
      })
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      throw new StoreStartError(`Cannot ${lowered(step.title)}: ${said}. Run the command again to continue.`, error)
    }
  }
}

/** Runs statements that name the tables without their schema. */
async function inTransaction<T>(client: pg.Client, schema: string, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    await client.query(searchPath(schema))
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function lowered(title: string): string {
  return title.charAt(0).toLowerCase() + title.slice(1)
}

async function requireCitus(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)
  if (rowCount === 0)
    throw new StoreStartError(
      'Cannot distribute the tables: the database has no extension citus. Create it on every server and add the workers (docs/scaling.md).',
    )
}

async function readState(
  client: pg.Client,
  { schema, placements }: Pick<ScaleOptions, 'schema' | 'placements'>,
): Promise<State> {
  const places = await client.query<{ name: string; method: string }>(
    `SELECT c.relname AS name, p.partmethod AS method FROM pg_dist_partition AS p
     JOIN pg_class AS c ON c.oid = p.logicalrelid WHERE c.relnamespace = to_regnamespace($1)`,
    [schema],
  )
  const foreignKeys = await client.query<{ name: string; table: string }>(
    `SELECT conname AS name, conrelid::regclass::text AS table FROM pg_constraint
     WHERE contype = 'f' AND connamespace = to_regnamespace($2) AND conrelid::regclass::text = ANY ($1)`,
    [Object.keys(placements), schema],
  )
  const triggers = await client.query<{ name: string; table: string }>(
    `SELECT tgname AS name, tgrelid::regclass::text AS table FROM pg_trigger
     WHERE NOT tgisinternal AND tgrelid IN (to_regclass('property'), to_regclass('list_item'), to_regclass('attribute'))`,
  )
  const settings = await client.query<{ setting: string }>(
    `SELECT unnest(setconfig) AS setting FROM pg_db_role_setting
     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND setrole = 0`,
  )
  return {
    places: new Map(places.rows.map(({ name, method }) => [name, method])),
    foreignKeys: new Map(foreignKeys.rows.map(({ name, table }) => [name, table])),
    triggers: new Map(triggers.rows.map(({ name, table }) => [name, table])),
    settings: settings.rows.map(({ setting }) => setting),
  }
}

function dropped({ foreignKeys, triggers }: State): ScaleStep[] {
  const sql = [
    ...[...foreignKeys].map(([name, table]) => `ALTER TABLE ${table} DROP CONSTRAINT ${name}`),
    ...[...triggers].map(([name, table]) => `DROP TRIGGER ${name} ON ${table}`),
  ]
  return sql.length === 0 ? [] : [{ title: 'Remove the foreign keys until the tables are distributed', sql }]
}

function distribution(placements: Placements, table: string, shards: number): ScaleStep {
  const place = placements[table]
  if (place === undefined) throw new Error(`The table ${table} has no place`)
  if (place.kind === 'reference')
    return { title: `Copy ${table} to every server`, sql: [`SELECT create_reference_table('${table}')`] }
  const first = firstOf(placements, place.group)
  const colocation = first === table || place.group === 'key' ? `'none', shard_count => ${shards}` : `'${first}'`
  return {
    title: `Distribute ${table} by ${place.column}`,
    sql: [
      `SELECT create_distributed_table('${table}', '${place.column}', colocate_with => ${colocation})`,
      `SELECT truncate_local_data_after_distributing_table('${table}')`,
    ],
  }
}

/** The table that the other tables of the group are placed with. */
function firstOf(placements: Placements, group: 'actor' | 'name' | 'key'): string | undefined {
  return Object.entries(placements).find(([, place]) => place.kind === 'distributed' && place.group === group)?.[0]
}

/** Whether the rows of a foreign key are always on one server. */
export function staysInGroup(placements: Placements, table: string, key: ForeignKey): boolean {
  const [from, to] = [placements[table], placements[key.table]]
  if (from?.kind !== 'distributed' || to?.kind !== 'distributed') return false
  if (from.group !== to.group || from.group === 'key') return false
  return key.columns[key.references.indexOf(to.column)] === from.column
}

function keys(
  placements: Placements,
  tables: readonly SchemaTable[],
  present: ReadonlyMap<string, string>,
): ScaleStep[] {
  return tables.flatMap(({ name, foreignKeys }) =>
    foreignKeys
      .filter((key) => staysInGroup(placements, name, key))
      .map((key) => ({ key, constraint: `${name}_${key.columns.join('_')}_fkey` }))
      .filter(({ constraint }) => !present.has(constraint))
      .map(({ key, constraint }) => ({
        title: `Add the foreign key of ${name} to ${key.table}`,
        sql: [
          `ALTER TABLE ${name} ADD CONSTRAINT ${constraint} FOREIGN KEY (${key.columns.join(', ')})
             REFERENCES ${key.table} (${key.references.join(', ')}) ${key.action}`,
        ],
      })),
  )
}

async function settingSteps(client: pg.Client, state: State): Promise<ScaleStep[]> {
  const missing = Object.entries(databaseSettings).filter(
    ([name, value]) => !state.settings.includes(`${name}=${value}`),
  )
  if (missing.length === 0) return []
  const database = client.escapeIdentifier(client.database ?? '')
  return [
    {
      title: 'Set the planner and the lock timeout on every server',
      sql: missing.map(([name, value]) => {
        const statement = `ALTER DATABASE ${database} SET ${name} TO '${value}'`
        return `SELECT success FROM run_command_on_all_nodes(${client.escapeLiteral(statement)})`
      }),
    },
  ]
}

/** Runs `work` on a connection of its own. @throws StoreStartError when the server cannot be reached. */
async function withDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { client } = await requireReachable(databaseAddress(url), { timeoutMs: 10_000, waitMs: 0, log: () => {} })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Runs or, with `isDry`, only lists the missing steps. */
export function scaleDatabase(
  url: string,
  options: ScaleOptions & { readonly isDry: boolean },
  onStep: (step: ScaleStep) => void,
): Promise<void> {
  return withDatabase(url, async (client) => {
    if (options.isDry) for (const step of await planScale(client, options)) onStep(step)
    else await runScale(client, options, onStep)
  })
}

/** The missing steps of a database of which at least one table is distributed. Null: a plain database. */
export function missingSteps(url: string, options: Omit<ScaleOptions, 'shards'>): Promise<ScaleStep[] | null> {
  return withDatabase(url, async (client) => {
    const extension = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)
    if (extension.rowCount === 0) return null
    const { places } = await inTransaction(client, options.schema, () => readState(client, options))
    return places.size === 0 ? null : planScale(client, { ...options, shards: 1 })
  })
}
