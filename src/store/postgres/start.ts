/** Opens the first connection and checks that the database is usable. */
import pg from 'pg'
import { StoreStartError } from '../start-error.ts'
import type { StoreLog } from '../store.ts'
import { types } from './types.ts'

interface Settings {
  readonly server_encoding: string
  readonly synchronous_commit: string
  readonly fsync: string
}

/** @throws StoreStartError whose message does not contain the password. */
export async function requireReachable(url: string, timeoutMs: number, log: StoreLog): Promise<pg.Client> {
  const client = newClient(url, timeoutMs)
  client.on('error', (error) => log('warn', 'The connection to the database broke', error))
  const name = `the PostgreSQL database "${client.database}" at ${client.host}:${client.port}`
  const { server_encoding, synchronous_commit, fsync } = await connect(client).catch(async (error: unknown) => {
    await client.end().catch(() => {})
    throw new StoreStartError(`Cannot reach ${name}: ${reasonOf(error)}.`, error)
  })
  if (server_encoding !== 'UTF8') {
    await client.end()
    throw new StoreStartError(
      `Cannot use ${name}: its encoding is ${server_encoding}, but only UTF8 can store every string.`,
    )
  }
  if (synchronous_commit === 'off' || fsync === 'off')
    log('warn', `The server of ${name} acknowledges a change before it is on disk: a crash may lose the last changes`)
  return client
}

async function connect(client: pg.Client): Promise<Partial<Settings>> {
  await client.connect()
  const { rows } = await client.query<Settings>(
    `SELECT current_setting('server_encoding') AS server_encoding,
            current_setting('synchronous_commit') AS synchronous_commit,
            current_setting('fsync') AS fsync`,
  )
  return rows[0] ?? {}
}

function newClient(url: string, timeoutMs: number): pg.Client {
  try {
    return new pg.Client({ connectionString: url, types, keepAlive: true, connectionTimeoutMillis: timeoutMs })
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
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message
  return error.message === '' ? 'the connection failed' : error.message
}
