/** AI clients that npm does not install, by the requests that their documents and public reports show. */
import assert from 'node:assert/strict'
import { authorizeClient } from '../support/mcp-client.ts'
import { callTools, type ClientShape, connect, initializing, opened, send } from './connection.ts'
import type { CompatRow, World } from './row.ts'

const group = 'AI clients by the requests that they send'
const flow = 'registration, consent, call, refresh, end of access'
const expected = 'calls a tool, refreshes, and is refused after the owner ended the access'
const none = {
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}

function connects(client: string, version: string, shape: ClientShape, source: string): CompatRow {
  return { group, client, version, flow, expected, source, run: async (world) => connect(await opened(world), shape) }
}

function answers(
  [client, version, what, outcome]: readonly [client: string, version: string, flow: string, expected: string],
  source: string,
  run: CompatRow['run'],
): CompatRow {
  return { group, client, version, flow: what, expected: outcome, source, run }
}

async function tokenOf({ service }: World): Promise<string> {
  return (await authorizeClient(service, await service.createActor(), { relationship: 'mcp_client' })).token
}

/** The client speaks this version of the protocol. */
function speaks(protocol: string, accept?: string): CompatRow['run'] {
  return async (world) =>
    callTools(world.service, await tokenOf(world), { protocol, ...(accept === undefined ? {} : { accept }) })
}

/** The client reads the document at this path. */
function reads(path: string, member: string): CompatRow['run'] {
  return async ({ service }) => {
    const answer = await service.request(path)
    assert.equal(answer.status, 200)
    assert.equal(typeof ((await answer.json()) as Record<string, unknown>)[member], 'string')
  }
}

const mcpDocs = 'https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization'
const transports = 'https://modelcontextprotocol.io/specification/2025-11-25/basic/transports'

