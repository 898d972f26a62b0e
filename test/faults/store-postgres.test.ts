import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { ServiceError } from '../../src/errors.ts'
import { openStore, type StoreOptions } from '../../src/open-store.ts'
import type { Queries, Store, Transaction } from '../../src/store/store.ts'
import { administer, type PostgresServer, sharedPostgresUrl, startPostgres } from '../support/postgres.ts'
import { openRelay } from '../support/relay.ts'
import { createPostgresDatabase, createTestDatabase, unavailable } from '../support/stores.ts'

const addActor = (tx: Transaction, id: string) =>
  tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'owner', 'secret', 1)

const rename = (tx: Transaction, id: string, creator: string) =>
  tx.run('UPDATE actor SET creator = $2 WHERE id = $1', id, creator)

const actorIds = async (q: Queries) =>
  (await q.all<{ id: string }>('SELECT id FROM actor ORDER BY id')).map((row) => row.id)

const creatorOf = async (store: Store, id: string) =>
  (await store.read((q) => q.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', id)))?.creator

/** A promise with its resolve function. */
function deferred() {
  let keep = () => {}
  const promise = new Promise<void>((resolve) => (keep = resolve))
  return { promise, keep }
}

/** Closes and removes what a test opened, in reverse order. */
function undoAfter(t: TestContext): (step: () => Promise<void>) => void {
  const steps: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const step of steps.reverse()) await step()
  })
  return (step) => void steps.push(step)
}

/** Opens a store on a new database. */
async function openFresh(t: TestContext, options: Partial<StoreOptions> = {}, settings: readonly string[] = []) {
  const undo = undoAfter(t)
  const database = await createTestDatabase('postgres')
  undo(() => database.remove())
  const { url } = database
  const name = new URL(url).pathname.slice(1)
  for (const setting of settings) await administer(url, `ALTER DATABASE ${name} SET ${setting}`)
  const store = await openStore({ ...options, url })
  undo(() => store.close())
  return { store, url, name }
}

/** Opens a store over a relay that can cut its connections, and a second store with a direct connection. */
async function openOverRelay(t: TestContext, options: Partial<StoreOptions> = {}) {
  const undo = undoAfter(t)
  const database = await createTestDatabase('postgres')
  undo(() => database.remove())
  const relay = await openRelay(Number(new URL(database.url).port))
  const url = new URL(database.url)
  url.port = String(relay.port)
  const store = await openStore({ ...options, url: url.href })
  undo(() => store.close())
  undo(() => relay.close())
  const direct = await openStore({ url: database.url })
  undo(() => direct.close())
  return { store, relay, direct }
}

const COMMIT = Buffer.from('COMMIT\0')

describe('a lost connection (DUR-14)', () => {
  it('between the commit and its response gives 503 with an unknown outcome, and the change is made once', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let runs = 0
    let cut = false
    relay.judge = (piece) => {
      if (cut || !piece.includes(COMMIT)) return 'pass'
      cut = true
      return 'cut before the answer'
    }
    await assert.rejects(
      store.write((tx) => {
        runs++
        return addActor(tx, 'a')
      }),
      {
        code: 'store_unavailable',
        message: 'The connection to storage broke during the commit: whether the change was made is unknown',
      },
    )
    assert.equal(runs, 1)
    assert.deepEqual(await direct.read(actorIds), ['a'])
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
  })

  it('before the commit arrives gives 503 with an unknown outcome, without a retry', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let cut = false
    relay.judge = (piece) => {
      if (cut || !piece.includes(COMMIT)) return 'pass'
      cut = true
      return 'cut before it arrives'
    }
    await assert.rejects(
      store.write((tx) => addActor(tx, 'a')),
      /whether the change was made is unknown/,
    )
    assert.deepEqual(await direct.read(actorIds), [])
  })

  it('before the commit makes the transaction run again, once at most', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let runs = 0
    await store.write(async (tx) => {
      runs++
      await addActor(tx, 'a')
      if (runs === 1) relay.cut()
      await addActor(tx, 'b')
    })
    assert.equal(runs, 2)
    assert.deepEqual(await direct.read(actorIds), ['a', 'b'])
    runs = 0
    await assert.rejects(
      store.write(async (tx) => {
        runs++
        await addActor(tx, 'c')
        relay.cut()
        await addActor(tx, 'd')
      }),
      unavailable(/connection to the database broke/),
    )
    assert.equal(runs, 2)
    assert.deepEqual(await direct.read(actorIds), ['a', 'b'])
  })

  it('during a read is retried transparently', async (t) => {
    const { store, relay } = await openOverRelay(t)
    await store.write((tx) => addActor(tx, 'a'))
    for (let round = 0; round < 4; round++) {
      relay.cut()
      assert.deepEqual(await store.read(actorIds), ['a'])
    }
  })
})

