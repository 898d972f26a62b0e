import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authorizePath,
  consent,
  consentIn,
  newPkce,
  type Pkce,
  redemption,
  redirectUri,
  registerClient,
  type RegisteredClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { forEachService, sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { stored } from '../support/stored.ts'

const provider = sharedProvider({
  nameless: { name: 'Without Address' },
  unverified: { email: 'unverified@example.com', email_verified: false },
})

/** Runs `work` and asserts that it stored nothing, not even temporary records. */
async function storesNothing<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const before = await stored(service)
  const result = await work()
  assert.deepEqual(await stored(service), before, 'something was stored')
  return result
}

/** Asserts that the service itself rejects the request: by a page for users, by an OAuth error for programs. */
async function refusedHere(service: TestService, path: string, init: RequestInit = {}): Promise<void> {
  for (const [accept, type] of [
    ['text/html', /^text\/html/],
    ['application/json', /^application\/json/],
  ] as const) {
    const answer = await storesNothing(service, () =>
      service.request(path, { ...init, headers: { ...(init.headers as Record<string, string>), accept } }),
    )
    assert.equal(answer.status, 400, path)
    assert.match(answer.headers.get('content-type') ?? '', type, path)
    assert.equal(answer.headers.get('location'), null, path)
    assert.deepEqual(answer.headers.getSetCookie(), [], path)
    assert.equal(answer.headers.get('cache-control'), 'no-store', path)
    const body = await answer.text()
    if (accept === 'application/json') {
      const { error, error_description: description, ...rest } = JSON.parse(body) as Record<string, string>
      assert.deepEqual([error, typeof description, rest], ['invalid_request', 'string', {}], path)
    }
  }
}

/** Asserts that the client receives the error by a redirect. */
async function refusedToClient(service: TestService, path: string, error: string, state = 'state-1'): Promise<void> {
  const answer = await storesNothing(service, () => service.request(path, { headers: { accept: 'text/html' } }))
  assert.equal(answer.status, 302, path)
  const back = new URL(answer.headers.get('location') ?? '')
  assert.equal(`${back.origin}${back.pathname}`, redirectUri)
  assert.equal(back.searchParams.get('error'), error, path)
  assert.equal(back.searchParams.get('state'), state, path)
  assert.equal(back.searchParams.get('iss'), service.url)
  assert.equal(back.searchParams.get('code'), null)
  assert.equal(answer.headers.get('access-control-allow-origin'), null)
}

/** Appends the parameter to a path that may have it already. */
function withParameter(path: string, name: string, value: string): string {
  return `${path}&${new URLSearchParams({ [name]: value }).toString()}`
}

async function startedForPublic(
  start: (options?: StartOptions) => Promise<TestService>,
  members: object = {},
  options: StartOptions = {},
): Promise<{ service: TestService; client: RegisteredClient; pkce: Pkce }> {
  const service = await start({ ...signInAt(await provider()), ...options })
  const client = await registerClient(service, { token_endpoint_auth_method: 'none', ...members })
  return { service, client, pkce: newPkce() }
}