export const aiShapes: readonly CompatRow[] = [
  connects(
    'Claude (web and phone)',
    '2026-11',
    { registration: { redirect_uris: ['https://claude.ai/api/mcp/auth_callback'], ...none, scope: 'mcp' } },
    'https://claude.com/docs/connectors/building/authentication',
  ),
  connects(
    'Claude (claude.com)',
    '2026-11',
    {
      registration: {
        client_name: 'Claude',
        redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
        ...none,
      },
      redirect: 'https://claude.com/api/mcp/auth_callback',
    },
    'https://claude.com/docs/connectors/building/authentication',
  ),
  connects(
    'Claude Code',
    '2025-10',
    {
      registration: { client_name: 'Claude Code (notes)', redirect_uris: ['http://localhost:56648/callback'], ...none },
    },
    'https://github.com/anthropics/claude-code/issues/2527',
  ),
  connects(
    'ChatGPT (published apps)',
    '2026-08',
    {
      registration: {
        client_name: 'ChatGPT',
        redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
        ...none,
      },
    },
    'https://github.com/makeplane/plane-mcp-server/pull/165',
  ),
  connects(
    'ChatGPT (own connectors)',
    '2026-08',
    {
      registration: {
        client_name: 'ChatGPT',
        redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
        ...none,
      },
      parameters: { scope: 'openid offline_access mcp' },
    },
    'https://github.com/danielealbano/android-remote-control-mcp/pull/166',
  ),
  connects(
    'Codex',
    '2026-05',
    { registration: { client_name: 'Codex', redirect_uris: ['http://127.0.0.1:1455/callback'], ...none } },
    'https://github.com/trypostit/trypost/pull/336',
  ),
  connects(
    'Gemini CLI',
    '2026-06',
    {
      registration: {
        client_name: 'Gemini CLI MCP Client',
        redirect_uris: ['http://localhost:7777/oauth/callback'],
        ...none,
      },
      parameters: { scope: '' },
    },
    'https://github.com/kunickiaj/codemem/pull/1286',
  ),
  connects(
    'VS Code',
    '2025-11',
    {
      registration: {
        client_name: 'Visual Studio Code',
        client_uri: 'https://code.visualstudio.com',
        redirect_uris: [
          'https://insiders.vscode.dev/redirect',
          'https://vscode.dev/redirect',
          'http://127.0.0.1/',
          'http://127.0.0.1:33418/',
        ],
        ...none,
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      },
      // The registered port is taken, so it listens at another one.
      redirect: 'http://127.0.0.1:59656/',
      parameters: { scope: 'openid profile email' },
    },
    'https://github.com/microsoft/vscode/issues/278512',
  ),
  connects(
    'VS Code (in the browser)',
    '2025-11',
    {
      registration: {
        client_name: 'Visual Studio Code',
        redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1:33418'],
        ...none,
      },
    },
    'https://github.com/contextstream/mcp-server/issues/57',
  ),
  connects(
    'Cursor',
    '2026-06',
    {
      registration: { client_name: 'Cursor', redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'], ...none },
    },
    'https://github.com/makeplane/plane-mcp-server/issues/159',
  ),
  connects(
    'Windsurf',
    '2026-09',
    {
      registration: { client_name: 'Windsurf', redirect_uris: ['windsurf://codeium.windsurf/oauth/callback'], ...none },
    },
    'https://github.com/trypostit/trypost/pull/336',
  ),
  connects(
    'Goose',
    '2026-04',
    {
      registration: { client_name: 'goose', redirect_uris: ['http://127.0.0.1:3334/oauth_callback'], ...none },
      parameters: { scope: 'openid profile offline_access' },
    },
    'https://github.com/aaif-goose/goose/issues/8918',
  ),
  connects(
    'Goose (Windows)',
    '1.28',
    {
      registration: { client_name: 'goose', redirect_uris: ['http://localhost:123'], ...none },
      redirect: 'http://localhost:124',
    },
    'https://github.com/aaif-goose/goose/issues/9181',
  ),
  connects(
    'LibreChat',
    '2025-12',
    {
      registration: {
        client_name: 'LibreChat MCP Client',
        redirect_uris: ['https://chat.example.com/api/mcp/notes/oauth/callback'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      secretBy: 'body',
    },
    'https://github.com/LibreChat-AI/librechat.ai/issues/388',
  ),
  connects(
    'LibreChat (secret in the header)',
    '2025-12',
    {
      registration: {
        client_name: 'LibreChat MCP Client',
        redirect_uris: ['https://chat.example.com/api/mcp/notes/oauth/callback'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      secretBy: 'header',
    },
    'https://github.com/LibreChat-AI/librechat.ai/issues/388',
  ),
  connects(
    'Open WebUI',
    '0.11.3',
    {
      registration: {
        client_name: 'Open WebUI',
        redirect_uris: ['https://chat.example.com/oauth/clients/mcp:notes/callback'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      secretBy: 'header',
    },
    'https://github.com/makeplane/plane-mcp-server/issues/220',
  ),
  connects(
    'Clients of the revision 2025-03-26',
    '2025-03',
    {
      registration: { client_name: 'An old client', redirect_uris: ['http://localhost:8090/callback'], ...none },
      namesResource: false,
      protocol: '2025-03-26',
    },
    'https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization',
  ),
  answers(
    [
      'Warp',
      '2026-04',
      'another query in the redirect URI than the registered one',
      'an error page: RFC 6749 demands the registered URI',
    ],
    'https://github.com/warpdotdev/warp/issues/9088',
    async (world) => {
      const redirect = 'warp://mcp/oauth2callback?server_id=65aebdca'
      const shape = {
        registration: { client_name: 'Warp', redirect_uris: ['warp://mcp/oauth2callback'], ...none },
        redirect,
      }
      await assert.rejects(connect(await opened(world), shape), /Cannot open the consent page: 400/)
    },
  ),
  answers(
    ['Python SDK before 1.10', '2025-04', 'revision 2024-11-05', 'calls a tool'],
    'https://modelcontextprotocol.io/specification/2024-11-05',
    speaks('2024-11-05'),
  ),
  answers(
    ['Clients of 2025-03', '2025-03', 'revision 2025-03-26', 'calls a tool'],
    'https://modelcontextprotocol.io/specification/2025-03-26',
    speaks('2025-03-26'),
  ),
  answers(
    ['Clients of 2025-06', '2025-06', 'revision 2025-06-18', 'calls a tool'],
    'https://modelcontextprotocol.io/specification/2025-06-18',
    speaks('2025-06-18'),
  ),
  answers(
    ['Scripts', '2026-11', 'accept only JSON', 'calls a tool'],
    transports,
    speaks('2025-11-25', 'application/json'),
  ),
  answers(['Scripts', '2026-11', 'accept anything', 'calls a tool'], transports, speaks('2025-11-25', '*/*')),
  answers(
    ['Go SDK', '2026-05', 'the stream of the server before anything happens', 'receives the head at once'],
    'https://github.com/modelcontextprotocol/go-sdk',
    async (world) => {
      const { service } = world
      const token = await tokenOf(world)
      const begun = await send(service, token, initializing('2025-11-25'), {})
      await begun.text()
      const ending = new AbortController()
      const answer = await fetch(`${service.url}/mcp`, {
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${token}`,
          'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
        },
        signal: ending.signal,
      })
      ending.abort()
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type')?.split(';', 1)[0], 'text/event-stream')
    },
  ),
  answers(
    [
      'Clients that end their session',
      '2025-11',
      'DELETE, then a call in the ended session',
      '404, so that the client begins again',
    ],
    transports,
    async (world) => {
      const { service } = world
      const token = await tokenOf(world)
      const begun = await send(service, token, initializing('2025-11-25'), {})
      await begun.text()
      const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
      const ended = await service.request('/mcp', {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}`, ...headers },
      })
      assert.ok(ended.ok, String(ended.status))
      const late = await send(service, token, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers)
      assert.equal(late.status, 404)
    },
  ),
  answers(
    [
      'Inspector (in the browser)',
      '2026-11',
      'preflight from another origin',
      'may send its headers and read the session',
    ],
    'https://github.com/modelcontextprotocol/inspector',
    async ({ service }) => {
      const answer = await service.request('/mcp', {
        method: 'OPTIONS',
        headers: {
          origin: 'http://localhost:6274',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type,mcp-protocol-version,mcp-session-id',
        },
      })
      assert.ok(answer.ok, String(answer.status))
      assert.match(answer.headers.get('access-control-allow-headers') ?? '', /mcp-session-id/i)
    },
  ),
  answers(
    ['Clients of RFC 8414', '2025-06', 'metadata with the path of the resource', 'finds the authorization server'],
    mcpDocs,
    reads('/.well-known/oauth-authorization-server/mcp', 'token_endpoint'),
  ),
  answers(
    ['Clients of RFC 9728', '2025-06', 'resource metadata without the path', 'finds the resource'],
    mcpDocs,
    reads('/.well-known/oauth-protected-resource', 'resource'),
  ),
  answers(
    ['Clients of RFC 9728', '2025-11', 'resource metadata with the path', 'finds the resource'],
    mcpDocs,
    reads('/.well-known/oauth-protected-resource/mcp', 'resource'),
  ),
]
