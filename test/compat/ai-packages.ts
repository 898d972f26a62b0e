/** AI clients that npm installs, at the versions that people still use. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type * as sdkClient from '@modelcontextprotocol/sdk/client/index.js'
import type * as sdkTransport from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { authorizeClient } from '../support/mcp-client.ts'
import { Keeper } from '../support/sdk-keeper.ts'
import { codeOf, endAccess } from './owner.ts'
import type { CompatRow, World } from './row.ts'

const require = createRequire(import.meta.url)
const whole = 'discovery, registration, consent, call, refresh, end of access'
const wholeExpected = 'calls a tool, refreshes, and is refused after the owner ended the access'

/** The whole way of the official SDK in one of its versions. */
function sdk(name: string): CompatRow['run'] {
  return async (world) => {
    const { Client } = require(`${name}/client/index.js`) as typeof sdkClient
    const { StreamableHTTPClientTransport } = require(`${name}/client/streamableHttp.js`) as typeof sdkTransport
    const { service } = world
    const browser = await world.browser()
    const keeper = new Keeper(service, (path) => codeOf(browser, path))
    const address = new URL(`${service.url}/mcp`)
    const open = async () => {
      const client = new Client({ name: 'a client', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(address, { authProvider: keeper }))
      return client
    }
    await assert.rejects(open(), /Unauthorized/)
    const code = keeper.back?.searchParams.get('code') ?? ''
    await new StreamableHTTPClientTransport(address, { authProvider: keeper }).finishAuth(code)
    const client = await open()
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ['add_note'],
    )
    await client.callTool({ name: 'add_note', arguments: { text: 'hello' } })
    await client.close()
    assert.ok(keeper.saved !== undefined)
    // The SDK refreshes when the service refuses the access token.
    keeper.saved = { ...keeper.saved, access_token: 'expired' }
    await (await open()).close()
    assert.notEqual(keeper.saved.access_token, 'expired')
    assert.equal(await endAccess(browser), 1)
    await assert.rejects(open())
  }
}

/** The address and the token of a client whose owner allowed it. */
async function granted({
  service,
}: World): Promise<{ readonly url: string; readonly headers: { readonly Authorization: string } }> {
  const client = await authorizeClient(service, await service.createActor(), { relationship: 'mcp_client' })
  return { url: `${service.url}/mcp`, headers: { Authorization: `Bearer ${client.token}` } }
}

async function aiSdk(world: World): Promise<void> {
  const { createMCPClient } = await import('@ai-sdk/mcp')
  const client = await createMCPClient({ transport: { type: 'http', ...(await granted(world)) } })
  const listed = await client.listTools()
  assert.deepEqual(
    listed.tools.map(({ name }) => name),
    ['add_note'],
  )
  assert.deepEqual(Object.keys(await client.tools()), ['add_note'])
  await client.close()
}

async function langchain(world: World): Promise<void> {
  const { MultiServerMCPClient } = await import('@langchain/mcp-adapters')
  const client = new MultiServerMCPClient({ mcpServers: { notes: { transport: 'http', ...(await granted(world)) } } })
  const [tool] = await client.getTools()
  assert.equal(tool?.name, 'add_note')
  assert.match(JSON.stringify(await tool.invoke({ text: 'hello' })), /index/)
  await client.close()
}

async function openai(world: World): Promise<void> {
  const { MCPServerStreamableHttp } = await import('@openai/agents-core')
  const { url, headers } = await granted(world)
  const server = new MCPServerStreamableHttp({ url, requestInit: { headers } })
  await server.connect()
  assert.deepEqual(
    (await server.listTools()).map(({ name }) => name),
    ['add_note'],
  )
  assert.match(JSON.stringify(await server.callTool('add_note', { text: 'hello' })), /index/)
  await server.close()
}

/** A bridge from standard input and output, for clients without HTTP. */
async function mcpRemote(world: World): Promise<void> {
  const { url, headers } = await granted(world)
  const program = join(import.meta.dirname, '../../node_modules/mcp-remote/dist/proxy.js')
  const bridge = spawn(
    process.execPath,
    [program, url, '--allow-http', '--header', `Authorization: ${headers.Authorization}`],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  )
  try {
    const lines = createInterface({ input: bridge.stdout })[Symbol.asyncIterator]()
    const ask = async (message: object): Promise<unknown> => {
      bridge.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
      return (JSON.parse(String((await lines.next()).value)) as { result: unknown }).result
    }
    const clientInfo = { name: 'a client', version: '1' }
    await ask({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
    bridge.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert.match(JSON.stringify(await ask({ id: 2, method: 'tools/list' })), /"name":"add_note"/)
    const params = { name: 'add_note', arguments: { text: 'hello' } }
    assert.match(JSON.stringify(await ask({ id: 3, method: 'tools/call', params })), /index/)
  } finally {
    bridge.kill()
  }
}

const row = (
  client: string,
  version: string,
  source: string,
  run: CompatRow['run'],
  flow = whole,
  expected = wholeExpected,
) => ({ group: 'AI clients from packages', client, version, flow, expected, source, run }) satisfies CompatRow
const calls = ['list and call with a token', 'sees the tool and its result'] as const

export const aiPackages: readonly CompatRow[] = [
  row('TypeScript SDK', '1.12.3', 'mcp-sdk-1.12', sdk('mcp-sdk-1.12')),
  row('TypeScript SDK', '1.17.5', 'mcp-sdk-1.17', sdk('mcp-sdk-1.17')),
  row('TypeScript SDK', '1.20.2', 'mcp-sdk-1.20', sdk('mcp-sdk-1.20')),
  row('TypeScript SDK', '1.22.0', 'mcp-sdk-1.22', sdk('mcp-sdk-1.22')),
  row('TypeScript SDK', '1.25.3', 'mcp-sdk-1.25', sdk('mcp-sdk-1.25')),
  row('TypeScript SDK', '1.32.2', '@modelcontextprotocol/sdk', sdk('@modelcontextprotocol/sdk')),
  row('AI SDK', '2.0.99', '@ai-sdk/mcp', aiSdk, 'list with a token', 'sees the tool'),
  row('LangChain adapters', '1.1.4', '@langchain/mcp-adapters', langchain, ...calls),
  row('OpenAI Agents SDK', '0.20.0', '@openai/agents-core', openai, ...calls),
  row('mcp-remote', '0.15.1', 'mcp-remote', mcpRemote, ...calls),
]
