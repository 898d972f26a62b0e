/** `troupe doctor` on this machine: the disk of the database and the age of the exports. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { markCopy, startIncarnation } from '../../src/incarnation/incarnation.ts'
import { openStore } from '../../src/open-store.ts'
import { runOf, startOfRun } from '../../src/job/runs.ts'
import { onShards, setUpForDoctor } from '../support/citus.ts'
import { startService } from '../support/service.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { createTestDatabase, type TestDatabase } from '../support/stores.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const hourMs = 3_600_000

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`troupe doctor with ${dialect}`, () => {
    let database: TestDatabase
    let place: Workplace
    before(async () => {
      database = await createTestDatabase(dialect)
      const store = await openStore({ url: database.url })
      await store.close()
      if (dialect === 'postgres') await setUpForDoctor(database.url)
    })
    after(() => database.remove())
    beforeEach(() => {
      place = new Workplace()
    })
    afterEach(() => place.remove())
    const run = (env: Record<string, string> = {}): Promise<Ending> =>
      place.run(['doctor'], {
        env: { DATABASE_URL: database.url, TROUPE_SECRET_KEYS: key, BASE_URL: 'https://notes.example.com', ...env },
      })

    it('measures how long a change waits for the disk, and leaves nothing', async () => {
      const { code, stdout, stderr } = await run()
      assert.deepEqual([code, stderr], [0, ''])
      const shards = dialect === 'postgres' && onShards() ? 'distributed by Citus, ' : ''
      assert.match(
        stdout,
        new RegExp(`^database {2}.*: answers, 0 actors, ${shards}a change waits \\d+\\.\\d ms for the disk`, 'm'),
      )
      assert.doesNotMatch(stdout, /^exports/m)
    })

    it('names the copy that the database continues (SUB-20)', async () => {
      const copy = await createTestDatabase(dialect)
      try {
        if (dialect === 'postgres') await setUpForDoctor(copy.url)
        const store = await openStore({ url: copy.url })
        await startIncarnation(store, { warn: () => {} })
        await store.write((tx) => markCopy(tx, Date.parse('2026-11-28T09:30:00Z')))
        const marked = await run({ DATABASE_URL: copy.url })
        assert.match(
          marked.stdout,
          /, a copy of 2026-11-28T09:30:00\S*: the next start begins a new incarnation and renews all copies of subscriptions$/m,
        )
        await startIncarnation(store, { warn: () => {} })
        await store.close()
        const begun = await run({ DATABASE_URL: copy.url })
        assert.match(begun.stdout, /, continues a copy of 2026-11-28T09:30:00\S* since 20\d\d-\S+$/m)
      } finally {
        await copy.remove()
      }
    })

    it('reports the age of the newest complete export, and fails when it is too old (R-DOC-03)', async () => {
      const exports = { TROUPE_EXPORTS: place.path('exports') }
      const ago = (hours: number): string => runOf(new Date(Date.now() - hours * hourMs))
      const none = await run(exports)
      assert.deepEqual([none.code, none.stderr], [0, ''])
      assert.match(none.stdout, /^exports {3}none is complete yet$/m)
      place.write(`exports/${ago(50)}/complete.json`, '{}')
      place.write(`exports/${ago(1)}/ad/ada.jsonl.gz`, '')
      const old = await run(exports)
      assert.equal(old.code, 1)
      assert.equal(
        old.stderr,
        'The newest complete export is 50 hours old, and one is due every 24 hours. Search the log for troupe:exports, and run troupe redrive.\n',
      )
      const rare = await run({ ...exports, TROUPE_EXPORTS_EVERY_HOURS: '48' })
      assert.equal(rare.code, 0)
      place.write(`exports/${ago(3)}/complete.json`, '{}')
      const recent = await run(exports)
      assert.deepEqual([recent.code, recent.stderr], [0, ''])
      assert.match(recent.stdout, /^exports {3}the newest complete one is 3 hours old$/m)
    })

    it('reports the age of the newest complete backup, and fails when it is too old', async () => {
      const backups = { TROUPE_BACKUPS: place.path('backups') }
      const ago = (hours: number): string => runOf(new Date(Date.now() - hours * hourMs))
      const none = await run(backups)
      assert.match(none.stdout, /^backups {3}none is complete yet$/m)
      place.write(`backups/${ago(50)}/backup.json`, '{}')
      place.write(`backups/${ago(1)}/unfinished.json`, '{}')
      const old = await run(backups)
      assert.equal(old.code, 1)
      assert.equal(
        old.stderr,
        'The newest complete backup is 50 hours old, and one is due every 24 hours. Search the log for troupe:backups, and run troupe redrive.\n',
      )
      place.write(`backups/${ago(3)}/backup.json`, '{}')
      const recent = await run(backups)
      assert.deepEqual([recent.code, recent.stderr], [0, ''])
      assert.match(recent.stdout, /^backups {3}the newest complete one is 3 hours old$/m)
    })
  })
}

describe('troupe doctor deep', () => {
  for (const dialect of ['sqlite', 'postgres'] as const)
    it(`names files without their contents, and contents of no file, with ${dialect} (DUR-21)`, async (t) => {
      const database = await createTestDatabase(dialect)
      const place = new Workplace()
      const files = place.path('contents')
      const service = await startService(database.url, { files, secretKeys: key })
      t.after(async () => {
        await place.remove()
        await database.remove()
      })
      const actor = await service.createActor()
      for (const name of ['lost', 'cut', 'flipped', 'whole'])
        await actor.request('PUT', `/files/${name}`, `content ${name}`, { 'content-type': 'text/plain' })
      const { store } = await service.app.running()
      const rows = await store.read((q) => q.all<{ name: string; object: string }>('SELECT name, object FROM file'))
      await service.close()
      const env = {
        DATABASE_URL: database.url,
        TROUPE_SECRET_KEYS: key,
        BASE_URL: 'https://notes.example.com',
        TROUPE_FILES: files,
      }
      const run = (more: Record<string, string> = {}): Promise<Ending> =>
        place.run(['doctor', 'deep'], { env: { ...env, ...more } })
      const whole = await run()
      assert.deepEqual([whole.code, whole.stderr], [0, ''])
      const objectOf = (name: string): string => rows.find((row) => row.name === name)?.object ?? ''
      const pathOf = (name: string): string => `contents/${objectOf(name).slice(0, 2)}/${objectOf(name)}`
      rmSync(place.path(pathOf('lost')))
      place.write(pathOf('cut'), 'content')
      place.write(pathOf('flipped'), 'content flippeD')
      const stray = 'abcdef0123456789abcdef0123456789'
      place.write(`contents/ab/${stray}`, 'x')
      place.write('contents/README.txt', 'other names are left alone')
      const found = await run()
      assert.equal(found.code, 1)
      assert.equal(
        found.stderr,
        'The storage for files lacks the contents of 3 files, or has damaged ones: restore the objects from a backup, or store the files again.\n',
      )
      for (const [name, problem] of [
        ['lost', 'missing'],
        ['cut', 'damaged'],
        ['flipped', 'damaged'],
      ] as const)
        assert.ok(
          found.stdout.includes(`${problem}   file "${name}" of actor ${actor.id}, object ${objectOf(name)}\n`),
          found.stdout,
        )
      assert.ok(!found.stdout.includes('"whole"'))
      assert.match(found.stdout, new RegExp(`^stray     object ${stray}$`, 'm'))
      assert.match(found.stdout, /^The storage for files has 1 object that the database does not name\./m)
      assert.equal(readdirSync(files).length > 0, true)
      const off = await run({ TROUPE_FILES: 'off' })
      assert.match(off.stderr, /^The database has files, and TROUPE_FILES names no storage/)
    })
})

describe('the time of a run of exports', () => {
  it('is in the name of its folder', () => {
    const time = Date.UTC(2026, 10, 28, 3, 4, 5)
    assert.equal(runOf(new Date(time)), '2026-11-28T03-04-05Z')
    assert.equal(startOfRun('2026-11-28T03-04-05Z'), time)
  })
})
