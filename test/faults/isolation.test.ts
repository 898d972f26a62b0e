import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { before, describe, it } from 'node:test'
import { everything, granting, TestCallers } from '../support/callers.ts'
import {
  ask,
  assertHoldsNothingOf,
  bearer,
  challengeTo,
  cookie,
  emptyListings,
  forCallers,
  forEverybody,
  type Headers,
  Isolation,
  related,
  statusFor,
  strangers,
  textOf,
  type World,
} from '../support/isolation.ts'
import { rawRequest } from '../support/raw-request.ts'
import { declareAll, furnish, requestOf, sampleOf } from '../support/routes.ts'
import { forEachService, startService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { createTestDatabase } from '../support/stores.ts'

forEachService((start) => {
  const isolation = new Isolation()
  let world: World
  before(async () => {
    world = await isolation.begin(start)
  })

  describe('a route for callers', () => {
    for (const route of forCallers) {
      it(`${route.id} rejects unrelated callers, reveals nothing and changes nothing (ACL-01, R-PERM-04, I10)`, async () => {
        for (const [who, [status, headers]] of Object.entries(strangers)) {
          const response = await ask(world, route, world.victim, headers(world, world.victim))
          const expected = statusFor(who, route, status)
          assert.equal(response.status, expected, who)
          const location = response.headers.get('location')
          assert.equal(location?.split('?')[0], expected === 302 ? 'http://troupe.test/login' : undefined, who)
          assert.equal(
            response.headers.get('www-authenticate'),
            expected === 401 ? challengeTo(who, world.victim) : null,
            who,
          )
          assertHoldsNothingOf(world.victim, await textOf(response), who)
        }
        await isolation.assertUntouched(route.id)
      })

      it(`${route.id} rejects related callers without the right (ACL-01, R-PERM-04)`, async () => {
        for (const [who, headers] of Object.entries(related)) {
          const response = await ask(world, route, world.victim, headers(world, world.victim))
          const listing = emptyListings[route.id]
          assert.equal(response.status, listing === undefined ? 403 : 200, who)
          if (listing !== undefined) assert.equal(await response.clone().text(), listing, who)
          assertHoldsNothingOf(world.victim, await textOf(response), who)
        }
        await isolation.assertUntouched(route.id)
      })

      if (route.method === 'GET') {
        it(`${route.id} rejects HEAD like GET (ACL-01)`, async () => {
          for (const [who, [status, headers]] of Object.entries(strangers)) {
            const [path, init] = requestOf(route, world.victim.id, headers(world, world.victim))
            const response = await world.service.request(path, { ...init, method: 'HEAD' })
            assert.equal(response.status, route.takesNoHead === true ? 405 : statusFor(who, route, status), who)
            assert.equal(await response.text(), '', who)
          }
          await isolation.assertUntouched(route.id)
        })
      }

      it(`${route.id} gives 404 to all callers when the actor does not exist (ACL-01)`, async () => {
        const missing = { ...world.victim, id: '0123456789abcdef0123456789abcdef' }
        const all = [...Object.values(strangers).map(([, headers]) => headers), ...Object.values(related)]
        for (const headers of all) {
          const response = await ask(world, route, missing, headers(world, world.victim))
          assert.equal(response.status, 404)
          assertHoldsNothingOf(world.victim, await textOf(response), route.id)
        }
        await isolation.assertUntouched(route.id)
      })

      it(`${route.id} rejects a credential that is valid for another actor (ACL-02, I10)`, async () => {
        const { callers, stranger, victim } = world
        const credentials: readonly Headers[] = [
          { authorization: stranger.authorization },
          bearer(callers.session(stranger.id)),
          cookie(callers.session(stranger.id)),
          bearer(callers.peer(stranger.id, { relationship: 'admin', grants: everything })),
          bearer(callers.client(stranger.id, { grants: everything })),
          bearer(callers.trustee(stranger.id)),
        ]
        for (const headers of credentials) {
          const response = await ask(world, route, victim, headers)
          assert.equal(response.status, 403)
          assertHoldsNothingOf(victim, await textOf(response), route.id)
        }
        await isolation.assertUntouched(route.id)
      })
    }
  })

  describe('a public route', () => {
    const ofMoves: ReadonlySet<string> = new Set(['sendMovedArchive', 'activateMove', 'cancelMove'])
    for (const route of forEverybody) {
      it(`${route.id} gives all callers the same status and changes no actor (ACL-01)`, async () => {
        const all = [...Object.values(strangers).map(([, headers]) => headers), ...Object.values(related)]
        let body = ''
        for (const headers of all) {
          // Requests with a cookie come from a page of the service here, because others are rejected everywhere (WEB-04).
          const own: Headers = { 'sec-fetch-site': 'same-origin', ...headers(world, world.victim) }
          const response = await ask(world, route, world.victim, own)
          // Services in a move present its token, and every other bearer token is that of no move.
          const isOfNoMove = ofMoves.has(route.id) && /^Bearer [!-~]+$/.test(own['authorization'] ?? '')
          // The service has no open link, which only a request from its own page learns.
          const ofPage = ['firstOperatorForm', 'ownerLinkForm'].includes(route.id) ? 410 : sampleOf(route).status
          assert.equal(response.status, isOfNoMove ? 404 : ofPage)
          assertHoldsNothingOf(world.victim, JSON.stringify([...response.headers]), route.id)
          // Most callers get the same document, which may be long.
          const last = body
          body = await response.text()
          if (body !== last) assertHoldsNothingOf(world.victim, body, route.id)
        }
        await isolation.assertUntouched(route.id)
      })
    }
  })

  describe('ids of another actor', () => {
    it('in a body or a query are ordinary values (ACL-03, I10)', async () => {
      const { victim, stranger } = world
      const id = victim.id
      const query = `?actor=${id}&actor_id=${id}&id=${id}&peerid=${id}&creator=${victim.creator}`
      const body = { actor: id, actor_id: id, id, owner: id, creator: victim.creator }
      assert.equal((await stranger.request('PUT', '/properties', body)).status, 204)
      assert.equal((await stranger.request('PUT', `/properties/color${query}`, '"mine"')).status, 400)
      // A read ignores the parameters, and shows the own property.
      const read = await stranger.request('GET', `/properties/color${query}`)
      assert.deepEqual([read.status, (await read.text()).includes(id)], [200, false])
      assert.equal((await stranger.request('DELETE', `/properties/color${query}`)).status, 400)
      const own = (await (await stranger.request('GET', query)).json()) as { id: string }
      assert.equal(own.id, stranger.id)
      assert.equal(await (await stranger.request('GET', '/properties/actor_id')).text(), id)
      assert.equal((await stranger.request('PUT', `/devtest/attribute/${id}/${id}`, '"mine"')).status, 204)
      await isolation.assertUntouched('the query and the body')
    })

    it('at the factory neither take over nor delete an actor (ACL-03)', async () => {
      const { victim, service } = world
      const body = {
        id: victim.id,
        actor_id: victim.id,
        creator: victim.creator,
        delete_existing: true,
        deleteExisting: true,
      }
      for (const contentType of ['application/json', 'application/x-www-form-urlencoded']) {
        const text = contentType.endsWith('json')
          ? JSON.stringify(body)
          : new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)])).toString()
        const response = await service.request('/', {
          method: 'POST',
          headers: { 'content-type': contentType, accept: 'application/json' },
          body: text,
        })
        assert.equal(response.status, 201)
        const made = (await response.json()) as { id: string; passphrase: string }
        assert.notEqual(made.id, victim.id)
        assert.notEqual(made.passphrase, victim.passphrase)
      }
      await isolation.assertUntouched('the factory')
    })

    it('in a call do not change the actor of the handler (ACL-03)', async () => {
      const callers = new TestCallers()
      const seen: string[] = []
      const service = await start({
        ...callers.parts,
        declare: (app) => {
          app.method('who', ({ actor }) => {
            seen.push(actor.id)
            return { id: actor.id }
          })
        },
      })
      const [own, other] = [
        await service.createActor('own@example.com'),
        await service.createActor('other@example.com'),
      ]
      const rpc = { jsonrpc: '2.0', method: 'who', params: { actor: other.id, id: other.id }, id: other.id }
      assert.deepEqual(await (await own.request('POST', '/methods/who', { actor: other.id })).json(), { id: own.id })
      assert.deepEqual(await (await own.request('POST', `/methods?actor=${other.id}`, rpc)).json(), {
        jsonrpc: '2.0',
        result: { id: own.id },
        id: other.id,
      })
      assert.deepEqual(seen, [own.id, own.id])
    })

    it('in item handles give no access to another list (ACL-03)', async () => {
      const { service, victim, stranger } = world
      const [theirs, mine] = [await service.app.actors.get(victim.id), await service.app.actors.get(stranger.id)]
      assert.ok(theirs !== undefined && mine !== undefined)
      const [item] = await theirs.list('notes').itemsWithHandles()
      assert.ok(item !== undefined)
      const before = await isolation.store()
      assert.equal(await mine.list('notes').updateByHandle(item.handle, 'taken'), false)
      assert.equal(await mine.list('notes').deleteByHandle(item.handle), false)
      assert.deepEqual(await isolation.store(), before)
      await mine.list('copy').append('planted-note')
      assert.equal(await mine.list('copy').deleteByHandle(item.handle), false)
      await isolation.assertUntouched('a handle')
    })

    it('in the index of a property value are not replaced by a later owner of the value (ACL-03)', async () => {
      const { service } = world
      const [first, second] = [
        await service.createActor('first@example.com'),
        await service.createActor('second@example.com'),
      ]
      await first.request('PUT', '/properties/email', '"shared@example.com"')
      await second.request('PUT', '/properties/email', '"shared@example.com"')
      assert.equal((await service.app.actors.findBy('email', 'shared@example.com'))?.id, first.id)
      await second.request('DELETE', '/properties/email')
      assert.equal((await service.app.actors.findBy('email', 'shared@example.com'))?.id, first.id)
    })
  })

  describe('a peer that may only read', () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const writes: readonly [method: string, path: string, body?: unknown, headers?: Headers][] = [
      ['POST', '/properties', { color: 'x' }],
      ['POST', '/properties', { fresh: 'x' }],
      ['POST', '/properties', { notes: { _type: 'list', description: 'x' } }],
      ['POST', '/properties', { notes: { items: [{ index: 0, text: 'x' }] } }],
      ['POST', '/properties', { notes: { items: [{ index: 1, text: 'x' }] } }],
      ['POST', '/properties', { notes: { items: [{ index: 0 }] } }],
      ['POST', '/properties', { notes: { items: [] } }],
      ['POST', '/properties', 'property=notes&property_type=list', form],
      ['POST', '/properties', 'property=color&value=x', form],
      ['POST', '/properties', 'color=x', form],
      ['POST', '/properties?color=x'],
      ['PUT', '/properties', { color: 'x' }],
      ['PUT', '/properties', { notes: { items: [{ index: 0 }] } }],
      ['DELETE', '/properties'],
      ['PUT', '/properties/color', '"x"'],
      ['PUT', '/properties/color', ''],
      ['PUT', '/properties/color/deep', '"x"'],
      ['POST', '/properties/color', '"x"'],
      ['POST', '/properties/fresh', '"x"'],
      ['DELETE', '/properties/color'],
      ['DELETE', '/properties/color/deep'],
      ['POST', '/properties/notes', '"x"'],
      ['PUT', '/properties/notes', '"x"'],
      ['PUT', '/properties/notes/0', '"x"'],
      ['PUT', '/properties/notes/1', '"x"'],
      ['PUT', '/properties/notes?index=0', '"x"'],
      ['PUT', '/properties/notes?index=1', '"x"'],
      ['DELETE', '/properties/notes/0'],
      ['DELETE', '/properties/notes?index=0'],
      ['DELETE', '/properties/notes'],
      ['POST', '/properties/notes/items', { action: 'add', item_value: 'x' }],
      ['POST', '/properties/notes/items', { action: 'update', item_index: 0, item_value: 'x' }],
      ['POST', '/properties/notes/items', { action: 'delete', item_index: 0 }],
      ['PUT', '/properties/notes/metadata', { description: 'x' }],
      ['GET', '/properties?_method=DELETE'],
      ['GET', '/properties/color?_method=PUT'],
      ['GET', '/properties/color?_method=DELETE'],
      ['GET', '/properties/notes/0?_method=DELETE'],
      ['POST', '/properties/notes', '_method=DELETE', form],
      ['POST', '/properties/notes/0', '_method=DELETE', form],
      ['POST', '/properties/color', '_method=PUT&value=x', form],
    ]
    it('changes nothing by any route (ACL-04)', async () => {
      const { callers, victim } = world
      const grants = granting('properties read *')
      const readers = [callers.peer(victim.id, { grants }), callers.client(victim.id, { grants })]
      for (const [method, path, body, headers] of writes) {
        for (const reader of readers) {
          const response = await victim.request(method, path, body, { ...bearer(reader), ...headers })
          assert.equal(response.status, 403, `${method} ${path} ${JSON.stringify(body)}`)
          await isolation.assertUntouched(`${method} ${path} ${JSON.stringify(body)}`)
        }
      }
      const [reader = ''] = readers
      assert.equal(
        await (await victim.request('GET', '/properties/notes', undefined, bearer(reader))).text(),
        '["planted-note"]',
      )
    })

    it('changes nothing with a right to write another name (ACL-04)', async () => {
      const { callers, victim } = world
      const grants = granting('properties read *', 'properties write fresh-start', 'properties delete fresh-start')
      const writer = callers.peer(victim.id, { grants })
      for (const [method, path, body, headers] of writes) {
        const response = await victim.request(method, path, body, { ...bearer(writer), ...headers })
        assert.equal(response.status, 403, `${method} ${path} ${JSON.stringify(body)}`)
        await isolation.assertUntouched(`${method} ${path} ${JSON.stringify(body)}`)
      }
    })

    it('cannot change any name in a batch with a forbidden name (ACL-04)', async () => {
      const { callers, victim } = world
      const writer = bearer(callers.peer(victim.id, { grants: granting('properties write free*') }))
      for (const name of ['color', 'notes']) {
        for (const method of ['POST', 'PUT']) {
          const body = { free: 1, free2: { _type: 'list' }, [name]: { items: [{ index: 0 }] } }
          assert.equal((await victim.request(method, '/properties', body, writer)).status, 403)
          await isolation.assertUntouched(`${method} with ${name}`)
        }
      }
    })
  })

  describe('the rights on a list', () => {
    it('are those on its name: items are content, and removing an item needs the right to write', async () => {
      const { callers } = world
      const steps: readonly [right: string, method: string, path: string, status: number][] = [
        ['read', 'GET', '/properties/notes', 200],
        ['read', 'GET', '/properties/notes/0', 200],
        ['read', 'GET', '/properties/notes?index=0', 200],
        ['read', 'GET', '/properties/notes/items', 200],
        ['read', 'GET', '/properties/notes/metadata', 200],
        ['write', 'GET', '/properties/notes/0', 403],
        ['write', 'PUT', '/properties/notes/0', 204],
        ['write', 'DELETE', '/properties/notes/0', 204],
        ['write', 'DELETE', '/properties/notes', 403],
        ['delete', 'PUT', '/properties/notes/0', 403],
        ['delete', 'DELETE', '/properties/notes/0', 403],
        ['delete', 'DELETE', '/properties/notes?index=0', 403],
        ['delete', 'DELETE', '/properties/notes', 204],
      ]
      for (const [right, method, path, status] of steps) {
        const actor = await isolation.freshActor()
        const peer = callers.peer(actor.id, { grants: granting(`properties ${right} notes`) })
        const body = method === 'PUT' ? '"x"' : undefined
        const response = await actor.request(method, path, body, bearer(peer))
        assert.equal(response.status, status, `${right}: ${method} ${path}`)
      }
    })

    it('do not follow from a right on a position, because positions are not paths', async () => {
      const { callers, victim } = world
      const peer = bearer(callers.peer(victim.id, { grants: ({ target }) => target.startsWith('notes/') }))
      const steps: readonly [method: string, path: string, body?: unknown][] = [
        ['GET', '/properties/notes/0'],
        ['GET', '/properties/notes/'],
        ['GET', '/properties/notes/items'],
        ['GET', '/properties/notes/metadata'],
        ['PUT', '/properties/notes/0', '"x"'],
        ['DELETE', '/properties/notes/0'],
        ['POST', '/properties/notes/0', '"x"'],
        ['POST', '/properties/notes/items', { action: 'delete', item_index: 0 }],
      ]
      for (const [method, path, body] of steps) {
        const response = await victim.request(method, path, body, peer)
        assert.equal(response.status, 403, `${method} ${path}`)
        await isolation.assertUntouched(`${method} ${path}`)
      }
    })
  })

  describe('a peer with partial rights', () => {
    const names = ['open', 'closed', 'settings', 'shared', 'private'] as const
    const forms = ['', '?format=full', '?format=short', '?metadata=true'] as const

    async function mixedActor(): Promise<TestActor> {
      const actor = await world.service.createActor('mixed@example.com')
      await actor.request('PUT', '/properties', {
        open: 'seen',
        closed: 'hidden-value',
        settings: { theme: 'seen', key: 'hidden-value' },
        shared: { _type: 'list', description: 'seen' },
        private: { _type: 'list', description: 'hidden-value' },
      })
      await actor.request('POST', '/properties/shared', '"seen"')
      await actor.request('POST', '/properties/private', '"hidden-value"')
      return actor
    }

    it('sees in every form of the listing exactly the names that it may read (ACL-05)', async () => {
      const actor = await mixedActor()
      const peer = bearer(
        world.callers.peer(actor.id, {
          grants: granting('properties read open', 'properties read shared', 'properties read settings/theme'),
        }),
      )
      const expected = {
        '': { open: 'seen', shared: { _list: true, count: 1 } },
        '?format=short': { open: 'seen', shared: { _list: true, count: 1 } },
        '?format=full': {
          open: 'seen',
          shared: { _list: true, count: 1, description: 'seen', explanation: '', items: ['seen'] },
        },
        '?metadata=true': {
          simple: { properties: ['open'], total_bytes: 6 },
          lists: { shared: { count: 1, total_bytes: 6, description: 'seen', explanation: '' } },
        },
      }
      for (const form of forms) {
        const response = await actor.request('GET', `/properties${form}`, undefined, peer)
        assert.deepEqual(await response.json(), expected[form], form)
      }
      const statuses = await Promise.all(
        [...names, 'settings/theme', 'settings/key', 'private/0', 'private/items', 'private/metadata', 'unknown'].map(
          async (name) => [name, (await actor.request('GET', `/properties/${name}`, undefined, peer)).status] as const,
        ),
      )
      assert.deepEqual(Object.fromEntries(statuses), {
        open: 200,
        closed: 403,
        settings: 403,
        shared: 200,
        private: 403,
        'settings/theme': 200,
        'settings/key': 403,
        'private/0': 403,
        'private/items': 403,
        'private/metadata': 403,
        unknown: 403,
      })
    })

    it('sees exactly the methods and actions that it may call (ACL-05)', async () => {
      const { callers, victim } = world
      for (const [kind, name] of [
        ['methods', 'greet'],
        ['actions', 'paint'],
      ] as const) {
        for (const [rule, shown] of [
          [`${kind} write ${name}`, [name]],
          [`${kind} read ${name}`, []],
          [`${kind} write other`, []],
        ] as const) {
          const peer = bearer(callers.peer(victim.id, { grants: granting(rule) }))
          const listing = (await (await victim.request('GET', `/${kind}`, undefined, peer)).json()) as {
            [kind: string]: { name: string }[]
          }
          assert.deepEqual(
            listing[kind]?.map((entry) => entry.name),
            shown,
            rule,
          )
        }
      }
    })

    it('learns nothing about a list that a hook hides, in any form and at any path (ACL-05)', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...callers.parts,
        declare: (app) => {
          app.property('private', ({ caller, value }) => (caller.kind === 'peer' ? null : value))
        },
      })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { private: { _type: 'list', description: 'hidden-value' } })
      await actor.request('POST', '/properties/private', '"hidden-value"')
      const peer = bearer(callers.peer(actor.id, { grants: everything }))
      const listings = {
        '': '{}',
        '?format=full': '{}',
        '?format=short': '{}',
        '?metadata=true': '{"simple":{"properties":[],"total_bytes":0},"lists":{}}',
      }
      for (const form of forms) {
        const response = await actor.request('GET', `/properties${form}`, undefined, peer)
        assert.equal(await response.text(), listings[form], form)
      }
      for (const path of ['', '/0', '?index=0', '?format=short', '/items', '/metadata']) {
        const response = await actor.request('GET', `/properties/private${path}`, undefined, peer)
        assert.equal(response.status, 404, path)
        assert.doesNotMatch(await response.text(), /hidden-value/, path)
        assert.equal((await actor.request('GET', `/properties/private${path}`)).status, 200, path)
      }
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{"private":{"_list":true,"count":1}}')
    })

    it('deletes all properties only if it may delete each of them (ACL-05)', async () => {
      const { callers, victim } = world
      for (const grants of [
        granting('properties delete color', 'properties delete notes'),
        granting('properties delete', 'properties delete color'),
        granting('properties delete'),
      ]) {
        const peer = bearer(callers.peer(victim.id, { grants }))
        assert.equal((await victim.request('DELETE', '/properties', undefined, peer)).status, 403)
        await isolation.assertUntouched('delete all')
      }
      const actor = await isolation.freshActor()
      const grants = granting('properties delete', 'properties delete color', 'properties delete notes')
      const peer = bearer(callers.peer(actor.id, { grants }))
      assert.equal((await actor.request('DELETE', '/properties', undefined, peer)).status, 204)
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
    })

    it('does not delete a property that was added after the permission check (ACL-05)', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...callers.parts,
        declare: (app) => {
          // The hook runs between the permission check and the deletion.
          app.property('color', {
            delete: async ({ actor, value }) => {
              await actor.set('late', 'kept')
              return value
            },
          })
        },
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', '"blue"')
      const peer = bearer(callers.peer(actor.id, { grants: ({ target }) => target !== 'late' }))
      assert.equal((await actor.request('DELETE', '/properties', undefined, peer)).status, 409)
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{"color":"blue","late":"kept"}')
    })
  })

  describe('permission rules', () => {
    it('deny when no rule matches, whatever the relationship is called (ACL-08)', async () => {
      const { callers, victim } = world
      const grants = granting(
        'properties read colors',
        'properties read colo',
        'properties read color/*',
        'properties read *r',
      )
      for (const relationship of [
        'friend',
        'partner',
        'admin',
        'associate',
        'viewer',
        'creator',
        'owner',
        'trustee',
        '',
      ]) {
        const peer = bearer(callers.peer(victim.id, { relationship, grants }))
        const response = await victim.request('GET', '/properties/color', undefined, peer)
        assert.equal(response.status, 403, relationship)
        assertHoldsNothingOf(victim, await textOf(response), relationship)
      }
    })

    it('give a relationship no role by its name (ACL-08)', async () => {
      const { callers, victim } = world
      for (const relationship of [
        'creator',
        'trustee',
        'owner',
        'application',
        '__proto__',
        'constructor',
        'toString',
      ]) {
        for (const path of ['', '/devtest/attribute']) {
          const peer = bearer(callers.peer(victim.id, { relationship, grants: everything }))
          assert.equal((await victim.request('GET', path, undefined, peer)).status, 403, relationship + path)
        }
      }
    })

    it('reject a caller of an unknown kind (ACL-08)', async () => {
      const { callers, victim } = world
      for (const kind of ['owner', 'Creator', 'CREATOR', '', undefined]) {
        const token = callers.as(victim.id, (via) => ({ kind, via }) as never)
        for (const route of forCallers) {
          const response = await ask(world, route, victim, bearer(token))
          assert.equal(response.status, 403, route.id)
          assertHoldsNothingOf(victim, await textOf(response), route.id)
        }
      }
      await isolation.assertUntouched('an unknown kind')
    })

    it('fail the request when they cannot be read or evaluated, with no data shown or changed (ACL-08)', async () => {
      const callers = new TestCallers()
      const failure = (): never => {
        throw new Error('The rules are broken: planted-cause')
      }
      for (const relationshipRules of [failure, async () => failure()]) {
        const service = await start({ ...callers.parts, relationshipRules, declare: declareAll })
        const actor = await service.createActor()
        await furnish(actor)
        const before = await dumpStore((await service.app.running()).store)
        const peer = bearer(callers.peer(actor.id))
        const ruled = ['properties', 'resources', 'methods', 'actions']
        for (const route of forCallers.filter(({ access }) => ruled.includes(access))) {
          const response = await service.request(...requestOf(route, actor.id, peer))
          assert.equal(response.status, 500, route.id)
          assert.deepEqual(await response.json(), { error: 'server_error', message: 'The service failed' }, route.id)
        }
        assert.deepEqual(await dumpStore((await service.app.running()).store), before)
      }
    })
  })

  describe('concurrent requests', () => {
    interface Line {
      readonly level: string
      readonly context: string
      readonly msg: string
      readonly actorId?: string
    }
    const linesOf = (service: TestService): Line[] => service.log.map((line) => JSON.parse(line) as Line)

    it('log with their own context, even when their changes share one transaction (ACL-13)', async () => {
      const service = await start()
      const first = await service.createActor('first@example.com')
      await first.request('PUT', '/properties/email', '"taken@example.com"')
      const actors = await Promise.all(Array.from({ length: 20 }, (_, n) => service.createActor(`${n}@example.com`)))
      service.reset()
      // Each change collides with the first actor's value and is logged from inside its transaction.
      await Promise.all(
        actors.map((actor, n) =>
          actor.request('PUT', '/properties/email', '"taken@example.com"', { 'x-request-id': `request-${1000 + n}` }),
        ),
      )
      const collisions = linesOf(service).filter(({ level }) => level === 'warn')
      assert.deepEqual(
        collisions.map(({ actorId, context }) => `${actorId} ${context}`).sort(),
        actors.map((actor, n) => `${actor.id} [uest${1000 + n}:${actor.id}:-]`).sort(),
      )
    })

    it('keep actor, caller and input separate while they wait for one another (ACL-13)', async () => {
      const callers = new TestCallers()
      let waiting = 0
      const { promise: allThere, resolve: release } = Promise.withResolvers<void>()
      const service = await start({
        ...callers.parts,
        declare: (app) => {
          app.method('meet', async ({ actor, caller, input }) => {
            waiting += 1
            if (waiting === 12) release()
            await allThere
            await actor.set('met', String((input as { n: number }).n))
            return { actor: actor.id, kind: caller.kind, peer: caller.kind === 'peer' ? caller.peerId : null, input }
          })
        },
      })
      const actors = await Promise.all(Array.from({ length: 4 }, (_, n) => service.createActor(`${n}@example.com`)))
      service.reset()
      const calls = actors.flatMap((actor, n) => {
        const friend = { kind: 'peer', peerId: `urn:peer-${n}`, relationship: 'friend', approved: true } as const
        const named = callers.as(actor.id, (via) => ({ ...friend, via }), everything)
        return [
          { actor, n, kind: 'creator', peer: null, headers: {} },
          { actor, n, kind: 'creator', peer: null, headers: bearer(callers.session(actor.id)) },
          { actor, n, kind: 'peer', peer: `urn:peer-${n}`, headers: bearer(named) },
        ]
      })
      const answers = await Promise.all(
        calls.map(async ({ actor, n, headers }, at) => {
          const id = `meeting-${1000 + at}`
          const response = await actor.request('POST', '/methods/meet', { n }, { ...headers, 'x-request-id': id })
          assert.equal(response.headers.get('x-request-id'), id)
          return response.json()
        }),
      )
      assert.deepEqual(
        answers,
        calls.map(({ actor, n, kind, peer }) => ({ actor: actor.id, kind, peer, input: { n } })),
      )
      assert.deepEqual(
        service.changes.map(({ actorId, blob }) => `${actorId} ${blob}`).sort(),
        calls.map(({ actor, n }) => `${actor.id} "${n}"`).sort(),
      )
      assert.deepEqual(
        linesOf(service)
          .map(({ context }) => context)
          .sort(),
        calls.map(({ actor, peer }, at) => `[ting${1000 + at}:${actor.id}:${peer?.slice(4) ?? '-'}]`).sort(),
      )
    })

    it('leave no context for the next request of a connection or for work outside of requests (ACL-13)', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...callers.parts,
        listen: true,
        declare: (app) => {
          app.method('break', () => {
            throw new Error('broken')
          })
          app.on('actor_created', () => {
            throw new Error('broken')
          })
        },
      })
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      try {
        const actor = await service.createActor()
        service.reset()
        const peer = bearer(callers.peer(actor.id, { grants: everything }))
        const send = async (path: string, headers: Headers): Promise<number> => {
          const method = path.includes('break') ? 'POST' : 'GET'
          const body = method === 'POST' ? '{}' : undefined
          const options = { headers, agent, ...(body === undefined ? {} : { body }) }
          return (await rawRequest(service.url, method, path, options)).status
        }
        assert.equal(await send(`/${actor.id}/methods/break`, { ...peer, 'x-request-id': 'request-1' }), 500)
        assert.equal(await send(`/${actor.id}/properties`, { 'x-request-id': 'request-2' }), 401)
        assert.equal(await send('/health/live', { ...peer, 'x-request-id': 'request-3' }), 200)
        await service.app.actors.create({ creator: 'inside@example.com' })
        const [, peerTag = ''] = /:([0-9a-f-]+)\]/.exec(service.log[0] ?? '') ?? []
        assert.match(peerTag, /^[0-9a-f-]{36}$/)
        assert.deepEqual(
          linesOf(service).map(({ level, context }) => `${level} ${context}`),
          [
            `error [request1:${actor.id}:${peerTag}]`,
            `debug [request1:${actor.id}:${peerTag}]`,
            `debug [request2:${actor.id}:-]`,
            `debug [request2:${actor.id}:-]`,
            'debug [request3:-:-]',
            'error [-:-:-]',
          ],
        )
      } finally {
        agent.destroy()
      }
    })
  })

  describe('two services in one process', () => {
    it('have separate stores, keys, declarations, settings, counters and logs (ACL-14)', async () => {
      const otherKeys = 'k2:fT3rX8vQ1mZb6WdKpYcN4hJsLg0uEiAo7Rx9QyBwV5U'
      const one = await start({ declare: (app) => declareAll(app), devtest: true })
      const two = await start({
        secretKeys: otherKeys,
        devtest: false,
        maxBodyBytes: 2048,
        indexedProperties: ['phone'],
      })
      const inOne = await one.createActor()
      const inTwo = await two.createActor()
      const [storeOfOne, storeOfTwo] = [(await one.app.running()).store, (await two.app.running()).store]

      // Stores: the first service's actor does not exist in the second, with any credential.
      for (const headers of [{}, { authorization: inOne.authorization }]) {
        assert.equal((await two.request(`/${inOne.id}`, { headers })).status, 404)
      }
      assert.equal((await two.request(`/${inTwo.id}`, { headers: { authorization: inOne.authorization } })).status, 403)
      const before = await dumpStore(storeOfTwo)
      assert.equal((await inOne.request('PUT', '/properties/color', '"blue"')).status, 204)
      assert.deepEqual(await dumpStore(storeOfTwo), before)

      // Keys.
      const sealedBy = async (store: typeof storeOfOne): Promise<string | undefined> =>
        (await dumpStore(store))['actor']?.map((row) => (JSON.parse(row) as { passphrase: string }).passphrase)[0]
      assert.match((await sealedBy(storeOfOne)) ?? '', /^v1\.k1\./)
      assert.match((await sealedBy(storeOfTwo)) ?? '', /^v1\.k2\./)

      // Declarations and settings.
      assert.equal((await inOne.request('POST', '/methods/greet', {})).status, 200)
      assert.equal((await inTwo.request('POST', '/methods/greet', {})).status, 404)
      assert.equal((await inOne.request('PUT', '/devtest/ping')).status, 204)
      assert.equal((await inTwo.request('PUT', '/devtest/ping')).status, 404)
      const large = JSON.stringify('x'.repeat(3000))
      assert.equal((await inOne.request('PUT', '/properties/large', large)).status, 204)
      assert.equal((await inTwo.request('PUT', '/properties/large', large)).status, 413)
      await inOne.request('PUT', '/properties/email', '"a@example.com"')
      await inTwo.request('PUT', '/properties/phone', '"123"')
      assert.equal((await one.app.actors.findBy('email', 'a@example.com'))?.id, inOne.id)
      assert.equal((await two.app.actors.findBy('phone', '123'))?.id, inTwo.id)
      await assert.rejects(two.app.actors.findBy('email', 'a@example.com'), { code: 'bad_request' })

      // Counters, statements and logs.
      for (const service of [one, two]) service.reset()
      const counted = async (service: TestService): Promise<string | undefined> =>
        /_count\{route="getActor",method="GET",status="200"\} (\d+)/.exec(
          await (await service.request('/metrics')).text(),
        )?.[1]
      await inOne.request('GET', '')
      await inOne.request('GET', '')
      assert.equal(one.statements.length, 2)
      assert.deepEqual(two.statements, [])
      assert.equal(await counted(one), '2')
      assert.equal(await counted(two), undefined)
      assert.ok(two.log.every((line) => !line.includes(inOne.id)))

      // Closing one service does not close the other.
      await two.close()
      assert.equal((await inOne.request('GET', '/properties/color')).status, 200)
    })

    it('with one store differ in their declarations and share the data (ACL-14)', async () => {
      const one = await start({ declare: (app) => declareAll(app) })
      const two = await start({ database: one.databaseUrl })
      const actor = await one.createActor()
      const headers = { authorization: actor.authorization, 'content-type': 'application/json' }
      await one.request(`/${actor.id}/properties/color`, { method: 'PUT', headers, body: '"blue"' })
      assert.equal(await (await two.request(`/${actor.id}/properties/color`, { headers })).text(), 'blue')
      const call = { method: 'POST', headers, body: '{}' }
      assert.equal((await one.request(`/${actor.id}/actions/paint`, call)).status, 200)
      assert.equal((await two.request(`/${actor.id}/actions/paint`, call)).status, 404)
    })
  })
})

