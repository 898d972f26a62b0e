import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { trace } from '@opentelemetry/api'
import { z } from 'zod'
import { PeerRefused } from '../../src/app/peer-errors.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { Workplace } from '../support/program.ts'
import { type Recorded, TestTraces } from '../support/traces.ts'
import type { PeerRequest } from '../../src/peer/peer-client.ts'
import type { App } from '../../src/troupe.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`
const other = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const otherParent = `00-${other.traceId}-${other.spanId}-01`

const stubPackage = '{"type":"module","exports":"./index.js"}'
const appText = `import { troupe } from 'troupe'
export default troupe({ type: 'urn:actingweb:example.com:notes', name: 'notes' })
`

const start = sqliteService()

const idsIn = (service: TestService): unknown[] => [
  ...new Set(service.log.map((line) => (JSON.parse(line) as { trace_id?: unknown }).trace_id)),
]

function declare(app: App): void {
  app.action('add_note', { mcp: true }, async ({ actor }) => {
    await actor.list('notes').append('secret-value')
    return 'done'
  })
  app.action('fails', { mcp: true }, async () => {
    throw new Error('secret-text')
  })
  app.action('own', async () => {
    const span = trace.getTracer('of the application').startSpan('inner')
    span.end()
    return 'done'
  })
  app.method('summarize', { mcp: { prompt: {} } }, async () => 'Sum up')
  app.action('ask_peer', { input: z.object({ peer: z.string() }) }, async ({ actor, input }) => {
    const called = actor.peer(input.peer).action('reply')
    await called.catch((error: unknown) => {
      if (!(error instanceof PeerRefused)) throw error
    })
    return 'asked'
  })
  app.action('reply', () => 'replied')
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Lets code of an actor call an action of a peer, and returns the request that the peer received. */
async function callByCode(
  service: TestService,
  actor: TestActor,
  { headers = {}, reply = 204 }: { readonly headers?: Record<string, string>; readonly reply?: number } = {},
): Promise<RecordingPeer['received'][number]> {
  const remote = await new RecordingPeer().start()
  remote.replies = [reply]
  try {
    const { peerId } = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
    const answer = await actor.request('POST', '/actions/ask_peer', { peer: peerId }, headers)
    assert.equal(answer.status, 200)
    const [received] = await remote.has(1)
    assert.ok(received !== undefined)
    return received
  } finally {
    await remote.stop()
  }
}

/** Makes a change that a peer subscribes to, and returns the callback that the peer received. */
async function callbackOf(
  service: TestService,
  actor: TestActor,
  headers: Record<string, string>,
): Promise<{ received: RecordingPeer['received']; peerId: string }> {
  const remote = await new RecordingPeer().start()
  try {
    const peer = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
    await peer.subscribe({ granularity: 'high' })
    const answer = await actor.request('PUT', '/properties/color', 'blue', headers)
    assert.equal(answer.status, 204)
    await remote.has(1)
    return { received: remote.received, peerId: peer.peerId }
  } finally {
    await remote.stop()
  }
}

describe('a request in a trace, without a recorder', () => {
  it('has the trace in every line of its log, unlike other requests', async () => {
    const service = await start()
    const actor = await service.createActor()
    service.reset()
    await actor.request('GET', '/properties', undefined, { traceparent })
    assert.ok(service.log.length > 0)
    assert.deepEqual(idsIn(service), [traceId])
    service.reset()
    await actor.request('GET', '/properties')
    assert.ok(service.log.length > 0)
    assert.deepEqual(idsIn(service), [undefined])
  })

  for (const malformed of ['', 'x', `00-${'0'.repeat(32)}-${spanId}-01`, `${traceparent}, ${traceparent}`]) {
    it(`is served without a trace when the header is ${JSON.stringify(malformed.slice(0, 30))}`, async () => {
      const service = await start()
      const actor = await service.createActor()
      service.reset()
      const answer = await actor.request('GET', '/meta', undefined, { traceparent: malformed })
      assert.equal(answer.status, 200)
      assert.deepEqual(idsIn(service), [undefined])
    })
  }

  it('passes its trace to no other request of the same process', async () => {
    const service: TestService = await start({
      declare: (app) =>
        app.action('ask', async () => {
          await service.request('/health/live')
          return 'asked'
        }),
    })
    const actor = await service.createActor()
    service.reset()
    await actor.request('POST', '/actions/ask', {}, { traceparent })
    const answered = service.log.map((line) => JSON.parse(line) as { route?: string; trace_id?: string })
    assert.deepEqual(
      answered.filter(({ route }) => route !== undefined).map((line) => [line.route, line.trace_id]),
      [
        ['live', undefined],
        ['callAction', traceId],
      ],
    )
  })

  it('passes its trace, but no baggage, to the peers that receive its changes', async () => {
    const service = await start({ allowPrivatePeers: true })
    const actor = await service.createActor()
    const { received } = await callbackOf(service, actor, {
      traceparent,
      tracestate: 'vendor=value',
      baggage: 'user=ada',
    })
    assert.equal(received[0]?.headers['traceparent'], traceparent)
    assert.equal(received[0].headers['baggage'], undefined)
  })

  it('passes its trace and its id, but no baggage, to a peer that code calls (R-SUB-12)', async () => {
    const service = await start({ allowPrivatePeers: true, declare })
    const headers = { traceparent, tracestate: 'vendor=value', baggage: 'user=ada', 'x-request-id': 'asking' }
    const received = await callByCode(service, await service.createActor(), { headers })
    assert.deepEqual([received.method, received.path], ['POST', '/remote/actions/reply'])
    assert.equal(received.headers['traceparent'], traceparent)
    assert.equal(received.headers['tracestate'], 'vendor=value')
    assert.equal(received.headers['baggage'], undefined)
    assert.equal(received.headers['x-parent-request-id'], 'asking')
    assert.match(String(received.headers['x-request-id']), uuid)
  })

  it('passes no trace and no id to a peer that code calls outside of a request', async () => {
    const service = await start({ allowPrivatePeers: true, declare })
    const actor = await service.createActor()
    const remote = await new RecordingPeer().start()
    try {
      const { peerId } = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
      const handle = await service.app.actors.get(actor.id)
      assert.equal(await handle?.peer(peerId).action('reply'), undefined)
      const [received] = await remote.has(1)
      assert.equal(received?.headers['traceparent'], undefined)
      assert.equal(received?.headers['x-parent-request-id'], undefined)
      assert.match(String(received?.headers['x-request-id']), uuid)
    } finally {
      await remote.stop()
    }
  })

  it('passes no trace to peers when it has none', async () => {
    const service = await start({ allowPrivatePeers: true })
    const { received } = await callbackOf(service, await service.createActor(), { baggage: 'user=ada' })
    assert.equal(received[0]?.headers['traceparent'], undefined)
    assert.equal(received[0]?.headers['tracestate'], undefined)
    assert.equal(received[0]?.headers['baggage'], undefined)
  })

  it('passes trace and state to a peer that it calls itself', async () => {
    const remote = await new RecordingPeer().start()
    remote.replies = [404]
    try {
      const service = await start({ allowPrivatePeers: true })
      const actor = await service.createActor()
      const headers = { traceparent, tracestate: 'vendor=value', baggage: 'user=ada' }
      await actor.request('POST', '/trust', { url: `${remote.url}/remote`, relationship: 'friend' }, headers)
      const [first] = await remote.has(1)
      assert.equal(first?.headers['traceparent'], traceparent)
      assert.equal(first.headers['tracestate'], 'vendor=value')
      assert.equal(first.headers['baggage'], undefined)
    } finally {
      await remote.stop()
    }
  })
})

describe('calls to services other than actors', () => {
  it('carry no trace, unlike calls to actors', async () => {
    const calls: PeerRequest[] = []
    const service = await start({
      peerClient: {
        call: async (request) => {
          calls.push(request)
          return { kind: 'unreached', reason: 'the test has no network' }
        },
        close: async () => {},
      },
    })
    const actor = await service.createActor()
    const headers = { traceparent, tracestate: 'vendor=value' }
    const query = new URLSearchParams({ client_id: 'https://client.example/client.json', response_type: 'code' })
    await service.request(`/oauth/authorize?${query.toString()}`, { headers })
    await actor.request('POST', '/trust', { url: 'https://peer.example/actor', relationship: 'friend' }, headers)
    const given = calls.map(({ url, headers: fields }) => [new URL(url).host, fields?.['traceparent']])
    assert.deepEqual(given.slice(0, 2), [
      ['client.example', undefined],
      ['peer.example', traceparent],
    ])
  })
})

describe('a recorder of spans', () => {
  let traces: TestTraces
  beforeEach(() => {
    traces = new TestTraces().register()
  })
  afterEach(() => traces.unregister())

  it('receives a request under the id of its route, below the span of the sender', async () => {
    const service = await start()
    const actor = await service.createActor()
    traces.ended.length = 0
    await actor.request('GET', '/properties/color?index=query', undefined, { traceparent })
    assert.equal(traces.ended.length, 1)
    assert.deepEqual(
      { ...traces.ended[0], spanId: '' },
      {
        name: 'getProperty',
        kind: 'SERVER',
        traceId,
        spanId: '',
        parent: spanId,
        links: [],
        attributes: {
          'troupe.route': 'getProperty',
          'http.request.method': 'GET',
          'http.response.status_code': 404,
          'http.route': '/:actor/properties/:name/*',
          'troupe.actor': actor.id,
          'troupe.caller': 'creator',
        },
        isError: false,
      },
    )
    assert.equal(traces.open, 0)
  })

  it('receives each statement of a request within its span, without values', async () => {
    const service = await start()
    const actor = await service.createActor()
    service.reset()
    traces.statements.length = 0
    assert.equal((await actor.request('PUT', '/properties/color', 'secret-value')).status, 204)
    const [request] = traces.named('putProperty')
    assert.ok(request !== undefined)
    const within = traces.statements.filter((span) => span.parent === request.spanId)
    assert.deepEqual(
      within.map(({ attributes }) => String(attributes['db.query.text'])).toSorted(),
      // The store locks the row of the actor itself.
      service.statements.filter((sql) => !sql.includes('observer_count')).toSorted(),
    )
    const [change] = within.filter(({ name }) => name === 'INSERT')
    assert.deepEqual(
      {
        kind: change?.kind,
        system: change?.attributes['db.system.name'],
        verb: change?.attributes['db.operation.name'],
      },
      { kind: 'CLIENT', system: 'sqlite', verb: 'INSERT' },
    )
    assert.ok(!JSON.stringify(traces.statements).includes('secret-value'))
    assert.equal(traces.open, 0)
  })

  it('receives a request without a trace as the first of a new trace, whose id is in the log lines', async () => {
    const service = await start()
    service.reset()
    await service.request('/no/such/address')
    const [span] = traces.named('none')
    assert.equal(span?.parent, null)
    assert.deepEqual(idsIn(service), [span.traceId])
  })

  it('receives the spans of the service within the span of the server that mounts it', async () => {
    const service = await start()
    const tracer = trace.getTracer('of the server')
    await tracer.startActiveSpan('around', async (span) => {
      await service.request('/no/such/address', { headers: { traceparent } })
      span.end()
    })
    const [around] = traces.named('around')
    assert.equal(traces.named('none')[0]?.parent, around?.spanId)
  })

  it('receives the spans of the application within the spans of the service', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    await actor.request('POST', '/actions/own', {})
    assert.equal(traces.named('inner')[0]?.parent, traces.named('callAction')[0]?.spanId)
  })

  it('receives an error as such, with its code only', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const answer = await actor.request('POST', '/actions/fails', {})
    assert.equal(answer.status, 500)
    const [span] = traces.named('callAction')
    assert.equal(span?.isError, true)
    assert.equal(span.attributes['error.type'], 'server_error')
    assert.ok(!JSON.stringify(traces.ended).includes('secret-text'))
  })

  it('receives the call of an AI client by method and tool, below the span that the client names, linked to its request', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    traces.ended.length = 0
    await client.modern(
      'tools/call',
      { name: 'add_note', arguments: { text: 'secret-argument' } },
      { meta: { traceparent: otherParent }, headers: { traceparent } },
    )
    const [call] = traces.named('tools/call add_note')
    const [request] = traces.named('mcpMessage')
    assert.equal(request?.parent, spanId)
    assert.equal(call?.traceId, other.traceId)
    assert.equal(call.parent, other.spanId)
    assert.deepEqual(call.links, [request.spanId])
    assert.equal(call.kind, 'SERVER')
    const { 'troupe.actor': _actor, ...attributes } = call.attributes
    assert.deepEqual(attributes, {
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.tool.name': 'add_note',
    })
    assert.ok(!/secret|creator@/.test(JSON.stringify(traces.ended)))
    assert.ok(!JSON.stringify(traces.ended).includes(client.token))
  })

  it('receives a call without its own trace below its request, in every revision', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    for (const revision of ['legacy', 'modern'] as const) {
      traces.ended.length = 0
      await client[revision]('prompts/get', { name: 'summarize' })
      const [span] = traces.named('prompts/get summarize')
      assert.equal(span?.parent, traces.named('mcpMessage')[0]?.spanId)
      assert.deepEqual(span?.links, [])
    }
  })

  it('receives only our own names for calls, and our own words for their failures', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    traces.ended.length = 0
    await client.legacy('tools/call', { name: 'no-such-tool' })
    await client.legacy('no/such/method')
    await client.legacy('resources/read', { uri: 'actingweb://properties/no-such-name' })
    await client.legacy('tools/call', { name: 'fails' })
    const calls = traces.ended.filter(({ name }) => name !== 'mcpMessage')
    assert.deepEqual(
      calls.map(({ name, isError, attributes }) => [name, isError, attributes['error.type']]),
      [
        ['tools/call', true, 'unknown_tool'],
        ['other', true, 'unknown_method'],
        ['resources/read', true, 'unknown_resource'],
        ['tools/call fails', true, 'tool_error'],
      ],
    )
    assert.ok(!/no-such|no\/such|secret/.test(JSON.stringify(calls)))
  })

  for (const keepsContext of [true, false]) {
    const how = keepsContext ? 'with its context' : 'without context'
    it(`receives a change, its delivery and the call to the peer in one trace that continues at the peer, ${how}`, async () => {
      traces.unregister()
      traces.register({ keepsContext })
      const service = await start({ allowPrivatePeers: true })
      const actor = await service.createActor()
      const { received, peerId } = await callbackOf(service, actor, { traceparent })
      const delivery = await traces.has('deliver callback')
      const call = await traces.has('peer POST')
      const [put] = traces.named('putProperty')
      assert.deepEqual([put?.traceId, delivery.traceId, call.traceId], [traceId, traceId, traceId])
      assert.equal(delivery.parent, put?.spanId)
      assert.equal(call.parent, delivery.spanId)
      assert.deepEqual([delivery.kind, call.kind], ['PRODUCER', 'CLIENT'])
      assert.equal(received[0]?.headers['traceparent'], `00-${traceId}-${call.spanId}-01`)
      const { 'troupe.subscription': subscription, ...attributes } = delivery.attributes
      assert.match(String(subscription), /^[0-9a-f]{32}$/)
      assert.deepEqual(attributes, { 'troupe.actor': actor.id, 'troupe.sequence': 1 })
      assert.deepEqual(call.attributes, {
        'http.request.method': 'POST',
        'server.address': call.attributes['server.address'],
        'http.response.status_code': 204,
      })
      assert.match(String(call.attributes['server.address']), /^127\.0\.0\.1:\d+$/)
      assert.ok(!JSON.stringify(traces.ended).includes(peerId))
    })
  }

  it('receives a call by code below the request that ran it, and the call continues at the peer (R-SUB-12)', async () => {
    const service = await start({ allowPrivatePeers: true, declare })
    const actor = await service.createActor()
    const received = await callByCode(service, actor, { headers: { traceparent, 'x-request-id': 'asking' } })
    const [request] = traces.named('callAction')
    const [call, ...others] = traces.named('peer POST')
    assert.deepEqual(others, [])
    assert.deepEqual([request?.traceId, request?.parent, call?.traceId], [traceId, spanId, traceId])
    assert.equal(call?.parent, request?.spanId)
    assert.deepEqual([call?.kind, call?.isError], ['CLIENT', false])
    assert.equal(received.headers['traceparent'], `00-${traceId}-${call?.spanId}-01`)
    assert.equal(received.headers['x-parent-request-id'], 'asking')
    assert.equal(traces.open, 0)
  })

  it('receives a call by code that the peer refuses as an error of the call only', async () => {
    const service = await start({ allowPrivatePeers: true, declare })
    await callByCode(service, await service.createActor(), { headers: { traceparent }, reply: 403 })
    const [call] = traces.named('peer POST')
    assert.deepEqual([call?.isError, call?.attributes['error.type']], [true, '403'])
    assert.equal(traces.named('callAction')[0]?.isError, false)
  })

  it('receives a call by code to an actor of the same service as a request below the call', async () => {
    const service = await start({ declare, baseUrl: 'https://household.invalid', peerProfileAttributes: [] })
    const ada = await service.createActor('ada@example.com')
    const ben = await service.createActor('ben@example.com')
    await relate(ben, [{ ...service, url: 'https://household.invalid' }, ada])
    await service.settled()
    traces.ended.length = 0
    service.reset()
    const headers = { traceparent, 'x-request-id': 'asking' }
    assert.equal((await ben.request('POST', '/actions/ask_peer', { peer: ada.id }, headers)).status, 200)
    const [call] = traces.named('peer POST')
    const [inner, outer, ...others] = traces.named('callAction')
    assert.deepEqual(others, [])
    assert.deepEqual([outer?.parent, outer?.attributes['troupe.actor']], [spanId, ben.id])
    assert.equal(call?.parent, outer?.spanId)
    assert.deepEqual([inner?.parent, inner?.attributes['troupe.actor']], [call?.spanId, ada.id])
    assert.deepEqual([inner?.attributes['troupe.caller'], inner?.traceId], ['peer', traceId])
    assert.deepEqual(idsIn(service), [traceId])
    const contexts = service.log.map((line) => (JSON.parse(line) as { context?: string }).context ?? '')
    const atPeer = contexts.find((each) => each.endsWith(`:${ada.id}:${ben.id}]`))
    assert.match(atPeer ?? '', /^\[[0-9a-f]{8}:/)
    assert.ok(contexts.includes(`[asking:${ben.id}:-]`))
  })

  it('receives a delivery that fails', async () => {
    const remote = await new RecordingPeer().start()
    remote.replies = [404]
    try {
      const service = await start({ allowPrivatePeers: true })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
      await peer.subscribe({ granularity: 'high' })
      await actor.request('PUT', '/properties/color', 'blue')
      const delivery = await traces.has('deliver callback')
      assert.deepEqual([delivery.isError, delivery.attributes['error.type']], [true, 'failed'])
      const call = await traces.has('peer POST')
      assert.deepEqual([call.isError, call.attributes['error.type']], [true, '404'])
    } finally {
      await remote.stop()
    }
  })
})

