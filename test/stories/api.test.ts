/** Actors from inside the application: `app.actors`, actor handles, list handles, and finding actors by value. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import { ServiceError } from '../../src/errors.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { answered, changesNothing, done, everythingStored, outcomeOf, refused } from '../support/stored.ts'

async function rejects(work: Promise<unknown>, code: string, message: string | RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ServiceError, String(error))
    assert.equal(error.code, code)
    if (typeof message === 'string') assert.equal(error.message, message)
    else assert.match(error.message, message)
    return true
  })
}

forEachService((start) => {
  describe('app.actors', () => {
    let service: TestService
    before(async () => {
      service = await start()
    })

    it('creates, gets, finds by creator, and deletes an actor (R-ACT-04)', async () => {
      const { actors } = service.app
      const { actor, passphrase, isNew } = await actors.create({ creator: 'Me@Example.com' })
      assert.equal(isNew, true)
      assert.match(passphrase, /^[0-9a-f]{40}$/)
      assert.equal(actor.creator, 'me@example.com')
      assert.equal(actor.url, `http://troupe.test/${actor.id}`)
      assert.equal((await actors.get(actor.id))?.creator, 'me@example.com')
      assert.equal((await actors.findByCreator(' ME@example.com '))?.id, actor.id)
      assert.equal(await actors.delete(actor.id), true)
      assert.equal(await actors.get(actor.id), undefined)
      assert.equal(await actors.findByCreator('me@example.com'), undefined)
      assert.equal(await actors.delete(actor.id), false)
    })

    it('creates an actor of the creator "creator" by default (R-ACT-04)', async () => {
      assert.equal((await service.app.actors.create()).actor.creator, 'creator')
    })

    it('finds the oldest of several actors of a creator (R-ACT-03)', async () => {
      let now = 1000
      const own = await start({ now: () => now })
      const first = await own.app.actors.create({ creator: 'many' })
      now = 2000
      await own.app.actors.create({ creator: 'many' })
      assert.equal((await own.app.actors.findByCreator('many'))?.id, first.actor.id)
    })

    it('returns the existing actor only for its passphrase when creators are unique (R-ACT-03)', async () => {
      const own = await start({ uniqueCreator: true })
      const first = await own.app.actors.create({ creator: 'one', passphrase: 'right' })
      const again = await own.app.actors.create({ creator: 'one', passphrase: 'right' })
      assert.deepEqual([again.actor.id, again.passphrase, again.isNew], [first.actor.id, 'right', false])
      await changesNothing(own, async () => {
        for (const passphrase of ['wrong', '', undefined])
          await rejects(
            own.app.actors.create({ creator: 'one', ...(passphrase === undefined ? {} : { passphrase }) }),
            'creator_exists',
            'Cannot create an actor: this creator has one already',
          )
      })
    })

    it('returns undefined for any id that does not exist (R-ACT-02)', async () => {
      for (const id of ['', 'missing', '../x', 'a b', '\u0000', 'ø'.repeat(500)])
        assert.equal(
          await outcomeOf(service.app.actors.get(id).then((actor) => assert.equal(actor, undefined))),
          'done',
        )
    })
  })

  describe('the actor handle', () => {
    let service: TestService
    let actor: ActorHandle
    before(async () => {
      service = await start()
    })
    const fresh = async (): Promise<void> => {
      actor = (await service.app.actors.create()).actor
      service.reset()
    }

    for (const value of ['text', '12', 12, -0.5, 0, true, false, [], {}, [1, [2, { a: null }]], { a: { b: '' } }]) {
      it(`sets and gets ${JSON.stringify(value)} (R-PROP-09)`, async () => {
        await fresh()
        await actor.set('a', value)
        assert.deepEqual(await actor.get('a'), value)
        assert.deepEqual(await actor.all(), { a: value })
      })
    }

    it('serializes objects by toJSON, and omits undefined members (R-PROP-09)', async () => {
      await fresh()
      await actor.set('a', { at: new Date(0), gone: undefined })
      assert.deepEqual(await actor.get('a'), { at: '1970-01-01T00:00:00.000Z' })
    })

    it('returns undefined for a missing property, and omits lists from `all` (R-PROP-09)', async () => {
      await fresh()
      assert.equal(await actor.get('a'), undefined)
      assert.deepEqual(await actor.all(), {})
      await actor.list('l').append(1)
      await actor.set('b', 2)
      assert.deepEqual(await actor.all(), { b: 2 })
      assert.deepEqual(await actor.get('l'), [1])
      assert.deepEqual(await actor.lists(), [{ name: 'l', length: 1 }])
    })

    it('removes a property that is set to an empty string, and reports on delete whether it existed (R-PROP-09, CHOICE-09)', async () => {
      await fresh()
      await actor.set('a', 1)
      await actor.set('a', '')
      assert.equal(await actor.get('a'), undefined)
      assert.equal(await actor.delete('a'), false)
      await actor.set('a', 1)
      assert.equal(await actor.delete('a'), true)
      await actor.list('l').append(1)
      assert.equal(await actor.delete('l'), true)
      assert.equal(await actor.list('l').exists(), false)
    })

    it('records its changes as made by the application (R-PROP-09)', async () => {
      await fresh()
      await actor.set('a', { b: 1 })
      await actor.delete('a')
      assert.deepEqual(service.changes, [
        {
          target: 'properties',
          subtarget: 'a',
          resource: null,
          blob: '{"b":1}',
          actorId: actor.id,
          by: { kind: 'application' },
        },
        {
          target: 'properties',
          subtarget: 'a',
          resource: null,
          blob: '""',
          actorId: actor.id,
          by: { kind: 'application' },
        },
      ])
    })

    it('refuses invalid names, null, values that JSON cannot hold, and the name of a list (R-PROP-09, R-PROP-04)', async () => {
      await fresh()
      await actor.list('l').create()
      await changesNothing(service, async () => {
        await rejects(actor.set(['a/b'], 1), 'invalid_name', 'Cannot use the name "a/b": it contains a slash')
        await rejects(actor.set('list:x/b', 1), 'invalid_name', /reserved$/)
        await rejects(actor.set('a//b', 1), 'not_found', /./)
        await rejects(actor.set('', 1), 'invalid_name', 'Cannot use the name "": it is empty')
        await rejects(actor.delete('list:x'), 'invalid_name', /reserved$/)
        await rejects(actor.set('a', null), 'invalid_value', 'Cannot set "a": null is not a property value')
        await rejects(actor.set('a', Number.NaN), 'invalid_value', 'Cannot store the value as JSON: it contains NaN')
        await rejects(
          actor.set('a', { b: [1n] }),
          'invalid_value',
          /^Cannot store the value as JSON: it contains a bigint at /,
        )
        await rejects(actor.set('l', 1), 'conflict', 'Cannot set "l": a list has this name')
        await actor.list('l').exists()
      })
      await actor.set('v', 1)
      await changesNothing(service, async () => {
        for (const work of [
          (list: ListHandle) => list.create(),
          (list: ListHandle) => list.append(1),
          (list: ListHandle) => list.extend([1]),
          (list: ListHandle) => list.insert(0, 1),
        ])
          await rejects(work(actor.list('v')), 'conflict', 'Cannot create the list "v": a property has this name')
        for (const name of ['_a', 'a#b', 'a/b', ''])
          await rejects(actor.list(name).append(1), 'invalid_name', /^Cannot use the name /)
      })
    })

    it('reads nothing and writes nothing after its actor was deleted (R-PROP-09)', async () => {
      await fresh()
      await actor.set('a', 1)
      await service.app.actors.delete(actor.id)
      assert.equal(await actor.get('a'), undefined)
      assert.equal(await outcomeOf(actor.all()), 'actor_not_found')
      assert.equal(await outcomeOf(actor.set('a', 1)), 'actor_not_found')
      assert.equal(await outcomeOf(actor.list('l').append(1)), 'actor_not_found')
    })
  })

  describe('the list handle', () => {
    let service: TestService
    let actor: ActorHandle
    let list: ListHandle
    let now = Date.UTC(2026, 0, 1)
    before(async () => {
      service = await start({ now: () => now })
    })
    const fresh = async (...items: readonly (string | number | object)[]): Promise<void> => {
      actor = (await service.app.actors.create()).actor
      list = actor.list('l')
      if (items.length > 0) await list.extend(items)
      service.reset()
    }
    /** The recorded changes, without the members that all of them have. */
    const changes = (): unknown[] =>
      service.changes.map(({ blob, subtarget }) => {
        assert.equal(subtarget, 'l')
        const { list: name, action: _action, value: _value, ...rest } = JSON.parse(blob) as Record<string, unknown>
        assert.equal(name, 'l')
        return rest
      })

    it('does not create the list by a read, but by create or the first item (R-LIST-01)', async () => {
      await fresh()
      await changesNothing(service, async () => {
        assert.equal(await list.exists(), false)
        assert.equal(await list.length(), 0)
        assert.equal(await list.metadata(), null)
        assert.equal(await list.get(0), undefined)
        assert.deepEqual(await list.items(), [])
        assert.equal(await list.find('a', 1), undefined)
        assert.deepEqual(await list.findAll('a', 1), [])
        assert.deepEqual(await list.itemsWithHandles(), [])
        for await (const _page of list.pages()) assert.fail('there is a page')
        assert.equal(await list.remove(), false)
        for (const work of [
          () => list.update(0, 1),
          () => list.delete(0),
          () => list.pop(),
          () => list.clear(),
          () => list.updateWhere('a', 1, 2),
          () => list.removeWhere('a', 1),
        ])
          await rejects(work(), 'not_found', 'The list "l" does not exist')
      })
      await list.create()
      assert.equal(await list.exists(), true)
    })

    it('sets and updates description and explanation by create, and returns them in the metadata (R-LIST-03)', async () => {
      await fresh()
      now = Date.UTC(2026, 0, 1)
      await list.create({ description: 'd', explanation: 'e' })
      await list.append(1)
      now = Date.UTC(2026, 0, 2)
      await list.create({ description: 'D' })
      assert.deepEqual(await list.metadata(), {
        description: 'D',
        explanation: 'e',
        created_at: '2026-01-01T00:00:00.000Z',
        updated_at: '2026-01-02T00:00:00.000Z',
        version: '1.0',
        item_type: 'json',
        chunk_size: 128,
        length: 1,
      })
      assert.deepEqual(changes(), [
        { operation: 'metadata', length: 0, description: 'd', explanation: 'e' },
        { operation: 'append', length: 1, index: 0, item: 1 },
        { operation: 'metadata', length: 1, description: 'D' },
      ])
    })

    it('appends, extends, inserts, updates, deletes, pops and clears, and records each change (R-LIST-06)', async () => {
      await fresh()
      assert.equal(await list.append('a'), 0)
      assert.equal(await list.append({ t: 'b' }), 1)
      await list.extend(['c', 'd'])
      await list.extend([])
      await list.insert(0, 'first')
      await list.insert(5, 'last')
      await list.update(1, 'A')
      await list.update(-1, 'LAST')
      await list.delete(0)
      await list.delete(-2)
      assert.deepEqual(await list.items(), ['A', { t: 'b' }, 'c', 'LAST'])
      assert.equal(await list.pop(), 'LAST')
      assert.deepEqual(await list.pop(1), { t: 'b' })
      assert.equal(await list.pop(-2), 'A')
      assert.equal(await list.length(), 1)
      await list.clear()
      assert.deepEqual(await list.items(), [])
      assert.equal(await list.pop(), undefined)
      assert.equal(await list.remove(), true)
      assert.deepEqual(changes(), [
        { operation: 'append', length: 1, index: 0, item: 'a' },
        { operation: 'append', length: 2, index: 1, item: { t: 'b' } },
        { operation: 'extend', length: 4, index: 2, items: ['c', 'd'] },
        { operation: 'insert', length: 5, index: 0, item: 'first' },
        { operation: 'insert', length: 6, index: 5, item: 'last' },
        { operation: 'update', length: 6, index: 1, item: 'A', old_item: 'a' },
        { operation: 'update', length: 6, index: 5, item: 'LAST', old_item: 'last' },
        { operation: 'delete', length: 5, index: 0, old_item: 'first' },
        { operation: 'delete', length: 4, index: 3, old_item: 'd' },
        { operation: 'pop', length: 3, index: 3, item: 'LAST' },
        { operation: 'pop', length: 2, index: 1, item: { t: 'b' } },
        { operation: 'pop', length: 1, index: 0, item: 'A' },
        { operation: 'clear', length: 0 },
        { operation: 'delete_all', length: 0 },
      ])
    })

    it('gives each change an action for other implementations, and a value where one item changed (R-LIST-06, CHOICE-25)', async () => {
      await fresh()
      await list.create()
      await list.append(1)
      await list.insert(0, 2)
      await list.update(0, 3)
      await list.extend([4])
      await list.delete(0)
      await list.pop()
      await list.removeWhere('x', 1)
      await list.clear()
      await list.remove()
      assert.deepEqual(
        service.changes.map(({ blob }) => {
          const { action, value } = JSON.parse(blob) as Record<string, unknown>
          return [action, value]
        }),
        [
          ['metadata_update', undefined],
          ['add', 1],
          ['insert', 2],
          ['update', 3],
          ['extend', undefined],
          ['delete', undefined],
          ['pop', undefined],
          ['clear', undefined],
          ['delete_all', undefined],
        ],
      )
    })

    it('reads single items and ranges, also from the end (R-LIST-04)', async () => {
      await fresh('a', 'b', 'c', 'd')
      assert.deepEqual(await Promise.all([0, 3, -1, -4, 4, -5].map((index) => list.get(index))), [
        'a',
        'd',
        'd',
        'a',
        undefined,
        undefined,
      ])
      assert.deepEqual(await list.items(1, 3), ['b', 'c'])
      assert.deepEqual(await list.items(2), ['c', 'd'])
      assert.deepEqual(await list.items(3, 99), ['d'])
      assert.deepEqual(await list.items(9), [])
      assert.deepEqual(await list.items(2, 1), [])
    })

    it('refuses positions that are out of range or invalid, and changes nothing (R-LIST-04, LST-09)', async () => {
      await fresh('a', 'b')
      await changesNothing(service, async () => {
        for (const index of [2, -3, 1e9, 2 ** 31]) {
          await rejects(list.update(index, 1), 'invalid_index', `List "l" has no item ${index}`)
          await rejects(list.delete(index), 'invalid_index', `List "l" has no item ${index}`)
          assert.equal(await list.pop(index), undefined)
        }
        for (const index of [3, 1e9])
          await rejects(list.insert(index, 1), 'invalid_index', `List "l" has no item ${index}`)
        for (const index of [0.5, Number.NaN, Number.POSITIVE_INFINITY])
          for (const work of [
            () => list.get(index),
            () => list.update(index, 1),
            () => list.insert(index, 1),
            () => list.delete(index),
            () => list.pop(index),
          ])
            await rejects(work(), 'invalid_index', 'Invalid index: expected a whole number of at least 0')
        await rejects(list.insert(-1, 1), 'invalid_index', 'Invalid index: expected a whole number of at least 0')
      })
    })

    it('pages through all items in order (R-LIST-01)', async () => {
      await fresh(...Array.from({ length: 25 }, (_, at) => at))
      for (const [size, lengths] of [
        [10, [10, 10, 5]],
        [25, [25]],
        [1000, [25]],
        [undefined, [25]],
      ] as const) {
        const pages = await Array.fromAsync(list.pages(size))
        assert.deepEqual(
          pages.map((page) => page.length),
          lengths,
        )
        assert.deepEqual(
          pages.flat(),
          Array.from({ length: 25 }, (_, at) => ({ index: at, item: at })),
        )
      }
    })

    it('finds object items by the value of a field (R-LIST-06)', async () => {
      await fresh(
        { id: 1, t: 'a' },
        'text',
        [1],
        { id: '1' },
        { id: 1, t: 'b' },
        { other: 1 },
        { id: { x: [1, 2], y: null } },
        { id: 1.0 },
      )
      assert.deepEqual(await list.find('id', 1), { index: 0, item: { id: 1, t: 'a' } })
      assert.deepEqual(
        (await list.findAll('id', 1)).map(({ index }) => index),
        [0, 4, 7],
      )
      assert.deepEqual(await list.find('id', '1'), { index: 3, item: { id: '1' } })
      assert.equal((await list.find('id', { y: null, x: [1, 2] }))?.index, 6)
      assert.equal(await list.find('id', { x: [2, 1], y: null }), undefined)
      assert.equal(await list.find('missing', 1), undefined)
      assert.equal(await list.find('__proto__', {}), undefined)
      assert.deepEqual(await list.findAll('id', 2), [])
    })

    it('updates and removes the matching items, records each change, and counts them (R-LIST-06)', async () => {
      await fresh({ k: 1, n: 'a' }, { k: 2 }, { k: 1, n: 'b' }, 'text')
      assert.equal(await list.updateWhere('k', 1, { k: 3 }, { firstOnly: true }), 1)
      assert.equal(await list.updateWhere('k', 9, { k: 3 }), 0)
      assert.equal(await list.updateWhere('k', 2, { k: 3 }), 1)
      assert.deepEqual(await list.items(), [{ k: 3 }, { k: 3 }, { k: 1, n: 'b' }, 'text'])
      assert.equal(await list.removeWhere('k', 3, { firstOnly: true }), 1)
      assert.equal(await list.removeWhere('k', 9), 0)
      await list.append({ k: 3, last: true })
      assert.equal(await list.removeWhere('k', 3), 2)
      assert.deepEqual(await list.items(), [{ k: 1, n: 'b' }, 'text'])
      assert.deepEqual(changes(), [
        { operation: 'update', length: 4, index: 0, item: { k: 3 }, old_item: { k: 1, n: 'a' } },
        { operation: 'update', length: 4, index: 1, item: { k: 3 }, old_item: { k: 2 } },
        { operation: 'remove', length: 3, item: { k: 3 } },
        { operation: 'append', length: 4, index: 3, item: { k: 3, last: true } },
        { operation: 'remove', length: 3, item: { k: 3 } },
        { operation: 'remove', length: 2, item: { k: 3, last: true } },
      ])
    })

    it('changes an item by its item handle once, at its current position (R-LIST-06)', async () => {
      await fresh('a', 'b', 'c')
      const [, second, third] = await list.itemsWithHandles()
      assert.ok(second && third)
      assert.deepEqual([second.index, second.item], [1, 'b'])
      await list.insert(0, 'new')
      service.reset()
      assert.equal(await list.updateByHandle(second.handle, 'B'), true)
      assert.equal(await list.deleteByHandle(third.handle), true)
      assert.deepEqual(await list.items(), ['new', 'a', 'B'])
      assert.deepEqual(changes(), [
        { operation: 'update', length: 4, index: 2, item: 'B', old_item: 'b' },
        { operation: 'remove', length: 3, index: 3, item: 'c' },
      ])
      await changesNothing(service, async () => {
        assert.equal(await list.updateByHandle(second.handle, 'again'), false)
        assert.equal(await list.deleteByHandle(second.handle), false)
        assert.equal(await list.updateByHandle(third.handle, 'again'), false)
        assert.equal(await list.deleteByHandle(third.handle), false)
      })
    })

    it('rejects an item handle of another list, of a recreated list, or of another actor (R-LIST-06, ACL-03)', async () => {
      await fresh('a')
      const [first] = await list.itemsWithHandles()
      const handle = first?.handle ?? ''
      const other = actor.list('other')
      await other.append('x')
      const stranger = (await service.app.actors.create()).actor.list('l')
      await stranger.append('y')
      await changesNothing(service, async () => {
        for (const wrong of [other, stranger, actor.list('missing')]) {
          assert.equal(await wrong.updateByHandle(handle, 1), false)
          assert.equal(await wrong.deleteByHandle(handle), false)
        }
        for (const bad of ['', 'x', '1.2.3', `${handle}.1`])
          await rejects(
            list.deleteByHandle(bad),
            'invalid_value',
            'Invalid item handle: use a handle that the list returned',
          )
      })
      await list.remove()
      await list.append('a')
      assert.equal(await list.updateByHandle(handle, 1), false)
      assert.deepEqual(await list.items(), ['a'])
    })

    it('uses the same list as HTTP requests do (R-LIST-01)', async () => {
      const owner = await service.createActor()
      const mine = (await service.app.actors.get(owner.id))?.list('notes')
      await mine?.append({ t: 1 })
      await answered(await owner.request('POST', '/properties/notes', { t: 2 }), 201, { t: 2 })
      await answered(await owner.request('GET', '/properties/notes'), 200, [{ t: 1 }, { t: 2 }])
      assert.equal(await mine?.length(), 2)
    })
  })

  describe('finding an actor by the value of a property', () => {
    it('works for oauthId, email and externalUserId, and for no other name (R-PROP-05)', async () => {
      const service = await start()
      const { actor } = await service.app.actors.create()
      for (const name of ['oauthId', 'email', 'externalUserId']) {
        await actor.set(name, `value of ${name}`)
        assert.equal((await service.app.actors.findBy(name, `value of ${name}`))?.id, actor.id)
        assert.equal(await service.app.actors.findBy(name, `VALUE OF ${name}`), undefined)
        assert.equal(await service.app.actors.findBy(name, 'other'), undefined)
      }
      assert.equal(await service.app.actors.findBy('email', 'value of oauthId'), undefined)
      await actor.set('nickname', 'nick')
      await rejects(
        service.app.actors.findBy('nickname', 'nick'),
        'bad_request',
        'Cannot find an actor by "nickname": it is not an indexed property',
      )
    })

    it('follows the value however it is written (R-PROP-05)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const finds = async (value: string): Promise<boolean> =>
        (await service.app.actors.findBy('email', value))?.id === actor.id
      await done(await actor.request('PUT', '/properties/email', 'put@example.com'))
      assert.equal(await finds('put@example.com'), true)
      await actor.request('POST', '/properties', { email: 'post@example.com', oauthId: 'o' })
      assert.deepEqual([await finds('put@example.com'), await finds('post@example.com')], [false, true])
      await done(await actor.request('PUT', '/properties', { email: 'all@example.com' }))
      await actor.request('POST', '/properties/email', 'one@example.com')
      assert.deepEqual([await finds('all@example.com'), await finds('one@example.com')], [false, true])
      await actor.request('POST', '/properties', 'email=form%40example.com', {
        'content-type': 'application/x-www-form-urlencoded',
      })
      assert.equal(await finds('form@example.com'), true)
      assert.equal((await service.app.actors.findBy('oauthId', 'o'))?.id, actor.id)
    })

    it('indexes strings and numbers, but no other values (R-PROP-05)', async () => {
      const service = await start()
      const { actor } = await service.app.actors.create()
      await actor.set('email', 12)
      assert.equal((await service.app.actors.findBy('email', '12'))?.id, actor.id)
      for (const value of [true, [], {}, ['a'], { a: 'b' }]) {
        await actor.set('email', value)
        assert.deepEqual((await everythingStored(service)).property_lookup, [])
      }
    })

    it('logs a collision, keeps the value with its first owner, and lets the write succeed (R-PROP-05)', async () => {
      const service = await start()
      const [first, second] = [(await service.app.actors.create()).actor, (await service.app.actors.create()).actor]
      await first.set('email', 'me@example.com')
      service.reset()
      await second.set('email', 'me@example.com')
      assert.equal((await service.app.actors.findBy('email', 'me@example.com'))?.id, first.id)
      assert.equal(await second.get('email'), 'me@example.com')
      assert.equal(service.log.filter((line) => line.includes('belongs to another actor already')).length, 1)
      service.reset()
      await first.set('email', 'me@example.com')
      assert.equal(service.log.filter((line) => line.includes('belongs to another actor already')).length, 0)
      await second.set('email', 'other@example.com')
      assert.equal((await service.app.actors.findBy('email', 'me@example.com'))?.id, first.id)
      assert.equal((await service.app.actors.findBy('email', 'other@example.com'))?.id, second.id)
    })

    it('keeps names apart: two actors can hold one value under two names (R-PROP-05)', async () => {
      const service = await start()
      const [first, second] = [(await service.app.actors.create()).actor, (await service.app.actors.create()).actor]
      await first.set('email', 'x')
      await second.set('oauthId', 'x')
      assert.equal((await service.app.actors.findBy('email', 'x'))?.id, first.id)
      assert.equal((await service.app.actors.findBy('oauthId', 'x'))?.id, second.id)
    })

    it('uses the configured names (R-PROP-05)', async () => {
      const service = await start({ indexedProperties: ['badge'] })
      const { actor } = await service.app.actors.create()
      await actor.set('badge', '7')
      await actor.set('email', 'me@example.com')
      assert.equal((await service.app.actors.findBy('badge', '7'))?.id, actor.id)
      assert.equal(await outcomeOf(service.app.actors.findBy('email', 'me@example.com')), 'bad_request')
      assert.deepEqual((await everythingStored(service)).property_lookup, [
        { name: 'badge', value: '7', actor_id: actor.id },
      ])
    })

    it('is disabled by an empty set of names, also from the environment (R-PROP-05)', async () => {
      for (const options of [{ indexedProperties: [] }, { env: { TROUPE_INDEXED_PROPERTIES: ' , ' } }]) {
        const service = await start(options)
        const { actor } = await service.app.actors.create()
        await actor.set('email', 'me@example.com')
        assert.equal(await outcomeOf(service.app.actors.findBy('email', 'me@example.com')), 'bad_request')
        assert.deepEqual((await everythingStored(service)).property_lookup, [])
      }
    })

    it('rebuilds its table when the next start has other names, and prefers the oldest actor (R-PROP-05)', async () => {
      let now = 1000
      const first = await start({ indexedProperties: ['email', 'gone'], now: () => now })
      const older = (await first.app.actors.create()).actor
      now = 2000
      const younger = (await first.app.actors.create()).actor
      // The younger actor writes first, because a rebuild must go by the age of the actor.
      for (const actor of [younger, older]) {
        await actor.set('badge', 'same')
        await actor.set('gone', actor.id)
      }
      await younger.set('number', 5)
      await younger.set('email', 'me@example.com')
      await older.list('badges').append('x')
      const second = await start({
        indexedProperties: ['email', 'badge', 'number', 'badges'],
        database: first.databaseUrl,
      })
      assert.equal((await second.app.actors.findBy('badge', 'same'))?.id, older.id)
      assert.equal((await second.app.actors.findBy('number', '5'))?.id, younger.id)
      assert.equal((await second.app.actors.findBy('email', 'me@example.com'))?.id, younger.id)
      assert.deepEqual(
        (await everythingStored(second)).property_lookup.map(({ name }) => name),
        ['badge', 'email', 'number'],
      )
      const third = await start({ indexedProperties: [], database: first.databaseUrl })
      assert.deepEqual((await everythingStored(third)).property_lookup, [])
      const fourth = await start({ indexedProperties: ['email'], database: first.databaseUrl })
      assert.equal((await fourth.app.actors.findBy('email', 'me@example.com'))?.id, younger.id)
    })

    it('writes nothing at the next start with the same names in any order (R-PROP-05)', async () => {
      const first = await start({ indexedProperties: ['a', 'b'] })
      const { actor } = await first.app.actors.create()
      await actor.set('a', '1')
      const second = await start({ indexedProperties: ['b', 'a'], database: first.databaseUrl })
      assert.deepEqual(
        second.statements.filter((sql) => /^\s*(INSERT|UPDATE|DELETE)/i.test(sql)),
        [],
      )
      assert.equal((await second.app.actors.findBy('a', '1'))?.id, actor.id)
    })

    for (const [what, value, found] of [
      ['2048 bytes', 'x'.repeat(2048), true],
      ['2049 bytes', 'x'.repeat(2049), false],
      ['1024 characters of two bytes', 'ø'.repeat(1024), true],
      ['1025 characters of two bytes', 'ø'.repeat(1025), false],
    ] as const) {
      it(`${found ? 'finds' : 'stores, but does not find,'} a value of ${what} (R-PROP-05, R-LIM-01)`, async () => {
        const service = await start()
        const { actor } = await service.app.actors.create()
        await actor.set('email', 'short@example.com')
        await actor.set('email', value)
        assert.equal(await actor.get('email'), value)
        assert.equal((await service.app.actors.findBy('email', value))?.id, found ? actor.id : undefined)
        assert.equal(await service.app.actors.findBy('email', 'short@example.com'), undefined)
      })
    }

    for (const value of ['', '\0', 'a\0b', '\ud800'])
      it(`finds no actor by ${JSON.stringify(value)} (R-PROP-05)`, async () => {
        const service = await start()
        const { actor } = await service.app.actors.create()
        await actor.set('email', 'me@example.com')
        assert.equal(await service.app.actors.findBy('email', value), undefined)
      })

    it('finds nothing before the write is committed or after a write was refused (R-PROP-05)', async () => {
      const service = await start({
        changeSink: (_tx, _actor, changes) =>
          changes.some(({ blob }) => blob.includes('refused')) ? Promise.reject(new Error('no')) : Promise.resolve(),
      })
      const actor = await service.createActor()
      await done(await actor.request('PUT', '/properties/email', 'kept@example.com'))
      await refused(await actor.request('PUT', '/properties/email', 'refused@example.com'), 500, 'server_error', /./)
      assert.equal((await service.app.actors.findBy('email', 'kept@example.com'))?.id, actor.id)
      assert.equal(await service.app.actors.findBy('email', 'refused@example.com'), undefined)
    })
  })
})
