import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { countOf } from '../support/citus.ts'
import { type Received, RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

const json = async (answer: Response): Promise<Record<string, unknown>> =>
  (await answer.json()) as Record<string, unknown>

/** The sequence numbers and data of the pending diffs. */
async function polled(peer: TestRelationship, subscription: string): Promise<unknown[]> {
  const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${subscription}`)
  assert.equal(answer.status, 200)
  const { data } = (await json(answer)) as { data: { sequence: number; data: unknown }[] }
  return data.map((diff) => [diff.sequence, diff.data])
}

forEachService((start) => {
  describe('a peer that subscribes', () => {
    let service: TestService
    let actor: TestActor
    let peer: TestRelationship
    before(async () => {
      service = await start({})
      actor = await service.createActor()
      peer = await relateTo(service, actor)
    })

    it('receives 201, the location, and its record with nulls for unset fields (R-SUB-01)', async () => {
      const answer = await peer.request('POST', `/subscriptions/${peer.peerId}`, {
        id: peer.peerId,
        target: 'properties',
        granularity: 'high',
      })
      assert.equal(answer.status, 201)
      const body = await json(answer)
      assert.match(String(body['subscriptionid']), /^[0-9a-f]{32}$/)
      assert.deepEqual(
        { ...body, subscriptionid: '' },
        { subscriptionid: '', target: 'properties', subtarget: null, resource: null, granularity: 'high', sequence: 0 },
      )
      assert.equal(
        answer.headers.get('location'),
        `${service.url}/${actor.id}/subscriptions/${peer.peerId}/${String(body['subscriptionid'])}`,
      )
    })

    it('may send null for unset fields, and defaults to granularity none (R-SUB-01)', async () => {
      const answer = await peer.request('POST', `/subscriptions/${peer.peerId}`, {
        target: 'properties',
        subtarget: 'trip',
        resource: null,
      })
      const body = await json(answer)
      assert.deepEqual([answer.status, body['granularity'], body['subtarget']], [201, 'none', 'trip'])
    })

    for (const [what, body] of Object.entries({
      'no target': {},
      'an empty target': { target: '' },
      'a target that is not a string': { target: 5 },
      'a subtarget that is not a string': { target: 'properties', subtarget: ['a'] },
      'a name with NUL': { target: 'properties', subtarget: 'a\0b' },
      'an overlong name': { target: 'properties', subtarget: 'x'.repeat(1025) },
      'an array': [1],
    })) {
      it(`receives 400 for ${what}, and nothing is stored (R-SUB-01)`, async () => {
        const list = `/subscriptions/${peer.peerId}`
        const earlier = await json(await peer.request('GET', list))
        assert.equal((await peer.request('POST', list, body)).status, 400)
        assert.deepEqual(await json(await peer.request('GET', list)), earlier)
      })
    }

    it('is rejected before the approval, and in the name of another peer (R-SUB-01, ACL-12)', async () => {
      const pending = await relateTo(service, actor, { approved: false })
      const other = await relateTo(service, actor)
      const wanted = { target: 'properties', granularity: 'high' }
      assert.equal((await pending.request('POST', `/subscriptions/${pending.peerId}`, wanted)).status, 403)
      assert.equal((await other.request('POST', `/subscriptions/${peer.peerId}`, wanted)).status, 403)
      assert.equal((await actor.request('POST', `/subscriptions/${peer.peerId}`, wanted)).status, 403)
      for (const { peerId } of [pending, other]) {
        const listed = await json(await actor.request('GET', `/subscriptions/${peerId}`))
        assert.deepEqual(listed, { id: actor.id, peerid: peerId, data: [] })
      }
    })

    for (const relationship of ['associate', 'viewer', 'friend', 'partner', 'admin', 'neighbor']) {
      it(`may have the trust type ${relationship} (R-SUB-01)`, async () => {
        const related = await relateTo(service, actor, { relationship })
        await related.subscribe({})
        const listed = await json(await related.request('GET', `/subscriptions/${related.peerId}`))
        assert.equal((listed['data'] as unknown[]).length, 1)
      })
    }

    it('has subscriptions that only the owner and the peer itself can list (R-SUB-01)', async () => {
      const own = await service.createActor()
      const [first, second] = [await relateTo(service, own), await relateTo(service, own)]
      const id = await first.subscribe({ subtarget: 'mood', granularity: 'low' })
      const record = {
        id: own.id,
        peerid: first.peerId,
        subscriptionid: id,
        granularity: 'low',
        target: 'properties',
        subtarget: 'mood',
        resource: '',
        sequence: 0,
        callback: false,
      }
      assert.deepEqual(await json(await own.request('GET', '/subscriptions')), { id: own.id, data: [record] })
      for (const query of ['?target=properties', '?target=properties&subtarget=mood', `?peerid=${first.peerId}`]) {
        assert.deepEqual(await json(await own.request('GET', `/subscriptions${query}`)), { id: own.id, data: [record] })
      }
      for (const query of ['?target=resources', '?target=properties&subtarget=trip', `?peerid=${second.peerId}`]) {
        assert.deepEqual(await json(await own.request('GET', `/subscriptions${query}`)), { id: own.id, data: [] })
      }
      const path = `/subscriptions/${first.peerId}`
      const listed = { id: own.id, peerid: first.peerId, data: [record] }
      assert.deepEqual(await json(await own.request('GET', path)), listed)
      assert.deepEqual(await json(await first.request('GET', path)), listed)
      assert.equal((await second.request('GET', path)).status, 403)
      assert.equal((await first.request('GET', '/subscriptions')).status, 403)
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await second.request(method, `${path}/${id}`, method === 'PUT' ? { sequence: 0 } : undefined)
        assert.equal(answer.status, 403, method)
      }
      assert.deepEqual(await json(await first.request('GET', path)), listed)
    })
  })

  describe('a change', () => {
    let service: TestService
    before(async () => {
      service = await start({})
    })

    it('has a sequence number in every subscription that it affects, at the depth of each (R-SUB-03, SUB-12)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const all = await peer.subscribe({})
      const cfg = await peer.subscribe({ subtarget: 'cfg' })
      const theme = await peer.subscribe({ subtarget: 'cfg', resource: 'theme' })
      const other = await peer.subscribe({ subtarget: 'trip' })
      await actor.request('PUT', '/properties/cfg', { theme: 'dark', size: 2 })
      await actor.request('PUT', '/properties/cfg/theme', 'light')
      await actor.request('PUT', '/properties/cfg/deep/er', 1)
      await actor.request('DELETE', '/properties/cfg/size')
      await actor.request('DELETE', '/properties/cfg')
      assert.deepEqual(await polled(peer, all), [
        [1, { cfg: { theme: 'dark', size: 2 } }],
        [2, { cfg: { theme: 'light' } }],
        [3, { cfg: { deep: { er: 1 } } }],
        [4, { cfg: { size: '' } }],
        [5, { cfg: '' }],
      ])
      assert.deepEqual(await polled(peer, cfg), [
        [1, { theme: 'dark', size: 2 }],
        [2, { theme: 'light' }],
        [3, { deep: { er: 1 } }],
        [4, { size: '' }],
        [5, ''],
      ])
      assert.deepEqual(await polled(peer, theme), [
        [1, 'dark'],
        [2, 'light'],
        [3, ''],
      ])
      assert.deepEqual(await polled(peer, other), [])
    })

    it('has no sequence number when nothing in the scope changes (R-SUB-03)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const [all, cfg] = [await peer.subscribe({}), await peer.subscribe({ subtarget: 'cfg' })]
      const theme = await peer.subscribe({ subtarget: 'cfg', resource: 'theme' })
      const writes: readonly (readonly [method: string, path: string, body?: unknown])[] = [
        ['DELETE', '/properties/cfg'],
        ['PUT', '/properties/cfg', ''],
        ['PUT', '/properties/cfg', { theme: 'dark', size: 1 }],
        ['PUT', '/properties/cfg', { theme: 'dark', size: 1 }],
        ['PUT', '/properties/cfg/theme', 'dark'],
        ['PUT', '/properties/cfg', { theme: 'dark', size: 2 }],
        ['PUT', '/properties/cfg/size', 3],
        ['PUT', '/properties', { cfg: { theme: 'dark', size: 3 } }],
        ['PUT', '/properties', { cfg: { theme: 'dark', size: 3 }, mood: 'sunny', gone: '' }],
        ['PUT', '/properties/cfg', 'a string'],
        ['PUT', '/properties/cfg', 'a string'],
        ['PUT', '/properties/cfg', 'another string'],
        ['DELETE', '/properties/cfg'],
      ]
      for (const [method, path, body] of writes) {
        const { status } = await actor.request(method, path, body)
        assert.ok(status === 204 || status === 404, `${method} ${path} ${status}`)
      }
      assert.deepEqual(await polled(peer, all), [
        [1, { cfg: { theme: 'dark', size: 1 } }],
        [2, { cfg: { theme: 'dark', size: 2 } }],
        [3, { cfg: { size: 3 } }],
        [4, { mood: 'sunny' }],
        [5, { cfg: 'a string' }],
        [6, { cfg: 'another string' }],
        [7, { cfg: '' }],
      ])
      assert.deepEqual(await polled(peer, cfg), [
        [1, { theme: 'dark', size: 1 }],
        [2, { theme: 'dark', size: 2 }],
        [3, { size: 3 }],
        [4, 'a string'],
        [5, 'another string'],
        [6, ''],
      ])
      assert.deepEqual(await polled(peer, theme), [
        [1, 'dark'],
        [2, ''],
      ])
    })

    it('may also be another spelling of a number or another order of keys (R-SUB-03)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const all = await peer.subscribe({})
      for (const body of ['{"a":1,"b":2}', '{ "a": 1, "b": 2 }', '{"a":1.0,"b":2}', '{"b":2,"a":1.0}']) {
        assert.equal((await actor.request('PUT', '/properties/cfg', body)).status, 204)
      }
      const path = `/subscriptions/${peer.peerId}/${all}`
      const text = await (await peer.request('GET', path)).text()
      assert.deepEqual(
        [...text.matchAll(/"cfg":(\{[^}]*\})/g)].map(([, value]) => value),
        ['{"a":1,"b":2}', '{"a":1.0,"b":2}', '{"b":2,"a":1.0}'],
      )
    })

    it('of a list has no sequence number when the list stays equal (R-LIST-06)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const all = await peer.subscribe({})
      const notes = (await service.app.actors.get(actor.id))?.list('notes')
      assert.ok(notes !== undefined)
      const sequenceAfter = async (write: () => Promise<unknown>): Promise<unknown> => {
        await write()
        return (await json(await peer.request('GET', `/subscriptions/${peer.peerId}/${all}`)))['sequence']
      }
      const post = (body: unknown) => () => actor.request('POST', '/properties', body)
      const texts = { description: 'What I think of' }
      assert.equal(await sequenceAfter(post({ notes: { _type: 'list', ...texts } })), 1)
      assert.equal(await sequenceAfter(post({ notes: { _type: 'list', ...texts } })), 1)
      assert.equal(await sequenceAfter(post({ notes: { _type: 'list' } })), 1)
      assert.equal(await sequenceAfter(() => actor.request('PUT', '/properties/notes/metadata', texts)), 1)
      assert.equal(await sequenceAfter(() => notes.clear()), 1)
      assert.equal(await sequenceAfter(() => notes.extend([])), 1)
      assert.equal(await sequenceAfter(() => notes.append({ n: 1 })), 2)
      assert.equal(await sequenceAfter(() => actor.request('PUT', '/properties/notes?index=0', { n: 1 })), 2)
      assert.equal(await sequenceAfter(post({ notes: { items: [{ index: 0, n: 1 }] } })), 2)
      assert.equal(await sequenceAfter(() => actor.request('PUT', '/properties/notes?index=0', { n: 2 })), 3)
      assert.equal(await sequenceAfter(post({ notes: { _type: 'list', description: 'Another' } })), 4)
      assert.equal(await sequenceAfter(() => notes.clear()), 5)
    })

    it('of a list contains the list operation, under the name of the list (R-LIST-06, SUB-11)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const own = await peer.subscribe({ subtarget: 'todo' })
      await actor.request('POST', '/properties', { todo: { _type: 'list' } })
      await actor.request('POST', '/properties/todo', 'milk')
      await actor.request('DELETE', '/properties/todo')
      const [made, added, removed] = (await polled(peer, own)) as [number, { todo: Record<string, unknown> }][]
      assert.deepEqual([made?.[0], made?.[1].todo['operation']], [1, 'metadata'])
      assert.deepEqual(
        [
          added?.[0],
          added?.[1].todo['operation'],
          added?.[1].todo['item'],
          added?.[1].todo['index'],
          added?.[1].todo['length'],
        ],
        [2, 'append', 'milk', 0, 1],
      )
      assert.deepEqual([removed?.[0], removed?.[1].todo['operation']], [3, 'delete_all'])
    })

    it('is recorded from the first write after the subscription (SUB-09)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      await actor.request('PUT', '/properties/mood', 'before')
      const id = await peer.subscribe({})
      await actor.request('PUT', '/properties/mood', 'after')
      assert.deepEqual(await polled(peer, id), [[1, { mood: 'after' }]])
    })

    it('has no sequence number when the peer may not see it, and one for the rest of a bulk write (R-SUB-03)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      await actor.request('PUT', '/properties/private%2Fdiary', 'x')
      await actor.request('PUT', '/properties', { mood: 1 })
      assert.deepEqual(await polled(peer, id), [[1, { mood: 1 }]])
      const rights = { properties: { excluded_patterns: ['diary'] } }
      const put = await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)
      assert.equal(put.status, 201)
      await actor.request('PUT', '/properties/diary', 'secret')
      await actor.request('PUT', '/properties', { diary: 'secret', mood: 2 })
      assert.deepEqual(await polled(peer, id), [
        [1, { mood: 1 }],
        [2, { mood: 2 }],
      ])
    })

    it('is withheld in a poll after the right was revoked, but its sequence number remains (ACL-06)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      const text = await peer.subscribe({ subtarget: 'diary' })
      await actor.request('PUT', '/properties/diary', 'secret')
      await actor.request('PUT', '/properties', { diary: 'more', mood: 1 })
      await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, {
        properties: { excluded_patterns: ['diary'] },
      })
      assert.deepEqual(await polled(peer, id), [
        [1, {}],
        [2, { mood: 1 }],
      ])
      assert.deepEqual(await polled(peer, text), [
        [1, {}],
        [2, {}],
      ])
      const single = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}/1`)
      assert.deepEqual((await json(single))['data'], {})
    })

    it('marks values that replace the old ones', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      await actor.request('PUT', '/properties/cfg', { a: 1 })
      await actor.request('PUT', '/properties/cfg/b', 2)
      const answer = await json(await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`))
      assert.deepEqual(
        (answer['data'] as { replaces?: true }[]).map(({ replaces }) => replaces),
        [true, undefined],
      )
    })
  })

  describe('a poll', () => {
    let service: TestService
    let actor: TestActor
    let peer: TestRelationship
    let id: string
    let address: string
    let time = 1_900_000_000_000
    before(async () => {
      service = await start({ now: () => time })
    })
    const fresh = async (): Promise<void> => {
      actor = await service.createActor()
      peer = await relateTo(service, actor)
      id = await peer.subscribe({})
      address = `/subscriptions/${peer.peerId}/${id}`
      for (const mood of [1, 2, 3]) await actor.request('PUT', '/properties/mood', mood)
    }

    it('returns all pending diffs in ascending order, every time (R-SUB-01)', async () => {
      await fresh()
      const expected = {
        id: actor.id,
        peerid: peer.peerId,
        subscriptionid: id,
        target: 'properties',
        subtarget: '',
        resource: '',
        sequence: 3,
        data: [1, 2, 3].map((sequence) => ({
          sequence,
          timestamp: '2030-03-17T17:46:40.000Z',
          data: { mood: sequence },
          replaces: true,
        })),
      }
      for (let round = 0; round < 2; round++) {
        assert.deepEqual(await json(await peer.request('GET', address)), expected)
      }
      assert.deepEqual(await json(await actor.request('GET', address)), expected)
    })

    it('answers 404 when the subscription does not exist or belongs to another peer (R-SUB-01)', async () => {
      await fresh()
      const other = await relateTo(service, actor)
      assert.equal((await peer.request('GET', `/subscriptions/${peer.peerId}/none`)).status, 404)
      assert.equal((await other.request('GET', `/subscriptions/${other.peerId}/${id}`)).status, 404)
      assert.equal((await actor.request('GET', `/subscriptions/${other.peerId}/${id}`)).status, 404)
    })

    it('drops acknowledged diffs repeatably, and all diffs with 0, while numbering continues (R-SUB-01)', async () => {
      await fresh()
      for (let round = 0; round < 2; round++) {
        assert.equal((await peer.request('PUT', address, { sequence: 2 })).status, 204)
        assert.deepEqual(await polled(peer, id), [[3, { mood: 3 }]])
      }
      assert.equal((await peer.request('PUT', `${address}?sequence=1`)).status, 204)
      assert.deepEqual(await polled(peer, id), [[3, { mood: 3 }]])
      assert.equal((await peer.request('PUT', address, { sequence: '0' })).status, 204)
      assert.deepEqual(await polled(peer, id), [])
      assert.equal((await peer.request('PUT', address, { sequence: 99 })).status, 204)
      await actor.request('PUT', '/properties/mood', 4)
      assert.deepEqual(await polled(peer, id), [[4, { mood: 4 }]])
    })

    for (const [what, body, status] of [
      ['nothing', undefined, 400],
      ['a word', { sequence: 'soon' }, 400],
      ['a fraction', { sequence: 1.5 }, 400],
      ['a negative number', { sequence: -1 }, 400],
      ['an array', [3], 400],
    ] as const) {
      it(`rejects an acknowledgment of ${what} and drops nothing (R-SUB-01)`, async () => {
        await fresh()
        assert.equal((await peer.request('PUT', address, body)).status, status)
        assert.equal((await polled(peer, id)).length, 3)
      })
    }

    it('rejects an acknowledgment for an unknown subscription (R-SUB-01)', async () => {
      await fresh()
      const answer = await peer.request('PUT', `/subscriptions/${peer.peerId}/none`, { sequence: 1 })
      assert.equal(answer.status, 404)
    })

    it('returns and clears one diff, which the peer may fetch again for a minute (R-SUB-02, SUB-08)', async () => {
      await fresh()
      const first = await peer.request('GET', `${address}/2`)
      assert.equal(first.status, 200)
      const diff = {
        id: actor.id,
        peerid: peer.peerId,
        subscriptionid: id,
        target: 'properties',
        subtarget: '',
        resource: '',
        timestamp: '2030-03-17T17:46:40.000Z',
        sequence: 2,
        data: { mood: 2 },
        replaces: true,
      }
      assert.deepEqual(await json(first), diff)
      assert.deepEqual(await polled(peer, id), [
        [1, { mood: 1 }],
        [3, { mood: 3 }],
      ])
      assert.equal((await actor.request('GET', `${address}/2`)).status, 404)
      time += 59_000
      assert.deepEqual(await json(await peer.request('GET', `${address}/2`)), diff)
      time += 2000
      assert.equal((await peer.request('GET', `${address}/2`)).status, 404)
      time = 1_900_000_000_000
    })

    it('leaves a diff in place for HEAD, with the status and length of GET (R-SUB-02)', async () => {
      await fresh()
      for (const reader of [peer, actor]) {
        for (let look = 0; look < 2; look++) {
          const head = await reader.request('HEAD', `${address}/2`)
          assert.deepEqual([head.status, await head.text()], [200, ''])
          assert.ok(Number(head.headers.get('content-length')) > 100)
        }
      }
      assert.equal((await polled(peer, id)).length, 3)
      const read = await peer.request('GET', `${address}/2`)
      assert.equal(read.status, 200)
      const length = Buffer.byteLength(await read.text())
      // The peer may fetch the diff again for a minute, but the owner may not. HEAD reports the same.
      const again = await peer.request('HEAD', `${address}/2`)
      assert.deepEqual([again.status, again.headers.get('content-length')], [200, String(length)])
      assert.equal((await actor.request('HEAD', `${address}/2`)).status, 404)
      time += 61_000
      assert.equal((await peer.request('HEAD', `${address}/2`)).status, 404)
      time = 1_900_000_000_000
      assert.equal((await peer.request('HEAD', `${address}/9`)).status, 404)
      assert.equal((await peer.request('HEAD', `/subscriptions/${peer.peerId}/none/1`)).status, 404)
    })

    for (const number of ['0', '9', 'x', '-1', '1.0', '99999999999999999999']) {
      it(`answers 404 for the diff ${number} (R-SUB-02)`, async () => {
        await fresh()
        assert.equal((await peer.request('GET', `${address}/${number}`)).status, 404)
        assert.equal((await polled(peer, id)).length, 3)
      })
    }

    it('returns a diff to one of two concurrent readers (SUB-08)', async () => {
      for (let round = 0; round < 20; round++) {
        await fresh()
        const answers = await Promise.all([1, 2].map(() => actor.request('GET', `${address}/1`)))
        assert.deepEqual(
          answers.map(({ status }) => status).sort((a, b) => a - b),
          [200, 404],
        )
        // The peer itself can still fetch the diff that another reader received.
        assert.equal((await peer.request('GET', `${address}/1`)).status, 200)
      }
    })
  })

  describe('the end of a subscription', () => {
    let service: TestService
    const events: Record<string, unknown>[] = []
    before(async () => {
      service = await start({
        declare: (app) =>
          app.on('subscription_deleted', ({ actor, ...event }) => void events.push({ actor: actor.id, ...event })),
      })
    })

    it('by the peer answers 204 with an event and no notification, and a second time without an event (R-SUB-06, R-EVT-01)', async () => {
      const remote = await new RecordingPeer().start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const id = await peer.subscribe({ subtarget: 'mood' })
      events.length = 0
      assert.equal((await peer.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)).status, 204)
      assert.deepEqual(events, [
        {
          actor: actor.id,
          peer_id: peer.peerId,
          subscription_id: id,
          subscription_data: {
            id: actor.id,
            peerid: peer.peerId,
            subscriptionid: id,
            granularity: 'none',
            target: 'properties',
            subtarget: 'mood',
            resource: '',
            sequence: 0,
            callback: false,
          },
          initiated_by_peer: true,
        },
      ])
      assert.equal((await peer.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)).status, 204)
      assert.equal(events.length, 1)
      assert.equal((await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)).status, 404)
      await remote.stop()
      assert.deepEqual(remote.received, [])
    })

    it('by the owner notifies the peer at the path of its own subscription (R-SUB-06)', async () => {
      const remote = await new RecordingPeer().start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const id = await peer.subscribe({})
      events.length = 0
      assert.equal((await actor.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)).status, 204)
      assert.deepEqual(
        events.map((event) => [event['subscription_id'], event['initiated_by_peer']]),
        [[id, false]],
      )
      const [notice] = await remote.has(1)
      assert.deepEqual(
        [notice?.method, notice?.path, notice?.headers['authorization']],
        ['DELETE', `/them/subscriptions/${actor.id}/${id}`, `Bearer ${peer.secret}`],
      )
      assert.equal((await actor.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)).status, 404)
      await remote.stop()
    })

    it('stops the numbering, so that later changes cost as little as without subscribers (R-SUB-06)', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids = [await peer.subscribe({}), await peer.subscribe({})]
      for (const id of ids) await peer.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)
      service.reset()
      await actor.request('PUT', '/properties/mood', 1)
      assert.equal(countOf(service.statements), 4)
    })

    it('with the relationship stops the numbering', async () => {
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      await peer.subscribe({})
      assert.equal((await actor.request('DELETE', `/trust/friend/${peer.peerId}`)).status, 204)
      service.reset()
      await actor.request('PUT', '/properties/mood', 1)
      assert.equal(countOf(service.statements), 4)
    })
  })

  describe('a suspended target', () => {
    it('records no diffs, not even of subtargets, and sends one resync on resume (SUB-10)', async () => {
      const remote = await new RecordingPeer().start()
      const service = await start({})
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== undefined)
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const all = await peer.subscribe({ granularity: 'high' })
      const polling = await peer.subscribe({})
      const trip = await peer.subscribe({ subtarget: 'trip', granularity: 'high' })
      await actor.request('PUT', '/properties/trip', 1)
      await remote.has(2)

      assert.equal(await handle.subscriptions.suspend('properties'), true)
      assert.equal(await handle.subscriptions.suspend('properties'), false)
      assert.deepEqual(await handle.subscriptions.suspended(), [{ target: 'properties', subtarget: '' }])
      await actor.request('PUT', '/properties/trip', 2)
      await actor.request('PUT', '/properties', { trip: 3, mood: 1 })
      assert.deepEqual(await polled(peer, all), [[1, { trip: 1 }]])

      assert.equal(await handle.subscriptions.resume('properties'), true)
      assert.equal(await handle.subscriptions.resume('properties'), false)
      const callbacks = (await remote.has(4)).slice(2).map(({ body }) => body)
      const of = (id: string) => callbacks.find((body) => body?.['subscriptionid'] === id)
      assert.deepEqual(
        { ...of(all), timestamp: '' },
        {
          id: actor.id,
          subscriptionid: all,
          target: 'properties',
          subtarget: '',
          sequence: 2,
          timestamp: '',
          granularity: 'high',
          type: 'resync',
          url: `${service.url}/${actor.id}/properties`,
        },
      )
      assert.equal(of(trip)?.['url'], `${service.url}/${actor.id}/properties/trip`)
      assert.equal(of(polling), undefined)
      // A peer that polls sees the gap in the sequence numbers.
      const answer = await json(await peer.request('GET', `/subscriptions/${peer.peerId}/${polling}`))
      assert.deepEqual([answer['sequence'], (answer['data'] as unknown[]).length], [2, 1])
      await actor.request('PUT', '/properties/trip', 4)
      const later = (await remote.has(6)).slice(4).map(({ body }) => [body?.['sequence'], body?.['data']])
      assert.deepEqual(
        later.map(([sequence]) => sequence),
        [3, 3],
      )
      await remote.stop()
    })

    it('receives a sequence number on resume only in subscriptions that the peer may partly see (SUB-10, R-SUB-03)', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      const peer = await relateTo(service, actor)
      const rights = { patterns: ['mood', 'trip/*', 'settings/theme'], operations: ['read'], merge: false }
      const put = await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, { properties: rights })
      assert.equal(put.status, 201)
      const subscriptions = {
        all: await peer.subscribe({}),
        mood: await peer.subscribe({ subtarget: 'mood' }),
        settings: await peer.subscribe({ subtarget: 'settings' }),
        theme: await peer.subscribe({ subtarget: 'settings', resource: 'theme' }),
        size: await peer.subscribe({ subtarget: 'settings', resource: 'size' }),
        private: await peer.subscribe({ subtarget: 'private' }),
      }
      const numbers = async (): Promise<Record<string, unknown>> => {
        const found: Record<string, unknown> = {}
        for (const [name, id] of Object.entries(subscriptions)) {
          found[name] = (await json(await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)))['sequence']
        }
        return found
      }
      await handle?.subscriptions.suspend('properties')
      await actor.request('PUT', '/properties/private', 1)
      await handle?.subscriptions.resume('properties')
      assert.deepEqual(await numbers(), { all: 1, mood: 1, settings: 1, theme: 1, size: 0, private: 0 })
      for (const name of ['private', 'settings', 'mood']) {
        await handle?.subscriptions.suspend('properties', name)
        await handle?.subscriptions.resume('properties', name)
      }
      assert.deepEqual(await numbers(), { all: 2, mood: 2, settings: 2, theme: 2, size: 0, private: 0 })

      const nothing = { properties: { excluded_patterns: ['*'] } }
      assert.equal((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, nothing)).status, 200)
      await handle?.subscriptions.suspend('properties')
      await handle?.subscriptions.resume('properties')
      assert.deepEqual(await numbers(), { all: 2, mood: 2, settings: 2, theme: 2, size: 0, private: 0 })
    })

    it('does not affect its siblings, even in one write (SUB-10)', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      await handle?.subscriptions.suspend('properties', 'trip')
      await actor.request('PUT', '/properties/trip/a', 1)
      await actor.request('PUT', '/properties', { trip: 3, mood: 1 })
      assert.deepEqual(await polled(peer, id), [[1, { mood: 1 }]])
    })
  })

  describe('a renewed approval', () => {
    const approve = async (actor: TestActor, { peerId }: TestRelationship, approved: boolean): Promise<void> => {
      assert.equal((await actor.request('PUT', `/trust/friend/${peerId}`, { approved })).status, 204)
    }
    /** The POST requests that the peer received, without the fetches. */
    const posted = async (remote: RecordingPeer, count: number): Promise<readonly Received[]> => {
      for (;;) {
        const posts = remote.received.filter(({ method }) => method === 'POST')
        if (posts.length >= count) return posts
        await remote.has(remote.received.length + 1)
      }
    }
    const sequenceOf = async (peer: TestRelationship, id: string): Promise<unknown> =>
      (await json(await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)))['sequence']

    it('sends the peer the approval, its rights, and one resync for each subscription (R-TRUST-01, R-SUB-03)', async (t) => {
      const remote = await new RecordingPeer().start()
      t.after(() => remote.stop())
      const service = await start({})
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const other = await relateTo(service, actor, { baseuri: `${remote.url}/other` })
      const [all, trip] = [await peer.subscribe({ granularity: 'high' }), await peer.subscribe({ subtarget: 'trip' })]
      const others = await other.subscribe({})
      await approve(actor, peer, false)
      await actor.request('PUT', '/properties/trip', 1)
      await approve(actor, peer, true)
      const posts = await posted(remote, 3)
      assert.deepEqual(
        posts.map(({ path, body }) => `${path} ${String(body?.['type'])} ${String(body?.['sequence'])}`).sort(),
        [
          `/them/callbacks/permissions/${actor.id} permission undefined`,
          `/them/callbacks/subscriptions/${actor.id}/${all} resync 1`,
          `/them/trust/friend/${actor.id} undefined undefined`,
        ],
      )
      assert.deepEqual(
        posts.flatMap(({ body }) => (body?.['type'] === 'permission' ? [Object.keys(body['data'] as object)] : [])),
        [['properties', 'methods', 'actions', 'tools', 'resources', 'prompts']],
      )
      // A peer that polls sees the gap in the sequence numbers, and fetches the snapshot.
      assert.deepEqual([await polled(peer, trip), await sequenceOf(peer, trip)], [[], 1])
      assert.deepEqual([await polled(other, others), await sequenceOf(other, others)], [[[1, { trip: 1 }]], 1])
    })

    it('adds no sequence number when the relationship was already approved', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const all = await peer.subscribe({})
      await approve(actor, peer, true)
      assert.equal(await sequenceOf(peer, all), 0)
    })

    it('adds no sequence number when the peer may see nothing, or while the target is suspended (SUB-10)', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      const peer = await relateTo(service, actor)
      const [hidden, trip] = [
        await peer.subscribe({ subtarget: 'private' }),
        await peer.subscribe({ subtarget: 'trip' }),
      ]
      const rights = { properties: { patterns: ['trip', 'mood'], operations: ['read'], merge: false } }
      assert.equal((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)).status, 201)
      await handle?.subscriptions.suspend('properties', 'trip')
      await approve(actor, peer, false)
      await approve(actor, peer, true)
      assert.deepEqual([await sequenceOf(peer, hidden), await sequenceOf(peer, trip)], [0, 0])
      await handle?.subscriptions.resume('properties', 'trip')
      assert.deepEqual([await sequenceOf(peer, hidden), await sequenceOf(peer, trip)], [0, 1])
    })

    it('sends only the approval to a peer without subscriptions', async (t) => {
      const remote = await new RecordingPeer().start()
      t.after(() => remote.stop())
      const service = await start({})
      const actor = await service.createActor()
      const listening = await relateTo(service, actor)
      await listening.subscribe({})
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them`, approved: false })
      await approve(actor, peer, true)
      await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, { methods: { denied: ['*'] } })
      const posts = await posted(remote, 2)
      assert.deepEqual(
        posts.map(({ path }) => path),
        [`/them/trust/friend/${actor.id}`, `/them/callbacks/permissions/${actor.id}`],
      )
    })
  })
})
