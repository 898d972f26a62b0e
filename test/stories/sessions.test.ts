import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import { accountTokens, bindingOf } from '../../src/secret/sealed-columns.ts'
import { open, seal, type Sealed } from '../../src/secret/sealed.ts'
import type { IssuedTokens } from '../../src/token/chain.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, testKeys, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: { readonly [member: string]: unknown }
  readonly cookies: readonly string[]
}

/** Maps each cookie name to its attributes, without the value. */
function attributesOf(cookies: readonly string[]): Record<string, string> {
  return Object.fromEntries(cookies.map((line) => [line.split('=')[0] ?? '', line.replace(/^[^;]*; /, '')]))
}

function valueOf(cookies: readonly string[], name: string): string {
  return cookies.find((line) => line.startsWith(`${name}=`))?.split(/[=;]/)[1] ?? ''
}

const own = { 'sec-fetch-site': 'same-origin' }

forEachService((start) => {
  let clock: ManualClock
  let store: FaultyStore
  let service: TestService
  let actor: TestActor

  beforeEach(async () => {
    clock = new ManualClock()
    service = await start({
      now: clock.now,
      wrapStore: (inner) => (store = faulty(inner)),
      spaCorsOrigins: ['https://app.example.com'],
    })
    actor = await service.createActor('ada@example.com')
    await actor.request('PUT', '/properties/color', 'red')
  })

  async function ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answered> {
    const answer = await service.request(path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson && text !== '' ? (JSON.parse(text) as Answered['body']) : { text },
      cookies: answer.headers.getSetCookie(),
    }
  }

  const token = (fields: object, headers?: Record<string, string>): Promise<Answered> =>
    ask('POST', '/oauth/spa/token', fields, headers)

  /** Signs in with the passphrase. */
  async function signIn(of: TestActor = actor, userAgent = 'curl/8'): Promise<{ access: string; refresh: string }> {
    const { status, body } = await token(
      { grant_type: 'passphrase', actor_id: of.id, passphrase: of.passphrase },
      { 'user-agent': userAgent },
    )
    assert.equal(status, 200)
    // The sign-in starts a purge after its response, which would disturb later counts of statements.
    await (await service.app.running()).parts.purge.settled()
    return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
  }

  const statusWith = async (accessToken: string, of: TestActor = actor): Promise<number> =>
    (await ask('GET', `/${of.id}/properties/color`, undefined, { authorization: `Bearer ${accessToken}` })).status
  const refresh = (refreshToken: string): Promise<Answered> =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken })
  const dump = async (): Promise<unknown> => dumpStore((await service.app.running()).store)

  function assertSpaError({ status, body, cookies }: Answered, expected: number, message: RegExp): void {
    assert.deepEqual([status, body['error'], body['status_code']], [expected, true, expected])
    assert.match(String(body['message']), message)
    assert.deepEqual(Object.keys(body).sort(), ['error', 'message', 'status_code'])
    assert.deepEqual(cookies, [])
  }

  describe('the passphrase grant', () => {
    it('returns the tokens of a new session in the body (R-OC-08, R-TOK-01)', async () => {
      const { status, body, cookies, headers } = await token({
        grant_type: 'passphrase',
        actor_id: actor.id,
        passphrase: actor.passphrase,
      })
      assert.equal(status, 200)
      assert.match(String(body['access_token']), /^[0-9a-f]{40}$/)
      assert.match(String(body['refresh_token']), /^[A-Za-z0-9_-]{64}$/)
      assert.deepEqual(
        { ...body, access_token: '', refresh_token: '' },
        {
          success: true,
          actor_id: actor.id,
          token_type: 'Bearer',
          expires_in: 3600,
          expires_at: Math.floor(clock.now() / 1000) + 3600,
          access_token: '',
          refresh_token: '',
          refresh_token_expires_in: 1_209_600,
        },
      )
      assert.deepEqual(cookies, [])
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(await statusWith(String(body['access_token'])), 200)
    })

    it('can store the tokens in cookies that scripts cannot read (R-OC-08, WEB-08, R-TOK-07)', async () => {
      const fields = { grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }
      const inCookies = await token({ ...fields, token_delivery: 'cookie' })
      assert.deepEqual(inCookies.body, {
        success: true,
        actor_id: actor.id,
        token_type: 'Bearer',
        expires_in: 3600,
        expires_at: Math.floor(clock.now() / 1000) + 3600,
        refresh_token_expires_in: 1_209_600,
        token_delivery: 'cookie',
      })
      assert.deepEqual(attributesOf(inCookies.cookies), {
        access_token: 'Max-Age=3600; Path=/; HttpOnly; SameSite=Lax',
        oauth_token: 'Max-Age=3600; Path=/; HttpOnly; SameSite=Lax',
        refresh_token: 'Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax',
      })
      assert.equal(valueOf(inCookies.cookies, 'oauth_token'), valueOf(inCookies.cookies, 'access_token'))
      assert.equal(await statusWith(valueOf(inCookies.cookies, 'oauth_token')), 200)

      const hybrid = await token({ ...fields, token_delivery: 'hybrid' })
      assert.deepEqual(Object.keys(hybrid.body).sort(), [
        'access_token',
        'actor_id',
        'expires_at',
        'expires_in',
        'refresh_token_expires_in',
        'success',
        'token_delivery',
        'token_type',
      ])
      assert.deepEqual(Object.keys(attributesOf(hybrid.cookies)), ['refresh_token'])
      assert.equal((await refresh(valueOf(hybrid.cookies, 'refresh_token'))).status, 200)
    })

    it('reports what is missing or wrong, and stores nothing (R-OC-08)', async () => {
      const before = await dump()
      const good = { grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }
      assertSpaError(await token({ ...good, actor_id: undefined }), 400, /actor_id/)
      assertSpaError(await token({ ...good, passphrase: '' }), 400, /passphrase/)
      assertSpaError(await token({ ...good, passphrase: 12 }), 400, /passphrase/)
      assertSpaError(await token({ ...good, passphrase: 'wrong' }), 401, /passphrase is invalid/)
      assertSpaError(await token({ ...good, actor_id: 'unknown' }), 404, /Actor "unknown" does not exist/)
      assertSpaError(await token({ ...good, token_delivery: 'mail' }), 400, /token_delivery/)
      assertSpaError(await token({ ...good, grant_type: 'password' }), 400, /grant_type/)
      assertSpaError(await token({}), 400, /grant_type/)
      assertSpaError(await ask('POST', '/oauth/spa/token', '{'), 400, /./)
      for (const body of ['[]', '"x"', '1', 'null', 'true'])
        assertSpaError(await ask('POST', '/oauth/spa/token', body), 400, /must be a JSON object/)
      assert.deepEqual(await dump(), before)
    })

    it('reads the body as JSON, whatever its content type (R-OC-08)', async () => {
      const body = JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase })
      for (const type of ['application/json', 'text/plain', 'application/json; charset=utf-8']) {
        assert.equal((await ask('POST', '/oauth/spa/token', body, { 'content-type': type })).status, 200, type)
      }
    })

    it('answers 403 outside development, for right and wrong passphrases (R-OC-08)', async () => {
      const strict = await start({ devtest: false })
      const owner = await strict.createActor()
      for (const passphrase of [owner.passphrase, 'wrong', '']) {
        const answer = await strict.request('/oauth/spa/token', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ grant_type: 'passphrase', actor_id: owner.id, passphrase }),
        })
        assert.equal(answer.status, 403)
        assert.match(((await answer.json()) as { message: string }).message, /devtest/)
      }
    })
  })

  describe('the refresh grant', () => {
    it('returns a new pair of tokens for a token in the body, with the identifier (ORF-01, R-TOK-01)', async () => {
      const first = await signIn()
      const { status, body } = await refresh(first.refresh)
      assert.equal(status, 200)
      assert.deepEqual(
        { ...body, access_token: '', refresh_token: '' },
        {
          success: true,
          actor_id: actor.id,
          email: 'ada@example.com',
          expires_in: 3600,
          expires_at: Math.floor(clock.now() / 1000) + 3600,
          access_token: '',
          token_type: 'Bearer',
          refresh_token: '',
          refresh_token_expires_in: 1_209_600,
        },
      )
      assert.equal(await statusWith(String(body['access_token'])), 200)
      assert.equal((await refresh(String(body['refresh_token']))).status, 200)
    })

    it('reads the token from the cookie when no Authorization header is sent, and sets the new cookie (R-TOK-01)', async () => {
      const { refresh: value } = await signIn()
      const asCookie = { cookie: `refresh_token=${value}` }
      const fields = { grant_type: 'refresh_token', token_delivery: 'cookie' }
      assertSpaError(await token(fields, { ...own, ...asCookie, authorization: 'Bearer x' }), 400, /refresh_token/)
      const { status, body, cookies } = await token(fields, { ...own, ...asCookie })
      assert.equal(status, 200)
      assert.equal(body['access_token'], undefined)
      assert.deepEqual(Object.keys(attributesOf(cookies)), ['access_token', 'oauth_token', 'refresh_token'])
      assert.equal(await statusWith(valueOf(cookies, 'access_token')), 200)
    })

    it('rejects the cookie from a page of another site, unless the site is configured (WEB-17)', async () => {
      const { refresh: value } = await signIn()
      const fields = { grant_type: 'refresh_token' }
      const cookie = `refresh_token=${value}`
      const before = await dump()
      for (const from of [
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        { 'sec-fetch-site': 'same-site', origin: 'https://other.troupe.test' },
        { origin: 'https://app.example.com.evil.example' },
        { 'sec-fetch-site': 'cross-site', origin: 'null' },
      ]) {
        assertSpaError(await token(fields, { cookie, ...from }), 403, /not sent by a page of this service/)
      }
      assert.deepEqual(await dump(), before)
      const named = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example.com' }
      assert.equal((await token(fields, { cookie, ...named })).status, 200)
    })

    it('ends the session and its access tokens when a token is reused after 60 s (ORF-04, R-TOK-03)', async () => {
      const first = await signIn()
      const other = await signIn()
      const { body } = await refresh(first.refresh)
      clock.pass(minute + 1)
      assertSpaError(await refresh(first.refresh), 401, /invalid/)
      assert.equal(await statusWith(first.access), 401)
      assert.equal(await statusWith(String(body['access_token'])), 401)
      assertSpaError(await refresh(String(body['refresh_token'])), 401, /invalid/)
      assert.equal(await statusWith(other.access), 200)
    })

    it('answers fifty concurrent uses of one token, all in one session (ORF-02, R-TOK-02)', async () => {
      const { refresh: value } = await signIn()
      const all = await Promise.all(Array.from({ length: 50 }, () => refresh(value)))
      assert.deepEqual([...new Set(all.map(({ status }) => status))], [200])
      assert.equal(new Set(all.map(({ body }) => body['refresh_token'])).size, 50)
      const { body } = await ask('GET', `/${actor.id}/sessions`, undefined, { authorization: actor.authorization })
      assert.equal((body as unknown as unknown[]).length, 1)
    })

    it('reports a failure of the store as such, and keeps the token valid (ORF-15)', async () => {
      const { refresh: value } = await signIn()
      for (let at = 1; at <= 3; at++) {
        store.plan({ at })
        const answer = await refresh(value)
        store.plan()
        assertSpaError(answer, 503, /Storage cannot be used/)
      }
      store.plan({ at: 2, error: () => new Error('planted-cause') })
      const broken = await refresh(value)
      store.plan()
      assertSpaError(broken, 500, /The service failed/)
      assert.equal((await refresh(value)).status, 200)
    })

    it('rejects an access token, the secret of a peer and any other string (ORF-09)', async () => {
      const { access } = await signIn()
      const before = await dump()
      for (const text of [access, 'x', actor.passphrase, `rt_${'A'.repeat(43)}`])
        assertSpaError(await refresh(text), 401, /invalid/)
      assertSpaError(await token({ grant_type: 'refresh_token' }), 400, /refresh_token/)
      assert.deepEqual(await dump(), before)
    })

    it('purges expired tokens after its response, whatever the response is (R-TOK-06, ORF-16)', async () => {
      await signIn()
      clock.pass(91 * day)
      assertSpaError(await refresh('x'), 401, /invalid/)
      const { parts, store: all } = await service.app.running()
      await parts.purge.settled()
      const rows = await all.read((q) => q.all('SELECT hash FROM token'))
      assert.deepEqual(rows, [])
      assert.deepEqual(await all.read((q) => q.all('SELECT chain_id FROM token_chain')), [])
    })
  })

  describe('the access token of a session', () => {
    it('authenticates its owner as creator, by header or cookie, and identifies the session (R-AUTH-01, R-AUTH-02)', async () => {
      const seen: unknown[] = []
      const now = 1_900_000_000_000
      const watched = await start({
        now: () => now,
        declare: (app) => app.method('who', ({ caller }) => (seen.push(caller), {})),
      })
      const owner = await watched.createActor()
      const { parts } = await watched.app.running()
      const tokens = await parts.sessions.begin({
        actorId: owner.id,
        identifier: owner.creator,
        beganWith: 'web',
        device: '',
      })
      for (const headers of [
        { authorization: `Bearer ${tokens.accessToken}` },
        { cookie: `oauth_token=${tokens.accessToken}`, ...own },
      ]) {
        const answer = await watched.request(`/${owner.id}/methods/who`, { method: 'POST', body: '{}', headers })
        assert.equal(answer.status, 200)
      }
      assert.deepEqual(seen, [
        { kind: 'creator', via: 'bearer', session: tokens.chainId, authenticatedAt: now },
        { kind: 'creator', via: 'cookie', session: tokens.chainId, authenticatedAt: now },
      ])
    })

    it('is rejected with 403 at another actor (R-AUTH-03)', async () => {
      const { access } = await signIn()
      const other = await service.createActor('bob@example.com')
      await other.request('PUT', '/properties/color', 'blue')
      assert.equal(await statusWith(access, other), 403)
      assert.equal(await statusWith(access), 200)
    })

    it('is rejected with 401 and a Bearer challenge after it expired or was revoked (ORF-09)', async () => {
      const { access, refresh: refreshToken } = await signIn()
      clock.pass(hour)
      assert.equal(await statusWith(access), 200)
      clock.pass(1)
      for (const dead of [access, refreshToken, `aw_${'A'.repeat(43)}`]) {
        const { status, body, headers } = await ask('GET', `/${actor.id}/properties/color`, undefined, {
          authorization: `Bearer ${dead}`,
        })
        assert.deepEqual([status, body['error']], [401, 'unauthorized'])
        // A client learns where it gets a new token.
        const where = `resource_metadata="${service.url}/.well-known/oauth-protected-resource/${actor.id}", scope="actor", `
        assert.equal(
          headers.get('www-authenticate'),
          `Bearer ${dead.startsWith('aw_') ? where : ''}error="invalid_token"`,
        )
      }
    })

    it('costs a request one lookup, and no lookup when the token belongs to a peer (R-AUTH-02)', async () => {
      const { access } = await signIn()
      service.reset()
      assert.equal(await statusWith(access), 200)
      // A sharded database needs a second statement: the session of the token is on another server.
      assert.equal(service.statements.length, onShards() ? 4 : 3)
      assert.equal(service.statements.filter((sql) => /FROM token\b/.test(sql)).length, 1)
      service.reset()
      assert.equal(await statusWith('0f3c'.repeat(10)), 403)
      assert.equal(service.statements.filter((sql) => sql.includes('FROM token')).length, 0)
    })

    it('answers 503, and not that the token is wrong, when the store cannot be read (R-AUTH-03)', async () => {
      const { access } = await signIn()
      store.plan({ matching: /FROM token/ })
      assert.equal(await statusWith(access), 503)
      store.plan()
      assert.equal(await statusWith(access), 200)
    })

    it('records its last use after the response, at most once a minute', async () => {
      const { access } = await signIn()
      const began = clock.now()
      const lastUsed = async (): Promise<number> => {
        const { parts } = await service.app.running()
        await parts.sessionUses.settled()
        return (await parts.sessions.list(actor.id))[0]?.lastUsedAt ?? 0
      }
      clock.pass(minute - 1)
      await statusWith(access)
      assert.equal(await lastUsed(), began)
      clock.pass(1)
      await Promise.all([statusWith(access), statusWith(access), statusWith(access)])
      assert.equal(await lastUsed(), began + minute)
      clock.pass(minute - 1)
      service.reset()
      await statusWith(access)
      assert.equal(await lastUsed(), began + minute)
      assert.equal(service.statements.filter((sql) => sql.startsWith('UPDATE')).length, 0)
      clock.pass(1)
      store.plan({ matching: /^UPDATE token_chain/ })
      assert.equal(await statusWith(access), 200)
      assert.equal(await lastUsed(), began + minute)
      store.plan()
      await statusWith(access)
      assert.equal(await lastUsed(), began + 2 * minute)
    })
  })

  describe('GET /oauth/session', () => {
    const session = async (headers: Record<string, string>, path = '/oauth/session'): Promise<Answered['body']> => {
      const { status, body } = await ask('GET', path, undefined, headers)
      assert.equal(status, 200)
      return body
    }

    it('reports the signed-in user by header and by cookie, at both paths', async () => {
      const { access } = await signIn()
      clock.pass(minute)
      const expected = {
        authenticated: true,
        actor_id: actor.id,
        identifier: 'ada@example.com',
        expires_at: Math.floor(clock.now() / 1000) + 3540,
        expires_in: 3540,
      }
      for (const path of ['/oauth/session', '/oauth/spa/session']) {
        assert.deepEqual(await session({ authorization: `Bearer ${access}` }, path), expected)
        assert.deepEqual(await session({ cookie: `access_token=${access}` }, path), expected)
        assert.deepEqual(await session({ cookie: `oauth_token=${access}` }, path), expected)
      }
    })

    it('reports an unauthenticated caller without a valid token, whatever the cookies beside an invalid header (WEB-14)', async () => {
      const { access, refresh: value } = await signIn()
      const cookie = `oauth_token=${access}`
      for (const headers of [
        {},
        { authorization: `Bearer ${value}` },
        { authorization: actor.authorization },
        { authorization: 'Bearer x', cookie },
        { authorization: 'nonsense', cookie },
        { cookie: 'oauth_token=x' },
        { cookie: `refresh_token=${value}` },
      ]) {
        const body = await session(headers)
        assert.deepEqual(Object.keys(body).sort(), ['authenticated', 'message'])
        assert.equal(body['authenticated'], false)
      }
      clock.pass(hour + 1)
      assert.equal((await session({ cookie }))['authenticated'], false)
    })

    it('answers 503 when the store fails', async () => {
      const { access } = await signIn()
      store.plan({ at: 1 })
      assertSpaError(
        await ask('GET', '/oauth/session', undefined, { authorization: `Bearer ${access}` }),
        503,
        /Storage cannot be used/,
      )
    })
  })

  function assertCleared({ cookies }: Pick<Answered, 'cookies'>, names: readonly string[] = ['oauth_token']): void {
    const cleared = names.map((name) => [name, 'Max-Age=0; Path=/; HttpOnly; SameSite=Lax'])
    assert.deepEqual({ ...attributesOf(cookies) }, Object.fromEntries(cleared))
    for (const line of cookies) assert.match(line, /^[a-z_]+=;/)
  }

  /** Asserts that sign-out cookies include the flash message of the next page. */
  function assertClearedForPerson({ cookies }: Answered): void {
    assertCleared({ cookies: cookies.slice(0, -1) })
    assert.equal(cookies.at(-1), 'troupe-notice=youAreSignedOut; Max-Age=60; Path=/; HttpOnly; SameSite=Lax')
  }

  describe('POST /oauth/revoke', () => {
    it('ends the session of either kind of token, whatever the hint, and clears the cookies (ORF-16, ORF-13)', async () => {
      for (const path of ['/oauth/revoke', '/oauth/spa/revoke']) {
        for (const [kind, hint] of [
          ['access', undefined],
          ['access', 'refresh_token'],
          ['refresh', undefined],
          ['refresh', 'access_token'],
          ['refresh', 'nonsense'],
        ] as const) {
          const mine = await signIn()
          const other = await signIn()
          const answer = await ask(
            'POST',
            path,
            { token: mine[kind], ...(hint === undefined ? {} : { token_type_hint: hint }) },
            { cookie: `oauth_token=${mine.access}; refresh_token=${mine.refresh}; session_id=1`, ...own },
          )
          assert.deepEqual([answer.status, answer.body['success']], [200, true])
          assertCleared(answer, ['oauth_token', 'refresh_token'])
          assert.equal(await statusWith(mine.access), 401)
          assertSpaError(await refresh(mine.refresh), 401, /invalid/)
          assert.equal(await statusWith(other.access), 200)
        }
      }
    })

    it('uses the token of the request when the body names none, from the header before the cookie', async () => {
      const byHeader = await signIn()
      const kept = await signIn()
      const headers = { authorization: `Bearer ${byHeader.access}`, cookie: `oauth_token=${kept.access}` }
      assert.equal((await ask('POST', '/oauth/revoke', {}, headers)).status, 200)
      assert.deepEqual([await statusWith(byHeader.access), await statusWith(kept.access)], [401, 200])
      for (const name of ['access_token', 'oauth_token', 'refresh_token']) {
        const byCookie = await signIn()
        const value = name === 'refresh_token' ? byCookie.refresh : byCookie.access
        const answer = await ask('POST', '/oauth/revoke', undefined, { cookie: `${name}=${value}`, ...own })
        assert.equal(answer.status, 200)
        assert.equal(await statusWith(byCookie.access), 401)
      }
    })

    it('accepts the token in a form, as RFC 7009 specifies', async () => {
      const { access, refresh: value } = await signIn()
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await ask('POST', '/oauth/revoke', `token=${value}&token_type_hint=refresh_token`, form)
      assert.equal(answer.status, 200)
      assert.equal(await statusWith(access), 401)
    })

    it('answers 200 to an unknown token as RFC 7009 specifies, and ends no session of others and no client (ORF-16)', async () => {
      const { access } = await signIn()
      const client = await grantClient()
      const before = await dump()
      for (const text of ['x', 'a'.repeat(40), access.slice(1), client.accessToken, client.refreshToken]) {
        assert.equal((await ask('POST', '/oauth/revoke', { token: text })).status, 200)
      }
      assert.deepEqual(await dump(), before)
      assertSpaError(await ask('POST', '/oauth/revoke', {}), 400, /token/)
    })

    it('answers 503 when the store fails, and the session continues (ORF-15)', async () => {
      const { access } = await signIn()
      store.plan({ at: 2 })
      assertSpaError(await ask('POST', '/oauth/revoke', { token: access }), 503, /Storage/)
      store.plan()
      assert.equal(await statusWith(access), 200)
    })
  })

  async function grantClient(): Promise<IssuedTokens> {
    const { parts, store: all } = await service.app.running()
    const peerId = 'mcp_a'
    await actor.request('POST', '/trust/friend', { baseuri: `https://peer.example.com/${peerId}`, id: peerId })
    return all.writeActor(actor.id, (tx) =>
      parts.tokens.startClient(
        tx,
        { actorId: actor.id, identifier: actor.creator, beganWith: 'mcp', device: 'Assistant' },
        { clientId: 'mcp_a', peerId, audience: '', scope: 'mcp' },
      ),
    )
  }

  describe('sign-out', () => {
    const asCookie = (accessToken: string): Record<string, string> => ({ cookie: `oauth_token=${accessToken}`, ...own })

    it('ends the session on the server, clears the cookies and redirects a browser to the front page (R-OC-10, WEB-09)', async () => {
      for (const method of ['GET', 'POST']) {
        const mine = await signIn()
        const answer = await ask(method, '/oauth/logout', undefined, asCookie(mine.access))
        assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${service.url}/`])
        assertClearedForPerson(answer)
        assert.equal(await statusWith(mine.access), 401)
        assertSpaError(await refresh(mine.refresh), 401, /invalid/)
      }
    })

    it('ignores HEAD, with a cookie or a bearer token (R-OC-10)', async () => {
      const { access } = await signIn()
      const before = await dump()
      for (const headers of [asCookie(access), { authorization: `Bearer ${access}` }]) {
        const answer = await ask('HEAD', '/oauth/logout', undefined, headers)
        assert.deepEqual([answer.status, answer.cookies], [405, []])
      }
      assert.deepEqual(await dump(), before)
      assert.equal(await statusWith(access), 200)
    })

    it('answers a script in JSON (R-OC-10)', async () => {
      for (const headers of [{ 'content-type': 'application/json' }, { 'x-requested-with': 'XMLHttpRequest' }]) {
        const { access } = await signIn()
        const answer = await ask('POST', '/oauth/logout', undefined, { ...asCookie(access), ...headers })
        assert.deepEqual(answer.body, { success: true, message: 'You are signed out', redirect_url: '/' })
        assertCleared(answer)
        assert.equal(await statusWith(access), 401)
      }
    })

    it('accepts a bearer token at every path, from every site (R-OC-10)', async () => {
      for (const [method, path] of [
        ['GET', '/oauth/logout'],
        ['POST', '/oauth/logout'],
        ['POST', '/oauth/spa/logout'],
      ] as const) {
        const { access } = await signIn()
        const answer = await ask(method, path, undefined, {
          authorization: `Bearer ${access}`,
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
        })
        assert.equal(answer.status, 200)
        assert.deepEqual(answer.body, {
          success: true,
          message: 'You are signed out',
          redirect_url: `${service.url}/`,
          method,
          cleared_cookies: [],
        })
        assertCleared(answer, [])
        assert.equal(await statusWith(access), 401)
      }
    })

    it('is idempotent for a cookie and a bearer token together, and affects no other device or client (WEB-10)', async () => {
      const [byCookie, byBearer, elsewhere] = [await signIn(), await signIn(), await signIn()]
      const client = await grantClient()
      const headers = { ...asCookie(byCookie.access), authorization: `Bearer ${byBearer.access}` }
      for (let twice = 0; twice < 2; twice++) {
        assert.equal((await ask('POST', '/oauth/logout', undefined, headers)).status, 302)
        assert.deepEqual(
          await Promise.all([byCookie, byBearer, elsewhere].map(({ access }) => statusWith(access))),
          [401, 401, 200],
        )
      }
      const { parts } = await service.app.running()
      assert.notEqual(await parts.tokens.validate(client.accessToken), null)
      for (const path of ['/oauth/logout', '/oauth/spa/logout']) {
        assert.equal((await ask('POST', path)).status, 200)
        const asClient = { authorization: `Bearer ${client.accessToken}` }
        assert.equal((await ask('POST', path, undefined, asClient)).status, 200)
      }
      assert.notEqual(await parts.tokens.validate(client.accessToken), null)
    })

    it('deletes the access token of the provider, and keeps its refresh token (WEB-10, R-OC-10)', async () => {
      const { store: all } = await service.app.running()
      const ring = parseKeyRing(testKeys)
      const binding = bindingOf(accountTokens, actor.id)
      const given = {
        oauth_token: 'planted-access',
        oauth_token_expiry: '1900003600',
        oauth_token_timestamp: '1900000000',
        oauth_refresh_token: 'planted-refresh',
      }
      await all.write((tx) =>
        tx.run(
          `INSERT INTO account (actor_id, identifier, verified, fields, provider_tokens) VALUES ($1, 'ada@example.com', 1, '{}', $2)`,
          actor.id,
          seal(ring, JSON.stringify(given), binding),
        ),
      )
      const { access } = await signIn()
      assert.equal((await ask('POST', '/oauth/logout', undefined, asCookie(access))).status, 302)
      const [row] = await all.read((q) => q.all<{ provider_tokens: string }>('SELECT provider_tokens FROM account'))
      assert.deepEqual(JSON.parse(open(ring, row?.provider_tokens as Sealed, binding)), {
        oauth_refresh_token: 'planted-refresh',
      })
    })

    it('shows a page with one button when a link of another site leads here, and ends nothing (CHOICE-62)', async () => {
      const { access } = await signIn()
      const before = await dump()
      for (const from of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, {}]) {
        const answer = await ask('GET', '/oauth/logout', undefined, {
          cookie: `oauth_token=${access}`,
          accept: 'text/html',
          ...from,
        })
        assert.equal(answer.status, 200)
        assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
        assert.deepEqual(answer.cookies, [])
        assert.match(String(answer.body['text']), /<form method="post" action="\/oauth\/logout">/)
        assert.ok(!String(answer.body['text']).includes(access))
      }
      assert.deepEqual(await dump(), before)
      const page = await ask('GET', '/oauth/logout', undefined, {
        cookie: `oauth_token=${access}`,
        accept: 'text/html',
      })
      const field = /name="csrf_token" value="([^"]+)"/.exec(String(page.body['text']))?.[1] ?? ''
      const pressed = await service.request('/oauth/logout', {
        method: 'POST',
        headers: {
          cookie: `oauth_token=${access}`,
          origin: 'null',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: `csrf_token=${field}`,
      })
      assert.equal(pressed.status, 302)
      assert.equal(await statusWith(access), 401)
    })

    it('rejects a form or script of another site (WEB-17)', async () => {
      const { access } = await signIn()
      const before = await dump()
      for (const path of ['/oauth/logout', '/oauth/spa/logout', '/oauth/revoke']) {
        const answer = await ask('POST', path, undefined, {
          cookie: `oauth_token=${access}`,
          'sec-fetch-site': 'cross-site',
          origin: 'https://evil.example',
        })
        assert.equal(answer.status, 403)
        assert.deepEqual(answer.cookies, [])
      }
      assert.deepEqual(await dump(), before)
    })

    it('clears no cookie for a form of another site, for which the browser withheld the cookies (WEB-17)', async () => {
      const elsewhere = [
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        { 'sec-fetch-site': 'same-site', origin: 'https://other.troupe.test' },
        { 'sec-fetch-site': 'cross-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
      ]
      for (const path of ['/oauth/logout', '/oauth/spa/logout', '/oauth/revoke']) {
        const body = path === '/oauth/revoke' ? { token: 'x' } : undefined
        for (const from of elsewhere) {
          const answer = await ask('POST', path, body, from)
          assert.deepEqual([answer.status, answer.cookies], [200, []], `${path} ${JSON.stringify(from)}`)
        }
        const known = [{ 'sec-fetch-site': 'same-origin' }, { origin: 'https://app.example.com' }, {}]
        for (const from of known) assertCleared(await ask('POST', path, body, from), [])
      }
    })

    it('has a counterpart at the token endpoint, which sets no cookies for a form without an origin (WEB-17)', async () => {
      const fields = {
        grant_type: 'passphrase',
        actor_id: actor.id,
        passphrase: actor.passphrase,
        token_delivery: 'cookie',
      }
      const before = await dump()
      for (const from of [{ origin: 'null' }, { 'sec-fetch-site': 'cross-site', origin: 'null' }]) {
        assertSpaError(await token(fields, from), 403, /Cannot set cookies/)
      }
      assert.deepEqual(await dump(), before)
    })

    it('ends only the current token, and each sign-in issues a new token in place of a planted one (WEB-09)', async () => {
      const planted = 'a'.repeat(40)
      const fields = {
        grant_type: 'passphrase',
        actor_id: actor.id,
        passphrase: actor.passphrase,
        token_delivery: 'cookie',
      }
      const first = await token(fields, { cookie: `oauth_token=${planted}`, ...own })
      const one = valueOf(first.cookies, 'troupe-oauth_token')
      const second = await token(fields, { cookie: `oauth_token=${one}`, ...own })
      const two = valueOf(second.cookies, 'oauth_token')
      assert.equal(new Set([planted, one, two]).size, 3)
      assert.equal(await statusWith(planted), 403)
      await ask('POST', '/oauth/logout', undefined, asCookie(two))
      assert.deepEqual([await statusWith(one), await statusWith(two)], [200, 401])
    })
  })

  describe('the sessions of an actor', () => {
    it('are listed to the owner, last used first, with the device and the current session', async () => {
      const first = await signIn(actor, 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0')
      clock.pass(minute / 2)
      await signIn(actor, 'curl/8.5')
      const { status, body } = await ask('GET', `/${actor.id}/sessions`, undefined, {
        authorization: `Bearer ${first.access}`,
      })
      assert.equal(status, 200)
      const listed = body as unknown as { id: string }[]
      assert.deepEqual(
        listed.map((one) => ({ ...one, id: '' })),
        [
          {
            id: '',
            device: 'curl',
            began_with: 'passphrase',
            created_at: '2030-03-17T17:47:10.000Z',
            last_used_at: '2030-03-17T17:47:10.000Z',
            ends_at: '2030-06-15T17:47:10.000Z',
            current: false,
          },
          {
            id: '',
            device: 'Firefox on Linux',
            began_with: 'passphrase',
            created_at: '2030-03-17T17:46:40.000Z',
            last_used_at: '2030-03-17T17:46:40.000Z',
            ends_at: '2030-06-15T17:46:40.000Z',
            current: true,
          },
        ],
      )
      for (const one of listed) assert.match(one.id, /^[A-Za-z0-9_-]{22}$/)
      const byPassphrase = (await (await actor.request('GET', '/sessions')).json()) as { current: boolean }[]
      assert.deepEqual(
        byPassphrase.map(({ current }) => current),
        [false, false],
      )
    })

    it('can be ended one by one, effective with the next request (R-TOK-03, ORF-12)', async () => {
      const [mine, other] = [await signIn(), await signIn()]
      const asMe = { authorization: `Bearer ${mine.access}` }
      const listed = (await ask('GET', `/${actor.id}/sessions`, undefined, asMe)).body as unknown as {
        id: string
        current: boolean
      }[]
      const id = listed.find(({ current }) => !current)?.id ?? ''
      assert.equal((await ask('DELETE', `/${actor.id}/sessions/${id}`, undefined, asMe)).status, 204)
      assert.deepEqual([await statusWith(mine.access), await statusWith(other.access)], [200, 401])
      assertSpaError(await refresh(other.refresh), 401, /invalid/)
      assert.equal((await ask('DELETE', `/${actor.id}/sessions/${id}`, undefined, asMe)).status, 404)
    })

    it('can all be ended except the current one', async () => {
      const [mine, other, another] = [await signIn(), await signIn(), await signIn()]
      const { parts } = await service.app.running()
      const chain = (await parts.tokens.validate(mine.access))?.chain.chainId ?? ''
      assert.equal(await parts.sessions.endOthers(actor.id, chain), 2)
      assert.deepEqual(
        await Promise.all([mine, other, another].map(({ access }) => statusWith(access))),
        [200, 401, 401],
      )
    })

    it('are hidden from other owners and clients, and ids of other actors answer 404', async () => {
      const bob = await service.createActor('bob@example.com')
      const ofBob = await signIn(bob)
      await signIn()
      const client = await grantClient()
      const { parts } = await service.app.running()
      const [bobs] = await parts.sessions.list(bob.id)
      const before = await dump()
      for (const id of [bobs?.chainId ?? '', client.chainId, 'none']) {
        const answer = await ask('DELETE', `/${actor.id}/sessions/${id}`, undefined, {
          authorization: actor.authorization,
        })
        assert.equal(answer.status, 404)
      }
      for (const [headers, status] of [
        [{}, 401],
        [{ authorization: bob.authorization }, 403],
        [{ authorization: `Bearer ${ofBob.access}` }, 403],
      ] as const) {
        assert.equal((await ask('GET', `/${actor.id}/sessions`, undefined, headers)).status, status)
        assert.equal((await ask('DELETE', `/${actor.id}/sessions/x`, undefined, headers)).status, status)
      }
      assert.deepEqual(await dump(), before)
    })

    it('end with the actor, whose tokens then authenticate and refresh nothing (ORF-14)', async () => {
      const { access, refresh: value } = await signIn()
      assert.equal((await actor.request('DELETE', '')).status, 204)
      assert.equal(await statusWith(access), 404)
      assertSpaError(await refresh(value), 401, /invalid/)
      const { body } = await ask('GET', '/oauth/session', undefined, { authorization: `Bearer ${access}` })
      assert.equal(body['authenticated'], false)
    })

    it('include tokens of a client, which end with its relationship (ORF-14)', async () => {
      const client = await grantClient()
      const { parts } = await service.app.running()
      assert.notEqual(await parts.tokens.validate(client.accessToken), null)
      const { status } = await actor.request('DELETE', '/trust/friend/mcp_a?peer=true')
      assert.equal(status, 204)
      assert.equal(await parts.tokens.validate(client.accessToken), null)
      assert.equal(await parts.tokens.refresh(client.refreshToken, { kind: 'client', clientId: 'mcp_a' }), null)
    })
  })

  describe('GET /oauth/spa/session/{id}', () => {
    async function keep(delivery: 'json' | 'hybrid' = 'json'): Promise<string> {
      const { parts, store: all } = await service.app.running()
      const tokens = await parts.sessions.begin({
        actorId: actor.id,
        identifier: 'ada@example.com',
        beganWith: 'spa',
        device: '',
      })
      return all.write((tx) =>
        parts.oneTime.create(tx, {
          purpose: 'spa_session',
          data: { tokens, delivery, redirectUrl: '/app', begunIn: null },
        }),
      )
    }
    const get = (id: string, headers: Record<string, string> = {}): Promise<Answered> =>
      ask('GET', `/oauth/spa/session/${id}`, undefined, headers)

    it('returns the tokens once with the refresh token, and again to the same browser for 10 s (R-OC-16, CHOICE-36)', async () => {
      const id = await keep()
      const mine = { 'user-agent': 'mine', origin: 'https://app.example.com' }
      const answer = await get(id, mine)
      assert.equal(answer.status, 200)
      assert.deepEqual(
        { ...answer.body, access_token: '', refresh_token: '' },
        {
          success: true,
          actor_id: actor.id,
          email: 'ada@example.com',
          access_token: '',
          token_type: 'Bearer',
          expires_in: 3600,
          expires_at: Math.floor(clock.now() / 1000) + 3600,
          redirect_url: '/app',
          refresh_token: '',
          refresh_token_expires_in: 1_209_600,
        },
      )
      clock.pass(10_000)
      assertSpaError(await get(id, { 'user-agent': 'other' }), 404, /exchanged/)
      assert.deepEqual((await get(id, mine)).body, answer.body)
      clock.pass(1)
      assertSpaError(await get(id, mine), 404, /exchanged/)
      assert.equal(await statusWith(String(answer.body['access_token'])), 200)
      assert.equal((await refresh(String(answer.body['refresh_token']))).status, 200)
    })

    it('is not consumed by HEAD, and omits a refresh token that was set as a cookie (R-OC-16)', async () => {
      const id = await keep('hybrid')
      assert.equal((await ask('HEAD', `/oauth/spa/session/${id}`)).status, 200)
      const { status, body } = await get(id)
      assert.equal(status, 200)
      assert.equal(body['refresh_token'], undefined)
      assert.equal((await ask('HEAD', '/oauth/spa/session/none')).status, 404)
    })

    it('answers 404 to guesses, expired ids and records of other purposes, which it does not consume (R-OC-16)', async () => {
      const { parts, store: all } = await service.app.running()
      const id = await keep()
      const data = { planted: 'planted-provider-token' }
      const ofEmail = await all.write((tx) => parts.oneTime.create(tx, { purpose: 'email_session', data }))
      for (const wrong of ['none', id.slice(1), ofEmail]) assertSpaError(await get(wrong), 404, /unknown/)
      clock.pass(600_001)
      assertSpaError(await get(id), 404, /expired/)
    })

    it('returns the tokens to one of fifty concurrent browsers (R-OC-16)', async () => {
      const id = await keep()
      const all = await Promise.all(Array.from({ length: 50 }, (_, n) => get(id, { 'user-agent': `browser ${n}` })))
      assert.equal(all.filter(({ status }) => status === 200).length, 1)
    })
  })

  describe('GET /oauth/spa/callback', () => {
    it('answers 400 with the path to which providers redirect', async () => {
      assertSpaError(await ask('GET', '/oauth/spa/callback?code=x'), 400, /\/oauth\/callback/)
    })
  })

  describe('rate limits', () => {
    const sender = (of: TestService, remoteAddress: string) => async (path: string, body?: object) => {
      const request = new Request(`http://troupe.test${path}`, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      })
      const answer = await of.app.fetch(request, { remoteAddress })
      return { status: answer.status, body: (await answer.json()) as object }
    }

    it('of the token endpoint, revocation and one-time session ids apply per sender (RATE-03, RATE-04)', async () => {
      const limited = await start({
        rateLimits: {
          '*': null,
          'token/source': { count: 3, seconds: 60 },
          'ticket/source': { count: 2, seconds: 60 },
        },
      })
      const [here, there] = [sender(limited, '192.0.2.66'), sender(limited, '198.51.100.1')]
      const wrong = { grant_type: 'refresh_token', refresh_token: 'x' }
      const statuses = [
        await here('/oauth/spa/token', wrong),
        await here('/oauth/revoke', { token: 'x' }),
        await here('/oauth/spa/token', {}),
        await here('/oauth/spa/token', wrong),
        await here('/oauth/spa/revoke', { token: 'x' }),
        await there('/oauth/spa/token', wrong),
      ]
      assert.deepEqual(
        statuses.map(({ status }) => status),
        [401, 200, 400, 429, 429, 401],
      )
      assert.deepEqual(Object.keys(statuses[3]?.body ?? {}).sort(), ['error', 'message', 'status_code'])
      const ids = [
        await here('/oauth/spa/session/a'),
        await here('/oauth/spa/session/b'),
        await here('/oauth/spa/session/c'),
      ]
      assert.deepEqual(
        ids.map(({ status }) => status),
        [404, 404, 429],
      )
    })

    it('of failed passphrases also apply at the token endpoint, with a shared count (RATE-01)', async () => {
      const limited = await start({ rateLimits: { '*': null, 'passphrase/pair': { count: 2, seconds: 600 } } })
      const owner = await limited.createActor()
      const [here, there] = [sender(limited, '192.0.2.66'), sender(limited, '198.51.100.1')]
      const guess = { grant_type: 'passphrase', actor_id: owner.id, passphrase: 'guess' }
      assert.deepEqual(
        [(await here('/oauth/spa/token', guess)).status, (await here('/oauth/spa/token', guess)).status],
        [401, 401],
      )
      assert.equal((await here('/oauth/spa/token', { ...guess, passphrase: owner.passphrase })).status, 429)
      assert.equal((await there('/oauth/spa/token', { ...guess, passphrase: owner.passphrase })).status, 200)
    })
  })

  describe('the log of sign-ins', () => {
    it('contains no token, valid or not, and no passphrase (SEC-04, R-TOK-08)', async () => {
      service.reset()
      const { access, refresh: value } = await signIn()
      const { body } = await refresh(value)
      clock.pass(minute + 1)
      await refresh(value)
      await refresh('planted-wrong-token')
      await statusWith(access)
      await ask('POST', '/oauth/logout', undefined, { cookie: `oauth_token=${access}; refresh_token=${value}`, ...own })
      await ask('GET', '/oauth/spa/session/planted-session-id')
      await token({ grant_type: 'passphrase', actor_id: actor.id, passphrase: 'planted-wrong-passphrase' })
      const lines = service.log.join('\n')
      assert.ok(lines.includes('A refresh token was used again after its grace window'))
      const secrets = [access, value, body['access_token'], body['refresh_token'], actor.passphrase, 'planted-']
      for (const secret of secrets) assert.ok(!lines.includes(String(secret)), String(secret))
    })
  })
})

