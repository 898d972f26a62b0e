import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import express from 'express'
import { App, toNodeHandler } from '../../src/index.ts'
import { onFreePort } from '../support/free-port.ts'
import { Workplace } from '../support/program.ts'
import { basic, testKeys } from '../support/service.ts'
import { createTestDatabase, type TestDatabase } from '../support/stores.ts'

const examples = join(dirname(dirname(import.meta.dirname)), 'examples')

const json = { 'content-type': 'application/json' }

interface Created {
  readonly id: string
  readonly creator: string
  readonly passphrase: string
}

for (const [example, path] of Object.entries({
  'plain-node': '',
  express: '/actors',
  fastify: '/actors',
  hono: '/actors',
})) {
  describe(`the example for ${example}`, () => {
    const place = new Workplace()
    let site = ''
    let url = ''
    let actor: Created
    let headers: Record<string, string>
    let program: ReturnType<Workplace['startFile']>
    before(() =>
      onFreePort(async (port) => {
        program = place.startFile(join(examples, example, 'server.ts'), [], { env: { PORT: String(port) } })
        site = `http://localhost:${port}`
        url = site + path
        const [, ready] = await program.prints(/^Ready at (.*)$/m).catch(async (cause: unknown) => {
          const { stderr } = await program.ended
          throw stderr.includes('EADDRINUSE')
            ? Object.assign(new Error('taken', { cause }), { code: 'EADDRINUSE' })
            : cause
        })
        assert.equal(ready, url)
      }),
    )
    after(() => place.remove())
    beforeEach(async () => {
      const answer = await fetch(path === '' ? `${url}/` : url, {
        method: 'POST',
        headers: json,
        body: '{"creator":"ada@example.com"}',
      })
      assert.equal(answer.status, 201)
      actor = (await answer.json()) as Created
      assert.equal(answer.headers.get('location'), `${url}/${actor.id}`)
      headers = { authorization: basic(actor.creator, actor.passphrase) }
    })

    const call = (method: string, below: string, body?: string, more: Record<string, string> = {}): Promise<Response> =>
      fetch(`${url}/${actor.id}${below}`, {
        method,
        headers: { ...headers, ...more },
        ...(body === undefined ? {} : { body }),
      })

    it('serves the front page, its stylesheet and the rest of the site (R-ACT-10)', async () => {
      const page = await fetch(path === '' ? `${url}/` : url)
      assert.equal(page.status, 200)
      const [, style = ''] = /href="([^"]+\.css)"/.exec(await page.text()) ?? []
      assert.match(style, new RegExp(`^${path}/assets/troupe\\.[\\w-]{12}\\.css$`))
      assert.equal((await fetch(site + style)).status, 200)
      const other = await fetch(site + (path === '' ? '/status' : '/'))
      assert.equal(other.headers.get('x-request-id'), null)
      assert.equal((await other.text()).trim(), path === '' ? 'fine' : 'The rest of the site')
    })

    it('creates an actor from a form (R-ACT-02)', async () => {
      const answer = await fetch(path === '' ? `${url}/` : url, {
        method: 'POST',
        headers: { accept: 'application/json' },
        body: new URLSearchParams({ creator: 'Grace@example.com', passphrase: 'äö & = +%' }),
      })
      assert.equal(answer.status, 201)
      const { creator, passphrase } = (await answer.json()) as Created
      assert.deepEqual([creator, passphrase], ['grace@example.com', 'äö & = +%'])
    })

    it('keeps JSON bodies as they were sent', async () => {
      for (const body of ['{"b":[1,null,{"ä":"\\u0000"}],"a":{}}', '[]', '{}', '[[],"",false]']) {
        assert.equal((await call('PUT', '/properties/value', body, json)).status, 204, body)
        const answer = await call('GET', '/properties/value')
        assert.equal(await answer.text(), body, body)
      }
    })

    it('keeps text bodies and bodies without a content type', async () => {
      assert.equal((await call('PUT', '/properties/note', 'just a text', { 'content-type': 'text/plain' })).status, 204)
      assert.equal(await (await call('GET', '/properties/note')).text(), 'just a text')
      const bytes = await fetch(`${url}/${actor.id}/properties/note`, {
        method: 'PUT',
        headers,
        body: new TextEncoder().encode('"untyped"'),
      })
      assert.equal(bytes.status, 204)
      assert.equal(await (await call('GET', '/properties/note')).text(), 'untyped')
    })

    it('removes a property that receives an empty body', async () => {
      await call('PUT', '/properties/note', 'here', { 'content-type': 'text/plain' })
      assert.equal((await call('PUT', '/properties/note', '', json)).status, 204)
      assert.equal((await call('GET', '/properties/note')).status, 404)
    })

    it('accepts a body that arrives in chunks', async () => {
      const body = new ReadableStream({
        start(controller) {
          for (const part of ['{"par', 'ts":', '3}']) controller.enqueue(new TextEncoder().encode(part))
          controller.close()
        },
      })
      const answer = await fetch(`${url}/${actor.id}/properties/chunks`, {
        method: 'PUT',
        headers: { ...headers, ...json },
        body,
        duplex: 'half',
      })
      assert.equal(answer.status, 204)
      assert.equal(await (await call('GET', '/properties/chunks')).text(), '{"parts":3}')
    })

    it('keeps escapes and queries of the URL', async () => {
      assert.equal((await call('PUT', '/properties/a%20%C3%A4%3B?format=1&metadata=%2F', '"v"')).status, 204)
      assert.deepEqual(await (await call('GET', '/properties')).json(), { 'a ä;': 'v' })
      assert.equal((await call('GET', '/properties/a%2Fb')).status, 400)
    })

    it('runs methods, and responds with HEAD, 405, 401 and 404 as the service alone does', async () => {
      assert.deepEqual(await (await call('POST', '/methods/hello', '{}', json)).json(), { hello: 'ada@example.com' })
      const head = await call('HEAD', '/properties')
      assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '2', ''])
      const wrong = await call('PUT', '/meta', '{}', json)
      assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD'])
      const anonymous = await fetch(`${url}/${actor.id}/properties`)
      assert.equal(anonymous.status, 401)
      assert.match(anonymous.headers.get('www-authenticate') ?? '', /^Basic /)
      const unknown = await fetch(`${url}/missing/properties`, { headers })
      assert.deepEqual([unknown.status, ((await unknown.json()) as { error: string }).error], [404, 'actor_not_found'])
      assert.equal((await call('DELETE', '')).status, 204)
      assert.equal((await call('GET', '')).status, 404)
    })

    it('leaves the bodies of other requests to the site', async () => {
      if (path === '') return
      const answer = await fetch(`${site}/echo`, { method: 'POST', headers: json, body: '{"mine":1}' })
      assert.deepEqual(await answer.json(), { mine: 1 })
    })

    it('shuts down cleanly on SIGTERM', async () => {
      program.signal('SIGTERM')
      const { code, stderr } = await program.ended
      assert.deepEqual([code, stderr], [0, ''])
    })
  })
}

