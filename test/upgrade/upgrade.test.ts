/** This release on the databases of earlier releases: it starts, serves, delivers, exports and restores. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { DirectoryBytes } from '../../src/object/directory.ts'
import { openStore } from '../../src/open-store.ts'
import { type Migration, readMigrations } from '../../src/store/migrate.ts'
import { emptyTarget } from '../support/backups.ts'
import { signInWith } from '../support/passkey-page.ts'
import {
  fileText,
  fixtures,
  KnownPeers,
  listLengths,
  type ReleaseFacts,
  settings,
  startOnFixture,
  unpackFixture,
} from '../support/release-fixture.ts'
import { basic, type TestService } from '../support/service.ts'
import { actorIn } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { until } from '../support/until.ts'

const laterMs = 30 * 60_000
const root = mkdtempSync(join(tmpdir(), 'troupe-upgrade-'))
after(() => rmSync(root, { recursive: true, force: true }))

type Account = ReleaseFacts['bob']

/** Sends a request as the owner of an actor of the fixture. */
function as(service: TestService, { id, creator, passphrase }: Account) {
  return (method: string, path: string, body?: string, type = 'application/json'): Promise<Response> =>
    service.request(`/${id}${path}`, {
      method,
      headers: { authorization: basic(creator, passphrase), ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    })
}

async function textOf(answer: Promise<Response>): Promise<string> {
  const response = await answer
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

/** Requires everything that the fixture contains. */
async function assertServes(service: TestService, { ada, bob, cleo }: ReleaseFacts): Promise<void> {
  const owner = as(service, ada)
  assert.equal(await textOf(owner('GET', '/properties/settings')), settings)
  assert.equal(await textOf(owner('GET', '/properties/color')), 'violet')
  for (const [name, length] of Object.entries(listLengths)) {
    const items = JSON.parse(await textOf(owner('GET', `/properties/${name}`))) as readonly unknown[]
    assert.deepEqual(
      items,
      Array.from({ length }, (_, n) => ({ n, text: `item ${n}` })),
    )
  }
  assert.equal(await textOf(owner('GET', '/files/notes.txt')), fileText)
  assert.equal(await textOf(owner('GET', `/remote/${bob.id}/status`)), '"here"')
  const { history } = JSON.parse(await textOf(owner('GET', '/history?name=color'))) as {
    readonly history: readonly unknown[]
  }
  assert.equal(history.length, 4)
  const bearer = (token: string, path: string): Promise<Response> =>
    service.request(`/${ada.id}${path}`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(await textOf(bearer(ada.session, '/properties/color')), 'violet')
  assert.equal(await textOf(bearer(ada.key, '/properties/color')), 'violet')
  assert.equal((await bearer(ada.key, '/properties/settings')).status, 403)
  const signedIn = await signInWith(service, new SoftPasskey({ kept: cleo.passkey }))
  assert.equal(actorIn(signedIn), cleo.id)
}

const known = readMigrations()
/** A later release that expands: new columns in tables that every request uses, and a new table. */
const expansion: Migration = {
  number: known.length + 1,
  name: 'expansion',
  sql: `ALTER TABLE actor ADD COLUMN motto TEXT NOT NULL DEFAULT '';
ALTER TABLE property ADD COLUMN motto TEXT NOT NULL DEFAULT 'none';
ALTER TABLE list_item ADD COLUMN motto TEXT;
ALTER TABLE trust ADD COLUMN motto TEXT;
CREATE TABLE motto (
  actor_id TEXT_KEY NOT NULL PRIMARY KEY REFERENCES actor (id) ON DELETE CASCADE,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO motto (actor_id, text) SELECT id, 'expanded' FROM actor;
`,
}

const names = readdirSync(fixtures, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []))

describe('the databases of releases', () => {
  it('include the one from before release 0.2.0, and that of each release', () => {
    assert.deepEqual(names.toSorted(), ['0.2.0', 'before-0.2.0'])
  })

  it('have as many migrations as their release knew', async () => {
    const facts = await Promise.all(
      (['sqlite', 'postgres'] as const).map(async (dialect) => {
        const text = readFileSync(join(fixtures, '0.2.0', `${dialect}.json`), 'utf8')
        const { release, schema } = JSON.parse(text) as ReleaseFacts
        return [release, schema]
      }),
    )
    assert.deepEqual(facts, [
      ['0.2.0', 9],
      ['0.2.0', 9],
    ])
  })
})

for (const name of names)
  for (const dialect of ['sqlite', 'postgres'] as const)
    describe(`the ${dialect} database of ${name}`, () => {
      async function open() {
        const folder = mkdtempSync(join(root, 'place-'))
        const fixture = await unpackFixture(name, dialect, folder)
        after(() => fixture.remove())
        const began = Date.now()
        /** Half an hour after the fixture was made, so that its retries are due and its sessions valid. */
        const now = (): number => fixture.facts.madeAt + laterMs + Date.now() - began
        const start = async (url = fixture.url, files = fixture.files) => {
          const peers = new KnownPeers(204)
          const service = await startOnFixture(url, { files, peers, now })
          after(() => service.close())
          return { service, peers }
        }
        return { ...fixture, folder, now, start }
      }

      it('serves what it contains, and takes changes', async () => {
        const { facts, start } = await open()
        const { service } = await start()
        await assertServes(service, facts)
        const owner = as(service, facts.ada)
        assert.equal((await owner('PUT', '/properties/color', '"white"')).status, 204)
        assert.equal((await owner('POST', '/properties/long', '"one more"')).status, 201)
        const { history } = JSON.parse(await textOf(owner('GET', '/history?name=color&limit=1'))) as {
          readonly history: readonly { readonly request_id: string }[]
        }
        const undo = JSON.stringify({ request_id: history[0]?.request_id })
        assert.equal((await owner('POST', '/history/undo', undo)).status, 200)
        assert.equal(await textOf(owner('GET', '/properties/color')), 'violet')
        const { store } = await service.app.running()
        assert.deepEqual(
          await store.read((q) => q.all('SELECT number FROM schema_migrations ORDER BY number')),
          known.map(({ number }) => ({ number })),
        )
      })

      it('delivers the changes that waited, to a subscriber and a webhook', async () => {
        const { start } = await open()
        const { peers } = await start()
        const bodyTo = (host: string): string =>
          peers.calls
            .filter(({ url, body }) => url.startsWith(`https://${host}/`) && body !== undefined)
            .map(({ body }) => String(body))
            .join('\n')
        await until(() => bodyTo('peer.example.com').includes('violet'))
        await until(() => bodyTo('receiver.example.com').includes('violet'))
      })

      it('is exported, and restored from a backup', async () => {
        const { facts, folder, files, now, start } = await open()
        const { service } = await start()
        const archive = await textOf(as(service, facts.ada)('GET', '/export'))
        assert.equal(archive.split('\n').filter((line) => line.startsWith('{"kind":"item"')).length, 2_541)
        const { store, parts } = await service.app.running()
        const deps = { bytes: new DirectoryBytes(files), hasFiles: true, tables: parts.tables }
        const made = await makeBackup({ ...deps, store, now, url: service.databaseUrl }, join(folder, 'backup'))
        assert.deepEqual([made.actors, made.files.count], [3, 1])
        const target = await emptyTarget(dialect)
        after(() => target.remove())
        const other = join(folder, 'other')
        await restoreBackup(
          { url: target.url, bytes: new DirectoryBytes(other), hasFiles: true },
          join(folder, 'backup'),
        )
        await assertServes((await start(target.url, other)).service, facts)
      })

      it('is shared by a process that expands the schema, while requests of this release continue', async () => {
        const { facts, start, url } = await open()
        const { service } = await start()
        const owner = as(service, facts.ada)
        const failures: string[] = []
        let answered = 0
        const begun = { isOver: false }
        const load = async (worker: number): Promise<void> => {
          for (let n = 0; !begun.isOver || n < 60; n++) {
            const requests = [
              owner('PUT', `/properties/load${worker}`, String(n)),
              owner('GET', `/properties/load${worker}`),
              owner('POST', '/properties/short', `"${worker} ${n}"`),
              owner('GET', '/trust'),
            ]
            for (const { status } of await Promise.all(requests)) {
              answered += 1
              // The first GET may precede the first PUT.
              if (status >= 400 && status !== 404) failures.push(`${status} of request ${answered}`)
            }
          }
        }
        const workers = [1, 2, 3].map(load)
        await until(() => answered > 100)
        const later = await openStore({ url, migrations: [...known, expansion] })
        after(() => later.close())
        await later.writeActor(facts.ada.id, async (tx) => {
          await tx.run('UPDATE motto SET text = $2 WHERE actor_id = $1', facts.ada.id, 'changed')
        })
        begun.isOver = true
        await Promise.all(workers)
        assert.deepEqual(failures, [])
        assert.ok(answered >= 720, String(answered))
        await assertShared(service, facts)
        assert.equal((await owner('DELETE', '')).status, 204)
        assert.deepEqual(await later.read((q) => q.all('SELECT text FROM motto WHERE actor_id = $1', facts.ada.id)), [])
        await assert.rejects(openStore({ url }), {
          message: /^Cannot use the database: release \S+ migrated it to schema/,
        })
      })

      async function assertShared(service: TestService, { ada }: ReleaseFacts): Promise<void> {
        const owner = as(service, ada)
        assert.equal(await textOf(owner('GET', '/properties/settings')), settings)
        assert.equal((await owner('PUT', '/properties/new', '"after"')).status, 204)
        assert.equal(await textOf(owner('GET', '/properties/new')), 'after')
      }
    })
