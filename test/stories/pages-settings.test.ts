// cspell:ignore Deutsch Einstellungen
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestActor, TestService } from '../support/service.ts'
import { forEachService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()

forEachService((start) => {
  async function open(options: Parameters<typeof start>[0] = {}): Promise<{
    readonly service: TestService
    readonly actor: TestActor
    readonly browser: OwnersBrowser
  }> {
    const service = await start(options)
    const actor = await service.createActor('ada@example.com')
    return { service, actor, browser: await OwnersBrowser.open(service, actor) }
  }

  const appearance = { action: 'appearance', language: 'de', theme: 'dark', time_zone: 'Europe/Berlin' }

  /** The cookies that an answer sets, as a browser sends them back. */
  const cookiesOf = (answer: Response): string =>
    answer.headers
      .getSetCookie()
      .map((cookie) => cookie.slice(0, cookie.indexOf(';')))
      .join('; ')

  describe('the settings of the owner', () => {
    it('keep the language, the theme and the time zone in the browser, also for pages before the sign-in', async () => {
      const { service, browser } = await open()
      const answer = await browser.send('/settings', appearance)
      assert.equal(answer.status, 302)
      const set = answer.headers.getSetCookie().filter((cookie) => !cookie.startsWith('troupe-notice'))
      assert.deepEqual(set, [
        'troupe-language=de; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax',
        'troupe-theme=dark; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax',
        'troupe-time-zone=Europe/Berlin; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax',
      ])
      const cookie = `${browser.headers['cookie']}; ${cookiesOf(answer)}`
      const page = await (await browser.get('/settings', { cookie })).text()
      assert.match(page, /<html lang="de" dir="ltr" data-theme="dark">/)
      assert.match(page, /<meta name="color-scheme" content="dark">/)
      assert.match(page, /<h1>Einstellungen<\/h1>/)
      assert.match(page, /<option value="de" selected>Deutsch<\/option>/)
      assert.match(page, /<option value="Europe\/Berlin" selected>Europe\/Berlin<\/option>/)
      assert.match(page, /value="dark" checked/)
      const front = await service.request('/', { headers: { ...asBrowser, cookie: cookiesOf(answer) } })
      assert.match(await front.text(), /<html lang="de" dir="ltr" data-theme="dark">/)
    })

    it('name what the account stores, and its limits', async () => {
      const { browser, actor } = await open({ maxActorBytes: 5_242_880 })
      assert.equal((await actor.request('PUT', '/properties', { color: 'red', size: 12 })).status, 204)
      const page = await (await browser.get('/settings')).text()
      assert.match(page, /<dt>Data<\/dt><dd>16 bytes of 5 MB<\/dd>/)
      assert.match(page, /<dt>Properties<\/dt><dd>2 of 200,000<\/dd>/)
      assert.match(page, /<dt>List items<\/dt><dd>0 of 10,000,000<\/dd>/)
      assert.match(page, /<dt>Access keys<\/dt><dd>0 of 1,000<\/dd>/)
    })

    it('show times in the chosen time zone', async () => {
      const { browser } = await open({ now: () => Date.UTC(2026, 6, 1, 22, 30) })
      const cookie = `${browser.headers['cookie']}; troupe-time-zone=Europe/Berlin`
      const shown = async (headers: Record<string, string>): Promise<string> =>
        (await browser.get('/apps', headers)).text()
      assert.match(await shown({ cookie }), /title="2 Jul 2026, 00:30:00 CEST"/)
      assert.match(await shown({}), /title="1 Jul 2026, 22:30:00 UTC"/)
    })

    it('go back to what the browser prefers', async () => {
      const { browser } = await open()
      const answer = await browser.send('/settings', { ...appearance, language: '', theme: '', time_zone: 'UTC' })
      const set = answer.headers.getSetCookie().filter((cookie) => cookie.includes('Max-Age=0'))
      assert.deepEqual(
        set.map((cookie) => cookie.slice(0, cookie.indexOf('='))),
        ['troupe-language', 'troupe-theme', 'troupe-time-zone'],
      )
    })

    for (const [what, fields, reason] of [
      ['a language that the pages do not have', { language: 'tlh' }, 'the pages do not have this language'],
      ['an unknown theme', { theme: 'pink' }, 'the theme is neither light nor dark'],
      ['an unknown time zone', { time_zone: 'Mars/Olympus' }, 'the time zone is not known'],
      ['an unknown form', { action: 'toString' }, 'the action is neither name, appearance nor delete'],
    ] as const) {
      it(`refuse ${what}, and set no cookie`, async () => {
        const { browser } = await open()
        const answer = await browser.send('/settings', { ...appearance, ...fields })
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.headers.getSetCookie(), [])
        assert.ok((await answer.text()).includes(reason))
      })
    }

    it('ignore cookies that no form of the service set', async () => {
      const { browser } = await open()
      const cookie = `${browser.headers['cookie']}; troupe-theme="><script>; troupe-time-zone=nowhere; troupe-language=tlh`
      const page = await (await browser.get('/settings', { cookie })).text()
      assert.match(page, /<html lang="en" dir="ltr">/)
      assert.match(page, /<option value="UTC" selected>UTC<\/option>/)
    })

    it('change the display name, which is a property, and remove it', async () => {
      const { actor, browser } = await open()
      assert.equal((await browser.send('/settings', { action: 'name', display_name: ' Ada Lovelace ' })).status, 302)
      assert.equal(await (await actor.request('GET', '/properties/displayname')).text(), 'Ada Lovelace')
      assert.match(await (await browser.get('/settings')).text(), /name="display_name" value="Ada Lovelace"/)
      assert.equal((await browser.send('/settings', { action: 'name', display_name: '' })).status, 302)
      assert.equal((await actor.request('GET', '/properties/displayname')).status, 404)
    })

    it('do not overwrite a name that was changed since the page was opened', async () => {
      const { actor, browser } = await open()
      const [, version = ''] =
        /name="version" value="([^"]*)"/.exec(await (await browser.get('/settings')).text()) ?? []
      assert.equal((await actor.request('PUT', '/properties/displayname', 'Countess')).status, 204)
      const answer = await browser.send('/settings', { action: 'name', display_name: 'Ada', version })
      assert.equal(answer.status, 409)
      assert.match(await answer.text(), /name="display_name" value="Ada"[^>]*aria-invalid="true"/)
      assert.equal(await (await actor.request('GET', '/properties/displayname')).text(), 'Countess')
    })

    it('show the reason beside the name when the application refuses it', async () => {
      const { actor, browser } = await open({
        declare: (app) => app.property('displayname', { put: () => undefined, post: () => undefined }),
      })
      const answer = await browser.send('/settings', { action: 'name', display_name: 'Ada' })
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /name="display_name" value="Ada"[^>]*aria-invalid="true"/)
      assert.equal((await actor.request('GET', '/properties/displayname')).status, 404)
    })

    it('send to the properties for a name that is not a text, or that the application does not share', async () => {
      const { actor, browser } = await open()
      await actor.request('PUT', '/properties/displayname', { first: 'Ada' })
      assert.doesNotMatch(await (await browser.get('/settings')).text(), /name="display_name"/)
      const other = await open({ peerProfileAttributes: ['email'] })
      assert.doesNotMatch(await (await other.browser.get('/settings')).text(), /name="display_name"/)
    })

    it('say that only the passphrase opens the account, without a sign-in at a provider', async () => {
      const { browser } = await open()
      assert.match(await (await browser.get('/settings')).text(), /Only the passphrase opens this account\./)
    })

    it('name the provider of the sign-in, and the email with its verification', async () => {
      const idp = await provider()
      const service = await start(signInAt(idp))
      const browser = new TestBrowser(service)
      const { sub, email } = newPerson(idp)
      const id = actorIn(await signIn(browser, idp, sub))
      const page = await (await browser.get(`${service.url}/${id}/www/settings`)).text()
      assert.match(page, /You sign in with <strong>Acme<\/strong>\./)
      assert.ok(page.includes(`Your email is <strong>${email}</strong>, and it is verified.`), page)
    })
  })
})
