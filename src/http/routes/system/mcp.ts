/** `/mcp`: the endpoint of AI clients, for revisions of the protocol with and without a handshake. */
import type { Identity } from '../../../app/identity.ts'
import type { Timers } from '../../../timers.ts'
import { ServiceError } from '../../../errors.ts'
import type { JsonText } from '../../../json/json.ts'
import { withHeartbeat } from '../../../live/with-heartbeat.ts'
import { clientKeyOf, type McpAccess } from '../../../mcp/call/call.ts'
import { type McpEndpoint, type McpRequester, unreadable } from '../../../mcp/endpoint.ts'
import type { McpHeaders } from '../../../mcp/request.ts'
import type { Reply } from '../../../mcp/protocol/reply.ts'
import { transportError } from '../../../mcp/protocol/service-error.ts'
import { supportedRevisions } from '../../../mcp/protocol/revisions.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'
import { readJson } from '../../edge/body.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { RequestBody } from '../../dispatch/request-body.ts'
import type { ClientExchange, Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'

/** Maximum silence of a stream before a heartbeat, in milliseconds. */
const aliveMs = 20_000

const message = { type: 'object', description: 'A JSON-RPC 2.0 message of the Model Context Protocol' }
const refusals = {
  401: { text: 'No valid access token of a client; the challenge names where to get one' },
  403: { text: 'Another site sent the request, or the token lacks the scope' },
  503: { text: 'The tokens cannot be read now; they remain valid' },
}

/** The message, or why the body has none: the protocol defines its own error. */
const messageBody: RequestBody<JsonText | Unreadable> = {
  content: { 'application/json': message },
  read: ({ request, bodyLimits }) =>
    readJson(request, bodyLimits).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.status !== 400) throw error
      return { why: error.code === 'invalid_value' ? error.message : 'the body is not JSON' }
    }),
}

interface Unreadable {
  readonly why: string
}

/** Users configure a client with a URL and may keep the parameters of the URL that they found. */
const unknownQuery = 'ignored'

export interface McpRouteDeps extends BaseUrl {
  readonly identity: Identity
  readonly mcp: McpEndpoint
  readonly timers: Timers
}

export function mcpRoutes(deps: McpRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'mcpMessage',
      unknownQuery,
      method: 'POST',
      path: '/mcp',
      access: 'client',
      errors: transportError,
      cors: 'mcp',
      summary: 'A message of an AI client (Model Context Protocol), with an access token of the authorization server',
      request: messageBody,
      responses: {
        200: { text: 'The response, or a stream of messages that ends with the response', schema: message },
        202: { text: 'Accepted; the message needs no response' },
        ...errorResponses(400, 404, 413, 415, 429),
        ...refusals,
      },
      handler: (exchange) => post(deps, exchange),
    }),
    defineRoute({
      id: 'mcpInfo',
      unknownQuery,
      method: 'GET',
      path: '/mcp',
      access: 'client',
      withoutToken: ({ request }) =>
        listensOnly(request.header('accept')) ? null : json(200, information(deps, request)),
      cors: 'mcp',
      summary:
        'Returns name, versions and the authorization server; streams changes to a session that accepts text/event-stream',
      responses: { 200: { text: 'The information', schema: anyValue }, ...errorResponses(404, 405), ...refusals },
      handler: (exchange) => listen(deps, exchange),
    }),
    defineRoute({
      id: 'endMcpSession',
      unknownQuery,
      method: 'DELETE',
      path: '/mcp',
      access: 'client',
      cors: 'mcp',
      summary: 'Ends the session of an AI client (revisions with a handshake)',
      responses: { 204: { text: 'Ended' }, ...errorResponses(404), ...refusals },
      handler: (exchange) => end(deps, exchange),
    }),
    defineRoute({
      id: 'mcpInfoPage',
      unknownQuery,
      method: 'GET',
      path: '/mcp/info',
      access: 'service',
      summary: 'Returns name, versions and endpoints, for programs that check before they connect',
      responses: { 200: { text: 'The information', schema: anyValue } },
      handler: ({ request }) => json(200, information(deps, request)),
    }),
  ]
}

