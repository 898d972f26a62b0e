import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onShards } from '../support/citus.ts'
import {
  authorizePath,
  deleteExpiredClients,
  newPkce,
  redirectUri,
  register,
  requestTokens,
} from '../support/oauth-client.ts'
import { forEachService, sqliteService, type TestService } from '../support/service.ts'
import { TestBrowser } from '../support/sign-in.ts'
import { stored } from '../support/stored.ts'

interface Registered {
  readonly [member: string]: unknown
  readonly client_id: string
  readonly client_secret?: string
}

async function clientsStored(service: TestService): Promise<Record<string, unknown>[]> {
  return ((await stored(service))['oauth_client'] ?? []).map((row) => JSON.parse(row) as Record<string, unknown>)
}

function send(service: TestService, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return service.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

/** Asserts that the registration fails with this error and stores nothing. */
async function refused(
  service: TestService,
  body: string,
  error: string,
  status = 400,
  headers: Record<string, string> = {},
): Promise<void> {
  const before = await stored(service)
  const answer = await send(service, body, headers)
  const what = body.slice(0, 200)
  assert.equal(answer.status, status, what)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, what)
  assert.equal(answer.headers.get('cache-control'), 'no-store', what)
  assert.equal(((await answer.json()) as { error: string }).error, error, what)
  assert.deepEqual(await stored(service), before, what)
}

const metadata = (members: object): string =>
  JSON.stringify({ client_name: 'A program', redirect_uris: [redirectUri], ...members })

