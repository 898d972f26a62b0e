/** Sign-in with a link and a code that the application sends by email. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emailLink, passkey } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import {
  actorIn,
  assertNoSignIn,
  beginSinglePage,
  newPerson,
  sharedProvider,
  signIn,
  signInAt,
  TestBrowser,
} from '../support/sign-in.ts'

interface Mail {
  readonly email: string
  readonly url: string
  readonly code: string
}

const provider = sharedProvider()

/** The page of a sign-in by email, in a browser. */
class EmailPage {
  readonly browser: TestBrowser
  readonly address: URL

  private constructor(browser: TestBrowser, address: URL) {
    this.browser = browser
    this.address = address
  }

  static async open(service: TestService, begin = '/oauth/login/email', browser = new TestBrowser(service)) {
    const begun = await browser.get(begin)
    assert.equal(begun.status, 302)
    return new EmailPage(browser, new URL(begun.headers.get('location') ?? ''))
  }

  static at(address: string, browser: TestBrowser): EmailPage {
    return new EmailPage(browser, new URL(address))
  }

  send(fields: Record<string, string>): Promise<Response> {
    const { searchParams } = this.address
    const [state, code_challenge] = ['state', 'code_challenge'].map((name) => searchParams.get(name) ?? '')
    return this.browser.post('/oauth/email-link', {
      state: state ?? '',
      code_challenge: code_challenge ?? '',
      ...fields,
    })
  }

  /** Enters the code, and returns the response of the callback. */
  async enter(code: string): Promise<Response> {
    const answer = await this.send({ action: 'enter', code })
    assert.equal(answer.status, 302)
    return this.browser.get(answer.headers.get('location') ?? '')
  }
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<{ service: TestService; mails: Mail[] }> {
    const mails: Mail[] = []
    const service = await start({
      signIn: [emailLink()],
      ...options,
      declare: (app) => {
        options.declare?.(app)
        app.on('sign_in_link_requested', (mail) => void mails.push(mail))
      },
    })
    return { service, mails }
  }

  async function codeFor(page: EmailPage, mails: readonly Mail[], email: string): Promise<string> {
    const sent = await page.send({ action: 'send', email })
    assert.equal(sent.status, 200)
    return mails.at(-1)?.code ?? assert.fail()
  }

  describe('a sign-in by email', () => {
    it('creates the account of the address, and finds it the next time', async () => {
      const { service, mails } = await open()
      const page = await EmailPage.open(service)
      const sent = await page.send({ action: 'send', email: ' Ada@Example.com ' })
      assert.equal(sent.status, 200)
      assert.match(await sent.text(), /If <strong>ada@example\.com<\/strong> can receive email/)
      const [{ email, code, url } = assert.fail()] = mails
      assert.equal(email, 'ada@example.com')
      assert.match(code, /^[0-9a-z]{4}-[0-9a-z]{4}$/)
      assert.ok(url.startsWith(`${service.url}/oauth/email-link?state=`))
      const answer = await page.enter(` ${code.replace('-', ' ').toUpperCase()}`)
      const id = actorIn(answer)
      assert.equal(answer.headers.get('location'), `${service.url}/${id}/www`)
      assert.equal((await service.app.actors.findByCreator('ada@example.com', { proven: true }))?.id, id)
      const again = await EmailPage.open(service)
      assert.equal(actorIn(await again.enter(await codeFor(again, mails, 'ada@example.com'))), id)
    })

    it('ends by the link in the browser that began it, after one more click', async () => {
      const { service, mails } = await open()
      const page = await EmailPage.open(service, '/oauth/login/email?redirect=/docs')
      await codeFor(page, mails, 'ada@example.com')
      const { url = '', code = '' } = mails[0] ?? {}
      const opened = await page.browser.get(url)
      assert.equal(opened.status, 200)
      assert.match(await opened.text(), new RegExp(`name="code" value="${code}"`))
      const answer = await EmailPage.at(url, page.browser).enter(code)
      assert.equal(answer.headers.get('location'), `${service.url}/docs`)
    })

    it('enters the account that a provider proved with the same address', async () => {
      const idp = await provider()
      const { sub, email } = newPerson(idp)
      const { service, mails } = await open({ signIn: [...signInAt(idp).signIn, emailLink()] })
      const id = actorIn(await signIn(new TestBrowser(service), idp, sub))
      const page = await EmailPage.open(service)
      assert.equal(actorIn(await page.enter(await codeFor(page, mails, email))), id)
    })

    it('gives a single-page application its session', async () => {
      const { service, mails } = await open({ spaRedirectOrigins: ['https://app.example.com'] })
      const page = EmailPage.at(await beginSinglePage(service), new TestBrowser(service))
      const back = new URL(
        (await page.enter(await codeFor(page, mails, 'ada@example.com'))).headers.get('location') ?? '',
      )
      const redeemed = await page.browser.get(`/oauth/spa/session/${back.searchParams.get('session')}`)
      assert.equal(((await redeemed.json()) as { email: string }).email, 'ada@example.com')
    })

    it('is refused with another address than that of the opened page', async () => {
      const { service, mails } = await open()
      const page = await EmailPage.open(service, '/oauth/login/email?login_hint=ada@example.com')
      assert.match(await (await page.browser.get(page.address.href)).text(), /value="ada@example\.com"/)
      const answer = await page.enter(await codeFor(page, mails, 'eve@example.com'))
      assert.equal(answer.status, 403)
    })

    it('says the same for an address with and without an account (R-MAIL-02)', async () => {
      const { service, mails } = await open()
      const first = await EmailPage.open(service)
      await first.enter(await codeFor(first, mails, 'ada@example.com'))
      const texts = await Promise.all(
        ['ada@example.com', 'new@example.com'].map(async (email) => {
          const page = await EmailPage.open(service)
          const html = await (await page.send({ action: 'send', email })).text()
          return html.replaceAll(email, 'X').replaceAll(/value="[^"]*"/g, '')
        }),
      )
      assert.equal(texts[0], texts[1])
    })
  })