async function post(
  deps: McpRouteDeps,
  exchange: ClientExchange & Bodied<JsonText | Unreadable>,
): Promise<HttpResponse> {
  const requester = requesterOf(exchange)
  const text = await exchange.body()
  if (typeof text === 'string') return toAnswer(deps, await deps.mcp.post(text, headersOf(exchange), requester))
  requester.count(1)
  return toAnswer(deps, unreadable(text.why))
}

function requesterOf({ request, client, reauthorize, chargeClient }: ClientExchange): McpRequester {
  const access = accessOf(client)
  const key = clientKeyOf(access)
  return {
    access,
    reauthorize: async () => {
      const current = await reauthorize()
      return current === null ? null : accessOf(current)
    },
    onGone: (then) => request.onGone(then),
    count: (messages) => chargeClient('mcp/client', key, messages),
  }
}

function accessOf({ actor, caller, scope, audience, expiresAt, facts }: ClientExchange['client']): McpAccess {
  const { client_name: consented, client_claimed_name: name = consented, client_version: version } = facts
  const remembered = name === undefined ? null : { name, version }
  return { actor, caller, token: { scope, audience, expiresAt }, remembered }
}

function headersOf({ request }: Exchange): McpHeaders {
  return {
    version: request.header('mcp-protocol-version'),
    method: request.header('mcp-method'),
    name: request.header('mcp-name'),
    repeated: request.hasRepeated('mcp-protocol-version'),
    session: request.header('mcp-session-id'),
    field: (name) => request.header(name),
  }
}

function toAnswer(deps: McpRouteDeps, reply: Reply): HttpResponse {
  switch (reply.kind) {
    case 'json':
      return json(reply.status, reply.body, reply.headers)
    case 'empty':
      return { status: 202, headers: {}, body: null }
    case 'stream':
      return {
        status: 200,
        headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
        body: null,
        stream: events(reply.messages, deps.timers),
        onClose: reply.close,
      }
    default:
      return reply satisfies never
  }
}

/** Yields one single-line event for each message, as clients expect, and a comment as heartbeat, because proxies close silent streams. */
async function* events(messages: AsyncGenerator<object>, timers: Timers): AsyncGenerator<string> {
  for await (const each of withHeartbeat(messages, timers, aliveMs)) {
    yield each === 'tick' ? ':\n\n' : `data: ${JSON.stringify(each)}\n\n`
  }
}

/** Opens the stream of a session. A client that only listens needs one. */
async function listen(deps: McpRouteDeps, exchange: ClientExchange): Promise<HttpResponse> {
  const reply = await deps.mcp.events(headersOf(exchange), requesterOf(exchange))
  if (reply !== null) return toAnswer(deps, reply)
  throw new ServiceError('method_not_allowed', 'Cannot open the stream: a session is required', {
    headers: { Allow: 'DELETE, GET, HEAD, POST' },
  })
}

function listensOnly(accept: string | undefined): boolean {
  return accept?.split(',').every((type) => type.trim().split(';')[0] === 'text/event-stream') === true
}

async function end(deps: McpRouteDeps, exchange: ClientExchange): Promise<HttpResponse> {
  if (await deps.mcp.endSession(headersOf(exchange), accessOf(exchange.client))) return noContent()
  throw new ServiceError('not_found', 'Cannot find the session: it does not exist')
}

/** A client that the service knows at another of its addresses gets the endpoints there, as in the documents of OAuth. */
function information(
  { baseUrl: ownUrl, identity }: McpRouteDeps,
  { otherBaseUrl: baseUrl = ownUrl }: Exchange['request'],
): object {
  return {
    version: supportedRevisions[1],
    server_name: identity.name,
    server_version: identity.version,
    supported_versions: supportedRevisions,
    capabilities: { tools: true, prompts: true, resources: true },
    transport: { type: 'http', endpoint: `${baseUrl}/mcp`, supported_versions: supportedRevisions },
    authentication: {
      required: true,
      type: 'oauth2',
      discovery_url: `${baseUrl}/.well-known/oauth-protected-resource`,
      authorization_endpoint: `${baseUrl}/oauth/authorize`,
      token_endpoint: `${baseUrl}/oauth/token`,
      registration_endpoint: `${baseUrl}/oauth/register`,
    },
  }
}
