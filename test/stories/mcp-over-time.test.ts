/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { McpFailure } from '../../src/mcp/protocol/failure.ts'
import type { App } from '../../src/troupe.ts'
import { EventStream } from '../support/event-stream.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { authorizeClient, listen, type McpAnswer, rpc, type TestClient } from '../support/mcp-client.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, sqliteService, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { untilWatched } from '../support/stored.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const form = {
  message: 'Who are you?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}

function declare(app: App): void {
  app.action('greet', { mcp: true }, async ({ mcp }) => {
    const answer = await mcp?.elicit('user_name', form)
    return answer?.action === 'accept' ? `Hello, ${String(answer.content['name'])}!` : 'Never mind.'
  })
  app.action('steps', { mcp: true }, async ({ mcp }) => {
    mcp?.progress(1, 3, 'one')
    mcp?.progress(1, 3, 'not further')
    mcp?.log('debug', 'details')
    mcp?.log('error', 'trouble', 'steps')
    mcp?.progress(3, 3)
    return 'done'
  })
  app.action('paint', { mcp: { confirm: 'owner', description: 'Paints the house' } }, async ({ actor, input }) => {
    const painted = Number((await actor.get('painted')) ?? 0)
    await actor.set('painted', painted + 1)
    return { painted: painted + 1, input }
  })
  app.action('think', { mcp: true }, async ({ mcp }) => {
    mcp?.background()
    const answer = await mcp?.elicit('what', form)
    return { thought: answer?.action === 'accept' ? answer.content['name'] : null }
  })
  app.action('count', { mcp: { annotations: { idempotentHint: true } } }, async ({ mcp }) => {
    mcp?.background()
    return { counted: 3 }
  })
  app.action('only_behind', { mcp: { task: 'required' } }, async ({ mcp }) => {
    mcp?.background()
    return 'done'
  })
}

/** Starts a session of a client with these capabilities. */
async function initialize(
  client: TestClient,
  capabilities: object = { elicitation: {} },
  version = '2025-11-25',
): Promise<string> {
  const answer = await client.legacy('initialize', {
    protocolVersion: version,
    capabilities,
    clientInfo: { name: 'tester', version: '1' },
  })
  const id = answer.headers.get('mcp-session-id')
  assert.match(id ?? '', /^ms_[\w-]{43}$/)
  return id ?? ''
}

