/** Browsers send a consent form or the address after it again: a double click, Back and Allow, a reload, a page that hangs. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import {
  authorizePath,
  type ClientTokens,
  consentIn,
  mcpStatus,
  newPkce,
  type Pkce,
  redemption,
  redirectUri,
  registerClient,
  type RegisteredClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { signUpWith } from '../support/passkey-page.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { stored } from '../support/stored.ts'

const provider = sharedProvider()
const device = 'urn:ietf:params:oauth:grant-type:device_code'
const allow = { decision: 'allow', trust_type: 'mcp_client' }
const deny = { decision: 'deny' }
const throughProvider = { provider: 'acme', trust_type: 'mcp_client' }

const placeOf = (answer: Response): string | null => answer.headers.get('location')

/** Requires a page without any answer for the client, that leads to the site of the client. */
async function isOver(answer: Response, link: string | null = 'https://program.example/'): Promise<void> {
  const text = await answer.text()
  assert.deepEqual([answer.status, placeOf(answer), answer.headers.get('refresh')], [200, null, null], text)
  assert.match(text, /You already answered/)
  assert.doesNotMatch(text, /ac_[\w-]{43}|error=|<form/)
  assert.equal(/<a class="button" href="([^"]*)"/.exec(text)?.[1] ?? null, link)
}

async function tokensOf(service: TestService, form: Record<string, string>): Promise<ClientTokens> {
  const answer = await requestTokens(service, form)
  assert.equal(answer.status, 200)
  return (await answer.json()) as ClientTokens
}

