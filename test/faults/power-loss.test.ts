/** After a loss of power, only synced data is certain to be on the disk. The service must need no other data. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { copyFolder, emptyFolder } from '../support/folders.ts'
import { violationsIn } from '../support/invariants.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Random, seeded } from '../support/random.ts'
import { startService } from '../support/service.ts'
import { Steps } from '../support/steps.ts'
import { createPostgresDatabase, createTestDatabase } from '../support/stores.ts'

const clients = 4

/** An acknowledged step, and how much of the database’s log was synced at that time. */
interface Answered {
  readonly client: number
  readonly step: number
  readonly synced: number
}

/** Returns how many steps of each client a disk must hold whose log is intact up to `wholeUpTo`. */
function owed(answered: readonly Answered[], wholeUpTo: number): number[] {
  const steps = Array.from({ length: clients }, () => 0)
  for (const { client, step, synced } of answered)
    if (synced <= wholeUpTo) steps[client] = Math.max(steps[client] ?? 0, step)
  return steps
}

function assertHolds(held: readonly number[], due: readonly number[], where: string): void {
  for (const [client, steps] of held.entries())
    assert.ok(steps >= (due[client] ?? 0), `${where}: client ${client} has ${steps} of ${due[client]} answered steps`)
}

/**
 * Records how much of the log SQLite has synced. With `synchronous=FULL` a returning COMMIT has synced all of it
 * (https://www.sqlite.org/pragma.html#pragma_synchronous). Lower settings guarantee nothing.
 */
function watchSyncs(t: TestContext, path: string): { synced(): number } {
  let synced = 0
  const prepare = Reflect.get(DatabaseSync.prototype, 'prepare')
  t.mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql)
    if (sql !== 'COMMIT') return statement
    const setting = (name: string): unknown => prepare.call(this, `PRAGMA ${name}`).get()?.[name]
    const run = statement.run.bind(statement)
    statement.run = () => {
      const result = run()
      if (setting('query_only') === 0 && setting('synchronous') === 2) synced = statSync(`${path}-wal`).size
      return result
    }
    return statement
  })
  return { synced: () => synced }
}

interface Files {
  readonly database: Buffer
  readonly log: Buffer
}

/** Reads the files by another process, because closing a file that SQLite has open here would release its locks. */
function filesAt(path: string): Files {
  const read = (file: string): Buffer => execFileSync('cat', [file], { maxBuffer: 2 ** 28 })
  return { database: read(path), log: read(`${path}-wal`) }
}

