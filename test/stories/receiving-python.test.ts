import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonPublisher, PythonSubscriber, sorted } from '../support/python-subscriptions.ts'
import { sqliteService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { untilEqual } from '../support/until.ts'

describe('an actor of the Python implementation (R-SUB-13)', () => {
  const start = sqliteService()
  const peers: PythonPeer[] = []
  afterEach(async () => {
    for (const peer of peers.splice(0)) await peer.close()
  })

  interface World {
    readonly service: TestService
    readonly actor: TestActor
    readonly handle: ActorHandle
    readonly peer: PythonPeer
    readonly copy: () => Promise<unknown>
  }

  async function world(options: StartOptions = {}): Promise<World> {
    const peer = await PythonPeer.start({ autoAccept: 'friend' })
    peers.push(peer)
    const service = await start({ listen: true, ...options })
    const actor = await service.createActor()
    const asked = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
    assert.equal(asked.status, 201)
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    return { service, actor, handle, peer, copy: async () => sorted(await handle.remote(peer.id).all()) }
  }

  describe('as publisher', () => {
    it('is copied, and followed through every form of diff that it sends (R-SUB-01, R-SUB-09)', async () => {
      const { handle, peer, copy } = await world()
      const publisher = new PythonPublisher(peer)
      publisher.properties.set('mood', 'sunny')
      publisher.lists.set('notes', ['one', { n: 2 }])
      const { subscriptionid } = await handle.subscribe(peer.id)
      assert.deepEqual([...publisher.subscriptions.keys()], [subscriptionid])
      assert.deepEqual(await copy(), publisher.source)
      const steps: (() => Promise<void>)[] = [
        () => publisher.set('mood', 'rainy'),
        () => publisher.set('cfg', { theme: 'dark', deep: { a: 1 } }),
        () => publisher.append('notes', null),
        () => publisher.pop('notes'),
        () => publisher.updateOverHttp('notes', 1, { n: 3 }),
        () => publisher.replaceOverHttp('notes', ['a', 'b', 'c']),
        () => publisher.append('notes', 'd'),
        () => publisher.delete('mood'),
        () => publisher.delete('notes'),
        () => publisher.append('fresh', 1),
      ]
      for (const step of steps) {
        await step()
        await untilEqual(copy, () => publisher.source)
      }
      assert.deepEqual(
        publisher.statuses,
        steps.map(() => 204),
      )
    })

    // W-77 of the facts about the Python library 3.14.0: POST /properties creates the list after the subscription.
    for (const [what, steps] of [
      ['the sentence about it arrives', ['create', 'append', 'append']],
      ['only its items arrive', ['append', 'append']],
      ['a value of this name exists', ['set', 'append', 'append']],
    ] as const) {
      it(`is copied when it creates a list over HTTP and ${what} (SUB-17)`, async () => {
        const { handle, peer, copy } = await world({ gapTimeoutSeconds: 1 })
        const publisher = new PythonPublisher(peer)
        publisher.properties.set('mood', 'sunny')
        await handle.subscribe(peer.id)
        for (const step of steps) {
          if (step === 'create') await publisher.createOverHttp('later')
          else if (step === 'append') await publisher.appendOverHttp('later', { n: 1 })
          else await publisher.set('later', 'a value')
          if (step === 'set') {
            publisher.properties.delete('later')
            publisher.lists.set('later', [])
          }
        }
        await untilEqual(copy, () => publisher.source)
        assert.deepEqual(await copy(), { mood: 'sunny', later: [{ n: 1 }, { n: 1 }] })
      })
    }

    it('keeps its relationship when it lost only the subscription (PEER-15)', async () => {
      const { handle, peer } = await world()
      const publisher = new PythonPublisher(peer)
      publisher.properties.set('mood', 'sunny')
      const { subscriptionid } = await handle.subscribe(peer.id)
      publisher.forget(subscriptionid)
      assert.equal((await handle.sync(peer.id)).trustEnded, false)
      assert.deepEqual(await handle.remote(peer.id).subscriptions(), [])
      assert.ok((await handle.trust.get(peer.id)) !== undefined)
      await handle.subscribe(peer.id)
      assert.equal(publisher.subscriptions.size, 1)
    })

    it('is caught up with after it lost callbacks that it never repeats (SUB-03, R-SUB-09)', async () => {
      const { handle, peer, copy } = await world({ gapTimeoutSeconds: 1 })
      const publisher = new PythonPublisher(peer)
      await handle.subscribe(peer.id)
      await publisher.append('notes', 1)
      publisher.losesCallbacks = true
      for (let n = 2; n <= 11; n++) await publisher.append('notes', n)
      publisher.losesCallbacks = false
      await publisher.append('notes', 12)
      await untilEqual(copy, () => publisher.source)
      const [subscription] = await handle.remote(peer.id).subscriptions()
      assert.equal(subscription?.sequence, 12)
      await untilEqual(
        () => publisher.subscriptions.get(subscription?.subscriptionid ?? '')?.diffs.size,
        () => 0,
      )
    })

    it('is copied correctly after a sync when it reported a deep change at the wrong depth (R-SUB-09)', async () => {
      const { handle, peer, copy } = await world()
      const publisher = new PythonPublisher(peer)
      publisher.properties.set('cfg', { deep: { a: 1, b: 2 }, kept: true })
      await handle.subscribe(peer.id)
      await publisher.setDeep('cfg', 'deep', 'a', 9)
      await untilEqual(copy, () => ({ cfg: { deep: 9, kept: true } }))
      await handle.sync(peer.id)
      assert.deepEqual(await copy(), publisher.source)
    })

    it('sends each change once at low granularity, which is sufficient (R-SUB-09)', async () => {
      const { handle, peer, copy } = await world()
      const publisher = new PythonPublisher(peer)
      await handle.subscribe(peer.id, { granularity: 'low' })
      await publisher.append('notes', 1)
      await publisher.append('notes', 2)
      await untilEqual(copy, () => publisher.source)
      assert.deepEqual(publisher.statuses, [204, 204])
      const [subscription] = publisher.subscriptions.values()
      assert.equal(subscription?.diffs.size, 0)
    })

    it('receives the end of a subscription at its own path, and can end a subscription itself (R-SUB-01)', async () => {
      const { handle, peer, copy } = await world()
      const publisher = new PythonPublisher(peer)
      publisher.properties.set('mood', 'sunny')
      const first = await handle.subscribe(peer.id)
      await handle.unsubscribe(peer.id, first.subscriptionid)
      await untilEqual(
        () => publisher.subscriptions.size,
        () => 0,
      )
      const second = await handle.subscribe(peer.id)
      assert.deepEqual(await copy(), { mood: 'sunny' })
      await publisher.revoke(second.subscriptionid)
      assert.deepEqual([await handle.remote(peer.id).subscriptions(), await copy()], [[], {}])
    })

    const broken: readonly [
      what: string,
      answer: { status: number; headers?: Record<string, string>; body?: object },
    ][] = [
      ['without a Location', { status: 201, body: { subscriptionid: 'x1' } }],
      ['without an id', { status: 201, headers: { Location: 'https://b.example/1' }, body: {} }],
      ['with 200', { status: 200, headers: { Location: 'https://b.example/1' }, body: { subscriptionid: 'x1' } }],
      ['with an empty 403', { status: 403 }],
      [
        'with an invalid id',
        { status: 201, headers: { Location: 'https://b.example/1' }, body: { subscriptionid: 7 } },
      ],
    ]
    for (const [what, answer] of broken) {
      it(`gets no subscription when it responds ${what} (R-SUB-01)`, async () => {
        const { actor, handle, peer } = await world()
        peer.route('POST', /^\/subscriptions\//, () => answer)
        const made = await actor.request('POST', '/subscriptions', { peerid: peer.id, target: 'properties' })
        assert.equal(made.status, 408)
        assert.deepEqual(await handle.remote(peer.id).subscriptions(), [])
      })
    }

    it('may send a callback before its response, whose data is not lost (R-SUB-01)', async () => {
      const { actor, handle, peer, copy } = await world()
      const publisher = new PythonPublisher(peer)
      const early: number[] = []
      peer.route('POST', /^\/subscriptions\/([^/]+)$/, async () => {
        const trust = peer.trusts.get(actor.id)
        const answer = await fetch(`${trust?.baseuri}/callbacks/subscriptions/${peer.id}/early`, {
          method: 'POST',
          headers: { authorization: `Bearer ${trust?.secret}`, 'content-type': 'application/json' },
          body: '{"sequence":1,"data":{"mood":"early"}}',
        })
        early.push(answer.status)
        publisher.subscriptions.set('early', {
          peerId: actor.id,
          subtarget: '',
          granularity: 'high',
          sequence: 1,
          diffs: new Map([[1, { mood: 'early' }]]),
        })
        publisher.properties.set('mood', 'early')
        const headers = { Location: `${peer.url}/subscriptions/${actor.id}/early` }
        return { status: 201, headers, body: { subscriptionid: 'early' } }
      })
      await handle.subscribe(peer.id)
      assert.deepEqual([early, await copy()], [[404], { mood: 'early' }])
      assert.equal((await handle.remote(peer.id).subscriptions())[0]?.sequence, 1)
    })

    it('never makes the actor send the secret elsewhere, whatever URL its callback contains (OUT-08, PEER-01)', async () => {
      const { service, handle, actor, peer, copy } = await world({ gapTimeoutSeconds: 3600 })
      const publisher = new PythonPublisher(peer)
      const { subscriptionid } = await handle.subscribe(peer.id)
      await service.settled()
      const hits: (string | undefined)[] = []
      const elsewhere = createServer((request, response) => {
        hits.push(request.headers.authorization)
        response.end('{"data":{"mood":"taken"}}')
      })
      await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
      const { port } = elsewhere.address() as AddressInfo
      const trust = peer.trusts.get(actor.id)
      const path = `subscriptions/${actor.id}/${subscriptionid}/1`
      const origin = new URL(peer.url).origin
      for (const url of [
        `http://127.0.0.1:${port}/${peer.id}/${path}`,
        `${origin}/another/${path}`,
        `${peer.url}x/${path}`,
        `${peer.url}/../another/${path}`,
        `http://user:word@127.0.0.1:${port}/`,
        'file:///etc/passwd',
        '/relative',
      ]) {
        const before = peer.requests.length
        const answer = await fetch(`${trust?.baseuri}/callbacks/subscriptions/${peer.id}/${subscriptionid}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${trust?.secret}`, 'content-type': 'application/json' },
          body: JSON.stringify({ sequence: 1, granularity: 'low', url }),
        })
        assert.equal(answer.status, 503, url)
        assert.equal(peer.requests.length, before, url)
      }
      assert.deepEqual([hits, await copy(), publisher.subscriptions.size], [[], {}, 1])
      elsewhere.closeAllConnections()
      await new Promise((resolve) => elsewhere.close(resolve))
    })
  })

  describe('as subscriber', () => {
    it('receives every change in forms that it understands (R-SUB-01, R-SUB-10)', async () => {
      const { actor, handle, peer } = await world()
      await handle.set('mood', 'sunny')
      await handle.list('notes').extend(['one', { n: 2 }])
      const subscriber = new PythonSubscriber(peer)
      const id = await subscriber.subscribe(actor.id)
      assert.ok(id !== null)
      const source = async (): Promise<unknown> => {
        const lists = await Promise.all(
          (await handle.lists()).map(async ({ name }) => [name, await handle.list(name).items()] as const),
        )
        return sorted({ ...(await handle.all()), ...Object.fromEntries(lists) })
      }
      const steps: (() => Promise<unknown>)[] = [
        () => handle.set('mood', 'rainy'),
        () => handle.list('notes').append(null),
        () => actor.request('PUT', '/properties/notes/0', 'first'),
        () => actor.request('POST', '/properties/notes/items', { action: 'add', item_value: 'last' }),
        () => handle.list('notes').insert(1, 'between'),
        () => handle.list('notes').pop(),
        () => actor.request('DELETE', '/properties/notes/1'),
        () => handle.list('notes').extend([1, 2]),
        () => handle.list('notes').clear(),
        () => handle.list('notes').remove(),
        () => handle.delete('mood'),
        () => actor.request('PUT', '/properties', { a: 1, b: { c: 2 } }),
      ]
      for (const step of steps) {
        await step()
        const expected = await source()
        await untilEqual(
          () => sorted(Object.fromEntries(subscriber.copy)),
          () => expected,
        )
      }
    })

    it('receives low granularity, and empties the queue by its acknowledgment (R-SUB-01)', async () => {
      const { actor, handle, peer } = await world()
      const subscriber = new PythonSubscriber(peer)
      const id = await subscriber.subscribe(actor.id, 'low')
      await handle.set('mood', 'sunny')
      await untilEqual(
        () => Object.fromEntries(subscriber.copy),
        () => ({ mood: 'sunny' }),
      )
      await untilEqual(
        async () => {
          const polled = await actor.request('GET', `/subscriptions/${peer.id}/${id}`)
          return ((await polled.json()) as { data: unknown[] }).data
        },
        () => [],
      )
    })

    it('processes a resync (R-SUB-05)', async () => {
      const { actor, handle, peer } = await world()
      const subscriber = new PythonSubscriber(peer)
      await subscriber.subscribe(actor.id)
      await handle.subscriptions.suspend('properties')
      await handle.set('mood', 'silent')
      await handle.subscriptions.resume('properties')
      await untilEqual(
        () => Object.fromEntries(subscriber.copy),
        () => ({ mood: 'silent' }),
      )
    })

    it('keeps its subscription and every diff when its application answers 400 to everything (R-SUB-03)', async () => {
      const { actor, handle, peer } = await world()
      const subscriber = new PythonSubscriber(peer)
      const id = await subscriber.subscribe(actor.id)
      subscriber.processes = false
      for (let n = 1; n <= 8; n++) await handle.set('n', n)
      const calls = (): number =>
        peer.requests.filter(({ path }) => path.startsWith('/callbacks/subscriptions/')).length
      await untilEqual(calls, () => 8)
      const polled = await actor.request('GET', `/subscriptions/${peer.id}/${id}`)
      const { sequence, data } = (await polled.json()) as { sequence: number; data: { sequence: number }[] }
      assert.deepEqual([sequence, data.map((diff) => diff.sequence)], [8, [1, 2, 3, 4, 5, 6, 7, 8]])
    })

    it('ends its subscription at the path that it uses, which fires the event (R-SUB-06)', async () => {
      const events: unknown[] = []
      const { actor, handle, peer } = await world({
        declare: (app) =>
          app.on('subscription_deleted', ({ peer_id, subscription_id, initiated_by_peer }) => {
            events.push([peer_id, subscription_id, initiated_by_peer])
          }),
      })
      const subscriber = new PythonSubscriber(peer)
      const id = (await subscriber.subscribe(actor.id)) ?? ''
      assert.equal(await subscriber.unsubscribe(id), true)
      assert.deepEqual([await handle.subscriptions.listeners(), events], [[], [[peer.id, id, true]]])
      const other = (await subscriber.subscribe(actor.id)) ?? ''
      assert.equal((await actor.request('DELETE', `/subscriptions/${peer.id}/${other}`)).status, 204)
      await untilEqual(
        () => subscriber.subscriptions,
        () => [],
      )
      assert.deepEqual(events.at(-1), [peer.id, other, false])
    })
  })
})
