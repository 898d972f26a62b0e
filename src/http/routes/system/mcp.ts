/** `/mcp`: the address of AI clients, for both eras of the protocol. */
import type { Identity } from '../../../app/identity.ts'
import { readCredential } from '../../../auth/credentials.ts'
import type { ClientAccess } from '../../../authorization-server/client-access.ts'
import type { Config } from '../../../config/options.ts'
import type { Timers } from '../../../timers.ts'
import { ServiceError } from '../../../errors.ts'
import { paced } from '../../../live/with-heartbeat.ts'
import { clientKeyOf, type McpAccess } from '../../../mcp/call/call.ts'
import { type McpEndpoint, type McpRequester, notJson } from '../../../mcp/endpoint.ts'
import type { McpHeaders } from '../../../mcp/request.ts'
import type { Reply } from '../../../mcp/protocol/reply.ts'
import { supportedRevisions } from '../../../mcp/protocol/revisions.ts'
import { currentContext } from '../../../observe/context.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { type Answer, json, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson } from '../../edge/body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
/** How long a stream may be silent. */
const aliveMs = 20_000

const message = { type: 'object', description: 'A JSON-RPC 2.0 message of the Model Context Protocol' }
const refusals = {
  401: { text: 'No valid access token of a client; the challenge says where to get one' },
  403: { text: 'Another site asks, or the token does not reach so far' },
  503: { text: 'The tokens cannot be read now; they are as good as before' },
}

export interface McpRouteDeps extends BaseUrl {
  readonly identity: Identity
  readonly clientAccess: (token: string) => Promise<ClientAccess | null>
  readonly mcp: McpEndpoint
  readonly timers: Timers
  readonly config: BodyLimits & Pick<Config, 'mcpOrigins'>
}

export function mcpRoutes(deps: McpRouteDeps): readonly Route[] {
  return [
    {
      id: 'mcpMessage',
      method: 'POST',
      path: '/mcp',
      access: 'service',
      cors: 'mcp',
      // Cookies are not looked at here, so a forged post comes without credentials.
      takesForeignPosts: true,
      summary: 'A message of an AI client (Model Context Protocol), with an access token of the authorization server',
      request: { 'application/json': message },
      responses: {
        200: { text: 'The answer, or a stream of messages that ends with it', schema: message },
        202: { text: 'Taken; there is nothing to answer' },
        ...errorResponses(400, 404, 413, 415, 429),
        ...refusals,
      },
      handler: (exchange) => post(deps, exchange),
    },
    {
      id: 'mcpInfo',
      method: 'GET',
      path: '/mcp',
      access: 'service',
      cors: 'mcp',
      summary: 'Name, versions and where to authorize; for a session that asks for text/event-stream, what changes',
      responses: { 200: { text: 'The information', schema: anyValue }, ...errorResponses(404, 405), ...refusals },
      handler: (exchange) => get(deps, exchange),
    },
    {
      id: 'endMcpSession',
      method: 'DELETE',
      path: '/mcp',
      access: 'service',
      cors: 'mcp',
      takesForeignPosts: true,
      summary: 'Ends the session of an AI client (revisions with a handshake)',
      responses: { 204: { text: 'It ended' }, ...errorResponses(404), ...refusals },
      handler: (exchange) => end(deps, exchange),
    },
    {
      id: 'mcpInfoPage',
      method: 'GET',
      path: '/mcp/info',
      access: 'service',
      summary: 'Name, versions and endpoints, for programs that look before they connect',
      responses: { 200: { text: 'The information', schema: anyValue } },
      handler: () => json(200, information(deps)),
    },
  ]
}

async function post(deps: McpRouteDeps, exchange: Exchange): Promise<Answer> {
  const { request } = exchange
  refuseForeignPage(deps, exchange)
  const asking = await askingOf(deps, exchange)
  if ('status' in asking) return asking
  const text = await readJson(request, deps.config).catch((error: unknown) => {
    // Bytes that are no text included.
    if (error instanceof ServiceError && error.status === 400) return null
    throw error
  })
  if (text !== null) return toAnswer(deps, await deps.mcp.post(text, headersOf(exchange), asking))
  asking.count(1)
  return toAnswer(deps, notJson())
}

/**
 * DNS rebinding: a page of another site never gets to the protocol, and neither does one that points a name of its own at
 * this machine. Behind a proxy Host may be anything, so it is looked at where the service is at a loopback address alone.
 */
function refuseForeignPage(deps: McpRouteDeps, exchange: Exchange): void {
  refuseForeignOrigin(deps, exchange)
  const { request } = exchange
  const host = request.header('host')
  if (
    host !== undefined &&
    loopback.test(new URL(deps.baseUrl).hostname) &&
    !loopback.test(host.replace(/:\d+$/, ''))
  ) {
    throw new ServiceError('forbidden', 'Cannot take a message for another host')
  }
}

