/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call -- what the protocol answers is read as it comes, and compared with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { workOf } from '../support/counted-work.ts'
import { authorizeClient, listen, type McpAnswer, type TestClient } from '../support/mcp-client.ts'
import { EventStream } from '../support/event-stream.ts'
import { rawRequest } from '../support/raw-request.ts'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { untilWatched } from '../support/stored.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

function declare(app: App): void {
  app.action('paint', { input: z.object({ color: z.string() }), mcp: true }, async ({ actor, input }) => {
    await actor.set('color', input.color)
    return { painted: input.color }
  })
  app.action('look', { mcp: true }, async ({ actor }) => ({ color: await actor.get('color') }))
  app.method('advise', { mcp: { prompt: { arguments: [{ name: 'on', complete: () => fail() }] } } }, () => fail())
  app.method('status', { mcp: { resource: { uri: 'house://status' } } }, () => fail())
  app.method('room', { mcp: { resource: { uri: 'house://rooms/{name}' } } }, () => ({ open: true }))
}

function fail(): never {
  throw new Error('a stack with hunter2 in it')
}

const post = (service: TestService, headers: Record<string, string>, body = rpc('tools/list')): Promise<Response> =>
  service.request('/mcp', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })

const rpc = (method: string, params: object = {}, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** The properties of the actor, as its owner reads them. */
const kept = async (actor: TestActor): Promise<string> => (await actor.request('GET', '/properties')).text()

describe('access to /mcp', () => {
  const start = sqliteService()

  it('is denied to any other kind of token, and no token is sent to another service (MCP-03)', async () => {
    const asked: string[] = []
    const service = await start({
      declare,
      peerClient: {
        call: (request) => {
          asked.push(request.url)
          return Promise.reject(new Error('connection refused'))
        },
        close: () => Promise.resolve(),
      },
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const { parts, store } = await service.app.running()
    const session = await store.writeActor(actor.id, (tx) =>
      parts.tokens.startSession(tx, {
        actorId: actor.id,
        identifier: actor.creator,
        beganWith: 'web',
        device: 'a browser',
      }),
    )
    const secret = 'c'.repeat(40)
    const trust = await actor.request('POST', '/trust/friend', {
      baseuri: 'https://peer.example.com/p1',
      id: 'p1',
      type: 'urn:x',
      secret,
    })
    assert.ok(trust.status < 500)
    const tokens = [
      client.refreshToken,
      session.accessToken,
      session.refreshToken,
      secret,
      actor.passphrase,
      'ya29.a0AfH6SMBx-something-of-a-provider',
      'gho_16C7e42F292c6912E7710c838347Ae178B4a',
      `eyJhbGciOiJub25lIn0.${Buffer.from('{"sub":"ada"}').toString('base64url')}.`,
      client.token.toUpperCase(),
      `${client.token}x`,
      client.token.slice(0, -1),
    ]
    asked.length = 0
    for (const token of tokens) {
      const response = await post(service, { authorization: `Bearer ${token}` })
      assert.equal(response.status, 401, token)
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
    }
    assert.deepEqual(asked, [])
    for (const header of ['Bearer', 'Bearer ', `Bearer ${client.token} ${client.token}`, client.token]) {
      assert.equal((await post(service, { authorization: header })).status, 401, header)
    }
    assert.equal((await post(service, { authorization: `bEARER  ${client.token} ` })).status, 200)
  })

  it('is denied when the header is sent twice, or the token is in a cookie (MCP-01, MCP-02)', async () => {
    const service = await start({ declare, listen: true })
    const client = await authorizeClient(service, await service.createActor())
    const send = (headers: Record<string, string | string[]>) =>
      rawRequest(service.url, 'POST', '/mcp', {
        headers: { 'content-type': 'application/json', ...headers },
        body: rpc('tools/list'),
      })
    const one = `Bearer ${client.token}`
    assert.equal((await send({ authorization: one })).status, 200)
    for (const cookie of [`access_token=${client.token}`, `oauth_token=${client.token}`]) {
      assert.equal((await send({ cookie })).status, 401)
    }
    // node:http keeps only the first of two header fields, but both were sent.
    assert.equal((await send({ Authorization: [one, one] })).status, 401)
  })

  it('is denied after the token has expired or the relationship has ended (MCP-01)', async () => {
    let later = 0
    const service = await start({ declare, now: () => Date.now() + later })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const ended = await authorizeClient(service, actor)
    const { parts, store } = await service.app.running()
    await store.writeActor(actor.id, (tx) => parts.tokens.endChain(tx, actor.id, ended.chainId))
    assert.equal((await ended.modern('tools/list')).status, 401)
    assert.equal((await client.modern('tools/list')).status, 200)
    later = 3_700_000
    for (const [method, init] of [
      ['POST', { body: rpc('tools/list') }],
      ['GET', {}],
      ['DELETE', {}],
    ] as const) {
      const response = await service.request('/mcp', {
        method,
        headers: {
          authorization: `Bearer ${client.token}`,
          accept: 'text/event-stream',
          'content-type': 'application/json',
        },
        ...init,
      })
      assert.equal(response.status, 401, method)
    }
  })

  it('is denied to pages of other sites and to DNS rebinding, before the token is checked (MCP-05)', async () => {
    const service = await start({ declare, listen: true })
    const client = await authorizeClient(service, await service.createActor())
    const { port } = new URL(service.url)
    const send = (method: string, headers: Record<string, string>) =>
      rawRequest(service.url, method, '/mcp', {
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${client.token}`,
          ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(method === 'POST' ? { body: rpc('tools/list') } : {}),
      })
    for (const method of ['POST', 'GET', 'DELETE']) {
      assert.equal((await send(method, { origin: 'https://evil.example' })).status, 403, method)
      assert.equal((await send(method, { origin: 'https://evil.example', authorization: 'Bearer x' })).status, 403)
      assert.equal((await send(method, { host: 'evil.example' })).status, 403, method)
      assert.equal((await send(method, { host: `evil.example:${port}`, authorization: 'Bearer x' })).status, 403)
      assert.equal((await send(method, { host: `localhost.evil.example:${port}` })).status, 403, method)
    }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'LOCALHOST']) {
      assert.equal((await send('POST', { host })).status, 200, host)
    }
  })

  it('behind a proxy accepts any host, and takes addresses from the configuration (MCP-05, MCP-18)', async () => {
    const service = await start({ declare, baseUrl: 'https://troupe.example/svc' })
    const forged = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example;proto=http',
    }
    const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
      service.app.fetch(
        new Request(`http://evil.example/svc${path}`, {
          ...init,
          headers: new Headers([...Object.entries(forged), ...new Headers(init.headers)]),
        }),
      )
    for (const path of ['/mcp', '/mcp/info', '/.well-known/oauth-protected-resource/mcp']) {
      const response = await ask(path)
      const body = await response.text()
      assert.equal(response.status, 200, path)
      assert.ok(body.includes('https://troupe.example/svc/mcp') && !body.includes('evil'), body)
    }
    const refused = await ask('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: rpc('tools/list'),
    })
    assert.equal(refused.status, 401)
    assert.match(
      refused.headers.get('www-authenticate') ?? '',
      /resource_metadata="https:\/\/troupe\.example\/svc\/\.well-known\/oauth-protected-resource\/mcp"/,
    )
  })

  it('is described by documents with the service’s prefix and S256 alone, at every standard path (MCP-17)', async () => {
    const service = await start({ declare, baseUrl: 'https://troupe.example/svc' })
    const read = async (path: string): Promise<Record<string, unknown>> => {
      const response = await service.app.fetch(new Request(`https://troupe.example${path}`))
      assert.equal(response.status, 200, path)
      return (await response.json()) as Record<string, unknown>
    }
    for (const path of [
      '/.well-known/oauth-authorization-server/svc',
      '/svc/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/svc/mcp',
    ]) {
      const server = await read(path)
      assert.equal(server['issuer'], 'https://troupe.example/svc')
      assert.equal(server['authorization_endpoint'], 'https://troupe.example/svc/oauth/authorize')
      assert.equal(server['token_endpoint'], 'https://troupe.example/svc/oauth/token')
      assert.deepEqual(server['code_challenge_methods_supported'], ['S256'])
      // Clients sign assertions with public keys alone (RFC 8414 section 2 forbids `none`).
      const algorithms = Object.entries(server).flatMap(([name, value]) => (name.includes('signing_alg') ? value : []))
      assert.deepEqual(
        new Set(algorithms as string[]),
        new Set(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']),
      )
    }
    for (const path of [
      '/.well-known/oauth-protected-resource/svc/mcp',
      '/svc/.well-known/oauth-protected-resource/mcp',
    ]) {
      const resource = await read(path)
      assert.equal(resource['resource'], 'https://troupe.example/svc/mcp')
      assert.deepEqual(resource['authorization_servers'], ['https://troupe.example/svc'])
    }
  })

  it('by CORS is allowed to pages of configured origins, errors included, and to no others', async () => {
    const site = 'https://inspector.example'
    const service = await start({ declare, mcpOrigins: [site] })
    const client = await authorizeClient(service, await service.createActor())
    const ask = (method: string, headers: Record<string, string>): Promise<Response> =>
      service.request('/mcp', { method, headers, ...(method === 'POST' ? { body: rpc('tools/list') } : {}) })
    const preflight = await ask('OPTIONS', {
      origin: site,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-param-region, x-other',
    })
    assert.equal(preflight.status, 200)
    assert.equal(preflight.headers.get('access-control-allow-origin'), site)
    assert.equal(
      preflight.headers.get('access-control-allow-headers'),
      'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, ' +
        'mcp-param-region',
    )
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
    const json = { 'content-type': 'application/json' }
    const answered = await ask('POST', { origin: site, authorization: `Bearer ${client.token}`, ...json })
    assert.equal(answered.status, 200)
    assert.equal(answered.headers.get('access-control-allow-origin'), site)
    assert.match(answered.headers.get('access-control-expose-headers') ?? '', /Mcp-Session-Id/)
    const refused = await ask('POST', { origin: site, ...json })
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('access-control-allow-origin'), site)
    for (const origin of [
      'https://evil.example',
      'null',
      'http://inspector.example',
      'https://inspector.example.evil.example',
    ]) {
      assert.equal((await ask('OPTIONS', { origin })).headers.get('access-control-allow-origin'), null, origin)
      const other = await ask('POST', { origin, authorization: `Bearer ${client.token}`, ...json })
      assert.equal(other.status, 403)
      assert.equal(other.headers.get('access-control-allow-origin'), null, origin)
    }
  })
})

describe('a store failure during a call', () => {
  forEachService((start) => {
    it('never allows a denied call, never gives 401, and leaves no partial change, at any statement (MCP-11, MCP-13)', async () => {
      let store: FaultyStore | undefined
      const service = await start({ declare, wrapStore: (inner) => (store = faulty(inner)) })
      const actor = await service.createActor()
      const allowed = await authorizeClient(service, actor)
      const denied = await authorizeClient(service, actor, { relationship: 'viewer' })
      assert.ok(store !== undefined)
      const call = { name: 'paint', arguments: { color: 'red' } }
      for (const way of ['modern', 'legacy'] as const) {
        for (const [client, expected] of [
          [denied, way === 'modern' ? 403 : -32003],
          [allowed, undefined],
        ] as const) {
          let statements = 0
          for (let at = 1; ; at++) {
            store.plan()
            await actor.request('PUT', '/properties/color', 'blue')
            store.plan({ at })
            const answer: McpAnswer = await client[way]('tools/call', call)
            const isBroken = store.failed > 0
            store.plan()
            const color = await kept(actor)
            const what = `${way}, ${expected === undefined ? 'allowed' : 'denied'}, statement ${at}: ${JSON.stringify(answer.body)}`
            assert.notEqual(answer.status, 401, what)
            assert.ok(color === '{"color":"blue"}' || (expected === undefined && color === '{"color":"red"}'), what)
            if (!isBroken) {
              assert.equal(answer.status, 200)
              assert.equal(answer.body.error?.code, expected, what)
              if (expected === undefined) assert.equal(color, '{"color":"red"}')
              statements = at - 1
              break
            }
            if (answer.status === 503) {
              assert.ok(Number(answer.headers.get('retry-after')) >= 1, what)
              assert.equal(color, '{"color":"blue"}', what)
            } else {
              // An audit entry may be lost, but the call itself has succeeded.
              assert.equal(answer.status, 200, what)
              assert.equal(answer.body.error?.code, expected, what)
            }
          }
          assert.ok(statements >= (expected === undefined ? 3 : 2), `${statements} statements`)
        }
      }
    })

    it('gives 503 for every method in both eras, and ends with the failure (MCP-13)', async () => {
      let store: FaultyStore | undefined
      const service = await start({ declare, wrapStore: (inner) => (store = faulty(inner)) })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const calls: [method: string, params: object][] = [
        ['tools/list', {}],
        ['prompts/list', {}],
        ['resources/list', {}],
        ['resources/templates/list', {}],
        ['resources/read', { uri: 'actingweb://properties/color' }],
        ['resources/read', { uri: 'house://rooms/attic' }],
        ['tools/call', { name: 'look' }],
        [
          'completion/complete',
          { ref: { type: 'ref/resource', uri: 'house://rooms/{name}' }, argument: { name: 'name', value: '' } },
        ],
      ]
      await actor.request('PUT', '/properties/color', 'red')
      for (const [method, params] of calls) {
        for (const way of ['modern', 'legacy'] as const) {
          store?.plan({ matching: /./, times: Number.POSITIVE_INFINITY })
          const during = await client[way](method, params)
          assert.equal(during.status, 503, `${way} ${method}`)
          assert.ok(Number(during.headers.get('retry-after')) >= 1)
          store?.plan()
          assert.equal((await client[way](method, params)).body.error, undefined, `${way} ${method}`)
        }
      }
    })
  })
})

describe('a permission check that fails', () => {
  const start = sqliteService()
  const calls: [method: string, params: object][] = [
    ['tools/call', { name: 'paint', arguments: { color: 'red' } }],
    ['tools/call', { name: 'look' }],
    ['prompts/get', { name: 'advise' }],
    ['resources/read', { uri: 'house://rooms/attic' }],
    ['resources/read', { uri: 'actingweb://properties/color' }],
    ['resources/read', { uri: 'actingweb://properties/all' }],
    ['tools/list', {}],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'advise' }, argument: { name: 'on', value: '' } }],
  ]

  it('gives an internal error without the cause, and never allows the call (MCP-11)', async () => {
    const service = await start({
      declare,
      relationshipRules: () => Promise.reject(new TypeError('rules of hunter2 are undefined')),
    })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/color', 'blue')
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    for (const [method, params] of calls) {
      for (const way of ['modern', 'legacy'] as const) {
        const { status, body } = await client[way](method, params)
        assert.deepEqual(
          [status, body.result, body.error],
          [200, undefined, { code: -32603, message: 'Internal error' }],
        )
      }
    }
    assert.equal(await kept(actor), '{"color":"blue"}')
    assert.ok(
      service.log.some((line) => line.includes('rules of hunter2')),
      'the log has the cause',
    )
  })

  it('gives 503 when the rules cannot be read (MCP-11)', async () => {
    const service = await start({
      declare,
      relationshipRules: () => Promise.reject(new ServiceError('store_unavailable')),
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    for (const [method, params] of calls) assert.equal((await client.modern(method, params)).status, 503, method)
    assert.equal(await kept(actor), '{}')
  })
})

