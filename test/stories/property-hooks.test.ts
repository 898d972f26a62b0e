/** Property hooks, which run on every access, by every path. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { PropertyAccess, PropertyHook, PropertyHooks } from '../../src/app/declarations.ts'
import type { Json } from '../../src/json/json.ts'
import type { App } from '../../src/troupe.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { answered, changesNothing, done, outcomeOf, refused } from '../support/stored.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

const data = {
  settings: { theme: 'dark', deep: { a: 1 } },
  text: 'hello',
  notes: { _type: 'list', description: 'd' },
}
const items = {
  notes: {
    items: [
      { index: 0, t: 'a' },
      { index: 1, t: 'b' },
      { index: 2, t: 'c' },
    ],
  },
}

/** The behavior of the hooks from now on. Null disables them. */
class Script {
  calls: unknown[] = []
  hooks: PropertyHook | null = null

  readonly run: PropertyHook = (access) => {
    const { operation, value, path, caller } = access
    if (this.hooks === null) return value
    this.calls.push([operation, path.join('/'), value])
    assert.ok(caller.kind === 'creator' || caller.kind === 'application')
    return this.hooks(access)
  }
}

async function fill(actor: TestActor): Promise<void> {
  assert.equal((await actor.request('POST', '/properties', data)).status, 201)
  assert.equal((await actor.request('POST', '/properties', items)).status, 201)
}