describe('a session of a legacy client', () => {
  forEachService((start) => {
    it('asks the user on the stream of the call, and continues with the response that arrives in a separate request', async () => {
      const service = await start({ declare })
      const client = await authorizeClient(service, await service.createActor())
      const session = await initialize(client)
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
      const stream = new EventStream(await client.send(rpc(7, 'tools/call', { name: 'greet' }), headers))
      const question = await stream.next()
      assert.equal(question.method, 'elicitation/create')
      assert.deepEqual(question.params, { mode: 'form', message: 'Who are you?', requestedSchema: form.schema })
      const answered = await client.send(
        JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Alice' } } }),
        headers,
      )
      assert.equal(answered.status, 202)
      const result = await stream.next()
      assert.equal(result.id, 7)
      assert.equal(result.result.content[0].text, 'Hello, Alice!')
      assert.equal(await stream.next(), null)
    })

    it('accepts the response in a process other than the one that asks', async () => {
      const one = await start({ declare })
      const other = await start({ declare, database: one.databaseUrl })
      const client = await authorizeClient(one, await one.createActor())
      const session = await initialize(client)
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
      const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: 'greet' }), headers))
      const question = await stream.next()
      const answered = await other.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }),
      })
      assert.equal(answered.status, 202)
      assert.equal((await stream.next()).result.content[0].text, 'Never mind.')
    })

    it('is 404 for other clients, and for its own client after it ended (MCP-07)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const stranger = await authorizeClient(service, await service.createActor('bob@example.com'))
      const session = await initialize(client)
      const headers = { 'mcp-session-id': session }
      assert.equal((await client.legacy('tools/list', {}, headers)).status, 200)
      assert.equal((await other.legacy('tools/list', {}, headers)).status, 404)
      assert.equal((await stranger.legacy('tools/list', {}, headers)).status, 404)
      const withoutToken = await service.request('/mcp', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: rpc(1, 'tools/list'),
      })
      assert.equal(withoutToken.status, 401)
      const end = (token: string): Promise<Response> =>
        service.request('/mcp', { method: 'DELETE', headers: { ...headers, authorization: `Bearer ${token}` } })
      assert.equal((await end(other.token)).status, 404)
      assert.equal((await client.legacy('tools/list', {}, headers)).status, 200)
      assert.equal((await end(client.token)).status, 204)
      assert.equal((await client.legacy('tools/list', {}, headers)).status, 404)
      assert.equal((await client.legacy('tools/list')).status, 200)
    })

    it('gives each call its own response, whatever ids clients choose (MCP-08)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const clients = await Promise.all(Array.from({ length: 6 }, () => authorizeClient(service, actor)))
      const answers = await Promise.all(
        clients.map(async (client, index) => {
          const session = await initialize(client)
          const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
          const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: 'greet' }), headers))
          const question = await stream.next()
          const result = { action: 'accept', content: { name: `client ${index}` } }
          await client.send(JSON.stringify({ jsonrpc: '2.0', id: question.id, result }), headers)
          return (await stream.next()).result.content[0].text as string
        }),
      )
      assert.deepEqual(
        answers,
        Array.from({ length: 6 }, (_, index) => `Hello, client ${index}!`),
      )
    })

    it('sends changes of lists and of subscribed resources on its own stream', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const client = await authorizeClient(service, actor)
      const session = await initialize(client)
      const headers = { 'mcp-session-id': session }
      await client.legacy('resources/subscribe', { uri: 'actingweb://properties/color' }, headers)
      const response = await service.request('/mcp', {
        headers: { ...headers, authorization: `Bearer ${client.token}`, accept: 'text/event-stream' },
      })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-type'), 'text/event-stream')
      const stream = new EventStream(response)
      await untilWatched(service, actor)
      await actor.request('PUT', '/properties/color', 'blue')
      assert.deepEqual(await stream.next(), {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'actingweb://properties/color' },
      })
      await actor.request('PUT', '/properties/size', '7')
      assert.deepEqual(await stream.next(), { jsonrpc: '2.0', method: 'notifications/resources/list_changed' })
      await stream.close()
    })
  })

  const start = sqliteService()

  it('is optional: calls work without it, and a question becomes an error text', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const greeted = await client.legacy('tools/call', { name: 'greet' })
    assert.equal(greeted.body.result.isError, true)
    const listening = await service.request('/mcp', {
      headers: { authorization: `Bearer ${client.token}`, accept: 'text/event-stream' },
    })
    assert.equal(listening.status, 405)
  })

  it('sends increasing progress, and log messages of the configured level', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const headers = { 'mcp-session-id': await initialize(client), 'mcp-protocol-version': '2025-11-25' }
    await client.legacy('logging/setLevel', { level: 'warning' }, headers)
    const call = { name: 'steps', _meta: { progressToken: 'p' } }
    const stream = new EventStream(await client.send(rpc(1, 'tools/call', call), headers))
    const received: unknown[] = []
    for (let message = await stream.next(); message !== null; message = await stream.next()) received.push(message)
    assert.deepEqual(received, [
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 'p', progress: 1, total: 3, message: 'one' },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'error', data: 'trouble', logger: 'steps' },
      },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p', progress: 3, total: 3 } },
      {
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: 'done' }], isError: false },
      },
    ])
  })
})

