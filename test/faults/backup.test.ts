/** Backups taken under load: each is a state of one moment and holds every change that was acknowledged before. */
import assert from 'node:assert/strict'
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import pg from 'pg'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { builtInTables } from '../../src/features/features.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { MemoryBytes } from '../../src/object/memory.ts'
import { openStore } from '../../src/open-store.ts'
import { copyFolder, emptyFolder } from '../support/folders.ts'
import { violationsIn } from '../support/invariants.ts'
import { startPostgres } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { Steps } from '../support/steps.ts'
import { createPostgresDatabase, createTestDatabase } from '../support/stores.ts'
import { emptyTarget } from '../support/backups.ts'

const clients = 4

/** The last acknowledged step of each client when a backup began, and the last requested step when it ended. */
interface Copy {
  readonly answeredBefore: readonly number[]
  readonly askedBefore: readonly number[]
}

/** Takes the backups one after the other while all clients keep writing. */
async function copiesUnderLoad(steps: Steps, takeCopies: readonly (() => Promise<void>)[]): Promise<Copy[]> {
  const answered = Array.from({ length: clients }, () => 0)
  let isDone = false
  const { promise: warm, resolve } = Promise.withResolvers<void>()
  const load = steps.run(1, Number.POSITIVE_INFINITY, (client, step) => {
    answered[client] = step
    if (step === 4) resolve()
    return !isDone
  })
  await warm
  const copies: Copy[] = []
  try {
    for (const take of takeCopies) {
      const answeredBefore = [...answered]
      await take()
      copies.push({ answeredBefore, askedBefore: answered.map((step) => step + 1) })
    }
  } finally {
    isDone = true
    await load
  }
  return copies
}

/** Asserts that the backup holds a consistent state between its begin and its end. */
async function assertOneMoment(url: string, steps: Steps, copy: Copy | undefined): Promise<void> {
  assert.ok(copy !== undefined)
  const restored = await startService(url)
  const held = await steps.heldBy(restored)
  await restored.close()
  for (const [client, count] of held.entries()) {
    const least: number = copy.answeredBefore[client] ?? 0
    const most: number = copy.askedBefore[client] ?? 0
    assert.ok(count >= least && count <= most, `client ${client}: ${count} steps, not ${least} to ${most}`)
  }
  assert.deepEqual(await violationsIn(url), [])
}

describe('a backup of a database in use', () => {
  for (const dialect of ['sqlite', 'postgres'] as const)
    it(`by troupe backup is one moment of the ${dialect} database (DUR-11, I2, I5, I8)`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'troupe-backup-'))
      const database = await createTestDatabase(dialect)
      const service = await startService(database.url)
      // The command is another process with its own connections.
      const store = await openStore({ url: database.url, mustExist: true })
      t.after(async () => {
        await store.close()
        await service.close()
        await database.remove()
        rmSync(folder, { recursive: true, force: true })
      })
      const bytes = new MemoryBytes()
      const steps = await Steps.prepare(service, clients)
      const names = ['one', 'two', 'three']
      const copies = await copiesUnderLoad(
        steps,
        names.map((name) => async () => {
          await makeBackup(
            { store, now: store.now, url: database.url, bytes, hasFiles: true, tables: builtInTables },
            join(folder, name),
          )
        }),
      )
      for (const [index, name] of names.entries()) {
        const target = await emptyTarget(dialect)
        try {
          await restoreBackup({ url: target.url, bytes, hasFiles: true }, join(folder, name))
          await assertOneMoment(target.url, steps, copies[index])
        } finally {
          await target.remove()
        }
      }
    })

  it('by the server’s own backup is one moment of the PostgreSQL database (DUR-11, I2, I5, I8)', async (t) => {
    const server = await startPostgres()
    const folder = mkdtempSync(join(tmpdir(), 'troupe-backup-'))
    const database = await createPostgresDatabase(server.url)
    const service = await startService(database.url)
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    t.after(async () => {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    })
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory')
    const data = rows[0]?.data_directory ?? ''
    const backup = join(folder, 'backup')
    const steps = await Steps.prepare(service, clients)
    const [copy] = await copiesUnderLoad(steps, [
      async () => {
        await client.query(`SELECT pg_backup_start('test', true)`)
        mkdirSync(backup)
        copyFolder(data, backup)
        const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
        // A backup needs the write-ahead log that was written while the files were copied.
        copyFolder(join(data, 'pg_wal'), join(backup, 'pg_wal'))
        const label = join(backup, 'backup_label')
        writeFileSync(label, rows[0]?.labelfile ?? '')
        const { uid, gid } = statSync(data)
        chownSync(label, uid, gid)
      },
    ])
    await client.end()
    await service.close()
    await server.stop('fast')
    emptyFolder(data)
    copyFolder(backup, data)
    rmSync(join(data, 'postmaster.pid'), { force: true })
    await server.start()
    await assertOneMoment(database.url, steps, copy)
  })
})
