import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ServiceError } from '../../src/errors.ts'
import { openStore } from '../../src/open-store.ts'
import type { Queries, Store, Transaction } from '../../src/store/store.ts'
import { BrittleDisk } from '../support/brittle-disk.ts'
import { unavailable } from '../support/stores.ts'
import { until } from '../support/until.ts'

const addActor = (tx: Transaction, id: string, passphrase = 'secret') =>
  tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'owner', passphrase, 1)

const actorIds = async (q: Queries) =>
  (await q.all<{ id: string }>('SELECT id FROM actor ORDER BY id')).map((row) => row.id)

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-faults-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function openOn(t: TestContext, options: { busyTimeoutMs?: number; logAlarmBytes?: number } = {}) {
  const path = join(folderFor(t), 'troupe.db')
  const logged: string[] = []
  const disk = new BrittleDisk()
  const store = await disk.openStore(path, {
    log: (level, message) => logged.push(`${level}: ${message}`),
    ...options,
  })
  t.after(() => store.close())
  return { store, path, logged, disk }
}

/** Creates an error as SQLite raises it. */
const raised = (errcode: number, message: string) =>
  Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode })

function integrityOf(path: string): unknown {
  const database = new DatabaseSync(path)
  try {
    return database.prepare('PRAGMA integrity_check').get()?.['integrity_check']
  } finally {
    database.close()
  }
}

describe('a failing disk sync (DUR-05)', () => {
  it('fails every write of the group with an unknown outcome and fails the health check', async (t) => {
    const { store, disk, logged, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'before'))
    disk.nextCommit = raised(1034, 'disk I/O error')
    const results = await Promise.allSettled(['a', 'b'].map((id) => store.write((tx) => addActor(tx, id))))
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      assert.ok(result.reason instanceof ServiceError)
      assert.equal(result.reason.code, 'store_unavailable')
      assert.equal(result.reason.message, 'Storage failed during the commit: whether the change was made is unknown')
    }
    assert.deepEqual(logged, [`error: Cannot use the database file ${path}: disk I/O error`])
    assert.deepEqual(await store.read(actorIds), ['before'])
  })

  it('fails the health check until a new connection has stored a change', async (t) => {
    const { store, disk, logged, path } = await openOn(t)
    disk.nextCommit = raised(1034, 'disk I/O error')
    await assert.rejects(store.write((tx) => addActor(tx, 'a')))
    // The first read opens another connection, which later reads use too.
    assert.deepEqual(await store.read(actorIds), [])
    const writers = disk.opened.length
    disk.nextCommit = raised(778, 'disk I/O error')
    await assert.rejects(store.ping(), { code: 'store_unavailable' })
    await store.ping()
    assert.equal(disk.opened.length, writers + 2)
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['b'])
    assert.deepEqual(logged, [
      `error: Cannot use the database file ${path}: disk I/O error`,
      `warn: The database file ${path} can be used again`,
    ])
    await store.close()
    assert.equal(integrityOf(path), 'ok')
  })

  it('of a real file with a size limit gives 503, keeps reads working and loses no acknowledged change', async (t) => {
    if (process.platform === 'win32') return t.skip('File size limits need POSIX')
    const path = join(folderFor(t), 'troupe.db')
    const program = join(import.meta.dirname, '../support/full-disk-process.ts')
    // `ulimit` counts blocks of 512 bytes. The limit has room for the schema and a few rows.
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'ulimit -f 1800 && exec "$0" "$1" "$2"',
      process.execPath,
      program,
      path,
    ])
    const { stored, refused, found } = JSON.parse(stdout) as {
      stored: string[]
      refused: string[]
      found: string[]
    }
    assert.ok(stored.length > 0)
    assert.deepEqual(new Set(refused), new Set(['503 store_unavailable']))
    assert.deepEqual(found, stored)
    // A process without the limit can write again.
    const store = await openStore({ url: `sqlite:${path}` })
    t.after(() => store.close())
    assert.deepEqual(await store.read(actorIds), stored)
    await store.write((tx) => addActor(tx, 'zz'))
    assert.equal(integrityOf(path), 'ok')
  })
})