describe('a modern listening stream', () => {
  forEachService((start) => {
    it('acknowledges what it grants first, and sends each change with the id of the request', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const client = await authorizeClient(service, actor)
      const wants = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ['actingweb://properties/'],
      }
      const stream = new EventStream(await listen(client, wants, { id: 30 }))
      const meta = { 'io.modelcontextprotocol/subscriptionId': 30 }
      assert.deepEqual(await stream.next(), {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: {
          notifications: { toolsListChanged: true, resourceSubscriptions: ['actingweb://properties/'] },
          _meta: meta,
        },
      })
      const following = stream.next()
      await untilWatched(service, actor)
      await actor.request('PUT', '/properties/color', 'blue')
      assert.deepEqual(await following, {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'actingweb://properties/color', _meta: meta },
      })
      const path = `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`
      assert.ok((await actor.request('PUT', path, { tools: { denied: ['greet'] } })).ok)
      assert.deepEqual(await stream.next(), {
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: meta },
      })
      await stream.close()
    })

    it('omits changes that the client may not read', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'viewer' })
      const stream = new EventStream(await listen(client, { resourceSubscriptions: ['actingweb://properties/'] }))
      await stream.next()
      const following = stream.next()
      await untilWatched(service, actor)
      await actor.request('PUT', '/properties/secret', 'hush')
      await actor.request('PUT', '/properties/public', { motto: 'hello' })
      assert.equal((await following).params.uri, 'actingweb://properties/public')
      await stream.close()
    })

    it('ends with the relationship, with the result of the request', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const stream = new EventStream(
        await listen(client, { resourceSubscriptions: ['actingweb://properties/'] }, { id: 30 }),
      )
      await stream.next()
      const following = stream.next()
      await untilWatched(service, actor)
      assert.equal((await actor.request('DELETE', `/trust/friend/${encodeURIComponent(client.peerId)}`)).status, 204)
      await actor.request('PUT', '/properties/color', 'blue')
      const last = await following
      assert.equal(last.id, 30)
      assert.equal(last.result.resultType, 'complete')
      assert.equal(await stream.next(), null)
    })
  })
})

