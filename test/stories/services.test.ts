import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import { configuredServices } from '../../src/connection/configured.ts'
import type { ServiceDeclaration } from '../../src/app/service-declaration.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { startThirdParty, type ThirdParty } from '../support/third-party.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

/** A browser of the owner, reduced to its cookies. */
class Browser {
  readonly #service: TestService
  readonly #authorization: string
  #cookie = ''

  constructor(service: TestService, actor: Pick<TestActor, 'authorization'>) {
    this.#service = service
    this.#authorization = actor.authorization
  }

  async get(address: string): Promise<Response> {
    const url = new URL(address, this.#service.url)
    const answer = await this.#service.request(url.pathname + url.search, {
      headers: { authorization: this.#authorization, ...(this.#cookie === '' ? {} : { cookie: this.#cookie }) },
    })
    const [cookie] = answer.headers.getSetCookie()
    if (cookie !== undefined) this.#cookie = cookie.split(';', 1)[0] ?? ''
    return answer
  }
}

forEachService((start) => {
  const parties: ThirdParty[] = []
  afterEach(async () => {
    for (const party of parties.splice(0)) await party.close()
  })

  async function begin(
    given: Partial<ServiceDeclaration> = {},
    options: StartOptions = {},
  ): Promise<{ party: ThirdParty; service: TestService; actor: TestActor; browser: Browser }> {
    const party = await startThirdParty()
    parties.push(party)
    const service = await start({
      ...options,
      declare: (app) => {
        app.service('drive', { ...declarationOf(party), ...given })
        options.declare?.(app)
      },
    })
    const actor = await service.createActor()
    return { party, service, actor, browser: new Browser(service, actor) }
  }

  function declarationOf(party: ThirdParty): ServiceDeclaration {
    return {
      authorizationUrl: `${party.url}/authorize?fixed=1`,
      tokenUrl: `${party.url}/token`,
      revocationUrl: `${party.url}/revoke`,
      clientId: party.clientId,
      clientSecret: party.clientSecret,
      scopes: ['files.read', 'files.write'],
      apiUrls: [`${party.url}/api`],
    }
  }

  const connectPath = ({ id }: TestActor): string => `/${id}/services/drive/connect`

  async function connect(browser: Browser, party: ThirdParty, actor: TestActor): Promise<void> {
    const begun = await browser.get(connectPath(actor))
    assert.equal(begun.status, 302)
    const answer = await browser.get(party.allow(begun.headers.get('location') ?? '').href)
    assert.equal(answer.status, 200, await answer.text())
  }

  async function isConnected(actor: TestActor): Promise<boolean> {
    const [drive] = (await (await actor.request('GET', '/services')).json()) as { connected: boolean }[]
    return drive?.connected === true
  }

  const handleOf = async (service: TestService, actor: TestActor) => {
    const handle = (await service.app.actors.get(actor.id)) ?? assert.fail('no actor')
    return handle.services.get('drive')
  }

  describe('connecting to a third-party service', () => {
    it('redirects the browser with a challenge and a state, and redeems the returned code', async () => {
      const { party, service, actor, browser } = await begin({ authorizationParameters: { access_type: 'offline' } })
      const drive = await handleOf(service, actor)
      assert.equal(await drive.connection(), undefined)
      assert.equal(drive.connectUrl(), `http://troupe.test${connectPath(actor)}`)
      const begun = await browser.get(drive.connectUrl())
      assert.equal(begun.status, 302)
      const [cookie = ''] = begun.headers.getSetCookie()
      assert.match(cookie, /^troupe-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
      const location = new URL(begun.headers.get('location') ?? '')
      const { state, code_challenge: challenge, ...rest } = Object.fromEntries(location.searchParams)
      assert.equal(location.origin + location.pathname, `${party.url}/authorize`)
      assert.match(state ?? '', /^[\w-]{43}$/)
      assert.match(challenge ?? '', /^[\w-]{43}$/)
      assert.deepEqual(rest, {
        fixed: '1',
        access_type: 'offline',
        response_type: 'code',
        client_id: 'troupe-client',
        redirect_uri: `http://troupe.test/${actor.id}/services/drive/callback`,
        scope: 'files.read files.write',
        code_challenge_method: 'S256',
      })

      const answer = await browser.get(party.allow(location.href).href)
      assert.equal(answer.status, 200)
      assert.deepEqual(await answer.json(), { success: true, message: 'Connected with drive', service: 'drive' })
      const connection = await drive.connection()
      assert.equal(connection?.scope, 'files.read')
      assert.ok(connection.expiresAt !== null && connection.expiresAt > connection.connectedAt)
      const asked = await drive.fetch(`${party.url}/api/files`, { method: 'PATCH', body: 'text' })
      assert.deepEqual(await asked.json(), { path: '/api/files', method: 'PATCH', body: 'text' })
    })

    it('redirects to the requested path, which must be on this service', async () => {
      const { party, service, actor, browser } = await begin()
      const drive = await handleOf(service, actor)
      const begun = await browser.get(drive.connectUrl(`/${actor.id}/www?tab=1`))
      const answer = await browser.get(party.allow(begun.headers.get('location') ?? '').href)
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `/${actor.id}/www?tab=1`])
      for (const elsewhere of ['https://evil.example.com/', '//evil.example.com', '/\\evil.example.com', 'www']) {
        assert.equal((await browser.get(drive.connectUrl(elsewhere))).status, 400, elsewhere)
      }
    })

    it('treats an invalid or extreme token lifetime as unknown', async () => {
      for (const seconds of [1e13, 1e300, -5, 0.4]) {
        const { party, actor, browser } = await begin()
        party.expiresIn = seconds
        await connect(browser, party, actor)
        const listed = await actor.request('GET', '/services')
        assert.equal(listed.status, 200, String(seconds))
        const [drive] = (await listed.json()) as { connected: boolean; expires_at: string | null }[]
        assert.equal(drive?.connected, true)
        if (seconds !== 0.4) assert.equal(drive.expires_at, null)
      }
    })

    it('can use one redirect URI for all actors, for services that register every URI', async () => {
      const { party, actor, browser } = await begin({ callback: 'shared' })
      const begun = await browser.get(connectPath(actor))
      const back = party.allow(begun.headers.get('location') ?? '')
      assert.equal(back.origin + back.pathname, 'http://troupe.test/services/drive/callback')
      const passed = await browser.get(back.href)
      assert.equal(passed.status, 302)
      const own = new URL(passed.headers.get('location') ?? '')
      assert.equal(own.pathname, `/${actor.id}/services/drive/callback`)
      assert.equal((await browser.get(own.href)).status, 200)
      assert.equal(await isConnected(actor), true)
      assert.equal((await browser.get(back.href)).status, 403)
      assert.equal((await browser.get('/services/drive/callback')).status, 400)
      assert.equal((await browser.get('/services/other/callback?state=x')).status, 404)
    })

    it('can authenticate the client in the Authorization header', async () => {
      const { party, actor, browser } = await begin({ clientAuthentication: 'basic' })
      await connect(browser, party, actor)
      assert.equal(await isConnected(actor), true)
    })

    it('works with a certified provider, including user info', async () => {
      const provider = await startIdentityProvider()
      try {
        const service = await start({
          declare: (app) =>
            app.service('drive', {
              authorizationUrl: `${provider.issuer}/auth`,
              tokenUrl: `${provider.issuer}/token`,
              clientId: provider.clientId,
              clientSecret: provider.clientSecret,
              scopes: ['openid', 'email'],
            }),
        })
        const actor = await service.createActor()
        const browser = new Browser(service, actor)
        const begun = await browser.get(connectPath(actor))
        const { url } = await provider.signIn(begun.headers.get('location') ?? '', 'ada')
        assert.equal((await browser.get(url.href)).status, 200)
        const answer = await (await handleOf(service, actor)).fetch(`${provider.issuer}/me`)
        assert.equal(((await answer.json()) as { email: string }).email, 'ada@example.com')
        const again = await browser.get(connectPath(actor))
        const cancelled = await provider.cancel(again.headers.get('location') ?? '')
        assert.equal((await browser.get(cancelled.url.href)).status, 400)
      } finally {
        await provider.close()
      }
    })
  })

  describe('the callback of a third-party service', () => {
    it('is valid once, in the browser and for the actor that began (IDP-01)', async () => {
      const { party, service, actor, browser } = await begin()
      const other = await service.createActor('other@example.com')
      const back = party.allow((await browser.get(connectPath(actor))).headers.get('location') ?? '')
      const elsewhere = new Browser(service, actor)
      assert.equal((await elsewhere.get(back.href)).status, 403)
      await elsewhere.get(connectPath(actor))
      assert.equal((await elsewhere.get(back.href)).status, 403)
      const asOther = new Browser(service, other)
      assert.equal((await asOther.get(back.href.replace(actor.id, other.id))).status, 403)
      assert.deepEqual([await isConnected(actor), await isConnected(other)], [false, false])
      assert.equal((await browser.get(back.href)).status, 200)
      assert.equal((await browser.get(back.href)).status, 403)
      assert.equal(party.requests.filter((line) => line.startsWith('POST /token')).length, 1)
    })

    it('is not consumed when the same browser uses it for another actor', async () => {
      const { party, service, actor, browser } = await begin()
      const other = await service.createActor('other@example.com')
      const callers = await browser.get(connectPath(actor))
      const back = party.allow(callers.headers.get('location') ?? '')
      const cookie = callers.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
      const wrong = await service.request(`${back.pathname.replace(actor.id, other.id)}${back.search}`, {
        headers: { authorization: other.authorization, cookie },
      })
      assert.equal(wrong.status, 403)
      assert.equal((await browser.get(back.href)).status, 200)
    })

    it('expires after ten minutes', async () => {
      const clock = new ManualClock()
      const { party, actor, browser } = await begin({}, { now: clock.now })
      const back = party.allow((await browser.get(connectPath(actor))).headers.get('location') ?? '')
      clock.pass(600_001)
      assert.equal((await browser.get(back.href)).status, 403)
      assert.equal(await isConnected(actor), false)
    })

    for (const [what, status, change] of [
      ['without a state', 400, (url: URL) => url.searchParams.delete('state')],
      ['with an invented state', 403, (url: URL) => url.searchParams.set('state', 'x'.repeat(43))],
      ['without a code', 400, (url: URL) => url.searchParams.delete('code')],
      ['with an invented code', 502, (url: URL) => url.searchParams.set('code', 'made-up')],
      ['with an error', 400, (url: URL) => url.searchParams.set('error', 'access_denied')],
      ['for an unknown service', 404, (url: URL) => (url.pathname = url.pathname.replace('drive', 'other'))],
    ] as const) {
      it(`is rejected ${what} with ${status}, and stores nothing`, async () => {
        const { party, actor, browser } = await begin()
        const back = party.allow((await browser.get(connectPath(actor))).headers.get('location') ?? '')
        change(back)
        const answer = await browser.get(back.href)
        assert.equal(answer.status, status)
        assert.deepEqual(Object.keys((await answer.json()) as object), ['error', 'message'])
        assert.equal(await isConnected(actor), false)
      })
    }

    for (const [what, body] of Object.entries({
      'what is not JSON': '<html>',
      'no token': '{"token_type":"Bearer"}',
      'a token of another type': '{"access_token":"x","token_type":"mac"}',
      'an error with 200': '{"error":"server_error","error_description":"planted-detail"}',
    })) {
      it(`answers 502 without details when the third party returns ${what} (SEC-05)`, async () => {
        const { party, actor, browser } = await begin()
        const back = party.allow((await browser.get(connectPath(actor))).headers.get('location') ?? '')
        party.broken = { status: 200, body, times: 1 }
        const answer = await browser.get(back.href)
        assert.deepEqual(
          [answer.status, await answer.json()],
          [502, { error: 'service_failed', message: 'Cannot use drive now: it returned no valid response' }],
        )
        assert.equal(await isConnected(actor), false)
      })
    }

    it('answers 502 when the third party is down', async () => {
      const { party, actor, browser } = await begin()
      const back = party.allow((await browser.get(connectPath(actor))).headers.get('location') ?? '')
      await party.close()
      assert.equal((await browser.get(back.href)).status, 502)
    })

    it('is available to the owner, trustees and administrators', async () => {
      const callers = new TestCallers()
      const { service, actor } = await begin({}, callers.parts)
      const paths = ['/services', '/services/drive/connect', '/services/drive/callback?state=x&code=y']
      const statusOf = async (path: string, token?: string, method = 'GET'): Promise<number> =>
        (
          await service.request(`/${actor.id}${path}`, {
            method,
            ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
          })
        ).status
      const friend = callers.peer(actor.id, { grants: everything })
      const client = callers.client(actor.id, { grants: everything })
      for (const path of paths) {
        assert.equal(await statusOf(path), 401, path)
        assert.equal(await statusOf(path, friend), 403, path)
        assert.equal(await statusOf(path, client), 403, path)
      }
      assert.equal(await statusOf('/services/drive', friend, 'DELETE'), 403)
      for (const token of [
        callers.trustee(actor.id),
        callers.peer(actor.id, { relationship: 'admin', grants: everything }),
      ]) {
        assert.equal(await statusOf('/services', token), 200)
        assert.equal(await statusOf('/services/drive/connect', token), 302)
        assert.equal(await statusOf('/services/drive', token, 'DELETE'), 404)
      }
    })

    it('is not started by a HEAD request', async () => {
      const { service, actor } = await begin()
      const answer = await service.request(connectPath(actor), {
        method: 'HEAD',
        headers: { authorization: actor.authorization },
      })
      assert.equal(answer.status, 405)
    })
  })

  describe('the tokens of a third-party service', () => {
    it('are refreshed after they expired, once for all concurrent callers', async () => {
      const clock = new ManualClock(Date.now())
      const { party, service, actor, browser } = await begin({}, { now: clock.now })
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      const first = await drive.accessToken()
      assert.equal(await drive.accessToken(), first)
      clock.pass(3_600_000)
      const all = await Promise.all(Array.from({ length: 20 }, () => drive.accessToken()))
      assert.equal(new Set(all).size, 1)
      assert.notEqual(all[0], first)
      clock.pass(3_600_000)
      assert.notEqual(await drive.accessToken(), all[0])
      assert.equal(party.requests.filter((line) => line === 'POST /token refresh_token').length, 2)
      assert.equal((await drive.connection())?.scope, 'files.read')
    })

    it('are refreshed by only one of two processes, because a refresh token can be used once', async () => {
      const clock = new ManualClock(Date.now())
      const { party, service, actor, browser } = await begin({}, { now: clock.now })
      const second = await start({
        now: clock.now,
        database: service.databaseUrl,
        declare: (app) => app.service('drive', declarationOf(party)),
      })
      await connect(browser, party, actor)
      clock.pass(3_600_000)
      const [one, other] = [await handleOf(service, actor), await handleOf(second, actor)]
      const [mine, theirs] = await Promise.all([one.accessToken(), other.accessToken()])
      assert.equal(mine, theirs)
      assert.equal(party.requests.filter((line) => line === 'POST /token refresh_token').length, 1)
      assert.equal((await one.fetch(`${party.url}/api`)).status, 200)
    })

    it('are refreshed when the third party rejects them, and the request is retried once', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      party.expireAll()
      assert.equal((await drive.fetch(`${party.url}/api/files`)).status, 200)
      assert.deepEqual(party.requests.slice(-3), ['GET /api/files', 'POST /token refresh_token', 'GET /api/files'])
    })

    it('end with the consent, and the owner must connect again', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      party.expireAll()
      party.withdrawConsent()
      await assert.rejects(drive.fetch(`${party.url}/api/files`), { code: 'not_connected', status: 409 })
      await connect(browser, party, actor)
      assert.equal((await drive.fetch(`${party.url}/api/files`)).status, 200)
    })

    it('are stored as soon as the store answers again, because a refresh token can be used once', async () => {
      const clock = new ManualClock(Date.now())
      let faults: FaultyStore | undefined
      const wrapStore: StartOptions['wrapStore'] = (store) => (faults = faulty(store))
      const { party, service, actor, browser } = await begin({}, { now: clock.now, timers: clock.timers, wrapStore })
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      clock.pass(3_600_000)
      faults?.plan({ matching: /UPDATE service_connection SET tokens/, times: 2 })
      let token: string | undefined
      const asked = drive.accessToken().then((given) => (token = given))
      await Promise.race([asked, passUntil(clock, [service], () => token !== undefined, 1000)])
      assert.equal(faults?.failed, 2)
      assert.equal(await drive.accessToken(), await asked)
      assert.equal(party.requests.filter((line) => line === 'POST /token refresh_token').length, 1)
    })

    it('can be refreshed again soon when neither the third party nor the store answers', async () => {
      const clock = new ManualClock(Date.now())
      let faults: FaultyStore | undefined
      const wrapStore: StartOptions['wrapStore'] = (store) => (faults = faulty(store))
      const { party, service, actor, browser } = await begin({}, { now: clock.now, timers: clock.timers, wrapStore })
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      clock.pass(3_600_000)
      faults?.plan({ matching: /UPDATE service_connection SET refreshing_until = 0/, times: 2 })
      party.broken = { status: 503, body: 'busy', times: 1 }
      let isOver = false
      const refused = assert.rejects(drive.accessToken(), { code: 'service_failed' }).finally(() => (isOver = true))
      await Promise.race([refused, passUntil(clock, [service], () => isOver, 1000)])
      await refused
      assert.ok(await drive.accessToken())
      assert.equal(faults?.failed, 2)
    })

    it('are kept when a refresh fails temporarily', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      party.expireAll()
      party.broken = { status: 503, body: 'busy', times: 1 }
      await assert.rejects(drive.fetch(`${party.url}/api/files`), { code: 'service_failed' })
      assert.equal((await drive.fetch(`${party.url}/api/files`)).status, 200)
    })

    it('are sent only to the declared URLs of the third party', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      const asked = party.requests.length
      for (const url of [
        `${party.url}/other`,
        `${party.url}/apiary`,
        `${party.url}/api/../other`,
        `${party.url}/api/%2f..%2fother`,
        'https://evil.example.com/api',
        'not an address',
      ]) {
        await assert.rejects(drive.fetch(url), { code: 'bad_request' }, url)
      }
      assert.equal(party.requests.length, asked)
    })

    it('are never in clear in the store, the log or a property (SEC-01, SEC-02, SEC-04)', async () => {
      const { party, service, actor, browser } = await begin({}, { activityPerActor: 1000 })
      await connect(browser, party, actor)
      const drive = await handleOf(service, actor)
      party.expireAll()
      await drive.fetch(`${party.url}/api/files`)
      const { store } = await service.app.running()
      await writtenAuditLog(service)
      const dump = JSON.stringify(await dumpStore(store))
      const shown = [
        await (await actor.request('GET', '/properties')).text(),
        await (await actor.request('GET', '/services')).text(),
        await (await actor.request('GET', '/activity')).text(),
      ].join()
      assert.ok(party.secrets.length >= 6)
      for (const secret of party.secrets) {
        assert.ok(!dump.includes(secret), `the store holds ${secret}`)
        assert.ok(!service.log.join('\n').includes(secret), `the log holds ${secret}`)
        assert.ok(!shown.includes(secret), `an answer holds ${secret}`)
      }
    })

    it('are deleted with the actor', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      await actor.request('DELETE', '')
      const { store } = await service.app.running()
      assert.deepEqual(await store.read((q) => q.all('SELECT service FROM service_connection')), [])
    })
  })

  describe('disconnecting from a third-party service', () => {
    it('ends the connection and revokes the token', async () => {
      const { party, service, actor, browser } = await begin()
      await connect(browser, party, actor)
      const answer = await actor.request('DELETE', '/services/drive')
      assert.equal(answer.status, 200)
      assert.deepEqual(await answer.json(), { success: true, message: 'Disconnected from drive', service: 'drive' })
      assert.equal(party.revoked.length, 1)
      assert.match(party.revoked[0] ?? '', /^refresh-/)
      assert.equal(await isConnected(actor), false)
      const drive = await handleOf(service, actor)
      await assert.rejects(drive.accessToken(), { code: 'not_connected' })
      assert.equal((await actor.request('DELETE', '/services/drive')).status, 404)
      assert.equal((await actor.request('DELETE', '/services/other')).status, 404)
      assert.equal(await drive.disconnect(), false)
    })

    it('deletes the local connection and reports an error when the revocation fails', async () => {
      const { party, actor, browser } = await begin()
      await connect(browser, party, actor)
      party.broken = { status: 500, body: 'broken', times: 1 }
      const answer = await actor.request('DELETE', '/services/drive')
      assert.equal(answer.status, 502)
      assert.equal(((await answer.json()) as { error: string }).error, 'service_failed')
      assert.equal(await isConnected(actor), false)
    })
  })
})