describe('a full disk (DUR-06)', () => {
  it('fails writes with 503, does not affect reads and recovers when there is space', async (t) => {
    const { store, disk, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    disk.setPragma('PRAGMA max_page_count = 1')
    const large = 'x'.repeat(100_000)
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b', large)),
      unavailable(/The disk is full/),
    )
    assert.deepEqual(await store.read(actorIds), ['a'])
    assert.deepEqual(await store.snapshot(actorIds), ['a'])
    await store.ping()
    disk.setPragma('PRAGMA max_page_count = 1000000')
    await store.write((tx) => addActor(tx, 'b', large))
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
    await store.close()
    assert.equal(integrityOf(path), 'ok')
  })

  it('fails only the write that does not fit, not others in the same commit', async (t) => {
    const { store, disk } = await openOn(t)
    disk.setPragma('PRAGMA max_page_count = 1')
    const results = await Promise.allSettled([
      store.write((tx) => addActor(tx, 'a')),
      store.write((tx) => addActor(tx, 'b', 'x'.repeat(100_000))),
      store.write((tx) => addActor(tx, 'c')),
    ])
    assert.deepEqual(
      results.map((result) => result.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await store.read(actorIds), ['a', 'c'])
  })
})

describe('a file that is no longer usable (DUR-07)', () => {
  it('rejects changes and reads and fails the health check when it was removed', async (t) => {
    const { store, path, logged } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    rmSync(path)
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/was removed while in use/),
    )
    await assert.rejects(store.ping(), unavailable(/was removed while in use/))
    await assert.rejects(store.read(actorIds), unavailable(/was removed while in use/))
    await assert.rejects(store.snapshot(actorIds), unavailable(/was removed while in use/))
    assert.equal(existsSync(path), false)
    assert.deepEqual(logged, [`error: The database file ${path} was removed while in use`])
  })

  it('rejects changes when it was replaced, and leaves the new file unchanged', async (t) => {
    const { store, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    copyFileSync(path, `${path}.copy`)
    renameSync(`${path}.copy`, path)
    const { size } = statSync(path)
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/was replaced while in use/),
    )
    assert.equal(statSync(path).size, size)
  })

  it('rejects a change that was open when it was removed, and takes it back', async (t) => {
    const { store, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    await assert.rejects(
      store.write(async (tx) => {
        await addActor(tx, 'b')
        renameSync(path, `${path}.away`)
      }),
      unavailable(/was removed while in use/),
    )
    renameSync(`${path}.away`, path)
    await store.write((tx) => addActor(tx, 'c'))
    assert.deepEqual(await store.read(actorIds), ['a', 'c'])
  })

  it('rejects changes when its log was removed', async (t) => {
    const { store, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    rmSync(`${path}-wal`)
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/log of the database file .* was removed/),
    )
    await assert.rejects(store.ping(), unavailable(/log of the database file .* was removed/))
  })

  it('is used again when it is restored', async (t) => {
    const { store, path, logged } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    renameSync(path, `${path}.away`)
    await assert.rejects(store.ping(), unavailable(/was removed while in use/))
    renameSync(`${path}.away`, path)
    await store.ping()
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
    assert.deepEqual(logged, [
      `error: The database file ${path} was removed while in use`,
      `warn: The database file ${path} can be used again`,
    ])
  })

  it('fails writes with 503 and fails the health check when it is read-only', async (t) => {
    const { store, disk } = await openOn(t)
    disk.setPragma('PRAGMA query_only = ON')
    await assert.rejects(
      store.write((tx) => addActor(tx, 'a')),
      unavailable(/cannot be written/),
    )
    await assert.rejects(store.ping(), unavailable(/cannot be written/))
    assert.deepEqual(await store.read(actorIds), [])
    disk.setPragma('PRAGMA query_only = OFF')
    await store.ping()
    await store.write((tx) => addActor(tx, 'a'))
  })

  describe('prevents the start with one sentence', () => {
    const refusal = async (url: string, sentence: RegExp) =>
      assert.rejects(openStore({ url }), (error: Error) => {
        assert.equal(error.name, 'StoreStartError')
        assert.match(error.message, sentence)
        return true
      })

    it('for a file that is not a database', async (t) => {
      const path = join(folderFor(t), 'troupe.db')
      writeFileSync(path, 'a text that is long enough to be looked at as a header of something'.repeat(20))
      await refusal(`sqlite:${path}`, /^Cannot open the database file .*troupe\.db: it is not a database\.$/)
    })

    it('for a folder in place of the file', async (t) => {
      const path = join(folderFor(t), 'troupe.db')
      mkdirSync(path)
      await refusal(`sqlite:${path}`, /^Cannot open the database file .*troupe\.db: it is a folder\.$/)
    })

    it('for a path that leads through a file', async (t) => {
      const folder = folderFor(t)
      writeFileSync(join(folder, 'file'), '')
      await refusal(
        `sqlite:${join(folder, 'file', 'troupe.db')}`,
        /^Cannot create the folder .*file for the database: a part of the path is not a folder\.$/,
      )
    })

    it('for an address without a file name', async () => {
      for (const url of ['sqlite:', 'sqlite::memory:', 'sqlite://host/file'])
        await refusal(url, /^Cannot open the store: its URL must name a file/)
      await refusal(
        'mysql://localhost/x',
        /^Cannot open the store: its URL must begin with "sqlite:" or "postgres:"\.$/,
      )
    })

    it('for missing permissions', async (t) => {
      if (process.platform === 'win32') return t.skip('File permissions need POSIX')
      const folder = folderFor(t)
      // Root bypasses permissions, so the program runs as an unprivileged user.
      const unprivileged = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
      const own = (path: string) => {
        if ('uid' in unprivileged) chownSync(path, 65534, 65534)
      }
      const sentenceFor = async (url: string) => {
        const program = join(import.meta.dirname, '../support/store-process.ts')
        const { stdout } = await promisify(execFile)(process.execPath, [program, url], { ...unprivileged, cwd: folder })
        return (JSON.parse(stdout.split('\n')[1] ?? '') as { message: string }).message
      }
      chmodSync(folder, 0o755)
      mkdirSync(join(folder, 'closed'))
      writeFileSync(join(folder, 'closed', 'troupe.db'), '')
      for (const path of ['closed', 'closed/troupe.db']) own(join(folder, path))
      chmodSync(join(folder, 'closed', 'troupe.db'), 0o000)
      assert.match(
        await sentenceFor(`sqlite:${join(folder, 'closed', 'troupe.db')}`),
        /^Cannot open the database file .*troupe\.db: permission denied\.$/,
      )
      chmodSync(join(folder, 'closed', 'troupe.db'), 0o600)
      chmodSync(join(folder, 'closed'), 0o500)
      assert.match(
        await sentenceFor(`sqlite:${join(folder, 'closed', 'troupe.db')}`),
        /^Cannot write in the folder .*closed of the database: permission denied\.$/,
      )
      assert.match(
        await sentenceFor(`sqlite:${join(folder, 'closed', 'deeper', 'troupe.db')}`),
        /^Cannot create the folder .*deeper for the database: permission denied\.$/,
      )
      chmodSync(join(folder, 'closed'), 0o700)
    })
  })

  it('is created with permissions for its owner only, like its folders', async (t) => {
    if (process.platform === 'win32') return t.skip('File permissions need POSIX')
    const folder = join(folderFor(t), 'deep', 'down')
    const store = await openStore({ url: `sqlite:${join(folder, 'troupe.db')}` })
    t.after(() => store.close())
    for (const [path, mode] of [
      ['troupe.db', 0o600],
      ['troupe.db-wal', 0o600],
      ['.', 0o700],
    ] as const)
      assert.equal(statSync(join(folder, path)).mode & 0o777, mode, path)
  })
})

