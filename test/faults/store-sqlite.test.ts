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
import { promisify } from 'node:util'
import { ServiceError } from '../../src/errors.ts'
import { openStore } from '../../src/open-store.ts'
import type { Queries, Store, Transaction } from '../../src/store/store.ts'
import { BrittleDisk } from '../support/brittle-disk.ts'
import { unavailable } from '../support/stores.ts'

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

/** As SQLite raises it. */
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

describe('DUR-05: a sync of the disk that fails', () => {
  it('fails every write of the group, says that the outcome is unknown, and turns health red', async (t) => {
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

  it('leaves health red until a change was stored on a connection of its own', async (t) => {
    const { store, disk, logged, path } = await openOn(t)
    disk.nextCommit = raised(1034, 'disk I/O error')
    await assert.rejects(store.write((tx) => addActor(tx, 'a')))
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

  it('of a real file that may not grow is a 503, reads go on, and nothing that was answered is lost', async (t) => {
    if (process.platform === 'win32') return t.skip('The limit on the size of a file is one of POSIX')
    const path = join(folderFor(t), 'troupe.db')
    const program = join(import.meta.dirname, '../support/full-disk-process.ts')
    // Blocks of 512 bytes: room for the schema and a few rows.
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'ulimit -f 1400 && exec "$0" "$1" "$2"',
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
    // With room again, by a process without the limit.
    const store = await openStore({ url: `sqlite:${path}` })
    t.after(() => store.close())
    assert.deepEqual(await store.read(actorIds), stored)
    await store.write((tx) => addActor(tx, 'zz'))
    assert.equal(integrityOf(path), 'ok')
  })
})

describe('DUR-06: a full disk', () => {
  it('fails the write with 503, leaves reads alone, and is over when there is space again', async (t) => {
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

  it('fails the one write that does not fit, not those that share its commit', async (t) => {
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

describe('DUR-07: a file that can no longer be used', () => {
  it('that was removed takes no change, is not read, and turns health red', async (t) => {
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

  it('that was replaced takes no change and leaves the new file as it is', async (t) => {
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

  it('whose log was removed takes no change', async (t) => {
    const { store, path } = await openOn(t)
    await store.write((tx) => addActor(tx, 'a'))
    rmSync(`${path}-wal`)
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/log of the database file .* was removed/),
    )
    await assert.rejects(store.ping(), unavailable(/log of the database file .* was removed/))
  })

  it('that comes back at its place is used again', async (t) => {
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

  it('that turns read-only fails the write with 503 and turns health red', async (t) => {
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

  describe('refuses the start with one sentence', () => {
    const refusal = async (url: string, sentence: RegExp) =>
      assert.rejects(openStore({ url }), (error: Error) => {
        assert.equal(error.name, 'StoreStartError')
        assert.match(error.message, sentence)
        return true
      })

    it('for a file that is no database', async (t) => {
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

    it('for an address that names no file', async () => {
      for (const url of ['sqlite:', 'sqlite::memory:', 'sqlite://host/file'])
        await refusal(url, /^Cannot open the store: its URL must name a file/)
      await refusal(
        'mysql://localhost/x',
        /^Cannot open the store: its URL must begin with "sqlite:" or "postgres:"\.$/,
      )
    })

    it('for rights that are missing', async (t) => {
      if (process.platform === 'win32') return t.skip('Rights of files are those of POSIX')
      const folder = folderFor(t)
      // Root may do everything, so the program is run as nobody then.
      const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
      const own = (path: string) => {
        if ('uid' in nobody) chownSync(path, 65534, 65534)
      }
      const sentenceFor = async (url: string) => {
        const program = join(import.meta.dirname, '../support/store-process.ts')
        const { stdout } = await promisify(execFile)(process.execPath, [program, url], { ...nobody, cwd: folder })
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

  it('is created for its owner alone, in folders of its owner alone', async (t) => {
    if (process.platform === 'win32') return t.skip('Rights of files are those of POSIX')
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

describe('DUR-08: a lock held by another process', () => {
  it('beyond the limit is a 503 with Retry-After; nothing was changed, and the service goes on meanwhile', async (t) => {
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

  it('that is given up in time is waited for', async (t) => {
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

  it('during the start is told in one sentence', async (t) => {
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

describe('DUR-10: the write-ahead log', () => {
  const large = 'x'.repeat(40_000)
  const fill = async (store: Store, from: number) => {
    for (let count = from; count < from + 200; count++) await store.write((tx) => addActor(tx, `${count}`, large))
  }

  it('stays small while snapshots come and go', async (t) => {
    const { store, path, logged } = await openOn(t, { logAlarmBytes: 6_000_000 })
    for (let round = 0; round < 4; round++) {
      await Promise.all([fill(store, round * 1_000), fill(store, round * 1_000 + 500), store.snapshot(actorIds)])
    }
    // 64 MB went through it.
    assert.ok(statSync(`${path}-wal`).size < 6_000_000)
    assert.deepEqual(logged, [])
  })

  it('that a long snapshot keeps from starting over is told of once', async (t) => {
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

describe('DUR-13: two services on one SQLite file', () => {
  it('lose no change and damage nothing', async (t) => {
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

describe('a write that the service was killed in', () => {
  it('is either there or not, and what was answered is there', async (t) => {
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