describe('the acknowledgement of a stream', () => {
  const takes = { 'io.modelcontextprotocol/tasks': {} }
  const takesTasks = { capabilities: { extensions: takes } }

  /** Returns the notifications that the acknowledgement names. */
  async function granted(client: TestClient, notifications: object): Promise<unknown> {
    const stream = new EventStream(await listen(client, notifications, takesTasks))
    const { method, params } = await stream.next()
    assert.equal(method, 'notifications/subscriptions/acknowledged')
    await stream.close()
    return params.notifications
  }

  forEachService((start) => {
    it('names no resource that the client may not read, and no unreadable prefix (MCP-12)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const asked = [
        'actingweb://properties/public',
        'actingweb://properties/diary',
        'actingweb://properties/all',
        'actingweb://properties/',
        'actingweb://',
        'actingweb://properties/public/',
        'house://rooms/attic',
        'house://',
        'public/plan',
        'public/',
        'private/plan',
        'private/',
        '',
        `house://${'x'.repeat(2041)}`,
      ]
      const of = async (relationship: string): Promise<unknown> =>
        granted(await authorizeClient(service, actor, { relationship }), {
          resourcesListChanged: true,
          resourceSubscriptions: asked,
        })
      assert.deepEqual(await of('viewer'), {
        resourcesListChanged: true,
        resourceSubscriptions: [
          'actingweb://properties/public',
          'actingweb://properties/',
          'actingweb://',
          'public/plan',
          'public/',
        ],
      })
      assert.deepEqual(await of('friend'), {
        resourcesListChanged: true,
        resourceSubscriptions: [
          'actingweb://properties/public',
          'actingweb://properties/diary',
          'actingweb://properties/all',
          'actingweb://properties/',
          'actingweb://',
          'actingweb://properties/public/',
          'house://rooms/attic',
          'house://',
          'public/plan',
          'public/',
        ],
      })
      assert.deepEqual(await of('an unknown type'), { resourcesListChanged: true })
    })

    it('limits the notifications, also when the client may read more later (MCP-12)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'viewer' })
      const uris = ['actingweb://properties/diary', 'actingweb://properties/public']
      const stream = new EventStream(await listen(client, { resourceSubscriptions: uris }))
      assert.deepEqual((await stream.next()).params.notifications, { resourceSubscriptions: [uris[1]] })
      const following = stream.next()
      await untilWatched(service, actor)
      const path = `/trust/viewer/${encodeURIComponent(client.peerId)}/permissions`
      assert.ok((await actor.request('PUT', path, { properties: { allowed: ['diary'] } })).ok)
      await actor.request('PUT', '/properties/diary', 'today')
      await actor.request('PUT', '/properties/public', { motto: 'hello' })
      assert.equal((await following).params.uri, 'actingweb://properties/public')
      await stream.close()
      assert.deepEqual(await granted(client, { resourceSubscriptions: uris }), { resourceSubscriptions: uris })
    })

    it('names no task of another client, no expired task and no unknown task (MCP-12)', async () => {
      const service = await start({
        declare: (app) =>
          app.action('think', { mcp: true }, ({ mcp }) => {
            mcp?.background()
            return 'thought'
          }),
      })
      const actor = await service.createActor()
      const [one, other] = [await authorizeClient(service, actor), await authorizeClient(service, actor)]
      const begin = async (client: TestClient): Promise<string> =>
        (await client.modern('tools/call', { name: 'think' }, takesTasks)).body.result.taskId
      const [first, theirs, last] = [await begin(one), await begin(other), await begin(one)]
      const taskIds = [first, theirs, 't_unknown', last]
      assert.deepEqual(await granted(one, { taskIds }), { taskIds: [first, last] })
      assert.deepEqual(await granted(other, { taskIds }), { taskIds: [theirs] })
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('UPDATE mcp_task SET expires_at = 0 WHERE task_id = $1', first))
      assert.deepEqual(await granted(one, { taskIds }), { taskIds: [last] })
      assert.deepEqual(await granted(one, { taskIds: ['t_unknown'] }), {})
    })

    it('is replaced by 503 when it cannot be computed (MCP-13)', async () => {
      let store: FaultyStore | undefined
      const service = await start({ declare, wrapStore: (inner) => (store = faulty(inner)) })
      const client = await authorizeClient(service, await service.createActor())
      const wants: [notifications: object, statement: RegExp, isGranted: object][] = [
        [
          { resourceSubscriptions: ['house://status'] },
          /FROM permission_override/,
          { resourceSubscriptions: ['house://status'] },
        ],
        [{ taskIds: ['t_1'] }, /mcp_task/, {}],
      ]
      for (const [notifications, matching, isGranted] of wants) {
        store?.plan({ matching, times: Number.POSITIVE_INFINITY })
        const during = await listen(client, notifications, takesTasks)
        assert.equal(during.status, 503)
        assert.ok(Number(during.headers.get('retry-after')) >= 1)
        store?.plan()
        assert.deepEqual(await granted(client, notifications), isGranted)
      }
    })
  })
})

