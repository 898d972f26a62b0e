import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { google, passkey } from '../../src/index.ts'
import { commit, release } from '../../src/release.ts'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import { actorPassphrase, bindingOf } from '../../src/secret/sealed-columns.ts'
import { seal } from '../../src/secret/sealed.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes } from '../support/routes.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { bound } from '../support/stores.ts'

describe('health', () => {
  const start = sqliteService()

  it('reports live while the process answers, and ready only while requests should be routed to it (OPS-03, OPS-07)', async () => {
    let storeFails = false
    const service = await start({
      wrapStore: (store) => ({
        ...bound(store),
        ping: () =>
          storeFails
            ? Promise.reject(new ServiceError('store_unavailable', undefined, { reason: 'planned' }))
            : store.ping(),
      }),
    })
    const ask = async (path: string): Promise<[number, string]> => {
      const answer = await service.request(path)
      return [answer.status, await answer.text()]
    }
    const live: [number, string] = [200, `{"status":"live","version":"${release}","commit":"${commit()}"}`]
    const ready: [number, string] = [200, '{"status":"ready"}']

    assert.deepEqual(await ask('/health/live'), live)
    assert.deepEqual(await ask('/health/ready'), ready)

    storeFails = true
    assert.deepEqual(await ask('/health/live'), live)
    assert.deepEqual(await ask('/health/ready'), [
      503,
      '{"error":"store_unavailable","message":"Storage cannot be used right now"}',
    ])

    storeFails = false
    assert.deepEqual(await ask('/health/ready'), ready)

    const running = await service.app.running()
    running.stopping()
    assert.deepEqual(await ask('/health/live'), live)
    assert.deepEqual(await ask('/health/ready'), [
      503,
      '{"error":"shutting_down","message":"The service is shutting down"}',
    ])
  })

  it('reports not ready while the configured keys decrypt none of the stored secrets (OPS-03, SEC-03)', async () => {
    const clock = new ManualClock()
    const service = await start({ now: clock.now })
    const ready = async (): Promise<[number, string]> => {
      const answer = await service.request('/health/ready')
      return [answer.status, await answer.text()]
    }
    const actor = await service.createActor()
    assert.deepEqual(await ready(), [200, '{"status":"ready"}'])
    // Replaces the database with a backup of another installation.
    const { store } = await service.app.running()
    const other = parseKeyRing('k9:fT3rX8vQ1mZb6WdKpYcN4hJsLg0uEiAo7Rx9QyBwV5U')
    const sealed = (await store.read((q) => q.get<{ passphrase: string }>('SELECT passphrase FROM actor')))?.passphrase
    const put = (passphrase: string): Promise<number> =>
      store.write((tx) => tx.run('UPDATE actor SET passphrase = $1 WHERE id = $2', passphrase, actor.id))
    await put(seal(other, actor.passphrase, bindingOf(actorPassphrase, actor.id)))
    clock.pass(15_000)
    assert.deepEqual(await ready(), [
      503,
      '{"error":"unavailable","message":"The configured keys open none of the stored secrets"}',
    ])
    await put(sealed ?? assert.fail())
    clock.pass(15_000)
    assert.deepEqual(await ready(), [200, '{"status":"ready"}'])
  })

  it('reports live without a query to the store (OPS-03)', async () => {
    const service = await start()
    service.reset()
    await service.request('/health/live')
    assert.deepEqual(service.statements, [])
  })
})

