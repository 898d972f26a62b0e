/** Runs each operation with the store failing at its first statement, then at its second, and so on to the last. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { dumpOf, violationsIn } from '../support/invariants.ts'
import { declareLoadActions } from '../support/load-app.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

interface Case {
  readonly what: string
  readonly request: (actor: TestActor, service: TestService) => Promise<Response>
  readonly status: number
  /** Expected data of the actor afterwards, by path. Null means 404. */
  readonly shows: Readonly<Record<string, unknown>>
}

/** 128 items fill one leaf of the order tree, so that changes affect several nodes. */
const items = Array.from({ length: 130 }, (_, index) => ({ t: `item ${index}` }))
const without = (...indexes: readonly number[]) => items.filter((_, index) => !indexes.includes(index))
const x = { t: 'x' }
const act = (name: string, input: object) => (actor: TestActor) =>
  actor.request('POST', `/actions/${name}`, { list: 'log', ...input })

const listCases: readonly Case[] = [
  {
    what: 'the creation of a list',
    request: (actor) => actor.request('POST', '/properties', { fresh: { _type: 'list', description: 'new' } }),
    status: 201,
    shows: { '/properties/fresh': [] },
  },
  {
    what: 'an append',
    request: (actor) => actor.request('POST', '/properties/log/items', { action: 'add', item_value: x }),
    status: 201,
    shows: { '/properties/log': [...items, x] },
  },
  {
    what: 'an insertion into a full leaf',
    request: act('insert', { index: 64, item: x }),
    status: 200,
    shows: { '/properties/log': items.toSpliced(64, 0, x) },
  },
  {
    what: 'a replacement',
    request: (actor) => actor.request('PUT', '/properties/log/129', x),
    status: 204,
    shows: { '/properties/log': items.with(129, x) },
  },
  {
    what: 'a deletion',
    request: (actor) => actor.request('DELETE', '/properties/log/0'),
    status: 204,
    shows: { '/properties/log': without(0) },
  },
  { what: 'a pop', request: act('pop', { index: -1 }), status: 200, shows: { '/properties/log': without(129) } },
  { what: 'a clearing', request: act('clear', {}), status: 200, shows: { '/properties/log': [] } },
  {
    what: 'a removal by value',
    request: act('remove', { t: 'item 7' }),
    status: 200,
    shows: { '/properties/log': without(7) },
  },
  {
    what: 'a batch of updates, appends and deletions',
    request: (actor) =>
      actor.request('POST', '/properties', {
        log: { items: [{ index: 1, t: 'x' }, { index: 130, t: 'x' }, { index: 0 }, { index: 129 }] },
      }),
    status: 201,
    shows: { '/properties/log': [...items.with(1, x).slice(1, 129), x] },
  },
  {
    what: 'a change of the metadata',
    request: (actor) => actor.request('PUT', '/properties/log/metadata', { description: 'changed' }),
    status: 204,
    shows: { '/properties/log': items },
  },
  {
    what: 'the deletion of the list',
    request: (actor) => actor.request('DELETE', '/properties/log'),
    status: 204,
    shows: { '/properties/log': null },
  },
]

