/** The whole connection of an AI client, with the requests that a certain product sends. */
import assert from 'node:assert/strict'
import { newPkce } from '../support/oauth-client.ts'
import type { TestService } from '../support/service.ts'
import type { TestBrowser } from '../support/sign-in.ts'
import { codeOf, endAccess } from './owner.ts'
import type { World } from './row.ts'

export interface ClientShape {
  /** The body of the registration. */
  readonly registration: Readonly<Record<string, unknown>> & { readonly redirect_uris: readonly string[] }
  /** The redirect URI of the authorization request. Default: the first registered one. */
  readonly redirect?: string
  /** More parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Whether the client names the resource, as revisions since 2025-06-18 demand. Default: true. */
  readonly namesResource?: boolean
  /** Where the client sends its secret. `both`: twice. `empty header`: a public client sends Basic without a secret. */
  readonly secretBy?: 'header' | 'body' | 'both' | 'empty header'
  /** More parameters of the token requests. */
  readonly tokenParameters?: Readonly<Record<string, string>>
  /** The protocol version. Default: 2025-11-25. */
  readonly protocol?: string
  /** The path below the service at which the client looks for the metadata of the authorization server. */
  readonly metadata?: string
  readonly accept?: string
}

type Json = Readonly<Record<string, unknown>>

/** Discovers, registers, asks for consent, calls a tool, refreshes, and is revoked. */
export async function connect({ service, browser }: Opened, shape: ClientShape): Promise<void> {
  const server = await discover(service, shape.metadata ?? '/.well-known/oauth-authorization-server')
  const registered = await service.request(pathOf(service, server['registration_endpoint']), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(shape.registration),
  })
  const client = (await registered.json()) as Json & { readonly client_id: string; readonly client_secret?: string }
  assert.equal(registered.status, 201, JSON.stringify(client))
  await use({ service, browser }, shape, server, client)
}

/** Does the same as `connect` for a client that is known already. */
export async function use(
  { service, browser }: Opened,
  shape: ClientShape,
  server: Json,
  client: { readonly client_id: string; readonly client_secret?: string },
): Promise<void> {
  const pkce = newPkce()
  const redirect = shape.redirect ?? shape.registration.redirect_uris[0] ?? ''
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirect,
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    state: 'a state',
    ...(shape.namesResource === false ? {} : { resource: `${service.url}/mcp` }),
    ...shape.parameters,
  })
  const sentBack = await codeOf(browser, `${pathOf(service, server['authorization_endpoint'])}?${query.toString()}`)
  assert.ok(sentBack.href.startsWith(redirect), sentBack.href)
  const back = sentBack.searchParams
  assert.equal(back.get('state'), 'a state')

  const tokenPath = pathOf(service, server['token_endpoint'])
  const token = async (form: Record<string, string>): Promise<Json> => {
    const secret = client.client_secret ?? ''
    const by = shape.secretBy ?? 'body'
    const inBody = secret !== '' && (by === 'body' || by === 'both')
    const headers: Record<string, string> =
      by === 'body' ? {} : { authorization: `Basic ${Buffer.from(`${client.client_id}:${secret}`).toString('base64')}` }
    const named = by === 'body' || by === 'both' ? { client_id: client.client_id } : {}
    const body = new URLSearchParams({
      ...form,
      ...named,
      ...(inBody ? { client_secret: secret } : {}),
      ...shape.tokenParameters,
    })
    const issued = await service.request(tokenPath, { method: 'POST', headers, body })
    const tokens = (await issued.json()) as Json
    assert.equal(issued.status, 200, JSON.stringify(tokens))
    return tokens
  }
  const code = back.get('code') ?? ''
  const first = await token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirect,
    code_verifier: pkce.verifier,
  })
  await callTools(service, String(first['access_token']), shape)
  const refresh = first['refresh_token']
  const last =
    typeof refresh === 'string' ? await token({ grant_type: 'refresh_token', refresh_token: refresh }) : first
  await callTools(service, String(last['access_token']), shape)
  assert.equal(await endAccess(browser), 1)
  const refused = await send(service, String(last['access_token']), { jsonrpc: '2.0', id: 9, method: 'tools/list' }, {})
  assert.equal(refused.status, 401)
  assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer .*resource_metadata="/)
}

export interface Opened {
  readonly service: TestService
  readonly browser: TestBrowser
}

/** Opens the browser of a new person at the service of the rows. */
export async function opened(world: World): Promise<Opened> {
  return { service: world.service, browser: await world.browser() }
}

/** Follows the way from a refused call to the metadata of the authorization server. */
export async function discover(
  service: TestService,
  metadata = '/.well-known/oauth-authorization-server',
): Promise<Json> {
  const refused = await send(service, null, initializing('2025-11-25'), {})
  assert.equal(refused.status, 401)
  const named = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  const resource = (await (await service.request(pathOf(service, named))).json()) as Json
  assert.equal(resource['resource'], `${service.url}/mcp`)
  assert.deepEqual(resource['authorization_servers'], [service.url])
  const answer = await service.request(metadata)
  assert.equal(answer.status, 200, metadata)
  return (await answer.json()) as Json
}

/** Initializes a session, lists the tools and calls one. */
export async function callTools(
  service: TestService,
  token: string,
  { protocol = '2025-11-25', accept }: Pick<ClientShape, 'protocol' | 'accept'> = {},
): Promise<void> {
  const begun = await send(service, token, initializing(protocol), accept === undefined ? {} : { accept })
  const { result } = await messageOf(begun)
  assert.equal((result as Json)['protocolVersion'], protocol)
  const session = begun.headers.get('mcp-session-id')
  const headers: Record<string, string> = {
    ...(accept === undefined ? {} : { accept }),
    ...(session === null ? {} : { 'mcp-session-id': session }),
    ...(protocol < '2025-06-18' ? {} : { 'mcp-protocol-version': protocol }),
  }
  const noted = await send(service, token, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  // Old clients name no version, and take an empty result as well (WIRE-MCP-02).
  assert.equal(noted.status, protocol < '2025-06-18' ? 200 : 202)
  const listed = await messageOf(await send(service, token, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers))
  const { tools } = listed.result as { tools: readonly { name: string }[] }
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['add_note'],
  )
  const call = {
    jsonrpc: '2.0',
    id: 3,
    method: 'tools/call',
    params: { name: 'add_note', arguments: { text: 'hello' } },
  }
  const called = await messageOf(await send(service, token, call, headers))
  assert.notEqual((called.result as Json)['isError'], true, JSON.stringify(called))
}

export function initializing(protocolVersion: string): object {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'a client', version: '1' } }
  return { jsonrpc: '2.0', id: 1, method: 'initialize', params }
}

export function send(
  service: TestService,
  token: string | null,
  message: object,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return service.request('/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify(message),
  })
}

/** Reads the message of an answer, which is JSON or a stream of events. */
export async function messageOf(answer: Response): Promise<{ readonly result?: unknown; readonly error?: unknown }> {
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const data = /^data: (\{.*)$/m.exec(text)?.[1]
  return JSON.parse(data ?? text) as { result?: unknown; error?: unknown }
}

function pathOf(service: TestService, address: unknown): string {
  const { href } = new URL(String(address))
  assert.ok(href.startsWith(service.url), href)
  return href.slice(service.url.length)
}
