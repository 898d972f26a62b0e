/** Device authorization (RFC 8628): a program without a browser gets tokens for an owner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { consentIn, mcpStatus } from '../support/oauth-client.ts'
import { signInWith, signUpWith } from '../support/passkey-page.ts'
import { readQr } from '../support/read-qr.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'

const baseUrl = 'https://notes.example.com'
const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

interface Codes {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly verification_qr_uri: string
  readonly expires_in: number
  readonly interval: number
}

interface Answer {
  readonly status: number
  readonly error?: string
  readonly access_token?: string
  readonly refresh_token?: string
  readonly actor_id?: string
}

async function register(service: TestService, members: object = {}): Promise<string> {
  const answer = await service.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'A television',
      token_endpoint_auth_method: 'none',
      grant_types: [grantType, 'refresh_token'],
      ...members,
    }),
  })
  assert.equal(answer.status, 201)
  return ((await answer.json()) as { client_id: string }).client_id
}

async function send(service: TestService, path: string, form: Record<string, string>): Promise<Response> {
  return service.request(path, { method: 'POST', body: new URLSearchParams(form) })
}

async function begin(service: TestService, clientId: string, more: Record<string, string> = {}): Promise<Codes> {
  const answer = await send(service, '/oauth/device_authorization', { client_id: clientId, ...more })
  assert.equal(answer.status, 200)
  return (await answer.json()) as Codes
}

async function poll(service: TestService, clientId: string, deviceCode: string): Promise<Answer> {
  const answer = await send(service, '/oauth/token', {
    grant_type: grantType,
    client_id: clientId,
    device_code: deviceCode,
  })
  return { status: answer.status, ...((await answer.json()) as Omit<Answer, 'status'>) }
}

/** Enters the code, and sends the decision. */
async function decide(browser: TestBrowser, userCode: string, decision: Record<string, string>): Promise<Response> {
  const asked = await browser.post('/oauth/device', { user_code: userCode })
  assert.equal(asked.status, 200)
  const consent = consentIn(await asked.text())
  return browser.post('/oauth/authorize', { consent, trust_type: 'mcp_client', ...decision })
}