describe('the example in docs/operations.md', () => {
  it('records a request in a service from start to shutdown', async () => {
    const place = new Workplace()
    try {
      const guide = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
      const [, example = ''] = /^```js\n(\/\/ telemetry\.js\n.*?)^```$/ms.exec(guide) ?? []
      assert.match(guide, /NODE_OPTIONS='--import \.\/telemetry\.js' npx troupe serve app\.ts/)
      place.write('package.json', '{"type":"module"}')
      place.write('telemetry.js', example)
      place.write('app.ts', appText)
      // Stubs of the packages that the example imports. They export spans to a file.
      const support = JSON.stringify(new URL('../support/traces.ts', import.meta.url).href)
      place.write('node_modules/@opentelemetry/exporter-trace-otlp-proto/package.json', stubPackage)
      place.write(
        'node_modules/@opentelemetry/exporter-trace-otlp-proto/index.js',
        `import { appendFileSync } from 'node:fs'
export class OTLPTraceExporter {
  export = (span) => appendFileSync('spans.jsonl', JSON.stringify(span) + '\\n')
}`,
      )
      place.write('node_modules/@opentelemetry/sdk-node/package.json', stubPackage)
      place.write(
        'node_modules/@opentelemetry/sdk-node/index.js',
        `import { TestTraces } from ${support}
export class NodeSDK {
  constructor({ traceExporter }) { this.exporter = traceExporter }
  start() {
    const traces = new TestTraces().register()
    const keep = traces.keep.bind(traces)
    traces.keep = (span) => { keep(span); this.exporter.export(span) }
  }
  shutdown() { this.exporter.export({ name: 'shutdown' }) }
}`,
      )
      const program = place.start(['dev', 'app.ts'], {
        env: { PORT: '0', NODE_OPTIONS: '--import ./telemetry.js' },
      })
      const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
      assert.equal((await fetch(`${url}/health/live`, { headers: { traceparent } })).status, 200)
      program.signal('SIGTERM')
      assert.equal((await program.ended).code, 0)
      const spans = readFileSync(place.path('spans.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Partial<Recorded>)
      const request = spans.find(({ name }) => name === 'live')
      assert.deepEqual([request?.traceId, request?.parent], [traceId, spanId])
      assert.ok(spans.some(({ name }) => name === 'shutdown'))
    } finally {
      await place.remove()
    }
  })
})