forEachService((start) => {
  interface Asked {
    readonly service: TestService
    readonly browser: TestBrowser
    readonly client: RegisteredClient
    readonly pkce: Pkce
    /** Opens a page, and returns a function that sends its form. */
    readonly open: (members?: object) => Promise<(form: Record<string, string>) => Promise<Response>>
  }

  async function asked(options: StartOptions = {}): Promise<Asked> {
    const service = await start({ ...signInAt(await provider()), ...options })
    const browser = new TestBrowser(service)
    const [client, pkce] = [await registerClient(service, { token_endpoint_auth_method: 'none' }), newPkce()]
    return {
      service,
      browser,
      client,
      pkce,
      open: async () => {
        const value = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
        return (form) => browser.post('/oauth/authorize', { consent: value, ...form })
      },
    }
  }

  /** Sends the form that continues at the provider. Returns the address at which the sign-in ends. */
  async function finishOf(browser: TestBrowser, decided: Response, sub = 'ada'): Promise<string> {
    const begun = await browser.get(placeOf(decided) ?? '')
    const { url } = await (await provider()).signIn(placeOf(begun) ?? '', sub)
    return placeOf(await browser.get(url.href)) ?? ''
  }

  describe('a decision that a browser sends again', () => {
    it('leads to the same place while the code is unused, and stores nothing (OAZ-21)', async () => {
      const { service, browser, client, pkce, open } = await asked()
      await signIn(browser, await provider(), 'ada')
      for (const form of [allow, deny]) {
        const send = await open()
        const first = await send(form)
        assert.equal(first.status, 303)
        const kept = await stored(service)
        for (let round = 0; round < 3; round += 1) {
          const again = await send(form)
          assert.deepEqual([again.status, placeOf(again)], [303, placeOf(first)])
        }
        assert.deepEqual(await stored(service), kept)
      }
      // A double click: the requests run at the same time, and the browser shows the answer to the last one.
      const send = await open()
      const both = await Promise.all([allow, allow, allow, allow].map((form) => send(form)))
      const places = new Set(both.map(placeOf))
      assert.deepEqual([both.map(({ status }) => status), places.size], [[303, 303, 303, 303], 1])
      const code = new URL([...places][0] ?? '').searchParams.get('code') ?? ''
      await tokensOf(service, redemption(client, code, pkce))
    })

    it('never gets a code that was used, and a code that is used twice still ends its tokens (OAZ-21)', async () => {
      const { service, browser, client, pkce, open } = await asked()
      await signIn(browser, await provider(), 'ada')
      const send = await open()
      const code = new URL(placeOf(await send(allow)) ?? '').searchParams.get('code') ?? ''
      await send(allow)
      const tokens = await tokensOf(service, redemption(client, code, pkce))
      const kept = await stored(service)
      await isOver(await send(allow))
      await isOver(await send(deny))
      assert.deepEqual(await stored(service), kept)
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
      assert.equal((await requestTokens(service, redemption(client, code, pkce))).status, 400)
      assert.equal(await mcpStatus(service, tokens.access_token), 401)
      await isOver(await send(allow))
    })

    it('never changes the first one, also when both arrive at the same time (OAZ-21)', async () => {
      const { service, browser, open } = await asked({ clientTrustTypes: ['mcp_client', 'viewer'] })
      await signIn(browser, await provider(), 'ada')
      for (const [first, ...later] of [
        [allow, deny, { ...allow, trust_type: 'viewer' }],
        [deny, allow],
      ] as const) {
        const send = await open()
        const place = placeOf(await send(first))
        const kept = await stored(service)
        for (const other of later) await isOver(await send(other))
        assert.deepEqual(await stored(service), kept)
        assert.equal(placeOf(await send(first)), place)
      }
      const send = await open()
      const answers = await Promise.all([allow, deny, allow, deny].map((form) => send(form)))
      const places = new Set(answers.map(placeOf).filter((place) => place !== null))
      assert.deepEqual([answers.filter(({ status }) => status === 303).length, places.size], [2, 1])
    })

    it('gets nothing in another browser, for another owner, and after a minute (OAZ-21)', async () => {
      let later = 0
      const { service, browser, client, pkce } = await asked({ now: () => Date.now() + later })
      const other = new TestBrowser(service)
      for (const each of [browser, other]) await signIn(each, await provider(), 'ada')
      await other.get(authorizePath(client, pkce))
      const consent = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      const form = { consent, ...allow }
      const place = placeOf(await browser.post('/oauth/authorize', form))
      for (const decision of [allow, deny, throughProvider]) {
        const refused = await other.post('/oauth/authorize', { consent, ...decision })
        assert.deepEqual([refused.status, placeOf(refused)], [403, null])
      }
      const session = browser.cookies.get('oauth_token') ?? ''
      for (const who of ['bob', null]) {
        browser.cookies.delete('oauth_token')
        if (who !== null) await signIn(browser, await provider(), who)
        const refused = await browser.post('/oauth/authorize', form)
        assert.deepEqual([refused.status, placeOf(refused)], [403, null])
      }
      browser.cookies.set('oauth_token', session)
      later = 59_000
      assert.equal(placeOf(await browser.post('/oauth/authorize', form)), place)
      later = 61_000
      await isOver(await browser.post('/oauth/authorize', form))
      later = 601_000
      assert.equal((await browser.post('/oauth/authorize', form)).status, 403)
    })

    it('brings no relationship back that the owner ended meanwhile (OAZ-21)', async () => {
      const { service, browser, client, pkce, open } = await asked()
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      const send = await open()
      const code = new URL(placeOf(await send(allow)) ?? '').searchParams.get('code') ?? ''
      const { store } = await service.app.running()
      await store.writeActor(id, (tx) => tx.run('DELETE FROM trust WHERE actor_id = $1', id))
      await send(allow)
      assert.deepEqual((await stored(service))['trust'], [])
      assert.equal((await requestTokens(service, redemption(client, code, pkce))).status, 400)
    })

    it('leads a program on this computer or a phone to no site (OAZ-21)', async () => {
      const service = await start(signInAt(await provider()))
      for (const callback of ['http://127.0.0.1:33418/', 'com.example.app:/oauth2redirect']) {
        const client = await registerClient(service, { redirect_uris: [callback], token_endpoint_auth_method: 'none' })
        const browser = new TestBrowser(service)
        await signIn(browser, await provider(), 'ada')
        const page = await browser.get(authorizePath(client, newPkce(), { redirect_uri: callback }))
        const consent = consentIn(await page.text())
        assert.equal((await browser.post('/oauth/authorize', { consent, ...deny })).status, 303)
        await isOver(await browser.post('/oauth/authorize', { consent, ...allow }), null)
      }
    })
  })

  describe('a decision with a sign-in that a browser sends again', () => {
    it('begins the sign-in again until the owner has decided, and a reload then gives the same code (OAZ-21)', async () => {
      const { service, browser, client, pkce, open } = await asked()
      const send = await open()
      const begun = await Promise.all([throughProvider, throughProvider].map((form) => send(form)))
      assert.deepEqual(
        begun.map(({ status }) => status),
        [303, 303],
      )
      const [finish, second] = [
        await finishOf(browser, begun[0] as Response),
        await finishOf(browser, begun[1] as Response),
      ]
      const first = await browser.get(finish)
      assert.equal(first.status, 302)
      for (const address of [finish, second, finish]) assert.equal(placeOf(await browser.get(address)), placeOf(first))
      assert.equal(placeOf(await send(throughProvider)), placeOf(first))
      const code = new URL(placeOf(first) ?? '').searchParams.get('code') ?? ''
      await tokensOf(service, redemption(client, code, pkce))
      for (const address of [finish, second]) await isOver(await browser.get(address))
      await isOver(await send(throughProvider))
    })

    it('is free to deny until then, and the sign-in then allows nothing (OAZ-21)', async () => {
      const { service, browser, open } = await asked()
      const send = await open()
      const finish = await finishOf(browser, await send(throughProvider))
      const denied = await send(deny)
      assert.equal(new URL(placeOf(denied) ?? '').searchParams.get('error'), 'access_denied')
      await isOver(await browser.get(finish))
      await isOver(await send(throughProvider))
      assert.equal(placeOf(await send(deny)), placeOf(denied))
      assert.deepEqual((await stored(service))['trust'], [])
    })

    it('gets no code in another browser or for another owner (OAZ-21)', async () => {
      const { service, browser, open } = await asked()
      const send = await open()
      const finish = await finishOf(browser, await send(throughProvider))
      const other = new TestBrowser(service)
      await signIn(other, await provider(), 'ada')
      assert.equal((await browser.get(finish)).status, 302)
      assert.equal((await other.get(finish)).status, 403)
      assert.equal((await browser.get(`${finish}&error=access_denied`)).status, 200)
      browser.cookies.delete('oauth_token')
      assert.equal((await browser.get(finish)).status, 403)
      await isOver(await send(throughProvider))
      await signIn(browser, await provider(), 'bob')
      await isOver(await browser.get(finish))
      await isOver(await send(throughProvider))
    })

    it('reports a failed sign-in to the client again, and allows nothing after it (OAZ-21)', async () => {
      const { service, browser, open } = await asked()
      const send = await open()
      const begun = await browser.get(placeOf(await send(throughProvider)) ?? '')
      const { url } = await (await provider()).cancel(placeOf(begun) ?? '')
      const finish = placeOf(await browser.get(url.href)) ?? ''
      const failed = await browser.get(finish)
      assert.equal(new URL(placeOf(failed) ?? '').searchParams.get('error'), 'access_denied')
      assert.equal(placeOf(await browser.get(finish)), placeOf(failed))
      await signIn(browser, await provider(), 'ada')
      await isOver(await browser.get(finish.replace(/&error=[^&]*/, '')))
      await isOver(await send(throughProvider))
      assert.ok(placeOf(failed)?.startsWith(`${redirectUri}?`))
      assert.deepEqual((await stored(service))['trust'], [])
    })
  })

  describe('a decision on a device that a browser sends again', () => {
    it('shows the same result, and never changes the first one (OAZ-21)', async () => {
      const clock = new ManualClock()
      const baseUrl = 'https://notes.example.com'
      const service = await start({ baseUrl, signIn: [passkey()], now: clock.now, timers: clock.timers })
      const { browser } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const { client_id: clientId } = await registerClient(service, {
        redirect_uris: undefined,
        token_endpoint_auth_method: 'none',
        grant_types: [device],
      })
      const other = await signUpWith(service, new SoftPasskey(), 'Bob')
      for (const [first, same, opposite] of [
        [allow, /Device connected/, deny],
        [deny, /Access denied/, allow],
      ] as const) {
        const form = new URLSearchParams({ client_id: clientId })
        const codes = (await (
          await service.request('/oauth/device_authorization', { method: 'POST', body: form })
        ).json()) as Record<string, string>
        const enter = async (from: TestBrowser): Promise<(form: Record<string, string>) => Promise<Response>> => {
          const page = await from.post('/oauth/device', { user_code: codes['user_code'] ?? '' })
          const consent = consentIn(await page.text())
          return (decision) => from.post('/oauth/authorize', { consent, ...decision })
        }
        const [send, elsewhere, stranger] = [await enter(browser), await enter(browser), await enter(other.browser)]
        for (const each of [send, send, elsewhere]) {
          const answer = await each(first)
          assert.equal(answer.status, 200)
          assert.match(await answer.text(), same)
        }
        await isOver(await send(opposite), null)
        for (const [each, decision] of [
          [elsewhere, opposite],
          [stranger, opposite],
          [stranger, allow],
        ] as const)
          assert.match(await (await each(decision)).text(), /The code has expired/)
        clock.pass(5000)
        const grant = { grant_type: device, client_id: clientId, device_code: codes['device_code'] ?? '' }
        assert.equal((await requestTokens(service, grant)).status, first === allow ? 200 : 400)
        const kept = (await stored(service))['trust']?.length
        assert.equal((await send(first)).status, 200)
        assert.deepEqual([kept, (await stored(service))['trust']?.length], [1, 1])
      }
    })
  })
})
