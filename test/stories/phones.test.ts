/** Native applications whose people sign in at this service itself: with a passkey, by email, at the embedding program, locally. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emailLink, openid, passkey } from '../../src/index.ts'
import { signInLocally } from '../support/local-person.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newPkce } from '../support/oauth-client.ts'
import { continueUrlIn, PasskeyPage } from '../support/passkey-page.ts'
import { forEachService, sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { assertNoSignIn, statusesOf, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'

interface Kind {
  readonly options: StartOptions
  /** Acts as the person in the browser of the phone, and returns the URL of the callback. */
  readonly arrive: (browser: TestBrowser, authorizationUrl: string) => Promise<string>
}

const link = 'notes://signed-in'
const mailed = new Map<string, string>()

const locationOf = (answer: Response): string => answer.headers.get('location') ?? ''

const kinds: Readonly<Record<string, Kind>> = {
  passkey: {
    options: { baseUrl: 'https://notes.example.com', signIn: [passkey({ deepLink: link })] },
    arrive: async (browser, authorizationUrl) => {
      const page = await PasskeyPage.at(new URL(authorizationUrl), browser)
      const shown = await page.signUp(new SoftPasskey(), 'Ada')
      return continueUrlIn(await shown.text())
    },
  },
  email: {
    options: {
      signIn: [emailLink()],
      env: { TROUPE_PROVIDER_EMAIL_DEEP_LINK: link },
      declare: (app) => app.on('sign_in_link_requested', ({ email, code }) => void mailed.set(email, code)),
    },
    arrive: async (browser, authorizationUrl) => {
      const { searchParams } = new URL(authorizationUrl)
      await browser.post('/oauth/email-link', {
        ...Object.fromEntries(searchParams),
        action: 'send',
        email: 'ada@example.com',
      })
      const code = mailed.get('ada@example.com') ?? ''
      const form = { ...Object.fromEntries(searchParams), action: 'enter', code }
      return locationOf(await browser.post('/oauth/email-link', form))
    },
  },
  host: {
    options: {
      authenticate: () => ({ email: 'ada@example.com', verified: true }),
      env: { TROUPE_PROVIDER_HOST_DEEP_LINK: link },
    },
    arrive: async (browser, authorizationUrl) => locationOf(await browser.get(authorizationUrl)),
  },
  local: {
    options: { localSignIn: true, env: { TROUPE_PROVIDER_LOCAL_DEEP_LINK: link } },
    arrive: (_browser, authorizationUrl) => signInLocally(authorizationUrl, 'ada@example.com'),
  },
}

async function post(service: TestService, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return service.request(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function begin(service: TestService, body: object): Promise<string> {
  const answer = await post(service, '/oauth/spa/authorize', body)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { authorization_url: string }).authorization_url
}

const redeem = (service: TestService, more: object): Promise<Response> =>
  post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ...more })