describe('a body that a framework has already read', () => {
  let database: TestDatabase
  let server: Server | undefined
  before(async () => {
    database = await createTestDatabase('sqlite')
  })
  after(() => database.remove())
  let app: App
  afterEach(async () => {
    server?.close()
    server?.closeAllConnections()
    await app.close()
  })

  /**
   * Starts Express with these parsers, and an actor. The functions send a body and return what is stored then, or the response.
   */
  async function behind(...parsers: express.RequestHandler[]): Promise<{
    put: (body: string, type: string) => Promise<[status: number, stored: string]>
    post: (body: string, type: string) => Promise<unknown>
  }> {
    app = new App({
      type: 'urn:test',
      mode: 'development',
      logLevel: 'silent',
      database: database.url,
      secretKeys: testKeys,
      env: {},
    })
    await app.start()
    const { actor, passphrase } = await app.actors.create({ creator: 'ada@example.com' })
    await actor.set('value', 'as before')
    const site = express()
    for (const parser of parsers) site.use(parser)
    site.use(toNodeHandler(app))
    server = site.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const send = (method: string, path: string, body: string, type: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/${actor.id}${path}`, {
        method,
        headers: { authorization: basic('ada@example.com', passphrase), 'content-type': type },
        body,
      })
    return {
      put: async (body, type) => {
        const { status } = await send('PUT', '/properties/value', body, type)
        return [status, JSON.stringify(await actor.get('value'))]
      },
      post: async (body, type) => (await send('POST', '/properties', body, type)).json(),
    }
  }

  it('is the same value after express.json(), also for scalars and strings', async () => {
    const { put } = await behind(express.json({ strict: false }))
    for (const body of ['{"a":[1]}', '"text"', '"\\"quoted\\""', '12', 'true', 'false', '0']) {
      assert.deepEqual(await put(body, 'application/json'), [204, body])
    }
    assert.deepEqual(await put('""', 'application/json'), [204, undefined])
  })

  it('is the same string after express.text() and the same bytes after express.raw()', async () => {
    for (const parser of [express.text({ type: '*/*' }), express.raw({ type: '*/*' })]) {
      const { put } = await behind(parser)
      assert.deepEqual(await put('{"a": 12345678901234567890}', 'application/json'), [
        204,
        '{"a":12345678901234567000}',
      ])
      assert.deepEqual(await put('plain ä', 'text/plain'), [204, '"plain ä"'])
      assert.deepEqual(await put('"quoted"', 'application/json'), [204, '"quoted"'])
      server?.close()
      await app.close()
    }
  })

  it('is the same form after express.urlencoded(), extended or not', async () => {
    for (const extended of [true, false]) {
      const { post } = await behind(express.urlencoded({ extended }))
      assert.deepEqual(await post('color=red&name=a%26b', 'application/x-www-form-urlencoded'), {
        color: 'red',
        name: 'a&b',
      })
      server?.close()
      await app.close()
    }
  })

  it('is an error when it was discarded, and changes nothing', async () => {
    const { put } = await behind((request, _response, next) => {
      request.resume().once('end', () => next())
    })
    assert.deepEqual(await put('"gone"', 'application/json'), [500, '"as before"'])
  })
})

describe('an embedded application that cannot start', () => {
  it('responds with 503 and no reason on a plain server, and passes the reason to the error handler of Express', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', onWarning)
    const app = new App({ type: 'urn:test', mode: 'production', env: {} })
    const reasons: string[] = []
    const site = express()
    site.use(toNodeHandler(app))
    site.use(((error: Error, _request, response, _next) => {
      reasons.push(error.message)
      response.status(500).end()
    }) satisfies express.ErrorRequestHandler)
    const servers = [createServer(toNodeHandler(app)).listen(0, '127.0.0.1'), site.listen(0, '127.0.0.1')]
    const statuses: [number, string][] = []
    for (const server of servers) {
      if (!server.listening) await once(server, 'listening')
      try {
        const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
        statuses.push([answer.status, await answer.text()])
      } finally {
        server.close()
        server.closeAllConnections()
      }
    }
    process.off('warning', onWarning)
    const reason =
      'The settings have 2 problems:\n- TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.\n- BASE_URL is required in production: the public https address of the service.'
    assert.deepEqual(statuses, [
      [503, '{"error":"store_unavailable","message":"The service could not start"}'],
      [500, ''],
    ])
    assert.deepEqual([warnings, reasons], [[reason], [reason]])
  })
})
