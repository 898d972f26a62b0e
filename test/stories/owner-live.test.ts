import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { LiveStream, wantsEvents } from '../support/live-stream.ts'
import { relate } from '../support/friends.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'

async function listen(
  service: TestService,
  { id, authorization }: Pick<TestActor, 'id' | 'authorization'>,
  headers: Record<string, string> = {},
): Promise<LiveStream> {
  return LiveStream.of(await service.request(`/${id}/live`, { headers: { ...wantsEvents, authorization, ...headers } }))
}

forEachService((start) => {
  async function open(options: StartOptions = {}) {
    // The stream does not need the pages of the service.
    const service = await start({ webUi: false, ...options })
    const actor = await service.createActor()
    const stream = await listen(service, actor)
    assert.deepEqual(await stream.ready(), { number: 0, resumed: false })
    return { service, actor, stream }
  }

  describe('the stream of changes for an owner’s application', () => {
    it('reports values with their operation, and a nested write with its key alone (R-LIVE-02)', async () => {
      const { actor, stream } = await open()
      await actor.request('PUT', '/properties/color', '"blue"', { 'content-type': 'application/json' })
      await actor.request('PUT', '/properties', { big: { a: 1 }, small: 2 })
      await actor.request('PUT', '/properties/big/b', { c: 3 })
      await actor.request('DELETE', '/properties/color')
      const about = { category: 'properties' }
      assert.deepEqual(await stream.change(), { ...about, name: 'color', number: 1, operation: 'set', value: 'blue' })
      assert.deepEqual(await stream.change(), { ...about, name: 'big', number: 2, operation: 'set', value: { a: 1 } })
      assert.deepEqual(await stream.change(), { ...about, name: 'small', number: 3, operation: 'set', value: 2 })
      assert.deepEqual(await stream.change(), { ...about, name: 'big', number: 4, operation: 'merge', key: 'b' })
      assert.deepEqual(await stream.change(), { ...about, name: 'color', number: 5, operation: 'delete' })
      await stream.close()
    })

    it('reports changes of a list with operation, index, length and item (R-LIVE-02)', async () => {
      const { service, actor, stream } = await open()
      const handle = await service.app.actors.get(actor.id)
      const list = handle?.list('todo')
      await list?.create()
      await list?.append('a')
      await list?.extend(['b', 'c'])
      await list?.update(1, 'B')
      await list?.delete(0)
      const about = { category: 'properties', name: 'todo' }
      const found = [
        await stream.change(),
        await stream.change(),
        await stream.change(),
        await stream.change(),
        await stream.change(),
      ]
      assert.deepEqual(found, [
        { ...about, number: 1, operation: 'metadata', length: 0 },
        { ...about, number: 2, operation: 'append', length: 1, index: 0, item: 'a' },
        { ...about, number: 3, operation: 'extend', length: 3, index: 1, count: 2, items: ['b', 'c'] },
        { ...about, number: 4, operation: 'update', length: 3, index: 1, item: 'B' },
        { ...about, number: 5, operation: 'delete', length: 2, index: 0 },
      ])
      await stream.close()
    })

    it('keeps the digits of a large number, and leaves out a long value', async () => {
      const { actor, stream } = await open()
      await actor.request('PUT', '/properties/n', '12345678901234567890', { 'content-type': 'application/json' })
      await actor.request('PUT', '/properties/long', 'x'.repeat(3000))
      assert.match((await stream.next()) ?? '', /"operation":"set","value":12345678901234567890\}$/)
      assert.deepEqual(await stream.change(), { category: 'properties', name: 'long', number: 2, operation: 'set' })
      await stream.close()
    })

    it('leaves out the value of a property with a hook for reading, which may show another value', async () => {
      const { actor, stream } = await open({
        declare: (app) => app.property('secret', { get: ({ value }) => (value === null ? null : 'hidden') }),
      })
      await actor.request('PUT', '/properties/secret', 'real')
      assert.deepEqual(await stream.change(), { category: 'properties', name: 'secret', number: 1, operation: 'set' })
      await stream.close()
    })

    it('reports relationships, sessions and pending approvals by their ids, and subscriptions with their peer', async () => {
      const { service, actor, stream } = await open({
        listen: true,
        declare: (app) => app.action('wipe', { input: z.object({}), confirm: 'owner' }, () => ({ done: true })),
        approvalUrl: 'http://app.example.com/{approval}',
      })
      const peer = await service.createActor('peer@example.com')
      await relate(peer, [service, actor])
      assert.deepEqual(await stream.change(), { category: 'trust', name: peer.id, number: 1 })
      assert.deepEqual(await stream.change(), { category: 'trust', name: peer.id, number: 2 })
      const wish = { peerid: actor.id, target: 'properties' }
      const answer = await peer.request('POST', '/subscriptions', wish)
      const name = answer.headers.get('location')?.split('/').at(-1)
      const { number: _number, ...subscribed } = (await stream.change()) as { number: number }
      assert.deepEqual(subscribed, { category: 'subscriptions', name, peerid: peer.id })
      await stream.close()
    })

    it('continues after the event that the client names, without a gap (R-LIVE-02)', async () => {
      const { service, actor, stream } = await open()
      await actor.request('PUT', '/properties/a', '1')
      assert.deepEqual((await stream.next())?.split('\n')[0], 'id: 1')
      await stream.close()
      await actor.request('PUT', '/properties/b', '2')
      await actor.request('PUT', '/properties/c', '3')
      const again = await listen(service, actor, { 'last-event-id': '1' })
      assert.deepEqual(await again.ready(), { number: 3, resumed: true })
      const names = [await again.change(), await again.change()].map((each) => (each as { name: string }).name)
      assert.deepEqual(names, ['b', 'c'])
      await actor.request('PUT', '/properties/d', '4')
      assert.deepEqual(await again.change(), {
        category: 'properties',
        name: 'd',
        number: 4,
        operation: 'set',
        value: 4,
      })
      await again.close()
    })

    it('says that a client must read everything when changes may be missing', async () => {
      const clock = new ManualClock()
      const { service, actor, stream } = await open({ now: clock.now, timers: clock.timers })
      await actor.request('PUT', '/properties/a', '1')
      await stream.change()
      await stream.close()
      // No client watches, so the change is not recorded.
      clock.pass(100_000)
      await actor.request('PUT', '/properties/b', '2')
      const again = await listen(service, actor, { 'last-event-id': '1' })
      assert.deepEqual(await again.ready(), { number: 2, resumed: false })
      await again.close()
      for (const id of ['99', 'x', '-1', '1e3']) {
        const other = await listen(service, actor, { 'last-event-id': id })
        assert.deepEqual(await other.ready(), { number: 2, resumed: false }, id)
        await other.close()
      }
    })

    it('continues at another process of the service', async () => {
      const { service, actor, stream } = await open()
      const other = await start({ database: service.databaseUrl, webUi: false })
      await actor.request('PUT', '/properties/a', '1')
      await stream.change()
      await stream.close()
      await actor.request('PUT', '/properties/b', '2')
      const again = await listen(other, actor, { 'last-event-id': '1' })
      assert.deepEqual(await again.ready(), { number: 2, resumed: true })
      assert.equal(((await again.change()) as { name: string }).name, 'b')
      await again.close()
    })

    it('misses no change that is made after its response began, however early (R-LIVE-02)', async () => {
      const service = await start({ webUi: false })
      const actor = await service.createActor()
      for (let round = 0; round < 5; round++) {
        const stream = await listen(service, actor)
        // Nothing has been read from the stream yet.
        await actor.request('PUT', `/properties/p${round}`, 'x')
        assert.equal(((await stream.change()) as { name: string }).name, `p${round}`)
        await stream.close()
      }
    })

    it('ends when its token is revoked or expires, before it reports anything more (R-TOK-01)', async () => {
      const clock = new ManualClock()
      const { service, actor } = await open({ now: clock.now, timers: clock.timers })
      const authorization = `Bearer ${await signIn(service, actor)}`
      const revoked = await listen(service, { id: actor.id, authorization })
      await revoked.ready()
      const sessions = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
      await actor.request('DELETE', `/sessions/${sessions[0]?.id}`)
      clock.pass(1000)
      assert.equal(await revoked.change(), null)
      const expiring = await listen(service, {
        id: actor.id,
        authorization: `Bearer ${await signIn(service, actor)}`,
      })
      await expiring.ready()
      clock.pass(3_600_000)
      const last = expiring.change()
      // Every third tick checks the token.
      for (let tick = 0; tick < 3; tick++) {
        await new Promise((resolve) => setImmediate(resolve))
        clock.pass(10_000)
      }
      assert.equal(await last, null)
    })

    it('is refused to peers, other owners and anonymous clients, and to pages of other sites', async () => {
      const { service, actor } = await open({ listen: true })
      const peer = await service.createActor('peer@example.com')
      const { secret } = await relate(peer, [service, actor])
      const ask = async (headers: Record<string, string>): Promise<number> => {
        const answer = await service.request(`/${actor.id}/live`, { headers: { ...wantsEvents, ...headers } })
        await answer.body?.cancel()
        return answer.status
      }
      const cookie = `oauth_token=${await signIn(service, actor)}`
      assert.equal(await ask({}), 401)
      assert.equal(await ask({ authorization: `Bearer ${secret}` }), 403)
      assert.equal(await ask({ authorization: peer.authorization }), 403)
      assert.equal(await ask({ cookie, 'sec-fetch-site': 'cross-site' }), 403)
      assert.equal(await ask({ cookie, origin: 'https://evil.example.com' }), 403)
      assert.equal(await ask({ cookie, accept: 'application/json' }), 400)
      assert.equal(await ask({ cookie, 'sec-fetch-site': 'same-origin' }), 200)
    })
  })
})
