/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
/** Answers of AI clients to questions of handlers, in the three channels: a session, a task, a call in rounds. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientQuestion } from '../../src/app/mcp-declarations.ts'
import type { App } from '../../src/troupe.ts'
import { EventStream } from '../support/event-stream.ts'
import { authorizeClient, rpc, type TestClient } from '../support/mcp-client.ts'
import { forEachService } from '../support/service.ts'
import { until } from '../support/until.ts'

const schema = {
  type: 'object',
  properties: { email: { type: 'string', format: 'email' }, age: { type: 'integer', minimum: 18 } },
  required: ['email'],
}
const questions: Readonly<Record<string, ClientQuestion>> = {
  form: { elicit: { message: 'Who are you?', schema } },
  url: { open: { message: 'Open', url: 'https://notes.example/connect' } },
  sample: { sample: { messages: [], maxTokens: 10 } },
  roots: { roots: true },
}
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const withTasks = { ...capabilities, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const message = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } }

/** Answers that the handler must not receive, by question. */
const bad: Readonly<Record<string, readonly unknown[]>> = {
  form: [
    { action: 'accept' },
    { action: 'accept', content: {} },
    { action: 'accept', content: { email: 'ada' } },
    { action: 'accept', content: { email: ['a@b.c'] } },
    { action: 'accept', content: { email: 'a@b.c', age: 17 } },
    { action: 'accept', content: { email: 'a@b.c', age: '18' } },
  ],
  sample: [
    {},
    { content: 'Paris' },
    { ...message, role: 'system' },
    { ...message, content: { type: 'text', text: {} } },
  ],
  roots: [{}, { roots: {} }, { roots: [{ uri: 'https://evil.example' }] }, { roots: ['file:///etc'] }],
}
/** Good answers, with what the handler receives. */
const good: readonly (readonly [name: string, answer: object, handed: object])[] = [
  [
    'form',
    { action: 'accept', content: { email: 'a@b.c', isAdmin: true } },
    { action: 'accept', content: { email: 'a@b.c' } },
  ],
  ['form', { action: 'decline', content: { email: 'a@b.c' } }, { action: 'decline' }],
  ['url', { action: 'accept', content: { email: 'a@b.c' } }, { action: 'accept' }],
  ['sample', message, message],
  ['roots', { roots: [{ uri: 'file:///home' }] }, { roots: [{ uri: 'file:///home' }] }],
]

function declare(received: unknown[]): (app: App) => void {
  return (app) => {
    for (const [name, question] of Object.entries(questions)) {
      app.action(`ask_${name}`, { mcp: true }, async ({ mcp }) => {
        const answers = await mcp?.ask({ it: question })
        received.push(answers?.['it'])
        return { done: true }
      })
      app.action(`later_${name}`, { mcp: true }, async ({ mcp }) => {
        mcp?.background()
        const answers = await mcp?.ask({ it: question })
        received.push(answers?.['it'])
        return { done: true }
      })
    }
  }
}

async function taskOf(
  client: TestClient,
  taskId: string,
): Promise<{ status: string; error?: { code: number; data?: unknown } }> {
  return (await client.modern('tasks/get', { taskId }, { capabilities: withTasks })).body.result
}

