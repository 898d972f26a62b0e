/** Creation and deletion of actors: what is wiped, what is told, and what a fault or a race may leave behind: nothing. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { changesNothing, done, everythingStored, outcomeOf, refused, rowsOf } from '../support/stored.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Something in every table that belongs to an actor. */
async function furnish(service: TestService, actor: TestActor): Promise<void> {
  await done(await actor.request('PUT', '/properties/email', actor.creator))
  await done(await actor.request('PUT', '/properties/settings', { theme: 'dark' }))
  const handle = await service.app.actors.get(actor.id)
  // Enough for the order of the list to have rows of its own.
  await handle?.list('notes').extend(Array.from({ length: 1500 }, (_, at) => at))
  await done(await actor.request('PUT', '/devtest/attribute/bucket/name', '1'))
}

const furnished = ['actor', 'attribute', 'list_item', 'list_node', 'property', 'property_lookup', 'unique_creator']

async function tablesOf(service: TestService, actor: TestActor): Promise<string[]> {
  return [...new Set(await rowsOf(service, actor.id))].toSorted((a, b) => a.localeCompare(b))
}

/** What a handle can tell. */
async function readable(handle: ActorHandle): Promise<unknown> {
  return { id: handle.id, creator: handle.creator, all: await handle.all(), notes: await handle.list('notes').length() }
}

