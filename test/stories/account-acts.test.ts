/** Acts of operators for one account, on the pages: a link to sign in, the reset of limits, and the deletion. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Kind } from '../../src/app/kinds/kind.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { type OperatedService, operatedService } from '../support/operated-service.ts'
import { basic, forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { sharedProvider, TestBrowser } from '../support/sign-in.ts'
import { until } from '../support/until.ts'

const shareOfProvider = sharedProvider()

forEachService((start) => {
  type World = OperatedService

  const open = async (options?: StartOptions): Promise<World> =>
    operatedService(start, await shareOfProvider(), options)

  const acts = ({ operator }: World, of: string, form: Record<string, string>): Promise<Response> =>
    operator.post(`/admin/actors/${of}`, form)

  /** Makes a link as the operator, and returns its path. */
  async function linkOf(world: World, of = world.id): Promise<string> {
    const answer = await acts(world, of, { action: 'sign_in_link' })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    const [, url = assert.fail(text)] = /<code id="link-text">([^<]+)</.exec(text) ?? []
    assert.ok(url.startsWith(`${world.service.url}/oauth/owner-link?code=`), url)
    return url.slice(world.service.url.length)
  }

  const codeIn = (path: string): string => new URLSearchParams(path.split('?')[1]).get('code') ?? ''

  /** Sends the form of the page behind a link. */
  const take = (browser: TestBrowser, path: string, from?: Record<string, string>): Promise<Response> =>
    browser.post('/oauth/owner-link', { code: codeIn(path) }, from)

  async function activityOf(service: TestService, id: string): Promise<string[][]> {
    const { actors, auditLog } = (await service.app.running()).parts
    await auditLog.flush()
    const actor = (await actors.find(id)) ?? assert.fail()
    const answer = await service.request(`/${id}/activity`, {
      headers: { authorization: basic(actor.creator, actors.passphraseOf(actor)) },
    })
    type Entry = Record<'caller' | 'method' | 'path', string>
    const { activity } = (await answer.json()) as { activity: Entry[] }
    return activity.map(({ caller, method, path }) => [caller, method, path])
  }

  describe('a sign-in link of an operator', () => {
    it('shows the account and changes nothing, and its form signs the owner in once', async () => {
      const world = await open()
      const path = await linkOf(world)
      const browser = new TestBrowser(world.service)
      for (let n = 0; n < 2; n++) {
        const page = await browser.get(path)
        assert.deepEqual([page.status, page.headers.get('cache-control')], [200, 'no-store'])
        assert.match(await page.text(), /signs you in to the account <strong>bob@example\.com<\/strong>, once/)
      }
      const answer = await take(browser, path)
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${world.service.url}/${world.id}/www`])
      assert.equal((await browser.get(`/${world.id}/www`)).status, 200)
      const other = new TestBrowser(world.service)
      assert.equal((await take(other, path)).status, 410)
      const ended = await other.get(path)
      assert.equal(ended.status, 410)
      assert.match(await ended.text(), /This link has ended/)
    })

    it('counts as a recent sign-in, so that the owner can add a way to sign in', async () => {
      const world = await open()
      const browser = new TestBrowser(world.service)
      await take(browser, await linkOf(world))
      const { tokens } = (await world.service.app.running()).parts
      const chains = await tokens.sessionsOf(world.id)
      const [chain = assert.fail()] = chains.filter(({ beganWith }) => beganWith === 'operator')
      assert.ok(chain.authenticatedAt >= chain.createdAt - 1000)
    })

    it('is in the activity of the owner, with the operator and the sign-in', async () => {
      const world = await open()
      const browser = new TestBrowser(world.service)
      await take(browser, await linkOf(world))
      const entries = await activityOf(world.service, world.id)
      assert.ok(entries.some((entry) => entry.join(' ') === 'ada@example.com POST /admin/sign-in-link'))
      const page = await (await world.bob.get(`/${world.id}/www/activity`)).text()
      assert.match(page, /Operator ada@example\.com<\/strong> made a link that signs in to your account once/)
      assert.match(await (await world.bob.get(`/${world.id}/www/apps`)).text(), /Link of an operator/)
    })

    it('ends the earlier link of the account, and no link of another one', async () => {
      const world = await open()
      const carol = await world.service.createActor('carol@example.com')
      const [first, others] = [await linkOf(world), await linkOf(world, carol.id)]
      const second = await linkOf(world)
      const browser = new TestBrowser(world.service)
      assert.equal((await browser.get(first)).status, 410)
      assert.equal((await browser.get(others)).status, 200)
      assert.equal((await take(browser, second)).status, 302)
    })

    it('ends after an hour', async () => {
      let now = Date.now()
      const world = await open({ now: () => now })
      const path = await linkOf(world)
      now += 3_599_000
      const browser = new TestBrowser(world.service)
      assert.equal((await browser.get(path)).status, 200)
      now += 2000
      assert.equal((await take(browser, path)).status, 410)
    })

    it('is refused for an operator, also for the own account, and ends when its account becomes that of an operator', async () => {
      const world = await open()
      const { operators } = (await world.service.app.running()).parts
      const path = await linkOf(world)
      await operators.add('bob@example.com', 'test')
      const browser = new TestBrowser(world.service)
      assert.equal((await browser.get(path)).status, 410)
      assert.equal((await take(browser, path)).status, 410)
      assert.equal((await acts(world, world.id, { action: 'sign_in_link' })).status, 409)
      assert.equal((await acts(world, world.own, { action: 'sign_in_link' })).status, 409)
    })

    it('begins a session that never opens the pages of operators', async () => {
      const world = await open()
      const browser = new TestBrowser(world.service)
      await take(browser, await linkOf(world))
      await (await world.service.app.running()).parts.operators.add('bob@example.com', 'test')
      assert.equal((await browser.get('/admin')).status, 403)
      assert.equal((await world.bob.get('/admin')).status, 200)
    })

    it('is refused for a suspended account, and a suspension ends the link', async () => {
      const world = await open()
      const path = await linkOf(world)
      await acts(world, world.id, { action: 'suspend' })
      assert.equal((await acts(world, world.id, { action: 'sign_in_link' })).status, 409)
      assert.equal((await take(new TestBrowser(world.service), path)).status, 410)
      await acts(world, world.id, { action: 'resume' })
      assert.equal((await take(new TestBrowser(world.service), path)).status, 410)
    })

    it('ends when the owner or an operator ends the sessions, so that the owner can stop it', async () => {
      const world = await open()
      const carol = await world.service.createActor('carol@example.com')
      const [bobs, others] = [await linkOf(world), await linkOf(world, carol.id)]
      assert.equal((await world.bob.post(`/${world.id}/www/apps`, { action: 'end_other_sessions' })).status, 302)
      assert.equal((await take(new TestBrowser(world.service), bobs)).status, 410)
      const second = await linkOf(world)
      assert.equal((await acts(world, world.id, { action: 'sign_out' })).status, 302)
      assert.equal((await take(new TestBrowser(world.service), second)).status, 410)
      assert.equal((await take(new TestBrowser(world.service), others)).status, 302)
    })

    it('is refused for an actor that is of no person, and nothing is recorded', async () => {
      let club: Kind | undefined
      const world = await open({ declare: (app) => void (club = app.kind('club', { name: 'Club' })) })
      const { id } = (await club?.create()) ?? assert.fail()
      assert.equal((await acts(world, id, { action: 'sign_in_link' })).status, 409)
      assert.deepEqual(await activityOf(world.service, id), [])
    })

    it('needs an operator with a recent sign-in, and a form of the service', async () => {
      let now = Date.now()
      const world = await open({ now: () => now })
      const form = { action: 'sign_in_link' }
      assert.equal((await world.bob.post(`/admin/actors/${world.own}`, form)).status, 403)
      const path = `/admin/actors/${world.id}`
      assert.equal((await world.operator.post(path, form, { 'sec-fetch-site': 'cross-site' })).status, 403)
      const link = await linkOf(world)
      assert.equal((await take(new TestBrowser(world.service), link, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await take(new TestBrowser(world.service), link, {})).status, 403)
      now += 3_600_000
      const old = await acts(world, world.id, form)
      assert.notEqual(old.status, 200)
      assert.ok(!(await old.text()).includes('owner-link?code='))
    })

    it('refuses codes that no operator made', async () => {
      const { service } = await open()
      const browser = new TestBrowser(service)
      for (const code of ['', 'none', 'a'.repeat(43), '%00'])
        assert.equal((await browser.get(`/oauth/owner-link?code=${code}`)).status, 410, code)
    })
  })

  describe('the message about a sign-in link', () => {
    let server: MailServer
    before(async () => {
      server = await startMailServer()
    })
    after(() => server.close())

    it('reaches the verified address of the owner', async () => {
      const world = await open({ smtpUrl: server.url, mailFrom: 'notes@example.com' })
      await linkOf(world)
      await until(async () => {
        await world.service.settled()
        return server.received.some(({ parsed }) => parsed.subject === 'A link to sign in to test')
      })
      const mail = server.received.find(({ parsed }) => parsed.subject === 'A link to sign in to test')
      assert.deepEqual(mail?.to, ['bob@example.com'])
      assert.ok(!mail.raw.includes('owner-link'))
    })
  })

  describe('the reset of limits by an operator', () => {
    async function guess(service: TestService, id: string): Promise<number> {
      const headers = { authorization: basic('bob@example.com', 'wrong') }
      return (await service.request(`/${id}/properties`, { headers })).status
    }

    it('lets an account be tried again whose limit too many wrong passphrases had reached', async () => {
      const world = await open({ rateLimits: { 'passphrase/target': { count: 2, seconds: 3600 } } })
      const { service, id } = world
      const statuses: number[] = []
      for (let n = 0; n < 4; n++) statuses.push(await guess(service, id))
      assert.deepEqual(statuses, [403, 403, 429, 429])
      const answer = await acts(world, id, { action: 'reset_limits', sender: '' })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/admin/actors/${id}`])
      assert.equal(await guess(service, id), 403)
      const entries = await activityOf(service, id)
      assert.ok(entries.some((entry) => entry.join(' ') === 'ada@example.com POST /admin/reset-limits'))
    })

    it('reaches the other processes with their next sign of life', async () => {
      const world = await open({ rateLimits: { 'passphrase/target': { count: 1, seconds: 3600 } } })
      const { resets, failedAttempts, store } = (await world.service.app.running()).parts
      const target = { id: world.id, guardedUntil: 0 }
      await resets.follow()
      await assert.rejects(async () => {
        for (let n = 0; n < 3; n++) await failedAttempts.failed('passphrase', target, () => '192.0.2.1')
      })
      await store.write((tx) =>
        tx.run(
          `INSERT INTO setting (name, value) VALUES ('limits_reset', '7') ON CONFLICT (name) DO UPDATE SET value = '7'`,
        ),
      )
      await store.write((tx) => tx.run('DELETE FROM rate_limit'))
      assert.throws(() => failedAttempts.check('passphrase', target, () => '192.0.2.1'))
      await resets.follow()
      assert.equal(
        failedAttempts.check('passphrase', target, () => '192.0.2.1'),
        undefined,
      )
    })

    it('refuses a sender that is not an IP address, and keeps the form open', async () => {
      const world = await open()
      const answer = await acts(world, world.id, { action: 'reset_limits', sender: 'example.com' })
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /<details class="card" open><summary>Reset limits/)
      for (const sender of ['192.0.2.7', '2001:db8::1'])
        assert.equal((await acts(world, world.id, { action: 'reset_limits', sender })).status, 302)
    })
  })

  describe('the deletion of an account by an operator', () => {
    it('needs the id as a confirmation, and deletes everything', async () => {
      const world = await open()
      const { service, id } = world
      for (const confirmation of ['', 'bob@example.com', id.slice(1)]) {
        const refused = await acts(world, id, { action: 'delete', confirmation })
        assert.equal(refused.status, 400)
        assert.match(await refused.text(), /That is not the ID of this account\./)
      }
      assert.equal((await service.app.actors.get(id))?.id, id)
      const answer = await acts(world, id, { action: 'delete', confirmation: id })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/admin/actors`])
      assert.equal(await service.app.actors.get(id), undefined)
      const entries = await activityOf(service, world.own)
      assert.ok(entries.some((entry) => entry.join(' ') === 'ada@example.com POST /admin/delete'))
    })

    it('works for a suspended account', async () => {
      const world = await open()
      await acts(world, world.id, { action: 'suspend' })
      assert.equal((await acts(world, world.id, { action: 'delete', confirmation: world.id })).status, 302)
      assert.equal((await acts(world, world.id, { action: 'delete', confirmation: world.id })).status, 404)
    })

    it('is refused for operators, also for the own account', async () => {
      const world = await open()
      await (await world.service.app.running()).parts.operators.add('bob@example.com', 'test')
      for (const id of [world.id, world.own])
        assert.equal((await acts(world, id, { action: 'delete', confirmation: id })).status, 409)
      assert.equal((await world.bob.get(`/${world.id}/www`)).status, 200)
    })
  })
})
