/** Compares calls of AI clients with a bare server that does the same look-ups by hand. */
import { compare, pairedRatio, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { besideBare, type Line, megabytes, micros } from './report.ts'
import type { Subject } from './subject.ts'

const version = '2026-07-28'
const manyTools = 1000

interface Measuring {
  readonly loader: Loader
  readonly slices: Slices
}

export async function measureClients(store: string, subject: Subject, loader: Loader, slices: Slices): Promise<Line[]> {
  const troupe = await startServer('troupe', subject)
  const bare = await startServer('bare', subject)
  try {
    const token = await authorizeClient(troupe.port)
    const cases: readonly (readonly [what: string, request: string])[] = [
      ['MCP tools/list, 50 tools', rpc(token, 'tools/list', {})],
      ['MCP tools/call', rpc(token, 'tools/call', { name: 'get_1', arguments: { text: 'hello' } })],
    ]
    const lines: Line[] = []
    for (const [what, request] of cases) {
      const [own, bound] = await compare(loader, [troupe, bare], () => [request], slices)
      if (own === undefined || bound === undefined) continue
      lines.push(besideBare({ store, what, own, bound, aim: 0.6 }))
    }
    return [...lines, ...(await measureManyTools(store, subject, token, { loader, slices }))]
  } finally {
    await troupe.stop()
    await bare.stop()
  }
}

/** Measures whether many other tools slow a call down. Both processes are new, so that neither is compiled better. */
async function measureManyTools(store: string, subject: Subject, token: string, at: Measuring): Promise<Line[]> {
  const [few, many] = [
    await startServer('troupe', subject),
    await startServer('troupe', { ...subject, tools: manyTools }),
  ]
  try {
    const request = rpc(token, 'tools/call', { name: 'get_1', arguments: { text: 'hello' } })
    const idle = await Promise.all([few, many].map(async (server) => (await server.usage()).rss))
    const [fewIdle = Number.NaN, manyIdle = Number.NaN] = idle
    const [small, large] = await compare(at.loader, [few, many], () => [request], at.slices)
    if (small === undefined || large === undefined) return []
    const line = (what: string, measured: string, bound: string, ratio: number): Line => ({
      store,
      what: `${what} with ${manyTools.toLocaleString('en')} tools`,
      measured,
      bound: `${bound} with 50`,
      ratio,
      aim: '≤ 1.2',
      met: ratio <= 1.2,
    })
    return [
      line('MCP tools/call', `${micros(large.cpu)} CPU`, `${micros(small.cpu)} CPU`, pairedRatio(large, small, 'cpu')),
      line('memory, idle', megabytes(manyIdle), megabytes(fewIdle), manyIdle / fewIdle),
    ]
  } finally {
    await few.stop()
    await many.stop()
  }
}

/** Returns the token of a client that acts for itself, which costs the same as any other token. */
export async function authorizeClient(port: number): Promise<string> {
  const post = async (path: string, type: string, body: string): Promise<Record<string, string>> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const client = await post(
    '/oauth/register',
    'application/json',
    JSON.stringify({ client_name: 'bench', grant_types: ['client_credentials'] }),
  )
  const tokens = await post(
    '/oauth/token',
    'application/x-www-form-urlencoded',
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client['client_id'] ?? '',
      client_secret: client['client_secret'] ?? '',
    }).toString(),
  )
  return tokens['access_token'] ?? ''
}

export function rpc(token: string, method: string, params: object): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
  const name = 'name' in params ? `Mcp-Name: ${String(params.name)}\r\n` : ''
  return (
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    `Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: ${version}\r\nMcp-Method: ${method}\r\n${name}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
