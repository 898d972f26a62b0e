/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-argument -- what the protocol answers is read as it comes, and compared with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { EventStream } from '../support/event-stream.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient, listen, rpc, type TestClient } from '../support/mcp-client.ts'
import { forEachService, sqliteService, type TestService } from '../support/service.ts'
import { untilWatched } from '../support/stored.ts'
import { until } from '../support/until.ts'

const form = { message: 'Yes?', schema: { type: 'object', properties: { yes: { type: 'boolean' } } } }

/** Calls that wait until `goOn()`, and record whether their signal was aborted. */
class Waiting {
  readonly heard: string[] = []
  #goOn = Promise.withResolvers<void>()

  goOn(): void {
    this.#goOn.resolve()
    this.#goOn = Promise.withResolvers()
  }

  declare = (app: App): void => {
    app.action('wait', { mcp: true }, async ({ mcp }) => {
      this.heard.push('begun')
      mcp?.signal.addEventListener('abort', () => this.heard.push('cancelled'))
      await this.#goOn.promise
      this.heard.push('done')
      return 'done'
    })
    app.action('ask', { mcp: true }, async ({ mcp }) => mcp?.elicit('yes', form))
    app.action('ask_much', { mcp: true }, async ({ mcp }) => {
      const answers = Array.from({ length: 21 }, async (_, n) => mcp?.elicit(`q${n}`, form))
      for (const outcome of await Promise.allSettled(answers)) {
        if (outcome.status === 'rejected') throw outcome.reason
      }
    })
    app.action('paint', { mcp: { confirm: 'owner' } }, () => 'painted')
    app.action('think', { mcp: true }, async ({ mcp }) => {
      mcp?.background()
      return 'thought'
    })
  }
}

async function begin(client: TestClient, capabilities: object = { elicitation: {} }): Promise<Record<string, string>> {
  const answer = await client.legacy('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: {} })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return { 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' }
}

async function countOf(service: TestService, table: string): Promise<number> {
  const { store } = await service.app.running()
  const row = await store.read((q) => q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))
  return row?.n ?? -1
}

