/** A service in development at each name of this machine, and strangers who claim such a name. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizePath, consent, newPkce, redemption, redirectUri } from '../support/oauth-client.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { sharedProvider, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()
const names = ['localhost', '127.0.0.1', '[::1]']

const hosts = [
  'evil.example',
  'localhost.evil.example',
  'evil-localhost',
  'localhost.',
  'localhost@evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.2',
  '127.1',
  '0x7f.1',
  '2130706433',
  '0.0.0.0',
  '[::]',
  '::1',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
]

function at(service: TestService, url: string, init: RequestInit = {}): Promise<Response> {
  return service.app.fetch(new Request(url, { redirect: 'manual', ...init }))
}

async function document(service: TestService, url: string, headers: Record<string, string> = {}) {
  const answer = await at(service, url, { headers })
  assert.equal(answer.status, 200, url)
  return (await answer.json()) as Record<string, unknown>
}

function ping(token: string | null, more: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...more,
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  }
}

function posted(form: Record<string, string>): RequestInit {
  return { method: 'POST', body: new URLSearchParams(form) }
}

function challengeOf(answer: Response): string {
  return /resource_metadata="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1] ?? ''
}

describe('a client that knows a service in development by another name of this machine', () => {
  const start = sqliteService()
  const bases = [
    ['http://', ':3000'],
    ['http://', ':8123/deep/er'],
    ['http://', ''],
  ] as const
  for (const [index, [scheme, rest]] of bases.entries()) {
    const own = names[index] ?? ''
    const base = `${scheme}${own}${rest}`
    it(`completes discovery, registration, consent, tokens and calls: ${base} (MCP-25)`, async () => {
      const service = await start({ ...signInAt(await provider()), baseUrl: base })
      const browser = new TestBrowser(service)
      for (const name of names) {
        const given = `${scheme}${name}${rest}`
        const challenge = challengeOf(await at(service, `${given}/mcp`, ping(null)))
        assert.equal(challenge, `${given}/.well-known/oauth-protected-resource/mcp`)
        const about = await document(service, challenge)
        assert.deepEqual([about['resource'], about['authorization_servers']], [`${given}/mcp`, [given]])
        const server = await document(service, `${given}/.well-known/oauth-authorization-server`)
        assert.deepEqual(
          [
            server['issuer'],
            server['authorization_endpoint'],
            server['token_endpoint'],
            server['registration_endpoint'],
          ],
          [given, `${given}/oauth/authorize`, `${given}/oauth/token`, `${given}/oauth/register`],
        )
        const registered = await at(service, `${given}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
        })
        const client = (await registered.json()) as { client_id: string; issuer: string }
        assert.equal(client.issuer, given)
        for (const path of ['/mcp/info', '/mcp']) {
          const { transport, authentication } = (await document(service, `${given}${path}`)) as Record<
            string,
            Record<string, unknown>
          >
          const { endpoint } = transport ?? {}
          const {
            discovery_url: discovery,
            authorization_endpoint: authorization,
            token_endpoint: token,
            registration_endpoint: registration,
          } = authentication ?? {}
          assert.deepEqual(
            [endpoint, discovery, authorization, token, registration],
            [
              `${given}/mcp`,
              `${given}/.well-known/oauth-protected-resource`,
              `${given}/oauth/authorize`,
              `${given}/oauth/token`,
              `${given}/oauth/register`,
            ],
          )
        }
        const pkce = newPkce()
        const path = authorizePath(client, pkce, { resource: `${given}/mcp` })
        const opened = name === own ? null : await at(service, `${given}${path}`)
        if (opened !== null) assert.equal(opened.status, 307)
        const there = opened?.headers.get('location') ?? `${base}${path}`
        assert.ok(there.startsWith(`${base}/oauth/authorize?`), there)
        const back = await consent(browser, await provider(), there)
        assert.equal(back.searchParams.get('iss'), given)
        const code = back.searchParams.get('code') ?? ''
        const [another = ''] = names.filter((each) => each !== name)
        const form = { ...redemption(client, code, pkce), resource: `${scheme}${another}${rest}/mcp` }
        const issued = await at(service, `${given}/oauth/token`, posted(form))
        assert.equal(issued.status, 200)
        const tokens = (await issued.json()) as { access_token: string; refresh_token: string }
        for (const each of names) {
          const called = await at(service, `${scheme}${each}${rest}/mcp`, ping(tokens.access_token))
          assert.equal(called.status, 200, each)
        }
        const refreshed = await at(
          service,
          `${given}/oauth/token`,
          posted({
            grant_type: 'refresh_token',
            client_id: client.client_id,
            refresh_token: tokens.refresh_token,
            resource: `${given}/mcp`,
          }),
        )
        assert.equal(refreshed.status, 200)
      }
    })
  }

  it('receives its errors from the issuer that it knows, and no issuer of a stranger (MCP-25)', async () => {
    const service = await start({ baseUrl: 'http://localhost:3000' })
    const registered = await service.request('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    })
    const client = (await registered.json()) as { client_id: string }
    const pkce = newPkce()
    for (const [issuer, named] of [
      ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
      ['http://[::1]:3000', 'http://[::1]:3000'],
      ['http://127.0.0.1:3001', 'http://localhost:3000'],
      ['http://127.0.0.1:3000/', 'http://localhost:3000'],
      ['https://evil.example', 'http://localhost:3000'],
      ['', 'http://localhost:3000'],
    ]) {
      const path = authorizePath(client, pkce, { response_type: 'token', issuer })
      const refused = await service.request(path)
      assert.equal(refused.status, 302)
      const back = new URL(refused.headers.get('location') ?? '')
      assert.deepEqual(
        [back.searchParams.get('error'), back.searchParams.get('iss')],
        ['unsupported_response_type', named],
      )
    }
    for (const resource of ['http://127.0.0.1:3001/mcp', 'https://127.0.0.1:3000/mcp', 'http://127.0.0.2:3000/mcp']) {
      const refused = await service.request(authorizePath(client, pkce, { resource }))
      const back = new URL(refused.headers.get('location') ?? '')
      assert.equal(back.searchParams.get('error'), 'invalid_target', resource)
    }
  })
})

describe('a Host that does not belong to the service', () => {
  const start = sqliteService()
  const strangers = [
    ...names.flatMap((name) =>
      ['', ':80', ':300', ':3001', ':03000', ':30000', ':3000:3000'].map((port) => name + port),
    ),
    ...hosts.map((host) => `${host}:3000`),
  ]
  const documents = ['oauth-authorization-server', 'oauth-protected-resource', 'oauth-protected-resource/mcp']

  /** Asserts that the documents, the challenge, the registration and the consent name the configured address. */
  async function isNotReflected(service: TestService, base: string, host: string): Promise<void> {
    const headers = { host, 'x-forwarded-host': '127.0.0.1:3000', forwarded: 'host="127.0.0.1:3000"' }
    const own = JSON.stringify(base).slice(1, -1)
    for (const name of documents) {
      const text = JSON.stringify(await document(service, `${base}/.well-known/${name}`, headers))
      assert.deepEqual([...new Set(text.match(/https?:\/\/[^/"]+/g))], [own], `${host} ${name}`)
    }
    const { transport } = (await document(service, `${base}/mcp/info`, headers)) as { transport?: { endpoint: string } }
    assert.equal(transport?.endpoint, `${base}/mcp`, host)
    const challenged = await at(service, `${base}/mcp`, ping(null, { host }))
    assert.ok([401, 403].includes(challenged.status), host)
    if (challenged.status === 401)
      assert.equal(challengeOf(challenged), `${base}/.well-known/oauth-protected-resource/mcp`)
    const opened = await at(service, `${base}/oauth/authorize?client_id=x`, { headers: { host } })
    assert.deepEqual([opened.status, opened.headers.get('location')], [400, null], host)
  }

  it('is never named in development: another port, another spelling, another host (MCP-25)', async () => {
    const service = await start({ baseUrl: 'http://localhost:3000' })
    for (const host of strangers) await isNotReflected(service, 'http://localhost:3000', host)
  })

  it('is every name but that of BASE_URL in production, and at a public address (MCP-25)', async () => {
    const settings = [
      { baseUrl: 'http://localhost:3000', mode: 'production', allowHttp: true },
      { baseUrl: 'https://troupe.example', mode: 'development' },
    ] as const
    for (const options of settings) {
      const service = await start(options)
      for (const name of names) await isNotReflected(service, options.baseUrl, `${name}:3000`)
    }
  })
})