/** These tests do not depend on the database; paths must be sent exactly as written. */
describe('a denied target', () => {
  it('cannot be reached by another spelling in the path (ACL-09)', async () => {
    const callers = new TestCallers()
    const database = await createTestDatabase('sqlite')
    const done: string[] = []
    const service = await startService(database.url, {
      ...callers.parts,
      listen: true,
      declare: (app) => declareAll(app, done),
    })
    try {
      const actor = await service.createActor()
      const denied = ['secret', 's\u00e9cret', 'vault', 'greet', 'paint', 'picture']
      await actor.request('PUT', '/properties', {
        secret: 'planted-blue',
        's\u00e9cret': 'planted-blue',
        vault: { _type: 'list', description: 'planted-texts' },
      })
      await actor.request('POST', '/properties/vault', '"planted-note"')
      // Only these exact targets are denied, so any other spelling that reaches them fails the test.
      const peer = bearer(callers.peer(actor.id, { grants: ({ target }) => !denied.includes(target) }))
      const rows = async (): Promise<string> => {
        const dump = await dumpStore((await service.app.running()).store)
        const of = (table: string, name: string): string[] =>
          (dump[table] ?? []).filter((row) =>
            denied.includes(String((JSON.parse(row) as Record<string, unknown>)[name])),
          )
        return JSON.stringify([of('property', 'name'), of('list_item', 'list'), of('list_node', 'list')])
      }
      const before = await rows()

      const id = actor.id
      for (const [path, get, put, remove] of spellings(id)) {
        for (const [method, status] of [
          ['GET', get],
          ['HEAD', get],
          ['PUT', put],
          ['DELETE', remove],
        ] as const) {
          const response = await rawRequest(service.url, method, path, {
            headers: { ...peer, 'content-type': 'application/json' },
            ...(method === 'PUT' ? { body: '"changed"' } : {}),
          })
          assert.equal(response.status, status, `${method} ${path}`)
          assertHoldsNothingOf(actor, JSON.stringify(response), `${method} ${path}`)
          assert.equal(await rows(), before, `${method} ${path}`)
          assert.deepEqual(done, [], `${method} ${path}`)
        }
      }
    } finally {
      await service.close()
      await database.remove()
    }
  })

  it('cannot be reached by another spelling in a body (ACL-09)', async () => {
    const callers = new TestCallers()
    const database = await createTestDatabase('sqlite')
    const done: string[] = []
    const service = await startService(database.url, { ...callers.parts, declare: (app) => declareAll(app, done) })
    try {
      const actor = await service.createActor()
      await furnish(actor)
      const peer = bearer(callers.peer(actor.id, { grants: ({ target }) => !['color', 'greet'].includes(target) }))
      const before = await dumpStore((await service.app.running()).store)
      const form = 'application/x-www-form-urlencoded'
      const bodies: readonly [path: string, type: string, body: string][] = [
        ['/properties', 'application/json', '{"color":"x"}'],
        ['/properties', 'application/json', '{"\\u0063olor":"x"}'],
        ['/properties', 'application/json', '{"free":1,"color":"x"}'],
        ['/properties', 'application/json', '{"color":{"_type":"list"}}'],
        ['/properties', 'application/json', '{"color":{"items":[{"index":0}]}}'],
        ['/properties', form, 'color=x'],
        ['/properties', form, '%63olor=x'],
        ['/properties', form, 'property=color&value=x'],
        ['/properties', form, 'PROPERTY=color&Value=x'],
        ['/methods', 'application/json', '{"jsonrpc":"2.0","method":"greet","id":1}'],
        ['/methods', 'application/json', '{"jsonrpc":"2.0","method":"gr\\u0065et","id":1}'],
        ['/methods/greet', 'application/json', '{"jsonrpc":"2.0","method":"greet","id":1}'],
      ]
      for (const [path, type, body] of bodies) {
        const response = await actor.request('POST', path, body, { ...peer, 'content-type': type })
        assert.equal(response.status, 403, body)
        assert.deepEqual(await dumpStore((await service.app.running()).store), before, body)
        assert.deepEqual(done, [], body)
      }
    } finally {
      await service.close()
      await database.remove()
    }
  })
})