describe('the concurrency limit of one client', () => {
  const start = sqliteService()

  it('is 16 streams of both kinds: the next gets 429 with Retry-After, and a closed stream frees its place', async () => {
    const service = await start({ declare: new Waiting().declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const other = await authorizeClient(service, actor)
    const session = await begin(client)
    const events = (): Promise<Response> =>
      service.request('/mcp', {
        headers: { ...session, authorization: `Bearer ${client.token}`, accept: 'text/event-stream' },
      })
    // A HEAD request opens no stream, so it takes no place.
    for (let n = 0; n < 20; n++) {
      const head = await service.request('/mcp', {
        method: 'HEAD',
        headers: { ...session, authorization: `Bearer ${client.token}`, accept: 'text/event-stream' },
      })
      assert.equal(head.status, 200)
    }
    const streams: Response[] = []
    for (let n = 0; n < 8; n++) streams.push(await listen(client, { toolsListChanged: true }), await events())
    assert.deepEqual(
      streams.map(({ status }) => status),
      Array.from({ length: 16 }, () => 200),
    )
    for (const refused of [await listen(client, { toolsListChanged: true }), await events()]) {
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('retry-after'), '5')
    }
    const another = await listen(other, { toolsListChanged: true })
    assert.equal(another.status, 200)
    await streams[0]?.body?.cancel()
    const again = await listen(client, { toolsListChanged: true })
    assert.equal(again.status, 200)
    assert.equal((await client.modern('tools/list')).status, 200, 'other calls continue')
    for (const stream of [...streams.slice(1), another, again]) await stream.body?.cancel()
  })

  it('is 100 running calls: the next gets 429, and calls of other clients run', async () => {
    const waiting = new Waiting()
    const service = await start({ declare: waiting.declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const other = await authorizeClient(service, actor)
    const running = Array.from({ length: 100 }, () => client.modern('tools/call', { name: 'wait' }))
    await until(() => waiting.heard.length === 100)
    assert.equal((await client.modern('tools/call', { name: 'wait' })).status, 429)
    assert.equal((await client.legacy('tools/list')).status, 429)
    assert.equal((await other.modern('tools/list')).status, 200)
    waiting.goOn()
    for (const call of running) assert.equal((await call).body.result.content[0].text, 'done')
    assert.equal((await client.modern('tools/list')).status, 200)
  })

  it('is 20 elicitations of one session: a call that sends more fails', async () => {
    const service = await start({ declare: new Waiting().declare })
    const client = await authorizeClient(service, await service.createActor())
    const session = await begin(client)
    const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: 'ask_much' }), session))
    const questions: { id: string }[] = []
    for (let n = 0; n < 20; n++) questions.push(await stream.next())
    assert.equal(new Set(questions.map(({ id }) => id)).size, 20)
    for (const { id } of questions) {
      await client.send(JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'decline' } }), session)
    }
    const text =
      'Cannot ask the client: too many questions are waiting for an answer (too_many_requests). Try again in 60 s'
    assert.deepEqual((await stream.next()).result, { content: [{ type: 'text', text }], isError: true })
    assert.equal(await stream.next(), null)
  })

  it('is 500 subscribed resources of a session: one more gets a protocol error', async () => {
    const service = await start({ declare: new Waiting().declare })
    const client = await authorizeClient(service, await service.createActor())
    const session = await begin(client)
    const subscribe = (uri: unknown) => client.legacy('resources/subscribe', { uri }, session)
    const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => subscribe(`x://${n}`)))
    assert.ok(answers.every(({ body }) => JSON.stringify(body.result) === '{}'))
    const more = await subscribe('x://more')
    assert.deepEqual([more.status, more.body.error.code], [200, -32602])
    assert.deepEqual((await subscribe('x://7')).body.result, {}, 'a repetition does not count')
    assert.deepEqual((await client.legacy('resources/unsubscribe', { uri: 'x://7' }, session)).body.result, {})
    assert.deepEqual((await subscribe('x://more')).body.result, {})
    for (const uri of ['', 7, null, 'x'.repeat(2049)]) assert.equal((await subscribe(uri)).body.error.code, -32602)
  })
})