describe('an authorization request', () => {
  const start = sqliteService()

  it('with an unknown or missing client is rejected on a page of the service, without redirect, cookie or record (OAZ-01)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    for (const clientId of [
      undefined,
      '',
      'mcp_0123456789abcdef0123456789abcdef',
      'x',
      '../x',
      "' OR 1=1",
      '\u0000',
      'é',
    ])
      await refusedHere(service, authorizePath(client, pkce, { client_id: clientId }))
    for (const clientId of [
      'http://program.example/client',
      'https://program.example',
      'https://program.example/',
      'javascript:x',
    ])
      await refusedHere(service, authorizePath(client, pkce, { client_id: clientId }))
  })

  it('with a redirect URI that is not exactly registered is rejected on a page of the service (OAZ-02, OAZ-03, OAZ-04)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    for (const uri of [
      undefined,
      '',
      'https://program.example/other',
      'https://program.example/back?x=1',
      'https://program.example/back/',
      'https://program.example/Back',
      'https://program.example/x/../back',
      'https://program.example/%2e%2e/back',
      'https://program.example/back#x',
      'https://program.example:8443/back',
      'https://*.example/back',
      'https://program.example@evil.example/back',
      'https://evil.example/back',
      'https:\\\\program.example\\back',
      ' https://program.example/back',
      'https://program.example/\tback',
      'https://program.example/back\r\nLocation: https://evil.example',
      'https://program.example/back\u0000',
      'javascript:alert(1)',
      'JAVASCRIPT:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///x',
    ]) {
      await refusedHere(service, authorizePath(client, pkce, { redirect_uri: uri }))
    }
  })

  it('may name another port of a registered loopback redirect URI, and no other host or path (OAZ-05)', async () => {
    const { service, pkce } = await startedForPublic(start)
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const client = await registerClient(service, { redirect_uris: [`http://${host}:3333/cb`] })
      const at = (uri: string): string => authorizePath(client, pkce, { redirect_uri: uri })
      const answer = await new TestBrowser(service).get(at(`http://${host}:4444/cb`))
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /This app runs on your computer\./)
      for (const uri of [`http://${host}:3333/other`, `https://${host}:3333/cb`, `http://${host}.example:3333/cb`])
        await refusedHere(service, at(uri))
      for (const other of ['127.0.0.1', '[::1]', 'localhost'])
        if (other !== host) await refusedHere(service, at(`http://${other}:3333/cb`))
    }
  })

  it('needs an S256 challenge from a public client, and any other challenge is rejected (OAZ-07, OAZ-08, R-AS-02)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    const confidential = await registerClient(service)
    await refusedHere(
      service,
      authorizePath(client, pkce, { code_challenge: undefined, code_challenge_method: undefined }),
    )
    await refusedHere(service, authorizePath(client, pkce, { code_challenge: '', code_challenge_method: '' }))
    const bad: Record<string, string | undefined>[] = [
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
      { code_challenge_method: '' },
      { code_challenge_method: 's256' },
      { code_challenge_method: 'S512' },
      { code_challenge: undefined },
      { code_challenge: 'x'.repeat(42) },
      { code_challenge: 'x'.repeat(44) },
      { code_challenge: 'x'.repeat(128) },
      { code_challenge: 'x'.repeat(129) },
      { code_challenge: `${'x'.repeat(42)}=` },
      { code_challenge: `${'x'.repeat(42)}+` },
      { code_challenge: `${'x'.repeat(42)}é` },
    ]
    for (const changed of bad)
      for (const who of [client, confidential]) await refusedHere(service, authorizePath(who, pkce, changed))
    // The client never receives this error, although its redirect URI is valid (CHOICE-60), neither by GET nor by POST.
    const form = new URLSearchParams(authorizePath(client, pkce, { code_challenge_method: 'plain' }).split('?')[1])
    await refusedHere(service, '/oauth/authorize', { method: 'POST', body: form })
    const none = { code_challenge: undefined, code_challenge_method: undefined }
    assert.equal((await new TestBrowser(service).get(authorizePath(confidential, pkce, none))).status, 200)
  })

  it('with a repeated parameter is rejected, in the query, in the form, and in both together (OAZ-09)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    const good = authorizePath(client, pkce, { scope: 'mcp' })
    for (const [name, value] of new URLSearchParams(good.split('?')[1])) {
      await refusedHere(service, withParameter(good, name, value))
      await refusedHere(service, withParameter(good, name, 'other'))
      const form = new URLSearchParams(good.split('?')[1])
      form.append(name, value)
      await refusedHere(service, '/oauth/authorize', { method: 'POST', body: form })
      const once = new URLSearchParams({ consent: 'x'.repeat(43), decision: 'allow', [name]: value })
      await refusedHere(service, `/oauth/authorize?${new URLSearchParams({ [name]: value }).toString()}`, {
        method: 'POST',
        body: once,
      })
    }
  })

  it('with a later error is rejected by a redirect to the client with its state (OAZ-06, OAZ-10)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    for (const type of [undefined, '', 'token', 'id_token', 'none', 'code token', 'code id_token', 'CODE'])
      await refusedToClient(service, authorizePath(client, pkce, { response_type: type }), 'unsupported_response_type')
    for (const scope of ['admin', 'admin read', 'mcp"', 'mcp\\', ' mcp', 'mcp  x', 'mcp\n', 'mçp'])
      await refusedToClient(service, authorizePath(client, pkce, { scope }), 'invalid_scope')
    for (const mode of ['fragment', 'form_post', 'web_message'])
      await refusedToClient(service, authorizePath(client, pkce, { response_mode: mode }), 'invalid_request')
    for (const state of ['a b+c', 'é\u{1f600}', '&=#%?/', '%2525', '<script>', '\r\nX: y', 'x'.repeat(2048)]) {
      const path = authorizePath(client, pkce, { state, response_type: 'token' })
      await refusedToClient(service, path, 'unsupported_response_type', state)
    }
    await refusedToClient(
      service,
      authorizePath(client, pkce, { state: 'x'.repeat(2049) }),
      'invalid_request',
      'x'.repeat(2049),
    )
    // A state that is not UTF-8 could not be returned byte for byte.
    await refusedHere(service, authorizePath(client, pkce, { state: undefined }).concat('&state=%ff%fe'))
    const without = await service.request(authorizePath(client, pkce, { state: undefined, response_type: 'token' }))
    assert.equal(new URL(without.headers.get('location') ?? '').searchParams.has('state'), false)
  })

  it('with a request object or an unknown resource is rejected without a request to other services (OAZ-18)', async () => {
    const asked: string[] = []
    const { service, client, pkce } = await startedForPublic(
      start,
      {},
      {
        peerClient: {
          call: async ({ url }) => {
            asked.push(url)
            return { kind: 'unreached', reason: 'connection refused' }
          },
          close: async () => {},
        },
      },
    )
    await refusedToClient(
      service,
      authorizePath(client, pkce, { request_uri: 'https://evil.example/x' }),
      'invalid_request',
    )
    await refusedToClient(
      service,
      authorizePath(client, pkce, { request: 'eyJhbGciOiJub25lIn0.e30.' }),
      'invalid_request',
    )
    for (const resource of [
      '/mcp',
      'mcp',
      `${service.url}/mcp#x`,
      `${service.url}/mcp#`,
      `${service.url}/oauth`,
      `${service.url}/ada/properties`,
      `${service.url}/mcp?x=1`,
      'https://evil.example/mcp',
      'ftp://troupe.test/mcp',
      `${service.url}.evil.example/mcp`,
      'x',
    ]) {
      await refusedToClient(service, authorizePath(client, pkce, { resource }), 'invalid_target')
    }
    assert.deepEqual(asked, [])
    for (const resource of [`${service.url}/mcp`, service.url, `${service.url}/`, `${service.url}/mcp/`])
      assert.equal(
        (await new TestBrowser(service).get(authorizePath(client, pkce, { resource }))).status,
        200,
        resource,
      )
  })

  it('is served by pages without framing and without CORS, and preflights allow no credentials (OAZ-14, OAZ-16)', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    const browser = new TestBrowser(service)
    const pages = [
      await browser.get(authorizePath(client, pkce), { origin: 'https://evil.example' }),
      await browser.get('/oauth/authorize', { origin: 'https://evil.example' }),
      await browser.get('/oauth/authorize/finish', { origin: 'https://evil.example' }),
      await browser.post('/oauth/authorize', { consent: 'x' }),
      await browser.get('/login'),
      await browser.get('/oauth/callback?state=x'),
    ]
    for (const page of pages) {
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(page.headers.get('content-security-policy') ?? '', /(?:^|; )frame-ancestors 'none'(?:;|$)/)
      assert.equal(page.headers.get('x-frame-options'), 'DENY')
      assert.equal(page.headers.get('access-control-allow-origin'), null)
      assert.equal(page.headers.get('access-control-allow-credentials'), null)
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    }
    assert.deepEqual(
      pages.map(({ status }) => status),
      [200, 400, 403, 400, 200, 400],
    )
    const preflight = await service.request('/oauth/authorize', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    assert.equal(preflight.status, 200)
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS')
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /Content-Type/)
  })

  it('does not start from a form with an expired session, which redirects to the sign-in page', async () => {
    const { service } = await startedForPublic(start)
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const owner = await service.app.actors.findByCreator('ada@example.com')
    browser.cookies.set('oauth_token', 'f'.repeat(40))
    const answer = await browser.post(`/${owner?.id ?? ''}/www/properties`, { property_name: 'x', property_value: 'y' })
    const to = new URLSearchParams({ actor: owner?.id ?? '', redirect: `/${owner?.id ?? ''}/www/properties` })
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/login?${to.toString()}`])
  })

  it('by HEAD shows no consent page and stores nothing', async () => {
    const { service, client, pkce } = await startedForPublic(start)
    const head = await storesNothing(service, () =>
      service.request(authorizePath(client, pkce), { method: 'HEAD', headers: { accept: 'text/html' } }),
    )
    assert.deepEqual([head.status, head.headers.getSetCookie(), await head.text()], [200, [], ''])
    assert.equal((await service.request('/oauth/authorize/finish', { method: 'HEAD' })).status, 405)
  })
})

forEachService((start) => {
  describe('the owner’s consent for a client', () => {
    it('is requested each time on a page that names client, host and access, before a provider is called (OAZ-11)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      const { requests } = await provider()
      const heard = requests.length
      const path = authorizePath(client, pkce)
      for (let round = 0; round < 2; round += 1) {
        const page = await browser.get(path)
        const text = await page.text()
        assert.equal(page.status, 200)
        for (const named of [
          'A program',
          'program.example',
          'MCP Client (AI Assistant)',
          'An AI assistant that acts for the owner',
        ])
          assert.ok(text.includes(named), named)
        if (round === 0) assert.equal(requests.length, heard)
        // Earlier consent does not count, because an attacker may have sent the user here.
        if (round === 0) assert.ok((await consent(browser, await provider(), path)).searchParams.has('code'))
      }
      const back = await browser.get(path)
      assert.equal(back.headers.get('location'), null)
    })

    it('is required explicitly for a code (OAZ-11)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const value = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      for (const form of [{}, { trust_type: 'mcp_client' }, { decision: 'maybe' }, { decision: '' }]) {
        const answer = await storesNothing(service, () => browser.post('/oauth/authorize', { consent: value, ...form }))
        assert.equal(answer.status, 400)
      }
      for (const type of ['admin', 'friend', 'creator', 'MCP_CLIENT', 'viewer']) {
        const form = { consent: value, decision: 'allow', trust_type: type }
        const answer = await storesNothing(service, () => browser.post('/oauth/authorize', form))
        assert.equal(answer.status, 400, type)
      }
      for (const name of ['unknown', 'google', '../login', 'acme-mobile']) {
        const form = { consent: value, provider: name }
        assert.equal((await storesNothing(service, () => browser.post('/oauth/authorize', form))).status, 400, name)
      }
      const allowed = await browser.post('/oauth/authorize', { consent: value, decision: 'allow' })
      assert.equal(allowed.status, 303)
      assert.ok(new URL(allowed.headers.get('location') ?? '').searchParams.has('code'))
    })

    it('is valid only in the browser that gave it, and other browsers cannot continue its sign-in (OAZ-12)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const attacker = new TestBrowser(service)
      const value = consentIn(await (await attacker.get(authorizePath(client, pkce))).text())
      const decided = await attacker.post('/oauth/authorize', { consent: value, provider: 'acme' })
      const begun = await attacker.get(decided.headers.get('location') ?? '')
      const finish = new URL(decided.headers.get('location') ?? '').searchParams.get('redirect') ?? ''
      const { url } = await (await provider()).signIn(begun.headers.get('location') ?? '', 'ada')
      // The victim opens the provider’s callback, and, when signed in, the last step.
      const victim = new TestBrowser(service)
      await victim.get('/oauth/login/acme')
      const forged = await storesNothing(service, () => victim.get(url.href))
      assert.equal(forged.status, 400)
      await signIn(victim, await provider(), 'ada')
      const last = await storesNothing(service, () => victim.get(finish))
      assert.deepEqual([last.status, last.headers.get('location')], [403, null])
      const stranger = await storesNothing(service, () => new TestBrowser(service).get(finish))
      assert.equal(stranger.status, 403)
      const refusal = await storesNothing(service, () => victim.get(`${finish}&error=access_denied`))
      assert.deepEqual([refusal.status, refusal.headers.get('location')], [403, null])
    })

    it('is accepted with the page’s own value, in its own browser alone (OAZ-13)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const value = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      const other = new TestBrowser(service)
      await signIn(other, await provider(), 'ada')
      const foreign = consentIn(await (await other.get(authorizePath(client, pkce))).text())
      for (const decision of [{ decision: 'allow' }, { provider: 'acme' }, { decision: 'deny' }]) {
        for (const consented of [undefined, '', 'x'.repeat(43), foreign]) {
          const form = new URLSearchParams({ ...decision, ...(consented === undefined ? {} : { consent: consented }) })
          const answer = await storesNothing(service, () => browser.post('/oauth/authorize', form))
          assert.deepEqual([answer.status, answer.headers.get('location')], [403, null])
        }
        // A page of another site sends no cookies of the browser.
        const sent = new URLSearchParams({ ...decision, consent: value })
        const forged = await storesNothing(service, () => browser.postFromElsewhere('/oauth/authorize', sent))
        assert.equal(forged.status, 403)
      }
      assert.equal((await browser.post('/oauth/authorize', { consent: value, decision: 'allow' })).status, 303)
      // Another browser gets nothing for a used value.
      const used = await storesNothing(service, () =>
        other.post('/oauth/authorize', { consent: value, decision: 'allow' }),
      )
      assert.deepEqual([used.status, used.headers.get('location')], [403, null])
      // The value of the page cannot finish the flow.
      const next = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      assert.equal((await browser.get(`/oauth/authorize/finish?consent=${next}`)).status, 403)
    })

    it('is rejected from another site, even with the page’s value and the cookies, and is not consumed (OAZ-13)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const value = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      for (const decision of [{ decision: 'allow' }, { decision: 'deny' }, { provider: 'acme' }]) {
        for (const from of [
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'cross-site', origin: service.url },
          { 'sec-fetch-site': 'cross-site', origin: 'null' },
          { 'sec-fetch-site': 'same-site' },
          { origin: 'https://evil.example' },
        ]) {
          const answer = await storesNothing(service, () =>
            browser.post('/oauth/authorize', { ...decision, consent: value }, from),
          )
          assert.deepEqual([answer.status, answer.headers.get('location')], [403, null])
          assert.match(await answer.text(), /Another site sent this decision\. Nothing was allowed\./)
        }
      }
      assert.equal((await browser.post('/oauth/authorize', { consent: value, decision: 'allow' })).status, 303)
    })

    for (const [how, from] of Object.entries({
      'a browser that reports no origin': {},
      'an older browser, which hides the origin of a page without a referrer': { origin: 'null' },
      'an older browser that names the origin of the service': { origin: 'http://troupe.test' },
    })) {
      it(`is accepted from ${how} (OAZ-13)`, async () => {
        const { service, client, pkce } = await startedForPublic(start)
        const browser = new TestBrowser(service)
        await signIn(browser, await provider(), 'ada')
        const consented = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
        const answer = await browser.post('/oauth/authorize', { consent: consented, decision: 'allow' }, from)
        assert.equal(answer.status, 303)
        assert.match(answer.headers.get('location') ?? '', /[?&]code=/)
      })
    }

    it('is bound to the user whom the page named, so another user who signs in meanwhile cannot give it (OAZ-11)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const text = await (await browser.get(authorizePath(client, pkce))).text()
      assert.ok(text.includes('ada@example.com'))
      browser.cookies.delete('oauth_token')
      await signIn(browser, await provider(), 'bob')
      const trusts = (await stored(service))['trust']
      const answer = await browser.post('/oauth/authorize', { consent: consentIn(text), decision: 'allow' })
      assert.deepEqual([answer.status, answer.headers.get('location')], [403, null])
      assert.deepEqual((await stored(service))['trust'], trusts)
    })

    it('is followed by a GET, so that no form is forwarded to another site (OAZ-15)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      for (const form of [{ decision: 'allow' }, { decision: 'deny' }, { provider: 'acme' }]) {
        const value = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
        const answer = await browser.post('/oauth/authorize', { consent: value, ...form })
        assert.equal(answer.status, 303)
      }
    })

    it('redirects to a URI with its own query without changing a byte of it (OAZ-17)', async () => {
      const uri = 'https://program.example/back?x=%2f&iss=own&code=own&state=own'
      const { service, client, pkce } = await startedForPublic(start, { redirect_uris: [uri] })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const path = authorizePath(client, pkce, { redirect_uri: uri, state: 'mine' })
      const value = consentIn(await (await browser.get(path)).text())
      const answer = await browser.post('/oauth/authorize', { consent: value, decision: 'allow' })
      const location = answer.headers.get('location') ?? ''
      assert.ok(location.startsWith(`${uri}&`))
      const added = new URLSearchParams(location.slice(uri.length + 1))
      assert.deepEqual([...added.keys()].toSorted(), ['code', 'iss', 'state'])
      assert.match(added.get('code') ?? '', /^ac_/)
      assert.deepEqual([added.get('state'), added.get('iss')], ['mine', service.url])
    })
  })

  describe('an owner without a session who authorizes a client', () => {
    /** Runs the flow from the consent page to the redirect to the provider. */
    async function decided(
      browser: TestBrowser,
      service: TestService,
      path: string,
    ): Promise<{ authorization: string; finish: string }> {
      const page = await browser.get(path)
      const answer = await browser.post('/oauth/authorize', { consent: consentIn(await page.text()), provider: 'acme' })
      const begin = answer.headers.get('location') ?? ''
      assert.ok(begin.startsWith(`${service.url}/oauth/login/acme?`))
      const authorization = (await browser.get(begin)).headers.get('location') ?? ''
      return { authorization, finish: new URL(begin).searchParams.get('redirect') ?? '' }
    }

    for (const sub of ['nameless', 'unverified']) {
      it(`is not asked to type an address: the client gets access_denied (${sub}) (R-OC-20, OAZ-06)`, async () => {
        const { service, client, pkce } = await startedForPublic(start)
        const browser = new TestBrowser(service)
        const { authorization } = await decided(browser, service, authorizePath(client, pkce))
        const { url } = await (await provider()).signIn(authorization, sub)
        const people = async (): Promise<unknown[]> => {
          const { actor, account, trust, token } = await stored(service)
          return [actor, account, trust, token]
        }
        const before = await people()
        const answer = await browser.get(url.href)
        assert.equal(answer.status, 302)
        const finished = await browser.get(answer.headers.get('location') ?? '')
        assert.equal(finished.status, 302)
        const back = new URL(finished.headers.get('location') ?? '')
        assert.equal(`${back.origin}${back.pathname}`, redirectUri)
        assert.deepEqual(
          ['error', 'state', 'iss', 'code'].map((name) => back.searchParams.get(name)),
          ['access_denied', 'state-1', service.url, null],
        )
        assert.deepEqual(await people(), before)
        assert.equal(browser.cookies.has('oauth_token'), false)
        const reloaded = await browser.get(answer.headers.get('location') ?? '')
        assert.equal(reloaded.headers.get('location'), back.href)
      })
    }

    it('is rejected likewise when their account has only a typed, unverified address (R-OC-20)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const typist = new TestBrowser(service)
      const asked = await signIn(typist, await provider(), 'nameless')
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      assert.equal((await typist.post('/oauth/email', { session, email: 'typed@example.com' })).status, 302)
      const browser = new TestBrowser(service)
      const { authorization } = await decided(browser, service, authorizePath(client, pkce))
      const { url } = await (await provider()).signIn(authorization, 'nameless')
      const answer = await browser.get(url.href)
      const finished = await browser.get(answer.headers.get('location') ?? '')
      assert.equal(new URL(finished.headers.get('location') ?? '').searchParams.get('error'), 'access_denied')
      assert.equal(browser.cookies.has('oauth_token'), false)
    })

    it('may cancel at the provider, and the client gets access_denied (OAZ-06)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const browser = new TestBrowser(service)
      const { authorization } = await decided(browser, service, authorizePath(client, pkce))
      const { url } = await (await provider()).cancel(authorization)
      const finished = await browser.get((await browser.get(url.href)).headers.get('location') ?? '')
      const back = new URL(finished.headers.get('location') ?? '')
      assert.equal(back.searchParams.get('error'), 'access_denied')
      assert.equal(back.searchParams.get('state'), 'state-1')
    })

    it('causes an OAuth error for the client when the provider fails or the application rejects the user (OAZ-06)', async () => {
      const declare: NonNullable<StartOptions['declare']> = (app) => app.on('oauth_success', () => false)
      const refusing = await startedForPublic(start, {}, { declare })
      const browser = new TestBrowser(refusing.service)
      const { authorization } = await decided(browser, refusing.service, authorizePath(refusing.client, refusing.pkce))
      const { url } = await (await provider()).signIn(authorization, 'ada')
      const rejected = await browser.get((await browser.get(url.href)).headers.get('location') ?? '')
      assert.equal(new URL(rejected.headers.get('location') ?? '').searchParams.get('error'), 'access_denied')
      assert.equal(browser.cookies.has('oauth_token'), false)

      const { service, client, pkce } = await startedForPublic(start)
      const other = new TestBrowser(service)
      const way = await decided(other, service, authorizePath(client, pkce))
      const answered = await (await provider()).signIn(way.authorization, 'ada')
      answered.url.searchParams.set('code', 'wrong')
      const failed = await other.get((await other.get(answered.url.href)).headers.get('location') ?? '')
      assert.equal(new URL(failed.headers.get('location') ?? '').searchParams.get('error'), 'server_error')
    })

    it('first decides about an actor that was created under the address, and then returns to the client (IDP-08)', async () => {
      const { service, client, pkce } = await startedForPublic(start)
      const squatted = await service.createActor('ada@example.com')
      const browser = new TestBrowser(service)
      const { authorization } = await decided(browser, service, authorizePath(client, pkce))
      const { url } = await (await provider()).signIn(authorization, 'ada')
      const page = await browser.get(url.href)
      assert.equal(page.status, 200)
      // The form finally redirects to the client, whose origin is arbitrary.
      assert.doesNotMatch(page.headers.get('content-security-policy') ?? '', /form-action/)
      const claim = /name="claim" value="([\w-]{43})"/.exec(await page.text())?.[1] ?? ''
      const claimed = await browser.post('/oauth/claim', { claim, choice: 'new' })
      const finished = await browser.get(claimed.headers.get('location') ?? '')
      const code = new URL(finished.headers.get('location') ?? '').searchParams.get('code') ?? ''
      const answer = await requestTokens(service, redemption(client, code, pkce))
      const { actor_id: actorId } = (await answer.json()) as { actor_id: string }
      assert.match(actorId, /^[0-9a-f]{32}$/)
      assert.notEqual(actorId, squatted.id)
    })
  })
})
