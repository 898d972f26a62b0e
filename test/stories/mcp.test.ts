/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { App } from '../../src/troupe.ts'
import { ServiceError } from '../../src/errors.ts'
import { EventStream } from '../support/event-stream.ts'
import { authorizeClient, listen } from '../support/mcp-client.ts'
import { forEachService, sqliteService } from '../support/service.ts'

function notes(app: App): void {
  app.action(
    'add_note',
    {
      description: 'Adds a note',
      input: z.object({ text: z.string() }),
      output: z.object({ saved: z.boolean(), index: z.int() }),
      annotations: { idempotentHint: false },
      mcp: { title: 'Add note' },
    },
    async ({ actor, input }) => {
      const index = await actor.list('notes').append({ text: input.text })
      return { saved: true, index }
    },
  )
  app.action('count', { mcp: { output: z.object({ total: z.number() }) } }, async ({ actor }) => ({
    total: (await actor.list('notes').items()).length,
  }))
  app.action('not_offered', async () => ({ done: true }))
  app.action('hidden', { mcp: { visible: () => false } }, async () => ({ found: true }))
  app.action(
    'unsure',
    {
      mcp: {
        visible: () => {
          throw new Error('no idea')
        },
      },
    },
    async () => ({ found: true }),
  )
  app.action(
    'described',
    {
      description: 'declared',
      mcp: { describe: ({ actor }) => `for ${actor.creator}`, clientDescriptions: { claude: 'for Claude' } },
    },
    async () => 'ok',
  )
  app.action('fails', { mcp: true }, async () => {
    throw new Error('a stack with s3cret in it')
  })
  app.action('refuses', { mcp: true }, async () => {
    throw new ServiceError('conflict', 'Cannot save: the notebook is full')
  })
  app.action('leaks', { mcp: true }, async () => ({ id: 1, oauth_token: 'provider-token', passphrase: 'pass' }))
  app.action('who', { mcp: true }, async ({ caller, mcp }) => ({ caller: caller.kind, context: mcp?.context }))
  app.method(
    'summarize',
    { description: 'Sums up', mcp: { prompt: { arguments: [{ name: 'topic', required: true }] } } },
    async ({ input }) => `Sum up ${input.topic}`,
  )
  app.method('status', { mcp: { resource: { uri: 'notes://status' } } }, async () => ({ state: 'open' }))
  app.method('note', { mcp: { resource: { uri: 'notes://{id}' } } }, async ({ input }) => ({ id: input.id }))
}

const opening = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'A test client', version: '1' },
}