  describe('the code of a sign-in by email', () => {
    it('is valid once (R-MAIL-01)', async () => {
      const { service, mails } = await open()
      const page = await EmailPage.open(service)
      const code = await codeFor(page, mails, 'ada@example.com')
      const [first, second] = await Promise.all([
        page.send({ action: 'enter', code }),
        page.send({ action: 'enter', code }),
      ])
      assert.deepEqual(
        [first.status, second.status].toSorted((a, b) => a - b),
        [302, 403],
      )
    })

    it('is valid for ten minutes (R-MAIL-01)', async () => {
      const clock = new ManualClock()
      const { service, mails } = await open({ now: clock.now, timers: clock.timers })
      const page = await EmailPage.open(service)
      const code = await codeFor(page, mails, 'ada@example.com')
      clock.pass(600_001)
      assert.equal((await page.send({ action: 'enter', code })).status, 400)
    })

    it('is valid only in its own sign-in, and only in its browser (R-MAIL-01)', async () => {
      const { service, mails } = await open()
      const attacker = await EmailPage.open(service)
      const code = await codeFor(attacker, mails, 'victim@example.com')
      const other = await EmailPage.open(service)
      await assertNoSignIn(service, async () => {
        const refused = await other.send({ action: 'enter', code, sent_to: 'victim@example.com' })
        assert.equal(refused.status, 403)
        assert.match(await refused.text(), /That code isn’t valid for this sign-in/)
        // The link opens nothing in the browser of the victim, who began no sign-in.
        const victim = new TestBrowser(service)
        assert.equal((await victim.get(mails[0]?.url ?? '')).status, 400)
        const pressed = await EmailPage.at(mails[0]?.url ?? '', victim).send({ action: 'enter', code })
        assert.equal(pressed.status, 400)
      })
    })

    for (const code of ['', '0000-0000', 'abc', '0000-0000-0000']) {
      it(`is refused when it is “${code}”`, async () => {
        const { service, mails } = await open()
        const page = await EmailPage.open(service)
        await codeFor(page, mails, 'ada@example.com')
        const answer = await assertNoSignIn(service, () => page.send({ action: 'enter', code }))
        assert.equal(answer.status, 403)
      })
    }
  })

  describe('the email of a sign-in', () => {
    for (const email of ['', 'ada', 'ada@', '@example.com', 'ada@example.com, eve@example.com']) {
      it(`is not sent to “${email}”`, async () => {
        const { service, mails } = await open()
        const page = await EmailPage.open(service)
        const answer = await page.send({ action: 'send', email })
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), /Enter a valid email address/)
        assert.deepEqual(mails, [])
      })
    }

