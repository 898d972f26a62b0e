/** Acts that need a recent sign-in of the owner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { signInWith, signUpWith } from '../support/passkey-page.ts'
import { basic, forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'

const baseUrl = 'https://notes.example.com'
const minute = 60_000
const provider = sharedProvider()

interface Owner {
  readonly service: TestService
  readonly clock: ManualClock
  readonly browser: TestBrowser
  readonly id: string
  readonly device: SoftPasskey
  readonly page: (path: string) => Promise<string>
  readonly send: (path: string, fields: Record<string, string>) => Promise<Response>
}

forEachService((start) => {
  /** An owner who signed in with a passkey just now. */
  async function signedIn(options: StartOptions = {}): Promise<Owner> {
    const clock = new ManualClock()
    const service = await start({
      baseUrl,
      signIn: [passkey()],
      now: clock.now,
      timers: clock.timers,
      ...options,
    })
    const { browser, answer, passkey: device } = await signUpWith(service, new SoftPasskey(), 'Ada')
    const id = actorIn(answer)
    const page = async (path: string): Promise<string> => (await browser.get(`/${id}/www${path}`)).text()
    const send = async (path: string, fields: Record<string, string>): Promise<Response> => {
      const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(await page(path)) ?? []
      return browser.post(`/${id}/www${path}`, { csrf_token: token, ...fields })
    }
    return { service, clock, browser, id, device, page, send }
  }

  const again = (id: string, path: string): string =>
    `${baseUrl}/oauth/login/passkey?${new URLSearchParams({ actor: id, redirect: `/${id}/www${path}`, fresh: '1' }).toString()}`

  describe('the deletion of an account', () => {
    it('is open for five minutes after the sign-in (R-FRESH-01)', async () => {
      const { clock, id, send, service } = await signedIn()
      clock.pass(5 * minute)
      const answer = await send('/settings', { action: 'delete', confirmation: 'Ada' })
      assert.equal(answer.status, 302)
      assert.equal(await service.app.actors.get(id), undefined)
    })

    it('needs a new sign-in afterwards, which leads back to the settings (R-FRESH-01)', async () => {
      const { clock, id, page, send, service, device, browser } = await signedIn()
      clock.pass(5 * minute + 1)
      const shown = await page('/settings')
      assert.doesNotMatch(shown, /name="confirmation"/)
      assert.match(shown, /Sign in again first\./)
      const [, href = ''] = /<a class="button" href="([^"]+)">Sign in again<\/a>/.exec(shown) ?? []
      assert.equal(href.replaceAll('&amp;', '&'), again(id, '/settings'))
      const refused = await send('/settings', { action: 'delete', confirmation: 'Ada' })
      assert.equal(refused.status, 401)
      assert.equal((await service.app.actors.get(id))?.creator, 'Ada')
      const entered = await signInWith(service, device, href.replaceAll('&amp;', '&'), browser)
      assert.equal(entered.headers.get('location'), `${baseUrl}/${id}/www/settings`)
      assert.equal((await send('/settings', { action: 'delete', confirmation: 'Ada' })).status, 302)
    })

    it('by the API names the reason and the longest age of the sign-in (RFC 9470) (R-FRESH-02)', async () => {
      const { clock, id, browser, service } = await signedIn()
      clock.pass(6 * minute)
      const authorization = `Bearer ${browser.cookies.get('oauth_token')}`
      const refused = await service.request(`/${id}`, { method: 'DELETE', headers: { authorization } })
      assert.equal(refused.status, 401)
      assert.equal(
        refused.headers.get('www-authenticate'),
        'Bearer error="insufficient_user_authentication", error_description="This needs a recent sign-in: sign in again, then repeat the request", max_age="300"',
      )
      assert.equal(((await refused.json()) as { error: string }).error, 'insufficient_user_authentication')
      assert.equal((await service.app.actors.get(id))?.creator, 'Ada')
    })

    it('is always open to the passphrase, which proves the owner each time', async () => {
      const { clock, service } = await signedIn()
      const actor = await service.createActor('Ben')
      clock.pass(60 * minute)
      const authorization = basic(actor.creator, actor.passphrase)
      assert.equal(
        (await service.request(`/${actor.id}`, { method: 'DELETE', headers: { authorization } })).status,
        204,
      )
    })
  })

  describe('the export of an account', () => {
    it('needs a recent sign-in, by the API and on the pages (R-FRESH-01)', async () => {
      const { clock, id, page, browser, service } = await signedIn()
      const authorization = `Bearer ${browser.cookies.get('oauth_token')}`
      assert.equal((await service.request(`/${id}/export`, { headers: { authorization } })).status, 200)
      assert.equal((await browser.get(`/${id}/www/export`)).status, 200)
      clock.pass(5 * minute + 1)
      assert.equal((await service.request(`/${id}/export`, { headers: { authorization } })).status, 401)
      const led = await browser.get(`/${id}/www/export`)
      assert.equal(led.status, 302)
      assert.equal(led.headers.get('location'), again(id, '/settings'))
      assert.doesNotMatch(await page('/settings'), /\/www\/export"/)
    })
  })

  describe('the passkeys and recovery codes of an account', () => {
    it('change only after a recent sign-in, besides their names (R-FRESH-01)', async () => {
      const { clock, page, send, device } = await signedIn()
      clock.pass(5 * minute + 1)
      const shown = await page('/passkeys')
      assert.doesNotMatch(shown, /value="(?:add|remove|new_codes)"/)
      assert.match(shown, /fresh=1">Sign in again<\/a>/)
      for (const fields of [
        { action: 'add', ticket: 'none', name: 'Key', response: '{}' },
        { action: 'remove', passkey: device.id },
        { action: 'new_codes' },
      ]) {
        const refused = await send('/passkeys', fields)
        assert.equal(refused.status, 401, fields.action)
        assert.doesNotMatch(await refused.text(), /<ol id="codes"/)
      }
      assert.equal((await send('/passkeys', { action: 'rename', passkey: device.id, name: 'Old' })).status, 302)
      assert.match(await page('/passkeys'), /<strong>Old<\/strong>/)
    })
  })

  describe('the age of a sign-in', () => {
    it('is that of the sign-in, however often the tokens are refreshed (R-FRESH-03)', async () => {
      const { clock, id, browser, service } = await signedIn()
      clock.pass(4 * minute)
      await browser.get(`/${id}/www`)
      clock.pass(2 * minute)
      const authorization = `Bearer ${browser.cookies.get('oauth_token')}`
      assert.equal((await service.request(`/${id}/export`, { headers: { authorization } })).status, 401)
    })

    it('can be longer by the configuration, or without a limit (R-FRESH-01)', async () => {
      const longer = await signedIn({ freshSignInMinutes: 30 })
      longer.clock.pass(29 * minute)
      assert.equal((await longer.browser.get(`/${longer.id}/www/export`)).status, 200)
      const unlimited = await signedIn({ freshSignInMinutes: 0 })
      unlimited.clock.pass(24 * 60 * minute)
      const { cookies } = unlimited.browser
      assert.notEqual(cookies.get('oauth_token'), undefined)
      await signInWith(unlimited.service, unlimited.device, undefined, unlimited.browser)
      unlimited.clock.pass(50 * minute)
      assert.equal((await unlimited.browser.get(`/${unlimited.id}/www/export`)).status, 200)
    })

    it('begins when the provider asked the person, not when the session began (R-FRESH-03)', async () => {
      const idp = await provider()
      const { sub } = newPerson(idp)
      const { signIn: providers } = signInAt(idp)
      // The provider asks for the name of the person now; to the service, six minutes have passed since then.
      let ahead = 0
      const service = await start({ baseUrl, signIn: providers, now: () => Date.now() + ahead })
      const begin = '/oauth/login/acme?fresh=1'
      // The provider states whole seconds.
      const earliest = Date.now() - 1000
      await signUpWithProvider(service, idp, sub, begin)
      const [session] = await sessionsIn(service)
      assert.ok(session !== undefined && session.authenticatedAt > earliest && session.authenticatedAt <= Date.now())
      ahead = 6 * minute
      const late = await signUpWithProvider(service, idp, sub, begin)
      assert.equal((await late.get(`/${await actorOf(service)}/www/export`)).status, 302)
    })

    it('is renewed at a provider that is asked to ask again', async () => {
      const idp = await provider()
      const { signIn: providers } = signInAt(idp)
      const service = await start({ baseUrl, signIn: providers })
      const begun = await service.request('/oauth/login/acme?fresh=1')
      const { searchParams } = new URL(begun.headers.get('location') ?? '')
      assert.deepEqual([searchParams.get('prompt'), searchParams.get('max_age')], ['login', '0'])
      const plain = new URL((await service.request('/oauth/login/acme')).headers.get('location') ?? '')
      assert.deepEqual([plain.searchParams.get('prompt'), plain.searchParams.get('max_age')], [null, null])
    })
  })

  describe('the sign-in page for a recent sign-in', () => {
    it('says why, keeps the page in its links, and does not offer to continue', async () => {
      const idp = await provider()
      const { signIn: providers } = signInAt(idp)
      const { clock, id, browser, page } = await signedIn({ signIn: [passkey(), ...providers] })
      clock.pass(6 * minute)
      const [, href = ''] = /<a class="button" href="([^"]+)">Sign in again<\/a>/.exec(await page('/settings')) ?? []
      const address = href.replaceAll('&amp;', '&')
      assert.equal(address, `/login?actor=${id}&redirect=%2F${id}%2Fwww%2Fsettings&fresh=1`)
      const shown = await (await browser.get(address)).text()
      assert.match(shown, /<p class="notice" role="status">Sign in again first\./)
      assert.doesNotMatch(shown, /Continue as Ada/)
      assert.match(shown, /\/oauth\/login\/passkey\?actor=[^"]*fresh=1"/)
    })
  })

  async function signUpWithProvider(
    service: TestService,
    idp: Awaited<ReturnType<typeof provider>>,
    sub: string,
    begin: string,
  ): Promise<TestBrowser> {
    const browser = new TestBrowser(service)
    assert.equal((await signIn(browser, idp, sub, begin)).status, 302)
    return browser
  }

  async function sessionsIn(service: TestService): Promise<readonly { readonly authenticatedAt: number }[]> {
    const { store } = await service.app.running()
    return store.read((q) => q.all('SELECT authenticated_at AS "authenticatedAt" FROM token_chain'))
  }

  async function actorOf(service: TestService): Promise<string> {
    for await (const actor of service.app.actors.all()) return actor.id
    return ''
  }
})
