import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, it } from 'node:test'
import { toNodeListener } from '../../src/http/edge/node.ts'
import { workOf } from '../support/counted-work.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { requestText, Wire } from '../support/wire.ts'

const limit = 65_536
const tooLarge = { error: 'payload_too_large', message: 'Cannot read the body: it is larger than 65536 bytes' }

/** Sends until the server stops reading, closes the connection, or `maxBytes` are reached. Returns the bytes sent. */
async function pour(wire: Wire, maxBytes: number, frame: (piece: Buffer) => Buffer): Promise<number> {
  const piece = frame(Buffer.alloc(65_536, 'x'))
  let poured = 0
  const { socket } = wire
  while (poured < maxBytes && !wire.isClosed && socket.writable) {
    poured += piece.length
    if (socket.write(piece)) continue
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve)
      socket.once('close', () => resolve())
    })
  }
  await wire.untilClosed()
  return socket.bytesWritten - socket.writableLength
}

describe('the size limit of a body', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({
      listen: true,
      env: { TROUPE_MAX_BODY_BYTES: String(limit) },
      declare: (app) => app.action('echo', () => ({})).resource('picture', () => ({})),
    })
    actor = await service.createActor()
  })

  const targets: [method: string, path: () => string, type: string][] = [
    ['POST', () => '/', 'application/json'],
    ['POST', () => '/', 'application/x-www-form-urlencoded'],
    ['POST', () => '/', 'multipart/form-data; boundary=b'],
    ['PUT', () => `/${actor.id}/properties`, 'application/json'],
    ['POST', () => `/${actor.id}/properties`, 'application/json'],
    ['POST', () => `/${actor.id}/properties`, 'application/x-www-form-urlencoded'],
    ['PUT', () => `/${actor.id}/properties/big`, 'text/plain'],
    ['POST', () => `/${actor.id}/properties/big`, 'application/json'],
    ['POST', () => `/${actor.id}/properties/big/items`, 'application/json'],
    ['POST', () => `/${actor.id}/actions/echo`, 'application/json'],
    ['PUT', () => `/${actor.id}/resources/picture`, 'application/json'],
    ['PUT', () => `/${actor.id}/devtest/attribute/box/key`, 'application/json'],
  ]
  it('gives 413 on every route before the body is sent, and closes the connection (HTTP-01)', async () => {
    service.reset()
    const answers = await Promise.all(
      targets.map(async ([method, path, type]) => {
        const wire = await Wire.open(service.url)
        wire.send(
          requestText(method, path(), {
            Authorization: actor.authorization,
            'Content-Type': type,
            'Content-Length': String(limit + 1),
          }),
        )
        return wire.untilClosed()
      }),
    )
    for (const [index, [answer, ...more]] of answers.entries()) {
      assert.equal(answer?.status, 413, String(targets[index]))
      assert.deepEqual(JSON.parse(answer.body), tooLarge)
      assert.equal(answer.headers.get('connection'), 'close')
      assert.deepEqual(more, [])
    }
    assert.deepEqual(service.changes, [])
  })

  it('accepts exactly the limit, with a declared length and in chunks (HTTP-01)', async () => {
    const text = 'y'.repeat(limit)
    assert.equal((await actor.request('PUT', '/properties/full', text)).status, 204)
    assert.equal(await (await actor.request('GET', '/properties/full')).text(), text)
    const wire = await Wire.open(service.url)
    const chunks = `8000\r\n${'z'.repeat(0x8000)}\r\n8000\r\n${'z'.repeat(0x8000)}\r\n0\r\n\r\n`
    const headers = { Authorization: actor.authorization, 'Transfer-Encoding': 'chunked' }
    wire.send(requestText('PUT', `/${actor.id}/properties/full`, headers, chunks))
    assert.equal((await wire.answer()).status, 204)
    wire.close()
    assert.equal(await (await actor.request('GET', '/properties/full')).text(), 'z'.repeat(limit))
  })

  it('gives 413 for one byte more, whatever the chunk size, and changes nothing (HTTP-01)', async () => {
    await actor.request('PUT', '/properties/kept', 'before')
    service.reset()
    const refused = [1, 1000, limit, limit + 1].map(async (size) => {
      const whole = 'z'.repeat(limit + 1)
      let chunks = ''
      for (let at = 0; at < whole.length; at += size) {
        const part = whole.slice(at, at + size)
        chunks += `${part.length.toString(16)}\r\n${part}\r\n`
      }
      const wire = await Wire.open(service.url)
      const headers = { Authorization: actor.authorization, 'Transfer-Encoding': 'chunked' }
      wire.send(requestText('PUT', `/${actor.id}/properties/kept`, headers, `${chunks}0\r\n\r\n`))
      const [answer] = await wire.untilClosed()
      assert.equal(answer?.status, 413)
    })
    await Promise.all(refused)
    assert.deepEqual(service.changes, [])
    assert.equal(await (await actor.request('GET', '/properties/kept')).text(), 'before')
  })

  // The operating system buffers some megabytes between two programs. The service must not buffer more.
  const maxBuffered = 24 * 1024 * 1024
  const offered = 512 * 1024 * 1024

  it('stops reading a body with a declared length: most of half a gigabyte is never sent (HTTP-01)', async () => {
    const wire = await Wire.open(service.url)
    const headers = { Authorization: actor.authorization, 'Content-Length': String(offered) }
    wire.send(requestText('PUT', `/${actor.id}/properties/big`, headers))
    const sent = await pour(wire, offered, (piece) => piece)
    assert.match(wire.received, /^HTTP\/1\.1 413 /)
    assert.ok(sent < maxBuffered, `${sent} bytes`)
  })

  it('stops reading a chunked body: most of half a gigabyte is never sent (HTTP-01)', async () => {
    const wire = await Wire.open(service.url)
    const headers = { Authorization: actor.authorization, 'Transfer-Encoding': 'chunked' }
    wire.send(requestText('PUT', `/${actor.id}/properties/big`, headers))
    const sent = await pour(wire, offered, (piece) =>
      Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    )
    assert.match(wire.received, /^HTTP\/1\.1 413 /)
    assert.ok(sent < maxBuffered, `${sent} bytes`)
  })

  const putStream = async (body: ReadableStream<Uint8Array>): Promise<Response> =>
    service.app.fetch(
      new Request(`${service.url}/${actor.id}/properties/big`, {
        method: 'PUT',
        headers: { authorization: actor.authorization },
        body,
        duplex: 'half',
      }),
    )

  it('stops reading in the fetch handler and cancels the stream (HTTP-01)', async () => {
    let pulled = 0
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>()
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(10_000).fill(0x78))
      },
      cancel: () => cancel(),
    })
    const answer = await putStream(body)
    assert.equal(answer.status, 413)
    await cancelled
    assert.ok(pulled < 12, `${pulled} pieces`)
    const declared = await service.app.fetch(
      new Request(`${service.url}/`, { method: 'POST', headers: { 'content-length': '65537' }, body: '{}' }),
    )
    assert.equal(declared.status, 413)
  })

  it('gives 400 and stores nothing when a stream fails in the fetch handler (HTTP-01)', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error('the client disconnected'))
      },
    })
    const answer = await putStream(body)
    assert.equal(answer.status, 400)
    assert.equal((await actor.request('GET', '/properties/big')).status, 404)
  })
})

