/** Nicknames that owners give their peers: on the pages, by the API, and hidden from the peers. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly browser: OwnersBrowser
  readonly peer: TestRelationship
  /** Path of the peer's page. */
  readonly page: string
}

forEachService((start) => {
  async function open(): Promise<World> {
    const service = await start()
    const owner = await service.createActor('ada@example.com')
    const peer = await relateTo(service, owner, {
      baseuri: 'https://garden.example/5f0c',
      peerId: '5f0c',
      facts: { peer_identifier: 'grace@example.com' },
    })
    return { service, owner, peer, browser: await OwnersBrowser.open(service, owner), page: '/trust/5f0c' }
  }

  const textOf = async (browser: OwnersBrowser, path: string): Promise<string> => (await browser.get(path)).text()
  const recordOf = async (owner: TestActor): Promise<Record<string, unknown>> =>
    (await (await owner.request('GET', '/trust/friend/5f0c')).json()) as Record<string, unknown>

  describe('a nickname', () => {
    it('replaces the name of the peer on the pages, which show the name that the peer chose as well', async () => {
      const { browser, page } = await open()
      assert.match(await textOf(browser, page), /<h1>grace@example\.com<\/h1>/)
      const answer = await browser.send(page, { action: 'nickname', nickname: '  Aunt \n Grace ' })
      assert.equal(answer.status, 302)
      const text = await textOf(browser, page)
      assert.match(text, /<h1>Aunt Grace<\/h1>/)
      assert.match(text, /<dt>Name they chose<\/dt><dd>grace@example\.com<\/dd>/)
      assert.match(text, /<summary>Change the nickname<\/summary>/)
      assert.match(text, /name="nickname" value="Aunt Grace"/)
      assert.match(await textOf(browser, '/trust'), />Aunt Grace<\/a>/)
      assert.ok(!(await textOf(browser, '/trust')).includes('grace@example.com'))
    })

    it('can be changed, and removed', async () => {
      const { browser, owner, page } = await open()
      await browser.send(page, { action: 'nickname', nickname: 'Aunt' })
      await browser.send(page, { action: 'nickname', nickname: 'Grandma' })
      assert.equal((await recordOf(owner))['nickname'], 'Grandma')
      await browser.send(page, { action: 'nickname', nickname: '' })
      assert.ok(!('nickname' in (await recordOf(owner))))
      assert.match(await textOf(browser, page), /<h1>grace@example\.com<\/h1>/)
    })

    it('of an app replaces the name that the app chose', async () => {
      const { service, owner, browser } = await open()
      const { peerId } = await authorizeClient(service, owner)
      const page = `/trust/${encodeURIComponent(peerId)}`
      assert.match(await textOf(browser, page), /<h1>A test client<\/h1>/)
      await browser.send(page, { action: 'nickname', nickname: 'Work laptop' })
      assert.match(await textOf(browser, page), /<h1>Work laptop<\/h1>/)
      assert.match(await textOf(browser, page), /<dd>A test client<\/dd>/)
    })

    it('shows hidden characters as their code points', async () => {
      const { browser, page } = await open()
      await browser.send(page, { action: 'nickname', nickname: 'Gra\u202ece' })
      assert.match(await textOf(browser, page), /<h1>Gra\[U\+202E\]ce<\/h1>/)
    })

    it('is never shown to the peer or to another peer', async () => {
      const { service, owner, peer } = await open()
      assert.equal((await owner.request('PUT', '/trust/friend/5f0c', { nickname: 'Aunt Grace' })).status, 204)
      assert.equal((await recordOf(owner))['nickname'], 'Aunt Grace')
      const own = await peer.request('GET', '/trust/friend/5f0c')
      assert.equal(own.status, 200)
      assert.ok(!(await own.text()).includes('Aunt'))
      const admin = await relateTo(service, owner, { relationship: 'admin' })
      const all = await admin.request('GET', '/trust')
      assert.equal(all.status, 200)
      const text = await all.text()
      assert.ok(text.includes('5f0c') && !text.includes('Aunt'))
    })

    it('cannot be set by a peer that may manage the actor', async () => {
      const { service, owner } = await open()
      const admin = await relateTo(service, owner, { relationship: 'admin' })
      const answer = await admin.request('PUT', '/trust/friend/5f0c', { nickname: 'My bank' })
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /Cannot change the nickname of the peer: only the owner may/)
      assert.ok(!('nickname' in (await recordOf(owner))))
    })

    it('of more than 80 characters is refused, and the page keeps what was typed', async () => {
      const { owner, browser, page } = await open()
      const long = 'n'.repeat(81)
      for (const nickname of [long, 7, null])
        assert.equal((await owner.request('PUT', '/trust/friend/5f0c', { nickname })).status, 400)
      const answer = await browser.send(page, { action: 'nickname', nickname: long })
      assert.equal(answer.status, 400)
      const text = await answer.text()
      assert.match(text, /<details id="rename" open>/)
      assert.match(text, new RegExp(`value="${long}"[^>]* aria-invalid="true"`))
      assert.match(text, /Use at most 80 characters\./)
      assert.ok(!('nickname' in (await recordOf(owner))))
    })

    it('stays when the connection changes otherwise', async () => {
      const { owner } = await open()
      await owner.request('PUT', '/trust/friend/5f0c', { nickname: 'Aunt Grace' })
      await owner.request('PUT', '/trust/friend/5f0c', { approved: false, desc: 'From the garden' })
      const { nickname, desc, approved } = await recordOf(owner)
      assert.deepEqual(
        { nickname, desc, approved },
        { nickname: 'Aunt Grace', desc: 'From the garden', approved: false },
      )
    })
  })
})
