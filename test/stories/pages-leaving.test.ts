import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relate } from '../support/friends.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { untilEqual } from '../support/until.ts'

forEachService((start) => {
  interface World {
    readonly service: TestService
    readonly actor: TestActor
    readonly browser: OwnersBrowser
    readonly events: string[]
  }

  async function open(): Promise<World> {
    const events: string[] = []
    const service = await start({
      listen: true,
      declare: (app) => app.on('actor_deleted', ({ actor }) => events.push(`deleted ${actor.id}`)),
    })
    const actor = await service.createActor('Ada@example.com')
    return { service, actor, browser: await OwnersBrowser.open(service, actor), events }
  }

  const cleared = (answer: Response): string[] =>
    answer.headers
      .getSetCookie()
      .filter((cookie) => cookie.includes('Max-Age=0'))
      .map((cookie) => cookie.slice(0, cookie.indexOf('=')))

  describe('the form that deletes the actor', () => {
    for (const typed of ['ada@example.com', ' ADA@example.com ']) {
      it(`accepts the owner’s name “${typed}” as confirmation, and redirects to the front page (R-PAGE-27, R-ACT-07)`, async () => {
        const { service, actor, browser, events } = await open()
        const peer = await service.createActor('peer@example.com')
        await relate(peer, [service, actor])
        const answer = await browser.send('/settings', { action: 'delete', confirmation: typed })
        assert.equal(answer.status, 302)
        assert.equal(answer.headers.get('location'), `${service.url}/`)
        assert.ok(cleared(answer).includes('oauth_token'))
        assert.deepEqual(events, [`deleted ${actor.id}`])
        assert.equal((await actor.request('GET', '')).status, 404)
        assert.equal((await browser.get('')).status, 404)
        await untilEqual(
          async () => (await peer.request('GET', '/trust')).json(),
          () => [],
        )
      })
    }

    for (const [what, fields, sentence] of [
      [
        'another name',
        { action: 'delete', confirmation: 'grace@example.com' },
        'That doesn’t match. Type ada@example.com exactly to delete your account.',
      ],
      ['no name', { action: 'delete' }, 'That doesn’t match. Type ada@example.com exactly to delete your account.'],
      ['no action', { confirmation: 'ada@example.com' }, 'the action is neither name, appearance nor delete'],
      [
        'another action',
        { action: 'end', confirmation: 'ada@example.com' },
        'the action is neither name, appearance nor delete',
      ],
    ] as const) {
      it(`deletes nothing and shows the settings again for ${what} (R-PAGE-27, R-ACT-07)`, async () => {
        const { actor, browser, events } = await open()
        const answer = await browser.send('/settings', fields)
        assert.equal(answer.status, 400)
        const page = await answer.text()
        assert.match(page, /<h1>Settings<\/h1>/)
        assert.ok(page.includes(sentence), page)
        assert.deepEqual(events, [])
        assert.equal((await actor.request('GET', '')).status, 200)
      })
    }

    it('is rejected when no page of the service sent it (R-PAGE-27)', async () => {
      const { actor, browser, events } = await open()
      const fields = { action: 'delete', confirmation: 'ada@example.com' }
      assert.equal((await browser.send('/settings', fields, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.deepEqual(events, [])
      assert.equal((await actor.request('GET', '')).status, 200)
    })
  })
})
