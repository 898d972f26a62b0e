/** Copies of a peer whose rights change: they have what the peer may read, and nothing else. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber, sorted } from '../support/python-subscriptions.ts'
import { RecordingPeer, type Reply, relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'

forEachService((start) => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  async function world(scope: Record<string, string> = {}) {
    const clock = new ManualClock()
    const service = await start({ now: clock.now, timers: clock.timers })
    const actor = await service.createActor()
    const remote = await new RecordingPeer().start()
    closers.push(() => remote.stop())
    const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
    const trust = `/trust/friend/${peer.peerId}`
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    const put = async (name: string, value: unknown) =>
      assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
    await put('mood', 'sunny')
    await put('diary', { day: 1 })
    await handle.list('notes').append('one')
    const id = await peer.subscribe({ granularity: 'high', ...scope })
    const path = `${trust}/permissions`
    const change = async (properties: object) => {
      assert.ok((await actor.request('PUT', path, { properties })).ok)
      await service.settled()
    }
    const callbacks = (): unknown[] =>
      remote.received
        .filter(({ path: to }) => to.includes('/callbacks/subscriptions/'))
        .map(({ body }) => [body?.['type'] ?? 'diff', body?.['sequence'], body?.['data']])
    const pushes = () => remote.received.filter(({ path: to }) => to.includes('/callbacks/permissions/')).length
    return { clock, service, actor, remote, handle, peer, trust, id, put, change, callbacks, pushes }
  }

  describe('rights that become narrower', () => {
    it('delete from the copy what the peer may no longer read, and nothing else (SUB-24)', async () => {
      const { clock, service, change, callbacks, pushes, put } = await world()
      await change({ excluded_patterns: ['diary', 'notes'] })
      await passUntil(clock, [service], () => callbacks().length === 1 && pushes() === 1)
      assert.deepEqual(callbacks(), [
        ['diff', 1, { diary: '', notes: { list: 'notes', operation: 'delete_all', action: 'delete_all', length: 0 } }],
      ])
      await put('diary', { day: 2 })
      await put('mood', 'rainy')
      await passUntil(clock, [service], () => callbacks().length === 2)
      assert.deepEqual(callbacks().at(-1), ['diff', 2, { mood: 'rainy' }])
    })

    for (const [scope, data] of [
      [{ subtarget: 'diary' }, ''],
      [{ subtarget: 'diary', resource: 'day' }, ''],
      [{ subtarget: 'notes' }, { notes: { list: 'notes', operation: 'delete_all', action: 'delete_all', length: 0 } }],
      [{ subtarget: 'mood' }, null],
      [{ subtarget: 'absent' }, null],
    ] as const) {
      it(`delete only what is in the scope ${JSON.stringify(scope)} (SUB-24)`, async () => {
        const { clock, service, change, callbacks, pushes } = await world({ ...scope })
        await change({ excluded_patterns: ['diary', 'notes'] })
        await passUntil(clock, [service], () => pushes() === 1 && (data === null || callbacks().length === 1))
        assert.deepEqual(callbacks(), data === null ? [] : [['diff', 1, data]])
      })
    }

    for (const granularity of ['high', 'low'] as const) {
      it(`delete it from what a peer with ${granularity} callbacks polls or reads, while later names stay hidden (SUB-24)`, async () => {
        const { clock, service, peer, id, change, put, callbacks } = await world({ granularity })
        await change({ excluded_patterns: ['diary', 'secret'] })
        await put('secret', 1)
        await put('mood', 'rainy')
        await passUntil(clock, [service], () => callbacks().length === 2)
        const read = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}/1`)
        assert.deepEqual(((await read.json()) as { data: unknown }).data, { diary: '' })
        const polled = async (): Promise<unknown[]> => {
          const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
          const { data } = (await answer.json()) as { data: { data: unknown }[] }
          return data.map((diff) => diff.data)
        }
        await change({ excluded_patterns: ['diary', 'secret', 'mood'] })
        assert.deepEqual(await polled(), [{}, { mood: '' }])
        // The names that it may read again come by a resync, which no poll has. A poll has only what follows (decision 206).
        await change({ excluded_patterns: ['mood'] })
        assert.deepEqual(await polled(), [])
      })
    }

    for (const [scope, deleted] of [
      [{}, { diary: '' }],
      [{ subtarget: 'diary' }, ''],
      [{ subtarget: 'notes' }, { notes: { list: 'notes', operation: 'delete_all', action: 'delete_all', length: 0 } }],
    ] as const) {
      it(`still deliver a deletion that was made before, in the scope ${JSON.stringify(scope)} (SUB-33)`, async () => {
        const { clock, service, actor, remote, change, callbacks, pushes, put, peer, id } = await world({ ...scope })
        remote.replies = [503, 204]
        const name = 'subtarget' in scope ? scope.subtarget : 'diary'
        assert.equal((await actor.request('DELETE', `/properties/${name}`)).status, 204)
        await passUntil(clock, [service], () => callbacks().length === 1)
        await change({ excluded_patterns: ['diary', 'notes'] })
        const polled = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        const { data } = (await polled.json()) as { data: { data: unknown }[] }
        assert.deepEqual(data[0]?.data, deleted)
        await passUntil(clock, [service], () => callbacks().length >= 2 && pushes() === 1)
        assert.deepEqual(callbacks()[1], ['diff', 1, deleted])
        // A later value under the name stays hidden, and so does its deletion.
        const count = callbacks().length
        await put(name, 'later')
        assert.equal((await actor.request('DELETE', `/properties/${name}`)).status, 204)
        await service.settled()
        assert.equal(callbacks().length, count)
      })
    }

    it('leave the numbers of a subscription without callbacks as they are (SUB-24)', async () => {
      const { peer, id, change } = await world({ granularity: 'none' })
      for (const excluded of [['diary', 'notes'], [], ['*'], []]) await change({ excluded_patterns: excluded })
      const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
      const { data, sequence } = (await answer.json()) as { data: unknown[]; sequence: number }
      assert.deepEqual([data, sequence], [[], 0])
    })

    it('name no property that the peer could not read before (SUB-24)', async () => {
      const { clock, service, change, callbacks, pushes, put } = await world()
      await change({ excluded_patterns: ['secret', 'd*'] })
      await passUntil(clock, [service], () => callbacks().length === 1)
      await put('secret', 1)
      await put('dream', 2)
      await change({ excluded_patterns: ['*'] })
      await passUntil(clock, [service], () => callbacks().length === 2 && pushes() === 2)
      assert.deepEqual(callbacks(), [
        ['diff', 1, { diary: '' }],
        ['diff', 2, { mood: '', notes: { list: 'notes', operation: 'delete_all', action: 'delete_all', length: 0 } }],
      ])
    })

    it('name to a peer without approval only what it knew before, and only after its resync (SUB-24, SUB-30)', async () => {
      const { clock, service, actor, trust, change, callbacks, put } = await world()
      assert.equal((await actor.request('PUT', trust, { approved: false })).status, 204)
      await put('secret', 1)
      await change({ excluded_patterns: ['diary', 'secret'] })
      assert.equal((await actor.request('PUT', trust, { approved: true })).status, 204)
      await passUntil(clock, [service], () => callbacks().length === 2)
      await service.settled()
      assert.deepEqual(callbacks(), [
        ['resync', 1, undefined],
        ['diff', 2, { diary: '' }],
      ])
    })

    it('delete from the copy of a suspended subscription after its resync (SUB-24, SUB-30)', async () => {
      const { clock, service, handle, change, callbacks, pushes } = await world()
      await handle.subscriptions.suspend('properties')
      await change({ excluded_patterns: ['diary'] })
      await passUntil(clock, [service], () => pushes() === 1)
      assert.deepEqual(callbacks(), [])
      await handle.subscriptions.resume('properties')
      await passUntil(clock, [service], () => callbacks().length === 2)
      assert.deepEqual(callbacks(), [
        ['resync', 1, undefined],
        ['diff', 2, { diary: '' }],
      ])
    })

    it('delete nothing when no property that exists is affected (SUB-24)', async () => {
      const { clock, service, change, callbacks, pushes } = await world()
      await change({ excluded_patterns: ['other/*'] })
      await passUntil(clock, [service], () => pushes() === 1)
      await service.settled()
      assert.deepEqual(callbacks(), [])
    })
  })

  describe('rights that become narrower, and their message', () => {
    const kindsOf = (received: readonly { readonly path: string }[]): string[] =>
      received.map(({ path }) => (path.includes('/callbacks/permissions/') ? 'permissions' : 'deletion'))

    const failures: readonly (readonly [what: string, replies: Reply[], sent: string[]])[] = [
      ['every message arrives', [204], ['deletion', 'permissions']],
      ['the first attempt fails', [503, 204], ['deletion', 'deletion', 'permissions']],
      ['a connection breaks', ['cut', 204], ['deletion', 'deletion', 'permissions']],
      ['four attempts fail', [503, 429, 503, 429, 204], [...Array<string>(5).fill('deletion'), 'permissions']],
      ['the message fails once', [204, 503, 204], ['deletion', 'permissions', 'permissions']],
      ['the peer refuses the deletion', [400, 204], ['deletion', 'permissions']],
    ]
    for (const [what, replies, sent] of failures)
      it(`arrive in this order when ${what} (SUB-31)`, async () => {
        const { clock, service, remote, change, pushes } = await world()
        remote.replies = [...replies]
        await change({ excluded_patterns: ['diary'] })
        await passUntil(clock, [service], () => pushes() > 0 && remote.received.length >= sent.length)
        assert.deepEqual(kindsOf(remote.received).slice(0, sent.length), sent)
      })

    it('arrive in this order after a restart between them, and with changes at the same time (SUB-31)', async () => {
      const { clock, service, remote, put, change } = await world()
      remote.replies = [503]
      await Promise.all([
        change({ excluded_patterns: ['diary'] }),
        put('mood', 'rainy'),
        change({ excluded_patterns: ['diary', 'notes'] }),
        put('mood', 'dry'),
      ])
      await service.close()
      const from = remote.received.length
      remote.replies = [503, 204]
      const next = await start({ now: clock.now, timers: clock.timers, database: service.databaseUrl })
      const arrived = () => kindsOf(remote.received)
      await passUntil(clock, [next], () => arrived().filter((kind) => kind === 'permissions').length === 2, 1000)
      assert.ok(!arrived().slice(0, from).includes('permissions'))
      const isLast = ({ body }: (typeof remote.received)[number]) => JSON.stringify(body).includes('"delete_all"')
      assert.ok(remote.received.findLastIndex(isLast) >= 0)
      assert.ok(remote.received.findLastIndex(isLast) < arrived().indexOf('permissions'))
    })

    it('of a peer without approval, and of a subscription that is suspended, wait for no deletion (SUB-31)', async () => {
      const { clock, service, handle, change, pushes, actor, trust } = await world()
      await handle.subscriptions.suspend('properties')
      await change({ excluded_patterns: ['diary'] })
      await passUntil(clock, [service], () => pushes() === 1)
      assert.equal((await actor.request('PUT', trust, { approved: false })).status, 204)
      await change({ excluded_patterns: ['mood'] })
      await passUntil(clock, [service], () => pushes() === 2)
    })
  })

  describe('rights that become wider', () => {
    it('lead to one resync, also when the patterns do not show it (SUB-24)', async () => {
      const { clock, service, change, callbacks } = await world()
      await change({ excluded_patterns: ['diary'] })
      await passUntil(clock, [service], () => callbacks().length === 1)
      await change({ excluded_patterns: [] })
      await passUntil(clock, [service], () => callbacks().length === 2)
      await service.settled()
      assert.deepEqual(callbacks(), [
        ['diff', 1, { diary: '' }],
        ['resync', 2, undefined],
      ])
    })

    it('lead to a resync after the deletion when a change does both (SUB-24)', async () => {
      const { clock, service, change, callbacks } = await world()
      await change({ excluded_patterns: ['diary'] })
      await passUntil(clock, [service], () => callbacks().length === 1)
      await change({ excluded_patterns: ['mood'] })
      await passUntil(clock, [service], () => callbacks().length === 3)
      assert.deepEqual(callbacks().slice(1), [
        ['diff', 2, { mood: '' }],
        ['resync', 3, undefined],
      ])
    })

    it('end with a grant, whose properties are deleted from the copy (SUB-24)', async () => {
      const { clock, service, handle, peer, change, callbacks } = await world()
      await change({ excluded_patterns: [], patterns: ['mood'], merge: false, operations: ['read'] })
      await passUntil(clock, [service], () => callbacks().length === 1)
      const until = new Date(clock.now() + 3_600_000)
      await handle.trust.grant(peer.peerId, { properties: { patterns: ['diary'], operations: ['read'] }, until })
      await passUntil(clock, [service], () => callbacks().length === 2)
      clock.pass(3_600_000)
      await passUntil(clock, [service], () => callbacks().length === 3, 1000)
      assert.deepEqual(callbacks().at(-1), ['diff', 3, { diary: '' }])
    })
  })

  describe('rights to a part of a property', () => {
    for (const [what, patterns, expected] of [
      ['the other key', ['diary/night'], [['diff', 1, '']]],
      ['the same key', ['diary/day'], []],
      ['nothing', ['mood'], [['diff', 1, '']]],
    ] as const) {
      it(`that leave ${what} delete what is lost from a copy of that part (SUB-24)`, async () => {
        const { clock, service, change, callbacks, pushes } = await world({ subtarget: 'diary', resource: 'day' })
        await change({ patterns, operations: ['read'], merge: false })
        await passUntil(clock, [service], () => pushes() === 1 && callbacks().length === expected.length)
        assert.deepEqual(callbacks(), expected)
      })
    }

    it('that remain of the whole property are followed by a resync (SUB-24)', async () => {
      const { clock, service, change, callbacks } = await world({ subtarget: 'diary' })
      await change({ patterns: ['diary/night'], operations: ['read'], merge: false })
      await passUntil(clock, [service], () => callbacks().length === 2)
      assert.deepEqual(callbacks(), [
        ['diff', 1, ''],
        ['resync', 2, undefined],
      ])
    })

    it('lead to one resync when they return (SUB-24)', async () => {
      const { clock, service, change, callbacks } = await world({ subtarget: 'diary', resource: 'day' })
      await change({ patterns: ['mood'], operations: ['read'], merge: false })
      await change({ patterns: ['diary/day'], operations: ['read'], merge: false })
      await passUntil(clock, [service], () => callbacks().length === 2)
      assert.deepEqual(callbacks(), [
        ['diff', 1, ''],
        ['resync', 2, undefined],
      ])
    })
  })

  describe('the copy of a Python peer', () => {
    async function pythonWorld() {
      const clock = new ManualClock()
      const python = await PythonPeer.start({ autoAccept: 'friend' })
      closers.push(() => python.close())
      const service = await start({ listen: true, now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/trust', { url: python.url, relationship: 'friend' })).status, 201)
      for (const [name, value] of [
        ['mood', 'sunny'],
        ['diary', { day: 1 }],
        ['plan', { year: 2 }],
      ] as const)
        assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
      const handle = await service.app.actors.get(actor.id)
      await handle?.list('notes').append('one')
      const subscriber = new PythonSubscriber(python)
      const ingress = { status: 0 }
      python.route('POST', /^\/callbacks\/subscriptions\//, () => (ingress.status > 0 ? ingress : undefined))
      await subscriber.subscribe(actor.id)
      const shown = async (): Promise<object> => {
        const trust = python.trusts.get(actor.id)
        const answer = await fetch(`${service.url}/${actor.id}/properties`, {
          headers: { authorization: `Bearer ${trust?.secret}` },
        })
        const listing = (await answer.json()) as Record<string, unknown>
        return sorted('notes' in listing ? { ...listing, notes: ['one'] } : listing)
      }
      const copy = () => sorted(Object.fromEntries(subscriber.copy))
      return {
        clock,
        service,
        ingress,
        exclude: async (...excluded: readonly string[]): Promise<void> => {
          const path = `/trust/friend/${python.id}/permissions`
          assert.ok((await actor.request('PUT', path, { properties: { excluded_patterns: excluded } })).ok)
        },
        put: async (value: string) => assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204),
        remove: async (name: string) =>
          assert.equal((await actor.request('DELETE', `/properties/${name}`)).status, 204),
        isEqual: async () => JSON.stringify(copy()) === JSON.stringify(await shown()),
      }
    }

    it('equals what the peer may read after each change of its rights (SUB-24)', async () => {
      const { clock, service, exclude, isEqual } = await pythonWorld()
      for (const excluded of [['diary'], ['notes', 'plan'], ['*'], ['mood'], [], ['d*', 'n*'], ['diary'], []]) {
        await exclude(...excluded)
        await passUntil(clock, [service], isEqual)
      }
    })

    type World = Awaited<ReturnType<typeof pythonWorld>>
    const outages: readonly [what: string, (world: World) => Promise<void>][] = [
      ['its rights became narrower', ({ exclude }) => exclude('diary', 'notes')],
      ['it lost all rights', ({ exclude }) => exclude('*')],
      [
        'its rights became wider and narrower',
        async ({ exclude }) => {
          await exclude('plan')
          await exclude('diary')
          await exclude('mood', 'notes')
        },
      ],
      [
        'properties were deleted',
        async ({ remove, put }) => {
          await put('rainy')
          await remove('diary')
          await remove('notes')
        },
      ],
      [
        'all of it happened',
        async ({ exclude, remove, put }) => {
          await exclude('plan')
          await remove('diary')
          await put('rainy')
          await exclude('notes')
          await remove('plan')
        },
      ],
    ]
    for (const [what, change] of outages)
      for (const status of [503, 404])
        it(`equals what the peer may read when ${what} while its ingress answered ${status} (SUB-26)`, async () => {
          const made = await pythonWorld()
          const { clock, service, ingress, isEqual } = made
          ingress.status = status
          await change(made)
          await service.settled()
          ingress.status = 0
          await passUntil(clock, [service], isEqual, 1000)
        })
  })
})