describe('JSON that is costly to parse', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({ declare: (app) => app.action('count', ({ input }) => Object.keys(input as object).length) })
    actor = await service.createActor()
  })

  const deep: [what: string, text: string][] = [
    ['a megabyte of [', '['.repeat(1_000_000)],
    ['a megabyte of {"a":', '{"a":'.repeat(200_000)],
    ['10 000 nested arrays', '['.repeat(10_000) + ']'.repeat(10_000)],
    ['10 000 nested objects', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
    ['10 000 nested containers of both kinds', '[{"a":'.repeat(5_000) + '1' + '}]'.repeat(5_000)],
    ['65 nested arrays', '['.repeat(65) + ']'.repeat(65)],
  ]
  for (const [what, text] of deep) {
    it(`of ${what} gets 400 on every route and is never stored as a string (HTTP-02)`, async () => {
      service.reset()
      const places: [method: string, path: string, type: string][] = [
        ['PUT', '/properties/deep', 'application/json'],
        ['PUT', '/properties/deep', 'text/plain'],
        ['POST', '/properties/deep', 'application/x-www-form-urlencoded'],
        ['POST', '/properties', 'application/json'],
        ['PUT', '/properties', 'application/json'],
        ['POST', '/actions/count', 'application/json'],
        ['PUT', '/devtest/attribute/box/key', 'application/json'],
      ]
      for (const [method, path, type] of places) {
        const answer = await actor.request(method, path, text, { 'content-type': type })
        assert.equal(answer.status, 400, `${method} ${path}`)
        assert.deepEqual(await answer.json(), {
          error: 'invalid_value',
          message: 'The value is nested deeper than 64 levels',
        })
      }
      const created = await service.request('/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
      })
      assert.equal(created.status, 400)
      assert.deepEqual(service.changes, [])
    })
  }

  it('of 64 nested arrays is accepted (HTTP-02)', async () => {
    const text = '['.repeat(64) + ']'.repeat(64)
    assert.equal((await actor.request('PUT', '/properties/deep', text)).status, 204)
    assert.equal(await (await actor.request('GET', '/properties/deep')).text(), text)
  })

  /** The steps of requests with an object of this number of keys, which have 8 characters each. */
  async function stepsFor(keys: number, letter: string): Promise<number> {
    // The keys share their low bits, which are the hash of an integer in a simple hash table.
    const keyOf = (index: number): string => `${letter}${String(index * 64).padStart(7, '0')}`
    const text = `{${Array.from({ length: keys }, (_, index) => `"${keyOf(index)}":1`).join(',')}}`
    const { steps } = await workOf(async () => {
      assert.equal((await actor.request('POST', '/actions/count', text)).status, 200)
      assert.equal((await actor.request('PUT', '/properties/keys', text)).status, 204)
    })
    return steps
  }

  it('with keys that look like integers does as much work as with other keys (HTTP-02)', async () => {
    const [integers, others] = [await stepsFor(100_000, '1'), await stepsFor(100_000, 'a')]
    assert.ok(integers < others * 1.1, `${integers} steps against ${others}`)
  })

  it('does the same work for each key, whatever their number (HTTP-02)', async () => {
    const [few, many] = [await stepsFor(10_000, '1'), await stepsFor(100_000, '1')]
    // With ten times the keys, a quadratic algorithm would do a hundred times the work.
    assert.ok(many < few * 11, `${many} steps for 100 000 keys, ${few} for 10 000`)
  })

  it('with one key 100 000 times has one key (HTTP-02)', async () => {
    const text = `{${Array.from({ length: 100_000 }, (_, index) => `"a":${index}`).join(',')}}`
    assert.equal((await actor.request('PUT', '/properties/keys', text)).status, 204)
    assert.equal(await (await actor.request('GET', '/properties/keys')).text(), '{"a":99999}')
  })
})

