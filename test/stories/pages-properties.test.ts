/* cspell:ignore GRÜSSE ypdlv */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, cookiesOf, OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** The values that the templates received, latest first. */
  readonly listings: PageValues<'properties'>[]
  readonly properties: PageValues<'property'>[]
}

const json = { accept: 'application/json' }

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const listings: PageValues<'properties'>[] = []
    const properties: PageValues<'property'>[] = []
    const service = await start({
      pages: {
        properties: (values) => (listings.unshift(values), html`listing`),
        property: (values) => (properties.unshift(values), html`property`),
      },
      ...options,
    })
    const actor = await service.createActor()
    return { service, actor, browser: await OwnersBrowser.open(service, actor), listings, properties }
  }

  /** The stored value of the name as a program reads it, or null when it does not exist. */
  async function stored({ actor }: World, name: string): Promise<unknown> {
    const answer = await actor.request('GET', `/properties/${encodeURIComponent(name)}`, undefined, json)
    if (answer.status === 404) return null
    assert.equal(answer.status, 200)
    return answer.json()
  }

  async function assertRefused(
    world: World,
    sending: Promise<Response>,
    status: number,
    message: RegExp,
    shown: 'listing' | 'property' | null = null,
  ): Promise<void> {
    const before = await (await world.actor.request('GET', '/properties?format=full')).text()
    world.service.changes.length = 0
    const answer = await sending
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    const page = await answer.text()
    if (shown === null) assert.match(page, message)
    else {
      assert.equal(page, shown)
      const values = shown === 'listing' ? world.listings[0] : world.properties[0]
      assert.match(values?.error ?? '', message)
    }
    assert.deepEqual(world.service.changes, [])
    assert.equal(await (await world.actor.request('GET', '/properties?format=full')).text(), before)
  }

  describe('the page of all properties', () => {
    it('receives every property by name, the lengths of lists, and the values that every page shares (R-PAGE-04, R-WEB-02)', async () => {
      const world = await open({ baseUrl: 'http://troupe.test/under' })
      const { actor, browser, listings } = world
      await actor.request('POST', '/properties', {
        color: 'blue',
        age: 36,
        settings: { theme: 'dark', more: [1, 2] },
        on: true,
        notes: { _type: 'list' },
      })
      await actor.request('POST', '/properties/notes', '"first"')
      assert.equal((await browser.get('/properties')).status, 200)
      const [values] = listings
      assert.ok(values)
      const { csrf_token, session, rows, ...others } = values
      assert.match(csrf_token, /^[\w-]{43}$/)
      assert.match(session ?? '', /^[\w-]{16,}$/)
      assert.deepEqual(others, {
        base_path: '/under',
        language: 'en',
        direction: 'ltr',
        theme: null,
        logo: '/assets/troupe.ypdlv_P5QkXG.svg',
        accent_sheet: null,
        can_sign_out: true,
        name: 'test',
        id: actor.id,
        creator: 'creator@example.com',
        url: `http://troupe.test/under/${actor.id}/www/properties`,
        actor_root: `/under/${actor.id}`,
        actor_www: `/under/${actor.id}/www`,
        notice: null,
        notice_undo: null,
        error: null,
        error_field: null,
        waiting_count: 0,
        approval_count: 0,
        password_count: 0,
        failing_count: 0,
        fresh_href: null,
        properties: {
          age: 36,
          color: 'blue',
          notes: '[List · 1 item]',
          on: true,
          settings: { theme: 'dark', more: [1, 2] },
        },
        read_only_properties: [],
        list_properties: ['notes'],
        paging: { page: 1, pages: 1, total: 5 },
        property_count: 5,
        address: `/under/${actor.id}/www/properties`,
        search: '',
        types: [
          { name: 'All', count: 5, href: `/under/${actor.id}/www/properties`, is_current: true },
          { name: 'Text', count: 1, href: `/under/${actor.id}/www/properties?type=text`, is_current: false },
          { name: 'Number', count: 1, href: `/under/${actor.id}/www/properties?type=number`, is_current: false },
          { name: 'Boolean', count: 1, href: `/under/${actor.id}/www/properties?type=boolean`, is_current: false },
          { name: 'Object', count: 1, href: `/under/${actor.id}/www/properties?type=object`, is_current: false },
          { name: 'List', count: 1, href: `/under/${actor.id}/www/properties?type=list`, is_current: false },
        ],
        columns: [
          { name: 'name', order: 'ascending', href: `/under/${actor.id}/www/properties?order=descending` },
          { name: 'type', order: null, href: `/under/${actor.id}/www/properties?sort=type` },
        ],
        typed: null,
        unset: [],
        existing: null,
      })
      assert.deepEqual(
        rows.map(({ name, href, kind, preview }) => [name, href, kind, preview]),
        [
          ['age', `/under/${actor.id}/www/properties/age`, 'Number', '36'],
          ['color', `/under/${actor.id}/www/properties/color`, 'Text', 'blue'],
          ['notes', `/under/${actor.id}/www/properties/notes`, 'List · 1 item', ''],
          ['on', `/under/${actor.id}/www/properties/on`, 'Boolean', 'true'],
          [
            'settings',
            `/under/${actor.id}/www/properties/settings`,
            'Object · 2 fields',
            '{"theme":"dark","more":[1,2]}',
          ],
        ],
      )
    })

    it('omits properties that the application hides from the owner, and marks those that cannot be changed (R-PAGE-04)', async () => {
      const world = await open({
        declare: (app) => {
          app.property('secret', { get: () => null })
          app.property('secrets', { get: () => null })
          app.property('fixed', { put: () => null })
          app.property('broken', {
            put: () => {
              throw new Error('no idea')
            },
          })
        },
      })
      const { actor, browser, listings } = world
      const handle = await world.service.app.actors.get(actor.id)
      for (const name of ['secret', 'fixed', 'broken', 'open']) await handle?.set(name, 'x').catch(() => {})
      await actor.request('POST', '/properties', {
        secret: 'x',
        fixed: 'x',
        broken: 'x',
        open: 'x',
        secrets: { _type: 'list' },
      })
      await browser.get('/properties')
      assert.deepEqual(Object.keys(listings[0]?.properties ?? {}), ['broken', 'fixed', 'open'])
      assert.deepEqual(listings[0]?.read_only_properties, ['broken', 'fixed'])
      for (const hidden of ['secret', 'secrets', 'absent']) {
        const answer = await browser.get(`/properties/${hidden}`)
        assert.equal(answer.status, 404)
        assert.doesNotMatch(await answer.text(), /x<|List with/)
      }
      await browser.get('/properties/fixed')
      assert.equal(world.properties[0]?.is_read_only, true)
      await browser.get('/properties/open')
      assert.equal(world.properties[0]?.is_read_only, false)
    })

    it('splits many properties into pages (R-PAGE-04)', async () => {
      const world = await open()
      const { actor, browser, listings } = world
      const many = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`p${String(n).padStart(3, '0')}`, n]))
      await actor.request('POST', '/properties', many)
      const shown: [string, number, string | undefined, string | undefined][] = []
      for (const query of [
        '',
        '?page=1',
        '?page=2',
        '?page=3',
        '?page=99',
        '?page=0',
        '?page=-1',
        '?page=x',
        '?page=1e3',
      ]) {
        await browser.get(`/properties${query}`)
        const [values] = listings
        shown.push([query, values?.paging.page ?? 0, values?.rows[0]?.name, values?.rows.at(-1)?.name])
      }
      assert.deepEqual(shown, [
        ['', 1, 'p000', 'p099'],
        ['?page=1', 1, 'p000', 'p099'],
        ['?page=2', 2, 'p100', 'p199'],
        ['?page=3', 3, 'p200', 'p249'],
        ['?page=99', 3, 'p200', 'p249'],
        ['?page=0', 1, 'p000', 'p099'],
        ['?page=-1', 1, 'p000', 'p099'],
        ['?page=x', 1, 'p000', 'p099'],
        ['?page=1e3', 1, 'p000', 'p099'],
      ])
      assert.deepEqual(listings[0]?.paging, { page: 1, pages: 3, total: 250 })
    })

    it('finds properties by name and value, filters types, and sorts (R-PAGE-04)', async () => {
      const world = await open()
      const { actor, browser, listings } = world
      await actor.request('POST', '/properties', {
        p10: 'Grüße',
        p9: 36,
        p1: { greeting: 'none' },
        other: 'to the GRÜSSE of p9',
        notes: { _type: 'list' },
        long: `${'x'.repeat(300)} needle`,
      })
      const asked = async (query: string): Promise<readonly [names: string[], types: string[]]> => {
        assert.equal((await browser.get(`/properties${query}`)).status, 200)
        const { rows = [], types = [] } = listings[0] ?? {}
        return [
          rows.map(({ name }) => name),
          types.map(({ name, count, is_current: isCurrent }) => `${name} ${count}${isCurrent ? ' *' : ''}`),
        ]
      }
      const all = ['All 6 *', 'Text 3', 'Number 1', 'Object 1', 'List 1']
      assert.deepEqual(await asked(''), [['long', 'notes', 'other', 'p1', 'p9', 'p10'], all])
      assert.deepEqual(await asked('?q=P9'), [
        ['other', 'p9'],
        ['All 2 *', 'Text 1', 'Number 1'],
      ])
      assert.deepEqual(await asked('?q=gr%C3%BC%C3%9Fe'), [['p10'], ['All 1 *', 'Text 1']])
      assert.deepEqual(await asked('?q=%20greeting%20'), [['p1'], ['All 1 *', 'Object 1']])
      // Only the beginning of a value, which the row shows, is searched.
      assert.deepEqual(await asked('?q=needle'), [[], ['All 0 *']])
      assert.deepEqual(await asked('?type=list'), [['notes'], ['All 6', 'Text 3', 'Number 1', 'Object 1', 'List 1 *']])
      assert.deepEqual(await asked('?type=boolean'), [
        [],
        ['All 6', 'Text 3', 'Number 1', 'Boolean 0 *', 'Object 1', 'List 1'],
      ])
      assert.deepEqual(await asked('?sort=type'), [['long', 'other', 'p10', 'p9', 'p1', 'notes'], all])
      assert.deepEqual((await asked('?order=descending'))[0], ['p10', 'p9', 'p1', 'other', 'notes', 'long'])
      assert.deepEqual((await asked('?type=unknown&sort=unknown&order=up'))[0].length, 6)
      await browser.get('/properties?q=a%26b&type=text&sort=type&order=descending')
      const [values] = listings
      const at = `/${actor.id}/www/properties`
      assert.equal(values?.address, `${at}?q=a%26b&type=text&sort=type&order=descending`)
      assert.deepEqual(
        values?.columns.map(({ href }) => href),
        [`${at}?q=a%26b&type=text`, `${at}?q=a%26b&type=text&sort=type`],
      )
      assert.equal(values?.types[0]?.href, `${at}?q=a%26b&sort=type&order=descending`)
    })

    it('shows how many people and apps can view each property (R-PAGE-04)', async () => {
      const world = await open({ listen: true, host: 'localhost', pages: {} })
      const { service, actor, browser } = world
      const [grace, niklaus] = [
        await service.createActor('grace@example.com'),
        await service.createActor('niklaus@example.com'),
      ]
      await actor.request('POST', '/properties', { diary: 'x', color: 'blue', settings: { theme: 'dark', size: 1 } })
      const row = async (name: string): Promise<string> => {
        const text = await (await browser.get('/properties')).text()
        const cells = new RegExp(`<tr>(?:(?!</tr>).)*properties/${name}">.*?</tr>`, 's').exec(text)?.[0] ?? ''
        return cells
          .replace(/.*<td>/s, '')
          .replace(/<[^>]*>/g, '')
          .trim()
      }
      assert.equal(await row('color'), 'Only you')
      const [asGrace, asNiklaus] = [
        await relate(grace, [service, actor]),
        await relate(niklaus, [service, actor], 'friend', false),
      ]
      assert.equal(await row('color'), '1 person')
      await actor.request('PUT', `/trust/friend/${niklaus.id}`, { approved: true })
      assert.equal(await row('color'), '2 people')
      for (const [peer, excluded] of [
        [grace, ['diary', 'settings']],
        [niklaus, ['diary', 'settings', 'settings/theme', 'settings/size', 'settings/*']],
      ] as const)
        await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, {
          properties: { excluded_patterns: excluded },
        })
      assert.equal(await row('diary'), 'Only you')
      assert.equal(await row('color'), '2 people')
      for (const peer of [asGrace, asNiklaus]) {
        assert.equal((await peer.request('GET', '/properties/diary')).status, 403)
        assert.equal((await peer.request('GET', '/properties/color')).status, 200)
      }
    })
  })

  describe('the selection of properties', () => {
    async function filled(): Promise<World> {
      const world = await open({ pages: {} })
      await world.actor.request('POST', '/properties', { a: 1, b: 'two', 'c=&d': true, notes: { _type: 'list' } })
      await world.actor.request('POST', '/properties/notes', '"first"')
      world.service.reset()
      return world
    }

    const names = async ({ actor }: World): Promise<string[]> =>
      Object.keys((await (await actor.request('GET', '/properties')).json()) as object).toSorted()

    it('is exported as JSON with the items of lists (R-PAGE-05)', async () => {
      const world = await filled()
      const answer = await world.browser.send('/selection', {
        action: 'export',
        'pick:notes': '1',
        'pick:a': '1',
        'pick:c=&d': '1',
        'pick:absent': '1',
      })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="properties.json"')
      const { notes, ...values } = (await answer.json()) as { notes: { items: unknown } }
      assert.deepEqual(values, { a: 1, 'c=&d': true })
      assert.deepEqual(notes.items, ['first'])
    })

    it('is deleted after a confirmation, in one change (R-PAGE-05)', async () => {
      const world = await filled()
      const picked = { 'pick:a': '1', 'pick:notes': '1' }
      const asking = await world.browser.send('/selection', { action: 'delete', ...picked })
      assert.equal(asking.status, 200)
      const page = await asking.text()
      assert.match(page, /<h1>Delete 2 properties<\/h1>/)
      assert.match(page, /name="pick:notes" value="1"/)
      assert.deepEqual(await names(world), ['a', 'b', 'c=&d', 'notes'])
      const done = await world.browser.send('/selection', { action: 'confirm', ...picked, 'pick:absent': '1' })
      assert.equal(done.status, 302)
      assert.match(done.headers.get('location') ?? '', /\/www\/properties$/)
      assert.deepEqual(await names(world), ['b', 'c=&d'])
    })

    const refusals: readonly (readonly [what: string, fields: Record<string, string>, status: number])[] = [
      ['without a property', { action: 'confirm' }, 400],
      ['without an action', { 'pick:a': '1' }, 400],
      ['with an unknown action', { action: 'remove', 'pick:a': '1' }, 400],
    ]
    for (const [what, fields, status] of refusals)
      it(`is refused ${what}, and nothing changes (R-PAGE-05)`, async () => {
        const world = await filled()
        const answer = await world.browser.send('/selection', fields)
        assert.equal(answer.status, status)
        assert.match(await answer.text(), /role="alert"/)
        assert.deepEqual(await names(world), ['a', 'b', 'c=&d', 'notes'])
      })

    it('is refused for a request of another site (R-PAGE-05)', async () => {
      const world = await filled()
      const sent = { action: 'confirm', 'pick:a': '1' }
      assert.equal((await world.browser.send('/selection', sent, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.deepEqual(await names(world), ['a', 'b', 'c=&d', 'notes'])
    })

    it('stays complete when the application rejects one deletion (R-PAGE-05)', async () => {
      const world = await open({ pages: {}, declare: (app) => app.property('fixed', { delete: () => null }) })
      await world.actor.request('POST', '/properties', { a: 1, fixed: 2 })
      const answer = await world.browser.send('/selection', { action: 'confirm', 'pick:a': '1', 'pick:fixed': '1' })
      assert.equal(answer.status, 403)
      assert.deepEqual(await names(world), ['a', 'fixed'])
    })
  })

  describe('the form for a new property', () => {
    const typed: readonly (readonly [type: string, text: string, stored: unknown])[] = [
      ['text', '42', '42'],
      ['text', 'true', 'true'],
      ['number', ' -1.5e3 ', -1500],
      ['number', '0', 0],
      ['boolean', 'false', false],
      ['json', '{"a": [1, null]}', { a: [1, null] }],
    ]
    for (const [type, text, value] of typed)
      it(`stores ${JSON.stringify(text)} of the type ${type} as ${JSON.stringify(value)} (R-PAGE-06)`, async () => {
        const world = await open()
        const field = type === 'number' || type === 'boolean' ? `_${type}` : ''
        // A browser also sends the fields of the other types.
        const fields = { property_value: 'other', property_value_number: '7', property_value_boolean: 'true' }
        const form = {
          property_name: 'x',
          property_type: 'simple',
          ...fields,
          value_type: type,
          [`property_value${field}`]: text,
        }
        assert.equal((await world.browser.send('/properties', form)).status, 302)
        assert.deepEqual(await stored(world, 'x'), value)
        const again = { value: 'other', value_type: type, [`value${field}`]: text, redirect_to: '/' }
        await world.actor.request('PUT', '/properties/x', '"before"')
        assert.equal((await world.browser.send('/properties/x', again)).status, 302)
        assert.deepEqual(await stored(world, 'x'), value)
      })

    const refused: readonly (readonly [type: string, text: string, message: RegExp])[] = [
      ['number', 'seven', /“seven” isn’t a number\./],
      ['number', '1,5', /“1,5” isn’t a number\./],
      ['number', '01', /“01” isn’t a number\./],
      ['number', 'NaN', /“NaN” isn’t a number\./],
      ['boolean', 'yes', /“yes” is neither true nor false\./],
    ]
    for (const [type, text, message] of refused)
      it(`refuses ${JSON.stringify(text)} of the type ${type}, and keeps it (R-PAGE-06, R-PAGE-02)`, async () => {
        const world = await open()
        const form = { property_name: 'x', property_type: 'simple', value_type: type, [`property_value_${type}`]: text }
        await assertRefused(world, world.browser.send('/properties', form), 400, message, 'listing')
        const { typed: kept, error_field: field } = world.listings[0] ?? {}
        assert.deepEqual([kept?.property_value, kept?.value_type, field], [text, type, 'property_value'])
      })

    it('creates a value, returns to the listing and confirms once (R-PAGE-03, R-PAGE-06)', async () => {
      const world = await open()
      const { service, actor, browser, listings } = world
      const answer = await browser.send('/properties', {
        property_name: 'color',
        property_value: 'blue',
        property_type: 'simple',
      })
      assert.deepEqual(
        [answer.status, answer.headers.get('location')],
        [302, `http://troupe.test/${actor.id}/www/properties`],
      )
      assert.deepEqual(cookiesOf(answer), [
        'troupe-notice=created.<request>; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
      ])
      assert.equal(await stored(world, 'color'), 'blue')
      assert.deepEqual(
        service.changes.map(({ subtarget, blob, by }) => [subtarget, blob, by.kind]),
        [['color', '"blue"', 'creator']],
      )
      const cookie = `oauth_token=${browser.token}; troupe-notice=created`
      const head = await service.request(`/${actor.id}/www/properties`, {
        method: 'HEAD',
        headers: { ...asBrowser, cookie },
      })
      assert.deepEqual([head.status, head.headers.getSetCookie()], [200, []])
      const page = await browser.get('/properties', { cookie })
      assert.equal(listings[0]?.notice, 'Created.')
      assert.deepEqual(page.headers.getSetCookie(), ['troupe-notice=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'])
      await browser.get('/properties', { cookie: `oauth_token=${browser.token}; troupe-notice=<b>` })
      assert.equal(listings[0]?.notice, null)
    })

    it('accepts both names of each field (R-PAGE-06)', async () => {
      const world = await open()
      await world.browser.send('/properties', { property: 'color', value: 'blue' })
      assert.equal(await stored(world, 'color'), 'blue')
    })

    it('keeps the chosen type, and guesses the type when none was chosen (R-PAGE-06)', async () => {
      const world = await open()
      const cases: readonly (readonly [value: string, type: string | null, expected: unknown])[] = [
        ['12', 'text', '12'],
        ['12', 'json', 12],
        ['12', null, 12],
        ['{"a":1}', 'text', '{"a":1}'],
        ['{"a": 1}', 'json', { a: 1 }],
        ['{"a":1}', null, { a: 1 }],
        ['hello', null, 'hello'],
        ['true', 'text', 'true'],
        ['true', 'json', true],
        ['one\r\ntwo', 'text', 'one\ntwo'],
        ['{\r\n"a": 1\r\n}', 'json', { a: 1 }],
        ['  spaced  ', 'text', '  spaced  '],
      ]
      for (const [value, type, expected] of cases) {
        const fields = { property_name: 'x', property_value: value, ...(type === null ? {} : { value_type: type }) }
        assert.equal((await world.browser.send('/properties', fields)).status, 302, value)
        assert.deepEqual(await stored(world, 'x'), expected, value)
      }
    })

    it('creates a list with its description and explanation (R-PAGE-06)', async () => {
      const world = await open()
      const fields = { property_name: 'notes', property_type: 'list', description: 'Notes', explanation: 'One each' }
      const answer = await world.browser.send('/properties', fields)
      assert.equal(answer.status, 302)
      const metadata = (await (await world.actor.request('GET', '/properties/notes/metadata')).json()) as object
      assert.deepEqual(
        Object.entries(metadata).filter(([name]) => ['description', 'explanation', 'length'].includes(name)),
        [
          ['description', 'Notes'],
          ['explanation', 'One each'],
          ['length', 0],
        ],
      )
    })

    it('answers an invalid form with the status, the typed values and the reason, and stores nothing (R-PAGE-02)', async () => {
      const world = await open({ declare: (app) => app.property('fixed', { post: () => null, put: () => null }) })
      await world.actor.request('POST', '/properties', { color: 'blue', notes: { _type: 'list' } })
      const refused: readonly (readonly [fields: Record<string, string>, status: number, message: RegExp])[] = [
        [{ property_value: 'x' }, 400, /Enter a name/],
        [{ property_name: '  ', property_value: 'x' }, 400, /Enter a name/],
        [{ property_name: 'x' }, 400, /Enter a value/],
        [{ property_name: 'x', property_value: '' }, 400, /Enter a value/],
        [{ property_name: 'x', property_value: 'y', property_type: 'map' }, 400, /neither simple nor list/],
        [{ property_name: 'notes', property_type: 'list' }, 400, /The list “notes” already exists/],
        [{ property_name: 'color', property_type: 'list' }, 409, /a property has this name/],
        [{ property_name: 'notes', property_value: 'x' }, 409, /a list has this name/],
        [{ property_name: 'color', property_value: 'red', create_only: '1' }, 409, /“color” already exists/],
        [{ property_name: 'a/b', property_value: 'x' }, 400, /it contains a slash/],
        [{ property_name: 'list:x', property_value: 'x' }, 400, /reserved/],
        [{ property_name: '_x', property_type: 'list' }, 400, /must not begin with/],
        [
          { property_name: 'x', property_value: '{1', value_type: 'json' },
          400,
          /^Invalid JSON at line 1, column \d\.$/,
        ],
        [{ property_name: 'x', property_value: 'null', value_type: 'json' }, 400, /null is not a property value/],
        [{ property_name: 'fixed', property_value: 'x' }, 403, /^test didn’t accept this value for “fixed”\.$/],
      ]
      for (const [fields, status, message] of refused) {
        await assertRefused(world, world.browser.send('/properties', fields), status, message, 'listing')
        assert.equal(world.listings[0]?.typed?.property_name, fields['property_name'] ?? '')
        assert.equal(world.listings[0]?.typed?.property_value, fields['property_value'] ?? '')
      }
    })

    it('answers a program with JSON (R-PAGE-03)', async () => {
      const { browser } = await open()
      const answer = await browser.send(
        '/properties',
        {},
        { accept: 'application/json', 'sec-fetch-site': 'same-origin' },
      )
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [400, 'application/json'])
      assert.deepEqual(await answer.json(), {
        error: 'bad_request',
        message: 'Cannot take the form: a name is missing',
      })
    })

    it('accepts only form bodies (R-PAGE-03)', async () => {
      const world = await open()
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
        const answer = await world.service.request(`/${world.actor.id}/www/properties`, {
          method: 'POST',
          headers: { ...world.browser.headers, 'sec-fetch-site': 'same-origin', 'content-type': type },
          body: '{"property_name":"x","property_value":"y"}',
        })
        assert.equal(answer.status, 415, type)
      }
      assert.equal(await stored(world, 'x'), null)
    })

    it('redirects where the form says, but only within the service and below its prefix (WEB-11, R-PAGE-03)', async () => {
      const world = await open({ baseUrl: 'http://troupe.test/under' })
      const page = `http://troupe.test/under/${world.actor.id}/www/properties`
      for (const [wanted, expected] of [
        [`/under/${world.actor.id}/www?x=1`, `http://troupe.test/under/${world.actor.id}/www?x=1`],
        ['https://evil.example', page],
        ['//evil.example', page],
        ['/\\evil.example', page],
        ['/elsewhere', page],
        ['javascript:alert(1)', page],
        ['/under/..//evil.example', page],
      ] as const) {
        const answer = await world.browser.send('/properties', {
          property_name: 'x',
          property_value: 'y',
          redirect_to: wanted,
        })
        assert.deepEqual([answer.status, answer.headers.get('location')], [302, expected], wanted)
      }
    })
  })

  describe('the page of a value', () => {
    it('receives the value by its type, for reading and for editing (R-PAGE-07, R-WEB-02)', async () => {
      const world = await open()
      const { actor, browser, properties } = world
      const text = '{"b":{"deep":[1,"two",null,true,{}]},"a":12345678901234567890.10}'
      await actor.request('PUT', '/properties/big', text)
      assert.equal((await browser.get('/properties/big')).status, 200)
      const [values] = properties
      assert.ok(values)
      assert.deepEqual(
        [
          values.property,
          values.qual,
          values.kind,
          values.is_list_property,
          values.is_read_only,
          values.form_action,
          values.url,
        ],
        [
          'big',
          'a',
          'Object · 2 fields',
          false,
          false,
          `/${actor.id}/www/properties/big`,
          `http://troupe.test/${actor.id}/www/properties/big`,
        ],
      )
      const edited = `{
  "b": {
    "deep": [
      1,
      "two",
      null,
      true,
      {}
    ]
  },
  "a": 12345678901234567890.10
}`
      assert.equal(values.value, edited)
      assert.deepEqual(values.editable, { text: edited, type: 'json' })
      assert.deepEqual(values.tree, {
        kind: 'object',
        more: 0,
        members: [
          {
            name: 'b',
            value: {
              kind: 'object',
              more: 0,
              members: [
                {
                  name: 'deep',
                  value: {
                    kind: 'array',
                    more: 0,
                    elements: [
                      { kind: 'number', text: '1' },
                      { kind: 'text', text: 'two' },
                      { kind: 'word', text: 'null' },
                      { kind: 'word', text: 'true' },
                      { kind: 'object', members: [], more: 0 },
                    ],
                  },
                },
              ],
            },
          },
          { name: 'a', value: { kind: 'number', text: '12345678901234567890.10' } },
        ],
      })
      // Posting the shown text back keeps the exact value.
      assert.equal((await browser.send('/properties/big', { value: edited, value_type: 'json' })).status, 302)
      assert.equal(await (await actor.request('GET', '/properties/big')).text(), text)
    })

    it('shows a string without quotes, and keeps it a string (R-PAGE-07)', async () => {
      const { actor, browser, properties } = await open()
      for (const text of [
        'hello',
        '12',
        '{"a":1}',
        '\nwith a line before it',
        '  blanks  ',
        '"quoted"',
        '<b>&amp;</b>',
      ]) {
        await actor.request('PUT', '/properties/t', JSON.stringify(text))
        await browser.get('/properties/t')
        assert.deepEqual(
          [properties[0]?.value, properties[0]?.editable, properties[0]?.raw_value],
          [text, { text, type: 'text' }, text],
        )
      }
    })

    it('shows no more of a value than fits a page, and makes no form for a value that is too long (R-PAGE-07)', async () => {
      const { actor, browser, properties } = await open()
      await actor.request(
        'PUT',
        '/properties/wide',
        Array.from({ length: 5000 }, (_, n) => ({ n })),
      )
      await browser.get('/properties/wide')
      const tree = properties[0]?.tree
      assert.ok(tree?.kind === 'array')
      assert.deepEqual([tree.elements.length, tree.more], [200, 4800])
      await actor.request('PUT', '/properties/long', JSON.stringify('x'.repeat(300_000)))
      await browser.get('/properties/long')
      assert.equal(properties[0]?.editable, null)
      assert.ok(properties[0]?.tree?.kind === 'text' && properties[0].tree.text.length === 20_001)
    })

    it('changes the value of any name (R-PAGE-07)', async () => {
      const world = await open()
      for (const name of ['color', 'with blank', 'ünïcode ☃', 'a;b=c&d?e#f', '"><b>', 'items', 'x.y', "o'brien"]) {
        await world.actor.request('POST', '/properties', { [name]: 'blue' })
        const answer = await world.browser.send(`/properties/${encodeURIComponent(name)}`, { value: 'red' })
        assert.deepEqual(
          [answer.status, answer.headers.get('location')],
          [302, `http://troupe.test/${world.actor.id}/www/properties`],
          name,
        )
        assert.deepEqual(cookiesOf(answer), [
          'troupe-notice=saved.<request>; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
        ])
        assert.equal(await stored(world, name), 'red', name)
        assert.equal((await world.browser.get(`/properties/${encodeURIComponent(name)}`)).status, 200)
        assert.equal(world.properties[0]?.property, name)
      }
    })

    it('answers an invalid change with the typed value and the reason, and keeps the stored value (R-PAGE-02)', async () => {
      const world = await open({ declare: (app) => app.property('fixed', { put: () => null }) })
      await world.actor.request('POST', '/properties', { color: 'blue', fixed: 'x', notes: { _type: 'list' } })
      for (const [name, fields, status, message] of [
        ['color', {}, 400, /Enter a value/],
        ['color', { value: '' }, 400, /Enter a value/],
        ['color', { value: '{', value_type: 'json' }, 400, /^Invalid JSON at line 1, column \d\.$/],
        ['color', { value: `${'['.repeat(100)}${']'.repeat(100)}`, value_type: 'json' }, 400, /nested/],
        ['fixed', { value: 'y' }, 403, /^test didn’t accept this value for “fixed”\.$/],
        ['notes', { value: 'y' }, 409, /a list has this name/],
      ] as const) {
        await assertRefused(world, world.browser.send(`/properties/${name}`, fields), status, message, 'property')
        const value = 'value' in fields ? fields.value : ''
        assert.deepEqual([world.properties[0]?.typed?.form, world.properties[0]?.typed?.value], ['value', value])
      }
    })

    it('deletes a value or a list by a form (R-PAGE-07)', async () => {
      const world = await open()
      await world.actor.request('POST', '/properties', { color: 'blue', notes: { _type: 'list' }, kept: 'x' })
      for (const name of ['color', 'notes']) {
        const answer = await world.browser.send(`/properties/${name}`, { _method: 'DELETE' })
        assert.deepEqual(
          [answer.status, answer.headers.get('location')],
          [302, `http://troupe.test/${world.actor.id}/www/properties`],
        )
        assert.equal(await stored(world, name), null)
      }
      assert.equal(await stored(world, 'kept'), 'x')
    })

    it('deletes nothing when the property does not exist or the application forbids it (R-PAGE-07)', async () => {
      const world = await open({ declare: (app) => app.property('kept', { delete: () => null }) })
      await world.actor.request('POST', '/properties', { kept: 'x' })
      await assertRefused(
        world,
        world.browser.send('/properties/kept', { _method: 'DELETE' }),
        403,
        /<h1>You don’t have access/,
      )
      await assertRefused(world, world.browser.send('/properties/absent', { _method: 'DELETE' }), 404, /<h1>Not found/)
    })
  })

  describe('the page of a list', () => {
    async function withItems(count: number, options: StartOptions = {}): Promise<World> {
      const world = await open(options)
      await world.actor.request('POST', '/properties', {
        notes: { _type: 'list', description: 'Notes', explanation: 'One each' },
      })
      if (count > 0) {
        const items = Array.from({ length: count }, (_, index) => ({ index, n: index }))
        assert.equal((await world.actor.request('POST', '/properties', { notes: { items } })).status, 201)
      }
      return world
    }

    it('receives its description, its length and its items in pages (R-PAGE-08, R-WEB-02)', async () => {
      const world = await withItems(120)
      const { browser, properties } = world
      await browser.get('/properties/notes')
      const [values] = properties
      assert.ok(values)
      assert.deepEqual(
        [
          values.kind,
          values.is_list_property,
          values.list_description,
          values.list_explanation,
          values.tree,
          values.editable,
        ],
        ['List · 120 items', true, 'Notes', 'One each', null, null],
      )
      assert.deepEqual(values.list_items[49], { n: 49 })
      const seen: unknown[] = []
      for (const query of ['', '?page=2', '?page=3', '?page=4']) {
        await browser.get(`/properties/notes${query}`)
        const { items = [], paging } = properties[0] ?? {}
        seen.push([paging?.page, paging?.pages, paging?.total, items.length, items[0]?.index, items.at(-1)?.index])
      }
      assert.deepEqual(seen, [
        [1, 3, 120, 50, 0, 49],
        [2, 3, 120, 50, 50, 99],
        [3, 3, 120, 20, 100, 119],
        [3, 3, 120, 20, 100, 119],
      ])
    })

    it('runs the same number of statements for long and short lists (R-PAGE-26)', async () => {
      const costs: number[] = []
      for (const [count, page] of [
        [3, ''],
        [3000, '?page=31'],
      ] as const) {
        const { service, browser } = await withItems(count)
        service.reset()
        assert.equal((await browser.get(`/properties/notes${page}`)).status, 200)
        costs.push(service.statements.filter((sql) => !sql.includes('token_chain SET')).length)
      }
      assert.equal(costs[0], costs[1])
    })

    it('adds an item and redirects to the page that shows it (R-PAGE-08)', async () => {
      const world = await withItems(50)
      const answer = await world.browser.send('/properties/notes/items', { action: 'add', item_value: '{"n":50}' })
      assert.deepEqual(
        [answer.status, answer.headers.get('location')],
        [302, `http://troupe.test/${world.actor.id}/www/properties/notes?page=2`],
      )
      await world.browser.send('/properties/notes/items', { action: 'add', item_value: '51', value_type: 'text' })
      const all = (await stored(world, 'notes')) as unknown[]
      assert.deepEqual(all.slice(49), [{ n: 49 }, { n: 50 }, '51'])
    })

    const several: readonly (readonly [sent: Record<string, string>, items: readonly unknown[]])[] = [
      [{ items: 'milk\r\n\r\n  two eggs \r\n12\r\n', value_type: 'lines' }, ['milk', 'two eggs', '12']],
      [{ items: '[ ] milk\n[x] tea', value_type: 'lines' }, ['[ ] milk', '[x] tea']],
      [{ items: '["milk", 2, {"n": 1.5}]', value_type: 'json' }, ['milk', 2, { n: 1.5 }]],
      [{ items: 'milk\ntea' }, ['milk', 'tea']],
    ]
    for (const [sent, items] of several)
      it(`adds ${JSON.stringify(sent)} in one change (R-PAGE-08)`, async () => {
        const world = await withItems(49)
        world.service.changes.length = 0
        const answer = await world.browser.send('/properties/notes/items', { action: 'add_several', ...sent })
        assert.deepEqual(
          [answer.status, answer.headers.get('location')],
          [302, `http://troupe.test/${world.actor.id}/www/properties/notes?page=2`],
        )
        assert.deepEqual(cookiesOf(answer), [
          'troupe-notice=addedSeveral.<request>; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
        ])
        assert.deepEqual(((await stored(world, 'notes')) as unknown[]).slice(49), items)
        assert.equal(world.service.changes.length, 1)
      })

    it('adds 400 items with as many statements as 2 (R-PAGE-26)', async () => {
      const counts: number[] = []
      for (const many of [2, 400]) {
        const { service, browser } = await withItems(49)
        const items = Array.from({ length: many }, (_, index) => `Item ${index}`).join('\n')
        service.reset()
        const answer = await browser.send('/properties/notes/items', { action: 'add_several', items })
        assert.equal(answer.status, 302)
        counts.push(service.statements.length)
      }
      assert.equal(counts[0], counts[1])
    })

    it('adds none of several items when one is refused, and keeps what was typed (R-PAGE-02)', async () => {
      const world = await withItems(2, {
        declare: (app) => app.property('notes', { post: ({ value }) => (value === 'x' ? null : value) }),
      })
      const refused: readonly (readonly [fields: Record<string, string>, status: number, message: RegExp])[] = [
        [{ items: '', value_type: 'lines' }, 400, /^Enter at least one item\.$/],
        [{ items: ' \n ', value_type: 'lines' }, 400, /^Enter at least one item\.$/],
        [{ items: '', value_type: 'json' }, 400, /^Enter a value\.$/],
        [{ items: '[]', value_type: 'json' }, 400, /^Enter at least one item\.$/],
        [{ items: '{"a":1}', value_type: 'json' }, 400, /^Enter a JSON array, such as \["one", "two"\]\.$/],
        [{ items: '"one"', value_type: 'json' }, 400, /^Enter a JSON array/],
        [{ items: '["one",\n"two"', value_type: 'json' }, 400, /^Invalid JSON at line 2, column 6\.$/],
        [{ items: 'one\nx', value_type: 'lines' }, 403, /the application rejected/],
      ]
      for (const [fields, status, message] of refused) {
        const answer = world.browser.send('/properties/notes/items', { action: 'add_several', ...fields })
        await assertRefused(world, answer, status, message, 'property')
        const { typed, error_field: field } = world.properties[0] ?? {}
        assert.deepEqual(
          [typed?.form, typed?.value, typed?.value_type, field],
          ['add_several', fields['items'], fields['value_type'], 'items'],
        )
      }
      const sent = { action: 'add_several', items: 'one' }
      await assertRefused(world, world.browser.send('/properties/absent/items', sent), 404, /Not found/)
    })

    it('changes and deletes an item by its index (R-PAGE-08)', async () => {
      const world = await withItems(3)
      const page = `http://troupe.test/${world.actor.id}/www/properties/notes`
      const changed = await world.browser.send('/properties/notes/items', {
        action: 'update',
        item_index: '1',
        item_value: 'new',
      })
      assert.deepEqual([changed.status, changed.headers.get('location')], [302, page])
      const deleted = await world.browser.send('/properties/notes/items', { action: 'delete', item_index: '0' })
      assert.deepEqual([deleted.status, deleted.headers.get('location')], [302, page])
      assert.deepEqual(await stored(world, 'notes'), ['new', { n: 2 }])
    })

    it('changes only the item that the user saw, even when others moved it meanwhile (R-PAGE-09)', async () => {
      const world = await withItems(4)
      await world.browser.get('/properties/notes')
      const handles = world.properties[0]?.items.map(({ handle }) => handle) ?? []
      await world.actor.request('DELETE', '/properties/notes/0')
      const update = { action: 'update', item_index: '2', item_handle: handles[2] ?? '', item_value: 'two' }
      assert.equal((await world.browser.send('/properties/notes/items', update)).status, 302)
      const removal = { action: 'delete', item_index: '3', item_handle: handles[3] ?? '' }
      assert.equal((await world.browser.send('/properties/notes/items', removal)).status, 302)
      assert.deepEqual(await stored(world, 'notes'), [{ n: 1 }, 'two'])
      // A handle of a changed or deleted item never applies to another item.
      for (const sent of [
        update,
        { ...update, item_handle: handles[0] ?? '' },
        { ...removal, item_handle: handles[2] ?? '' },
      ])
        await assertRefused(
          world,
          world.browser.send('/properties/notes/items', sent),
          409,
          /^This item changed while you were editing\. Review the current version below\.$/,
          'property',
        )
      assert.deepEqual(
        world.properties[0]?.items.map(({ index }) => index),
        [0, 1],
      )
    })

    it('answers an invalid item form with the typed value and the reason, and keeps the list (R-PAGE-02)', async () => {
      const world = await withItems(2, {
        declare: (app) =>
          app.property('notes', { put: ({ path, value }) => (path[1] === '1' && value === 'x' ? null : value) }),
      })
      const refused: readonly (readonly [fields: Record<string, string>, status: number, message: RegExp])[] = [
        [{}, 400, /neither add, add_several, update, move nor delete/],
        [{ action: 'clear' }, 400, /neither add, add_several, update, move nor delete/],
        [{ action: 'add' }, 400, /Enter a value/],
        [{ action: 'add', item_value: '{', value_type: 'json' }, 400, /^Invalid JSON at line 1, column \d\.$/],
        [{ action: 'update', item_index: '0' }, 400, /Enter a value/],
        [{ action: 'update', item_index: '2', item_value: 'x' }, 400, /^Item 3 no longer exists\.$/],
        [{ action: 'update', item_index: '-1', item_value: 'x' }, 400, /whole number/],
        [{ action: 'update', item_index: 'x', item_value: 'x' }, 400, /whole number/],
        [{ action: 'update', item_value: 'x' }, 400, /whole number/],
        [{ action: 'update', item_handle: 'x', item_value: 'x' }, 400, /Invalid item handle/],
        [{ action: 'update', item_index: '1', item_value: 'x' }, 403, /the application rejected/],
        [{ action: 'delete', item_index: '9' }, 400, /^Item 10 no longer exists\.$/],
        [{ action: 'delete' }, 400, /whole number/],
      ]
      for (const [fields, status, message] of refused) {
        await assertRefused(world, world.browser.send('/properties/notes/items', fields), status, message, 'property')
        assert.equal(world.properties[0]?.typed?.value, fields['item_value'] ?? '')
      }
      await assertRefused(
        world,
        world.browser.send('/properties/absent/items', { action: 'add', item_value: 'x' }),
        404,
        /Not found/,
      )
      await world.actor.request('PUT', '/properties/color', 'blue')
      await assertRefused(
        world,
        world.browser.send('/properties/color/items', { action: 'add', item_value: 'x' }),
        404,
        /Not found/,
      )
    })

    it('changes the description and the explanation of a list (R-PAGE-08)', async () => {
      const world = await withItems(1)
      const answer = await world.browser.send('/properties/notes/metadata', {
        action: 'update',
        description: 'New',
        explanation: '',
      })
      assert.deepEqual(
        [answer.status, answer.headers.get('location')],
        [302, `http://troupe.test/${world.actor.id}/www/properties/notes`],
      )
      await world.browser.get('/properties/notes')
      assert.deepEqual([world.properties[0]?.list_description, world.properties[0]?.list_explanation], ['New', ''])
      await assertRefused(
        world,
        world.browser.send('/properties/notes/metadata', { action: 'drop' }),
        400,
        /not update/,
        'property',
      )
      await assertRefused(
        world,
        world.browser.send('/properties/absent/metadata', { description: 'x' }),
        404,
        /Not found/,
      )
    })

    it('answers 404 to a GET of its form URLs (R-WEB-01)', async () => {
      const { browser } = await withItems(1)
      for (const path of ['/properties/notes/items', '/properties/notes/metadata']) {
        const answer = await browser.get(path, { accept: '*/*' })
        assert.equal(answer.status, 404)
      }
    })
  })

  it('each page of an actor answers at its address, and its forms are accepted there (R-WEB-01)', async () => {
    const service = await start()
    const actor = await service.createActor()
    const peer = await service.createActor('grace@example.com')
    await actor.request('PUT', '/properties/color', 'blue')
    const browser = await OwnersBrowser.open(service, actor)
    for (const path of ['', '/properties', '/properties/color', '/trust', '/trust/new', '/init']) {
      const answer = await browser.get(path)
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/html; charset=utf-8'], path)
    }
    const forms: readonly (readonly [path: string, fields: Record<string, string>])[] = [
      ['/properties', { property_name: 'size', property_value: '8' }],
      ['/properties/color', { value: 'red' }],
      ['/trust/new', { peer_url: `${service.url}/${peer.id}`, trust_type: 'friend' }],
    ]
    for (const [path, fields] of forms) assert.equal((await browser.send(path, fields)).status, 302, path)
    assert.deepEqual(await (await actor.request('GET', '/properties')).json(), { color: 'red', size: 8 })
    const trusted = (await (await actor.request('GET', '/trust')).json()) as { peerid: string }[]
    assert.deepEqual(
      trusted.map(({ peerid }) => peerid),
      [peer.id],
    )
  })

  it('the dashboard shows the counts of properties and of waiting requests (R-PAGE-25)', async () => {
    const service = await start()
    const actor = await service.createActor()
    await actor.request('POST', '/properties', { color: 'blue', age: 1, notes: { _type: 'list' } })
    await actor.request('POST', '/trust/friend', { baseuri: 'https://peer.example.com/one', id: 'one' })
    const page = await (await (await OwnersBrowser.open(service, actor)).get('')).text()
    const words = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
    assert.match(
      words,
      / Properties 3 1 list Connections 1 1 pending Connected apps 0 None connected Devices 1 This one: /,
    )
    assert.ok(words.includes(`http://troupe.test/${actor.id} `))
    assert.ok(!page.includes(actor.passphrase))
    assert.equal((await service.request(`/${actor.id}/www/`, { headers: asBrowser })).status, 401)
  })
})