forEachService((start) => {
  for (const [name, { options, arrive }] of Object.entries(kinds)) {
    const open = (more: StartOptions = {}): Promise<TestService> => start({ ...options, ...more })

    /** Signs in, and returns the URL of the callback and the one at which the browser ends. */
    const signIn = async (service: TestService, body: object = {}): Promise<{ callback: string; end: URL }> => {
      const browser = new TestBrowser(service)
      const callback = await arrive(browser, await begin(service, { provider: `${name}-mobile`, ...body }))
      return { callback, end: new URL(locationOf(await browser.get(callback))) }
    }
    const ticketOf = async (service: TestService, body: object = {}): Promise<string> =>
      (await signIn(service, body)).end.searchParams.get('ticket') ?? ''

    describe(`a mobile application that begins at ${name}-mobile`, () => {
      it('receives a ticket by the deep link, which signs in once (R-OC-07, IDP-31)', async () => {
        const service = await open()
        const { callback, end } = await signIn(service)
        assert.match(end.href, /^notes:\/\/signed-in\?ticket=[\w-]{43}$/)
        assert.ok(!end.href.includes(new URL(callback).searchParams.get('code') ?? 'none'))
        const ticket = end.searchParams.get('ticket')
        const answers = await Promise.all([1, 2, 3].map(() => redeem(service, { ticket })))
        assert.deepEqual(statusesOf(answers), [200, 400, 400])
        const tokens = (await answers.find(({ status }) => status === 200)?.json()) as Record<string, string>
        const headers = { authorization: `Bearer ${tokens['access_token']}` }
        assert.equal((await service.request(`/${tokens['actor_id']}/properties`, { headers })).status, 200)
        // The state of the callback is used, too.
        const again = await assertNoSignIn(service, () => new TestBrowser(service).get(callback))
        assert.equal(again.status, 400)
      })

      it('can redeem the ticket for five minutes, and not longer (IDP-17)', async () => {
        const clock = new ManualClock(Date.now())
        const service = await open({ now: clock.now })
        const [ticket, late] = [await ticketOf(service), await ticketOf(service)]
        clock.pass(299_000)
        assert.equal((await redeem(service, { ticket })).status, 200)
        clock.pass(2000)
        const answer = await assertNoSignIn(service, () => redeem(service, { ticket: late }))
        assert.equal(answer.status, 400)
      })

      it('needs its own verifier to redeem a ticket (IDP-05)', async () => {
        const service = await open()
        const { verifier, challenge } = newPkce()
        const body = { pkce: 'client', code_challenge: challenge }
        for (const [code_verifier, status] of [
          [undefined, 400],
          ['x'.repeat(43), 401],
          [verifier, 200],
        ] as const)
          assert.equal((await redeem(service, { ticket: await ticketOf(service, body), code_verifier })).status, status)
      })

      it('cannot redeem the code of the callback, which the deep link does not carry (IDP-31)', async () => {
        const service = await open()
        const { challenge } = newPkce()
        const url = await begin(service, { provider: `${name}-mobile`, pkce: 'client', code_challenge: challenge })
        const code = new URL(await arrive(new TestBrowser(service), url)).searchParams.get('code')
        for (const provider of [name, `${name}-mobile`, `${name}-native`]) {
          const given = { grant_type: 'authorization_code', provider, code, code_verifier: 'x'.repeat(43) }
          const answer = await assertNoSignIn(service, () => post(service, '/oauth/spa/token', given))
          assert.equal(answer.status, 401)
        }
      })

      it('can name a path of its deep link as target, and no other place (WEB-11)', async () => {
        const service = await open()
        const { end } = await signIn(service, { provider: name, redirect_uri: `${link}/notes` })
        assert.match(end.href, /^notes:\/\/signed-in\/notes\?session=[\w-]{43}&state=[\w-]{43}$/)
        for (const redirect_uri of [
          'notes://evil/',
          'notes://signed-in.evil.example/',
          'notes2://signed-in',
          'javascript://signed-in/%0Aalert(1)',
          'https://signed-in/',
        ]) {
          const answer = await post(service, '/oauth/spa/authorize', { provider: `${name}-mobile`, redirect_uri })
          assert.equal(answer.status, 400, redirect_uri)
        }
      })

      it('begins at no other suffix (IDP-15)', async () => {
        const service = await open()
        for (const suffix of ['-mobilex', '-tablet', '-', '-mobile-native', '-native-mobile', '-Mobile']) {
          const answer = await post(service, '/oauth/spa/authorize', { provider: `${name}${suffix}` })
          assert.equal(answer.status, 400, suffix)
        }
      })

      it('gets no ticket without a deep link (IDP-31)', async () => {
        const service = await open({ env: {}, ...(name === 'passkey' ? { signIn: [passkey()] } : {}) })
        const browser = new TestBrowser(service)
        const callback = await arrive(browser, await begin(service, { provider: `${name}-mobile` }))
        const answer = await browser.get(callback, { accept: 'application/json' })
        assert.deepEqual([answer.status, answer.headers.get('location')], [200, null])
        assert.equal((await post(service, '/oauth/spa/authorize', { redirect_uri: link })).status, 400)
      })
    })
  }

  describe('the page of a mobile sign-in', () => {
    it('belongs to the browser that began it, where a page began it (IDP-03)', async () => {
      for (const name of ['passkey', 'email'] as const) {
        const service = await start(kinds[name]?.options)
        const begun = await new TestBrowser(service).fetchJson('/oauth/spa/authorize', { provider: `${name}-mobile` })
        const { authorization_url: url } = (await begun.json()) as { authorization_url: string }
        assert.equal((await new TestBrowser(service).get(url)).status, 400)
      }
    })

    it('does not take the state of another sign-in (IDP-04)', async () => {
      const service = await start({
        ...kinds['email']?.options,
        baseUrl: 'https://notes.example.com',
        signIn: [passkey(), emailLink()],
      })
      const { search } = new URL(await begin(service, { provider: 'passkey-mobile' }))
      assert.equal((await new TestBrowser(service).get(`/oauth/passkey${search}`)).status, 200)
      assert.equal((await new TestBrowser(service).get(`/oauth/email-link${search}`)).status, 400)
    })

    it('of the local provider reports to the deep link that the person cancelled (IDP-06)', async () => {
      const service = await start(kinds['local']?.options)
      const callback = await signInLocally(await begin(service, { provider: 'local-mobile' }), null)
      const end = new URL(locationOf(await new TestBrowser(service).get(callback)))
      assert.equal(`${end.protocol}//${end.host}`, link)
      assert.equal(end.searchParams.get('error'), 'access_denied')
    })
  })

  describe('a page with the tokens of the local provider', () => {
    for (const token_delivery of ['json', 'cookie', 'hybrid']) {
      for (const provider of ['local', 'local-mobile', 'local-native', undefined]) {
        it(`signs in with ${token_delivery} at ${provider ?? 'the default provider'} (R-OC-16)`, async () => {
          const service = await start({ localSignIn: true })
          const browser = new TestBrowser(service)
          const begun = await browser.fetchJson('/oauth/spa/authorize', {
            redirect_uri: '/app',
            token_delivery,
            ...(provider === undefined ? {} : { provider }),
          })
          const { authorization_url: url } = (await begun.json()) as { authorization_url: string }
          const back = new URL(locationOf(await browser.get(await signInLocally(url, 'ada@example.com'))))
          const answer = await browser.get(`/oauth/spa/session/${back.searchParams.get('session')}`)
          assert.equal(((await answer.json()) as { email: string }).email, 'ada@example.com')
        })
      }
    }
  })
})

