import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { environmentWithoutSettings, Program } from '../support/program.ts'
import { basic, testKeys } from '../support/service.ts'

const root = dirname(dirname(import.meta.dirname))
const unprivilegedUser = 65534

const application = `
import { writeFileSync } from 'node:fs'
import { troupe } from 'troupe'

const app = troupe({ type: 'urn:actingweb:example.com:rights', name: 'rights' })

function attempt(work: () => void): string {
  try {
    work()
    return 'done'
  } catch (error) {
    return (error as { code: string }).code
  }
}

app.method('rights', async ({ input }) => ({
  user: process.getuid?.() ?? null,
  effective: process.geteuid?.() ?? null,
  attempts: (input as { paths: string[] }).paths.map((path) => attempt(() => writeFileSync(path, 'x', { flag: 'a' }))),
  child: attempt(() => {
    // Without the permission for child processes, this call throws before one is created.
    process.getBuiltinModule('node:child_process').spawnSync(process.execPath, ['--version'])
  }),
}))

export default app
`

/** Uses a read-only copy of the program, a read-only working folder, and one writable data folder. */
describe('the process of the service', () => {
  const base = mkdtempSync(join(tmpdir(), 'troupe-rights-'))
  const [program, work, data] = [join(base, 'program'), join(base, 'work'), join(base, 'data')]
  /** Root can write everywhere, so root runs the program as a user that owns no files. */
  const user = process.getuid?.() === 0 && mayRunAs(unprivilegedUser) ? unprivilegedUser : undefined

  before(() => {
    mkdirSync(join(program, 'node_modules'), { recursive: true })
    for (const name of ['bin', 'src', 'package.json']) {
      cpSync(join(root, name), join(program, name), { recursive: true })
    }
    for (const name of readdirSync(join(root, 'node_modules'))) {
      if (!name.startsWith('.')) symlinkSync(join(root, 'node_modules', name), join(program, 'node_modules', name))
    }
    mkdirSync(join(work, 'node_modules'), { recursive: true })
    symlinkSync(program, join(work, 'node_modules', 'troupe'))
    writeFileSync(join(work, 'app.ts'), application)
    mkdirSync(data)
    if (user !== undefined) chownSync(data, user, user)
    for (const folder of [program, work])
      forEachEntry(folder, (path, isFolder) => chmodSync(path, isFolder ? 0o555 : 0o444))
    chmodSync(base, 0o555)
  })
  after(() => {
    chmodSync(base, 0o755)
    for (const folder of [program, work])
      forEachEntry(folder, (path, isFolder) => chmodSync(path, isFolder ? 0o755 : 0o644))
    rmSync(base, { recursive: true, force: true })
  })

  function start(nodeArgs: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
    // A permissive umask, as some service managers set it, must not open the service’s files to other users.
    const mask = process.umask(0)
    try {
      const child = spawn(
        process.execPath,
        ['--conditions=troupe-source', ...nodeArgs, join(program, 'bin', 'troupe.js'), 'dev', 'app.ts'],
        {
          cwd: work,
          env: {
            ...environmentWithoutSettings(),
            HOME: work,
            TMPDIR: work,
            PORT: '0',
            HOST: '127.0.0.1',
            DATABASE_URL: `sqlite:${join(data, 'troupe.db')}`,
            ...env,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
          ...(user === undefined ? {} : { uid: user, gid: user }),
        },
      )
      return new Program(child)
    } finally {
      process.umask(mask)
    }
  }

  /** Creates an actor, changes and reads its data, and returns the rights that the application observes. */
  async function use(service: Program): Promise<Rights> {
    const [, url = ''] = await service.prints(/is ready at (http:\S+)/)
    const created = (await (await fetch(url, { method: 'POST', headers: { accept: 'application/json' } })).json()) as {
      id: string
      creator: string
      passphrase: string
    }
    const headers = {
      authorization: basic(created.creator, created.passphrase),
      'content-type': 'application/json',
    }
    const send = (method: string, path: string, body?: unknown): Promise<Response> =>
      fetch(`${url}/${created.id}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    assert.equal((await send('PUT', '/properties/color', 'blue')).status, 204)
    assert.equal((await send('POST', '/properties', { notes: { _type: 'list' } })).status, 201)
    assert.equal((await send('POST', '/properties/notes', 'x'.repeat(100_000))).status, 201)
    assert.equal((await fetch(`${url}/metrics`)).status, 200)
    const paths = [
      join(program, 'src', 'new.ts'),
      join(program, 'bin', 'troupe.js'),
      join(work, 'new'),
      join(base, 'new'),
    ]
    const answer = await send('POST', '/methods/rights', { paths })
    assert.equal(answer.status, 200)
    return (await answer.json()) as Rights
  }

  it('runs without root in read-only folders and writes only to its data folder (SUP-04)', async () => {
    const before = entriesOf(base, data)
    const service = start([])
    try {
      const rights = await use(service)
      assert.notEqual(rights.user, 0, 'It runs as root')
      assert.equal(rights.user, user ?? process.getuid?.())
      assert.equal(rights.effective, rights.user)
      assert.deepEqual(rights.attempts, ['EACCES', 'EACCES', 'EACCES', 'EACCES'])
      for (const path of openForWriting(service.process.pid ?? 0)) assert.ok(path.startsWith(`${data}/`), path)
      assert.deepEqual(readdirSync(data).toSorted(), ['development.key', 'troupe.db', 'troupe.db-shm', 'troupe.db-wal'])
      for (const name of readdirSync(data)) {
        const { mode, uid } = statSync(join(data, name))
        assert.equal(mode & 0o777, 0o600, name)
        assert.equal(uid, rights.user, name)
      }
    } finally {
      service.signal('SIGTERM')
    }
    const { code, stderr } = await service.ended
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    assert.deepEqual(entriesOf(base, data), before)
  })

  it('needs only permission to read, to write its data and to use the network (SUP-04)', async () => {
    const before = entriesOf(base, data)
    const service = start(
      [
        '--permission',
        '--allow-fs-read=*',
        `--allow-fs-write=${data}`,
        '--allow-net',
        '--disable-warning=ExperimentalWarning',
      ],
      { TROUPE_SECRET_KEYS: testKeys, DATABASE_URL: `sqlite:${join(data, 'second.db')}` },
    )
    try {
      const rights = await use(service)
      assert.deepEqual(
        rights.attempts,
        Array.from({ length: 4 }, () => 'ERR_ACCESS_DENIED'),
      )
      assert.equal(rights.child, 'ERR_ACCESS_DENIED')
    } finally {
      service.signal('SIGTERM')
    }
    const { code, stderr } = await service.ended
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    assert.deepEqual(entriesOf(base, data), before)
  })

  it('leaves no partial key file when it may write but not sync (SUP-04)', async () => {
    // Node refuses fsync under these permissions, so the key is written but cannot be persisted.
    const service = start(['--permission', '--allow-fs-read=*', `--allow-fs-write=${data}`, '--allow-net'], {
      DATABASE_URL: `sqlite:${join(data, 'new', 'troupe.db')}`,
    })
    const { code, stderr } = await service.ended
    assert.equal(code, 1)
    assert.ok(stderr.includes(`The key file ${join(data, 'new', 'development.key')} cannot be made (`), stderr)
    assert.deepEqual(readdirSync(join(data, 'new')), [])
  })

  it('reports an unwritable data folder in one sentence and leaves no files behind (SUP-04)', async () => {
    const before = entriesOf(base, data)
    const kept = readdirSync(data)
    const service = start([], { DATABASE_URL: `sqlite:${join(work, 'troupe.db')}` })
    const { code, stdout, stderr } = await service.ended
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
    assert.ok(stderr.includes(work), stderr)
    assert.deepEqual(entriesOf(base, data), before)
    assert.deepEqual(readdirSync(data), kept)
  })
})

interface Rights {
  readonly user: number | null
  readonly effective: number | null
  readonly attempts: readonly string[]
  readonly child: string
}

/** Returns false when this user cannot reach the runtime, for example in a home folder of root. */
function mayRunAs(user: number): boolean {
  const options = { uid: user, gid: user, cwd: '/' }
  return (
    spawnSync(process.execPath, ['-e', `require(${JSON.stringify(join(root, 'package.json'))})`], options).status === 0
  )
}

/** Visits folders after their entries and skips links. */
function forEachEntry(path: string, visit: (path: string, isFolder: boolean) => void): void {
  const entry = lstatSync(path)
  if (entry.isSymbolicLink()) return
  // Entries of a read-only folder cannot be changed, so the folder is made writable first.
  if (entry.isDirectory()) {
    chmodSync(path, 0o755)
    for (const name of readdirSync(path)) forEachEntry(join(path, name), visit)
  }
  visit(path, entry.isDirectory())
}

/** Lists every entry below a folder with its metadata, except for one folder. */
function entriesOf(folder: string, except: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => path !== except)
    .flatMap((path) => {
      const { mode, size, mtimeMs, ino } = lstatSync(path)
      const isFolder = lstatSync(path).isDirectory()
      return [`${path} ${mode} ${size} ${mtimeMs} ${ino}`, ...(isFolder ? entriesOf(path, except) : [])]
    })
}

/** Returns the files that a process has open for writing, or none on systems without /proc. */
function openForWriting(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((fd) => {
    try {
      const target = readlinkSync(join(folder, fd))
      const isWritten = (lstatSync(join(folder, fd)).mode & 0o200) !== 0
      return isWritten && target.startsWith('/') && !target.startsWith('/dev/') ? [target] : []
    } catch {
      return []
    }
  })
}
