import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { leavesAll } from '../support/stored.ts'

/** One request of a peer: method, path below the actor, body. */
type Sent = readonly [method: string, path: string, body?: unknown]

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  let peer: TestRelationship
  /** The arguments that the hooks of `guarded` received. */
  const hooked: unknown[] = []

  before(async () => {
    service = await start({
      declare: (app) => {
        app.property('guarded', {
          put: ({ value, path }) => {
            hooked.push([path, value])
            return value
          },
        })
        app.property('racing', {
          put: async ({ actor: own, value }) => {
            await own.list('racing').append('meanwhile')
            return value
          },
        })
        app.property('emptied', { put: () => '' })
        app.property('filled', { put: () => 'by the application' })
      },
    })
  })

  async function meet(...operations: string[]): Promise<void> {
    actor = await service.createActor()
    await actor.request('POST', '/properties', {
      p: 'kept',
      settings: { theme: 'dark' },
      emptied: 'kept',
      filled: 'kept',
      log: { _type: 'list', description: 'A log' },
      guarded: { _type: 'list' },
      racing: { _type: 'list' },
    })
    for (const name of ['log', 'guarded', 'racing'])
      for (const item of ['one', 'two']) await actor.request('POST', `/properties/${name}`, item)
    peer = await relateTo(service, actor, { relationship: 'neighbor' })
    const rule = { properties: { patterns: ['*'], operations } }
    assert.equal((await actor.request('PUT', `/trust/neighbor/${peer.peerId}/permissions`, rule)).status, 201)
    hooked.length = 0
  }

  const send = ([method, path, body]: Sent): Promise<Response> => peer.request(method, path, body)
  const stored = async (path: string): Promise<unknown> => (await actor.request('GET', path)).json()
  const items = (name = 'log'): Promise<unknown> => stored(`/properties/${name}`)

  async function refused(requests: readonly Sent[]): Promise<void> {
    for (const request of requests) {
      await leavesAll(service, () => send(request), 403)
    }
  }

  describe('the right to append', () => {
    for (const [what, request, status] of [
      ['POST on the list', ['POST', '/properties/log', 'three'], 201],
      ['the action add', ['POST', '/properties/log/items', { action: 'add', item_value: 'three' }], 201],
      ['PUT at the length', ['PUT', '/properties/log/2', 'three'], 204],
      ['PUT with the length as ?index', ['PUT', '/properties/log?index=2', 'three'], 204],
    ] as const) {
      it(`adds an item by ${what} (CHOICE-74)`, async () => {
        await meet('append')
        assert.equal((await send(request)).status, status)
        assert.deepEqual(await items(), ['one', 'two', 'three'])
      })
    }

    for (const method of ['POST', 'PUT']) {
      it(`adds items by a bulk ${method} after the last item (CHOICE-74)`, async () => {
        await meet('append')
        const entries = [
          { index: 2, text: 'three' },
          { index: 3, text: 'four' },
        ]
        const answer = await send([method, '/properties', { log: { items: entries } }])
        assert.equal(answer.status, method === 'POST' ? 201 : 204)
        assert.deepEqual(await items(), ['one', 'two', { text: 'three' }, { text: 'four' }])
      })
    }

    it('allows nothing else on a list (CHOICE-74, ACL-04)', async () => {
      await meet('append')
      await refused([
        ['GET', '/properties/log'],
        ['GET', '/properties/log/0'],
        ['GET', '/properties/log/items'],
        ['GET', '/properties/log/metadata'],
        ['PUT', '/properties/log/0', 'changed'],
        ['PUT', '/properties/log?index=1', 'changed'],
        ['POST', '/properties/log/items', { action: 'update', item_index: 0, item_value: 'changed' }],
        ['POST', '/properties/log/items', { action: 'delete', item_index: 0 }],
        ['DELETE', '/properties/log/0'],
        ['DELETE', '/properties/log?index=0'],
        ['DELETE', '/properties/log'],
        ['PUT', '/properties/log', 'a value'],
        ['PUT', '/properties/log', ''],
        ['PUT', '/properties/log/metadata', { description: 'changed' }],
        ['POST', '/properties', { log: { _type: 'list', description: 'changed' } }],
        ['POST', '/properties', { log: { items: [{ index: 0, text: 'changed' }] } }],
        [
          'POST',
          '/properties',
          {
            log: {
              items: [
                { index: 2, text: 'three' },
                { index: 1, text: 'changed' },
              ],
            },
          },
        ],
        [
          'POST',
          '/properties',
          {
            log: {
              items: [
                { index: 2, text: 'three' },
                { index: 2, text: 'again' },
              ],
            },
          },
        ],
        ['POST', '/properties', { log: { items: [{ index: 1 }] } }],
        ['POST', '/properties', { log: { items: [{ index: 2, text: 'three' }, { index: 9 }] } }],
      ])
      assert.deepEqual(await items(), ['one', 'two'])
    })

    it('creates no list, and neither sets nor removes a value (CHOICE-74)', async () => {
      await meet('append')
      await refused([
        ['POST', '/properties', { fresh: { _type: 'list' } }],
        ['POST', '/properties', { fresh: 'value' }],
        ['POST', '/properties/fresh', 'value'],
        ['PUT', '/properties/p', 'changed'],
        ['PUT', '/properties/p', ''],
        ['PUT', '/properties/settings/theme', 'light'],
        ['POST', '/properties/p', 'changed'],
        ['DELETE', '/properties/p'],
        ['DELETE', '/properties'],
        ['PUT', '/properties', { log: { items: [{ index: 2, text: 'three' }] }, p: 'changed' }],
      ])
    })

    it('passes a change that it does not cover to no hook (ACL-04)', async () => {
      await meet('append')
      await refused([
        ['PUT', '/properties/guarded/0', 'changed'],
        ['POST', '/properties', { guarded: { items: [{ index: 1, text: 'changed' }] } }],
      ])
      assert.deepEqual(hooked, [])
      assert.equal((await send(['PUT', '/properties/guarded/2', 'three'])).status, 204)
      assert.deepEqual(hooked, [[['guarded', '2'], 'three']])
    })

    it('replaces no item that a concurrent request added at the same index (ACL-04)', async () => {
      await meet('append')
      assert.equal((await send(['PUT', '/properties/racing/2', 'late'])).status, 403)
      assert.deepEqual(await items('racing'), ['one', 'two', 'meanwhile'])
      const entries = { items: [{ index: 3, text: 'late' }] }
      assert.equal((await send(['POST', '/properties', { racing: entries }])).status, 403)
      assert.deepEqual(await items('racing'), ['one', 'two', 'meanwhile', 'meanwhile'])
    })
  })

  describe('the right to write', () => {
    it('adds, changes and removes the items of a list (CHOICE-74)', async () => {
      await meet('write')
      for (const [request, status] of [
        [['POST', '/properties/log', 'three'], 201],
        [['PUT', '/properties/log/3', 'four'], 204],
        [['PUT', '/properties/log/0', 'changed'], 204],
        [['DELETE', '/properties/log/1'], 204],
        [['DELETE', '/properties/log?index=1'], 204],
        [['POST', '/properties/log/items', { action: 'delete', item_index: 1 }], 204],
        [['POST', '/properties/log/items', { action: 'update', item_index: 0, item_value: 'last' }], 204],
        [['PUT', '/properties/log/metadata', { description: 'changed' }], 204],
      ] as const)
        assert.equal((await send(request)).status, status, JSON.stringify(request))
      assert.deepEqual(await items(), ['last'])
      const cleared = await send(['PUT', '/properties', { log: { items: [{ index: 0 }] } }])
      assert.equal(cleared.status, 204)
      assert.deepEqual(await items(), [])
    })

    it('removes neither a property nor a list, not even with an empty string (CHOICE-74)', async () => {
      await meet('read', 'append', 'write')
      await refused([
        ['DELETE', '/properties/p'],
        ['DELETE', '/properties/log'],
        ['DELETE', '/properties/settings/theme'],
        ['DELETE', '/properties'],
        ['PUT', '/properties/p', ''],
        ['POST', '/properties/p', ''],
        ['PUT', '/properties', { p: '' }],
        ['POST', '/properties', { p: '' }],
        ['POST', '/properties', { settings: { theme: 'light' }, p: '' }],
        ['PUT', '/properties/never_there', ''],
      ])
      for (const headers of [{}, { 'content-type': 'text/plain' }] as Record<string, string>[])
        await leavesAll(service, () => peer.request('PUT', '/properties/p', undefined, headers), 403)
      await leavesAll(service, () => peer.request('POST', '/properties?p='), 403)
      for (const [path, form] of [
        ['/properties', 'p='],
        ['/properties/p', '_method=PUT&value='],
        ['/properties/p', '_method=DELETE'],
        ['/properties/log', '_method=DELETE'],
      ] as const)
        await leavesAll(service, () => post(path, form), 403)
    })

    it('stores an empty string below a name, where it is an ordinary value (CHOICE-09)', async () => {
      await meet('write')
      assert.equal((await send(['PUT', '/properties/settings/theme', ''])).status, 204)
      assert.deepEqual(await stored('/properties/settings'), { theme: '' })
    })

    it('does not cover a deletion that results from a hook', async () => {
      await meet('write')
      await refused([
        ['PUT', '/properties/emptied', 'x'],
        ['PUT', '/properties', { emptied: 'x' }],
      ])
    })
  })

  describe('the right to delete', () => {
    for (const request of [
      ['DELETE', '/properties/p'],
      ['PUT', '/properties/p', ''],
      ['PUT', '/properties', { p: '' }],
    ] as const) {
      it(`removes a property by ${JSON.stringify(request)} (CHOICE-74)`, async () => {
        await meet('delete')
        assert.equal((await send(request)).status, 204)
        assert.equal((await actor.request('GET', '/properties/p')).status, 404)
      })
    }

    it('removes a list, a key of a value, and everything', async () => {
      await meet('delete')
      assert.equal((await send(['DELETE', '/properties/log'])).status, 204)
      assert.equal((await send(['DELETE', '/properties/settings/theme'])).status, 204)
      assert.deepEqual(await stored('/properties/settings'), {})
      assert.equal((await send(['DELETE', '/properties'])).status, 204)
      assert.deepEqual(await stored('/properties'), {})
    })

    it('neither sets a value nor changes an item (CHOICE-74, ACL-04)', async () => {
      await meet('delete')
      await refused([
        ['PUT', '/properties/p', 'changed'],
        ['PUT', '/properties', { p: '', settings: 'changed' }],
        ['POST', '/properties/log', 'three'],
        ['PUT', '/properties/log/0', ''],
        ['DELETE', '/properties/log/0'],
        ['POST', '/properties/log/items', { action: 'delete', item_index: 0 }],
        ['POST', '/properties', { log: { items: [{ index: 0 }] } }],
        // The hook turns the deletion into a change.
        ['PUT', '/properties/filled', ''],
        ['PUT', '/properties', { filled: '' }],
      ])
    })
  })

  const post = (path: string, form: string): Promise<Response> =>
    service.request(`/${actor.id}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${peer.secret}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    })
})
