import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isInBackground } from '../../src/observe/context.ts'
import type { Store } from '../../src/store/store.ts'
import {
  type ClientTokens,
  codeFor,
  authorizeClientByConsent,
  mcpStatus,
  newPkce,
  type Pkce,
  redemption,
  type RegisteredClient,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { basic, forEachService, sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { stored } from '../support/stored.ts'
import { type FaultyStore, faulty } from '../support/stores.ts'
import { until } from '../support/until.ts'

const provider = sharedProvider()

type Start = (options?: StartOptions) => Promise<TestService>

/** A service with a signed-in owner, and a public client that the owner may authorize. */
interface Scene {
  readonly service: TestService
  readonly browser: TestBrowser
  readonly client: RegisteredClient
  readonly pkce: Pkce
}

async function scene(start: Start, members: object = {}, options: StartOptions = {}): Promise<Scene> {
  const service = await start({ ...signInAt(await provider()), ...options })
  const browser = new TestBrowser(service)
  await signIn(browser, await provider(), 'ada')
  const client = await registerClient(service, { token_endpoint_auth_method: 'none', ...members })
  return { service, browser, client, pkce: newPkce() }
}

/** Asserts the form of every error of the token endpoint (OTK-15). */
async function errorOf(answer: Response): Promise<readonly [number, string]> {
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const { error, error_description: description, ...rest } = (await answer.json()) as Record<string, string>
  assert.deepEqual([typeof description, rest], ['string', {}])
  return [answer.status, error ?? '']
}

/** Like `errorOf`, and asserts that the rejection changed nothing. */
async function refused(
  service: TestService,
  form: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<readonly [number, string]> {
  const before = await stored(service)
  const found = await errorOf(await requestTokens(service, Object.fromEntries(new URLSearchParams(form)), headers))
  assert.deepEqual(await stored(service), before, 'the refusal changed something')
  return found
}

async function tokensOf(answer: Response): Promise<ClientTokens> {
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('pragma'), 'no-cache')
  return (await answer.json()) as ClientTokens
}

function without(form: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)))
}

const grantError = [400, 'invalid_grant'] as const
const requestError = [400, 'invalid_request'] as const
const clientError = [401, 'invalid_client'] as const

/** Locks the row of the actor until the returned function is called. */
async function holdActor(store: Store, actorId: string): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  const holding = store.writeActor(actorId, async () => {
    isHeld.resolve()
    await held.promise
  })
  await isHeld.promise
  return async () => {
    held.resolve()
    await holding
  }
}