describe('the services of an application', () => {
  const code: ServiceDeclaration = {
    authorizationUrl: 'https://drive.example.com/authorize',
    tokenUrl: 'https://drive.example.com/token',
    clientId: 'from code',
    clientSecret: 'secret',
  }
  const rules = { allowHttp: false }

  it('come from code and from the environment, which overrides code and may add services (OPS-09)', () => {
    const services = configuredServices(
      new Map([['drive', code]]),
      {
        TROUPE_SERVICES: 'my-box',
        TROUPE_SERVICE_DRIVE_CLIENT_ID: 'from env',
        TROUPE_SERVICE_MY_BOX_CLIENT_ID: 'box',
        TROUPE_SERVICE_MY_BOX_CLIENT_SECRET: 'box secret',
        TROUPE_SERVICE_MY_BOX_AUTHORIZATION_URL: 'https://box.example.com/authorize',
        TROUPE_SERVICE_MY_BOX_TOKEN_URL: 'https://box.example.com/token',
        TROUPE_SERVICE_MY_BOX_SCOPES: 'a b',
        TROUPE_SERVICE_MY_BOX_API_URLS: 'https://api.box.example.com/v2 https://up.box.example.com',
      },
      rules,
    )
    assert.deepEqual([...services.keys()], ['drive', 'my-box'])
    assert.deepEqual(
      [services.get('drive')?.clientId, services.get('drive')?.clientSecret, services.get('drive')?.apiUrls],
      ['from env', 'secret', ['https://drive.example.com']],
    )
    const box = services.get('my-box')
    assert.deepEqual(
      [box?.scopes, box?.apiUrls, box?.revocationUrl, box?.callback],
      [['a', 'b'], ['https://api.box.example.com/v2', 'https://up.box.example.com'], null, 'actor'],
    )
  })

  for (const [given, env, message] of [
    [
      { clientSecret: '' },
      {},
      'The service drive needs clientSecret: give it in code, or as TROUPE_SERVICE_DRIVE_CLIENT_SECRET.',
    ],
    [{ tokenUrl: 'http://drive.example.com' }, {}, 'Service drive: tokenUrl must be an https address.'],
    [{ authorizationUrl: 'javascript:x' }, {}, 'Service drive: authorizationUrl must be an absolute address.'],
    [
      { apiUrls: ['https://u:p@api.example.com'] },
      {},
      'Service drive: apiUrls must not carry a user name or password.',
    ],
    [{}, { TROUPE_SERVICE_DRIVE_TOKEN_URL: 'x' }, 'TROUPE_SERVICE_DRIVE_TOKEN_URL must be an absolute address.'],
    [{}, { TROUPE_SERVICES: 'My Box' }, 'TROUPE_SERVICES must list names such as dropbox; My Box is not a valid name.'],
    [
      {},
      { TROUPE_SERVICE_BOX_CLIENT_ID: 'x' },
      'TROUPE_SERVICE_BOX_CLIENT_ID belongs to an unknown service: TROUPE_SERVICES does not name box.',
    ],
  ] as const) {
    it(`prevent the start with the message: ${message} (OPS-09)`, () => {
      assert.throws(
        () => configuredServices(new Map([['drive', { ...code, ...given }]]), env, rules),
        (error) => error instanceof ConfigError && error.message === message,
      )
    })
  }
})