describe('the rate limit of one client', () => {
  forEachService((start) => {
    const five = { '*': null, 'mcp/client': { count: 5, seconds: 60 } } as const
    const limitHeaders = ({ headers }: { readonly headers: Headers }): (string | null)[] =>
      ['RateLimit-Policy', 'RateLimit', 'Retry-After'].map((name) => headers.get(name))

    it('counts messages of both protocol eras, and gives 429 with Retry-After beyond it (RATE-03)', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, rateLimits: five })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const first = await client.modern('tools/list')
      assert.deepEqual(limitHeaders(first), ['"mcp";q=5;w=60', '"mcp";r=4;t=12', null])
      assert.equal((await client.legacy('ping')).status, 200)
      assert.equal((await client.send('{')).status, 400, 'an invalid message counts')
      const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
      assert.equal((await client.send(notification, { 'mcp-protocol-version': '2025-11-25' })).status, 202)
      assert.deepEqual(limitHeaders(await client.legacy('tools/list')), ['"mcp";q=5;w=60', '"mcp";r=0;t=60', null])
      for (const refused of [await client.legacy('tools/list'), await client.modern('tools/list')]) {
        assert.equal(refused.status, 429)
        assert.deepEqual(limitHeaders(refused), ['"mcp";q=5;w=60', '"mcp";r=0;t=60', '12'])
        assert.deepEqual(refused.body.error.data, { error: 'too_many_requests' })
      }
      assert.equal((await other.modern('tools/list')).status, 200, 'another client of the actor')
      clock.pass(11_900)
      assert.equal((await client.modern('tools/list')).status, 429)
      clock.pass(100)
      assert.equal((await client.modern('tools/list')).status, 200)
      assert.equal((await client.modern('tools/list')).status, 429)
      clock.pass(60_000)
      for (let times = 0; times < 5; times++) assert.equal((await client.legacy('ping')).status, 200)
      assert.equal((await client.legacy('ping')).status, 429)
    })

    it('counts each message of a batch, and accepts all of them or none (RATE-03)', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, rateLimits: five })
      const client = await authorizeClient(service, await service.createActor())
      const batch = (size: number): Promise<Response> =>
        client.send(`[${Array.from({ length: size }, (_, id) => rpc(id, 'ping')).join()}]`, {
          'mcp-protocol-version': '2025-03-26',
        })
      assert.equal((await batch(3)).status, 200)
      const refused = await batch(3)
      assert.equal(refused.status, 429)
      assert.deepEqual(limitHeaders(refused), ['"mcp";q=5;w=60', '"mcp";r=0;t=36', '12'])
      assert.equal((await batch(2)).status, 200)
      assert.equal((await batch(1)).status, 429)
      clock.pass(24_000)
      assert.equal((await batch(3)).status, 429)
      assert.equal((await batch(2)).status, 200)
    })

    it('costs no statement, appears in the metrics, and is disabled by null', async () => {
      const limited = await start({ rateLimits: { '*': null, 'mcp/client': { count: 3, seconds: 3600 } } })
      const off = await start({ rateLimits: { 'mcp/client': null } })
      const counts: number[] = []
      for (const service of [limited, off]) {
        const client = await authorizeClient(service, await service.createActor())
        assert.equal((await client.modern('tools/list')).status, 200)
        service.reset()
        assert.equal((await client.modern('tools/list')).status, 200)
        counts.push(service.statements.length)
        if (service === limited) {
          assert.equal((await client.modern('tools/list')).status, 200)
          assert.equal((await client.modern('tools/list')).status, 429)
        } else {
          const answer = await client.modern('tools/list')
          assert.deepEqual([answer.status, limitHeaders(answer)], [200, [null, null, null]])
        }
      }
      assert.equal(counts[0], counts[1])
      const { parts } = await limited.app.running()
      const metrics = await parts.metrics.render()
      assert.match(metrics, /^troupe_rate_limit_refusals_total\{limit="mcp\/client"\} 1$/m)
    })

    it('does not count requests without a valid token', async () => {
      const service = await start({ rateLimits: five })
      const client = await authorizeClient(service, await service.createActor())
      for (let times = 0; times < 7; times++) {
        const answer = await client.send(rpc(1, 'ping'), { authorization: 'Bearer invalid' })
        assert.deepEqual([answer.status, limitHeaders(answer)], [401, [null, null, null]])
      }
      assert.equal((await client.legacy('ping')).status, 200)
    })
  })
})

