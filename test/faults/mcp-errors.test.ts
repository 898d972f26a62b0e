/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment -- what the protocol answers is read as it comes, and compared with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { catalogue, type ErrorCode, ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { authorizeClient, type TestClient } from '../support/mcp-client.ts'
import { forEachService, sqliteService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

const codes = Object.keys(catalogue) as ErrorCode[]

/** Only the log has the reason and the cause. */
const detail = { reason: 'the reason is hunter2', cause: new Error('the cause is hunter2'), retryAfterSeconds: 7 }

const thrown = (code: string): never => {
  throw new ServiceError(code as ErrorCode, `The shelf says ${code}`, detail)
}

function declare(app: App): void {
  app.action('shelve', { input: z.object({ code: z.string() }), mcp: true }, ({ input }) => thrown(input.code))
  app.action('default', { input: z.object({ code: z.string() }), mcp: true }, ({ input }) => {
    throw new ServiceError(input.code as ErrorCode, undefined, detail)
  })
  app.action('measure', { mcp: { output: z.object({ total: z.number() }) } }, () => thrown('unavailable'))
  app.action('misfit', { mcp: { output: z.object({ total: z.number() }) } }, () => ({ total: 'hunter2' }))
  app.action('silent', { mcp: { output: z.object({ total: z.number() }) } }, () => null)
  app.action('look', { mcp: true }, () => 'seen')
  app.action('cyclic', { mcp: true }, () => {
    const ring: Record<string, unknown> = {}
    ring['hunter2'] = ring
    return ring
  })
  app.method(
    'advise',
    {
      input: z.object({ code: z.string() }),
      mcp: { prompt: { arguments: [{ name: 'code', complete: ({ value }) => thrown(value) }] } },
    },
    ({ input }) => thrown(input.code),
  )
  app.method('shelf', { mcp: { resource: { uri: 'house://shelves/{code}' } } }, ({ input }) =>
    thrown((input as { code: string }).code),
  )
}

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const

function call(client: TestClient, revision: (typeof revisions)[number], method: string, params: object) {
  return revision === '2026-07-28'
    ? client.modern(method, params)
    : client.legacy(method, params, { 'mcp-protocol-version': revision })
}

describe('an error that a handler of an AI client throws deliberately', () => {
  const start = sqliteService()

  it('is a result with text and code for the model, whatever its code and the revision of the client (MCP-22)', async () => {
    const service = await start({ declare, rateLimits: { '*': null } })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    for (const code of codes)
      for (const revision of revisions) {
        const { status, body } = await call(client, revision, 'tools/call', { name: 'shelve', arguments: { code } })
        const what = `${code} ${revision} ${JSON.stringify(body)}`
        assert.deepEqual([status, typeof body.id, body.result?.isError], [200, 'number', true], what)
        const text = `The shelf says ${code} (${code}). Try again in 7 s`
        assert.deepEqual(body.result.content, [{ type: 'text', text }], what)
        assert.doesNotMatch(JSON.stringify(body), /hunter2/)
      }
  })

  it('has the text of the catalogue when the handler gave none, except for a defect of the service (MCP-22)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    for (const code of codes) {
      const { body } = await client.legacy('tools/call', { name: 'default', arguments: { code } })
      const text =
        code === 'server_error'
          ? 'The tool failed. Only the log of the service has the details.'
          : `${catalogue[code].text} (${code}). Try again in 7 s`
      assert.deepEqual(body.result, { content: [{ type: 'text', text }], isError: true }, code)
    }
  })

  it('is an error with text and code for prompts, resources and completions (MCP-22)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    for (const code of codes)
      for (const [method, params] of [
        ['prompts/get', { name: 'advise', arguments: { code } }],
        ['resources/read', { uri: `house://shelves/${code}` }],
        [
          'completion/complete',
          { ref: { type: 'ref/prompt', name: 'advise' }, argument: { name: 'code', value: code } },
        ],
      ] as const)
        for (const revision of ['2024-11-05', '2025-11-25', '2026-07-28'] as const) {
          const { status, body } = await call(client, revision, method, params)
          const what = `${code} ${method} ${revision} ${JSON.stringify(body)}`
          assert.deepEqual([status, typeof body.id], [200, 'number'], what)
          assert.deepEqual([body.error.message, body.error.data], [`The shelf says ${code}`, { error: code }], what)
          assert.doesNotMatch(JSON.stringify(body), /hunter2/)
        }
    const unavailable = await client.legacy('resources/read', { uri: 'house://shelves/unavailable' })
    assert.equal(unavailable.body.error.code, -32603)
  })

  it('fits a tool with a declared output, and no defect of a handler shows its value (MCP-22)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    const results: unknown[] = []
    for (const name of ['measure', 'misfit', 'silent', 'cyclic'])
      results.push((await client.modern('tools/call', { name })).body.result.content[0].text)
    assert.deepEqual(results, [
      'The shelf says unavailable (unavailable). Try again in 7 s',
      'The tool returned output that violates its schema.',
      'The tool returned output that violates its schema.',
      'The tool failed. Only the log of the service has the details.',
    ])
    const lines = service.log.filter((each) => each.includes('violates its schema'))
    assert.equal(lines.length, 2)
    for (const line of lines) assert.doesNotMatch(line, /input|hunter2/)
  })
})

describe('an error of the service itself on /mcp', () => {
  forEachService((start) => {
    it('keeps its HTTP status and carries a JSON-RPC error, with the id where it is known (MCP-23)', async () => {
      let store: FaultyStore | undefined
      const service = await start({
        declare,
        maxBodyBytes: 2000,
        rateLimits: { '*': null, 'mcp/client': { count: 2, seconds: 60 } },
        wrapStore: (inner) => (store = faulty(inner)),
      })
      const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
      const sent = (id: unknown, params: object = { name: 'look' }): string =>
        JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
      const answered = async (response: Promise<Response> | Response): Promise<unknown> => {
        const { status, headers, text } = await Promise.resolve(response).then(async (each) => ({
          status: each.status,
          headers: each.headers,
          text: await each.text(),
        }))
        assert.match(headers.get('content-type') ?? '', /^application\/json/)
        const { jsonrpc, id, error, result } = JSON.parse(text)
        assert.deepEqual([jsonrpc, result], ['2.0', undefined], text)
        return [status, id, error.code, error.data?.error]
      }
      const elsewhere = client.send(sent('a'), { origin: 'https://evil.example.com' })
      assert.deepEqual(await answered(elsewhere), [403, undefined, -32600, 'forbidden'])
      const tooLarge = client.send(sent(1, { name: 'look', arguments: { text: 'x'.repeat(3000) } }))
      assert.deepEqual(await answered(tooLarge), [413, undefined, -32600, 'payload_too_large'])
      store?.plan({ matching: /permission|trust/, times: Number.POSITIVE_INFINITY })
      const down = await client.send(sent('token-read'))
      assert.equal(down.headers.get('retry-after'), '1')
      assert.deepEqual(((await answered(down)) as unknown[])[0], 503)
      store?.plan()
      for (const id of ['one', 7]) await client.send(sent(id))
      for (const id of ['text', 0, 7, -3]) {
        const limited = await client.send(sent(id))
        assert.match(limited.headers.get('retry-after') ?? '', /^\d+$/)
        assert.deepEqual(await answered(limited), [429, id, -32603, 'too_many_requests'])
      }
    })
  })
})
