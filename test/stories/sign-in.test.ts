import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Events } from '../../src/app/declarations.ts'
import type { App } from '../../src/troupe.ts'
import { createAccounts } from '../../src/sign-in/create.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizePath, newPkce, registerClient } from '../support/oauth-client.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import {
  actorIn,
  sharedProvider,
  signIn,
  signInAt,
  assertNoSignIn,
  TestBrowser,
  wayBack,
  statusesOf,
} from '../support/sign-in.ts'

const provider = sharedProvider()

/** Records the events of sign-ins, in order. */
class HeardSignIns {
  readonly names: string[] = []
  readonly successes: Events['oauth_success'][] = []
  /** The stored values when each event fired. */
  readonly storedThen: unknown[] = []
  answer: unknown = undefined

  readonly declare = (app: App): void => {
    app.on('actor_created', async ({ actor }) => {
      this.names.push('actor_created')
      this.storedThen.push((await actor.signIn.get())?.fields)
      await actor.set('welcome', 'hello')
    })
    app.on('oauth_success', async (event) => {
      this.names.push('oauth_success')
      this.successes.push(event)
      this.storedThen.push(await event.actor.signIn.providerTokens())
      return this.answer
    })
  }
}

forEachService((start) => {
  async function startWith(options: StartOptions = {}): Promise<{ service: TestService; browser: TestBrowser }> {
    const service = await start({ ...signInAt(await provider()), ...options })
    return { service, browser: new TestBrowser(service) }
  }

  describe('a sign-in on the web', () => {
    it('creates the actor of the address that the provider vouches for, and begins its session (R-OC-01, R-TOK-07)', async () => {
      const { service, browser } = await startWith()
      const answer = await signIn(browser, await provider(), 'ada')
      const id = actorIn(answer)
      assert.equal(answer.status, 302)
      assert.equal(answer.headers.get('location'), `http://troupe.test/${id}/www`)
      assert.equal(browser.lastCookies.length, 2)
      assert.equal(browser.lastCookies[1], 'troupe-signed-in=1; Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax')
      assert.match(
        browser.lastCookies[0] ?? '',
        /^oauth_token=[0-9a-f]{40}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
      )
      assert.equal((await service.app.actors.get(id))?.creator, 'ada@example.com')
      const shown = await browser.get(`/${id}/properties`, { accept: 'application/json' })
      assert.equal(shown.status, 200)
    })

    it('leads to the same actor the next time, from any browser (R-OC-01)', async () => {
      const { service, browser } = await startWith()
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), 'ada')), id)
      assert.notEqual(actorIn(await signIn(new TestBrowser(service), await provider(), 'bob')), id)
    })

    it('gives the browser no token of the provider, in no header, page or URL (R-OC-01, IDP-19)', async () => {
      const { service, browser } = await startWith()
      const answer = await signIn(browser, await provider(), 'ada')
      const actor = await service.app.actors.get(actorIn(answer))
      const { accessToken = '' } = (await actor?.signIn.providerTokens()) ?? {}
      assert.ok(accessToken.length > 20)
      const said = JSON.stringify([[...answer.headers], await answer.text(), browser.lastCookies, service.log])
      assert.ok(!said.includes(accessToken))
      const page = await browser.get(`/${actor?.id}`, { accept: 'application/json' })
      assert.ok(!(await page.text()).includes(accessToken))
    })

    it('sends one request for the token and one for the user info (R-OC-01)', async () => {
      const { browser } = await startWith()
      const idp = await provider()
      const back = await wayBack(browser, idp, 'ada')
      idp.requests.length = 0
      await browser.get(back.href)
      const asked = idp.requests.filter((request) => !request.includes('jwks'))
      assert.deepEqual(asked, ['POST /token', 'GET /me'])
    })

    it('stores provider, sealed tokens, address and time, and updates the provider at each sign-in (R-OC-19)', async () => {
      const clock = new ManualClock(Date.now())
      const { service, browser } = await startWith({
        now: clock.now,
        ...signInAt(await provider(), { name: 'other' }),
      })
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      const actor = await service.app.actors.get(id)
      const seconds = String(Math.floor(clock.now() / 1000))
      assert.deepEqual((await actor?.signIn.get())?.fields, {
        auth_method: 'acme_oauth2',
        created_at: seconds,
        email: 'ada@example.com',
        oauth_provider: 'acme',
      })
      const first = await actor?.signIn.providerTokens()
      assert.equal(typeof first?.accessToken, 'string')
      assert.equal(first?.expiresAt?.getTime(), (Number(seconds) + 3600) * 1000)
      clock.pass(5000)
      await signIn(browser, await provider(), 'ada', '/oauth/login/other')
      assert.deepEqual((await actor?.signIn.get())?.fields, {
        auth_method: 'acme_oauth2',
        created_at: seconds,
        email: 'ada@example.com',
        oauth_provider: 'other',
      })
      assert.notEqual((await actor?.signIn.providerTokens())?.accessToken, first?.accessToken)
    })

    it('keeps a refresh token that the provider does not give again (R-OC-19)', async () => {
      const { service, browser } = await startWith()
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      const actor = await service.app.actors.get(id)
      const { parts, store } = await service.app.running()
      for (const tokens of [{ access_token: 'first', refresh_token: 'kept' }, { access_token: 'second' }]) {
        const person = { userInfo: { sub: '1' }, tokens, stableId: 'acme:1', address: null }
        const signedIn = { provider: 'acme', person, address: null, isProven: true }
        await store.writeActor(id, (tx) => createAccounts(parts).record(tx, id, signedIn))
      }
      assert.deepEqual(await actor?.signIn.providerTokens(), { accessToken: 'second', refreshToken: 'kept' })
    })

    it('reports that the address is verified, without storing a flag (R-OC-19)', async () => {
      const { service, browser } = await startWith()
      const actor = await service.app.actors.get(actorIn(await signIn(browser, await provider(), 'ada')))
      const known = await actor?.signIn.get()
      assert.equal(known?.emailVerified, true)
      assert.equal(known?.isProven, true)
      assert.equal(known?.provider, 'acme')
      assert.equal('email_verified' in (known?.fields ?? {}), false)
    })

    it('can be ended by a sign-out, which deletes the access token of the provider without a request to it (R-OC-10)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const actor = await service.app.actors.get(actorIn(await signIn(browser, idp, 'ada')))
      idp.requests.length = 0
      assert.equal((await browser.post('/oauth/logout', {})).status, 302)
      const left = await actor?.signIn.providerTokens()
      assert.equal(left?.accessToken, undefined)
      assert.equal(left?.expiresAt, undefined)
      assert.deepEqual(idp.requests, [])
      assert.equal((await actor?.signIn.get())?.provider, 'acme')
    })

    it('redirects to the requested page (R-OC-18)', async () => {
      const { browser } = await startWith()
      const answer = await signIn(browser, await provider(), 'ada', '/oauth/login/acme?redirect=%2Fsome%2Fpage%3Fx%3D1')
      assert.equal(answer.headers.get('location'), 'http://troupe.test/some/page?x=1')
    })

    for (const redirect of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      'https:evil.example',
      '/%252F/evil',
      '\t//evil.example',
      'javascript:alert(1)',
    ]) {
      it(`does not begin with the redirect ${JSON.stringify(redirect)} (WEB-11, R-OC-18)`, async () => {
        const { service, browser } = await startWith()
        const answer = await assertNoSignIn(service, () =>
          browser.get(`/oauth/login/acme?redirect=${encodeURIComponent(redirect)}`),
        )
        assert.equal(answer.status, 400)
        assert.equal(answer.headers.get('location'), null)
      })
    }

    it('begins a new session, and ends the session that the browser had, planted or old (WEB-09)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const attacker = new TestBrowser(service)
      const theirs = actorIn(await signIn(attacker, idp, 'bob'))
      const planted = attacker.cookies.get('oauth_token') ?? ''
      browser.cookies.set('oauth_token', planted)
      const own = actorIn(await signIn(browser, idp, 'ada'))
      const first = browser.cookies.get('oauth_token') ?? ''
      assert.notEqual(first, planted)
      await signIn(browser, idp, 'ada')
      const second = browser.cookies.get('oauth_token') ?? ''
      const status = async (id: string, token: string): Promise<number> =>
        (await service.request(`/${id}/properties`, { headers: { authorization: `Bearer ${token}` } })).status
      assert.deepEqual(
        [await status(theirs, planted), await status(own, first), await status(own, second)],
        [401, 401, 200],
      )
      await browser.post('/oauth/logout', {})
      assert.equal(await status(own, second), 401)
    })

    it('redirects to the application when the service has no pages (R-ACT-06, R-OC-01)', async () => {
      const { browser } = await startWith({ webUi: false })
      const answer = await signIn(browser, await provider(), 'ada')
      assert.equal(answer.headers.get('location'), `http://troupe.test/${actorIn(answer)}/app`)
    })

    it('keeps the path prefix of the service (R-OC-01)', async () => {
      const { browser } = await startWith({ baseUrl: 'http://troupe.test/pre' })
      const answer = await signIn(browser, await provider(), 'ada')
      assert.match(answer.headers.get('location') ?? '', /^http:\/\/troupe\.test\/pre\/[0-9a-f]{32}\/www$/)
    })
  })

  describe('the state of a sign-in', () => {
    const refusals: Readonly<Record<string, (back: URL) => void>> = {
      'is missing': (back) => back.searchParams.delete('state'),
      'is empty': (back) => back.searchParams.set('state', ''),
      'is invented': (back) => back.searchParams.set('state', 'x'.repeat(43)),
      'was altered': (back) => back.searchParams.set('state', `${back.searchParams.get('state')?.slice(0, -1)}~`),
      'is JSON with parameters': (back) => back.searchParams.set('state', '{"spa_mode":true,"provider":"acme"}'),
    }
    for (const [what, change] of Object.entries(refusals)) {
      it(`that ${what} signs in no user, and the provider receives no code (IDP-01)`, async () => {
        const { service, browser } = await startWith()
        const idp = await provider()
        const back = await wayBack(browser, idp, 'ada')
        change(back)
        idp.requests.length = 0
        const answer = await assertNoSignIn(service, () => browser.get(back.href))
        assert.equal(answer.status, 400)
        assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
        assert.deepEqual([browser.lastCookies, idp.requests], [[], []])
      })
    }

    it('is valid for exactly ten minutes (IDP-01)', async () => {
      const clock = new ManualClock(Date.now())
      const { service, browser } = await startWith({ now: clock.now })
      const [late, inTime] = [
        await wayBack(browser, await provider(), 'ada'),
        await wayBack(browser, await provider(), 'ada'),
      ]
      clock.pass(600_000)
      // The code of the provider expires earlier, so the test only checks whether the provider receives a request.
      const idp = await provider()
      idp.requests.length = 0
      await browser.get(inTime.href)
      assert.ok(idp.requests.includes('POST /token'))
      clock.pass(1)
      idp.requests.length = 0
      assert.equal((await assertNoSignIn(service, () => browser.get(late.href))).status, 400)
      assert.deepEqual(idp.requests, [])
    })

    it('is valid once, and its second use is rejected (IDP-02, R-OC-18)', async () => {
      const { service, browser } = await startWith()
      const back = await wayBack(browser, await provider(), 'ada')
      assert.equal((await browser.get(back.href)).status, 302)
      assert.equal((await assertNoSignIn(service, () => browser.get(back.href))).status, 400)
    })

    it('is accepted in one of ten concurrent requests (IDP-02)', async () => {
      const { service, browser } = await startWith()
      const back = await wayBack(browser, await provider(), 'ada')
      const cookie = `troupe-browser=${browser.cookies.get('troupe-browser')}`
      const path = back.href.slice(service.url.length)
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => service.request(path, { headers: { accept: 'text/html', cookie } })),
      )
      assert.deepEqual(statusesOf(answers), [302, ...Array.from({ length: 9 }, () => 400)])
    })

    it('is rejected in another browser, and remains valid in the browser that began (IDP-03)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const attacker = await wayBack(browser, idp, 'bob')
      const victim = new TestBrowser(service)
      assert.equal((await assertNoSignIn(service, () => victim.get(attacker.href))).status, 400)
      await victim.get('/oauth/login/acme')
      assert.equal((await assertNoSignIn(service, () => victim.get(attacker.href))).status, 400)
      assert.deepEqual([...victim.cookies.keys()], ['troupe-browser'])
      assert.equal((await browser.get(attacker.href)).status, 302)
    })

    it('is bound by a cookie that no sub-domain can plant and no script can read (IDP-03)', async () => {
      const { browser } = await startWith()
      await browser.get('/oauth/login/acme')
      assert.match(browser.lastCookies[0] ?? '', /^troupe-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    })

    it('is rejected at another provider, which never receives the code (IDP-04)', async () => {
      const { service, browser } = await startWith({
        ...signInAt(await provider(), { name: 'form', responseMode: 'form_post' }),
      })
      const begun = await browser.get('/oauth/login/form')
      const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
      const idp = await provider()
      idp.requests.length = 0
      for (const [path, form] of [
        ['/oauth/callback/acme', 404],
        ['/oauth/callback/unknown', 404],
        ['/oauth/callback/../callback', 404],
      ] as const) {
        const answer = await browser.post(path, { state, code: 'stolen' })
        assert.ok([form, 405].includes(answer.status), `${path} ${answer.status}`)
      }
      const answer = await assertNoSignIn(service, () => browser.get(`/oauth/callback?state=${state}&code=stolen`))
      assert.equal(answer.status, 400)
      assert.deepEqual(idp.requests, [])
    })

    it('does not protect a response of another issuer from rejection, as RFC 9207 requires (IDP-04)', async () => {
      const { service, browser } = await startWith()
      const back = await wayBack(browser, await provider(), 'ada')
      back.searchParams.set('iss', 'https://evil.example')
      assert.equal((await assertNoSignIn(service, () => browser.get(back.href))).status, 502)
    })

    it('is purged after it expired, when users sign in (R-OC-18)', async () => {
      const clock = new ManualClock(Date.now())
      const { service, browser } = await startWith({ now: clock.now })
      for (let count = 0; count < 5; count += 1) await new TestBrowser(service).get('/oauth/login/acme')
      const { store, parts } = await service.app.running()
      const states = async (): Promise<number> => (await dumpStore(store))['one_time']?.length ?? 0
      assert.equal(await states(), 5)
      // The first request starts a purge. While it runs, no other one starts.
      await parts.purge.settled()
      // A state is valid for ten minutes, and the purge runs at most once an hour.
      clock.pass(600_001 + 3_600_000)
      await signIn(browser, await provider(), 'ada')
      await parts.purge.settled()
      assert.equal(await states(), 1)
    })

    it('is purged after it expired, when users only begin to sign in (R-OC-18)', async () => {
      const ways: ((service: TestService) => Promise<Response>)[] = [
        (service) => new TestBrowser(service).get('/oauth/login/acme'),
        (service) => new TestBrowser(service).fetchJson('/oauth/spa/authorize', {}),
        async (service) =>
          new TestBrowser(service).get(
            authorizePath(await registerClient(service, { token_endpoint_auth_method: 'none' }), newPkce()),
          ),
      ]
      for (const come of ways) {
        const clock = new ManualClock(Date.now())
        const { service } = await startWith({ now: clock.now })
        const { store, parts } = await service.app.running()
        for (let count = 0; count < 5; count += 1) assert.ok((await come(service)).status < 400)
        await parts.purge.settled()
        clock.pass(600_001 + 3_600_000)
        await come(service)
        await parts.purge.settled()
        assert.equal((await dumpStore(store))['one_time']?.length, 1)
      }
    })

    it('is not consumed by a HEAD of the callback (R-OC-18)', async () => {
      const { service, browser } = await startWith()
      const back = await wayBack(browser, await provider(), 'ada')
      const path = back.href.slice(service.url.length)
      const cookie = `troupe-browser=${browser.cookies.get('troupe-browser')}`
      await assertNoSignIn(service, () => service.request(path, { method: 'HEAD', headers: { cookie } }))
      assert.equal((await browser.get(back.href)).status, 302)
    })
  })

  describe('a provider that signs in no user', () => {
    it('leads to a page with 400 when the user cancelled, which shows the error as text (R-OC-01)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const begun = await browser.get('/oauth/login/acme')
      const back = (await idp.cancel(begun.headers.get('location') ?? '')).url
      back.searchParams.set('error', '<script>alert(1)</script>')
      const answer = await assertNoSignIn(service, () => browser.get(back.href))
      assert.equal(answer.status, 400)
      const page = await answer.text()
      assert.ok(!page.includes('<script>alert'))
      assert.ok(page.includes('&lt;script&gt;'))
    })

    it('leads to 400 without a code (R-OC-01)', async () => {
      const { service, browser } = await startWith()
      const back = await wayBack(browser, await provider(), 'ada')
      back.searchParams.delete('code')
      assert.equal((await assertNoSignIn(service, () => browser.get(back.href))).status, 400)
    })

    for (const [what, path] of [
      ['token', '/token'],
      ['person', '/me'],
    ] as const) {
      it(`leads to 502 when it answers the request for the ${what} with an error (IDP-19)`, async () => {
        const { service, browser } = await startWith()
        const idp = await provider()
        const back = await wayBack(browser, idp, 'ada')
        idp.answers.set(path, (_request, response) =>
          response.writeHead(500, { 'content-type': 'text/html' }).end('<p>secret-of-provider'),
        )
        try {
          const answer = await assertNoSignIn(service, () => browser.get(back.href))
          assert.equal(answer.status, 502)
          assert.ok(!(await answer.text()).includes('secret-of-provider'))
        } finally {
          idp.answers.delete(path)
        }
      })
    }

    it('leads to JSON for a client that requests JSON (R-OC-01)', async () => {
      const { service } = await startWith()
      const answer = await service.request('/oauth/callback?code=x', { headers: { accept: 'application/json' } })
      assert.equal(answer.status, 400)
      assert.equal(((await answer.json()) as { error: string }).error, 'bad_request')
    })
  })

  describe('the events of a sign-in', () => {
    it('are actor_created once, before anything is stored, and oauth_success before the tokens are stored (R-EVT-01, R-OC-19)', async () => {
      const heard = new HeardSignIns()
      const { service, browser } = await startWith({ declare: heard.declare })
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      assert.deepEqual(heard.names, ['actor_created', 'oauth_success'])
      assert.deepEqual(heard.storedThen, [{}, {}])
      assert.equal(await (await service.app.actors.get(id))?.get('welcome'), 'hello')
      await signIn(browser, await provider(), 'ada')
      assert.deepEqual(heard.names, ['actor_created', 'oauth_success', 'oauth_success'])
    })

    it('include the address, the tokens and normalized user info in oauth_success (R-EVT-02, R-EVT-01)', async () => {
      const heard = new HeardSignIns()
      const { browser } = await startWith({ declare: heard.declare })
      await signIn(browser, await provider(), 'bob')
      const [{ actor, email, access_token, token_data, user_info } = assert.fail()] = heard.successes
      assert.equal(actor.creator, 'bob@example.com')
      assert.equal(email, 'bob@example.com')
      assert.equal(token_data['access_token'], access_token)
      assert.ok(access_token.length > 20)
      assert.deepEqual(
        [
          user_info['display_name'],
          user_info['given_name'],
          user_info['family_name'],
          user_info['email'],
          user_info['sub'],
        ],
        ['Bob Example', 'Bob', 'Example', 'bob@example.com', 'bob'],
      )
    })

    for (const answer of [true, undefined, null, 1, 'yes', {}]) {
      it(`accept the sign-in when the handler of oauth_success returns ${JSON.stringify(answer) ?? 'undefined'} (R-EVT-02)`, async () => {
        const heard = new HeardSignIns()
        heard.answer = answer
        const { browser } = await startWith({ declare: heard.declare })
        assert.equal((await signIn(browser, await provider(), 'ada')).status, 302)
      })
    }

    for (const answer of [false, 0, '']) {
      it(`reject the sign-in with 403 when the handler of oauth_success returns ${JSON.stringify(answer)}, and store nothing (R-EVT-02)`, async () => {
        const heard = new HeardSignIns()
        heard.answer = answer
        const { service, browser } = await startWith({ declare: heard.declare })
        const idp = await provider()
        const result = await signsNobodyInBut(service, () => signIn(browser, idp, 'ada'))
        assert.equal(result.status, 403)
        assert.deepEqual(browser.lastCookies, [])
      })
    }

    it('leave an existing actor unchanged when the handler rejects the sign-in (R-EVT-02)', async () => {
      const heard = new HeardSignIns()
      const { service, browser } = await startWith({ declare: heard.declare })
      const idp = await provider()
      await signIn(browser, idp, 'ada')
      heard.answer = false
      const answer = await assertNoSignIn(service, () => signIn(new TestBrowser(service), idp, 'ada'))
      assert.equal(answer.status, 403)
    })

    it('reject the sign-in when any handler returns false or throws (R-EVT-02)', async () => {
      for (const refuse of [() => false, () => assert.fail('broken')]) {
        const { service, browser } = await startWith({
          declare: (app) => app.on('oauth_success', refuse).on('oauth_success', () => true),
        })
        const answer = await signsNobodyInBut(service, async () => signIn(browser, await provider(), 'ada'))
        assert.equal(answer.status, 403)
      }
    })

    it('may have asynchronous handlers (R-EVT-03)', async () => {
      const { service, browser } = await startWith({
        declare: (app) => app.on('oauth_success', () => new Promise((resolve) => setImmediate(() => resolve(false)))),
      })
      const answer = await signsNobodyInBut(service, async () => signIn(browser, await provider(), 'ada'))
      assert.equal(answer.status, 403)
    })
  })

  describe('a sign-in for a certain account', () => {
    it('is rejected when it ends with another identity, and nothing is created or linked (IDP-11)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const ada = actorIn(await signIn(new TestBrowser(service), idp, 'ada'))
      for (const sub of ['bob', 'silent']) {
        const answer = await assertNoSignIn(service, () => signIn(browser, idp, sub, `/oauth/login/acme?actor=${ada}`))
        assert.equal(answer.status, 403, sub)
        assert.ok(!(await answer.text()).includes('ada@example.com'))
      }
      assert.equal(actorIn(await signIn(browser, idp, 'ada', `/oauth/login/acme?actor=${ada}`)), ada)
    })

    it('is rejected when the provider reports another address than the typed one (IDP-11)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const form = await browser.post('/', { creator: 'Ada@Example.com' })
      assert.equal(form.status, 302)
      const begin = (form.headers.get('location') ?? '').slice(service.url.length)
      assert.equal(begin, '/oauth/login/acme?login_hint=Ada%40Example.com')
      assert.equal((await assertNoSignIn(service, () => signIn(browser, idp, 'bob', begin))).status, 403)
      assert.equal((await signIn(browser, idp, 'ada', begin)).status, 302)
    })

    it('is rejected for an unknown actor (IDP-11)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const answer = await assertNoSignIn(service, () =>
        signIn(browser, idp, 'ada', `/oauth/login/acme?actor=${'0'.repeat(32)}`),
      )
      assert.equal(answer.status, 403)
    })
  })

  describe('the front page and the sign-in page', () => {
    for (const path of ['/', '/login']) {
      it(`have a working link for each provider at ${path}, and none for the variants of devices (R-ACT-01)`, async () => {
        const { browser } = await startWith({
          ...signInAt(await provider(), { name: 'other', displayName: 'Other & Co' }, { name: 'acme-mobile' }),
        })
        const page = await (await browser.get(path)).text()
        const links = [...page.matchAll(/<a class="button" href="([^"]*)">Continue with ([^<]*)<\/a>/g)].map(
          ([, href, name]) => [href, name],
        )
        assert.deepEqual(links, [
          ['http://troupe.test/oauth/login/acme', 'Acme'],
          ['http://troupe.test/oauth/login/other', 'Other &amp; Co'],
        ])
        for (const [href = ''] of links) {
          assert.equal((await signIn(new TestBrowser(browser.service), await provider(), 'ada', href)).status, 302)
        }
      })
    }

    it('pass oauth_urls, oauth_providers and oauth_enabled to an application-defined page (R-ACT-01)', async () => {
      const seen: unknown[] = []
      const { browser } = await startWith({
        pages: {
          factory: ({ oauth_urls, oauth_providers, oauth_enabled, base_path }) => {
            seen.push({ oauth_urls, oauth_providers, oauth_enabled, base_path })
            return Promise.resolve('') as never
          },
        },
      })
      await browser.get('/')
      assert.deepEqual(seen, [
        {
          oauth_urls: { acme: 'http://troupe.test/oauth/login/acme' },
          oauth_providers: [{ name: 'acme', display_name: 'Acme', url: 'http://troupe.test/oauth/login/acme' }],
          oauth_enabled: true,
          base_path: '',
        },
      ])
    })

    it('keep the requested page in their links (R-OC-18, R-ACT-01)', async () => {
      const { browser } = await startWith()
      const page = await (await browser.get('/login?redirect=%2Fabc%2Fwww')).text()
      assert.ok(page.includes('href="http://troupe.test/oauth/login/acme?redirect=%2Fabc%2Fwww"'))
    })

    it('are shown without storing anything (WEB-06, R-ACT-01)', async () => {
      const { service, browser } = await startWith()
      service.reset()
      await browser.get('/')
      await browser.get('/login')
      assert.deepEqual(service.statements, [])
    })

    it('begin no sign-in under a name that is not configured (IDP-15, R-OC-11)', async () => {
      const { service, browser } = await startWith()
      for (const name of [
        'google',
        'ACME',
        'acme-mobilex',
        'acme-',
        '..%2Facme',
        'acme%00',
        'constructor',
        '__proto__',
      ]) {
        const answer = await assertNoSignIn(service, () => browser.get(`/oauth/login/${name}`))
        assert.equal(answer.status, 400, name)
      }
    })
  })

  describe('users in provider-id mode', () => {
    it('are identified by the id at the provider when the provider vouches for no address (R-OC-21)', async () => {
      const { service, browser } = await startWith({ signInIdentity: 'provider' })
      const idp = await provider()
      const id = actorIn(await signIn(browser, idp, 'silent'))
      const actor = await service.app.actors.get(id)
      assert.equal(actor?.creator, 'acme:silent')
      const known = await actor?.signIn.get()
      assert.deepEqual(
        [known?.identifier, known?.fields['oauth_sub'], known?.email],
        ['acme:silent', 'silent', undefined],
      )
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, 'silent')), id)
    })

    it('are identified by a verified address, and keep their actor when the provider stops sending it (R-OC-21)', async () => {
      const { service, browser } = await startWith({ signInIdentity: 'provider' })
      const idp = await provider()
      const sub = `moving-${service.databaseUrl.length}-${Math.random()}`
      idp.people.set(sub, { email: `${sub}@example.com`, email_verified: true })
      const id = actorIn(await signIn(browser, idp, sub))
      assert.equal((await service.app.actors.get(id))?.creator, `${sub}@example.com`)
      idp.people.set(sub, {})
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
    })

    it('are never identified by an unverified address (R-OC-21, R-OC-12)', async () => {
      const { service, browser } = await startWith({ signInIdentity: 'provider' })
      const id = actorIn(await signIn(browser, await provider(), 'unverified'))
      const actor = await service.app.actors.get(id)
      assert.equal(actor?.creator, 'acme:unverified')
      assert.equal(await service.app.actors.findByCreator('victim@example.com'), undefined)
    })
  })

  describe('a token of the provider', () => {
    it('authenticates nothing here, and is sent nowhere (R-AUTH-02, WEB-12)', async () => {
      const { service, browser } = await startWith()
      const idp = await provider()
      const id = actorIn(await signIn(browser, idp, 'ada'))
      const { accessToken = '' } = (await (await service.app.actors.get(id))?.signIn.providerTokens()) ?? {}
      idp.requests.length = 0
      const idToken = await idp.assertion({ sub: 'ada', email: 'ada@example.com', email_verified: true })
      for (const token of [accessToken, idToken, 'gho_0123456789012345678901234567890123456789', 'ya29.a0AfH6SMBx']) {
        const answer = await service.request(`/${id}/properties`, { headers: { authorization: `Bearer ${token}` } })
        assert.equal(answer.status, 403)
      }
      assert.deepEqual(idp.requests, [])
    })
  })
})

/** Like `assertNoSignIn`, but allows the tombstone of an actor that was created and deleted meanwhile. */
async function signsNobodyInBut<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  return assertNoSignIn(service, work, ['deleted_actor'])
}