describe('a completion for a name that every object has', () => {
  const start = sqliteService()

  it('is empty, and calls nothing (MCP-21)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    for (const name of ['toString', 'constructor', 'hasOwnProperty', '__proto__', 'valueOf'])
      for (const ref of [
        { type: 'ref/resource', uri: 'house://rooms/{name}' },
        { type: 'ref/prompt', name: 'advise' },
      ]) {
        const { status, body } = await client.legacy('completion/complete', { ref, argument: { name, value: 'x' } })
        assert.deepEqual([status, body.result], [200, { completion: { values: [], total: 0, hasMore: false } }], name)
      }
  })
})

describe('failing handlers', () => {
  const start = sqliteService()

  it('reveal no cause, whatever they are declared as (MCP-16)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    const calls: [method: string, params: object][] = [
      ['prompts/get', { name: 'advise' }],
      ['resources/read', { uri: 'house://status' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'advise' }, argument: { name: 'on', value: '' } }],
    ]
    for (const [method, params] of calls) {
      for (const way of ['modern', 'legacy'] as const) {
        const { status, body } = await client[way](method, params)
        assert.deepEqual([status, body.error], [200, { code: -32603, message: 'Internal error' }], method)
      }
    }
    assert.ok(service.log.some((line) => line.includes('hunter2')))
  })

  it('reveal no secret of a relationship or a provider in the objects that they return (MCP-16)', async () => {
    const service = await start({
      declare: (app) => {
        app.action('peers', { mcp: true }, async ({ actor }) => actor.trust.list())
        app.action('one', { mcp: true }, async ({ actor }) => ({ trust: await actor.trust.list() }))
        app.method('peers', { mcp: { resource: { uri: 'app://peers' } } }, async ({ actor }) => actor.trust.list())
        app.method('ask', { mcp: { prompt: true } }, async ({ actor }) => ({ trust: await actor.trust.list() }))
      },
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const records = JSON.stringify(await (await actor.request('GET', '/trust')).json())
    const secrets = [...records.matchAll(/"(?:secret|verification_token)":"([^"]+)"/g)].map(([, secret = '']) => secret)
    assert.ok(secrets.length >= 1)
    for (const [method, params] of [
      ['tools/call', { name: 'peers' }],
      ['tools/call', { name: 'one' }],
      ['resources/read', { uri: 'app://peers' }],
      ['prompts/get', { name: 'ask' }],
    ] as const) {
      const { body } = await client.modern(method, params)
      const text = JSON.stringify(body)
      assert.ok(text.includes(client.clientId), text)
      for (const secret of secrets) assert.ok(!text.includes(secret), `${method}: ${text}`)
    }
  })
})

