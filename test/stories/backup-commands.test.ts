/** `troupe backup`, `troupe restore` and `troupe restored`, as an operator runs them. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { findIncarnation } from '../../src/incarnation/incarnation.ts'
import { openStore } from '../../src/open-store.ts'
import { emptyTarget } from '../support/backups.ts'
import { assertRefused, createActor, key, place, placeForEachTest, start } from '../support/cli.ts'
import { createTestDatabase } from '../support/stores.ts'

placeForEachTest()

const otherKey = 'k2:Zt7hQm4pW1rXc8uYvLs0dKfNjBg6aEiTo3RyMkHnPxU'

for (const dialect of ['sqlite', 'postgres'] as const)
  describe(`with ${dialect}`, () => {
    it('a running service is copied, and the copy serves the same data', async (t) => {
      const [database, target] = [await createTestDatabase(dialect), await emptyTarget(dialect)]
      t.after(async () => {
        await place.remove()
        await database.remove()
        await target.remove()
      })
      const env = { DATABASE_URL: database.url, TROUPE_FILES: 'files', TROUPE_SECRET_KEYS: key }
      const { program, url } = await start(['dev', 'app.ts', '--no-watch'], env)
      const { id, authorization } = await createActor(url)
      const headers = { authorization, 'content-type': 'text/plain' }
      await fetch(`${url}/${id}/files/a.txt`, { method: 'PUT', headers, body: 'hello' })
      const made = await place.run(['backup', 'copy'], { env })
      assert.deepEqual([made.code, made.stderr], [0, ''])
      assert.match(made.stdout, /^Copied 1 actor and 1 file \(5 bytes\) to copy, as they were at 20\d\d-.*Z\.\n$/)
      program.signal('SIGTERM')
      await program.ended
      assertRefused(
        await place.run(['restore', 'copy'], { env }),
        dialect === 'sqlite'
          ? `Cannot restore the backup: ${JSON.stringify(database.url.slice('sqlite:'.length))} exists. Stop the service and move it away, or set another DATABASE_URL.`
          : 'Cannot restore the backup: the database of DATABASE_URL is not empty, because a service has used it. Stop the service and drop the schema, or set another database.',
      )
      const verified = await place.run(['backup', '--verify', 'copy', '--json'], { env })
      const facts = JSON.parse(verified.stdout) as { actors: number; dialect: string; damaged_files: readonly string[] }
      assert.deepEqual([facts.actors, facts.dialect, facts.damaged_files], [1, dialect, []])
      const there = { ...env, DATABASE_URL: target.url, TROUPE_FILES: 'other' }
      const back = await place.run(['restore', 'copy'], { env: { ...there, TROUPE_SECRET_KEYS: otherKey } })
      assert.deepEqual([back.code, back.stderr], [0, ''])
      assert.match(back.stdout, /^Restored 1 actor and 1 file \(5 bytes\) from 20\d\d-.*\n/)
      assert.match(back.stdout, /^TROUPE_SECRET_KEYS did not encrypt its secrets/m)
      const again = await start(['dev', 'app.ts', '--no-watch'], there)
      const answer = await fetch(`${again.url}/${id}/files/a.txt`, { headers })
      assert.deepEqual([answer.status, await answer.text()], [200, 'hello'])
    })

    it('troupe restored begins an incarnation', async (t) => {
      const database = await createTestDatabase(dialect)
      t.after(() => database.remove())
      const ids: string[] = []
      for (const n of [1, 2]) {
        const ending = await place.run(['restored'], { env: { DATABASE_URL: database.url } })
        assert.deepEqual([ending.code, ending.stderr], [0, ''], String(n))
        ids.push(/^The database begins incarnation ([0-9a-f-]{36})\.\n$/.exec(ending.stdout)?.[1] ?? '')
      }
      const store = await openStore({ url: database.url, mustExist: true })
      t.after(() => store.close())
      const found = await store.read(findIncarnation)
      assert.deepEqual([found?.id, found?.previous?.id], [ids[1], ids[0]])
    })
  })

describe('troupe backup and troupe restore', () => {
  it('refuse wrong arguments and a missing database, and create nothing', async () => {
    for (const [args, sentence] of [
      [['backup'], 'Cannot run troupe backup: expected one folder.'],
      [['backup', 'a', 'b'], 'Cannot run troupe backup: expected one folder.'],
      [['backup', 'a', '--all'], 'Unknown option --all of troupe backup: troupe backup --help lists the options.'],
      [['restore'], 'Cannot run troupe restore: expected one folder.'],
      [['restored', 'now'], 'Cannot run troupe restored: expected no argument besides options.'],
      [['backup', 'copy'], `The database file ${place.path('data/troupe.db')} does not exist yet; a start creates it.`],
      [
        ['restore', 'nothing'],
        `Cannot use the backup ${JSON.stringify(place.path('nothing'))}: it has no backup.json.`,
      ],
    ] as const)
      assertRefused(await place.run(args), sentence)
    assert.deepEqual([existsSync(place.path('copy')), existsSync(place.path('data/troupe.db'))], [false, false])
  })

  it('refuse a backup of the other kind of database, and of an unknown schema', async (t) => {
    const database = await createTestDatabase('sqlite')
    t.after(() => database.remove())
    const env = { DATABASE_URL: database.url, TROUPE_FILES: 'files' }
    assert.equal((await place.run(['backup', 'copy'], { env })).code, 0)
    const elsewhere = { env: { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/none' } }
    assertRefused(
      await place.run(['restore', 'copy'], elsewhere),
      `Cannot use the backup ${JSON.stringify(place.path('copy'))}: it is of SQLite, and DATABASE_URL names PostgreSQL.`,
    )
    const facts = readFileSync(place.path('copy/backup.json'), 'utf8')
    place.write('copy/backup.json', facts.replace(/"number": 1/, '"number": 2'))
    const newer = await place.run(['restore', 'copy'], { env: { DATABASE_URL: 'sqlite:new/troupe.db' } })
    assert.match(newer.stderr, /made it, with a schema that this release does not know\.\n$/)
    assert.ok(!existsSync(place.path('new')))
  })
})