forEachService((start) => {
  describe('a client that registers itself', () => {
    it('receives an id and, unless it is public, a secret that is shown once and stored as a hash (R-AS-01, ODR-02)', async () => {
      const moment = Date.now()
      const service = await start({ now: () => moment })
      for (const [method, isConfidential] of [
        [undefined, true],
        ['client_secret_post', true],
        ['client_secret_basic', true],
        ['none', false],
      ] as const) {
        const answer = await register(service, method === undefined ? {} : { token_endpoint_auth_method: method })
        assert.equal(answer.status, 201)
        assert.equal(answer.headers.get('cache-control'), 'no-store')
        assert.equal(answer.headers.get('pragma'), 'no-cache')
        assert.equal(answer.headers.get('access-control-allow-origin'), '*')
        const client = (await answer.json()) as Registered
        assert.match(client.client_id, /^mcp_[0-9a-f]{32}$/)
        const { client_id, client_secret, created_at, client_id_issued_at, ...rest } = client
        assert.deepEqual(rest, {
          client_name: 'A program',
          redirect_uris: ['https://program.example/back'],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: method ?? 'client_secret_post',
          trust_type: 'mcp_client',
          actor_id: '_actingweb_oauth2',
          issuer: service.url,
          authorization_endpoint: `${service.url}/oauth/authorize`,
          token_endpoint: `${service.url}/oauth/token`,
          ...(isConfidential ? { client_secret_expires_at: 0 } : {}),
        })
        assert.equal(created_at, Math.floor(moment / 1000))
        assert.equal(client_id_issued_at, created_at)
        if (isConfidential) assert.match(client_secret ?? '', /^[\w-]{43}$/)
        else assert.equal(client_secret, undefined)
        const dump = JSON.stringify(await stored(service))
        assert.ok(dump.includes(client_id))
        if (client_secret !== undefined) assert.ok(!dump.includes(client_secret))
        assert.ok(client_secret === undefined || !service.log.join('\n').includes(client_secret))
      }
    })

    it('is rejected with an unsupported authentication method or an unprintable name (R-AS-01, ODR-01)', async () => {
      const service = await start()
      for (const method of ['client_secret_jwt', 'NONE', '', 1, ['none'], {}, true])
        await refused(service, metadata({ token_endpoint_auth_method: method }), 'invalid_client_metadata')
      for (const name of ['', ' ', '\t\n', '<>', '\u200b\u202e', '\u0000', '&"\'', 7, ['A'], {}])
        await refused(service, metadata({ client_name: name }), 'invalid_client_metadata')
      const nameless = { grant_types: ['client_credentials'] }
      await refused(service, JSON.stringify(nameless), 'invalid_client_metadata')
    })

    // The connector of Claude sends no name.
    it('is shown by the host of its first redirect URI when it has no name (ODR-01)', async () => {
      const service = await start()
      for (const [uri, name] of [
        ['https://claude.ai/api/mcp/auth_callback', 'claude.ai'],
        ['http://localhost:3118/callback', 'localhost:3118'],
        ['com.example.app:/back', 'com.example.app:'],
      ] as const) {
        for (const client_name of [undefined, null]) {
          const answer = await send(service, JSON.stringify({ client_name, redirect_uris: [uri, redirectUri] }))
          assert.deepEqual([answer.status, ((await answer.json()) as Registered)['client_name']], [201, name], uri)
        }
      }
    })

    it('may send private_key_jwt with public keys only (ODR-01)', async () => {
      const service = await start()
      const key = { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), kid: '1' }
      const asked = (members: object): string => metadata({ token_endpoint_auth_method: 'private_key_jwt', ...members })
      for (const members of [
        {},
        { jwks: {} },
        { jwks: { keys: [] } },
        { jwks: { keys: [{ ...key, d: 'private' }] } },
        { jwks: { keys: [{ kty: 'oct', k: 'shared' }] } },
        { jwks: { keys: Array.from({ length: 21 }, () => key) } },
        { jwks: 'https://program.example/keys' },
        { jwks_uri: 'http://program.example/keys' },
        { jwks_uri: 'https://user@program.example/keys' },
      ])
        await refused(service, asked(members), 'invalid_client_metadata')
      for (const members of [{ jwks: { keys: [key] } }, { jwks_uri: 'https://program.example/keys' }]) {
        const answer = await send(service, asked(members))
        const { client_secret, ...client } = (await answer.json()) as Registered
        assert.deepEqual([answer.status, client_secret], [201, undefined])
        assert.deepEqual({ ...client, ...members }, client)
      }
    })

    it('is rejected with an invalid redirect URI (ODR-03, OAZ-04)', async () => {
      const service = await start()
      const bad = [
        '/back',
        'https://program.example/back#x',
        'https://*.example/back',
        'http://program.example/back',
        'http://127.1/cb',
        'http://0x7f.1/cb',
        'javascript:alert(1)',
        'JavaScript:alert(1)',
        'java\tscript:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        'file:///etc/passwd',
        'https://good.example@evil.example/cb',
        'https://program.example/\nback',
        '',
        7,
        null,
        [redirectUri],
      ]
      for (const uri of bad) {
        await refused(service, metadata({ redirect_uris: [uri] }), 'invalid_redirect_uri')
        // Clients register a list for all their platforms. The response lists what they can use.
        const answer = await send(service, metadata({ redirect_uris: [redirectUri, uri] }))
        assert.deepEqual([answer.status, ((await answer.json()) as Registered)['redirect_uris']], [201, [redirectUri]])
      }
      for (const uris of [null, [], redirectUri, {}, 7, { 0: redirectUri, length: 1 }])
        await refused(service, metadata({ redirect_uris: uris }), 'invalid_redirect_uri')
      await refused(service, JSON.stringify({ client_name: 'A program' }), 'invalid_redirect_uri')
    })

    it('needs no redirect URI for client_credentials alone', async () => {
      const service = await start()
      const answer = await send(service, JSON.stringify({ client_name: 'A', grant_types: ['client_credentials'] }))
      assert.equal(answer.status, 201)
      assert.deepEqual(((await answer.json()) as Registered)['redirect_uris'], [])
      for (const grants of [[], ['password'], ['implicit'], 'authorization_code', [1], {}])
        await refused(service, metadata({ grant_types: grants }), 'invalid_client_metadata')
    })

    it('may supply only http and https URLs as metadata, and the service fetches none of them (ODR-04)', async () => {
      const asked: string[] = []
      const service = await start({
        peerClient: {
          call: async ({ url }) => {
            asked.push(url)
            return { kind: 'unreached', reason: 'connection refused' }
          },
          close: async () => {},
        },
      })
      const members = ['logo_uri', 'client_uri', 'policy_uri', 'tos_uri', 'jwks_uri']
      for (const member of members) {
        for (const uri of ['javascript:alert(1)', 'data:image/png;base64,', 'ftp://x.example', 'file:///x', 'x', 7, {}])
          await refused(service, metadata({ [member]: uri }), 'invalid_client_metadata')
        assert.equal((await send(service, metadata({ [member]: '' }))).status, 201, member)
      }
      const good = Object.fromEntries(members.map((member) => [member, `https://program.example/${member}`]))
      assert.equal((await send(service, metadata(good))).status, 201)
      assert.deepEqual(asked, [])
    })

    it('cannot set members that the service decides (ODR-05)', async () => {
      const service = await start({ clientTrustTypes: ['mcp_client', 'viewer'] })
      const wanted = {
        client_id: 'mcp_ffffffffffffffffffffffffffffffff',
        client_secret: 'chosen',
        client_secret_expires_at: 7,
        client_id_issued_at: 7,
        created_at: 7,
        actor_id: 'somebody',
        owner_id: 'somebody',
        ownerId: 'somebody',
        peer_id: 'somebody',
        skip_consent: true,
        approved: true,
        trusted: true,
        scope: 'admin',
        expires_at: null,
        last_used_at: 1,
        __proto__: { authMethod: 'none' },
        constructor: { name: 'x' },
      }
      const answer = await send(service, metadata(wanted))
      assert.equal(answer.status, 201)
      const client = (await answer.json()) as Registered
      assert.notEqual(client.client_id, wanted.client_id)
      assert.notEqual(client.client_secret, 'chosen')
      assert.equal(client['actor_id'], '_actingweb_oauth2')
      const [row, ...others] = await clientsStored(service)
      assert.equal(others.length, 0)
      assert.deepEqual(
        [row?.['client_id'], row?.['actor_id'], row?.['trust_type'], row?.['metadata'], row?.['last_used_at']],
        [client.client_id, '_actingweb_oauth2', 'mcp_client', '{}', null],
      )
      assert.equal(
        ((await (await register(service, { trust_type: 'viewer' })).json()) as Registered)['trust_type'],
        'viewer',
      )
      for (const type of ['admin', 'friend', 'associate', 'creator', 'owner', '', 'VIEWER', 7, ['viewer']])
        await refused(service, metadata({ trust_type: type }), 'invalid_client_metadata')
    })

    it('is rejected when its body is not a valid registration, without a server error (ODR-06)', async () => {
      const service = await start()
      for (const body of ['null', '[]', '7', '"x"', 'true', `[${metadata({})}]`])
        await refused(service, body, 'invalid_client_metadata')
      for (const body of ['', '{', '{"client_name":', 'client_name=x', '\u0000'])
        await refused(service, body, 'invalid_request')
      await refused(service, `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'invalid_request')
      const nested = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
      await refused(service, `{"client_name":"A","x":${nested}}`, 'invalid_request')
      const thousand = Array.from({ length: 1000 }, (_, index) => `https://program.example/${index}`)
      await refused(service, metadata({ redirect_uris: thousand }), 'invalid_redirect_uri')
      const long = Array.from({ length: 20 }, (_, index) => `https://program.example/${'x'.repeat(1000)}${index}`)
      await refused(service, metadata({ redirect_uris: long }), 'invalid_client_metadata')
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
        await refused(service, metadata({}), 'invalid_request', 400, { 'content-type': type })
    })

    it('is rejected when its body exceeds the limit (ODR-06)', async () => {
      const service = await start({ maxBodyBytes: 100_000 })
      const answer = await send(service, metadata({ client_name: 'A', x: 'x'.repeat(1_000_000) }))
      assert.equal(answer.status, 413)
      assert.deepEqual(await clientsStored(service), [])
    })

    it('is rejected with 413 above 64 KiB, whatever the general limit is, and accepted with exactly 64 KiB (ODR-06)', async () => {
      const service = await start({ maxBodyBytes: 1_000_000 })
      const sized = (bytes: number): string => {
        const empty = metadata({ x: '' })
        return metadata({ x: 'x'.repeat(bytes - empty.length) })
      }
      for (const bytes of [65_537, 500_000]) await refused(service, sized(bytes), 'invalid_request', 413)
      const streamed: RequestInit & { duplex: 'half' } = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([sized(65_537)]).stream(),
        duplex: 'half',
      }
      assert.equal((await service.request('/oauth/register', streamed)).status, 413)
      // The limit counts bytes, not characters.
      await refused(service, metadata({ x: 'é'.repeat(33_000) }), 'invalid_request', 413)
      assert.deepEqual(await clientsStored(service), [])
      assert.equal((await send(service, sized(65_536))).status, 201)
    })

    it('is rejected with 413 above a smaller general limit (ODR-06)', async () => {
      const service = await start({ maxBodyBytes: 1024 })
      assert.equal((await send(service, metadata({ x: 'x'.repeat(1024) }))).status, 413)
      assert.equal((await send(service, metadata({}))).status, 201)
    })

    it('has a name without markup and invisible characters on every page (ODR-07)', async () => {
      const service = await start({ localSignIn: false })
      assert.equal((await register(service, { client_name: '\ud800 half of a pair' })).status, 400)
      for (const [given, kept] of [
        ['<script>alert(1)</script>', 'script alert(1) /script'],
        ['Cla\u202eude', 'Cla ude'],
        ['Cl\u200baude', 'Cl aude'],
        ['A\u0000B', 'A B'],
        ['  A\n\t B  ', 'A B'],
        ['Ｆｕｌｌ', 'Full'],
        ["\"><img src=x onerror='x'>", 'img src=x onerror= x'],
        ['x'.repeat(60_000), 'x'.repeat(120)],
        ['😀'.repeat(100), '😀'.repeat(60)],
      ] as const) {
        const answer = await register(service, { client_name: given })
        assert.equal(answer.status, 201)
        const client = (await answer.json()) as Registered
        assert.equal(client['client_name'], kept)
        const page = await new TestBrowser(service).get(authorizePath(client, newPkce()))
        assert.equal(page.status, 200)
        const text = await page.text()
        assert.ok(text.includes(`${kept} wants to connect to your test account`))
        assert.doesNotMatch(text, /<script>alert|<img src=x|\p{Cf}/u)
      }
    })

    it('is a separate client with its own relationship each time, even with equal metadata (ODR-09)', async () => {
      const service = await start()
      const members = { grant_types: ['client_credentials'], software_id: 'one' }
      const one = (await (await register(service, members)).json()) as Registered
      const two = (await (await register(service, { ...members, software_id: 'two' })).json()) as Registered
      assert.notEqual(one.client_id, two.client_id)
      assert.notEqual(one.client_secret, two.client_secret)
      const rows = await clientsStored(service)
      assert.deepEqual(
        new Map(rows.map(({ client_id, metadata: said }) => [client_id, said])),
        new Map([
          [one.client_id, '{"software_id":"one"}'],
          [two.client_id, '{"software_id":"two"}'],
        ]),
      )
      const trusts = ((await stored(service))['trust'] ?? []).map((row) => JSON.parse(row) as Record<string, unknown>)
      assert.deepEqual(
        new Map(trusts.map(({ peer_id, client_id }) => [peer_id, client_id])),
        new Map([one, two].map(({ client_id: id }) => [`oauth2_client:${id}:${id}`, id])),
      )
      const crossed = await requestTokens(service, {
        grant_type: 'client_credentials',
        client_id: one.client_id,
        client_secret: two.client_secret ?? '',
      })
      assert.equal(crossed.status, 401)
    })

    it('is known and stored until the end of its week (ODR-08)', async () => {
      let now = 1_900_000_000_000
      const service = await start({ now: () => now })
      const client = (await (await register(service)).json()) as Registered
      const statusOf = async (): Promise<number> =>
        (await new TestBrowser(service).get(authorizePath(client, newPkce()))).status
      const isKept = async (): Promise<boolean> => {
        await register(service)
        await deleteExpiredClients(service, now)
        return (await clientsStored(service)).some(({ client_id: id }) => id === client.client_id)
      }
      now = 1_900_604_800_000
      assert.deepEqual([await statusOf(), await isKept()], [200, true])
      now = 1_900_604_800_001
      assert.deepEqual([await statusOf(), await isKept()], [400, false])
    })

    it('is deleted with all its records after a week without authorization (ODR-08)', async () => {
      let later = 0
      const service = await start({ now: () => Date.now() + later })
      const day = 86_400_000
      const idle = (await (await register(service)).json()) as Registered
      const own = (await (await register(service, { grant_types: ['client_credentials'] })).json()) as Registered
      const used = (await (await register(service, { grant_types: ['client_credentials'] })).json()) as Registered
      const secret = { client_id: used.client_id, client_secret: used.client_secret ?? '' }
      later = 6 * day
      const token = await requestTokens(service, { grant_type: 'client_credentials', ...secret })
      assert.equal(token.status, 200)
      const statusOf = async (client: Registered): Promise<number> =>
        (await new TestBrowser(service).get(authorizePath(client, newPkce()))).status
      later = 7 * day - 60_000
      assert.equal(await statusOf(idle), 200)
      later = 7 * day + 60_000
      assert.equal(await statusOf(idle), 400)
      later = 8 * day
      // An expired client is rejected even before housekeeping deletes it.
      for (const client of [idle, own]) {
        const page = await new TestBrowser(service).get(authorizePath(client, newPkce()))
        assert.equal(page.status, 400)
      }
      const last = (await (await register(service)).json()) as Registered
      await deleteExpiredClients(service, Date.now() + later)
      const left = (await clientsStored(service)).map(({ client_id }) => client_id)
      assert.deepEqual(new Set(left), new Set([used.client_id, last.client_id]))
      const trusts = ((await stored(service))['trust'] ?? []).length
      assert.equal(trusts, 1)
      assert.equal((await requestTokens(service, { grant_type: 'client_credentials', ...secret })).status, 200)
      later = 8 * day + 31 * day
      await register(service)
      await deleteExpiredClients(service, Date.now() + later)
      assert.equal((await requestTokens(service, { grant_type: 'client_credentials', ...secret })).status, 401)
      assert.deepEqual((await stored(service))['trust'], [])
      if (onShards()) {
        // The purge deletes the tokens of a sharded database.
        const { parts } = await service.app.running()
        parts.purge.occasionally()
        await parts.purge.settled()
      }
      assert.deepEqual((await stored(service))['token'], [])
    })
  })
})

describe('a flood of registrations', () => {
  const start = sqliteService()

  it('is limited per sender and in total, and stores nothing beyond the limit (ODR-08)', async () => {
    const service = await start({
      rateLimits: {
        'register_client/source': { count: 3, seconds: 3600 },
        'register_client/total': { count: 5, seconds: 3600 },
      },
    })
    const from = (address: string): Promise<Response> =>
      service.app.fetch(
        new Request(`${service.url}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: metadata({}),
        }),
        { remoteAddress: address },
      )
    const statuses: number[] = []
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1'])
      statuses.push((await from(address)).status)
    assert.deepEqual(statuses, [201, 201, 201, 429])
    assert.equal((await from('192.0.2.2')).status, 201)
    assert.equal((await from('192.0.2.3')).status, 201)
    const over = await from('192.0.2.4')
    assert.equal(over.status, 429)
    assert.ok(Number(over.headers.get('retry-after')) > 0)
    assert.equal((await clientsStored(service)).length, 5)
  })
})
