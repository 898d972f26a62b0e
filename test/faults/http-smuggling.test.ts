import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { before, describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { toNodeListener } from '../../src/http/edge/node.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { requestText, Wire } from '../support/wire.ts'
import { until } from '../support/until.ts'

/** Holds a handler until the test calls `open()`. */
class Gate {
  readonly #entered = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<void>()
  readonly entered = this.#entered.promise

  async pass(): Promise<void> {
    this.#entered.resolve()
    await this.#opened.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

describe('the HTTP parser', () => {
  const start = sqliteService()
  let service: TestService
  before(async () => {
    service = await start({ listen: true })
  })

  const chunked = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
  const refused: [what: string, request: string][] = [
    [
      'Content-Length beside Transfer-Encoding',
      requestText('POST', '/', { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }, '0\r\n\r\n'),
    ],
    [
      'Transfer-Encoding beside Content-Length',
      requestText('POST', '/', { 'Transfer-Encoding': 'chunked', 'Content-Length': '5' }, '0\r\n\r\n'),
    ],
    ['two different lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x'],
    ['the same length twice', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}'],
    ['a list of lengths', requestText('POST', '/', { 'Content-Length': '2, 2' }, '{}')],
    ['a length with a sign', requestText('POST', '/', { 'Content-Length': '+2' }, '{}')],
    ['a negative length', requestText('POST', '/', { 'Content-Length': '-2' }, '{}')],
    ['a length in hex', requestText('POST', '/', { 'Content-Length': '0x2' }, '{}')],
    ['a length beyond 64 bits', requestText('POST', '/', { 'Content-Length': '99999999999999999999' }, '{}')],
    ['a chunk size that is not a number', requestText('POST', '/', chunked, 'zz\r\n{}\r\n0\r\n\r\n')],
    ['a negative chunk size', requestText('POST', '/', chunked, '-2\r\n{}\r\n0\r\n\r\n')],
    ['a chunk size with 0x', requestText('POST', '/', chunked, '0x2\r\n{}\r\n0\r\n\r\n')],
    ['a chunk size beyond 64 bits', requestText('POST', '/', chunked, 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n')],
    ['a chunk longer than its size', requestText('POST', '/', chunked, '2\r\n{}X\r\n0\r\n\r\n')],
    ['a chunk size that ends in a bare LF', requestText('POST', '/', chunked, '2\n{}\r\n0\r\n\r\n')],
    ['a chunk extension that ends in a bare LF', requestText('POST', '/', chunked, '2;a\n{}\r\n0\r\n\r\n')],
    ['a chunk that ends in a bare LF', requestText('POST', '/', chunked, '2\r\n{}\n0\r\n\r\n')],
    ['chunked that is not the last coding', requestText('POST', '/', { 'Transfer-Encoding': 'chunked, gzip' }, '{}')],
    ['a coding that only looks like chunked', requestText('POST', '/', { 'Transfer-Encoding': 'xchunked' }, '{}')],
    ['chunked in quotes', requestText('POST', '/', { 'Transfer-Encoding': '"chunked"' }, '0\r\n\r\n')],
    [
      'chunked twice',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['lines that end in a bare LF', 'GET /health/live HTTP/1.1\nHost: x\n\n'],
    ['a header that ends in a bare LF', 'GET /health/live HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n'],
    ['a header that ends in a bare CR', 'GET /health/live HTTP/1.1\r\nHost: x\rX-A: b\r\n\r\n'],
    ['a space before the colon', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}'],
    ['a tab before the colon', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n'],
    ['a header that begins with a space', 'GET /health/live HTTP/1.1\r\n Host: x\r\n\r\n'],
    ['a folded header', 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n'],
    ['a folded coding', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n'],
    ['a header without a colon', 'GET /health/live HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'],
    ['a header without a name', 'GET /health/live HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['a space in a header name', 'GET /health/live HTTP/1.1\r\nHost: x\r\nX A: y\r\n\r\n'],
    ['NUL in a header', 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n'],
    ['a version that does not exist', 'GET /health/live HTTP/1.7\r\nHost: x\r\n\r\n'],
    ['HTTP/2 without an upgrade', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a path with a space', 'GET /health live HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a path with a control character', 'GET /health/\x01 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a path with bytes beyond ASCII', 'GET /caf\xe9 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ]
  for (const [what, text] of refused) {
    it(`rejects ${what} with 400, closes the connection and reads no further request from it (HTTP-09)`, async () => {
      service.reset()
      const wire = await Wire.open(service.url)
      wire.send(`${text}${requestText('POST', '/', { 'Content-Type': 'application/json' }, '{"creator":"smuggled"}')}`)
      const answers = await wire.untilClosed()
      assert.deepEqual(
        answers.map(({ status, headers }) => [status, headers.get('connection')]),
        [[400, 'close']],
      )
      assert.deepEqual(service.statements, [])
    })
  }

  for (const [what, text, why] of [
    ['two Host fields', 'GET /health/live HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 'it has two Host fields'],
    ['no Host field', 'GET /health/live HTTP/1.1\r\n\r\n', 'it has no Host field'],
    ['HTTP/0.9', 'GET /health/live\r\n\r\n', 'it is older than HTTP/1.0'],
  ] as const) {
    it(`rejects ${what} with a regular 400 response (HTTP-09)`, async () => {
      const wire = await Wire.open(service.url)
      const { status, headers, body } = await wire.send(text).answer()
      assert.equal(status, 400)
      assert.equal(body, `{"error":"bad_request","message":"Cannot serve this request: ${why}"}`)
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      wire.close()
    })
  }

  for (const [what, fields] of [
    ['keep-alive', { Connection: 'keep-alive' }],
    ['close', { Connection: 'close' }],
    ['no Connection field', {}],
    ['a list of options', { Connection: 'foo, Keep-Alive' }],
  ] as const)
    for (const coding of ['chunked', 'Chunked', 'gzip, chunked'])
      it(`rejects HTTP/1.0 with Transfer-Encoding: ${coding} and ${what}, and serves nothing after it (HTTP-09)`, async () => {
        service.reset()
        const wire = await Wire.open(service.url)
        const body = JSON.stringify({ creator: 'ada@example.com' })
        const smuggled = requestText(
          'POST',
          '/',
          { 'Content-Type': 'application/json', 'Content-Length': `${body.length}` },
          body,
        )
        const head = { 'Content-Type': 'application/json', 'Transfer-Encoding': coding, ...fields }
        const first = requestText('POST', '/', head, '2\r\n{}\r\n0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0')
        const answers = await wire.send(first + smuggled).untilClosed()
        assert.deepEqual(
          answers.map(({ status, headers }) => [status, headers.get('connection')]),
          [[400, 'close']],
        )
        assert.deepEqual(service.statements, [])
      })

  it('serves HTTP/1.0 without a Host field and closes the connection (HTTP-09)', async () => {
    const wire = await Wire.open(service.url)
    const [answer] = await wire.send('GET /health/live HTTP/1.0\r\n\r\n').untilClosed()
    assert.equal(answer?.status, 200)
  })

  it('rejects a compressed body with 501, closes the connection and creates no actor (HTTP-09, HTTP-12)', async () => {
    service.reset()
    const wire = await Wire.open(service.url)
    wire.send(
      requestText(
        'POST',
        '/',
        { 'Content-Type': 'application/json', 'Transfer-Encoding': 'gzip, chunked' },
        '2\r\n{}\r\n0\r\n\r\n',
      ),
    )
    const answers = await wire.untilClosed()
    assert.deepEqual(
      answers.map(({ status }) => status),
      [501],
    )
    assert.deepEqual(service.statements, [])
  })

  it('serves the path of an absolute-form target, whatever host it names (RFC 9112 §3.2.2) (HTTP-09)', async () => {
    const wire = await Wire.open(service.url)
    wire.send(requestText('GET', 'http://elsewhere.test/health/live'))
    wire.send(requestText('GET', 'http://elsewhere.test'))
    wire.send(requestText('GET', 'http://elsewhere.test?x=1'))
    wire.send(requestText('GET', 'ftp://elsewhere.test/health/live'))
    const answers = await wire.answers(4)
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.get('content-type')]),
      [
        [200, 'application/json'],
        [200, 'text/html; charset=utf-8'],
        [200, 'text/html; charset=utf-8'],
        [400, 'application/json'],
      ],
    )
    wire.close()
  })

  it('gives invalid HTTP a JSON response with a request id and nosniff (HTTP-09, R-OBS-01)', async () => {
    const wire = await Wire.open(service.url)
    const [answer] = await wire.send('GET /health live HTTP/1.1\r\nHost: x\r\n\r\n').untilClosed()
    assert.equal(answer?.body, '{"error":"bad_request","message":"The request is not valid HTTP"}')
    assert.equal(answer.headers.get('content-type'), 'application/json')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
  })

  it('never copies a sender’s request id with unsafe characters into a header (HTTP-08)', async () => {
    for (const id of ['a\tb', 'a b', 'a"b', '<x>', 'é', 'x'.repeat(129), '', 'a\\r\\nSet-Cookie: x=1']) {
      const wire = await Wire.open(service.url)
      const { status, headers } = await wire.send(requestText('GET', '/health/live', { 'X-Request-ID': id })).answer()
      assert.equal(status, 200)
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
      assert.equal(headers.has('set-cookie'), false)
      wire.close()
    }
  })

  for (const [what, id] of [
    ['CR', 'a\rSet-Cookie: x=1'],
    ['LF', 'a\nSet-Cookie: x=1'],
    ['NUL', 'a\0b'],
  ] as const) {
    it(`rejects a request id with ${what} and copies no part of it into the response (HTTP-08)`, async () => {
      const wire = await Wire.open(service.url)
      wire.send(requestText('GET', '/health/live', { 'X-Request-ID': id }))
      // Parsers disagree whether a bare LF ends the field, so the request must be rejected.
      const answers = await wire.untilClosed()
      assert.deepEqual(
        answers.map(({ status, headers }) => [status, headers.has('set-cookie')]),
        [[400, false]],
      )
    })
  }

  it('keeps line breaks of path and query percent-encoded in Location (HTTP-08)', async () => {
    const wire = await Wire.open(service.url)
    const { status, headers } = await wire.send(requestText('GET', '/x%0d%0aSet-Cookie:y=1/?a=%0d%0ab')).answer()
    assert.equal(status, 307)
    assert.equal(headers.get('location'), `${service.url}/x%0d%0aSet-Cookie:y=1?a=%0d%0ab`)
    assert.equal(headers.has('set-cookie'), false)
    wire.close()
  })
})

describe('several requests on one connection', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  let gate: Gate
  let calls: string[]
  before(async () => {
    service = await start({
      listen: true,
      declare: (app) => {
        app.action('slow', async ({ input }) => {
          calls.push(`slow ${JSON.stringify(input)}`)
          await gate.pass()
          return { done: true }
        })
        app.action('quick', ({ input }) => {
          calls.push(`quick ${JSON.stringify(input)}`)
          return { quick: true }
        })
      },
    })
    actor = await service.createActor()
  })

  const authorized = (): Record<string, string> => ({ Authorization: actor.authorization })

  it('get their responses in order, and a read after a write sees its value (HTTP-09)', async () => {
    const wire = await Wire.open(service.url)
    const values = Array.from({ length: 20 }, (_, index) => String(index))
    wire.send(
      values
        .flatMap((value) => [
          requestText('PUT', `/${actor.id}/properties/p`, authorized(), value),
          requestText('GET', `/${actor.id}/properties/p`, authorized()),
        ])
        .join(''),
    )
    const answers = await wire.answers(40)
    assert.deepEqual(
      answers.map(({ status, body }) => (status === 204 ? 'written' : body)),
      values.flatMap((value) => ['written', value]),
    )
    wire.close()
  })

  it('are served one at a time: the second starts after the response to the first (HTTP-09)', async () => {
    gate = new Gate()
    calls = []
    const wire = await Wire.open(service.url)
    wire.send(
      requestText('POST', `/${actor.id}/actions/slow`, authorized(), '{"n":1}') +
        requestText('POST', `/${actor.id}/actions/quick`, authorized(), '{"n":2}'),
    )
    await gate.entered
    // Another connection is not blocked. Its response shows that the service had time to start the second request.
    assert.equal((await actor.request('POST', '/actions/quick', { n: 3 })).status, 200)
    assert.deepEqual(calls, ['slow {"n":1}', 'quick {"n":3}'])
    gate.open()
    const answers = await wire.answers(2)
    assert.deepEqual(
      answers.map(({ body }) => body),
      ['{"done":true}', '{"quick":true}'],
    )
    assert.deepEqual(calls, ['slow {"n":1}', 'quick {"n":3}', 'quick {"n":2}'])
    wire.close()
  })

  it('followed by garbage get their own response, and then the connection ends (HTTP-09)', async () => {
    gate = new Gate()
    calls = []
    const wire = await Wire.open(service.url)
    wire.send(`${requestText('POST', `/${actor.id}/actions/slow`, authorized(), '{}')}NO HTTP AT ALL\r\n\r\n`)
    await gate.entered
    await service.request('/health/live')
    gate.open()
    const answers = await wire.untilClosed()
    assert.deepEqual(
      answers.map(({ status, body, headers }) => [status, body, headers.get('connection')]),
      [[200, '{"done":true}', 'close']],
    )
  })

  it('do not receive bytes beyond the declared length in their body (HTTP-01, HTTP-09)', async () => {
    const wire = await Wire.open(service.url)
    wire.send(
      requestText('PUT', `/${actor.id}/properties/short`, { ...authorized(), 'Content-Length': '2' }, 'hello there'),
    )
    assert.equal((await wire.untilClosed())[0]?.status, 204)
    assert.equal(await (await actor.request('GET', '/properties/short')).text(), 'he')
  })

  const unread: [
    what: string,
    status: number,
    method: string,
    path: () => string,
    headers: () => Record<string, string>,
  ][] = [
    ['401', 401, 'PUT', () => `/${actor.id}/properties/unread`, () => ({})],
    ['403', 403, 'PUT', () => `/${actor.id}/properties/unread`, () => ({ Authorization: 'Basic eDp5' })],
    ['404 for an actor', 404, 'PUT', () => '/missing/properties/unread', () => ({})],
    ['404 for a path', 404, 'POST', () => '/a/b/c/d/e', () => ({})],
    ['405', 405, 'PATCH', () => `/${actor.id}/properties/unread`, authorized],
    ['414', 414, 'PUT', () => `/${'a'.repeat(8200)}`, () => ({})],
    ['501', 501, 'PROPFIND', () => '/', () => ({})],
    ['415', 415, 'POST', () => '/', () => ({ 'Content-Type': 'image/png' })],
  ]
  for (const [what, status, method, path, headers] of unread) {
    it(`continue after ${what} with an unread body, which is never parsed as a request (HTTP-09)`, async () => {
      const inside = requestText('DELETE', `/${actor.id}`, authorized())
      const wire = await Wire.open(service.url)
      wire.send(requestText(method, path(), headers(), inside) + requestText('GET', '/health/live'))
      const answers = await wire.answers(2)
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [status, 200],
      )
      assert.match(answers[1]?.body ?? '', /^\{"status":"live",/)
      wire.close()
      assert.equal((await actor.request('GET', '')).status, 200)
      assert.equal((await actor.request('GET', '/properties/unread')).status, 404)
    })
  }

  it('may use Expect: 100-continue and get 100 before the response (HTTP-01)', async () => {
    const wire = await Wire.open(service.url)
    wire.send(
      requestText('PUT', `/${actor.id}/properties/expected`, {
        ...authorized(),
        Expect: '100-continue',
        'Content-Length': '5',
      }),
    )
    assert.equal((await wire.answer()).status, 100)
    const answers = await wire.send('hello').answers(2)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [100, 204],
    )
    assert.equal(await (await actor.request('GET', '/properties/expected')).text(), 'hello')
    wire.close()
  })

  it('may have an unknown expectation, which is ignored (R-OBS-01)', async () => {
    const wire = await Wire.open(service.url)
    const { status, headers } = await wire
      .send(requestText('GET', '/health/live', { Expect: 'the-impossible', 'X-Request-ID': 'expecting' }))
      .answer()
    assert.deepEqual([status, headers.get('x-request-id')], [200, 'expecting'])
    wire.close()
  })
})

describe('connections that break', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({ listen: true })
    actor = await service.createActor()
  })

  const running = async (): Promise<string | undefined> =>
    /^troupe_http_requests_running (\d+)$/m.exec(await (await service.request('/metrics')).text())?.[1]

  /** Resolves when the request for the metrics is the only one in progress. */
  const settled = (): Promise<void> => until(async () => (await running()) === '1')

  it('during an upload change nothing, whichever byte was the last (HTTP-01)', async () => {
    const whole = requestText(
      'PUT',
      `/${actor.id}/properties/broken`,
      { Authorization: actor.authorization },
      'a value that never comes whole',
    )
    const bodyFrom = whole.indexOf('\r\n\r\n') + 4
    for (let cut = 0; cut < whole.length; cut += cut < bodyFrom - 5 ? 37 : 3) {
      const wire = await Wire.open(service.url)
      wire.send(whole.slice(0, cut))
      if (cut % 2 === 0) wire.reset()
      else wire.socket.end()
      await wire.untilClosed()
      assert.doesNotMatch(wire.received, /HTTP\/1\.1 2/)
    }
    await settled()
    assert.equal((await actor.request('GET', '/properties/broken')).status, 404)
    assert.deepEqual(service.changes, [])
  })

  it('before the last chunk of an upload change nothing (HTTP-01)', async () => {
    for (const part of ['5\r\nhello', '5\r\nhello\r\n', '5\r\nhello\r\n0\r\n', '5\r\nhello\r\n0\r\nX-Trailer: 1\r\n']) {
      for (const how of ['end', 'reset'] as const) {
        const wire = await Wire.open(service.url)
        wire.send(
          requestText(
            'PUT',
            `/${actor.id}/properties/broken`,
            { Authorization: actor.authorization, 'Transfer-Encoding': 'chunked' },
            part,
          ),
        )
        if (how === 'end') wire.socket.end()
        else wire.reset()
        await wire.untilClosed()
      }
    }
    await settled()
    assert.equal((await actor.request('GET', '/properties/broken')).status, 404)
  })

  it('before the handler reads the body make the read fail instead of wait (HTTP-01)', async (t) => {
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>()
    const { promise: outcome, resolve: tell } = Promise.withResolvers<unknown>()
    const server = createServer(
      toNodeListener(async (request) => {
        await gone
        tell(await request.body(1000).catch((error: unknown) => error))
        return { status: 204, headers: {}, body: null }
      }),
    )
    t.after(() => server.close())
    server.on('connection', (socket) => socket.once('close', () => leave()))
    server.on('request', () => wire.reset())
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const wire = await Wire.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    wire.send(requestText('PUT', '/', { 'Content-Length': '50' }, 'hello'))
    const error = await outcome
    assert.ok(error instanceof ServiceError)
    assert.deepEqual([error.code, error.message], ['bad_request', 'Cannot read the body: the connection broke'])
  })

  it('after a rejected upload are closed only when the client has the response, which a reset could destroy (HTTP-01)', async (t) => {
    const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>()
    const server = createServer(
      toNodeListener(async (request) => {
        await assert.rejects(request.body(1000), { code: 'payload_too_large' })
        return { status: 413, headers: { Connection: 'close', 'Content-Length': '2' }, body: '{}' }
      }),
    )
    t.after(() => server.close())
    server.on('connection', accept)
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const wire = await Wire.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    wire.send(requestText('PUT', '/', { 'Content-Length': '5000000' }, 'x'.repeat(200_000)))
    const { status, body } = await wire.answer()
    assert.deepEqual([status, body, (await accepted).destroyed], [413, '{}', false])
    await wire.untilClosed()
  })

  it('after a CONNECT get 405 and are closed (HTTP-13)', async () => {
    const wire = await Wire.open(service.url)
    const [answer, ...more] = await wire.send('CONNECT inside.test:443 HTTP/1.1\r\nHost: x\r\n\r\nhello').untilClosed()
    assert.equal(answer?.status, 405)
    assert.equal(answer.headers.get('allow'), 'GET, HEAD')
    assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
    assert.deepEqual(more, [])
  })

  it('during a CONNECT do not stop the service (HTTP-13)', async () => {
    // The service runs in this process, so an unhandled error event would end the test run.
    for (let round = 0; round < 20; round += 1) {
      const wire = await Wire.open(service.url)
      wire.send(`CONNECT inside.test:443 HTTP/1.1\r\nHost: x\r\n\r\n${'x'.repeat(100_000)}`)
      if (round % 2 === 0) await wire.answer()
      wire.reset()
    }
    assert.equal((await service.request('/health/live')).status, 200)
  })

  it('are closed after a rejection even when the client never closes them (HTTP-10)', async () => {
    // The client keeps its half open, so only the service can end these connections.
    for (const text of ['CONNECT inside.test:443 HTTP/1.1\r\nHost: x\r\n\r\n', 'NO HTTP\r\n\r\n']) {
      const wire = await Wire.open(service.url)
      wire.socket.allowHalfOpen = true
      wire.send(text)
      await new Promise((resolve) => wire.socket.once('end', resolve))
      // The read half ended with the response. Once the service closes the socket, it answers writes with a reset.
      const timer = setInterval(() => wire.socket.write('x'), 20)
      await wire.untilClosed()
      clearInterval(timer)
    }
  })
})
