/** Backups and restores that are interrupted, damaged or aimed at something else, and files that change meanwhile. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it, type TestContext } from 'node:test'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { builtInTables } from '../../src/features/features.ts'
import { restoreBackup, type RestoreTarget, verifyBackup } from '../../src/backup/restore-backup.ts'
import { ServiceError } from '../../src/errors.ts'
import { DirectoryBytes } from '../../src/object/directory.ts'
import type { FileBytes } from '../../src/object/file-bytes.ts'
import { findIncarnation } from '../../src/incarnation/incarnation.ts'
import { openStore } from '../../src/open-store.ts'
import { NotCreatedError } from '../../src/store/start-error.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyTarget } from '../support/backups.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { startService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { createTestDatabase, faulty, type TestDatabase } from '../support/stores.ts'

const hourMs = 3_600_000
let root = ''
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-backups-'))
})
after(() => rm(root, { recursive: true, force: true }))

const newFolder = (): Promise<string> => mkdtemp(join(root, 'place-'))
const put = async (actor: TestActor, name: string, text: string): Promise<void> => {
  const answer = await actor.request('PUT', `/files/${name}`, text, { 'content-type': 'text/plain' })
  assert.ok(answer.ok, await answer.text())
}
const fails = (code: string, said: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, said)
  return true
}

function firstTriggerIn(database: DatabaseSync): string {
  return String(database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).get()?.['name'])
}

/** Fails the call with this number, counted from 1, and all later ones. */
function failingFrom(bytes: FileBytes, from: number): { readonly bytes: FileBytes; readonly calls: () => number } {
  let calls = 0
  const counted = <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      calls += 1
      if (calls >= from) throw new ServiceError('store_unavailable')
      return work(...args)
    }
  }
  return {
    calls: () => calls,
    bytes: {
      put: counted((key: string, chunks: AsyncIterable<Uint8Array>) => bytes.put(key, chunks)),
      open: counted((key: string, range: Parameters<FileBytes['open']>[1]) => bytes.open(key, range)),
      delete: (key) => bytes.delete(key),
      list: (digit) => bytes.list(digit),
      close: () => bytes.close(),
    },
  }
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`with ${dialect}`, () => {
    /** A service with files in a folder, and the parts of `troupe backup` for it. */
    async function serviceWithFiles(t: TestContext, options: StartOptions = {}) {
      const database = await createTestDatabase(dialect)
      const files = await newFolder()
      const service = await startService(database.url, { files, ...options })
      const store = await openStore({ url: database.url, mustExist: true })
      t.after(async () => {
        await store.close()
        await service.close()
        await database.remove()
      })
      const bytes = new DirectoryBytes(files)
      const deps = { store, now: store.now, url: database.url, bytes, hasFiles: true, tables: builtInTables }
      return { database, service, store, bytes, deps, files }
    }

    async function targetFor(
      t: TestContext,
    ): Promise<RestoreTarget & { readonly database: TestDatabase; files: string }> {
      const database = await emptyTarget(dialect)
      t.after(() => database.remove())
      const files = await newFolder()
      return { database, url: database.url, files, bytes: new DirectoryBytes(files), hasFiles: true }
    }

    async function withRestored(
      target: Awaited<ReturnType<typeof targetFor>>,
      work: (service: TestService) => Promise<void>,
    ): Promise<void> {
      const service = await startService(target.url, { files: target.files })
      try {
        await work(service)
      } finally {
        await service.close()
      }
    }

    const read = async (service: TestService, actor: TestActor, path: string): Promise<string> => {
      const answer = await service.request(`/${actor.id}${path}`, { headers: { authorization: actor.authorization } })
      return `${answer.status} ${await answer.text()}`
    }

    describe('a backup', () => {
      it('has the files of its moment, also those that are replaced and deleted while it copies them (DUR-16)', async (t) => {
        const { service, deps, bytes } = await serviceWithFiles(t)
        const actor = await service.createActor()
        const names = Array.from({ length: 12 }, (_, n) => `f${n}`)
        for (const name of names) await put(actor, name, `old ${name}`)
        let changed: Promise<void> | undefined
        const changing: FileBytes = {
          put: (key, chunks) => bytes.put(key, chunks),
          open: async (key, range) => {
            changed ??= (async () => {
              for (const name of names.slice(0, 6)) await put(actor, name, `new ${name}`)
              for (const name of names.slice(6)) await actor.request('DELETE', `/files/${name}`)
              await service.settled()
            })()
            await changed
            return bytes.open(key, range)
          },
          delete: (key) => bytes.delete(key),
          list: (digit) => bytes.list(digit),
          close: () => bytes.close(),
        }
        const folder = join(await newFolder(), 'copy')
        const facts = await makeBackup({ ...deps, bytes: changing }, folder)
        assert.deepEqual([facts.files.count, facts.files.missing], [12, []])
        assert.equal(await read(service, actor, '/files/f0'), '200 new f0')
        const target = await targetFor(t)
        await restoreBackup(target, folder)
        await withRestored(target, async (restored) => {
          for (const name of names) assert.equal(await read(restored, actor, `/files/${name}`), `200 old ${name}`)
        })
      })

      it('lets the service delete unused contents again when the backup has ended or was killed', async (t) => {
        const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
        const { service, deps, bytes } = await serviceWithFiles(t, { now: clock.now, timers: clock.timers })
        const actor = await service.createActor()
        await put(actor, 'a', 'old')
        await service.settled()
        await makeBackup({ ...deps, now: clock.now, timers: clock.timers }, join(await newFolder(), 'copy'))
        await put(actor, 'a', 'new')
        await service.settled()
        assert.equal((await objectsIn(bytes)).length, 2)
        await passUntil(clock, [service], async () => (await objectsIn(bytes)).length === 1, 60_000)
      })

      it('is readable for its owner only (DUR-16)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        await put(await service.createActor(), 'a', 'x')
        const folder = await newFolder()
        await rm(folder, { recursive: true })
        await mkdir(folder, { mode: 0o755 })
        await makeBackup(deps, folder)
        assert.equal(statSync(folder).mode & 0o777, 0o700)
        for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
          const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777
          assert.equal(mode, entry.isDirectory() ? 0o700 : 0o600, entry.name)
        }
      })

      it('continues after an interruption at any file, and copies no file twice (DUR-17)', async (t) => {
        const { service, deps, bytes } = await serviceWithFiles(t)
        const actor = await service.createActor()
        for (let n = 0; n < 9; n++) await put(actor, `f${n}`, `content ${n}`)
        for (const from of [1, 4, 9]) {
          const folder = join(await newFolder(), 'copy')
          const failing = failingFrom(bytes, from)
          await assert.rejects(makeBackup({ ...deps, bytes: failing.bytes }, folder), fails('store_unavailable', /./))
          await assert.rejects(verifyBackup(folder), fails('invalid_value', /it is not complete; make it again$/))
          await assert.rejects(restoreBackup(await targetFor(t), folder), fails('invalid_value', /not complete/))
          const there = readdirSync(folder, { recursive: true }).filter((name) => /[0-9a-f]{32}$/.test(String(name)))
          const again = failingFrom(bytes, 100)
          const facts = await makeBackup({ ...deps, bytes: again.bytes }, folder)
          assert.deepEqual([facts.files.count, facts.files.missing], [9, []])
          assert.equal(again.calls(), 9 - there.length)
          assert.deepEqual((await verifyBackup(folder)).damagedFiles, [])
          assert.ok(!existsSync(join(folder, 'unfinished.json')))
        }
      })

      it('refuses a folder with anything else, and leaves it unchanged (DUR-17)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        await put(await service.createActor(), 'a', 'x')
        const complete = join(await newFolder(), 'complete')
        await makeBackup(deps, complete)
        const used = await newFolder()
        await writeFile(join(used, 'letter.txt'), 'dear')
        const other = await newFolder()
        await writeFile(join(other, 'unfinished.json'), '{"incarnation":"another"}')
        const broken = await newFolder()
        await writeFile(join(broken, 'unfinished.json'), '{')
        const file = join(await newFolder(), 'file')
        await writeFile(file, 'x')
        for (const [path, said] of [
          [complete, /it has a complete backup already$/],
          [used, /it is not empty$/],
          [other, /it has the unfinished backup of another database$/],
          [broken, /it has the unfinished backup of another database$/],
          [file, /it is not a folder$/],
        ] as const) {
          const before = contentOf(path)
          await assert.rejects(makeBackup(deps, path), fails('conflict', said))
          assert.deepEqual(contentOf(path), before)
        }
      })

      it('names the contents that the storage has lost, and has everything else (DUR-16)', async (t) => {
        const { service, deps, files } = await serviceWithFiles(t)
        const actor = await service.createActor()
        for (const name of ['a', 'b', 'c']) await put(actor, name, `content ${name}`)
        const objects = await service.app
          .running()
          .then(({ store }) => store.read((q) => q.all<{ object: string }>('SELECT object FROM file ORDER BY name')))
        const [lost = '', changed = ''] = objects.map(({ object }) => object)
        await rm(join(files, lost.slice(0, 2), lost))
        await writeFile(join(files, changed.slice(0, 2), changed), 'Content b')
        const folder = join(await newFolder(), 'copy')
        const facts = await makeBackup(deps, folder)
        assert.deepEqual([facts.files.count, facts.files.missing.toSorted()], [1, [lost, changed].toSorted()])
        const target = await targetFor(t)
        assert.equal((await restoreBackup(target, folder)).files, 1)
        await withRestored(target, async (restored) => {
          assert.match(await read(restored, actor, '/files/a'), /^500 .*file_missing/)
          assert.equal(await read(restored, actor, '/files/c'), '200 content c')
        })
      })
    })

    describe('a restore', () => {
      it('refuses a backup with a changed, shortened or missing file, and creates no database (DUR-18)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        const actor = await service.createActor()
        await put(actor, 'a', 'content')
        await actor.request('PUT', '/properties/color', 'red')
        const folder = join(await newFolder(), 'copy')
        await makeBackup(deps, folder)
        const parts = readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && entry.name !== 'backup.json')
          .map((entry) => join(entry.parentPath, entry.name))
        assert.ok(parts.length >= 3)
        const target = await targetFor(t)
        for (const [n, path] of parts.entries()) {
          const content = await readFile(path)
          const flipped = Buffer.from(content)
          const at = Math.floor(content.length / 2)
          flipped[at] = (flipped[at] ?? 0) ^ 1
          const damage = [flipped, content.subarray(0, -1), null][n % 3]
          if (damage === null || damage === undefined) await rm(path)
          else await writeFile(path, damage)
          await assert.rejects(restoreBackup(target, folder), fails('invalid_value', /^Cannot use the backup/))
          await writeFile(path, content)
        }
        // A database that one of them had created would still exist.
        await refusesToServe(target)
        for (const text of ['', '{', '[]', '{"format":1}', JSON.stringify({ format: 2 })]) {
          await writeFile(join(folder, 'backup.json'), text)
          await assert.rejects(verifyBackup(folder), fails('invalid_value', /backup\.json/))
        }
        await assert.rejects(verifyBackup(await newFolder()), fails('invalid_value', /it has no backup\.json$/))
      })

      it('refuses a folder with a link or a pipe, and brings no file of this machine in (DUR-24)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        const actor = await service.createActor()
        await put(actor, 'a', 'content')
        const folder = join(await newFolder(), 'copy')
        await makeBackup(deps, folder)
        const outside = join(await newFolder(), 'keys')
        await writeFile(outside, 'content')
        const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
        const files = entries.filter((entry) => entry.isFile())
        assert.ok(files.length >= 4)
        const target = await targetFor(t)
        for (const { name, parentPath } of files) {
          const path = join(parentPath, name)
          const content = await readFile(path)
          for (const make of [() => symlink(outside, path), async () => execFileSync('mkfifo', [path])]) {
            await rm(path)
            await make()
            for (const work of [() => restoreBackup(target, folder), () => verifyBackup(folder)])
              await assert.rejects(work(), fails('invalid_value', /is neither a file nor a folder$/))
          }
          await rm(path)
          await writeFile(path, content)
        }
        await refusesToServe(target)
        const [inner] = entries.filter((entry) => entry.isDirectory() && entry.name.length === 2)
        assert.ok(inner)
        const moved = join(await newFolder(), 'moved')
        await rename(join(inner.parentPath, inner.name), moved)
        await symlink(moved, join(inner.parentPath, inner.name))
        await assert.rejects(verifyBackup(folder), fails('invalid_value', /is neither a file nor a folder$/))
        await rm(join(inner.parentPath, inner.name))
        await rename(moved, join(inner.parentPath, inner.name))
        assert.deepEqual((await verifyBackup(folder)).damagedFiles, [])
      })

      it('refuses facts of any shape (DUR-24)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        await put(await service.createActor(), 'a', 'content')
        const folder = join(await newFolder(), 'copy')
        await makeBackup(deps, folder)
        const path = join(folder, 'backup.json')
        const right = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
        const target = await targetFor(t)
        for (const name of ['format', 'release', 'dialect', 'schema', 'incarnation', 'copied_at', 'tables', 'files'])
          for (const wrong of [null, -1, 'x', [null], [{}], {}]) {
            // Every string is a release or an incarnation, and no table is missing in a file of SQLite.
            if (wrong === 'x' && ['release', 'incarnation'].includes(name)) continue
            await writeFile(path, JSON.stringify({ ...right, [name]: wrong }))
            await assert.rejects(restoreBackup(target, folder), fails('invalid_value', /^Cannot use the backup/), name)
          }
        await refusesToServe(target)
      })

      if (dialect === 'sqlite')
        it('refuses a database with a trigger or a view that no migration makes (DUR-24)', async (t) => {
          const { service, deps } = await serviceWithFiles(t)
          await put(await service.createActor(), 'a', 'content')
          const folder = join(await newFolder(), 'copy')
          await makeBackup(deps, folder)
          const path = join(folder, 'database.db')
          const intact = await readFile(path)
          for (const strange of [
            `CREATE TRIGGER spy AFTER INSERT ON property BEGIN DELETE FROM property WHERE name = 'x'; END`,
            'CREATE VIEW spy AS SELECT * FROM property',
            'CREATE INDEX spy ON property (value)',
            'CREATE TABLE spy (a)',
            'ALTER TABLE property ADD COLUMN spy TEXT',
            'DROP TRIGGER',
          ]) {
            const database = new DatabaseSync(path)
            if (strange.startsWith('DROP')) database.exec(`DROP TRIGGER ${firstTriggerIn(database)}`)
            else database.exec(strange)
            database.close()
            const content = await readFile(path)
            const factsPath = join(folder, 'backup.json')
            const facts = JSON.parse(await readFile(factsPath, 'utf8')) as { database: object }
            const sha256 = createHash('sha256').update(content).digest('hex')
            const changed = { ...facts, database: { ...facts.database, bytes: content.length, sha256 } }
            await writeFile(factsPath, JSON.stringify(changed))
            const target = await targetFor(t)
            await assert.rejects(restoreBackup(target, folder), fails('invalid_value', /in its schema/), strange)
            await refusesToServe(target)
            await writeFile(path, intact)
          }
        })

      it('refuses a database in use, and changes nothing there (DUR-18)', async (t) => {
        const { service, deps, database, files } = await serviceWithFiles(t)
        const actor = await service.createActor()
        await put(actor, 'a', 'content')
        const folder = join(await newFolder(), 'copy')
        await makeBackup(deps, folder)
        const target = { url: database.url, bytes: new DirectoryBytes(files), hasFiles: true }
        await assert.rejects(restoreBackup(target, folder), fails('conflict', /^Cannot restore the backup: /))
        assert.equal(await read(service, actor, '/files/a'), '200 content')
        const without = { ...(await targetFor(t)), hasFiles: false }
        await assert.rejects(restoreBackup(without, folder), fails('conflict', /TROUPE_FILES names no storage$/))
      })

      it('continues after an interruption at any file or statement (DUR-18)', async (t) => {
        const { service, deps } = await serviceWithFiles(t)
        const actor = await service.createActor()
        for (let n = 0; n < 5; n++) await put(actor, `f${n}`, `content ${n}`)
        await actor.request('PUT', '/properties/color', 'red')
        await actor.request('POST', '/properties', { log: { _type: 'list' } })
        for (let n = 0; n < 5; n++) await actor.request('POST', '/properties/log', `item ${n}`)
        const folder = join(await newFolder(), 'copy')
        await makeBackup(deps, folder)
        const target = await targetFor(t)
        for (const from of [1, 3, 6])
          await assert.rejects(
            restoreBackup({ ...target, bytes: failingFrom(target.bytes, from).bytes }, folder),
            fails('store_unavailable', /./),
          )
        if (dialect === 'postgres') {
          let stores: Store[] = []
          for (let at = 4; at < 60; at += 7) {
            const open: typeof openStore = async (options) => {
              const store = await openStore(options)
              stores = [store]
              return faulty(store, { at })
            }
            const isDone = await restoreBackup({ ...target, open }, folder).then(
              () => true,
              () => false,
            )
            assert.equal(stores.length, 1)
            if (isDone) break
            await refusesToServe(target)
          }
        }
        await restoreBackup(target, folder).catch((error: unknown) => fails('conflict', /not empty|exists/)(error))
        await withRestored(target, async (restored) => {
          for (let n = 0; n < 5; n++) assert.equal(await read(restored, actor, `/files/f${n}`), `200 content ${n}`)
          assert.equal(await read(restored, actor, '/properties/color'), '200 red')
          assert.equal(
            await read(restored, actor, '/properties/log'),
            '200 ["item 0","item 1","item 2","item 3","item 4"]',
          )
        })
      })
    })

    describe('the incarnation', () => {
      it('stays over restarts, and begins again in a copy, once (DUR-19)', async (t) => {
        const { service, deps, store, database } = await serviceWithFiles(t)
        const original = await store.read(findIncarnation)
        assert.match(original?.id ?? '', /^[0-9a-f-]{36}$/)
        assert.equal(original?.copiedAt, null)
        await service.close()
        await (await startService(database.url)).close()
        assert.deepEqual(await store.read(findIncarnation), original)
        const folder = join(await newFolder(), 'copy')
        const { copied_at: copiedAt } = await makeBackup(deps, folder)
        const target = await targetFor(t)
        await restoreBackup(target, folder)
        const copy = await openStore({ url: target.url, mustExist: true })
        t.after(() => copy.close())
        assert.deepEqual(await copy.read(findIncarnation), { ...original, copiedAt: Date.parse(copiedAt) })
        await withRestored(target, async (restored) => {
          assert.match(restored.log.join('\n'), /The database is a copy, so a new incarnation begins/)
        })
        const begun = await copy.read(findIncarnation)
        assert.notEqual(begun?.id, original?.id)
        assert.deepEqual(
          [begun?.copiedAt, begun?.previous],
          [null, { id: original?.id, copiedAt: Date.parse(copiedAt) }],
        )
        await withRestored(target, async () => {})
        assert.deepEqual(await copy.read(findIncarnation), begun)
      })
    })

    describe('scheduled backups', () => {
      it('are made at regular times, share unchanged contents, and the newest stay (DUR-20)', async (t) => {
        const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
        const backups = join(await newFolder(), 'backups')
        const { service } = await serviceWithFiles(t, {
          now: clock.now,
          timers: clock.timers,
          backups,
          backupsKept: 2,
        })
        const actor = await service.createActor()
        await put(actor, 'a', 'content')
        const made = async (day: number): Promise<string> => {
          const run = join(backups, `2030-01-0${day}T03-00-00Z`)
          await passUntil(clock, [service], () => existsSync(join(run, 'backup.json')), hourMs)
          await service.settled()
          return run
        }
        await made(1)
        const second = await made(2)
        const third = await made(3)
        assert.deepEqual(readdirSync(backups), ['2030-01-02T03-00-00Z', '2030-01-03T03-00-00Z'])
        const inodes = [second, third].map((run) => {
          const [one] = readdirSync(join(run, 'files'), { recursive: true }).filter((name) => String(name).length > 30)
          return statSync(join(run, 'files', String(one))).ino
        })
        assert.equal(inodes[0], inodes[1])
        const target = await targetFor(t)
        await restoreBackup(target, third)
        await withRestored(target, async (restored) => {
          assert.equal(await read(restored, actor, '/files/a'), '200 content')
        })
      })
    })
  })
}

async function refusesToServe(target: { readonly url: string }): Promise<void> {
  const path = target.url.startsWith('sqlite:') ? target.url.slice('sqlite:'.length) : null
  if (path !== null) return assert.ok(!existsSync(path))
  const unfinished = /^Cannot use the database: its restore is not complete; run troupe restore again\.$/
  await assert.rejects(openStore({ url: target.url, mustExist: true }), (error: Error) => {
    return unfinished.test(error.message) || error instanceof NotCreatedError
  })
  const created = await openStore({ url: target.url, mustExist: true }).catch((error: unknown) => error)
  if (created instanceof NotCreatedError) return
  await assert.rejects(startService(target.url), { message: unfinished })
}

async function objectsIn(bytes: FileBytes): Promise<string[]> {
  const found: string[] = []
  for (const digit of '0123456789abcdef') for await (const page of bytes.list(digit)) found.push(...page)
  return found
}

function contentOf(path: string): readonly string[] {
  if (statSync(path).isFile()) return [readFileSync(path, 'utf8')]
  return readdirSync(path, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? `${entry.name} ${readFileSync(join(entry.parentPath, entry.name), 'base64')}` : entry.name,
  )
}