describe('a lock held by another process (DUR-08)', () => {
  it('beyond the limit gives 503 with Retry-After, changes nothing and does not block the event loop', async (t) => {
    const { store, path } = await openOn(t, { busyTimeoutMs: 60 })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    const writes = [store.write((tx) => addActor(tx, 'a')), store.writeActor('a', async () => {})]
    const outcome = Promise.allSettled(writes)
    let turns = 0
    const turning = setInterval(() => turns++, 1)
    for (const result of await outcome) {
      assert.equal(result.status, 'rejected')
      unavailable(/locked by another process/)(result.reason)
    }
    clearInterval(turning)
    assert.ok(turns > 0)
    assert.deepEqual(await store.read(actorIds), [])
    await store.ping()
    other.exec('ROLLBACK')
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['b'])
  })

  it('that is released in time only delays the write', async (t) => {
    const { store, path } = await openOn(t, { busyTimeoutMs: 30_000 })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    const write = store.write((tx) => addActor(tx, 'a'))
    // Real time: SQLite reports no event when a writer meets the lock.
    setTimeout(() => other.exec('COMMIT'), 20)
    await write
    assert.deepEqual(await store.read(actorIds), ['a'])
  })

  it('after the timeout passed behind another change only delays the write', async (t) => {
    const { store, path, disk } = await openOn(t, { busyTimeoutMs: 200 })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    let second: Promise<unknown> | undefined
    const first = store.write(async (tx) => {
      await addActor(tx, 'a')
      second = store.write((later) => addActor(later, 'b'))
      // Real time: the writer compares it with the timeout.
      const end = performance.now() + 250
      // Real time: as above.
      await until(() => performance.now() > end)
    })
    disk.afterNextCommit = () => other.exec('BEGIN IMMEDIATE')
    disk.onBusy = () => {
      if (other.isTransaction) other.exec('COMMIT')
    }
    await first
    await second
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
  })

  it('during the start is reported in one sentence', async (t) => {
    const { path } = await openOn(t)
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    await assert.rejects(openStore({ url: `sqlite:${path}`, lockTimeoutMs: 20 }), {
      name: 'StoreStartError',
      message: `Cannot open the database file ${path}: another process keeps it locked.`,
    })
  })
})

