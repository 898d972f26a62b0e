/** `/mcp`: the address of AI clients, for both eras of the protocol. */
import type { ClientAccess } from '../../authorization-server/client-access.ts'
import { ServiceError } from '../../errors.ts'
import type { McpAccess } from '../../mcp/call.ts'
import { type McpHeaders, notJson } from '../../mcp/endpoint.ts'
import type { Reply } from '../../mcp/reply.ts'
import { supportedRevisions } from '../../mcp/revisions.ts'
import { type Answer, json } from '../answer.ts'
import { readJson } from '../body.ts'
import type { Exchange, Route } from '../route.ts'
import { anyValue, errorResponses } from '../schemas.ts'

const message = { type: 'object', description: 'A JSON-RPC 2.0 message of the Model Context Protocol' }
const refusals = {
  401: { text: 'No valid access token of a client; the challenge says where to get one' },
  403: { text: 'Another site asks, or the token does not reach so far' },
  503: { text: 'The tokens cannot be read now; they are as good as before' },
}

export const mcpRoutes: readonly Route[] = [
  {
    id: 'mcpMessage',
    method: 'POST',
    path: '/mcp',
    access: 'service',
    // Cookies are not looked at here, so a forged post comes without credentials.
    takesForeignPosts: true,
    summary: 'A message of an AI client (Model Context Protocol), with an access token of the authorization server',
    request: { 'application/json': message },
    responses: {
      200: { text: 'The answer, or a stream of messages that ends with it', schema: message },
      202: { text: 'Taken; there is nothing to answer' },
      ...errorResponses(400, 404, 413, 415),
      ...refusals,
    },
    handler: post,
  },
  {
    id: 'mcpInfo',
    method: 'GET',
    path: '/mcp',
    access: 'service',
    summary: 'Name, versions and where to authorize',
    responses: { 200: { text: 'The information', schema: anyValue }, ...errorResponses(405) },
    handler: get,
  },
  {
    id: 'mcpInfoPage',
    method: 'GET',
    path: '/mcp/info',
    access: 'service',
    summary: 'Name, versions and endpoints, for programs that look before they connect',
    responses: { 200: { text: 'The information', schema: anyValue } },
    handler: ({ parts }) => json(200, information(parts)),
  },
]

async function post(exchange: Exchange): Promise<Answer> {
  const { request, parts } = exchange
  refuseForeignOrigin(exchange)
  const access = await accessOf(exchange)
  if (access === null) return challenge(parts)
  const text = await readJson(request, parts.config).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'invalid_json') return null
    throw error
  })
  return toAnswer(text === null ? notJson() : await parts.mcp.post(text, headersOf(exchange), access))
}

/** DNS rebinding: a page of another site, or one that pretends to be ours, never gets to the protocol. */
function refuseForeignOrigin({ request, parts }: Exchange): void {
  const origin = request.header('origin')
  if (origin === undefined || origin === new URL(parts.baseUrl).origin) return
  if (parts.config.mcpOrigins.includes(origin)) return
  throw new ServiceError('forbidden', 'Cannot take a message from a page of this origin')
}

async function accessOf({ request, parts }: Exchange): Promise<McpAccess | null> {
  const [, token] = /^bearer +([^ ]+) *$/i.exec(request.header('authorization') ?? '') ?? []
  if (token === undefined || request.hasRepeated('authorization')) return null
  const access = await parts.clientAccess(token)
  if (access === null || !isForUs(access, parts)) return null
  const { client_name: name, client_version: version } = access.facts ?? {}
  return {
    actor: access.actor,
    caller: access.caller,
    token: { scope: access.scope, audience: access.audience, expiresAt: access.expiresAt },
    remembered: name === undefined ? null : { name, ...(version === undefined ? {} : { version }) },
  }
}

/** RFC 8707: a token that was asked for with a resource is good there alone. */
function isForUs({ audience }: ClientAccess, { baseUrl }: Exchange['parts']): boolean {
  return audience === '' || audience === `${baseUrl}/mcp` || audience === baseUrl
}

/** Always `invalid_token`, token sent or not (actor-service, "Errors"), and where to get a good one (RFC 9728 section 5.1). */
function challenge({ baseUrl }: Exchange['parts']): Answer {
  const description = 'A valid access token of a client is required'
  const parameters = [
    'realm="mcp"',
    'error="invalid_token"',
    `error_description="${description}"`,
    `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`,
    `authorization_uri="${baseUrl}/oauth/authorize"`,
    'scope="mcp"',
  ]
  return json(
    401,
    { error: 'invalid_token', error_description: description },
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

function toAnswer(reply: Reply): Answer {
  switch (reply.kind) {
    case 'json':
      return json(reply.status, reply.body)
    case 'empty':
      return { status: 202, headers: {}, body: null }
    case 'stream':
      return {
        status: 200,
        headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
        body: null,
        stream: events(reply.messages),
      }
    default:
      return reply satisfies never
  }
}

/** One event of one line for each message; readers count on that. */
async function* events(messages: AsyncGenerator<object>): AsyncGenerator<string> {
  for await (const each of messages) yield `data: ${JSON.stringify(each)}\n\n`
}

/** A client that only listens belongs to revisions with a stream of their own; everybody else is told where things are. */
function get({ request, parts }: Exchange): Answer {
  const accept = request.header('accept') ?? ''
  if (accept.split(',').every((type) => type.trim().split(';')[0] === 'text/event-stream')) {
    throw new ServiceError('method_not_allowed', 'There is no stream to listen to here', {
      headers: { Allow: 'GET, HEAD, POST' },
    })
  }
  return json(200, information(parts))
}

function information({ baseUrl, identity }: Exchange['parts']): object {
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