describe('conflicting transactions (DUR-14)', () => {
  it('both succeed after the database aborts one of them', async (t) => {
    const { store } = await openFresh(t, {}, ["deadlock_timeout = '10ms'"])
    await store.write(async (tx) => {
      await addActor(tx, 'a')
      await addActor(tx, 'b')
    })
    const [first, second] = [deferred(), deferred()]
    let runs = 0
    await Promise.all([
      store.write(async (tx) => {
        runs++
        await rename(tx, 'a', 'one')
        first.keep()
        await second.promise
        await rename(tx, 'b', 'one')
      }),
      store.write(async (tx) => {
        runs++
        await rename(tx, 'b', 'two')
        second.keep()
        await first.promise
        await rename(tx, 'a', 'two')
      }),
    ])
    assert.ok(runs >= 3, `${runs} runs`)
    assert.equal(await creatorOf(store, 'a'), await creatorOf(store, 'b'))
  })

  it('that cannot be serialized are retried and lose no change', async (t) => {
    const { store } = await openFresh(t, {}, ["default_transaction_isolation = 'serializable'"])
    await store.write((tx) => addActor(tx, 'a'))
    await store.write((tx) => rename(tx, 'a', '0'))
    const countUp = () =>
      store.write(async (tx) => {
        const row = await tx.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', 'a')
        await rename(tx, 'a', String(Number(row?.creator) + 1))
      })
    const results = await Promise.allSettled([countUp(), countUp(), countUp()])
    const made = results.filter((result) => result.status === 'fulfilled').length
    assert.equal(await creatorOf(store, 'a'), String(made))
    for (const result of results)
      if (result.status === 'rejected') unavailable(/Every attempt conflicted/)(result.reason)
  })

  it('fail with 503 after six attempts', async (t) => {
    const { store } = await openFresh(t, {}, ["default_transaction_isolation = 'repeatable read'"])
    await store.write((tx) => addActor(tx, 'a'))
    let runs = 0
    await assert.rejects(
      store.write(async (tx) => {
        runs++
        await tx.get('SELECT creator FROM actor WHERE id = $1', 'a')
        await store.write((other) => rename(other, 'a', `other ${runs}`))
        await rename(tx, 'a', 'mine')
      }),
      unavailable(/Every attempt conflicted/),
    )
    assert.equal(runs, 6)
    assert.equal(await creatorOf(store, 'a'), 'other 6')
  })
})

