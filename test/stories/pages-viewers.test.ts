/** The people and apps that can view a property, on its page. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from 'hono/html'
import type { PageValues } from '../../src/pages.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** Who the page of the property names. */
  readonly viewersOf: (property: string) => Promise<readonly (readonly [name: string, canEdit: boolean])[] | null>
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const shown: PageValues<'property'>[] = []
    const service = await start({
      declare: (app) =>
        app
          .trustType({
            name: 'reader',
            display_name: 'Reader',
            description: 'Views notes',
            permissions: { properties: { patterns: ['notes', 'notes/*'], operations: ['read'] } },
          })
          .trustType({
            name: 'writer',
            display_name: 'Writer',
            description: 'Adds to notes and views a part of settings',
            permissions: { properties: { patterns: ['notes', 'settings/theme'], operations: ['read', 'append'] } },
          }),
      pages: { property: (values) => (shown.push(values), html`property`) },
      ...options,
    })
    const actor = await service.createActor('ada@example.com')
    await actor.request('POST', '/properties', { notes: { a: 1 }, settings: { theme: 'dark' }, diary: 'x' })
    const browser = await OwnersBrowser.open(service, actor)
    const viewersOf: World['viewersOf'] = async (property) => {
      assert.equal((await browser.get(`/properties/${property}?viewers=1`)).status, 200)
      return (shown.at(-1)?.viewers ?? null)?.map(({ peer, can_edit }) => [peer.name, can_edit] as const) ?? null
    }
    return { service, actor, browser, viewersOf }
  }

  const named = (name: string) => ({ facts: { peer_identifier: name } })

  describe('the viewers on the page of a property', () => {
    it('are those whom the permission checks allow now, with what they can do', async () => {
      const { service, actor, viewersOf } = await open()
      await relateTo(service, actor, { relationship: 'reader', ...named('Rita') })
      const writer = await relateTo(service, actor, { relationship: 'writer', ...named('Walt') })
      await relateTo(service, actor, { relationship: 'writer', approved: false, ...named('Not yet') })
      assert.deepEqual(await viewersOf('notes'), [
        ['Rita', false],
        ['Walt', true],
      ])
      assert.deepEqual(await viewersOf('settings'), [['Walt', true]])
      assert.deepEqual(await viewersOf('diary'), [])
      const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
      await handle.trust.grant(writer.peerId, { properties: { patterns: ['diary'], operations: ['read'] } })
      assert.deepEqual(await viewersOf('diary'), [['Walt', false]])
    })

    it('contain apps and API keys', async () => {
      const { service, actor, viewersOf } = await open()
      await authorizeClient(service, actor, { relationship: 'reader' })
      const made = await actor.request('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['notes'], operations: ['read', 'write'] } },
      })
      assert.equal(made.status, 201)
      assert.deepEqual(await viewersOf('notes'), [
        ['A test client', false],
        ['Sensor', true],
      ])
    })

    it('are read only when the owner asks, and are at most 100', async () => {
      const { service, actor, browser } = await open({ pages: {} })
      const plain = await (await browser.get('/properties/notes')).text()
      assert.match(
        plain,
        new RegExp(`<a href="/${actor.id}/www/properties/notes\\?viewers=1#viewers">Who can view this\\?</a>`),
      )
      for (let n = 0; n < 103; n++) await relateTo(service, actor, { relationship: 'reader', ...named(`Reader ${n}`) })
      const count = async (path: string): Promise<number> => {
        service.reset()
        assert.equal((await browser.get(path)).status, 200)
        return service.statements.length
      }
      const many = await (await browser.get('/properties/notes?viewers=1')).text()
      assert.equal(many.match(/<span class="person">/g)?.length, 100)
      assert.match(many, /3 more not shown\./)
      const own = await (await browser.get('/properties/diary?viewers=1')).text()
      assert.match(own, /<h2 id="viewers-title">Who can view this<\/h2>\s*<p>Only you<\/p>/)
      const base = await count('/properties/notes')
      assert.equal(await count('/properties/notes?viewers=1'), base + 4)
    })
  })
})