describe('malformed messages', () => {
  const start = sqliteService()

  it('get bounded errors in both eras (MCP-14)', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const long = 'x'.repeat(1_000_000)
    const sent: [what: string, body: string | Uint8Array<ArrayBuffer>, code: number, id: unknown][] = [
      ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), -32700, undefined],
      ['params as a list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600, 1],
      ['an id of null', '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600, undefined],
      ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600, undefined],
      ['a method as a number', '{"jsonrpc":"2.0","id":"a","method":7}', -32600, 'a'],
      ['a method of a megabyte', rpc(long), -32600, 1],
      ['no jsonrpc', '{"id":1,"method":"ping"}', -32600, 1],
      ['jsonrpc as a number', '{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600, 1],
      [
        'a batch of 51 messages',
        JSON.stringify(Array.from({ length: 51 }, () => JSON.parse(rpc('ping')))),
        -32600,
        undefined,
      ],
      ['a batch in a batch', `[[${rpc('ping')}]]`, -32600, undefined],
      ['a batch with initialize', `[${rpc('initialize')},${rpc('ping')}]`, -32600, undefined],
    ]
    for (const [what, body, code, id] of sent) {
      const response = await service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json' },
        body,
      })
      const text = await response.text()
      const answer = JSON.parse(text) as { id?: unknown; error?: { code: number } } | { error: { code: number } }[]
      assert.ok(text.length < 1000, what)
      const one = Array.isArray(answer) ? answer[0] : answer
      assert.equal(one?.error?.code, code, `${what}: ${text}`)
      assert.equal(Array.isArray(answer) ? undefined : answer.id, id, what)
      assert.equal(response.status, Array.isArray(answer) ? 200 : 400, what)
    }
    for (const [method, params] of [
      ['tools/call', { name: long }],
      ['tools/call', { name: 7 }],
      ['tools/call', { name: 'paint', arguments: 'red' }],
      ['tools/call', { name: 'paint', arguments: [] }],
      ['prompts/get', { name: {} }],
      ['prompts/get', { name: 'advise', arguments: { on: 7 } }],
      ['resources/read', { uri: `house://rooms/${long}` }],
      ['resources/read', { uri: null }],
      ['completion/complete', { ref: { type: 'ref/other' }, argument: {} }],
      ['tools/list', { cursor: long }],
      ['tools/list', { cursor: 7 }],
    ] as const) {
      const response = await client.send(rpc(method, params), { 'mcp-protocol-version': '2025-11-25' })
      const text = await response.text()
      const { error } = JSON.parse(text) as { error?: { code: number } }
      assert.ok(response.status === 200 && text.length < 1000, text.slice(0, 1000))
      assert.equal(error?.code, 'name' in params && params.name === long ? -32601 : -32602, `${method} ${text}`)
    }
    assert.equal(await kept(actor), '{}')
  })

  it('in a batch get one answer each, with its own permission check; only notifications get 202 (MCP-14)', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'viewer' })
    const send = (entries: unknown[]): Promise<Response> =>
      client.send(JSON.stringify(entries), { 'mcp-protocol-version': '2025-03-26' })
    const call = (id: number, name: string): unknown =>
      JSON.parse(rpc('tools/call', { name, arguments: { color: 'red' } }, id))
    const mixed = (await (await send([7, call(1, 'paint'), null, call(2, 'paint'), [], call(3, 'none')])).json()) as {
      id?: number
      error?: { code: number }
    }[]
    assert.deepEqual(
      mixed.map(({ id, error }) => [id, error?.code]),
      [
        [undefined, -32600],
        [1, -32003],
        [undefined, -32600],
        [2, -32003],
        [undefined, -32600],
        [3, -32003],
      ],
    )
    assert.equal(await kept(actor), '{}')
    const notified = await send([
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 9, result: {} },
    ])
    assert.deepEqual([notified.status, await notified.text()], [202, ''])
    const smuggled = await send([
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      },
    ])
    assert.equal(smuggled.status, 400)
  })

  it('with an unknown version get a short error and no log line (MCP-06)', async () => {
    const service = await start({ declare, listen: true, logLevel: 'info' })
    const client = await authorizeClient(service, await service.createActor())
    service.reset()
    for (let n = 0; n < 50; n++) {
      const { status, body } = await client.legacy(
        'tools/list',
        {},
        { 'mcp-protocol-version': `1999-01-${n} ${'x'.repeat(2000)}` },
      )
      assert.equal(status, 400)
      assert.equal(body.error.code, -32600)
      assert.ok(body.error.message.length < 300 && body.error.message.includes('2026-07-28, 2025-11-25, 2025-06-18'))
    }
    assert.deepEqual(service.log, [])
    const repeated = await rawRequest(service.url, 'POST', '/mcp', {
      headers: {
        authorization: `Bearer ${client.token}`,
        'content-type': 'application/json',
        'MCP-Protocol-Version': ['2025-11-25', '2025-06-18'],
      },
      body: rpc('tools/list'),
    })
    assert.equal(repeated.status, 400)
    assert.equal((JSON.parse(repeated.body) as { error: { code: number } }).error.code, -32600)
  })

  it('with a costly URI are answered without a pattern that backtracks (MCP-15)', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    const { patterns } = await workOf(async () => {
      for (const uri of [
        `house://rooms/${'%'.repeat(2000)}`,
        `house://rooms/${'a/'.repeat(1000)}`,
        `house:${'/'.repeat(2000)}`,
      ]) {
        const { body } = await client.modern('resources/read', { uri })
        assert.equal(body.error.code, -32602)
      }
    })
    // Each repetition begins where the text or a run of spaces begins, so none reads a character from many places.
    assert.deepEqual(patterns.toSorted(), [
      '[^\\0-\\u02ff]',
      '^=\\?base64\\?(.*)\\?=$',
      '^[ \\t]+|(?<![ \\t])[ \\t]+$',
      '^[\\x20-\\x7e]*$',
      '^[\\x21-\\x7e]+$',
    ])
  })
})