describe('the write-ahead log (DUR-10)', () => {
  const large = 'x'.repeat(40_000)
  const fill = async (store: Store, from: number) => {
    for (let count = from; count < from + 200; count++) await store.write((tx) => addActor(tx, `${count}`, large))
  }

  it('stays small during repeated snapshots', async (t) => {
    const { store, path, logged } = await openOn(t, { logAlarmBytes: 6_000_000 })
    for (let round = 0; round < 4; round++) {
      await Promise.all([fill(store, round * 1_000), fill(store, round * 1_000 + 500), store.snapshot(actorIds)])
    }
    // The writes amount to 64 MB.
    assert.ok(statSync(`${path}-wal`).size < 6_000_000)
    assert.deepEqual(logged, [])
  })

  it('stays small when reads run in the same turns of the event loop as the commits', async (t) => {
    const { store, path, logged } = await openOn(t, { logAlarmBytes: 6_000_000 })
    for (let count = 0; count < 400; count++) {
      await nextTurn()
      const written = store.write((tx) => addActor(tx, `${count}`, large))
      await store.read((q) => q.get('SELECT id FROM actor WHERE id = $1', '0'))
      await written
    }
    // The writes amount to 16 MB.
    assert.ok(statSync(`${path}-wal`).size < 6_000_000)
    assert.deepEqual(logged, [])
  })

  it('is reported once when a long snapshot prevents its reset', async (t) => {
    const { store, path, logged } = await openOn(t, { logAlarmBytes: 6_000_000 })
    await store.snapshot(async (q) => {
      await actorIds(q)
      await fill(store, 0)
    })
    assert.deepEqual(logged, [
      `warn: The log of the database file ${path} has grown beyond 6000000 bytes: a reader keeps it in use`,
    ])
  })
})

