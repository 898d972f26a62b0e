/** Creation and deletion of actors: the records they delete, their events, and that faults and races leave nothing behind. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { onShards } from '../support/citus.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { changesNothing, done, everythingStored, outcomeOf, refused, rowsOf } from '../support/stored.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Writes a record to every table that belongs to an actor. */
async function furnish(service: TestService, actor: TestActor): Promise<void> {
  await done(await actor.request('PUT', '/properties/email', actor.creator))
  await done(await actor.request('PUT', '/properties/settings', { theme: 'dark' }))
  const handle = await service.app.actors.get(actor.id)
  // The list needs enough items to have rows for its order.
  await handle?.list('notes').extend(Array.from({ length: 1500 }, (_, at) => at))
  await done(await actor.request('PUT', '/devtest/attribute/bucket/name', '1'))
}

const tables = ['actor', 'attribute', 'creator', 'history', 'list_item', 'list_node', 'property', 'property_lookup']
/** A sharded database has the names of indexed properties a second time, with the actor. */
const furnished = onShards() ? [...tables, 'actor_lookup'].toSorted() : tables

const byId = <R extends { readonly id?: unknown }>(rows: readonly R[]): R[] =>
  rows.toSorted((a, b) => String(a.id).localeCompare(String(b.id)))

async function tablesOf(service: TestService, actor: TestActor): Promise<string[]> {
  return [...new Set(await rowsOf(service, actor.id))].toSorted((a, b) => a.localeCompare(b))
}

/** Returns everything that a handle can read. */
async function readable(handle: ActorHandle): Promise<unknown> {
  return { id: handle.id, creator: handle.creator, all: await handle.all(), notes: await handle.list('notes').length() }
}

