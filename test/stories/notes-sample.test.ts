import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import notes from '../../examples/notes/app.ts'
import { type AiClient, testing, type Testing, type TestPerson } from '../../src/testing.ts'

describe('the notes sample application, used by an AI client that its owner authorized', () => {
  let t: Testing
  let ada: TestPerson
  let ai: AiClient
  before(async () => {
    t = await testing(notes)
    ada = await t.signIn('ada@example.com')
    ai = await t.mcp(ada)
  })
  after(() => t.close())

  it('offers tools, a prompt and resources', async () => {
    const names = (listed: readonly { readonly name: string }[]): string[] => listed.map(({ name }) => name)
    assert.deepEqual(names(await ai.tools()), ['create_note', 'search', 'clear_notes'])
    assert.deepEqual(names(await ai.prompts()), ['summarize_notes'])
    assert.deepEqual(
      (await ai.resources()).map(({ uri }) => uri),
      ['notes://latest', 'actingweb://properties/notes'],
    )
    assert.deepEqual(await ai.request('resources/templates/list'), {
      resourceTemplates: [
        {
          uriTemplate: 'notes://tags/{tag}',
          name: 'Notes with a tag',
          description: 'The notes with a tag',
          mimeType: 'application/json',
        },
      ],
    })
  })

  it('adds notes, finds them, and shows them as resources and in a prompt', async () => {
    const violin = { text: 'Buy a violin', tags: ['music'], done: false }
    const plants = { text: 'Water the plants', tags: ['home'], done: false }
    assert.deepEqual((await ai.call('create_note', { text: violin.text, tags: violin.tags })).structured, { index: 0 })
    assert.deepEqual((await ai.call('create_note', { text: plants.text, tags: plants.tags })).structured, { index: 1 })
    assert.equal((await ai.call('create_note', { text: '' })).isError, true)
    const { structured } = await ai.call('search', { word: 'VIOLIN' })
    assert.deepEqual(structured, { found: [{ index: 0, item: violin }] })
    assert.deepEqual(JSON.parse(await ai.read('notes://latest')), [plants, violin])
    assert.deepEqual(JSON.parse(await ai.read('notes://tags/music')), [violin])
    assert.equal(
      await ai.prompt('summarize_notes', { tag: 'home' }),
      'Summarize these notes in a few sentences:\n\n- Water the plants',
    )
    const completed = await ai.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'summarize_notes' },
      argument: { name: 'tag', value: 'm' },
    })
    assert.deepEqual(completed, { completion: { values: ['music'], total: 1, hasMore: false } })
  })

  it('deletes nothing before the owner approves', async () => {
    const held = await ai.call('clear_notes')
    assert.equal(held.isError, true)
    assert.ok(held.text.includes(`${ada.actor.url}/www/approvals/`), held.text)
    assert.equal(await ada.actor.list('notes').length(), 2)
    assert.deepEqual(await t.approve(ada), { operation: 'clear_notes', arguments: {} })
    assert.deepEqual((await ai.call('clear_notes')).structured, { removed: 2 })
  })

  it('allows the client nothing else', async () => {
    const refused = { name: 'ClientRefused', code: -32003 }
    await assert.rejects(ai.call('add_note', { text: 'x' }), refused)
    await assert.rejects(ai.prompt('count'), refused)
    await assert.rejects(ai.read('actingweb://properties/all'), refused)
    await assert.rejects(ai.read('actingweb://properties/created_with'), refused)
  })
})