describe('busy connections (DUR-15)', () => {
  it('give 503 with Retry-After to callers that wait too long, and are usable again afterwards', async (t) => {
    const { store } = await openFresh(t, { workers: 2, connectTimeoutMs: 50 })
    const release = deferred()
    const taken = [deferred(), deferred()]
    const holders = taken.map((one, index) =>
      store.write(async (tx) => {
        await addActor(tx, `holder ${index}`)
        one.keep()
        await release.promise
      }),
    )
    await Promise.all(taken.map((one) => one.promise))
    const results = await Promise.allSettled([store.write((tx) => addActor(tx, 'a')), store.snapshot(actorIds)])
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      unavailable(/connection to the database/)(result.reason)
    }
    assert.deepEqual(await store.read(actorIds), [])
    release.keep()
    await Promise.all(holders)
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['b', 'holder 0', 'holder 1'])
  })

  it('reject callers immediately when too many wait already', async (t) => {
    const { store } = await openFresh(t, { workers: 1, connectTimeoutMs: 30_000 })
    const [release, taken] = [deferred(), deferred()]
    const holder = store.write(async () => {
      taken.keep()
      await release.promise
    })
    await taken.promise
    const waiting = Array.from({ length: 100 }, () => store.snapshot(async () => 'done'))
    await assert.rejects(
      store.write((tx) => addActor(tx, 'a')),
      unavailable(/^Too many calls wait/),
    )
    release.keep()
    await Promise.all([holder, ...waiting])
  })

  it('do not leak after 10 000 failed requests', async (t) => {
    const { store, url, name } = await openFresh(t, { workers: 4, connectTimeoutMs: 60_000 })
    await store.write((tx) => addActor(tx, 'a'))
    let failures = 0
    const fail = async (index: number) => {
      const kinds = [
        () => store.write((tx) => addActor(tx, 'a')),
        () => store.writeActor('none', async () => {}),
        () => store.snapshot(async () => Promise.reject(new Error('no'))),
        () => store.read((q) => q.get('SELECT nothing FROM actor')),
        () => store.write((tx) => tx.run('DELETE FROM actor WHERE id = $1')),
      ]
      await kinds[index % kinds.length]?.().catch(() => failures++)
    }
    for (let round = 0; round < 100; round++)
      await Promise.all(Array.from({ length: 100 }, (_, index) => fail(round * 100 + index)))
    assert.equal(failures, 10_000)
    assert.deepEqual(await store.read(actorIds), ['a'])
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const sessions = await client.query<{ state: string }>(
      `SELECT state FROM pg_stat_activity WHERE datname = $1 AND application_name = 'troupe'`,
      [name],
    )
    await client.end()
    assert.ok(sessions.rows.length <= 6, `${sessions.rows.length} connections`)
    assert.deepEqual(new Set(sessions.rows.map((row) => row.state)), new Set(['idle']))
  })
})

describe('a database that does not answer', () => {
  it('gives 503 for reads, writes and ping within their limits', async (t) => {
    const { store, relay } = await openOverRelay(t, { statementTimeoutMs: 50, connectTimeoutMs: 100 })
    await store.read(actorIds)
    await store.write((tx) => addActor(tx, 'a'))
    relay.silence()
    const results = await Promise.allSettled([
      store.read(actorIds),
      store.read(actorIds),
      store.snapshot(actorIds),
      store.ping(),
    ])
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      unavailable(/database/)(result.reason)
    }
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/database/),
    )
  })

  it('in time aborts only the slow statement', async (t) => {
    const { store } = await openFresh(t, { statementTimeoutMs: 50 })
    await assert.rejects(
      // Real time: the statement timeout runs in the server.
      store.read((q) => q.get('SELECT pg_sleep(60)')),
      unavailable(/timed out/),
    )
    await assert.rejects(
      store.write(async (tx) => {
        await addActor(tx, 'a')
        // Real time: the statement timeout runs in the server.
        await tx.get('SELECT pg_sleep(60)')
      }),
      unavailable(/timed out/),
    )
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a database error for lack of space (DUR-06)', () => {
  it('gives 503, and the service continues', async (t) => {
    const { store, url } = await openFresh(t)
    await administer(
      url,
      `CREATE FUNCTION fails(code TEXT) RETURNS BIGINT LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = code; END $$`,
    )
    for (const code of ['53100', '53200', '58030', 'XX001', '25006'])
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a')
          await tx.get('SELECT fails($1)', code)
        }),
        { code: 'store_unavailable' },
        code,
      )
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a value that PostgreSQL cannot hold', () => {
  it('is rejected with invalid_value', async (t) => {
    const { store } = await openFresh(t)
    const attempts: ((tx: Transaction) => Promise<unknown>)[] = [
      (tx) => rename(tx, 'a', 'a\0b'),
      (tx) => tx.all('SELECT r.t FROM rows($1, t TEXT) AS r', JSON.stringify([['a\0b']])),
      (tx) => tx.all('SELECT r.t FROM rows($1, t TEXT) AS r', JSON.stringify([['\ud800']])),
    ]
    for (const attempt of attempts) {
      await assert.rejects(store.write(attempt), { code: 'invalid_value' })
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a')
          await attempt(tx)
        }),
        { code: 'invalid_value' },
      )
    }
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a schema change under a prepared statement', () => {
  it('is handled by a new connection', async (t) => {
    const { store, url } = await openFresh(t)
    const sql = 'SELECT * FROM setting'
    await store.read((q) => q.all(sql))
    await store.write((tx) => tx.all(sql))
    await administer(url, 'ALTER TABLE setting ADD COLUMN more TEXT')
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await store.read((q) => q.all(sql)), [])
      assert.deepEqual(await store.write((tx) => tx.all(sql)), [])
    }
  })
})