/** Lists paths with the peer's status for GET, PUT and DELETE. 404 means another name, which does not exist. */
function spellings(id: string): readonly [path: string, get: number, put: number, remove: number][] {
  const properties = `/${id}/properties`
  return [
    [`${properties}/secret`, 403, 403, 403],
    [`${properties}/%73ecret`, 403, 403, 403],
    [`${properties}/%73%65%63%72%65%74`, 403, 403, 403],
    [`${properties}/secret?index=/../open`, 403, 403, 403],
    [`${properties}/secret?_method=GET`, 403, 403, 403],
    [`${properties}/s%C3%A9cret`, 403, 403, 403],
    [`${properties}/s%c3%a9cret`, 403, 403, 403],
    [`${properties}/vault`, 403, 403, 403],
    [`${properties}/vault/`, 403, 403, 403],
    [`${properties}/vault/0`, 403, 403, 403],
    [`${properties}/vault/0/`, 403, 403, 403],
    [`${properties}/vault/-1`, 403, 403, 403],
    [`${properties}/vault?index=0`, 403, 403, 403],
    [`${properties}/vault?INDEX=0`, 403, 403, 403],
    [`${properties}/vault/items/`, 403, 403, 403],
    [`${properties}/vault?format=short`, 403, 403, 403],
    // Names are decoded once, so a name that is encoded twice is another property.
    [`${properties}/%2573ecret`, 404, 204, 204],
    [`${properties}/Secret`, 404, 204, 204],
    [`${properties}/SECRET`, 404, 204, 204],
    [`${properties}/se%CC%81cret`, 403, 403, 403],
    [`${properties}/%EF%BD%93ecret`, 404, 204, 204],
    [`${properties}/%C5%BFecret`, 404, 204, 204],
    [`${properties}/secret%20`, 404, 204, 204],
    [`${properties}/%20secret`, 404, 204, 204],
    [`${properties}/secret;x=1`, 404, 204, 204],
    [`${properties}/secret%3Fx`, 404, 204, 204],
    [`${properties}/secret%23`, 404, 204, 204],
    [`${properties}/secret.`, 404, 204, 204],
    [`${properties}/secret%5C`, 404, 204, 204],
    [`${properties}/secret\\`, 404, 204, 204],
    [`${properties}/secret%0A`, 404, 204, 204],
    [`${properties}/secret%E2%80%8B`, 404, 204, 204],
    // Invalid names.
    [`${properties}/secret%00`, 400, 400, 400],
    [`${properties}/%2Fsecret`, 400, 400, 400],
    [`${properties}/secret%2F`, 400, 400, 400],
    [`${properties}/open%2F..%2Fsecret`, 400, 400, 400],
    [`${properties}/open%2fsecret`, 400, 400, 400],
    [`${properties}/./secret`, 400, 400, 400],
    [`${properties}/open/../secret`, 400, 400, 400],
    [`${properties}/%2e/secret`, 400, 400, 400],
    [`${properties}/%2E%2e/properties/secret`, 400, 400, 400],
    [`${properties}/secret/.`, 400, 400, 400],
    [`${properties}%2Fsecret`, 400, 400, 400],
    [`${properties}/%ff`, 400, 400, 400],
    [`${properties}/s%C3ecret`, 400, 400, 400],
    [`${properties}/secret%`, 400, 400, 400],
    // Paths without a route.
    [`${properties}//secret`, 404, 404, 404],
    [`/${id}//properties/secret`, 404, 404, 404],
    [`//${id}/properties/secret`, 404, 404, 404],
    [`/${id}/PROPERTIES/secret`, 404, 404, 404],
    [`/${id}/Properties/secret`, 404, 404, 404],
    [`/${id}/properties;x/secret`, 404, 404, 404],
    [`/${id.toUpperCase()}/properties/secret`, 404, 404, 404],
    // A value that is not an object has no keys below it, not even the empty one.
    [`${properties}/secret/`, 404, 404, 404],
    [`${properties}/secret//`, 404, 404, 404],
    // Operations and resources.
    [`/${id}/methods/greet`, 403, 403, 403],
    [`/${id}/methods/gr%65et`, 403, 403, 403],
    [`/${id}/methods/GREET`, 404, 404, 403],
    [`/${id}/methods/greet/`, 404, 404, 403],
    [`/${id}/methods//greet`, 404, 404, 403],
    [`/${id}/methods/%2Fgreet`, 400, 400, 400],
    [`/${id}/methods/./greet`, 400, 400, 400],
    [`/${id}/methods/%2567reet`, 404, 404, 403],
    [`/${id}/actions/paint`, 403, 403, 403],
    [`/${id}/actions/p%61int`, 403, 403, 403],
    [`/${id}/actions/paint/`, 404, 404, 403],
    [`/${id}/resources/picture`, 403, 400, 403],
    [`/${id}/resources/pictur%65`, 403, 400, 403],
    [`/${id}/resources/picture/`, 404, 400, 404],
    [`/${id}/resources//picture`, 404, 400, 404],
  ]
}
