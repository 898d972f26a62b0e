/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { EventStream } from '../support/event-stream.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient, listen, rpc } from '../support/mcp-client.ts'
import { forEachService, sqliteService } from '../support/service.ts'
import { untilWatched } from '../support/stored.ts'

const question = { message: 'Connect your archive', url: 'https://notes.example/connect' }
const form = {
  message: 'Who are you?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}
const opens = { capabilities: { elicitation: { url: {} } } }
const fills = { capabilities: { elicitation: {} } }
const takes = { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } }

function declare(app: App): void {
  app.action('connect', { mcp: true }, async ({ mcp }) => {
    const answers = await mcp?.ask({ archive: { open: question } })
    return { answer: answers?.['archive'] ?? null }
  })
  app.action('greet', { mcp: true }, async ({ mcp }) => {
    const answer = await mcp?.elicit('name', form)
    return answer?.action === 'accept' ? `Hello, ${String(answer.content['name'])}!` : 'Never mind.'
  })
  app.method('card', { mcp: { prompt: true } }, async ({ mcp }) => {
    const answer = await mcp?.elicit('name', form)
    return answer?.action === 'accept' ? `A card for ${String(answer.content['name'])}` : 'No card'
  })
  app.method('door', { mcp: { resource: { uri: 'house://door' } } }, async ({ mcp }) => {
    const answer = await mcp?.elicit('name', form)
    return answer?.action === 'accept' ? `open for ${String(answer.content['name'])}` : 'shut'
  })
  app.action('survey', { mcp: true }, async ({ mcp }) => {
    const one = await mcp?.elicit('name', form)
    const { both } = (await mcp?.ask({ both: { elicit: form } })) ?? {}
    return { one: one ?? null, both: (both as object | undefined) ?? null }
  })
  app.action('think', { mcp: true }, async ({ mcp }) => {
    mcp?.background()
    await mcp?.elicit('name', form)
    return 'thought'
  })
}

describe('a URL that the user is asked to open', () => {
  const start = sqliteService()

  it('is part of the response to a modern call, and the handler receives the action of the user', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const asked = await client.modern('tools/call', { name: 'connect' }, opens)
    assert.deepEqual(asked.body.result.inputRequests, {
      archive: { method: 'elicitation/create', params: { mode: 'url', ...question } },
    })
    for (const action of ['accept', 'decline', 'cancel']) {
      const { requestState } = asked.body.result
      const retry = { name: 'connect', inputResponses: { archive: { action } }, requestState }
      const done = await client.modern('tools/call', retry, opens)
      assert.deepEqual(done.body.result.structuredContent, { answer: { action } })
    }
  })

  it('is not sent to a client that does not declare elicitation by URL', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
      const { status, body } = await client.modern('tools/call', { name: 'connect' }, { capabilities })
      assert.equal(status, 400)
      assert.deepEqual(body.error.data, { requiredCapabilities: { elicitation: { url: {} } } })
    }
  })

  it('is sent as a separate request in a session of 2025-11-25', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const begun = await client.legacy('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: opens.capabilities,
    })
    const headers = {
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    }
    const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: 'connect' }), headers))
    const { id, method, params } = await stream.next()
    assert.deepEqual([method, params], ['elicitation/create', { mode: 'url', ...question }])
    await client.send(JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept' } }), headers)
    assert.deepEqual((await stream.next()).result.structuredContent, { answer: { action: 'accept' } })
  })
})

