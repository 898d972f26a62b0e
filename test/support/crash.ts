/**
 * Runs rounds of load, kills a process at a random moment in each, and checks the data afterwards. The same seed gives the
 * same requests and the same moment, as far as timing allows.
 */
import pg from 'pg'
import type { Dialect } from '../../src/store/portable.ts'
import { citusServers } from './citus.ts'
import { halfMadeActors, violationsIn } from './invariants.ts'
import { Load } from './load.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { seeded } from './random.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { createPostgresDatabase, createTestDatabase, type TestDatabase } from './stores.ts'
import { until } from './until.ts'

/**
 * The process that is killed: the service, the database's first process, the database process of one connection, or one of
 * a worker of a Citus cluster. The server of a killed database process restarts itself.
 */
export type Victim = 'service' | 'server' | 'backend' | 'worker'

export interface CrashOptions {
  readonly store: Dialect
  readonly victim: Victim
  readonly rounds: number
  /** The seed of the first round. Each further round uses the next number. */
  readonly seed: number
  readonly print?: (line: string) => void
}

export interface CrashTotals {
  readonly acknowledged: number
  readonly unknown: number
}

const clients = 6

/** @throws Error with the seed of the failed round and all violations. */
export async function runCrashRounds(options: CrashOptions): Promise<CrashTotals> {
  const isCluster = citusServers().length > 0
  const server = options.victim === 'service' || isCluster ? null : await startPostgres({ fsync: true })
  const database = server === null ? await createTestDatabase(options.store) : await createPostgresDatabase(server.url)
  let service = await startServiceProcess({ database: database.url })
  let acknowledged = 0
  let unknown = 0
  try {
    for (let round = 0; round < options.rounds; round++) {
      const seed = options.seed + round
      const load = new Load(seed)
      await load.prepare(service.send)
      service =
        options.victim === 'service'
          ? await killService(load, seed, database, service)
          : await killDatabase(load, seed, service, () => crashOf(options.victim, server, database.url, seed))
      await load.readAll(service.send)
      const failures = [
        ...load.history.failures(),
        ...(await violationsIn(database.url)),
        ...(await halfMadeActors(database.url, load.perhaps)),
      ]
      if (load.history.acknowledged === 0) failures.push('No request was acknowledged, so the round proves nothing')
      if (failures.length > 0) {
        const command = `npm run crash -- --store ${options.store} --kill ${options.victim} --seed ${seed} --rounds 1`
        throw new Error(`Round ${round} failed (${command}):\n${failures.join('\n')}`)
      }
      acknowledged += load.history.acknowledged
      unknown += load.history.unknown
      if ((round + 1) % 50 === 0)
        options.print?.(`${round + 1} rounds: ${acknowledged} changes and reads acknowledged, ${unknown} unknown`)
    }
  } finally {
    await service.kill()
    await database.remove().catch(() => {})
    await server?.remove()
  }
  return { acknowledged, unknown }
}

function crashOf(victim: Victim, server: PostgresServer | null, url: string, seed: number): Promise<void> {
  if (victim === 'server' && server !== null) return restart(server)
  if (victim === 'backend') return killBackend(url, seed)
  const [, ...workers] = citusServers()
  const worker = new URL(workers[seed % workers.length] ?? url)
  worker.pathname = new URL(url).pathname
  return killBackend(worker.href, seed)
}

/** Kills the service, and returns a new service on the same database. */
async function killService(
  load: Load,
  seed: number,
  database: TestDatabase,
  service: ServiceProcess,
): Promise<ServiceProcess> {
  const moment = momentOf(seed)
  const { promise: killed, resolve } = Promise.withResolvers<void>()
  await load.run({
    clients,
    services: [service.send],
    goesOn: () => true,
    onRequest: (count) => {
      // Real time: it makes the moment of the crash random.
      if (count === moment.request) setTimeout(() => void service.kill().then(resolve), moment.delayMs)
    },
  })
  await killed
  if (database.dialect === 'postgres') await sessionsEnded(database.url)
  load.history.settle()
  return startServiceProcess({ database: database.url })
}

/** Kills the database. The service continues to run, and must reconnect without help. */
async function killDatabase(
  load: Load,
  seed: number,
  service: ServiceProcess,
  crash: () => Promise<void>,
): Promise<ServiceProcess> {
  const moment = momentOf(seed)
  let isBack = false
  const { promise: back, resolve, reject } = Promise.withResolvers<void>()
  const run = load.run({
    clients,
    services: [service.send],
    isPatient: true,
    goesOn: () => !isBack,
    onRequest: (count) => {
      if (count !== moment.request) return
      // Real time: it makes the moment of the crash random.
      setTimeout(() => {
        crash()
          .then(() => ready(service))
          .then(() => load.history.settle())
          .then(resolve, reject)
          .finally(() => (isBack = true))
      }, moment.delayMs)
    },
  })
  await run
  await back
  const end = load.requests + 100
  await load.run({ clients, services: [service.send], goesOn: (requests) => requests < end })
  return service
}

async function restart(server: PostgresServer): Promise<void> {
  await server.stop('kill')
  await server.start()
}

function momentOf(seed: number): { readonly request: number; readonly delayMs: number } {
  const random = seeded(seed)
  return { request: 20 + random.below(300), delayMs: random.next() * 3 }
}

/** Kills one database process of the service. The server then terminates all its other processes. */
async function killBackend(url: string, seed: number): Promise<void> {
  const sessions = (await sessionsOf(url)).map((session) => session.pid)
  const pid = sessions[seed % sessions.length]
  if (pid === undefined) throw new Error('The service has no connection to the database')
  const witness = new pg.Client({ connectionString: url })
  await witness.connect()
  const brokenOff = new Promise<void>((resolve) => witness.once('error', () => resolve()))
  witness.on('error', () => {})
  process.kill(pid, 'SIGKILL')
  await brokenOff
  // The server recovers now. A connection of the service may have answered for a moment longer than the witness.
  await until(() => acceptsConnections(url))
}

async function acceptsConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Waits until no session of the killed service runs, because the database may still execute its statements. The servers of a
 * cluster keep idle sessions with each other.
 */
async function sessionsEnded(url: string): Promise<void> {
  await until(async () => (await sessionsOf(url)).every(({ isOfService, isIdle }) => !isOfService && isIdle))
}

interface Session {
  readonly pid: number
  /** False for a session of another server of the cluster. */
  readonly isOfService: boolean
  readonly isIdle: boolean
}

/** The sessions in which the statements of the service run, its own and those of other servers of a cluster. */
async function sessionsOf(url: string): Promise<Session[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  // The server may stop during this query.
  client.on('error', () => {})
  try {
    const { rows } = await client.query<Session>(
      `SELECT pid, application_name = 'troupe' AS "isOfService", state IS NOT DISTINCT FROM 'idle' AS "isIdle"
       FROM pg_stat_activity WHERE datname = current_database()
         AND (application_name = 'troupe' OR application_name LIKE 'citus_internal%') ORDER BY pid`,
    )
    return rows
  } finally {
    await client.end()
  }
}

async function ready(service: ServiceProcess): Promise<void> {
  await until(async () => (await service.send('GET', '/health/ready')).status === 200)
}
