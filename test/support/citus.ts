/** Databases on a Citus cluster, for the tests of `npm run citus`. */
import pg from 'pg'
import { placements } from './placements.ts'
import { openStore } from '../../src/open-store.ts'
import { readMigrations } from '../../src/store/migrate.ts'
import { databaseSettings, runScale } from '../../src/store/postgres/scale.ts'

/** Environment variable with the URLs of the coordinator and the workers, separated by commas. */
export const citusVariable = 'TROUPE_TEST_CITUS'
/** Environment variable with the number of the worker to which services connect. Empty: to the coordinator. */
export const throughVariable = 'TROUPE_TEST_CITUS_THROUGH'
/** The code of PostgreSQL for a database with sessions. */
const objectInUse = '55006'
/** Number of shards in most tests. */
const fewShards = 4

/** URLs of the maintenance databases of all servers, the coordinator first. Empty: the tests run on plain PostgreSQL. */
export function citusServers(): readonly string[] {
  return (process.env[citusVariable] ?? '').split(',').filter((url) => url !== '')
}

/** URL of the maintenance database of the server to which services connect: the coordinator, or the worker of `--through`. */
export function citusEntrance(): string {
  const servers = citusServers()
  return servers[Number(process.env[throughVariable] ?? '0')] ?? servers[0] ?? ''
}

/** URL of a database for changes of its schema, which only the coordinator of a cluster accepts. */
export function schemaUrl(url: string): string {
  const [coordinator] = citusServers()
  return coordinator === undefined ? url : databaseUrl(coordinator, new URL(url).pathname.slice(1))
}

/** True when the tests run on a sharded database, where some costs and moments differ. */
export function onShards(): boolean {
  return citusServers().length > 0
}

/** The number of statements on a plain database: a sharded one reads entries of the history before it inserts them. */
export function countOf(statements: readonly string[]): number {
  const inserts = statements.filter((sql) => onShards() && sql.trim().startsWith('INSERT INTO history'))
  return statements.length - inserts.length
}

/** Runs a statement on every server of the cluster. */
export async function onAllServers(servers: readonly string[], sql: string): Promise<void> {
  await Promise.all(servers.map((server) => withClient(server, (client) => client.query(sql))))
}

/**
 * Drops a database on every server. PostgreSQL ends the sessions of the database, and gives up when one of them takes more
 * than five seconds to end. A busy machine takes longer, also for the sessions in which servers ask each other.
 */
export async function dropDatabase(servers: readonly string[], name: string): Promise<void> {
  const drop = async (server: string): Promise<void> => {
    try {
      await onAllServers([server], `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== objectInUse) throw error
      await drop(server)
    }
  }
  await Promise.all(servers.map(drop))
}

export interface CitusDatabaseOptions {
  /** The servers reach the workers at these ports, in the order of the workers. Default: at their own ports. */
  readonly ports?: readonly number[]
  /** Number of shards of each table. Default: 4. */
  readonly shards?: number
}

/** Creates a database on every server, with the tables of this release distributed over the workers. */
export async function createCitusDatabase(
  servers: readonly string[],
  name: string,
  { ports = [], shards = fewShards }: CitusDatabaseOptions = {},
): Promise<void> {
  await onAllServers(servers, `CREATE DATABASE ${name}`)
  const urls = servers.map((server) => databaseUrl(server, name))
  await onAllServers(urls, 'CREATE EXTENSION citus')
  const [coordinator = '', ...workers] = urls
  await withClient(coordinator, async (client) => {
    await client.query('SELECT citus_set_coordinator_host($1, $2)', addressOf(coordinator))
    for (const [index, worker] of workers.entries()) {
      const [host, port] = addressOf(worker)
      await client.query('SELECT citus_add_node($1, $2)', [host, ports[index] ?? port])
    }
    const store = await openStore({ url: coordinator })
    await store.close()
    await runScale(client, { migrations: readMigrations(), placements, schema: 'troupe', shards }, () => {})
  })
}

/**
 * Gives a copied database the settings of `troupe scale init`, because PostgreSQL does not copy them. A statement may wait
 * for a lock as long as in other tests: a process may be paused for seconds.
 */
export async function setUpCopy(servers: readonly string[], name: string): Promise<void> {
  const settings = Object.entries({ ...databaseSettings, lock_timeout: '60s' })
  const statements = settings.map(([setting, value]) => `ALTER DATABASE ${name} SET ${setting} TO '${value}'`)
  await onAllServers(servers, statements.join('; '))
}

/** Gives a copied database exactly the settings that `troupe doctor` requires. A plain database has none. */
export async function setUpForDoctor(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  await onAllServers(citusServers(), `ALTER DATABASE ${name} SET lock_timeout TO '${databaseSettings.lock_timeout}'`)
}

/** Ends the connections of a database and refuses new ones, so that it can be copied. Citus keeps one of its own. */
export async function freezeDatabase(servers: readonly string[], name: string): Promise<void> {
  await onAllServers(servers, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  for (const server of servers) {
    await withClient(server, async (client) => {
      for (;;) {
        const { rowCount } = await client.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
          [name],
        )
        if (rowCount === 0) return
      }
    })
  }
}

function addressOf(url: string): [host: string, port: number] {
  const { hostname, port } = new URL(url)
  return [hostname, Number(port === '' ? 5432 : port)]
}

/** Returns the URL of a database on a server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