describe('metrics', () => {
  const start = sqliteService()

  it('are closed in production until a token opens them', async () => {
    const service = await start({ mode: 'production', baseUrl: 'https://troupe.example.com' })
    for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer null' }]) {
      const answer = await service.request('/metrics', { headers })
      assert.equal(answer.status, 404)
      assert.deepEqual(await answer.json(), {
        error: 'not_found',
        message: 'Cannot show the metrics: no token for them is configured',
      })
    }
    const token = 'a-token-of-the-operator-0123456789'
    const open = await start({ mode: 'production', baseUrl: 'https://troupe.example.com', metricsToken: token })
    assert.equal((await open.request('/metrics')).status, 401)
    const answer = await open.request('/metrics', { headers: { authorization: `Bearer ${token}` } })
    assert.match(await answer.text(), /^# TYPE troupe_info gauge$/m)
  })

  it('are public in development where no token is configured, in the Prometheus text format', async () => {
    const service = await start()
    const answer = await service.request('/metrics')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const lines = (await answer.text()).trimEnd().split('\n')
    for (const line of lines.filter((text) => text !== ''))
      assert.match(line, /^(# (HELP|TYPE) [a-z0-9_]+ |[a-z0-9_]+(\{[^{}]*\})? \S+$)/)
    assert.ok(lines.includes('# TYPE troupe_http_request_duration_seconds histogram'))
  })

  it('require the configured token as a bearer token, and reveal nothing without it', async () => {
    const token = 'a-token-of-the-operator-0123456789'
    const service = await start({ env: { TROUPE_METRICS_TOKEN: token } })
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}x`,
      `Bearer  ${token}`,
      `Basic ${Buffer.from(`metrics:${token}`).toString('base64')}`,
      token,
    ]) {
      const answer = await service.request('/metrics', {
        headers: authorization === undefined ? {} : { authorization },
      })
      assert.equal(answer.status, 401, String(authorization))
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
      assert.deepEqual(await answer.json(), {
        error: 'unauthorized',
        message: 'Cannot show the metrics: their bearer token is needed',
      })
    }
    const inQuery = await service.request(`/metrics?token=${token}&access_token=${token}`)
    assert.equal(inQuery.status, 401)
    const answer = await service.request('/metrics', { headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 200)
    assert.equal((await answer.text()).includes(token), false)
  })

  it('take labels only from the route table, never from what a client sends', async () => {
    const service = await start({ declare: (app) => declareAll(app) })
    const actor = await service.createActor()
    await furnish(actor)
    for (let round = 0; round < 50; round += 1) {
      await service.request(`/stranger-${round}/properties/x-${round}`)
      await service.request('/', { method: `METHOD${round}` })
      await actor.request('PUT', `/properties/name-${round}`, '1')
      await actor.request('POST', `/actions/action-${round}`, {})
      await service.request(`/a/b/c/${round}`)
    }
    const text = await (await service.request('/metrics')).text()
    const ids = new Set(routes.map(({ id }) => id))
    const counted = [...text.matchAll(/^troupe_http_request_duration_seconds_count\{(.*)\} /gm)].map(
      ([, labels = '']) =>
        Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, k = '', v = '']) => [k, v])),
    )
    assert.ok(counted.length > 5)
    for (const { route = '', method = '', status = '' } of counted) {
      assert.ok(ids.has(route) || route === 'none', route)
      assert.ok(['GET', 'POST', 'PUT', 'DELETE', 'other'].includes(method), method)
      assert.match(status, /^[1-5][0-9][0-9]$/)
    }
    for (const text of ['stranger-', 'METHOD', 'name-', 'action-', actor.id])
      assert.equal(JSON.stringify(counted).includes(text), false)
    assert.match(
      text,
      /^troupe_http_request_duration_seconds_count\{route="putProperty",method="PUT",status="204"\} 50$/m,
    )
  })

  it('count a request as running until it is answered', async () => {
    const service = await start()
    const running = async (): Promise<string | undefined> =>
      /^troupe_http_requests_running (\d+)$/m.exec(await (await service.request('/metrics')).text())?.[1]
    for (let round = 0; round < 5; round += 1) {
      await service.request('/')
      await service.request('/no/such/address')
      await service.request('/', { method: 'POST', body: '{' })
    }
    assert.equal(await running(), '1')
  })
})

interface Schema {
  readonly [key: string]: unknown
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: Schema
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly security: readonly Record<string, readonly string[]>[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: Schema }> }
  readonly responses: Record<
    string,
    { readonly description: string; readonly content?: Record<string, { schema?: Schema }> }
  >
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly securitySchemes: Record<string, { readonly type: string; readonly scheme: string }> }
}

/** The violations of OpenAPI 3.1.1 that our document could have. Empty for a valid document. */
function faultsOf(document: Document): string[] {
  const faults: string[] = []
  const check = (holds: boolean, fault: string): void => void (holds || faults.push(fault))
  check(/^3\.1\.\d+$/.test(document.openapi), 'openapi is not a 3.1 version')
  check(document.info.title !== '' && document.info.version !== '', 'info lacks title or version')
  for (const { url } of document.servers) check(URL.canParse(url), `server ${url} is not a URL`)
  const ids = new Set<string>()
  const shapes = new Map<string, string>()
  for (const [path, item] of Object.entries(document.paths)) {
    check(/^\/[A-Za-z0-9{}/._~!$&'()*+,;=:@%-]*$/.test(path), `${path} is not a valid path`)
    check(!/%(?![0-9A-F]{2})/i.test(path), `${path} is badly encoded`)
    const shape = path.replace(/\{[^}]*\}/g, '{}')
    check(!shapes.has(shape), `${path} is the same as ${shapes.get(shape)}`)
    shapes.set(shape, path)
    const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name)
    check(new Set(inPath).size === inPath.length, `${path} names a parameter twice`)
    for (const [method, operation] of Object.entries(item)) {
      const where = `${method} ${path}`
      check(
        ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'].includes(method),
        `${where}: not a method`,
      )
      check(!ids.has(operation.operationId), `${where}: operation id ${operation.operationId} twice`)
      ids.add(operation.operationId)
      check(operation.operationId !== '' && operation.summary !== '', `${where}: no id or no summary`)
      check(operation.tags.length > 0 && operation.tags.every((tag) => typeof tag === 'string'), `${where}: tags`)
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path')
      check(
        JSON.stringify(declared.map(({ name }) => name).sort()) === JSON.stringify([...inPath].sort()),
        `${where}: path parameters`,
      )
      check(
        new Set(operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`)).size ===
          operation.parameters.length,
        `${where}: a parameter twice`,
      )
      for (const parameter of operation.parameters) {
        check(
          ['path', 'query', 'header', 'cookie'].includes(parameter.in),
          `${where}: ${parameter.name} has an unknown location`,
        )
        check(parameter.in !== 'path' || parameter.required === true, `${where}: ${parameter.name} must be required`)
        check(parameter.schema !== undefined, `${where}: ${parameter.name} has no schema`)
      }
      for (const requirement of operation.security)
        for (const name of Object.keys(requirement))
          check(name in document.components.securitySchemes, `${where}: security scheme ${name}`)
      const { content = {} } = operation.requestBody ?? {}
      check(operation.requestBody === undefined || Object.keys(content).length > 0, `${where}: empty request body`)
      check(operation.requestBody === undefined || method !== 'get', `${where}: a body with GET`)
      check(Object.keys(operation.responses).length > 0, `${where}: no responses`)
      for (const [status, response] of Object.entries(operation.responses)) {
        check(/^[1-5][0-9][0-9]$/.test(status), `${where}: status ${status}`)
        check(response.description !== '', `${where}: ${status} has no description`)
        for (const [type, media] of Object.entries({ ...content, ...response.content })) {
          check(/^(\*\/\*|[a-z]+\/[a-z0-9.+-]+)$/.test(type), `${where}: media type ${type}`)
          if (media.schema !== undefined) faults.push(...schemaFaults(media.schema, `${where} ${status}`))
        }
      }
    }
  }
  return faults
}

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Checks the keywords of JSON Schema 2020-12 that contain schemas or have a fixed shape. */
function schemaFaults(schema: unknown, where: string): string[] {
  if (typeof schema === 'boolean') return []
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return [`${where}: a schema is not an object`]
  const { type, required, properties, items, enum: values, description } = schema as Schema
  const faults: string[] = []
  const named = Array.isArray(type) ? (type as unknown[]) : type === undefined ? [] : [type]
  if (!named.every((name) => types.includes(String(name)))) faults.push(`${where}: type ${String(type)}`)
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    faults.push(`${where}: required`)
  if (values !== undefined && !Array.isArray(values)) faults.push(`${where}: enum`)
  if (description !== undefined && typeof description !== 'string') faults.push(`${where}: description`)
  for (const [name, inner] of Object.entries((properties ?? {}) as Schema))
    faults.push(...schemaFaults(inner, `${where}.${name}`))
  if (items !== undefined) faults.push(...schemaFaults(items, `${where}[]`))
  return faults
}

