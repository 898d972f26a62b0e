/** Handlers that return a `Response`: files, CSV and streams. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { type App, troupe } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { rawRequest } from '../support/raw-request.ts'
import { forEachService, sqliteService } from '../support/service.ts'
import { until } from '../support/until.ts'

const csv = 'day,amount\n2026-01-01,7\n'
const dataPolicy = "default-src 'none'; frame-ancestors 'none'"

/** A stream that counts the pieces it was asked for, and notes that it was canceled. */
function endless(): { readonly stream: ReadableStream<Uint8Array>; pulled: number; isCanceled: boolean } {
  const state = {
    pulled: 0,
    isCanceled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          state.pulled += 1
          controller.enqueue(new Uint8Array(65_536))
        },
        cancel() {
          state.isCanceled = true
        },
      },
      { highWaterMark: 0 },
    ),
  }
  return state
}

/** A stream with one piece that then fails. */
function failing(): ReadableStream<Uint8Array> {
  let pieces = 0
  return new ReadableStream(
    {
      pull(controller) {
        pieces += 1
        if (pieces > 1) controller.error(new Error('The disk is gone'))
        else controller.enqueue(new TextEncoder().encode('begun'))
      },
    },
    { highWaterMark: 0 },
  )
}

function declare(app: App): void {
  const file = (): Response =>
    new Response(csv, {
      headers: { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="a.csv"' },
    })
  app.action('export', file)
  app.method('export', { annotations: { readOnlyHint: true } }, file)
  app.resource('report', file)
  app.action('gone', () => new Response('Gone', { status: 410 }))
  app.action('nothing', () => new Response(null, { status: 204 }))
  app.action('html', () => new Response('<script>alert(1)</script>', { headers: { 'content-type': 'text/html' } }))
  app.action('svg', () => new Response('<svg/>', { headers: { 'content-type': 'image/svg+xml; charset=utf-8' } }))
  app.action('bytes', () => new Response(new Uint8Array([0, 255, 1])))
  app.action('failing', () => new Response(failing()))
  app.action('error', () => Response.error())
  app.action('used', async () => {
    const response = new Response('x')
    await response.text()
    return response
  })
  app.action('short', () => new Response('abc', { headers: { 'content-length': '5' } }))
  app.action('long', () => new Response('abcde', { headers: { 'content-length': '3' } }))
  app.action('headers', () => {
    const headers = {
      'set-cookie': 'session=stolen',
      'content-security-policy': 'default-src *',
      'x-frame-options': 'SAMEORIGIN',
      'x-content-type-options': 'none',
      'strict-transport-security': 'max-age=0',
      'referrer-policy': 'unsafe-url',
      'access-control-allow-origin': '*',
      'clear-site-data': '"*"',
      'service-worker-allowed': '/',
      'www-authenticate': 'Basic',
      'transfer-encoding': 'gzip',
      connection: 'close',
      'x-request-id': 'forged',
      'x-accel-redirect': '/etc/passwd',
      'x-accel-expires': '3600',
      'x-sendfile2': '/etc/passwd',
      'x-lighttpd-send-file': '/etc/passwd',
      'x-litespeed-location': '/etc/passwd',
      'x-total': '7',
      'cache-control': 'private, max-age=60',
      etag: '"7"',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
      location: 'https://example.com/elsewhere',
    }
    return new Response('x', { status: 202, headers })
  })
  app.callback('report', file)
  app.www(({ path }) => {
    if (path === 'report') return file()
    return path === 'page' ? new Response('<h1>Page</h1>', { headers: { 'content-type': 'text/html' } }) : null
  })
}

forEachService((start) => {
  describe('a stream', () => {
    // The MCP SDK for Go waits in Connect until it has the headers of its stream.
    it('has its headers before its first piece, from a handler and for AI clients', async () => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const late = (): Response =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              await released
              controller.enqueue(new TextEncoder().encode('late'))
              controller.close()
            },
          }),
        )
      const service = await start({ listen: true, declare: (app) => void app.action('late', late) })
      const actor = await service.createActor()
      const response = await actor.request('GET', '/actions/late')
      assert.equal(response.status, 200)
      const client = await authorizeClient(service, actor)
      const begun = await client.legacy('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'A program', version: '1' },
      })
      const events = await service.request('/mcp', {
        headers: {
          'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
          authorization: `Bearer ${client.token}`,
          accept: 'text/event-stream',
        },
      })
      assert.deepEqual([events.status, events.headers.get('content-type')], [200, 'text/event-stream'])
      await events.body?.cancel()
      release()
      assert.equal(await response.text(), 'late')
    })
  })

  describe('a Response of a handler', () => {
    it('is sent with its status, type and body, for methods, actions and resources', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      for (const [method, path] of [
        ['POST', '/actions/export'],
        ['GET', '/actions/export'],
        ['DELETE', '/actions/export'],
        ['POST', '/methods/export'],
        ['GET', '/methods/export'],
        ['DELETE', '/methods/export'],
        ['GET', '/resources/report'],
        ['POST', '/resources/report'],
      ] as const) {
        const answer = await actor.request(method, path, method === 'POST' ? {} : undefined)
        assert.deepEqual(
          [answer.status, answer.headers.get('content-type'), await answer.text()],
          [200, 'text/csv', csv],
          `${method} ${path}`,
        )
        assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="a.csv"')
        assert.equal(answer.headers.get('content-security-policy'), dataPolicy)
        assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      }
      const gone = await actor.request('POST', '/actions/gone', {})
      assert.deepEqual([gone.status, await gone.text()], [410, 'Gone'])
      const nothing = await actor.request('POST', '/actions/nothing', {})
      assert.deepEqual([nothing.status, await nothing.text()], [204, ''])
      const bytes = await actor.request('POST', '/actions/bytes', {})
      assert.equal(bytes.headers.get('content-type'), 'application/octet-stream')
      assert.deepEqual(new Uint8Array(await bytes.arrayBuffer()), new Uint8Array([0, 255, 1]))
    })

    it('sets headers about its content, and none that the service owns', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const { status, headers } = await actor.request('POST', '/actions/headers', {})
      assert.equal(status, 202)
      const sent = Object.fromEntries([...headers].filter(([name]) => name !== 'x-request-id'))
      assert.deepEqual(sent, {
        'cache-control': 'private, max-age=60',
        'content-security-policy': dataPolicy,
        'content-type': 'text/plain;charset=UTF-8',
        etag: '"7"',
        'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
        location: 'https://example.com/elsewhere',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-total': '7',
      })
      assert.notEqual(headers.get('x-request-id'), 'forged')
    })

    it('cannot show a document on the origin of the service', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      for (const name of ['html', 'svg']) {
        const answer = await actor.request('POST', `/actions/${name}`, {})
        assert.equal(answer.headers.get('content-security-policy'), `${dataPolicy}; sandbox`)
        await answer.body?.cancel()
      }
    })

    it('reaches HEAD without its body, and the body is canceled', async () => {
      const large = endless()
      const service = await start({
        declare: (app) =>
          app.resource('large', () => new Response(large.stream, { headers: { 'content-length': '7', etag: '"1"' } })),
      })
      const actor = await service.createActor()
      const answer = await actor.request('HEAD', '/resources/large')
      assert.deepEqual(
        [answer.status, answer.headers.get('etag'), answer.headers.get('content-length'), await answer.text()],
        [200, '"1"', '7', ''],
      )
      assert.deepEqual([large.pulled, large.isCanceled], [0, true])
    })

    it('is 500 when it cannot be sent, and for a callback, which returns JSON only', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      for (const [path, reason] of [
        ['/actions/error', 'Cannot send the Response of a handler: it has no status'],
        ['/actions/used', 'Cannot send the Response of a handler: it was read already'],
        [
          '/callbacks/report',
          'A handler returned a Response, which only methods, actions, resources and pages may return',
        ],
      ] as const) {
        service.log.length = 0
        const answer = await actor.request('POST', path, {})
        assert.equal(answer.status, 500, path)
        assert.ok(service.log.join('').includes(reason), service.log.join(''))
      }
    })

    it('is refused by JSON-RPC with the address that sends it', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const answer = await actor.request('POST', '/methods', { jsonrpc: '2.0', id: 1, method: 'export' })
      assert.deepEqual(await answer.json(), {
        jsonrpc: '2.0',
        error: {
          code: -32603,
          message: 'Internal error',
          data: `The method answers with an HTTP response: call it by POST /${actor.id}/methods/export`,
        },
        id: 1,
      })
    })

    it('is not kept for a repeated request, which gets 410 with the first status (CON-05)', async () => {
      let runs = 0
      const service = await start({
        declare: (app) =>
          app.action('export', () => {
            runs += 1
            return new Response(csv, { status: 201 })
          }),
      })
      const actor = await service.createActor()
      const call = (): Promise<Response> => actor.request('POST', '/actions/export', {}, { 'idempotency-key': 'one' })
      const first = await call()
      assert.deepEqual([first.status, await first.text()], [201, csv])
      const second = await call()
      assert.equal(second.status, 410)
      assert.equal(((await second.json()) as { first_status: number }).first_status, 201)
      assert.equal(runs, 1)
    })
  })
})

