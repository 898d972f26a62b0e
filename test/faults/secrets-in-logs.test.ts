import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { rawRequest } from '../support/raw-request.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes } from '../support/routes.ts'
import { basic, forEachService, testKeys, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const neutral = { error: 'server_error', message: 'The service failed' }

async function storeOf(service: TestService) {
  return (await service.app.running()).store
}

forEachService((start, dialect) => {
  describe('logs, errors and counters', () => {
    const secrets = {
      tried: 'planted-tried-passphrase',
      bearer: 'planted-bearer-token',
      cookie: 'planted-cookie-token',
      value: 'planted-body-value',
      query: 'planted-query-value',
      bot: 'planted-bot-token',
      metrics: 'planted-metrics-token',
      chosen: 'planted-chosen-passphrase',
    } as const

    let service: TestService
    let store: FaultyStore
    let actor: TestActor
    let peer: string
    let failing = false
    const callers = new TestCallers()

    async function own(): Promise<void> {
      actor = await service.createActor('owner@example.com')
      await furnish(actor)
      peer = callers.peer(actor.id, { grants: everything })
    }

    before(async () => {
      service = await start({
        ...callers.parts,
        botToken: secrets.bot,
        metricsToken: secrets.metrics,
        wrapStore: (inner) => (store = faulty(inner)),
        declare: (app) => {
          const mayFail = (): void => {
            if (failing) throw new Error('The application failed')
          }
          app.method('greet', mayFail)
          app.action('paint', mayFail)
          app.resource('picture', mayFail)
          app.property('*', ({ value }) => {
            mayFail()
            return value
          })
          app.bot(() => {
            mayFail()
            return true
          })
          app.on('actor_created', mayFail)
          app.on('actor_deleted', mayFail)
          // These handlers come after the failing ones, which return nothing when they do not fail.
          declareAll(app)
        },
      })
      await own()
      for (const [name, value] of Object.entries({ created: actor.passphrase, peer })) {
        assert.ok(value.length > 20, name)
      }
    })

    const bodies: readonly [type: string, body: string][] = [
      [
        'application/json',
        JSON.stringify({ creator: 'new@example.com', passphrase: secrets.chosen, extra: secrets.value }),
      ],
      ['application/json', JSON.stringify({ action: 'update', item_index: secrets.value, item_value: secrets.value })],
      ['application/json', JSON.stringify({ notes: { items: [{ index: secrets.value }] } })],
      ['application/json', JSON.stringify({ jsonrpc: '2.0', method: 'greet', params: secrets.value, id: 1 })],
      ['application/json', JSON.stringify([secrets.value])],
      ['application/json', JSON.stringify(secrets.value)],
      ['application/json', `{"passphrase": "${secrets.chosen}", "broken": ${secrets.value}`],
      ['application/json', secrets.value],
      ['text/plain', secrets.value],
      [
        'application/x-www-form-urlencoded',
        `creator=new@example.com&passphrase=${secrets.chosen}&value=${secrets.value}`,
      ],
      [
        'multipart/form-data; boundary=b',
        `--b\r\nContent-Disposition: form-data; name="passphrase"\r\n\r\n${secrets.chosen}\r\n--b--\r\n`,
      ],
      ['multipart/form-data; boundary=b', `--b\r\n${secrets.chosen}`],
    ]

    const secretQuery = `?token=${secrets.query}&format=${secrets.query}`

    /** Calls every route with every credential and body. Returns the error responses. */
    async function drive(): Promise<string[]> {
      const refusals: string[] = []
      const credentials: readonly Record<string, string>[] = [
        { authorization: actor.authorization },
        { authorization: basic(actor.creator, secrets.tried) },
        { authorization: basic(secrets.tried, actor.passphrase) },
        { authorization: `Basic ${secrets.tried}` },
        { authorization: `Bearer ${secrets.bearer}` },
        { authorization: `Bearer ${peer}` },
        { authorization: secrets.bearer },
        { cookie: `oauth_token=${secrets.cookie}; other=${secrets.cookie}` },
      ]
      // Deletions come last, so that the other routes find their targets.
      const others = routes.filter(({ id, method }) => method !== 'DELETE' && id !== 'putTrustee')
      const deletions = routes.filter(({ id, method }) => method === 'DELETE' && id !== 'deleteActor')
      // The route that changes the creator comes after the deletions, because it invalidates the credentials.
      const renaming = routes.filter(({ id }) => id === 'putTrustee')
      for (const route of [...others, ...deletions, ...renaming]) {
        const hasBody = route.method === 'POST' || route.method === 'PUT'
        for (const [at, headers] of credentials.entries()) {
          // Only the owner’s requests reach the body parsers. Routes that reject the query are also called without it.
          const sent = hasBody ? bodies.slice(0, at === 0 ? bodies.length : 1) : [undefined]
          for (const [body, query] of [...sent.map((each) => [each, ''] as const), [sent[0], secretQuery] as const]) {
            const [path] = requestOf(route, actor.id, {})
            const answer = await service.request(`${path}${query}`, {
              method: route.method,
              headers: { ...headers, ...(body === undefined ? {} : { 'content-type': body[0] }) },
              ...(body === undefined ? {} : { body: body[1] }),
            })
            const text = JSON.stringify([...answer.headers]) + (await answer.text())
            if (answer.status >= 400) refusals.push(text)
          }
        }
      }
      for (const creator of ['new@example.com', actor.creator]) {
        await service.request(`/${actor.id}/trust/trustee`, {
          method: 'PUT',
          headers: { authorization: basic(creator, actor.passphrase), 'content-type': 'application/json' },
          body: JSON.stringify({ creator: actor.creator }),
        })
      }
      return refusals
    }

    function assertNoSecret(texts: readonly string[], what: string): void {
      const all = [
        ...Object.values(secrets),
        actor.passphrase,
        actor.authorization.slice('Basic '.length),
        basic(actor.creator, secrets.tried).slice('Basic '.length),
        peer,
        testKeys.slice('k1:'.length),
      ]
      for (const secret of all) {
        const found = texts.find((text) => text.includes(secret))
        assert.equal(found, undefined, `${what} holds ${secret}`)
      }
    }

    it('hold no secret, whatever was sent to any route, at the most verbose level (SEC-04, I9)', async () => {
      service.reset()
      const refusals = await drive()
      assert.ok(refusals.length > 200)
      assert.ok(service.log.length > 300)
      assertNoSecret(refusals, 'an answer')
      assertNoSecret(service.log, 'the log')
    })

    // A plan above the store fails the statements, so both databases would show the same.
    if (dialect === 'sqlite') {
      it('hold no secret when the store fails at any statement (SEC-04)', async () => {
        for (const error of [undefined, () => new Error('disk I/O error')]) {
          for (const matching of [/./, /property|attribute/, /INSERT|UPDATE|DELETE/, /list_/]) {
            // Each round uses a new actor, because the effects on the last one are unknown.
            await own()
            service.reset()
            const times = Number.MAX_SAFE_INTEGER
            store.plan({ matching, times, ...(error === undefined ? {} : { error }) })
            const refusals: string[] = []
            // A log has at most one line of an outage per second, also of that of the round before.
            await until(async () => {
              refusals.push(...(await drive()))
              return service.log.some((line) => line.includes('"level":"error"'))
            })
            assert.ok(store.failed > 5, String(matching))
            store.plan()
            assertNoSecret(refusals, 'an answer')
            assertNoSecret(service.log, 'the log')
          }
        }
      })
    }

    it('hold no secret when the application fails (SEC-04)', async () => {
      service.reset()
      failing = true
      const refusals = await drive()
      failing = false
      assert.ok(service.log.some((line) => line.includes('The application failed')))
      assertNoSecret(refusals, 'an answer')
      assertNoSecret(service.log, 'the log')
    })

    it('hold only routes, methods and statuses in counters, and no request data (SEC-04)', async () => {
      const answer = await service.request('/metrics', { headers: { authorization: `Bearer ${secrets.metrics}` } })
      assert.equal(answer.status, 200)
      const text = await answer.text()
      assert.match(text, /route="putProperty"/)
      assertNoSecret([text], 'a counter')
      for (const fact of [actor.id, actor.creator, 'color', 'notes']) assert.ok(!text.includes(fact), fact)
    })

    it('give a neutral message for a store failure, and only the log has the cause (SEC-05, I9)', async () => {
      for (const route of routes.filter(isBelowActor)) {
        service.reset()
        store.plan({
          matching: /./,
          times: Number.MAX_SAFE_INTEGER,
          error: () => new Error('planted-cause of the driver'),
        })
        const [path, init] = requestOf(route, actor.id, { authorization: actor.authorization })
        const answer = await service.request(path, init)
        store.plan()
        assert.equal(answer.status, 500, route.id)
        assert.deepEqual(await answer.json(), neutral, route.id)
        assert.equal(service.log.filter((line) => line.includes('planted-cause of the driver')).length, 1, route.id)

        store.plan({ matching: /./, times: Number.MAX_SAFE_INTEGER })
        const busy = await service.request(path, init)
        store.plan()
        assert.equal(busy.status, 503, route.id)
        assert.deepEqual(
          await busy.json(),
          { error: 'store_unavailable', message: 'Storage cannot be used right now' },
          route.id,
        )
      }
    })

    it('give a neutral message for an application failure, and only the log has the cause (SEC-05)', async () => {
      const calls: readonly [method: string, path: string, body?: unknown][] = [
        ['POST', '/methods/greet', {}],
        ['GET', '/methods/greet'],
        ['POST', '/actions/paint', {}],
        ['GET', '/resources/picture'],
        ['GET', '/properties/color'],
        ['GET', '/properties'],
        ['GET', '/properties?format=full'],
        ['PUT', '/properties/color', 'red'],
        ['POST', '/properties', { color: 'red' }],
        ['DELETE', '/properties/color'],
        ['DELETE', '/properties'],
        ['POST', '/properties/notes', 'x'],
        ['POST', '/properties/notes/items', { action: 'delete', item_index: 0 }],
        ['GET', '/properties/notes/items'],
      ]
      await furnish(actor)
      // Only this actor’s rows are compared, because notices of earlier tests are still retried.
      const kept = async () => rowsOf(await dumpStore(await storeOf(service)), actor.id)
      const before = await kept()
      for (const [method, path, body] of calls) {
        service.reset()
        failing = true
        const answer = await actor.request(method, path, body)
        failing = false
        assert.equal(answer.status, 500, path)
        assert.deepEqual(await answer.json(), neutral, path)
        assert.equal(service.log.filter((line) => line.includes('The application failed')).length, 1, path)
      }
      assert.deepEqual(await kept(), before)
    })

    it('give a neutral message for a failure inside a JSON-RPC call (SEC-05)', async () => {
      failing = true
      const answer = await actor.request('POST', '/methods', { jsonrpc: '2.0', method: 'greet', id: 1 })
      failing = false
      assert.deepEqual(await answer.json(), {
        jsonrpc: '2.0',
        error: { code: -32603, message: 'Internal error', data: 'The service failed' },
        id: 1,
      })
    })

    it('truncate a long cause and its own causes (SEC-05, SEC-07)', async () => {
      service.reset()
      const endless = new Error('e'.repeat(1_000_000), { cause: new Error('c'.repeat(1_000_000)) })
      Object.assign(endless.cause as Error, { cause: endless })
      store.plan({ at: 1, error: () => endless })
      const answer = await actor.request('GET', '')
      store.plan()
      assert.deepEqual(await answer.json(), neutral)
      const [line = ''] = service.log
      assert.ok(line.length < 40_000, String(line.length))
      assert.match(line, /e{2000}… \(1000000 characters\)/)
      assert.match(line, /c{2000}… \(1000000 characters\)/)
    })

    it('include one response and one log line for any thrown value (SEC-05)', async () => {
      const thrown: readonly unknown[] = [
        undefined,
        null,
        'a text',
        42,
        Symbol('s'),
        Object.create(null),
        {
          toString: () => {
            throw new Error('no text')
          },
        },
        Object.assign(new Error('x'), { message: 42, name: null, stack: {}, code: {}, detail: null }),
        new AggregateError([new Error('one')], 'many'),
        Object.freeze(new Error('frozen')),
      ]
      const own = await start({
        declare: (app) =>
          app.method('throw', ({ input }) => {
            throw thrown[(input as { at: number }).at]
          }),
      })
      const caller = await own.createActor()
      for (const at of thrown.keys()) {
        own.reset()
        const answer = await caller.request('POST', '/methods/throw', { at })
        assert.equal(answer.status, 500, String(at))
        assert.deepEqual(await answer.json(), neutral)
        assert.equal(own.log.filter((line) => line.includes('"level":"error"')).length, 1, String(at))
      }
    })

    it('have no line for anonymous requests and rejections at the default level, besides one for each failed sign-in (SEC-09)', async () => {
      const quiet = await start({ logLevel: 'info', listen: true })
      const target = await quiet.createActor()
      quiet.reset()
      const requests: readonly [
        method: string,
        path: string,
        status: number,
        headers?: Record<string, string>,
        body?: string,
      ][] = [
        ['GET', '/', 200],
        ['GET', '/nothing/here', 404],
        ['GET', `/${target.id}`, 401],
        ['GET', `/${target.id}/properties`, 401],
        ['GET', `/${target.id}`, 302, { accept: 'text/html' }],
        ['GET', `/${target.id}/properties`, 401, { accept: 'text/html' }],
        ['GET', `/${target.id}/properties`, 403, { authorization: 'Bearer x' }],
        ['GET', `/${target.id}/properties`, 403, { authorization: basic('a', 'b') }],
        ['GET', `/${target.id}/properties`, 401, { authorization: 'nonsense' }],
        ['PATCH', `/${target.id}`, 405],
        ['POST', `/${target.id}`, 405],
        ['PROPFIND', `/${target.id}`, 501],
        ['M-SEARCH', '/', 501],
        ['GET', '/%ff', 400],
        ['GET', '/%2e%2e', 400],
        ['GET', `/${'x'.repeat(9000)}`, 414],
        ['POST', '/', 400, { 'content-type': 'application/json' }, '{'],
        ['POST', '/', 415, { 'content-type': 'image/png' }, 'x'],
        ['POST', '/', 413, { 'content-type': 'application/json' }, ' '.repeat(3_000_000)],
        ['POST', '/', 201, { 'content-type': 'application/json' }, '{}'],
        ['POST', '/bot', 404, {}, '{}'],
        ['GET', '/metrics', 200],
        ['GET', '/health/ready', 200],
      ]
      for (let round = 0; round < 3; round++) {
        for (const [method, path, status, headers = {}, body] of requests) {
          const answer = await rawRequest(quiet.url, method, path, { headers, ...(body === undefined ? {} : { body }) })
          assert.equal(answer.status, status, `${method} ${path.slice(0, 60)}`)
        }
      }
      const lines = quiet.log.map((line) => JSON.parse(line) as { level: string; msg: string; method: string })
      const failed = (method: string): unknown[] => ['info', 'Failed sign-in', method]
      assert.deepEqual(
        lines.map(({ level, msg, method }) => [level, msg, method]),
        [1, 2, 3].flatMap(() => [failed('secret'), failed('passphrase')]),
      )
    })
  })
})

describe('a line of the log', () => {
  const nasty = [
    ['line breaks', 'a\nb\r\nc\u2028d\u2029e\u0085f'],
    ['an end of the line and a forged event', '"}\n{"level":"fatal","msg":"forged"}\n'],
    ['escape sequences of a terminal', '\u001b[2J\u001b]0;title\u0007\u009b31m\u0090x\u009c'],
    ['NUL, backspace and delete', 'a\u0000b\u0008c\u007f'],
    ['marks that change the direction of text', 'a\u202eb\u2066c\u200fd\u061ce'],
    ['half a surrogate pair', 'a\ud800b'],
    ['a megabyte', 'x'.repeat(1_000_000)],
  ] as const

  function lineOf(write: (log: ReturnType<typeof createLog>) => void): string {
    const lines: string[] = []
    write(createLog('trace', { write: (line: string) => void lines.push(line) }))
    assert.equal(lines.length, 1)
    return lines[0] ?? ''
  }

  /** Asserts one line of printable characters that is valid JSON. */
  function assertOneLine(line: string): void {
    assert.equal(line.indexOf('\n'), line.length - 1)
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(line.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
    assert.ok(line.length < 20_000, String(line.length))
    assert.equal(typeof JSON.parse(line), 'object')
  }

  for (const [what, text] of nasty) {
    it(`stays one line of bounded length with ${what} in a field, in a code, or in an error and its cause (SEC-07)`, () => {
      assertOneLine(lineOf((log) => log.info({ name: text, reason: text }, 'An event')))
      const error = Object.assign(new Error(text, { cause: new Error(text) }), { code: text, detail: { reason: text } })
      error.name = text
      assertOneLine(lineOf((log) => log.error({ error }, 'An event')))
      assertOneLine(lineOf((log) => log.error({ error: text }, 'An event')))
    })
  }

  it('escapes control characters visibly and marks truncated strings (SEC-07)', () => {
    const line = lineOf((log) => log.info({ name: 'a\u009b\u202eb' }, 'An event'))
    assert.ok(line.includes('"name":"a\\u009b\\u202eb"'), line)
    const { name: long } = JSON.parse(lineOf((log) => log.info({ name: 'x'.repeat(2001) }, 'An event'))) as {
      name: string
    }
    assert.equal(long, `${'x'.repeat(2000)}… (2001 characters)`)
    const { name: whole } = JSON.parse(lineOf((log) => log.info({ name: 'x'.repeat(2000) }, 'An event'))) as {
      name: string
    }
    assert.equal(whole, 'x'.repeat(2000))
  })
})
