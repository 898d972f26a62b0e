/** The link that makes the first operator, and the operators whom the database names. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { revokeCredentials } from '../../src/operator/revoke-credentials.ts'
import { stopMove } from '../../src/moving/stop-move.ts'
import { findStoredOperators } from '../../src/sign-in/operators/operator-store.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { continueUrlIn, PasskeyPage } from '../support/passkey-page.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'

const shareOfProvider = sharedProvider()
const dayMs = 86_400_000
const ended = /This link has ended/

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<TestService> {
    return start({ ...signInAt(await shareOfProvider()), ...options })
  }

  /** Prints the link, as a start does. */
  async function linkOf(service: TestService): Promise<string> {
    const code = await (await service.app.running()).parts.firstOperator.renew()
    return `/admin/first?code=${code ?? assert.fail('no link')}`
  }

  const codeIn = (link: string): string => link.slice(link.indexOf('=') + 1)

  const stored = async (service: TestService): Promise<readonly string[]> =>
    (await (await service.app.running()).store.read(findStoredOperators)).map(({ name }) => name)

  /** Opens the link and sends its form. */
  async function bind(service: TestService, link: string, browser = new TestBrowser(service)): Promise<TestBrowser> {
    const shown = await browser.get(link)
    assert.equal(shown.status, 200)
    assert.match(await shown.text(), /This service has no operator yet/)
    const bound = await browser.post('/admin/first', { code: codeIn(link) })
    assert.deepEqual([bound.status, bound.headers.get('location')], [302, `${service.url}/admin/first`])
    return browser
  }

  /** Signs in where the page leads, and returns the confirmation. */
  async function confirmationOf(service: TestService, browser: TestBrowser, person: string): Promise<string> {
    const begin = (await browser.get('/admin/first')).headers.get('location') ?? ''
    const back = await signIn(browser, await shareOfProvider(), person, begin)
    assert.equal(back.headers.get('location'), `${service.url}/admin/first`)
    const page = await browser.get('/admin/first')
    assert.equal(page.status, 200)
    return page.text()
  }

  const fieldsOf = (page: string): Record<string, string> =>
    Object.fromEntries(
      [...page.matchAll(/name="(csrf_token|name)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value] as const,
      ),
    )

  async function becomeOperator(service: TestService, person: string): Promise<TestBrowser> {
    const browser = await bind(service, await linkOf(service))
    const page = await confirmationOf(service, browser, person)
    const answer = await browser.post('/admin/first', fieldsOf(page))
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/admin`])
    return browser
  }

  describe('the link of the first operator', () => {
    it('makes the verified address of the person who signs in the operator, once (ACL-25)', async () => {
      const service = await open()
      const link = await linkOf(service)
      assert.equal((await new TestBrowser(service).get('/admin')).status, 404)
      const browser = await bind(service, link)
      const page = await confirmationOf(service, browser, 'ada')
      assert.match(page, /You are signed in as ada@example\.com\./)
      assert.deepEqual(await stored(service), [])
      const answer = await browser.post('/admin/first', fieldsOf(page))
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/admin`])
      assert.match(await (await browser.get('/admin')).text(), /You are now an operator of this service\./)
      assert.deepEqual(await stored(service), ['ada@example.com'])
      for (const sent of [
        await new TestBrowser(service).get(link),
        await browser.post('/admin/first', { code: codeIn(link) }),
      ]) {
        assert.equal(sent.status, 410)
        assert.match(await sent.text(), ended)
      }
      assert.equal(await (await service.app.running()).parts.firstOperator.renew(), null)
    })

    it('names a person with passkeys by the passkey and never by the actor (ACL-25)', async () => {
      const service = await open({ signIn: [passkey()], baseUrl: 'https://notes.example.com' })
      const browser = await bind(service, await linkOf(service))
      const device = new SoftPasskey()
      const begin = (await browser.get('/admin/first')).headers.get('location') ?? ''
      const sheet = await PasskeyPage.open(service, begin, browser)
      const codes = await (await sheet.signUp(device, 'Ada')).text()
      const back = await browser.get(continueUrlIn(codes))
      assert.equal(back.headers.get('location'), 'https://notes.example.com/admin/first')
      const page = await (await browser.get('/admin/first')).text()
      const { name = '' } = fieldsOf(page)
      assert.match(name, /^passkey:[\w-]{43}$/)
      assert.equal((await browser.post('/admin/first', fieldsOf(page))).status, 302)
      assert.deepEqual(await stored(service), [name])
      assert.equal((await browser.get('/admin')).status, 200)
    })

    it('changes nothing when it is opened, however often and by whichever program (ACL-25)', async () => {
      const service = await open()
      const link = await linkOf(service)
      const { store } = await service.app.running()
      const settings = () => store.read((q) => q.all('SELECT name, value FROM setting ORDER BY name'))
      const before = await settings()
      for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await service.request(link, { method })).status, 200)
      assert.deepEqual(await settings(), before)
      await becomeOperatorWith(link, service)
    })

    async function becomeOperatorWith(link: string, service: TestService): Promise<void> {
      const browser = await bind(service, link)
      const page = await confirmationOf(service, browser, 'bob')
      assert.equal((await browser.post('/admin/first', fieldsOf(page))).status, 302)
    }

    it('lets one of two browsers win, and tells the other one why it did not (ACL-25)', async () => {
      const service = await open()
      const link = await linkOf(service)
      const browsers = [await bind(service, link), await bind(service, link)]
      const people = ['ada', 'bob']
      const pages: string[] = []
      for (const [n, browser] of browsers.entries()) pages.push(await confirmationOf(service, browser, people[n] ?? ''))
      const answers = await Promise.all(
        browsers.map((browser, n) => browser.post('/admin/first', fieldsOf(pages[n] ?? ''))),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 410],
      )
      const lost = answers.findIndex(({ status }) => status === 410)
      assert.match((await answers[lost]?.text()) ?? '', ended)
      const [name = ''] = await stored(service)
      assert.equal((await stored(service)).length, 1)
      assert.equal(name, `${people[1 - lost]}@example.com`)
      assert.equal((await browsers[lost]?.get('/admin'))?.status, 403)
    })

    it('ends after 24 hours, with the next start, and with an operator from elsewhere (ACL-25)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await open({ now: clock.now, timers: clock.timers })
      const first = await linkOf(service)
      const second = await linkOf(service)
      const browser = new TestBrowser(service)
      assert.equal((await browser.get(first)).status, 410)
      assert.equal((await browser.get(second)).status, 200)
      clock.pass(dayMs - 1)
      assert.equal((await browser.get(second)).status, 200)
      clock.pass(1)
      assert.equal((await browser.get(second)).status, 410)
      const third = await linkOf(service)
      const { operators } = (await service.app.running()).parts
      await operators.add('eve@example.com', 'command')
      assert.equal((await browser.get(third)).status, 410)
      assert.equal((await browser.post('/admin/first', { code: codeIn(third) })).status, 410)
    })

    it('is the newest one of several processes', async () => {
      const one = await open()
      const two = await open({ database: one.databaseUrl })
      const first = await linkOf(one)
      const second = await linkOf(two)
      assert.equal((await new TestBrowser(one).get(first)).status, 410)
      assert.equal((await new TestBrowser(one).get(second)).status, 200)
      await two.close()
    })

    it('does not exist while TROUPE_ADMINS names an operator', async () => {
      const service = await open({ admins: ['ada@example.com'] })
      assert.equal(await (await service.app.running()).parts.firstOperator.renew(), null)
      assert.equal((await new TestBrowser(service).get(`/admin/first?code=${'x'.repeat(43)}`)).status, 410)
    })

    it('refuses guesses, forms of other sites, another sign-in than the page showed, and no sign-in (ACL-25)', async () => {
      const service = await open()
      const link = await linkOf(service)
      const stranger = new TestBrowser(service)
      for (const code of ['', 'x', 'x'.repeat(43), `${codeIn(link)}x`, codeIn(link).toLowerCase().slice(1)])
        assert.equal((await stranger.get(`/admin/first?code=${code}`)).status, 410, code)
      assert.equal((await stranger.get('/admin/first')).status, 410)
      for (const from of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        {},
      ])
        assert.equal(
          (await stranger.post('/admin/first', { code: codeIn(link) }, from)).status,
          403,
          JSON.stringify(from),
        )
      const browser = await bind(service, link)
      assert.equal((await browser.post('/admin/first', { name: 'ada@example.com' })).status, 401)
      const page = await confirmationOf(service, browser, 'ada')
      const fields = fieldsOf(page)
      assert.equal((await browser.post('/admin/first', { ...fields, name: 'bob@example.com' })).status, 403)
      assert.equal((await browser.post('/admin/first', fields, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await browser.post('/admin/first', fields, {})).status, 403)
      // A person who is signed in, without the link.
      const other = new TestBrowser(service)
      await signIn(other, await shareOfProvider(), 'bob')
      assert.equal((await other.post('/admin/first', { name: 'bob@example.com' })).status, 410)
      assert.deepEqual(await stored(service), [])
      assert.equal((await browser.post('/admin/first', fields)).status, 302)
    })

    it('is not enough with the session that a passphrase began, and needs a recent sign-in (ACL-25)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await open({ now: clock.now, timers: clock.timers })
      const browser = await bind(service, await linkOf(service))
      const actor = await service.createActor('grace@example.com')
      const session = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
      })
      const { access_token: token } = (await session.json()) as { access_token: string }
      browser.cookies.set('oauth_token', token)
      assert.match(await (await browser.get('/admin/first')).text(), /does not prove who you are/)
      assert.equal((await browser.post('/admin/first', { name: 'grace@example.com' })).status, 403)
      browser.cookies.delete('oauth_token')
      const page = await confirmationOf(service, browser, 'ada')
      clock.pass(6 * 60_000)
      assert.equal((await browser.post('/admin/first', fieldsOf(page))).status, 401)
      assert.match((await browser.get('/admin/first')).headers.get('location') ?? '', /\/oauth\/login\/acme\?/)
      assert.deepEqual(await stored(service), [])
    })
  })

  describe('stored operators', () => {
    it('are listed, added and removed by an operator, and one remains', async () => {
      const service = await open()
      const ada = await becomeOperator(service, 'ada')
      const path = '/admin/operators'
      assert.match(
        await (await ada.get(path)).text(),
        /by the link of the start[\s\S]*The last operator cannot be removed/,
      )
      const refused = await ada.post(path, { action: 'remove', name: 'ada@example.com' })
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /it is the last operator/)
      assert.equal((await ada.post(path, { action: 'add', name: ' Bob@Example.com ' })).status, 302)
      assert.deepEqual(await stored(service), ['ada@example.com', 'bob@example.com'])
      for (const name of ['bob@example.com', 'ada@example.com'])
        assert.equal((await ada.post(path, { action: 'add', name })).status, 409)
      for (const name of ['', 'bob', 'a..b@example.com', 'passkey:1234', 'acme:with space']) {
        const wrong = await ada.post(path, { action: 'add', name })
        assert.equal(wrong.status, 400, name)
      }
      assert.equal((await ada.post(path, { action: 'remove', name: 'eve@example.com' })).status, 404)
      assert.equal((await ada.post(path, { action: 'rename', name: 'x' })).status, 400)
      const bob = new TestBrowser(service)
      await signIn(bob, await shareOfProvider(), 'bob')
      assert.equal((await bob.get('/admin')).status, 200)
      assert.equal((await bob.post(path, { action: 'remove', name: 'ada@example.com' })).status, 302)
      assert.equal((await ada.get('/admin')).status, 403)
      assert.equal((await ada.post(path, { action: 'add', name: 'eve@example.com' })).status, 403)
      assert.deepEqual(await stored(service), ['bob@example.com'])
    })

    it('keep one of two who remove each other at the same moment (ACL-25)', async () => {
      const service = await open()
      const ada = await becomeOperator(service, 'ada')
      await ada.post('/admin/operators', { action: 'add', name: 'bob@example.com' })
      const bob = new TestBrowser(service)
      await signIn(bob, await shareOfProvider(), 'bob')
      await Promise.all([
        bob.post('/admin/operators', { action: 'remove', name: 'ada@example.com' }),
        ada.post('/admin/operators', { action: 'remove', name: 'bob@example.com' }),
      ])
      assert.equal((await stored(service)).length, 1)
    })

    it('are changed only from a page of the service, after a recent sign-in, and the activity of the operator shows it (ACL-25)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await open({ now: clock.now, timers: clock.timers, activityPerActor: 1000 })
      const ada = await becomeOperator(service, 'ada')
      const add = { action: 'add', name: 'bob@example.com' }
      assert.equal((await ada.post('/admin/operators', add, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await ada.post('/admin/operators', add, {})).status, 403)
      assert.equal((await ada.post('/admin/operators', add)).status, 302)
      clock.pass(6 * 60_000)
      assert.equal((await ada.post('/admin/operators', { action: 'remove', name: 'bob@example.com' })).status, 401)
      const own = actorIn(await signIn(ada, await shareOfProvider(), 'ada'))
      await (await service.app.running()).parts.auditLog.flush()
      const page = await (await ada.get(`/${own}/www/activity`)).text()
      assert.match(page, /ada@example\.com<\/strong> changed who operates this service/)
    })

    it('who were added after a time are removed by troupe restored --revoke-after', async () => {
      const clock = new ManualClock(Date.now())
      const service = await open({ now: clock.now, timers: clock.timers })
      await becomeOperator(service, 'ada')
      const after = clock.now()
      clock.pass(1000)
      const { store, keyRing, parts } = await service.app.running()
      await parts.operators.add('eve@example.com', 'ada@example.com')
      const { tables } = parts
      const { ended: counts } = await revokeCredentials({ store, keyRing, tables, stopMove }, after)
      assert.equal(counts['operators'], 1)
      assert.deepEqual(await stored(service), ['ada@example.com'])
      await revokeCredentials({ store, keyRing, tables, stopMove }, after - dayMs)
      assert.deepEqual(await stored(service), [])
      const link = await linkOf(service)
      await revokeCredentials({ store, keyRing, tables, stopMove }, after - dayMs)
      assert.equal((await new TestBrowser(service).get(link)).status, 410)
    })
  })
})
