/** Versions of declared data: older values are upgraded at each read, by the next write, and by `DataMigration`. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import { Indexes } from '../../src/actor/indexes.ts'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { DataMigration, type MigrationCount } from '../../src/property/maintenance/data-migration.ts'
import { DeclaredKinds } from '../../src/property/declared-kinds.ts'
import type { TrustType } from '../../src/permission/trust-types.ts'
import { App } from '../../src/troupe.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { signIn } from '../support/sessions.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { refused } from '../support/stored.ts'

const reader: TrustType = {
  name: 'reader',
  display_name: 'Reader',
  description: 'Reads everything but the diary',
  permissions: { properties: { patterns: ['*'], excluded_patterns: ['diary'], operations: ['read', 'subscribe'] } },
}

/** The first release: an address is one string, and an item has no version. */
function first(app: App): void {
  app.property('address', { schema: z.string() })
  app.property('diary', { schema: z.string() })
  app.list('tasks', { item: z.object({ what: z.string(), when: z.string() }), indexes: ['when'] })
  app.trustType(reader)
}

const Address = z.object({ street: z.string().min(1), city: z.string() })

function addressOf(old: unknown): { street: string; city: string } {
  if (old === 'nowhere') throw new Error('no such place')
  const [street = '', city = ''] = String(old).split(', ')
  return { street, city }
}

interface OldTask {
  readonly what: string
  readonly when: string
}

function second(app: App): void {
  app.property('address', { schema: Address, version: 2, migrate: addressOf })
  app.property('diary', { schema: Address, version: 2, migrate: addressOf })
  app.list('tasks', {
    item: z.object({ text: z.string().min(1), due: z.string() }),
    indexes: ['due'],
    version: 2,
    migrate: (old) => ({ text: (old as OldTask).what, due: (old as OldTask).when }),
  })
  app.trustType(reader)
}

const home = { street: 'Hill Road 1', city: 'London' }
const upgradedTasks = [
  { text: 'mow', due: '2026-05-02' },
  { text: 'sow', due: '2026-05-01' },
]