describe('a request of an unreasonable size', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({ listen: true })
    actor = await service.createActor()
  })

  const single = async (text: string): Promise<number> => {
    const wire = await Wire.open(service.url)
    const { status } = await wire.send(text).answer()
    wire.close()
    return status
  }

  it('gets 431 for more than 16 KB of headers, in one field or in many (HTTP-11)', async () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`X-Header-${index}`, 'x'.repeat(20)]))
    assert.equal(await single(requestText('GET', '/health/live', { 'X-Long': 'x'.repeat(17_000) })), 431)
    assert.equal(await single(requestText('GET', '/health/live', many)), 431)
    assert.equal(await single(`GET /health/live HTTP/1.1\r\nHost: x\r\n${'a:b\r\n'.repeat(20_000)}\r\n`), 431)
    assert.equal(await single(requestText('GET', '/health/live', { 'X-Long': 'x'.repeat(15_000) })), 200)
  })

  it('gets 414 for more than 8 192 characters of path and query (HTTP-11)', async () => {
    assert.equal(await single(requestText('GET', `/${'a'.repeat(8191)}`)), 404)
    assert.equal(await single(requestText('GET', `/${'a'.repeat(8192)}`)), 414)
    assert.equal(await single(requestText('GET', `/health/live?${'a'.repeat(8180)}`)), 200)
    assert.equal(await single(requestText('GET', `/health/live?${'a'.repeat(8181)}`)), 414)
    assert.equal(await single(requestText('GET', `/${'a'.repeat(17_000)}`)), 431)
  })

  it('gets 400 for more than 200 query fields (HTTP-11)', async () => {
    const fields = (count: number): string => Array.from({ length: count }, () => 'a=').join('&')
    assert.equal((await service.request(`/health/live?${fields(200)}`)).status, 200)
    assert.equal((await service.request(`/health/live?${fields(201)}`)).status, 400)
    assert.equal((await service.request(`/health/live?${fields(1000)}`)).status, 400)
  })

  const form = (count: number): string => Array.from({ length: count }, (_, index) => `f${index}=1`).join('&')
  const multipart = (count: number): string =>
    `${Array.from(
      { length: count },
      (_, index) => `--b\r\nContent-Disposition: form-data; name="f${index}"\r\n\r\n1\r\n`,
    ).join('')}--b--\r\n`
  for (const [what, type, body] of [
    ['form', 'application/x-www-form-urlencoded', form],
    ['multipart form', 'multipart/form-data; boundary=b', multipart],
  ] as const) {
    it(`gets 400 for a ${what} with more than 1 000 fields, which stores nothing (HTTP-11)`, async () => {
      service.reset()
      for (const count of [1001, 10_000]) {
        const answer = await actor.request('POST', '/properties', body(count), { 'content-type': type })
        assert.equal(answer.status, 400)
        const created = await service.request('/', {
          method: 'POST',
          headers: { 'content-type': type },
          body: body(count),
        })
        assert.equal(created.status, 400)
      }
      assert.deepEqual(service.changes, [])
      const taken = await actor.request('POST', '/properties', body(1000), { 'content-type': type })
      assert.equal(taken.status, 201)
      await actor.request('DELETE', '/properties')
    })
  }

  it('may have header names of Object.prototype without any effect (HTTP-04)', async () => {
    const members = Object.getOwnPropertyNames(Object.prototype)
    const wire = await Wire.open(service.url)
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__']
    wire.send(
      `GET /${actor.id}/properties HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\n${names
        .map((name) => `${name}: polluted\r\n${name}: twice\r\n`)
        .join('')}\r\n`,
    )
    assert.equal((await wire.answer()).status, 200)
    wire.close()
    assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), members)
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    // A field without a name is invalid.
    assert.equal(await single('GET /health/live HTTP/1.1\r\nHost: x\r\n: polluted\r\n\r\n'), 400)
  })
})