forEachService((start) => {
  interface Owned {
    readonly service: TestService
    readonly clock: ManualClock
    readonly browser: TestBrowser
    readonly id: string
    readonly device: SoftPasskey
    readonly clientId: string
  }

  async function open(options: StartOptions = {}): Promise<Owned> {
    const clock = new ManualClock()
    const service = await start({ baseUrl, signIn: [passkey()], now: clock.now, timers: clock.timers, ...options })
    const { answer, browser, passkey: device } = await signUpWith(service, new SoftPasskey(), 'Ada')
    return { service, clock, browser, id: actorIn(answer), device, clientId: await register(service) }
  }

  describe('a device', () => {
    it('gets its tokens after the owner entered its code and agreed (R-DEV-01)', async () => {
      const { service, clock, browser, id, clientId } = await open()
      const codes = await begin(service, clientId)
      assert.match(codes.user_code, /^[0-9a-z]{4}-[0-9a-z]{4}$/)
      assert.deepEqual(
        [codes.verification_uri, codes.verification_uri_complete, codes.expires_in, codes.interval],
        [`${baseUrl}/oauth/device`, `${baseUrl}/oauth/device?user_code=${codes.user_code}`, 600, 5],
      )
      assert.equal((await poll(service, clientId, codes.device_code)).error, 'authorization_pending')
      const done = await decide(browser, ` ${codes.user_code.toUpperCase().replace('-', ' ')} `, { decision: 'allow' })
      assert.equal(done.status, 200)
      assert.match(await done.text(), /Device connected/)
      clock.pass(5000)
      const tokens = await poll(service, clientId, codes.device_code)
      assert.deepEqual([tokens.status, tokens.actor_id], [200, id])
      assert.equal(await mcpStatus(service, tokens.access_token ?? ''), 200)
      const refreshed = await send(service, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: tokens.refresh_token ?? '',
      })
      assert.equal(refreshed.status, 200)
      const apps = await (await browser.get(`/${id}/www/apps`)).text()
      assert.match(apps, /A television/)
    })

    it('gets its tokens for an owner who signs in after the consent', async () => {
      const { service, device, clientId } = await open()
      const codes = await begin(service, clientId)
      const browser = new TestBrowser(service)
      const decided = await decide(browser, codes.user_code, { provider: 'passkey' })
      assert.equal(decided.status, 303)
      const entered = await signInWith(service, device, decided.headers.get('location') ?? '', browser)
      const done = await browser.get(entered.headers.get('location') ?? '')
      assert.equal(done.status, 200)
      assert.match(await done.text(), /Device connected/)
      assert.equal((await poll(service, clientId, codes.device_code)).status, 200)
    })

    it('is not put before the owner by a form of another site, which only gets the page with the warning (R-DEV-02)', async () => {
      const { service, browser, clientId } = await open()
      const { user_code: code } = await begin(service, clientId)
      for (const from of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
        const answer = await browser.post('/oauth/device', { user_code: code }, from)
        const html = await answer.text()
        assert.match(html, /Never enter one that someone sent you\./)
        assert.doesNotMatch(html, /name="consent"/)
      }
    })

    it('can show a QR code of its page', async () => {
      const { service, clientId } = await open()
      const codes = await begin(service, clientId)
      const picture = await service.request(codes.verification_qr_uri.slice(baseUrl.length))
      assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/svg+xml'])
      assert.equal(readQr(await picture.text()), codes.verification_uri_complete)
      for (const code of ['', 'x', '<script>', 'k7dm-4x2p-']) {
        const refused = await service.request(`/oauth/device/qr?${new URLSearchParams({ user_code: code }).toString()}`)
        assert.equal(refused.status, 400, code)
      }
    })

    it('is shown to the owner with its code, and with a warning about codes of others', async () => {
      const { service, browser, clientId } = await open()
      const { user_code: code } = await begin(service, clientId)
      const page = await (await browser.get(`/oauth/device?user_code=${code}`)).text()
      assert.match(page, new RegExp(`value="${code}"`))
      assert.match(page, /Never enter one that someone sent you\./)
      const asked = await (await browser.post('/oauth/device', { user_code: code })).text()
      assert.match(asked, new RegExp(`<dt>Code on the device</dt><dd><strong>${code}</strong></dd>`))
      assert.match(asked, /Continue only if your own device shows this code right now\./)
    })

    it('learns that the owner denied it (R-DEV-03)', async () => {
      const { service, browser, clientId } = await open()
      const codes = await begin(service, clientId)
      const done = await decide(browser, codes.user_code, { decision: 'deny' })
      assert.match(await done.text(), /Access denied/)
      assert.deepEqual(await poll(service, clientId, codes.device_code).then(({ status, error }) => [status, error]), [
        400,
        'access_denied',
      ])
    })

    it('learns that its code has expired after ten minutes, also for the owner (R-DEV-03)', async () => {
      const { service, clock, browser, clientId } = await open({ freshSignInMinutes: 0 })
      const codes = await begin(service, clientId)
      clock.pass(600_001)
      assert.equal((await poll(service, clientId, codes.device_code)).error, 'expired_token')
      const refused = await browser.post('/oauth/device', { user_code: codes.user_code })
      assert.equal(refused.status, 400)
      assert.match(await refused.text(), /That code is wrong or has expired\./)
    })

    it('receives slow_down when it asks more often than its interval (R-DEV-03)', async () => {
      const { service, clock, clientId } = await open()
      const { device_code: code } = await begin(service, clientId)
      const errors: (string | undefined)[] = []
      for (const wait of [0, 4999, 5000, 1]) {
        clock.pass(wait)
        errors.push((await poll(service, clientId, code)).error)
      }
      // After the first `slow_down`, the interval is ten seconds, and 15 after the next one.
      assert.deepEqual(errors, ['authorization_pending', 'slow_down', 'slow_down', 'slow_down'])
    })

    it('waits five seconds longer after each slow_down, and for the rest of its requests (RFC 8628) (R-DEV-03)', async () => {
      const { service, clock, clientId } = await open()
      const { device_code: code } = await begin(service, clientId)
      const other = await begin(service, clientId)
      const errors: (string | undefined)[] = []
      for (const wait of [0, 4999, 9999, 15_000, 14_999, 20_000, 20_000]) {
        clock.pass(wait)
        errors.push((await poll(service, clientId, code)).error)
      }
      const [pending, slower] = ['authorization_pending', 'slow_down']
      assert.deepEqual(errors, [pending, slower, slower, pending, slower, pending, pending])
      // Another device code has its own interval.
      assert.equal((await poll(service, clientId, other.device_code)).error, pending)
      clock.pass(5000)
      assert.equal((await poll(service, clientId, other.device_code)).error, pending)
    })

    it('gets its tokens once (R-DEV-01)', async () => {
      const { service, browser, clientId } = await open()
      const codes = await begin(service, clientId)
      await decide(browser, codes.user_code, { decision: 'allow' })
      const answers = await Promise.all([1, 2, 3].map(() => poll(service, clientId, codes.device_code)))
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 400, 400],
      )
      assert.equal((await poll(service, clientId, codes.device_code)).error, 'invalid_grant')
    })

    it('gets no tokens with the code of another program', async () => {
      const { service, browser, clientId } = await open()
      const codes = await begin(service, clientId)
      const thief = await register(service)
      assert.equal((await poll(service, thief, codes.device_code)).error, 'invalid_grant')
      await decide(browser, codes.user_code, { decision: 'allow' })
      assert.equal((await poll(service, thief, codes.device_code)).error, 'invalid_grant')
      assert.equal((await poll(service, clientId, codes.device_code)).status, 200)
    })

    it('gets no tokens when the owner disconnects it first', async () => {
      const { service, browser, id, clientId } = await open()
      const codes = await begin(service, clientId)
      await decide(browser, codes.user_code, { decision: 'allow' })
      const { store } = await service.app.running()
      await store.writeActor(id, (tx) => tx.run('DELETE FROM trust WHERE actor_id = $1', id))
      assert.equal((await poll(service, clientId, codes.device_code)).error, 'invalid_grant')
    })

    it('is decided once, and its code is then unknown', async () => {
      const { service, browser, clientId } = await open()
      const codes = await begin(service, clientId)
      const pages = await Promise.all(
        [1, 2].map(async () =>
          consentIn(await (await browser.post('/oauth/device', { user_code: codes.user_code })).text()),
        ),
      )
      const decisions = await Promise.all(
        pages.map((consent, index) =>
          browser.post('/oauth/authorize', {
            consent,
            trust_type: 'mcp_client',
            decision: index === 0 ? 'allow' : 'deny',
          }),
        ),
      )
      const texts = await Promise.all(decisions.map((answer) => answer.text()))
      assert.equal(texts.filter((text) => text.includes('The code has expired')).length, 1)
      assert.equal((await browser.post('/oauth/device', { user_code: codes.user_code })).status, 400)
    })

    for (const [what, form, error] of [
      ['without a device code', { grant_type: grantType }, 'invalid_request'],
      ['with an invented device code', { grant_type: grantType, device_code: 'x'.repeat(43) }, 'expired_token'],
    ] as const) {
      it(`gets no tokens ${what}`, async () => {
        const { service, clientId } = await open()
        const answer = await send(service, '/oauth/token', { client_id: clientId, ...form })
        assert.equal(answer.status, 400)
        assert.equal(((await answer.json()) as { error: string }).error, error)
      })
    }
  })

  describe('the codes of a device', () => {
    for (const [what, more, status, error] of [
      ['an unknown client', { client_id: 'mcp_00000000000000000000000000000000' }, 401, 'invalid_client'],
      ['an unknown scope', { scope: 'everything' }, 400, 'invalid_scope'],
      ['a resource of another service', { resource: 'https://other.example.com/mcp' }, 400, 'invalid_target'],
    ] as const) {
      it(`are refused for ${what}`, async () => {
        const { service, clientId } = await open()
        const answer = await send(service, '/oauth/device_authorization', { client_id: clientId, ...more })
        assert.equal(answer.status, status)
        assert.equal(((await answer.json()) as { error: string }).error, error)
      })
    }

    it('are refused for a client that did not register for them', async () => {
      const { service } = await open()
      const other = await register(service, {
        grant_types: ['authorization_code'],
        redirect_uris: ['https://app.example.com/'],
      })
      const answer = await send(service, '/oauth/device_authorization', { client_id: other })
      assert.equal(((await answer.json()) as { error: string }).error, 'unauthorized_client')
    })

    it('are announced in the metadata of the service', async () => {
      const { service } = await open()
      const metadata = (await (await service.request('/.well-known/oauth-authorization-server')).json()) as Record<
        string,
        unknown
      >
      assert.equal(metadata['device_authorization_endpoint'], `${baseUrl}/oauth/device_authorization`)
      assert.ok((metadata['grant_types_supported'] as string[]).includes(grantType))
    })

    it('cannot be guessed without a limit', async () => {
      const rateLimits = { '*': null, 'user_code/total': { count: 3, seconds: 600 } }
      const { browser } = await open({ rateLimits })
      const statuses: number[] = []
      for (let attempt = 0; attempt < 4; attempt += 1)
        statuses.push((await browser.post('/oauth/device', { user_code: '0000-0000' })).status)
      assert.deepEqual(statuses, [400, 400, 400, 429])
    })
  })
})