forEachService((start, dialect) => {
  describe('an authorization code', () => {
    it('that is presented again is rejected, and all tokens issued for it are revoked (OTK-01)', async () => {
      let later = 0
      const { service, browser, client, pkce } = await scene(start, {}, { now: () => Date.now() + later })
      const beside = await authorizeClientByConsent(service, await provider(), { browser })
      for (const wait of [1, 30_000, 3_500_000]) {
        const code = await codeFor(browser, client, pkce)
        const first = await tokensOf(await requestTokens(service, redemption(client, code, pkce)))
        const rotated = await tokensOf(
          await requestTokens(service, {
            grant_type: 'refresh_token',
            client_id: client.client_id,
            refresh_token: first.refresh_token,
          }),
        )
        later += wait
        const again = await requestTokens(service, redemption(client, code, pkce))
        assert.deepEqual(await errorOf(again), grantError)
        for (const { access_token: token } of [first, rotated]) assert.equal(await mcpStatus(service, token), 401)
        for (const { refresh_token: token } of [first, rotated]) {
          const form = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: token }
          assert.deepEqual(await refused(service, form), grantError)
        }
        if (later < 3_000_000) assert.equal(await mcpStatus(service, beside.tokens.access_token), 200)
        await signIn(browser, await provider(), 'ada')
      }
    })

    it('that is presented fifty times concurrently is redeemed once, and no token is revoked (OTK-02)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const { store } = await service.app.running()
      const code = await codeFor(browser, client, pkce)
      const owner = await service.app.actors.findByCreator('ada@example.com')
      const letGo = await holdActor(store, owner?.id ?? '')
      service.reset()
      const sent = Array.from({ length: 50 }, () => requestTokens(service, redemption(client, code, pkce)))
      await until(() => service.statements.filter((sql) => /FROM one_time/.test(sql)).length >= 50)
      await letGo()
      const answers = await Promise.all(sent)
      const [winner, ...others] = answers.filter(({ status }) => status === 200)
      assert.ok(winner !== undefined && others.length === 0)
      for (const answer of answers) if (answer !== winner) assert.deepEqual(await errorOf(answer), grantError)
      const tokens = await tokensOf(winner)
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
      const { token, token_chain: chains } = await stored(service)
      const ofClient = (chains ?? []).filter((row) => row.includes(client.client_id))
      assert.equal(ofClient.length, 1)
      const { chain_id: chainId } = JSON.parse(ofClient[0] ?? '{}') as { chain_id: string }
      assert.equal((token ?? []).filter((row) => row.includes(chainId)).length, 2)
    })

    it('is rejected in a request that started before the redemption, and no token is revoked (OTK-02)', async () => {
      let held: Promise<void> = Promise.resolve()
      let waiting = 0
      const wrapStore: NonNullable<StartOptions['wrapStore']> = (inner) => {
        const store = faulty(inner)
        const read: typeof store.read = async (work) => {
          if (isInBackground()) return store.read(work)
          waiting += 1
          await held
          return store.read(work)
        }
        return { ...store, read }
      }
      const { service, browser, client, pkce } = await scene(start, {}, { wrapStore })
      const form = redemption(client, await codeFor(browser, client, pkce), pkce)
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      waiting = 0
      const slow = requestTokens(service, form)
      await until(() => waiting > 0)
      held = Promise.resolve()
      // The redemption must happen at a later millisecond than the start of the slow request.
      const { now } = (await service.app.running()).store
      const before = now()
      await until(() => now() > before)
      const tokens = await tokensOf(await requestTokens(service, form))
      resolve()
      assert.deepEqual(await errorOf(await slow), grantError)
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
    })

    if (dialect === 'postgres') {
      it('that two processes receive concurrently, 25 times each, is redeemed once (OTK-02)', {
        timeout: 60_000,
      }, async () => {
        const { service, browser, client, pkce } = await scene(start)
        const other = await startServiceProcess({
          database: service.databaseUrl,
          env: { TROUPE_RATE_LIMITS: '*=off' },
        })
        try {
          const { store } = await service.app.running()
          const code = await codeFor(browser, client, pkce)
          const owner = await service.app.actors.findByCreator('ada@example.com')
          const letGo = await holdActor(store, owner?.id ?? '')
          const form = redemption(client, code, pkce)
          const here = Array.from({ length: 25 }, () => requestTokens(service, form))
          const there = Array.from({ length: 25 }, () =>
            other.send('POST', '/oauth/token', {
              body: new URLSearchParams(form).toString(),
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
            }),
          )
          const running = async (): Promise<number> =>
            Number(/^troupe_http_requests_running (\d+)$/m.exec((await other.send('GET', '/metrics')).text)?.[1])
          // The request for the metrics counts, too.
          await until(async () => (await running()) >= 26)
          // The clocks of the processes may differ slightly, so some time must pass.
          for (let round = 0; round < 10; round += 1) await running()
          await letGo()
          const answers = [
            ...(await Promise.all(there)),
            ...(await Promise.all(
              (await Promise.all(here)).map(async (each) => ({ status: each.status, text: await each.text() })),
            )),
          ]
          const redeemed = answers.filter(({ status }) => status === 200)
          assert.equal(redeemed.length, 1)
          for (const { status, text } of answers)
            if (status !== 200) assert.deepEqual([status, (JSON.parse(text) as { error: string }).error], grantError)
          const { access_token: token } = JSON.parse(redeemed[0]?.text ?? '{}') as ClientTokens
          assert.equal(await mcpStatus(service, token), 200)
          assert.equal(
            ((await stored(service))['token_chain'] ?? []).filter((row) => row.includes(client.client_id)).length,
            1,
          )
        } finally {
          await other.kill()
        }
      })
    }

    it('is rejected from another client and in any other spelling, and stays valid (OTK-03, OTK-08)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const stranger = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const confidential = await registerClient(service)
      const code = await codeFor(browser, client, pkce)
      assert.deepEqual(await refused(service, redemption(stranger, code, pkce)), grantError)
      const withSecret = { ...redemption(confidential, code, pkce), client_secret: confidential.client_secret ?? '' }
      assert.deepEqual(await refused(service, withSecret), grantError)
      const last = code.at(-1) === 'A' ? 'B' : 'A'
      for (const guess of [
        code.slice(0, -1),
        `${code}x`,
        `${code.slice(0, -1)}${last}`,
        code.slice(3),
        code.toUpperCase(),
        `ac_${'A'.repeat(43)}`,
        `${code}%00`,
        `${code}\u0000`,
        ` ${code}`,
        '*',
        '%',
        'x'.repeat(10_000),
      ]) {
        assert.deepEqual(await refused(service, redemption(client, guess, pkce)), grantError, guess.slice(0, 60))
      }
      await tokensOf(await requestTokens(service, redemption(client, code, pkce)))
    })

    it('expires after a minute for every client (OTK-04, OTK-19)', async () => {
      let later = 0
      const { service, browser, client, pkce } = await scene(start, {}, { now: () => Date.now() + later })
      const code = await codeFor(browser, client, pkce)
      assert.match(code, /^ac_[\w-]{43}$/)
      later = 61_000
      assert.deepEqual(await refused(service, redemption(client, code, pkce)), grantError)
      const next = await codeFor(browser, client, pkce)
      assert.notEqual(next, code)
      later += 55_000
      const stranger = await registerClient(service, { token_endpoint_auth_method: 'none' })
      assert.deepEqual(await refused(service, redemption(stranger, next, pkce)), grantError)
      await tokensOf(await requestTokens(service, redemption(client, next, pkce)))
    })

    it('requires the verifier and the redirect URI of its request (OTK-05, OTK-06, OTK-07)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const code = await codeFor(browser, client, pkce)
      const good = redemption(client, code, pkce)
      assert.deepEqual(await refused(service, without(good, 'code_verifier')), grantError)
      for (const verifier of [
        newPkce().verifier,
        pkce.challenge,
        pkce.verifier.slice(0, 42),
        `${pkce.verifier}x`,
        'x'.repeat(128),
        'x'.repeat(129),
        `${'x'.repeat(42)}é`,
        `${'x'.repeat(42)} `,
        `${'x'.repeat(42)}=`,
      ]) {
        assert.deepEqual(await refused(service, { ...good, code_verifier: verifier }), grantError, verifier)
      }
      for (const uri of [
        'https://program.example/other',
        'https://program.example/back/',
        'https://PROGRAM.example/back',
        'https://program.example/back?',
        'https://evil.example/back',
        'x',
      ]) {
        assert.deepEqual(await refused(service, { ...good, redirect_uri: uri }), grantError, uri)
      }
      for (const missing of ['code', 'redirect_uri', 'grant_type'])
        assert.deepEqual(await refused(service, without(good, missing)), requestError, missing)
      for (const empty of ['code', 'redirect_uri', 'grant_type'])
        assert.deepEqual(await refused(service, { ...good, [empty]: '' }), requestError, empty)
      await tokensOf(await requestTokens(service, good))

      const confidential = await registerClient(service)
      const plain = await codeFor(browser, confidential, pkce, {
        code_challenge: undefined,
        code_challenge_method: undefined,
      })
      const form = { ...redemption(confidential, plain, pkce), client_secret: confidential.client_secret ?? '' }
      assert.deepEqual(await refused(service, form), requestError)
      await tokensOf(await requestTokens(service, without(form, 'code_verifier')))
    })

    it('is not consumed by a store failure at any statement (OTK-16)', async () => {
      let store: FaultyStore | undefined
      const wrapStore: NonNullable<StartOptions['wrapStore']> = (inner) => (store = faulty(inner))
      const { service, browser, client, pkce } = await scene(start, {}, { wrapStore })
      const form = redemption(client, await codeFor(browser, client, pkce), pkce)
      const before = await stored(service)
      let failures = 0
      for (let at = 1; at < 100; at += 1) {
        store?.plan({ at })
        const answer = await requestTokens(service, form)
        const hasFailed = (store?.failed ?? 0) > 0
        store?.plan()
        if (!hasFailed) {
          assert.equal(await mcpStatus(service, (await tokensOf(answer)).access_token), 200)
          break
        }
        failures += 1
        assert.ok(answer.headers.has('retry-after'))
        assert.deepEqual(await errorOf(answer), [500, 'server_error'])
        assert.deepEqual(await stored(service), before, `statement ${at}`)
      }
      assert.ok(failures >= 5)
    })

    it('gives tokens only for the resource of the consent (OTK-17)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const resource = `${service.url}/mcp`
      const code = await codeFor(browser, client, pkce, { resource })
      const good = redemption(client, code, pkce)
      for (const wanted of [service.url, 'https://evil.example/mcp', '/mcp', `${resource}#x`, `${resource}/x`])
        assert.deepEqual(await refused(service, { ...good, resource: wanted }), [400, 'invalid_target'], wanted)
      const tokens = await tokensOf(await requestTokens(service, { ...good, resource }))
      const audiences = async (): Promise<unknown[]> =>
        ((await stored(service))['token_chain'] ?? [])
          .map((row) => JSON.parse(row) as { kind: string; audience: string })
          .filter(({ kind }) => kind === 'client')
          .map(({ audience }) => audience)
      assert.deepEqual(await audiences(), [resource])
      const refresh = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: tokens.refresh_token }
      for (const wanted of [service.url, 'https://evil.example/mcp'])
        assert.deepEqual(await refused(service, { ...refresh, resource: wanted }), [400, 'invalid_target'])
      await tokensOf(await requestTokens(service, { ...refresh, resource }))
      assert.deepEqual(await audiences(), [resource])
    })
  })

  describe('the tokens of a client', () => {
    it('cannot be refreshed by another client or without the client’s secret (ORF-08, R-AS-04)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const confidential = await registerClient(service)
      const secret = confidential.client_secret ?? ''
      const code = await codeFor(browser, confidential, pkce)
      const tokens = await tokensOf(
        await requestTokens(service, { ...redemption(confidential, code, pkce), client_secret: secret }),
      )
      const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      assert.deepEqual(await refused(service, { ...form, client_id: client.client_id }), grantError)
      const id = confidential.client_id
      assert.deepEqual(await refused(service, { ...form, client_id: id }), clientError)
      assert.deepEqual(await refused(service, { ...form, client_id: id, client_secret: 'wrong' }), clientError)
      assert.deepEqual(await refused(service, { ...form, client_id: id, client_secret: `${secret}x` }), clientError)
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
      const next = await tokensOf(await requestTokens(service, { ...form, client_id: id, client_secret: secret }))
      assert.notEqual(next.refresh_token, tokens.refresh_token)
      assert.equal(next.scope, 'mcp actor')
    })

    it('are valid only for their own kind and never for a session (ORF-09)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const code = await codeFor(browser, client, pkce)
      const tokens = await tokensOf(await requestTokens(service, redemption(client, code, pkce)))
      const session = browser.cookies.get('oauth_token') ?? ''
      for (const token of [tokens.refresh_token, code, session, client.client_id, 'x', ''])
        assert.equal(await mcpStatus(service, token), 401)
      for (const token of [tokens.access_token, code, session]) {
        const form = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: token }
        assert.deepEqual(await refused(service, form), grantError)
      }
      const spa = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }),
      })
      assert.equal(spa.status, 401)
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
    })

    it('authenticate only in the header, within the trust type, and no provider is called (ORF-09, WEB-10)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const code = await codeFor(browser, client, pkce)
      const tokens = await tokensOf(await requestTokens(service, redemption(client, code, pkce)))
      const heard = (await provider()).requests.length
      const status = async (path: string, headers: Record<string, string>): Promise<number> =>
        (await service.request(`/${tokens.actor_id}${path}`, { headers })).status
      for (const [path, expected] of [
        ['', 403],
        ['/properties', 200],
        ['/properties/secret', 403],
        ['/trust', 403],
        ['/sessions', 403],
        ['/methods', 200],
        ['/actions', 200],
        ['/www', 403],
      ] as const) {
        assert.equal(await status(path, { authorization: `Bearer ${tokens.access_token}` }), expected, path)
        assert.equal(await status(path, { authorization: `Bearer ${tokens.refresh_token}` }), 401, path)
        assert.equal(await status(path, { cookie: `oauth_token=${tokens.access_token}` }), 401, path)
      }
      const byCookie = await service.request('/mcp', {
        method: 'POST',
        headers: { cookie: `oauth_token=${tokens.access_token}`, 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
      assert.equal(byCookie.status, 401)
      assert.equal((await provider()).requests.length, heard)
    })

    it('are revoked by the client as a chain, by either token, without effect on other clients (RFC 7009)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const revoke = (form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> =>
        service.request('/oauth/token/revoke', { method: 'POST', headers, body: new URLSearchParams(form) })
      const stranger = await registerClient(service, { token_endpoint_auth_method: 'none' })
      for (const [which, hint] of [
        ['access_token', 'access_token'],
        ['access_token', 'refresh_token'],
        ['refresh_token', 'access_token'],
        ['refresh_token', 'nonsense'],
      ] as const) {
        const code = await codeFor(browser, client, pkce)
        const tokens = await tokensOf(await requestTokens(service, redemption(client, code, pkce)))
        const before = await stored(service)
        for (const form of [
          { client_id: stranger.client_id, token: tokens[which] },
          { client_id: client.client_id, token: 'unknown' },
          { client_id: client.client_id, token: browser.cookies.get('oauth_token') ?? '' },
        ]) {
          const answer = await revoke(form)
          assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store'])
        }
        assert.deepEqual(await errorOf(await revoke({ client_id: 'mcp_none', token: tokens[which] })), clientError)
        assert.deepEqual(await errorOf(await revoke({ token: tokens[which] })), clientError)
        assert.deepEqual(await errorOf(await revoke({ client_id: client.client_id })), requestError)
        assert.deepEqual(await stored(service), before)
        const good = await revoke({ client_id: client.client_id, token: tokens[which], token_type_hint: hint })
        assert.equal(good.status, 200)
        assert.equal(await mcpStatus(service, tokens.access_token), 401)
        const form = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: tokens.refresh_token }
        assert.deepEqual(await refused(service, form), grantError)
      }
    })

    it('end with the relationship, the client and the actor, together with pending codes (ORF-14)', async () => {
      const options: StartOptions = { declare: (app) => app.action('list_notes', { mcp: true }, async () => ({})) }
      for (const end of ['relationship', 'client', 'actor', 'unapproved'] as const) {
        const { service, browser, client, pkce } = await scene(start, {}, options)
        const redeemed = await codeFor(browser, client, pkce)
        const tokens = await tokensOf(await requestTokens(service, redemption(client, redeemed, pkce)))
        const code = await codeFor(browser, client, pkce)
        const beside = await authorizeClientByConsent(service, await provider(), { sub: 'bob' })
        const owner = { authorization: `Bearer ${browser.cookies.get('oauth_token') ?? ''}` }
        const path = `/${tokens.actor_id}`
        const trust = `${path}/trust/mcp_client/oauth2_client:ada_at_example_dot_com:${client.client_id}`
        if (end === 'relationship')
          assert.equal((await service.request(trust, { method: 'DELETE', headers: owner })).status, 204)
        if (end === 'actor')
          assert.equal((await service.request(path, { method: 'DELETE', headers: owner })).status, 204)
        if (end === 'client') assert.equal(await service.app.clients.delete(client.client_id), true)
        if (end === 'unapproved') {
          const answer = await service.request(trust, {
            method: 'PUT',
            headers: { ...owner, 'content-type': 'application/json' },
            body: '{"approved":false}',
          })
          assert.ok(answer.ok, `${answer.status}`)
        }
        const expected = end === 'client' ? clientError : grantError
        assert.deepEqual(await errorOf(await requestTokens(service, redemption(client, code, pkce))), expected, end)
        const form = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: tokens.refresh_token }
        if (end === 'unapproved') {
          // The token is still valid but grants no access.
          const listed = await service.request('/mcp', {
            method: 'POST',
            headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
            body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
          })
          assert.deepEqual(((await listed.json()) as { result: { tools: unknown[] } }).result.tools, [])
        } else {
          assert.equal(await mcpStatus(service, tokens.access_token), 401, end)
          assert.deepEqual(await refused(service, form), expected, end)
          const dump = await stored(service)
          for (const table of ['token_chain', 'trust'])
            assert.ok(!(dump[table] ?? []).some((row) => row.includes(client.client_id)), `${end} ${table}`)
        }
        assert.equal(await mcpStatus(service, beside.tokens.access_token), 200, end)
      }
    })

    it('are not issued for a code whose actor is deleted concurrently (ORF-14, R-AS-04)', async () => {
      const { service, browser, client, pkce } = await scene(start)
      const { store } = await service.app.running()
      const code = await codeFor(browser, client, pkce)
      const owner = await service.app.actors.findByCreator('ada@example.com')
      const actorId = owner?.id ?? ''
      const held = Promise.withResolvers<void>()
      const isHeld = Promise.withResolvers<void>()
      const ending = store.writeActor(actorId, async (tx) => {
        isHeld.resolve()
        await held.promise
        await tx.run('DELETE FROM actor WHERE id = $1', actorId)
      })
      await isHeld.promise
      service.reset()
      const sent = requestTokens(service, redemption(client, code, pkce))
      // The code was read, and the request waits for the actor’s lock.
      await until(() => service.statements.some((sql) => /FROM one_time/.test(sql)))
      held.resolve()
      await ending
      assert.deepEqual(await errorOf(await sent), grantError)
    })

    it('are not issued for a code of an ended relationship, even when the owner authorizes the client again (ORF-14)', async () => {
      let later = 0
      const { service, browser, client, pkce } = await scene(start, {}, { now: () => Date.now() + later })
      const code = await codeFor(browser, client, pkce)
      const owner = await service.app.actors.findByCreator('ada@example.com')
      const [trust] = (await owner?.trust.list()) ?? []
      assert.equal(await owner?.trust.delete(trust?.peerid ?? ''), true)
      later = 10
      const next = await codeFor(browser, client, pkce)
      assert.deepEqual(await refused(service, redemption(client, code, pkce)), grantError)
      await tokensOf(await requestTokens(service, redemption(client, next, pkce)))
    })
  })
})

