/** Kinds of actors: each has its own declarations, and no declaration of one kind runs for an actor of another. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { restore } from '../support/archives.ts'
import type { ActorDeclarations } from '../../src/app/kinds/actor-declarations.ts'
import type { Kind } from '../../src/app/kinds/kind.ts'
import { DeclaredKinds } from '../../src/property/declared-kinds.ts'
import { DataMigration } from '../../src/property/maintenance/data-migration.ts'
import { ownerOf } from '../support/kind-owner.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { refused } from '../support/stored.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import type { App } from '../../src/troupe.ts'
import { until } from '../support/until.ts'

const Payment = z.object({ cents: z.int() })
const Event = z.object({ title: z.string(), at: z.iso.date() })

/** The same names at the person and the club, with other schemas and other results. */
function declare(app: App) {
  const seen: string[] = []
  const club = app.kind('club', {
    name: 'Sports club',
    description: 'A club and its events',
    lists: { events: { item: Event, indexes: ['at'] } },
    properties: { fee: { schema: z.int(), default: 5 } },
  })
  const both: readonly (readonly [string, ActorDeclarations])[] = [
    ['person', app],
    ['club', club],
  ]
  for (const [name, declarations] of both) {
    declarations.action('pay', { description: `${name} pays`, mcp: true }, () => ({ by: name }))
    declarations.method('whoami', () => ({ kind: name }))
    declarations.resource('facts', () => ({ of: name }))
    declarations.callback('ping', () => ({ to: name }), { public: true })
    declarations.www(({ path }) => (path === 'own' ? { page: name } : null))
    declarations.alarm('wake', ({ actor }) => void seen.push(`alarm ${name} ${actor.kind}`))
    declarations.on('actor_created', ({ actor }) => void seen.push(`created ${name} ${actor.kind}`))
    declarations.on(
      'property_changed',
      ({ actor, name: changed }) => void seen.push(`${changed} ${name} ${actor.kind}`),
    )
    declarations.property('greeting', { put: ({ value }) => `${JSON.stringify(value)} from ${name}` })
  }
  app.property('fee', { schema: z.string() })
  app.list('payments', { item: Payment })
  app.action('person_only', { mcp: true }, () => ({}))
  club.action('club_only', { mcp: true }, () => ({}))
  return { club, seen }
}

interface Tools {
  readonly body: { readonly result: { readonly tools: { name: string }[] } }
}
interface Called {
  readonly body: { readonly result: { readonly content: { text: string }[] } }
}
const toolsIn = ({ body }: Tools) => body.result.tools
const textIn = ({ body }: Called) => body.result.content[0]?.text

