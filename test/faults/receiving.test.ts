import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { type Listening, listening, listenTo, ScriptedPeers, subscribed } from '../support/scripted-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly peers: ScriptedPeers
  readonly clock: ManualClock
  /** Passes time in steps until the condition holds. */
  readonly until: (holds: () => boolean | Promise<boolean>, stepMs?: number) => Promise<void>
  readonly peer: Listening
}

forEachService((start) => {
  async function world(options: StartOptions = {}, wanted: Parameters<typeof listenTo>[2] = {}): Promise<World> {
    const clock = new ManualClock()
    const peers = new ScriptedPeers()
    const service = await start({ now: clock.now, timers: clock.timers, peerClient: peers, ...options })
    const actor = await service.createActor()
    return {
      service,
      actor,
      peers,
      clock,
      until: (holds, stepMs = 0) => passUntil(clock, [service], holds, stepMs),
      peer: await listenTo(service, actor, wanted),
    }
  }

  describe('callbacks out of order', () => {
    it('are applied once and in order (SUB-04, R-SUB-09)', async () => {
      const heard: number[] = []
      const { peer } = await world({
        declare: (app) => app.subscriptionData('properties', ({ sequence }) => void heard.push(sequence)),
      })
      const item = (n: number): object => ({ notes: { list: 'notes', operation: 'append', item: n, length: n } })
      for (const sequence of [1, 3, 5, 3, 1, 4, 2, 2, 6, 5]) {
        assert.equal((await peer.diff(sequence, item(sequence))).status, 204)
      }
      assert.deepEqual(await peer.copy(), { notes: [1, 2, 3, 4, 5, 6] })
      assert.deepEqual([await peer.sequence(), await peer.waiting(), heard], [6, [], [1, 2, 3, 4, 5, 6]])
    })

    it('leave a gap that is fetched after the configured time and acknowledged (SUB-04, R-SUB-09)', async () => {
      const { service, actor, peer, peers, clock, until } = await world()
      await peer.diff(1, { mood: 'a' })
      await peer.diff(3, { mood: 'c' })
      assert.deepEqual(await peer.waiting(), [3])
      peers.publish({ subscriber: actor.id, id: peer.id }, {}, 3, [
        { sequence: 3, data: { mood: 'c' } },
        { sequence: 2, data: { mood: 'b', size: 2 } },
      ])
      clock.pass(4900)
      await service.settled()
      assert.deepEqual(peers.asked, [])
      await until(async () => (await peer.sequence()) === 3, 50)
      assert.deepEqual(await peer.copy(), { mood: 'c', size: 2 })
      assert.deepEqual(await peer.waiting(), [])
      await until(() => peers.asked.some((asked) => asked.startsWith('PUT')))
      assert.deepEqual(peers.calls.at(-1)?.body, '{"sequence":3}')
    })

    it('leave a gap that a snapshot fills when the diffs are no longer available (SUB-04, R-SUB-09)', async () => {
      const { actor, peer, peers, until } = await world()
      await peer.diff(1, { mood: 'a', gone: 1 })
      await peer.diff(9, { mood: 'z' })
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole', notes: ['x'] }, 9, [
        { sequence: 8, data: { mood: 'y' } },
      ])
      await until(async () => (await peer.sequence()) === 9, 100)
      assert.deepEqual(await peer.copy(), { mood: 'whole', notes: ['x'] })
      assert.deepEqual(await peer.waiting(), [])
    })

    it('leave a gap that another process fetches when the first one stopped (SUB-04)', async () => {
      const first = await world()
      const { actor, peer, peers, clock } = first
      await peer.diff(1, { mood: 'a' })
      await peer.diff(3, { mood: 'c' })
      await first.service.close()
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'c' }, 3)
      const service = await start({
        database: first.service.databaseUrl,
        now: clock.now,
        timers: clock.timers,
        peerClient: peers,
      })
      const again = listening(service, { ...actor }, peer, peer.id)
      await passUntil(clock, [service], async () => (await again.sequence()) === 3, 100)
      assert.deepEqual(await again.copy(), { mood: 'c' })
    })

    it('leave a gap that is retried with backoff while the peer does not answer, and is never dropped (SUB-04)', async () => {
      const { actor, peer, peers, clock, until } = await world()
      await peer.diff(2, { mood: 'b' })
      peers.answers.set(`GET /subscriptions/${actor.id}/${peer.id}`, null)
      const times: number[] = []
      const began = clock.now()
      await until(
        () => {
          while (times.length < peers.calls.length) times.push(clock.now() - began)
          return times.length >= 3
        },
        // Small steps are needed because due work takes real time while the clock advances.
        50,
      )
      const gaps = times.map((time, index) => time - (times[index - 1] ?? 0))
      for (const [index, least] of [5000, 10_000, 20_000].entries()) {
        const gap = gaps[index] ?? 0
        assert.ok(gap >= least && gap <= least + 6000, String(gaps))
      }
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'b' }, 2)
      await until(async () => (await peer.sequence()) === 2, 1000)
      assert.deepEqual(await peer.copy(), { mood: 'b' })
    })

    it('beyond the peer’s own sequence are dropped after a query and not fetched again (SUB-04)', async () => {
      const { service, actor, peer, peers, clock, until } = await world()
      await peer.diff(1, { mood: 'a' })
      await peer.diff(1_000_000, { mood: 'z' })
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'a' }, 1)
      await until(async () => (await peer.waiting()).length === 0, 500)
      const asked = peers.calls.length
      clock.pass(3_600_000)
      await service.settled()
      assert.equal(peers.calls.length, asked)
      assert.deepEqual(await peer.copy(), { mood: 'a' })
    })

    it('get 429 with Retry-After beyond the limit, and stored ones remain (SUB-05, R-SUB-09)', async () => {
      const { peer } = await world()
      for (let sequence = 2; sequence <= 101; sequence++) {
        assert.equal((await peer.diff(sequence, { n: sequence })).status, 204)
      }
      const refused = await peer.diff(102, { n: 102 })
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
      assert.deepEqual(await refused.json(), {
        retry_after: 5,
        error: 'too_many_requests',
        message: 'Cannot take this callback: too many callbacks wait for a missing one',
      })
      assert.equal((await peer.waiting()).length, 100)
      assert.equal((await peer.diff(50, { n: 50 })).status, 204)
      assert.equal((await peer.diff(1, { n: 1 })).status, 204)
      assert.deepEqual([await peer.sequence(), await peer.copy(), await peer.waiting()], [101, { n: 101 }, []])
      assert.equal((await peer.diff(102, { n: 102 })).status, 204)
      assert.deepEqual(await peer.copy(), { n: 102 })
    })

    it('with one sequence number are applied once when they arrive concurrently (SUB-04)', async () => {
      const { peer } = await world()
      const diff = { notes: { list: 'notes', operation: 'append', item: 'x', length: 1 } }
      const answers = await Promise.all(Array.from({ length: 8 }, () => peer.diff(1, diff)))
      assert.deepEqual(
        answers.map(({ status }) => status),
        Array.from({ length: 8 }, () => 204),
      )
      assert.deepEqual(await peer.copy(), { notes: ['x'] })
    })

    it('of type resync replace all data, and stored later diffs are applied afterwards (SUB-04)', async () => {
      const { actor, peer, peers } = await world()
      await peer.diff(1, { mood: 'a', gone: 1 })
      await peer.diff(6, { notes: { list: 'notes', operation: 'append', item: 3, length: 3 } })
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole', notes: [1, 2] }, 5)
      const answer = await peer.tell({ type: 'resync', sequence: 5, url: `${peers.baseuri}/properties` })
      assert.equal(answer.status, 204)
      assert.deepEqual(await peer.copy(), { mood: 'whole', notes: [1, 2, 3] })
      assert.deepEqual([await peer.sequence(), await peer.waiting()], [6, []])
      // A resync with a lower sequence number restarts the sequence.
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'restarted' }, 1)
      assert.equal((await peer.tell({ type: 'resync', sequence: 1 })).status, 204)
      assert.deepEqual([await peer.sequence(), await peer.copy()], [1, { mood: 'restarted' }])
    })

    it('of type resync are not acknowledged while the snapshot cannot be fetched, which is retried (SUB-04)', async () => {
      const { actor, peer, peers, until } = await world()
      await peer.diff(1, { mood: 'a' })
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole' }, 2)
      peers.answers.set('GET /properties', { status: 503 })
      const answer = await peer.tell({ type: 'resync', sequence: 2 })
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'])
      assert.deepEqual([await peer.sequence(), await peer.copy()], [1, { mood: 'a' }])
      peers.answers.set('GET /properties', { body: { mood: 'whole' } })
      await until(async () => (await peer.sequence()) === 2, 500)
      assert.deepEqual(await peer.copy(), { mood: 'whole' })
    })

    it('of type resync do not revert the copy when a repeated one finishes late (SUB-04)', async () => {
      const { actor, peer, peers } = await world()
      const path = `GET /subscriptions/${actor.id}/${peer.id}`
      const asked = Promise.withResolvers<void>()
      const goneOn = Promise.withResolvers<void>()
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole' }, 5)
      const now = peers.answers.get(path) ?? null
      peers.answers.set(path, async () => {
        peers.answers.set(path, now)
        asked.resolve()
        await goneOn.promise
        return { body: { sequence: 5, data: [] } }
      })
      const late = peer.tell({ type: 'resync', sequence: 5 })
      await asked.promise
      assert.equal((await peer.tell({ type: 'resync', sequence: 5 })).status, 204)
      assert.equal((await peer.diff(6, { mood: 'six' })).status, 204)
      goneOn.resolve()
      assert.equal((await late).status, 503)
      assert.deepEqual([await peer.sequence(), await peer.copy()], [6, { mood: 'six' }])
    })

    it('of type resync read the snapshot again when the peer changed during the read (SUB-04)', async () => {
      const { actor, peer, peers } = await world()
      let reads = 0
      const path = `/subscriptions/${actor.id}/${peer.id}`
      peers.publish({ subscriber: actor.id, id: peer.id }, { notes: [1] }, 5)
      peers.answers.set('GET /properties/notes', () => {
        reads += 1
        // The concurrent change is part of the second read.
        if (reads === 1) peers.publish({ subscriber: actor.id, id: peer.id }, { notes: [1, 2] }, 6)
        return { body: reads === 1 ? [1, 2] : [1, 2] }
      })
      assert.equal((await peer.tell({ type: 'resync', sequence: 5 })).status, 204)
      assert.equal(
        (await peer.diff(6, { notes: { list: 'notes', operation: 'append', item: 2, length: 2 } })).status,
        204,
      )
      assert.deepEqual([await peer.copy(), await peer.sequence()], [{ notes: [1, 2] }, 6])
      assert.ok(peers.asked.includes(`GET ${path}`))
    })
  })

  describe('a callback with only a URL', () => {
    it('is fetched with the secret, applied and acknowledged (OUT-08, R-SUB-09)', async () => {
      const { actor, peer, peers, until } = await world({}, { granularity: 'low' })
      const path = `/subscriptions/${actor.id}/${peer.id}/1`
      peers.answers.set(`GET ${path}`, { body: { sequence: 1, data: { mood: 'sunny' } } })
      peers.answers.set(`PUT /subscriptions/${actor.id}/${peer.id}`, { status: 204 })
      const callback = { sequence: 1, granularity: 'low', url: `${peers.baseuri}${path}` }
      assert.equal((await peer.tell(callback)).status, 204)
      assert.deepEqual([await peer.copy(), await peer.sequence()], [{ mood: 'sunny' }, 1])
      assert.deepEqual(peers.calls[0]?.bearer, { secret: peer.secret, baseuri: peers.baseuri })
      await until(() => peers.calls.length > 1)
      assert.deepEqual(
        [peers.calls[1]?.method, peers.calls[1]?.url, peers.calls[1]?.body],
        ['PUT', `${peers.baseuri}/subscriptions/${actor.id}/${peer.id}`, '{"sequence":1}'],
      )
      // A repetition of an applied callback fetches nothing.
      assert.equal((await peer.tell(callback)).status, 204)
      assert.equal(peers.asked.filter((asked) => asked.startsWith('GET')).length, 1)
    })

    it('is not acknowledged when the fetch fails, and is fetched later (SUB-04)', async () => {
      const { actor, peer, peers, until } = await world()
      const path = `/subscriptions/${actor.id}/${peer.id}/1`
      peers.answers.set(`GET ${path}`, { status: 500 })
      const answer = await peer.tell({ sequence: 1, granularity: 'low', url: `${peers.baseuri}${path}` })
      assert.equal(answer.status, 503)
      assert.deepEqual([await peer.copy(), await peer.sequence()], [{}, 0])
      peers.publish({ subscriber: actor.id, id: peer.id }, {}, 1, [{ sequence: 1, data: { mood: 'late' } }])
      await until(async () => (await peer.sequence()) === 1, 500)
      assert.deepEqual(await peer.copy(), { mood: 'late' })
    })
  })

  describe('the sender of a callback', () => {
    it('must be the peer of the path with its secret, before the body has any effect (PEER-01, R-SUB-08)', async () => {
      const { service, actor, peer } = await world()
      const other = await relateTo(service, actor, { baseuri: 'https://other.example.com/o' })
      const pending = await relateTo(service, actor, { baseuri: 'https://pending.example.com/p', approved: false })
      await subscribed(service, actor, pending.peerId, { id: 'sub2' })
      const path = `/${actor.id}/callbacks/subscriptions/${peer.peerId}/${peer.id}`
      const body = JSON.stringify({ sequence: 1, data: { mood: 'taken' } })
      const cases: readonly [who: string, headers: Record<string, string>, status: number, to?: string][] = [
        ['no credentials', {}, 401],
        ['a wrong secret', { authorization: 'Bearer 0123456789012345678901234567890123456789' }, 403],
        ['a secret that is cut off', { authorization: `Bearer ${peer.secret.slice(1)}` }, 403],
        ['another peer', { authorization: `Bearer ${other.secret}` }, 403],
        ['the creator', { authorization: actor.authorization }, 403],
        [
          'a peer that is not approved',
          { authorization: `Bearer ${pending.secret}` },
          403,
          `/${actor.id}/callbacks/subscriptions/${pending.peerId}/sub2`,
        ],
      ]
      for (const method of ['POST', 'PUT']) {
        for (const [who, headers, status, to = path] of cases) {
          for (const sent of [body, '{"sequence":', '[]']) {
            const answer = await service.request(to, {
              method,
              headers: { 'content-type': 'application/json', ...headers },
              body: sent,
            })
            assert.equal(answer.status, status, `${method} by ${who}`)
          }
        }
      }
      assert.deepEqual([await peer.copy(), await peer.sequence(), await peer.waiting()], [{}, 0, []])
      const put = await peer.request('PUT', `/callbacks/subscriptions/${peer.peerId}/${peer.id}`, JSON.parse(body))
      assert.deepEqual([put.status, await peer.copy()], [204, { mood: 'taken' }])
    })

    it('gets 404 for an unknown subscription only as its peer or with an unknown token, and changes nothing (PEER-02)', async () => {
      const { service, actor, peer } = await world()
      const other = await listenTo(service, actor, { baseuri: 'https://other.example.com/o', id: 'sub9' })
      const tokens = [null, `Bearer ${peer.secret}`, `Bearer ${other.secret}`, 'Bearer of-an-ended-relationship']
      for (const [path, statuses] of [
        [`/callbacks/subscriptions/${peer.peerId}/unknown`, [401, 404, 403, 404]],
        [`/callbacks/subscriptions/${peer.peerId}/sub9`, [401, 404, 403, 404]],
        ['/callbacks/subscriptions/unknown/sub1', [401, 403, 403, 404]],
        [`/callbacks/subscriptions/${peer.peerId}`, [404, 404, 404, 404]],
      ] as const) {
        for (const [n, authorization] of tokens.entries()) {
          const answer = await service.request(`/${actor.id}${path}`, {
            method: 'POST',
            headers: authorization === null ? {} : { authorization },
            body: '{"sequence":1,"data":{"mood":"taken"}}',
          })
          assert.equal(answer.status, statuses[n], `${path} ${n}`)
        }
      }
      assert.deepEqual([await peer.copy(), await other.copy()], [{}, {}])
    })

    it('can end only its own subscriptions (PEER-02, R-SUB-06, R-SUB-08)', async () => {
      const { service, actor, peer } = await world()
      const other = await listenTo(service, actor, { baseuri: 'https://other.example.com/o', id: 'sub9' })
      const path = `/callbacks/subscriptions/${peer.peerId}/${peer.id}`
      assert.equal((await other.request('DELETE', path)).status, 403)
      assert.equal((await service.request(`/${actor.id}${path}`, { method: 'DELETE' })).status, 401)
      assert.equal(await peer.sequence(), 0)
      assert.equal((await peer.request('DELETE', `/callbacks/subscriptions/${peer.peerId}/sub9`)).status, 204)
      assert.equal(await other.sequence(), 0)
      assert.equal((await peer.request('DELETE', path)).status, 204)
      assert.equal(await peer.sequence(), undefined)
      assert.equal((await peer.diff(1, { mood: 'late' })).status, 404)
      assert.equal((await actor.request('DELETE', path)).status, 404)
    })
  })

  describe('data of a peer', () => {
    it('is cleaned and stored, whatever it holds (PEER-10)', async () => {
      const { actor, peer } = await world()
      const body = `{"sequence":1,"data":{"half":"x\\ud800","nul":"a\\u0000b","big":123456789012345678901234567890,
        "__proto__":{"polluted":true},"constructor":"c","a\\u0000b":1,"":2,"${'n'.repeat(2000)}":3,
        "deep":${'['.repeat(40)}${']'.repeat(40)}}}`
      assert.equal((await peer.send('')).status, 400)
      const sent = await peer.send(body)
      assert.equal(sent.status, 204)
      const shown = await actor.request('GET', `/devtest/attributes/remote:${peer.peerId}`)
      const text = await shown.text()
      assert.match(text, /"half":\{"data":\{"value":"x\ufffd"\}/)
      assert.match(text, /"nul":\{"data":\{"value":"a\\u0000b"\}/)
      assert.match(text, /"big":\{"data":\{"value":123456789012345678901234567890\}/)
      assert.match(text, /"__proto__":\{"data":\{"polluted":true\}/)
      assert.deepEqual(
        Object.keys(JSON.parse(text) as object).sort(),
        ['__proto__', 'big', 'constructor', 'deep', 'half', 'nul'].sort(),
      )
      assert.equal(({} as { polluted?: boolean }).polluted, undefined)
      assert.equal(((await peer.copy()) as { constructor: unknown }).constructor, 'c')
    })

    it('is rejected when it cannot be stored, and changes nothing (PEER-10)', async () => {
      const { peer } = await world()
      const bodies: readonly [body: string, status: number][] = [
        [`{"sequence":1,"data":{"deep":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`, 400],
        ['{"sequence":1,"data":', 400],
        ['[]', 400],
        ['"text"', 400],
        ['{"sequence":"one","data":{}}', 400],
        ['{"sequence":-1,"data":{}}', 400],
        ['{"sequence":1000000000000000,"data":{}}', 400],
        ['{"sequence":9007199254740991,"data":{}}', 400],
        [`{"sequence":1,"data":"${'x'.repeat(3_000_000)}"}`, 413],
      ]
      for (const [body, status] of bodies) assert.equal((await peer.send(body)).status, status, body.slice(0, 60))
      assert.deepEqual([await peer.copy(), await peer.sequence()], [{}, 0])
    })

    it('may be compressed, within the limit of its decompressed size (SUB-13)', async () => {
      const { peer } = await world()
      const packed = (body: string): Promise<Response> => peer.send(gzipSync(body), { 'content-encoding': 'gzip' })
      assert.equal((await packed('{"sequence":1,"data":{"mood":"packed"}}')).status, 204)
      assert.deepEqual(await peer.copy(), { mood: 'packed' })
      assert.equal((await packed(`{"sequence":2,"data":{"x":"${'x'.repeat(50_000_000)}"}}`)).status, 413)
      const broken = await peer.send(new Uint8Array([31, 139, 8, 0, 1]), { 'content-encoding': 'gzip' })
      assert.equal(broken.status, 400)
      assert.equal((await peer.send('{}', { 'content-encoding': 'br' })).status, 415)
      assert.equal(await peer.sequence(), 1)
    })
  })

  describe('a synchronization', () => {
    it('removes nothing when only some subscriptions are unknown to the peer (PEER-09, R-SUB-07)', async () => {
      const { service, actor, peer, peers } = await world()
      await subscribed(service, actor, peer.peerId, { id: 'sub2', subtarget: 'trip' })
      await peer.diff(1, { mood: 'kept' })
      peers.publish({ subscriber: actor.id, id: 'sub2' }, { trip: 'Oslo' }, 0)
      peers.answers.set('GET /properties', { body: { mood: 'kept' } })
      const handle = await service.app.actors.get(actor.id)
      const result = await handle?.sync(peer.peerId)
      assert.deepEqual(
        result?.subscriptions.map(({ subscriptionid, outcome, status }) => [subscriptionid, outcome, status]),
        [
          ['sub1', 'refused', 404],
          ['sub2', 'synced', undefined],
        ],
      )
      assert.equal(result?.trustEnded, false)
      assert.equal((await handle?.remote(peer.peerId).subscriptions())?.length, 2)
      assert.notEqual(await handle?.trust.get(peer.peerId), undefined)
      assert.deepEqual(await peer.copy(), { mood: 'kept', trip: 'Oslo' })
      assert.ok(!peers.asked.some((asked) => asked.includes('/trust/')))
    })

    it('lets a narrower subscription take over when the peer does not know the wider one (PEER-09, SUB-12)', async () => {
      const { service, actor, peer, peers, until } = await world()
      await subscribed(service, actor, peer.peerId, { id: 'sub2', subtarget: 'trip' })
      const narrow = listening(service, actor, peer, 'sub2')
      const trip = { trip: { list: 'trip', operation: 'append', item: 1, length: 1 } }
      await peer.diff(1, trip)
      await narrow.diff(1, trip)
      // Both subscriptions deliver the change, which is applied once.
      assert.deepEqual([await peer.copy(), peers.asked], [{ trip: [1] }, []])
      peers.publish({ subscriber: actor.id, id: 'sub2' }, { trip: [1, 2] }, 2)
      peers.answers.delete('GET /properties')
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId, peer.id)
      await until(async () => JSON.stringify(await peer.copy()) === '{"trip":[1,2]}', 100)
      assert.equal(
        (await narrow.diff(3, { trip: { list: 'trip', operation: 'append', item: 3, length: 3 } })).status,
        204,
      )
      assert.deepEqual(await peer.copy(), { trip: [1, 2, 3] })
      // The peer knows the wider subscription again, which takes over after it has fetched its snapshot.
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { trip: [1, 2, 3, 4], mood: 'back' }, 5)
      assert.equal((await peer.diff(5, { mood: 'back' })).status, 204)
      await until(async () => (await peer.sequence()) === 5, 500)
      assert.deepEqual(await peer.copy(), { mood: 'back', trip: [1, 2, 3, 4] })
      assert.equal((await handle?.remote(peer.peerId).subscriptions())?.length, 2)
    })

    it('lets a polled subscription take over data of another one that the peer does not know (PEER-09, SUB-12)', async () => {
      const { service, actor, peer, peers, until } = await world({}, { granularity: 'none' })
      await subscribed(service, actor, peer.peerId, { id: 'sub2', subtarget: 'trip' })
      const sub1 = { subscriber: actor.id, id: 'sub1' }
      peers.publish(sub1, { mood: 'a', trip: 'Oslo' }, 1)
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"a","trip":"Oslo"}', 100)
      peers.publish(sub1, { mood: 'a', trip: 'Rome' }, 2, [{ sequence: 2, data: { trip: 'Rome' } }])
      await handle?.sync(peer.peerId, 'sub1')
      assert.deepEqual(await peer.copy(), { mood: 'a', trip: 'Rome' })
    })

    it('of one subscription removes nothing immediately, and resolves an unknown one soon after (PEER-09, R-SUB-07)', async () => {
      const { service, actor, peer, peers, until } = await world()
      await peer.diff(1, { mood: 'kept' })
      peers.answers.set(`GET /trust/${actor.id}`, { body: { id: 'b1', relationship: 'friend' } })
      const handle = await service.app.actors.get(actor.id)
      const result = await handle?.sync(peer.peerId, 'sub1')
      assert.deepEqual(
        result?.subscriptions.map(({ outcome, status }) => [outcome, status]),
        [['refused', 404]],
      )
      assert.equal((await handle?.remote(peer.peerId).subscriptions())?.length, 1)
      assert.deepEqual(await peer.copy(), { mood: 'kept' })
      await until(async () => (await handle?.remote(peer.peerId).subscriptions())?.length === 0, 1000)
      assert.deepEqual(await peer.copy(), {})
      assert.notEqual(await handle?.trust.get(peer.peerId), undefined)
    })

    it('is completed by another process when the first one stopped before the peer’s answer (PEER-09, R-SUB-07)', async () => {
      const first = await world()
      const { actor, peer, peers, clock } = first
      await peer.diff(1, { mood: 'kept' })
      const asked = Promise.withResolvers<void>()
      peers.answers.set(`GET /trust/${actor.id}`, () => {
        asked.resolve()
        return new Promise(() => {})
      })
      const dying = await first.service.app.actors.get(actor.id)
      void dying?.sync(peer.peerId)
      await asked.promise
      peers.answers.set(`GET /trust/${actor.id}`, { body: { id: 'b1', relationship: 'friend' } })
      const { databaseUrl: database } = first.service
      const service = await start({ database, now: clock.now, timers: clock.timers, peerClient: peers })
      const handle = await service.app.actors.get(actor.id)
      const known = async () => handle?.remote(peer.peerId).subscriptions()
      await passUntil(clock, [service], async () => (await known())?.length === 0, 1000)
      assert.deepEqual(await listening(service, actor, peer, 'sub1').copy(), {})
    })

    it('queries an unknown subscription again when the last known one ends or after a new approval (PEER-09)', async () => {
      const { service, actor, peer, peers, clock, until } = await world()
      await subscribed(service, actor, peer.peerId, { id: 'sub2', subtarget: 'trip' })
      peers.publish({ subscriber: actor.id, id: 'sub2' }, { trip: 'Oslo' }, 0)
      const handle = await service.app.actors.get(actor.id)
      const left = async () =>
        (await handle?.remote(peer.peerId).subscriptions())?.map(({ subscriptionid }) => subscriptionid)
      const path = `GET /subscriptions/${actor.id}/sub1`
      const times = () => peers.asked.filter((asked) => asked === path).length
      await handle?.sync(peer.peerId)
      assert.deepEqual(await left(), ['sub1', 'sub2'])
      // No query is repeated while the peer knows another subscription.
      await until(() => !peers.asked.slice(-1).includes(path), 1000)
      const before = times()
      for (let hour = 0; hour < 3; hour++) {
        clock.pass(3_600_000)
        await service.settled()
      }
      assert.equal(times(), before)
      for (const approved of [false, true]) {
        await actor.request('PUT', `/trust/friend/${peer.peerId}`, JSON.stringify({ approved }))
      }
      await until(() => times() > before, 1000)
      assert.deepEqual(await left(), ['sub1', 'sub2'])
      peers.answers.set(`GET /trust/${actor.id}`, { body: { id: 'b1', relationship: 'friend' } })
      await peer.request('DELETE', `/subscriptions/${peer.peerId}/sub2`)
      await until(async () => JSON.stringify(await left()) === '[]', 1000)
    })

    it('does not end a relationship that was renewed meanwhile, on a rejection of the old secret (PEER-09)', async () => {
      const events: unknown[] = []
      const { service, actor, peer, peers, until } = await world(
        { declare: (app) => app.on('trust_deleted', () => void events.push('trust_deleted')) },
        { peerId: 'b1' },
      )
      peers.answers.set(`GET /trust/friend/${actor.id}`, { body: { verification_token: 'shown' } })
      peers.answers.set(`GET /trust/${actor.id}`, async () => {
        const renewed = await service.request(`/${actor.id}/trust/friend`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ baseuri: peers.baseuri, id: 'b1', secret: 'a'.repeat(40), verify: 'shown' }),
        })
        assert.ok(renewed.ok, String(renewed.status))
        peers.answers.set(`GET /trust/${actor.id}`, { body: { id: 'b1', relationship: 'friend' } })
        return { status: 403 }
      })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      assert.notEqual(await handle?.trust.get('b1'), undefined)
      assert.deepEqual(events, [])
      // With the new secret, the peer knows the relationship, but still not the subscription.
      await until(async () => (await handle?.remote('b1').subscriptions())?.length === 0, 1000)
      assert.notEqual(await handle?.trust.get('b1'), undefined)
    })

    it('is repeated when the relationship was approved while the snapshot was rejected (ACL-06, I4)', async () => {
      const { service, actor, peer, peers, until } = await world()
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 3)
      peers.answers.set('GET /properties', async () => {
        for (const approved of [false, true]) {
          await actor.request('PUT', `/trust/friend/${peer.peerId}`, JSON.stringify({ approved }))
        }
        peers.answers.set('GET /properties', { body: { mood: 'seen' } })
        return { status: 403 }
      })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId, 'sub1')
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}', 1000)
    })

    const granting = (timestamp: string, ...patterns: string[]): object => ({
      target: 'permissions',
      type: 'permission',
      timestamp,
      data: { properties: { patterns, operations: ['read'] } },
    })

    it('fetches the data of a first permission callback, which an earlier snapshot may lack (ACL-06, I4)', async () => {
      const { actor, peer, peers, until } = await world()
      assert.equal((await peer.diff(1, { gone: 'before' })).status, 204)
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 1)
      const path = `/callbacks/permissions/${peer.peerId}`
      assert.equal((await peer.request('POST', path, granting('2031-01-01T00:00:00Z', '*'))).status, 204)
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}')
    })

    it('accepts permissions with names that this version does not know', async () => {
      const { actor, peer, peers, until } = await world()
      assert.equal((await peer.diff(1, { gone: 'before' })).status, 204)
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 1)
      const data = {
        properties: { patterns: ['*'], operations: ['read', 'share'], level: 3 },
        streams: { patterns: ['*'], operations: ['watch'] },
      }
      const body = { ...granting('2031-01-01T00:00:00Z'), data }
      assert.equal((await peer.request('POST', `/callbacks/permissions/${peer.peerId}`, body)).status, 204)
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}')
    })

    it('drops data of withdrawn rights even without earlier knowledge of the rights (ACL-06, I4)', async () => {
      const { actor, peer, peers, until } = await world()
      peers.publish({ subscriber: actor.id, id: 'sub1' }, {}, 1)
      assert.equal((await peer.diff(1, { mood: 'seen' })).status, 204)
      const path = `/callbacks/permissions/${peer.peerId}`
      assert.equal((await peer.request('POST', path, granting('2031-01-01T00:00:00Z'))).status, 204)
      await until(async () => JSON.stringify(await peer.copy()) === '{}')
    })

    it('drops data of withdrawn rights from diffs that wait for a missing one, too (ACL-06, I4)', async () => {
      const { actor, peer, peers, until } = await world({ peerProfileAttributes: [] })
      const path = `/callbacks/permissions/${peer.peerId}`
      const grant = async (timestamp: string, ...patterns: string[]): Promise<void> =>
        assert.equal((await peer.request('POST', path, granting(timestamp, ...patterns))).status, 204)
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { trip: 'seen' }, 0)
      await grant('2031-01-01T00:00:00Z', 'mood', 'trip')
      await until(async () => JSON.stringify(await peer.copy()) === '{"trip":"seen"}')
      assert.equal((await peer.diff(2, { mood: 'seen', trip: 'newer' })).status, 204)
      await grant('2031-01-02T00:00:00Z', 'trip')
      // The snapshot fails for now, so that only the stored diffs decide.
      peers.answers.set('GET /properties', { status: 503 })
      assert.equal((await peer.diff(1, { trip: 'new' })).status, 204)
      assert.equal('mood' in ((await peer.copy()) as object), false)
      peers.answers.delete('GET /properties')
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { trip: 'newer' }, 2)
      await until(async () => JSON.stringify(await peer.copy()) === '{"trip":"newer"}', 1000)
    })

    it('fetches data that was granted during the first snapshot (ACL-06, I4)', async () => {
      const { service, actor, peers, until } = await world({ peerProfileAttributes: [] })
      const publisher = await relateTo(service, actor, { peerId: 'b2', baseuri: peers.baseuri })
      const rights = (...patterns: string[]): object => ({
        body: { permissions: { properties: { patterns, operations: ['read'] } } },
      })
      peers.publish({ subscriber: actor.id, id: 'first' }, {}, 0)
      peers.answers.set(`POST /subscriptions/${actor.id}`, {
        status: 201,
        headers: { location: `${peers.baseuri}/subscriptions/${actor.id}/first` },
        body: { subscriptionid: 'first' },
      })
      peers.answers.set(`GET /permissions/${actor.id}`, rights())
      peers.answers.set('GET /properties', () => {
        peers.answers.set('GET /properties', { body: { mood: 'seen' } })
        peers.answers.set(`GET /permissions/${actor.id}`, rights('*'))
        return { body: {} }
      })
      const wanted = { peerid: 'b2', target: 'properties', granularity: 'high' }
      assert.equal((await actor.request('POST', '/subscriptions', wanted)).status, 204)
      const first = listening(service, actor, publisher, 'first')
      const path = '/callbacks/permissions/b2'
      assert.equal((await publisher.request('POST', path, granting('2031-01-01T00:00:00Z', '*'))).status, 204)
      await until(async () => JSON.stringify(await first.copy()) === '{"mood":"seen"}')
    })

    it('queries the rights after a new approval, because callbacks meanwhile were rejected (ACL-06, I4)', async () => {
      const { service, actor, peer, peers, until } = await world({ peerProfileAttributes: [] })
      const path = `/callbacks/permissions/${peer.peerId}`
      const grant = async (timestamp: string, ...patterns: string[]): Promise<number> =>
        (await peer.request('POST', path, granting(timestamp, ...patterns))).status
      const approve = async (approved: boolean): Promise<void> => {
        const answer = await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved })
        assert.equal(answer.status, 204)
      }
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 0)
      assert.equal(await grant('2031-01-01T00:00:00Z', '*'), 204)
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}')
      await approve(false)
      assert.equal(await grant('2031-01-02T00:00:00Z'), 403)
      peers.publish({ subscriber: actor.id, id: 'sub1' }, {}, 0)
      peers.answers.set(`GET /permissions/${actor.id}`, {
        body: { permissions: { properties: { patterns: [], operations: ['read'] } } },
      })
      await approve(true)
      await until(async () => JSON.stringify(await peer.copy()) === '{}')
      // The copy is empty after the snapshot, but the query for the rights may still be in progress.
      await (await service.app.running()).parts.facts.settled()
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 0)
      assert.equal(await grant('2031-01-03T00:00:00Z', '*'), 204)
      await until(async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}')
    })

    it('queries the rights again when a newer permission callback arrives during the query (ACL-06, I4)', async () => {
      const { service, actor, peer, peers } = await world()
      const rights = (...patterns: string[]): object => ({
        body: { permissions: { properties: { patterns, operations: ['read'] } } },
      })
      const path = `/callbacks/permissions/${peer.peerId}`
      const grant = async (timestamp: string, ...patterns: string[]): Promise<void> =>
        assert.equal((await peer.request('POST', path, granting(timestamp, ...patterns))).status, 204)
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 3)
      await grant('2031-01-01T00:00:00Z', 'trip')
      let asked = 0
      peers.answers.set(`GET /permissions/${actor.id}`, async () => {
        if (++asked > 1) return rights('mood', 'trip')
        await grant('2031-01-02T00:00:00Z', 'mood', 'trip')
        return rights('trip')
      })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      assert.deepEqual([asked, await peer.copy()], [2, { mood: 'seen' }])
    })

    const changesOnTheWay: readonly [what: string, before: object, after: object][] = [
      ['restores no withdrawn data', { mood: 'seen', trip: 'seen' }, { trip: 'seen' }],
      ['removes no newly granted data', { trip: 'seen' }, { mood: 'seen', trip: 'seen' }],
      ['keeps only the granted data of one right that replaces another', { mood: 'seen' }, { trip: 'seen' }],
    ]
    for (const [what, before, after] of changesOnTheWay) {
      it(`${what} when the rights change during the snapshot (ACL-06, I4)`, async () => {
        const { service, actor, peer, peers, until } = await world()
        const show = async (timestamp: string, shown: object): Promise<void> => {
          peers.answers.set('GET /properties', { body: shown })
          const path = `/callbacks/permissions/${peer.peerId}`
          const answer = await peer.request('POST', path, granting(timestamp, ...Object.keys(shown)))
          assert.equal(answer.status, 204)
          // The permission callback starts its own fetch, which finishes first.
          await until(async () => JSON.stringify(await peer.copy()) === JSON.stringify(shown))
        }
        peers.publish({ subscriber: actor.id, id: 'sub1' }, {}, 0)
        await show('2031-01-01T00:00:00Z', before)
        peers.answers.set('GET /properties', async () => {
          await show('2031-01-02T00:00:00Z', after)
          return { body: before }
        })
        const handle = await service.app.actors.get(actor.id)
        await handle?.sync(peer.peerId, 'sub1')
        assert.deepEqual(await peer.copy(), after)
      })
    }

    it('removes nothing when an older secret was rejected (PEER-11, I4)', async () => {
      const { service, actor, peer, peers, until } = await world({}, { peerId: 'b1' })
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { mood: 'seen' }, 0)
      peers.answers.set(`GET /trust/friend/${actor.id}`, { body: { verification_token: 'shown' } })
      const isThere = async () => JSON.stringify(await peer.copy()) === '{"mood":"seen"}'
      peers.answers.set('GET /properties', async () => {
        peers.answers.set('GET /properties', { body: { mood: 'seen' } })
        const renewed = await service.request(`/${actor.id}/trust/friend`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ baseuri: peers.baseuri, id: 'b1', secret: 'a'.repeat(40), verify: 'shown' }),
        })
        assert.ok(renewed.ok, String(renewed.status))
        // Another fetch with the new secret finishes first.
        await until(isThere)
        return { status: 403 }
      })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync('b1', 'sub1')
      assert.ok(await isThere())
    })

    it('fetches a snapshot when polled diffs show that the copy differs (SUB-11, I4)', async () => {
      const { service, actor, peer, peers, until } = await world()
      const append = { list: 'todo', operation: 'append', index: 2, item: 'c', length: 3 }
      const diffs = [{ sequence: 1, data: { todo: append } }]
      peers.publish({ subscriber: actor.id, id: 'sub1' }, { todo: ['a', 'b', 'c'] }, 1, diffs)
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId, 'sub1')
      await until(async () => JSON.stringify(await peer.copy()) === '{"todo":["a","b","c"]}', 1000)
    })

    it('applies the diffs of all answers when one answer does not hold all of them (SUB-36)', async () => {
      const { service, actor, peer, peers } = await world()
      const path = `/subscriptions/${actor.id}/${peer.id}`
      const all = [1, 2, 3, 4, 5].map((sequence) => ({ sequence, data: { [`name${sequence}`]: sequence } }))
      peers.publish({ subscriber: actor.id, id: peer.id }, {}, 5)
      // Number 5 has arrived before the others.
      await peer.diff(5, { name5: 5 })
      let acknowledged = 0
      peers.answers.set(`GET ${path}`, () => {
        const data = all.filter(({ sequence }) => sequence > acknowledged).slice(0, 2)
        const sequence = data.at(-1)?.sequence ?? 5
        return { body: sequence === 5 ? { sequence, data } : { sequence, last_sequence: 5, data } }
      })
      peers.answers.set(`PUT ${path}`, ({ body }) => {
        acknowledged = Math.max(acknowledged, (JSON.parse(String(body)) as { sequence: number }).sequence)
        return { status: 204 }
      })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      assert.deepEqual(
        [await peer.sequence(), await peer.copy()],
        [5, { name1: 1, name2: 2, name3: 3, name4: 4, name5: 5 }],
      )
    })

    it('stores an empty string at a key, also when a wider subscription has the rest (SUB-12, I4)', async () => {
      const { service, actor, peer, peers } = await world({}, { granularity: 'none' })
      await subscribed(service, actor, peer.peerId, { id: 'sub2', subtarget: 'trip', resource: 'to' })
      for (const id of ['sub1', 'sub2']) peers.publish({ subscriber: actor.id, id }, { trip: { to: '', by: '' } }, 0)
      peers.answers.set('GET /properties/trip/to', { body: '""' })
      const handle = await service.app.actors.get(actor.id)
      await handle?.sync(peer.peerId)
      assert.deepEqual(await peer.copy(), { trip: { to: '', by: '' } })
      peers.answers.set('GET /properties/trip/to', { status: 404 })
      await handle?.sync(peer.peerId, 'sub2')
      assert.deepEqual(await peer.copy(), { trip: { by: '' } })
    })

    const ends: [what: string, answer: object | null, subscriptions: number, hasTrust: boolean][] = [
      ['cleans up when the peer still knows the relationship', { body: { id: 'b1', relationship: 'friend' } }, 0, true],
      ['ends the relationship when the peer does not know it', { status: 404 }, 0, false],
      ['ends the relationship when the peer refuses the secret', { status: 403 }, 0, false],
      ['ends the relationship when the answer is an error', { body: { error: { code: 404 } } }, 0, false],
      ['removes nothing when the peer cannot be asked', null, 1, true],
      ['removes nothing when the peer fails', { status: 500 }, 1, true],
    ]
    for (const status of [301, 302, 307, 308, 400, 402, 405, 409, 410, 429])
      ends.push([`removes nothing when the peer answers ${status}`, { status }, 1, true])
    for (const [what, answer, left, hasTrust] of ends) {
      it(`without known subscriptions ${what} (PEER-09, R-SUB-07)`, async () => {
        const events: unknown[] = []
        const { service, actor, peer, peers } = await world({
          declare: (app) => {
            app.on('trust_deleted', ({ peer_id, initiated_by_peer }) => void events.push([peer_id, initiated_by_peer]))
            app.on('subscription_deleted', () => void events.push('subscription_deleted'))
          },
        })
        await peer.diff(1, { mood: 'kept' })
        peers.answers.set(`GET /trust/${actor.id}`, answer)
        const handle = await service.app.actors.get(actor.id)
        const result = await handle?.sync(peer.peerId)
        assert.equal(result?.trustEnded, !hasTrust)
        assert.equal((await handle?.remote(peer.peerId).subscriptions())?.length, left)
        assert.equal((await handle?.trust.get(peer.peerId)) !== undefined, hasTrust)
        assert.deepEqual(events, hasTrust ? [] : [[peer.peerId, true]])
        assert.deepEqual(await peer.copy(), left === 0 ? {} : { mood: 'kept' })
        // The service sends no notification of an end that the peer itself made.
        assert.ok(!peers.asked.some((asked) => asked.startsWith('DELETE')))
      })
    }
  })
})
