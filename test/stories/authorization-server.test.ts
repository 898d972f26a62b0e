import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authorizePath,
  codeFor,
  consent,
  consentIn,
  authorizeClientByConsent,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, sqliteService, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const declare: NonNullable<Parameters<Parameters<Parameters<typeof forEachService>[0]>[0]>[0]>['declare'] = (app) => {
  app.action('list_notes', { mcp: true }, async () => ({ notes: [] }))
}

const provider = sharedProvider()

describe('authorizing an AI client', () => {
  forEachService((start) => {
    it('leads from the consent page through the provider to tokens for /mcp (R-AS-02, R-AS-03)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const pkce = newPkce()
      const page = await browser.get(authorizePath(client, pkce))
      assert.equal(page.status, 200)
      const text = await page.text()
      assert.ok(text.includes('A program') && text.includes('program.example'))
      const back = await consent(
        browser,
        await provider(),
        authorizePath(client, pkce, { resource: `${service.url}/mcp` }),
      )
      assert.equal(`${back.origin}${back.pathname}`, redirectUri)
      assert.equal(back.searchParams.get('state'), 'state-1')
      assert.equal(back.searchParams.get('iss'), service.url)
      assert.match(back.searchParams.get('code') ?? '', /^ac_[\w-]{43}$/)
      const answer = await requestTokens(service, {
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: back.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
        code_verifier: pkce.verifier,
      })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      const tokens = (await answer.json()) as Record<string, unknown>
      assert.match(String(tokens['access_token']), /^aw_[\w-]{43}$/)
      assert.match(String(tokens['refresh_token']), /^rt_[\w-]{43}$/)
      assert.deepEqual(
        { ...tokens, access_token: '', refresh_token: '', actor_id: '' },
        {
          access_token: '',
          token_type: 'Bearer',
          expires_in: 3600,
          refresh_token: '',
          scope: 'mcp',
          actor_id: '',
          email: 'ada@example.com',
          trust_type: 'mcp_client',
        },
      )
      const listed = await service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${String(tokens['access_token'])}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      assert.equal(listed.status, 200)
      assert.ok((await listed.text()).includes('list_notes'))
    })

    it('creates one relationship for each owner and client, which the owner deletes together with the tokens (R-OC-20)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const one = await authorizeClientByConsent(service, await provider())
      const two = await authorizeClientByConsent(service, await provider(), { browser: one.browser })
      assert.equal(one.tokens.actor_id, two.tokens.actor_id)
      const actorId = one.tokens.actor_id
      const asOwner = { authorization: `Bearer ${one.browser.cookies.get('oauth_token') ?? ''}` }
      const listed = await service.request(`/${actorId}/trust`, { headers: asOwner })
      const trusts = (await listed.json()) as { peerid: string; relationship: string; type: string }[]
      assert.deepEqual(
        trusts.map(({ peerid }) => peerid).toSorted(),
        [
          `oauth2_client:ada_at_example_dot_com:${one.client.client_id}`,
          `oauth2_client:ada_at_example_dot_com:${two.client.client_id}`,
        ].toSorted(),
      )
      const [first] = trusts.filter(({ peerid }) => peerid.endsWith(one.client.client_id))
      const ended = await service.request(`/${actorId}/trust/mcp_client/${encodeURIComponent(first?.peerid ?? '')}`, {
        method: 'DELETE',
        headers: asOwner,
      })
      assert.equal(ended.status, 204)
      const status = async (token: string): Promise<number> =>
        (
          await service.request('/mcp', {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
          })
        ).status
      assert.equal(await status(one.tokens.access_token), 401)
      assert.equal(await status(two.tokens.access_token), 200)
      const refresh = await requestTokens(service, {
        grant_type: 'refresh_token',
        client_id: one.client.client_id,
        refresh_token: one.tokens.refresh_token,
      })
      assert.equal(refresh.status, 400)
      assert.equal(((await refresh.json()) as { error: string }).error, 'invalid_grant')
    })

    it('creates a relationship that the owner approved, and that the client approves when it connects with its name (R-OC-20, R-MCP-08)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const { client, tokens, browser } = await authorizeClientByConsent(service, await provider())
      const asOwner = { authorization: `Bearer ${browser.cookies.get('oauth_token') ?? ''}` }
      const expected = {
        peerid: `oauth2_client:ada_at_example_dot_com:${client.client_id}`,
        baseuri: '',
        type: 'mcp',
        relationship: 'mcp_client',
        desc: 'OAuth2 client: A program',
        approved: true,
        peer_approved: false,
        verified: true,
        established_via: 'oauth2_client',
        last_connected_via: 'oauth',
        peer_identifier: 'ada@example.com',
        client_name: 'A program',
        client_claimed_name: undefined,
        client_host: 'program.example',
        oauth_client_id: client.client_id,
        client_version: undefined,
      }
      const shown = async (): Promise<unknown> => {
        const answer = await service.request(`/${tokens.actor_id}/trust`, { headers: asOwner })
        const [trust] = (await answer.json()) as Record<string, unknown>[]
        return Object.fromEntries(Object.keys(expected).map((name) => [name, trust?.[name]]))
      }
      assert.deepEqual(await shown(), expected)
      const came = await service.request('/mcp', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens.access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-06-18',
            capabilities: {},
            clientInfo: { name: 'Assistant', version: '1.2' },
          },
        }),
      })
      assert.equal(came.status, 200)
      assert.deepEqual(await shown(), {
        ...expected,
        peer_approved: true,
        client_claimed_name: 'Assistant',
        client_version: '1.2',
      })
    })

    it('revokes the tokens of a code when the code is used again later (OTK-01)', async () => {
      let later = 0
      const service = await start({ ...signInAt(await provider()), declare, now: () => Date.now() + later })
      const { client, tokens, code, pkce } = await authorizeClientByConsent(service, await provider())
      later = 5_000
      const again = await requestTokens(service, {
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code,
        redirect_uri: redirectUri,
        code_verifier: pkce.verifier,
      })
      assert.equal(again.status, 400)
      assert.equal(((await again.json()) as { error: string }).error, 'invalid_grant')
      const used = await service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      })
      assert.equal(used.status, 401)
    })

    it('accepts a consent form only from the browser that received it (OAZ-11, OAZ-13)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      const client = await registerClient(service)
      const page = await browser.get(authorizePath(client, newPkce()))
      const value = consentIn(await page.text())
      const stranger = new TestBrowser(service)
      await stranger.get(authorizePath(client, newPkce()))
      const form = { provider: 'acme', trust_type: 'mcp_client' }
      assert.equal((await stranger.post('/oauth/authorize', { ...form, consent: value })).status, 403)
      assert.equal((await browser.post('/oauth/authorize', form)).status, 403)
      assert.equal((await browser.post('/oauth/authorize', { ...form, consent: 'x'.repeat(43) })).status, 403)
      assert.equal((await browser.post('/oauth/authorize', { ...form, consent: value })).status, 303)
      assert.equal((await stranger.post('/oauth/authorize', { ...form, consent: value })).status, 403)
    })

    it('is refused when the email address was only typed, even in a signed-in browser (R-OC-20, R-OC-12)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      const asked = await signIn(browser, await provider(), 'silent')
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      const entered = await browser.post('/oauth/email', { session, email: 'victim@example.com' })
      assert.equal(entered.status, 302)
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const page = await (await browser.get(authorizePath(client, newPkce()))).text()
      assert.ok(!page.includes('victim@example.com'))
      const answer = await browser.post('/oauth/authorize', { consent: consentIn(page), decision: 'allow' })
      assert.equal(answer.status, 403)
    })

    it('reports to the client the address that signed in, which the owner cannot rename (R-OC-20)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      const actorId = actorIn(await signIn(browser, await provider(), 'ada'))
      const rename = async (creator: string): Promise<number> => {
        const cookie = `oauth_token=${browser.cookies.get('oauth_token')}`
        const headers = { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
        const init = { method: 'PUT', headers, body: JSON.stringify({ creator }) }
        return (await service.request(`/${actorId}/trust/trustee`, init)).status
      }
      assert.equal(await rename('victim@example.com'), 409)
      assert.equal(await rename('ada@example.com'), 204)
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const pkce = newPkce()
      const tokens = await requestTokens(service, redemption(client, await codeFor(browser, client, pkce), pkce))
      assert.equal(((await tokens.json()) as { email: string }).email, 'ada@example.com')
    })

    it('reports that address also where the email property names the creator (R-OC-20)', async () => {
      const service = await start({ ...signInAt(await provider()), declare, forceEmailAsCreator: true })
      const browser = new TestBrowser(service)
      const actorId = actorIn(await signIn(browser, await provider(), 'ada'))
      await (await service.app.actors.get(actorId))?.set('email', 'victim@example.com')
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const pkce = newPkce()
      const tokens = await requestTokens(service, redemption(client, await codeFor(browser, client, pkce), pkce))
      assert.equal(((await tokens.json()) as { email: string }).email, 'ada@example.com')
    })

    it('redirects to the client with access_denied when the owner denies it', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      const client = await registerClient(service)
      const page = await browser.get(authorizePath(client, newPkce()))
      const denied = await browser.post('/oauth/authorize', { consent: consentIn(await page.text()), decision: 'deny' })
      assert.equal(denied.status, 303)
      const back = new URL(denied.headers.get('location') ?? '')
      assert.equal(back.searchParams.get('error'), 'access_denied')
      assert.equal(back.searchParams.get('state'), 'state-1')
      assert.equal(back.searchParams.get('iss'), service.url)
    })

    it('is refused on the page when the client was deleted before the owner agreed (R-AS-02)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const client = await registerClient(service)
      const page = await browser.get(authorizePath(client, newPkce()))
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('DELETE FROM oauth_client WHERE client_id = $1', client.client_id))
      const form = { consent: consentIn(await page.text()), decision: 'allow' }
      const answer = await browser.post('/oauth/authorize', form)
      assert.deepEqual([answer.status, answer.headers.get('location')], [400, null])
      assert.match(await answer.text(), /Cannot authorize the client: /)
      assert.deepEqual(await store.read((q) => q.all('SELECT peer_id FROM trust')), [])
    })

    it('creates no relationship when the client is deleted during the approval (R-AS-02, ORF-14)', async (t) => {
      const service = await start({ ...signInAt(await provider()), declare })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const client = await registerClient(service)
      const page = await browser.get(authorizePath(client, newPkce()))
      const { parts, store } = await service.app.running()
      const find = parts.clients.find.bind(parts.clients)
      t.mock.method(parts.clients, 'find', async (clientId: string) => {
        const found = await find(clientId)
        await store.write((tx) => tx.run('DELETE FROM oauth_client WHERE client_id = $1', clientId))
        return found
      })
      const form = { consent: consentIn(await page.text()), decision: 'allow' }
      const answer = await browser.post('/oauth/authorize', form)
      assert.deepEqual([answer.status, answer.headers.get('location')], [400, null])
      assert.match(await answer.text(), /Cannot authorize the client: /)
      assert.deepEqual(await store.read((q) => q.all('SELECT peer_id FROM trust')), [])
      assert.deepEqual(await store.read((q) => q.all(`SELECT hash FROM one_time WHERE purpose = 'code'`)), [])
    })

    it('revokes the tokens of a code also when the code is used again at the same moment (OTK-01, R-AS-04)', async () => {
      const moment = Date.now()
      const service = await start({ ...signInAt(await provider()), declare, now: () => moment })
      const { tokens, client, code, pkce } = await authorizeClientByConsent(service, await provider())
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
      const again = await requestTokens(service, redemption(client, code, pkce))
      assert.equal(again.status, 400)
      assert.equal(await mcpStatus(service, tokens.access_token), 401)
    })

    it('lets a client act for itself with its secret, in the body or in the header (R-AS-03)', async () => {
      const service = await start({ ...signInAt(await provider()), declare })
      const members = { grant_types: ['client_credentials'] }
      const client = await registerClient(service, members)
      const inBody = await requestTokens(service, {
        grant_type: 'client_credentials',
        client_id: client.client_id,
        client_secret: client.client_secret ?? '',
      })
      assert.equal(inBody.status, 200)
      const { access_token: token, refresh_token: none } = (await inBody.json()) as Record<string, string>
      assert.equal(none, undefined)
      const listed = await service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      assert.ok((await listed.text()).includes('list_notes'))
      const basic = await registerClient(service, { ...members, token_endpoint_auth_method: 'client_secret_basic' })
      const inHeader = await requestTokens(
        service,
        { grant_type: 'client_credentials' },
        {
          authorization: `Basic ${Buffer.from(`${basic.client_id}:${basic.client_secret ?? ''}`).toString('base64')}`,
        },
      )
      assert.equal(inHeader.status, 200)
    })
  })
})

