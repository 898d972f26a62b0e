import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { google } from '../../src/index.ts'
import { LiveStream, wantsEvents } from '../support/live-stream.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'

const events = wantsEvents

/** Opens the stream as a page of the service does. */
async function listen(
  service: TestService,
  actor: TestActor,
  token: string,
  query = '',
  more: Readonly<Record<string, string>> = {},
): Promise<LiveStream> {
  const answer = await service.request(`/${actor.id}/www/live${query}`, {
    headers: { ...events, cookie: `oauth_token=${token}`, 'sec-fetch-site': 'same-origin', ...more },
  })
  return LiveStream.of(answer)
}

interface Open {
  readonly service: TestService
  readonly actor: TestActor
  readonly token: string
  readonly listener: LiveStream
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<Open> {
    const service = await start(options)
    const actor = await service.createActor()
    const token = await signIn(service, actor)
    const listener = await listen(service, actor, token)
    // The response begins after the watch, so no change from now on is missed.
    await actor.request('PUT', '/properties/begin', 'x')
    assert.deepEqual(await listener.ready(), { number: 0, resumed: false })
    assert.deepEqual(await listener.change(), { category: 'properties', name: 'begin', number: 1 })
    return { service, actor, token, listener }
  }

  describe('the stream of changes for pages', () => {
    it('reports each change by category, name and sequence number, without its value (R-LIVE-01)', async () => {
      const { actor, listener } = await open()
      assert.equal(listener.answer.headers.get('content-type'), 'text/event-stream')
      assert.equal(listener.answer.headers.get('cache-control'), 'no-store')
      await actor.request('PUT', '/properties/color', 'secret-blue')
      await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      assert.deepEqual(await listener.change(), { category: 'properties', name: 'color', number: 2 })
      assert.deepEqual(await listener.change(), { category: 'properties', name: 'notes', number: 3 })
      await listener.close()
    })

    it('continues after the number in the query, unless the client names a later event (R-LIVE-07)', async () => {
      const { service, actor, token, listener } = await open()
      for (const name of ['a', 'b']) await actor.request('PUT', `/properties/${name}`, 'x')
      const cases = [
        ['?after=1', {}, [2, 3]],
        ['?after=1', { 'last-event-id': '2' }, [3]],
        ['?after=3', { 'last-event-id': 'x' }, []],
      ] as const
      for (const [query, headers, numbers] of cases) {
        const again = await listen(service, actor, token, query, headers)
        assert.deepEqual(await again.ready(), { number: 3, resumed: true })
        for (const number of numbers) assert.equal(((await again.change()) as { number: number }).number, number)
        await again.close()
      }
      const unknown = await listen(service, actor, token, '?after=9')
      assert.deepEqual(await unknown.ready(), { number: 3, resumed: false })
      await unknown.close()
      await listener.close()
    })

    it('reports nothing about another actor (R-LIVE-01)', async () => {
      const { service, actor, listener } = await open()
      const other = await service.createActor('other@example.com')
      await other.request('PUT', '/properties/theirs', 'x')
      await actor.request('PUT', '/properties/mine', 'x')
      assert.deepEqual(await listener.change(), { category: 'properties', name: 'mine', number: 2 })
      await listener.close()
    })

    it('reports a peer again when its name becomes known after both actors approved (R-LIVE-01)', async () => {
      const mayRead = Promise.withResolvers<void>()
      const there = await start({
        listen: true,
        declare: (app) =>
          app.property('displayname', {
            get: async ({ value }) => {
              await mayRead.promise
              return value
            },
          }),
      })
      const peer = await there.createActor('grace@example.org')
      await peer.request('PUT', '/properties/displayname', 'Grace Hopper')
      const { actor, listener } = await open({ listen: true })
      const wish = { url: `${there.url}/${peer.id}`, relationship: 'friend' }
      assert.equal((await actor.request('POST', '/trust', wish)).status, 201)
      assert.deepEqual(await listener.change(), { category: 'trust', name: peer.id, number: 2 })
      assert.equal((await peer.request('PUT', `/trust/friend/${actor.id}`, { approved: true })).status, 204)
      assert.deepEqual(await listener.change(), { category: 'trust', name: peer.id, number: 3 })
      mayRead.resolve()
      assert.deepEqual(await listener.change(), { category: 'trust', name: peer.id, number: 4 })
      await listener.close()
    })

    it('ends with the session, wherever the session ended, before it reports anything more (R-LIVE-05)', async () => {
      const { service, actor, token, listener } = await open()
      const sessions = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
      assert.equal(sessions.length, 1)
      await actor.request('DELETE', `/sessions/${sessions[0]?.id}`)
      await actor.request('PUT', '/properties/after', 'x')
      assert.equal(await listener.change(), null)
      const again = await service.request(`/${actor.id}/www/live`, {
        headers: { ...events, cookie: `oauth_token=${token}` },
      })
      assert.equal(again.status, 401)
    })

    it('sends a heartbeat, and checks every 30 seconds whether the session is still valid (R-LIVE-05)', async () => {
      const clock = new ManualClock()
      const { listener } = await open({ now: clock.now, timers: clock.timers })
      const waiting = listener.next()
      clock.pass(10_000)
      // The stream processes earlier events before the next tick.
      await new Promise((resolve) => setImmediate(resolve))
      clock.pass(10_000)
      assert.equal(await waiting, ':')
      // The access token expires without an event.
      const last = listener.next()
      clock.pass(3_600_000)
      await new Promise((resolve) => setImmediate(resolve))
      clock.pass(10_000)
      assert.equal(await last, null)
    })

    it('reports changes of another process, and ends with the service (R-LIVE-01)', async () => {
      const { service, actor, listener } = await open()
      const other = await start({ database: service.databaseUrl })
      await other.request(`/${actor.id}/properties/elsewhere`, {
        method: 'PUT',
        headers: { authorization: actor.authorization },
        body: 'x',
      })
      assert.deepEqual(await listener.change(), { category: 'properties', name: 'elsewhere', number: 2 })
      const last = listener.next()
      await service.close()
      assert.equal(await last, null)
    })

    it('is limited to 32 streams per actor and process, with 429 beyond, and frees a slot however a stream ends (R-LIVE-06)', async () => {
      const { service, actor, token, listener } = await open()
      const headers = { ...events, cookie: `oauth_token=${token}` }
      const ask = (id = actor.id, given = headers, method = 'GET'): Promise<Response> =>
        service.request(`/${id}/www/live`, { method, headers: given })
      // HEAD requests and rejected requests hold no slot.
      for (let look = 0; look < 40; look++) assert.equal((await ask(actor.id, headers, 'HEAD')).status, 200)
      for (let look = 0; look < 40; look++) {
        assert.equal((await ask(actor.id, { ...headers, accept: 'text/html' })).status, 400)
      }
      const others = await Promise.all(Array.from({ length: 31 }, () => listen(service, actor, token)))
      // Another session of the same owner counts for the same actor.
      const again = await signIn(service, actor)
      for (const cookie of [token, again]) {
        const refused = await ask(actor.id, { ...headers, cookie: `oauth_token=${cookie}` })
        assert.equal(refused.status, 429)
        assert.equal(refused.headers.get('retry-after'), '5')
        assert.deepEqual(await refused.json(), {
          error: 'too_many_requests',
          message: 'This actor already has 32 streams of its changes open, which is the maximum',
        })
      }
      const other = await service.createActor('other@example.com')
      const theirs = await listen(service, other, await signIn(service, other))
      await theirs.close()
      // Closes one stream before it reports anything, and one afterwards.
      await others[0]?.close()
      others[0] = await listen(service, actor, token)
      assert.equal((await ask()).status, 429)
      await listener.close()
      const last = await listen(service, actor, again)
      assert.equal((await ask()).status, 429)
      // The sessions end, which ends all their streams.
      const sessions = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
      const rest = others.map(async (each) => {
        while ((await each.next()) !== null);
      })
      assert.equal(sessions.length, 2)
      for (const { id } of sessions) await actor.request('DELETE', `/sessions/${id}`)
      await actor.request('PUT', '/properties/after', 'x')
      await Promise.all(rest)
      assert.equal(await last.change(), null)
      const fresh = await signIn(service, actor)
      const reopened = await Promise.all(Array.from({ length: 32 }, () => listen(service, actor, fresh)))
      for (const each of reopened) await each.close()
    })

    it('is served only to a session of the owner and to pages of this service (WEB-04)', async () => {
      // Without a provider, the passphrase would open the pages and this stream.
      const service = await start({ signIn: [google({ clientId: 'web', clientSecret: 'hush' })] })
      const actor = await service.createActor()
      const token = await signIn(service, actor)
      const stranger = await signIn(service, await service.createActor('stranger@example.com'))
      const ask = async (headers: Record<string, string>, id = actor.id): Promise<number> => {
        const answer = await service.request(`/${id}/www/live`, { headers })
        await answer.body?.cancel()
        return answer.status
      }
      const cookie = `oauth_token=${token}`
      assert.equal(await ask(events), 401)
      assert.equal(await ask({ ...events, authorization: actor.authorization }), 302)
      assert.equal(await ask({ ...events, cookie: `oauth_token=${stranger}` }), 403)
      assert.equal(await ask({ ...events, cookie: 'oauth_token=unknown' }), 403)
      assert.equal(await ask({ ...events, cookie, 'sec-fetch-site': 'cross-site' }), 403)
      assert.equal(await ask({ ...events, cookie, 'sec-fetch-site': 'same-site' }), 403)
      assert.equal(await ask({ ...events, cookie, origin: 'https://evil.example.com' }), 403)
      assert.equal(await ask({ cookie }), 400)
      assert.equal(await ask({ cookie, accept: 'text/html' }), 400)
      assert.equal(await ask({ ...events, cookie }, 'unknown'), 404)
      assert.equal(await ask({ ...events, cookie }), 200)
    })
  })
})
