import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { forEachPair } from '../support/service-pair.ts'
import { forEachService, type StartOptions, type TestActor } from '../support/service.ts'
import { relateTo } from '../support/recording-peer.ts'

forEachService((start) => {
  describe('a request with an Idempotency-Key', () => {
    const append = (actor: TestActor, key: string, item: unknown = { text: 'x' }): Promise<Response> =>
      actor.request('POST', '/properties/notes', item, { 'idempotency-key': key })
    const items = async (actor: TestActor): Promise<unknown> => (await actor.request('GET', '/properties/notes')).json()

    async function withList(declare?: (app: App) => void): Promise<TestActor> {
      const service = await start(declare === undefined ? {} : { declare })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/properties', { notes: { _type: 'list' } })).status, 201)
      return actor
    }

    it('takes effect once, and a repetition gets the same response (CON-05)', async () => {
      const actor = await withList()
      const first = await append(actor, 'key-1')
      const again = await append(actor, 'key-1')
      assert.deepEqual([first.status, again.status], [201, 201])
      assert.equal(await again.text(), await first.text())
      assert.equal(again.headers.get('location'), first.headers.get('location'))
      assert.deepEqual(
        [first, again].map(({ headers }) => headers.get('idempotency-replayed')),
        [null, 'true'],
      )
      assert.deepEqual(await items(actor), [{ text: 'x' }])
      assert.equal((await append(actor, 'key-2')).status, 201)
      assert.deepEqual(await items(actor), [{ text: 'x' }, { text: 'x' }])
    })

    it('takes effect once when sent many times concurrently, with the same response for each sender (CON-05)', async () => {
      const actor = await withList()
      const answers = await Promise.all(Array.from({ length: 50 }, () => append(actor, 'key')))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
      assert.equal(new Set(await Promise.all(answers.map((answer) => answer.text()))).size, 1)
      assert.deepEqual(await items(actor), [{ text: 'x' }])
    })

    it('is rejected with another body, path or query, and changes nothing (CON-05)', async () => {
      const actor = await withList()
      await append(actor, 'key')
      const others = [
        await append(actor, 'key', { text: 'y' }),
        await actor.request('POST', '/properties/other', { text: 'x' }, { 'idempotency-key': 'key' }),
        await actor.request('POST', '/properties/notes?x=1', { text: 'x' }, { 'idempotency-key': 'key' }),
      ]
      for (const answer of others) {
        assert.equal(answer.status, 422)
        assert.deepEqual(await answer.json(), {
          error: 'key_reused',
          message: 'The Idempotency-Key was used for another request',
        })
      }
      assert.deepEqual(await items(actor), [{ text: 'x' }])
      assert.equal((await actor.request('GET', '/properties/other')).status, 404)
    })

    it('has a key of its own per caller and per actor (CON-05)', async () => {
      const service = await start()
      const [one, other] = [
        await service.createActor('one@example.com'),
        await service.createActor('other@example.com'),
      ]
      for (const actor of [one, other]) await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      const peer = await relateTo(service, one)
      assert.equal((await append(one, 'key')).status, 201)
      assert.equal((await append(other, 'key')).status, 201)
      const asPeer = await peer.request('POST', '/properties/notes', { text: 'peer' }, { 'idempotency-key': 'key' })
      assert.equal(asPeer.status, 201)
      assert.deepEqual(await items(one), [{ text: 'x' }, { text: 'peer' }])
      assert.deepEqual(await items(other), [{ text: 'x' }])
    })

    it('is not run again after the application failed (CON-05)', async () => {
      let runs = 0
      const actor = await withList((app) =>
        app.action('pay', () => {
          runs += 1
          throw new Error('after the money went')
        }),
      )
      for (const replayed of [null, 'true']) {
        const answer = await actor.request('POST', '/actions/pay', {}, { 'idempotency-key': 'key' })
        assert.equal(answer.status, 500)
        assert.deepEqual(await answer.json(), { error: 'server_error', message: 'The service failed' })
        assert.equal(answer.headers.get('idempotency-replayed'), replayed)
      }
      assert.equal(runs, 1)
    })

    it('is run again after a failure without effect, such as 404 or 503 (CON-05)', async () => {
      let isBusy = true
      const actor = await withList((app) =>
        app.action('pay', () => {
          if (isBusy) throw new ServiceError('unavailable', 'Cannot pay now')
          return { paid: true }
        }),
      )
      const pay = () => actor.request('POST', '/actions/pay', {}, { 'idempotency-key': 'key' })
      assert.equal((await pay()).status, 503)
      isBusy = false
      assert.equal((await pay()).status, 200)
      const redrive = () => actor.request('POST', '/subscriptions/a/b/redrive', {}, { 'idempotency-key': 'other' })
      for (const answer of [await redrive(), await redrive()]) {
        assert.deepEqual([answer.status, answer.headers.get('idempotency-replayed')], [404, null])
      }
    })

    it('gets 400 unless the key has 1 to 255 printable ASCII characters (CON-05)', async () => {
      const actor = await withList()
      for (const key of ['', ' ', 'a b', 'x'.repeat(256), 'ü']) {
        assert.equal((await append(actor, key)).status, 400, JSON.stringify(key))
      }
      assert.deepEqual(await items(actor), [])
      assert.equal((await append(actor, 'x'.repeat(255))).status, 201)
    })

    it('takes effect once when its response exceeds 256 KiB, and repetitions get 410 with the first status (CON-05)', async () => {
      let now = Date.UTC(2031, 0, 1)
      let runs = 0
      const service = await start({
        now: () => now,
        declare: (app) =>
          app.action('export', ({ input }) => {
            runs += 1
            // Each character has two bytes, and the JSON string has two quotation marks.
            return 'ü'.repeat((input as { pairs: number }).pairs)
          }),
      })
      const actor = await service.createActor()
      const run = (pairs: number): Promise<Response> =>
        actor.request('POST', '/actions/export', { pairs }, { 'idempotency-key': `key-${pairs}` })
      const kept = await run(131_071)
      assert.equal((await kept.arrayBuffer()).byteLength, 262_144)
      const again = await run(131_071)
      assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, 'true'])
      assert.equal((await again.arrayBuffer()).byteLength, 262_144)
      const large = await run(131_072)
      assert.deepEqual([large.status, large.headers.get('idempotency-replayed')], [200, null])
      assert.equal((await large.arrayBuffer()).byteLength, 262_146)
      const { store } = await service.app.running()
      const sizes = await store.read((q) =>
        q.all<{ size: number }>('SELECT LENGTH(answer) AS size FROM idempotent_request ORDER BY size'),
      )
      assert.deepEqual(
        sizes.map(({ size }) => size > 1000),
        [false, true],
      )
      for (let time = 0; time < 3; time++) {
        const replay = await run(131_072)
        assert.deepEqual([replay.status, replay.headers.get('idempotency-replayed')], [410, 'true'])
        assert.equal(replay.headers.get('retry-after'), null)
        assert.deepEqual(await replay.json(), {
          error: 'answer_not_kept',
          message:
            'Cannot repeat the response: the request already ran with status 200, and its response was too large to keep',
          first_status: 200,
        })
      }
      assert.equal(runs, 2)
      // The key still rejects another request, and becomes free after a day.
      const other = await actor.request('POST', '/actions/export', { pairs: 1 }, { 'idempotency-key': 'key-131072' })
      assert.equal(other.status, 422)
      now += 86_400_000 + 1
      await run(1)
      assert.equal((await run(131_072)).status, 200)
      assert.equal(runs, 4)
    })

    it('keeps a bounded number of responses and bytes for each caller (QUO-11)', async () => {
      let runs = 0
      const now = Date.UTC(2031, 0, 1)
      const service = await start({
        now: () => now,
        rateLimits: { '*': null, 'kept_response/client': { count: 12, seconds: 86_400 } },
        declare: (app) =>
          app.action('export', ({ input }) => {
            runs += 1
            return 'x'.repeat((input as { length: number }).length)
          }),
      })
      const actor = await service.createActor()
      const run = (key: string, length: number): Promise<Response> =>
        actor.request('POST', '/actions/export', { length }, { 'idempotency-key': key })
      // 1 + 9 of 12 are used.
      assert.equal((await run('a', 9 * 1024)).status, 200)
      assert.equal((await run('b', 4 * 1024)).status, 200)
      const again = await run('b', 4 * 1024)
      assert.deepEqual([again.status, ((await again.json()) as { error: string }).error], [410, 'answer_not_kept'])
      const refused = await run('c', 1)
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('retry-after'), '7200')
      assert.equal(runs, 2)
      // Requests without a key, other actors and other callers have their own.
      assert.equal((await actor.request('POST', '/actions/export', { length: 1 })).status, 200)
      const other = await service.createActor()
      const elsewhere = await other.request('POST', '/actions/export', { length: 1 }, { 'idempotency-key': 'c' })
      assert.equal(elsewhere.status, 200)
      const { store } = await service.app.running()
      const rows = await store.read((q) => q.all('SELECT key FROM idempotent_request WHERE actor_id = $1', actor.id))
      assert.equal(rows.length, 2)
    })

    it('keeps as many responses and bytes in two processes as in one (QUO-11)', async () => {
      const runs = { mine: 0 }
      const options: StartOptions = {
        now: () => Date.UTC(2031, 0, 1),
        rateLimits: { '*': null, 'kept_response/client': { count: 12, seconds: 86_400 } },
        declare: (app) =>
          app.action('export', ({ input }) => {
            runs.mine += 1
            return 'x'.repeat((input as { length: number }).length)
          }),
      }
      const service = await start(options)
      const both = [service, await start({ ...options, database: service.databaseUrl })] as const
      const actor = await service.createActor()
      const run = async (at: 0 | 1, key: string, length: number): Promise<number> => {
        const answer = await both[at].request(`/${actor.id}/actions/export`, {
          method: 'POST',
          headers: { authorization: actor.authorization, 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify({ length }),
        })
        return answer.status
      }
      // 1 + 6 of 12 are used, and then 1 + 3.
      assert.deepEqual([await run(0, 'a', 6 * 1024), await run(1, 'b', 3 * 1024)], [200, 200])
      // Another 2 KiB do not fit.
      assert.deepEqual([await run(0, 'c', 2 * 1024), await run(1, 'c', 2 * 1024)], [200, 429])
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => run(n % 2 === 0 ? 0 : 1, `further-${n}`, 1)),
      )
      assert.deepEqual(answers, [429, 429, 429, 429, 429, 429])
      assert.equal(runs.mine, 3)
    })

    it('returns Location to repetitions even when the response was too large to store (CON-05)', async () => {
      const actor = await withList()
      const item = { text: 'x'.repeat(300_000) }
      const answers = await Promise.all(Array.from({ length: 10 }, () => append(actor, 'key', item)))
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 410, 410, 410, 410, 410, 410, 410, 410, 410],
      )
      const [made] = answers.filter(({ status }) => status === 201)
      assert.match(made?.headers.get('location') ?? '', /\/properties\/notes\/0$/)
      for (const { headers } of answers) assert.equal(headers.get('location'), made?.headers.get('location'))
      assert.deepEqual(await items(actor), [item])
    })

    it('stores responses encrypted for one day (SEC-02)', async () => {
      let now = Date.UTC(2031, 0, 1)
      const service = await start({ now: () => now })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      await append(actor, 'my-own-key', { text: 'hunter2' })
      const { store } = await service.app.running()
      const rows = await store.read((q) => q.all<object>('SELECT * FROM idempotent_request'))
      assert.equal(rows.length, 1)
      assert.ok(!JSON.stringify(rows).includes('my-own-key'))
      assert.ok(!JSON.stringify(rows).includes('notes'))
      now += 86_400_000 + 1
      await append(actor, 'next')
      assert.equal((await store.read((q) => q.all('SELECT 1 FROM idempotent_request'))).length, 1)
      assert.equal((await append(actor, 'my-own-key', { text: 'hunter2' })).headers.get('idempotency-replayed'), null)
      await actor.request('DELETE', '')
      assert.equal((await store.read((q) => q.all('SELECT 1 FROM idempotent_request'))).length, 0)
    })
  })
})

forEachPair((pair) => {
  describe('two processes that receive one request with an Idempotency-Key', () => {
    it('run it once and give the same response (CON-05)', async () => {
      const { both } = pair()
      const actor = await pair().createActor()
      await actor.request(both[0], 'POST', '/properties', { log: { _type: 'list' } })
      const replies = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          both[index % 2 === 0 ? 0 : 1]('POST', `/${actor.id}/properties/log`, {
            authorization: actor.authorization,
            body: { t: 'x' },
            headers: { 'idempotency-key': 'key' },
          }),
        ),
      )
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
      assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
      const read = await actor.request(both[1], 'GET', '/properties/log')
      assert.deepEqual(JSON.parse(read.text), [{ t: 'x' }])
    })
  })
})
