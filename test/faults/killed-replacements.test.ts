/** Replacements of the content of an actor that are killed, and the answers of the command. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { App } from '../../src/troupe.ts'
import type { Store } from '../../src/store/store.ts'
import { comparable } from '../support/archives.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const items = 6000

forEachStore((_dialect, open, database) => {
  describe('a replacement of the content of an actor', () => {
    let place: Workplace
    let env: Record<string, string>
    let store: Store
    let app: App
    beforeEach(async () => {
      place = new Workplace()
      const { url } = await database()
      store = await open({ url })
      env = {
        DATABASE_URL: url,
        TROUPE_SECRET_KEYS: key,
        TROUPE_FILES: place.path('files'),
        LOG_LEVEL: 'error',
        BASE_URL: 'http://localhost:3000',
      }
      app = new App({
        type: 'urn:actingweb:example.com:replaced',
        mode: 'development',
        database: url,
        files: place.path('files'),
        secretKeys: key,
        baseUrl: 'http://localhost:3000',
        env: {},
        logLevel: 'silent',
      })
      const { actor } = await app.actors.create({ id: 'ada', creator: 'ada@example.com' })
      await actor.set('color', 'red')
      await actor.list('long').extend(Array.from({ length: items }, (_, n) => ({ n, text: 'x'.repeat(50) })))
      await actor.files.put('hello.txt', 'hello', { type: 'text/plain' })
      assert.equal((await run('export', 'ada', '--output', 'ada.jsonl')).code, 0)
      await actor.set('color', 'blue')
      await actor.set('added', 1)
      await actor.list('long').append('more')
    })
    afterEach(async () => {
      await app.close()
      await place.remove()
    })

    const run = (...args: string[]): Promise<Ending> => place.run(['actors', ...args], { env })
    const count = async (sql: string): Promise<number> => {
      const row = await store.read((q) => q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${sql}`))
      return row?.n ?? 0
    }
    const isClosed = async (): Promise<boolean> => (await count(`actor WHERE residence = 'replacing'`)) > 0
    const request = (path: string): Promise<Response> => app.fetch(new Request(`http://localhost:3000${path}`))
    const content = async (): Promise<string[]> =>
      comparable((await run('export', 'ada')).stdout).filter((line) =>
        /"kind":"(?:property|item|file|bytes)"/.test(line),
      )

    const moments = [
      [
        'while it reads the archive for the first time',
        async () => (await count(`actor WHERE residence = 'arriving'`)) > 0,
        false,
      ],
      ['after it closed the actor', isClosed, true],
      [
        'after some items',
        async () => (await isClosed()) && (await count(`list_item WHERE actor_id = 'ada' AND item < 600`)) > 300,
        true,
      ],
    ] as const
    for (const [when, isReached, isLate] of moments) {
      it(`that is killed ${when} is never seen in part, and the next one completes it (DUR-25)`, async () => {
        const wanted = comparable((await import('node:fs')).readFileSync(place.path('ada.jsonl'), 'utf8')).filter(
          (line) => /"kind":"(?:property|item|file|bytes)"/.test(line),
        )
        const before = await content()
        const killed = place.start(['actors', 'import', 'ada.jsonl', '--replace', '--yes'], { env })
        await until(async () => {
          killed.signal('SIGSTOP')
          if (await isReached()) return true
          killed.signal('SIGCONT')
          return false
        })
        killed.signal('SIGKILL')
        await killed.ended
        const meta = await request('/ada/meta')
        assert.equal(meta.status, isLate ? 503 : 200)
        if (isLate) {
          assert.equal(meta.headers.get('retry-after'), '5')
          await assert.rejects(app.actors.get('ada'), /The content of the actor is being replaced/)
        } else assert.deepEqual(await content(), before)
        const again = await run('import', 'ada.jsonl', '--replace', '--yes')
        assert.deepEqual([again.code, again.stderr], [0, ''])
        assert.equal(again.stdout.startsWith('A replacement has begun'), isLate)
        assert.match(again.stdout, /Replaced the content of actor ada\.\n$/)
        assert.deepEqual(await content(), wanted)
        assert.equal((await request('/ada/meta')).status, 200)
        assert.equal(await count(`actor WHERE creator LIKE 'importing:%'`), 0)
        assert.equal(await count(`attribute WHERE bucket = '_archive'`), 0)
        const handle = await app.actors.get('ada')
        await handle?.list('long').append('the next')
        assert.equal(await handle?.list('long').length(), items + 1)
      })
    }

    it('asks first, and changes nothing without an answer, for a dry run or with wrong options (DUR-26)', async () => {
      const before = await content()
      const refusals: readonly (readonly [args: string[], text: string])[] = [
        [
          ['ada.jsonl', '--replace'],
          'Cannot ask for confirmation without a terminal: add --yes to replace the content.',
        ],
        [['-', '--replace', '--yes'], 'Cannot replace an actor from standard input: name a file, which is read twice.'],
        [['none', '--replace', '--yes'], 'Cannot read none: the file does not exist.'],
        [['ada.jsonl', '--yes'], 'Cannot run troupe actors import: --yes needs --replace.'],
        [['ada.jsonl', '--dry-run'], 'Cannot run troupe actors import: --dry-run needs --replace.'],
        [['ada.jsonl', '--as', 'ada'], 'Cannot run troupe actors import: --as needs --replace.'],
        [['ada.jsonl', '--replace', '--yes', '--as', 'ben'], 'Cannot replace actor "ben": it does not exist.'],
      ]
      for (const [args, text] of refusals) {
        const { code, stderr } = await run('import', ...args)
        assert.deepEqual([code, stderr.trimEnd()], [1, text])
      }
      const dry = await run('import', 'ada.jsonl', '--replace', '--dry-run')
      assert.deepEqual(
        [dry.code, dry.stderr, dry.stdout],
        [
          0,
          '',
          `property    0 added, 1 changed, 1 removed, 0 stay the same
list        0 added, 1 changed, 0 removed, 0 stay the same
file        0 added, 0 changed, 0 removed, 1 stays the same
Not imported: change 3.
`,
        ],
      )
      assert.deepEqual(await content(), before)
      assert.equal(await count(`actor WHERE residence = 'arriving'`), 0)
    })
  })
})
