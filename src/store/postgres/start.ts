/** Opens the first connection, and checks that the database and its sessions are usable. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { StoreStartError } from '../start-error.ts'
import type { StoreLog } from '../store.ts'
import { connectionTo } from './hosts.ts'
import type { DatabaseAddress, Pooler } from './pooler.ts'
import { SENTINEL } from './settings.ts'
import { types } from './types.ts'

interface Settings {
  readonly pid: number
  /** `server_version_num`: the major version times 10 000, plus the minor version. */
  readonly version: number
  readonly server_encoding: string
  readonly synchronous_commit: string
  readonly fsync: string
}

/** The oldest and the newest major version on which the tests ran. */
const OLDEST = 14
const NEWEST = 18

/** The first connection. It has the session settings of the server, and no timeouts, because a migration takes its time. */
export interface FirstConnection {
  readonly client: pg.Client
  /** Name of the database for messages, without the password. */
  readonly name: string
  /** Process id of the session on the server. */
  readonly pid: number
}

/** Pause between two attempts to reach the database, in milliseconds. */
const retryMs = 1_000

/** Time between two lines of the log that a start still waits, in milliseconds. */
const saySpacingMs = 5_000

/** The server is not there yet, or accepts no connection at the moment. */
const passing: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EPIPE',
  '57P03', // cannot_connect_now: the server starts
  '53300', // too_many_connections
])

export interface Reaching {
  /** Timeout of an attempt, in milliseconds. */
  readonly timeoutMs: number
  /** How long to repeat attempts that fail because no server is there yet, in milliseconds. 0: one attempt. */
  readonly waitMs: number
  readonly log: StoreLog
}

/** @throws StoreStartError whose message does not contain the password. */
export async function requireReachable(
  address: DatabaseAddress,
  { timeoutMs, waitMs, log }: Reaching,
): Promise<FirstConnection> {
  const begunAt = performance.now()
  let saidAt = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      return await reach(address, timeoutMs, log)
    } catch (error) {
      const now = performance.now()
      if (!mayPass(error) || now - begunAt + retryMs > waitMs) throw error
      if (now - saidAt >= saySpacingMs) {
        saidAt = now
        const left = Math.ceil((waitMs - (now - begunAt)) / 1000)
        log('warn', `${(error as Error).message.replace(/\.$/, '')}; the start tries again for ${left} seconds`)
      }
      await pause(retryMs)
    }
  }
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof StoreStartError) || !(error.cause instanceof Error)) return false
  const { cause } = error
  const codes = [cause, ...(cause instanceof AggregateError ? (cause.errors as unknown[]) : [])].map(
    (each) => (each as { code?: unknown }).code,
  )
  const isCut = /^(timeout expired|Connection terminated)/.test(cause.message)
  return isCut || codes.some((code) => typeof code === 'string' && passing.has(code))
}

async function reach(address: DatabaseAddress, timeoutMs: number, log: StoreLog): Promise<FirstConnection> {
  const client = newClient(address, timeoutMs)
  client.on('error', (error) => log('warn', 'The connection to the database broke', error))
  const name = `the PostgreSQL database "${client.database}" at ${client.host}:${client.port}`
  const { pid, version, server_encoding, synchronous_commit, fsync } = await connect(client).catch(
    async (error: unknown) => {
      await client.end().catch(() => {})
      throw new StoreStartError(`Cannot reach ${name}: ${reasonOf(error)}.`, error)
    },
  )
  const fault =
    faultOfVersion(version) ??
    (server_encoding === 'UTF8' ? null : `its encoding is ${server_encoding}, but only UTF8 can store every string`)
  if (fault !== null) {
    await client.end()
    throw new StoreStartError(`Cannot use ${name}: ${fault}.`)
  }
  if (majorOf(version) > NEWEST)
    log('warn', `The server of ${name} is PostgreSQL ${majorOf(version)}: this release was tested up to ${NEWEST}`)
  if (synchronous_commit === 'off' || fsync === 'off')
    log('warn', `The server of ${name} acknowledges a change before it is on disk: a crash may lose the last changes`)
  return { client, name, pid }
}

