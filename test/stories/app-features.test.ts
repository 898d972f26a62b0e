/** An application that adds a feature: examples/bookmarks, on both stores. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { bookmarks } from '../../examples/bookmarks/bookmarks.ts'
import type { BackupFacts } from '../../src/backup/backup-folder.ts'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { openExistingStore } from '../../src/cli/project/known-project.ts'
import { resealAll } from '../../src/secret/reseal.ts'
import { archiveOf, linesOf, restore } from '../support/archives.ts'
import { emptyTarget } from '../support/backups.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { type StartOptions, startService, testKeys, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { asSharded, createTestDatabase, type TestDatabase } from '../support/stores.ts'
import type { Dialect } from '../../src/store/portable.ts'

const stores = ['sqlite', 'postgres', 'sharded'] as const
const newKeys = `k2:Po7sVOx2dLMmajEetpreVRjxiPm-Rz-bk5olneHXTV8,${testKeys}`

function optionsFor(store: (typeof stores)[number]): StartOptions {
  return { features: [bookmarks], ...(store === 'sharded' ? { wrapStore: asSharded } : {}) }
}

async function databaseFor(t: TestContext, store: (typeof stores)[number]): Promise<TestDatabase> {
  const database = await createTestDatabase(store === 'sqlite' ? 'sqlite' : 'postgres')
  t.after(() => database.remove())
  return database
}

async function begin(t: TestContext, url: string, options: StartOptions): Promise<TestService> {
  const service = await startService(url, options)
  t.after(() => service.close())
  return service
}

const page = 'https://example.com/a'

async function add(actor: TestActor, url = page, note = 'read it'): Promise<Response> {
  return actor.request('POST', '/bookmarks', { url, note })
}

async function listed(actor: Pick<TestActor, 'request'>): Promise<[url: string, note: string][]> {
  const answer = await actor.request('GET', '/bookmarks')
  assert.equal(answer.status, 200)
  const body = (await answer.json()) as {
    readonly bookmarks: readonly { readonly url: string; readonly note: string }[]
  }
  return body.bookmarks.map(({ url, note }) => [url, note])
}

for (const store of stores)
  describe(`a feature of an application on ${store}`, () => {
    it('has routes for the owner alone, which OpenAPI describes', async (t) => {
      const { url } = await databaseFor(t, store)
      const service = await begin(t, url, optionsFor(store))
      const ada = await service.createActor('ada@example.com')
      const grace = await service.createActor('grace@example.com')
      assert.equal((await add(ada)).status, 201)
      assert.equal((await add(ada, 'file:///etc/passwd')).status, 400)
      assert.equal((await ada.request('POST', '/bookmarks', { note: 'no url' })).status, 400)
      assert.deepEqual(await listed(ada), [[page, 'read it']])
      assert.deepEqual(await listed(grace), [])
      assert.equal((await grace.request('GET', `/../${ada.id}/bookmarks`)).status, 403)
      assert.equal((await service.request(`/${ada.id}/bookmarks`)).status, 401)
      const { paths } = (await (await service.request('/openapi.json')).json()) as {
        readonly paths: Readonly<Record<string, object>>
      }
      assert.deepEqual(Object.keys(paths['/{actor}/bookmarks'] ?? {}), ['get', 'post'])
    })

    it('has a page with its link in the language of the reader, whose form deletes', async (t) => {
      const { url } = await databaseFor(t, store)
      const service = await begin(t, url, { ...optionsFor(store), activityPerActor: 100 })
      const ada = await service.createActor('ada@example.com')
      const { id } = (await (await add(ada)).json()) as { readonly id: string }
      const browser = await OwnersBrowser.open(service, ada)
      const german = { 'accept-language': 'de' }
      const dashboard = await (await browser.get('')).text()
      assert.match(dashboard, /href="[^"]*\/www\/bookmarks"><svg[^>]*>.*?<\/svg>Bookmarks<\/a>/)
      assert.match(await (await browser.get('', german)).text(), /<\/svg>Lesezeichen<\/a>/)
      const shown = await (await browser.get('/bookmarks')).text()
      assert.match(shown, /<title>Bookmarks/)
      assert.match(shown, /read it/)
      const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(shown) ?? []
      const answer = await browser.send('/bookmarks', { id, csrf_token: token })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/${ada.id}/www/bookmarks`])
      assert.deepEqual(await listed(ada), [])
      const again = await browser.send('/bookmarks', { id, csrf_token: token })
      assert.equal(again.status, 409)
      assert.match(await again.text(), /<title>Error: Bookmarks/)
      await (await service.app.running()).parts.auditLog.flush()
      assert.match(await (await browser.get('/activity')).text(), /added a bookmark/)
      assert.match(await (await browser.get('/activity', german)).text(), /haben ein Lesezeichen hinzugefügt/)
    })

    it('has a quota, whose setting the environment has', async (t) => {
      const { url } = await databaseFor(t, store)
      const service = await begin(t, url, { ...optionsFor(store), env: { TROUPE_BOOKMARKS_MAX: '1' } })
      const ada = await service.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      const refused = await add(ada)
      assert.equal(refused.status, 507)
      assert.equal(((await refused.json()) as { readonly quota: string }).quota, 'bookmarks')
      assert.equal((await listed(ada)).length, 1)
    })

    it('loses its rows with their actor, and expired ones within an hour', async (t) => {
      const { url } = await databaseFor(t, store)
      const clock = new ManualClock(Date.now())
      const service = await begin(t, url, {
        ...optionsFor(store),
        now: clock.now,
        timers: clock.timers,
        env: { TROUPE_BOOKMARKS_DAYS: '7' },
      })
      const [ada, grace] = [
        await service.createActor('ada@example.com'),
        await service.createActor('grace@example.com'),
      ]
      for (const actor of [ada, grace]) assert.equal((await add(actor)).status, 201)
      const running = await service.app.running()
      const count = async (): Promise<number> =>
        (await running.store.read((q) => q.all('SELECT bookmark_id FROM bookmarks'))).length
      assert.equal((await ada.request('DELETE', '')).status, 204)
      assert.equal(await count(), 1)
      clock.pass(7 * 86_400_000)
      await service.settled()
      assert.equal(await count(), 1)
      clock.pass(3_600_000)
      await service.settled()
      assert.equal(await count(), 0)
    })

    it('is in archives that have secrets, and its notes open with the next key', async (t) => {
      const { url } = await databaseFor(t, store)
      const service = await begin(t, url, { ...optionsFor(store), secretKeys: newKeys })
      const ada = await service.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      const stored = await (await service.app.running()).store.read((q) => q.all('SELECT note FROM bookmarks'))
      assert.match(JSON.stringify(stored), /^\[\{"note":"v1\.k2\./)
      const archive = await archiveOf(service, ada.id)
      const records = linesOf(archive).filter(({ kind }) => kind === 'bookmark')
      assert.deepEqual(
        records.map(({ url: at, note }) => [at, note]),
        [[page, 'read it']],
      )
      assert.equal((await ada.request('DELETE', '')).status, 204)
      const { restored, passphrase } = await restore(service, archive)
      assert.equal(restored['bookmark'], 1)
      const back = basicOf(service, ada, passphrase)
      assert.deepEqual(await listed(back), [[page, 'read it']])
    })

    it('stays in the database while the application does not have it, and a start says so', async (t) => {
      const { url } = await databaseFor(t, store)
      const options = { ...optionsFor(store), files: join(tmpdir(), 'troupe-app-features') }
      const first = await startService(url, options)
      const ada = await first.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      await first.close()
      const without = await startService(url, { ...options, features: [] })
      assert.deepEqual(
        without.log
          .map((line) => JSON.parse(line) as { readonly feature?: string; readonly msg: string })
          .flatMap(({ feature, msg }) => (feature === undefined ? [] : [msg])),
        [
          'The database has tables of the feature bookmarks, which this application does not have: their rows stay, and archives and moves leave them out',
        ],
      )
      assert.equal(
        (await without.request(`/${ada.id}/bookmarks`, { headers: { authorization: ada.authorization } })).status,
        404,
      )
      await without.close()
      const again = await begin(t, url, options)
      assert.deepEqual(await listed({ request: requestOf(again, ada) }), [[page, 'read it']])
    })
  })

function requestOf(service: TestService, { id, authorization }: TestActor): TestActor['request'] {
  return async (method, path) => service.request(`/${id}${path}`, { method, headers: { authorization } })
}

function basicOf(service: TestService, actor: TestActor, passphrase: string): Pick<TestActor, 'request'> {
  const authorization = `Basic ${Buffer.from(`${actor.creator}:${passphrase}`).toString('base64')}`
  return { request: requestOf(service, { ...actor, authorization }) }
}

for (const dialect of ['sqlite', 'postgres'] as const satisfies readonly Dialect[])
  describe(`copies and keys of a feature of an application on ${dialect}`, () => {
    it('has its rows in a backup, which needs its migrations to come back', async (t) => {
      const { url } = await databaseFor(t, dialect)
      const folder = mkdtempSync(join(tmpdir(), 'troupe-bookmarks-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const service = await begin(t, url, optionsFor(dialect))
      const ada = await service.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      const { store, parts } = await service.app.running()
      const { tables, featureMigrations, fileBytes: bytes } = parts
      await makeBackup(
        { store, now: store.now, url, bytes, hasFiles: true, tables, featureMigrations },
        join(folder, 'a'),
      )

      const target = await emptyTarget(dialect)
      t.after(() => target.remove())
      await assert.rejects(restoreBackup({ url: target.url, bytes, hasFiles: true }, join(folder, 'a')), {
        message: `Cannot use the backup "${join(folder, 'a')}": it has schema 1 of the feature bookmarks, which is unknown here: set TROUPE_APP to the application that has it`,
      })
      const facts = join(folder, 'a', 'backup.json')
      const text = readFileSync(facts, 'utf8')
      const made = JSON.parse(text) as BackupFacts
      for (const { table } of made.tables) {
        writeFileSync(facts, JSON.stringify({ ...made, tables: made.tables.filter((part) => part.table !== table) }))
        await assert.rejects(
          restoreBackup({ url: target.url, bytes, hasFiles: true, featureMigrations }, join(folder, 'a')),
          { message: `Cannot use the backup "${join(folder, 'a')}": it lacks the table "${table}" of its schema` },
        )
      }
      writeFileSync(facts, text)
      await restoreBackup({ url: target.url, bytes, hasFiles: true, featureMigrations }, join(folder, 'a'))
      const restored = await begin(t, target.url, optionsFor(dialect))
      assert.deepEqual(await listed({ request: requestOf(restored, ada) }), [[page, 'read it']])
    })

    it('is in no scheduled backup of a service without the feature, and the reason is in the log and the metrics', async (t) => {
      const { url } = await databaseFor(t, dialect)
      const first = await startService(url, optionsFor(dialect))
      const ada = await first.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      await first.close()
      const folder = mkdtempSync(join(tmpdir(), 'troupe-bookmarks-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
      const options = { backups: folder, now: clock.now, timers: clock.timers }
      const without = await begin(t, url, { ...options, features: [] })
      const failed = /^troupe_job_runs_total\{kind="schedule",outcome="retry"\} 2$/m
      const metrics = async (): Promise<string> => (await without.request('/metrics')).text()
      await passUntil(clock, [without], async () => failed.test(await metrics()), 10_000)
      assert.match(await metrics(), /^troupe_backup_timestamp_seconds 0$/m)
      assert.ok(
        without.log.some((line) =>
          line.includes(
            'Cannot make a backup: it would lack tables of the database, which has schema 1 of the feature bookmarks, which this application does not have. Add the feature',
          ),
        ),
      )
      assert.deepEqual(readdirSync(folder), [])
      await without.close()
      const again = await begin(t, url, { ...optionsFor(dialect), ...options })
      await passUntil(
        clock,
        [again],
        () => existsSync(join(folder, readdirSync(folder)[0] ?? '', 'backup.json')),
        10_000,
      )
    })

    it('is removed by the statements of docs/features.md, and commands then use the database', async (t) => {
      const { url } = await databaseFor(t, dialect)
      const first = await startService(url, optionsFor(dialect))
      const ada = await first.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      await first.close()
      const database = { database: url, databaseSchema: 'troupe' }
      await assert.rejects(openExistingStore(database), { message: /\(docs\/features\.md#remove-a-feature\)\.$/ })
      const [, section = ''] = readFileSync('docs/features.md', 'utf8').split('## Remove a feature\n')
      const [removal = '', schema = ''] = [...section.matchAll(/^```sql\n(.*?)```/gms)].map(([, sql = '']) => sql)
      if (dialect === 'sqlite') {
        const file = new DatabaseSync(url.slice('sqlite:'.length))
        file.exec(removal)
        file.close()
      } else {
        const client = new pg.Client(url)
        await client.connect()
        await assert.rejects(client.query(removal), { message: 'table "bookmarks" does not exist' })
        await client.query(schema + removal)
        await client.end()
      }
      await (await openExistingStore(database)).close()
      const again = await begin(t, url, optionsFor(dialect))
      assert.deepEqual(await listed({ request: requestOf(again, ada) }), [])
    })

    it('has its sealed column encrypted again by a rotation', async (t) => {
      const { url } = await databaseFor(t, dialect)
      const first = await startService(url, optionsFor(dialect))
      const ada = await first.createActor('ada@example.com')
      assert.equal((await add(ada)).status, 201)
      await first.close()
      const second = await begin(t, url, { ...optionsFor(dialect), secretKeys: newKeys })
      const { store, keyRing, parts } = await second.app.running()
      await resealAll(store, keyRing, parts.tables)
      const rows = await store.read((q) => q.all('SELECT note FROM bookmarks'))
      assert.match(JSON.stringify(rows), /^\[\{"note":"v1\.k2\./)
      assert.deepEqual(await listed({ request: requestOf(second, ada) }), [[page, 'read it']])
    })
  })