describe('slow senders and receivers', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({
      listen: true,
      env: { TROUPE_REQUEST_TIMEOUT_SECONDS: '1' },
    })
    actor = await service.createActor()
  })

  it('are disconnected at the deadline, 200 in every stage of a request, while others are served (HTTP-10)', async () => {
    const authorized = { Authorization: actor.authorization }
    const beginnings = [
      // The stages are no bytes, half a request line, half a header, half a body and half a chunk.
      '',
      'GET /heal',
      'GET /health/live HTTP/1.1\r\nHost: x\r\nX-Slow: ',
      requestText('PUT', `/${actor.id}/properties/slow`, { ...authorized, 'Content-Length': '1000' }, 'a'),
      requestText('PUT', `/${actor.id}/properties/slow`, { ...authorized, 'Transfer-Encoding': 'chunked' }, '3e8\r\na'),
    ]
    const wires = await Promise.all(Array.from({ length: 200 }, () => Wire.open(service.url)))
    for (const [index, wire] of wires.entries()) wire.send(beginnings[index % beginnings.length] ?? '')
    const drip = setInterval(() => {
      for (const [index, wire] of wires.entries())
        if (index % beginnings.length !== 0 && wire.socket.writable) wire.send('a')
    }, 100)
    let served = 0
    const neighbor = (async () => {
      while (wires.some((wire) => !wire.isClosed)) {
        assert.equal((await actor.request('PUT', '/properties/quick', String(served))).status, 204)
        served += 1
      }
    })()
    const outcomes = await Promise.all(wires.map((wire) => wire.untilClosed()))
    clearInterval(drip)
    await neighbor
    assert.ok(served > 0, `${served} requests of another client`)
    for (const [answer, ...more] of outcomes) {
      assert.equal(answer?.status, 408)
      assert.deepEqual(JSON.parse(answer.body), {
        error: 'request_timeout',
        message: 'The request took too long to arrive',
      })
      assert.deepEqual(more, [])
    }
    assert.equal((await actor.request('GET', '/properties/slow')).status, 404)
  })

  it('are disconnected when they do not read the response (HTTP-10)', async (t) => {
    const body = 'x'.repeat(32 * 1024 * 1024)
    const { promise: cut, resolve } = Promise.withResolvers<void>()
    const server = createServer(
      toNodeListener(() => Promise.resolve({ status: 200, headers: { 'Content-Length': String(body.length) }, body }), {
        stallMs: 200,
      }),
    )
    t.after(() => server.close())
    server.on('connection', (socket) => socket.once('close', () => resolve()))
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const wire = await Wire.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    wire.socket.pause()
    wire.send(requestText('GET', '/'))
    await cut
    wire.socket.resume()
    // Data in the system’s buffers still arrives, but the response is incomplete.
    assert.deepEqual(await wire.untilClosed(), [])
    assert.match(wire.received, /^HTTP\/1\.1 200 /)
    assert.ok(wire.received.length < body.length)
  })
})