const propertyCases: readonly Case[] = [
  {
    what: 'a value',
    request: (actor) => actor.request('PUT', '/properties/a', 'new'),
    status: 204,
    shows: { '/properties/a': 'new' },
  },
  {
    what: 'an indexed value',
    request: (actor) => actor.request('PUT', '/properties/email', 'new@example.com'),
    status: 204,
    shows: { '/properties/email': 'new@example.com' },
  },
  {
    what: 'a removal of an indexed value',
    request: (actor) => actor.request('DELETE', '/properties/email'),
    status: 204,
    shows: { '/properties/email': null },
  },
  {
    what: 'a merge',
    request: (actor) => actor.request('PUT', '/properties/doc/in', { more: 2 }),
    status: 204,
    shows: { '/properties/doc': { in: { key: 1, more: 2 } } },
  },
  {
    what: 'a removal of a key',
    request: (actor) => actor.request('DELETE', '/properties/doc/in/key'),
    status: 204,
    shows: { '/properties/doc': { in: {} } },
  },
  {
    what: 'values, an indexed one, a new list and a batch in one request',
    request: (actor) =>
      actor.request('PUT', '/properties', {
        a: '',
        b: 'new',
        email: 'new@example.com',
        fresh: { _type: 'list' },
        log: { items: [{ index: 0 }, { index: 129, t: 'x' }] },
      }),
    status: 204,
    shows: {
      '/properties': {
        b: 'new',
        doc: { in: { key: 1 } },
        email: 'new@example.com',
        fresh: { _list: true, count: 0 },
        log: { _list: true, count: 129 },
      },
      '/properties/log': items.with(129, x).slice(1),
    },
  },
  {
    what: 'the removal of everything',
    request: (actor) => actor.request('DELETE', '/properties'),
    status: 204,
    shows: { '/properties': {} },
  },
]

describe('a store that fails at one statement', () => {
  forEachService((start) => {
    /** Fails each statement of the request in turn until it succeeds. Returns the number of failures. */
    async function walk({ request, status, shows }: Case): Promise<number> {
      const { service, store } = await startFaulty()
      const actor = await filled(service)
      const before = await dumpOf(service.databaseUrl)
      for (let at = 1; ; at++) {
        store.plan({ at })
        const answer = await request(actor, service)
        const isWhole = store.failed === 0
        store.plan()
        if (isWhole) {
          assert.equal(answer.status, status)
          for (const [path, value] of Object.entries(shows)) assert.deepEqual(await shown(actor, path), value)
          assert.deepEqual(await violationsIn(service.databaseUrl), [])
          return at - 1
        }
        assert.equal(answer.status, 503, `statement ${at}: ${await answer.text()}`)
        assert.equal(await dumpOf(service.databaseUrl), before, `statement ${at}`)
      }
    }

    async function startFaulty(): Promise<{ service: TestService; store: FaultyStore }> {
      let store: FaultyStore | undefined
      const service = await start({
        declare: declareLoadActions,
        uniqueCreator: true,
        wrapStore: (opened) => (store = faulty(opened)),
      })
      if (store === undefined) throw new ServiceError('server_error', 'The store was not wrapped')
      return { service, store }
    }

    for (const one of listCases)
      it(`rolls back ${one.what} completely (LST-01, LST-02, LST-03)`, async () => {
        assert.ok((await walk(one)) >= 2)
      })

    for (const one of propertyCases)
      it(`rolls back ${one.what} completely (I2)`, async () => {
        assert.ok((await walk(one)) >= 2)
      })

    it('rolls back the deletion of an actor completely (DEL-01)', async () => {
      const failures = await walk({
        what: 'deletion',
        request: (actor) => actor.request('DELETE', ''),
        status: 204,
        shows: { '': null, '/properties/log': null },
      })
      assert.ok(failures >= 2)
    })

    it('rolls back the creation of an actor completely (DEL-01)', async () => {
      const failures = await walk({
        what: 'creation',
        request: (_actor, service) =>
          service.request('/', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"creator":"other@example.com"}',
          }),
        status: 201,
        shows: {},
      })
      assert.ok(failures >= 2)
    })
  })
})

async function filled(service: TestService): Promise<TestActor> {
  const actor = await service.createActor()
  const answers = [
    await actor.request('POST', '/properties', {
      a: 'old',
      email: 'old@example.com',
      doc: { in: { key: 1 } },
      log: { _type: 'list' },
    }),
    await actor.request('POST', '/properties', { log: { items: items.map(({ t }, index) => ({ index, t })) } }),
  ]
  for (const { status } of answers) assert.equal(status, 201)
  return actor
}

/** Returns null for 404. */
async function shown(actor: TestActor, path: string): Promise<unknown> {
  const answer = await actor.request('GET', path, undefined, { accept: 'application/json' })
  if (answer.status === 404) return null
  assert.equal(answer.status, 200)
  return answer.json()
}