describe('a change of several MB (HTTP-43)', () => {
  it('shares a COMMIT with others only until together they fill the log', async (t) => {
    const { store } = await openOn(t)
    const writes = Array.from({ length: 8 }, (_, n) =>
      store.write((tx) => addActor(tx, `a${n}`, 'v'.repeat(1_500_000))).then(() => store.read(actorIds)),
    )
    const seen = await Promise.all(writes)
    assert.deepEqual(
      seen.map(({ length }) => length),
      [3, 3, 3, 6, 6, 6, 8, 8],
    )
  })

  it('has the log copied into the file by another thread, before the next change', async (t) => {
    const { store, path } = await openOn(t)
    let threads = 0
    const count = (): void => void (threads += 1)
    process.on('worker', count)
    t.after(() => process.off('worker', count))
    await store.write((tx) => addActor(tx, 'a1'))
    assert.equal(threads, 0)
    await store.write((tx) => addActor(tx, 'a2', 'v'.repeat(6_000_000)))
    await store.write((tx) => addActor(tx, 'a3'))
    assert.equal(threads, 1)
    assert.ok(statSync(path).size > 6_000_000)
    assert.deepEqual(await store.read(actorIds), ['a1', 'a2', 'a3'])
  })

  it('is stored when no thread can copy the log, and the service reports it', async (t) => {
    const { store, path, logged } = await openOn(t)
    const hide = (): void => renameSync(path, `${path}.away`)
    process.once('worker', hide)
    t.after(() => process.off('worker', hide))
    await store.write((tx) => addActor(tx, 'a1', 'v'.repeat(6_000_000)))
    await until(() => logged.includes('warn: Cannot copy the log of the database into its file'))
    renameSync(`${path}.away`, path)
    await store.write((tx) => addActor(tx, 'a2'))
    assert.deepEqual(await store.read(actorIds), ['a1', 'a2'])
  })
})

describe('two services on one SQLite file (DUR-13)', () => {
  it('see each commit of the other one at once, even within one turn of the event loop', async (t) => {
    const { store, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    const isThere = () => store.read((q) => q.get('SELECT id FROM actor WHERE id = $1', 'a'))
    const seen = [isThere()]
    other.exec("DELETE FROM actor WHERE id = 'a'")
    seen.push(isThere())
    assert.deepEqual(await Promise.all(seen), [{ id: 'a' }, undefined])
  })

  it('lose no change and damage no data', async (t) => {
    const path = join(folderFor(t), 'troupe.db')
    const store = await openStore({ url: `sqlite:${path}` })
    t.after(() => store.close())
    await store.write((tx) => addActor(tx, 'a'))
    const program = join(import.meta.dirname, '../support/store-process.ts')
    const outputs = await Promise.all(
      [1, 2].map(() => promisify(execFile)(process.execPath, [program, `sqlite:${path}`, '150'])),
    )
    assert.deepEqual(
      outputs.map((output) => output.stdout),
      ['starting\nopen\ndone\n', 'starting\nopen\ndone\n'],
    )
    const row = await store.read((q) => q.get<{ value: string }>('SELECT value FROM property WHERE actor_id = $1', 'a'))
    assert.equal(row?.value, '300')
    await store.close()
    assert.equal(integrityOf(path), 'ok')
  })
})

describe('a write during which the service is killed', () => {
  it('is complete or absent, and an acknowledged write is present', async (t) => {
    const path = join(folderFor(t), 'troupe.db')
    const store = await openStore({ url: `sqlite:${path}` })
    t.after(() => store.close())
    await store.write((tx) => addActor(tx, 'a'))
    let answered = 0
    for (let round = 0; round < 5; round++) {
      const program = join(import.meta.dirname, '../support/answered-process.ts')
      const child = execFile(process.execPath, [program, `sqlite:${path}`, String(answered)])
      let said = ''
      await new Promise<void>((resolve) => {
        child.stdout?.on('data', (piece: string) => {
          said += piece
          if (said.split('\n').length > 20 + round * 7) child.kill('SIGKILL')
        })
        child.once('close', () => resolve())
      })
      const row = await store.read((q) =>
        q.get<{ value: string }>('SELECT value FROM property WHERE actor_id = $1', 'a'),
      )
      const last = Number(said.slice(0, said.lastIndexOf('\n')).split('\n').at(-1))
      answered = Number(row?.value)
      assert.ok(answered >= last, `${last} was answered, ${answered} is stored`)
    }
    await store.close()
    assert.equal(integrityOf(path), 'ok')
  })
})
