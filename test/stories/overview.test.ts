import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { type App, html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const hour = 3_600_000

/** The cells of the access table by person and place, as the page shows them. */
type Table = Readonly<Record<string, Readonly<Record<string, string>>>>

function tableOf(page: string): Table {
  const [, table = ''] = /<div class="table".*?>(<table>.*?<\/table>)/s.exec(page) ?? []
  const textOf = (cell: string): string => cell.replace(/<br>.*/s, '').replaceAll(/<[^>]*>/g, '')
  const rows = [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
  )
  const [[, ...places] = [], ...people] = rows
  return Object.fromEntries(
    people.map(([person = '', ...cells]) => [
      person,
      Object.fromEntries(places.map((place, n) => [place, cells[n] ?? ''])),
    ]),
  )
}

const words = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

const names = ['p', 'q', 'l', 'secret']
const patterns = ['*', 'p', 'p/*', 'p/a', 'q', 'q/b', 'l', 'l/*', 'se*', '?', 'secret', 'none']
const list = fc.array(fc.constantFrom(...patterns), { maxLength: 3 })
const operations = fc.subarray(['read', 'append', 'write', 'delete'])
const calls = fc.record(
  { allowed: fc.array(fc.constantFrom('*', 'run', 'ask')), denied: fc.array(fc.constantFrom('run', 'ask', 'a*')) },
  { requiredKeys: [] },
)
const override = fc.record({
  properties: fc.record(
    {
      patterns: list,
      operations,
      excluded_patterns: list,
      allowed: fc.array(fc.constantFrom(...patterns), { maxLength: 1 }),
      denied: fc.array(fc.constantFrom('p/a', 'secret', 'q', 'l/*'), { maxLength: 1 }),
      grants: fc.array(
        fc.record({
          pattern: fc.constantFrom(...patterns),
          operations: fc.subarray(['read', 'write'], { minLength: 1 }),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
  methods: calls,
  actions: calls,
})

const declare = (app: App): void => {
  app.trustType({ name: 'guest', display_name: 'Guest', description: 'Reads nothing by itself', permissions: {} })
  app.action('run', { mcp: true }, () => ({ done: true }))
  app.action('ask', { mcp: true, confirm: 'owner', input: z.object({}) }, () => ({ done: true }))
}

forEachService((start, dialect) => {
  interface World {
    readonly service: TestService
    readonly actor: TestActor
    readonly page: () => Promise<string>
    readonly values: () => Promise<PageValues<'dashboard'>>
  }

  /** @param withValues Replaces the page by a function that records its values. */
  async function open(options: StartOptions = {}, withValues = false): Promise<World> {
    const shown: PageValues<'dashboard'>[] = []
    const service = await start({
      declare,
      ...options,
      ...(withValues
        ? { pages: { dashboard: (values: PageValues<'dashboard'>) => (shown.unshift(values), html`overview`) } }
        : {}),
    })
    const actor = await service.createActor('ada@example.com')
    let browser = await OwnersBrowser.open(service, actor)
    const page = async (): Promise<string> => {
      let answer = await browser.get('')
      // The session expires in tests that set the clock.
      if (answer.status === 401) {
        browser = await OwnersBrowser.open(service, actor)
        answer = await browser.get('')
      }
      assert.equal(answer.status, 200)
      return answer.text()
    }
    const values = async (): Promise<PageValues<'dashboard'>> => {
      await page()
      const [latest] = shown
      assert.ok(latest !== undefined)
      return latest
    }
    return { service, actor, page, values }
  }

  const content = { p: { a: 1, b: 2 }, q: { a: 1 }, secret: 'x' }

  async function furnish(actor: TestActor): Promise<void> {
    await actor.request('DELETE', '/properties/l')
    const answer = await actor.request('POST', '/properties', { ...content, l: { _type: 'list' } })
    assert.equal(answer.status, 201)
  }

  const mayGet = async (peer: TestRelationship, path: string): Promise<boolean> =>
    (await peer.request('GET', path)).status !== 403
  const mayPut = async (peer: TestRelationship, path: string, body: unknown): Promise<boolean> =>
    (await peer.request('PUT', path, body)).status !== 403

  /** The word for what the requests of the peer may do with a property. */
  async function enforced(actor: TestActor, peer: TestRelationship, name: string): Promise<string> {
    const path = `/properties/${name}`
    const value = name === 'l' ? 'a value' : (content as Readonly<Record<string, unknown>>)[name]
    const mayEdit = await mayPut(peer, path, value)
    if (mayEdit) {
      await furnish(actor)
      return 'Edit'
    }
    return (await mayGet(peer, path)) ? 'View' : 'No access'
  }

  async function enforcedCalls(peer: TestRelationship): Promise<string> {
    const statuses = { run: (await peer.request('POST', '/actions/run', {})).status, ask: 0 }
    const asked = await peer.request('POST', '/actions/ask', {})
    const { error } = (await asked.json()) as { error?: { code?: string } | string }
    const asks = JSON.stringify(error).includes('approval')
    if (statuses.run === 200) return asks ? 'Run, some ask first' : 'Run'
    return asks ? 'Asks first' : 'No access'
  }

  describe('the access map of the overview', () => {
    it('shows what the requests of each peer may do, for any rules (ACL-05)', async () => {
      const { service, actor, page } = await open()
      await furnish(actor)
      const peers = [
        await relateTo(service, actor, { relationship: 'guest', facts: { peer_identifier: 'one' } }),
        await relateTo(service, actor, { relationship: 'guest', facts: { peer_identifier: 'two' } }),
      ]
      await fc.assert(
        fc.asyncProperty(override, override, async (first, second) => {
          for (const [index, rules] of [first, second].entries()) {
            const path = `/trust/guest/${peers[index]?.peerId}/permissions`
            assert.ok((await actor.request('PUT', path, rules)).ok)
          }
          const table = tableOf(await page())
          for (const [index, peer] of peers.entries()) {
            const row = table[['one', 'two'][index] ?? ''] ?? {}
            assert.deepEqual(Object.keys(row), ['l', 'p', 'q', 'secret', 'Actions and tools'])
            for (const name of names) {
              const expected = await enforced(actor, peer, name)
              // Requests for the whole property are refused where only a part of it is allowed.
              assert.equal(row[name] === 'In part' ? 'No access' : row[name], expected, `${index} ${name}`)
              const mayPart =
                (await mayGet(peer, `/properties/${name}/a`)) || (await mayGet(peer, `/properties/${name}/b`))
              if (row[name] === 'No access' && name !== 'l') assert.equal(mayPart, false, `${index} a part of ${name}`)
            }
            assert.equal(row['Actions and tools'], await enforcedCalls(peer))
          }
        }),
        { numRuns: dialect === 'sqlite' ? 25 : 6, seed: 76, endOnFailure: true },
      )
    })

    it('shows the most access to any of the properties that have no place of their own (ACL-05)', async () => {
      const { service, actor, page } = await open()
      await actor.request('POST', '/properties', Object.fromEntries('abcdefghij'.split('').map((name) => [name, name])))
      const peer = await relateTo(service, actor, { relationship: 'guest', facts: { peer_identifier: 'one' } })
      const set = async (grants: object[]): Promise<void> => {
        const path = `/trust/guest/${peer.peerId}/permissions`
        assert.ok((await actor.request('PUT', path, { properties: { grants } })).ok)
      }
      await set(['c', 'd', 'e', 'f', 'g', 'h', 'j'].map((pattern) => ({ pattern, operations: ['read'] })))
      assert.deepEqual(tableOf(await page())['one'], {
        c: 'View',
        d: 'View',
        e: 'View',
        f: 'View',
        g: 'View',
        h: 'View',
        'Everything else': 'View',
        'Actions and tools': 'No access',
      })
      await set(['c', 'd', 'e', 'f', 'g', 'h'].map((pattern) => ({ pattern, operations: ['write'] })))
      const row = tableOf(await page())['one'] ?? {}
      assert.deepEqual([row['h'], row['Everything else']], ['Edit', 'No access'])
      assert.equal((await peer.request('GET', '/properties/j')).status, 403)
    })

    it('shows only approved relationships, until their approval ends or is withdrawn (ACL-05)', async () => {
      let time = Date.UTC(2030, 0, 1)
      const { service, actor, page } = await open({ now: () => time, timers: new ManualClock().timers })
      await actor.request('PUT', '/properties/p', 'x')
      const peer = await relateTo(service, actor, { facts: { peer_identifier: 'friend' } })
      await relateTo(service, actor, { facts: { peer_identifier: 'asking' }, approved: false })
      const guest = await relateTo(service, actor, { relationship: 'guest', facts: { peer_identifier: 'guest' } })
      const handle = await service.app.actors.get(actor.id)
      await handle?.trust.grant(guest.peerId, {
        properties: { patterns: ['p'], operations: ['read'] },
        until: new Date(time + hour),
      })
      const access = async (): Promise<Table> =>
        Object.fromEntries(Object.entries(tableOf(await page())).map(([who, row]) => [who, { p: row['p'] ?? '' }]))
      assert.deepEqual(await access(), { friend: { p: 'Edit' }, guest: { p: 'View' } })
      const approval = { approved: true, approved_until: new Date(time + 2 * hour).toISOString() }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}`, approval)).ok)
      time += hour
      assert.deepEqual(await access(), { friend: { p: 'Edit' }, guest: { p: 'No access' } })
      time += hour
      assert.deepEqual(await access(), { guest: { p: 'No access' } })
      assert.ok((await actor.request('PUT', `/trust/guest/${guest.peerId}`, { approved: false })).ok)
      // Without anyone who has access, the page shows the first steps.
      assert.deepEqual(await access(), {})
      assert.match(
        words(await page()),
        /Get started Add your first data \(Done\) Connect with someone \(Done\) Connect an app/,
      )
    })

    it('shows an AI client until the access that its application declared ends (ACL-05)', async () => {
      let time = Date.UTC(2030, 0, 1)
      const { service, actor, page } = await open({ now: () => time, timers: new ManualClock().timers })
      await actor.request('PUT', '/properties/p', 'x')
      await relateTo(service, actor, { facts: { peer_identifier: 'friend' } })
      const handle = await service.app.actors.get(actor.id)
      await handle?.clients.create({ name: 'A scale', until: new Date(time + hour) })
      assert.deepEqual(Object.keys(tableOf(await page())).toSorted(), ['A scale', 'friend'])
      time += hour
      assert.deepEqual(Object.keys(tableOf(await page())), ['friend'])
    })

    it('shows the 8 people and apps that were active most recently, and counts the others (R-PAGE-25)', async () => {
      let time = Date.UTC(2030, 0, 1)
      const { service, actor, values } = await open({ now: () => time }, true)
      await actor.request('PUT', '/properties/p', 'x')
      const peers: TestRelationship[] = []
      for (let index = 0; index < 9; index++)
        peers.push(await relateTo(service, actor, { facts: { peer_identifier: `peer ${index}` } }))
      for (const index of [3, 8, 0]) {
        time += hour
        await peers[index]?.request('GET', '/properties/p')
        await service.settled()
      }
      const map = (await values()).access_map
      assert.deepEqual(map?.people.map(({ name }) => name).slice(0, 3), ['peer 0', 'peer 8', 'peer 3'])
      assert.deepEqual([map?.people.length, map?.other_people], [8, 1])
    })

    it('needs the same number of statements for 1 and for 50 peers (R-PAGE-26)', async () => {
      const { service, actor, page } = await open({ activityPerActor: 1000 })
      await furnish(actor)
      const cost = async (): Promise<number> => {
        await page()
        service.reset()
        await page()
        return service.statements.length
      }
      await relateTo(service, actor, { relationship: 'guest' })
      const one = await cost()
      for (let index = 0; index < 50; index++) {
        const peer = await relateTo(service, actor, { relationship: 'guest' })
        await actor.request('PUT', `/trust/guest/${peer.peerId}/permissions`, { properties: ['p'] })
        await peer.subscribe({ granularity: 'none' })
      }
      await actor.request('POST', '/properties', Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`n${n}`, n])))
      assert.equal(await cost(), one)
    })
  })

  describe('the overview', () => {
    it('counts the requests of the last 14 days, and the denied ones (R-PAGE-25)', async () => {
      let time = Date.UTC(2030, 0, 20, 12)
      const { service, actor, values, page } = await open({ now: () => time, activityPerActor: 1000 }, true)
      await actor.request('PUT', '/properties/p', 'x')
      const peer = await relateTo(service, actor, { relationship: 'associate' })
      await peer.request('GET', '/meta')
      time += 24 * hour
      await peer.request('GET', '/properties/p')
      await peer.request('GET', '/properties')
      await writtenAuditLog(service)
      const { activity } = await values()
      assert.equal(activity?.length, 14)
      assert.deepEqual(activity?.slice(-3), [
        { day: '2030-01-19', words: '19 Jan 2030', requests: 0, denied: 0 },
        { day: '2030-01-20', words: '20 Jan 2030', requests: 1, denied: 0 },
        { day: '2030-01-21', words: '21 Jan 2030', requests: 2, denied: 1 },
      ])
      assert.equal(await page(), 'overview')
    })

    it('is at most 40 kB at the first load, with its style sheet, script and logo (R-PAGE-26)', async () => {
      const { service, actor, page } = await open({ activityPerActor: 1000 })
      await furnish(actor)
      for (const name of ['Grace Hopper', 'Niklaus Wirth', 'Mary Shelley'])
        await relateTo(service, actor, { facts: { peer_identifier: name } })
      const shown = await page()
      const assets = new Set(shown.match(/\/assets\/[\w.-]+/g))
      assert.equal(assets.size, 4)
      const sizes = [Buffer.byteLength(shown)]
      for (const path of assets) sizes.push((await (await service.request(path)).arrayBuffer()).byteLength)
      const total = sizes.reduce((sum, size) => sum + size, 0)
      assert.ok(total <= 40_000, `${total} bytes: ${sizes.join(', ')}`)
    })

    it('says that the activity is off (R-PAGE-25)', async () => {
      const { page } = await open({ activityPerActor: 0 })
      assert.match(words(await page()), /Activity, 14 days Activity is turned off for this service\./)
    })

    it('shows the first steps of a new account, and ticks those that are done (R-PAGE-25)', async () => {
      const { actor, page } = await open()
      assert.match(
        words(await page()),
        /Get started Add your first data Store text.* Connect with someone Share data .* Connect an app Give/,
      )
      await actor.request('PUT', '/properties/p', 'x')
      assert.match(words(await page()), /Get started Add your first data \(Done\) Connect with someone Share data/)
    })

    it('names the subscriptions whose updates do not arrive, and so does the page of the peer (R-PAGE-25, R-PAGE-18)', async () => {
      const remote = await new RecordingPeer().start()
      try {
        const { service, actor, values } = await open({ allowPrivatePeers: true }, true)
        const peer = await relateTo(service, actor, {
          baseuri: `${remote.url}/peer`,
          facts: { peer_identifier: 'Grace' },
        })
        const id = await peer.subscribe({ granularity: 'high' })
        await actor.request('PUT', '/properties/p', 'x')
        await service.settled()
        const before = await values()
        assert.deepEqual([before.subscriber_count, before.undelivered], [1, []])
        const browser = await OwnersBrowser.open(service, actor)
        const onPeer = async (): Promise<string[]> => {
          const shown = await (await browser.get(`/trust/${peer.peerId}`)).text()
          return [...shown.matchAll(/<p class="warning">(<a .*?)<\/p>/gs)].map(([, text = '']) => text)
        }
        assert.deepEqual(await onPeer(), [])
        remote.replies = [400]
        await actor.request('PUT', '/properties/p', 'y')
        await service.settled()
        const href = `/${actor.id}/www/subscriptions/${peer.peerId}/${id}`
        assert.deepEqual((await values()).undelivered, [{ text: 'Grace · All properties: 1 failed', href }])
        assert.deepEqual(await onPeer(), [`<a href="${href}">Grace · All properties: 1 failed</a>`])
      } finally {
        await remote.stop()
      }
    })

    it('counts devices and names the one that shows it, with the addresses to copy (R-PAGE-25)', async () => {
      const { service, actor, page } = await open()
      await OwnersBrowser.open(service, actor)
      const shown = await page()
      assert.match(words(shown), / Devices 2 This one: /)
      assert.ok(shown.includes(`<code id="account-url">http://troupe.test/${actor.id}</code>`))
      assert.ok(shown.includes('<code id="mcp-url">http://troupe.test/mcp</code>'))
      assert.match(shown, /data-copy="mcp-url" data-copied="Copied"/)
    })
  })
})