describe('the owner’s approval', () => {
  const opens = { capabilities: { elicitation: { url: {} } } }

  forEachService((start) => {
    it('releases exactly the approved call, once, and the client waits until then', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const call = { name: 'paint', arguments: { color: 'red' } }
      const asked = await client.modern('tools/call', call, opens)
      assert.equal(asked.body.result.resultType, 'input_required')
      const { method, params } = asked.body.result.inputRequests.owner_approval
      assert.equal(method, 'elicitation/create')
      assert.equal(params.mode, 'url')
      const [waiting] = await parts.approvals.waiting(actor.id)
      assert.equal(params.url, `${service.url}/${actor.id}/www/approvals/${waiting?.approvalId}`)
      assert.equal(waiting?.operation, 'paint')
      assert.equal(waiting.kind, 'tools')
      assert.deepEqual(waiting.arguments, { color: 'red' })
      // The client reports that the user opened the URL, which is not an approval.
      const retry = {
        ...call,
        inputResponses: { owner_approval: { action: 'accept' } },
        requestState: asked.body.result.requestState,
      }
      assert.equal((await client.modern('tools/call', retry, opens)).body.result.resultType, 'input_required')
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
      assert.equal(await parts.approvals.decide(actor.id, waiting.approvalId, 'approved'), true)
      const other = await client.modern('tools/call', { ...call, arguments: { color: 'blue' } }, opens)
      assert.equal(other.body.result.resultType, 'input_required')
      const done = await client.modern('tools/call', retry, opens)
      assert.deepEqual(done.body.result.structuredContent, { painted: 1, input: { color: 'red' } })
      const again = await client.modern('tools/call', call, opens)
      assert.equal(again.body.result.resultType, 'input_required')
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{"painted":1}')
    })

    it('shows the owner all arguments of the call, and is not requested for arguments that are too long to review', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const call = (args: object): Promise<McpAnswer> => client.legacy('tools/call', { name: 'paint', arguments: args })
      const many = { notes: Array.from({ length: 900 }, (_, index) => `note ${index}`), last: 'and the last one' }
      const received = await call(many)
      const [waiting] = await parts.approvals.waiting(actor.id)
      assert.ok(received.body.result.content[0].text.includes(waiting?.approvalId))
      const session = await signIn(service, actor)
      const page = await service.request(`/${actor.id}/www/approvals/${waiting?.approvalId}`, {
        headers: { cookie: `oauth_token=${session}`, accept: 'text/html' },
      })
      const text = await page.text()
      for (const shown of ['&quot;note 0&quot;<', '&quot;note 899&quot;<', 'and the last one'])
        assert.ok(text.includes(shown), shown)
      assert.ok(!text.includes('not shown here'))
      const tooLong = await call({ text: 'x'.repeat(16_384) })
      assert.equal(tooLong.body.result.isError, true)
      assert.match(tooLong.body.result.content[0].text, /too long to review/)
      assert.equal((await parts.approvals.waiting(actor.id)).length, 1)
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
    })

    it('is valid for all rounds in which the call asks its user, and is used up by the end of the call', async () => {
      const service = await start({
        declare: (app) => {
          app.action('sell', { mcp: { confirm: 'owner' } }, async ({ actor, mcp }) => {
            const answer = await mcp?.elicit('name', form)
            if (answer?.action !== 'accept') return 'not sold'
            await actor.set('sold', Number((await actor.get('sold')) ?? 0) + 1)
            return 'sold'
          })
        },
      })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const both = { capabilities: { elicitation: { form: {}, url: {} } } }
      const call = (more: object = {}) => client.modern('tools/call', { name: 'sell', ...more }, both)
      await call()
      const [waiting] = await parts.approvals.waiting(actor.id)
      await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', 'approved')
      const asked = await call()
      assert.deepEqual(Object.keys(asked.body.result.inputRequests), ['name'])
      const { requestState } = asked.body.result
      const retry = { requestState, inputResponses: { name: { action: 'accept', content: { name: 'Bob' } } } }
      const sold = await call(retry)
      assert.equal(sold.body.result.content[0].text, 'sold')
      const again = await call(retry)
      assert.deepEqual(Object.keys(again.body.result.inputRequests), ['owner_approval'])
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{"sold":1}')
    })

    it('releases one of several equal calls that arrive concurrently', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const call = { name: 'paint', arguments: {} }
      await client.modern('tools/call', call, opens)
      const [waiting] = await parts.approvals.waiting(actor.id)
      await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', 'approved')
      const answers = await Promise.all(Array.from({ length: 10 }, () => client.modern('tools/call', call, opens)))
      const types = answers.map(({ body }) => body.result.resultType as string)
      assert.equal(types.filter((type) => type === 'complete').length, 1)
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{"painted":1}')
    })

    it('is reported with its URL, and later as a denial, to legacy clients', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const call = { name: 'paint', arguments: {} }
      const received = await client.legacy('tools/call', call)
      const [waiting] = await parts.approvals.waiting(actor.id)
      assert.equal(received.body.result.isError, true)
      assert.ok(received.body.result.content[0].text.includes(`/www/approvals/${waiting?.approvalId}`))
      const session = await initialize(client, { elicitation: { url: {} } })
      const opened = await client.legacy('tools/call', call, { 'mcp-session-id': session })
      assert.equal(opened.body.error.code, -32042)
      assert.equal(opened.body.error.data.elicitations[0].elicitationId, waiting?.approvalId)
      await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', 'denied')
      const refused = await client.legacy('tools/call', call)
      assert.equal(refused.body.result.content[0].text, 'The owner refused this call.')
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
      assert.equal(await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', 'approved'), false)
    })
  })
})

