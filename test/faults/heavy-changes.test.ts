import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '../../src/errors.ts'
import { deleteHistory, findEntryNames, keepValues, markValues } from '../../src/history/history-store.ts'
import { History } from '../../src/history/history.ts'
import { trimActor } from '../../src/history/trim.ts'
import { type JsonText, known } from '../../src/json/json.ts'
import { putValues } from '../../src/property/property-store.ts'
import { insertDiffs } from '../../src/publication/diff-store.ts'
import type { Param, Store, Transaction } from '../../src/store/store.ts'
import { TestLog } from '../../src/testing/log.ts'
import { addRelationships } from '../support/heavy-actor.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { bound, forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { type Watched, watched } from '../support/watched-turns.ts'

const addActor = (tx: Transaction, id: string): Promise<number> =>
  tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'owner', 'secret', 1)

const setValue = (tx: Transaction, name: string, value: string): Promise<number> =>
  tx.run(
    `INSERT INTO property (actor_id, name, kind, value) VALUES ('a', $1, 'value', $2)
     ON CONFLICT (actor_id, name) DO UPDATE SET value = excluded.value`,
    name,
    value,
  )

const numbered = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${String(n).padStart(4, '0')}`, value]))

/** Calls a function for each statement of a transaction that changes rows, with its parameters. */
const observed = (store: Store, onRun: (sql: string, params: readonly Param[]) => void): Store => {
  const watch = (tx: Transaction): Transaction => ({
    isSharded: tx.isSharded,
    origin: tx.origin,
    all: (sql, ...params) => tx.all(sql, ...params),
    get: (sql, ...params) => tx.get(sql, ...params),
    run: (sql, ...params) => {
      onRun(sql, params)
      return tx.run(sql, ...params)
    },
  })
  return {
    ...bound(store),
    write: (work, how) => store.write((tx) => work(watch(tx)), how),
    writeActor: (id, work, origin) => store.writeActor(id, (tx, actor) => work(watch(tx), actor), origin),
  }
}

const bytesOf = (params: readonly Param[]): number =>
  params.reduce<number>((sum, param) => sum + (typeof param === 'string' ? Buffer.byteLength(param) : 8), 0)

const byOwner = { callerKind: 'creator', caller: '', request: '', origin: '' }

const entries = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ ...byOwner, name: `${prefix} ${n}`, value: '1' }))

/** Whether a transaction of PostgreSQL waits for another one. */
const isWaiting = async (store: Store): Promise<boolean> => {
  const row = await store.read((q) =>
    q.get(`SELECT 1 AS found FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`),
  )
  return row !== undefined
}

forEachStore((dialect, open) => {
  describe('writes that wait at the same time', () => {
    it('each happen once and entirely or not at all, however long each of them is (HTTP-43)', async () => {
      const store: Store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      for (let seed = 1; seed <= (dialect === 'sqlite' ? 8 : 1); seed += 1) {
        const random = seeded(seed)
        const wanted = new Map<string, string>()
        const jobs = Array.from({ length: 8 }, (_, job) => ({
          job,
          statements: random.pick(dialect === 'sqlite' ? [0, 1, 3, 70, 600] : [0, 1, 3, 9]),
          fails: random.below(3) === 0,
        }))
        const outcomes = await Promise.all(
          jobs.map(({ job, statements, fails }) =>
            store
              .write(async (tx) => {
                for (let n = 0; n < statements; n += 1) await setValue(tx, `${seed} ${n % 5} ${job}`, String(n))
                if (fails) throw new Error(`job ${job}`)
                return job
              })
              .catch((error: unknown) => (error instanceof Error ? error.message : '')),
          ),
        )
        assert.deepEqual(
          outcomes,
          jobs.map(({ job, fails }) => (fails ? `job ${job}` : job)),
          `seed ${seed}`,
        )
        for (const { job, statements } of jobs.filter(({ fails }) => !fails))
          for (let n = 0; n < statements; n += 1) wanted.set(`${seed} ${n % 5} ${job}`, String(n))
        const stored = await store.read((q) =>
          q.all<{ name: string; value: string }>(
            `SELECT name, value FROM property WHERE actor_id = 'a' AND name LIKE $1`,
            `${seed} %`,
          ),
        )
        assert.deepEqual(new Map(stored.map(({ name, value }) => [name, value])), wanted, `seed ${seed}`)
      }
    })

    it('leave no entry of the history that another transaction deletes at the same time (HTTP-43)', async () => {
      const store: Store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      await store.write((tx) => keepValues(tx, 'a', entries('n', 1200), 1, 100))
      let deletion: Promise<void> | undefined
      await store.write(async (tx) => {
        await tx.run(`DELETE FROM history WHERE actor_id = 'a' AND seq <= 500`)
        deletion = store.write((other) => deleteHistory(other, 'a', null))
        // On PostgreSQL, the deletion begins here, and waits for the rows.
        if (dialect === 'postgres') await until(() => isWaiting(store))
      })
      await deletion
      const left = await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM history'))
      assert.deepEqual(left, { n: 0 })
    })

    it('count when their entries of the history are trimmed at the same time (HTTP-43)', async () => {
      const store: Store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      await store.write((tx) => keepValues(tx, 'a', entries('old', 20), 1, 100))
      let trimmed: Promise<void> | undefined
      let isTrimmed = false
      await store.writeActor('a', async (tx) => {
        await keepValues(tx, 'a', entries('new', 10), 2, 100)
        trimmed = store.write((other) => trimActor(other, 'a', 10, 10_000)).then(() => void (isTrimmed = true))
        if (dialect === 'postgres') await until(async () => isTrimmed || (await isWaiting(store)))
      })
      await trimmed
      const left = await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM history WHERE at = 2'))
      assert.deepEqual(left, { n: 10 })
      assert.deepEqual(await store.read((q) => q.get('SELECT COUNT(*) AS n FROM history')), { n: 10 })
    })

    it('let a failed statement undo its own write alone (HTTP-43)', async () => {
      const store: Store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      const writes = ['one', 'two', 'three'].map((name) =>
        store.write(async (tx) => {
          await setValue(tx, name, name)
          if (name !== 'two') await addActor(tx, 'a').catch(() => {})
        }),
      )
      const settled = await Promise.allSettled(writes)
      assert.deepEqual(
        settled.map(({ status }) => status),
        ['rejected', 'fulfilled', 'rejected'],
      )
      const stored = await store.read((q) => q.all<{ name: string }>('SELECT name FROM property ORDER BY name'))
      assert.deepEqual(stored, [{ name: 'two' }])
    })
  })
})

forEachStore((_dialect, open) => {
  describe('the hourly deletion of old entries of the history', () => {
    it('runs when it becomes due during the trim after many changes (HTTP-43)', async () => {
      const store: Store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      const clock = new ManualClock(Date.parse('2026-11-27T12:00:00Z'))
      const trim = Promise.withResolvers<void>()
      const slow: Pick<Store, 'read' | 'write' | 'writeActor'> = {
        read: (work) => store.read(work),
        write: async (work, options) => {
          await trim.promise
          return store.write(work, options)
        },
        writeActor: (id, work, origin) => store.writeActor(id, work, origin),
      }
      const history = new History({
        store: slow,
        timers: clock.timers,
        now: clock.now,
        log: new TestLog('warn').log,
        maxAgeMs: 60_000,
        maxPerActor: 1000,
        maxCharacters: 100_000,
        isHooked: () => false,
      })
      await store.write((tx) => history.keepValues(tx, 'a', entries('n', 64)))
      clock.pass(3_600_000)
      trim.resolve()
      await history.stop()
      assert.deepEqual(await store.read((q) => q.get('SELECT COUNT(*) AS n FROM history')), { n: 0 })
    })
  })
})

forEachService((start, dialect) => {
  describe('a change of very much', () => {
    /** On PostgreSQL, each statement waits for its answer, so there is nothing to count. */
    const counted = async <T>(service: TestService, work: () => Promise<T>): Promise<Watched<T>> => {
      if (dialect === 'sqlite') return watched(service, work)
      service.reset()
      return { result: await work(), turns: Number.MAX_SAFE_INTEGER, mostStatements: 1 }
    }

    it('runs few statements in one turn of the event loop (HTTP-43)', async () => {
      const service = await start({ maxDiffs: 500 })
      const count = dialect === 'sqlite' ? 3000 : 600
      const actor = await service.createActor()
      for (const n of [1, 2, 3]) {
        const webhook = { url: `https://peer.example.com/hook/${n}`, events: ['property_changed'] }
        assert.equal((await actor.request('POST', '/webhooks', webhook)).status, 201)
      }
      const put = await counted(service, () => actor.request('PUT', '/properties', numbered(count, 1)))
      assert.equal(put.result.status, 204)
      // 12 parts of values and 6 parts of messages.
      assert.ok(put.turns >= 18, `${put.turns} turns`)
      assert.ok(put.mostStatements <= 32, `${put.mostStatements} statements in one turn`)
      const { store } = await service.app.running()
      const messages = await store.read((q) =>
        q.all<{ last: number }>(`SELECT last FROM job WHERE actor_id = $1 AND kind = 'webhook'`, actor.id),
      )
      assert.deepEqual(
        messages.map(({ last }) => last),
        [count, count, count],
      )
      const removal = await counted(service, () => actor.request('DELETE', '/properties'))
      assert.equal(removal.result.status, 204)
      assert.ok(removal.turns >= 12, `${removal.turns} turns`)
      assert.ok(removal.mostStatements <= 64, `${removal.mostStatements} statements in one turn`)
    })

    it('writes the diffs of many items in statements without a join, in their order (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids = [await peer.subscribe({}), await peer.subscribe({ subtarget: 'l' })]
      assert.equal((await actor.request('PUT', '/properties', { l: { _type: 'list' } })).status, 204)
      service.reset()
      const items = Array.from({ length: 600 }, (_, n) => ({ index: n, n }))
      assert.equal((await actor.request('PUT', '/properties', { l: { items } })).status, 204)
      for (const table of ['diff', 'delivery']) {
        const inserts = service.statements.filter((sql) => sql.includes(`INSERT INTO ${table} `))
        assert.equal(inserts.length, 3, table)
        assert.deepEqual(
          inserts.filter((sql) => /\bJOIN\b/.test(sql)),
          [],
        )
      }
      for (const id of ids) {
        const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        const { data } = (await answer.json()) as { data: { sequence: number; data: object }[] }
        assert.deepEqual(
          data
            .slice(1)
            .map(({ sequence, data: change }) => [sequence, JSON.stringify(change).includes(`"n":${sequence - 2}}`)]),
          items.map(({ n }) => [n + 2, true]),
        )
      }
    })

    it('is refused with more names or items than one transaction may store (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      assert.equal((await actor.request('PUT', '/properties', { l: { _type: 'list' } })).status, 204)
      const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, '']))
      const items = (count: number) => ({ l: { items: Array.from({ length: count }, () => ({ index: 9 })) } })
      for (const [method, body, message] of [
        ['PUT', names(20_001), 'Cannot set properties: the body has 20001 names, and the most is 20000'],
        ['POST', names(20_001), 'Cannot set properties: the body has 20001 names, and the most is 20000'],
        ['PUT', { ...names(20_000), 'a\u0308': '' }, 'Cannot set properties: the body has 20001 names'],
        ['PUT', items(5001), 'Cannot update a list: "items" has 5001 entries, and the most is 5000'],
        ['POST', { x: 1, ...items(5001) }, 'Cannot update a list: "items" has 5001 entries, and the most is 5000'],
      ] as const) {
        const refused = await actor.request(method, '/properties', body)
        assert.equal(refused.status, 413, message)
        assert.ok((await refused.text()).includes(JSON.stringify(message).slice(1, -1)), message)
      }
      assert.equal((await actor.request('PUT', '/properties', items(5000))).status, 204)
      if (dialect === 'sqlite') assert.equal((await actor.request('PUT', '/properties', names(20_000))).status, 204)
      assert.deepEqual(Object.keys((await (await actor.request('GET', '/properties')).json()) as object), ['l'])
    })

    it('deletes many properties in several transactions, of which a failed one is repeated (HTTP-43)', async () => {
      let transactions = 0
      let failsAt = Number.MAX_SAFE_INTEGER
      const service = await start({
        wrapStore: (store) => ({
          ...bound(store),
          writeActor: (id, work, origin) => {
            transactions += 1
            if (transactions === failsAt) return Promise.reject(new ServiceError('store_unavailable'))
            return store.writeActor(id, work, origin)
          },
        }),
      })
      const actor = await service.createActor()
      const webhook = { url: 'https://peer.example.com/hook', events: ['property_changed'] }
      for (const [count, needed] of [
        [2000, 1],
        [2100, 2],
      ] as const) {
        await actor.request('PUT', '/properties', numbered(count, 1))
        await service.settled()
        transactions = 0
        assert.equal((await actor.request('DELETE', '/properties', undefined, { 'if-match': '*' })).status, 204)
        assert.equal(transactions, needed)
      }
      await actor.request('PUT', '/properties', numbered(2100, 1))
      assert.equal((await actor.request('POST', '/webhooks', webhook)).status, 201)
      await service.settled()
      transactions = 0
      failsAt = 2
      assert.equal((await actor.request('DELETE', '/properties')).status, 503)
      const left = (await (await actor.request('GET', '/properties')).json()) as object
      assert.deepEqual(Object.keys(left), Object.keys(numbered(2100, 1)).slice(2000))
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      assert.deepEqual(await (await actor.request('GET', '/properties')).json(), {})
      const { store } = await service.app.running()
      const queued = await store.read((q) =>
        q.all<{ last: number }>(`SELECT last FROM job WHERE actor_id = $1 AND kind = 'webhook'`, actor.id),
      )
      assert.deepEqual(queued, [{ last: 2100 }])
    })

    it('keeps in the history what may stay there, and a mark for names that have other entries (HTTP-43)', async () => {
      const service = await start({ historyPerActor: 300 })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/n0001', '0')
      service.reset()
      await actor.request('PUT', '/properties', numbered(900, 1))
      // There are four parts, from the last to the first. After two of them, the history has 300 entries or more. Only the last
      // one has a name with another entry. The names with entries are read once.
      const written = service.statements.filter((sql) => sql.includes('INSERT INTO history'))
      assert.deepEqual(
        written.map((sql) => sql.includes('1 AS existed')),
        [false, false, true],
      )
      assert.equal(service.statements.filter((sql) => sql.includes('SELECT seq, name FROM history')).length, 2)
      await actor.request('POST', '/history/undo', { id: 1 })
      assert.equal(await (await actor.request('GET', '/properties/n0001')).text(), '1')
      const { store } = await service.app.running()
      const other = await service.createActor('other@example.com')
      await store.write(async (tx) => {
        await putValues(tx, other.id, [
          { name: 'with', value: known('"old"'), version: 1 },
          { name: 'without', value: known('"old"'), version: 1 },
          { name: 'same', value: known('"new"'), version: 1 },
        ])
        const of = (name: string, value: string | null) => ({ ...byOwner, name, value })
        await keepValues(tx, other.id, [of('with', '"x"'), of('same', '"x"'), of('gone', '"x"')], 1, 100)
        await markValues(
          tx,
          other.id,
          [of('with', null), of('without', null), of('same', '"new"'), of('gone', '1')],
          2,
          await findEntryNames(tx, other.id),
        )
      })
      const rows = await store.read((q) =>
        q.all(
          `SELECT seq, name, operation, content, existed, checksum FROM history WHERE actor_id = $1 AND at = 2`,
          other.id,
        ),
      )
      assert.deepEqual(rows, [
        { seq: 4, name: 'with', operation: 'delete', content: null, existed: 1, checksum: 4_294_967_296 },
        { seq: 6, name: 'gone', operation: 'set', content: null, existed: 1, checksum: 4_294_967_296 },
      ])
    })

    it('keeps what it replaces, however many other names it leaves as they are (HTTP-43)', async () => {
      const service = await start({ historyPerActor: 300 })
      for (const [padded, before] of [
        ['with unchanged values', 1],
        ['with removals of unknown names', ''],
      ] as const) {
        const actor = await service.createActor(`${padded}@example.com`.replaceAll(' ', '-'))
        await actor.request('PUT', '/properties', { n0000: 1 })
        if (before !== '') await actor.request('PUT', '/properties', numbered(900, before))
        await service.settled()
        assert.equal((await actor.request('DELETE', '/history')).status, 204)
        assert.equal((await actor.request('PUT', '/properties', { ...numbered(900, before), n0000: 2 })).status, 204)
        const history = (await (await actor.request('GET', '/history')).json()) as {
          readonly history: readonly { readonly name: string; readonly before: unknown; readonly request_id: string }[]
        }
        assert.deepEqual(
          history.history.map((entry) => [entry.name, entry.before]),
          [['n0000', 1]],
          padded,
        )
        const undo = await actor.request('POST', '/history/undo', { request_id: history.history[0]?.request_id })
        assert.equal(undo.status, 200, padded)
        assert.equal(await (await actor.request('GET', '/properties/n0000')).text(), '1', padded)
      }
    })

    it('keeps the lists that it deletes when they may stay there, whatever else was deleted before (HTTP-43)', async () => {
      const other: { delete?: () => Promise<void> } = {}
      const service = await start({
        historyPerActor: 300,
        declare: (app) => app.property('z', { delete: async ({ value }) => (await other.delete?.(), value) }),
      })
      const actor = await service.createActor()
      const deleted = async () => {
        await actor.request('PUT', '/properties', { ...numbered(600, 1), z: 1 })
        for (const name of ['a', 'y']) {
          await actor.request('POST', '/properties', { [name]: { _type: 'list' } })
          await actor.request('POST', `/properties/${name}`, '"one"')
        }
        await service.settled()
        await actor.request('DELETE', '/history')
        assert.equal((await actor.request('DELETE', '/properties')).status, 204)
        const { store } = await service.app.running()
        const rows = await store.read((q) =>
          q.all<{ name: string }>(
            `SELECT name FROM history
             WHERE actor_id = $1 AND kind = 'list' AND operation = 'delete' AND content IS NOT NULL ORDER BY name`,
            actor.id,
          ),
        )
        return rows.map(({ name }) => name)
      }
      assert.deepEqual(await deleted(), ['y'])
      other.delete = async () => {
        assert.equal((await actor.request('PUT', '/properties', numbered(600, ''))).status, 204)
      }
      assert.deepEqual(await deleted(), ['a', 'y'])
    })

    it('reads a long change once for as many subscriptions as one transaction may write (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      for (let n = 0; n < 20; n += 1) await peer.subscribe({ granularity: 'none' })
      service.reset()
      assert.equal((await actor.request('PUT', '/properties/color', JSON.stringify('x'.repeat(600_000)))).status, 204)
      await service.settled()
      const { store } = await service.app.running()
      await until(
        async () =>
          (await store.read((q) => q.get('SELECT 1 AS found FROM waiting_change WHERE actor_id = $1', actor.id))) ===
          undefined,
      )
      const written = [...service.statements, ...service.backgroundStatements]
      // Six diffs of 600,000 characters fit into one statement, and all of them into one transaction.
      assert.equal(written.filter((sql) => sql.includes('INSERT INTO diff')).length, 4)
      assert.equal(written.filter((sql) => /FROM waiting_change WHERE actor_id = \$1 ORDER BY/.test(sql)).length, 2)
    })

    it('sends a long text once for all diffs of a statement (HTTP-43)', async () => {
      const sent: number[] = []
      const service = await start({
        wrapStore: (store) =>
          observed(store, (sql, params) => {
            if (sql.includes('INSERT INTO diff ')) sent.push(bytesOf(params))
          }),
      })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids: string[] = []
      for (let n = 0; n < 20; n += 1) ids.push(await peer.subscribe({ granularity: 'none' }))
      const ofName = await peer.subscribe({ subtarget: 'color', granularity: 'none' })
      const { store } = await service.app.running()
      for (const [length, statements, mostBytes] of [
        // Each row has its own short text.
        [1000, 1, 26_000],
        [40_000, 2, 45_000],
        [600_000, 5, 605_000],
        // Two texts of 1,500,000 characters are stored by one statement, and ten by one transaction.
        [1_500_000, 12, 1_505_000],
      ] as const) {
        sent.length = 0
        const value = 'x'.repeat(length)
        assert.equal((await actor.request('PUT', '/properties/color', JSON.stringify(value))).status, 204)
        await service.settled()
        await until(
          async () =>
            (await store.read((q) => q.get('SELECT 1 AS found FROM waiting_change WHERE actor_id = $1', actor.id))) ===
            undefined,
        )
        assert.ok(sent.length >= 1 && sent.length <= statements, `${sent.length} statements for ${length} characters`)
        assert.ok(Math.max(...sent) <= mostBytes, `${Math.max(...sent)} bytes for ${length} characters`)
        for (const [id, expected] of [...ids.map((id) => [id, { color: value }] as const), [ofName, value] as const]) {
          const place = `/subscriptions/${peer.peerId}/${id}`
          const { data } = (await (await peer.request('GET', place)).json()) as { data: { data: unknown }[] }
          assert.ok(
            isDeepStrictEqual(
              data.map((diff) => diff.data),
              [expected],
            ),
            `${length} characters`,
          )
          assert.equal((await peer.request('PUT', place, { sequence: 0 })).status, 204)
        }
      }
    })

    it('gives each diff its own text and deletions, long and short ones (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids: string[] = []
      for (let n = 0; n < 8; n += 1) ids.push(await peer.subscribe({ granularity: 'none' }))
      const random = seeded(48)
      const texts = ['""', '"it\'s"', '"ä€😀"', ...['x', 'y', '€'].map((text) => `"${text.repeat(40_000)}"`)] as const
      const text = (): JsonText => known(texts[random.below(texts.length)] ?? '""')
      const inserted = Array.from({ length: 30 }, (_, n) => n + 1).flatMap((sequence) =>
        ids.map((subscriptionId) => {
          const data = text()
          const replaces = random.below(2) === 1
          const deletions = random.pick([null, data, text()])
          return { peerId: peer.peerId, subscriptionId, sequence, kind: 'diff' as const, data, replaces, deletions }
        }),
      )
      const { store } = await service.app.running()
      await store.write((tx) => insertDiffs(tx, actor.id, inserted, { createdAt: 5, hops: 1 }))
      for (const id of ids) {
        const rows = await store.read((q) =>
          q.all<object>(
            `SELECT sequence, data, replaces, deletions, created_at AS "createdAt", hops FROM diff
             WHERE actor_id = $1 AND subscription_id = $2 ORDER BY sequence`,
            actor.id,
            id,
          ),
        )
        const expected = inserted
          .filter(({ subscriptionId }) => subscriptionId === id)
          .map(({ sequence, data, replaces, deletions }) => {
            return { sequence, data, replaces: Number(replaces), deletions: deletions ?? '', createdAt: 5, hops: 1 }
          })
        assert.ok(
          isDeepStrictEqual(
            rows.map((row) => ({ ...row })),
            expected,
          ),
          id,
        )
      }
    })

    it('queues the notices to many peers in parts when the actor is deleted (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store, keyRing } = await service.app.running()
      await addRelationships({ store, keyRing, actorId: actor.id }, 600)
      const removal = await counted(service, () => actor.request('DELETE', ''))
      assert.equal(removal.result.status, 204)
      assert.equal(service.statements.filter((sql) => sql.includes('INSERT INTO notice')).length, 3)
      assert.equal(service.statements.filter((sql) => /SELECT .* FROM trust .* LIMIT 256/s.test(sql)).length, 3)
      const row = await store.read((q) =>
        q.get<{ n: number }>('SELECT COUNT(DISTINCT recipient) AS n FROM notice WHERE sender = $1', actor.id),
      )
      assert.equal(row?.n, 600)
    })

    it('deletes the diffs that wait for a peer in parts, with its relationship, its subscription or the actor (HTTP-43)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store, keyRing } = await service.app.running()
      await addRelationships({ store, keyRing, actorId: actor.id }, 3)
      const waiting = async (): Promise<number> =>
        (await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM diff')))?.n ?? 0
      for (const peer of ['peer-0', 'peer-1', 'peer-2'])
        await store.write((tx) =>
          tx.run(
            `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
             SELECT $1, $2, $3, made.n, 'diff', '{}', 0, 1 FROM rows($4, n BIGINT) AS made WHERE true`,
            actor.id,
            peer,
            `of ${peer}`,
            JSON.stringify(Array.from({ length: 1200 }, (_, n) => [n + 1])),
          ),
        )
      for (const [path, left] of [
        ['/trust/friend/peer-0', 2400],
        ['/subscriptions/peer-1/of peer-1', 1200],
        ['', 0],
      ] as const) {
        const removal = await counted(service, () => actor.request('DELETE', encodeURI(path)))
        assert.equal(removal.result.status, 204)
        assert.equal(service.statements.filter((sql) => sql.includes('DELETE FROM diff')).length, 4, path)
        assert.equal(await waiting(), left)
      }
    })

    it('deletes a long history in parts (HTTP-43)', async () => {
      const service = await start({ historyPerActor: 5000 })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties', numbered(1200, 1))
      await actor.request('PUT', '/properties/color', '"red"')
      for (const [path, left, parts] of [
        ['/history?name=color', 1200, 2],
        ['/history', 0, 4],
      ] as const) {
        const removal = await counted(service, () => actor.request('DELETE', path))
        assert.equal(removal.result.status, 204)
        assert.equal(service.statements.filter((sql) => sql.includes('DELETE FROM history')).length, parts)
        assert.ok(removal.turns >= parts, `${removal.turns} turns`)
        const { store } = await service.app.running()
        const row = await store.read((q) =>
          q.get<{ n: number }>('SELECT COUNT(*) AS n FROM history WHERE actor_id = $1', actor.id),
        )
        assert.equal(row?.n, left)
      }
    })
  })
})
