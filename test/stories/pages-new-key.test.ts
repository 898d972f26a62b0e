/** The form on the page of connected apps that creates an API key. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const now = Date.UTC(2030, 0, 31, 12)

function declare(app: App): void {
  app.action('push', ({ input }) => ({ pushed: input }))
  app.method('sum', () => ({ sum: 3 }))
}

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly browser: OwnersBrowser
}

interface ListedKey {
  readonly name: string
  readonly until: string | null
  readonly grants: readonly { readonly category: string; readonly pattern: string; readonly operations: string[] }[]
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const service = await start({ declare, now: () => now, ...options })
    const owner = await service.createActor('ada@example.com')
    await owner.request('PUT', '/properties', { room: 'kitchen', diary: 'planted' })
    return { service, owner, browser: await OwnersBrowser.open(service, owner) }
  }

  const create = ({ browser }: World, fields: Readonly<Record<string, string>>): Promise<Response> =>
    browser.send('/apps', { action: 'create_key', ...fields })

  async function keyOn(page: Response): Promise<string> {
    const text = await page.text()
    assert.equal(page.status, 200, text)
    return /<code id="key-text">(trp_[0-9A-Za-z]{38})<\/code>/.exec(text)?.[1] ?? assert.fail('the page shows no key')
  }

  async function keys({ owner }: World): Promise<readonly ListedKey[]> {
    return (await (await owner.request('GET', '/keys')).json()) as ListedKey[]
  }

  async function statuses({ service, owner }: World, key: string, requests: readonly string[]): Promise<number[]> {
    const answers = requests.map(async (each) => {
      const [method = '', path = ''] = each.split(' ')
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: '"x"' }
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await service.request(`/${owner.id}${path}`, { method, headers, ...body })
      await answer.text()
      return answer.status
    })
    return Promise.all(answers)
  }

  describe('the form for a new API key', () => {
    it('shows a key on a page that is not refreshed (MOV-07)', async () => {
      const world = await open()
      assert.match(await (await world.browser.get('/apps')).text(), /data-live=/)
      const page = await (await create(world, { name: 'Sensor', properties: 'view' })).text()
      assert.match(page, /id="key-text"/)
      assert.doesNotMatch(page, /data-live=/)
    })

    it('shows the key once, and no store or later page has it (SEC-01)', async () => {
      const world = await open()
      const page = await create(world, { name: 'Sensor <b>', properties: 'view' })
      assert.deepEqual(
        [page.headers.get('cache-control'), page.headers.get('location'), page.headers.getSetCookie()],
        ['no-store', null, []],
      )
      const copy = page.clone()
      const key = await keyOn(page)
      const text = await copy.text()
      assert.match(text, /Copy the key of <strong>Sensor b<\/strong> now\./)
      assert.equal(text.split(key).length, 2)
      assert.ok(!(await (await world.browser.get('/apps')).text()).includes(key))
      assert.ok(!world.service.log.join('\n').includes(key))
      assert.deepEqual(await statuses(world, key, ['GET /properties/room']), [200])
    })

    it('creates a key that may only view the named properties', async () => {
      const world = await open()
      const key = await keyOn(await create(world, { name: 'A', properties: 'view', names: ' room \r\n\r\nroom\r\n' }))
      assert.deepEqual(
        await statuses(world, key, [
          'GET /properties/room',
          'GET /properties/diary',
          'PUT /properties/room',
          'DELETE /properties/room',
          'PUT /files/a.txt',
          'POST /actions/push',
          'POST /methods/sum',
          'GET /trust',
          'GET /www',
        ]),
        [200, 403, 403, 403, 403, 403, 403, 403, 403],
      )
      // Read once: the service notes the last use of the key in the background.
      const listed = await keys(world)
      assert.deepEqual(listed, [
        {
          ...listed[0],
          name: 'A',
          until: null,
          grants: [{ category: 'properties', pattern: 'room', operations: ['read'], until: null }],
        },
      ])
    })

    it('creates a key that may edit all properties and files', async () => {
      const world = await open()
      const key = await keyOn(await create(world, { name: 'A', properties: 'edit', files: 'edit' }))
      assert.deepEqual(
        await statuses(world, key, ['PUT /properties/room', 'PUT /files/a.txt', 'POST /actions/push']),
        [204, 201, 403],
      )
      assert.deepEqual(await statuses(world, key, ['GET /files/a.txt', 'DELETE /properties/room']), [200, 204])
      assert.deepEqual(await statuses(world, key, ['DELETE /files/a.txt']), [204])
    })

    it('creates a key that only calls the application', async () => {
      const world = await open()
      const key = await keyOn(await create(world, { name: 'A', properties: 'none', files: 'none', runs: '1' }))
      assert.deepEqual(
        await statuses(world, key, ['POST /actions/push', 'POST /methods/sum', 'GET /properties/room']),
        [200, 200, 403],
      )
    })

    it('creates a key that ends after its last day', async () => {
      const world = await open()
      await keyOn(await create(world, { name: 'Today', properties: 'view', until: '2030-01-31' }))
      await keyOn(await create(world, { name: 'Leap', properties: 'view', until: '2032-02-29' }))
      assert.deepEqual(
        (await keys(world))
          .map(({ name, until }) => [name, until])
          .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
        [
          ['Leap', '2032-03-01T00:00:00.000Z'],
          ['Today', '2030-02-01T00:00:00.000Z'],
        ],
      )
    })

    it('refuses wrong input with a reason next to the field, keeps the input, and creates nothing', async () => {
      const world = await open()
      const good = { name: 'Sensor 7', properties: 'edit', names: 'room', runs: '1', until: '2030-02-01' }
      for (const [wrong, field, why] of [
        [{ name: ' ' }, 'name', 'Enter a name for the key.'],
        [{ name: '<>' }, 'name', 'Enter a name for the key.'],
        [{ properties: 'none', runs: '' }, 'properties', 'Choose at least one thing that the key may do.'],
        [{ until: '2030-01-30' }, 'until', 'Enter today or a later day.'],
        [{ until: '2031-02-29' }, 'until', 'Enter today or a later day.'],
        [{ until: 'tomorrow' }, 'until', 'Enter today or a later day.'],
        [{ names: 'x'.repeat(1025) }, 'names', 'Enter at most 1,000 names of at most 1,024 characters.'],
        [
          { names: Array.from({ length: 1001 }, (_, at) => at).join('\n') },
          'names',
          'Enter at most 1,000 names of at most 1,024 characters.',
        ],
      ] as const) {
        const sent: Record<string, string> = { ...good, ...wrong }
        if (sent['runs'] === '') delete sent['runs']
        const page = await create(world, sent)
        const text = await page.text()
        assert.equal(page.status, 400, JSON.stringify(wrong))
        assert.ok(text.includes(`<p class="field-error" id="${field}-error">${why}</p>`), JSON.stringify(wrong))
        assert.match(text, /<details class="card" id="new-key" open>/)
        if (sent['name'] === 'Sensor 7') assert.ok(text.includes('value="Sensor 7"'))
        if (sent['names'] === 'room') assert.match(text, /<textarea id="names"[^>]*>\nroom<\/textarea>/)
      }
      assert.deepEqual(await keys(world), [])
    })

    it('refuses a form that no page sends, and one from another site', async () => {
      const world = await open()
      for (const wrong of [{ properties: 'all' }, { properties: 'view', files: 'delete' }]) {
        const page = await create(world, { name: 'A', ...wrong })
        assert.equal(page.status, 400, JSON.stringify(wrong))
      }
      const fields = { action: 'create_key', name: 'A', properties: 'view' }
      const foreign = await world.browser.send('/apps', fields, { 'sec-fetch-site': 'cross-site' })
      assert.equal(foreign.status, 403)
      assert.deepEqual(await keys(world), [])
    })

    it('says that the account has too many keys', async () => {
      const world = await open()
      const actor = (await world.service.app.actors.get(world.owner.id)) ?? assert.fail()
      const grants = { properties: { patterns: ['room'], operations: ['read'] } } as const
      for (let made = 0; made < 500; made++) await actor.keys.create({ name: `Key ${made}`, grants })
      const page = await create(world, { name: 'A', properties: 'view' })
      assert.equal(page.status, 409)
      assert.match(await page.text(), /You have too many keys\. Revoke one first\./)
    })
  })
})
