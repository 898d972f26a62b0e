import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { apple } from '../../src/index.ts'
import { startApple } from '../support/providers/apple.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { sharedProvider, signInAt, assertNoSignIn, TestBrowser, statusesOf } from '../support/sign-in.ts'
import type { IdentityProvider } from '../support/identity-provider.ts'

const provider = sharedProvider()

interface Begun {
  readonly authorization_url: string
  readonly state: string
  readonly [member: string]: unknown
}

interface TokenAnswer {
  readonly access_token?: string
  readonly refresh_token?: string
  readonly actor_id: string
  readonly email?: string
  readonly [member: string]: unknown
}

const target = 'https://app.example.com/signed-in?own=1#part'

function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(48).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

forEachService((start) => {
  async function startWith(options: StartOptions = {}): Promise<TestService> {
    const idp = await provider()
    return start({
      ...signInAt(
        idp,
        { name: 'form', responseMode: 'form_post' },
        { name: 'acme-mobile', deepLink: 'com.example.app:/signed-in?old=1', audiences: [idp.clientId, 'ios-client'] },
        { name: 'acme-native', audiences: ['ios-client', 'android-client'] },
      ),
      spaRedirectOrigins: ['https://app.example.com'],
      ...options,
    })
  }

  /** Sends a request as a program or a page of another site does, without cookies. */
  async function post(
    service: TestService,
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return service.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  }

  async function begin(service: TestService, body: object): Promise<Begun> {
    const answer = await post(service, '/oauth/spa/authorize', body)
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as Begun
  }

  /**
   * Completes a sign-in that an application began, in a browser without cookies, and returns the response of the
   * callback.
   */
  async function comeBack(
    service: TestService,
    idp: IdentityProvider,
    begun: Begun,
    sub: string,
    accept = 'text/html',
  ): Promise<Response> {
    const { url } = await idp.signIn(begun.authorization_url, sub)
    return service.request(url.href.slice(service.url.length), { headers: { accept } })
  }

  const locationOf = (answer: Response): URL => new URL(answer.headers.get('location') ?? 'none:')

  async function exchange(service: TestService, session: string): Promise<Response> {
    return service.request(`/oauth/spa/session/${session}`)
  }

  async function opens(service: TestService, { actor_id, access_token }: TokenAnswer): Promise<number> {
    const headers = { authorization: `Bearer ${access_token}` }
    return (await service.request(`/${actor_id}/properties`, { headers })).status
  }

  describe('GET /oauth/config', () => {
    it('lists the providers with response mode and platform, and all endpoints (R-OC-03)', async () => {
      const service = await startWith()
      const idp = await provider()
      for (const path of ['/oauth/config', '/oauth/spa/config']) {
        const answer = await service.request(path)
        assert.equal(answer.status, 200)
        const config = (await answer.json()) as Record<string, unknown> & { oauth_providers: unknown[] }
        const endpoints = {
          authorization_endpoint: `${idp.issuer}/auth`,
          token_endpoint: `${idp.issuer}/token`,
          userinfo_endpoint: `${idp.issuer}/me`,
        }
        assert.deepEqual(config.oauth_providers, [
          { name: 'acme', display_name: 'Acme', ...endpoints, response_mode: 'query', platform: 'web' },
          { name: 'form', display_name: 'Acme', ...endpoints, response_mode: 'form_post', platform: 'web' },
          { name: 'acme', display_name: 'Acme', ...endpoints, response_mode: 'query', platform: 'any' },
          { name: 'acme', display_name: 'Acme', ...endpoints, response_mode: 'query', platform: 'any' },
        ])
        assert.equal(config['oauth_enabled'], true)
        assert.deepEqual(config['pkce_methods'], ['S256'])
        assert.deepEqual(config['token_delivery_modes'], ['json', 'cookie', 'hybrid'])
        assert.equal(config['refresh_token_rotation'], true)
        assert.deepEqual(config['endpoints'], {
          config: 'http://troupe.test/oauth/config',
          callback: 'http://troupe.test/oauth/callback',
          revoke: 'http://troupe.test/oauth/revoke',
          session: 'http://troupe.test/oauth/session',
          logout: 'http://troupe.test/oauth/logout',
          authorize: 'http://troupe.test/oauth/spa/authorize',
          token: 'http://troupe.test/oauth/spa/token',
          mcp_authorize: 'http://troupe.test/oauth/authorize',
          mcp_token: 'http://troupe.test/oauth/token',
          oauth_callback: 'http://troupe.test/oauth/callback',
        })
        assert.ok(!JSON.stringify(config).includes(idp.clientSecret))
      }
    })

    it('reports that no provider is configured (R-OC-03)', async () => {
      const service = await start()
      const config = (await (await service.request('/oauth/config')).json()) as Record<string, unknown>
      assert.deepEqual([config['oauth_enabled'], config['oauth_providers']], [false, []])
    })
  })

  describe('POST /oauth/spa/authorize', () => {
    it('returns the URL of the provider, which contains the returned state and challenge (IDP-05, R-OC-04)', async () => {
      const service = await startWith()
      const begun = await begin(service, { provider: 'acme', redirect_uri: target })
      const url = new URL(begun.authorization_url)
      assert.equal(url.origin, (await provider()).issuer)
      assert.equal(url.searchParams.get('state'), begun.state)
      assert.match(begun.state, /^[\w-]{43}$/)
      assert.equal(url.searchParams.get('code_challenge'), begun['code_challenge'])
      assert.match(String(begun['code_challenge']), /^[\w-]{43}$/)
      assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
      assert.equal(url.searchParams.get('redirect_uri'), 'http://troupe.test/oauth/callback')
      assert.deepEqual(
        [begun['provider'], begun['token_delivery'], begun['code_challenge_method'], begun['pkce_managed_by']],
        ['acme', 'json', 'S256', 'server'],
      )
    })

    it('sends the challenge of the application, and reports none of its own (IDP-05)', async () => {
      const service = await startWith()
      const { challenge } = pkce()
      const begun = await begin(service, { pkce: 'client', code_challenge: challenge })
      assert.equal(new URL(begun.authorization_url).searchParams.get('code_challenge'), challenge)
      assert.equal('code_challenge' in begun, false)
      assert.equal('pkce_managed_by' in begun, false)
    })

    it('uses the first provider when the request names none (R-OC-04)', async () => {
      assert.equal((await begin(await startWith(), {}))['provider'], 'acme')
    })

    const refusals: Readonly<Record<string, object>> = {
      'an unknown provider (IDP-15)': { provider: 'unknown' },
      'a name in capitals (IDP-15)': { provider: 'ACME' },
      'an unknown suffix (IDP-15)': { provider: 'acme-mobilex' },
      'a path as name (IDP-15)': { provider: '../acme' },
      'a missing challenge of the application (IDP-05)': { pkce: 'client' },
      'a plain challenge (IDP-05)': { pkce: 'client', code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' },
      'an invalid challenge (IDP-05)': { pkce: 'client', code_challenge: 'short' },
      'an unknown delivery (R-OC-04)': { token_delivery: 'smoke' },
      'another site (R-OC-04)': { redirect_uri: 'https://evil.example/' },
      'a host that begins like an allowed one (R-OC-04)': { redirect_uri: 'https://app.example.com.evil.example/' },
      'another port (R-OC-04)': { redirect_uri: 'https://app.example.com:8443/' },
      'two slashes (WEB-11)': { redirect_uri: '//evil.example' },
      'a backslash (WEB-11)': { redirect_uri: '/\\evil.example' },
      'a scheme without slashes (WEB-11)': { redirect_uri: 'https:evil.example' },
      'a tab before slashes (WEB-11)': { redirect_uri: '\t//evil.example' },
      'a line break before slashes (WEB-11)': { redirect_uri: '\n//evil.example' },
      'a host before an @ (WEB-11)': { redirect_uri: 'https://troupe.test@evil.example' },
      'slashes that are encoded twice (WEB-11)': { redirect_uri: '/%252F%252Fevil.example' },
      'a script (WEB-11)': { redirect_uri: 'javascript:alert(1)' },
      'a script on this host (WEB-11)': { redirect_uri: 'javascript://troupe.test/%0Aalert(1)' },
      'a return path on another host (WEB-11)': { return_path: '//evil.example' },
      'an absolute URL as return path (WEB-11)': { return_path: 'https://evil.example' },
      'an unknown trust type (R-OC-20)': { trust_type: 'unknown' },
      'a trust type that only the owner may assign (R-OC-20)': { trust_type: 'admin' },
      'a provider that is not a string (HTTP-01)': { provider: ['acme'] },
    }
    for (const [what, body] of Object.entries(refusals)) {
      it(`answers 400 and begins nothing for ${what}`, async () => {
        const service = await startWith()
        service.reset()
        const answer = await post(service, '/oauth/spa/authorize', body)
        assert.equal(answer.status, 400)
        const said = (await answer.json()) as Record<string, unknown>
        assert.deepEqual([said['error'], said['status_code'], typeof said['message']], [true, 400, 'string'])
        assert.deepEqual(service.statements, [])
      })
    }

    for (const redirect of [
      '/app',
      'app',
      'http://troupe.test/x',
      'https://app.example.com/',
      'com.example.app:/signed-in/x',
    ]) {
      it(`accepts ${redirect} as target (R-OC-04)`, async () => {
        await begin(await startWith(), { redirect_uri: redirect })
      })
    }
  })

  describe('the end of a sign-in that an application began', () => {
    it('redirects with a session id in place of the query, which returns the tokens once (R-OC-16, IDP-17)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { redirect_uri: target, return_path: '/notes/{actor_id}/list' })
      const answer = await comeBack(service, idp, begun, 'ada')
      assert.equal(answer.status, 302)
      assert.deepEqual(answer.headers.getSetCookie(), [])
      const location = locationOf(answer)
      assert.equal(`${location.origin}${location.pathname}${location.hash}`, 'https://app.example.com/signed-in#part')
      assert.deepEqual([...location.searchParams.keys()].sort(), ['session', 'state'])
      assert.equal(location.searchParams.get('state'), begun.state)
      const session = location.searchParams.get('session') ?? ''
      const tokens = (await (await exchange(service, session)).json()) as TokenAnswer
      assert.equal(tokens.email, 'ada@example.com')
      assert.equal(tokens['redirect_url'], `/notes/${tokens.actor_id}/list`)
      assert.equal(await opens(service, tokens), 200)
      const stranger = await service.request(`/oauth/spa/session/${session}`, {
        headers: { 'user-agent': 'another browser' },
      })
      assert.equal(stranger.status, 404)
      const refreshed = await post(service, '/oauth/spa/token', {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
      })
      assert.equal(refreshed.status, 200)
    })

    it('prefixes the actor to a return path that does not contain it (R-OC-16)', async () => {
      const service = await startWith()
      const begun = await begin(service, { redirect_uri: '/spa' })
      const location = locationOf(await comeBack(service, await provider(), begun, 'ada'))
      const tokens = (await (await exchange(service, location.searchParams.get('session') ?? '')).json()) as TokenAnswer
      assert.equal(tokens['redirect_url'], `/${tokens.actor_id}/app`)
    })

    it('rejects a session id after ten minutes, and a guessed one (IDP-17, R-OC-16)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await startWith({ now: clock.now })
      const begun = await begin(service, { redirect_uri: target })
      const session =
        locationOf(await comeBack(service, await provider(), begun, 'ada')).searchParams.get('session') ?? ''
      assert.equal((await exchange(service, 'x'.repeat(43))).status, 404)
      clock.pass(600_001)
      assert.equal((await exchange(service, session)).status, 404)
    })

    it('is bound to the browser of a page of the service, with its cookies and session id (IDP-03)', async () => {
      const service = await startWith()
      const idp = await provider()
      const browser = new TestBrowser(service)
      const begun = (await (
        await browser.fetchJson('/oauth/spa/authorize', { redirect_uri: '/spa', token_delivery: 'hybrid' })
      ).json()) as Begun
      const { url } = await idp.signIn(begun.authorization_url, 'ada')
      const victim = new TestBrowser(service)
      assert.equal((await assertNoSignIn(service, () => victim.get(url.href))).status, 400)
      const answer = await browser.get(url.href)
      const location = locationOf(answer)
      assert.deepEqual([...location.searchParams.keys()], ['session', 'state'])
      assert.match(
        browser.lastCookies[0] ?? '',
        /^refresh_token=[\w-]{64}; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/,
      )
      const session = location.searchParams.get('session') ?? ''
      assert.equal((await victim.get(`/oauth/spa/session/${session}`)).status, 404)
      const tokens = (await (await browser.get(`/oauth/spa/session/${session}`)).json()) as TokenAnswer
      assert.equal(tokens.refresh_token, undefined)
      assert.equal(await opens(service, tokens), 200)
    })

    it('sets no cookie in any browser when a program began (IDP-03)', async () => {
      const service = await startWith()
      for (const token_delivery of ['cookie', 'hybrid']) {
        const begun = await begin(service, { token_delivery })
        const answer = await assertNoSignIn(service, async () =>
          comeBack(service, await provider(), begun, 'ada', 'application/json'),
        )
        assert.deepEqual([answer.status, answer.headers.getSetCookie()], [400, []])
        const other = await begin(service, { token_delivery, redirect_uri: target })
        assert.deepEqual((await comeBack(service, await provider(), other, 'ada')).headers.getSetCookie(), [])
      }
    })

    it('consumes the state once (IDP-02, R-OC-18)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { redirect_uri: target })
      const { url } = await idp.signIn(begun.authorization_url, 'ada')
      const path = url.href.slice(service.url.length)
      const answers = await Promise.all(Array.from({ length: 5 }, () => service.request(path)))
      assert.deepEqual(statusesOf(answers), [302, 400, 400, 400, 400])
    })

    it('returns JSON to an application that reads the callback itself (R-OC-01)', async () => {
      const service = await startWith()
      const begun = await begin(service, { redirect_uri: target })
      const answer = await comeBack(service, await provider(), begun, 'ada', 'application/json')
      assert.equal(answer.status, 200)
      const tokens = (await answer.json()) as TokenAnswer
      assert.deepEqual(
        [
          tokens['success'],
          tokens['status'],
          tokens.email,
          tokens['token_type'],
          tokens['expires_in'],
          tokens['redirect_url'],
        ],
        [true, 'success', 'ada@example.com', 'Bearer', 3600, `/${tokens.actor_id}/app`],
      )
      assert.equal(typeof tokens.refresh_token, 'string')
      assert.equal(await opens(service, tokens), 200)
    })

    it('sets the cookies of the requested delivery in the browser that began (R-OC-01)', async () => {
      const service = await startWith()
      const idp = await provider()
      const browser = new TestBrowser(service)
      const begun = (await (
        await browser.fetchJson('/oauth/spa/authorize', { token_delivery: 'cookie' })
      ).json()) as Begun
      const { url } = await idp.signIn(begun.authorization_url, 'ada')
      const answer = await browser.get(url.href, { accept: 'application/json' })
      const body = (await answer.json()) as TokenAnswer
      assert.deepEqual([body.access_token, body.refresh_token], [undefined, undefined])
      assert.deepEqual([...browser.cookies.keys()].sort(), [
        'access_token',
        'oauth_token',
        'refresh_token',
        'troupe-browser',
      ])
    })

    it('adds the error to the query of the target when the user cancelled (IDP-06, R-OC-16)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { redirect_uri: target })
      const back = (await idp.cancel(begun.authorization_url)).url
      back.searchParams.set('error_description', '"><script>alert(1)</script>\r\nSet-Cookie: a=b&session=forged')
      const answer = await assertNoSignIn(service, () => service.request(back.href.slice(service.url.length)))
      const location = locationOf(answer)
      assert.equal(location.origin, 'https://app.example.com')
      assert.deepEqual(Object.fromEntries(location.searchParams), {
        own: '1',
        error: 'access_denied',
        error_description: '"><script>alert(1)</script> Set-Cookie: a=b&session=forged',
        state: begun.state,
      })
      assert.equal(location.hash, '#part')
      assert.ok(!/[<>\r\n]/.test(answer.headers.get('location') ?? ''))
    })

    it('falls back to the root of the service when the target is no longer allowed (IDP-06, WEB-11, R-OC-04)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { redirect_uri: target })
      const { url } = await idp.signIn(begun.authorization_url, 'ada')
      const cancelled = (await idp.cancel((await begin(service, { redirect_uri: target })).authorization_url)).url
      await service.close()
      const stricter = await startWith({ database: service.databaseUrl, spaRedirectOrigins: [] })
      for (const back of [url, cancelled]) {
        const location = locationOf(await stricter.request(back.href.slice(service.url.length)))
        assert.equal(`${location.origin}${location.pathname}`, 'http://troupe.test/')
      }
    })

    it('asks the application for an address when the provider vouches for none (R-OC-16, IDP-07)', async () => {
      const service = await startWith()
      for (const sub of ['silent', 'unverified']) {
        const begun = await begin(service, { redirect_uri: target })
        const answer = await assertNoSignIn(service, async () => comeBack(service, await provider(), begun, sub))
        const query = locationOf(answer).searchParams
        assert.equal(query.get('email_required'), 'true')
        assert.match(query.get('session') ?? '', /^[\w-]{43}$/)
        assert.equal((await exchange(service, query.get('session') ?? '')).status, 404)
      }
    })

    const failures: Readonly<Record<string, readonly [error: string, path: string, status: number, body: object]>> = {
      'when the provider rejects the code (R-OC-16)': [
        'token_exchange_failed',
        '/token',
        400,
        { error: 'invalid_grant' },
      ],
      'when the token belongs to another person (R-OC-16)': ['validation_failed', '/me', 200, { sub: 'mallory' }],
      'when the address cannot be fetched (R-OC-12, IDP-07)': ['identifier_failed', '/me', 500, {}],
    }
    for (const [what, [error, path, status, body]] of Object.entries(failures)) {
      it(`reports ${error} ${what}`, async () => {
        const service = await startWith()
        const idp = await provider()
        const begun = await begin(service, { redirect_uri: target })
        idp.answers.set(path, (_request, response) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        )
        try {
          const answer = await assertNoSignIn(service, () => comeBack(service, idp, begun, 'ada'))
          const query = locationOf(answer).searchParams
          assert.equal(query.get('error'), error)
          assert.ok((query.get('error_description') ?? '').length > 10)
          assert.deepEqual([query.has('own'), query.has('email_required')], [false, false])
        } finally {
          idp.answers.delete(path)
        }
      })
    }

    it('reports auth_rejected when a handler rejects the sign-in (R-EVT-02, R-OC-16)', async () => {
      const service = await startWith({ declare: (app) => app.on('oauth_success', () => false) })
      const begun = await begin(service, { redirect_uri: target })
      const answer = await assertNoSignIn(service, async () => comeBack(service, await provider(), begun, 'ada'), [
        'deleted_actor',
      ])
      assert.equal(locationOf(answer).searchParams.get('error'), 'auth_rejected')
    })
  })

  describe('a provider that responds by a form', () => {
    async function formBack(
      idp: IdentityProvider,
      url: string,
      sub: string,
    ): Promise<{ path: string; form: URLSearchParams }> {
      const { url: action, form } = await idp.signIn(url, sub)
      assert.equal(action.href, 'http://troupe.test/oauth/callback/form')
      return { path: action.pathname, form: form ?? assert.fail() }
    }

    it('signs in on the web by a second request, because the cookie is not sent with the form (R-OC-02, IDP-03)', async () => {
      const service = await startWith()
      const idp = await provider()
      const browser = new TestBrowser(service)
      const begun = await browser.get('/oauth/login/form')
      const { path, form } = await formBack(idp, begun.headers.get('location') ?? '', 'ada')
      const posted = await assertNoSignIn(service, () => browser.postFromElsewhere(path, form))
      assert.equal(posted.status, 303)
      const next = posted.headers.get('location') ?? ''
      assert.match(next, /^http:\/\/troupe\.test\/oauth\/callback\?form_post=[\w-]{43}$/)
      assert.ok(!next.includes(form.get('code') ?? 'none'))
      const victim = new TestBrowser(service)
      assert.equal((await assertNoSignIn(service, () => victim.get(next))).status, 400)
      // The handle that the stranger used is consumed, but the form of the browser is still valid.
      const again = await browser.postFromElsewhere(path, form)
      const answer = await browser.get(again.headers.get('location') ?? '')
      assert.match(answer.headers.get('location') ?? '', /^http:\/\/troupe\.test\/[0-9a-f]{32}\/www$/)
      assert.match(browser.lastCookies[0] ?? '', /^oauth_token=/)
    })

    it('consumes the state once, for any number of forms and handles (IDP-02, R-OC-02)', async () => {
      const service = await startWith()
      const idp = await provider()
      const browser = new TestBrowser(service)
      const begun = await browser.get('/oauth/login/form')
      const { path, form } = await formBack(idp, begun.headers.get('location') ?? '', 'ada')
      const handles = await Promise.all(
        [1, 2, 3].map(async () => (await browser.postFromElsewhere(path, form)).headers.get('location') ?? ''),
      )
      const answers: number[] = []
      for (const handle of [...handles, ...handles]) answers.push((await browser.get(handle)).status)
      assert.deepEqual(answers, [302, 400, 400, 400, 400, 400])
    })

    it('has a handle that is valid for a minute (IDP-01)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await startWith({ now: clock.now })
      const browser = new TestBrowser(service)
      const begun = await browser.get('/oauth/login/form')
      const { path, form } = await formBack(await provider(), begun.headers.get('location') ?? '', 'ada')
      const posted = await browser.postFromElsewhere(path, form)
      clock.pass(60_001)
      assert.equal((await assertNoSignIn(service, () => browser.get(posted.headers.get('location') ?? ''))).status, 400)
    })

    it('completes the sign-in of an application directly when no browser is bound (R-OC-02)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { provider: 'form', redirect_uri: target })
      const { path, form } = await formBack(idp, begun.authorization_url, 'ada')
      const answer = await new TestBrowser(service).postFromElsewhere(path, form)
      const session = locationOf(answer).searchParams.get('session') ?? ''
      const tokens = (await (await exchange(service, session)).json()) as TokenAnswer
      assert.equal(await opens(service, tokens), 200)
      assert.equal((await new TestBrowser(service).postFromElsewhere(path, form)).status, 303)
    })

    it('gives a mobile application its ticket (R-OC-02, R-OC-07)', async () => {
      const idp = await provider()
      const service = await startWith(
        signInAt(
          idp,
          { name: 'form', responseMode: 'form_post' },
          { name: 'form-mobile', responseMode: 'form_post', deepLink: 'com.example.app:/form' },
        ),
      )
      const begun = await begin(service, { provider: 'form-mobile' })
      const { path, form } = await formBack(idp, begun.authorization_url, 'ada')
      const location = locationOf(await new TestBrowser(service).postFromElsewhere(path, form))
      assert.match(location.href, /^com\.example\.app:\/form\?ticket=[\w-]{43}$/)
      const ticket = location.searchParams.get('ticket')
      const answer = await post(service, '/oauth/spa/token', { grant_type: 'apple_mobile_ticket', ticket })
      assert.equal(((await answer.json()) as TokenAnswer).email, 'ada@example.com')
    })

    it('delivers the name that Apple sends at first, but no address beside it (R-OC-02, R-OC-14)', async () => {
      const server = await startApple()
      try {
        const heard: unknown[] = []
        const service = await startWith({
          signIn: [
            apple({
              clientId: server.clientId,
              teamId: server.teamId,
              keyId: server.keyId,
              privateKey: server.privateKey,
              authUri: `${server.url}/auth/authorize`,
              tokenUri: `${server.url}/auth/token`,
              jwksUri: `${server.url}/auth/keys`,
            }),
          ],
          declare: (app) =>
            app.on('oauth_success', ({ email, user_info }) => {
              heard.push([email, user_info['email'], user_info['display_name']])
            }),
        })
        for (const time of ['first', 'second']) {
          const browser = new TestBrowser(service)
          const location = locationOf(await browser.get('/oauth/login/apple'))
          assert.equal(location.searchParams.get('redirect_uri'), 'http://troupe.test/oauth/callback/apple')
          const state = location.searchParams.get('state') ?? ''
          const sent = server.signIn(
            'http://troupe.test/oauth/callback/apple',
            location.searchParams.get('nonce') ?? '',
          )
          const form = new URLSearchParams({ state, id_token: 'ignored', ...sent })
          const posted = await browser.postFromElsewhere('/oauth/callback/apple', form)
          const answer = await browser.get(posted.headers.get('location') ?? '')
          assert.match(answer.headers.get('location') ?? '', /\/www$/, time)
        }
        assert.deepEqual(heard, [
          ['ada@icloud.example', 'ada@icloud.example', 'Ada Lovelace'],
          ['ada@icloud.example', 'ada@icloud.example', undefined],
        ])
      } finally {
        await server.close()
      }
    })

    it('reports that the user cancelled (R-OC-02, IDP-06)', async () => {
      const service = await startWith()
      const begun = await begin(service, { provider: 'form', redirect_uri: target })
      const { form } = await (await provider()).cancel(begun.authorization_url)
      const answer = await new TestBrowser(service).postFromElsewhere('/oauth/callback/form', form ?? assert.fail())
      assert.equal(locationOf(answer).searchParams.get('error'), 'access_denied')
    })

    const refusals: Readonly<Record<string, readonly [status: number, path: string, form: Record<string, string>]>> = {
      'without a state': [400, '/oauth/callback/form', { code: 'x' }],
      'with an invalid state': [400, '/oauth/callback/form', { code: 'x', state: 'short' }],
      'to a provider that responds in the query': [404, '/oauth/callback/acme', { code: 'x', state: 'x'.repeat(43) }],
      'to an unknown provider': [404, '/oauth/callback/unknown', { code: 'x', state: 'x'.repeat(43) }],
      'whose fields are too long in total': [
        400,
        '/oauth/callback/form',
        { code: 'x'.repeat(5000), user: 'x'.repeat(5000), state: 'x'.repeat(43) },
      ],
      'with a field that is too long': [400, '/oauth/callback/form', { code: 'x'.repeat(9000), state: 'x'.repeat(43) }],
    }
    for (const [what, [status, path, form]] of Object.entries(refusals)) {
      it(`causes ${status} for a form ${what} (IDP-01, R-OC-02)`, async () => {
        const service = await startWith()
        service.reset()
        const answer = await new TestBrowser(service).postFromElsewhere(path, new URLSearchParams(form))
        assert.equal(answer.status, status)
        assert.deepEqual(service.statements, [])
      })
    }

    it('causes 400 for a form with the state of another provider (IDP-04)', async () => {
      const service = await startWith()
      const begun = await begin(service, { provider: 'acme', redirect_uri: target })
      const form = new URLSearchParams({ state: begun.state, code: 'x' })
      const answer = await assertNoSignIn(service, () =>
        new TestBrowser(service).postFromElsewhere('/oauth/callback/form', form),
      )
      assert.equal(answer.status, 400)
    })
  })

  describe('a mobile application', () => {
    async function ticketOf(
      service: TestService,
      idp: IdentityProvider,
      body: object = {},
    ): Promise<{ ticket: string; location: URL; code: string }> {
      const begun = await begin(service, { provider: 'acme-mobile', ...body })
      const { url } = await idp.signIn(begun.authorization_url, 'ada')
      const location = locationOf(await service.request(url.href.slice(service.url.length)))
      return {
        ticket: location.searchParams.get('ticket') ?? '',
        location,
        code: url.searchParams.get('code') ?? 'none',
      }
    }

    it('receives a ticket by its deep link, with neither code nor token in it (R-OC-07, IDP-17)', async () => {
      const service = await startWith()
      const idp = await provider()
      idp.requests.length = 0
      const { location, code } = await ticketOf(service, idp)
      assert.match(location.href, /^com\.example\.app:\/signed-in\?ticket=[\w-]{43}$/)
      assert.ok(!location.href.includes(code))
      assert.ok(!idp.requests.includes('POST /token'))
    })

    for (const grant_type of ['mobile_ticket', 'apple_mobile_ticket']) {
      it(`redeems the ticket by ${grant_type}, once (R-OC-07, R-VER-01)`, async () => {
        const service = await startWith()
        const { ticket } = await ticketOf(service, await provider())
        const answer = await post(service, '/oauth/spa/token', { grant_type, ticket })
        assert.equal(answer.status, 200)
        const tokens = (await answer.json()) as TokenAnswer
        assert.equal(tokens.email, 'ada@example.com')
        assert.equal(await opens(service, tokens), 200)
        const again = await assertNoSignIn(service, () => post(service, '/oauth/spa/token', { grant_type, ticket }))
        assert.equal(again.status, 400)
      })
    }

    it('redeems a ticket in one of ten concurrent requests (IDP-17)', async () => {
      const service = await startWith()
      const { ticket } = await ticketOf(service, await provider())
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket })),
      )
      assert.deepEqual(statusesOf(answers), [200, ...Array.from({ length: 9 }, () => 400)])
    })

    it('redeems no ticket that is expired, guessed or missing (IDP-17, R-OC-07)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await startWith({ now: clock.now })
      const { ticket } = await ticketOf(service, await provider())
      clock.pass(300_001)
      for (const wrong of [{ ticket }, { ticket: 'x'.repeat(43) }, { ticket: '' }, {}]) {
        const answer = await assertNoSignIn(service, () =>
          post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ...wrong }),
        )
        assert.equal(answer.status, 400)
        assert.equal(((await answer.json()) as { error: unknown }).error, true)
      }
    })

    it('must prove its own verifier, or receives 401 for a wrong one (R-OC-07)', async () => {
      const service = await startWith()
      const idp = await provider()
      const { verifier, challenge } = pkce()
      const redeem = async (code_verifier?: string): Promise<number> => {
        const { ticket } = await ticketOf(service, idp, { pkce: 'client', code_challenge: challenge })
        return (await post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket, code_verifier })).status
      }
      assert.deepEqual([await redeem(), await redeem('x'.repeat(43)), await redeem(verifier)], [400, 401, 200])
    })

    it('can also be a web application with its own verifier, whose target then receives a ticket (R-OC-07)', async () => {
      const service = await startWith()
      const { verifier, challenge } = pkce()
      const begun = await begin(service, { redirect_uri: target, pkce: 'client', code_challenge: challenge })
      const location = locationOf(await comeBack(service, await provider(), begun, 'ada'))
      const ticket = location.searchParams.get('ticket')
      assert.equal(location.origin, 'https://app.example.com')
      const answer = await post(service, '/oauth/spa/token', {
        grant_type: 'mobile_ticket',
        ticket,
        code_verifier: verifier,
      })
      assert.equal(answer.status, 200)
    })

    it('receives no cookies for a page of another site, which could sign in its visitors as another user (IDP-03, WEB-17)', async () => {
      const service = await startWith({ spaCorsOrigins: ['https://app.example.com'] })
      const redeem = async (
        ticket: string,
        token_delivery: string,
        headers: Record<string, string>,
      ): Promise<Response> =>
        post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket, token_delivery }, headers)
      const { ticket } = await ticketOf(service, await provider())
      for (const delivery of ['cookie', 'hybrid']) {
        for (const headers of [
          { origin: 'https://evil.example' },
          { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' },
        ]) {
          const answer = await assertNoSignIn(service, () => redeem(ticket, delivery, headers))
          assert.deepEqual([answer.status, answer.headers.getSetCookie()], [403, []])
        }
      }
      const named = { origin: 'https://app.example.com', 'sec-fetch-site': 'same-site' }
      assert.equal((await redeem(ticket, 'cookie', named)).status, 200)
    })

    it('is notified by its deep link that the user cancelled (IDP-06)', async () => {
      const service = await startWith()
      const begun = await begin(service, { provider: 'acme-mobile' })
      const { url } = await (await provider()).cancel(begun.authorization_url)
      const location = locationOf(await service.request(url.href.slice(service.url.length)))
      assert.equal(location.protocol, 'com.example.app:')
      assert.equal(location.searchParams.get('error'), 'access_denied')
    })

    it('redeems a code that it received itself, with its verifier (R-OC-05)', async () => {
      const service = await startWith()
      const idp = await provider()
      const { verifier, challenge } = pkce()
      const redirect_uri = 'com.example.app:/own'
      const code = async (): Promise<string> => {
        const url = new URL(
          (await begin(service, { provider: 'acme-mobile', pkce: 'client', code_challenge: challenge }))
            .authorization_url,
        )
        url.searchParams.set('redirect_uri', redirect_uri)
        return (await idp.signIn(url, 'ada')).url.searchParams.get('code') ?? ''
      }
      const redeem = async (more: object): Promise<Response> =>
        post(service, '/oauth/spa/token', { grant_type: 'authorization_code', provider: 'acme-mobile', ...more })
      const answer = await redeem({ code: await code(), redirect_uri, code_verifier: verifier })
      assert.equal(answer.status, 200)
      const tokens = (await answer.json()) as TokenAnswer
      assert.equal(tokens.email, 'ada@example.com')
      assert.equal(await opens(service, tokens), 200)
      assert.equal((await redeem({ code: await code(), redirect_uri, code_verifier: 'y'.repeat(43) })).status, 401)
      assert.equal(
        (await redeem({ code: await code(), redirect_uri: 'com.evil:/x', code_verifier: verifier })).status,
        401,
      )
    })

    const missing: Readonly<Record<string, object>> = {
      'for a mobile provider': { provider: 'acme-mobile', code: 'x' },
      'for a native provider': { provider: 'acme-native', code: 'x' },
      'for a redirect URI of an application': { provider: 'acme', code: 'x', redirect_uri: 'com.example.app:/own' },
    }
    for (const [what, body] of Object.entries(missing)) {
      it(`receives 400 without a verifier ${what}, and the provider receives no request (IDP-05, R-OC-05)`, async () => {
        const service = await startWith()
        const idp = await provider()
        idp.requests.length = 0
        const answer = await post(service, '/oauth/spa/token', { grant_type: 'authorization_code', ...body })
        assert.equal(answer.status, 400)
        assert.match(((await answer.json()) as { message: string }).message, /code_verifier/)
        assert.deepEqual(idp.requests, [])
      })
    }

    it('receives 400 without a code or for an unknown provider, and 401 for a rejected code (R-OC-05)', async () => {
      const service = await startWith()
      const status = async (body: object): Promise<number> =>
        (await post(service, '/oauth/spa/token', { grant_type: 'authorization_code', ...body })).status
      assert.deepEqual(
        [
          await status({}),
          await status({ code: 'x', provider: 'unknown' }),
          await status({ code: 'x', code_verifier: 'y'.repeat(43) }),
        ],
        [400, 400, 401],
      )
    })

    it('receives 403 when a handler rejects the sign-in, and nothing is stored (R-EVT-02, R-OC-05)', async () => {
      const service = await startWith({ declare: (app) => app.on('oauth_success', () => false) })
      const { ticket } = await ticketOf(service, await provider())
      const answer = await assertNoSignIn(
        service,
        () => post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket }),
        ['deleted_actor'],
      )
      assert.equal(answer.status, 403)
    })

    it('receives 401 when its provider vouches for no address, and nothing is created (R-OC-12, IDP-07)', async () => {
      const service = await startWith()
      const idp = await provider()
      const begun = await begin(service, { provider: 'acme-mobile' })
      const { url } = await idp.signIn(begun.authorization_url, 'unverified')
      const ticket = locationOf(await service.request(url.href.slice(service.url.length))).searchParams.get('ticket')
      const answer = await assertNoSignIn(service, () =>
        post(service, '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket }),
      )
      assert.equal(answer.status, 401)
    })
  })

  describe('an assertion', () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    const person = { sub: 'ada', email: 'ada@example.com', email_verified: true }

    async function show(service: TestService, assertion: string, more: object = {}): Promise<Response> {
      return post(service, '/oauth/spa/token', {
        grant_type,
        provider: 'acme-native',
        assertion,
        nonce: 'n-1',
        ...more,
      })
    }

    it('signs in for any configured audience, without tokens of the provider (R-OC-06)', async () => {
      const heard: unknown[] = []
      const service = await startWith({
        declare: (app) =>
          app.on(
            'oauth_success',
            ({ access_token, token_data }) => void heard.push([access_token, Object.keys(token_data)]),
          ),
      })
      const idp = await provider()
      for (const aud of ['ios-client', 'android-client']) {
        const answer = await show(service, await idp.assertion({ ...person, aud, nonce: 'n-1', jti: aud }))
        assert.equal(answer.status, 200, await answer.clone().text())
        const tokens = (await answer.json()) as TokenAnswer
        assert.equal(tokens.email, 'ada@example.com')
        assert.equal(await opens(service, tokens), 200)
        assert.deepEqual(await (await service.app.actors.get(tokens.actor_id))?.signIn.providerTokens(), {})
      }
      assert.deepEqual(heard, [
        ['', ['id_token']],
        ['', ['id_token']],
      ])
    })

    for (const [what, jti] of [
      ['with', { jti: 'once' }],
      ['without', {}],
    ] as const) {
      it(`is accepted once, ${what} a jti, in sequence and in parallel (IDP-14, R-OC-06)`, async () => {
        const service = await startWith()
        const idp = await provider()
        const one = await idp.assertion({ ...person, aud: 'ios-client', nonce: 'n-1', ...jti })
        const answers = await Promise.all(Array.from({ length: 6 }, () => show(service, one)))
        assert.deepEqual(statusesOf(answers), [200, 400, 400, 400, 400, 400])
        const again = await assertNoSignIn(service, () => show(service, one))
        assert.equal(again.status, 400)
        assert.match(((await again.json()) as { message: string }).message, /invalid_grant/)
      })
    }

    it('is remembered until it expires (IDP-14)', async () => {
      const clock = new ManualClock(Date.now())
      const service = await startWith({ now: clock.now })
      const seconds = Math.floor(clock.now() / 1000)
      const one = await (await provider()).assertion({
        ...person,
        aud: 'ios-client',
        nonce: 'n-1',
        iat: seconds,
        exp: seconds + 3600,
      })
      assert.equal((await show(service, one)).status, 200)
      for (let minutes = 0; minutes < 70; minutes += 10) {
        clock.pass(600_000)
        assert.equal((await assertNoSignIn(service, () => show(service, one))).status, 400)
      }
    })

    const refusals: Readonly<Record<string, (idp: IdentityProvider) => Promise<object>>> = {
      'from another issuer (IDP-15)': async (idp) => ({
        assertion: await idp.assertion({ ...person, aud: 'ios-client', nonce: 'n-1', iss: 'https://evil.example' }),
      }),
      'for another audience (R-OC-06)': async (idp) => ({
        assertion: await idp.assertion({ ...person, aud: 'other', nonce: 'n-1' }),
      }),
      'sent with another nonce (R-OC-06)': async (idp) => ({
        assertion: await idp.assertion({ ...person, aud: 'ios-client', nonce: 'n-2' }),
      }),
      'malformed (R-OC-06)': async () => ({ assertion: 'not.a.jwt' }),
      'sent without a nonce (R-OC-06)': async (idp) => ({
        assertion: await idp.assertion({ ...person, aud: 'ios-client' }),
        nonce: '',
      }),
      'missing (R-OC-06)': async () => ({ assertion: '' }),
      'for a provider that accepts no assertions (IDP-15)': async (idp) => ({
        assertion: await idp.assertion({ ...person, nonce: 'n-1' }),
        provider: 'form',
      }),
      'for an unknown provider (IDP-15)': async (idp) => ({
        assertion: await idp.assertion({ ...person, nonce: 'n-1' }),
        provider: 'acme-nativex',
      }),
      'sent without a provider (R-OC-06)': async (idp) => ({
        assertion: await idp.assertion({ ...person, nonce: 'n-1' }),
        provider: '',
      }),
    }
    for (const [what, make] of Object.entries(refusals)) {
      it(`is rejected with 400 when it is ${what}`, async () => {
        const service = await startWith()
        const body = await make(await provider())
        const answer = await assertNoSignIn(service, () =>
          post(service, '/oauth/spa/token', { grant_type, provider: 'acme-native', nonce: 'n-1', ...body }),
        )
        assert.equal(answer.status, 400)
        assert.equal(((await answer.json()) as { error: unknown }).error, true)
      })
    }

    it('is rejected with 401 when its address is not verified (R-OC-12)', async () => {
      const service = await startWith()
      const one = await (await provider()).assertion({
        ...person,
        sub: 'x',
        email_verified: false,
        aud: 'ios-client',
        nonce: 'n-1',
      })
      assert.equal((await assertNoSignIn(service, () => show(service, one))).status, 401)
    })
  })

  describe('the sign-in of an AI client', () => {
    it('creates the actor and a relationship of the requested trust type, and finds both at the next sign-in (R-OC-20)', async () => {
      const service = await startWith()
      const idp = await provider()
      for (const trust_type of ['mcp_client', 'friend']) {
        const begun = await begin(service, { redirect_uri: target, trust_type })
        assert.equal(begun['trust_type'], trust_type)
        const location = locationOf(await comeBack(service, idp, begun, 'ada'))
        const tokens = (await (
          await exchange(service, location.searchParams.get('session') ?? '')
        ).json()) as TokenAnswer
        const actor = await service.app.actors.get(tokens.actor_id)
        const trusts = (await actor?.trust.list()) ?? []
        assert.deepEqual(
          trusts.map((trust) => [
            trust.peerid,
            trust.relationship,
            trust.type,
            trust.approved,
            trust.peer_approved,
            trust.verified,
            trust.established_via,
            trust.peer_identifier,
            trust.baseuri,
          ]),
          [
            [
              'oauth2_interactive:ada_at_example_dot_com',
              'mcp_client',
              'mcp',
              true,
              true,
              true,
              'oauth2_interactive',
              'ada@example.com',
              '',
            ],
          ],
        )
      }
    })

    it('reports an error, and never shows the form, without an address (R-OC-20)', async () => {
      const service = await startWith({ signInIdentity: 'provider' })
      for (const sub of ['silent', 'unverified']) {
        const begun = await begin(service, { redirect_uri: target, trust_type: 'mcp_client' })
        const answer = await assertNoSignIn(service, async () => comeBack(service, await provider(), begun, sub))
        const query = locationOf(answer).searchParams
        assert.equal(query.get('error'), 'identifier_failed')
        assert.equal(query.has('email_required'), false)
      }
    })
  })
})
