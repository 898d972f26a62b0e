import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { forEachPair } from '../support/service-pair.ts'
import { forEachService, type TestActor } from '../support/service.ts'
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

    it('CON-05 has its effect once, and is answered the same again', async () => {
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

    it('CON-05 sent many times at once has one effect, and every sender the same answer', async () => {
      const actor = await withList()
      const answers = await Promise.all(Array.from({ length: 50 }, () => append(actor, 'key')))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
      assert.equal(new Set(await Promise.all(answers.map((answer) => answer.text()))).size, 1)
      assert.deepEqual(await items(actor), [{ text: 'x' }])
    })

    it('CON-05 is refused with another body, another address and another type, and changes nothing', async () => {
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

    it('CON-05 is one of its caller and of its actor alone', async () => {
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

    it('CON-05 that the application failed on is not run again', async () => {
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

    it('CON-05 that had no effect is run again: not found, not now', async () => {
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

    it('CON-05 has a key of 1 to 255 printable characters, or is 400', async () => {
      const actor = await withList()
      for (const key of ['', ' ', 'a b', 'x'.repeat(256), 'ü']) {
        assert.equal((await append(actor, key)).status, 400, JSON.stringify(key))
      }
      assert.deepEqual(await items(actor), [])
      assert.equal((await append(actor, 'x'.repeat(255))).status, 201)
    })

    it('SEC-02 keeps answers sealed, and a day long', async () => {
      let now = Date.UTC(2031, 0, 1)
      const service = await start({ now: () => now })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      await append(actor, 'my-own-key', { text: 'hunter2' })
      const { store } = await service.app.start()
      const rows = await store.read((q) => q.all<object>('SELECT * FROM once'))
      assert.equal(rows.length, 1)
      assert.ok(!JSON.stringify(rows).includes('my-own-key'))
      assert.ok(!JSON.stringify(rows).includes('notes'))
      now += 86_400_000 + 1
      await append(actor, 'next')
      assert.equal((await store.read((q) => q.all('SELECT 1 FROM once'))).length, 1)
      assert.equal((await append(actor, 'my-own-key', { text: 'hunter2' })).headers.get('idempotency-replayed'), null)
      await actor.request('DELETE', '')
      assert.equal((await store.read((q) => q.all('SELECT 1 FROM once'))).length, 0)
    })
  })
})

forEachPair((pair) => {
  describe('two processes that are sent one request', () => {
    it('CON-05 let it have one effect, and answer the same', async () => {
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