forEachService((start) => {
  async function open() {
    const received: unknown[] = []
    const service = await start({ declare: declare(received) })
    const client = await authorizeClient(service, await service.createActor(), { relationship: 'admin' })
    return { client, received }
  }

  async function sessionOf(client: TestClient, declared: object): Promise<Record<string, string>> {
    const begun = await client.legacy('initialize', { protocolVersion: '2025-11-25', capabilities: declared })
    return {
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    }
  }

  /** Calls the tool in a session, answers its question, and returns the result of the call. */
  async function inSession(
    client: TestClient,
    name: string,
    answer: unknown,
  ): Promise<{ isError?: boolean; content: { text: string }[] }> {
    const headers = await sessionOf(client, capabilities)
    const stream = new EventStream(await client.send(rpc(1, 'tools/call', { name: `ask_${name}` }), headers))
    const { id } = await stream.next()
    await client.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer }), headers)
    return (await stream.next()).result
  }

  describe('an answer that does not fit its question', () => {
    for (const [name, answers] of Object.entries(bad))
      for (const answer of answers) {
        it(`of ${name} does not reach the handler of a session: ${JSON.stringify(answer)} (MCP-19)`, async () => {
          const { client, received } = await open()
          const result = await inSession(client, name, answer)
          assert.equal(result.isError, true)
          assert.match(result.content[0]?.text ?? '', /^Cannot use the answer to "it": /)
          assert.deepEqual(received, [])
        })

        it(`of ${name} does not reach the handler of a call in rounds: ${JSON.stringify(answer)} (MCP-19)`, async () => {
          const { client, received } = await open()
          const params = { name: `ask_${name}`, inputResponses: { it: answer } }
          const { body } = await client.modern('tools/call', params, { capabilities })
          assert.equal(body.result.resultType, 'input_required')
          assert.deepEqual(received, [])
        })

        it(`of ${name} is refused by tasks/update, and the question stays: ${JSON.stringify(answer)} (MCP-19)`, async () => {
          const { client, received } = await open()
          const begun = await client.modern('tools/call', { name: `later_${name}` }, { capabilities: withTasks })
          const { taskId } = begun.body.result
          await until(async () => (await taskOf(client, taskId)).status === 'input_required')
          const update = (inputResponses: object) =>
            client.modern('tasks/update', { taskId, inputResponses }, { capabilities: withTasks })
          const refused = await update({ it: answer })
          assert.equal(refused.body.error.code, -32602)
          assert.match(refused.body.error.message, /^Cannot use the answer to "it": /)
          assert.equal((await taskOf(client, taskId)).status, 'input_required')
          assert.deepEqual(received, [])
          await client.modern('tasks/cancel', { taskId }, { capabilities: withTasks })
        })
      }
  })

  describe('an answer that fits', () => {
    for (const [name, answer, handed] of good)
      it(`reaches the handler alike in every channel: ${JSON.stringify(answer)} (MCP-19)`, async () => {
        const { client, received } = await open()
        await inSession(client, name, answer)
        await client.modern('tools/call', { name: `ask_${name}`, inputResponses: { it: answer } }, { capabilities })
        const begun = await client.modern('tools/call', { name: `later_${name}` }, { capabilities: withTasks })
        const { taskId } = begun.body.result
        await until(async () => (await taskOf(client, taskId)).status === 'input_required')
        await client.modern('tasks/update', { taskId, inputResponses: { it: answer } }, { capabilities: withTasks })
        await until(async () => (await taskOf(client, taskId)).status === 'completed')
        assert.deepEqual(received, [handed, handed, handed])
      })
  })

  describe('a client that did not declare the capability of a question', () => {
    for (const [name, required] of [
      ['form', { elicitation: { form: {} } }],
      ['url', { elicitation: { url: {} } }],
      ['sample', { sampling: {} }],
      ['roots', { roots: {} }],
    ] as const)
      it(`is not asked by a task, a session or a round: ${name} (MCP-19)`, async () => {
        const { client, received } = await open()
        const none = { extensions: withTasks.extensions }
        const begun = await client.modern('tools/call', { name: `later_${name}` }, { capabilities: none })
        const { taskId } = begun.body.result
        await until(async () => (await taskOf(client, taskId)).status === 'failed')
        assert.equal((await taskOf(client, taskId)).error?.code, -32021)
        const round = await client.modern('tools/call', { name: `ask_${name}` }, { capabilities: none })
        assert.deepEqual([round.status, round.body.error.code], [400, -32021])
        assert.deepEqual(round.body.error.data, { requiredCapabilities: required })
        const headers = await sessionOf(client, {})
        const answer = await client.send(rpc(1, 'tools/call', { name: `ask_${name}` }), headers)
        assert.doesNotMatch(await answer.text(), /elicitation\/create|sampling\/createMessage|roots\/list/)
        assert.deepEqual(received, [])
      })
  })
})
