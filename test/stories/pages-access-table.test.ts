import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Related, relate } from '../support/friends.ts'
import { type Random, seeded } from '../support/random.ts'
import type { App } from '../../src/index.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly ada: TestActor
  readonly grace: TestActor
  readonly asGrace: Related
  readonly browser: OwnersBrowser
  /** The page of the connection. */
  readonly page: string
}

interface Row {
  readonly cells: readonly string[]
  readonly setBy: string
  /** Empty without a choice. */
  readonly choice: string
}

const settings = { theme: 'dark', size: 1 }

function text(html: string): string {
  return html.replace(/<[^>]*>/g, '').trim()
}

function rowsOf(page: string): Record<string, Row> {
  const rows = [...page.matchAll(/<tr><th scope="row">(.*?)<\/th>(.*?)<\/tr>/gs)]
  return Object.fromEntries(
    rows.map(([, name = '', rest = '']) => [
      text(name),
      {
        cells: [...rest.matchAll(/<td class="(yes|no|ask|add)">/g)].map(([, result = '']) => result),
        setBy: /<td>([^<]*)<\/td>$/.exec(rest)?.[1] ?? '',
        choice: /<option value="(\w+)" selected>/.exec(rest)?.[1] ?? '',
      },
    ]),
  )
}

forEachService((start) => {
  const declare = (app: App): App =>
    app
      .method('weather', { description: 'Tells the weather' }, () => ({ rain: true }))
      .action('paint', { description: 'Paints' }, () => ({ done: true }))
      .action('wipe', { description: 'Removes everything', confirm: 'owner' }, () => ({ done: true }))

  async function open(): Promise<World> {
    const service = await start({ listen: true, host: 'localhost', declare })
    const [ada, grace] = [await service.createActor('ada@example.com'), await service.createActor('grace@example.com')]
    await ada.request('POST', '/properties', { color: 'blue', settings, 'a*b': 1, notes: { _type: 'list' } })
    await ada.request('POST', '/properties/notes', '"first"')
    const asGrace = await relate(grace, [service, ada])
    return { service, ada, grace, asGrace, browser: await OwnersBrowser.open(service, ada), page: `/trust/${grace.id}` }
  }

  const editing = '?edit=access'

  async function shown({ browser, page }: World, query = editing): Promise<Record<string, Row>> {
    const answer = await browser.get(`${page}${query}`)
    assert.equal(answer.status, 200)
    return rowsOf(await answer.text())
  }

  async function versionOf({ browser, page }: World): Promise<string> {
    const form =
      /action="[^"]*\/access">(.*?)<\/form>/s.exec(await (await browser.get(`${page}${editing}`)).text())?.[1] ?? ''
    return /name="version" value="([^"]+)"/.exec(form)?.[1] ?? ''
  }

  async function choose(world: World, fields: Record<string, string>, version?: string): Promise<Response> {
    const sent = { ...fields, version: version ?? (await versionOf(world)) }
    return world.browser.send(`${world.page}/access`, sent)
  }

  async function permissionsOf({ ada, grace }: World): Promise<unknown> {
    return (await ada.request('GET', `/trust/friend/${grace.id}/permissions`)).json()
  }

  describe('the access table of a connection', () => {
    it('shows what the access level allows, and who set it (R-PERM-01)', async () => {
      const world = await open()
      const friend = { setBy: 'Friend', choice: 'default' }
      assert.deepEqual(await shown(world), {
        'a*b': { cells: ['yes', 'yes', 'no', 'yes'], setBy: 'Friend', choice: '' },
        color: { cells: ['yes', 'yes', 'no', 'yes'], ...friend },
        notes: { cells: ['yes', 'yes', 'no', 'yes'], ...friend },
        settings: { cells: ['yes', 'yes', 'no', 'yes'], ...friend },
        weather: { cells: ['yes'], ...friend },
        paint: { cells: ['yes'], ...friend },
        wipe: { cells: ['ask'], ...friend },
      })
    })

    it('has choices only after “Edit access”, and “Cancel” leads back (R-PERM-01, R-WEB-02)', async () => {
      const world = await open()
      const { browser, page, ada, grace } = world
      const friend = { setBy: 'Friend', choice: '' }
      const rows = await shown(world, '')
      assert.deepEqual(rows['color'], { cells: ['yes', 'yes', 'no', 'yes'], ...friend })
      assert.deepEqual(rows['wipe'], { cells: ['ask'], ...friend })
      const at = `/${ada.id}/www/trust/${grace.id}`
      const read = await (await browser.get(page)).text()
      assert.match(
        read,
        new RegExp(`<a class="button quiet" href="${at}\\?edit=access#access-title"><svg.*?</svg> Edit access</a>`),
      )
      assert.doesNotMatch(read, /name="set:|\/access"/)
      const edited = await (await browser.get(`${page}${editing}`)).text()
      assert.match(edited, new RegExp(`<a class="button quiet" href="${at}">Cancel</a>`))
      assert.doesNotMatch(edited, /edit=access/)
      assert.equal((await browser.get(`${page}?edit=all`)).status, 400)
    })

    it('blocks and allows names, and returns to the default (R-PERM-01, R-WEB-02)', async () => {
      const world = await open()
      const { ada, grace, asGrace } = world
      const rights = { properties: { excluded_patterns: ['settings'], operations: ['read'] } }
      await ada.request('PUT', `/trust/friend/${grace.id}/permissions`, rights)
      const done = await choose(world, {
        'set:properties:color': 'block',
        'set:properties:notes': 'allow',
        'set:properties:settings': 'default',
        'set:actions:paint': 'block',
        'set:actions:wipe': 'default',
      })
      assert.equal(done.status, 302)
      const rows = await shown(world)
      assert.deepEqual(
        [rows['color'], rows['notes'], rows['settings'], rows['paint'], rows['wipe']],
        [
          { cells: ['no', 'no', 'no', 'no'], setBy: 'You', choice: 'block' },
          { cells: ['yes', 'yes', 'yes', 'yes'], setBy: 'You', choice: 'allow' },
          { cells: ['no', 'no', 'no', 'no'], setBy: 'You', choice: 'default' },
          { cells: ['no'], setBy: 'You', choice: 'block' },
          { cells: ['ask'], setBy: 'Friend', choice: 'default' },
        ],
      )
      assert.equal((await asGrace.request('GET', '/properties/color')).status, 403)
      assert.equal((await asGrace.request('PUT', '/properties/notes/0', '"second"')).status, 204)
      assert.equal((await asGrace.request('POST', '/actions/paint', {})).status, 403)
      const back = {
        'set:properties:color': 'default',
        'set:properties:notes': 'default',
        'set:actions:paint': 'default',
      }
      assert.equal((await choose(world, back)).status, 302)
      assert.equal((await asGrace.request('GET', '/properties/color')).status, 200)
      assert.equal((await asGrace.request('PUT', '/properties/notes/0', '"third"')).status, 403)
      assert.equal((await asGrace.request('POST', '/actions/paint', {})).status, 200)
      // The owner's own patterns stay.
      assert.equal((await asGrace.request('GET', '/properties/settings')).status, 403)
    })

    it('keeps the grants of the owner beside the choices (R-PERM-01)', async () => {
      const world = await open()
      const { ada, grace } = world
      const grants = [{ pattern: 'notes', operations: ['delete'] }]
      await ada.request('PUT', `/trust/friend/${grace.id}/permissions`, { properties: { grants } })
      assert.equal((await choose(world, { 'set:properties:color': 'block' })).status, 302)
      const rows = await shown(world)
      assert.deepEqual(rows['notes'], { cells: ['yes', 'yes', 'yes', 'yes'], setBy: 'You', choice: 'default' })
      assert.equal(rows['color']?.cells[0], 'no')
    })

    it('is absent while the connection is not approved (R-PERM-01)', async () => {
      const world = await open()
      await world.ada.request('PUT', `/trust/friend/${world.grace.id}`, { approved: false })
      assert.deepEqual(await shown(world), {})
    })

    const refusals: readonly (readonly [what: string, fields: Record<string, string>])[] = [
      ['an unknown choice', { 'set:properties:color': 'maybe' }],
      ['an unknown category', { 'set:files:color': 'block' }],
      ['a name that is a pattern', { 'set:properties:a*b': 'block' }],
      ['a field without a name', { 'set:properties:': 'block' }],
    ]
    for (const [what, fields] of refusals)
      it(`refuses ${what}, and nothing changes (R-PERM-01)`, async () => {
        const world = await open()
        const before = await permissionsOf(world)
        assert.equal((await choose(world, fields)).status, 400)
        assert.deepEqual(await permissionsOf(world), before)
      })

    it('refuses a form that is older than the stored access, and a form of another site (R-PERM-01)', async () => {
      const world = await open()
      const { ada, grace, browser, page } = world
      const version = await versionOf(world)
      await ada.request('PUT', `/trust/friend/${grace.id}/permissions`, { properties: { denied: ['notes'] } })
      const before = await permissionsOf(world)
      const late = await choose(world, { 'set:properties:color': 'block' }, version)
      assert.equal(late.status, 409)
      const refused = await late.text()
      assert.match(refused, /role="alert"/)
      assert.match(refused, /name="set:properties:color"/)
      const foreign = await browser.send(
        `${page}/access`,
        { 'set:properties:color': 'block' },
        { 'sec-fetch-site': 'cross-site' },
      )
      assert.equal(foreign.status, 403)
      assert.deepEqual(await permissionsOf(world), before)
    })
  })

  describe('with random permissions, the access table', () => {
    const names = ['*', 'c*', 'color', 'notes', 'settings', 'settings/*', 'settings/theme']
    const calls = ['*', 'p*', 'paint', 'wipe', 'weather']
    const operations = ['read', 'append', 'write', 'delete']

    function some(random: Random, all: readonly string[], most: number): string[] {
      return Array.from({ length: random.below(most + 1) }, () => all[random.below(all.length)] ?? '')
    }

    function randomRights(random: Random): Record<string, object> {
      const rule = (from: readonly string[]) => ({ allowed: some(random, from, 1), denied: some(random, from, 1) })
      return {
        properties: {
          patterns: some(random, names, 2),
          operations: some(random, operations, 4),
          excluded_patterns: some(random, names, 1),
          ...(random.below(2) === 0 ? rule(names) : {}),
        },
        methods: rule(calls),
        actions: rule(calls),
      }
    }

    /** The result of a request of the peer. */
    async function enforced({ ada, asGrace }: World, name: string, operation: string): Promise<string> {
      const sent = async (method: string, path: string, body?: unknown): Promise<string> => {
        const answer = await asGrace.request(method, path, body)
        const said = await answer.text()
        if (answer.status < 300) return 'yes'
        assert.equal(answer.status, 403, said)
        return said.includes('approval_required') ? 'ask' : 'no'
      }
      const path = `/properties/${name}`
      switch (operation) {
        case 'read':
          return sent('GET', path)
        case 'write': {
          if (name !== 'notes') return sent('PUT', path, name === 'settings' ? settings : 'blue')
          const written = await sent('PUT', `${path}/0`, '"x"')
          return written === 'no' && (await sent('POST', path, '"y"')) === 'yes' ? 'add' : written
        }
        case 'delete': {
          const result = await sent('DELETE', path)
          const again = { color: 'blue', settings, notes: { _type: 'list' } }[name]
          if (result === 'yes') {
            await ada.request('POST', '/properties', { [name]: again })
            if (name === 'notes') await ada.request('POST', '/properties/notes', '"first"')
          }
          return result
        }
        case 'call':
          return sent('POST', '/methods/weather', {})
        default:
          return sent('POST', `/actions/${name}`, {})
      }
    }

    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
      it(`says what the explanation, the sentence and the service say, seed ${seed} (R-PERM-01, R-WEB-02)`, async () => {
        const random = seeded(seed)
        const world = await open()
        const { ada, grace, browser, page } = world
        const rights = randomRights(random)
        const put = await ada.request('PUT', `/trust/friend/${grace.id}/permissions`, rights)
        assert.ok(put.status < 300, await put.text())
        const rows = await shown(world)
        const columns: Readonly<Record<string, readonly [category: string, operations: readonly string[]]>> = {
          color: ['properties', ['read', 'write', 'delete', 'subscribe']],
          settings: ['properties', ['read', 'write', 'delete', 'subscribe']],
          notes: ['properties', ['read', 'write', 'delete', 'subscribe']],
          weather: ['methods', ['call']],
          paint: ['actions', ['execute']],
          wipe: ['actions', ['execute']],
        }
        for (const [name, [category, asked]] of Object.entries(columns))
          for (const [at, operation] of asked.entries()) {
            const cell = rows[name]?.cells[at] ?? ''
            const what = `${operation} of ${name} with ${JSON.stringify(rights)}`
            const question = encodeURIComponent(`${category}.${operation}:${name}`)
            const explained = (await (
              await ada.request('GET', `/permissions/${grace.id}?explain=${question}`)
            ).json()) as { allowed: boolean; needs_approval?: true }
            const isAllowed = cell === 'yes' || cell === 'ask'
            assert.deepEqual([explained.allowed, explained.needs_approval === true], [isAllowed, cell === 'ask'], what)
            const sentence = await (await browser.get(`${page}?ask=${category}.${operation}&target=${name}`)).text()
            assert.equal(/<div class="answer (yes|no)"/.exec(sentence)?.[1], isAllowed ? 'yes' : 'no', what)
            if (operation !== 'subscribe') assert.equal(await enforced(world, name, operation), cell, what)
          }
      })
  })
})