describe('the stored records of clients', () => {
  forEachService((start) => {
    it('include at most 20 sessions of each client: the next one ends the least recently used (MCP-07)', async () => {
      const clock = new ManualClock()
      const service = await start({ declare: new Waiting().declare, now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const others = await begin(other)
      const sessions: Record<string, string>[] = []
      for (let n = 0; n < 22; n++) {
        clock.pass(1000)
        sessions.push(await begin(client))
      }
      const statuses: number[] = []
      for (const session of sessions) statuses.push((await client.legacy('ping', {}, session)).status)
      assert.deepEqual(statuses, [404, 404, ...Array.from({ length: 20 }, () => 200)])
      assert.equal((await other.legacy('ping', {}, others)).status, 200)
      assert.equal(await countOf(service, 'mcp_session'), 21)
    })

    it('are deleted when they expire: sessions, tasks and calls that wait for the owner', async () => {
      const clock = new ManualClock()
      const service = await start({ declare: new Waiting().declare, now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const takes = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
      const tables = ['mcp_session', 'mcp_task', 'approval']
      const use = async (): Promise<void> => {
        const client = await authorizeClient(service, actor)
        await begin(client)
        const begun = await client.modern('tools/call', { name: 'think' }, takes)
        assert.equal(begun.body.result.resultType, 'task')
        await client.modern('tools/call', { name: 'paint' })
      }
      await use()
      await use()
      for (const table of tables) assert.equal(await countOf(service, table), 2, table)
      clock.pass(25 * 3_600_000)
      await use()
      for (const table of tables) assert.equal(await countOf(service, table), 1, table)
    })

    it('include no unrequested answers, and a limited number of waiting ones', async () => {
      const service = await start({ declare: new Waiting().declare })
      const client = await authorizeClient(service, await service.createActor())
      const session = await begin(client)
      const send = (id: unknown): Promise<Response> =>
        client.send(JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept' } }), session)
      for (const id of ['rq_1', 'x', 7, `rq_${'!'.repeat(22)}`]) assert.equal((await send(id)).status, 202)
      assert.equal(await countOf(service, 'mcp_answer'), 0)
      for (let n = 0; n < 30; n++) {
        assert.equal((await send(`rq_${String(n).padStart(22, '0')}`)).status, 202)
      }
      assert.equal(await countOf(service, 'mcp_answer'), 20)
    })
  })

  const start = sqliteService()

  it('include little client metadata: an oversized description is rejected and not stored', async () => {
    const service = await start({ declare: new Waiting().declare })
    const client = await authorizeClient(service, await service.createActor())
    const answer = await client.legacy('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { experimental: { story: 'x'.repeat(100_000) } },
      clientInfo: { name: 'teller', version: '1' },
    })
    assert.deepEqual([answer.status, answer.body.error.code], [200, -32602])
    assert.equal(answer.headers.get('mcp-session-id'), null)
    assert.equal(await countOf(service, 'mcp_session'), 0)
    const named = await client.legacy('initialize', {
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'n'.repeat(5000), version: 'v'.repeat(5000) },
    })
    assert.equal(named.body.result.protocolVersion, '2025-11-25')
  })
})

describe('an idle stream', () => {
  const start = sqliteService()

  async function quiet(notifications: object = { toolsListChanged: true }) {
    const clock = new ManualClock()
    const service = await start({
      declare: new Waiting().declare,
      now: clock.now,
      timers: clock.timers,
      version: '1.2.3',
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const response = await listen(client, notifications)
    assert.ok(response.body !== null)
    const stream = { chunks: [] as string[], isOver: false }
    const reading = (async (body: ReadableStream<string>) => {
      for await (const chunk of body) stream.chunks.push(chunk)
      stream.isOver = true
    })(response.body.pipeThrough(new TextDecoderStream()))
    await until(() => stream.chunks.length > 0)
    assert.match(stream.chunks.shift() ?? '', /acknowledged/)
    await untilWatched(service, actor)
    /** Passes time in steps. After each step, all polling timers must be set again. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 5000) {
        const waiting = clock.waiting
        clock.pass(5000)
        await until(() => clock.waiting >= waiting || stream.isOver)
      }
    }
    return { service, actor, client, stream, reading, pass }
  }

  it('sends a heartbeat every 20 seconds', async () => {
    const { stream, pass } = await quiet()
    for (const count of [1, 2]) {
      await pass(20_000)
      await until(() => stream.chunks.length === count)
      assert.equal(stream.chunks[count - 1], ':\n\n')
    }
  })

  it('ends within 30 seconds after its token was revoked, with the result of the request (MCP-10)', async () => {
    const { service, actor, client, stream, reading, pass } = await quiet()
    const { parts, store } = await service.app.running()
    await store.writeActor(actor.id, (tx) => parts.tokens.endChain(tx, actor.id, client.chainId))
    await pass(30_000)
    await reading
    const [life, end = '', ...more] = stream.chunks
    assert.deepEqual([life, more], [':\n\n', []])
    assert.deepEqual(JSON.parse(end.slice('data: '.length)), {
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        _meta: {
          'io.modelcontextprotocol/subscriptionId': 1,
          'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.2.3' },
        },
      },
    })
  })

  it('ends when its token expires (MCP-01)', async () => {
    const { stream, reading, pass } = await quiet()
    await pass(3_640_000)
    await reading
    assert.match(stream.chunks.join(''), /^(:\n\n)+data: \{"jsonrpc":"2\.0","id":1,"result":.*\}\n\n$/)
  })

  it('ends with the result of the request when the service stops', async () => {
    const { service, stream, reading } = await quiet()
    const closing = service.close()
    await reading
    assert.equal(stream.chunks.length, 1)
    assert.match(stream.chunks[0] ?? '', /"id":1,"result":/)
    await closing
  })
})

describe('a stream that its client does not read', () => {
  const start = sqliteService()

  it('is closed when its queue is full, and the client receives the end', async () => {
    const service = await start({ declare: new Waiting().declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const response = await listen(client, { resourceSubscriptions: ['x://'] })
    const stream = new EventStream(response)
    await stream.next()
    const first = stream.next()
    await untilWatched(service, actor)
    const { parts, store } = await service.app.running()
    await parts.live.announce(actor.id, 'resource', 'x://first')
    assert.equal((await first).params.uri, 'x://first')
    for (let batch = 0; batch < 5; batch++) {
      const names = Array.from({ length: 500 }, (_, n) => `x://${batch}/${n}`)
      await store.writeActor(actor.id, (tx, locked) => parts.live.record(tx, locked, 'resource', names))
      await parts.live.settled()
    }
    let received = 0
    let last = await stream.next()
    for (; last?.method === 'notifications/resources/updated'; last = await stream.next()) received += 1
    assert.ok(received < 1600, `${received} were kept`)
    assert.equal(last?.id, 1)
    assert.equal(await stream.next(), null)
  })
})

describe('permission changes while a stream is open', () => {
  forEachService((start) => {
    it('apply to the next change: another trust type, and a withdrawn approval (MCP-10)', async () => {
      const service = await start({ declare: new Waiting().declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const stream = new EventStream(await listen(client, { resourceSubscriptions: ['actingweb://properties/'] }))
      await stream.next()
      const notified = stream.next()
      await untilWatched(service, actor)
      await actor.request('PUT', '/properties/secret', 'one')
      assert.equal((await notified).params.uri, 'actingweb://properties/secret')
      const { store } = await service.app.running()
      const become = (set: string): Promise<number> =>
        store.write((tx) =>
          tx.run(`UPDATE trust SET ${set} WHERE actor_id = $1 AND peer_id = $2`, actor.id, client.peerId),
        )
      assert.equal(await become("relationship = 'viewer'"), 1)
      const next = stream.next()
      await actor.request('PUT', '/properties/secret', 'two')
      await actor.request('PUT', '/properties/public', { motto: 'hello' })
      assert.equal((await next).params.uri, 'actingweb://properties/public')
      assert.equal(await become('approved = 0'), 1)
      const last = stream.next()
      await actor.request('PUT', '/properties/public', { motto: 'bye' })
      assert.equal((await actor.request('DELETE', `/trust/viewer/${encodeURIComponent(client.peerId)}`)).status, 204)
      assert.equal((await last)?.id, 1)
    })
  })
})

describe('a client that disconnects', () => {
  const start = sqliteService()
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }

  async function calling(waiting: Waiting) {
    const service = await start({ declare: waiting.declare, listen: true })
    const client = await authorizeClient(service, await service.createActor())
    // The garbage collector closes the stream of a response that nothing refers to.
    const responses: Promise<Response | null>[] = []
    /** `status` is null for a call that was aborted before its response started. */
    const call = (headers: Record<string, string>, body: string): { abort(): void; status: Promise<number | null> } => {
      const controller = new AbortController()
      const response = fetch(`${service.url}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json', ...headers },
        body,
        signal: controller.signal,
      }).catch(() => null)
      responses.push(response)
      return { abort: () => controller.abort(), status: response.then((found) => found?.status ?? null) }
    }
    return { service, client, call, responses }
  }

  it('cancels a modern call when no response was sent yet', async () => {
    const waiting = new Waiting()
    const { call } = await calling(waiting)
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'wait' }
    const controller = call(headers, rpc(1, 'tools/call', { name: 'wait', _meta: meta }))
    await until(() => waiting.heard.length === 1)
    controller.abort()
    await until(() => waiting.heard.length === 2)
    assert.deepEqual(waiting.heard, ['begun', 'cancelled'])
    waiting.goOn()
  })

  it('does not cancel a legacy call, whose work continues', async () => {
    const waiting = new Waiting()
    const { client, service, call } = await calling(waiting)
    const controller = call({ 'mcp-protocol-version': '2025-11-25' }, rpc(1, 'tools/call', { name: 'wait' }))
    await until(() => waiting.heard.length === 1)
    controller.abort()
    const closed = await client.legacy('ping')
    assert.equal(closed.status, 200)
    waiting.goOn()
    await until(() => waiting.heard.includes('done'))
    assert.deepEqual(waiting.heard, ['begun', 'done'])
    await service.close()
  })

  it('frees the places of its streams, so that it can listen again', async () => {
    const { client, call, responses } = await calling(new Waiting())
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const body = rpc(1, 'subscriptions/listen', { notifications: {}, _meta: meta })
    const streams = Array.from({ length: 16 }, () => call(headers, body))
    const probe = async (): Promise<number> => {
      const response = await listen(client, { toolsListChanged: true })
      await response.body?.cancel()
      return response.status
    }
    // A probe takes a place while it runs, so all streams must be open before the first probe.
    assert.deepEqual(new Set(await Promise.all(streams.map(({ status }) => status))), new Set([200]))
    assert.equal(await probe(), 429)
    for (const stream of streams) stream.abort()
    await until(async () => (await probe()) === 200)
    assert.equal(responses.length, 16)
  })
})

describe('a legacy client that sends notifications/cancelled', () => {
  const start = sqliteService()

  it('gets no response to the call, whose handler is notified; other sessions and ids have no effect', async () => {
    const waiting = new Waiting()
    const service = await start({ declare: waiting.declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const other = await authorizeClient(service, actor)
    const session = await begin(client)
    const elsewhere = await begin(client)
    const foreign = await begin(other)
    const cancel = async (who: TestClient, requestId: unknown, headers: Record<string, string>): Promise<void> => {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
      assert.equal((await who.send(body, headers)).status, 202)
    }
    const running = client.send(rpc(7, 'tools/call', { name: 'wait' }), session)
    await until(() => waiting.heard.length === 1)
    await cancel(client, '7', session)
    await cancel(client, 8, session)
    await cancel(client, 7, elsewhere)
    await cancel(other, 7, foreign)
    await cancel(client, 7, { 'mcp-protocol-version': '2025-11-25' })
    assert.deepEqual(waiting.heard, ['begun'])
    await cancel(client, 7, session)
    const response = await running
    assert.deepEqual(waiting.heard, ['begun', 'cancelled'])
    assert.equal(await response.text(), '')
    await cancel(client, 7, session)
    waiting.goOn()
  })

  it('ends the elicitation that waits for the user', async () => {
    const service = await start({ declare: new Waiting().declare })
    const client = await authorizeClient(service, await service.createActor())
    const session = await begin(client)
    const stream = new EventStream(await client.send(rpc('a', 'tools/call', { name: 'ask' }), session))
    const question = await stream.next()
    assert.equal(question.method, 'elicitation/create')
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } })
    await client.send(body, session)
    assert.equal(await stream.next(), null)
  })
})
