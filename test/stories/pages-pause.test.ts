/** Programs and API keys on the page of connected apps: their calls, and how the owner pauses and resumes them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from 'hono/html'
import type { PageValues } from '../../src/pages.ts'
import { authorizeClient, type TestClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly browser: OwnersBrowser
  /** The values of the page now. */
  readonly shown: () => Promise<PageValues<'apps'>>
  /** The values of every page so far. */
  readonly pages: readonly PageValues<'apps'>[]
}

const read = { properties: { patterns: ['*'], operations: ['read'] } } as const

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const pages: PageValues<'apps'>[] = []
    const service = await start({
      activityPerActor: 1000,
      declare: (app) =>
        app
          .trustType({
            name: 'planner',
            display_name: 'Planner',
            description: 'Plans',
            permissions: { tools: { allowed: ['*'] } },
          })
          .action('push', { mcp: true }, () => ({})),
      pages: { apps: (values) => (pages.push(values), html`apps`) },
      ...options,
    })
    const owner = await service.createActor('ada@example.com')
    await owner.request('PUT', '/properties/room', '"kitchen"')
    const browser = await OwnersBrowser.open(service, owner)
    const shown = async (): Promise<PageValues<'apps'>> => {
      await (await service.app.running()).parts.auditLog.flush()
      assert.equal((await browser.get('/apps')).status, 200)
      return pages.at(-1) ?? assert.fail()
    }
    return { service, owner, browser, shown, pages }
  }

  async function createKey(owner: TestActor, until?: string): Promise<{ id: string; key: string }> {
    const answer = await owner.request('POST', '/keys', {
      name: 'Sensor',
      grants: read,
      ...(until === undefined ? {} : { until }),
    })
    assert.equal(answer.status, 201)
    return (await answer.json()) as { id: string; key: string }
  }

  async function statusOf({ service, owner }: World, key: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}` }
    return (await service.request(`/${owner.id}/properties/room`, { headers })).status
  }

  const toolsOf = async (client: TestClient): Promise<number> => {
    const answer = await client.legacy('tools/list')
    assert.equal(answer.status, 200)
    return (answer.body as { result: { tools: unknown[] } }).result.tools.length
  }

  const stateOf = (page: PageValues<'apps'>): readonly (readonly boolean[])[] =>
    [...page.groups.flatMap(({ apps }) => apps), ...page.keys].map(({ is_approved, can_pause, can_resume }) => [
      is_approved,
      can_pause,
      can_resume,
    ])

  describe('a connected app on its page', () => {
    it('is paused and resumed with the next request', async () => {
      const world = await open()
      const { browser, owner, shown, service } = world
      const client = await authorizeClient(service, owner, { relationship: 'planner' })
      assert.equal(await toolsOf(client), 1)
      assert.deepEqual(stateOf(await shown()), [[true, true, false]])
      const paused = await browser.send('/apps', { action: 'pause', peerid: client.peerId })
      assert.deepEqual([paused.status, paused.headers.get('location')], [302, `${service.url}/${owner.id}/www/apps`])
      assert.equal(await toolsOf(client), 0)
      const after = await shown()
      assert.deepEqual(stateOf(after), [[false, false, true]])
      // A paused program asks for nothing.
      assert.equal(after.waiting_count, 0)
      const peer = new RegExp(`/trust/${encodeURIComponent(client.peerId)}"`)
      assert.doesNotMatch(await (await browser.get('/requests')).text(), peer)
      assert.doesNotMatch(await (await browser.get('/trust')).text(), /class="card urgent"/)
      assert.equal((await browser.send('/apps', { action: 'resume', peerid: client.peerId })).status, 302)
      assert.equal(await toolsOf(client), 1)
      assert.deepEqual(stateOf(await shown()), [[true, true, false]])
    })

    it('shows the calls of seven days, without those of others', async () => {
      let time = Date.UTC(2030, 0, 1)
      const world = await open({ now: () => time })
      const { owner, shown, service, pages } = world
      const { key } = await createKey(owner)
      const other = await createKey(owner)
      for (let call = 0; call < 3; call++) await statusOf(world, key)
      await statusOf(world, other.key)
      assert.deepEqual(new Set((await shown()).keys.map(({ calls }) => calls)), new Set([1, 3]))
      time += 6 * 86_400_000
      await statusOf(world, key)
      time += 86_400_001
      const browser = await OwnersBrowser.open(service, owner)
      await (await service.app.running()).parts.auditLog.flush()
      assert.equal((await browser.get('/apps')).status, 200)
      assert.deepEqual(
        pages
          .at(-1)
          ?.keys.map(({ calls }) => calls)
          .toSorted(),
        [0, 1],
      )
    })

    for (const [what, options] of [
      ['is off', { activityPerActor: 0 }],
      ['keeps fewer than seven days', { activityDays: 6 }],
    ] as const)
      it(`shows no number of calls while the activity ${what}`, async () => {
        const { owner, shown } = await open(options)
        await createKey(owner)
        assert.deepEqual(
          (await shown()).keys.map(({ calls }) => calls),
          [null],
        )
      })
  })

  describe('an API key on the page of connected apps', () => {
    it('is paused and resumed with its rights', async () => {
      const world = await open()
      const { browser, owner, shown } = world
      const { id, key } = await createKey(owner)
      assert.equal((await browser.send('/apps', { action: 'pause', peerid: id })).status, 302)
      assert.equal(await statusOf(world, key), 403)
      assert.deepEqual(stateOf(await shown()), [[false, false, true]])
      assert.equal((await browser.send('/apps', { action: 'resume', peerid: id })).status, 302)
      assert.equal(await statusOf(world, key), 200)
    })

    it('with an end is not paused, because resuming it would remove the end', async () => {
      const world = await open()
      const { browser, owner, shown } = world
      const { id, key } = await createKey(owner, '2100-01-01T00:00:00Z')
      assert.deepEqual(stateOf(await shown()), [[true, false, false]])
      assert.equal((await browser.send('/apps', { action: 'pause', peerid: id })).status, 409)
      assert.equal(await statusOf(world, key), 200)
      const [kept] = (await (await owner.request('GET', '/keys')).json()) as { until: string }[]
      assert.equal(kept?.until, '2100-01-01T00:00:00.000Z')
    })
  })

  describe('the form that pauses and resumes', () => {
    it('refuses what is not a program, what is in that state already, and another site', async () => {
      const world = await open()
      const { service, owner, browser, shown } = world
      const peer = await relateTo(service, owner)
      const { id, key } = await createKey(owner)
      for (const [fields, status] of [
        [{ action: 'pause', peerid: peer.peerId }, 409],
        [{ action: 'resume', peerid: peer.peerId }, 409],
        [{ action: 'resume', peerid: id }, 409],
        [{ action: 'pause', peerid: 'none' }, 404],
        [{ action: 'pause' }, 404],
      ] as const)
        assert.equal((await browser.send('/apps', fields)).status, status, JSON.stringify(fields))
      const foreign = { 'sec-fetch-site': 'cross-site' }
      assert.equal((await browser.send('/apps', { action: 'pause', peerid: id }, foreign)).status, 403)
      assert.equal(await statusOf(world, key), 200)
      assert.deepEqual(stateOf(await shown()), [[true, true, false]])
    })

    it('resumes no program whose access level needs a typed confirmation', async () => {
      const { service, owner, browser, shown } = await open()
      const client = await authorizeClient(service, owner, { relationship: 'admin' })
      assert.equal((await browser.send('/apps', { action: 'pause', peerid: client.peerId })).status, 302)
      assert.deepEqual(stateOf(await shown()), [[false, false, false]])
      assert.equal((await browser.send('/apps', { action: 'resume', peerid: client.peerId })).status, 409)
      assert.equal(await toolsOf(client), 0)
    })
  })
})