forEachService((start) => {
  async function declared() {
    let made: ReturnType<typeof declare> | undefined
    const service = await start({ declare: (app) => void (made = declare(app)) })
    assert.ok(made !== undefined)
    const rowing = await made.club.create({ name: 'Rowing Club' })
    const person = await service.createActor('ann@example.com')
    const handle = await service.app.actors.get(person.id)
    assert.ok(handle !== undefined)
    return { service, ...made, rowing, owner: await ownerOf(service, rowing), person, handle }
  }

  describe('an actor of a kind', () => {
    it('has its kind, its name, and a creator that no person has', async () => {
      const { rowing, handle } = await declared()
      assert.equal(rowing.kind, 'club')
      assert.equal(handle.kind, 'person')
      assert.equal(rowing.creator, `club/${rowing.id}`)
      assert.equal(await rowing.get('displayname'), 'Rowing Club')
    })

    it('shows the type and description of its kind to other services', async () => {
      const { service, rowing, person } = await declared()
      const meta = async (id: string) =>
        (await service.request(`/${id}/meta`)).json() as Promise<Record<string, string>>
      const [ofClub, ofPerson] = [await meta(rowing.id), await meta(person.id)]
      assert.equal(ofClub['type'], `${ofPerson['type']}:club`)
      assert.equal(ofClub['desc'], 'A club and its events')
      assert.equal(await (await service.request(`/${rowing.id}/meta/type`)).text(), ofClub['type'])
    })

    it('runs the handlers of its kind alone', async () => {
      const { owner, person, service } = await declared()
      for (const [actor, name] of [[owner, 'club'] as const, [person, 'person'] as const]) {
        assert.deepEqual(await (await actor.request('POST', '/actions/pay', {})).json(), { by: name })
        assert.deepEqual(await (await actor.request('POST', '/methods/whoami', {})).json(), { kind: name })
        assert.deepEqual(await (await actor.request('GET', '/resources/facts')).json(), { of: name })
        assert.deepEqual(await (await service.request(`/${actor.id}/callbacks/ping`)).json(), { to: name })
        assert.deepEqual(await (await actor.request('GET', '/www/own')).json(), { page: name })
        await actor.request('PUT', '/properties/greeting', 'Hi')
        assert.equal(await (await actor.request('GET', '/properties/greeting')).text(), `"Hi" from ${name}`)
      }
      assert.equal((await owner.request('POST', '/actions/person_only', {})).status, 404)
      assert.equal((await person.request('POST', '/actions/club_only', {})).status, 404)
    })

    it('lists the operations of its kind alone', async () => {
      const { owner, person } = await declared()
      const names = async (actor: TestActor) => {
        const { actions } = (await (await actor.request('GET', '/actions')).json()) as { actions: { name: string }[] }
        return actions.map(({ name }) => name)
      }
      assert.deepEqual(await names(owner), ['pay', 'club_only'])
      assert.deepEqual(await names(person), ['pay', 'person_only'])
    })

    it('has the data of its kind alone', async () => {
      const { rowing, handle, club, person, owner } = await declared()
      assert.equal(await rowing.get(club.properties.fee), 5)
      assert.equal(await handle.get('fee'), undefined)
      await rowing.list(club.lists.events).append({ title: 'Regatta', at: '2026-06-01' })
      await assert.rejects(rowing.set('fee', 'ten'), { code: 'invalid_value' })
      await assert.rejects(handle.set('fee', 10), { code: 'invalid_value' })
      await rowing.list('payments').append('anything')
      await assert.rejects(handle.list('payments').append('anything'), { code: 'invalid_value' })
      await handle.list('events').append('anything')
      const listed = async (actor: TestActor) =>
        Object.keys((await (await actor.request('GET', '/properties')).json()) as object).toSorted()
      assert.deepEqual(await listed(owner), ['displayname', 'events', 'fee', 'payments'])
      assert.deepEqual(await listed(person), ['events', 'payments'])
    })

    it('queries an indexed list in a transaction of its kind', async () => {
      const { rowing, club } = await declared()
      const titles = await rowing.transaction(async (tx) => {
        await tx.list(club.lists.events).append({ title: 'Regatta', at: '2026-06-01' })
        return (await tx.list(club.lists.events).items()).map(({ title }) => title)
      })
      assert.deepEqual(titles, ['Regatta'])
      const { items } = await rowing.list(club.lists.events).query({ where: { at: '2026-06-01' } })
      assert.deepEqual(
        items.map(({ item }) => item.title),
        ['Regatta'],
      )
    })

    it('fires the events and alarms of its kind alone', async () => {
      const { rowing, handle, seen } = await declared()
      await rowing.set('color', 'blue')
      await handle.set('color', 'red')
      await rowing.alarm(Date.now() - 1, 'wake')
      await handle.alarm(Date.now() - 1, 'wake')
      await until(() => seen.filter((line) => line.startsWith('color') || line.startsWith('alarm')).length === 4)
      assert.deepEqual(seen.filter((line) => !line.startsWith('displayname')).toSorted(), [
        'alarm club club',
        'alarm person person',
        'color club club',
        'color person person',
        'created club club',
        'created person person',
      ])
    })

    it('offers the tools of its kind alone to AI clients', async () => {
      const { service, rowing, person } = await declared()
      const tools = async (actor: Pick<TestActor, 'id' | 'creator'>) => {
        const client = await authorizeClient(service, actor)
        const listed = await client.modern('tools/list')
        const called = await client.modern('tools/call', { name: 'pay', arguments: {} })
        const names = toolsIn(listed)
          .map(({ name }) => name)
          .toSorted()
        return { names, text: textIn(called) }
      }
      assert.deepEqual(await tools(rowing), { names: ['club_only', 'pay'], text: '{"by":"club"}' })
      assert.deepEqual(await tools(person), { names: ['pay', 'person_only'], text: '{"by":"person"}' })
    })

    it('keeps its creator when its email is set, so that no person signs in to it', async () => {
      let made: ReturnType<typeof declare> | undefined
      const service = await start({ forceEmailAsCreator: true, declare: (app) => void (made = declare(app)) })
      const rowing = await made?.club.create()
      await rowing?.set('email', 'ann@example.com')
      assert.equal((await service.app.actors.get(rowing?.id ?? ''))?.creator, `club/${rowing?.id}`)
      assert.equal(await service.app.actors.findByCreator('ann@example.com'), undefined)
    })
  })

  describe('the name of a new actor of a kind', () => {
    /** A club whose names are short, and checked by a hook. */
    async function named(wrapStore: StartOptions['wrapStore'] = (store) => store) {
      const seen: string[] = []
      let club: Kind | undefined
      const service = await start({
        wrapStore,
        declare: (app) => {
          club = app.kind('club', { name: 'Sports club' })
          club.property('displayname', { schema: z.string().max(12) })
          club.property('displayname', {
            put: ({ value }) => (value === 'Chess' ? null : z.string().parse(value).trim()),
          })
          club.on('actor_created', ({ actor }) => void seen.push(`created ${actor.id}`))
          club.on('property_changed', ({ actor, name }) => void seen.push(`${name} of ${actor.id}`))
        },
      })
      assert.ok(club !== undefined)
      return { service, club, seen }
    }

    it('passes the hooks and the schema, and fires an event', async () => {
      const { club, seen } = await named()
      const rowing = await club.create({ id: 'rowing', name: ' Rowing ' })
      assert.equal(await rowing.get('displayname'), 'Rowing')
      await until(() => seen.length === 2)
      assert.deepEqual(seen.toSorted(), ['created rowing', 'displayname of rowing'])
    })

    for (const [name, code] of [
      ['Chess', 'rejected'],
      ['A name of many letters', 'invalid_value'],
    ] as const)
      it(`leaves no actor and no event when a hook or the schema refuses it: ${name}`, async () => {
        const { service, club, seen } = await named()
        await assert.rejects(club.create({ id: 'rowing', name }), { code })
        assert.equal(await service.app.actors.get('rowing'), undefined)
        assert.deepEqual(seen, [])
        assert.equal(await (await club.create({ id: 'rowing', name: 'Rowing' })).get('displayname'), 'Rowing')
      })

    it('is stored together with the actor, or neither is', async () => {
      let faults: FaultyStore | undefined
      const { service, club, seen } = await named((store) => (faults = faulty(store)))
      faults?.plan({ matching: /INSERT INTO property /, times: 1 })
      await assert.rejects(club.create({ id: 'rowing', name: 'Rowing' }), { code: 'store_unavailable' })
      assert.equal(await service.app.actors.get('rowing'), undefined)
      assert.deepEqual(seen, [])
      assert.equal(await (await club.create({ id: 'rowing', name: 'Rowing' })).get('displayname'), 'Rowing')
    })
  })

  describe('an archive of an actor of a kind', () => {
    it('brings its kind back, and is refused where the kind is not declared', async () => {
      const { service, owner, rowing } = await declared()
      const { id } = rowing
      const text = await (await owner.request('GET', '/export')).text()
      assert.match(text, /"actor_kind":"club"/)
      await service.app.actors.delete(id)
      await restore(service, text)
      const back = await service.app.actors.get(id)
      assert.equal(back?.kind, 'club')
      assert.equal(back?.creator, `club/${id}`)
      const other = await start({})
      await assert.rejects(restore(other, text), {
        code: 'invalid_value',
        message:
          'Cannot import the archive: its actor is of the kind "club", which the application of this service does not declare',
      })
      assert.equal(await other.app.actors.get(id), undefined)
    })

    it('is not merged into an actor of another kind', async () => {
      const { owner, person } = await declared()
      const text = await (await owner.request('GET', '/export')).text()
      const message = 'Cannot import the archive: its actor is of the kind "club", and this one of "person"'
      await refused(await person.request('POST', '/import', text), 400, 'invalid_value', message)
    })
  })

  describe('a release that does not declare the kind', () => {
    it('starts, names kind and count, and refuses the actors with 503 unknown_kind', async () => {
      const { service, rowing, owner, person } = await declared()
      const { databaseUrl } = service
      const other = await start({ database: databaseUrl })
      const line = other.log
        .map((text) => JSON.parse(text) as Record<string, unknown>)
        .find(({ kind }) => kind === 'club')
      assert.equal(line?.['actors'], 1)
      for (const path of ['/meta', '/properties', '/actions', '/www']) {
        const refusal = await other.request(`/${rowing.id}${path}`, { headers: { authorization: owner.authorization } })
        assert.equal(refusal.status, 503, path)
        assert.match(await refusal.text(), /kind/)
      }
      await assert.rejects(other.app.actors.get(rowing.id), { code: 'unknown_kind' })
      const answer = await other.request(`/${person.id}/properties`, {
        headers: { authorization: person.authorization },
      })
      assert.equal(answer.status, 200)
    })
  })

  describe('data of an undeclared kind', () => {
    it('is not upgraded as data of a person', async () => {
      const { service, rowing, handle } = await declared()
      await handle.set('fee', 'ten')
      await rowing.set('fee', 10)
      const migrated: unknown[] = []
      const migrate = (old: unknown): string => {
        migrated.push(old)
        return `${String(old)} euros`
      }
      const other = await start({
        database: service.databaseUrl,
        declare: (app) => void app.property('fee', { schema: z.string(), version: 2, migrate }),
      })
      const { parts } = await other.app.running()
      const failed: string[] = []
      const migration = new DataMigration({
        store: parts.store,
        declared: new DeclaredKinds(parts.registry),
        indexes: { update: () => Promise.resolve() },
        failed: (actorId, name, { code }) => void failed.push(`${name} of ${actorId}: ${code}`),
      })
      for (const isDry of [true, false]) {
        assert.deepEqual(await migration.run({ isDry }), { values: 1, items: 0, failures: 1 })
        assert.deepEqual(failed.splice(0), [`fee of ${rowing.id}: unknown_kind`])
      }
      assert.deepEqual([...new Set(migrated)], ['ten'])
      assert.equal(await rowing.get('fee'), 10)
    })

    it('has no defaults of a person in repairs of copies', async () => {
      const { service, rowing, person } = await declared()
      const other = await start({
        database: service.databaseUrl,
        declare: (app) => void app.property('fee', { schema: z.string(), default: 'free' }),
      })
      const { parts } = await other.app.running()
      const kinds = new DeclaredKinds(parts.registry)
      const dataOf = (id: string) => parts.store.read((q) => kinds.ofActor(q, id))
      await assert.rejects(dataOf(rowing.id), { code: 'unknown_kind' })
      assert.deepEqual(
        (await dataOf(person.id)).allPresent([]).map(({ name }) => name),
        ['fee'],
      )
    })

    it('is left out by app.actors.all()', async () => {
      const { service, club, person } = await declared()
      const later = await club.create()
      const last = await service.createActor('bob@example.com')
      const idsOf = async (one: TestService) =>
        (await Array.fromAsync(one.app.actors.all({ pageSize: 1 }), ({ id }) => id)).toSorted()
      assert.ok((await idsOf(service)).includes(later.id))
      const other = await start({ database: service.databaseUrl })
      assert.deepEqual(await idsOf(other), [person.id, last.id].toSorted())
    })
  })

  describe('app.kind', () => {
    for (const [kind, declaration, message] of [
      ['person', { name: 'Person' }, /it is the kind of the actors that app itself declares/],
      ['Club', { name: 'Club' }, /lower-case letters/],
      ['', { name: 'Club' }, /lower-case letters/],
      ['club', { name: '' }, /its name must be a string/],
      ['club', { name: 'Club', type: '' }, /its type must be a URN or URL/],
      ['club', Object.assign({ name: 'Club' }, { list: {} }), /the member "list" does not exist/],
    ] as const)
      it(`refuses ${JSON.stringify([kind, declaration])}`, async () => {
        await assert.rejects(
          start({ declare: (app) => void app.kind(kind, declaration) }),
          ({ message: text }: Error) => message.test(text),
        )
      })

    it('refuses a kind that is declared already', async () => {
      await assert.rejects(
        start({
          declare: (app) => {
            app.kind('club', { name: 'Club' })
            app.kind('club', { name: 'Club' })
          },
        }),
        /it is declared already/,
      )
    })
  })
})
