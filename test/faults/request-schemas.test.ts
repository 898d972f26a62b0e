import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { FieldSchema, RequestFields } from '../../src/json/fields.ts'
import type { Route } from '../../src/http/dispatch/route.ts'
import { TestCallers } from '../support/callers.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { declareAll, furnish, requestOf, routes, samplePeer, sampleOf } from '../support/routes.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { type Dump, dumpStore } from '../support/store-dump.ts'

/** A request that violates the schemas of its route. */
interface Violation {
  readonly what: string
  /** Pattern that the error message must match. */
  readonly names: RegExp
  readonly path: string
  readonly init: RequestInit
}

/** Routes besides pages that accept any query parameter. A new one needs a reason here and in its definition. */
const openToQueries = [
  // The query belongs to the application.
  ...['Method', 'Action'].flatMap((noun) => ['get', 'call', 'put', 'delete'].map((verb) => `${verb}${noun}`)),
  ...['get', 'post', 'put', 'delete'].map((verb) => `${verb}Resource`),
  // With an empty body, the query serves as the body.
  'postProperties',
  // Senders of webhooks add parameters.
  ...['Callback', 'AppCallback'].flatMap((noun) => ['get', 'post', 'put', 'delete'].map((verb) => `${verb}${noun}`)),
  'bot',
  // RFC 6749 sections 3.1, 3.2 and 4.1.2.
  'registerClient',
  'clientToken',
  // RFC 8628 section 3.1.
  'deviceAuthorization',
  'revokeClientToken',
  'revokeToken',
  'revokeSpaToken',
  'serviceCallback',
  'spaCallback',
  'authorizationServer',
  'authorizationServerOfMcp',
  'protectedResource',
  'protectedResourceOfActor',
  'protectedResourceOfMcp',
  // People configure these addresses together with parameters.
  'mcpMessage',
  'mcpInfo',
  'endMcpSession',
  'mcpInfoPage',
  'live',
  'ready',
  'metrics',
  'asset',
]

const isPage = (route: Route): boolean => route.page === true || route.access === 'www'

/** JSON values that the schema does not allow. */
function wrongValues(schema: FieldSchema): unknown[] {
  const types = [schema.type ?? []].flat()
  const { minimum, maximum, minLength, maxLength, pattern } = schema
  return [
    ...(types.includes('string') ? [7, ...(schema.enum === undefined ? [] : ['no-such-choice'])] : []),
    ...(types.includes('string') && !types.includes('null') ? [null] : []),
    ...(typeof minLength === 'number' ? ['x'.repeat(minLength - 1)] : []),
    ...(typeof maxLength === 'number' ? ['x'.repeat(maxLength + 1)] : []),
    ...(pattern === undefined ? [] : ['a\0b', 'a\ud800b']),
    ...(types.includes('boolean') ? ['maybe', 7] : []),
    ...(types.includes('integer') ? ['x', 1.5, [], (minimum ?? 0) - 1] : []),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(types.includes('object') || (types.includes('array') && types.length > 0) ? [7] : []),
  ]
}

/** Returns the wrong values that a query or a form can carry, as strings. */
function wrongTexts(schema: FieldSchema): string[] {
  const types = [schema.type ?? []].flat()
  return wrongValues(schema)
    .filter((value) => typeof value === 'string' || (typeof value === 'number' && types.includes('integer')))
    .map(String)
    .filter((text) => text !== '' && text.isWellFormed())
}

/** Matches an error message that names the field, or its last word: “an index” for `item_index`. */
const naming = (name: string): RegExp => new RegExp(`\\b(${name}|${name.split('_').at(-1)})\\b`, 'i')

function queryViolations(route: Route, path: string, init: RequestInit): Violation[] {
  const to = (name: string, value: string): string => {
    const url = new URL(path, 'http://troupe.test')
    url.searchParams.set(name, value)
    return url.pathname + url.search
  }
  const fields: RequestFields = route.query ?? {}
  const ignores = isPage(route) || route.unknownQuery === 'ignored' || route.method === 'GET'
  const unknown = ignores ? [] : ['no_such_parameter', '%00', 'constructor']
  return [
    ...Object.entries(fields).flatMap(([name, { schema }]) =>
      wrongTexts(schema).map((text) => ({ what: `?${name}=${text}`, names: naming(name), path: to(name, text), init })),
    ),
    ...unknown.map((name) => ({
      what: `?${name}=1`,
      names: /Unknown query parameter/,
      path: to(decodeURIComponent(name), '1'),
      init,
    })),
  ]
}

function pathViolations({ params = {}, path: pattern }: Route, path: string, init: RequestInit): Violation[] {
  return Object.entries(params).flatMap(([name, { schema }]) =>
    wrongTexts(schema).map((text) => {
      const segments = path.split('/')
      segments[pattern.split('/').indexOf(`:${name}`)] = encodeURIComponent(text)
      return { what: `${name} ${text} in the path`, names: naming(name), path: segments.join('/'), init }
    }),
  )
}