describe('the OpenAPI document', () => {
  const start = sqliteService()
  const inputSchema = {
    type: 'object',
    properties: { text: { type: 'string', description: 'The note' } },
    required: ['text'],
  } as const
  const outputSchema = { type: 'object', properties: { index: { type: 'integer' } } } as const
  let service: TestService
  let actor: TestActor
  let document: Document
  before(async () => {
    service = await start({
      name: 'notes',
      version: '4.5.6',
      description: 'Keeps notes',
      declare: (app) => {
        app.action('add_note', { description: 'Adds a note', inputSchema, outputSchema }, () => ({ index: 0 }))
        app.action('plain', () => ({}))
        app.method('plain', () => ({}))
        app.method('odd name/with {braces}?&#', () => ({}))
        app.method('*', () => ({}))
        declareAll(app)
      },
    })
    actor = await service.createActor()
    const answer = await service.request('/openapi.json')
    assert.equal(answer.headers.get('content-type'), 'application/json')
    document = (await answer.json()) as Document
  })

  it('is a valid OpenAPI 3.1 document about this application', () => {
    assert.deepEqual(faultsOf(document), [])
    assert.equal(document.openapi, '3.1.0')
    assert.deepEqual(document.info, { title: 'notes', version: '4.5.6', description: 'Keeps notes' })
    assert.deepEqual(document.servers, [{ url: 'http://troupe.test' }])
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['basic', 'bearer'])
  })

  it('contains every row of the route table under its id', () => {
    const named = new Map(
      Object.entries(document.paths).flatMap(([path, item]) =>
        Object.entries(item).map(
          ([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`] as const,
        ),
      ),
    )
    for (const { id, method, path } of routes) {
      const template = path.replace(/:([a-z]+)/g, '{$1}').replace(/\*$/, '{path}')
      assert.equal(named.get(id), `${method} ${template}`)
    }
  })

  it('has a path for every valid request', () => {
    const templates = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => ({
        method: method.toUpperCase(),
        // The last parameter of an open path matches several segments.
        pattern: new RegExp(
          `^${path
            .replaceAll('.', '\\.')
            .replace(/\{path\}$/, '.+')
            .replace(/\{[a-z]+\}/g, '[^/]+')}$`,
        ),
      })),
    )
    for (const route of routes) {
      const [address] = requestOf(route, actor.id, {})
      const [path = ''] = address.split('?')
      assert.ok(
        templates.some(({ method, pattern }) => method === route.method && pattern.test(path)),
        `${route.method} ${path}`,
      )
    }
    for (const path of ['/{actor}/properties/{name}', '/{actor}/properties/{name}/{path}'])
      assert.deepEqual(Object.keys(document.paths[path] ?? {}).sort(), ['delete', 'get', 'post', 'put'])
  })

  it('contains each operation of the application with its declared schemas', () => {
    const added = document.paths['/{actor}/actions/add_note']?.['post']
    assert.equal(added?.summary, 'Adds a note')
    assert.deepEqual(added.requestBody?.content['application/json']?.schema, inputSchema)
    assert.deepEqual(added.responses['200']?.content?.['application/json']?.schema, outputSchema)
    assert.deepEqual(added.security, [{ basic: [] }, { bearer: [] }])
    assert.equal(document.paths['/{actor}/actions/plain']?.['post']?.operationId, 'action:plain')
    assert.equal(document.paths['/{actor}/methods/plain']?.['post']?.operationId, 'method:plain')
    const odd = document.paths['/{actor}/methods/odd%20name/with%20%7Bbraces%7D%3F%26%23']
    assert.equal(odd?.['post']?.operationId, 'method:odd name/with {braces}?&#')
    assert.equal(
      Object.keys(document.paths).some((path) => path.endsWith('/methods/*')),
      false,
    )
  })

  it('states the credentials of /mcp and of every path below an actor, and none for other paths', () => {
    for (const route of routes) {
      const operation = Object.values(document.paths)
        .flatMap((item) => Object.values(item))
        .find(({ operationId }) => operationId === route.id)
      if (route.access === 'client') {
        const token = { bearer: [] }
        assert.deepEqual(operation?.security, route.id === 'mcpInfo' ? [{}, token] : [token], route.id)
        continue
      }
      const needsNone = !isBelowActor(route) || route.access === 'public'
      // Pages do not accept the passphrase.
      const known = route.access === 'www' ? [{ bearer: [] }] : [{ basic: [] }, { bearer: [] }]
      // An empty requirement means that credentials are optional.
      const expected = needsNone ? [] : route.access === 'open' ? [{}, ...known] : known
      assert.deepEqual(operation?.security, expected, route.id)
    }
  })

  it('is the same for every caller, and contains nothing about an actor', async () => {
    const [one, two] = await Promise.all([
      service.request('/openapi.json'),
      service.request('/openapi.json', { headers: { authorization: actor.authorization } }),
    ])
    const text = await one.text()
    assert.equal(text, await two.text())
    assert.equal(text.includes(actor.id), false)
  })
})

describe('operators whose address no sign-in proves', () => {
  const start = sqliteService()
  const production = { mode: 'production', baseUrl: 'https://troupe.example.com' } as const
  const warning =
    'TROUPE_ADMINS names ada@example.com, and no sign-in of this service proves an address: the pages at /admin stay closed. Sign in with a passkey and name it by the fingerprint that the page of passkeys shows (passkey:…), or add a sign-in that proves addresses to TROUPE_PROVIDERS, such as email or google.'
  const warningsOf = async (options: Parameters<typeof start>[0]): Promise<readonly string[]> =>
    (await start(options)).log
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
      .filter((message) => message.startsWith('TROUPE_ADMINS'))

  it('are named at the start with what to do, where people sign in with passkeys alone or not at all', async () => {
    const admins = ['ada@example.com', 'google:1234']
    assert.deepEqual(await warningsOf({ ...production, admins }), [warning])
    assert.deepEqual(await warningsOf({ ...production, admins, signIn: [] }), [warning])
    assert.deepEqual(await warningsOf({ ...production, admins, signIn: [passkey()] }), [warning])
  })

  it('are not named where a sign-in proves addresses, and in development', async () => {
    const admins = ['ada@example.com']
    const provider = google({ clientId: 'id', clientSecret: 'secret' })
    assert.deepEqual(await warningsOf({ ...production, admins, signIn: [passkey(), provider] }), [])
    assert.deepEqual(await warningsOf({ ...production, admins, authenticate: () => null }), [])
    assert.deepEqual(await warningsOf({ ...production, admins: [`passkey:${'a'.repeat(43)}`] }), [])
    assert.deepEqual(await warningsOf({ admins }), [])
  })
})
