/** Imports of archives that are killed, and imports of the same actor at the same time. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { findActorByCreator } from '../../src/actor/actor-store.ts'
import type { Store } from '../../src/store/store.ts'
import { comparable } from '../support/archives.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const items = 12_000

/** An archive of a long list, with values and a file before and after it. */
function archive(): string {
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-02T00:00:00.000Z' }
  const records: object[] = [
    {
      kind: 'archive',
      version: 1,
      actor: 'ada',
      url: 'http://localhost:3000/ada',
      creator: 'ada@example.com',
      trustee_root: null,
      created_at: times.created_at,
      exported_at: times.updated_at,
      release: '0.2.0',
      secrets: false,
    },
    { kind: 'property', name: 'color', value: 'blue' },
    {
      kind: 'list',
      name: 'long',
      id: '9f86d081884c7d65',
      description: '',
      explanation: '',
      ...times,
      next_item: items + 1,
      revision: 7,
      length: items,
    },
    ...Array.from({ length: items }, (_, n) => ({
      kind: 'item',
      number: items - n,
      value: { n, text: 'x'.repeat(100) },
    })),
    { kind: 'property', name: 'shape', value: 'round' },
    {
      kind: 'file',
      name: 'hello.txt',
      size: 5,
      type: 'text/plain',
      sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      ...times,
    },
    { kind: 'bytes', data: 'aGVsbG8=' },
  ]
  return [...records, { kind: 'end', records: records.length }].map((one) => `${JSON.stringify(one)}\n`).join('')
}

forEachStore((_dialect, open, database) => {
  describe('an import of an archive', () => {
    const whole = archive()
    let place: Workplace
    let env: Record<string, string>
    let store: Store
    beforeEach(async () => {
      place = new Workplace()
      place.write('ada.jsonl', whole)
      const { url } = await database()
      store = await open({ url })
      env = {
        DATABASE_URL: url,
        TROUPE_SECRET_KEYS: key,
        TROUPE_FILES: place.path('files'),
        LOG_LEVEL: 'error',
        BASE_URL: 'http://localhost:3000',
      }
    })
    afterEach(() => place.remove())

    const run = (...args: string[]): Promise<Ending> => place.run(['actors', ...args], { env })
    const rowsOf = async (table: 'actor' | 'list_item'): Promise<number> => {
      const row = await store.read((q) => q.get<{ rows: number }>(`SELECT COUNT(*) AS rows FROM ${table}`))
      return row?.rows ?? 0
    }

    /** The archive of the actor, in the order of a new export. */
    async function exported(): Promise<string[]> {
      const { code, stdout, stderr } = await run('export', 'ada')
      assert.deepEqual([code, stderr], [0, ''])
      return comparable(stdout).toSorted()
    }

    const expected = comparable(whole).toSorted()

    for (const [when, records, isReached] of [
      ['after it created the actor', 3, async () => (await rowsOf('actor')) > 0],
      ['after some items', 2000, async () => (await rowsOf('list_item')) > 500],
      ['after most items', items, async () => (await rowsOf('list_item')) > items - 1000],
    ] as const) {
      it(`that is killed ${when} leaves an actor that no one can open, and the next one completes it (R-ARC-04)`, async () => {
        // The rest of the archive does not arrive, so the program cannot complete the import before it is killed.
        const input = new PassThrough()
        input.write(whole.split('\n', records).join('\n'))
        const killed = place.start(['actors', 'import', '-'], { env, input })
        await until(isReached)
        killed.signal('SIGKILL')
        await killed.ended
        assert.equal(await store.read((q) => findActorByCreator(q, 'ada@example.com')), null)
        const again = await run('import', 'ada.jsonl')
        assert.deepEqual([again.code, again.stderr], [0, ''])
        assert.equal(await rowsOf('actor'), 1)
        assert.equal(await rowsOf('list_item'), items)
        assert.deepEqual(await exported(), expected)
      })
    }

    it('in two processes at the same time is completed by one of them', async () => {
      const endings = await Promise.all([run('import', 'ada.jsonl'), run('import', 'ada.jsonl')])
      assert.deepEqual(new Set(endings.map(({ code }) => code)), new Set([0, 1]))
      const refused = endings.find(({ code }) => code === 1)
      assert.match(
        refused?.stderr ?? '',
        /^Cannot import the archive: (?:actor "ada" exists already|another import of this actor has begun)\.\n$/,
      )
      assert.equal(await rowsOf('list_item'), items)
      assert.deepEqual(await exported(), expected)
    })
  })
})