function bodyViolations(route: Route, path: string, init: RequestInit): Violation[] {
  const json = route.request?.content['application/json'] ?? {}
  const form = route.request?.content['application/x-www-form-urlencoded'] ?? {}
  const { body: sample = {}, form: sampleForm = {} } = sampleOf(route)
  const sending = (what: string, names: RegExp, type: string, body: string): Violation => ({
    what,
    names,
    path,
    init: { ...init, headers: { ...(init.headers as Record<string, string>), 'content-type': type }, body },
  })
  const asJson = (what: string, names: RegExp, value: unknown): Violation =>
    sending(what, names, 'application/json', JSON.stringify(value))
  const asForm = (what: string, names: RegExp, fields: object): Violation =>
    sending(what, names, 'application/x-www-form-urlencoded', new URLSearchParams({ ...fields }).toString())
  const without = (name: string): object =>
    Object.fromEntries(Object.entries(sample as object).filter(([other]) => other !== name))
  const required = (json['required'] ?? []) as readonly string[]
  return [
    ...(json.type === 'object' ? [asJson('a list', /object|invalid/i, [1])] : []),
    ...required.map((name) => asJson(`no ${name}`, naming(name), without(name))),
    ...propertiesOf(json).flatMap(([name, schema]) =>
      wrongValues(schema).map((value) =>
        asJson(`${name}: ${JSON.stringify(value).slice(0, 40)}`, isHalf(value) ? /half of a surrogate/ : naming(name), {
          ...(sample as object),
          [name]: value,
        }),
      ),
    ),
    ...propertiesOf(form).flatMap(([name, schema]) =>
      wrongTexts(schema).map((text) =>
        asForm(`${name}=${text.slice(0, 40)}`, naming(name), { ...(sample as object), ...sampleForm, [name]: text }),
      ),
    ),
  ]
}

/** The parser refuses the body before it knows its fields. */
const isHalf = (value: unknown): boolean => typeof value === 'string' && !value.isWellFormed()

function propertiesOf(schema: FieldSchema): [name: string, schema: FieldSchema][] {
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, FieldSchema>>)
}

describe('the schemas of the route table', () => {
  const start = sqliteService()
  const callers = new TestCallers()
  let service: TestService
  let actor: TestActor
  let subscription = ''
  before(async () => {
    service = await start({
      ...callers.parts,
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      // Profiles are fetched in the background, which would change the store between two requests.
      peerProfileAttributes: [],
      declare: (app) => declareAll(app),
    })
    actor = await service.createActor()
    await furnish(actor)
    const subscribed = await actor.request('POST', '/subscriptions', { peerid: samplePeer, target: 'properties' })
    assert.equal(subscribed.status, 204)
    subscription = subscribed.headers.get('location')?.split('/').at(-1) ?? ''
  })

  function violationsOf(route: Route): Violation[] {
    const isPeers = 'owner' in route && route.owner?.exclusive === true
    const authorization = isPeers
      ? `Bearer ${callers.as(actor.id, (via) => ({ kind: 'peer', peerId: samplePeer, relationship: 'friend', approved: true, via }))}`
      : `Bearer ${callers.session(actor.id)}`
    const [sample, init] = requestOf(route, actor.id, { authorization })
    const path = sample.replace(/\/none$/, (none) =>
      route.id.endsWith('SubscriptionCallback') ? `/${subscription}` : none,
    )
    return [
      ...pathViolations(route, path, init),
      ...queryViolations(route, path, init),
      // MCP messages are rejected with errors of that protocol.
      ...(route.access === 'client' ? [] : bodyViolations(route, path, init)),
    ]
  }

  for (const route of routes) {
    it(`reject violations at ${route.id} with 4xx, name the field and change nothing`, async () => {
      const store = async (): Promise<Dump> => dumpStore((await service.app.running()).store)
      const atFirst = await store()
      for (const { what, names, path, init } of violationsOf(route)) {
        const answer = await service.request(path, init)
        const text = await answer.text()
        assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status} ${text.slice(0, 300)}`)
        assert.match(text, names, what)
      }
      assert.deepEqual(await store(), atFirst)
    })
  }

  it('of changes ignore unknown query parameters only on pages and on the listed routes', () => {
    const open = routes
      .filter((route) => !isPage(route) && route.unknownQuery === 'ignored' && route.method !== 'GET')
      .map(({ id }) => id)
    const known = new Set(routes.flatMap(({ id, method }) => (method === 'GET' ? [] : [id])))
    assert.deepEqual(open.toSorted(), openToQueries.filter((id) => known.has(id)).toSorted())
  })
})
