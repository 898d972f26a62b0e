/** The modes for connection poolers, on a direct connection. `npm run pgbouncer` runs all contracts through a real pooler. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openStore } from '../../src/open-store.ts'
import type { Queries, Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { administer } from '../support/postgres.ts'
import { createTestDatabase, type TestDatabase, unavailable } from '../support/stores.ts'

const SETTINGS = `SELECT string_agg(name || ' ' || setting || ' ' || reset_val, ', ' ORDER BY name) AS found FROM pg_settings
  WHERE name IN ('enable_seqscan', 'jit', 'lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')`

const settings = async (q: Queries) => (await q.get<{ found: string }>(SETTINGS))?.found

for (const pooler of ['prepared', 'unprepared'] as const) {
  describe(`a store with ?pooler=${pooler}`, () => {
    let database: TestDatabase
    let url: string
    let store: Store
    before(async () => {
      database = await createTestDatabase('postgres')
      const address = new URL(database.url)
      address.searchParams.set('pooler', pooler)
      url = address.href
      store = await openStore({ url, workers: 2 })
    })
    after(async () => {
      await store.close()
      await database.remove()
    })

    const everywhere = [
      ['a read', () => store.read(settings)],
      ['a snapshot', () => store.snapshot(settings)],
      ['a change', () => store.write(settings)],
      ['a relaxed change', () => store.write(settings, { durability: 'relaxed' })],
    ] as const
    for (const [where, ask] of everywhere)
      it(`brings its settings to ${where}, and leaves those of the session alone`, async () => {
        assert.equal(
          await ask(),
          // A sharded database has settings of its own, for the connections to the workers.
          onShards()
            ? 'enable_seqscan off off, idle_in_transaction_session_timeout 11000 0, jit off off, lock_timeout 5000 60000, statement_timeout 10000 0'
            : 'enable_seqscan off on, idle_in_transaction_session_timeout 11000 0, jit off on, lock_timeout 5000 0, statement_timeout 10000 0',
        )
      })

    it(`${pooler === 'prepared' ? 'prepares' : 'does not prepare'} statements in the session`, async () => {
      for (let round = 0; round < 4; round++) await store.read((q) => q.get('SELECT $1 AS word', 'x'))
      const { count = -1 } =
        (await store.read((q) => q.get<{ count: number }>('SELECT count(*) AS count FROM pg_prepared_statements'))) ??
        {}
      assert.equal(count > 0, pooler === 'prepared')
    })

    it('gives each of many concurrent reads its own rows, also beside failing reads', async () => {
      const asked = Array.from({ length: 60 }, (_, n) =>
        store.read((q) =>
          n % 3 === 0
            ? q.get<{ n: number }>('SELECT 1 / $1 AS n', 0)
            : q.get<{ n: number }>('SELECT CAST($1 AS BIGINT) AS n', n),
        ),
      )
      const answers = await Promise.allSettled(asked)
      assert.deepEqual(
        answers.map((answer) => (answer.status === 'fulfilled' ? answer.value?.n : 'failed')),
        Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? 'failed' : n)),
      )
      assert.deepEqual(await store.read((q) => q.all('SELECT id FROM actor')), [])
    })

    it('continues after a change of the schema, in reads and in transactions', async () => {
      await administer(database.url, 'CREATE TABLE troupe.shape (value INTEGER); INSERT INTO troupe.shape VALUES (1)')
      const ask = (q: Queries) => q.all('SELECT value FROM shape')
      // Each connection may plan the statement, so that the plans are out of date afterwards.
      for (let round = 0; round < 4; round++) {
        assert.deepEqual(await store.read(ask), [{ value: 1 }])
        assert.deepEqual(await store.snapshot(ask), [{ value: 1 }])
      }
      await administer(database.url, 'ALTER TABLE troupe.shape ALTER COLUMN value TYPE TEXT')
      assert.deepEqual(await store.read(ask), [{ value: '1' }])
      assert.deepEqual(await store.snapshot(ask), [{ value: '1' }])
      assert.deepEqual(await store.write(ask), [{ value: '1' }])
    })

    it('cannot change anything in a read', async () => {
      await assert.rejects(
        store.read((q) => q.get("DELETE FROM actor WHERE id = 'x' RETURNING id")),
        unavailable(/^The database is read-only$/),
      )
    })
  })
}
