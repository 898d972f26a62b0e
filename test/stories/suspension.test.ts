/** Suspended actors: what every caller gets, what waits, and what is there again after the resumption. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { holdWork, resumeWork } from '../../src/moving/held-work.ts'
import { suspendActor } from '../../src/operator/suspension.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { mcpStatus } from '../support/oauth-client.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { type OperatedService, operatedService } from '../support/operated-service.ts'
import { basic, forEachService, type StartOptions } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, TestBrowser } from '../support/sign-in.ts'

const shareOfProvider = sharedProvider()

forEachService((start) => {
  interface World extends OperatedService {
    readonly authorization: string
  }

  async function open(options: StartOptions = {}): Promise<World> {
    const world = await operatedService(start, await shareOfProvider(), options)
    const { service, id } = world
    const { actors } = (await service.app.running()).parts
    const passphrase = actors.passphraseOf((await actors.find(id)) ?? assert.fail())
    return { ...world, authorization: basic('bob@example.com', passphrase) }
  }

  const act = async ({ operator, id }: World, action: string, status = 302): Promise<void> =>
    assert.equal((await operator.post(`/admin/actors/${id}`, { action })).status, status, action)

  describe('a suspended actor', () => {
    it('refuses owner, apps, keys, peers and visitors with 403 and a sentence, and works again after the resumption', async () => {
      const world = await open()
      const { service, bob, id, authorization, operator } = world
      const owner = { id, creator: 'bob@example.com', authorization, passphrase: '' }
      const asOwner = (method: string, path: string, body?: object) =>
        service.request(`/${id}${path}`, {
          method,
          headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      const made = await asOwner('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      const { key } = (await made.json()) as { key: string }
      const client = await authorizeClient(service, owner)
      const peer = await relateTo(service, { ...owner, request: asOwner }, {})
      const statuses = async () => ({
        owner: (await asOwner('GET', '/properties')).status,
        key: (await service.request(`/${id}/properties`, { headers: { authorization: `Bearer ${key}` } })).status,
        app: await mcpStatus(service, client.token),
        peer: (await peer.request('GET', '/trust')).status,
        visitor: (await service.request(`/${id}/meta`)).status,
        page: (await bob.get(`/${id}/www`)).status,
        callback: (await service.request(`/${id}/callbacks/subscriptions/x/y`, { method: 'POST' })).status,
      })
      const before = await statuses()
      assert.deepEqual([before.owner, before.key, before.app, before.visitor, before.page], [200, 200, 200, 200, 200])
      await act(world, 'suspend')
      await act(world, 'suspend')
      assert.deepEqual(await statuses(), {
        owner: 403,
        key: 403,
        app: 403,
        peer: 403,
        visitor: 403,
        page: 403,
        callback: 503,
      })
      const refused = (await (await asOwner('GET', '/properties')).json()) as { error: string }
      assert.equal(JSON.stringify(refused).includes('The operator of the service suspended this actor'), true)
      assert.match(
        await (await bob.get(`/${id}/www`)).text(),
        /This account is suspended\. Ask the operator of this service\./,
      )
      assert.equal(await service.app.actors.get('missing'), undefined)
      await assert.rejects(service.app.actors.get(id), { code: 'actor_suspended' })
      const shown = await (await operator.get(`/admin/actors/${id}`)).text()
      assert.match(shown, /Suspended\.<\/strong> Every request is refused/)
      await act(world, 'resume')
      await act(world, 'resume', 409)
      assert.deepEqual({ ...(await statuses()), page: before.page }, before)
    })

    it('has no session, and its owner cannot sign in before the resumption', async () => {
      const world = await open()
      const { service, id } = world
      const { store } = await service.app.running()
      const sessions = () =>
        store.read((q) => q.all(`SELECT chain_id FROM token_chain WHERE actor_id = $1 AND kind = 'session'`, id))
      await act(world, 'suspend')
      assert.deepEqual(await sessions(), [])
      const again = new TestBrowser(service)
      const refused = await signIn(again, await shareOfProvider(), 'bob')
      assert.equal(refused.status, 403)
      assert.match(await refused.text(), /This account is suspended/)
      assert.deepEqual(await sessions(), [])
      await act(world, 'resume')
      assert.equal(actorIn(await signIn(new TestBrowser(service), await shareOfProvider(), 'bob')), id)
    })

    it('sends nothing to its subscribers, and what waited after the resumption', async () => {
      const world = await open({ timers: { setTimer: () => () => {} } })
      const { service, id, authorization } = world
      const remote = await new RecordingPeer().start()
      try {
        const request = (method: string, path: string, body?: unknown) =>
          service.request(`/${id}${path}`, {
            method,
            headers: { authorization, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        const peer = await relateTo(
          service,
          { id, creator: 'bob@example.com', authorization, passphrase: '', request },
          { baseuri: `${remote.url}/them` },
        )
        await peer.subscribe({ granularity: 'high' })
        remote.replies = [503]
        assert.equal((await request('PUT', '/properties/color', 'red')).status, 204)
        await remote.has(1)
        await service.settled()
        await act(world, 'suspend')
        const { store, parts } = await service.app.running()
        const due = () =>
          store.read((q) =>
            q.all<{ due: number | null }>('SELECT due_at AS due FROM publisher_subscription WHERE actor_id = $1', id),
          )
        assert.deepEqual(await due(), [{ due: null }])
        parts.deliveries.wake()
        await service.settled()
        assert.equal(remote.received.length, 1)
        remote.replies = [204]
        await act(world, 'resume')
        await service.settled()
        assert.deepEqual(
          remote.received.map(({ body }) => body?.['data']),
          [{ color: 'red' }, { color: 'red' }],
        )
      } finally {
        await remote.stop()
      }
    })

    it('is refused for the own actor of the operator, for an unknown one and from another site', async () => {
      const world = await open()
      const { operator, service, id, bob } = world
      const own = actorIn(await signIn(operator, await shareOfProvider(), 'ada'))
      assert.equal((await operator.post(`/admin/actors/${own}`, { action: 'suspend' })).status, 409)
      for (const unknown of ['none', '0'.repeat(32)])
        for (const action of ['suspend', 'resume', 'sign_out'])
          assert.equal((await operator.post(`/admin/actors/${unknown}`, { action })).status, 404, action)
      const path = `/admin/actors/${id}`
      assert.equal((await operator.post(path, { action: 'suspend' }, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await bob.post(path, { action: 'suspend' })).status, 403)
      assert.equal((await bob.get(`/${id}/www`)).status, 200)
      const { store } = await service.app.running()
      await store.write((tx) => tx.run(`UPDATE actor SET residence = 'moving' WHERE id = $1`, id))
      await act(world, 'suspend', 409)
      await act(world, 'resume', 409)
    })

    it('keeps its data, and the owner finds each act in the activity, also those of the command line', async () => {
      const world = await open()
      const { service, bob, id } = world
      const { store } = await service.app.running()
      await act(world, 'sign_out')
      assert.notEqual((await bob.get(`/${id}/www`)).status, 200)
      await suspendActor({ store, holdWork, resumeWork }, id, { operator: 'command line', device: '' })
      await act(world, 'resume')
      const again = new TestBrowser(service)
      await signIn(again, await shareOfProvider(), 'bob')
      const page = await (await again.get(`/${id}/www/activity`)).text()
      assert.match(page, /Operator ada@example\.com<\/strong> signed you out on all devices/)
      assert.match(page, /Operator command line<\/strong> suspended this account/)
      assert.match(page, /Operator ada@example\.com<\/strong> resumed this account/)
    })
  })
})