describe('the response to a form', () => {
  const start = sqliteService()
  const content = { name: 'Ada' }

  for (const action of ['decline', 'cancel', 'unknown'] as const) {
    const handed = { action: action === 'decline' ? 'decline' : 'cancel' }

    it(`reaches the handler of a session without its content on ${action}`, async () => {
      const service = await start({ declare })
      const client = await authorizeClient(service, await service.createActor())
      const begun = await client.legacy('initialize', { protocolVersion: '2025-11-25', ...fills })
      const headers = {
        'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
        'mcp-protocol-version': '2025-11-25',
      }
      const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: 'survey' }), headers))
      for (let asked = 0; asked < 2; asked += 1) {
        const { id } = await stream.next()
        await client.send(JSON.stringify({ jsonrpc: '2.0', id, result: { action, content } }), headers)
      }
      assert.deepEqual((await stream.next()).result.structuredContent, { one: handed, both: handed })
    })
  }

  for (const action of ['decline', 'cancel'] as const)
    it(`reaches the handler of a modern call without its content on ${action}`, async () => {
      const service = await start({ declare })
      const client = await authorizeClient(service, await service.createActor())
      const inputResponses = { name: { action, content }, both: { action, content } }
      const done = await client.modern('tools/call', { name: 'survey', inputResponses }, fills)
      assert.deepEqual(done.body.result.structuredContent, { one: { action }, both: { action } })
    })

  it('reaches the handler with its content on accept', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const accepted = { action: 'accept', content }
    const inputResponses = { name: accepted, both: accepted }
    const done = await client.modern('tools/call', { name: 'survey', inputResponses }, fills)
    assert.deepEqual(done.body.result.structuredContent, { one: accepted, both: accepted })
  })
})

describe('elicitation by prompts and resources', () => {
  const start = sqliteService()

  it('works in rounds as for tools, and refuses the state of another request', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    const prompt = await client.modern('prompts/get', { name: 'card' }, fills)
    assert.equal(prompt.body.result.resultType, 'input_required')
    const got = await client.modern(
      'prompts/get',
      { name: 'card', inputResponses, requestState: prompt.body.result.requestState },
      fills,
    )
    assert.equal(got.body.result.messages[0].content.text, 'A card for Ada')
    const read = await client.modern('resources/read', { uri: 'house://door', inputResponses }, fills)
    assert.equal(read.body.result.contents[0].text, 'open for Ada')
    const crossed = await client.modern(
      'resources/read',
      { uri: 'house://door', requestState: prompt.body.result.requestState },
      fills,
    )
    assert.equal(crossed.body.error.code, -32602)
  })
})

describe('the state of a round', () => {
  const start = sqliteService()

  it('is valid for 15 minutes, and then an error that says to begin again', async () => {
    const clock = new ManualClock()
    const service = await start({ declare, now: clock.now, timers: clock.timers })
    const client = await authorizeClient(service, await service.createActor())
    const { requestState } = (await client.modern('tools/call', { name: 'greet' }, fills)).body.result
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    const retry = () => client.modern('tools/call', { name: 'greet', inputResponses, requestState }, fills)
    clock.pass(15 * 60_000)
    assert.equal((await retry()).body.result.content[0].text, 'Hello, Ada!')
    clock.pass(1)
    const late = await retry()
    assert.equal(late.body.error.code, -32602)
    assert.match(late.body.error.message, /begin again/)
  })

  it('is valid only for the same actor and operation', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { clientId: 'mcp_same' })
    const elsewhere = await authorizeClient(service, await service.createActor('bob@example.com'), {
      clientId: 'mcp_same',
    })
    const { requestState } = (await client.modern('tools/call', { name: 'greet' }, fills)).body.result
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    const params = { name: 'greet', inputResponses, requestState }
    assert.equal((await elsewhere.modern('tools/call', params, fills)).body.error.code, -32602)
    assert.equal((await client.modern('prompts/get', { ...params, name: 'card' }, fills)).body.error.code, -32602)
    assert.equal((await client.modern('tools/call', params, fills)).body.result.resultType, 'complete')
  })
})