describe('a Response for an AI client', () => {
  it('is its text or JSON, and an error for other content and for a failure', async () => {
    const app = troupe({ type: 'urn:actingweb:example.com:responses' })
    const tools = {
      csv: () => new Response(csv, { headers: { 'content-type': 'text/csv' } }),
      json: () => Response.json({ total: 7 }),
      image: () => new Response(new Uint8Array(3), { headers: { 'content-type': 'image/png' } }),
      refused: () => new Response('No such day', { status: 404 }),
      long: () => new Response('x'.repeat(1_048_577)),
    }
    app.trustType({
      name: 'mcp_client',
      display_name: 'Assistant',
      description: 'Uses every tool',
      permissions: { tools: { allowed: Object.keys(tools) } },
    })
    for (const [name, handler] of Object.entries(tools)) app.action(name, { mcp: true }, handler)
    const t = await testing(app)
    try {
      const ai = await t.mcp(await t.signIn('ada@example.com'))
      const answers = await Promise.all(Object.keys(tools).map(async (name) => ai.call(name)))
      assert.deepEqual(
        answers.map(({ text, isError }) => [text, isError]),
        [
          [csv, false],
          ['{"total":7}', false],
          [
            'Cannot show the answer of "image": it is "image/png", and AI clients receive text and JSON only (bad_request)',
            true,
          ],
          ['"refused" answered with status 404: No such day (not_found)', true],
          ['Cannot show the answer of "long": it is longer than 1048576 bytes (bad_request)', true],
        ],
      )
      assert.deepEqual(answers[1]?.structured, { total: 7 })
    } finally {
      await t.close()
    }
  })
})