describe('a PostgreSQL server that is killed', () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ fsync: true })
  })
  after(() => server.remove())

  for (const mode of ['fast', 'immediate'] as const)
    it(`loses no acknowledged change after a stop in mode ${mode}, and the store reconnects automatically`, async (t) => {
      const { url } = await createPostgresDatabase(server.url)
      const store = await openStore({ url })
      t.after(() => store.close())
      const answered: string[] = []
      const stop = { stopped: false }
      const writer = async (name: string) => {
        for (let count = 0; ; count++) {
          if (stop.stopped) return
          const id = `${name}-${count}`
          try {
            await store.write((tx) => addActor(tx, id))
            answered.push(id)
          } catch (error) {
            // A retry may find the row that a lost connection left behind.
            assert.ok(error instanceof ServiceError)
            assert.ok(['store_unavailable', 'conflict'].includes(error.code), error.code)
          }
        }
      }
      const writers = ['a', 'b', 'c'].map(writer)
      while (answered.length < 30) await store.read(actorIds)
      await server.stop(mode)
      stop.stopped = true
      await Promise.all(writers)
      await assert.rejects(store.read(actorIds), unavailable(/database/))
      await assert.rejects(store.ping(), unavailable(/database/))
      await server.start()
      await store.ping()
      const found = new Set(await store.read(actorIds))
      assert.deepEqual(
        answered.filter((id) => !found.has(id)),
        [],
      )
      await Promise.all(Array.from({ length: 20 }, (_, index) => store.write((tx) => addActor(tx, `after ${index}`))))
      await store.snapshot(actorIds)
    })
})

describe('a start on PostgreSQL fails with one sentence', () => {
  const refusal = (url: string, sentence: RegExp) =>
    assert.rejects(openStore({ url, connectTimeoutMs: 2_000 }), (error: Error) => {
      assert.equal(error.name, 'StoreStartError')
      assert.match(error.message, sentence)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })

  it('when the port is closed', async () => {
    const relay = await openRelay(1)
    await relay.close()
    await refusal(
      `postgres://me:hunter2@127.0.0.1:${relay.port}/notes`,
      /^Cannot reach the PostgreSQL database "notes" at 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/,
    )
  })

  it('when the database does not exist', async () => {
    const url = new URL(await sharedPostgresUrl())
    url.pathname = '/none'
    url.password = 'hunter2'
    await refusal(url.href, /^Cannot reach the PostgreSQL database "none" at .*: database "none" does not exist\.$/)
  })

  it('when the address is invalid', async () => {
    await refusal(
      'postgres://me:hunter2@[/notes',
      /^Cannot parse the URL of the PostgreSQL database: expected postgres:/,
    )
  })

  it('when the encoding is not UTF8', async (t) => {
    const server = await sharedPostgresUrl()
    const name = 'test_latin1'
    await administer(server, `DROP DATABASE IF EXISTS ${name}`)
    await administer(
      server,
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`,
    )
    t.after(() => administer(server, `DROP DATABASE ${name} WITH (FORCE)`))
    const url = new URL(server)
    url.pathname = `/${name}`
    await refusal(
      url.href,
      /^Cannot use the PostgreSQL database .*: its encoding is LATIN1, but only UTF8 can store every string\.$/,
    )
  })
})