    it('is reported as not sent when the application fails', async () => {
      const { service } = await open({
        declare: (app) =>
          app.on('sign_in_link_requested', () => {
            throw new Error('The mail server is down')
          }),
      })
      const page = await EmailPage.open(service)
      const answer = await page.send({ action: 'send', email: 'ada@example.com' })
      assert.equal(answer.status, 502)
      assert.match(await answer.text(), /The email couldn’t be sent\./)
    })

    it('is limited for each address', async () => {
      const rateLimits = { '*': null, 'sign_in_link/target': { count: 2, seconds: 3600 } }
      const { service, mails } = await open({ rateLimits, now: () => 1_900_000_000_000 })
      const page = await EmailPage.open(service)
      const send = async (email: string): Promise<number> => (await page.send({ action: 'send', email })).status
      assert.deepEqual(
        [await send('ada@example.com'), await send('ADA@example.com'), await send('ada@example.com')],
        [200, 200, 429],
      )
      assert.equal(await send('ben@example.com'), 200)
      assert.equal(mails.length, 3)
    })

    it('cannot be used up by one sender, nor by many for a browser that has signed in before (RATE-06)', async () => {
      const rateLimits = {
        '*': null,
        'sign_in_link/browser': { count: 2, seconds: 3600 },
        'sign_in_link/pair': { count: 2, seconds: 3600 },
        'sign_in_link/target': { count: 5, seconds: 3600 },
      }
      const { service, mails } = await open({ rateLimits, now: () => 1_900_000_000_000 })
      const from = (remoteAddress: string): TestService => ({
        ...service,
        request: (path, init = {}) =>
          service.app.fetch(new Request(`${service.url}${path}`, { redirect: 'manual', ...init }), { remoteAddress }),
      })
      const send = async (
        at: TestService,
        browser = new TestBrowser(at),
        email = 'ada@example.com',
      ): Promise<number> => {
        const page = await EmailPage.open(at, '/oauth/login/email', browser)
        return (await page.send({ action: 'send', email })).status
      }
      const [attacker, home, office] = [from('192.0.2.1'), from('198.51.100.1'), from('203.0.113.1')]
      for (let n = 0; n < 20; n += 1) assert.equal(await send(attacker), n < 2 ? 200 : 429)
      const known = new TestBrowser(home)
      const page = await EmailPage.open(home, '/oauth/login/email', known)
      assert.equal((await page.send({ action: 'send', email: 'ada@example.com' })).status, 200)
      assert.equal((await page.enter(mails.at(-1)?.code ?? '')).status, 302)
      const mark = known.cookies.get('troupe-known-browser') ?? ''
      assert.match(mark, /^[\w-]{43}\.[\w-]{43}$/)
      for (const n of [1, 2, 3]) await send(from(`192.0.2.${n + 10}`))
      assert.equal(await send(office), 429)
      assert.deepEqual([await send(home, known), await send(home, known), await send(home, known)], [200, 200, 429])
      // A mark of another address does not count, and neither does a forged one.
      assert.equal(await send(home, known, 'ben@example.com'), 200)
      for (const value of [
        mark.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        '',
        '~',
        'x'.repeat(5000),
        `${'A'.repeat(43)}.`,
      ]) {
        const forged = new TestBrowser(office)
        forged.cookies.set('troupe-known-browser', value)
        assert.equal(await send(office, forged), 429, value.slice(0, 20))
      }
    })

    it('is in the log of development without a handler', async () => {
      const service = await start({ signIn: [emailLink()] })
      const page = await EmailPage.open(service)
      await page.send({ action: 'send', email: 'ada@example.com' })
      const line = service.log.find((text) => text.includes('Open this URL, or enter the code, to sign in'))
      const { code } = JSON.parse(line ?? '{}') as { code: string }
      assert.match((await page.enter(code)).headers.get('location') ?? '', /\/www$/)
    })
  })

  describe('the providers of the service itself', () => {
    it('have their places among the others', async () => {
      const idp = await provider()
      const { signIn: others } = signInAt(idp)
      const { service } = await open({
        baseUrl: 'https://notes.example.com',
        signIn: [emailLink(), ...others, passkey()],
      })
      const { oauth_providers: all } = (await (await service.request('/oauth/config')).json()) as {
        oauth_providers: { name: string }[]
      }
      assert.deepEqual(
        all.map(({ name }) => name),
        ['email', 'acme', 'passkey'],
      )
    })
  })
})