describe('tasks that a client listens to', () => {
  forEachService((start) => {
    it('are reported as by tasks/get, only to the client that owns them', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const other = await authorizeClient(service, actor)
      const { taskId } = (await client.modern('tools/call', { name: 'think' }, takes)).body.result
      const foreign = (await other.modern('tools/call', { name: 'think' }, takes)).body.result.taskId
      const asked = await listen(client, { taskIds: [taskId, foreign] }, { capabilities: takes.capabilities, id: 's' })
      const stream = new EventStream(asked)
      assert.equal((await stream.next()).method, 'notifications/subscriptions/acknowledged')
      const first = stream.next()
      await untilWatched(service, actor)
      const answer = { inputResponses: { name: { action: 'decline' } } }
      await other.modern('tasks/cancel', { taskId: foreign }, takes)
      await client.modern('tasks/update', { taskId, ...answer }, takes)
      const seen: unknown[] = []
      for (let message = await first; ; message = await stream.next()) {
        const { status, ...task } = message.params
        assert.equal(message.method, 'notifications/tasks')
        assert.equal(task.taskId, taskId)
        assert.deepEqual(task._meta, { 'io.modelcontextprotocol/subscriptionId': 's' })
        seen.push(status)
        if (status === 'completed') {
          assert.equal(task.result.content[0].text, 'thought')
          break
        }
      }
      assert.ok(seen.every((status) => ['working', 'input_required', 'completed'].includes(String(status))))
      await stream.close()
    })
  })

  const start = sqliteService()

  it('are refused before the stream begins when the client does not support tasks', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    const { status, body } = await client.modern('subscriptions/listen', { notifications: { taskIds: ['t_1'] } })
    assert.deepEqual([status, body.error.code], [400, -32021])
    assert.deepEqual(body.error.data, {
      requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    })
  })
})

describe('announced changes', () => {
  const start = sqliteService()

  it('are sent to the clients that listen to them, and for a resource only to those that may read it', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const reader = await authorizeClient(service, actor, { relationship: 'admin' })
    const viewer = await authorizeClient(service, actor, { relationship: 'viewer' })
    const wants = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['house://'] }
    const one = new EventStream(await listen(reader, wants))
    const other = new EventStream(await listen(viewer, { ...wants, toolsListChanged: false }))
    for (const stream of [one, other]) await stream.next()
    const first = one.next()
    const second = other.next()
    await untilWatched(service, actor)
    const handle = await service.app.actors.get(actor.id)
    await handle?.announce({ resource: 'house://door' })
    await handle?.announce({ resource: 'garden://gate' })
    await handle?.announce('tools')
    await handle?.announce('prompts')
    assert.equal((await first).params.uri, 'house://door')
    assert.equal((await one.next()).method, 'notifications/tools/list_changed')
    assert.equal((await one.next()).method, 'notifications/prompts/list_changed')
    assert.equal((await second).method, 'notifications/prompts/list_changed')
    for (const stream of [one, other]) await stream.close()
  })
})

