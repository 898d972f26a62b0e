/** Declared properties and lists: every way of writing checks their schemas, and every actor has their defaults. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { testing } from '../../src/testing.ts'
import { App, troupe } from '../../src/troupe.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

const Budget = z.object({ limit: z.number().min(0), spent: z.number().default(0), note: z.string().optional() })
const Item = z.object({ text: z.string().min(1), done: z.boolean().default(false) })

function declare(app: App): void {
  app.property('budget', { schema: Budget, default: { limit: 500 } })
  app.property('motto', { schema: z.string().trim().max(20) })
  app.property('count', { schema: { type: 'integer', minimum: 1 }, default: 1 })
  app.trustType({
    name: 'shopper',
    display_name: 'Shopper',
    description: 'Adds to the shopping list',
    permissions: { properties: { patterns: ['shopping'], operations: ['read', 'append'] } },
  })
  app.list('shopping', { item: Item, description: 'What to buy', explanation: 'One thing for each item' })
}

interface Refusal {
  readonly error: string
  readonly message: string
  readonly field?: string
}

forEachService((start) => {
  let service: TestService
  before(async () => {
    service = await start({ declare })
  })

  async function handles(): Promise<{ readonly actor: TestActor; readonly handle: ActorHandle }> {
    const actor = await service.createActor()
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    return { actor, handle }
  }

  async function read(actor: TestActor, path: string): Promise<unknown> {
    const answer = await actor.request('GET', path)
    return answer.status === 200 ? answer.json() : answer.status
  }

  describe('a declared name that no one has written', () => {
    it('has its default, or is an empty list, on every way of reading', async () => {
      const { actor, handle } = await handles()
      const budget = { limit: 500, spent: 0 }
      assert.deepEqual(await read(actor, '/properties/budget'), budget)
      assert.deepEqual(await read(actor, '/properties/budget/limit'), 500)
      assert.deepEqual(await read(actor, '/properties/shopping'), [])
      assert.deepEqual(await read(actor, '/properties/shopping/items'), { items: [], count: 0 })
      assert.equal(await read(actor, '/properties/motto'), 404)
      assert.deepEqual(await read(actor, '/properties'), { budget, count: 1, shopping: { _list: true, count: 0 } })
      assert.deepEqual(await handle.all(), { budget, count: 1 })
      assert.deepEqual(await handle.lists(), [{ name: 'shopping', length: 0 }])
      assert.equal((await handle.list('shopping').metadata())?.description, 'What to buy')
      assert.deepEqual(await handle.list('shopping').items(), [])
      await handle.transaction(async (tx) => {
        assert.deepEqual(await tx.all(), { budget, count: 1 })
        assert.deepEqual(await tx.lists(), [{ name: 'shopping', length: 0 }])
      })
    })

    it('is not stored by reading it', async () => {
      const { actor } = await handles()
      service.reset()
      await read(actor, '/properties')
      await read(actor, '/properties/shopping')
      assert.deepEqual(
        service.statements.filter((sql) => /^(INSERT|UPDATE|DELETE)/i.test(sql)),
        [],
      )
    })

    it('has its default again after it was deleted', async () => {
      const { actor, handle } = await handles()
      await handle.set('count', 7)
      assert.equal((await actor.request('DELETE', '/properties/count')).status, 204)
      assert.equal(await handle.get('count'), 1)
      await handle.list('shopping').append({ text: 'milk' })
      assert.equal(await handle.list('shopping').remove(), true)
      assert.deepEqual(await read(actor, '/properties/shopping'), [])
    })

    it('takes a part of a value into its default', async () => {
      const { actor, handle } = await handles()
      assert.equal((await actor.request('PUT', '/properties/budget/spent', 3)).status, 204)
      assert.deepEqual(await handle.get('budget'), { limit: 500, spent: 3 })
      assert.equal((await actor.request('PUT', '/properties/shopping/0', { text: 'milk' })).status, 204)
      assert.deepEqual(await handle.get('shopping'), [{ text: 'milk', done: false }])
    })
  })

  describe('a value that fits', () => {
    it('is stored as its schema converts it', async () => {
      const { actor, handle } = await handles()
      await actor.request('PUT', '/properties/budget', { limit: 9 })
      assert.deepEqual(await handle.get('budget'), { limit: 9, spent: 0 })
      await handle.set('motto', '  brief  ')
      assert.equal(await handle.get('motto'), 'brief')
      await actor.request('POST', '/properties', { shopping: { items: [{ index: 0, text: 'milk' }] } })
      assert.deepEqual(await handle.list('shopping').items(), [{ text: 'milk', done: false }])
    })

    it('keeps the digits of numbers that JavaScript cannot represent', async () => {
      const { actor } = await handles()
      await actor.request('PUT', '/properties/count', '12345678901234567890')
      assert.equal(await (await actor.request('GET', '/properties/count')).text(), '12345678901234567890')
    })
  })

  describe('a value that does not fit', () => {
    const writes: readonly (readonly [method: string, path: string, body: unknown, field: string])[] = [
      ['PUT', '/properties/budget', { limit: -1 }, 'limit'],
      ['PUT', '/properties/budget', { spent: 1 }, 'limit'],
      ['POST', '/properties/budget', 7, ''],
      ['PUT', '/properties/budget/limit', 'much', 'limit'],
      ['POST', '/properties/budget/note', 7, 'note'],
      ['DELETE', '/properties/budget/limit', undefined, 'limit'],
      ['PUT', '/properties/count', 0, ''],
      ['PUT', '/properties/motto', 'longer than twenty characters', ''],
      ['POST', '/properties', { motto: 'fine', count: 'no' }, ''],
      ['PUT', '/properties', { budget: { limit: 'no' } }, 'limit'],
      ['POST', '/properties/shopping', { text: '' }, 'text'],
      ['POST', '/properties/shopping', { done: true }, 'text'],
      ['PUT', '/properties/shopping/0', { text: 7 }, 'text'],
      ['POST', '/properties', { shopping: { items: [{ index: 0, text: '' }] } }, 'text'],
    ]
    for (const [method, path, body, field] of writes) {
      it(`is refused with the field ${JSON.stringify(field)} by ${method} ${path} ${JSON.stringify(body)}`, async () => {
        const { actor, handle } = await handles()
        await handle.set('budget', { limit: 10 })
        await handle.list('shopping').append({ text: 'milk' })
        service.reset()
        const answer = await actor.request(method, path, body)
        const refusal = (await answer.json()) as Refusal
        assert.deepEqual([answer.status, refusal.error, refusal.field], [400, 'invalid_value', field])
        assert.deepEqual(service.changes, [])
        assert.deepEqual(await handle.get('budget'), { limit: 10, spent: 0 })
        assert.deepEqual(await handle.get('shopping'), [{ text: 'milk', done: false }])
      })
    }

    const attempts: readonly (readonly [what: string, write: (handle: ActorHandle) => Promise<unknown>])[] = [
      ['set', (handle) => handle.set('budget', { limit: 'x' })],
      ['set of a part', (handle) => handle.set('budget/limit', 'x')],
      ['update', (handle) => handle.update('count', () => 0)],
      ['delete of a part', (handle) => handle.delete('budget/limit')],
      ['append', (handle) => handle.list('shopping').append({ text: '' })],
      ['extend', (handle) => handle.list('shopping').extend([{ text: 'fine' }, { text: '' }])],
      ['insert', (handle) => handle.list('shopping').insert(0, 7)],
      ['update of an item', (handle) => handle.list('shopping').update(0, { text: 7 })],
      ['updateWhere', (handle) => handle.list('shopping').updateWhere('text', 'milk', { text: 7 })],
      [
        'updateByHandle',
        async (handle) => {
          const [item] = await handle.list('shopping').itemsWithHandles()
          return handle.list('shopping').updateByHandle(item?.handle ?? '', { text: 7 })
        },
      ],
      ['set in a transaction', (handle) => handle.transaction(async (tx) => tx.set('budget/limit', 'x'))],
      ['delete in a transaction', (handle) => handle.transaction(async (tx) => tx.delete('budget/limit'))],
      [
        'append in a transaction',
        (handle) => handle.transaction(async (tx) => tx.list('shopping').append({ text: 7 })),
      ],
    ]
    for (const [what, write] of attempts) {
      it(`is refused by ${what} in code`, async () => {
        const { handle } = await handles()
        await handle.set('budget', { limit: 10 })
        await handle.list('shopping').append({ text: 'milk' })
        service.reset()
        await assert.rejects(write(handle), { code: 'invalid_value' })
        assert.deepEqual(service.changes, [])
      })
    }

    it('is refused after a hook made it so', async () => {
      const hooked = await start({
        declare: (app) => {
          declare(app)
          app.property('count', { put: () => 0 })
        },
      })
      const actor = await hooked.createActor()
      assert.equal((await actor.request('PUT', '/properties/count', 5)).status, 400)
    })
  })

  describe('the description of declared data', () => {
    it('is in the OpenAPI document', async () => {
      const document = (await (await service.request('/openapi.json')).json()) as {
        readonly paths: Record<string, Record<string, { readonly operationId: string }>>
        readonly components: { readonly schemas: Record<string, { readonly required?: readonly string[] }> }
      }
      const { schemas } = document.components
      assert.deepEqual(Object.keys(schemas), ['Property_budget', 'Property_motto', 'Property_count', 'Item_shopping'])
      assert.deepEqual(schemas['Property_count'], { type: 'integer', minimum: 1 })
      assert.deepEqual(schemas['Item_shopping']?.required, ['text', 'done'])
      assert.equal(document.paths['/{actor}/properties/budget']?.['put']?.operationId, 'property:budget:set')
      assert.equal(document.paths['/{actor}/properties/shopping']?.['post']?.operationId, 'list:shopping:append')
    })
  })

  describe('a peer that may read and append', () => {
    it('appends to a declared list that no one has written, and the explanation says so', async () => {
      const { actor, handle } = await handles()
      const peer = await relateTo(service, actor, { relationship: 'shopper' })
      const explained = async (question: string): Promise<unknown> => {
        const answer = await actor.request('GET', `/permissions/${peer.peerId}?explain=${encodeURIComponent(question)}`)
        return ((await answer.json()) as { readonly allowed: boolean }).allowed
      }
      assert.deepEqual(
        [await explained('append:shopping'), await explained('write:shopping/0'), await explained('read:shopping/0')],
        [true, false, true],
      )
      assert.deepEqual(await (await peer.request('GET', '/properties/shopping')).json(), [])
      assert.equal((await peer.request('POST', '/properties/shopping', { text: '' })).status, 400)
      assert.equal((await peer.request('POST', '/properties/shopping', { text: 'milk' })).status, 201)
      assert.equal((await peer.request('PUT', '/properties/shopping/0', { text: 'tea' })).status, 403)
      assert.equal((await peer.request('GET', '/properties/budget')).status, 403)
      assert.deepEqual(await handle.get('shopping'), [{ text: 'milk', done: false }])
    })
  })

  describe('a name of the other kind', () => {
    it('is refused with 409, and nothing is stored', async () => {
      const { actor, handle } = await handles()
      for (const [method, path, body] of [
        ['PUT', '/properties/shopping', { text: 'milk' }],
        ['POST', '/properties', { shopping: 7 }],
        ['POST', '/properties', { budget: { _type: 'list' } }],
      ] as const) {
        const answer = await actor.request(method, path, body)
        assert.equal(answer.status, 409, `${method} ${path} ${JSON.stringify(body)}`)
      }
      await assert.rejects(handle.list('budget').append(1), { code: 'conflict' })
      await assert.rejects(handle.list('budget').create(), { code: 'conflict' })
      await assert.rejects(
        handle.transaction(async (tx) => tx.list('budget').append(1)),
        { code: 'conflict' },
      )
      await assert.rejects(handle.set('shopping', 1), { code: 'conflict' })
      assert.deepEqual(await handle.all(), { budget: { limit: 500, spent: 0 }, count: 1 })
    })
  })
})

describe('the copy of a peer', () => {
  it('has declared properties with their defaults, and declared lists', async () => {
    const app = troupe({ type: 'urn:actingweb:example.com:test' })
    const budget = app.property('budget', { schema: Budget, default: { limit: 500 } })
    const motto = app.property('motto', { schema: z.string() })
    const shopping = app.list('shopping', { item: Item })
    await using t = await testing(app)
    const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
    const copy = ben.actor.remote(ada.actor.id)
    await t.befriend(ben, ada, 'friend')
    assert.deepEqual([await copy.get(budget), await copy.get(shopping)], [undefined, undefined])
    await ada.actor.list(shopping).append({ text: 'milk' })
    await ben.actor.subscribe(ada.actor.id)
    assert.deepEqual(await copy.get(budget), { limit: 500, spent: 0 })
    assert.deepEqual(await copy.get(shopping), [{ text: 'milk', done: false }])
    assert.equal(await copy.get(motto), undefined)
    await ada.actor.update(budget, (value) => ({ ...value, spent: 7 }))
    await t.settled()
    assert.equal((await copy.get(budget))?.spent, 7)
  })
})

describe('a declaration', () => {
  const startOf = (declareOne: (app: App) => void): Promise<void> => {
    const app = new App({ type: 'urn:actingweb:example.com:test', mode: 'development', env: {} })
    declareOne(app)
    return app.start()
  }
  const refusals: readonly (readonly [what: string, declareOne: (app: App) => void, message: RegExp])[] = [
    [
      'a name with a slash',
      (app) => app.property('a/b', { schema: z.string() }),
      /Cannot declare the data of actors: .*contains a slash/,
    ],
    ['a list name that begins with _', (app) => app.list('_a', { item: z.string() }), /must not begin with "_"/],
    [
      'a default that does not fit',
      (app) => app.property('a', { schema: z.string(), default: '7'.length as never }),
      /property "a": its default does not fit its schema/,
    ],
    [
      'two declarations of a name',
      (app) => {
        app.property('a', { schema: z.string() })
        app.list('a', { item: z.string() })
      },
      /list "a": the name is declared already/,
    ],
    ['no schema', (app) => app.list('a', {} as never), /item must be a zod schema/],
    [
      'a schema without a JSON Schema',
      (app) => app.property('a', { schema: z.bigint() as never }),
      /Cannot publish the schema of the property "a".*jsonSchema too/,
    ],
  ]
  for (const [what, declareOne, message] of refusals) {
    it(`with ${what} stops the start`, async () => {
      await assert.rejects(async () => startOf(declareOne), { name: 'ConfigError', message })
    })
  }
})
