import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { after, afterEach, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { runInContext } from '../../src/observe/context.ts'
import { HttpCall } from '../../src/peer/http-call.ts'
import { GuardedClient, type GuardedClientOptions } from '../../src/peer/guarded-client.ts'
import { neutralText, type NoAnswer, type PeerOutcome, type PeerRequest } from '../../src/peer/peer-client.ts'
import { createAuthority, selfSigned } from '../support/certificates.ts'
import { forEachService } from '../support/service.ts'

/** Steps that close what a test opened, run in reverse order. */
const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of opened.splice(0).toReversed()) await end()
})

function client(options: Partial<GuardedClientOptions> = {}): GuardedClient {
  const made = new GuardedClient({
    allowPrivatePeers: true,
    allowHttp: false,
    connectSeconds: 5,
    readSeconds: 20,
    release: '9.8.7',
    ...options,
  })
  opened.push(async () => made.close())
  return made
}

/** The options of a service in production. */
const strict = { allowPrivatePeers: false, allowHttp: false } as const

interface Server {
  readonly port: number
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  /** Every connection that the server accepted. */
  readonly connections: Socket[]
}

interface HttpServer extends Server {
  readonly requests: { readonly line: string; readonly headers: http.IncomingHttpHeaders; readonly body: string }[]
}

async function listening(server: net.Server): Promise<Server> {
  const connections: Socket[] = []
  server.on('connection', (socket) => {
    connections.push(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(async () => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, connections }
}

/** Passes each new connection to `serve`. */
async function rawServer(serve: (socket: Socket) => void): Promise<Server> {
  return listening(net.createServer(serve))
}

/** Calls `serve` after the first bytes of a request. */
async function scripted(serve: (socket: Socket) => void): Promise<Server> {
  return rawServer((socket) => void socket.once('data', () => serve(socket)))
}

async function httpServer(
  answer: http.RequestListener = (_request, response) => void response.end('{}'),
): Promise<HttpServer> {
  const requests: HttpServer['requests'] = []
  return { ...(await listening(http.createServer(recorded(requests, answer)))), requests }
}

function recorded(requests: HttpServer['requests'], answer: http.RequestListener): http.RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
      answer(request, response)
    })
  }
}

function get(url: string, more: Partial<PeerRequest> = {}): PeerRequest {
  return { method: 'GET', url, ...more }
}

function assertKind(outcome: PeerOutcome, kind: PeerOutcome['kind'], what?: string): void {
  assert.equal(outcome.kind, kind, `${what ?? ''} ${JSON.stringify(outcome).slice(0, 500)}`)
}

/** Repeats the call, because the two ends of a connection see its end at different times. */
async function untilKind(kind: PeerOutcome['kind'], call: () => Promise<PeerOutcome>): Promise<void> {
  for (let turn = 0; ; turn++) {
    const outcome = await call()
    if (outcome.kind === kind) return
    if (turn === 1000) assertKind(outcome, kind)
    await nextTurn()
  }
}

function reasonOf(outcome: PeerOutcome): string {
  return outcome.kind === 'answered' ? assert.fail(`answered ${outcome.status}`) : outcome.reason
}

/** Answers each query with the next list of addresses, and repeats the last one. */
function resolver(...answers: string[][]): {
  questions: string[]
  resolve: (host: string) => Promise<LookupAddress[]>
} {
  const questions: string[] = []
  return {
    questions,
    resolve: async (host) => {
      const addresses = answers[Math.min(questions.length, answers.length - 1)] ?? []
      questions.push(host)
      return addresses.map((address) => ({ address, family: net.isIP(address) }))
    },
  }
}

const short = { connectSeconds: 5, readSeconds: 0.2 }

describe('the reason of a failed call', () => {
  it('has U+FFFD in place of characters that PostgreSQL cannot store, because it is stored with the outcome', async () => {
    const exchange = new HttpCall({ connectMs: 1000, readMs: 1000, maxAnswerBytes: 1 })
    exchange.onResponseError(null, new Error('The certificate is for a\0b\ud83d'))
    assert.deepEqual(await exchange.outcome, {
      kind: 'unreached',
      reason: 'The certificate is for a\ufffdb\ufffd',
    })
  })
})

