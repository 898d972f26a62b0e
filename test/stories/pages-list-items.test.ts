import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { cookiesOf, OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** The values that the template received, latest first. */
  readonly pages: PageValues<'property'>[]
}

forEachService((start) => {
  async function withItems(items: readonly unknown[], options: StartOptions = {}): Promise<World> {
    const pages: PageValues<'property'>[] = []
    const service = await start({ pages: { property: (values) => (pages.unshift(values), html`page`) }, ...options })
    const actor = await service.createActor()
    await actor.request('POST', '/properties', { notes: { _type: 'list' } })
    const browser = await OwnersBrowser.open(service, actor)
    if (items.length > 0) {
      const sent = { action: 'add_several', items: JSON.stringify(items), value_type: 'json' }
      assert.equal((await browser.send('/properties/notes/items', sent)).status, 302)
    }
    return { service, actor, browser, pages }
  }

  async function look({ browser, pages }: World, query = ''): Promise<PageValues<'property'>> {
    await browser.get(`/properties/notes${query}`)
    const [values] = pages
    assert.ok(values)
    return values
  }

  async function stored({ actor }: World): Promise<unknown> {
    return (await actor.request('GET', '/properties/notes')).json()
  }

  const forms = ({ items }: PageValues<'property'>): unknown[] =>
    items.flatMap(({ index, form, editable }) => (form === null ? [] : [[index, form, editable]]))

  const handleAt = async (world: World, index: number, query = ''): Promise<string> => {
    const found = (await look(world, query)).items.find((item) => item.index === index)
    assert.ok(found)
    return found.handle
  }

  describe('the forms of the items of a list', () => {
    it('are closed until the address names an item (R-PAGE-09)', async () => {
      const world = await withItems(['a', 'b', 'c'])
      const closed = await look(world)
      assert.deepEqual(forms(closed), [])
      const handle = closed.items[1]?.handle ?? ''
      assert.deepEqual(forms(await look(world, `?edit=${handle}`)), [[1, 'edit', { text: 'b', type: 'text' }]])
      assert.deepEqual(forms(await look(world, `?remove=${handle}`)), [[1, 'remove', null]])
    })

    it('follow the item when others moved it or changed it meanwhile (R-PAGE-09)', async () => {
      const world = await withItems(Array.from({ length: 60 }, (_, n) => ({ n })))
      const handle = await handleAt(world, 50, '?page=2')
      await world.actor.request('PUT', '/properties/notes/50', { n: 'fifty' })
      await world.actor.request('DELETE', '/properties/notes/0')
      const values = await look(world, `?page=2&edit=${handle}`)
      assert.equal(values.paging.page, 1)
      assert.deepEqual(forms(values), [[49, 'edit', { text: '{\n  "n": "fifty"\n}', type: 'json' }]])
    })

    it('say that the item no longer exists, with the list (R-PAGE-09)', async () => {
      const world = await withItems(['a', 'b'])
      const handle = await handleAt(world, 1)
      await world.actor.request('DELETE', '/properties/notes/1')
      for (const query of [`?edit=${handle}`, `?remove=${handle}`, '?edit=x']) {
        const answer = await world.browser.get(`/properties/notes${query}`)
        assert.equal(answer.status, 404, query)
        const [values] = world.pages
        assert.equal(values?.error, 'This item no longer exists.')
        assert.deepEqual(values?.list_items, ['a'])
        assert.deepEqual(forms(values), [])
      }
      await world.actor.request('PUT', '/properties/color', 'blue')
      assert.equal((await world.browser.get('/properties/color?edit=x')).status, 200)
    })

    it('show the page of the item again after a refusal (R-PAGE-02)', async () => {
      const world = await withItems(Array.from({ length: 60 }, (_, n) => ({ n })))
      const handle = await handleAt(world, 55, '?page=2')
      const sent = { action: 'update', item_handle: handle, item_value: '{', value_type: 'json' }
      assert.equal((await world.browser.send('/properties/notes/items', sent)).status, 400)
      assert.deepEqual(
        [
          world.pages[0]?.paging.page,
          world.pages[0]?.items.filter(({ form }) => form === 'edit').map((item) => item.index),
        ],
        [2, [55]],
      )
    })
  })

  describe('moving an item of a list', () => {
    const moves: readonly (readonly [from: number, fields: Record<string, string>, order: readonly string[]])[] = [
      [0, { position: '3' }, ['b', 'c', 'a', 'd']],
      [3, { position: '1' }, ['d', 'a', 'b', 'c']],
      [1, { position: '2' }, ['a', 'b', 'c', 'd']],
      [0, { position: ' 4 ' }, ['b', 'c', 'd', 'a']],
      [2, { position: '3', to: '2' }, ['a', 'c', 'b', 'd']],
      [2, { position: '3', to: '4' }, ['a', 'b', 'd', 'c']],
    ]
    for (const [from, fields, order] of moves)
      it(`puts item ${from + 1} at ${JSON.stringify(fields)}, and shows it there (R-PAGE-09)`, async () => {
        const world = await withItems(['a', 'b', 'c', 'd'])
        const handle = await handleAt(world, from)
        const answer = await world.browser.send('/properties/notes/items', {
          action: 'move',
          item_handle: handle,
          ...fields,
        })
        assert.equal(answer.status, 302)
        assert.deepEqual(cookiesOf(answer), [
          'troupe-notice=moved.<request>; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
        ])
        assert.deepEqual(await stored(world), order)
        const { search, hash } = new URL(answer.headers.get('location') ?? '')
        const to = Number(fields['to'] ?? fields['position']) - 1
        assert.equal(hash, `#item-${to}`)
        const item = ['a', 'b', 'c', 'd'][from]
        assert.deepEqual(forms(await look(world, search)), [[to, 'edit', { text: item, type: 'text' }]])
      })

    it('sends a removal and an insertion to subscribers, in this order (R-LIST-06)', async () => {
      const world = await withItems(['a', 'b', 'c'])
      const handle = await handleAt(world, 0)
      world.service.changes.length = 0
      await world.browser.send('/properties/notes/items', { action: 'move', item_handle: handle, position: '2' })
      assert.deepEqual(
        world.service.changes.map(({ blob }) => blob),
        [
          '{"list":"notes","operation":"remove","length":2,"index":0,"item":"a","action":"remove"}',
          '{"list":"notes","operation":"insert","length":3,"index":1,"item":"a","action":"insert","value":"a"}',
        ],
      )
    })

    it('moves an item that was changed meanwhile as it is now (R-PAGE-09)', async () => {
      const world = await withItems(['a', 'b', 'c'])
      const handle = await handleAt(world, 0)
      await world.actor.request('PUT', '/properties/notes/0', '"new"')
      const sent = { action: 'move', item_handle: handle, position: '3' }
      assert.equal((await world.browser.send('/properties/notes/items', sent)).status, 302)
      assert.deepEqual(await stored(world), ['b', 'c', 'new'])
    })

    it('moves nothing to a position outside the list, or when the item is gone (R-PAGE-09)', async () => {
      const world = await withItems(['a', 'b', 'c'])
      const handle = await handleAt(world, 0)
      const refused: readonly (readonly [fields: Record<string, string>, status: number, message: string])[] = [
        [{ item_handle: handle }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: '0' }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: '4' }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: '-1' }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: '1.5' }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: 'x' }, 400, 'Enter a position in the list.'],
        [{ item_handle: handle, position: '9999999999' }, 400, 'Enter a position in the list.'],
      ]
      for (const [fields, status, message] of refused) {
        const answer = await world.browser.send('/properties/notes/items', { action: 'move', ...fields })
        assert.equal(answer.status, status, JSON.stringify(fields))
        const [values] = world.pages
        assert.deepEqual([values?.error, values?.error_field], [message, 'position'])
        assert.equal(values?.typed?.position, fields['position'] ?? '')
        assert.deepEqual(values === undefined ? [] : forms(values), [[0, 'edit', { text: 'a', type: 'text' }]])
        assert.deepEqual(await stored(world), ['a', 'b', 'c'])
      }
      await world.actor.request('DELETE', '/properties/notes/0')
      const gone = await world.browser.send('/properties/notes/items', {
        action: 'move',
        item_handle: handle,
        position: '2',
      })
      assert.equal(gone.status, 409)
      assert.equal(world.pages[0]?.error, 'This item changed while you were editing. Review the current version below.')
      assert.deepEqual(await stored(world), ['b', 'c'])
      const missing = await world.browser.send('/properties/absent/items', { action: 'move', position: '1' })
      assert.equal(missing.status, 404)
    })

    it('asks the hooks of the application for the removal and the insertion', async () => {
      const calls: unknown[] = []
      const world = await withItems(['a', 'b', 'kept'], {
        declare: (app) =>
          app.property('notes', {
            delete: ({ path, value }) => {
              calls.push(['delete', path, value])
              return value === 'kept' ? null : value
            },
            post: ({ path, value }) => {
              if (path.length > 1) calls.push(['post', path, value])
              return value === 'b' && path.length > 1 ? null : value
            },
          }),
      })
      const move = async (index: number): Promise<number> => {
        const sent = { action: 'move', item_handle: await handleAt(world, index), position: '2' }
        return (await world.browser.send('/properties/notes/items', sent)).status
      }
      assert.deepEqual([await move(2), await move(1)], [403, 403])
      assert.deepEqual(await stored(world), ['a', 'b', 'kept'])
      calls.length = 0
      assert.equal(await move(0), 302)
      assert.deepEqual(calls, [
        ['delete', ['notes', '0'], 'a'],
        ['post', ['notes', '1'], 'a'],
      ])
      assert.deepEqual(await stored(world), ['b', 'a', 'kept'])
    })
  })

  describe('the columns of a list', () => {
    const lists: readonly (readonly [items: readonly object[], columns: readonly string[] | null])[] = [
      [[{ name: 'Ada' }], ['name']],
      [
        [{ name: 'Ada', born: 1815 }, { name: 'Grace' }],
        ['name', 'born'],
      ],
      [
        [{ name: 'Ada' }, { name: 'Grace', born: 1906 }, { born: 1912 }],
        ['name', 'born'],
      ],
      [[{ a: 1, b: 2, c: 3 }, { a: 1 }], null],
      [[{ a: 1 }, { b: 1 }, { c: 1 }], null],
      [[{ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }], ['a', 'b', 'c', 'd', 'e', 'f']],
      [[{ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1 }], null],
    ]
    for (const [items, columns] of lists)
      it(`of ${JSON.stringify(items)} are ${JSON.stringify(columns)} (R-PAGE-10)`, async () => {
        const world = await withItems([])
        for (const item of items) await world.actor.request('POST', '/properties/notes', JSON.stringify(item))
        assert.deepEqual((await look(world)).columns, columns)
      })

    it('are absent when an item is not an object, or without items (R-PAGE-10)', async () => {
      assert.equal((await look(await withItems(['a', 'b']))).columns, null)
      assert.equal((await look(await withItems([]))).columns, null)
    })
  })
})
