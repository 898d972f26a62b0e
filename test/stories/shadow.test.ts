/** `troupe shadow`: the same reads at an old and a new service, and the differences of their answers. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { type Answer, differenceOf } from '../../src/cli/shadow/compare-answers.ts'
import { recordedRequests } from '../../src/cli/shadow/recorded-requests.ts'
import { RouteNames } from '../../src/cli/shadow/shadow-report.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const answer = (body: unknown, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  type: 'application/json',
  location: '',
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
})

describe('the difference of two answers', () => {
  const compared = {
    origins: ['https://old.example.com', 'http://localhost:3000'],
    ignored: new Set(['last_accessed']),
  }
  for (const [old, now] of [
    [answer('{"a":1,"b":[1.0,{"c":null}]}'), answer('{"b":[1,{"c":null}],"a":1}')],
    [answer('hello'), answer('hello')],
    [answer({ url: 'https://old.example.com/ada' }), answer({ url: 'http://localhost:3000/ada' })],
    [
      answer('', { status: 302, location: 'https://old.example.com/ada/www' }),
      answer('', { status: 302, location: 'http://localhost:3000/ada/www' }),
    ],
    [answer({ at: '2026-01-02T03:04:05.678912+00:00' }), answer({ at: '2026-01-02T03:04:05.678Z' })],
    [answer({ a: 1, last_accessed: 'x' }), answer({ a: 1 })],
    [answer('<p>old</p>', { type: 'text/html' }), answer('<p>new</p>', { type: 'text/html' })],
    [answer('', { status: 404 }), answer({ error: 'not_found' }, { status: 404 })],
    [answer('12345678901234567890'), answer('12345678901234567890')],
  ] as const) {
    it(`does not exist between ${old.body || old.location || old.status} and ${now.body || now.location}`, () => {
      assert.equal(differenceOf(old, now, compared), null)
    })
  }

  for (const [old, now, difference] of [
    [answer('', { status: 404 }), answer('{}'), 'status 404 became 200'],
    [answer({ a: { b: [1, 2] } }), answer({ a: { b: [1, 3] } }), 'a.b[1] was a number and is another one'],
    [answer({ a: 1 }), answer({}), 'a is missing; it was a number'],
    [answer({}), answer({ a: 'x' }), 'a is new: a string of 1 character'],
    [answer([1, 2]), answer([1]), '[] has 1 instead of 2 items'],
    [answer({ a: ['x', 'y'] }), answer({ a: ['y', 'x'] }), 'a[] has another order'],
    [answer('12345678901234567890'), answer('12345678901234567891'), 'the value was a number and is another one'],
    [answer('1'), answer('"1"'), 'the value was a number and is a string of 1 character'],
    [
      answer('hello'),
      answer('"hello"'),
      'body of 5 characters, application/json became of 7 characters, application/json',
    ],
    [
      answer({ at: '2026-01-02T03:04:05.678Z' }),
      answer({ at: '2026-01-02T03:04:05.679Z' }),
      'at was a string of 24 characters and is another one',
    ],
    [
      answer('', { status: 302, location: 'https://old.example.com/a' }),
      answer('', { status: 302, location: 'https://evil.example.com/a' }),
      'location {service}/a became https://evil.example.com/a',
    ],
  ] as const) {
    it(`is “${difference}”`, () => {
      assert.equal(differenceOf(old, now, compared), difference)
    })
  }

  it('shows no value', () => {
    const difference = differenceOf(answer('x'.repeat(200)), answer('y'), compared)
    assert.equal(difference, 'body of 200 characters, application/json became of 1 character, application/json')
  })
})

describe('routes of a shadow run', () => {
  const names = new RouteNames([
    '/{actor}',
    '/oauth/login',
    '/{actor}/properties/{name}',
    '/{actor}/properties/{name}/metadata',
  ])
  for (const [path, route] of [
    ['/ada', '/{actor}'],
    ['/ada?refresh=true', '/{actor}'],
    ['/oauth/login', '/oauth/login'],
    ['/ada/properties/color', '/{actor}/properties/{name}'],
    ['/ada/properties/color/metadata', '/{actor}/properties/{name}/metadata'],
    ['/ada/properties/color/shade/x', '(no documented route)'],
  ] as const) {
    it(`finds ${route} for ${path}`, () => {
      assert.equal(names.of(path), route)
    })
  }
})

describe('recorded requests', () => {
  let place: Workplace
  before(() => {
    place = new Workplace()
  })
  after(() => place.remove())
  const read = (text: string) => Array.fromAsync(recordedRequests(place.write('requests', text)))

  it('are lines of JSON, with the headers that decide about a read', async () => {
    const requests = await read(
      '{"path":"/ada","headers":{"Authorization":"Basic eA==","X-Request-ID":"1"}}\n\n{"method":"put","path":"/ada/x?y=1"}\n',
    )
    assert.deepEqual(requests, [
      { method: 'GET', path: '/ada', headers: { authorization: 'Basic eA==' } },
      { method: 'PUT', path: '/ada/x?y=1', headers: {} },
    ])
  })

  it('are the entries of a HAR file', async () => {
    const request = {
      method: 'GET',
      url: 'https://old.example.com/ada/properties?metadata=true',
      headers: [
        { name: 'Cookie', value: 'session=1' },
        { name: 'User-Agent', value: 'Browser' },
      ],
    }
    const requests = await read(JSON.stringify({ log: { version: '1.2', entries: [{ request }] } }, null, 2))
    assert.deepEqual(requests, [
      { method: 'GET', path: '/ada/properties?metadata=true', headers: { cookie: 'session=1' } },
    ])
  })

  for (const [text, message] of [
    ['{"path":"/ada"}\n{"path":"ada"}\n', /line 2 is not an object with a path that begins with a slash/],
    ['not JSON\n', /line 1 is not an object/],
    ['{"path":"/ada","headers":"x"}\n', /line 1 is not an object/],
    ['{"log":{}}', /its log has no entries/],
    ['{"log":{"entries":[{}]}}', /entry 1 has no request with a URL/],
  ] as const) {
    it(`refuse ${JSON.stringify(text)}`, async () => {
      await assert.rejects(read(text), { name: 'UsageError', message })
    })
  }

  it('refuse a file that does not exist', async () => {
    await assert.rejects(Array.fromAsync(recordedRequests(place.path('none'))), {
      name: 'UsageError',
      message: /ENOENT/,
    })
  })
})

describe('troupe shadow', () => {
  const start = sqliteService()
  let service: TestService
  let ada: TestActor
  let place: Workplace
  let old: Server
  let asked: IncomingMessage[]
  let answerOld: RequestListener

  beforeEach(async () => {
    service = await start({ listen: true })
    ada = await service.createActor('ada@example.com')
    await ada.request('PUT', '/properties/color', 'blue')
    place = new Workplace()
    asked = []
    old = createServer((request, response) => {
      asked.push(request)
      answerOld(request, response)
    })
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    old.closeAllConnections()
    await new Promise((resolve) => old.close(resolve))
    await place.remove()
  })
  const oldUrl = (): string => `http://127.0.0.1:${(old.address() as AddressInfo).port}`
  const run = (...args: string[]): Promise<Ending> =>
    place.run(['shadow', '--against', oldUrl(), '--to', service.url, ...args])
  const lines = (...requests: object[]): string =>
    place.write('requests.jsonl', requests.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const asOwner = (): object => ({ authorization: ada.authorization })

  it('reports reads by route, and ends with 0 when all are equal (R-IMP-08)', async () => {
    answerOld = (request, response) =>
      response.end(request.url?.endsWith('/color') === true ? 'blue' : '{"color":"blue"}')
    const file = lines(
      { path: `/${ada.id}/properties/color`, headers: asOwner() },
      { path: `/${ada.id}/properties`, headers: asOwner() },
      { method: 'DELETE', path: `/${ada.id}`, headers: asOwner() },
    )
    const { code, stdout, stderr } = await run('--requests', file)
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(
      stdout,
      `2 reads compared: 2 equal, 0 different.
1 request left out, because only reads are repeated.
  /{actor}/properties: 1 equal, 0 different
  /{actor}/properties/{name}: 1 equal, 0 different
`,
    )
    assert.deepEqual(
      asked.map(({ method }) => method),
      ['GET', 'GET'],
    )
    assert.equal((await ada.request('GET', '/properties/color')).status, 200)
  })

  it('reports the first three differences of a route, and ends with 1 (R-IMP-08)', async () => {
    answerOld = (_request, response) => response.end('red')
    const path = `/${ada.id}/properties/color`
    const file = lines(...Array.from({ length: 5 }, () => ({ path, headers: asOwner() })))
    const { code, stdout } = await run('--requests', file, '--json')
    assert.equal(code, 1)
    assert.deepEqual(JSON.parse(stdout), {
      equal: 0,
      different: 5,
      skipped: 0,
      failed: 0,
      routes: [
        {
          route: '/{actor}/properties/{name}',
          equal: 0,
          different: 5,
          first: Array.from({ length: 3 }, () => ({
            path,
            difference: 'body of 3 characters became of 4 characters, text/plain',
          })),
        },
      ],
    })
  })

  it('counts requests that a service does not answer, and ends with 1', async () => {
    answerOld = (request) => request.socket.destroy()
    const { code, stdout } = await run('--requests', lines({ path: '/', headers: {} }))
    assert.equal(code, 1)
    assert.match(stdout, /^0 reads compared: 0 equal, 0 different\.\n1 request without an answer of one service\.\n/)
  })

  it('sends a path with two slashes to the two services alone', async () => {
    answerOld = (_request, response) => response.writeHead(404).end()
    await run('--requests', lines({ path: '//127.0.0.2/secret', headers: asOwner() }))
    assert.deepEqual(
      asked.map(({ url }) => url),
      ['//127.0.0.2/secret'],
    )
  })

  it('passes requests on, and compares the reads among them', async () => {
    answerOld = (request, response) => {
      if (request.method === 'GET') response.end('blue')
      else request.pipe(response.writeHead(201, { 'x-old': 'yes' }))
    }
    const program = place.start(['shadow', '--against', oldUrl(), '--to', service.url, '--listen', '0', '--json'])
    const heard = new Promise<string>((resolve) => {
      program.process.stderr?.on('data', (text: string) => {
        const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
        if (url !== undefined) resolve(url)
      })
    })
    const mirror = await heard
    const path = `/${ada.id}/properties/color`
    const read = await fetch(`${mirror}${path}`, { headers: { authorization: ada.authorization } })
    assert.deepEqual([read.status, await read.text()], [200, 'blue'])
    const written = await fetch(`${mirror}${path}`, { method: 'POST', body: 'a body' })
    assert.deepEqual([written.status, written.headers.get('x-old'), await written.text()], [201, 'yes', 'a body'])
    program.signal('SIGTERM')
    const { code, stdout } = await program.ended
    assert.equal(code, 0)
    const { equal, skipped } = JSON.parse(stdout) as { equal: number; skipped: number }
    assert.deepEqual({ equal, skipped }, { equal: 1, skipped: 1 })
    assert.equal(await (await ada.request('GET', '/properties/color')).text(), 'blue')
  })

  for (const [args, message] of [
    [['--listen', '0', '--requests', 'x'], 'expected --requests with a file, or --listen with a port'],
    [[], 'expected --requests with a file, or --listen with a port'],
    [['--listen', '70000'], '--listen needs a port'],
    [['--requests', 'x', 'more'], 'expected --requests with a file, or --listen with a port'],
  ] as const) {
    it(`refuses ${JSON.stringify(args)}`, async () => {
      const { code, stdout, stderr } = await run(...args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.ok(stderr.includes(message), stderr)
    })
  }

  it('refuses a new service that does not answer, and an address with a path', async () => {
    const none = await place.run(['shadow', '--against', oldUrl(), '--to', 'http://127.0.0.1:1', '--requests', 'x'])
    assert.match(none.stderr, /^Cannot read the routes of http:\/\/127\.0\.0\.1:1: .* Start the new service first\.\n$/)
    const path = await place.run(['shadow', '--against', `${oldUrl()}/app`, '--requests', 'x'])
    assert.match(path.stderr, /expected --against with the URL of a service, without a path/)
  })
})
