import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** The values that the pages received, latest first. */
  readonly listings: PageValues<'properties'>[]
  readonly properties: PageValues<'property'>[]
  readonly peers: PageValues<'trustPeer'>[]
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const [listings, properties, peers]: [
      PageValues<'properties'>[],
      PageValues<'property'>[],
      PageValues<'trustPeer'>[],
    ] = [[], [], []]
    const service = await start({
      pages: {
        properties: (values) => (listings.unshift(values), html`listing`),
        property: (values) => (properties.unshift(values), html`property`),
        trustPeer: (values) => (peers.unshift(values), html`peer`),
      },
      ...options,
    })
    const actor = await service.createActor()
    return { service, actor, browser: await OwnersBrowser.open(service, actor), listings, properties, peers }
  }

  async function stored({ actor }: World, path: string): Promise<unknown> {
    const answer = await actor.request('GET', `/properties/${path}`, undefined, { accept: 'application/json' })
    return answer.status === 404 ? null : answer.json()
  }

  /** Opens the page of the property, which a user does before editing. */
  async function edited({ browser, properties }: World, name: string): Promise<PageValues<'property'>> {
    assert.equal((await browser.get(`/properties/${name}`)).status, 200)
    const [values] = properties
    assert.ok(values)
    return values
  }

  async function list(world: World, items: readonly string[]): Promise<void> {
    await world.actor.request('POST', '/properties', { notes: { _type: 'list' } })
    for (const item of items) await world.actor.request('POST', '/properties/notes', JSON.stringify(item))
  }

  describe('the form of a value', () => {
    for (const [what, name, before, during, path] of [
      ['a string', 'color', 'blue', 'green', 'color'],
      ['a number', 'age', 36, 37, 'age'],
      ['a member of an object', 'settings', { theme: 'dark', size: 1 }, 'light', 'settings/theme'],
      ['the type of a value', 'age', 36, '36', 'age'],
    ] as const) {
      it(`does not overwrite ${what} that changed meanwhile, and shows the stored value beside the typed one`, async () => {
        const world = await open()
        const { actor, browser, properties } = world
        await actor.request('POST', '/properties', { [name]: before })
        const { version } = await edited(world, name)
        assert.equal((await actor.request('PUT', `/properties/${path}`, JSON.stringify(during))).status, 204)
        const now = await stored(world, name)
        world.service.changes.length = 0
        const typed = { value: ' my  text ', value_type: 'text' }
        const answer = await browser.send(`/properties/${name}`, { ...typed, version })
        assert.equal(answer.status, 409)
        assert.deepEqual(await stored(world, name), now)
        assert.deepEqual(world.service.changes, [])
        const [page] = properties
        assert.equal(page?.error, `“${name}” changed while you were editing. Nothing was saved.`)
        assert.equal(page?.typed?.value, ' my  text ')
        assert.deepEqual(page?.raw_value, now)
        assert.deepEqual(
          [page?.conflict?.about, page?.conflict?.is_gone, page?.conflict?.can_save],
          ['value', false, true],
        )
        const again = await browser.send(`/properties/${name}`, { ...typed, version: page?.version ?? '' })
        assert.equal(again.status, 302)
        assert.equal(await stored(world, name), ' my  text ')
      })
    }

    it('overwrites a value that was changed and changed back', async () => {
      const world = await open()
      const { actor, browser } = world
      await actor.request('PUT', '/properties/color', 'blue')
      const { version } = await edited(world, 'color')
      await actor.request('PUT', '/properties/color', 'red')
      await actor.request('PUT', '/properties/color', 'blue')
      assert.equal((await browser.send('/properties/color', { value: 'green', version })).status, 302)
    })

    it('saves without a version, as forms of custom templates do', async () => {
      const world = await open()
      await world.actor.request('PUT', '/properties/color', 'blue')
      assert.equal((await world.browser.send('/properties/color', { value: 'green' })).status, 302)
      assert.equal(await stored(world, 'color'), 'green')
    })

    it('keeps the typed value when the property was deleted, and creates the property again on request', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      await actor.request('PUT', '/properties/color', 'blue')
      const { version } = await edited(world, 'color')
      await actor.request('DELETE', '/properties/color')
      assert.equal((await browser.send('/properties/color', { value: 'green', version })).status, 409)
      const [page] = properties
      assert.equal(page?.error, '“color” was deleted while you were editing. Nothing was saved.')
      assert.deepEqual([page?.qual, page?.typed?.value, page?.conflict?.is_gone], ['n', 'green', true])
      assert.equal(await stored(world, 'color'), null)
      assert.equal(
        (await browser.send('/properties/color', { value: 'green', version: page?.version ?? '' })).status,
        302,
      )
      assert.equal(await stored(world, 'color'), 'green')
    })

    it('keeps the typed value when a list took the name', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      await actor.request('PUT', '/properties/notes', 'blue')
      const { version } = await edited(world, 'notes')
      await actor.request('DELETE', '/properties/notes')
      await list(world, ['Milk'])
      assert.equal((await browser.send('/properties/notes', { value: 'green', version })).status, 409)
      assert.deepEqual([properties[0]?.typed?.value, properties[0]?.conflict?.can_save], ['green', false])
      assert.deepEqual(await stored(world, 'notes'), ['Milk'])
    })

    it('reveals nothing about a value that a hook hides, because its version is not a plain hash', async () => {
      const world = await open({ declare: (app) => app.property('pin', { get: () => 'hidden' }) })
      const handle = await world.service.app.actors.get(world.actor.id)
      await handle?.set('pin', '1234')
      const first = await edited(world, 'pin')
      const other = await world.service.createActor('other@example.com')
      await (await world.service.app.actors.get(other.id))?.set('pin', '1234')
      const browser = await OwnersBrowser.open(world.service, other)
      await browser.get('/properties/pin')
      assert.notEqual(world.properties[0]?.version, first.version)
      assert.match(first.version, /^[\w-]{22}$/)
    })

    it('accepts exactly one of many concurrent forms with the same version, also across two processes', async () => {
      const world = await open()
      const { service, actor } = world
      await actor.request('PUT', '/properties/color', 'blue')
      const { version } = await edited(world, 'color')
      const second = await start({ database: service.databaseUrl })
      const other = await OwnersBrowser.open(second, actor)
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          (n % 2 === 0 ? world.browser : other).send('/properties/color', { value: `number ${n}`, version }),
        ),
      )
      const statuses = answers.map(({ status }) => status)
      assert.equal(statuses.filter((status) => status === 302).length, 1)
      assert.equal(statuses.filter((status) => status === 409).length, 11)
      assert.equal(await stored(world, 'color'), `number ${statuses.indexOf(302)}`)
    })
  })

  describe('the form for a new property', () => {
    it('shows the value that is stored under the name beside the typed one, and overwrites it on request', async () => {
      const world = await open()
      const { actor, browser, listings } = world
      await actor.request('PUT', '/properties/color', 'blue')
      const typed = { property_name: 'color', property_value: 'green', property_type: 'simple', create_only: '1' }
      assert.equal((await browser.send('/properties', typed)).status, 409)
      const [page] = listings
      assert.deepEqual(
        [page?.error_field, page?.typed?.property_value, page?.existing?.name, page?.existing?.kind],
        ['property_name', 'green', 'color', 'Text'],
      )
      assert.equal(await stored(world, 'color'), 'blue')
      const over = await browser.send('/properties/color', { value: 'green', version: page?.existing?.version ?? '' })
      assert.equal(over.status, 302)
      assert.equal(await stored(world, 'color'), 'green')
    })

    it('creates a property once when many forms create it concurrently', async () => {
      const world = await open()
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          world.browser.send('/properties', {
            property_name: 'color',
            property_value: `number ${n}`,
            create_only: '1',
          }),
        ),
      )
      const statuses = answers.map(({ status }) => status)
      assert.equal(statuses.filter((status) => status === 302).length, 1)
      assert.equal(statuses.filter((status) => status === 409).length, 7)
      assert.equal(await stored(world, 'color'), `number ${statuses.indexOf(302)}`)
    })
  })

  describe('the forms of a list', () => {
    it('update an item that moved because another item was deleted or inserted before it', async () => {
      for (const moving of ['delete', 'insert'] as const) {
        const world = await open()
        await list(world, ['Milk', 'Bread', 'Salt'])
        const bread = (await edited(world, 'notes')).items[1]
        const handle = await world.service.app.actors.get(world.actor.id)
        if (moving === 'delete') await handle?.list('notes').delete(0)
        else await handle?.list('notes').insert(0, 'Tea')
        const sent = { action: 'update', item_handle: bread?.handle ?? '', item_index: '1', item_value: 'Rolls' }
        assert.equal((await world.browser.send('/properties/notes/items', sent)).status, 302)
        const expected = moving === 'delete' ? ['Rolls', 'Salt'] : ['Tea', 'Milk', 'Rolls', 'Salt']
        assert.deepEqual(await stored(world, 'notes'), expected)
      }
    })

    it('show an item that changed and moved at its new position beside the typed value, and overwrite it on request', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      await list(world, ['Milk', 'Bread', 'Salt'])
      const bread = (await edited(world, 'notes')).items[1]
      await actor.request('PUT', '/properties/notes?index=1', JSON.stringify('Baguette'))
      const handle = await world.service.app.actors.get(actor.id)
      await handle?.list('notes').delete(0)
      const sent = { action: 'update', item_handle: bread?.handle ?? '', item_index: '1', item_value: 'Rolls' }
      assert.equal((await browser.send('/properties/notes/items', sent)).status, 409)
      const { conflict, typed } = properties[0] ?? {}
      assert.equal(typed?.value, 'Rolls')
      assert.deepEqual([conflict?.about, conflict?.is_gone, conflict?.index], ['item', false, 0])
      assert.deepEqual(conflict?.tree, { kind: 'text', text: 'Baguette' })
      assert.deepEqual(await stored(world, 'notes'), ['Baguette', 'Salt'])
      assert.equal(
        (await browser.send('/properties/notes/items', { ...sent, item_handle: conflict?.handle ?? '' })).status,
        302,
      )
      assert.deepEqual(await stored(world, 'notes'), ['Rolls', 'Salt'])
    })

    it('keep the typed value for an item that was deleted, and change no other item', async () => {
      const world = await open()
      const { browser, properties } = world
      await list(world, ['Milk', 'Bread', 'Salt'])
      const bread = (await edited(world, 'notes')).items[1]
      const handle = await world.service.app.actors.get(world.actor.id)
      await handle?.list('notes').delete(1)
      const sent = { action: 'update', item_handle: bread?.handle ?? '', item_index: '1', item_value: 'Rolls' }
      assert.equal((await browser.send('/properties/notes/items', sent)).status, 409)
      assert.deepEqual(await stored(world, 'notes'), ['Milk', 'Salt'])
      const [page] = properties
      assert.deepEqual([page?.typed?.value, page?.conflict?.is_gone, page?.conflict?.can_save], ['Rolls', true, true])
    })

    it('keep the typed value when the list was deleted, for a new item, a changed item and the description', async () => {
      for (const [path, fields] of [
        ['/items', { action: 'add', item_value: 'Rolls' }],
        ['/items', { action: 'add_several', items: 'Rolls' }],
        ['/items', { action: 'update', item_value: 'Rolls' }],
        ['/metadata', { description: 'Rolls', explanation: 'Of bread' }],
      ] as const) {
        const world = await open()
        await list(world, ['Milk'])
        const { version, items } = await edited(world, 'notes')
        await world.actor.request('DELETE', '/properties/notes')
        const sent = { ...fields, version, item_handle: items[0]?.handle ?? '' }
        assert.equal((await world.browser.send(`/properties/notes${path}`, sent)).status, 409)
        const [page] = world.properties
        assert.equal(path === '/items' ? page?.typed?.value : page?.typed?.description, 'Rolls')
        assert.equal(page?.qual, 'n')
        assert.equal(await stored(world, 'notes'), null)
      }
    })

    it('do not delete a changed item before the user has seen its new value', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      await list(world, ['Milk', 'Bread'])
      const bread = (await edited(world, 'notes')).items[1]
      await actor.request('PUT', '/properties/notes?index=1', JSON.stringify('Baguette'))
      const sent = { action: 'delete', item_handle: bread?.handle ?? '', item_index: '1' }
      assert.equal((await browser.send('/properties/notes/items', sent)).status, 409)
      assert.deepEqual(await stored(world, 'notes'), ['Milk', 'Baguette'])
      const handle = properties[0]?.conflict?.handle ?? ''
      assert.equal((await browser.send('/properties/notes/items', { ...sent, item_handle: handle })).status, 302)
      assert.deepEqual(await stored(world, 'notes'), ['Milk'])
    })

    it('do not overwrite a changed description, but ignore changes of items', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      await list(world, ['Milk'])
      const { texts_version: version } = await edited(world, 'notes')
      await actor.request('POST', '/properties/notes', JSON.stringify('Bread'))
      const first = await browser.send('/properties/notes/metadata', { description: 'Shopping', version })
      assert.equal(first.status, 302)
      const second = await browser.send('/properties/notes/metadata', {
        description: 'Mine',
        explanation: 'x',
        version,
      })
      assert.equal(second.status, 409)
      const [page] = properties
      assert.deepEqual(
        [page?.conflict?.about, page?.list_description, page?.typed?.description, page?.typed?.explanation],
        ['texts', 'Shopping', 'Mine', 'x'],
      )
      const third = { description: 'Mine', version: page?.texts_version ?? '' }
      assert.equal((await browser.send('/properties/notes/metadata', third)).status, 302)
    })
  })

  describe('the form that deletes a property', () => {
    for (const [what, prepare, change] of [
      ['a value that changed', { thing: 'a' }, ['PUT', '/properties/thing', '"b"']],
      ['a list that got an item', { thing: { _type: 'list' } }, ['POST', '/properties/thing', '"b"']],
    ] as const) {
      it(`does not delete ${what} after the page was made, and shows the stored value`, async () => {
        const world = await open()
        const { actor, browser, properties } = world
        await actor.request('POST', '/properties', prepare)
        const { version } = await edited(world, 'thing')
        const [method, path, body] = change
        await actor.request(method, path, body)
        const now = await stored(world, 'thing')
        const sent = { _method: 'DELETE', version }
        assert.equal((await browser.send('/properties/thing', sent)).status, 409)
        assert.deepEqual(await stored(world, 'thing'), now)
        const [page] = properties
        assert.deepEqual([page?.conflict?.about, page?.conflict?.can_save], ['deletion', true])
        assert.equal((await browser.send('/properties/thing', { ...sent, version: page?.version ?? '' })).status, 302)
        assert.equal(await stored(world, 'thing'), null)
      })
    }

    it('detects every change of a list, also two within one millisecond', async () => {
      const world = await open({ now: () => 1_700_000_000_000 })
      await list(world, ['Milk'])
      const seen = new Set([(await edited(world, 'notes')).version])
      const handle = await world.service.app.actors.get(world.actor.id)
      for (const item of ['a', 'b', 'a']) {
        await handle?.list('notes').update(0, item)
        seen.add((await edited(world, 'notes')).version)
      }
      assert.equal(seen.size, 4)
    })
  })

  describe('the forms of a connection', () => {
    async function connected(): Promise<World & { peer: TestActor; path: string; api: string }> {
      const world = await open({ listen: true, peerProfileAttributes: [] })
      const peer = await world.service.createActor('peer@example.com')
      await relate(peer, [world.service, world.actor])
      await world.browser.get(`/trust/${peer.id}`)
      return { ...world, peer, path: `/trust/${peer.id}`, api: `/trust/friend/${peer.id}` }
    }

    async function overrideOf({ actor }: World, api: string): Promise<unknown> {
      return ((await (await actor.request('GET', `${api}/permissions`)).json()) as { properties: unknown }).properties
    }

    it('do not overwrite rights that changed meanwhile, and preview the effect of saving', async () => {
      const world = await connected()
      const { actor, browser, peers, path, api } = world
      const version = peers[0]?.rights_version ?? ''
      await actor.request('PUT', `${api}/permissions`, { properties: { excluded_patterns: ['diary'] } })
      const now = await overrideOf(world, api)
      for (const step of ['preview', 'save']) {
        const sent = { step, version, 'properties.excluded_patterns': 'color', 'properties.operations.read': '1' }
        assert.equal((await browser.send(`${path}/permissions`, sent)).status, 409)
        assert.deepEqual(await overrideOf(world, api), now)
        const [page] = peers
        assert.equal(page?.error, 'This access changed while you were editing. Nothing was saved.')
        assert.equal(
          page?.fieldsets.find(({ category }) => category === 'properties')?.fields.excluded_patterns,
          'color',
        )
        assert.notEqual(page?.preview, null)
      }
      const fields = { ...peers[0]?.preview?.fields, step: 'save', version: peers[0]?.rights_version ?? '' }
      assert.equal((await browser.send(`${path}/permissions`, fields)).status, 302)
      assert.notDeepEqual(await overrideOf(world, api), now)
    })

    it('do not reset rights that were chosen meanwhile', async () => {
      const world = await connected()
      const { actor, browser, peers, path, api } = world
      await actor.request('PUT', `${api}/permissions`, { properties: { excluded_patterns: ['color'] } })
      await browser.get(path)
      const version = peers[0]?.rights_version ?? ''
      await actor.request('PUT', `${api}/permissions`, { properties: { excluded_patterns: ['diary'] } })
      const now = await overrideOf(world, api)
      assert.equal((await browser.send(`${path}/permissions`, { step: 'reset', version })).status, 409)
      assert.deepEqual(await overrideOf(world, api), now)
      const sent = { step: 'reset', version: peers[0]?.rights_version ?? '' }
      assert.equal((await browser.send(`${path}/permissions`, sent)).status, 302)
    })

    for (const action of ['withdraw', 'end']) {
      it(`do not ${action} a connection that changed meanwhile`, async () => {
        const world = await connected()
        const { actor, browser, peers, path, api } = world
        const { version } = peers[0] ?? {}
        await actor.request('PUT', api, { desc: 'A colleague' })
        assert.equal((await browser.send(path, { action, version: version ?? '' })).status, 409)
        assert.equal(peers[0]?.trust.approved, true)
        assert.equal((await browser.send(path, { action, version: peers[0]?.version ?? '' })).status, 302)
      })
    }
  })
})