describe('a Response of a page handler', () => {
  const start = sqliteService()

  it('is sent to the owner, and HTML gets the policy of pages', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const report = await actor.request('GET', '/www/report')
    assert.deepEqual([report.status, await report.text()], [200, csv])
    assert.equal(report.headers.get('content-security-policy'), dataPolicy)
    const page = await actor.request('GET', '/www/page')
    assert.equal(await page.text(), '<h1>Page</h1>')
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      /^default-src 'none'; script-src http:\/\/[^ ]+\/assets\/; /,
    )
    assert.equal((await actor.request('GET', '/www/none')).status, 404)
  })
})

describe('a streamed Response', () => {
  const start = sqliteService()

  it('is read only as fast as the client reads, and canceled when the client leaves', async () => {
    const large = endless()
    const service = await start({
      listen: true,
      declare: (app) => app.action('large', () => new Response(large.stream)),
    })
    const actor = await service.createActor()
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /${actor.id}/actions/large HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\nContent-Length: 2\r\n\r\n{}`,
    )
    socket.pause()
    // Kernel buffers take a few megabytes. A stream without backpressure would continue without end.
    let before = -1
    await until(
      () => large.pulled > 0 && large.pulled === before,
      async () => {
        before = large.pulled
        // Real time: the buffers of the kernel fill within it, and nothing reports that they are full.
        await new Promise((resolve) => setTimeout(resolve, 200))
      },
    )
    assert.ok(large.pulled < 1000, String(large.pulled))
    assert.equal(large.isCanceled, false)
    socket.destroy()
    await until(() => large.isCanceled)
  })

  it('resets the connection when it fails, or has another length than announced', async () => {
    const service = await start({ listen: true, declare })
    const actor = await service.createActor()
    for (const [name, reason] of [
      ['failing', 'The disk is gone'],
      ['short', 'The body ended after 3 of 5 bytes that its Content-Length names'],
      ['long', 'The body is longer than its Content-Length, 3'],
    ] as const) {
      service.log.length = 0
      await assert.rejects(
        rawRequest(service.url, 'POST', `/${actor.id}/actions/${name}`, {
          headers: { authorization: actor.authorization },
          body: '{}',
        }),
        { code: 'ECONNRESET' },
        name,
      )
      assert.ok(service.log.join('').includes(reason), service.log.join(''))
    }
  })
})