describe('the two protocol eras', () => {
  const start = sqliteService()
  const modern = { 'mcp-protocol-version': '2026-07-28' }

  it('give modern notifications 202 without further headers, and reject responses', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    for (const params of [{}, { _meta }]) {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      const taken = await client.send(body, modern)
      assert.deepEqual([taken.status, await taken.text()], [202, ''])
    }
    const response = await client.send('{"jsonrpc":"2.0","id":4,"result":{}}', modern)
    assert.equal(response.status, 400)
    assert.deepEqual(((await response.json()) as { id: number; error: { code: number } }).error.code, -32600)
  })

  it('give modern GET and DELETE no session', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const headers = { ...modern, authorization: `Bearer ${client.token}`, accept: 'text/event-stream' }
    const listening = await service.request('/mcp', { headers })
    assert.equal(listening.status, 405)
    assert.equal(listening.headers.get('allow'), 'DELETE, GET, HEAD, POST')
    const ended = await service.request('/mcp', { method: 'DELETE', headers })
    assert.equal(ended.status, 404)
    const listed = await client.modern('tools/list', {}, { headers: { 'mcp-session-id': `ms_${'x'.repeat(43)}` } })
    assert.equal(listed.status, 200, 'this revision ignores the header')
    assert.equal(listed.headers.get('mcp-session-id'), null)
  })

  it('reject an invalid log level, each with its own error', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    for (const level of ['loud', 7, null, {}]) {
      const meta = { 'io.modelcontextprotocol/logLevel': level }
      const asked = await client.modern('tools/call', { name: 'look' }, { meta })
      assert.deepEqual([asked.status, asked.body.error.code], [400, -32602])
      const set = await client.legacy('logging/setLevel', { level })
      assert.deepEqual([set.status, set.body.error.code], [200, -32602])
    }
    assert.deepEqual((await client.legacy('logging/setLevel', { level: 'notice' })).body.result, {})
  })

  it('mark responses for one caller as private, including discovery and resources', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/color', 'red')
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const discovered = (await client.modern('server/discover')).body.result
    assert.equal(discovered.cacheScope, 'private')
    const read = (await client.modern('resources/read', { uri: 'actingweb://properties/color' })).body.result
    assert.deepEqual([read.ttlMs, read.cacheScope], [0, 'private'])
    const called = (await client.modern('tools/call', { name: 'look' })).body.result
    assert.deepEqual([called.ttlMs, called.cacheScope], [undefined, undefined])
  })

  it('allow HEAD and OPTIONS without a token and with an empty body', async () => {
    const service = await start({ declare })
    const head = await service.request('/mcp', { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    const options = await service.request('/mcp', { method: 'OPTIONS' })
    assert.equal(options.status, 200)
    assert.deepEqual(options.headers.get('allow')?.split(', ').toSorted(), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST'])
    for (const method of ['PUT', 'PATCH']) {
      assert.ok([405, 501].includes((await service.request('/mcp', { method })).status), method)
    }
  })
})

describe('clients whose ids contain each other', () => {
  forEachService((start) => {
    it('are distinguished: the end of one affects no other (ACL-11)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const { parts } = await service.app.running()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== undefined)
      const made = await Promise.all(['one', 'two'].map((name) => handle.clients.create({ name })))
      const [one, two] = made
      assert.ok(one !== undefined && two !== undefined)
      const id = one.client.clientId
      const near: TestClient[] = []
      for (const clientId of [`${id}0`, `x${id}`, id.slice(0, -1), id.toUpperCase(), `${id}%`, `_${id.slice(1)}`]) {
        near.push(await authorizeClient(service, actor, { clientId }))
      }
      const itself = await authorizeClient(service, actor, { clientId: id })
      for (const client of [itself, ...near]) assert.equal((await client.modern('tools/list')).status, 200)
      assert.equal((await actor.request('DELETE', `/trust/friend/${encodeURIComponent(itself.peerId)}`)).status, 204)
      assert.equal((await itself.modern('tools/list')).status, 401)
      for (const client of near) assert.equal((await client.modern('tools/list')).status, 200, client.clientId)
      assert.equal(await parts.clients.delete(actor.id, id.slice(0, -1)), false)
      assert.equal(await parts.clients.delete(actor.id, id), true)
      assert.equal(await parts.clients.find(id), null)
      assert.notEqual(await parts.clients.find(two.client.clientId), null)
      for (const client of near) assert.equal((await client.modern('tools/list')).status, 200, client.clientId)
    })
  })
})
