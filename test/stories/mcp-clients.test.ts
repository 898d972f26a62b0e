/** The official clients of both generations, and a program that takes every step itself, in complete authorization flows. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import * as modernSdk from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import * as oauth from 'oauth4webapi'
import { z } from 'zod'
import type { App } from '../../src/troupe.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { consent, redirectUri } from '../support/oauth-client.ts'
import { Keeper } from '../support/sdk-keeper.ts'
import { forEachService, sqliteService } from '../support/service.ts'
import { sharedProvider, signInAt, TestBrowser } from '../support/sign-in.ts'

function notes(app: App): void {
  app.trustType({
    name: 'mcp_client',
    display_name: 'Assistant',
    description: 'Adds and reads notes',
    permissions: {
      tools: { allowed: ['*'] },
      prompts: { allowed: ['*'] },
      resources: { patterns: ['*'], operations: ['read'] },
      properties: { patterns: ['*'], operations: ['read'] },
    },
  })
  app.action(
    'add_note',
    {
      description: 'Adds a note',
      input: z.object({ text: z.string() }),
      mcp: { output: z.object({ index: z.number() }) },
    },
    async ({ actor, input }) => ({ index: await actor.list('notes').append(input.text) }),
  )
  app.action('ask_name', { description: 'Asks', mcp: true }, async ({ mcp }) => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const answer = await mcp?.elicit('name', { message: 'Your name?', schema })
    return answer?.action === 'accept' ? `Hello, ${String(answer.content['name'])}` : 'Hello'
  })
  app.method('summary', { description: 'Sums up', mcp: { prompt: true } }, async () => 'Sum up my notes')
}

describe('the service', () => {
  const provider = sharedProvider()

  forEachService((start) => {
    it('serves the official client of 2025 through discovery, registration, consent, calls, refresh and revocation (R-AS-05, R-MCP-07)', async () => {
      let later = 0
      const service = await start({
        ...signInAt(await provider()),
        declare: notes,
        listen: true,
        now: () => Date.now() + later,
      })
      const browser = new TestBrowser(service)
      const identity = await provider()
      const keeper = new Keeper(service, (path) => consent(browser, identity, path))
      const address = new URL(`${service.url}/mcp`)
      const connect = async (): Promise<Client> => {
        const client = new Client({ name: 'official', version: '1' }, { capabilities: { elicitation: {} } })
        await client.connect(new StreamableHTTPClientTransport(address, { authProvider: keeper }))
        return client
      }
      await assert.rejects(connect(), UnauthorizedError)
      assert.equal(keeper.back?.searchParams.get('state'), 'official-state')
      assert.equal(keeper.back.searchParams.get('iss'), service.url)
      await new StreamableHTTPClientTransport(address, { authProvider: keeper }).finishAuth(
        keeper.back.searchParams.get('code') ?? '',
      )
      const client = await connect()
      client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }))
      assert.equal(client.getServerVersion()?.name, 'test')
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['add_note', 'ask_name'],
      )
      const added = await client.callTool({ name: 'add_note', arguments: { text: 'first' } })
      assert.deepEqual(added.structuredContent, { index: 0 })
      const asked = await client.callTool({ name: 'ask_name' })
      assert.deepEqual(asked.content, [{ type: 'text', text: 'Hello, Ada' }])
      const uri = 'actingweb://properties/notes'
      const updated = new Promise<string>((resolve) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
      })
      await client.subscribeResource({ uri })
      assert.deepEqual((await client.readResource({ uri })).contents, [
        { uri, mimeType: 'application/json', text: '["first"]' },
      ])
      // The stream of the session may not be open yet, so the test repeats the change.
      const adding = setInterval(
        () => void client.callTool({ name: 'add_note', arguments: { text: 'more' } }).catch(() => {}),
        100,
      )
      assert.equal(await updated, uri)
      clearInterval(adding)
      assert.deepEqual((await client.getPrompt({ name: 'summary' })).messages[0]?.content, {
        type: 'text',
        text: 'Sum up my notes',
      })
      await client.close()
      const before = keeper.saved
      later = 3_700_000
      const refreshed = await connect()
      await refreshed.ping()
      assert.notEqual(keeper.saved?.access_token, before?.access_token)
      await refreshed.close()
      const owner = await browser.get('/oauth/session')
      const { parts, store } = await service.app.running()
      const actor = await parts.actors.findByCreator('ada@example.com')
      assert.equal(owner.status, 200)
      await store.write((tx) => parts.tokens.endAllOf(tx, actor?.id ?? ''))
      await assert.rejects(connect(), /The refresh token is unknown/)
    })

    it('serves the official client of 2026 in the modern protocol version through consent and calls (R-AS-05)', async () => {
      const service = await start({ ...signInAt(await provider()), declare: notes, listen: true })
      const browser = new TestBrowser(service)
      const identity = await provider()
      const keeper = new Keeper(service, (path) => consent(browser, identity, path))
      const address = new URL(`${service.url}/mcp`)
      const connect = async (): Promise<modernSdk.Client> => {
        const client = new modernSdk.Client(
          { name: 'official', version: '2' },
          { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } },
        )
        client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Bob' } }))
        await client.connect(new modernSdk.StreamableHTTPClientTransport(address, { authProvider: keeper }))
        return client
      }
      await assert.rejects(connect())
      const transport = new modernSdk.StreamableHTTPClientTransport(address, { authProvider: keeper })
      await transport.finishAuth(keeper.back?.searchParams ?? new URLSearchParams())
      const client = await connect()
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['add_note', 'ask_name'],
      )
      const added = await client.callTool({ name: 'add_note', arguments: { text: 'first' } })
      assert.deepEqual(added.structuredContent, { index: 0 })
      const asked = await client.callTool({ name: 'ask_name' })
      assert.deepEqual(asked.content, [{ type: 'text', text: 'Hello, Bob' }])
      await client.close()
    })
  })

  const start = sqliteService()

  it('serves a program that takes every step itself, with Basic, resource and revocation (R-AS-03, R-AS-04)', async () => {
    const service = await start({ ...signInAt(await provider()), declare: notes, listen: true })
    const insecure = { [oauth.allowInsecureRequests]: true }
    const resource = new URL(`${service.url}/mcp`)
    const found = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, insecure),
    )
    const issuer = new URL(found.authorization_servers?.[0] ?? '')
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
    )
    const registered = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        server,
        {
          client_name: 'Step by step',
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'client_secret_basic',
        },
        insecure,
      ),
    )
    const secret = oauth.ClientSecretBasic(registered['client_secret'] as string)
    const verifier = oauth.generateRandomCodeVerifier()
    const path = `/oauth/authorize?${new URLSearchParams({
      client_id: registered.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      state: 'abc',
      scope: 'mcp',
      resource: resource.href,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()}`
    const back = await consent(new TestBrowser(service), await provider(), path)
    const parameters = oauth.validateAuthResponse(server, registered, back, 'abc')
    const granted = await oauth.processAuthorizationCodeResponse(
      server,
      registered,
      await oauth.authorizationCodeGrantRequest(server, registered, secret, parameters, redirectUri, verifier, {
        ...insecure,
        additionalParameters: { resource: resource.href },
      }),
    )
    assert.equal(granted.scope, 'mcp')
    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      registered,
      await oauth.refreshTokenGrantRequest(server, registered, secret, granted.refresh_token ?? '', insecure),
    )
    const ping = async (token: string): Promise<number> =>
      (
        await service.request('/mcp', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        })
      ).status
    assert.equal(await ping(refreshed.access_token), 200)
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, registered, secret, refreshed.refresh_token ?? '', insecure),
    )
    assert.equal(await ping(refreshed.access_token), 401)
  })

  it('lists and calls tools for the command line of the inspector', async () => {
    const service = await start({ declare: notes, listen: true })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'mcp_client' })
    const inspect = async (...args: string[]): Promise<unknown> => {
      const program = join(import.meta.dirname, '../../node_modules/.bin/mcp-inspector')
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [
          program,
          '--cli',
          `${service.url}/mcp`,
          '--transport',
          'http',
          '--header',
          `Authorization: Bearer ${client.token}`,
          ...args,
        ],
        { timeout: 60_000 },
      )
      return JSON.parse(stdout)
    }
    const { tools } = (await inspect('--method', 'tools/list')) as { tools: { name: string }[] }
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['add_note', 'ask_name'],
    )
    const called = await inspect('--method', 'tools/call', '--tool-name', 'add_note', '--tool-arg', 'text=hello')
    assert.deepEqual((called as { structuredContent: object }).structuredContent, { index: 0 })
  })
})
