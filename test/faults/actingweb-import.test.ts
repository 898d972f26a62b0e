/** Imports of an ActingWeb database that are killed, that lose a database, or that run twice at the same time. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import { importActors, type ImportReport } from '../../src/actingweb-import/import-actors.ts'
import { SourceDatabase } from '../../src/actingweb-import/source.ts'
import { withRestoring } from '../../src/cli/copies/restoring.ts'
import { resolveConfig } from '../../src/features/config.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Store } from '../../src/store/store.ts'
import { Tokens } from '../../src/token/tokens.ts'
import { ActingWebDatabase } from '../support/actingweb-database.ts'
import { freePort } from '../support/free-port.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const actors = 60
const items = 200

forEachStore((_dialect, open, database) => {
  describe('troupe import-actingweb', () => {
    let old: ActingWebDatabase
    let place: Workplace
    let env: Record<string, string>
    let store: Store

    before(async () => {
      old = await ActingWebDatabase.create()
      await old.run(
        `INSERT INTO actors SELECT 'a' || n, 'a' || n || '@example.com', 'pass-' || n, now() FROM generate_series(1, ${actors}) AS n`,
      )
      await old.run(
        `INSERT INTO properties SELECT 'a' || n, 'list:notes-meta', '{"length": ${items}}' FROM generate_series(1, ${actors}) AS n`,
      )
      await old.run(
        `INSERT INTO properties SELECT 'a' || n, 'list:notes-' || m, CAST(m AS text)
         FROM generate_series(1, ${actors}) AS n, generate_series(0, ${items - 1}) AS m`,
      )
      for (let n = 1; n <= actors; n++) {
        await old.trust(`a${n}`, 'p1')
        await old.subscription(`a${n}`, 'p1', 'sub1', n)
      }
    })
    after(() => old.remove())
    beforeEach(async () => {
      place = new Workplace()
      const { url } = await database()
      store = await open({ url })
      env = { DATABASE_URL: url, TROUPE_SECRET_KEYS: key, TROUPE_FILES: place.path('files'), LOG_LEVEL: 'error' }
    })
    afterEach(() => place.remove())

    const args = (...more: string[]): string[] => [
      'import-actingweb',
      '--database',
      old.url,
      '--schema',
      'old',
      ...more,
    ]
    const run = (...more: string[]): Promise<Ending> => place.run(args(...more), { env })
    const count = async (from: string): Promise<number> =>
      (await store.read((q) => q.get<{ rows: number }>(`SELECT COUNT(*) AS rows FROM ${from}`)))?.rows ?? 0

    async function assertComplete(): Promise<void> {
      assert.equal(await count(`actor WHERE creator LIKE 'a%@example.com'`), actors)
      assert.equal(await count(`actor WHERE creator LIKE 'importing:%'`), 0)
      assert.equal(await count('list_item'), actors * items)
      assert.equal(await count('trust'), actors)
      const sequences = await store.read((q) =>
        q.get<{ total: number }>('SELECT CAST(SUM(sequence) AS INTEGER) AS total FROM publisher_subscription'),
      )
      assert.equal(sequences?.total, (actors * (actors + 1)) / 2)
      assert.equal(await count('diff'), 0)
    }

    for (const [when, isReached] of [
      ['with the first actor', async () => (await count('actor')) > 1],
      ['in the middle', async () => (await count('trust')) > actors / 2],
    ] as const) {
      it(`that is killed ${when} is continued by the next one, and each actor comes in once (R-IMP-07)`, async () => {
        const killed = place.start(args(), { env })
        await until(isReached)
        killed.signal('SIGKILL')
        await killed.ended
        const earlier = await count(`actor WHERE creator LIKE 'a%@example.com'`)
        assert.ok(earlier < actors)
        const again = await run('--json')
        assert.deepEqual([again.code, again.stderr], [0, ''])
        const { imported, existing, failed } = JSON.parse(again.stdout) as Record<string, number>
        assert.deepEqual({ imported, existing, failed }, { imported: actors - earlier, existing: earlier, failed: 0 })
        await assertComplete()
      })
    }

    it('in two processes at the same time brings each actor in once (R-IMP-07)', async () => {
      const endings = await Promise.all([run('--json'), run('--json')])
      const reports = endings.map(({ stdout }) => JSON.parse(stdout) as Record<string, number>)
      assert.equal((reports[0]?.['imported'] ?? 0) + (reports[1]?.['imported'] ?? 0), actors)
      const last = await run()
      assert.deepEqual([last.code, last.stderr], [0, ''])
      await assertComplete()
    })

    /** Imports in this process, one actor after the other. Calls `onActor` when the import has begun an actor. */
    async function importHere(onActor: (id: string) => Promise<void>): Promise<Partial<ImportReport>> {
      const source = await SourceDatabase.open({ url: old.url, schema: 'old', connections: 1 })
      const rowsOf = source.rowsOf.bind(source)
      source.rowsOf = async (table, id) => {
        if (table === 'trusts') await onActor(id)
        return rowsOf(table, id)
      }
      const { now } = store
      const tokens = new Tokens({ store, log: createLog('silent'), now, maxSessionDays: 90 })
      const work = {
        source,
        companions: new Map<string, string>(),
        signIns: new Map<string, string>(),
        isDryRun: false,
        lanes: 1,
        tokens,
        now,
      }
      const config = resolveConfig({}, { ...env, TROUPE_MODE: 'development' })
      const report = await withRestoring(store, config, (deps) => importActors({ ...deps, ...work }))
      await source.close()
      const { imported, existing, failed, first } = report
      return { imported, existing, failed, first }
    }

    it('that loses an actor to another import does not fail (R-IMP-07)', async () => {
      const others: Ending[] = []
      // The other import takes over the first actor, and completes it with all others.
      const report = await importHere(async () => {
        if (others.length === 0) others.push(await run())
      })
      assert.deepEqual(
        others.map(({ code, stderr }) => [code, stderr]),
        [[0, '']],
      )
      assert.deepEqual(report, { imported: 0, existing: actors, failed: 0, first: [] })
      await assertComplete()
    })

    it('that finds an actor of another import takes it over after all others (R-IMP-07)', async () => {
      const [begun, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const slow = importHere(async (id) => {
        if (id !== 'a1') return
        begun.resolve()
        await resume.promise
      })
      await begun.promise
      const order: string[] = []
      const fast = await importHere(async (id) => void order.push(id))
      resume.resolve()
      assert.deepEqual([order.length, order.at(-1)], [actors, 'a1'])
      assert.deepEqual(fast, { imported: actors, existing: 0, failed: 0, first: [] })
      assert.deepEqual(await slow, { imported: 0, existing: actors, failed: 0, first: [] })
      await assertComplete()
    })

    it('that loses an actor twice reports it, and the import that has it completes it (R-IMP-07)', async () => {
      const begins = [1, 2, 3].map(() => ({
        begun: Promise.withResolvers<void>(),
        resume: Promise.withResolvers<void>(),
      }))
      let began = 0
      const heldAt = async (id: string): Promise<void> => {
        if (id !== 'a1') return
        const begin = begins[began]
        began += 1
        begin?.begun.resolve()
        await begin?.resume.promise
      }
      const [first, second, third] = begins
      assert.ok(first !== undefined && second !== undefined && third !== undefined)
      const slow = importHere(heldAt)
      await first.begun.promise
      const fast = importHere(heldAt)
      await second.begun.promise
      first.resume.resolve()
      await third.begun.promise
      second.resume.resolve()
      assert.deepEqual(await fast, {
        imported: actors - 1,
        existing: 0,
        failed: 1,
        first: [{ actor: 'a1', problem: 'Cannot import the archive: another import of this actor has begun' }],
      })
      third.resume.resolve()
      assert.deepEqual(await slow, { imported: 1, existing: actors - 1, failed: 0, first: [] })
      assert.equal(began, 3)
      await assertComplete()
    })

    it('that loses the connection to its source ends with the reason, and the next one continues', async () => {
      const cut = place.start(args(), { env })
      await until(async () => (await count('trust')) > 5)
      const client = new pg.Client({ connectionString: old.url })
      await client.connect()
      // A new connection may follow the first ones.
      const { code } = await Promise.race([
        cut.ended,
        (async () => {
          for (;;) {
            await client.query(
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%properties%'`,
            )
          }
        })(),
      ]).finally(() => void client.end())
      assert.equal(code, 1)
      const { stderr } = await cut.ended
      assert.match(stderr, /^Cannot read the ActingWeb database "[^"]+" at [^ ]+: [^\n]+\n$/)
      const again = await run()
      assert.deepEqual([again.code, again.stderr], [0, ''])
      await assertComplete()
    })
  })
})

