/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { TestClient } from '../support/mcp-client.ts'
import { startProgramWithClient } from '../support/mcp-program.ts'
import { Workplace } from '../support/program.ts'

const guide = readFileSync(join(dirname(dirname(import.meta.dirname)), 'docs', 'ai-clients.md'), 'utf8')

describe('the application of the guide for AI clients', () => {
  const place = new Workplace()
  const asks = { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } }
  let client: TestClient
  before(async () => {
    place.write('package.json', '{"type":"module"}')
    place.write('app.ts', [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code).join('\n'))
    ;({ client } = await startProgramWithClient(place, 'app.ts'))
  })
  after(() => place.remove())

  const call = async (name: string, args: object = {}, more: object = {}, options: object = asks) =>
    (await client.modern('tools/call', { name, arguments: args, ...more }, options)).body.result

  it('describes its purpose, and lists what the relationship grants', async () => {
    const { body } = await client.modern('server/discover')
    assert.equal(body.result.instructions, 'Notes of one person. Search before you add.')
    const tools = (await client.modern('tools/list')).body.result.tools as { name: string }[]
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['create_note', 'list_tidied', 'get_greeting', 'get_report', 'get_shared'],
    )
  })

  it('adds a note, rejects invalid input, and reads the note as a resource and in a prompt', async () => {
    assert.deepEqual((await call('create_note', { text: 'Buy a violin' })).structuredContent, { index: 0 })
    assert.equal((await call('create_note', { text: '' })).isError, true)
    const read = await client.modern('resources/read', { uri: 'notes://0' })
    assert.deepEqual(JSON.parse(read.body.result.contents[0].text), { text: 'Buy a violin', tag: 'inbox' })
    assert.equal((await client.modern('resources/read', { uri: 'notes://7' })).body.error.code, -32602)
    const prompt = await client.modern('prompts/get', { name: 'summarize_notes', arguments: { tag: 'inbox' } })
    assert.match(prompt.body.result.messages[0].content.text, /^Summarize these notes: \[\{"text":"Buy a violin"/)
    const completed = await client.modern('completion/complete', {
      ref: { type: 'ref/prompt', name: 'summarize_notes' },
      argument: { name: 'tag', value: 'h' },
    })
    assert.deepEqual(completed.body.result.completion.values, ['home'])
  })

  it('asks the user for input, in rounds', async () => {
    const asked = await call('list_tidied')
    assert.equal(asked.resultType, 'input_required')
    const inputResponses = { order: { action: 'accept', content: { first: 'home' } } }
    const done = await call('list_tidied', {}, { inputResponses, requestState: asked.requestState })
    assert.deepEqual(done.structuredContent, { sorted: true, first: 'home' })
    const declined = await call('list_tidied', {}, { inputResponses: { order: { action: 'decline' } } })
    assert.deepEqual(declined.structuredContent, { sorted: false })
  })

  it('asks for a name when the client supports elicitation, and greets the owner by address otherwise', async () => {
    assert.equal((await call('get_greeting', {}, {}, {})).content[0].text, 'Hello, ada@example.com')
    assert.equal((await call('get_greeting')).resultType, 'input_required')
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    assert.equal((await call('get_greeting', {}, { inputResponses })).content[0].text, 'Hello, Ada')
  })

  it('runs a task for clients that support tasks, and responds to other clients directly', async () => {
    assert.equal((await call('get_report')).resultType, 'task')
    assert.deepEqual((await call('get_report', {}, {}, {})).structuredContent, { notes: 1 })
  })

  it('shares nothing before the owner approves', async () => {
    const held = await call('get_shared', { index: 0, to: 'bob@example.com' })
    assert.equal(held.isError, true)
    assert.match(held.content[0].text, /\/www\/approvals\//)
  })

  it('stays within the limits that the guide states', () => {
    for (const bound of [
      '| 100 concurrent calls',
      '| 16 open streams',
      '| 20 sessions',
      '| 100 tasks',
      '| 20 open questions',
      '| 20 calls that wait for the owner',
      '| 500 watched resources',
    ]) {
      assert.ok(guide.includes(bound), bound)
    }
  })
})