forEachService((start) => {
  describe('DELETE /<actor>', () => {
    it('R-ACT-07 wipes everything of the actor, and of nobody else', async () => {
      const service = await start({ uniqueCreator: true })
      const [actor, other] = [
        await service.createActor('me@example.com'),
        await service.createActor('other@example.com'),
      ]
      await furnish(service, actor)
      await furnish(service, other)
      assert.deepEqual(await tablesOf(service, actor), furnished)
      await done(await actor.request('DELETE', ''))
      assert.deepEqual(await tablesOf(service, actor), [])
      assert.deepEqual(await tablesOf(service, other), furnished)
      for (const path of ['', '/properties', '/meta', '/methods'])
        await refused(await actor.request('GET', path), 404, 'actor_not_found', `Actor "${actor.id}" does not exist`)
      await refused(await actor.request('DELETE', ''), 404, 'actor_not_found', `Actor "${actor.id}" does not exist`)
      assert.equal(await service.app.actors.findBy('email', 'me@example.com'), undefined)
      assert.equal(await service.app.actors.findByCreator('me@example.com'), undefined)
    })

    it('R-ACT-07 is done by GET with _method=DELETE beside an Authorization header, and by a form (CHOICE-11)', async () => {
      const service = await start()
      const [first, second] = [await service.createActor(), await service.createActor()]
      await done(await first.request('GET', '?_method=DELETE'))
      assert.equal((await first.request('GET', '')).status, 404)
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      await done(await second.request('POST', '', '_method=DELETE', form))
      assert.equal((await second.request('GET', '')).status, 404)
    })

    it('R-ACT-07 refuses whoever is not allowed to, and deletes nothing', async () => {
      const events: string[] = []
      const service = await start({
        declare: (app) => app.on('actor_deleted', () => events.push('deleted')),
        bearerKinds: [
          (token, _actor, via) =>
            Promise.resolve(
              token === 'friend' || token === 'unapproved'
                ? { kind: 'peer', peerId: 'p', relationship: 'friend', approved: token === 'friend', via }
                : null,
            ),
        ],
      })
      const [actor, other] = [await service.createActor(), await service.createActor('other@example.com')]
      await changesNothing(service, async () => {
        await refused(await service.request(`/${actor.id}`, { method: 'DELETE' }), 401, 'unauthorized', /./)
        for (const authorization of [other.authorization, 'Bearer unknown', 'Bearer friend', 'Bearer unapproved'])
          await refused(await actor.request('DELETE', '', undefined, { authorization }), 403, 'forbidden', /^Cannot /)
        const link = await service.request(`/${actor.id}?_method=DELETE`, { headers: { cookie: 'oauth_token=friend' } })
        assert.equal(link.status, 403)
      })
      assert.deepEqual(events, [])
    })

    it('R-ACT-07 R-EVT-01 DEL-05 tells actor_deleted while all is readable, and actor_deleted_complete when nothing is left', async () => {
      const told: unknown[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_deleted', async (event) => {
              assert.deepEqual(Object.keys(event), ['actor'])
              told.push(['actor_deleted', await readable(event.actor)])
            })
            .on('actor_deleted_complete', async (event) => {
              told.push(['actor_deleted_complete', event, await rowsOf(service, event.actor_id)])
            }),
      })
      const actor = await service.createActor('me@example.com')
      await furnish(service, actor)
      await done(await actor.request('DELETE', ''))
      assert.deepEqual(told, [
        [
          'actor_deleted',
          {
            id: actor.id,
            creator: 'me@example.com',
            all: { email: 'me@example.com', settings: { theme: 'dark' } },
            notes: 1500,
          },
        ],
        ['actor_deleted_complete', { actor: null, actor_id: actor.id }, []],
      ])
    })

    it('R-ACT-07 R-EVT-01 fires neither event for a deletion from code, nor for a replacement', async () => {
      const told: string[] = []
      const service = await start({
        declare: (app) =>
          app.on('actor_deleted', () => told.push('deleted')).on('actor_deleted_complete', () => told.push('complete')),
      })
      const [one, two] = [await service.createActor('a'), await service.createActor('b')]
      assert.equal(await service.app.actors.delete(one.id), true)
      assert.equal(await service.app.actors.delete(one.id), false)
      await service.app.actors.create({ creator: 'b', deleteExisting: true })
      assert.deepEqual(await rowsOf(service, one.id), [])
      assert.deepEqual(await rowsOf(service, two.id), [])
      assert.deepEqual(told, [])
    })
  })

  describe('lifecycle events', () => {
    it('R-EVT-01 DEL-05 tells actor_created once, with the stored actor, before the answer', async () => {
      const told: unknown[] = []
      const service = await start({
        declare: (app) =>
          app.on('actor_created', async (event) => {
            assert.deepEqual(Object.keys(event), ['actor'])
            told.push(await event.actor.all())
            await event.actor.set('welcome', `hello ${event.actor.creator}`)
            told.push(event.actor.id)
          }),
      })
      const actor = await service.createActor('me@example.com')
      assert.deepEqual(told, [{}, actor.id])
      assert.equal(await (await actor.request('GET', '/properties/welcome')).text(), 'hello me@example.com')
    })

    it('R-EVT-01 tells actor_created for actors made from code and by the form too', async () => {
      const told: string[] = []
      const service = await start({
        declare: (app) => app.on('actor_created', ({ actor }) => told.push(actor.creator)),
      })
      await service.app.actors.create({ creator: 'code' })
      await service.request('/', {
        method: 'POST',
        body: 'creator=form',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      assert.deepEqual(told, ['code', 'form'])
    })

    it('R-EVT-01 does not tell actor_created where nothing was created', async () => {
      const told: string[] = []
      const service = await start({
        uniqueCreator: true,
        declare: (app) => app.on('actor_created', ({ actor }) => told.push(actor.creator)),
      })
      await service.createActor('one')
      for (const body of ['{"creator":"one"}', '{"creator":5}', '5', '{'])
        await service.request('/', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      await assert.rejects(service.app.actors.create({ id: 'oauth' }))
      assert.deepEqual(told, ['one'])
    })

    it('R-EVT-01 R-EVT-03 runs every handler in the order of declaration, sync or async, one after the other', async () => {
      const told: string[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_created', async () => {
              told.push('slow begins')
              await turn()
              told.push('slow ends')
            })
            .on('actor_created', () => told.push('quick')),
      })
      await service.createActor()
      assert.deepEqual(told, ['slow begins', 'slow ends', 'quick'])
    })

    for (const kind of ['sync', 'async'] as const) {
      it(`R-EVT-01 R-EVT-03 DEL-05 is not stopped by a handler that throws (${kind}): the log has it, the rest goes on`, async () => {
        const told: string[] = []
        const fail = (): Promise<void> => {
          if (kind === 'sync') throw new Error('a handler broke')
          return Promise.reject(new Error('a handler broke'))
        }
        const service = await start({
          declare: (app) => {
            for (const event of ['actor_created', 'actor_deleted', 'actor_deleted_complete'] as const)
              app.on(event, fail).on(event, () => told.push(event))
          },
        })
        const actor = await service.createActor()
        await done(await actor.request('DELETE', ''))
        assert.deepEqual(told, ['actor_created', 'actor_deleted', 'actor_deleted_complete'])
        assert.deepEqual(await rowsOf(service, actor.id), [])
        const failures = service.log.filter((line) => line.includes('An event handler failed'))
        assert.deepEqual(
          failures.map((line) => (JSON.parse(line) as { event: string }).event),
          ['actor_created', 'actor_deleted', 'actor_deleted_complete'],
        )
      })
    }
  })

  describe('a deletion that fails', () => {
    it('DEL-01 leaves the whole actor at every statement that may fail, and is complete when it is tried again', async () => {
      let store: FaultyStore | undefined
      const service = await start({ uniqueCreator: true, wrapStore: (inner) => (store = faulty(inner)) })
      assert.ok(store)
      let rounds = 0
      for (;;) {
        const actor = await service.createActor(`me${rounds}@example.com`)
        await furnish(service, actor)
        const before = await everythingStored(service)
        store.plan({ at: rounds + 1 })
        const answer = await actor.request('DELETE', '')
        const failed = store.failed === 1
        store.plan()
        if (!failed) {
          await done(answer)
          assert.deepEqual(await rowsOf(service, actor.id), [])
          break
        }
        await refused(answer, 503, 'store_unavailable', 'Storage cannot be used right now')
        assert.deepEqual(await everythingStored(service), before)
        await done(await actor.request('DELETE', ''))
        assert.deepEqual(await rowsOf(service, actor.id), [])
        rounds++
      }
      // Finding the actor, old markers, the wipe, the marker: fewer would mean that faults were not where the work is.
      assert.ok(rounds >= 4, `only ${rounds} statements could fail`)
    })

    it('DEL-01 creating fails in the same way: at every statement nothing is left', async () => {
      let store: FaultyStore | undefined
      const service = await start({ uniqueCreator: true, wrapStore: (inner) => (store = faulty(inner)) })
      assert.ok(store)
      await service.app.actors.create({ id: 'old', creator: 'me' })
      await service.app.actors.delete('old')
      const before = await everythingStored(service)
      let rounds = 0
      for (;;) {
        store.plan({ at: rounds + 1 })
        const made = await service.app.actors.create({ id: 'old', creator: 'me' }).catch((error: unknown) => error)
        const failed = store.failed === 1
        store.plan()
        if (!failed) break
        assert.equal((made as { code?: string }).code, 'store_unavailable')
        // DEL-04 among the rest: the marker of the deleted actor is still there.
        assert.deepEqual(await everythingStored(service), before)
        rounds++
      }
      assert.ok(rounds >= 4, `only ${rounds} statements could fail`)
      assert.equal((await everythingStored(service)).actor.length, 1)
    })
  })

  describe('work for an actor that is being deleted', () => {
    it('DEL-02 recreates no row when a slow call ends after the deletion', async () => {
      const asked = Promise.withResolvers<void>()
      const go = Promise.withResolvers<void>()
      const outcomes: string[] = []
      const service = await start({
        declare: (app) =>
          app.method('slow', async ({ actor }) => {
            asked.resolve()
            await go.promise
            for (const work of [
              () => actor.set('late', 1),
              () => actor.list('late').append(1),
              () => actor.list('late').create(),
              () => actor.delete('late'),
            ])
              outcomes.push(await outcomeOf(work()))
            return 'ended'
          }),
      })
      const actor = await service.createActor()
      const slow = actor.request('POST', '/methods/slow', {})
      await asked.promise
      await done(await actor.request('DELETE', ''))
      service.reset()
      go.resolve()
      assert.equal((await slow).status, 200)
      assert.deepEqual(outcomes, ['actor_not_found', 'actor_not_found', 'actor_not_found', 'actor_not_found'])
      assert.deepEqual(await rowsOf(service, actor.id), [])
      assert.deepEqual(service.changes, [])
    })

    it('DEL-02 recreates no row when writes and the deletion come at once', async () => {
      const service = await start()
      for (let round = 0; round < 5; round++) {
        const actor = await service.createActor()
        const writes = (from: number): Promise<Response>[] =>
          Array.from({ length: 10 }, (_, at) => [
            actor.request('PUT', `/properties/p${from + at}`, '1'),
            actor.request('POST', '/properties', { [`l${from + at}`]: { _type: 'list' } }),
            actor.request('PUT', `/devtest/attribute/b/a${from + at}`, '1'),
          ]).flat()
        const answers = await Promise.all([...writes(0), actor.request('DELETE', ''), ...writes(10)])
        for (const { status } of answers) assert.ok([201, 204, 404].includes(status), String(status))
        assert.deepEqual(await rowsOf(service, actor.id), [])
        await refused(
          await actor.request('PUT', '/properties/late', '1'),
          404,
          'actor_not_found',
          /^Actor .* does not exist$/,
        )
      }
    })

    it('DEL-02 a handler of actor_deleted_complete cannot bring the actor back through a handle of before', async () => {
      const kept: ActorHandle[] = []
      const refusals: string[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_deleted', ({ actor }) => kept.push(actor))
            .on('actor_deleted_complete', async () => {
              for (const actor of kept) refusals.push(await outcomeOf(actor.set('ghost', 1)))
            }),
      })
      const actor = await service.createActor()
      await done(await actor.request('DELETE', ''))
      assert.deepEqual(refusals, ['actor_not_found'])
      assert.deepEqual(await rowsOf(service, actor.id), [])
    })
  })

  describe('the marker of a deleted actor', () => {
    it('DEL-03 an unreadable store is "unknown", never "deleted", and is logged', async () => {
      let store: FaultyStore | undefined
      const service = await start({ wrapStore: (inner) => (store = faulty(inner)) })
      const { parts } = await service.app.running()
      const actor = await service.createActor()
      store?.plan({ at: 1 })
      service.reset()
      assert.equal(await parts.actors.wasDeleted(actor.id), 'unknown')
      assert.equal(service.log.filter((line) => line.includes('Cannot read whether the actor was deleted')).length, 1)
      store?.plan()
      assert.equal(await parts.actors.wasDeleted(actor.id), 'no')
    })

    it('DEL-03 a store that cannot be read is 503 for the actor, not 404', async () => {
      let store: FaultyStore | undefined
      const service = await start({ wrapStore: (inner) => (store = faulty(inner)) })
      const actor = await service.createActor()
      store?.plan({ at: 1 })
      await refused(
        await actor.request('GET', '/properties'),
        503,
        'store_unavailable',
        'Storage cannot be used right now',
      )
    })

    it('DEL-04 stands for 30 days, and goes with a later deletion', async () => {
      let now = Date.UTC(2026, 0, 1)
      const service = await start({ now: () => now })
      const { parts } = await service.app.running()
      const [actor, other] = [await service.createActor(), await service.createActor()]
      await done(await actor.request('DELETE', ''))
      assert.equal(await parts.actors.wasDeleted(actor.id), 'yes')
      assert.equal(await parts.actors.wasDeleted(other.id), 'no')
      now += 30 * dayMs
      assert.equal(await parts.actors.wasDeleted(actor.id), 'yes')
      now += 1
      assert.equal(await parts.actors.wasDeleted(actor.id), 'no')
      await done(await other.request('DELETE', ''))
      const markers = (await everythingStored(service)).deleted_actor
      assert.deepEqual(markers, [{ id: other.id, deleted_at: now }])
    })

    it('DEL-04 is set for every actor that a replacement wiped', async () => {
      const service = await start()
      const { parts } = await service.app.running()
      const [one, two] = [await service.createActor('me'), await service.createActor('me')]
      await service.app.actors.create({ creator: 'me', deleteExisting: true })
      assert.equal(await parts.actors.wasDeleted(one.id), 'yes')
      assert.equal(await parts.actors.wasDeleted(two.id), 'yes')
    })

    it('DEL-04 is cleared only by a creation under the same id that succeeds', async () => {
      const service = await start({ uniqueCreator: true })
      const { parts } = await service.app.running()
      const { actors } = service.app
      await actors.create({ id: 'mine', creator: 'me' })
      await actors.create({ id: 'yours', creator: 'you' })
      await actors.delete('mine')
      await actors.delete('yours')
      await service.createActor('somebody')
      assert.equal(await parts.actors.wasDeleted('mine'), 'yes')
      await assert.rejects(actors.create({ id: 'mine', creator: 'somebody' }), { code: 'creator_exists' })
      assert.equal(await parts.actors.wasDeleted('mine'), 'yes')
      await actors.create({ id: 'mine', creator: 'me' })
      assert.equal(await parts.actors.wasDeleted('mine'), 'no')
      assert.equal(await parts.actors.wasDeleted('yours'), 'yes')
    })

    it('DEL-04 is cleared by a replacement that takes the id of the one it replaces', async () => {
      const service = await start()
      const { parts } = await service.app.running()
      await service.app.actors.create({ id: 'mine', creator: 'me' })
      await service.app.actors.create({ id: 'mine', creator: 'me', deleteExisting: true })
      assert.equal(await parts.actors.wasDeleted('mine'), 'no')
    })
  })

  describe('the value by which an actor is found', () => {
    it('DEL-06 no longer finds the actor when it is changed or removed, by whatever way', async () => {
      const service = await start()
      const actor = await service.createActor()
      const finds = async (value: string): Promise<boolean> =>
        (await service.app.actors.findBy('email', value))?.id === actor.id
      const put = async (value: string): Promise<void> => done(await actor.request('PUT', '/properties/email', value))
      await put('a@example.com')
      await put('b@example.com')
      assert.deepEqual([await finds('a@example.com'), await finds('b@example.com')], [false, true])
      await done(await actor.request('DELETE', '/properties/email'))
      assert.equal(await finds('b@example.com'), false)
      for (const [way, remove] of [
        ['PUT of an empty body', () => actor.request('PUT', '/properties/email', '')],
        ['POST of an empty text', () => actor.request('POST', '/properties', { email: '' })],
        ['DELETE of all', () => actor.request('DELETE', '/properties')],
        ['an object in its place', () => actor.request('PUT', '/properties/email', { a: 1 })],
      ] as const) {
        await put('c@example.com')
        assert.equal(await finds('c@example.com'), true, way)
        assert.ok((await remove()).ok, way)
        assert.equal(await finds('c@example.com'), false, way)
        assert.ok((await actor.request('DELETE', '/properties/email')).ok)
      }
    })

    it('DEL-06 stays with its first owner when a second actor claims it: logged, and the write succeeds', async () => {
      const service = await start()
      const [first, second] = [await service.createActor(), await service.createActor()]
      await done(await first.request('PUT', '/properties/email', 'me@example.com'))
      service.reset()
      await done(await second.request('PUT', '/properties/email', 'me@example.com'))
      assert.equal((await service.app.actors.findBy('email', 'me@example.com'))?.id, first.id)
      assert.equal(await (await second.request('GET', '/properties/email')).text(), 'me@example.com')
      const collisions = service.log.filter((line) => line.includes('belongs to another actor already'))
      assert.equal(collisions.length, 1)
      const line = JSON.parse(collisions[0] ?? '{}') as Record<string, unknown>
      assert.deepEqual([line['level'], line['actorId'], line['name']], ['warn', second.id, 'email'])
      assert.ok(!String(collisions[0]).includes('me@example.com'))
    })

    it('DEL-06 removing everything of one actor removes its own entries only', async () => {
      const service = await start()
      const [one, two] = [await service.createActor(), await service.createActor()]
      await done(await one.request('PUT', '/properties', { email: 'one@example.com', oauthId: '1' }))
      await done(await two.request('PUT', '/properties', { email: 'two@example.com', oauthId: '1' }))
      await done(await one.request('DELETE', '/properties'))
      assert.deepEqual((await everythingStored(service)).property_lookup, [
        { name: 'email', value: 'two@example.com', actor_id: two.id },
      ])
    })
  })
})