/** Puts a service under load and returns its files as a power loss would leave them. */
async function loadOnSqlite(t: TestContext, options: { readonly synchronous?: 'NORMAL' } = {}) {
  const database = await createTestDatabase('sqlite')
  const path = database.url.slice('sqlite:'.length)
  const disk = watchSyncs(t, path)
  const service = await startService(database.url, options)
  t.after(async () => {
    await service.close()
    await database.remove()
  })
  const steps = await Steps.prepare(service, clients)
  const prepared = disk.synced()
  const answered: Answered[] = []
  await steps.run(1, 24, (client, step) => void answered.push({ client, step, synced: disk.synced() }))
  const files = filesAt(path)
  /** Starts a service on these files and returns the steps that it holds. */
  const found = async (left: Files): Promise<number[]> => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-power-'))
    const copy = `sqlite:${join(folder, 'troupe.db')}`
    writeFileSync(join(folder, 'troupe.db'), left.database)
    writeFileSync(join(folder, 'troupe.db-wal'), left.log)
    try {
      const again = await startService(copy)
      const held = await steps.heldBy(again)
      await again.close()
      assert.deepEqual(await violationsIn(copy), [])
      return held
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return { path, files, prepared, answered, found }
}

const logHeaderBytes = 32
const frameBytes = 24 + 4096

describe('a loss of power under SQLite', () => {
  it('keeps every acknowledged change, wherever the log ends (DUR-03, I1, I2, I5)', async (t) => {
    const { files, prepared, answered, found } = await loadOnSqlite(t)
    assert.ok(prepared > 0, 'no commit was synced')
    assert.equal((files.log.length - logHeaderBytes) % frameBytes, 0)
    const random = seeded(1)
    const ends = [
      ...answered.map(({ synced }) => synced).filter((_, index) => index % 6 === 0),
      ...Array.from({ length: 12 }, () => prepared + random.below(files.log.length - prepared)),
      files.log.length,
    ]
    for (const end of ends) {
      const held = await found({ ...files, log: files.log.subarray(0, end) })
      assertHolds(held, owed(answered, end), `a log of ${end} bytes`)
    }
    assert.deepEqual(await found(files), [24, 24, 24, 24])
  })

  it('keeps every acknowledged change, whatever remains of unsynced data (DUR-04, I1, I2, I5)', async (t) => {
    const { files, prepared, answered, found } = await loadOnSqlite(t)
    const random = seeded(2)
    for (let round = 0; round < 24; round++) {
      const { synced } = random.pick(answered as [Answered, ...Answered[]])
      assert.ok(synced >= prepared)
      const held = await found({ ...files, log: scrambled(files.log, synced, random) })
      assertHolds(held, owed(answered, synced), `a log that is whole for ${synced} bytes (round ${round})`)
    }
  })

  it('keeps every acknowledged change during a checkpoint (DUR-03, DUR-04, I1, I2, I5)', async (t) => {
    const { path, files, found } = await loadOnSqlite(t)
    const mover = new DatabaseSync(path)
    const moved = mover.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
    mover.close()
    assert.equal(moved?.['checkpointed'], moved?.['log'])
    const after = filesAt(path)
    assert.notDeepEqual(after.database, files.database)
    const random = seeded(3)
    for (let round = 0; round < 12; round++) {
      // SQLite keeps the log until the file is synced. So the log is whole, and each sector of the file is old or new.
      const held = await found({ log: files.log, database: sectorsOf(files.database, after.database, random) })
      assert.deepEqual(held, [24, 24, 24, 24], `round ${round}`)
    }
  })

  it('may lose the latest changes with synchronous=NORMAL, and damages nothing (DUR-03, I2, I5)', async (t) => {
    const { files, answered, found } = await loadOnSqlite(t, { synchronous: 'NORMAL' })
    assert.equal(answered.length, clients * 24)
    assert.ok(answered.every(({ synced }) => synced === 0))
    const random = seeded(4)
    const lost: boolean[] = []
    for (let round = 0; round < 16; round++) {
      const end = random.below(files.log.length)
      const held = await found({ ...files, log: scrambled(files.log, end, random) })
      lost.push(held.some((steps) => steps < 24))
    }
    assert.ok(lost.includes(true))
  })
})

const sectorBytes = 512

/** Scrambles the log after `wholeUpTo` bytes: each sector was written, not written, half written, or holds other content. */
function scrambled(log: Buffer, wholeUpTo: number, random: Random): Buffer {
  const left = Buffer.from(log)
  for (let start = wholeUpTo; start < left.length; start += sectorBytes) {
    const sector = left.subarray(start, start + sectorBytes)
    const what = random.below(8)
    if (what === 0) sector.fill(0)
    else if (what === 1) sector.fill(0, random.below(sector.length))
    else if (what === 2) log.copy(sector, 0, wholeUpTo + random.below(left.length - wholeUpTo))
    else if (what === 3) sector[random.below(sector.length)] = random.below(256)
  }
  return left.subarray(0, wholeUpTo + random.below(left.length - wholeUpTo + 1))
}

/** Mixes the sectors of two versions of a file. Unwritten sectors beyond the end of the older one are zero. */
function sectorsOf(before: Buffer, after: Buffer, random: Random): Buffer {
  const left = Buffer.alloc(after.length)
  for (let start = 0; start < left.length; start += sectorBytes) {
    const from = random.below(2) === 0 ? before : after
    from.subarray(start, start + sectorBytes).copy(left, start)
  }
  return left
}

describe('a loss of power under PostgreSQL', () => {
  it('keeps every acknowledged change when all unsynced data is lost (DUR-03, I1, I2, I5, I8)', async (t) => {
    const server = await startPostgres({ fsync: true })
    const folder = mkdtempSync(join(tmpdir(), 'troupe-power-'))
    t.after(async () => {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    })
    const database = await createPostgresDatabase(server.url)
    const service = await startService(database.url)
    const admin = new pg.Pool({ connectionString: server.url, max: clients })
    admin.on('error', () => {})
    const steps = await Steps.prepare(service, clients)
    const settings = await admin.query<{ data_directory: string }>('SHOW data_directory')
    const data = settings.rows[0]?.data_directory ?? ''

    // Copies the files as synced last. Later writes to them count as lost.
    await admin.query('CHECKPOINT')
    copyFolder(data, join(folder, 'synced'))
    const answered: (Answered & { readonly segment: string; readonly offset: number })[] = []
    await steps.run(1, 40, async (client, step) => {
      const { rows } = await admin.query<{ synced: number; segment: string; offset: number }>(
        `SELECT (lsn - '0/0')::float8 AS synced, file_name AS segment, file_offset AS offset
         FROM (SELECT pg_current_wal_flush_lsn() AS lsn) AS flushed, pg_walfile_name_offset(lsn)`,
      )
      for (const row of rows) answered.push({ client, step, ...row })
    })
    await server.stop('kill')
    await admin.end().catch(() => {})
    await service.close()
    copyFolder(join(data, 'pg_wal'), join(folder, 'log'))

    for (const moment of [40, 130]) {
      const last = answered[moment]
      assert.ok(last !== undefined)
      emptyFolder(data)
      copyFolder(join(folder, 'synced'), data)
      rmSync(join(data, 'postmaster.pid'), { force: true })
      rmSync(join(data, 'pg_wal'), { recursive: true, force: true })
      copyFolder(join(folder, 'log'), join(data, 'pg_wal'))
      loseLogAfter(join(data, 'pg_wal'), last.segment, last.offset)
      await server.start()
      const again = await startService(database.url)
      const held = await steps.heldBy(again)
      await again.close()
      assertHolds(held, owed(answered, last.synced), `the log up to answer ${moment}`)
      assert.ok(
        held.some((count) => count < 40),
        'no change was lost, so the test proves nothing',
      )
      assert.deepEqual(await violationsIn(database.url), [])
      await server.stop('fast')
    }
  })
})

function loseLogAfter(log: string, segment: string, offset: number): void {
  for (const name of readdirSync(log)) {
    if (!/^[0-9A-F]{24}$/.test(name) || name < segment) continue
    const bytes = readFileSync(join(log, name))
    writeFileSync(join(log, name), bytes.fill(0, name === segment ? offset : 0))
  }
}