describe('/mcp without a token', () => {
  const start = sqliteService()

  const refused: [what: string, headers: Record<string, string>][] = [
    ['without any credentials', {}],
    ['with Basic', { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }],
    ['with another scheme', { authorization: 'DPoP abc' }],
    ['with a token that was never issued', { authorization: `Bearer aw_${'x'.repeat(43)}` }],
    ['with a cookie', { cookie: `oauth_token=aw_${'x'.repeat(43)}` }],
    ['with a refresh token', { authorization: `Bearer rt_${'x'.repeat(43)}` }],
  ]
  for (const [what, headers] of refused) {
    it(`responds with 401 and the way to a token ${what} (R-MCP-07, MCP-01, MCP-02, MCP-03)`, async () => {
      const service = await start()
      for (const method of ['initialize', 'ping', 'tools/list']) {
        const response = await service.request('/mcp', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
        })
        assert.equal(response.status, 401)
        assert.equal(
          response.headers.get('www-authenticate'),
          'Bearer realm="mcp", error="invalid_token", error_description="A valid access token of a client is required", ' +
            'resource_metadata="http://troupe.test/.well-known/oauth-protected-resource/mcp", ' +
            'authorization_uri="http://troupe.test/oauth/authorize", scope="mcp"',
        )
        assert.deepEqual(await response.json(), {
          error: 'invalid_token',
          error_description: 'A valid access token of a client is required',
        })
      }
    })
  }

  it('refuses a token in the query or in a form (MCP-02)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor())
    const byQuery = await service.request(`/mcp?access_token=${client.token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    assert.equal(byQuery.status, 401)
    const byForm = await service.request('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `access_token=${client.token}`,
    })
    assert.equal(byForm.status, 401)
  })

  it('reports its name and versions by GET (R-MCP-01)', async () => {
    const service = await start({ name: 'notebook', version: '3.1.0' })
    for (const path of ['/mcp', '/mcp/info']) {
      const response = await service.request(path)
      assert.equal(response.status, 200)
      const body = (await response.json()) as Record<string, unknown>
      assert.equal(body['server_name'], 'notebook')
      assert.deepEqual(body['supported_versions'], [
        '2026-07-28',
        '2025-11-25',
        '2025-06-18',
        '2025-03-26',
        '2024-11-05',
      ])
    }
  })

  it('is not served when AI clients are disabled', async () => {
    const service = await start({ mcp: false })
    assert.equal((await service.request('/mcp/info')).status, 404)
  })
})

describe('/mcp with a token', () => {
  const start = sqliteService()

  it('refuses a token that was issued for another audience (MCP-04)', async () => {
    const service = await start()
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { audience: 'https://other.example.com/mcp' })
    assert.equal((await client.legacy('ping')).status, 401)
    const fitting = await authorizeClient(service, actor)
    assert.deepEqual((await fitting.legacy('ping')).body, { jsonrpc: '2.0', id: 1, result: {} })
  })

  it('refuses POST from pages of other origins (MCP-05)', async () => {
    const service = await start({ mcpOrigins: ['https://inspector.example.com'] })
    const client = await authorizeClient(service, await service.createActor())
    const asked = async (origin: string): Promise<number> => (await client.legacy('ping', {}, { origin })).status
    assert.equal(await asked('https://evil.example.com'), 403)
    assert.equal(await asked('null'), 403)
    assert.equal(await asked('http://troupe.test.evil.example.com'), 403)
    assert.equal(await asked('http://troupe.test'), 200)
    assert.equal(await asked('https://inspector.example.com'), 200)
  })

  it('refuses GET and HEAD from pages of other origins, whatever the page accepts, with a token or without (MCP-05)', async () => {
    const service = await start({ mcpOrigins: ['https://inspector.example.com'] })
    const { token } = await authorizeClient(service, await service.createActor())
    for (const accept of ['*/*', 'application/json', 'text/html', 'text/event-stream']) {
      for (const authorization of [{}, { authorization: `Bearer ${token}` }]) {
        for (const origin of ['https://evil.example.com', 'null', 'http://troupe.test.evil.example.com', '']) {
          for (const method of ['GET', 'HEAD']) {
            const headers = { accept, origin, ...authorization }
            const answer = await service.request('/mcp', { method, headers })
            assert.equal(answer.status, 403, `${method} ${accept} ${origin}`)
            assert.equal(answer.headers.get('access-control-allow-origin'), null)
            assert.doesNotMatch(await answer.text(), /authorization_endpoint/)
          }
        }
      }
    }
    for (const headers of [{}, { origin: 'http://troupe.test' }, { origin: 'https://inspector.example.com' }]) {
      const answer = await service.request('/mcp', { headers })
      assert.deepEqual([answer.status, Object.keys((await answer.json()) as object)[0]], [200, 'version'])
    }
  })

  it('negotiates the requested version, and describes the service without an actor id (R-MCP-02, R-VER-01)', async () => {
    const service = await start({ declare: notes, name: 'notebook', version: '3.1.0', mcpInstructions: 'Ask first.' })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    for (const [asked, answered] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      ['1.0', '2025-11-25'],
    ]) {
      const { body } = await client.legacy('initialize', { protocolVersion: asked, capabilities: {}, clientInfo: {} })
      assert.equal(body.result.protocolVersion, answered)
      assert.deepEqual(body.result.serverInfo, { name: 'notebook', version: '3.1.0' })
      assert.equal(body.result.instructions, 'Ask first.')
      assert.ok(!JSON.stringify(body).includes(actor.id))
    }
  })

  it('assumes 2025-03-26 without a version header, and refuses an unknown version (R-MCP-06)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor())
    const plain = await client.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
    const listed = (await plain.json()) as { result: { tools: object[] } }
    assert.ok(!JSON.stringify(listed).includes('"title"'), 'expected a revision without titles')
    const unknown = await client.legacy('tools/list', {}, { 'mcp-protocol-version': '2020-01-01' })
    assert.equal(unknown.status, 400)
    assert.equal(unknown.body.error.code, -32600)
    assert.equal(unknown.body.error.data, undefined)
  })

  it('lists each tool with its title, its declared schemas, and the description for this actor (R-MCP-05, R-OP-06)', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor('ada@example.com')
    const client = await authorizeClient(service, actor)
    const { body } = await client.legacy('tools/list')
    const tools = new Map<string, Record<string, unknown>>(
      body.result.tools.map((tool: { name: string }) => [tool.name, tool]),
    )
    assert.deepEqual([...tools.keys()], ['add_note', 'count', 'described', 'fails', 'refuses', 'leaks', 'who'])
    const addNote = tools.get('add_note')
    assert.equal(addNote?.['title'], 'Add note')
    assert.equal(addNote['description'], 'Adds a note')
    assert.deepEqual(addNote['annotations'], { idempotentHint: false })
    assert.deepEqual((addNote['inputSchema'] as { required: string[] }).required, ['text'])
    assert.equal(addNote['outputSchema'], undefined)
    assert.equal((tools.get('count')?.['outputSchema'] as { type: string } | undefined)?.type, 'object')
    assert.equal(tools.get('described')?.['description'], 'for ada@example.com')
    assert.equal(tools.get('fails')?.['description'], 'Execute fails action')
    assert.deepEqual(tools.get('fails')?.['inputSchema'], { type: 'object' })
  })

  it('calls a hidden tool for a client with the right to it, but no tool that is not offered (MCP-12)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor())
    const hidden = await client.legacy('tools/call', { name: 'hidden' })
    assert.deepEqual(hidden.body.result.structuredContent, { found: true })
    const unoffered = await client.legacy('tools/call', { name: 'not_offered' })
    assert.equal(unoffered.body.error.code, -32601)
  })

  it('enforces the permissions of the relationship on lists and on every call (MCP-12)', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/color', 'red')
    const client = await authorizeClient(service, actor, { relationship: 'viewer' })
    assert.deepEqual((await client.legacy('tools/list')).body.result, { tools: [] })
    assert.deepEqual((await client.legacy('prompts/list')).body.result, { prompts: [] })
    assert.deepEqual((await client.legacy('resources/list')).body.result, { resources: [] })
    assert.deepEqual((await client.legacy('resources/templates/list')).body.result, { resourceTemplates: [] })
    const calls: [method: string, params: object][] = [
      ['tools/call', { name: 'add_note', arguments: { text: 'x' } }],
      ['tools/call', { name: 'no_such_tool' }],
      ['prompts/get', { name: 'summarize', arguments: { topic: 'x' } }],
      ['resources/read', { uri: 'notes://status' }],
      ['resources/read', { uri: 'actingweb://properties/color' }],
      ['resources/read', { uri: 'actingweb://properties/all' }],
    ]
    for (const [method, params] of calls) {
      const legacy = await client.legacy(method, params)
      assert.equal(legacy.status, 200)
      assert.equal(legacy.body.error?.code, -32003, `${method} ${JSON.stringify(params)}`)
      const modern = await client.modern(method, params)
      assert.equal(modern.body.error?.code, 403, `${method} ${JSON.stringify(params)}`)
    }
    assert.equal(await (await actor.request('GET', '/properties')).text(), '{"color":"red"}')
  })

  it('authorizes nothing without an approved relationship (MCP-10)', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin', approved: false })
    assert.deepEqual((await client.legacy('tools/list')).body.result, { tools: [] })
    const call = await client.legacy('tools/call', { name: 'add_note', arguments: { text: 'x' } })
    assert.equal(call.body.error.code, -32003)
    assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
  })

  it('applies a withdrawn permission to the next call (MCP-10)', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    assert.equal((await client.legacy('tools/call', { name: 'count' })).body.result.isError, false)
    const path = `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`
    const denied = await actor.request('PUT', path, { tools: { denied: ['count'] } })
    assert.ok(denied.ok, await denied.text())
    assert.equal((await client.legacy('tools/call', { name: 'count' })).body.error.code, -32003)
    const gone = await actor.request('DELETE', `/trust/friend/${encodeURIComponent(client.peerId)}`)
    assert.equal(gone.status, 204)
    assert.equal((await client.legacy('tools/list')).status, 401)
  })

  it('separates the permissions of two clients of one actor (MCP-09)', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor()
    const reading = await authorizeClient(service, actor, { relationship: 'viewer' })
    const writing = await authorizeClient(service, actor, { relationship: 'friend' })
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, async (_, round) => {
        const client = round % 2 === 0 ? reading : writing
        return (await client.legacy('tools/call', { name: 'count' })).body.error?.code ?? 'allowed'
      }),
    )
    assert.deepEqual(
      outcomes,
      Array.from({ length: 40 }, (_, round) => (round % 2 === 0 ? -32003 : 'allowed')),
    )
  })

  it('hides internal errors, but returns the message of a refusal by the application (MCP-16)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor())
    const failed = await client.legacy('tools/call', { name: 'fails' })
    assert.deepEqual(failed.body.result, {
      content: [{ type: 'text', text: 'The tool failed. Only the log of the service has the details.' }],
      isError: true,
    })
    const refusing = await client.legacy('tools/call', { name: 'refuses' })
    assert.deepEqual(refusing.body.result, {
      content: [{ type: 'text', text: 'Cannot save: the notebook is full (conflict)' }],
      isError: true,
    })
    const leaking = JSON.stringify((await client.legacy('tools/call', { name: 'leaks' })).body)
    assert.ok(leaking.includes('"id":1') && !leaking.includes('provider-token') && !leaking.includes('pass'))
  })

  it('describes invalid arguments to a model in the result, and to clients of older revisions in an error', async () => {
    const service = await start({ declare: notes })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const call = { name: 'add_note', arguments: { text: 7 } }
    const newer = await client.legacy('tools/call', call)
    assert.equal(newer.body.result.isError, true)
    assert.match(newer.body.result.content[0].text, /field "text"/)
    const older = await client.legacy('tools/call', call, { 'mcp-protocol-version': '2025-06-18' })
    assert.equal(older.body.error.code, -32602)
    assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
  })

  it('responds with structured content from 2025-06-18 on, and always with text (R-MCP-03, R-MCP-04)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor())
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      const { body } = await client.legacy('tools/call', { name: 'count' }, { 'mcp-protocol-version': version })
      assert.deepEqual(body.result, {
        content: [{ type: 'text', text: '{"total":0}' }],
        isError: false,
        ...(version >= '2025-06-18' ? { structuredContent: { total: 0 } } : {}),
      })
    }
  })

  // A client of another server, or behind a gateway that was replaced, sends an id that this server never issued.
  for (const id of ['s-1', '1b7c3c9e-5f0a-4f3b-9d52-1f6f0c1a2b3c', `ms_${'A'.repeat(43)}`, 'x'.repeat(500), '!'])
    it(`answers 404 to the unknown session id ${id.slice(0, 40)}, so that the client begins again (MCP-24)`, async () => {
      const service = await start({ declare: notes })
      const client = await authorizeClient(service, await service.createActor(), { relationship: 'friend' })
      const headers = { 'mcp-session-id': id }
      const call = await client.legacy('tools/call', { name: 'count' }, headers)
      assert.deepEqual([call.status, call.body.error.message], [404, 'The session has ended'])
      const noted = await client.send('{"jsonrpc":"2.0","method":"notifications/cancelled"}', headers)
      assert.equal(noted.status, 404)
      const authorization = `Bearer ${client.token}`
      for (const method of ['GET', 'DELETE']) {
        const accept = method === 'GET' ? { accept: 'text/event-stream' } : {}
        const answer = await service.request('/mcp', { method, headers: { authorization, ...accept, ...headers } })
        assert.equal(answer.status, 404, method)
      }
      const begun = await client.legacy('initialize', opening, headers)
      assert.equal(begun.status, 200)
      assert.match(begun.headers.get('mcp-session-id') ?? '', /^ms_/)
    })

  it('gives handlers the context of the current call only (R-MCP-08)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor(), {
      clientId: 'mcp_context',
      relationship: 'friend',
    })
    const begun = await client.legacy('initialize', opening)
    const session = begun.headers.get('mcp-session-id') ?? ''
    const { body } = await client.legacy('tools/call', { name: 'who' }, { 'mcp-session-id': session })
    const { caller, context } = body.result.structuredContent
    assert.equal(caller, 'client')
    assert.equal(context.client_id, 'mcp_context')
    assert.equal(context.trust_relationship, 'friend')
    assert.equal(context.peer_id, client.peerId)
    assert.equal(context.transport_session_id, session)
    assert.deepEqual(context.client_info, { name: 'A test client', version: '1' })
    const next = await client.legacy('tools/call', { name: 'who' })
    assert.equal(next.body.result.structuredContent.context.transport_session_id, null)
  })

  it('responds to malformed messages with their error codes (MCP-14)', async () => {
    const service = await start()
    const client = await authorizeClient(service, await service.createActor())
    const sent: [body: string, status: number, code: number][] = [
      ['{"jsonrpc"', 400, -32700],
      ['', 400, -32700],
      ['7', 400, -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 400, -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200, -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', 200, -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, -32602],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602],
      ['[]', 400, -32600],
    ]
    for (const [body, status, code] of sent) {
      const response = await client.send(body)
      assert.equal(response.status, status, body)
      assert.equal(((await response.json()) as { error: { code: number } }).error.code, code, body)
    }
    const deep = await client.send(
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
    )
    assert.equal(deep.status, 400)
  })

  it('accepts batches in the revisions that support them, and checks each entry separately (MCP-14)', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'viewer' })
    const batch = JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'count' } },
      7,
    ])
    const old = await client.send(batch, { 'mcp-protocol-version': '2025-03-26' })
    assert.equal(old.status, 200)
    const answers = (await old.json()) as { id?: number; error?: { code: number } }[]
    assert.deepEqual(
      answers.map(({ id, error }) => [id, error?.code]),
      [
        [1, undefined],
        [2, -32003],
        [undefined, -32600],
      ],
    )
    const later = await client.send(batch, { 'mcp-protocol-version': '2025-06-18' })
    assert.equal(later.status, 400)
    const modern = await client.send(batch, { 'mcp-protocol-version': '2026-07-28' })
    assert.equal(modern.status, 400)
  })

  it('responds to notifications with 202 and no body, or with an empty result for clients that name no version', async () => {
    const service = await start()
    const client = await authorizeClient(service, await service.createActor())
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const named = await client.send(body, { 'mcp-protocol-version': '2025-11-25' })
    assert.equal(named.status, 202)
    assert.equal(await named.text(), '')
    const unnamed = await client.send(body)
    assert.equal(unnamed.status, 200)
    assert.deepEqual(await unnamed.json(), { jsonrpc: '2.0', id: null, result: {} })
  })
})

describe('the modern protocol version', () => {
  const start = sqliteService()

  it('is discovered with its versions, capabilities and server information', async () => {
    const service = await start({ declare: notes, name: 'notebook', version: '3.1.0' })
    const client = await authorizeClient(service, await service.createActor())
    const { status, body } = await client.modern('server/discover')
    assert.equal(status, 200)
    assert.equal(body.result.resultType, 'complete')
    assert.deepEqual(body.result.supportedVersions, [
      '2026-07-28',
      '2025-11-25',
      '2025-06-18',
      '2025-03-26',
      '2024-11-05',
    ])
    assert.ok('tools' in body.result.capabilities && 'prompts' in body.result.capabilities)
    assert.deepEqual(body.result._meta, {
      'io.modelcontextprotocol/serverInfo': { name: 'notebook', version: '3.1.0' },
    })
    assert.equal(body.result.cacheScope, 'private')
    assert.ok(Number.isInteger(body.result.ttlMs))
  })

  it('marks lists as private, and names the type of each result', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const { body } = await client.modern(method)
      assert.equal(body.result.resultType, 'complete', method)
      assert.equal(body.result.cacheScope, 'private', method)
      assert.ok(Number.isInteger(body.result.ttlMs) && body.result.ttlMs >= 0, method)
    }
    const called = await client.modern('tools/call', { name: 'count' })
    assert.equal(called.body.result.resultType, 'complete')
    assert.equal(called.body.result.ttlMs, undefined)
  })

  it('responds with 404 to unknown methods and to methods of older revisions', async () => {
    const service = await start()
    const client = await authorizeClient(service, await service.createActor())
    for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'no/such', 'toString']) {
      const { status, body } = await client.modern(method)
      assert.equal(status, 404, method)
      assert.equal(body.error.code, -32601, method)
    }
  })

  it('responds to an unknown resource or tool with -32602, and names the URI of the resource', async () => {
    const service = await start({ declare: notes })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    const resource = await client.modern('resources/read', { uri: 'other://x' })
    assert.deepEqual(resource.body.error, { code: -32602, message: 'Resource not found', data: { uri: 'other://x' } })
    const tool = await client.modern('tools/call', { name: 'no_such' })
    assert.equal(tool.body.error.code, -32602)
    const legacy = await client.legacy('resources/read', { uri: 'other://x' })
    assert.deepEqual(legacy.body.error, { code: -32002, message: 'Resource not found', data: { uri: 'other://x' } })
  })
})

describe('an AI client', () => {
  forEachService((start) => {
    it('lists prompts with their arguments, and gets them as messages (R-MCP-01)', async () => {
      const service = await start({ declare: notes })
      const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
      const listed = await client.legacy('prompts/list')
      assert.deepEqual(listed.body.result.prompts, [
        { name: 'summarize', description: 'Sums up', arguments: [{ name: 'topic', required: true }] },
      ])
      const got = await client.legacy('prompts/get', { name: 'summarize', arguments: { topic: 'spring' } })
      assert.deepEqual(got.body.result, {
        description: 'Sums up',
        messages: [{ role: 'user', content: { type: 'text', text: 'Sum up spring' } }],
      })
      const missing = await client.legacy('prompts/get', { name: 'summarize', arguments: {} })
      assert.equal(missing.body.error.code, -32602)
    })

    it('has its arguments and variables checked in calls over HTTP too, and published (R-OP-03)', async () => {
      const service = await start({
        declare: (app) => {
          notes(app)
          app.method('near', { mcp: { resource: { uri: 'places://{+path}/{id}' } } }, ({ input }) => input)
          app.method('plan', { mcp: { prompt: { arguments: [{ name: 'on', title: 'Day' }] } } }, ({ input }) => input)
          app.method(
            'own',
            { input: z.object({ n: z.number() }), mcp: { prompt: { arguments: [{ name: 'topic', required: true }] } } },
            ({ input }) => input.n,
          )
        },
      })
      const actor = await service.createActor()
      const answer = async (method: string, input: object): Promise<unknown> => {
        const response = await actor.request('POST', `/methods/${method}`, input)
        return [response.status, await response.json()]
      }
      const refused = (field: string, problem: string): unknown => [
        400,
        { error: 'invalid_input', message: `Cannot accept field "${field}": ${problem}`, field },
      ]
      assert.deepEqual(await answer('summarize', { topic: 'spring' }), [200, 'Sum up spring'])
      assert.deepEqual(await answer('summarize', {}), refused('topic', "must have required property 'topic'"))
      assert.deepEqual(await answer('summarize', { topic: 7 }), refused('topic', 'must be string'))
      assert.deepEqual(await answer('note', { id: '7' }), [200, { id: '7' }])
      assert.deepEqual(await answer('note', { id: null }), refused('id', 'must be string'))
      assert.deepEqual(await answer('note', { id: '7', uri: 8 }), refused('uri', 'must be string'))
      assert.deepEqual(await answer('near', { path: 'a/b', id: '1' }), [200, { path: 'a/b', id: '1' }])
      assert.deepEqual(await answer('near', { path: 'a/b' }), refused('id', "must have required property 'id'"))
      assert.deepEqual(await answer('plan', {}), [200, {}])
      assert.deepEqual(await answer('plan', { on: 'Monday', else: 1 }), [200, { on: 'Monday', else: 1 }])
      assert.deepEqual(await answer('plan', { on: [] }), refused('on', 'must be string'))
      assert.deepEqual(await answer('own', { n: 4 }), [200, 4])
      const get = await actor.request('GET', '/methods/summarize')
      assert.equal(get.status, 400)
      const { methods } = (await (await actor.request('GET', '/methods')).json()) as {
        methods: { name: string; input_schema: unknown }[]
      }
      const schemas = Object.fromEntries(methods.map((each) => [each.name, each.input_schema]))
      assert.deepEqual(schemas, {
        summarize: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
        status: null,
        note: {
          type: 'object',
          properties: {
            uri: { type: 'string', description: 'The address that a client reads' },
            id: { type: 'string' },
          },
          required: ['id'],
        },
        near: {
          type: 'object',
          properties: {
            uri: { type: 'string', description: 'The address that a client reads' },
            path: { type: 'string' },
            id: { type: 'string' },
          },
          required: ['path', 'id'],
        },
        plan: { type: 'object', properties: { on: { type: 'string', title: 'Day' } }, required: [] },
        own: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      })
    })

    it('reads a resource with its address beside the variables', async () => {
      const service = await start({
        declare: (app) =>
          app.method('place', { mcp: { resource: { uri: 'places://{city}' } } }, ({ input }) => [
            input.uri,
            input.city,
          ]),
      })
      const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
      const { body } = await client.modern('resources/read', { uri: 'places://caf%C3%A9' })
      assert.equal(body.result.contents[0].text, '["places://caf%C3%A9","café"]')
    })

    it('reads the resources of the application, and the properties and lists of the actor', async () => {
      const service = await start({ declare: notes })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      await actor.request('PUT', '/properties/café', { open: true })
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      await client.legacy('tools/call', { name: 'add_note', arguments: { text: 'first' } })
      const listed = await client.legacy('resources/list')
      assert.deepEqual(
        listed.body.result.resources.map(({ uri }: { uri: string }) => uri),
        [
          'notes://status',
          'actingweb://properties/all',
          'actingweb://properties/caf%C3%A9',
          'actingweb://properties/color',
          'actingweb://properties/notes',
        ],
      )
      const read = async (uri: string): Promise<unknown> => {
        const { body } = await client.legacy('resources/read', { uri })
        return body.result?.contents ?? body.error.code
      }
      const json = (uri: string, text: string): object[] => [{ uri, mimeType: 'application/json', text }]
      assert.deepEqual(await read('actingweb://properties/color'), json('actingweb://properties/color', '"red"'))
      assert.deepEqual(
        await read('actingweb://properties/caf%C3%A9'),
        json('actingweb://properties/caf%C3%A9', '{"open":true}'),
      )
      assert.deepEqual(
        await read('actingweb://properties/notes'),
        json('actingweb://properties/notes', '[{"text":"first"}]'),
      )
      assert.deepEqual(
        await read('actingweb://properties/all'),
        json('actingweb://properties/all', '{"café":{"open":true},"color":"red"}'),
      )
      assert.deepEqual(await read('notes://status'), json('notes://status', '{"state":"open"}'))
      assert.deepEqual(await read('notes://n-7'), json('notes://n-7', '{"id":"n-7"}'))
      assert.equal(await read('actingweb://properties/none'), -32002)
      assert.equal(await read('actingweb://properties/%zz'), -32002)
      const templates = await client.legacy('resources/templates/list')
      assert.deepEqual(templates.body.result.resourceTemplates, [
        {
          uriTemplate: 'notes://{id}',
          name: 'Note',
          description: 'Access note resource',
          mimeType: 'application/json',
        },
        {
          uriTemplate: 'actingweb://properties/{list}/items/{from}',
          name: 'items of a list',
          description: '100 items of a list of the actor, starting at an index',
          mimeType: 'application/json',
        },
      ])
    })

    it('reads a long list in parts, each with the URI of the next part', async () => {
      const service = await start({ declare: notes })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/all', 'mine')
      await service.app.actors
        .get(actor.id)
        .then((handle) => handle?.list('log').extend(Array.from({ length: 250 }, (_, n) => n)))
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const read = async (uri: string): Promise<{ uri: string; mimeType: string; text: string }[] | number> => {
        const { body } = await client.modern('resources/read', { uri })
        return body.result?.contents ?? body.error.code
      }
      const log = 'actingweb://properties/log'
      const sizes: unknown[] = []
      for (let next: string | undefined = log; next !== undefined; ) {
        const contents = await read(next)
        assert.ok(typeof contents !== 'number')
        const items = JSON.parse(contents[0]?.text ?? '') as number[]
        sizes.push([next, items.length, items[0], contents[1]?.text])
        next = contents[1]?.uri
      }
      assert.deepEqual(sizes, [
        [log, 100, 0, `Items from index 0 of 250 items. The next page is at ${log}/items/100`],
        [`${log}/items/100`, 100, 100, `Items from index 100 of 250 items. The next page is at ${log}/items/200`],
        [`${log}/items/200`, 50, 200, undefined],
      ])
      assert.equal(JSON.stringify(await read(`${log}/items/7000`)).includes('"text":"[]"'), true)
      for (const uri of [`${log}/items/-1`, `${log}/items/x`, `${log}/items/`, `${log}/items`, `${log}/other/1`]) {
        assert.equal(await read(uri), -32602, uri)
      }
      // The URI of all properties ends with "all", which may also be the name of a property.
      assert.deepEqual(await read('actingweb://properties/%61ll'), [
        { uri: 'actingweb://properties/%61ll', mimeType: 'application/json', text: '"mine"' },
      ])
      assert.equal(await read('actingweb://properties/%61ll/items/0'), -32602)
    })

    it('needs the same right to read a property as a resource as to read it directly (ACL-11)', async () => {
      const service = await start({ declare: notes })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/public', { motto: 'hello' })
      await actor.request('PUT', '/properties/secret', 'hush')
      const client = await authorizeClient(service, actor, { relationship: 'viewer' })
      const listed = await client.legacy('resources/list')
      assert.deepEqual(
        listed.body.result.resources.map(({ uri }: { uri: string }) => uri),
        ['actingweb://properties/public'],
      )
      const good = await client.legacy('resources/read', { uri: 'actingweb://properties/public' })
      assert.equal(good.body.result.contents[0].text, '{"motto":"hello"}')
      for (const uri of ['actingweb://properties/secret', 'actingweb://properties/all']) {
        assert.equal((await client.legacy('resources/read', { uri })).body.error.code, -32003)
      }
    })

    describe('with a rule on resources that denies the URI of a property', () => {
      const [color, diary, log] = [
        'actingweb://properties/color',
        'actingweb://properties/diary',
        'actingweb://properties/log',
      ] as const
      const all = 'actingweb://properties/all'

      const world = async (resources: object) => {
        const service = await start({ declare: notes })
        const actor = await service.createActor()
        await actor.request('PUT', '/properties', {
          color: 'red',
          diary: 'Dear diary',
          café: 1,
          log: { _type: 'list' },
        })
        const client = await authorizeClient(service, actor, { relationship: 'friend' })
        const path = `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`
        assert.equal((await actor.request('PUT', path, { resources })).status, 201)
        const listed = async (method: string, member: string, name: string): Promise<string[]> =>
          (await client.modern(method)).body.result[member].map((each: Record<string, string>) => each[name])
        const read = async (uri: string): Promise<unknown> => {
          const { body } = await client.modern('resources/read', { uri })
          return body.error?.code ?? body.result.contents[0].text
        }
        return {
          client,
          read,
          resources: () => listed('resources/list', 'resources', 'uri'),
          templates: () => listed('resources/templates/list', 'resourceTemplates', 'uriTemplate'),
        }
      }

      it('lists, reads and subscribes to no property when the rule denies everything (MCP-12)', async () => {
        const { client, read, resources, templates } = await world({ denied: ['*'] })
        assert.deepEqual(await resources(), [])
        assert.deepEqual(await templates(), [])
        for (const uri of [color, diary, log, all, `${log}/items/0`, 'actingweb://properties/none', 'notes://status'])
          assert.equal(await read(uri), 403, uri)
        const stream = new EventStream(
          await listen(client, { resourceSubscriptions: [color, all, 'actingweb://properties/', 'actingweb://'] }),
        )
        assert.deepEqual((await stream.next()).params.notifications, {})
        await stream.close()
      })

      for (const [part, rule] of [
        ['denied', { denied: [diary] }],
        ['excluded_patterns', { excluded_patterns: [diary] }],
        [
          'excluded_patterns without a pattern that grants',
          { excluded_patterns: [diary], patterns: ['x'], merge: false },
        ],
      ] as const) {
        it(`reads every property except the one in ${part} (MCP-12)`, async () => {
          const { read, resources } = await world(rule)
          const own = (await resources()).filter((uri) => uri.startsWith('actingweb://') && uri !== all)
          assert.deepEqual(own, ['actingweb://properties/caf%C3%A9', color, log])
          assert.equal(await read(color), '"red"')
          for (const uri of [diary, 'actingweb://properties/%64iary', `${diary}/items/0`])
            assert.equal(await read(uri), 403, uri)
        })
      }

      it('reads all values without the denied property (MCP-12)', async () => {
        const { read } = await world({ denied: [diary] })
        assert.equal(await read(all), '{"café":1,"color":"red"}')
      })

      it('is denied the property in either spelling of its name (ACL-09)', async () => {
        for (const pattern of ['actingweb://properties/café', 'actingweb://properties/caf%C3%A9']) {
          const { read, resources } = await world({ denied: [pattern] })
          assert.equal(await read('actingweb://properties/caf%C3%A9'), 403, pattern)
          assert.equal((await resources()).includes('actingweb://properties/caf%C3%A9'), false, pattern)
        }
      })

      it('reads nothing that the rule covers without the operation read', async () => {
        const { read, resources } = await world({ patterns: ['actingweb://*'], operations: ['write'], merge: false })
        assert.deepEqual(await resources(), [])
        assert.equal(await read(color), 403)
      })

      it('reads no property that the rules on properties do not grant', async () => {
        const service = await start({ declare: notes })
        const actor = await service.createActor()
        await actor.request('PUT', '/properties/color', 'red')
        const client = await authorizeClient(service, actor, { relationship: 'viewer' })
        const path = `/trust/viewer/${encodeURIComponent(client.peerId)}/permissions`
        assert.equal((await actor.request('PUT', path, { resources: { allowed: ['*'] } })).status, 201)
        assert.equal((await client.modern('resources/read', { uri: color })).body.error.code, 403)
        assert.deepEqual((await client.modern('resources/read', { uri: all })).body.result.contents[0].text, '{}')
      })
    })

    it('loses every permission when its approval is withdrawn, also those granted by name (ACL-12)', async () => {
      const service = await start({ declare: notes })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const client = await authorizeClient(service, actor, { relationship: 'friend' })
      const path = `/trust/friend/${encodeURIComponent(client.peerId)}`
      const rights = {
        tools: { allowed: ['*'] },
        prompts: { allowed: ['*'] },
        resources: { allowed: ['*'] },
        properties: { patterns: ['*'], operations: ['read'] },
      }
      assert.equal((await actor.request('PUT', `${path}/permissions`, rights)).status, 201)
      const calls = [
        ['tools/call', { name: 'count' }],
        ['resources/read', { uri: 'actingweb://properties/color' }],
        ['resources/read', { uri: 'notes://status' }],
      ] as const
      for (const [method, params] of calls) assert.equal((await client.modern(method, params)).body.error, undefined)
      assert.equal((await actor.request('PUT', path, { approved: false })).status, 204)
      for (const [method, params] of calls)
        assert.equal((await client.modern(method, params)).body.error.code, 403, method)
      assert.deepEqual((await client.modern('tools/list')).body.result.tools, [])
      assert.deepEqual((await client.modern('resources/list')).body.result.resources, [])
    })

    it('finds no resource of the application below actingweb://properties/, because the start refuses it', async () => {
      const declare = (app: App): void => {
        app.method('color', { mcp: { resource: { uri: 'actingweb://properties/color' } } }, () => 'blue')
      }
      await assert.rejects(
        start({ declare }),
        /Cannot declare the resource "actingweb:\/\/properties\/color": actingweb:\/\/properties\/ is reserved for the properties of the actor/,
      )
    })

    it('reads properties although a resource of the application matches every URI', async () => {
      const service = await start({
        declare: (app) =>
          app.method('any', { mcp: { resource: { uri: 'actingweb://{+path}' } } }, () => 'the application'),
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const client = await authorizeClient(service, actor)
      const read = async (uri: string): Promise<unknown> =>
        (await client.modern('resources/read', { uri })).body.result.contents[0].text
      assert.equal(await read('actingweb://properties/color'), '"red"')
      assert.equal(await read('actingweb://weather'), 'the application')
    })

    it('is denied a resource in every spelling of its URI (MCP-12)', async () => {
      const service = await start({
        declare: (app) => {
          app.method('letter', { mcp: { resource: { uri: 'letters://{folder}/{id}' } } }, async ({ input }) => input)
          app.method('paper', { mcp: { resource: { uri: 'papers://{+path}' } } }, async ({ input }) => input)
        },
      })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'friend' })
      const path = `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`
      const rights = { resources: { excluded_patterns: ['letters://private/*'], denied: ['papers://private/*'] } }
      assert.equal((await actor.request('PUT', path, rights)).status, 201)
      const codeOf = async (uri: string): Promise<unknown> =>
        (await client.modern('resources/read', { uri })).body.error?.code ?? 'read'
      assert.equal(await codeOf('letters://public/1'), 'read')
      assert.equal(await codeOf('letters://caf%C3%A9/1'), 'read')
      assert.equal(await codeOf('papers://public/a%20b'), 'read')
      for (const uri of [
        'letters://private/1',
        'letters://%70rivate/1',
        'letters://privat%65/1',
        'papers://private/1',
        'papers://private%2F1',
        'papers://%70rivate/1',
      ]) {
        assert.equal(await codeOf(uri), 403, uri)
      }
    })

    it('receives lists in pages, with cursors that are valid only for this caller and list', async () => {
      const service = await start()
      const actor = await service.createActor()
      const values = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`p${String(n).padStart(3, '0')}`, n]))
      await actor.request('PUT', '/properties', values)
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const other = await authorizeClient(service, actor, { relationship: 'admin' })
      const first = await client.legacy('resources/list')
      assert.equal(first.body.result.resources.length, 100)
      const { nextCursor: cursor } = first.body.result
      const second = await client.legacy('resources/list', { cursor })
      assert.equal(second.body.result.resources.length, 51)
      assert.equal(second.body.result.nextCursor, undefined)
      const uris = [...first.body.result.resources, ...second.body.result.resources].map(({ uri }) => uri)
      assert.equal(new Set(uris).size, 151)
      assert.equal((await other.legacy('resources/list', { cursor })).body.error.code, -32602)
      assert.equal((await client.legacy('tools/list', { cursor })).body.error.code, -32602)
    })

    it('receives 503 with Retry-After, never 401, when its token cannot be checked now (MCP-13, R-MCP-07)', async () => {
      let broken = false
      const service = await start({
        declare: notes,
        wrapStore: (store) =>
          new Proxy(store, {
            get(target, key, receiver) {
              if (key === 'read' && broken) {
                return () => Promise.reject(new ServiceError('store_unavailable', undefined, { retryAfterSeconds: 1 }))
              }
              const value: unknown = Reflect.get(target, key, receiver)
              return typeof value === 'function' ? value.bind(target) : value
            },
          }),
      })
      const client = await authorizeClient(service, await service.createActor())
      broken = true
      const during = await client.legacy('tools/list')
      assert.equal(during.status, 503)
      assert.ok(Number(during.headers.get('retry-after')) >= 1)
      broken = false
      assert.equal((await client.legacy('tools/list')).status, 200)
    })
  })
})

describe('elicitation in rounds', () => {
  const start = sqliteService()
  const form = {
    message: 'Who are you?',
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  }
  const declare = (app: App): void => {
    app.action('greet', { mcp: true }, async ({ mcp }) => {
      const answer = await mcp?.elicit('user_name', form)
      return answer?.action === 'accept' ? `Hello, ${String(answer.content['name'])}!` : 'Never mind.'
    })
    app.action('twice', { mcp: true }, async ({ mcp }) => {
      const one = await mcp?.elicit('step1', form)
      const two = await mcp?.elicit('step2', { ...form, message: 'And you?' })
      return { one, two }
    })
  }
  const elicitation = { capabilities: { elicitation: {} } }

  it('asks the client, and continues with its response', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const asked = await client.modern('tools/call', { name: 'greet' }, elicitation)
    assert.equal(asked.body.result.resultType, 'input_required')
    assert.deepEqual(asked.body.result.inputRequests, {
      user_name: {
        method: 'elicitation/create',
        params: { mode: 'form', message: 'Who are you?', requestedSchema: form.schema },
      },
    })
    const { requestState } = asked.body.result
    const answered = await client.modern(
      'tools/call',
      { name: 'greet', inputResponses: { user_name: { action: 'accept', content: { name: 'Alice' } } }, requestState },
      elicitation,
    )
    assert.equal(answered.body.result.resultType, 'complete')
    assert.equal(answered.body.result.content[0].text, 'Hello, Alice!')
  })

  it('keeps earlier responses, and gives each round its own state', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const call = (params: object) => client.modern('tools/call', { name: 'twice', ...params }, elicitation)
    const accept = (name: string) => ({ action: 'accept', content: { name } })
    const first = await call({})
    assert.deepEqual(Object.keys(first.body.result.inputRequests), ['step1'])
    const second = await call({
      inputResponses: { step1: accept('A') },
      requestState: first.body.result.requestState,
    })
    assert.deepEqual(Object.keys(second.body.result.inputRequests), ['step2'])
    assert.notEqual(second.body.result.requestState, first.body.result.requestState)
    const third = await call({
      inputResponses: { step2: accept('B') },
      requestState: second.body.result.requestState,
    })
    assert.deepEqual(third.body.result.structuredContent, { one: accept('A'), two: accept('B') })
  })

  it('asks again when a response does not match the form', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    for (const content of [7, null, {}, { name: 3 }]) {
      const again = await client.modern(
        'tools/call',
        { name: 'greet', inputResponses: { user_name: { action: 'accept', content } } },
        elicitation,
      )
      assert.equal(again.body.result.resultType, 'input_required')
    }
  })

  it('refuses a state that was changed, or that belongs to another call or another caller', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const other = await authorizeClient(service, actor)
    const first = await client.modern('tools/call', { name: 'twice' }, elicitation)
    const { requestState } = first.body.result
    const inputResponses = { step1: { action: 'accept', content: { name: 'A' } } }
    const code = async (who: typeof client, params: object): Promise<unknown> =>
      (await who.modern('tools/call', { inputResponses, requestState, ...params }, elicitation)).body.error?.code
    assert.equal(await code(client, { name: 'twice' }), undefined)
    assert.equal(await code(client, { name: 'twice', requestState: `${requestState}-TAMPERED` }), -32602)
    assert.equal(await code(client, { name: 'twice', requestState: 7 }), -32602)
    assert.equal(await code(client, { name: 'greet' }), -32602)
    assert.equal(await code(client, { name: 'twice', arguments: { more: 1 } }), -32602)
    assert.equal(await code(other, { name: 'twice' }), -32602)
  })

  it('is refused when the client did not declare it', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const modern = await client.modern('tools/call', { name: 'greet' })
    assert.equal(modern.status, 400)
    assert.deepEqual(modern.body.error, {
      code: -32021,
      message: 'Cannot ask the client: it did not declare the required capabilities',
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    })
    const legacy = await client.legacy('tools/call', { name: 'greet' })
    assert.equal(legacy.body.result.isError, true)
  })
})
