/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-argument -- the test compares untyped protocol responses with literals */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { TestClient } from '../support/mcp-client.ts'
import { startProgramWithClient } from '../support/mcp-program.ts'
import { Workplace } from '../support/program.ts'

const root = dirname(dirname(import.meta.dirname))

describe('the notes sample application, used by an AI client that its owner authorized', () => {
  const place = new Workplace()
  let client: TestClient
  let url = ''
  let actorId = ''
  before(async () => {
    symlinkSync(join(root, 'examples'), place.path('examples'), 'junction')
    ;({ client, url, actorId } = await startProgramWithClient(place, 'examples/notes/app.ts'))
  })
  after(() => place.remove())

  it('offers tools, a prompt and resources', async () => {
    const listed = async (method: string, member: string, name: string): Promise<string[]> => {
      const { body } = await client.modern(method)
      return body.result[member].map((each: Record<string, string>) => each[name])
    }
    assert.deepEqual(await listed('tools/list', 'tools', 'name'), ['create_note', 'search', 'clear_notes'])
    assert.deepEqual(await listed('prompts/list', 'prompts', 'name'), ['summarize_notes'])
    assert.deepEqual(await listed('resources/list', 'resources', 'uri'), [
      'notes://latest',
      'actingweb://properties/notes',
    ])
    assert.deepEqual(await listed('resources/templates/list', 'resourceTemplates', 'uriTemplate'), [
      'notes://tags/{tag}',
    ])
  })

  it('adds notes, finds them, and shows them as resources and in a prompt', async () => {
    const add = (text: string, ...tags: string[]) =>
      client.modern('tools/call', { name: 'create_note', arguments: { text, tags } })
    assert.deepEqual((await add('Buy a violin', 'music')).body.result.structuredContent, { index: 0 })
    assert.deepEqual((await add('Water the plants', 'home')).body.result.structuredContent, { index: 1 })
    assert.equal((await add('')).body.result.isError, true)
    const found = await client.modern('tools/call', { name: 'search', arguments: { word: 'VIOLIN' } })
    assert.equal(found.body.result.structuredContent.found[0].item.text, 'Buy a violin')
    const read = async (uri: string): Promise<unknown> => {
      const { body } = await client.modern('resources/read', { uri })
      return JSON.parse(body.result.contents[0].text)
    }
    const violin = { text: 'Buy a violin', tags: ['music'], done: false }
    const plants = { text: 'Water the plants', tags: ['home'], done: false }
    assert.deepEqual(await read('notes://latest'), [plants, violin])
    assert.deepEqual(await read('notes://tags/music'), [violin])
    const prompt = await client.modern('prompts/get', { name: 'summarize_notes', arguments: { tag: 'home' } })
    assert.equal(
      prompt.body.result.messages[0].content.text,
      'Summarize these notes in a few sentences:\n\n- Water the plants',
    )
    const completed = await client.modern('completion/complete', {
      ref: { type: 'ref/prompt', name: 'summarize_notes' },
      argument: { name: 'tag', value: 'm' },
    })
    assert.deepEqual(completed.body.result.completion.values, ['music'])
  })

  it('deletes nothing before the owner approves', async () => {
    const asked = await client.modern('tools/call', { name: 'clear_notes' })
    assert.equal(asked.body.result.isError, true)
    assert.ok(asked.body.result.content[0].text.includes(`${url}/${actorId}/www/approvals/`))
    const { body } = await client.modern('resources/read', { uri: 'actingweb://properties/notes' })
    assert.equal(JSON.parse(body.result.contents[0].text).length, 2)
  })

  it('allows the client nothing else', async () => {
    for (const [method, params] of [
      ['tools/call', { name: 'add_note', arguments: { text: 'x' } }],
      ['prompts/get', { name: 'count' }],
      ['resources/read', { uri: 'actingweb://properties/all' }],
      ['resources/read', { uri: 'actingweb://properties/created_with' }],
    ] as const) {
      assert.equal((await client.modern(method, params)).body.error.code, 403, method)
    }
  })
})