forEachService((start) => {
  let older: TestService
  let newer: TestService
  let actor: TestActor
  let before1: ActorHandle
  let handle: ActorHandle
  before(async () => {
    older = await start({ declare: first, indexedProperties: ['address'] })
    newer = await start({ declare: second, database: older.databaseUrl, indexedProperties: ['address'] })
  })

  async function fresh(address = 'Hill Road 1, London'): Promise<void> {
    actor = await older.createActor()
    const [one, two] = [await older.app.actors.get(actor.id), await newer.app.actors.get(actor.id)]
    assert.ok(one !== undefined && two !== undefined)
    before1 = one
    handle = two
    await before1.set('address', address)
    await before1.set('other', 'as it is')
    await before1.list('tasks').extend([
      { what: 'mow', when: '2026-05-02' },
      { what: 'sow', when: '2026-05-01' },
    ])
    newer.reset()
  }

  /** A request to the newer release. */
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    newer.request(`/${actor.id}${path}`, {
      method,
      headers: { authorization: actor.authorization, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  const read = async (path: string): Promise<unknown> => (await ask('GET', path)).json()

  async function rowOf(name: string): Promise<{ value: unknown; version: number }> {
    const { store } = await newer.app.running()
    const row = await store.read((q) =>
      q.get<{ value: string; version: number }>(
        'SELECT value, version FROM property WHERE actor_id = $1 AND name = $2',
        actor.id,
        name,
      ),
    )
    assert.ok(row !== undefined)
    return { value: JSON.parse(row.value), version: row.version }
  }

  async function itemRows(): Promise<unknown[][]> {
    const { store } = await newer.app.running()
    const rows = await store.read((q) =>
      q.all<{ value: string; version: number; revision: number }>(
        'SELECT value, version, revision FROM list_item WHERE actor_id = $1 AND list = $2 ORDER BY item',
        actor.id,
        'tasks',
      ),
    )
    return rows.map(({ value, version, revision }): unknown[] => [JSON.parse(value), version, revision])
  }

  async function indexRows(): Promise<string[]> {
    const { store } = await newer.app.running()
    const rows = await store.read((q) =>
      q.all<{ field: string; key: string }>(
        `SELECT field, value_key AS "key" FROM list_index WHERE actor_id = $1 AND list = $2 ORDER BY field, value_key`,
        actor.id,
        'tasks',
      ),
    )
    return rows.map(({ field, key }) => `${field} ${key}`)
  }

  /** The fields whose index is not complete, and the number of the next item. */
  async function marks(): Promise<string[]> {
    const { store } = await newer.app.running()
    const rows = await store.read((q) =>
      q.all<{ field: string; item: number }>(
        `SELECT field, item FROM list_index WHERE actor_id = $1 AND value_key = '' ORDER BY field`,
        actor.id,
      ),
    )
    return rows.map(({ field, item }) => `${field},${item}`)
  }

  /** Upgrades as `troupe migrate-data` does. */
  async function migrate(options: { isDry?: boolean; service?: TestService } = {}): Promise<{
    readonly count: MigrationCount
    readonly failed: readonly string[]
  }> {
    const { parts } = await (options.service ?? newer).app.running()
    const failed: string[] = []
    const migration = new DataMigration({
      store: parts.store,
      declared: new DeclaredKinds(parts.registry),
      indexes: new Indexes({
        indexedProperties: new Set(['address']),
        forceEmailAsCreator: false,
        uniqueCreator: false,
        onCollision: () => {},
      }),
      failed: (actorId, name, { message, detail }) =>
        void (actorId === actor.id && failed.push(`${name}: ${detail.reason ?? message}`)),
    })
    return { count: await migration.run({ isDry: options.isDry ?? false }), failed }
  }

  describe('an older value', () => {
    const ways: readonly (readonly [what: string, work: () => Promise<unknown>, expected: unknown])[] = [
      ['GET of the property', () => read('/properties/address'), home],
      ['GET of a key', () => read('/properties/address/city'), 'London'],
      ['GET of all properties', async () => ((await read('/properties')) as { address: unknown }).address, home],
      ['get', () => handle.get('address'), home],
      ['get of a key', () => handle.get('address/street'), 'Hill Road 1'],
      ['all', async () => (await handle.all())['address'], home],
      ['get in a transaction', () => handle.transaction(async (tx) => tx.get('address')), home],
      ['all in a transaction', () => handle.transaction(async (tx) => (await tx.all())['address']), home],
      ['GET of a list', () => read('/properties/tasks'), upgradedTasks],
      ['GET of an item', () => read('/properties/tasks/1'), upgradedTasks[1]],
      [
        'GET of a range',
        () => read('/properties/tasks/items?start=1'),
        { items: [{ index: 1, item: upgradedTasks[1] }], count: 2 },
      ],
      ['items', () => handle.list('tasks').items(), upgradedTasks],
      ['get of an item', () => handle.list('tasks').get(-1), upgradedTasks[1]],
      ['find', () => handle.list('tasks').find('text', 'sow'), { index: 1, item: upgradedTasks[1] }],
      ['items in a transaction', () => handle.transaction(async (tx) => tx.list('tasks').items()), upgradedTasks],
      [
        'a query',
        async () => (await handle.list('tasks').query({ sort: 'due' })).items.map(({ item }) => item),
        upgradedTasks.toReversed(),
      ],
      [
        'a query in a transaction',
        () =>
          handle.transaction(async (tx) => {
            await tx.list('tasks').append({ text: 'dig', due: '2026-05-03' })
            return (await tx.list('tasks').query({ sort: '-due', limit: 2 })).items.map(({ item }) => item)
          }),
        [{ text: 'dig', due: '2026-05-03' }, upgradedTasks[0]],
      ],
      ['a count', () => handle.list('tasks').count({ due: '2026-05-01' }), 1],
    ]
    for (const [what, work, expected] of ways) {
      it(`is upgraded by ${what}, and stays as it is stored`, async () => {
        await fresh()
        assert.deepEqual(await work(), expected)
        assert.deepEqual(await rowOf('address'), { value: 'Hill Road 1, London', version: 1 })
      })
    }

    it('is upgraded for peers, pages and hooks', async () => {
      const seen: unknown[] = []
      const hooked = await start({
        declare: (app) => {
          second(app)
          app.property('address', {
            get: ({ value }) => (seen.push(value), value),
            delete: ({ value }) => (seen.push(value), value),
          })
          app.property('tasks', { delete: ({ value }) => (seen.push(value), value) })
        },
        database: older.databaseUrl,
      })
      await fresh()
      const peer = await relateTo(newer, { ...actor, request: ask }, { relationship: 'reader' })
      assert.deepEqual(await (await peer.request('GET', '/properties/address')).json(), home)
      const cookie = `oauth_token=${await signIn(newer, actor)}`
      for (const path of ['/www/properties', '/www/properties/address']) {
        const page = await newer.request(`/${actor.id}${path}`, { headers: { cookie } })
        assert.match(await page.text(), /Hill Road 1/, path)
      }
      const list = await newer.request(`/${actor.id}/www/properties/tasks`, { headers: { cookie } })
      assert.match(await list.text(), /sow/)
      const other = await hooked.app.actors.get(actor.id)
      assert.deepEqual(await other?.get('address'), home)
      await other?.list('tasks').delete(0)
      await other?.delete('address')
      assert.deepEqual(seen, [home, upgradedTasks[0], home])
    })

    it('is upgraded for AI clients', async () => {
      await fresh()
      const client = await authorizeClient(newer, actor)
      const answer = await client.legacy('resources/read', { uri: 'actingweb://properties/address' })
      assert.match(JSON.stringify(answer.body), /Hill Road 1/)
    })

    it('is written back by the next write, whose diff is the whole value', async () => {
      await fresh()
      assert.equal((await ask('PUT', '/properties/address/city', 'Leeds')).status, 204)
      assert.deepEqual(await rowOf('address'), { value: { ...home, city: 'Leeds' }, version: 2 })
      await ask('PUT', '/properties/address/city', 'York')
      assert.deepEqual(
        newer.changes.map(({ subtarget, resource }) => [subtarget, resource]),
        [
          ['address', null],
          ['address', 'city'],
        ],
      )
      await handle.list('tasks').update(0, { text: 'mow again', due: '2026-06-01' })
      assert.deepEqual(await itemRows(), [
        [{ text: 'mow again', due: '2026-06-01' }, 2, 2],
        [{ what: 'sow', when: '2026-05-01' }, 1, 1],
      ])
    })

    it('is what writes of items compare and report', async () => {
      await fresh()
      const tasks = handle.list('tasks')
      const [item] = await tasks.itemsWithHandles()
      assert.equal(await tasks.updateByHandle(item?.handle ?? '', { text: 'dig', due: 'x' }), true)
      assert.equal(await tasks.updateWhere('text', 'sow', { text: 'rake', due: 'y' }), 1)
      await before1.list('tasks').append({ what: 'prune', when: 'z' })
      assert.deepEqual(await tasks.pop(), { text: 'prune', due: 'z' })
      assert.deepEqual(
        newer.changes.map(({ blob }) => {
          const { operation, item: made, old_item } = JSON.parse(blob) as Record<string, unknown>
          return [operation, made, old_item]
        }),
        [
          ['update', { text: 'dig', due: 'x' }, upgradedTasks[0]],
          ['update', { text: 'rake', due: 'y' }, upgradedTasks[1]],
          ['pop', { text: 'prune', due: 'z' }, undefined],
        ],
      )
      const { length } = await tasks.items()
      assert.equal(length, 2)
    })

    it('has another entity tag than before, which writes compare', async () => {
      await fresh()
      for (const path of ['/properties/address', '/properties/tasks', '/properties/tasks/0', '/properties']) {
        const old = await actor.request('GET', path)
        const tag = old.headers.get('etag') ?? ''
        const answer = await ask('GET', path, undefined, { 'if-none-match': tag })
        assert.equal(answer.status, 200, path)
        const current = answer.headers.get('etag') ?? ''
        assert.equal((await ask('GET', path, undefined, { 'if-none-match': current })).status, 304, path)
      }
      const tag = (await ask('GET', '/properties/address/city')).headers.get('etag') ?? ''
      assert.equal((await ask('PUT', '/properties/address/city', 'Leeds', { 'if-match': tag })).status, 204)
      assert.equal((await ask('PUT', '/properties/address/city', 'York', { 'if-match': tag })).status, 412)
    })

    it('costs no statement more than a current one', async () => {
      await fresh()
      newer.reset()
      await read('/properties/address')
      const lazy = [...newer.statements]
      await handle.set('address', home)
      newer.reset()
      await read('/properties/address')
      assert.deepEqual(newer.statements, lazy)
    })

    it('of version 1 or 2 is given to migrate with its version', async () => {
      const third = await start({
        declare: (app) => {
          app.property('address', {
            schema: z.array(z.unknown()),
            version: 3,
            migrate: (old, from) => [from, old],
          })
        },
        database: older.databaseUrl,
      })
      await fresh()
      const latest = await third.app.actors.get(actor.id)
      assert.deepEqual(await latest?.get('address'), [1, 'Hill Road 1, London'])
      await handle.set('address', home)
      assert.deepEqual(await latest?.get('address'), [2, home])
      await latest?.set('address', ['now'])
      assert.deepEqual(await latest?.get('address'), ['now'])
    })
  })

  describe('an older value that cannot be upgraded', () => {
    const message = 'Cannot upgrade "address" from version 1 to version 2'
    for (const [address, reason] of [
      ['nowhere', 'no such place'],
      [', London', 'field "street": Too small: expected string to have >=1 characters'],
    ] as const) {
      it(`fails every read with the name and the versions, and changes nothing: ${reason}`, async () => {
        await fresh(address)
        for (const [method, path, body] of [
          ['GET', '/properties/address'],
          ['GET', '/properties/address/city'],
          ['GET', '/properties'],
          ['PUT', '/properties/address/city', 'Leeds'],
          ['DELETE', '/properties/address/city'],
        ] as const)
          await refused(await ask(method, path, body), 500, 'migration_failed', message)
        for (const work of [
          () => handle.get('address'),
          () => handle.all(),
          () => handle.update('address', () => home),
          () => handle.transaction(async (tx) => tx.get('address')),
        ])
          await assert.rejects(work, { code: 'migration_failed', message })
        assert.deepEqual(newer.changes, [])
        assert.deepEqual(await rowOf('address'), { value: address, version: 1 })
        assert.ok(newer.log.some((line) => line.includes(JSON.stringify(`${message}: ${reason}`).slice(1, -1))))
        assert.deepEqual(await handle.get('other'), 'as it is')
      })
    }

    it('does not disturb a peer who may not read it', async () => {
      await fresh()
      await before1.set('diary', 'nowhere')
      const peer = await relateTo(newer, { ...actor, request: ask }, { relationship: 'reader' })
      const answer = await peer.request('GET', '/properties')
      assert.equal(answer.status, 200)
      assert.deepEqual(Object.keys((await answer.json()) as object), ['address', 'other', 'tasks'])
      assert.equal((await peer.request('GET', '/properties/diary')).status, 403)
      assert.equal((await ask('GET', '/properties')).status, 500)
    })

    it('can be replaced and deleted', async () => {
      await fresh('nowhere')
      assert.equal((await ask('PUT', '/properties/address', home)).status, 204)
      assert.deepEqual(await rowOf('address'), { value: home, version: 2 })
      await before1.set('address', 'nowhere')
      assert.equal((await ask('DELETE', '/properties/address')).status, 204)
      assert.equal((await ask('GET', '/properties/address')).status, 404)
      await before1.set('address', 'nowhere')
      assert.equal((await ask('DELETE', '/properties')).status, 204)
    })

    it('in a list fails the reads that contain it, and no others', async () => {
      await fresh()
      await before1.list('tasks').append({ what: '', when: 'never' })
      const failure = { code: 'migration_failed', message: 'Cannot upgrade "tasks" from version 1 to version 2' }
      const tasks = handle.list('tasks')
      await refused(await ask('GET', '/properties/tasks'), 500, failure.code, failure.message)
      await assert.rejects(tasks.items(), failure)
      await assert.rejects(tasks.get(2), failure)
      await assert.rejects(tasks.query({ where: { due: 'never' } }), failure)
      await assert.rejects(tasks.delete(2), failure)
      assert.deepEqual(await tasks.get(0), upgradedTasks[0])
      assert.deepEqual(await tasks.items(0, 2), upgradedTasks)
      assert.equal(await tasks.length(), 3)
    })
  })

  describe('a value of a newer release', () => {
    it('is refused by the older release with the name and the versions', async () => {
      await fresh()
      await handle.set('address', home)
      await handle.list('tasks').append({ text: 'dig', due: 'x' })
      for (const [method, path, body, name] of [
        ['GET', '/properties/address', undefined, 'address'],
        ['GET', '/properties', undefined, 'address'],
        ['PUT', '/properties/address/city', 'Leeds', 'address'],
        ['GET', '/properties/tasks', undefined, 'tasks'],
        ['GET', '/properties/tasks/2', undefined, 'tasks'],
      ] as const)
        await refused(
          await actor.request(method, path, body),
          503,
          'newer_data',
          `Cannot read "${name}": a newer release stored it with version 2, and this release declares version 1`,
        )
      await assert.rejects(before1.get('address'), { code: 'newer_data' })
      await assert.rejects(before1.list('tasks').query({ where: { when: 'x' } }), { code: 'newer_data' })
      assert.deepEqual(await before1.list('tasks').get(0), { what: 'mow', when: '2026-05-02' })
      assert.deepEqual(await rowOf('address'), { value: home, version: 2 })
    })

    it('can be replaced by the older release, and is then an older value', async () => {
      await fresh()
      await handle.set('address', home)
      await before1.set('address', 'Dale 2, Leeds')
      assert.equal(await before1.get('address'), 'Dale 2, Leeds')
      assert.deepEqual(await handle.get('address'), { street: 'Dale 2', city: 'Leeds' })
    })

    it('is read as it is by a release without the declaration', async () => {
      const plain = await start({ database: older.databaseUrl })
      await fresh()
      await handle.set('address', home)
      assert.deepEqual(await (await plain.app.actors.get(actor.id))?.get('address'), home)
    })
  })

  describe('an index of an older version', () => {
    it('is built again in the background, and the items are then stored in the current version', async () => {
      await fresh()
      const { parts } = await newer.app.running()
      const tasks = handle.list('tasks')
      assert.equal(await tasks.count({ due: '2026-05-01' }), 1)
      await parts.listIndexes.settled()
      assert.deepEqual(await itemRows(), [
        [upgradedTasks[0], 2, 1],
        [upgradedTasks[1], 2, 1],
      ])
      assert.deepEqual(await indexRows(), ['due 42026-05-01', 'due 42026-05-02', 'when 0', 'when 0'])
      newer.reset()
      assert.equal(await tasks.count({ due: '2026-05-01' }), 1)
      assert.ok(!newer.statements.some((sql) => sql.includes('FROM list_item')), newer.statements.join('\n'))
      const facts = await read('/properties/tasks/metadata')
      await assert.doesNotReject(tasks.clear())
      assert.ok(JSON.stringify(facts).includes('"length":2'), JSON.stringify(facts))
    })

    it('is built again when the older release has added an item meanwhile', async () => {
      await fresh()
      const { parts } = await newer.app.running()
      const tasks = handle.list('tasks')
      await tasks.count({ due: 'x' })
      await parts.listIndexes.settled()
      await before1.list('tasks').append({ what: 'dig', when: '2026-07-01' })
      await before1.list('tasks').append({ what: 'rake', when: '2026-07-02' })
      assert.deepEqual(await marks(), [',3', 'due,3', 'when,3'])
      assert.equal(await tasks.count({ due: '2026-07-01' }), 1)
      await parts.listIndexes.settled()
      assert.equal(await tasks.count({ due: '2026-07-01' }), 1)
      assert.deepEqual(await marks(), [])
      assert.deepEqual((await itemRows()).slice(2), [
        [{ text: 'dig', due: '2026-07-01' }, 2, 1],
        [{ text: 'rake', due: '2026-07-02' }, 2, 1],
      ])
    })
  })

  describe('migrate-data', () => {
    it('upgrades values and items, and notifies no subscriber', async () => {
      await fresh()
      const handles = (await handle.list('tasks').itemsWithHandles()).map((one) => one.handle)
      const tag = (await ask('GET', '/properties/tasks/0')).headers.get('etag')
      newer.reset()
      const plan = await migrate({ isDry: true })
      assert.deepEqual(await rowOf('address'), { value: 'Hill Road 1, London', version: 1 })
      const done = await migrate()
      assert.deepEqual(done, plan)
      assert.ok(done.count.values >= 1 && done.count.items >= 2)
      assert.deepEqual(done.failed, [])
      assert.deepEqual(newer.changes, [])
      assert.deepEqual(await rowOf('address'), { value: home, version: 2 })
      assert.deepEqual(await itemRows(), [
        [upgradedTasks[0], 2, 1],
        [upgradedTasks[1], 2, 1],
      ])
      assert.equal((await ask('GET', '/properties/tasks/0')).headers.get('etag'), tag)
      assert.equal(await handle.list('tasks').deleteByHandle(handles[0] ?? ''), true)
      const again = await migrate()
      assert.deepEqual([again.count.values, again.count.items], [0, 0])
    })

    it('names what cannot be upgraded, and upgrades the rest', async () => {
      await fresh('nowhere')
      await before1.set('diary', 'Dale 2, Leeds')
      const plan = await migrate({ isDry: true })
      const { failed } = await migrate()
      assert.deepEqual(failed, ['address: Cannot upgrade "address" from version 1 to version 2: no such place'])
      assert.deepEqual(plan.failed, failed)
      assert.deepEqual(await rowOf('address'), { value: 'nowhere', version: 1 })
      assert.deepEqual(await rowOf('diary'), { value: { street: 'Dale 2', city: 'Leeds' }, version: 2 })
    })

    it('continues after it was interrupted, while the list changes', async () => {
      await fresh()
      const tasks = before1.list('tasks')
      await tasks.extend(Array.from({ length: 1200 }, (_, at) => ({ what: `t${at}`, when: `${at % 5}` })))
      const { store } = await newer.app.running()
      let batches = 0
      const breaking = await start({
        declare: second,
        database: older.databaseUrl,
        wrapStore: (inner) =>
          new Proxy(inner, {
            get(target, key) {
              if (key !== 'writeActor') return bound(target, key)
              return async (...args: Parameters<typeof store.writeActor>) => {
                if (++batches > 2) throw new Error('the process ends')
                return target.writeActor(...args)
              }
            },
          }),
      })
      await assert.rejects(migrate({ service: breaking }), { message: 'the process ends' })
      await Promise.all([
        migrate(),
        handle.list('tasks').update(1100, { text: 'changed', due: 'x' }),
        handle.list('tasks').delete(0),
        handle.list('tasks').append({ text: 'added', due: 'y' }),
      ])
      const items = await handle.list('tasks').items()
      assert.equal(items.length, 1202)
      assert.deepEqual(items.at(-1), { text: 'added', due: 'y' })
      assert.ok((await itemRows()).every(([, version]) => version === 2))
      newer.reset()
      assert.equal(await handle.list('tasks').count({ due: 'x' }), 1)
    })

    it('updates the look-up of an indexed property', async () => {
      await fresh()
      const text = await start({
        declare: (app) => {
          app.property('address', { schema: z.string(), version: 2, migrate: (old) => String(old).toUpperCase() })
        },
        database: older.databaseUrl,
        indexedProperties: ['address'],
      })
      await before1.set('address', `Hill ${actor.id}`)
      await migrate({ service: text })
      assert.equal((await text.app.actors.findBy('address', `HILL ${actor.id.toUpperCase()}`))?.id, actor.id)
      assert.equal(await text.app.actors.findBy('address', `Hill ${actor.id}`), undefined)
    })
  })
})

function bound(target: object, key: string | symbol): unknown {
  const member: unknown = Reflect.get(target, key)
  return typeof member === 'function' ? member.bind(target) : member
}

describe('a declaration', () => {
  const app = new App({ type: 'urn:actingweb:example.com:test' })
  const schema = z.string()
  const migrate = (old: unknown): string => String(old)
  for (const [what, declared, reason] of [
    ['a version of 0', { schema, version: 0 }, 'version must be a whole number of at least 1.'],
    ['half a version', { schema, version: 1.5, migrate }, 'version must be a whole number of at least 1.'],
    [
      'a version without migrate',
      { schema, version: 2 },
      'version 2 needs migrate, a function that upgrades older values.',
    ],
    ['migrate without a version', { schema, migrate }, 'migrate needs a version of at least 2.'],
  ] as const) {
    it(`with ${what} is refused`, () => {
      assert.throws(() => app.property('a', declared), { message: `Cannot declare the property "a": ${reason}` })
      const { schema: item, ...rest } = declared
      assert.throws(() => app.list('a', { item, ...rest }), { message: `Cannot declare the list "a": ${reason}` })
    })
  }
})