describe('scripts of other sites', () => {
  forEachService((start, dialect) => {
    if (dialect !== 'sqlite') return
    const spa = ['/oauth/spa/token', '/oauth/session', '/oauth/spa/session', '/oauth/revoke', '/oauth/spa/revoke']
    const logout = ['/oauth/logout', '/oauth/spa/logout']
    const once = '/oauth/spa/session/none'
    let open: TestService
    let named: TestService
    before(async () => {
      open = await start()
      named = await start({
        spaCorsOrigins: ['https://app.example.com', 'https://app.example.com:8443', 'myapp://callback'],
      })
    })
    const of = (answer: Response): Record<string, string> =>
      Object.fromEntries([...answer.headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
    const preflight = (service: TestService, path: string, origin?: string): Promise<Response> =>
      service.request(path, {
        method: 'OPTIONS',
        headers: {
          ...(origin === undefined ? {} : { origin }),
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })

    it('receive 200 for a preflight at every sign-in path, without credentials and without a statement (CHOICE-61)', async () => {
      open.reset()
      for (const path of [...spa, ...logout, once, '/oauth/spa/callback']) {
        const answer = await preflight(open, path, 'https://any.example')
        assert.equal(answer.status, 200, path)
        assert.deepEqual(await answer.json(), { status: 'ok' })
        assert.match(answer.headers.get('allow') ?? '', /OPTIONS/)
      }
      assert.deepEqual(open.statements, [])
      assert.equal((await preflight(open, '/oauth/none')).status, 404)
    })

    it('from any site are allowed when no origin is configured, with the origin echoed and without credentials (R-OC-17)', async () => {
      for (const path of [...spa, ...logout]) {
        assert.deepEqual(of(await preflight(open, path, 'https://any.example')), {
          'access-control-allow-origin': 'https://any.example',
          'access-control-allow-methods': 'GET, POST, OPTIONS',
          'access-control-allow-headers': 'Authorization, Content-Type, Accept',
          'access-control-max-age': '86400',
          vary: 'Origin',
        })
        assert.equal((await preflight(open, path)).headers.get('access-control-allow-origin'), '*')
      }
      assert.deepEqual(of(await preflight(open, once, 'https://any.example')), {
        'access-control-allow-origin': 'https://any.example',
        'access-control-allow-methods': 'GET, OPTIONS',
        'access-control-allow-headers': 'Authorization, Content-Type, Accept',
        vary: 'Origin',
      })
    })

    it('from any site are allowed with an empty list of origins, without credentials (R-OC-17, CHOICE-37)', async () => {
      const service = await start({ spaCorsOrigins: [] })
      for (const path of [...spa, ...logout, once]) {
        const { 'access-control-allow-origin': allowed, 'access-control-allow-credentials': credentials } = of(
          await preflight(service, path, 'https://any.example'),
        )
        assert.deepEqual([allowed, credentials], ['https://any.example', undefined], path)
      }
    })

    it('are allowed only from configured origins, and only those with credentials (R-OC-17, WEB-07)', async () => {
      for (const path of [...spa, ...logout, once]) {
        for (const origin of ['https://app.example.com', 'https://app.example.com:8443', 'myapp://callback']) {
          const { 'access-control-allow-origin': allowed, 'access-control-allow-credentials': credentials } = of(
            await preflight(named, path, origin),
          )
          assert.deepEqual([allowed, credentials], [origin, 'true'])
        }
        for (const origin of [
          undefined,
          'null',
          '*',
          'http://app.example.com',
          'https://app.example.com:443',
          'https://app.example.com:8444',
          'https://app.example.com.evil.example',
          'https://evil.example#https://app.example.com',
          'https://sub.app.example.com',
          'https://APP.example.com',
          'https://app.example.com/',
          'https://app.example.com,https://evil.example',
        ]) {
          const answer = await preflight(named, path, origin)
          assert.equal(answer.status, 200)
          const {
            'access-control-allow-origin': allowed,
            'access-control-allow-credentials': credentials,
            vary,
          } = of(answer)
          assert.deepEqual([allowed, credentials, vary], [undefined, undefined, 'Origin'], origin ?? 'none')
        }
      }
    })

    it('never receive an echo of an invalid origin (WEB-07)', async () => {
      for (const origin of [
        'null',
        'nonsense',
        'https://a b',
        'https://a,https://b',
        `https://${'a'.repeat(300)}`,
        'javascript:x',
      ]) {
        const answer = await preflight(open, '/oauth/session', origin)
        assert.equal(answer.headers.get('access-control-allow-origin'), '*', origin)
      }
    })

    it('can read responses and errors when their site is allowed (R-OC-17)', async () => {
      const asked = async (service: TestService, origin: string): Promise<(string | null)[]> => {
        const headers = { origin, 'content-type': 'application/json' }
        const answers = [
          await service.request('/oauth/session', { headers }),
          await service.request('/oauth/spa/token', { method: 'POST', headers, body: '{}' }),
          await service.request('/oauth/spa/session/none', { headers }),
        ]
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 400, 404],
        )
        for (const answer of answers) assert.equal(answer.headers.get('vary'), 'Origin')
        return answers.map((answer) => answer.headers.get('access-control-allow-origin'))
      }
      assert.deepEqual(await asked(open, 'https://any.example'), [
        'https://any.example',
        'https://any.example',
        'https://any.example',
      ])
      assert.deepEqual(await asked(named, 'https://app.example.com'), [
        'https://app.example.com',
        'https://app.example.com',
        'https://app.example.com',
      ])
      assert.deepEqual(await asked(named, 'https://any.example'), [null, null, null])
    })

    it('cannot be configured with an invalid origin, which prevents the start', async () => {
      for (const origin of [
        'app.example.com',
        'https://app.example.com/',
        'https://app.example.com/path',
        '*',
        'https://',
      ]) {
        await assert.rejects(start({ spaCorsOrigins: [origin] }), /Option spaCorsOrigins must be origins such as/)
      }
    })

    it('receive no preflight response at the paths of an actor', async () => {
      const actor = await open.createActor()
      for (const path of [`/${actor.id}`, `/${actor.id}/properties`, '/']) {
        const answer = await preflight(open, path, 'https://any.example')
        assert.equal(answer.status, 405)
        assert.equal(answer.headers.get('access-control-allow-origin'), null)
      }
    })
  })
})