describe('tasks', () => {
  const takes = { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } }

  forEachService((start) => {
    it('exist before the client receives them, ask for input, and keep the result of the work', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const begun = await client.modern('tools/call', { name: 'think' }, takes)
      assert.equal(begun.body.result.resultType, 'task')
      const { taskId } = begun.body.result
      const asking = await untilTask(client, taskId, takes, 'input_required')
      assert.equal(asking.inputRequests.what.method, 'elicitation/create')
      const answered = await client.modern(
        'tasks/update',
        { taskId, inputResponses: { what: { action: 'accept', content: { name: 'spring' } }, more: {} } },
        takes,
      )
      assert.equal(answered.body.result.resultType, 'complete')
      const done = await untilTask(client, taskId, takes, 'completed')
      assert.deepEqual(done.result.structuredContent, { thought: 'spring' })
    })

    it('end with the work, also when the work fails before the task has begun', async () => {
      const service = await start({
        declare: (app) => {
          app.action('fail', { mcp: true }, ({ mcp }) => {
            mcp?.background()
            throw new Error('broken')
          })
          app.action('break', { mcp: true }, ({ mcp }) => {
            mcp?.background()
            throw new McpFailure('invalid_params', 'There is nothing to do')
          })
        },
      })
      const client = await authorizeClient(service, await service.createActor())
      const failed = (await client.modern('tools/call', { name: 'fail' }, takes)).body.result
      const seen = await client.modern('tasks/get', { taskId: failed.taskId }, takes)
      assert.deepEqual([seen.body.result.status, seen.body.result.result.isError], ['completed', true])
      const broken = (await client.modern('tools/call', { name: 'break' }, takes)).body.result
      const received = await client.modern('tasks/get', { taskId: broken.taskId }, takes)
      assert.deepEqual(received.body.result.error, { code: -32602, message: 'There is nothing to do' })
    })

    it('keep their result when the store answers again', async () => {
      const clock = new ManualClock()
      let faults: FaultyStore | undefined
      const service = await start({
        declare,
        now: clock.now,
        timers: clock.timers,
        wrapStore: (store) => (faults = faulty(store)),
      })
      const client = await authorizeClient(service, await service.createActor())
      faults?.plan({ matching: /UPDATE mcp_task SET status/, times: 2 })
      const called = client.modern('tools/call', { name: 'count' }, takes)
      await passUntil(clock, [service], () => faults?.failed === 2, 1000)
      const { store } = await service.app.running()
      const statuses = () => store.read((q) => q.all<{ status: string }>('SELECT status FROM mcp_task'))
      await passUntil(clock, [service], async () => (await statuses())[0]?.status === 'completed', 1000)
      const task = await untilTask(client, (await called).body.result.taskId, takes)
      assert.deepEqual(task.result.structuredContent, { counted: 3 })
    })

    it('are limited to 100 for each client, whose further calls respond with their result', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const call = async (who: TestClient): Promise<string> =>
        (await who.modern('tools/call', { name: 'count' }, takes)).body.result.resultType
      for (let n = 0; n < 100; n++) assert.equal(await call(client), 'task')
      assert.equal(await call(client), 'complete')
      assert.equal(await call(other), 'task')
    })

    it('are hidden from other clients, and from clients that do not support tasks', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const begun = await client.modern('tools/call', { name: 'think' }, takes)
      const { taskId } = begun.body.result
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        assert.equal((await other.modern(method, { taskId }, takes)).body.error.code, -32602, method)
        assert.equal((await client.modern(method, { taskId })).body.error.code, -32021, method)
        assert.equal((await client.legacy(method, { taskId })).body.error.code, -32601, method)
      }
      const required = await client.modern('tools/call', { name: 'only_behind' })
      assert.equal(required.status, 400)
      assert.equal(required.body.error.code, -32021)
      await client.modern('tasks/cancel', { taskId }, takes)
      assert.equal((await untilTask(client, taskId, takes, 'cancelled')).status, 'cancelled')
    })

    it('are not resumed after the owner withdrew the right to the tool (MCP-12)', async () => {
      let later = 0
      const now = (): number => Date.now() + later
      const service = await start({ declare, now })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts, store, keyRing } = await service.app.running()
      const access = { actor: (await parts.actors.find(actor.id)) ?? assert.fail(), ...accessOf(client) }
      const { McpTasks } = await import('../../src/mcp/tasks/tasks.ts')
      const { permission } = parts
      const dead = new McpTasks({
        store,
        live: parts.live,
        keyRing,
        timers: { setTimer: () => () => {} },
        permission,
        now,
      })
      const left = await dead.begin(access, 'count', {})
      const path = `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`
      assert.ok((await actor.request('PUT', path, { tools: { denied: ['count'] } })).status < 300)
      later = 60_000
      const taskId = String(left.view['taskId'])
      const { body } = await client.modern('tasks/get', { taskId }, takes)
      assert.match(body.error.message, /These credentials may not use the tool "count"/)
      const { status } = (await store.read((q) =>
        q.get<{ status: string }>('SELECT status FROM mcp_task WHERE actor_id = $1 AND task_id = $2', actor.id, taskId),
      )) ?? { status: '' }
      assert.equal(status, 'working')
    })

    it('do not exist after the owner withdrew the approval (MCP-12)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const begun = await client.modern('tools/call', { name: 'count' }, takes)
      const { taskId } = begun.body.result
      assert.equal((await untilTask(client, taskId, takes, 'completed')).status, 'completed')
      const path = `/trust/friend/${encodeURIComponent(client.peerId)}`
      assert.equal((await actor.request('PUT', path, { approved: false })).status, 204)
      assert.equal((await client.modern('tasks/get', { taskId }, takes)).body.error?.code, -32602)
      const answers = { taskId, inputResponses: {} }
      assert.equal((await client.modern('tasks/update', answers, takes)).body.error?.code, -32602)
    })

    it('survive a restart: completed ones keep their result, repeatable ones resume, and others fail', async () => {
      let later = 0
      const now = (): number => Date.now() + later
      // The first process seems dead to the second one, so it must not renew its leases.
      const one = await start({ declare, now, timers: stoppedTimers })
      const actor = await one.createActor()
      const client = await authorizeClient(one, actor)
      const done = (await client.modern('tools/call', { name: 'count' }, takes)).body.result.taskId as string
      await untilTask(client, done, takes, 'completed')
      const lost = (await client.modern('tools/call', { name: 'think' }, takes)).body.result.taskId as string
      const { parts, store, keyRing } = await one.app.running()
      const access = { actor: (await parts.actors.find(actor.id)) ?? assert.fail(), ...accessOf(client) }
      // The process of this task crashed before it began the work.
      const { McpTasks } = await import('../../src/mcp/tasks/tasks.ts')
      const { permission } = parts
      const dead = new McpTasks({
        store,
        live: parts.live,
        keyRing,
        timers: { setTimer: () => () => {} },
        permission,
        now,
      })
      const left = await dead.begin(access, 'count', {})
      later = 60_000
      const other = await start({ declare, now, database: one.databaseUrl })
      const ask = async (taskId: string) => untilTask({ ...client, modern: through(other, client) }, taskId, takes)
      assert.deepEqual((await ask(done)).result.structuredContent, { counted: 3 })
      assert.deepEqual(
        (
          await untilTask(
            { ...client, modern: through(other, client) },
            String(left.view['taskId']),
            takes,
            'completed',
          )
        ).result.structuredContent,
        { counted: 3 },
      )
      const failed = await ask(lost)
      assert.equal(failed.status, 'failed')
      assert.equal(failed.error.code, -32603)
    })
  })
})

function accessOf(client: TestClient) {
  return {
    caller: {
      kind: 'client',
      clientId: client.clientId,
      peerId: client.peerId,
      relationship: 'friend',
      via: 'bearer',
    } as const,
    token: { scope: 'mcp', audience: '', expiresAt: Number.MAX_SAFE_INTEGER },
    remembered: null,
  }
}

/** Sends the requests of the same client to another process. */
function through(service: TestService, client: TestClient): TestClient['modern'] {
  return async (method, params = {}, { capabilities = {} } = {}) => {
    const response = await service.request('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${client.token}`,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': (params as { taskId: string }).taskId,
      },
      body: rpc(1, method, {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
      }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
}

/** Polls the task until it has this status, or by default any status other than `working`. */
async function untilTask(
  client: Pick<TestClient, 'modern'>,
  taskId: string,
  options: { capabilities: object },
  status?: string,
) {
  const look = async () => (await client.modern('tasks/get', { taskId }, options)).body.result
  let task = await look()
  await until(async () => {
    task = await look()
    return status === undefined ? task.status !== 'working' : task.status === status
  })
  return task
}