describe('a long list of tools', () => {
  const start = sqliteService()

  // Clients in Go and C# send the zero value of a cursor for the first page.
  it('begins with the first page for an empty cursor and for null', async () => {
    const service = await start({ declare: (app) => void app.action('only', { mcp: true }, () => undefined) })
    const client = await authorizeClient(service, await service.createActor())
    for (const cursor of ['', null]) {
      const { body } = await client.modern('tools/list', { cursor })
      assert.deepEqual(
        body.result.tools.map(({ name }: { name: string }) => name),
        ['only'],
      )
    }
    const called = await client.modern('tools/call', { name: 'only', arguments: {} })
    assert.deepEqual(called.body.result.content, [{ type: 'text', text: 'Done.' }])
    assert.equal('structuredContent' in called.body.result, false)
  })

  it('is paginated in the order of declaration, each tool once, whatever requests come between', async () => {
    const names = Array.from({ length: 250 }, (_, n) => `tool_${n}`)
    const service = await start({
      declare: (app) => {
        for (const name of names) app.action(name, { mcp: true }, () => null)
      },
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const seen: string[] = []
    const sizes: number[] = []
    for (let cursor: string | undefined; ; ) {
      const { body } = await client.modern('tools/list', cursor === undefined ? {} : { cursor })
      assert.equal(body.result.cacheScope, 'private')
      sizes.push(body.result.tools.length)
      seen.push(...body.result.tools.map(({ name }: { name: string }) => name))
      cursor = body.result.nextCursor
      if (cursor === undefined) break
      assert.equal(
        (await client.modern('tools/list', { cursor: `${cursor.slice(0, -6)}AAAAAA` })).body.error.code,
        -32602,
      )
      assert.equal((await client.modern('prompts/list', { cursor })).body.error.code, -32602)
      assert.equal(
        (await (await authorizeClient(service, actor)).modern('tools/list', { cursor })).body.error.code,
        -32602,
      )
    }
    assert.deepEqual(sizes, [100, 100, 50])
    assert.deepEqual(seen, names)
  })
})

describe('tools for some clients', () => {
  const start = sqliteService()

  it('are listed and described by the name of the client, and callable for every authorized client (R-MCP-05)', async () => {
    const service = await start({
      declare: (app) => {
        app.action('for_claude', { mcp: { allowedClients: ['claude'] } }, () => 'ok')
        app.action(
          'described',
          {
            description: 'declared',
            mcp: { clientDescriptions: { chatgpt: 'for ChatGPT', cursor: 'for Cursor' }, describe: () => null },
          },
          () => 'ok',
        )
        app.action(
          'unsure',
          {
            description: 'declared',
            mcp: {
              describe: () => {
                throw new Error('no idea')
              },
            },
          },
          ({ mcp }) => mcp?.clientType ?? '',
        )
      },
    })
    const client = await authorizeClient(service, await service.createActor())
    const cases: [name: string | null, type: string, tools: string[], described: string][] = [
      ['claude-ai', 'claude', ['for_claude', 'described', 'unsure'], 'declared'],
      ['Anthropic/Desktop', 'claude', ['for_claude', 'described', 'unsure'], 'declared'],
      ['openai-mcp', 'chatgpt', ['described', 'unsure'], 'for ChatGPT'],
      ['Cursor', 'cursor', ['described', 'unsure'], 'for Cursor'],
      ['mcp-inspector', 'mcp_inspector', ['described', 'unsure'], 'declared'],
      ['something else', 'universal', ['described', 'unsure'], 'declared'],
    ]
    for (const [name, type, tools, described] of cases) {
      const meta = { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } }
      const { body } = await client.modern('tools/list', {}, { meta })
      const listed = body.result.tools as { name: string; description: string }[]
      assert.deepEqual(
        listed.map((tool) => tool.name),
        tools,
        name ?? '',
      )
      assert.deepEqual(
        listed.filter((tool) => tool.name !== 'for_claude').map(({ description }) => description),
        [described, 'declared'],
      )
      const called = await client.modern('tools/call', { name: 'unsure' }, { meta })
      assert.equal(called.body.result.content[0].text, type)
      const unlisted = await client.modern('tools/call', { name: 'for_claude' }, { meta })
      assert.equal(unlisted.body.result.content[0].text, 'ok')
    }
  })

  it('receive the context of their own call among concurrent calls (R-MCP-08)', async () => {
    const service = await start({
      declare: (app) => {
        app.action('who', { mcp: true }, async ({ mcp }) => {
          await new Promise((resolve) => setImmediate(resolve))
          return { ...mcp?.context }
        })
      },
    })
    const actor = await service.createActor()
    const clients = await Promise.all(Array.from({ length: 8 }, () => authorizeClient(service, actor)))
    const contexts = await Promise.all(
      Array.from({ length: 80 }, async (_, n) => {
        const client = clients[n % 8]
        const meta = { 'io.modelcontextprotocol/clientInfo': { name: `client ${n}`, version: '1' } }
        const { body } = await (client ?? assert.fail()).modern('tools/call', { name: 'who' }, { meta })
        return body.result.structuredContent
      }),
    )
    for (const [n, context] of contexts.entries()) {
      assert.equal(context.client_id, clients[n % 8]?.clientId)
      assert.equal(context.peer_id, clients[n % 8]?.peerId)
      assert.deepEqual(context.client_info, { name: `client ${n}`, version: '1' })
      assert.equal(context.transport_session_id, null)
    }
    const outside = await actor.request('POST', '/actions/who', {})
    assert.deepEqual(await outside.json(), {}, 'a call outside of MCP has no context')
  })
})
