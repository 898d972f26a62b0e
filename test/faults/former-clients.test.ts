/** Clients that were connected before the public address of the service changed, at its former name. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { App } from '../../src/troupe.ts'
import { authorizePath, consent, newPkce, redirectUri, registerClient } from '../support/oauth-client.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { sharedProvider, signInAt, TestBrowser } from '../support/sign-in.ts'

function notes(app: App): void {
  app.trustType({
    name: 'mcp_client',
    display_name: 'Assistant',
    description: 'Reads notes',
    permissions: {
      tools: { allowed: ['*'] },
      resources: { patterns: ['*'], operations: ['read'] },
      properties: { patterns: ['*'], operations: ['read'] },
    },
  })
  app.action('summary', { description: 'Sums up', mcp: true }, async () => 'all')
}

class Keeper implements OAuthClientProvider {
  readonly redirectUrl = redirectUri
  readonly clientMetadata = {
    client_name: 'An official client',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
  readonly open: (url: URL) => Promise<URL>
  back: URL | undefined
  saved: OAuthTokens | undefined
  #client: OAuthClientInformationFull | undefined
  #verifier = ''

  constructor(open: (url: URL) => Promise<URL>) {
    this.open = open
  }

  clientInformation(): OAuthClientInformationFull | undefined {
    return this.#client
  }

  saveClientInformation(client: OAuthClientInformationFull): void {
    this.#client = client
  }

  tokens(): OAuthTokens | undefined {
    return this.saved
  }

  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.back = await this.open(url)
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }
}

const oldHost = 'https://old.example.com'
const newHost = 'https://new.example.com'
const provider = sharedProvider()

forEachService((start) => {
  describe('a client of a former address of the service', () => {
    const changes: readonly (readonly [former: string, base: string])[] = [
      [oldHost, newHost],
      [oldHost, `${newHost}/deep/er`],
      [`${oldHost}/actors`, newHost],
      [`${newHost}/other`, `${newHost}/deep`],
      [newHost, `${newHost}/deep`],
    ]
    for (const [former, base] of changes)
      it(`keeps its access and refreshes it: ${former} besides ${base} (R-ADDR-08)`, async () => {
        let later = 0
        const common = { ...signInAt(await provider()), declare: notes, now: () => Date.now() + later }
        const first = await start({ ...common, baseUrl: former })
        let service: TestService = first
        const fetchHere = (input: string | URL, init?: RequestInit): Promise<Response> =>
          service.app.fetch(new Request(input, { ...init, redirect: 'manual' }))
        const browser = new TestBrowser(first)
        const identity = await provider()
        const keeper = new Keeper((url) => consent(browser, identity, url.href.slice(former.length)))
        const address = new URL(`${former}/mcp`)
        const transport = () => new StreamableHTTPClientTransport(address, { authProvider: keeper, fetch: fetchHere })
        const connect = async (): Promise<readonly string[]> => {
          const client = new Client({ name: 'official', version: '1' })
          await client.connect(transport())
          const { tools } = await client.listTools()
          await client.close()
          return tools.map(({ name }) => name)
        }
        await assert.rejects(connect())
        await transport().finishAuth(keeper.back?.searchParams.get('code') ?? '')
        assert.deepEqual(await connect(), ['summary'])
        await first.close()
        service = await start({ ...common, baseUrl: base, formerBaseUrls: [former], database: first.databaseUrl })
        assert.deepEqual(await connect(), ['summary'])
        const before = keeper.saved
        later = 3_700_000
        assert.deepEqual(await connect(), ['summary'])
        assert.notEqual(keeper.saved?.access_token, before?.access_token)
        // The token is valid for the same resource by its new name, and for no other one.
        const listed = (url: string): Promise<Response> =>
          fetchHere(url, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${keeper.saved?.access_token}`,
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
            },
            body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
          })
        assert.notEqual((await listed(`${base}/mcp`)).status, 401)
        const { parts } = await service.app.running()
        const actor = await parts.actors.findByCreator('ada@example.com')
        for (const at of [former, base]) {
          const refused = await fetchHere(`${at}/${actor?.id}/properties`, {
            headers: { authorization: `Bearer ${keeper.saved?.access_token}` },
          })
          assert.equal(refused.status, 401)
          assert.ok(refused.headers.get('www-authenticate')?.includes(`"${at}/.well-known/oauth-protected-resource/`))
        }
        for (const at of [former, base]) {
          const read = async (path: string): Promise<Record<string, unknown>> =>
            (await (await fetchHere(`${at}/.well-known/${path}`)).json()) as Record<string, unknown>
          const server = await read('oauth-authorization-server')
          assert.deepEqual([server['issuer'], server['token_endpoint']], [at, `${at}/oauth/token`])
          for (const [path, resource] of [
            ['oauth-protected-resource/mcp', `${at}/mcp`],
            [`oauth-protected-resource/${actor?.id}`, `${at}/${actor?.id}`],
          ] as const) {
            const about = await read(path)
            assert.deepEqual([about['resource'], about['authorization_servers']], [resource, [at]])
          }
        }
      })

    it('receives a new authorization from the issuer that it knows (R-ADDR-08)', async () => {
      const former = `${oldHost}/actors`
      const service = await start({ baseUrl: newHost, formerBaseUrls: [former] })
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const path = authorizePath(client, newPkce(), { response_type: 'token' })
      const open = (url: string): Promise<Response> =>
        service.app.fetch(new Request(url, { redirect: 'manual', headers: { accept: 'text/html' } }))
      const atBase = await open(`${former}${path}`)
      assert.equal(atBase.status, 307)
      const back = new URL((await open(atBase.headers.get('location') ?? '')).headers.get('location') ?? '')
      assert.deepEqual([back.origin + back.pathname, back.searchParams.get('iss')], [redirectUri, former])
    })
  })
})