const startOnSqlite = sqliteService()

const production = { mode: 'production', baseUrl: 'https://notes.example.com' } as const
const refused: Readonly<Record<string, readonly [StartOptions, RegExp]>> = {
  'is not a valid address': [
    { signIn: [passkey({ deepLink: 'signed-in' })], baseUrl: 'https://notes.example.com' },
    /^Option signIn, passkey: deepLink must be an absolute address\.$/,
  ],
  'is a script': [
    { signIn: [emailLink({ deepLink: 'javascript:alert(1)' })] },
    /^Option signIn, email: deepLink must be an absolute address\.$/,
  ],
  'has a fragment': [
    { localSignIn: true, env: { TROUPE_PROVIDER_LOCAL_DEEP_LINK: 'notes://a#b' } },
    /^TROUPE_PROVIDER_LOCAL_DEEP_LINK must not have a fragment\.$/,
  ],
  'has a password': [
    { ...kinds['host']?.options, env: { TROUPE_PROVIDER_HOST_DEEP_LINK: 'notes://a:b@c' } },
    /^TROUPE_PROVIDER_HOST_DEEP_LINK must not carry a user name or password\.$/,
  ],
  'is for a sign-in that is not offered': [
    { signIn: [emailLink()], env: { TROUPE_PROVIDER_LOCAL_DEEP_LINK: link } },
    /^TROUPE_PROVIDER_LOCAL_DEEP_LINK has no effect: the service offers no sign-in local\.$/,
  ],
  'is for a program that does not embed the service': [
    { localSignIn: true, env: { TROUPE_PROVIDER_HOST_DEEP_LINK: link } },
    /^TROUPE_PROVIDER_HOST_DEEP_LINK has no effect: the service offers no sign-in host\.$/,
  ],
  'stands beside another setting': [
    { signIn: [emailLink()], env: { TROUPE_PROVIDER_EMAIL_CLIENT_ID: 'x' } },
    /^TROUPE_PROVIDER_EMAIL_CLIENT_ID has no effect: the only setting of the provider email is TROUPE_PROVIDER_EMAIL_DEEP_LINK\.$/,
  ],
  'belongs to a client of its own in the environment': [
    { env: { TROUPE_PROVIDERS: 'email-mobile' } },
    /^TROUPE_PROVIDERS must not contain email-mobile: name email, and applications can begin at email-mobile\.$/,
  ],
  'belongs to another provider under the name': [
    { signIn: [openid({ name: 'passkey-mobile', issuer: 'https://a.example', clientId: 'a', deepLink: link })] },
    /^Option signIn: passkey-mobile is a sign-in of this service; give the provider another name\.$/,
  ],
}
describe('the deep link of a sign-in of this service', () => {
  for (const [what, [options, message]] of Object.entries(refused)) {
    it(`stops the start when it ${what} (R-OC-15)`, async () => {
      await assert.rejects(startOnSqlite(options), { name: 'ConfigError', message })
    })
  }

  it('can be set for the passkeys of a service without any setting', async () => {
    const service = await startOnSqlite({
      ...production,
      env: {
        TROUPE_PROVIDER_PASSKEY_DEEP_LINK: link,
        TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
      },
    })
    const { parts } = await service.app.running()
    assert.equal(parts.providers.find('passkey-mobile')?.deepLink, link)
  })
})