describe('the token endpoint', () => {
  const start = sqliteService()

  async function withClients(): Promise<{
    service: TestService
    post: RegisteredClient
    header: RegisteredClient
    open: RegisteredClient
  }> {
    const service = await start({ ...signInAt(await provider()) })
    const members = { grant_types: ['client_credentials', 'authorization_code', 'refresh_token'] }
    return {
      service,
      post: await registerClient(service, members),
      header: await registerClient(service, { ...members, token_endpoint_auth_method: 'client_secret_basic' }),
      open: await registerClient(service, { ...members, token_endpoint_auth_method: 'none' }),
    }
  }

  const form = { grant_type: 'client_credentials' }
  const bodyOf = (client: RegisteredClient): Record<string, string> => ({
    ...form,
    client_id: client.client_id,
    client_secret: client.client_secret ?? '',
  })
  const headerOf = (client: RegisteredClient): Record<string, string> => ({
    authorization: basic(client.client_id, client.client_secret ?? ''),
  })

  it('does not reveal whether a client is unknown or its secret is wrong (OTK-09, WEB-12)', async () => {
    const { service, post, header } = await withClients()
    const texts = new Set<string>()
    for (const [body, headers] of [
      [{ ...bodyOf(post), client_secret: 'wrong' }, {}],
      [{ ...bodyOf(post), client_id: `mcp_${'0'.repeat(32)}` }, {}],
      [{ ...bodyOf(post), client_id: 'unknown' }, {}],
      [{ ...bodyOf(post), client_id: '../../x' }, {}],
      [form, { authorization: basic(header.client_id, 'wrong') }],
      [form, { authorization: basic(`mcp_${'0'.repeat(32)}`, header.client_secret ?? '') }],
    ] as const) {
      const answer = await requestTokens(service, body, headers)
      assert.equal(answer.status, 401)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+", error="invalid_client"$/)
      texts.add(await answer.text())
    }
    assert.equal(texts.size, 1)
    assert.deepEqual(await refused(service, form), clientError)
  })

  it('gives success and errors as JSON that no cache stores (OTK-15)', async () => {
    const { service, post } = await withClients()
    for (const [body, status] of [
      [bodyOf(post), 200],
      [{ ...bodyOf(post), client_secret: 'wrong' }, 401],
      [{ ...bodyOf(post), grant_type: 'password' }, 400],
      [{}, 400],
    ] as const) {
      const answer = await requestTokens(service, body)
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
    }
  })

  it('accepts the same credentials in two places, and no others (OTK-10, R-AS-03)', async () => {
    const { service, post, header } = await withClients()
    const other = { ...form, client_id: post.client_id }
    assert.deepEqual(await refused(service, other, headerOf(header)), requestError)
    for (const secret of ['x', post.client_secret ?? '', `${header.client_secret} `])
      assert.deepEqual(await refused(service, { ...form, client_secret: secret }, headerOf(header)), requestError)
    const wrong = { ...form, client_id: header.client_id, client_secret: 'x' }
    assert.deepEqual(await refused(service, wrong, { authorization: basic(header.client_id, 'x') }), clientError)
    // Requests-oauthlib and Postman send both.
    await tokensOf(await requestTokens(service, bodyOf(header), headerOf(header)))
    await tokensOf(
      await requestTokens(service, { ...form, client_secret: header.client_secret ?? '' }, headerOf(header)),
    )
    await tokensOf(await requestTokens(service, { ...form, client_id: header.client_id }, headerOf(header)))
    const twice = new Headers([
      ['authorization', headerOf(header)['authorization'] ?? ''],
      ['authorization', headerOf(post)['authorization'] ?? ''],
    ])
    const answer = await service.request('/oauth/token', {
      method: 'POST',
      headers: twice,
      body: new URLSearchParams(form),
    })
    assert.ok([400, 401].includes(answer.status))
  })

  it('accepts no secret of a public client, and no other client without its secret (OTK-11)', async () => {
    const { service, post, header, open } = await withClients()
    for (const [body, headers] of [
      [{ ...form, client_id: open.client_id, client_secret: 'x' }, {}],
      [form, { authorization: basic(open.client_id, 'x') }],
      [{ ...form, client_id: post.client_id }, {}],
      [{ ...form, client_id: header.client_id }, {}],
      [{ ...form, client_id: post.client_id, client_secret: '' }, {}],
      [form, { authorization: basic(post.client_id, '') }],
      [form, { authorization: basic(header.client_id, post.client_secret ?? '') }],
      [{ ...bodyOf(header), client_secret: post.client_secret ?? '' }, {}],
    ] as const) {
      assert.deepEqual(await refused(service, body, headers), clientError)
    }
    // golang.org/x/oauth2 sends the header without a secret. The public client has no right to this grant.
    for (const [body, headers] of [
      [{ ...form, client_id: open.client_id }, {}],
      [form, { authorization: basic(open.client_id, '') }],
    ] as const)
      assert.deepEqual(await refused(service, body, headers), [400, 'unauthorized_client'])
  })

  // The MCP SDK up to 1.20, openid-client and `curl --user` send Basic whatever the client registered. Others send the body.
  it('accepts the secret in the header and in the body, whatever the client registered (OTK-11)', async () => {
    const { service, post, header } = await withClients()
    for (const client of [post, header]) {
      await tokensOf(await requestTokens(service, bodyOf(client)))
      await tokensOf(await requestTokens(service, form, headerOf(client)))
    }
    await service.createActor('ada@example.com')
    const actor = (await service.app.actors.findByCreator('ada@example.com')) ?? assert.fail()
    const { client, secret } = await actor.clients.create({ name: 'A program' })
    await tokensOf(await requestTokens(service, form, { authorization: basic(client.clientId, secret ?? '') }))
  })

  it('decodes Basic credentials as form-encoded and rejects malformed ones without a server error (OTK-12)', async () => {
    const { service, header } = await withClients()
    const id = header.client_id
    const secret = header.client_secret ?? ''
    const encoded = (text: string): string => Buffer.from(text).toString('base64')
    for (const value of [
      'Basic',
      'Basic ',
      'Basic !!!!',
      `Basic ${encoded(id)}`,
      `Basic ${encoded(`:${secret}`)}`,
      `Basic ${encoded(`${id}:%zz`)}`,
      `Basic ${encoded(`%:${secret}`)}`,
      `Basic ${encoded(`${id}:${secret}`)} x`,
      `Basic ${Buffer.from([0xff, 0xfe, 0x3a, 0x41]).toString('base64')}`,
      `Basic ${encoded(`${id}:${secret}:`)}`,
      `Basic ${encoded(`${id}:${secret}%00`)}`,
      `Basic ${encoded(`${id}:${encodeURIComponent(encodeURIComponent('a:b'))}`)}`,
      `Bearer ${secret}`,
      `Digest username="${id}"`,
      'x',
    ]) {
      assert.deepEqual(await refused(service, form, { authorization: value }), clientError, value)
    }
    const escaped = (text: string): string => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&')
    for (const value of [
      `bAsIc ${encoded(`${id}:${secret}`)}`,
      `BASIC   ${encoded(`${id}:${secret}`)}`,
      `Basic ${encoded(`${escaped(id)}:${escaped(secret)}`)}`,
    ]) {
      await tokensOf(await requestTokens(service, form, { authorization: value }))
    }
  })

  it('allows only grants that the client registered, and no unknown ones (OTK-13, R-AS-04, R-AS-06)', async () => {
    const { service, open } = await withClients()
    const id = { client_id: open.client_id }
    assert.deepEqual(await refused(service, { ...form, ...id }), [400, 'unauthorized_client'])
    for (const grant of ['password', 'implicit', 'passphrase', 'toString', '__proto__', 'AUTHORIZATION_CODE', 'x'])
      assert.deepEqual(await refused(service, { ...id, grant_type: grant }), [400, 'unsupported_grant_type'], grant)
    const narrow = await registerClient(service)
    assert.deepEqual(await refused(service, bodyOf(narrow)), [400, 'unauthorized_client'])
    const own = await registerClient(service, { grant_types: ['client_credentials'] })
    for (const grant of ['authorization_code', 'refresh_token'])
      assert.deepEqual(
        await refused(service, { ...bodyOf(own), grant_type: grant, code: 'x', redirect_uri: 'x', refresh_token: 'x' }),
        [400, 'unauthorized_client'],
      )
    const productive = await start({ devtest: false })
    const passphrase = await productive.request('/oauth/spa/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'passphrase', actor_id: 'x', passphrase: 'y' }),
    })
    assert.equal(passphrase.status, 403)
  })

  it('reads only a form body, and neither uses nor logs parameters in the URL (OTK-14)', async () => {
    const { service, post } = await withClients()
    const body = new URLSearchParams(bodyOf(post)).toString()
    const send = (type: string | undefined, text: string, path = '/oauth/token', method = 'POST'): Promise<Response> =>
      service.request(path, {
        method,
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
        ...(method === 'GET' ? {} : { body: Buffer.from(text) }),
      })
    for (const [type, text] of [
      ['application/json', JSON.stringify(bodyOf(post))],
      ['application/json', body],
      ['application/json, application/x-www-form-urlencoded', body],
      ['application/x-www-form-urlencoded, application/json', body],
      ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="grant_type"\r\n\r\nx\r\n--x--'],
      ['multipart/form-data', body],
      ['text/plain', body],
      [undefined, body],
    ] as const) {
      assert.deepEqual(await errorOf(await send(type, text)), requestError, String(type))
    }
    const form = 'application/x-www-form-urlencoded'
    assert.deepEqual(await errorOf(await send(form, '')), requestError)
    assert.deepEqual(await errorOf(await send(form, '', `/oauth/token?${body}`)), requestError)
    assert.deepEqual(await errorOf(await send(form, body, `/oauth/token?${body}`)), requestError)
    assert.deepEqual(await errorOf(await send(form, body, '/oauth/token?grant_type=password')), requestError)
    const got = await send(undefined, '', `/oauth/token?${body}`, 'GET')
    assert.deepEqual([got.status, got.headers.get('allow')], [405, 'OPTIONS, POST'])
    assert.equal(got.headers.get('cache-control'), 'no-store')
    const log = service.log.join('\n')
    assert.ok(!log.includes(post.client_secret ?? ''))
    await tokensOf(await send(`${form}; charset=utf-8`, body))
  })

  it('rejects repeated parameters, whatever their values (OAZ-09)', async () => {
    const { service, post } = await withClients()
    const good = new URLSearchParams({ ...bodyOf(post), scope: 'mcp' })
    for (const [name, value] of good) {
      for (const again of [value, 'other']) {
        const twice = new URLSearchParams(good)
        twice.append(name, again)
        const answer = await service.request('/oauth/token', { method: 'POST', body: twice })
        assert.deepEqual(await errorOf(answer), requestError, name)
      }
    }
  })

  it('grants the requested scope if it is valid (OTK-18)', async () => {
    const { service, post } = await withClients()
    for (const scope of ['admin', 'mcp"', 'mcp\\', ' mcp', 'mcp ', 'a  b', 'é', '\u0000', ''])
      assert.deepEqual(
        await refused(service, { ...bodyOf(post), scope }),
        [400, 'invalid_scope'],
        JSON.stringify(scope),
      )
    for (const scope of ['mcp', 'mcp offline_access', 'mcp mcp']) {
      const { scope: given } = await tokensOf(await requestTokens(service, { ...bodyOf(post), scope }))
      assert.equal(given, 'mcp')
    }
    const { tokens, client } = await authorizeClientByConsent(service, await provider())
    const refresh = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token: tokens.refresh_token }
    for (const scope of ['admin', 'mcp"', '', ' '])
      assert.deepEqual(await refused(service, { ...refresh, scope }), [400, 'invalid_scope'])
    await tokensOf(await requestTokens(service, { ...refresh, scope: 'mcp' }))
  })

  it('allows scripts of every origin, without cookies (R-AS-05)', async () => {
    const { service, post } = await withClients()
    for (const path of ['/oauth/token', '/oauth/register', '/oauth/authorize', '/oauth/token/revoke']) {
      const preflight = await service.request(path, { method: 'OPTIONS', headers: { origin: 'https://app.example' } })
      assert.equal(preflight.status, 200, path)
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
      assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
      assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS')
      assert.equal(preflight.headers.get('access-control-max-age'), '86400')
      const headers = preflight.headers.get('access-control-allow-headers') ?? ''
      for (const name of ['Authorization', 'Content-Type', 'mcp-protocol-version']) assert.ok(headers.includes(name))
    }
    const answer = await requestTokens(service, bodyOf(post), { origin: 'https://app.example' })
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  })
})
