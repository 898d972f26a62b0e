/** The listing of connections: its search, its kinds and its order. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from 'hono/html'
import type { PageValues } from '../../src/pages.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

type Values = PageValues<'trust'>

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly shown: (query?: string) => Promise<Values>
  readonly names: (query?: string) => Promise<readonly string[]>
}

forEachService((start) => {
  async function open(): Promise<World> {
    const pages: Values[] = []
    const service = await start({ pages: { trust: (values) => (pages.push(values), html`trust`) } })
    const owner = await service.createActor('ada@example.com')
    const browser = await OwnersBrowser.open(service, owner)
    const shown = async (query = ''): Promise<Values> => {
      assert.equal((await browser.get(`/trust${query}`)).status, 200)
      return pages.at(-1) ?? assert.fail()
    }
    const names = async (query = ''): Promise<readonly string[]> =>
      (await shown(query)).trusts.map(({ peer }) => peer.name)
    return { service, owner, shown, names }
  }

  /** Three people, of whom one waits and one is paused, and an app. */
  async function furnish({ service, owner }: World): Promise<void> {
    const people = [
      ['grace', 'friend', true],
      ['alan', 'partner', true],
      ['mary', 'associate', false],
    ] as const
    for (const [name, relationship, approved] of people)
      await relateTo(service, owner, {
        baseuri: `https://${name}.example/${name}`,
        peerId: name,
        relationship,
        approved,
        facts: { peer_identifier: `${name}@example.com` },
      })
    const { store } = await service.app.running()
    await store.writeActor(owner.id, (tx) =>
      tx.run('UPDATE trust SET approved = 0, peer_approved = 0 WHERE actor_id = $1 AND peer_id = $2', owner.id, 'alan'),
    )
    await authorizeClient(service, owner)
  }

  describe('the listing of connections', () => {
    it('has a filter for each kind that exists, with its number', async () => {
      const world = await open()
      await furnish(world)
      const { kinds, connection_count } = await world.shown()
      assert.deepEqual(
        kinds.map(({ name, count, is_current }) => [name, count, is_current]),
        [
          ['All', 4, true],
          ['People', 3, false],
          ['Apps', 1, false],
          ['Pending', 1, false],
          ['Paused', 1, false],
        ],
      )
      assert.equal(connection_count, 4)
    })

    it('shows one kind, and keeps it in the links', async () => {
      const world = await open()
      await furnish(world)
      assert.deepEqual(await world.names('?kind=apps'), ['A test client'])
      assert.deepEqual(await world.names('?kind=waiting'), ['mary@example.com'])
      assert.deepEqual(await world.names('?kind=paused'), ['alan@example.com'])
      const { address, columns, paging } = await world.shown('?kind=people')
      assert.equal(paging.total, 3)
      assert.equal(address, `/${world.owner.id}/www/trust?kind=people`)
      assert.deepEqual(
        columns.map(({ name, order, href }) => [name, order, href.slice(href.indexOf('?'))]),
        [
          ['name', null, '?kind=people&sort=name&order=ascending'],
          ['level', null, '?kind=people&sort=level&order=ascending'],
          ['state', null, '?kind=people&sort=state&order=ascending'],
          ['active', 'descending', '?kind=people&order=ascending'],
        ],
      )
    })

    it('finds a name, a nickname, an address and an access level', async () => {
      const world = await open()
      await furnish(world)
      await world.owner.request('PUT', '/trust/friend/grace', { nickname: 'Aunt' })
      assert.deepEqual(await world.names('?q=AUNT'), ['Aunt'])
      assert.deepEqual(await world.names('?q=grace@'), ['Aunt'])
      assert.deepEqual(await world.names('?q=mary.example'), ['mary@example.com'])
      assert.deepEqual(await world.names('?q=partner'), ['alan@example.com'])
      assert.deepEqual(await world.names('?q=nothing+like+this'), [])
      assert.equal((await world.shown('?q=AUNT')).search, 'AUNT')
    })

    it('sorts by a column in both orders', async () => {
      const world = await open()
      await furnish(world)
      const byName = ['A test client', 'alan@example.com', 'grace@example.com', 'mary@example.com']
      assert.deepEqual(await world.names('?sort=name&order=ascending'), byName)
      assert.deepEqual(await world.names('?sort=name&order=descending'), byName.toReversed())
      assert.equal((await world.names())[0], 'A test client')
    })

    it('ignores a kind and an order that do not exist', async () => {
      const world = await open()
      await furnish(world)
      assert.equal((await world.shown('?kind=x&sort=x&order=x')).trusts.length, 4)
    })

    it('shows the picture of the latest connections whatever is searched', async () => {
      const world = await open()
      await furnish(world)
      assert.equal((await world.shown('?q=nothing+like+this')).latest.length, 4)
    })
  })
})