/** The reason why the service cannot use a server of this version, or null. Newer versions are accepted. */
export function faultOfVersion(version: number): string | null {
  const major = majorOf(version)
  return major >= OLDEST ? null : `it is PostgreSQL ${major}, and this release needs PostgreSQL ${OLDEST} to ${NEWEST}`
}

function majorOf(version: number): number {
  return Math.floor(version / 10_000)
}

/**
 * Checks that a pooler in front of the server treats sessions as the URL says.
 *
 * @param connect Opens a second connection with the settings of the service.
 * @throws StoreStartError with the setting to change.
 */
export async function requireFitSessions(
  first: FirstConnection,
  pooler: Pooler,
  connect: () => Promise<pg.Client>,
): Promise<void> {
  const fault = pooler === 'unprepared' ? null : await faultOf(first, pooler, connect)
  if (fault !== null) throw new StoreStartError(`Cannot use ${first.name}: ${fault}.`)
}

const REMEDY =
  'add ?pooler=unprepared to its URL, or ?pooler=prepared if the pooler keeps prepared statements (PgBouncer 1.21 or later)'

async function faultOf(
  first: FirstConnection,
  pooler: 'none' | 'prepared',
  connect: () => Promise<pg.Client>,
): Promise<string | null> {
  try {
    const second = await connect()
    if (pooler === 'prepared') return await faultOfStatements(first.client, second)
    const { rows } = await second.query<{ pid: number; sentinel: string }>(
      `SELECT pg_backend_pid() AS pid, current_setting('${SENTINEL}') AS sentinel`,
    )
    if (rows[0]?.sentinel !== 'off') return `a connection pooler ignores the settings of a session; ${REMEDY}`
    // A session that two connections share, or a connection that changes its session, belongs to a pooler.
    const again = await first.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const isShared = rows[0].pid === first.pid || again.rows[0]?.pid !== first.pid
    return isShared ? `a connection pooler shares its sessions between connections; ${REMEDY}` : null
  } catch (error) {
    const reason = reasonOf(error)
    return reason.startsWith('unsupported startup parameter')
      ? `a connection pooler refuses the settings of a session (${reason}); ${REMEDY}`
      : reason
  }
}

/** Gives two statements of two connections one name, which fails in a session that they share. */
async function faultOfStatements(first: pg.Client, second: pg.Client): Promise<string | null> {
  const name = 'troupe_check'
  try {
    for (let round = 0; round < 2; round++) {
      await first.query({ name, text: 'SELECT 1' })
      await second.query({ name, text: 'SELECT 2' })
    }
    return null
  } catch (error) {
    const isOfStatements = error instanceof pg.DatabaseError && /^(42P05|26000)$/.test(error.code ?? '')
    if (!isOfStatements) throw error
    return `its connection pooler loses prepared statements (${error.message}); change ?pooler=prepared in its URL to ?pooler=unprepared`
  }
}

async function connect(client: pg.Client): Promise<Settings> {
  await client.connect()
  const { rows } = await client.query<Settings>(
    `SELECT pg_backend_pid() AS pid,
            CAST(current_setting('server_version_num') AS INTEGER) AS version,
            current_setting('server_encoding') AS server_encoding,
            current_setting('synchronous_commit') AS synchronous_commit,
            current_setting('fsync') AS fsync`,
  )
  if (rows[0] === undefined) throw new Error('the server did not answer a query')
  return rows[0]
}

function newClient({ url, hosts }: DatabaseAddress, timeoutMs: number): pg.Client {
  const Client = connectionTo(hosts)
  try {
    return new Client({ connectionString: url, types, keepAlive: true, connectionTimeoutMillis: timeoutMs })
  } catch {
    // The driver's message would quote the URL with its password.
    throw new StoreStartError(
      'Cannot parse the URL of the PostgreSQL database: expected postgres://user:password@host:5432/database.',
    )
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed'
  // Node.js tried several addresses of one host name; the first error is representative.
  if (error instanceof AggregateError && error.message === '' && error.errors[0] instanceof Error)
    return error.errors[0].message
  return error.message === '' ? 'the connection failed' : error.message
}