forEachService((start) => {
  const script = new Script()
  let service: TestService
  before(async () => {
    service = await start({ declare: (app) => app.property('*', script.run) })
  })
  /** Creates an actor on the scripted service and fills it before the script starts. */
  async function scripted(): Promise<TestActor> {
    script.calls = []
    script.hooks = null
    const actor = await service.createActor()
    await fill(actor)
    return actor
  }
  const same: PropertyHook = ({ value }) => value

  describe('the arguments of a hook', () => {
    const settings = data.settings
    const [a, b, c] = [{ t: 'a' }, { t: 'b' }, { t: 'c' }]
    const texts = { description: 'x' }
    const facts = { _list: true, count: 3, description: 'd', explanation: '' }
    for (const [what, method, path, body, calls] of [
      ['a value', 'GET', '/settings', undefined, [['get', 'settings', settings]]],
      ['plain text', 'GET', '/text', undefined, [['get', 'text', 'hello']]],
      ['a key', 'GET', '/settings/theme', undefined, [['get', 'settings/theme', 'dark']]],
      ['a deeper key', 'GET', '/settings/deep/a', undefined, [['get', 'settings/deep/a', 1]]],
      ['a missing key', 'GET', '/settings/no', undefined, []],
      ['a missing name', 'GET', '/no', undefined, []],
      [
        'a list',
        'GET',
        '/notes',
        undefined,
        [
          ['get', 'notes', [a, b, c]],
          ['get', 'notes/0', a],
          ['get', 'notes/1', b],
          ['get', 'notes/2', c],
        ],
      ],
      ['a list in short format', 'GET', '/notes?format=short', undefined, [['get', 'notes', facts]]],
      [
        'the items view',
        'GET',
        '/notes/items',
        undefined,
        [
          ['get', 'notes', [a, b, c]],
          ['get', 'notes/0', a],
          ['get', 'notes/1', b],
          ['get', 'notes/2', c],
        ],
      ],
      ['the metadata of a list', 'GET', '/notes/metadata', undefined, [['get', 'notes', facts]]],
      ['an item by path', 'GET', '/notes/1', undefined, [['get', 'notes/1', b]]],
      ['an item by query', 'GET', '/notes?index=1', undefined, [['get', 'notes/1', b]]],
      ['an item from the end, by its index', 'GET', '/notes?index=-1', undefined, [['get', 'notes/2', c]]],
      ['a missing item', 'GET', '/notes/9', undefined, []],
      ['a put value', 'PUT', '/settings', { x: 1 }, [['put', 'settings', { x: 1 }]]],
      ['a put string', 'PUT', '/text', 'new', [['put', 'text', 'new']]],
      ['a put key', 'PUT', '/settings/theme', '"light"', [['put', 'settings/theme', 'light']]],
      ['a deeper put key', 'PUT', '/settings/deep/b/c', '1', [['put', 'settings/deep/b/c', 1]]],
      ['an empty put, which writes ""', 'PUT', '/text', '', [['put', 'text', '']]],
      ['a posted value', 'POST', '/settings', { x: 1 }, [['post', 'settings', { x: 1 }]]],
      ['a posted key', 'POST', '/settings/x', '1', [['post', 'settings/x', 1]]],
      ['an item put by path', 'PUT', '/notes/1', '{"t":"x"}', [['put', 'notes/1', { t: 'x' }]]],
      ['an item put by query', 'PUT', '/notes?index=1', '{"t":"x"}', [['put', 'notes/1', { t: 'x' }]]],
      ['an item put behind the last', 'PUT', '/notes/3', '{"t":"x"}', [['put', 'notes/3', { t: 'x' }]]],
      ['an item appended', 'POST', '/notes', { t: 'x' }, [['post', 'notes', { t: 'x' }]]],
      ['an item added', 'POST', '/notes/items', { action: 'add', item_value: 7 }, [['post', 'notes', 7]]],
      [
        'an item updated',
        'POST',
        '/notes/items',
        { action: 'update', item_index: 2, item_value: 7 },
        [['put', 'notes/2', 7]],
      ],
      ['an item deleted', 'POST', '/notes/items', { action: 'delete', item_index: 2 }, [['delete', 'notes/2', c]]],
      ['an item deleted by path', 'DELETE', '/notes/0', undefined, [['delete', 'notes/0', a]]],
      ['an item deleted by query', 'DELETE', '/notes?index=0', undefined, [['delete', 'notes/0', a]]],
      ['put metadata', 'PUT', '/notes/metadata', texts, [['put', 'notes/metadata', texts]]],
      [
        'several posted',
        'POST',
        '',
        { p: 1, q: 'two', l: { _type: 'list' } },
        [
          ['post', 'p', 1],
          ['post', 'q', 'two'],
          ['post', 'l', []],
        ],
      ],
      [
        'several put',
        'PUT',
        '',
        { p: 1, q: 'two' },
        [
          ['put', 'p', 1],
          ['put', 'q', 'two'],
        ],
      ],
      [
        'items in bulk',
        'POST',
        '',
        { notes: { items: [{ index: 2 }, { index: 0, t: 'x' }, { index: 3, t: 'y' }, { index: 9 }] } },
        [
          ['put', 'notes/0', { t: 'x' }],
          ['put', 'notes/3', { t: 'y' }],
          ['delete', 'notes/2', c],
        ],
      ],
      ['a value deleted', 'DELETE', '/settings', undefined, [['delete', 'settings', settings]]],
      ['a key deleted', 'DELETE', '/settings/theme', undefined, [['delete', 'settings/theme', 'dark']]],
      ['a deletion of a missing name', 'DELETE', '/no', undefined, [['delete', 'no', {}]]],
      ['a list deleted', 'DELETE', '/notes', undefined, [['delete', 'notes', [a, b, c]]]],
      [
        'all deleted',
        'DELETE',
        '',
        undefined,
        [
          ['delete', 'notes', [a, b, c]],
          ['delete', 'settings', settings],
          ['delete', 'text', 'hello'],
        ],
      ],
    ] as const) {
      it(`are the operation, the value and the path with the name first, for ${what} (R-PROP-06, CHOICE-03)`, async () => {
        const actor = await scripted()
        script.hooks = same
        await actor.request(method, `/properties${path}`, body)
        assert.deepEqual(script.calls, calls)
      })
    }

    for (const [query, list] of [
      ['', [['get', 'notes', facts]]],
      [
        '?format=full',
        [
          ['get', 'notes', [a, b, c]],
          ['get', 'notes/0', a],
          ['get', 'notes/1', b],
          ['get', 'notes/2', c],
        ],
      ],
      ['?metadata=true', [['get', 'notes', facts]]],
    ] as const) {
      it(`cover every value and every list in the listing${query} (R-PROP-06)`, async () => {
        const actor = await scripted()
        script.hooks = same
        await actor.request('GET', `/properties${query}`)
        const byPath = (x: unknown, y: unknown): number => JSON.stringify(x).localeCompare(JSON.stringify(y))
        assert.deepEqual(
          script.calls.toSorted(byPath),
          [...list, ['get', 'settings', settings], ['get', 'text', 'hello']].toSorted(byPath),
        )
      })
    }

    it('are strings for the fields of a form (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = same
      await actor.request('POST', '/properties', 'property=p&value=1', form)
      await actor.request('POST', '/properties', 'q=2', form)
      assert.deepEqual(script.calls, [
        ['post', 'p', '1'],
        ['post', 'q', '2'],
      ])
    })

    it('include the actor and the caller (R-PROP-06)', async () => {
      const seen: unknown[] = []
      const service = await start({
        declare: (app) =>
          app.property('a', ({ actor, caller, value }) => {
            seen.push([actor.id, actor.creator, actor.url, caller])
            return value
          }),
      })
      const actor = await service.createActor('me@example.com')
      await done(await actor.request('PUT', '/properties/a', '1'))
      await (await service.app.actors.get(actor.id))?.set('a', 2)
      const known = [actor.id, 'me@example.com', `http://troupe.test/${actor.id}`]
      assert.deepEqual(seen, [
        [...known, { kind: 'creator', via: 'basic' }],
        [...known, { kind: 'application' }],
      ])
    })

    it('are the same for accesses from code, with the index of an item (R-PROP-06)', async () => {
      const actor = await scripted()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle)
      const notes = handle.list('notes')
      const [, second] = await notes.itemsWithHandles()
      assert.ok(second)
      const calls = async (work: () => Promise<unknown>): Promise<unknown[]> => {
        script.calls = []
        script.hooks = same
        await work()
        script.hooks = null
        return script.calls
      }
      const whole = [
        ['get', 'notes', [a, b, c]],
        ['get', 'notes/0', a],
        ['get', 'notes/1', b],
        ['get', 'notes/2', c],
      ]
      assert.deepEqual(await calls(() => handle.get('text')), [['get', 'text', 'hello']])
      assert.deepEqual(await calls(() => handle.set('text', 'x')), [['put', 'text', 'x']])
      assert.deepEqual(await calls(() => handle.delete('text')), [['delete', 'text', 'x']])
      assert.deepEqual(await calls(() => handle.all()), [['get', 'settings', settings]])
      assert.deepEqual(await calls(() => handle.get('notes')), whole)
      assert.deepEqual(await calls(() => notes.items()), whole)
      for (const work of [() => notes.length(), () => notes.metadata(), () => notes.exists()])
        assert.deepEqual(await calls(work), [['get', 'notes', facts]])
      assert.deepEqual(
        (await calls(() => handle.lists())).filter((call) => JSON.stringify(call).includes('notes')),
        [['get', 'notes', facts]],
      )
      assert.deepEqual(await calls(() => notes.find('t', 'b')), whole)
      assert.deepEqual(await calls(() => notes.findAll('t', 'b')), whole)
      assert.deepEqual(await calls(() => notes.itemsWithHandles()), whole)
      assert.deepEqual(await calls(() => notes.get(-1)), [['get', 'notes/2', c]])
      assert.deepEqual(await calls(() => notes.update(-1, 3)), [['put', 'notes/2', 3]])
      assert.deepEqual(await calls(() => notes.insert(0, 0)), [['post', 'notes/0', 0]])
      assert.deepEqual(await calls(() => notes.append(9)), [['post', 'notes', 9]])
      assert.deepEqual(await calls(() => notes.extend([7, 8])), [
        ['post', 'notes', 7],
        ['post', 'notes', 8],
      ])
      assert.deepEqual(await calls(() => notes.updateByHandle(second.handle, { t: 'B' })), [
        ['put', 'notes/2', { t: 'B' }],
      ])
      assert.deepEqual(await calls(() => notes.updateWhere('t', 'B', { t: 'bb' })), [['put', 'notes/2', { t: 'bb' }]])
      assert.deepEqual(await calls(() => notes.removeWhere('t', 'bb')), [['delete', 'notes/2', { t: 'bb' }]])
      assert.deepEqual(await calls(() => notes.pop()), [['delete', 'notes/5', 8]])
      assert.deepEqual(await calls(() => notes.delete(-1)), [['delete', 'notes/4', 7]])
      const [first] = await notes.itemsWithHandles()
      assert.deepEqual(await calls(() => notes.deleteByHandle(first?.handle ?? '')), [['delete', 'notes/0', 0]])
      assert.deepEqual(await notes.items(), [a, 3, 9])
      assert.deepEqual(await calls(() => notes.clear()), [['delete', 'notes', [a, 3, 9]]])
      assert.deepEqual(await calls(() => notes.remove()), [['delete', 'notes', []]])
    })
  })

  describe('a hook that returns null on a read', () => {
    const hide =
      (...paths: readonly string[]): PropertyHook =>
      ({ path, value }) =>
        paths.includes(path.join('/')) ? null : value

    it('hides a value from its own path, from every listing, and from code (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = hide('settings', 'text')
      for (const path of ['settings', 'text'])
        await refused(
          await actor.request('GET', `/properties/${path}`),
          404,
          'not_found',
          `The property "${path}" does not exist`,
        )
      const list = { _list: true, count: 3 }
      await answered(await actor.request('GET', '/properties'), 200, { notes: list })
      await answered(await actor.request('GET', '/properties?format=full'), 200, {
        notes: { ...list, description: 'd', explanation: '', items: [{ t: 'a' }, { t: 'b' }, { t: 'c' }] },
      })
      const metadata = (await (await actor.request('GET', '/properties?metadata=true')).json()) as { simple: unknown }
      assert.deepEqual(metadata.simple, { properties: [], total_bytes: 0 })
      const handle = await service.app.actors.get(actor.id)
      assert.equal(await handle?.get('text'), undefined)
      assert.deepEqual(await handle?.all(), {})
    })

    it('hides one key and keeps the others (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = hide('settings/theme')
      await refused(
        await actor.request('GET', '/properties/settings/theme'),
        404,
        'not_found',
        /"settings\/theme" does not exist$/,
      )
      await answered(await actor.request('GET', '/properties/settings/deep'), 200, { a: 1 })
    })

    it('hides a list from every view, with its length and metadata (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = hide('notes')
      for (const path of ['notes', 'notes?format=short', 'notes?format=full', 'notes/items', 'notes/metadata'])
        await refused(await actor.request('GET', `/properties/${path}`), 404, 'not_found', /^The property "notes/)
      const values = { settings: data.settings, text: 'hello' }
      await answered(await actor.request('GET', '/properties'), 200, values)
      await answered(await actor.request('GET', '/properties?format=full'), 200, values)
      const metadata = (await (await actor.request('GET', '/properties?metadata=true')).json()) as { lists: unknown }
      assert.deepEqual(metadata.lists, {})
      const handle = await service.app.actors.get(actor.id)
      assert.deepEqual(await handle?.lists(), [])
      assert.equal(await handle?.get('notes'), undefined)
      assert.equal(await handle?.list('notes').exists(), false)
      assert.equal(await handle?.list('notes').metadata(), null)
      assert.deepEqual(await handle?.list('notes').items(), [])
      assert.deepEqual(await handle?.list('notes').findAll('t', 'a'), [])
    })

    it('hides one item from every view, and the other items keep their indexes (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = hide('notes/1')
      await answered(await actor.request('GET', '/properties/notes'), 200, [{ t: 'a' }, { t: 'c' }])
      await answered(await actor.request('GET', '/properties/notes/items'), 200, {
        items: [
          { index: 0, item: { t: 'a' } },
          { index: 2, item: { t: 'c' } },
        ],
        count: 3,
      })
      for (const path of ['notes/1', 'notes?index=1', 'notes?index=-2'])
        await refused(await actor.request('GET', `/properties/${path}`), 404, 'not_found', /^The property "notes/)
      const full = (await (await actor.request('GET', '/properties?format=full')).json()) as {
        notes: { items: unknown }
      }
      assert.deepEqual(full.notes.items, [{ t: 'a' }, { t: 'c' }])
      const handle = await service.app.actors.get(actor.id)
      assert.equal(await handle?.list('notes').get(-2), undefined)
      assert.equal(await handle?.list('notes').find('t', 'b'), undefined)
      assert.deepEqual(
        (await handle?.list('notes').itemsWithHandles())?.map(({ index }) => index),
        [0, 2],
      )
      const pages: unknown[] = []
      for await (const page of handle?.list('notes').pages(2) ?? []) pages.push(page)
      assert.deepEqual(pages, [[{ index: 0, item: { t: 'a' } }], [{ index: 2, item: { t: 'c' } }]])
    })

    it('hides the value also with undefined (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = () => undefined
      await refused(await actor.request('GET', '/properties/text'), 404, 'not_found', /./)
    })
  })

  describe('a hook that returns null on a write', () => {
    const noPut = (path: string): string => `Cannot set "${path}": the application rejected the value`
    const noDelete = (path: string): string => `Cannot delete "${path}": the application rejected it`
    for (const [what, method, path, body, rejected, status, message] of [
      ['PUT of a value', 'PUT', '/text', 'x', 'text', 400, noPut('text')],
      ['PUT of an empty body', 'PUT', '/text', '', 'text', 400, noPut('text')],
      ['PUT of a key', 'PUT', '/settings/theme', 'x', 'settings/theme', 400, noPut('settings/theme')],
      ['PUT of several', 'PUT', '', { p: 1, q: 2 }, 'q', 400, noPut('q')],
      ['PUT of an item by path', 'PUT', '/notes/1', '1', 'notes/1', 400, noPut('notes/1')],
      ['PUT of an item by query', 'PUT', '/notes?index=1', '1', 'notes/1', 400, noPut('notes/1')],
      ['PUT behind the last item', 'PUT', '/notes/3', '1', 'notes/3', 400, noPut('notes/3')],
      [
        'PUT of metadata',
        'PUT',
        '/notes/metadata',
        { description: 'x' },
        'notes/metadata',
        400,
        noPut('notes/metadata'),
      ],
      [
        'PUT of items in bulk',
        'PUT',
        '',
        { p: 1, notes: { items: [{ index: 0, t: 'x' }] } },
        'notes/0',
        400,
        noPut('notes/0'),
      ],
      [
        'an updated item',
        'POST',
        '/notes/items',
        { action: 'update', item_index: 1, item_value: 1 },
        'notes/1',
        400,
        noPut('notes/1'),
      ],
      ['POST of a value', 'POST', '/text', 'x', 'text', 400, noPut('text')],
      ['POST of a key', 'POST', '/settings/theme', 'x', 'settings/theme', 400, noPut('settings/theme')],
      ['POST of several', 'POST', '', { p: 1, q: 2 }, 'q', 400, noPut('q')],
      ['POST of a list', 'POST', '', { p: 1, made: { _type: 'list' } }, 'made', 400, noPut('made')],
      ['an appended item', 'POST', '/notes', '1', 'notes', 400, noPut('notes')],
      ['an added item', 'POST', '/notes/items', { action: 'add', item_value: 1 }, 'notes', 400, noPut('notes')],
      [
        'POST of items in bulk',
        'POST',
        '',
        {
          p: 1,
          notes: {
            items: [
              { index: 0, t: 'x' },
              { index: 1, t: 'y' },
            ],
          },
        },
        'notes/1',
        400,
        noPut('notes/1'),
      ],
      [
        'POST of removals in bulk',
        'POST',
        '',
        { p: 1, notes: { items: [{ index: 0 }, { index: 2 }] } },
        'notes/2',
        403,
        noDelete('notes/2'),
      ],
      [
        'a deleted item',
        'POST',
        '/notes/items',
        { action: 'delete', item_index: 1 },
        'notes/1',
        403,
        noDelete('notes/1'),
      ],
      ['DELETE of an item by path', 'DELETE', '/notes/1', undefined, 'notes/1', 403, noDelete('notes/1')],
      ['DELETE of an item by query', 'DELETE', '/notes?index=1', undefined, 'notes/1', 403, noDelete('notes/1')],
      ['DELETE of a value', 'DELETE', '/text', undefined, 'text', 403, noDelete('text')],
      ['DELETE of a key', 'DELETE', '/settings/theme', undefined, 'settings/theme', 403, noDelete('settings/theme')],
      ['DELETE of a list', 'DELETE', '/notes', undefined, 'notes', 403, noDelete('notes')],
      ['DELETE of all for one value', 'DELETE', '', undefined, 'text', 403, noDelete('text')],
      ['DELETE of all for one list', 'DELETE', '', undefined, 'notes', 403, noDelete('notes')],
    ] as const) {
      for (const kind of ['sync', 'async'] as const) {
        it(`rejects the entire request for ${what}, ${kind} (R-PROP-06)`, async () => {
          const actor = await scripted()
          script.hooks = ({ path: at, value }) => {
            const result = at.join('/') === rejected ? null : value
            return kind === 'sync' ? result : turn().then(() => result)
          }
          await changesNothing(service, async () =>
            refused(
              await actor.request(method, `/properties${path}`, body),
              status,
              status === 400 ? 'rejected' : 'forbidden',
              message,
            ),
          )
        })

        it(`answers 500 without details when it throws for ${what}, ${kind}, and stores nothing (R-PROP-13)`, async () => {
          const actor = await scripted()
          script.hooks = ({ path: at, value }) => {
            if (at.join('/') !== rejected) return value
            if (kind === 'sync') throw new Error('a secret of the hook')
            return Promise.reject(new Error('a secret of the hook'))
          }
          await changesNothing(service, async () =>
            refused(await actor.request(method, `/properties${path}`, body), 500, 'server_error', 'The service failed'),
          )
          assert.ok(service.log.some((line) => line.includes('a secret of the hook')))
        })
      }
    }

    it('rejects forms (R-PROP-06)', async () => {
      const actor = await scripted()
      script.hooks = ({ path: [name] }) => (name === 'q' ? null : 'x')
      await changesNothing(service, async () => {
        for (const fields of ['property=q&value=1', 'p=1&q=2', 'property=q&property_type=list'])
          await refused(await actor.request('POST', '/properties', fields, form), 400, 'rejected', noPut('q'))
      })
    })

    it('rejects every write from code (R-PROP-06)', async () => {
      const actor = await scripted()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle)
      const notes = handle.list('notes')
      const [first] = await notes.itemsWithHandles()
      const receipt = first?.handle ?? ''
      script.hooks = ({ operation, value }) => (operation === 'get' ? value : null)
      await changesNothing(service, async () => {
        for (const [work, code] of [
          [() => handle.set('text', 1), 'rejected'],
          [() => handle.delete('text'), 'forbidden'],
          [() => handle.delete('notes'), 'forbidden'],
          [() => notes.create(), 'rejected'],
          [() => handle.list('new').create(), 'rejected'],
          [() => notes.append(1), 'rejected'],
          [() => handle.list('new').append(1), 'rejected'],
          [() => notes.extend([1]), 'rejected'],
          [() => notes.insert(0, 1), 'rejected'],
          [() => notes.update(0, 1), 'rejected'],
          [() => notes.delete(0), 'forbidden'],
          [() => notes.pop(), 'forbidden'],
          [() => notes.clear(), 'forbidden'],
          [() => notes.remove(), 'forbidden'],
          [() => notes.updateByHandle(receipt, 1), 'rejected'],
          [() => notes.deleteByHandle(receipt), 'forbidden'],
          [() => notes.updateWhere('t', 'b', 1), 'rejected'],
          [() => notes.removeWhere('t', 'b'), 'forbidden'],
        ] as const)
          assert.equal(await outcomeOf(work()), code, String(work))
      })
    })

    it('answers 500 and reveals nothing when it throws on a read instead (R-PROP-13)', async () => {
      const actor = await scripted()
      script.hooks = () => {
        throw new Error('broken')
      }
      for (const path of [
        '',
        '?format=full',
        '?metadata=true',
        '/text',
        '/settings/theme',
        '/notes',
        '/notes/0',
        '/notes/items',
      ])
        await refused(await actor.request('GET', `/properties${path}`), 500, 'server_error', 'The service failed')
    })
  })

  describe('the result of a hook', () => {
    it('is what a reader receives (R-PROP-11)', async () => {
      const actor = await scripted()
      script.hooks = ({ value, path }) =>
        path.length > 1 ? { shown: value } : typeof value === 'string' ? 'masked' : value
      const answer = await actor.request('GET', '/properties/text')
      assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
      assert.equal(await answer.text(), 'masked')
      await answered(await actor.request('GET', '/properties/settings/theme'), 200, { shown: 'dark' })
      await answered(await actor.request('GET', '/properties/notes'), 200, [
        { shown: { t: 'a' } },
        { shown: { t: 'b' } },
        { shown: { t: 'c' } },
      ])
      const listing = (await (await actor.request('GET', '/properties')).json()) as { text: unknown }
      assert.equal(listing.text, 'masked')
      script.hooks = null
      assert.equal(await (await actor.request('GET', '/properties/text')).text(), 'hello')
    })

    it('is what is stored, returned and recorded (R-PROP-11)', async () => {
      const actor = await scripted()
      script.hooks = ({ operation, value, path }) =>
        operation === 'get' ? value : path.at(-1) === 'metadata' ? { description: 'changed' } : { kept: value }
      service.reset()
      await done(await actor.request('PUT', '/properties/text', 'x'))
      await answered(await actor.request('POST', '/properties/new', '1'), 201, { kept: 1 })
      await answered(await actor.request('POST', '/properties', { p: 2 }), 201, { p: { kept: 2 } })
      await done(await actor.request('PUT', '/properties/settings/theme', '3'))
      await done(await actor.request('PUT', '/properties/notes/0', '4'))
      await answered(await actor.request('POST', '/properties/notes', '5'), 201, { kept: 5 })
      await actor.request('POST', '/properties/notes/items', { action: 'add', item_value: 6 })
      await done(await actor.request('PUT', '/properties/notes/metadata', { description: 'given', explanation: 'too' }))
      assert.deepEqual(
        service.changes.map(({ subtarget, resource, blob }) => {
          const change = JSON.parse(blob) as { item?: unknown; description?: unknown; explanation?: unknown }
          return [
            subtarget,
            resource,
            subtarget === 'notes' ? (change.item ?? [change.description, change.explanation]) : change,
          ]
        }),
        [
          ['text', null, { kept: 'x' }],
          ['new', null, { kept: 1 }],
          [null, null, { p: { kept: 2 } }],
          ['settings', 'theme', { kept: 3 }],
          ['notes', null, { kept: 4 }],
          ['notes', null, { kept: 5 }],
          ['notes', null, { kept: 6 }],
          ['notes', null, ['changed', undefined]],
        ],
      )
      await answered(await actor.request('GET', '/properties/notes'), 200, [
        { kept: 4 },
        { t: 'b' },
        { t: 'c' },
        { kept: 5 },
        { kept: 6 },
      ])
      await answered(await actor.request('GET', '/properties/settings'), 200, { theme: { kept: 3 }, deep: { a: 1 } })
      const metadata = (await (await actor.request('GET', '/properties/notes/metadata')).json()) as Record<
        string,
        unknown
      >
      assert.deepEqual([metadata['description'], metadata['explanation']], ['changed', ''])
    })

    it('keeps the spelling of an unchanged value, with big numbers and key order (R-PROP-11)', async () => {
      const actor = await scripted()
      script.hooks = same
      const text = '{"2":12345678901234567890,"1":1.0}'
      await done(await actor.request('PUT', '/properties/a', text))
      assert.equal(await (await actor.request('GET', '/properties/a')).text(), text)
    })

    it('removes the property when a put hook returns an empty string (R-PROP-11, CHOICE-09)', async () => {
      const actor = await scripted()
      script.hooks = () => ''
      await done(await actor.request('PUT', '/properties/text', 'x'))
      script.hooks = null
      assert.equal((await actor.request('GET', '/properties/text')).status, 404)
    })

    it('may be the received value, modified in place (R-PROP-11)', async () => {
      const actor = await scripted()
      script.hooks = ({ value }) => {
        if (typeof value === 'object' && value !== null) Object.assign(value, { extra: 1 })
        return value
      }
      await answered(await actor.request('GET', '/properties/settings/deep'), 200, { a: 1, extra: 1 })
      script.hooks = null
      await answered(await actor.request('GET', '/properties/settings/deep'), 200, { a: 1 })
    })

    it('fails the request when it is not a JSON value (R-PROP-13)', async () => {
      const actor = await scripted()
      // A JavaScript program without types may return this.
      script.hooks = () => Number.NaN
      await changesNothing(service, async () =>
        refused(await actor.request('PUT', '/properties/text', 'x'), 500, 'server_error', 'The service failed'),
      )
      await refused(await actor.request('GET', '/properties/text'), 500, 'server_error', 'The service failed')
    })
  })

  describe('the order of hooks', () => {
    const tracing =
      (name: string, seen: string[], result: (value: Json) => Json = (value) => value): PropertyHook =>
      ({ value }) => {
        seen.push(name)
        return result(value)
      }

    it('has exact names before *, each in order of declaration, and chains their results (R-PROP-12)', async () => {
      const seen: string[] = []
      const add =
        (letter: string) =>
        (value: Json): Json =>
          typeof value === 'string' ? value + letter : value
      const service = await start({
        declare: (app: App) =>
          app
            .property('*', tracing('any 1', seen, add('y')))
            .property('a', tracing('exact 1', seen, add('1')))
            .property('b', tracing('other', seen))
            .property('*', tracing('any 2', seen, add('z')))
            .property('a', tracing('exact 2', seen, add('2'))),
      })
      const actor = await service.createActor()
      await done(await actor.request('PUT', '/properties/a', 'v'))
      assert.deepEqual(seen, ['exact 1', 'exact 2', 'any 1', 'any 2'])
      seen.length = 0
      assert.equal(await (await actor.request('GET', '/properties/a')).text(), 'v12yz12yz')
      assert.deepEqual(seen, ['exact 1', 'exact 2', 'any 1', 'any 2'])
    })

    it('stops at the first hook that returns null (R-PROP-12)', async () => {
      const seen: string[] = []
      const service = await start({
        declare: (app: App) =>
          app.property('*', tracing('any', seen)).property(
            'a',
            tracing('exact', seen, () => null),
          ),
      })
      const actor = await service.createActor()
      await refused(await actor.request('PUT', '/properties/a', 'v'), 400, 'rejected', /./)
      assert.deepEqual(seen, ['exact'])
    })

    it('includes only hooks of the requested operation (R-PROP-12)', async () => {
      const seen: string[] = []
      const of = (operation: string): PropertyHook => tracing(operation, seen)
      const hooks: PropertyHooks = { get: of('get'), put: of('put'), post: of('post'), delete: of('delete') }
      const service = await start({ declare: (app: App) => app.property('a', hooks) })
      const actor = await service.createActor()
      await done(await actor.request('PUT', '/properties/a', '1'))
      await actor.request('POST', '/properties/a', '1')
      await actor.request('GET', '/properties/a')
      await done(await actor.request('DELETE', '/properties/a'))
      assert.deepEqual(seen, ['put', 'post', 'get', 'delete'])
    })

    it('has only the general hooks for a property named * (R-PROP-12)', async () => {
      const seen: string[] = []
      const service = await start({ declare: (app: App) => app.property('*', tracing('any', seen)) })
      const actor = await service.createActor()
      await done(await actor.request('PUT', '/properties/*', '1'))
      assert.deepEqual(seen, ['any'])
    })
  })

  describe('an actor handle', () => {
    it('inside a hook reads and writes without calling hooks (R-PROP-14)', async () => {
      const seen: string[] = []
      const hook = async ({ actor, operation, path, value }: PropertyAccess): Promise<Json> => {
        seen.push(`${operation} ${path.join('/')}`)
        await actor.set('log', `${operation} ${path.join('/')}`)
        await actor.list('trail').append(path.join('/'))
        return [value, (await actor.get('log')) ?? null]
      }
      const service = await start({ declare: (app) => app.property('*', { put: hook, delete: hook }) })
      const actor = await service.createActor()
      await done(await actor.request('PUT', '/properties/a', '1'))
      assert.deepEqual(seen, ['put a'])
      await done(await actor.request('DELETE', '/properties/a'))
      assert.deepEqual(seen, ['put a', 'delete a'])
      const stored = service.changes.map(({ subtarget, blob, by }) => [subtarget, blob.slice(0, 30), by.kind])
      assert.deepEqual(stored.slice(0, 3), [
        ['log', '"put a"', 'application'],
        ['trail', '{"list":"trail","operation":"a', 'application'],
        ['a', '[1,"put a"]', 'creator'],
      ])
    })

    it('inside a method calls hooks (R-PROP-14)', async () => {
      const seen: string[] = []
      const service = await start({
        declare: (app) =>
          app
            .property('a', ({ operation, caller, value }) => {
              seen.push(`${operation} by ${caller.kind}`)
              return value
            })
            .method('work', async ({ actor }) => {
              await actor.set('a', 1)
              return await actor.get('a')
            }),
      })
      const actor = await service.createActor()
      await answered(await actor.request('POST', '/methods/work', {}), 200, 1)
      assert.deepEqual(seen, ['put by application', 'get by application'])
    })
  })
})
