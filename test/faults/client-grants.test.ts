import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type ClientTokens,
  codeFor,
  newPkce,
  redemption,
  type RegisteredClient,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()

async function errorOf(answer: Response): Promise<readonly [number, string | undefined]> {
  return [answer.status, ((await answer.json()) as { error?: string }).error]
}

describe('a token grant', () => {
  const start = sqliteService()

  async function scene(): Promise<{ service: TestService; browser: TestBrowser; client: RegisteredClient }> {
    const service = await start({ ...signInAt(await provider()) })
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    return { service, browser, client: await registerClient(service, { token_endpoint_auth_method: 'none' }) }
  }

  it('for client_credentials accepts only a resource that the service serves (OTK-17)', async () => {
    const { service } = await scene()
    const client = await registerClient(service, { grant_types: ['client_credentials'] })
    const asked = (resource: string): Promise<Response> =>
      requestTokens(service, {
        grant_type: 'client_credentials',
        client_id: client.client_id,
        client_secret: client.client_secret ?? '',
        resource,
      })
    assert.equal((await asked(`${service.url}/mcp`)).status, 200)
    assert.deepEqual(await errorOf(await asked('https://other.example/mcp')), [400, 'invalid_target'])
  })

  it('for a code has a refresh token only for a client that registered that grant (OTK-13)', async () => {
    const { service, browser } = await scene()
    for (const [grant_types, has] of [
      [['authorization_code'], false],
      [['authorization_code', 'refresh_token'], true],
      [undefined, true],
    ] as const) {
      const client = await registerClient(service, { token_endpoint_auth_method: 'none', grant_types })
      const pkce = newPkce()
      const form = redemption(client, await codeFor(browser, client, pkce), pkce)
      const tokens = (await (await requestTokens(service, form)).json()) as object
      assert.equal('refresh_token' in tokens, has, String(grant_types))
    }
  })

  // Open WebUI, LibreChat and generic OAuth clients request the scopes of OpenID Connect, also with a refresh token.
  it('for scopes of OpenID Connect alone has the scopes that are offered, and says so (OTK-18)', async () => {
    const { service, browser, client } = await scene()
    for (const scope of ['openid', 'openid profile email offline_access', 'openid other']) {
      const pkce = newPkce()
      const named = { scope, resource: `${service.url}/mcp` }
      const form = redemption(client, await codeFor(browser, client, pkce, named), pkce)
      const tokens = (await (await requestTokens(service, form)).json()) as Record<string, string>
      assert.equal(tokens['scope'], 'mcp', scope)
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens['refresh_token'] ?? '', ...client, scope }
      const refreshed = (await (await requestTokens(service, refresh)).json()) as Record<string, string>
      assert.equal(refreshed['scope'], 'mcp', scope)
      for (const wider of ['actor', 'mcp actor', 'openid actor', 'admin']) {
        const again = { ...refresh, refresh_token: refreshed['refresh_token'] ?? '', scope: wider }
        assert.deepEqual(await errorOf(await requestTokens(service, again)), [400, 'invalid_scope'], wider)
      }
    }
  })

  it('for a refresh requires a refresh token (OTK-13)', async () => {
    const { service, client } = await scene()
    const form = { grant_type: 'refresh_token', client_id: client.client_id }
    assert.deepEqual(await errorOf(await requestTokens(service, form)), [400, 'invalid_request'])
  })

  for (const [when, atAuthorization] of [
    ['at the authorization', true],
    ['at the redemption of the code', false],
  ] as const) {
    it(`is bound to the resource named ${when}, and a refresh cannot name another (OTK-17)`, async () => {
      const { service, browser, client } = await scene()
      const pkce = newPkce()
      const named = { resource: `${service.url}/mcp` }
      const code = await codeFor(browser, client, pkce, atAuthorization ? named : {})
      const answer = await requestTokens(service, {
        ...redemption(client, code, pkce),
        ...(atAuthorization ? {} : named),
      })
      assert.equal(answer.status, 200)
      const tokens = (await answer.json()) as ClientTokens
      const refresh = (resource: string): Promise<Response> =>
        requestTokens(service, {
          grant_type: 'refresh_token',
          client_id: client.client_id,
          refresh_token: tokens.refresh_token,
          resource,
        })
      assert.deepEqual(await errorOf(await refresh(service.url)), [400, 'invalid_target'])
      assert.equal((await refresh(named.resource)).status, 200)
    })
  }

  it('approves the relationship again when the owner authorizes the client again (R-OC-20)', async () => {
    const { service, browser, client } = await scene()
    const pkce = newPkce()
    await codeFor(browser, client, pkce)
    const owner = await service.app.actors.findByCreator('ada@example.com')
    const path = `/${owner?.id}/trust/mcp_client/oauth2_client:ada_at_example_dot_com:${client.client_id}`
    const authorization = `Bearer ${browser.cookies.get('oauth_token') ?? ''}`
    const isApproved = async (): Promise<unknown> => {
      const answer = await service.request(path, { headers: { authorization } })
      return ((await answer.json()) as { approved: unknown }).approved
    }
    const headers = { authorization, 'content-type': 'application/json' }
    await service.request(path, { method: 'PUT', headers, body: '{"approved":false}' })
    assert.equal(await isApproved(), false)
    const again = await codeFor(browser, client, pkce)
    assert.equal(await isApproved(), true)
    assert.equal((await requestTokens(service, redemption(client, again, pkce))).status, 200)
  })
})