/** The transport of the protocol asks for 403 at every method. */
function refuseForeignOrigin(deps: McpRouteDeps, { request }: Exchange): void {
  const origin = request.header('origin')
  if (origin !== undefined && origin !== new URL(deps.baseUrl).origin && !deps.config.mcpOrigins.includes(origin)) {
    throw new ServiceError('forbidden', 'Cannot take a message from a page of this origin')
  }
}

/** What every message needs. A token that was granted for something else needs more. */
const neededScope = 'mcp'

/** Or the answer to somebody who may not ask. */
async function askingOf(deps: McpRouteDeps, { request, chargeClient }: Exchange): Promise<McpRequester | Answer> {
  // No cookie authenticates an AI client.
  const credential = readCredential(request.header('authorization'), undefined, request.hasRepeated('authorization'))
  if (credential.kind !== 'bearer') return unauthorized(deps)
  const { token } = credential
  const reauthorize = async (): Promise<McpAccess | null> => {
    const found = await deps.clientAccess(token)
    return found === null || !isForUs(deps, found) ? null : accessOf(found)
  }
  const access = await reauthorize()
  if (access === null) return unauthorized(deps)
  if (!access.token.scope.split(' ').includes(neededScope)) return insufficientScope(deps)
  const context = currentContext()
  if (context !== undefined) {
    context.actorId = access.actor.id
    context.peerId = access.caller.peerId
    context.caller = access.caller
  }
  const client = clientKeyOf(access)
  return {
    access,
    reauthorize,
    onGone: (then) => request.onGone(then),
    count: (messages) => chargeClient('mcp/client', client, messages),
  }
}

function accessOf({ actor, caller, scope, audience, expiresAt, facts }: ClientAccess): McpAccess {
  const { client_name: name, client_version: version } = facts
  const remembered = name === undefined ? null : { name, ...(version === undefined ? {} : { version }) }
  return { actor, caller, token: { scope, audience, expiresAt }, remembered }
}

/** RFC 8707: a token that was asked for with a resource is good there alone. */
function isForUs({ baseUrl }: McpRouteDeps, { audience }: ClientAccess): boolean {
  return audience === '' || audience === `${baseUrl}/mcp` || audience === baseUrl
}

/** Always `invalid_token`, token sent or not (actor-service, "Errors"), and where to get a good one (RFC 9728 section 5.1). */
function unauthorized(deps: McpRouteDeps): Answer {
  return challenge(deps, 401, 'invalid_token', 'A valid access token of a client is required')
}

/** The client may ask the owner for more (RFC 6750 section 3.1). */
function insufficientScope(deps: McpRouteDeps): Answer {
  return challenge(deps, 403, 'insufficient_scope', 'The access token was granted for something else')
}

function challenge({ baseUrl }: McpRouteDeps, status: 401 | 403, error: string, description: string): Answer {
  const parameters = [
    'realm="mcp"',
    `error="${error}"`,
    `error_description="${description}"`,
    `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`,
    `authorization_uri="${baseUrl}/oauth/authorize"`,
    `scope="${neededScope}"`,
  ]
  return json(
    status,
    { error, error_description: description },
    { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` },
  )
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

function toAnswer(deps: McpRouteDeps, reply: Reply): Answer {
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

/** One event of one line for each message, because readers count on that; and a comment in silence (proxies cut what is). */
async function* events(messages: AsyncGenerator<object>, timers: Timers): AsyncGenerator<string> {
  for await (const each of paced(messages, timers, aliveMs)) {
    yield each === 'tick' ? ':\n\n' : `data: ${JSON.stringify(each)}\n\n`
  }
}

/** A client that only listens has to have a session; everybody else is told where things are. */
async function get(deps: McpRouteDeps, exchange: Exchange): Promise<Answer> {
  const { request } = exchange
  refuseForeignOrigin(deps, exchange)
  if (!listensOnly(request.header('accept'))) return json(200, information(deps))
  refuseForeignPage(deps, exchange)
  const asking = await askingOf(deps, exchange)
  if ('status' in asking) return asking
  const reply = await deps.mcp.events(headersOf(exchange), asking)
  if (reply !== null) return toAnswer(deps, reply)
  throw new ServiceError('method_not_allowed', 'There is no stream to listen to without a session', {
    headers: { Allow: 'DELETE, GET, HEAD, POST' },
  })
}

function listensOnly(accept: string | undefined): boolean {
  return accept?.split(',').every((type) => type.trim().split(';')[0] === 'text/event-stream') === true
}

async function end(deps: McpRouteDeps, exchange: Exchange): Promise<Answer> {
  refuseForeignPage(deps, exchange)
  const asking = await askingOf(deps, exchange)
  if ('status' in asking) return asking
  if (await deps.mcp.endSession(headersOf(exchange), asking.access)) return noContent()
  throw new ServiceError('not_found', 'There is no such session')
}

function information({ baseUrl, identity }: McpRouteDeps): object {
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
