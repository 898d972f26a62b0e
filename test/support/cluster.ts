/** A database on the cluster of `npm run citus` whose workers a test can disconnect. All servers run on this machine. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { citusServers, createCitusDatabase, databaseUrl, dropDatabase } from './citus.ts'
import { openRelay, type Relay } from './relay.ts'

export interface Cluster {
  /** The URL of the database on the coordinator. */
  readonly url: string
  readonly workers: readonly TestWorker[]
  /** Runs a statement on the coordinator. */
  query<R extends object>(sql: string, params?: readonly unknown[]): Promise<R[]>
  /** The number of the worker that has the rows of the actor. */
  placeOf(actorId: string): Promise<number>
  /** Moves the rows of the actor, and of others in the same part of the tables, to the worker with this number. */
  move(actorId: string, worker: number): Promise<void>
  remove(): Promise<void>
}

/** A worker behind a relay, through which the other servers reach it. */
export interface TestWorker {
  readonly port: number
  /** The URL of the database on this worker, without the relay. */
  readonly url: string
  /** Ends all connections and refuses new ones, as a server that has stopped. */
  stop(): Promise<void>
  /** Answers nothing, and neither ends nor refuses connections. */
  silence(): void
  /** Accepts connections again. */
  start(): Promise<void>
}

export async function createCluster(options: { readonly shards?: number } = {}): Promise<Cluster> {
  const servers = citusServers()
  const [coordinator = '', ...others] = servers
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const workers = await Promise.all(others.map((worker) => relayed(databaseUrl(worker, name))))
  await createCitusDatabase(servers, name, { ...options, ports: workers.map(({ port }) => port) })
  const url = databaseUrl(coordinator, name)
  const client = new pg.Client({ connectionString: url, options: '-c search_path=troupe' })
  await client.connect()
  const query = async <R extends object>(sql: string, params: readonly unknown[] = []): Promise<R[]> =>
    (await client.query<R>(sql, [...params])).rows
  return {
    url,
    workers,
    query,
    placeOf: async (actorId) => {
      const [row] = await query<{ port: number }>(
        `SELECT nodeport AS port FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
         WHERE shardid = get_shard_id_for_distribution_column('actor', $1::text)`,
        [actorId],
      )
      return workers.findIndex(({ port }) => port === row?.port)
    },
    move: async (actorId, worker) => {
      await query(
        `SELECT citus_move_shard_placement(shardid, nodename, nodeport, $2::text, $3::int)
         FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
         WHERE shardid = get_shard_id_for_distribution_column('actor', $1::text)`,
        [actorId, '127.0.0.1', workers[worker]?.port],
      )
    },
    remove: async () => {
      await client.end()
      for (const worker of workers) await worker.stop()
      await dropDatabase(servers, name)
    },
  }
}

async function relayed(url: string): Promise<TestWorker> {
  const target = Number(new URL(url).port)
  let relay: Relay = await openRelay(target)
  const { port } = relay
  return {
    port,
    url,
    stop: () => relay.close(),
    silence: () => relay.silence(),
    start: async () => {
      relay = await openRelay(target, port)
    },
  }
}