describe('the metadata for OAuth clients', () => {
  const start = sqliteService()
  const published = async (service: TestService, path: string): Promise<unknown> => {
    const answer = await service.request(path)
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [200, '*'], path)
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=300')
    const head = await service.request(path, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    const preflight = await service.request(path, { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-methods')], [200, 'GET, OPTIONS'])
    return answer.json()
  }

  it('describes the authorization server, and only what it offers (R-AS-05, MCP-17)', async () => {
    const service = await start()
    const methods = ['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt']
    const algorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-authorization-server/mcp']) {
      assert.deepEqual(await published(service, path), {
        issuer: 'http://troupe.test',
        authorization_endpoint: 'http://troupe.test/oauth/authorize',
        token_endpoint: 'http://troupe.test/oauth/token',
        registration_endpoint: 'http://troupe.test/oauth/register',
        revocation_endpoint: 'http://troupe.test/oauth/token/revoke',
        scopes_supported: ['mcp', 'actor'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: [
          'authorization_code',
          'refresh_token',
          'client_credentials',
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        device_authorization_endpoint: 'http://troupe.test/oauth/device_authorization',
        token_endpoint_auth_methods_supported: methods,
        token_endpoint_auth_signing_alg_values_supported: algorithms,
        revocation_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_signing_alg_values_supported: algorithms,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        service_documentation: 'http://troupe.test/mcp/info',
        mcp_resource: 'http://troupe.test/mcp',
        mcp_versions_supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      })
    }
  })

  it('describes the resource of AI clients and its authorization server (MCP-17)', async () => {
    const service = await start({ name: 'notes' })
    for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
      assert.deepEqual(await published(service, path), {
        resource: 'http://troupe.test/mcp',
        authorization_servers: ['http://troupe.test'],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'notes',
        resource_documentation: 'http://troupe.test/mcp/info',
        resource_policy_uri: 'http://troupe.test',
        mcp_version: '2025-11-25',
        supported_protocol_versions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        capabilities: { tools: true, prompts: true, resources: true, roots: false },
      })
    }
  })

  it('describes the addresses of an actor, whether or not it exists (MCP-17)', async () => {
    const service = await start({ name: 'notes' })
    const actor = await service.createActor()
    for (const id of [actor.id, 'missing']) {
      assert.deepEqual(await published(service, `/.well-known/oauth-protected-resource/${id}`), {
        resource: `http://troupe.test/${id}`,
        authorization_servers: ['http://troupe.test'],
        scopes_supported: ['actor'],
        bearer_methods_supported: ['header'],
        resource_name: 'notes',
        resource_policy_uri: 'http://troupe.test',
      })
    }
    for (const id of ['oauth', '_actingweb_oauth2', 'a.b', 'a%20b']) {
      const answer = await service.request(`/.well-known/oauth-protected-resource/${id}`)
      assert.equal(answer.status, 404, id)
    }
  })

  it('names the configured address whatever the headers claim, as registrations and redirects do (MCP-18)', async () => {
    const service = await start({ ...signInAt(await provider()), baseUrl: 'https://troupe.example/svc' })
    const forged = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example',
    }
    const send = (path: string, init: RequestInit = {}): Promise<Response> =>
      service.app.fetch(
        new Request(`https://evil.example${path}`, {
          redirect: 'manual',
          ...init,
          headers: { ...forged, ...(init.headers as Record<string, string>) },
        }),
      )
    const registered = await send('/svc/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'A', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    })
    const client = (await registered.json()) as Record<string, string>
    assert.deepEqual(
      [client['issuer'], client['authorization_endpoint'], client['token_endpoint']],
      [
        'https://troupe.example/svc',
        'https://troupe.example/svc/oauth/authorize',
        'https://troupe.example/svc/oauth/token',
      ],
    )
    const path = authorizePath({ client_id: client['client_id'] ?? '' }, newPkce(), { response_type: 'token' })
    const refused = await send(`/svc${path}`, { headers: { accept: 'text/html' } })
    assert.equal(new URL(refused.headers.get('location') ?? '').searchParams.get('iss'), 'https://troupe.example/svc')
    const begun = await send('/svc/oauth/login/acme', { headers: { accept: 'text/html' } })
    assert.equal(
      new URL(begun.headers.get('location') ?? '').searchParams.get('redirect_uri'),
      'https://troupe.example/svc/oauth/callback',
    )
    for (const document of [
      '/svc/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/svc',
    ]) {
      const text = await (await send(document)).text()
      assert.ok(text.includes('"issuer":"https://troupe.example/svc"') && !text.includes('evil.example'))
    }
  })

  it('is linked from the challenge that requests scope mcp when a token has another scope', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    for (const scope of ['', 'profile', 'mcp2 xmcp']) {
      const client = await authorizeClient(service, actor, { scope })
      for (const method of ['tools/list', 'initialize', 'ping']) {
        const answer = await client.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }))
        assert.equal(answer.status, 403)
        assert.equal(
          answer.headers.get('www-authenticate'),
          'Bearer realm="mcp", error="insufficient_scope", ' +
            'error_description="The access token was granted for something else", ' +
            'resource_metadata="http://troupe.test/.well-known/oauth-protected-resource/mcp", ' +
            'authorization_uri="http://troupe.test/oauth/authorize", scope="mcp"',
        )
        assert.equal(((await answer.json()) as { error: string }).error, 'insufficient_scope')
      }
    }
    const client = await authorizeClient(service, actor, { scope: 'profile mcp' })
    assert.equal((await client.legacy('tools/list')).status, 200)
  })

  it('is not served when AI clients are disabled (R-AS-05)', async () => {
    const service = await start({ mcp: false })
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/mcp',
      '/oauth/register',
      '/oauth/authorize',
      '/oauth/token',
      '/mcp',
    ]) {
      assert.equal((await service.request(path)).status, 404, path)
    }
  })
})