describe('a response of a peer', () => {
  it('has its status, its headers in lower case and its body', async () => {
    const server = await httpServer((_request, response) => {
      response.writeHead(418, { 'X-Some-Thing': 'a', 'Set-Cookie': ['b=1', 'c=2'], 'Content-Type': 'application/json' })
      response.end('{"text":"grüße"}')
    })
    const outcome = await client().call(get(`${server.url}/a/b?c=d%20e#f`))
    assert.ok(outcome.kind === 'answered')
    assert.equal(outcome.status, 418)
    assert.equal(outcome.body, '{"text":"grüße"}')
    assert.equal(outcome.headers['x-some-thing'], 'a')
    assert.equal(outcome.headers['set-cookie'], 'b=1, c=2')
    assert.equal(server.requests[0]?.line, 'GET /a/b?c=d%20e')
  })

  it('may be empty or consist of a status', async () => {
    const server = await httpServer((_request, response) => void response.writeHead(204).end())
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
      const outcome = await client().call({ method, url: server.url })
      assert.ok(outcome.kind === 'answered')
      assert.deepEqual([outcome.status, outcome.body], [204, ''])
    }
  })

  it('is the final one after informational ones', async () => {
    const server = await scripted(
      (socket) => void socket.end('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'),
    )
    const outcome = await client().call(get(server.url))
    assert.ok(outcome.kind === 'answered')
    assert.deepEqual([outcome.status, outcome.body], [200, '{}'])
  })
})