forEachService((start) => {
  describe('DELETE /<actor>', () => {
    it('deletes all records of the actor, and none of another actor (R-ACT-07)', async () => {
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

    it('accepts GET with _method=DELETE and an Authorization header, and a form (R-ACT-07, CHOICE-11)', async () => {
      const service = await start()
      const [first, second] = [await service.createActor(), await service.createActor()]
      await done(await first.request('GET', '?_method=DELETE'))
      assert.equal((await first.request('GET', '')).status, 404)
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      await done(await second.request('POST', '', '_method=DELETE', form))
      assert.equal((await second.request('GET', '')).status, 404)
    })

    it('refuses a caller without the right, and deletes nothing (R-ACT-07)', async () => {
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

    it('fires actor_deleted while everything is readable, and actor_deleted_complete when nothing is left (R-ACT-07, R-EVT-01, DEL-05)', async () => {
      const events: unknown[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_deleted', async (event) => {
              assert.deepEqual(Object.keys(event), ['actor'])
              events.push(['actor_deleted', await readable(event.actor)])
            })
            .on('actor_deleted_complete', async (event) => {
              events.push(['actor_deleted_complete', event, await rowsOf(service, event.actor_id)])
            }),
      })
      const actor = await service.createActor('me@example.com')
      await furnish(service, actor)
      await done(await actor.request('DELETE', ''))
      assert.deepEqual(events, [
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

    it('fires two events, which deletion from code and replacement do not fire (R-ACT-07, R-EVT-01)', async () => {
      const events: string[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_deleted', () => events.push('deleted'))
            .on('actor_deleted_complete', () => events.push('complete')),
      })
      const [one, two] = [await service.createActor('a'), await service.createActor('b')]
      assert.equal(await service.app.actors.delete(one.id), true)
      assert.equal(await service.app.actors.delete(one.id), false)
      await service.app.actors.create({ creator: 'b', deleteExisting: true })
      assert.deepEqual(await rowsOf(service, one.id), [])
      assert.deepEqual(await rowsOf(service, two.id), [])
      assert.deepEqual(events, [])
    })
  })

  describe('a service with handlers of lifecycle events', () => {
    it('fires actor_created once, with the stored actor, before the response (R-EVT-01, DEL-05)', async () => {
      const events: unknown[] = []
      const service = await start({
        declare: (app) =>
          app.on('actor_created', async (event) => {
            assert.deepEqual(Object.keys(event), ['actor'])
            events.push(await event.actor.all())
            await event.actor.set('welcome', `hello ${event.actor.creator}`)
            events.push(event.actor.id)
          }),
      })
      const actor = await service.createActor('me@example.com')
      assert.deepEqual(events, [{}, actor.id])
      assert.equal(await (await actor.request('GET', '/properties/welcome')).text(), 'hello me@example.com')
    })

    it('fires actor_created also for actors that code or the form created (R-EVT-01)', async () => {
      const events: string[] = []
      const service = await start({
        declare: (app) => app.on('actor_created', ({ actor }) => events.push(actor.creator)),
      })
      await service.app.actors.create({ creator: 'code' })
      await service.request('/', {
        method: 'POST',
        body: 'creator=form',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      assert.deepEqual(events, ['code', 'form'])
    })

    it('does not fire actor_created when no actor was created (R-EVT-01)', async () => {
      const events: string[] = []
      const service = await start({
        uniqueCreator: true,
        declare: (app) => app.on('actor_created', ({ actor }) => events.push(actor.creator)),
      })
      await service.createActor('one')
      for (const body of ['{"creator":"one"}', '{"creator":5}', '5', '{'])
        await service.request('/', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      await assert.rejects(service.app.actors.create({ id: 'oauth' }))
      assert.deepEqual(events, ['one'])
    })

    it('runs every handler in the order of declaration, sync or async, one after the other (R-EVT-01, R-EVT-03)', async () => {
      const events: string[] = []
      const service = await start({
        declare: (app) =>
          app
            .on('actor_created', async () => {
              events.push('slow begins')
              await turn()
              events.push('slow ends')
            })
            .on('actor_created', () => events.push('quick')),
      })
      await service.createActor()
      assert.deepEqual(events, ['slow begins', 'slow ends', 'quick'])
    })

    for (const kind of ['sync', 'async'] as const) {
      it(`logs a handler that throws (${kind}) and runs the others (R-EVT-01, R-EVT-03, DEL-05)`, async () => {
        const events: string[] = []
        const fail = (): Promise<void> => {
          if (kind === 'sync') throw new Error('a handler broke')
          return Promise.reject(new Error('a handler broke'))
        }
        const service = await start({
          declare: (app) => {
            for (const event of ['actor_created', 'actor_deleted', 'actor_deleted_complete'] as const)
              app.on(event, fail).on(event, () => events.push(event))
          },
        })
        const actor = await service.createActor()
        await done(await actor.request('DELETE', ''))
        assert.deepEqual(events, ['actor_created', 'actor_deleted', 'actor_deleted_complete'])
        assert.deepEqual(await rowsOf(service, actor.id), [])
        const failures = service.log.filter((line) => line.includes('An event handler failed'))
        assert.deepEqual(
          failures.map((line) => (JSON.parse(line) as { event: string }).event),
          ['actor_created', 'actor_deleted', 'actor_deleted_complete'],
        )
      })
    }
  })

  describe('a failing statement', () => {
    it('of a deletion leaves the full actor, and a retry deletes it (DEL-01)', async () => {
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
      // A deletion finds the actor, deletes old markers, deletes the records and writes the marker: faults must reach all four.
      assert.ok(rounds >= 4, `only ${rounds} statements could fail`)
    })

    it('of a creation leaves no record (DEL-01)', async () => {
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
        // The marker of the deleted actor is still there, too (DEL-04).
        assert.deepEqual(await everythingStored(service), before)
        rounds++
      }
      assert.ok(rounds >= 4, `only ${rounds} statements could fail`)
      assert.equal((await everythingStored(service)).actor.length, 1)
    })
  })

  describe('work for an actor that is being deleted', () => {
    it('recreates no row when a slow call ends after the deletion (DEL-02)', async () => {
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

    it('recreates no row when writes and the deletion arrive concurrently (DEL-02)', async () => {
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

    it('cannot recreate the actor by an old handle in a handler of actor_deleted_complete (DEL-02)', async () => {
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
    it('is "unknown", never "deleted", when the store cannot be read, and the log says so (DEL-03)', async () => {
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

    it('is not assumed when the store cannot be read: the response is 503, not 404 (DEL-03)', async () => {
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

    it('exists for 30 days, and a later deletion removes it (DEL-04)', async () => {
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
      // On a sharded database, the purge of the next hour removes it.
      const expired = onShards() ? [{ id: actor.id, deleted_at: now - 30 * dayMs - 1 }] : []
      assert.deepEqual(byId(markers), byId([{ id: other.id, deleted_at: now }, ...expired]))
    })

    it('is set for every actor that a replacement deleted (DEL-04)', async () => {
      const service = await start()
      const { parts } = await service.app.running()
      const [one, two] = [await service.createActor('me'), await service.createActor('me')]
      await service.app.actors.create({ creator: 'me', deleteExisting: true })
      assert.equal(await parts.actors.wasDeleted(one.id), 'yes')
      assert.equal(await parts.actors.wasDeleted(two.id), 'yes')
    })

    it('is cleared only by a successful creation under the same id (DEL-04)', async () => {
      const service = await start({ uniqueCreator: true })
      const { parts } = await service.app.running()
      const { actors } = service.app
      await actors.create({ id: 'mine', creator: 'me' })
      await actors.create({ id: 'yours', creator: 'you' })
      await actors.delete('mine')
      await actors.delete('yours')
      await service.createActor('other')
      assert.equal(await parts.actors.wasDeleted('mine'), 'yes')
      await assert.rejects(actors.create({ id: 'mine', creator: 'other' }), { code: 'creator_exists' })
      assert.equal(await parts.actors.wasDeleted('mine'), 'yes')
      await actors.create({ id: 'mine', creator: 'me' })
      assert.equal(await parts.actors.wasDeleted('mine'), 'no')
      assert.equal(await parts.actors.wasDeleted('yours'), 'yes')
    })

    it('is cleared by a replacement that reuses the id of the actor it replaces (DEL-04)', async () => {
      const service = await start()
      const { parts } = await service.app.running()
      await service.app.actors.create({ id: 'mine', creator: 'me' })
      await service.app.actors.create({ id: 'mine', creator: 'me', deleteExisting: true })
      assert.equal(await parts.actors.wasDeleted('mine'), 'no')
    })
  })

  describe('the value by which an actor is found', () => {
    it('no longer finds the actor after it was changed or removed in any way (DEL-06)', async () => {
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
        ['POST of an empty string', () => actor.request('POST', '/properties', { email: '' })],
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

    it('stays with its first owner when a second actor claims it: a warning is logged, and the write succeeds (DEL-06)', async () => {
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

    it('stays for other actors when one actor deletes all of its properties (DEL-06)', async () => {
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
