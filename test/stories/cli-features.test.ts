/** Commands on a project whose application adds a feature. */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, it } from 'node:test'
import { createActor, place, placeForEachTest, start } from '../support/cli.ts'

placeForEachTest()

const app = 'bookmarks/app.ts'
const known = { TROUPE_APP: app }
const unknown =
  'Cannot use the database: it has tables of the feature bookmarks, which this command does not know. Set TROUPE_APP to the module of the application that has the feature. If no application has it any longer, remove its tables (docs/features.md#remove-a-feature).\n'

describe('commands on a database with a feature of the application', () => {
  let actor: string

  beforeEach(async () => {
    symlinkSync(join(import.meta.dirname, '..', '..', 'examples', 'bookmarks'), place.path('bookmarks'), 'junction')
    const { program, url } = await start(['dev', '--no-watch', app])
    const { id, authorization } = await createActor(url)
    actor = id
    const answer = await fetch(`${url}/${id}/bookmarks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"url":"https://example.com/a","note":"read it"}',
    })
    assert.equal(answer.status, 201)
    program.signal('SIGTERM')
    await program.ended
  })

  it('refuse to leave out its tables', async () => {
    for (const args of [
      ['backup', 'copy'],
      ['keys', 'rotate'],
      ['actors', 'export', actor],
    ]) {
      const { code, stdout, stderr } = await place.run(args)
      assert.deepEqual([code, stdout, stderr], [1, '', unknown], args.join(' '))
    }
    const { code, stdout } = await place.run(['doctor'], { env: { TROUPE_MODE: 'development' } })
    assert.equal(code, 0)
    assert.match(
      stdout,
      /^features {2}bookmarks: the database has its tables, and TROUPE_APP names no application that has it$/m,
    )
  })

  it('know its tables and settings with TROUPE_APP', async () => {
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await place.run(args, { env: { ...known, TROUPE_BOOKMARKS_MAX: '5' } })
      assert.deepEqual([code, stderr], [0, ''], args.join(' '))
      return stdout
    }
    assert.match(await run('actors', 'export', actor, '--secrets'), /"kind":"bookmark",.*"note":"read it"/)
    assert.match(await run('keys', 'rotate'), /^\d+ secrets are now encrypted/)
    await run('backup', 'copy')
    const restored = await place.run(['restore', 'copy'], {
      env: { ...known, DATABASE_URL: 'sqlite:data/restored.db', TROUPE_FILES: 'restored' },
    })
    assert.deepEqual([restored.code, restored.stderr], [0, ''])
  })

  it('describe its settings in their help', async () => {
    for (const [args, env] of [
      [['serve', app, '--help'], {}],
      [['backup', '--help'], known],
    ] as const) {
      const { stdout } = await place.run(args, { env })
      assert.match(
        stdout,
        /^Settings of the features of the application:\n {2}TROUPE_BOOKMARKS_MAX {3}Maximum number of bookmarks of an actor; a further one returns 507\. \(whole number from 0 to 10000\)\n/m,
      )
    }
  })
})
