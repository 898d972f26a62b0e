import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { relate, type Related } from '../support/friends.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { untilEqual } from '../support/until.ts'

interface World {
  readonly a: TestService
  readonly b: TestService
  /** The subscriber. */
  readonly alice: TestActor
  /** The publisher. */
  readonly bob: TestActor
  readonly related: Related
  /** Alice's copy of Bob's data. */
  readonly copy: () => Promise<unknown>
  /** Bob's data in the form of a copy. */
  readonly source: () => Promise<unknown>
  readonly aliceHandle: () => Promise<ActorHandle>
  readonly bobHandle: () => Promise<ActorHandle>
}

async function handleOf(service: TestService, actor: TestActor): Promise<ActorHandle> {
  return (await service.app.actors.get(actor.id)) ?? assert.fail('no such actor')
}

forEachService((start) => {
  async function world(ofA: StartOptions = {}, ofB: StartOptions = {}, relationship = 'friend'): Promise<World> {
    const [a, b] = [await start({ listen: true, ...ofA }), await start({ listen: true, ...ofB })]
    const alice = await a.createActor('alice@example.com')
    const bob = await b.createActor('bob@example.com')
    const related = await relate(alice, [b, bob], relationship)
    const sorted = (value: object): object =>
      Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    return {
      a,
      b,
      alice,
      bob,
      related,
      copy: async () => sorted(await (await handleOf(a, alice)).remote(bob.id).all()),
      source: async () => {
        const handle = await handleOf(b, bob)
        const lists = await Promise.all(
          (await handle.lists()).map(async ({ name }) => [name, await handle.list(name).items()] as const),
        )
        return sorted({ ...(await handle.all()), ...Object.fromEntries(lists) })
      },
      aliceHandle: () => handleOf(a, alice),
      bobHandle: () => handleOf(b, bob),
    }
  }

  const all = (peerid: string): object => ({ peerid, target: 'properties', granularity: 'high' })

  describe('subscribing to a peer', () => {
    it('starts with everything that the peer shares, and returns the location of the subscription (R-SUB-01)', async () => {
      const { alice, bob, b, copy, source, bobHandle } = await world()
      await bob.request('PUT', '/properties/mood', 'sunny')
      await bob.request('PUT', '/properties/settings', { theme: 'light', size: 1 })
      await bob.request('PUT', '/properties/tags', ['a', 'b'])
      await bob.request('POST', '/properties', { notes: { _type: 'list' }, empty: { _type: 'list' } })
      await (await bobHandle()).list('notes').extend(['one', null, { deep: [1] }])
      const answer = await alice.request('POST', '/subscriptions', all(bob.id))
      assert.deepEqual([answer.status, await answer.text()], [204, ''])
      const location = answer.headers.get('location') ?? ''
      const id = location.split('/').at(-1)
      assert.equal(location, `${b.url}/${bob.id}/subscriptions/${alice.id}/${id}`)
      assert.deepEqual(await copy(), {
        empty: [],
        mood: 'sunny',
        notes: ['one', null, { deep: [1] }],
        settings: { theme: 'light', size: 1 },
        tags: ['a', 'b'],
      })
      assert.deepEqual(await copy(), await source())
      const listed = await alice.request('GET', '/subscriptions')
      assert.deepEqual(await listed.json(), {
        id: alice.id,
        data: [
          {
            id: alice.id,
            peerid: bob.id,
            subscriptionid: id,
            granularity: 'high',
            target: 'properties',
            subtarget: '',
            resource: '',
            sequence: 0,
            callback: true,
          },
        ],
      })
      const shown = await alice.request('GET', `/devtest/attributes/remote:${bob.id}/mood`)
      assert.deepEqual(((await shown.json()) as { data: unknown }).data, { value: 'sunny' })
      const meta = await alice.request('GET', `/devtest/attributes/remote:${bob.id}/list:notes:meta`)
      assert.equal(((await meta.json()) as { data: { length: number } }).data.length, 3)
    })

    const refusals: readonly [what: string, body: unknown, status: number][] = [
      ['without a peer', { target: 'properties' }, 400],
      ['without a target', { peerid: 'x' }, 400],
      ['with a target that is not a string', { peerid: 'x', target: 7 }, 400],
      ['with invalid JSON', '{"peerid":', 400],
      ['to an unknown peer', { peerid: 'x', target: 'properties' }, 408],
    ]
    for (const [what, body, status] of refusals) {
      it(`${what} answers ${status} and stores nothing (R-SUB-01)`, async () => {
        const a = await start()
        const alice = await a.createActor()
        assert.equal((await alice.request('POST', '/subscriptions', body)).status, status)
        const listed = (await (await alice.request('GET', '/subscriptions')).json()) as { data: unknown[] }
        assert.deepEqual(listed.data, [])
      })
    }

    it('answers 408 when the peer has not approved (R-SUB-01, ACL-12)', async () => {
      const [a, b] = [await start({ listen: true }), await start({ listen: true })]
      const [alice, bob] = [await a.createActor('alice@example.com'), await b.createActor('bob@example.com')]
      await relate(alice, [b, bob], 'friend', false)
      await bob.request('PUT', '/properties/mood', 'secret')
      assert.equal((await alice.request('POST', '/subscriptions', all(bob.id))).status, 408)
      const listed = (await (await alice.request('GET', '/subscriptions')).json()) as { data: unknown[] }
      assert.deepEqual(listed.data, [])
      assert.equal((await alice.request('GET', `/devtest/attributes/remote:${bob.id}`)).status, 404)
    })

    it('can be ended, which deletes both ends, and the copy with the last subscription (R-SUB-01)', async () => {
      const { alice, bob, copy, aliceHandle, bobHandle } = await world()
      await bob.request('PUT', '/properties/mood', 'sunny')
      await bob.request('PUT', '/properties/trip', { to: 'Oslo' })
      const whole = await (await aliceHandle()).subscribe(bob.id)
      const part = await (await aliceHandle()).subscribe(bob.id, { subtarget: 'trip' })
      const listeners = async (): Promise<string[]> =>
        (await (await bobHandle()).subscriptions.listeners()).map(({ subscriptionid }) => subscriptionid)
      assert.deepEqual((await listeners()).sort(), [whole.subscriptionid, part.subscriptionid].sort())
      const ended = await alice.request('DELETE', `/subscriptions/${bob.id}/${whole.subscriptionid}`)
      assert.equal(ended.status, 204)
      await untilEqual(listeners, async () => [part.subscriptionid])
      assert.deepEqual(await copy(), { trip: { to: 'Oslo' } })
      await bob.request('PUT', '/properties/trip/to', 'Bergen')
      await untilEqual(copy, async () => ({ trip: { to: 'Bergen' } }))
      assert.equal(await (await aliceHandle()).unsubscribe(bob.id, part.subscriptionid), true)
      assert.equal(await (await aliceHandle()).unsubscribe(bob.id, part.subscriptionid), false)
      assert.deepEqual(await copy(), {})
      await untilEqual(listeners, async () => [])
    })

    it('ends when the peer revokes the subscription, without an event at the subscriber (R-SUB-01, R-SUB-06)', async () => {
      const events: string[] = []
      const { alice, bob, copy, aliceHandle, bobHandle } = await world({
        declare: (app) => app.on('subscription_deleted', () => void events.push('here')),
      })
      await bob.request('PUT', '/properties/mood', 'sunny')
      const { subscriptionid } = await (await aliceHandle()).subscribe(bob.id)
      assert.equal(await (await bobHandle()).subscriptions.revoke(alice.id, subscriptionid), true)
      await untilEqual(
        async () => (await aliceHandle()).remote(bob.id).subscriptions(),
        async () => [],
      )
      assert.deepEqual([await copy(), events], [{}, []])
    })

    it('ends with the relationship, which deletes the copy and all stored metadata (R-TRUST-06)', async () => {
      const { alice, bob, copy, aliceHandle } = await world()
      await bob.request('PUT', '/properties/mood', 'sunny')
      await (await aliceHandle()).subscribe(bob.id)
      assert.deepEqual(await copy(), { mood: 'sunny' })
      assert.equal((await alice.request('DELETE', `/trust/friend/${bob.id}`)).status, 204)
      assert.equal((await alice.request('GET', '/devtest/attributes')).status, 404)
      assert.deepEqual(await (await aliceHandle()).remote(bob.id).subscriptions(), [])
    })
  })

  describe('a copy', () => {
    it('equals its source after each change, from the first write on (SUB-11, SUB-09, R-SUB-09)', async () => {
      const { bob, copy, source, aliceHandle, bobHandle } = await world()
      await bob.request('POST', '/properties', { notes: { _type: 'list' }, mood: 'sunny' })
      await (await aliceHandle()).subscribe(bob.id)
      const handle = await bobHandle()
      const notes = handle.list('notes')
      const items = (): Promise<{ handle: string }[]> => notes.itemsWithHandles()
      const steps: readonly [what: string, run: () => Promise<unknown>][] = [
        ['append', () => notes.append('a')],
        ['append null', () => notes.append(null)],
        ['append an equal one', () => notes.append('a')],
        ['extend', () => notes.extend([{ k: 1 }, null, { k: 1 }, 'a', 7])],
        ['insert at the front', () => notes.insert(0, 'front')],
        ['insert in the middle', () => notes.insert(3, { k: 2 })],
        ['insert at the end', () => notes.insert(9, 'end')],
        ['update', () => notes.update(2, { k: 3 })],
        ['update to null', () => notes.update(4, null)],
        ['update null', () => notes.update(4, 'was null')],
        ['update the second of equal ones', () => notes.update(7, 'changed')],
        [
          'update by handle the last of equal ones',
          async () => notes.updateByHandle((await items()).at(-2)?.handle ?? '', { k: 1 }),
        ],
        [
          'delete by handle the second of equal ones',
          async () => notes.deleteByHandle((await items()).at(-2)?.handle ?? ''),
        ],
        ['update where', () => notes.updateWhere('k', 1, { k: 4, n: [1] })],
        ['append what is removed next', () => notes.extend([{ k: 9 }, { k: 9, x: 1 }, { k: 9 }])],
        ['remove the first where', () => notes.removeWhere('k', 9, { firstOnly: true })],
        ['remove where', () => notes.removeWhere('k', 9)],
        ['delete the first', () => notes.delete(0)],
        ['delete in the middle', () => notes.delete(3)],
        ['pop', () => notes.pop()],
        ['pop the first', () => notes.pop(0)],
        ['metadata', () => notes.create({ description: 'About', explanation: 'Because' })],
        [
          'a batch',
          () =>
            bob.request('POST', '/properties', {
              notes: { items: [{ index: 0, text: 'x' }, { index: 2 }, { index: 1, text: 'y' }] },
            }),
        ],
        ['an item over HTTP', () => bob.request('PUT', '/properties/notes/0', 'http')],
        ['an item removed over HTTP', () => bob.request('DELETE', '/properties/notes/1')],
        [
          'an item through the items',
          () => bob.request('POST', '/properties/notes/items', { action: 'add', item_value: { z: null } }),
        ],
        ['clear', () => notes.clear()],
        ['append after clear', () => notes.append('again')],
        ['remove', () => notes.remove()],
        ['a value in the place of a list', () => handle.set('notes', 'not a list')],
        ['nothing in the place of a value', () => handle.delete('notes')],
        ['a list again', () => notes.append(1)],
        ['a value', () => handle.set('settings', { theme: 'light', deep: { a: 1, b: 2 } })],
        ['a part of it', () => bob.request('PUT', '/properties/settings/deep/a', 3)],
        ['a new part', () => bob.request('PUT', '/properties/settings/more/x', { y: 1 })],
        ['a part removed', () => bob.request('DELETE', '/properties/settings/deep/b')],
        ['the whole replaced', () => handle.set('settings', { only: true })],
        ['a value that looks like a cover', () => handle.set('mood', { value: 1 })],
        ['a number beyond what programs hold', () => bob.request('PUT', '/properties/big', '12345678901234567890')],
        ['an array', () => handle.set('mood', [1, null, ''])],
        ['several at once', () => bob.request('PUT', '/properties', { one: 1, two: { x: '' }, settings: '' })],
        ['all gone', () => bob.request('DELETE', '/properties')],
      ]
      for (const [what, run] of steps) {
        await run()
        await untilEqual(copy, source).catch((error: unknown) => {
          throw new Error(`after: ${what}`, { cause: error })
        })
      }
      const [subscription] = await (await aliceHandle()).remote(bob.id).subscriptions()
      const [listener] = await (await bobHandle()).subscriptions.listeners()
      assert.equal(subscription?.sequence, listener?.sequence)
    })

    it('of one property, one key or one list equals that part (R-SUB-09)', async () => {
      const { bob, copy, aliceHandle, bobHandle } = await world()
      const handle = await bobHandle()
      await handle.set('trip', { to: 'Oslo', days: 3 })
      await handle.set('other', { a: 1, b: 2 })
      await handle.list('notes').append('one')
      await handle.set('unseen', 'x')
      const listening = await aliceHandle()
      await listening.subscribe(bob.id, { subtarget: 'trip' })
      await listening.subscribe(bob.id, { subtarget: 'other', resource: 'a' })
      await listening.subscribe(bob.id, { subtarget: 'notes' })
      assert.deepEqual(await copy(), { notes: ['one'], other: { a: 1 }, trip: { to: 'Oslo', days: 3 } })
      await bob.request('PUT', '/properties/trip/days', 4)
      await bob.request('PUT', '/properties/other/a', 5)
      await bob.request('PUT', '/properties/other/b', 6)
      await handle.list('notes').insert(0, 'zero')
      await handle.set('unseen', 'y')
      const expected = { notes: ['zero', 'one'], other: { a: 5 }, trip: { to: 'Oslo', days: 4 } }
      await untilEqual(copy, async () => expected)
      await handle.delete('trip')
      await handle.list('notes').remove()
      await untilEqual(copy, async () => ({ other: { a: 5 } }))
    })

    it('receives each change once when several subscriptions cover it (SUB-12, R-SUB-09)', async () => {
      const { bob, copy, source, aliceHandle, bobHandle } = await world()
      const listening = await aliceHandle()
      const [first] = [await listening.subscribe(bob.id), await listening.subscribe(bob.id)]
      await listening.subscribe(bob.id, { subtarget: 'notes' })
      const notes = (await bobHandle()).list('notes')
      for (const item of ['a', 'b', 'c']) await notes.append(item)
      await untilEqual(copy, source)
      const numbers = async (): Promise<number[]> =>
        (await listening.remote(bob.id).subscriptions()).map(({ sequence }) => sequence)
      await untilEqual(numbers, async () => [3, 3, 3])
      assert.deepEqual(await copy(), { notes: ['a', 'b', 'c'] })
      // The subscription that stored the changes ends, and another one continues in its place.
      await listening.unsubscribe(bob.id, first.subscriptionid)
      await notes.append('d')
      await untilEqual(copy, source)
    })

    it('can be maintained at low granularity, with an acknowledgment after the fetch (R-SUB-09)', async () => {
      const { bob, alice, copy, source, aliceHandle, bobHandle } = await world()
      const { subscriptionid } = await (await aliceHandle()).subscribe(bob.id, { granularity: 'low' })
      const handle = await bobHandle()
      await handle.set('settings', { theme: 'light', size: 1 })
      await handle.set('settings', { theme: 'dark' })
      await handle.list('notes').append('one')
      await untilEqual(copy, source)
      const waiting = async (): Promise<unknown> => {
        const polled = await bob.request('GET', `/subscriptions/${alice.id}/${subscriptionid}`)
        return ((await polled.json()) as { data: unknown[] }).data
      }
      await untilEqual(waiting, async () => [])
    })

    it('follows a resync, and loses what the source deleted (R-SUB-05, R-SUB-09)', async () => {
      const { bob, copy, source, aliceHandle, bobHandle } = await world()
      const handle = await bobHandle()
      await handle.set('mood', 'sunny')
      await handle.list('notes').extend([1, 2, 3])
      await (await aliceHandle()).subscribe(bob.id)
      await handle.subscriptions.suspend('properties')
      await handle.delete('mood')
      await handle.set('fresh', { a: 1 })
      await handle.list('notes').delete(1)
      assert.deepEqual(await copy(), { mood: 'sunny', notes: [1, 2, 3] })
      await handle.subscriptions.resume('properties')
      await untilEqual(copy, source)
      assert.deepEqual(await copy(), { fresh: { a: 1 }, notes: [1, 3] })
      await handle.list('notes').append(4)
      await untilEqual(copy, source)
    })

    it('that is only polled is updated by a sync (R-SUB-09)', async () => {
      const { bob, alice, copy, source, aliceHandle, bobHandle } = await world()
      const listening = await aliceHandle()
      const { subscriptionid } = await listening.subscribe(bob.id, { granularity: 'none' })
      const handle = await bobHandle()
      await handle.set('mood', 'sunny')
      await handle.list('notes').extend(['a', 'b'])
      assert.deepEqual(await copy(), {})
      const one = await listening.sync(bob.id, subscriptionid)
      assert.deepEqual(one, { subscriptions: [{ subscriptionid, outcome: 'synced', sequence: 2 }], trustEnded: false })
      assert.deepEqual(await copy(), await source())
      const polled = await bob.request('GET', `/subscriptions/${alice.id}/${subscriptionid}`)
      assert.deepEqual(((await polled.json()) as { data: unknown[] }).data, [])
      // A sync restores damaged data from a snapshot.
      await alice.request('DELETE', `/devtest/attribute/remote:${bob.id}`)
      assert.deepEqual(await copy(), {})
      await listening.sync(bob.id)
      assert.deepEqual(await copy(), await source())
    })

    it('never contains data that the peer may not see, and loses revoked data (ACL-06, R-SUB-09, R-PERM-05)', async () => {
      const { bob, copy, related, aliceHandle, bobHandle } = await world()
      const handle = await bobHandle()
      await handle.set('open', 1)
      await handle.set('later', 1)
      await handle.set('private', { secret: 1 })
      await handle.list('notes').append('one')
      const listening = await aliceHandle()
      await listening.subscribe(bob.id)
      assert.deepEqual(await copy(), { later: 1, notes: ['one'], open: 1 })
      const path = `/trust/friend/${related.asking.id}/permissions`
      const narrow = { properties: { excluded_patterns: ['later', 'notes'] } }
      assert.equal((await bob.request('PUT', path, narrow)).status, 201)
      await untilEqual(copy, async () => ({ open: 1 }))
      await handle.set('later', 2)
      await handle.list('notes').append('two')
      await handle.set('open', 2)
      await untilEqual(copy, async () => ({ open: 2 }))
      assert.equal((await bob.request('DELETE', path)).status, 204)
      await untilEqual(copy, async () => ({ later: 2, notes: ['one', 'two'], open: 2 }))
      await handle.list('notes').append('three')
      await untilEqual(copy, async () => ({ later: 2, notes: ['one', 'two', 'three'], open: 2 }))
    })

    it('is updated with changes from a time of withdrawn approval, without a further change (R-TRUST-01)', async () => {
      const { alice, bob, copy, aliceHandle, bobHandle } = await world()
      const handle = await bobHandle()
      await handle.set('mood', 'sunny')
      await handle.set('gone', 1)
      await handle.set('trip', { to: 'Oslo', days: 3 })
      await handle.list('notes').append('one')
      await (await aliceHandle()).subscribe(bob.id)
      await (await aliceHandle()).subscribe(bob.id, { subtarget: 'trip' })
      const before = { gone: 1, mood: 'sunny', notes: ['one'], trip: { to: 'Oslo', days: 3 } }
      assert.deepEqual(await copy(), before)
      const path = `/trust/friend/${alice.id}`
      assert.equal((await bob.request('PUT', path, { approved: false })).status, 204)
      await handle.set('mood', 'rainy')
      await handle.delete('gone')
      await handle.set('fresh', true)
      await handle.list('notes').append('two')
      assert.equal((await bob.request('PUT', '/properties/trip/to', 'Bergen')).status, 204)
      assert.deepEqual(await copy(), before)
      assert.equal((await bob.request('PUT', path, { approved: true })).status, 204)
      const after = { fresh: true, mood: 'rainy', notes: ['one', 'two'], trip: { to: 'Bergen', days: 3 } }
      await untilEqual(copy, async () => after)
      await handle.list('notes').append('three')
      await untilEqual(copy, async () => ({ ...after, notes: ['one', 'two', 'three'] }))
    })
  })
})
