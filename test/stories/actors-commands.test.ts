/** `troupe actors`: an operator lists, shows, deletes and seeds actors. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { App } from '../../src/troupe.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { forEachStore } from '../support/stores.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const type = 'urn:actingweb:example.com:commands'

/** An application that writes the events of a deletion to the file `events`. */
const listening = `import { appendFileSync } from 'node:fs'
import { troupe } from 'troupe'
export default troupe({ type: '${type}', indexedProperties: ['email'] })
  .on('actor_deleted', async ({ actor }) => appendFileSync('events', 'deleting ' + (await actor.get('email')) + '\\n'))
  .on('actor_deleted_complete', ({ actor_id }) => appendFileSync('events', 'deleted ' + actor_id + '\\n'))
`

const refused = (ending: Ending, sentence: string): void => {
  assert.deepEqual(ending, { code: 1, signal: null, stdout: '', stderr: `${sentence}\n` })
}

forEachStore((_dialect, _open, database) => {
  describe('troupe actors', () => {
    let place: Workplace
    let env: Record<string, string>
    beforeEach(async () => {
      place = new Workplace()
      place.write('app.ts', listening)
      env = {
        DATABASE_URL: (await database()).url,
        TROUPE_SECRET_KEYS: key,
        TROUPE_FILES: place.path('files'),
        LOG_LEVEL: 'error',
      }
    })
    afterEach(() => place.remove())

    const run = (...args: string[]): Promise<Ending> => place.run(['actors', ...args], { env })

    /** Fills the database as a service does. */
    async function fill(work: (app: App) => Promise<void>, at = Date.UTC(2026, 0, 1)): Promise<void> {
      const app = new App(
        {
          type,
          mode: 'development',
          database: env['DATABASE_URL'] ?? '',
          files: place.path('files'),
          secretKeys: key,
          env: {},
          logLevel: 'silent',
        },
        { now: () => at },
      )
      try {
        await app.start()
        await work(app)
      } finally {
        await app.close()
      }
    }

    const createAda = async (app: App): Promise<ActorHandle> =>
      (await app.actors.create({ id: 'ada', creator: 'ada@example.com' })).actor

    it('export writes an archive, and import creates the actor from it', async () => {
      await fill(async (app) => {
        const ada = await createAda(app)
        await ada.set('color', 'red')
        await ada.list('shopping').extend(['milk', 'bread'])
        await ada.files.put('notes/hello.txt', 'hello', { type: 'text/plain' })
      })
      const whole = await run('export', 'ada', '--secrets')
      assert.deepEqual([whole.code, whole.stderr], [0, ''])
      assert.equal((await run('export', 'ada', '--output', 'ada.jsonl')).stdout, '')
      assert.equal(statSync(place.path('ada.jsonl')).mode & 0o777, 0o600)
      refused(await run('import', 'ada.jsonl'), 'Cannot import the archive: actor "ada" exists already.')
      await run('delete', 'ada', '--yes')
      const back = await run('import', 'ada.jsonl')
      assert.match(
        back.stdout,
        /^Imported actor ada: property 1, list 1, item 2, file 1, change 3\.\nIts new passphrase is \S{20,}\n$/,
      )
      const again = await run('export', 'ada')
      const data = (text: string): string[] => text.split('\n').filter((line) => !/"kind":"(?:archive|end)"/.test(line))
      assert.deepEqual(data(again.stdout), data(whole.stdout))
      assert.equal((await run('show', 'ada')).stdout.match(/creator +(.*)/)?.[1], 'ada@example.com (not proven)')
      await run('delete', 'ada', '--yes')
      writeFileSync(place.path('ada.jsonl.gz'), gzipSync(readFileSync(place.path('ada.jsonl'))))
      assert.match(
        (await run('import', 'ada.jsonl.gz')).stdout,
        /^Imported actor ada: property 1, list 1, item 2, file 1,/,
      )
    })

    it('export and import refuse what they cannot do', async () => {
      await fill(async (app) => void (await createAda(app)))
      refused(await run('export'), 'Cannot run troupe actors export: expected the id of one actor.')
      refused(await run('export', 'bob'), 'Cannot export actor bob: it does not exist.')
      place.write('taken', '')
      const taken = await run('export', 'ada', '--output', 'taken')
      assert.deepEqual([taken.code, taken.stdout], [1, ''])
      assert.match(taken.stderr, /^Cannot create taken: EEXIST/)
      refused(await run('import'), 'Cannot run troupe actors import: expected one file, or - for standard input.')
      const none = await run('import', 'none')
      assert.equal(none.stderr, 'Cannot read none: the file does not exist.\n')
      place.write('broken', '{"kind":"archive"')
      assert.match((await run('import', 'broken')).stderr, /^Cannot read line 1 of the archive: /)
    })

    it('ls lists actors in pages, as text and as JSON', async () => {
      await fill(async (app) => {
        await createAda(app)
        await app.actors.create({ id: 'ben', creator: 'ben\u202e@example.com' })
      })
      await fill(async (app) => void (await app.actors.create({ id: 'cleo' })), Date.UTC(2026, 0, 2))
      const all = await run('ls')
      assert.deepEqual([all.code, all.stderr], [0, ''])
      assert.equal(
        all.stdout,
        `2026-01-01T00:00:00.000Z  ada  ada@example.com
2026-01-01T00:00:00.000Z  ben  ben\\u{202e}@example.com
2026-01-02T00:00:00.000Z  cleo  creator
`,
      )
      const first = await run('ls', '--limit', '2')
      const [, place = ''] = /^More: troupe actors ls --after (\S+)$/m.exec(first.stdout) ?? []
      assert.equal(place, '1767225600000.ben')
      assert.equal((await run('ls', '--after', place)).stdout, '2026-01-02T00:00:00.000Z  cleo  creator\n')
      assert.deepEqual(JSON.parse((await run('ls', '--limit=1', '--json')).stdout), {
        actors: [{ id: 'ada', creator: 'ada@example.com', createdAt: '2026-01-01T00:00:00.000Z' }],
        next: '1767225600000.ada',
      })
      assert.deepEqual(JSON.parse((await run('ls', '--created-after', '2026-01-01', '--json')).stdout), {
        actors: [{ id: 'cleo', creator: 'creator', createdAt: '2026-01-02T00:00:00.000Z' }],
        next: null,
      })
      assert.equal((await run('ls', '--created-after', '2026-01-03')).stdout, 'No actors.\n')
    })

    it('show prints counts and sizes, and no stored value', async () => {
      await fill(async (app) => {
        const ada = await createAda(app)
        await ada.set('secret', 'a value of ada')
        await ada.set('café', { price: 7 })
        await ada.list('notes').extend(['first note', 'second note'])
        const { parts } = await app.running()
        await parts.sessions.begin({
          actorId: 'ada',
          identifier: 'ada@example.com',
          beganWith: 'web',
          device: 'Firefox',
        })
      })
      const { stdout, code } = await run('show', 'ada')
      assert.equal(code, 0)
      assert.equal(
        stdout,
        `actor          ada
creator        ada@example.com (not proven)
created        2026-01-01T00:00:00.000Z
last use       2026-01-01T00:00:00.000Z
Basic          never
properties     2, 27 bytes
lists          1 with 2 items, 25 bytes
subscriptions  0 of peers, 0 to peers
relationships  0
sessions       1
  2026-01-01T00:00:00.000Z  web, Firefox
`,
      )
      const shown = JSON.parse((await run('show', 'ada', '--json')).stdout) as object
      assert.deepEqual(shown, {
        id: 'ada',
        creator: 'ada@example.com',
        createdAt: '2026-01-01T00:00:00.000Z',
        isProven: false,
        isSuspended: false,
        properties: { count: 2, bytes: 27 },
        lists: { count: 1, items: 2, bytes: 25 },
        relationships: { count: 0, shown: [] },
        subscriptions: { ofPeers: 0, toPeers: 0 },
        sessions: {
          count: 1,
          shown: [
            {
              device: 'Firefox',
              beganWith: 'web',
              createdAt: '2026-01-01T00:00:00.000Z',
              lastUsedAt: '2026-01-01T00:00:00.000Z',
            },
          ],
        },
        basicUsedAt: null,
        lastUsedAt: '2026-01-01T00:00:00.000Z',
      })
    })

    it('delete deletes an actor only with --yes, without an event when no module is given', async () => {
      await fill(async (app) => void (await createAda(app)))
      refused(
        await run('delete', 'ada'),
        'Cannot ask for confirmation without a terminal: add --yes to delete the actor.',
      )
      assert.match((await run('ls')).stdout, /ada@example\.com/)
      assert.deepEqual(await run('delete', 'ada', '--yes'), {
        code: 0,
        signal: null,
        stdout: 'Deleted actor ada.\n',
        stderr: '',
      })
      assert.equal((await run('ls')).stdout, 'No actors.\n')
      assert.equal(existsSync(place.path('events')), false)
    })

    it('delete fires the events of the module', async () => {
      await fill(async (app) => (await createAda(app)).set('email', 'ada@example.com'))
      const { code, stdout } = await run('delete', 'ada', 'app.ts', '--yes')
      assert.deepEqual([code, stdout], [0, 'Deleted actor ada.\n'])
      assert.equal(readFileSync(place.path('events'), 'utf8'), 'deleting ada@example.com\ndeleted ada\n')
      assert.equal((await run('ls')).stdout, 'No actors.\n')
    })

    it('seed runs seed.ts beside the module, or another file', async () => {
      await fill(async () => {})
      place.write(
        'seed.ts',
        `import type { Seed } from 'troupe'
const seed: Seed = async ({ app, actors }) => {
  const { actor } = await actors.create({ id: 'seeded', creator: 'ada@example.com' })
  await actor.set('from', app === undefined ? 'no application' : 'seed.ts')
}
export default seed
`,
      )
      place.write('other.ts', `export default ({ actors }) => actors.create({ id: 'other' })\n`)
      assert.deepEqual(await run('seed', 'app.ts'), { code: 0, signal: null, stdout: 'Seeded.\n', stderr: '' })
      assert.equal((await run('seed', 'app.ts', 'other.ts')).code, 0)
      await fill(async (app) => {
        assert.equal(await (await app.actors.get('seeded'))?.get('from'), 'seed.ts')
        assert.equal((await app.actors.get('other'))?.id, 'other')
      })
    })

    it('ls finds actors by the beginning of the creator, and show by the creator', async () => {
      await fill(async (app) => {
        await createAda(app)
        await app.actors.create({ id: 'adam', creator: 'adam@example.com' })
        await app.actors.create({ id: 'ben', creator: 'ben@example.com' })
      })
      const found = await run('ls', '--search', 'ADA')
      assert.deepEqual(found.stdout.match(/\S+@example\.com/g), ['ada@example.com', 'adam@example.com'])
      const { actors } = JSON.parse((await run('ls', '--search', 'ada', '--limit', '1', '--json')).stdout) as {
        actors: readonly object[]
      }
      assert.deepEqual(actors, [{ id: 'ada', creator: 'ada@example.com', createdAt: '2026-01-01T00:00:00.000Z' }])
      assert.match((await run('show', 'BEN@example.com')).stdout, /^actor {10}ben$/m)
      refused(await run('show', 'ad'), 'Cannot show actor ad: it does not exist.')
    })

    it('ls sorts by what actors store, and by the newest records', async () => {
      await fill(async (app) => {
        const ada = await createAda(app)
        await ada.set('a', 'x'.repeat(5000))
        const { actor: ben } = await app.actors.create({ id: 'ben', creator: 'ben@example.com' })
        for (let n = 0; n < 5; n++) await ben.set('a', n)
      })
      const ids = async (...args: string[]): Promise<string[]> => {
        const { stdout } = await run('ls', ...args, '--json')
        return (JSON.parse(stdout) as { actors: { id: string }[] }).actors.map(({ id }) => id)
      }
      assert.deepEqual(await ids('--sort', 'size'), ['ada', 'ben'])
      assert.deepEqual(await ids('--sort', 'activity'), ['ben', 'ada'])
      assert.deepEqual(await ids('--sort', 'size', '--limit', '1'), ['ada'])
      const { countedAt } = JSON.parse((await run('ls', '--sort', 'size', '--json')).stdout) as { countedAt: string }
      assert.ok(Math.abs(Date.parse(countedAt) - Date.now()) < 60_000, countedAt)
      assert.match((await run('ls', '--sort', 'size')).stdout, /^5\.0 kB {2}ada {2}ada@example\.com$/m)
      assert.match((await run('ls', '--sort', 'activity')).stdout, /^5 records {2}ben {2}ben@example\.com$/m)
      refused(
        await run('ls', '--sort', 'size', '--limit', '1001'),
        'Cannot run troupe actors ls: with --sort, --limit must be at most 1000.',
      )
      refused(await run('ls', '--sort', 'name'), 'Cannot run troupe actors ls: --sort must be size or activity.')
      refused(
        await run('ls', '--sort', 'size', '--search', 'a'),
        'Cannot run troupe actors ls: --search and --sort go with --limit and --json only.',
      )
    })

    it('sign-in-link prints a link that works once, for one actor', async () => {
      await fill(async (app) => void (await createAda(app)))
      env['BASE_URL'] = 'https://notes.example.com'
      const { link } = JSON.parse((await run('sign-in-link', 'ada', '--json')).stdout) as { link: string }
      assert.match(link, /^https:\/\/notes\.example\.com\/oauth\/owner-link\?code=[\w-]{43}$/)
      await fill(async (app) => {
        const { ownerLinks, auditLog } = (await app.running()).parts
        const code = new URL(link).searchParams.get('code') ?? ''
        assert.equal((await ownerLinks.use(code, 'Firefox')).actorId, 'ada')
        await assert.rejects(ownerLinks.use(code, 'Firefox'), { code: 'gone' })
        await auditLog.flush()
      }, Date.now())
      refused(await run('sign-in-link', 'grace'), 'This actor does not exist.')
      refused(await run('sign-in-link', 'ada@example.com'), 'Cannot find actor ada@example.com: it does not exist.')
    })

    it('reset-limits deletes what limits have counted about an actor, and about a sender', async () => {
      await fill(async (app) => {
        await createAda(app)
        const { failedAttempts } = (await app.running()).parts
        await failedAttempts.failed('passphrase', { id: 'ada', guardedUntil: 0 }, () => '192.0.2.7')
      })
      assert.equal(
        (await run('reset-limits', 'ada', '--sender', '192.0.2.7')).stdout,
        'Reset 3 limits of actor ada. Running processes notice it within 30 seconds.\n',
      )
      assert.deepEqual(JSON.parse((await run('reset-limits', 'ada', '--json')).stdout), { actor: 'ada', reset: 0 })
      refused(
        await run('reset-limits', 'ada', '--sender', 'example.com'),
        'Cannot run troupe actors reset-limits: example.com is not an IP address.',
      )
    })

    it('suspend closes the actor until resume, and sign-out ends the sessions of its owner', async () => {
      await fill(async (app) => void (await createAda(app)))
      assert.deepEqual(await run('suspend', 'ada'), {
        code: 0,
        signal: null,
        stdout: 'Suspended actor ada.\n',
        stderr: '',
      })
      assert.match((await run('show', 'ada')).stdout, /^suspended {6}by an operator: every request is refused$/m)
      await fill(async (app) => assert.rejects(async () => app.actors.get('ada'), { code: 'actor_suspended' }))
      assert.equal((await run('sign-out', 'ada')).stdout, 'Ended 0 sessions.\n')
      assert.deepEqual(JSON.parse((await run('resume', 'ada', '--json')).stdout), { actor: 'ada', done: 'resume' })
      refused(await run('resume', 'ada'), 'Cannot resume the actor: it is not suspended.')
      refused(await run('suspend', 'grace'), 'This actor does not exist.')
      refused(await run('sign-out'), 'Cannot run troupe actors sign-out: expected the id of one actor.')
      await fill(async (app) => assert.equal((await app.actors.get('ada'))?.id, 'ada'))
    })

    it('refuse what they cannot do, in one sentence (OPS-09)', async () => {
      await fill(async (app) => void (await createAda(app)))
      place.write('value.ts', 'export default 7\n')
      const refusals: [args: string[], sentence: string][] = [
        [
          [],
          'Cannot run troupe actors: expected ls, show, export, import, delete, renew-passphrase, suspend, resume, sign-out, sign-in-link, reset-limits or seed.',
        ],
        [
          ['list'],
          'Cannot run troupe actors: expected ls, show, export, import, delete, renew-passphrase, suspend, resume, sign-out, sign-in-link, reset-limits or seed.',
        ],
        [['ls', 'ada'], 'Cannot run troupe actors ls: expected options only.'],
        [['ls', '--all'], 'Unknown option --all of troupe actors ls: troupe actors ls --help lists the options.'],
        [['ls', '--limit'], 'Cannot run troupe actors ls: --limit has a missing or unexpected value.'],
        [['ls', '--limit', '0'], 'Cannot run troupe actors ls: --limit must be a whole number from 1 to 10000.'],
        [
          ['ls', '--created-after', 'never'],
          'Cannot run troupe actors ls: --created-after must be a date such as 2026-07-01 or 2026-07-01T12:00:00Z.',
        ],
        [
          ['ls', '--after', 'ada'],
          'Cannot run troupe actors ls: --after must be a place that an earlier page printed.',
        ],
        [['show'], 'Cannot run troupe actors show: expected the id or the creator of one actor.'],
        [['show', 'dora'], 'Cannot show actor dora: it does not exist.'],
        [['delete', '--yes'], 'Cannot run troupe actors delete: expected the id of one actor, and at most one module.'],
        [['delete', 'dora', '--yes'], 'Cannot delete actor dora: it does not exist.'],
        [['delete', 'dora', 'app.ts', '--yes'], 'Cannot delete actor dora: it does not exist.'],
        [['seed'], 'Cannot run troupe actors seed: expected one module, and at most one seed file.'],
        [['seed', 'app.ts'], `Cannot load ${place.path('seed.ts')}: the file does not exist.`],
        [
          ['seed', 'app.ts', 'value.ts'],
          `Cannot run ${place.path('value.ts')}: it must export a function by default: export default async ({ app, actors }) => { … }`,
        ],
      ]
      for (const [args, sentence] of refusals) refused(await run(...args), sentence)
      assert.match((await run('ls')).stdout, /ada@example\.com/)
    })
  })
})