describe('troupe import-actingweb refuses', () => {
  let old: ActingWebDatabase
  let place: Workplace
  before(async () => {
    old = await ActingWebDatabase.create()
    place = new Workplace()
  })
  after(async () => {
    await place.remove()
    await old.remove()
  })
  const run = (...args: string[]): Promise<Ending> =>
    place.run(['import-actingweb', ...args], { env: { DATABASE_URL: `sqlite:${place.path('new.db')}` } })

  it('a database without the tables, an unknown host and a wrong password, without naming the password', async () => {
    const wrong = await run('--database', old.url)
    assert.match(wrong.stderr, /its schema public lacks the tables actors, properties, attributes, trusts,/)
    const port = await freePort()
    const closed = await run('--database', `postgres://aw:s3cret@127.0.0.1:${port}/aw`)
    assert.match(closed.stderr, new RegExp(`^Cannot read the ActingWeb database "aw" at 127.0.0.1:${port}: `))
    for (const { code, stdout, stderr } of [wrong, closed]) {
      assert.deepEqual([code, stdout], [1, ''])
      assert.ok(!stderr.includes('s3cret'))
    }
  })

  for (const [args, message] of [
    [[], 'expected --database with the URL of a PostgreSQL database'],
    [['--database', 'sqlite:old.db'], 'expected --database with the URL of a PostgreSQL database'],
    [['--database', 'postgres://x/y', 'more'], 'expected --database with the URL of a PostgreSQL database'],
    [['--database', 'postgres://x/y', '--companions', 'calendar'], 'calendar is not a name and a type'],
    [['--database', 'postgres://x/y', '--wet-run'], 'Unknown option --wet-run'],
  ] as const) {
    it(`the arguments ${JSON.stringify(args)}`, async () => {
      const { code, stdout, stderr } = await run(...args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.ok(stderr.includes(message), stderr)
    })
  }

  it('nothing of an empty database: it reports that there is nothing', async () => {
    const { code, stdout, stderr } = await run('--database', old.url, '--schema', 'old', '--dry-run')
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(
      stdout,
      '0 actors found, 0 can be imported.\nTo import: nothing.\nTrust types, which the application must declare: nothing.\n',
    )
  })
})
