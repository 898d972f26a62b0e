import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PeerLinks } from '../../src/replica/peer-link.ts'
import { PeerData } from '../../src/replica/snapshot.ts'
import { findTrust } from '../../src/trust/trust-store.ts'
import { relate } from '../support/friends.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import {
  forEachService,
  type StartOptions,
  sqliteService,
  type TestActor,
  type TestService,
} from '../support/service.ts'
import { until } from '../support/until.ts'

async function attributesOf(actor: TestActor, bucket: string): Promise<Record<string, unknown>> {
  const answer = await actor.request('GET', `/devtest/attributes/${bucket}`)
  if (answer.status === 404) return {}
  const shown = (await answer.json()) as Record<string, { data: unknown }>
  return Object.fromEntries(Object.entries(shown).map(([name, { data }]) => [name, data]))
}

forEachService((start) => {
  describe('handlers of subscription data', () => {
    it('receive stored data of a peer in order and once, by target and for * (R-SUB-11, R-EVT-03)', async () => {
      const heard: unknown[] = []
      const peers = new ScriptedPeers()
      const service = await start({
        peerClient: peers,
        declare: (app) => {
          app.subscriptionData('*', ({ sequence }) => void heard.push(['*', sequence]))
          app.subscriptionData('properties', async ({ actor, peer_id, target, data, sequence, callback_type }) => {
            heard.push([actor.id, peer_id, target, data, sequence, callback_type, await actor.remote(peer_id).all()])
          })
          app.subscriptionData('other', () => void heard.push('other'))
        },
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      assert.equal((await peer.diff(2, { mood: 'b' })).status, 204)
      assert.deepEqual(heard, [])
      assert.equal((await peer.diff(1, { mood: 'a' })).status, 204)
      assert.equal((await peer.diff(1, { mood: 'again' })).status, 204)
      await service.settled()
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole', notes: [1] }, 3)
      assert.equal((await peer.tell({ type: 'resync', sequence: 3 })).status, 204)
      await service.settled()
      const whole = { mood: 'whole', notes: { _list: true, items: [1] } }
      assert.deepEqual(heard, [
        [actor.id, peer.peerId, 'properties', { mood: 'a' }, 1, 'diff', { mood: 'b' }],
        ['*', 1],
        [actor.id, peer.peerId, 'properties', { mood: 'b' }, 2, 'diff', { mood: 'b' }],
        ['*', 2],
        [actor.id, peer.peerId, 'properties', whole, 3, 'resync', { mood: 'whole', notes: [1] }],
        ['*', 3],
      ])
    })

    it('that throw are logged; the data stays stored and is not delivered again (R-SUB-11)', async () => {
      const heard: number[] = []
      const service = await start({
        declare: (app) => {
          app.subscriptionData('properties', () => {
            throw new Error('the handler broke')
          })
          app.subscriptionData('properties', async ({ sequence }) => void heard.push(sequence))
        },
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      assert.equal((await peer.diff(1, { mood: 'a' })).status, 204)
      assert.equal((await peer.diff(1, { mood: 'a' })).status, 204)
      await service.settled()
      assert.deepEqual([await peer.copy(), await peer.sequence(), heard], [{ mood: 'a' }, 1, [1]])
      assert.ok(service.log.some((line) => line.includes('the handler broke')))
    })

    it('that hang neither delay the response to the peer nor change the order (R-SUB-11)', async () => {
      const clock = new ManualClock()
      const heard: number[] = []
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        declare: (app) =>
          app.subscriptionData('properties', async ({ sequence }) => {
            if (sequence === 1) await released
            heard.push(sequence)
          }),
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      let answered = 0
      const answers = [peer.diff(1, { n: 1 }), peer.diff(2, { n: 2 })].map(async (sent) => {
        assert.equal((await sent).status, 204)
        answered++
      })
      await until(async () => (await peer.sequence()) === 2)
      await until(() => {
        clock.pass(500)
        return answered === 2
      })
      assert.deepEqual(heard, [])
      release()
      await Promise.all(answers)
      await until(() => heard.length === 2)
      assert.deepEqual(heard, [1, 2])
    })

    it('include the callback named subscription (R-SUB-11)', async () => {
      const heard: unknown[] = []
      const service = await start({
        declare: (app) => app.callback('subscription', ({ name, data }) => void heard.push([name, data])),
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      await peer.diff(1, { mood: 'a' })
      const subscription = {
        id: actor.id,
        peerid: peer.peerId,
        subscriptionid: 'sub1',
        granularity: 'high',
        target: 'properties',
        subtarget: '',
        resource: '',
        sequence: 1,
        callback: true,
      }
      const received = {
        peerid: peer.peerId,
        subscription,
        data: { mood: 'a' },
        sequence: 1,
        type: 'diff',
        method: 'POST',
      }
      assert.deepEqual(heard, [['subscription', received]])
    })
  })

  describe('a service without automatic sequencing', () => {
    it('passes each callback to subscription handlers as it arrives, without storing or ordering it (R-SUB-11)', async () => {
      const heard: unknown[] = []
      const service = await start({
        autoSequence: false,
        declare: (app) => {
          app.subscription(({ actor, subscription, peer_id, data }) => {
            heard.push([actor.id, subscription.subscriptionid, subscription.callback, peer_id, data])
            return data['sequence'] !== 13
          })
          app.subscriptionData('*', () => void heard.push('data'))
        },
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const sent = (sequence: number): object => ({ id: peer.peerId, sequence, data: { n: sequence } })
      for (const sequence of [5, 2, 2]) assert.equal((await peer.tell(sent(sequence))).status, 204)
      assert.deepEqual(
        heard,
        [5, 2, 2].map((sequence) => [actor.id, 'sub1', true, peer.peerId, sent(sequence)]),
      )
      assert.equal((await peer.tell(sent(13))).status, 400)
      assert.equal((await peer.tell([1])).status, 400)
      assert.deepEqual([await peer.copy(), await peer.sequence(), await peer.waiting()], [{}, 0, []])
    })

    it('answers as the callback named subscription decides, and 400 without a handler (R-SUB-11)', async () => {
      const service = await start({
        autoSequence: false,
        declare: (app) => app.callback('subscription', ({ data }) => data['sequence'] === 1),
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      assert.equal((await peer.diff(1, {})).status, 204)
      assert.equal((await peer.diff(2, {})).status, 400)
      const silent = await start({ autoSequence: false })
      const other = await silent.createActor()
      assert.equal((await (await listenTo(silent, other)).diff(1, {})).status, 400)
    })

    it('does not acknowledge a callback whose handler throws (R-SUB-11)', async () => {
      const service = await start({
        autoSequence: false,
        declare: (app) =>
          app.subscription(() => {
            throw new Error('the handler broke')
          }),
      })
      const actor = await service.createActor()
      assert.equal((await (await listenTo(service, actor)).diff(1, {})).status, 500)
    })
  })

  describe('a permission push from a peer', () => {
    const push = (timestamp: string, properties: object | null): object => ({
      id: 'b1',
      target: 'permissions',
      type: 'permission',
      timestamp,
      data: { properties, methods: null, actions: null, tools: null, resources: null, prompts: null },
    })
    const reading = (...patterns: string[]): object => ({ patterns, operations: ['read'], excluded_patterns: [] })

    async function world(options: StartOptions = {}) {
      const heard: unknown[] = []
      const clock = new ManualClock()
      const peers = new ScriptedPeers()
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        peerClient: peers,
        declare: (app) =>
          app.callback('permissions', ({ data }) => {
            heard.push([data['granting_actor_id'], data['method'], data['permission_changes']])
            throw new Error('logged')
          }),
        ...options,
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      // No subscription content by default; a test that expects a fetch publishes its own.
      peers.answers.set(`GET /subscriptions/${actor.id}/${peer.id}`, null)
      const grant = (body: unknown, method = 'POST'): Promise<Response> =>
        peer.request(method, `/callbacks/permissions/${peer.peerId}`, body)
      const cached = async (): Promise<Record<string, unknown>> => {
        const all = await attributesOf(actor, '_peer_permissions')
        return (all[`${actor.id}:${peer.peerId}`] ?? {}) as Record<string, unknown>
      }
      return { service, actor, peers, peer, clock, heard, grant, cached }
    }

    it('is stored, compared and passed to the handler (R-PERM-05, R-SUB-08)', async () => {
      const { actor, peer, heard, grant, cached } = await world()
      assert.equal((await grant(push('2031-01-01T00:00:00.000001+00:00', reading('a', 'b')))).status, 204)
      const { fetched_at: fetchedAt, ...kept } = await cached()
      assert.equal(typeof fetchedAt, 'string')
      assert.deepEqual(kept, {
        actor_id: actor.id,
        peer_id: peer.peerId,
        properties: { patterns: ['a', 'b'], operations: ['read'], excluded_patterns: [] },
        methods: null,
        actions: null,
        tools: null,
        resources: null,
        prompts: null,
        timestamp: '2031-01-01T00:00:00.000001+00:00',
        fetch_error: null,
      })
      assert.equal((await grant(push('2031-01-02T00:00:00+00:00', reading('b', 'c')), 'PUT')).status, 204)
      assert.deepEqual(heard, [
        [
          peer.peerId,
          'POST',
          { is_initial: true, granted_patterns: ['a', 'b'], revoked_patterns: [], has_revocations: false },
        ],
        [
          peer.peerId,
          'POST',
          { is_initial: false, granted_patterns: ['c'], revoked_patterns: ['a'], has_revocations: true },
        ],
      ])
    })

    it('is ignored when it is older than the stored permissions (R-PERM-05)', async () => {
      const { peer, heard, grant, cached } = await world()
      await peer.diff(1, { a: 1, b: 1 })
      await grant(push('2031-01-02T00:00:00Z', reading('a', 'b')))
      const before = await cached()
      assert.equal((await grant(push('2031-01-01T23:59:59.999+00:00', reading('b')))).status, 204)
      assert.deepEqual([await cached(), await peer.copy(), heard.length], [before, { a: 1, b: 1 }, 1])
    })

    it('is stored when it has the present time and the stored one was of a clock that was ahead (R-PERM-05, PEER-12)', async () => {
      const { peer, grant, cached } = await world()
      await peer.diff(1, { a: 1, b: 1 })
      await grant(push('2031-01-02T00:00:00Z', reading('a', 'b')))
      assert.equal((await grant(push('2026-01-02T00:00:00Z', reading('b')))).status, 204)
      assert.equal(((await cached()) as { timestamp: string }).timestamp, '2026-01-02T00:00:00Z')
      assert.deepEqual(await peer.copy(), { b: 1 })
      const before = await cached()
      assert.equal((await grant(push('2026-01-01T00:00:00Z', reading('a')))).status, 204)
      assert.deepEqual(await cached(), before)
    })

    it('removes only the revoked lists and values from the copy (R-PERM-05, ACL-06)', async () => {
      const { peer, grant } = await world()
      await peer.diff(1, { a: 1, ab: 1, notes: { list: 'notes', operation: 'extend', items: [1, 2] } })
      await peer.diff(2, { kept: { list: 'kept', operation: 'append', item: 1 }, never: 1 })
      await grant(push('2031-01-01T00:00:00Z', reading('a', 'ab', 'notes', 'kept')))
      await grant(push('2031-01-02T00:00:00Z', reading('ab', 'kept')))
      assert.deepEqual(await peer.copy(), { ab: 1, kept: [1], never: 1 })
    })

    it('keeps revoked data when the application configures that (R-PERM-05)', async () => {
      const { peer, grant } = await world({ autoDeleteRevoked: false })
      await peer.diff(1, { a: 1 })
      await grant(push('2031-01-01T00:00:00Z', reading('a')))
      await grant(push('2031-01-02T00:00:00Z', null))
      assert.deepEqual(await peer.copy(), { a: 1 })
    })

    it('causes a fetch of newly granted data (R-PERM-05)', async () => {
      const { actor, peer, peers, grant } = await world()
      await peer.diff(1, { a: 1 })
      // After the first push everything is fetched, because earlier data may have been fetched with other rights.
      peers.publish({ subscriber: actor.id, id: peer.id }, { a: 2 }, 2)
      await grant(push('2031-01-01T00:00:00Z', reading('a')))
      await until(async () => (await peer.sequence()) === 2)
      assert.deepEqual(await peer.copy(), { a: 2 })
      const known = peers.calls.length
      peers.publish({ subscriber: actor.id, id: peer.id }, { a: 2, more: [1] }, 2)
      await grant(push('2031-01-02T00:00:00Z', reading('a', 'more')))
      await until(async () => JSON.stringify(await peer.copy()) === '{"a":2,"more":[1]}')
      assert.deepEqual(
        peers.asked.slice(known).filter((asked) => asked.includes('/properties')),
        ['GET /properties', 'GET /properties/more'],
      )
    })

    it('is accepted only from that peer (PEER-01, PEER-06, R-SUB-08)', async () => {
      const { service, actor, peer, heard, cached } = await world()
      const other = await relateTo(service, actor, { baseuri: 'https://other.example.com/o' })
      const pending = await relateTo(service, actor, { baseuri: 'https://pending.example.com/p', approved: false })
      const body = JSON.stringify(push('2031-01-01T00:00:00Z', reading('*')))
      const cases: readonly [who: string, peerId: string, headers: Record<string, string>, status: number][] = [
        ['no credentials', peer.peerId, {}, 401],
        ['a wrong secret', peer.peerId, { authorization: 'Bearer nothing' }, 403],
        ['another peer', peer.peerId, { authorization: `Bearer ${other.secret}` }, 403],
        ['the creator', peer.peerId, { authorization: actor.authorization }, 403],
        ['a peer that is not approved', pending.peerId, { authorization: `Bearer ${pending.secret}` }, 403],
        ['a peer in the name of an unknown peer', 'unknown', { authorization: `Bearer ${peer.secret}` }, 403],
      ]
      for (const [who, peerId, headers, status] of cases) {
        const answer = await service.request(`/${actor.id}/callbacks/permissions/${peerId}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body,
        })
        assert.equal(answer.status, status, who)
      }
      assert.deepEqual([await cached(), heard], [{}, []])
    })

    it('is rejected and changes nothing when it is malformed (R-PERM-05)', async () => {
      const { grant, cached, heard } = await world()
      for (const body of [
        [1],
        'text',
        { data: [1] },
        { data: { properties: 7 } },
        { data: { properties: { patterns: 'a' } } },
      ]) {
        assert.equal((await grant(body)).status, 400, JSON.stringify(body))
      }
      assert.deepEqual([await cached(), heard], [{}, []])
      assert.equal((await grant({})).status, 204)
      assert.equal((await cached())['properties'], null)
    })
  })

  describe('property names that a peer chooses', () => {
    it('never replace a list or its items (R-SUB-09, PEER-10)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const forged = {
        'list:notes:meta': { length: 3 },
        'list:notes:0': { forged: true },
        'list:more:meta': { length: 2 },
      }
      const published = { notes: ['a', 'b'], 'list:plain': 'a string', ...forged }
      peers.publish({ subscriber: actor.id, id: peer.id }, published, 1)
      assert.equal((await peer.tell({ type: 'resync', sequence: 1 })).status, 204)
      assert.deepEqual(await peer.copy(), { notes: ['a', 'b'], 'list:plain': 'a string' })
    })

    it('never replace a list in a subscription to such a name (R-SUB-09)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await listenTo(service, actor, { subtarget: 'list:notes:meta', resource: 'length' })
      assert.equal((await peer.diff(1, 3)).status, 204)
      assert.deepEqual(await peer.copy(), {})
    })
  })

  describe('the fetches that a peer can cause', () => {
    it('are limited to four concurrent callbacks, with 429 for the fifth (R-LIM-01, OUT-10)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const { promise: opened, resolve: open } = Promise.withResolvers<void>()
      peers.answers.set(`GET /subscriptions/${actor.id}/${peer.id}`, { body: { sequence: 1, data: [] } })
      peers.answers.set('GET /properties', async () => {
        await opened
        return { body: { mood: 'whole' } }
      })
      const asked = Array.from({ length: 4 }, () => peer.tell({ type: 'resync', sequence: 1 }))
      await until(() => peers.asked.filter((call) => call === 'GET /properties').length === 4)
      const tooMuch = await peer.tell({ type: 'resync', sequence: 1 })
      assert.deepEqual([tooMuch.status, tooMuch.headers.get('retry-after')], [429, '5'])
      const url = `${peers.baseuri}/subscriptions/${actor.id}/${peer.id}/1`
      assert.equal((await peer.tell({ sequence: 1, granularity: 'low', url })).status, 429)
      assert.equal((await peer.diff(2, { mood: 'waits' })).status, 204)
      open()
      for (const answer of await Promise.all(asked)) assert.ok(answer.status < 300 || answer.status === 503)
      assert.equal((await peer.tell({ type: 'resync', sequence: 1 })).status, 204)
    })

    it('have the size limit of a callback for a single change (R-LIM-01, OUT-10)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers, gapTimeoutSeconds: 3600 })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const path = `/subscriptions/${actor.id}/${peer.id}/2`
      peers.answers.set(`GET ${path}`, { body: { sequence: 2, data: { mood: 'late' } } })
      assert.equal((await peer.tell({ sequence: 2, url: `${peers.baseuri}${path}` })).status, 204)
      assert.deepEqual(await peer.waiting(), [2])
      assert.deepEqual(
        peers.calls.map(({ maxAnswerBytes }) => maxAnswerBytes),
        [2_097_152],
      )
    })

    it('have a total size and time limit for the lists of a peer (R-LIM-01, OUT-10)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const { store, keyRing } = await service.app.running()
      const trust = (await store.read((q) => findTrust(q, actor.id, peer.peerId))) ?? assert.fail()
      peers.publish({ subscriber: actor.id, id: peer.id }, { a: ['x'.repeat(400)], b: ['y'.repeat(400)], c: [] }, 1)
      let time = 0
      const reached = { peerClient: peers, findMovedPeer: () => Promise.reject(new Error('No peer moves')) }
      const wholeOf = async (maxCharacters: number, longestMs: number): Promise<string> => {
        const data = new PeerData(new PeerLinks(store, reached, keyRing, 64), () => (time += 1), {
          maxCharacters,
          longestMs,
        })
        const scope = { target: 'properties', subtarget: '', resource: '' }
        const snapshot = await data.snapshot(trust, scope, peer.id, 1)
        return snapshot.kind === 'failed' ? snapshot.reason : [...snapshot.fetched.keys()].join(' ')
      }
      assert.equal(await wholeOf(2000, 1000), 'a b c')
      assert.equal(await wholeOf(800, 1000), 'The lists are too large together')
      assert.equal(await wholeOf(2000, 2), 'The lists take too long')
    })
  })

  describe('the stored metadata of a peer', () => {
    async function pair(options: StartOptions = {}): Promise<{
      a: TestService
      alice: TestActor
      bob: TestActor
      key: string
      b: TestService
    }> {
      const [a, b] = [
        await start({ listen: true, ...options }),
        await start({
          listen: true,
          declare: (app) => app.method('greet', { description: 'Says hello' }, () => 'hello'),
        }),
      ]
      const [alice, bob] = [await a.createActor('alice@example.com'), await b.createActor('bob@example.com')]
      await bob.request('PUT', '/properties', { displayname: 'Bob', email: 'bob@example.com', other: 'x', nick: 'B' })
      return { a, b, alice, bob, key: `${alice.id}:${bob.id}` }
    }

    it('contains its profile after both actors approved (R-TRUST-04, R-TRUST-05, R-TRUST-07)', async () => {
      const { a, b, alice, bob, key } = await pair()
      await relate(alice, [b, bob])
      await until(async () => key in (await attributesOf(alice, '_peer_profiles')))
      const { fetched_at: fetchedAt, ...profile } = (await attributesOf(alice, '_peer_profiles'))[key] as {
        fetched_at: string
      }
      assert.ok(Date.parse(fetchedAt) > 0)
      assert.deepEqual(profile, {
        displayname: 'Bob',
        email: 'bob@example.com',
        actor_id: alice.id,
        peer_id: bob.id,
        fetch_error: null,
      })
      const handle = await a.app.actors.get(alice.id)
      assert.ok(handle !== undefined)
      assert.equal(((await handle.remote(bob.id).profile()) as { displayname: string }).displayname, 'Bob')
      const record = async (): Promise<{ aw_supported?: string; aw_version?: string }> => {
        const answer = await alice.request('GET', `/trust/friend/${bob.id}`)
        return (await answer.json()) as { aw_supported?: string; aw_version?: string }
      }
      await until(async () => (await record()).aw_supported !== undefined)
      assert.match((await record()).aw_supported ?? '', /,subscriptionresync,/)
      assert.equal((await record()).aw_version, '1.0')
      assert.equal((await alice.request('DELETE', `/trust/friend/${bob.id}`)).status, 204)
      assert.deepEqual(await attributesOf(alice, '_peer_profiles'), {})
    })

    it('follows the callbacks and resyncs of its subscription (R-TRUST-07)', async () => {
      const { a, b, alice, bob, key } = await pair()
      await relate(alice, [b, bob])
      const handle = await a.app.actors.get(alice.id)
      await handle?.subscribe(bob.id)
      const profile = async (): Promise<Record<string, unknown>> =>
        (await attributesOf(alice, '_peer_profiles'))[key] as Record<string, unknown>
      await until(async () => (await profile())?.['displayname'] === 'Bob')
      await bob.request('PUT', '/properties/displayname', 'Robert')
      await until(async () => (await profile())['displayname'] === 'Robert')
      await bob.request('PUT', '/properties', { description: 'Likes walking', other: 'y', email: '' })
      await until(async () => (await profile())['description'] === 'Likes walking')
      assert.deepEqual([(await profile())['email'], (await profile())['other']], [undefined, undefined])
      const publisher = await b.app.actors.get(bob.id)
      await publisher?.subscriptions.suspend('properties')
      await bob.request('PUT', '/properties', { displayname: 'Rob', description: '' })
      assert.equal((await profile())['displayname'], 'Robert')
      await publisher?.subscriptions.resume('properties')
      await until(async () => (await profile())['displayname'] === 'Rob')
      assert.equal((await profile())['description'], undefined)
    })

    it('is fetched again when a callback changes it during a fetch (R-TRUST-07)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      let asked = 0
      peers.answers.set('GET /properties', async () => {
        asked += 1
        if (asked === 1) assert.equal((await peer.diff(1, { displayname: 'Robert' })).status, 204)
        return { body: { displayname: asked === 1 ? 'Bob' : 'Robert', email: 'bob@example.com' } }
      })
      const { parts } = await service.app.running()
      await parts.facts.refresh({ actorId: actor.id, peerId: peer.peerId }, 'mutual')
      const profile = (await attributesOf(actor, '_peer_profiles'))[`${actor.id}:${peer.peerId}`] as Record<
        string,
        unknown
      >
      assert.deepEqual([profile['displayname'], profile['email'], asked], ['Robert', 'bob@example.com', 2])
    })

    it('does not change when a subscription delivers only a key of an attribute (R-TRUST-07)', async () => {
      const { a, b, alice, bob, key } = await pair()
      await bob.request('PUT', '/properties/displayname', { first: 'Bob', last: 'Lee' })
      await relate(alice, [b, bob])
      const handle = await a.app.actors.get(alice.id)
      await handle?.subscribe(bob.id, { subtarget: 'displayname', resource: 'first' })
      const displayName = async (): Promise<unknown> =>
        ((await attributesOf(alice, '_peer_profiles'))[key] as Record<string, unknown> | undefined)?.['displayname']
      await until(async () => (await displayName()) !== undefined)
      await bob.request('PUT', '/properties/displayname/first', 'Robert')
      await until(
        async () => ((await handle?.remote(bob.id).get('displayname')) as { first?: string })?.first === 'Robert',
      )
      assert.deepEqual(await displayName(), { first: 'Bob', last: 'Lee' })
    })

    it('contains only the configured properties, and does not exist when none are configured (R-TRUST-07, R-LIM-01)', async () => {
      const named = await pair({ peerProfileAttributes: ['nick'] })
      await relate(named.alice, [named.b, named.bob])
      await until(async () => named.key in (await attributesOf(named.alice, '_peer_profiles')))
      const profile = (await attributesOf(named.alice, '_peer_profiles'))[named.key] as Record<string, unknown>
      assert.deepEqual(Object.keys(profile).sort(), ['actor_id', 'fetch_error', 'fetched_at', 'nick', 'peer_id'])
      const off = await pair({ peerProfileAttributes: [] })
      await relate(off.alice, [off.b, off.bob])
      const handle = await off.a.app.actors.get(off.alice.id)
      await handle?.subscribe(off.bob.id)
      assert.deepEqual(await attributesOf(off.alice, '_peer_profiles'), {})
    })

    it('includes capabilities and permissions, starting with the first subscription (R-TRUST-07)', async () => {
      const { a, b, alice, bob, key } = await pair()
      await relate(alice, [b, bob])
      const handle = await a.app.actors.get(alice.id)
      await handle?.subscribe(bob.id)
      const capabilities = (await attributesOf(alice, '_peer_capabilities'))[key] as {
        methods: { name: string }[]
        actions: unknown[]
      }
      assert.deepEqual([capabilities.methods.map(({ name }) => name), capabilities.actions], [['greet'], []])
      const granted = (await attributesOf(alice, '_peer_permissions'))[key] as { properties: { patterns: string[] } }
      assert.deepEqual(granted.properties.patterns, ['*'])
    })
  })

  describe("the age of a peer's capabilities", () => {
    const asked = async (capabilitiesMaxAgeSeconds: number, minutes: number): Promise<number> => {
      const clock = new ManualClock()
      const peers = new ScriptedPeers()
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        peerClient: peers,
        capabilitiesMaxAgeSeconds,
      })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      peers.publish({ subscriber: actor.id, id: peer.id }, {})
      peers.answers.set('GET /methods', { body: { methods: [] } })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      clock.pass(minutes * 60_000)
      await handle?.sync(peer.peerId)
      // A peer that serves no actions has an empty list of actions.
      const known = (await handle?.remote(peer.peerId).capabilities()) as { actions: unknown[]; fetch_error: null }
      assert.deepEqual([known.actions, known.fetch_error], [[], null])
      return peers.asked.filter((call) => call === 'GET /methods').length
    }

    it('decides whether they are fetched again (R-TRUST-07, R-LIM-01)', async () => {
      assert.equal(await asked(3600, 59), 1)
      assert.equal(await asked(3600, 61), 2)
      assert.equal(await asked(0, 0), 2)
    })
  })
})

describe('an application-defined callback', () => {
  const start = sqliteService()

  async function world() {
    const heard: unknown[] = []
    const service = await start({
      declare: (app) => {
        app.callback('ring', ({ caller, data }) => {
          heard.push([caller.kind, data])
          return data['quiet'] === true ? undefined : { rung: true }
        })
        app.callback('hook', ({ caller, data }) => void heard.push([caller.kind, data]), { public: true })
        app.callback('hook', () => true)
        app.callback('deep/name', ({ name }) => ({ name }))
        app.appCallback('status', ({ name, data }) => ({ name, data }))
      },
    })
    const actor = await service.createActor()
    const peer = await relateTo(service, actor, { baseuri: 'https://b.example.com/b' })
    const pending = await relateTo(service, actor, { baseuri: 'https://p.example.com/p', approved: false })
    return { service, actor, peer, pending, heard }
  }

  it('returns the result of its handler, and treats PUT as POST (R-SUB-08)', async () => {
    const { actor, peer, heard } = await world()
    for (const [method, body, seen] of [
      ['GET', undefined, { method: 'GET' }],
      ['POST', { a: 1 }, { a: 1, method: 'POST' }],
      ['PUT', { a: 1 }, { a: 1, method: 'POST' }],
      ['POST', [1], { body: [1], method: 'POST' }],
      ['DELETE', undefined, { method: 'DELETE' }],
    ] as const) {
      const answer = await actor.request(method, '/callbacks/ring', body)
      assert.deepEqual([answer.status, await answer.json()], [200, { rung: true }])
      assert.deepEqual(heard.pop(), ['creator', seen])
    }
    const form = await actor.request('POST', '/callbacks/ring', 'a=1&b=x', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    assert.equal(form.status, 200)
    assert.deepEqual(heard.pop(), ['creator', { a: '1', b: 'x', method: 'POST' }])
    const quiet = await peer.request('POST', '/callbacks/ring', { quiet: true })
    assert.deepEqual([quiet.status, await quiet.json()], [200, false])
    assert.deepEqual(heard.pop(), ['peer', { quiet: true, method: 'POST' }])
    const deep = await actor.request('GET', '/callbacks/deep/name')
    assert.deepEqual(await deep.json(), { name: 'deep/name' })
  })

  it('accepts only callers that the actor knows, unless it is public (R-SUB-08, PEER-01)', async () => {
    const { service, actor, peer, pending, heard } = await world()
    const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })
    const cases: readonly [who: string, headers: Record<string, string>, ring: number, hook: number, none: number][] = [
      ['no credentials', {}, 401, 200, 401],
      ['a wrong secret', bearer('nothing'), 403, 403, 403],
      ['a peer that is not approved', bearer(pending.secret), 403, 403, 403],
      ['an approved peer', bearer(peer.secret), 200, 200, 404],
      ['the creator', { authorization: actor.authorization }, 200, 200, 404],
    ]
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      for (const [who, headers, ring, hook, none] of cases) {
        for (const [name, status] of [
          ['ring', ring],
          ['hook', hook],
          ['none', none],
          ['subscriptions', 404],
          ['permissions', 404],
        ] as const) {
          heard.length = 0
          const answer = await service.request(`/${actor.id}/callbacks/${name}`, { method, headers })
          assert.equal(answer.status, status, `${method} ${name} by ${who}`)
          if (status !== 200) assert.deepEqual(heard, [], `${method} ${name} by ${who}`)
        }
      }
    }
    const anonymous = await service.request(`/${actor.id}/callbacks/hook`, { method: 'POST', body: '{"a":1}' })
    // The handler that is not public does not run.
    assert.deepEqual([await anonymous.json(), heard.at(-1)], [false, ['anonymous', { a: 1, method: 'POST' }]])
    assert.equal((await service.request('/unknown/callbacks/hook')).status, 404)
  })

  it('for the whole application has a path outside actors, and receives only the data (R-SUB-08)', async () => {
    const { service } = await world()
    const answer = await service.request('/callbacks/status', { method: 'PUT', body: '{"a":1}' })
    assert.deepEqual(await answer.json(), { name: 'status', data: { a: 1, method: 'POST' } })
    assert.equal((await service.request('/callbacks/none')).status, 404)
    const without = await start()
    assert.equal((await without.request('/callbacks/status')).status, 404)
  })
})