describe('a request to a peer', () => {
  it('names its sender and format, and has its own request id (R-SUB-12)', async () => {
    const server = await httpServer()
    const peers = client()
    await peers.call(get(server.url))
    await peers.call({ method: 'POST', url: server.url, body: '{"a":1}' })
    const [first, second] = server.requests
    assert.equal(first?.headers['user-agent'], 'Troupe/9.8.7')
    assert.equal(first?.headers.accept, 'application/json')
    assert.equal(first?.headers['accept-encoding'], 'identity')
    assert.equal(first?.headers['content-type'], undefined)
    assert.equal(first?.headers.authorization, undefined)
    assert.equal(first?.headers.cookie, undefined)
    assert.equal(first?.headers['x-parent-request-id'], undefined)
    assert.match(String(first?.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    assert.equal(second?.headers['content-type'], 'application/json')
    assert.equal(second?.headers['content-length'], '7')
    assert.equal(second?.body, '{"a":1}')
    assert.notEqual(first?.headers['x-request-id'], second?.headers['x-request-id'])
  })

  it('names the request that caused it (R-SUB-12)', async () => {
    const server = await httpServer()
    await runInContext({ requestId: 'the-cause', actorId: null, peerId: null }, async () =>
      client().call(get(server.url)),
    )
    assert.equal(server.requests[0]?.headers['x-parent-request-id'], 'the-cause')
    assert.notEqual(server.requests[0]?.headers['x-request-id'], 'the-cause')
  })

  it('carries the caller’s body and headers, except for those that the client sets', async () => {
    const server = await httpServer()
    const peers = client()
    const packed = gzipSync('{}')
    const headers = { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json', Accept: 'text/plain', 'X-A': 'b' }
    assertKind(await peers.call({ method: 'POST', url: server.url, body: packed, headers }), 'answered')
    const got = server.requests[0]?.headers
    assert.deepEqual(
      [got?.['content-encoding'], got?.accept, got?.['x-a'], got?.['content-length']],
      ['gzip', 'text/plain', 'b', String(packed.length)],
    )
    for (const name of [
      'Authorization',
      'Cookie',
      'Host',
      'Connection',
      'Content-Length',
      'Transfer-Encoding',
      'Accept-Encoding',
      'Proxy-Authorization',
      'X-Request-ID',
      'User-Agent',
      'Expect',
    ]) {
      assertKind(await peers.call(get(server.url, { headers: { [name]: '1' } })), 'unreached', name)
    }
    assert.equal(server.requests.length, 1)
  })

  it('cannot be split into a second header or request by line breaks in a value', async () => {
    const server = await httpServer()
    const peers = client()
    const value = 'a\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1'
    assertKind(await peers.call(get(server.url, { headers: { 'x-a': value } })), 'unreached')
    assertKind(await peers.call(get(server.url, { headers: { [value]: 'a' } })), 'unreached')
    assertKind(await peers.call(get(server.url, { bearer: { secret: value, baseuri: server.url } })), 'unreached')
    assert.equal(server.requests.length, 0)
  })
})

describe('the outcome of a call', () => {
  it('is “unreached” for an unknown name, a closed port and a port without TLS', async () => {
    const closed = await httpServer()
    const peers = client()
    assertKind(await client(resolver([])).call(get('https://peer.example/')), 'unreached')
    const failing = client({ resolve: async () => Promise.reject(new Error('ENOTFOUND')) })
    assert.match(reasonOf(await failing.call(get('https://peer.example/'))), /ENOTFOUND/)
    assertKind(await peers.call(get(closed.url.replace('http:', 'https:'))), 'unreached')
    await opened.splice(0, 1)[0]?.()
    const refused = await client().call(get(closed.url))
    assertKind(refused, 'unreached')
    assert.match(reasonOf(refused), /ECONNREFUSED/)
    assert.equal(closed.requests.length, 0)
  })

  it('is “unreached” when the connection is not established in time (R-SUB-12)', async () => {
    const silent = client({ resolve: () => new Promise(() => {}) })
    const timeouts = { connectSeconds: 0.05, readSeconds: 20 }
    assertKind(await silent.call(get('https://peer.example/', { timeouts })), 'unreached')

    const noHandshake = await rawServer(() => {})
    const url = noHandshake.url.replace('http:', 'https:')
    assertKind(await client().call(get(url, { timeouts })), 'unreached')
  })

  it('is “unreached”, and nothing is sent when the connection is established too late', async () => {
    const server = await httpServer()
    const { promise: found, resolve: find } = Promise.withResolvers<LookupAddress[]>()
    const peers = client({ resolve: async () => found })
    const url = `http://peer.example:${server.port}`
    const timeouts = { connectSeconds: 0.05, readSeconds: 20 }
    assertKind(await peers.call({ method: 'POST', url: `${url}/late`, body: '{}', timeouts }), 'unreached')
    find([{ address: '127.0.0.1', family: 4 }])
    assertKind(await peers.call(get(`${url}/next`)), 'answered')
    assert.deepEqual(
      server.requests.map(({ line }) => line),
      ['GET /next'],
    )
  })

  const broken: readonly [what: string, serve: (socket: Socket) => void][] = [
    ['closed without an answer', (socket) => void socket.end()],
    ['reset without an answer', (socket) => void socket.resetAndDestroy()],
    ['closed within the headers', (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Le')],
    ['closed within the body', (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{')],
    [
      'closed within a chunk',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{'),
    ],
    ['answered without HTTP', (socket) => void socket.end('220 mail.example ESMTP\r\n')],
    [
      'answered with two lengths',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
    ],
    [
      'switched to another protocol',
      (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ],
  ]
  for (const [what, serve] of broken) {
    it(`is “unknown” when the connection was ${what}`, async () => {
      const server = await scripted(serve)
      const outcome = await client().call({ method: 'POST', url: server.url, body: '{}', timeouts: short })
      assertKind(outcome, 'unknown')
      assert.equal(server.connections.length, 1)
    })
  }

  const stalled: readonly [what: string, pieces: number, serve: (socket: Socket) => void][] = [
    ['does not answer after the body', 3, () => {}],
    ['stops reading the body', Number.POSITIVE_INFINITY, (socket) => void socket.pause()],
  ]
  for (const [what, most, serve] of stalled) {
    it(`is “unknown” when the peer ${what} of a stream, and the stream ends`, async () => {
      const server = await scripted(serve)
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      async function* pieces(): AsyncGenerator<Uint8Array, void> {
        try {
          for (let sent = 0; sent < most; sent += 1) yield Buffer.alloc(65_536)
        } finally {
          end()
        }
      }
      const timeouts = { connectSeconds: 5, readSeconds: 3600, silenceSeconds: 0.2 }
      const outcome = await client().call({ method: 'PUT', url: server.url, stream: pieces(), timeouts })
      assert.deepEqual(outcome, { kind: 'unknown', reason: 'no progress in time', isTimeout: true })
      await ended
    })
  }

  it('waits for a slow stream as long as pieces are sent', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const call = new HttpCall({ connectMs: 1000, readMs: 3_600_000, silenceMs: 1000, maxAnswerBytes: 10 })
    const aborted: string[] = []
    const controller = { abort: (error: Error) => void aborted.push(error.message) }
    call.onRequestStart(controller as unknown as Parameters<HttpCall['onRequestStart']>[0])
    async function* pieces(): AsyncGenerator<Uint8Array, void> {
      for (let sent = 0; sent < 5; sent += 1) yield await Promise.resolve(Buffer.from('x'))
    }
    for await (const _piece of call.watched(pieces())) context.mock.timers.tick(900)
    context.mock.timers.tick(999)
    assert.deepEqual(aborted, [])
    context.mock.timers.tick(1)
    assert.deepEqual(aborted, ['no progress in time'])
    assert.deepEqual(await call.outcome, { kind: 'unknown', reason: 'no progress in time', isTimeout: true })
  })

  it('is “unknown” for a call in progress when the client closes, and later calls are not sent', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
    const server = await scripted(() => onAsked())
    const peers = client()
    const running = peers.call(get(server.url))
    await asked
    await peers.close()
    assertKind(await running, 'unknown')
    assertKind(await peers.call(get(server.url)), 'unreached')
    assert.equal(server.connections.length, 1)

    const unused = client()
    await unused.close()
    assertKind(await unused.call(get(server.url)), 'unreached')
    assert.equal(server.connections.length, 1)
  })
})

describe('a private address', () => {
  const literals = [
    ['OUT-01', '127.0.0.1'],
    ['OUT-01', '10.0.0.1'],
    ['OUT-01', '169.254.169.254'],
    ['OUT-01', '192.168.0.1'],
    ['OUT-01', '0.0.0.0'],
    ['OUT-02', '[::1]'],
    ['OUT-02', '[::]'],
    ['OUT-02', '[fd00::1]'],
    ['OUT-02', '[fe80::1]'],
    ['OUT-02', '[::ffff:127.0.0.1]'],
    ['OUT-02', '[::ffff:7f00:1]'],
    ['OUT-02', '[64:ff9b::7f00:1]'],
    ['OUT-02', '[2002:7f00:1::]'],
  ] as const
  it('in a URL is rejected without a connection and without a DNS query (OUT-01, OUT-02, OUT-09)', async () => {
    const server = await httpServer()
    const names = resolver(['127.0.0.1'])
    const peers = client({ ...strict, allowHttp: true, resolve: names.resolve })
    for (const [row, host] of literals) {
      const outcome = await peers.call(get(`http://${host}:${server.port}/`))
      assertKind(outcome, 'unreached', `${row} ${host}`)
      assert.doesNotMatch(reasonOf(outcome), /E[A-Z]{4,}/, host)
    }
    assert.deepEqual([server.connections.length, names.questions.length], [0, 0])
  })

  it('is allowed with allowPrivatePeers, except for addresses that are never allowed (OUT-01, OUT-02)', async () => {
    const server = await httpServer()
    const peers = client()
    assertKind(await peers.call(get(`http://127.0.0.1:${server.port}/`)), 'answered')
    assertKind(await peers.call(get(`http://localhost:${server.port}/`)), 'answered')
    for (const host of ['0.0.0.0', '[::]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '169.254.169.254', '224.0.0.1']) {
      assertKind(await peers.call(get(`http://${host}:${server.port}/`)), 'unreached', host)
    }
    assert.equal(server.requests.length, 2)
  })

  it('is rejected in any other spelling, even when the plain spelling is allowed (OUT-03)', async () => {
    const server = await httpServer()
    const names = resolver(['127.0.0.1'])
    const peers = client(names)
    for (const host of [
      '127.1',
      '0x7f.1',
      '0177.1',
      '2130706433',
      '0',
      '127.0.0.1.',
      '%3127.0.0.1',
      '１27.0.0.1',
      'loc%61lhost',
    ]) {
      assertKind(await peers.call(get(`http://${host}:${server.port}/`)), 'unreached', host)
    }
    assertKind(await peers.call(get(`http://localhost.:${server.port}/`)), 'unreached')
    assert.deepEqual([server.connections.length, names.questions.length], [0, 0])
  })

  it('among the addresses of a name rejects the whole name, at any position (OUT-04)', async () => {
    const server = await httpServer()
    const url = `http://peer.example:${server.port}/`
    for (const addresses of [
      ['127.0.0.1', '169.254.169.254'],
      ['169.254.169.254', '127.0.0.1'],
      ['127.0.0.1', '::ffff:127.0.0.1'],
      ['127.0.0.1', '127.0.0.1', '127.0.0.1', '0.0.0.0'],
      ['127.0.0.1', 'fe80::1%lo'],
      ['127.0.0.1', 'nonsense'],
    ]) {
      assertKind(await client(resolver(addresses)).call(get(url)), 'unreached', addresses.join())
    }
    for (const addresses of [
      ['127.0.0.1'],
      ['127.0.0.1', '8.8.8.8'],
      ['8.8.8.8', '127.0.0.1'],
      ['2606:4700::1111', '::1'],
    ]) {
      const peers = client({ ...strict, allowHttp: true, ...resolver(addresses) })
      assertKind(await peers.call(get(url)), 'unreached', addresses.join())
    }
    assert.equal(server.connections.length, 0)
  })

  it('is not reached by a name that resolves differently after its check (OUT-05)', async () => {
    const server = await httpServer()
    const names = resolver(['127.0.0.1'], ['169.254.169.254'])
    const peers = client(names)
    assertKind(await peers.call(get(`http://peer.example:${server.port}/`)), 'answered')
    assert.deepEqual(names.questions, ['peer.example'])
    assert.equal(server.requests[0]?.headers.host, `peer.example:${server.port}`)
    // The open connection leads to the checked address. A new connection requires a new check.
    await nextTurn()
    assertKind(await peers.call(get(`http://peer.example:${server.port}/`)), 'answered')
    assert.deepEqual([server.connections.length, names.questions.length], [1, 1])
    const ended = once(server.connections[0] ?? assert.fail(), 'close')
    server.connections[0]?.destroy()
    await ended
    await untilKind('unreached', async () => peers.call(get(`http://peer.example:${server.port}/`)))
    assert.deepEqual([server.requests.length, server.connections.length], [2, 1])
  })

  it('is not reached by a resolver that changes its answer between two queries (OUT-05)', async () => {
    const server = await httpServer()
    const names = resolver(['169.254.169.254'], ['127.0.0.1'])
    assertKind(await client(names).call(get(`http://peer.example:${server.port}/`)), 'unreached')
    assert.deepEqual([server.connections.length, names.questions.length], [0, 1])
  })
})

describe('a redirect', () => {
  it('is returned as a response and not followed, whether to private addresses, in a loop or elsewhere (OUT-06)', async () => {
    const inner = await httpServer()
    const server = await httpServer((request, response) => {
      const [, status, target] = /^\/(\d+)\?(.*)$/.exec(request.url ?? '') ?? []
      response.writeHead(Number(status), { location: decodeURIComponent(target ?? '') }).end()
    })
    const peers = client()
    for (const status of [301, 302, 303, 307, 308]) {
      for (const target of [`${inner.url}/secret`, 'http://169.254.169.254/latest/meta-data', `/${status}?/`]) {
        const url = `${server.url}/${status}?${encodeURIComponent(target)}`
        const bearer = { secret: 'of-the-peer', baseuri: server.url }
        const outcome = await peers.call({ method: 'POST', url, body: '{}', bearer })
        assert.ok(outcome.kind === 'answered')
        assert.deepEqual([outcome.status, outcome.headers.location], [status, target])
      }
    }
    assert.deepEqual([inner.connections.length, server.requests.length], [0, 15])
  })
})

describe('a URL from a peer’s document', () => {
  it('is checked like any other (OUT-07)', async () => {
    const inner = await httpServer()
    const server = await httpServer(
      (_request, response) =>
        void response.end(
          JSON.stringify({ urls: [`http://127.1:${inner.port}/`, 'http://169.254.169.254/', 'file:///etc/passwd'] }),
        ),
    )
    const peers = client()
    const outcome = await peers.call(get(server.url))
    assert.ok(outcome.kind === 'answered')
    const { urls } = JSON.parse(outcome.body) as { urls: string[] }
    assert.equal(urls.length, 3)
    for (const url of urls) assertKind(await peers.call(get(url)), 'unreached', url)
    assert.equal(inner.connections.length, 0)
  })
})

describe('the secret of a peer', () => {
  const secret = 'kept-between-the-two'

  it('is sent to the peer’s base URI and below (OUT-08)', async () => {
    const server = await httpServer()
    const peers = client()
    for (const path of ['/b1', '/b1/', '/b1/properties/x?y=z']) {
      assertKind(
        await peers.call(get(server.url + path, { bearer: { secret, baseuri: `${server.url}/b1` } })),
        'answered',
      )
    }
    const basic = { user: 'trustee', password: 'pä:ss', baseuri: `${server.url}/b1/` }
    assertKind(await peers.call(get(`${server.url}/b1/x`, { basic })), 'answered')
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.authorization),
      [...Array<string>(3).fill(`Bearer ${secret}`), `Basic ${Buffer.from('trustee:pä:ss').toString('base64')}`],
    )
  })

  it('is sent to no other URL, and neither is the request (OUT-08)', async () => {
    const server = await httpServer()
    const elsewhere = await httpServer()
    const peers = client(resolver(['127.0.0.1']))
    const baseuri = `${server.url}/b1`
    for (const url of [
      `${server.url}/`,
      `${server.url}/b12`,
      `${server.url}/b2/properties`,
      `${server.url}/b1/../b2`,
      `${server.url}/b1/%2e%2e/b2`,
      `${server.url}/b1/..%2fb2`,
      `${elsewhere.url}/b1/properties`,
      `http://peer.example:${server.port}/b1/properties`,
      `http://localhost:${server.port}/b1/properties`,
      `http://127.0.0.1:${server.port}@${elsewhere.url.slice(7)}/b1`,
    ]) {
      for (const credential of [{ bearer: { secret, baseuri } }, { basic: { user: 'u', password: secret, baseuri } }]) {
        const outcome = await peers.call(get(url, credential))
        assertKind(outcome, 'unreached', url)
        assert.doesNotMatch(reasonOf(outcome), new RegExp(secret))
      }
    }
    assert.deepEqual([server.connections.length, elsewhere.connections.length], [0, 0])
  })
})

describe('a URL that is not a valid peer', () => {
  it('is not called: other schemes and ports, credentials in the URL, private names (OUT-09)', async () => {
    const names = resolver(['127.0.0.1'])
    const server = await httpServer()
    const peers = client({ ...strict, resolve: names.resolve })
    for (const url of [
      `http://peer.example:${server.port}/`,
      'ftp://peer.example/',
      'file:///etc/passwd',
      'gopher://127.0.0.1:6379/_INFO',
      'https://peer.example:22/',
      'https://user:pw@peer.example/',
      `https://localhost:${server.port}/`,
      'https://printer.local/',
      'https://db.internal/',
      'https://metadata.google.internal/computeMetadata/v1/',
      '',
    ]) {
      assertKind(await peers.call(get(url)), 'unreached', url)
    }
    assert.deepEqual([names.questions, server.connections.length], [[], 0])
  })

  it('is not reached through a proxy of the environment, which is ignored (OUT-09)', async () => {
    const proxy = await httpServer()
    const server = await httpServer((_request, response) => void response.end('"direct"'))
    const source = `
      import { GuardedClient } from ${JSON.stringify(new URL('../../src/peer/guarded-client.ts', import.meta.url).href)}
      const peers = new GuardedClient({ allowPrivatePeers: true, allowHttp: true, connectSeconds: 5, readSeconds: 20, release: '1' })
      console.log(JSON.stringify(await peers.call({ method: 'GET', url: ${JSON.stringify(server.url)} })))
      await peers.close()`
    const variables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
      no_proxy: '',
      ...Object.fromEntries(variables.map((name) => [name, proxy.url])),
    }
    const args = ['--conditions=troupe-source', '--input-type=module', '--eval', source]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    assert.equal((JSON.parse(stdout) as { body: string }).body, '"direct"')
    assert.deepEqual([proxy.connections.length, server.requests.length], [0, 1])
  })
})

describe('a response that violates a limit', () => {
  /** Writes as long as the client reads. Resolves with the bytes written when the connection is closed. */
  function pour(socket: Socket, piece: Buffer): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece)) if (socket.bytesWritten > 1_000_000_000) socket.destroy()
    }
    socket.on('drain', more)
    socket.on('close', () => resolve(socket.bytesWritten - socket.writableLength))
    more()
    return promise
  }

  it('is aborted before its body when its declared length is too large (OUT-10)', async () => {
    const server = await httpServer((_request, response) => {
      response.writeHead(200, { 'content-length': 1_048_577 }).flushHeaders()
    })
    assert.match(reasonOf(await client().call(get(server.url))), /too large/)
  })

  it('is complete up to the limit, and aborted one byte later (OUT-10)', async () => {
    const server = await httpServer((request, response) => {
      response.flushHeaders()
      const size = Number(request.url?.slice(1))
      response.write(Buffer.alloc(size - 1, 'x'))
      response.end('x')
    })
    const peers = client()
    const whole = await peers.call(get(`${server.url}/1048576`))
    assert.ok(whole.kind === 'answered')
    assert.equal(whole.body, 'x'.repeat(1_048_576))
    assertKind(await peers.call(get(`${server.url}/1048577`)), 'unknown')
    assertKind(await peers.call(get(`${server.url}/101`, { maxAnswerBytes: 100 })), 'unknown')
    assertKind(await peers.call(get(`${server.url}/1048577`, { maxAnswerBytes: 2_000_000 })), 'answered')
  })

  it('is aborted soon after the limit when it is endless (OUT-10)', async () => {
    const { promise: poured, resolve } = Promise.withResolvers<number>()
    const piece = Buffer.concat([Buffer.from('4000\r\n'), Buffer.alloc(0x4000, 'x'), Buffer.from('\r\n')])
    const server = await scripted((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      void pour(socket, piece).then(resolve)
    })
    assertKind(await client().call(get(server.url)), 'unknown')
    assert.ok((await poured) < 32_000_000)
  })

  it('is aborted when its headers are endless (OUT-10)', async () => {
    const { promise: poured, resolve } = Promise.withResolvers<number>()
    const server = await scripted((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      void pour(socket, Buffer.from(`X-Header: ${'x'.repeat(1000)}\r\n`)).then(resolve)
    })
    assertKind(await client().call(get(server.url)), 'unknown')
    assert.ok((await poured) < 32_000_000)
  })

  it('is assembled from a hundred thousand chunks as from one (OUT-10)', async () => {
    const server = await scripted((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`)
    })
    const outcome = await client().call(get(server.url))
    assert.ok(outcome.kind === 'answered')
    assert.equal(outcome.body, 'x'.repeat(100_000))
  })

  const slow: readonly [what: string, serve: (socket: Socket) => void][] = [
    ['never starts', () => {}],
    ['stops within its headers', (socket) => void socket.write('HTTP/1.1 200 OK\r\nX-A: ')],
    ['stops within its body', (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{')],
    [
      'dribbles',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
        const timer = setInterval(() => socket.write('x'), 5)
        socket.once('close', () => clearInterval(timer))
      },
    ],
    [
      'sends informational responses repeatedly',
      (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 5)
        socket.once('close', () => clearInterval(timer))
      },
    ],
  ]
  for (const [what, serve] of slow) {
    it(`is aborted at its timeout when it ${what} (OUT-10)`, async () => {
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      const server = await scripted((socket) => {
        socket.once('close', () => resolve())
        serve(socket)
      })
      const outcome = await client({ readSeconds: 0.2 }).call(get(server.url))
      assert.deepEqual(outcome, { kind: 'unknown', reason: 'no complete answer in time', isTimeout: true })
      await closed
    })
  }

  it('is not decompressed: an unrequested content encoding counts as unknown (OUT-10)', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    assert.ok(bomb.length < 60_000)
    const server = await httpServer((request, response) => {
      response.writeHead(200, { 'content-encoding': request.url?.slice(1) ?? '' }).end(bomb)
    })
    const peers = client()
    for (const encoding of ['gzip', 'br', 'deflate', 'GZIP', 'gzip,gzip', 'identity,gzip']) {
      assertKind(await peers.call(get(`${server.url}/${encoding}`)), 'unknown', encoding)
    }
    const plain = await peers.call(get(`${server.url}/identity`))
    assertKind(plain, 'answered')
  })

  it('leaves no rest for the next call (OUT-10)', async () => {
    const server = await httpServer((request, response) => {
      response.end(request.url === '/large' ? 'x'.repeat(200_000) : '"the other"')
    })
    const peers = client()
    const outcomes = await Promise.all([
      peers.call(get(`${server.url}/large`, { maxAnswerBytes: 1000 })),
      peers.call(get(`${server.url}/small`)),
      peers.call(get(`${server.url}/large`, { maxAnswerBytes: 1000 })),
    ])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['unknown', 'answered', 'unknown'],
    )
    const next = await peers.call(get(`${server.url}/small`))
    assert.ok(next.kind === 'answered')
    assert.equal(next.body, '"the other"')
  })
})

describe('the certificate of a peer', () => {
  const authority = createAuthority()
  const day = 86_400_000
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })

  async function tlsServer(certificate: { cert: string; key: string }): Promise<HttpServer & { names: unknown[] }> {
    const requests: HttpServer['requests'] = []
    const names: unknown[] = []
    const server = https.createServer(
      certificate,
      recorded(requests, (_request, response) => void response.end('{}')),
    )
    server.on('tlsClientError', () => {})
    server.on('secureConnection', (socket: TLSSocket & { servername?: unknown }) => void names.push(socket.servername))
    return { ...(await listening(server)), requests, names }
  }

  const peers = (): GuardedClient => client({ ...resolver(['127.0.0.1']), authorities: [authority.cert] })

  it('is accepted when a trusted authority issued it for the called name (OUT-11)', async () => {
    const server = await tlsServer(authority.issue({ names: ['peer.example', '127.0.0.1'] }))
    assertKind(await peers().call(get(`https://peer.example:${server.port}/`)), 'answered')
    assertKind(await peers().call(get(`https://127.0.0.1:${server.port}/`)), 'answered')
    assert.deepEqual(server.names, ['peer.example', false])
  })

  const bad: readonly [what: string, certificate: { cert: string; key: string }][] = [
    ['self-signed', selfSigned({ names: ['peer.example'] })],
    ['issued by an unknown authority', createAuthority('Test authority').issue({ names: ['peer.example'] })],
    [
      'expired',
      authority.issue({ names: ['peer.example'], notBefore: Date.now() - 2 * day, notAfter: Date.now() - day }),
    ],
    ['not valid yet', authority.issue({ names: ['peer.example'], notBefore: Date.now() + day })],
    ['for another name', authority.issue({ names: ['evil.example', 'peer.example.evil.example'] })],
    ['for a subdomain', authority.issue({ names: ['*.peer.example', 'www.peer.example'] })],
    ['for the address and not for the name', authority.issue({ names: ['127.0.0.1'] })],
  ]
  for (const [what, certificate] of bad) {
    it(`that is ${what} ends the call before data is sent, whatever the environment allows (OUT-11)`, async () => {
      const server = await tlsServer(certificate)
      const bearer = { secret: 's', baseuri: `https://peer.example:${server.port}/` }
      for (const setting of ['1', '0']) {
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = setting
        const outcome = await peers().call(get(bearer.baseuri, { bearer }))
        assertKind(outcome, 'unreached')
        assert.match(reasonOf(outcome), /certificate|altname/i)
      }
      assert.equal(server.requests.length, 0)
    })
  }

  it('is checked on each connection, also for another server of the same name (OUT-11)', async () => {
    const good = await tlsServer(authority.issue({ names: ['peer.example'] }))
    const evil = await tlsServer(selfSigned({ names: ['peer.example'] }))
    const one = peers()
    assertKind(await one.call(get(`https://peer.example:${good.port}/`)), 'answered')
    assertKind(await one.call(get(`https://peer.example:${evil.port}/`)), 'unreached')
    assertKind(await one.call(get(`https://peer.example:${good.port}/`)), 'answered')
    assert.equal(evil.requests.length, 0)
  })
})

describe('the message for a failed call', () => {
  it('is equal for rejected, unreachable, closed and broken (OUT-12)', async () => {
    const broken = await scripted((socket) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    const gone = await scripted(() => {})
    const peers = client(resolver(['169.254.169.254']))
    const outcomes = [
      await peers.call(get('http://127.0.0.1:1025/')),
      await peers.call(get('http://169.254.169.254/')),
      await peers.call(get('http://peer.example/')),
      await peers.call(get('ftp://peer.example/')),
      await peers.call(get(broken.url)),
      await peers.call(get(gone.url, { timeouts: short })),
    ]
    assert.equal(new Set(outcomes.map(({ kind }) => kind)).size, 2)
    assert.deepEqual(
      outcomes.map((outcome) => neutralText(outcome as NoAnswer)),
      Array<string>(6).fill('The peer could not be reached'),
    )
  })

  it('does not reveal whether a port of a forbidden address is open, because no connection is made (OUT-12)', async () => {
    const server = await httpServer()
    const peers = client({ ...strict, allowHttp: true, ...resolver(['127.0.0.1']) })
    const open = await peers.call(get(`http://peer.example:${server.port}/`))
    const closed = await peers.call(get('http://peer.example:1025/'))
    assert.equal(reasonOf(open), reasonOf(closed))
    assert.equal(server.connections.length, 0)
  })
})

forEachService((start) => {
  describe('a peer on the same service', () => {
    it('is called from within many concurrent requests without a deadlock (OUT-13)', async () => {
      const service = await start({
        listen: true,
        declare: (app) =>
          app.method('mirror', async ({ actor }) => {
            const { parts } = await app.running()
            const outcome = await parts.peerClient.call(get(`${parts.baseUrl}/${actor.id}/meta/id`))
            await actor.set('mirrored', outcome.kind)
            return { kind: outcome.kind, body: outcome.kind === 'answered' ? outcome.body : null }
          }),
      })
      const actor = await service.createActor()
      const answers = await Promise.all(
        Array.from({ length: 60 }, async () => (await actor.request('POST', '/methods/mirror', {})).json()),
      )
      for (const answer of answers) assert.deepEqual(answer, { kind: 'answered', body: actor.id })
    })
  })
})

describe('the connections of each host', () => {
  it('are released after a failure, so that more hosts than the limit can be called in sequence (OUT-14)', async () => {
    const peers = client({ maxOrigins: 3, resolve: async () => Promise.reject(new Error('no such name')) })
    for (let host = 0; host < 30; host++) {
      assert.match(reasonOf(await peers.call(get(`https://h${host}.example/`))), /no such name/)
    }
    const refusing = client({ maxOrigins: 3 })
    for (let port = 1025; port < 1055; port++) {
      assert.match(reasonOf(await refusing.call(get(`http://127.0.0.1:${port}/`))), /ECONNREFUSED/)
    }
  })

  it('are limited: one more concurrent host is not called until another is done (OUT-14)', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const busy = await Promise.all(
      [1, 2].map(async () =>
        httpServer((_request, response) => {
          void released.then(() => response.writeHead(200, { connection: 'close' }).end('{}'))
        }),
      ),
    )
    const further = await httpServer()
    const peers = client({ maxOrigins: 2 })
    const running = busy.map(async ({ url }) => peers.call(get(url)))
    assertKind(await peers.call(get(further.url)), 'unreached')
    assert.equal(further.connections.length, 0)
    release()
    for (const outcome of await Promise.all(running)) assertKind(outcome, 'answered')
    await untilKind('answered', async () => peers.call(get(further.url)))
  })

  it('are limited in number for any number of calls (OUT-14)', async () => {
    const server = await httpServer()
    const peers = client()
    const outcomes = await Promise.all(Array.from({ length: 300 }, async () => peers.call(get(server.url))))
    for (const outcome of outcomes) assertKind(outcome, 'answered')
    assert.ok(server.connections.length <= 32, String(server.connections.length))
    assert.equal(server.requests.length, 300)
  })

  it('are reused, and closed when idle (OUT-14)', async () => {
    const server = await httpServer()
    const peers = client()
    for (let call = 0; call < 3; call++) {
      assertKind(await peers.call(get(server.url)), 'answered')
      await nextTurn()
    }
    assert.equal(server.connections.length, 1)
    const [socket = assert.fail()] = server.connections
    socket.resume()
    if (!socket.closed) await once(socket, 'close')
    assertKind(await peers.call(get(server.url)), 'answered')
    assert.equal(server.connections.length, 2)
  })
})
