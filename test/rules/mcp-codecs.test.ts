import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { legacyCodec } from '../../src/mcp/codecs/legacy.ts'
import { modernCodec } from '../../src/mcp/codecs/modern.ts'
import { McpFailure } from '../../src/mcp/protocol/failure.ts'
import { complete } from '../../src/mcp/protocol/result.ts'

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const icons = [{ src: 'https://example.com/i.png' }]

/** A result in each revision, the oldest first. */
function each(method: string, body: object): readonly unknown[] {
  return revisions.map((revision) => legacyCodec(revision).result(method, complete({ ...body })))
}

describe('a result in the older revisions', () => {
  it('lists tools without the members that a revision does not have', () => {
    const tool = {
      name: 't',
      title: 'T',
      description: 'd',
      icons,
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    }
    const bare = { name: 't', description: 'd', inputSchema: { type: 'object' } }
    const annotated = { ...bare, annotations: { readOnlyHint: true } }
    const titled = { ...annotated, title: 'T', outputSchema: { type: 'object' } }
    assert.deepEqual(each('tools/list', { tools: [tool] }), [
      { tools: [bare] },
      { tools: [annotated] },
      { tools: [titled] },
      { tools: [{ ...titled, icons }] },
    ])
  })

  it('omits an output schema whose root is not an object, and structured content that is not an object', () => {
    const tool = { name: 't', description: 'd', inputSchema: { type: 'object' }, outputSchema: { type: 'array' } }
    for (const answer of each('tools/list', { tools: [tool] })) {
      assert.deepEqual(answer, { tools: [{ name: 't', description: 'd', inputSchema: { type: 'object' } }] })
    }
    const text = { type: 'text', text: '[1]' }
    for (const answer of each('tools/call', { content: [text], structuredContent: [1], isError: false })) {
      assert.deepEqual(answer, { content: [text], isError: false })
    }
  })

  it('contains structured content from 2025-06-18', () => {
    const text = { type: 'text', text: '{"a":1}' }
    const plain = { content: [text], isError: false }
    const structured = { ...plain, structuredContent: { a: 1 } }
    assert.deepEqual(each('tools/call', structured), [plain, plain, structured, structured])
  })

  it('contains text in place of resource links and audio that a revision does not have', () => {
    const link = { type: 'resource_link', uri: 'notes://1', name: 'One' }
    const sound = { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }
    const image = { type: 'image', data: 'iVBORw==', mimeType: 'image/png' }
    const linkText = { type: 'text', text: 'One: notes://1' }
    assert.deepEqual(each('tools/call', { content: [link, sound, image], isError: false }), [
      { content: [linkText, { type: 'text', text: '[audio, audio/wav]' }, image], isError: false },
      { content: [linkText, sound, image], isError: false },
      { content: [link, sound, image], isError: false },
      { content: [link, sound, image], isError: false },
    ])
    const message = (content: object): object => ({ role: 'user', content })
    assert.deepEqual(each('prompts/get', { messages: [message(link)] }), [
      { messages: [message(linkText)] },
      { messages: [message(linkText)] },
      { messages: [message(link)] },
      { messages: [message(link)] },
    ])
  })

  it('lists prompts, resources and templates without titles and icons that a revision does not have', () => {
    const argument = { name: 'a', required: true }
    const prompt = { name: 'p', description: 'd', title: 'P', icons, arguments: [{ ...argument, title: 'A' }] }
    const bare = { name: 'p', description: 'd', arguments: [argument] }
    const titled = { ...bare, title: 'P', arguments: [{ ...argument, title: 'A' }] }
    assert.deepEqual(each('prompts/list', { prompts: [prompt] }), [
      { prompts: [bare] },
      { prompts: [bare] },
      { prompts: [titled] },
      { prompts: [{ ...titled, icons }] },
    ])
    const lists: [method: string, member: string][] = [
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ]
    for (const [method, member] of lists) {
      const item = { uri: 'x://y', name: 'y', title: 'Y', icons }
      assert.deepEqual(each(method, { [member]: [item], nextCursor: 'c' }), [
        { [member]: [{ uri: 'x://y', name: 'y' }], nextCursor: 'c' },
        { [member]: [{ uri: 'x://y', name: 'y' }], nextCursor: 'c' },
        { [member]: [{ uri: 'x://y', name: 'y', title: 'Y' }], nextCursor: 'c' },
        { [member]: [{ uri: 'x://y', name: 'y', title: 'Y', icons }], nextCursor: 'c' },
      ])
    }
  })

  it('contains no result type and no cache lifetime of the modern revision', () => {
    for (const revision of revisions) {
      const body = legacyCodec(revision).result('resources/read', complete({ contents: [] }, 5000))
      assert.deepEqual(body, { contents: [] })
    }
  })
})

describe('a failure', () => {
  const kinds: [kind: McpFailure['kind'], legacy: number, status: number, modern: number][] = [
    ['unknown_method', -32601, 404, -32601],
    ['invalid_params', -32602, 200, -32602],
    ['unknown_tool', -32601, 200, -32602],
    ['unknown_prompt', -32602, 200, -32602],
    ['unknown_resource', -32002, 200, -32602],
    ['not_permitted', -32003, 200, 403],
    ['missing_capability', -32603, 400, -32021],
    ['headers_differ', -32602, 400, -32020],
    ['internal', -32603, 200, -32603],
  ]
  const modern = modernCodec({ name: 'test', version: '1' })
  for (const [kind, legacyCode, status, modernCode] of kinds) {
    it(`of kind ${kind} is ${legacyCode} before 2026-07-28 and ${status}/${modernCode} there`, () => {
      const failure = new McpFailure(kind, 'why')
      for (const revision of revisions) {
        assert.deepEqual(legacyCodec(revision).failure('prompts/get', failure), {
          status: 200,
          code: legacyCode,
          message: 'why',
        })
      }
      assert.deepEqual(modern.failure('prompts/get', failure), { status, code: modernCode, message: 'why' })
    })
  }

  it('never has a code of the modern revision in an older one, or the reverse', () => {
    for (const [, legacyCode, , modernCode] of kinds) {
      assert.ok(![-32020, -32021, -32022].includes(legacyCode))
      assert.ok(![-32002, -32003, -32042].includes(modernCode))
    }
  })

  it('that requests a visit to a URL is -32042 in 2025-11-25, and a tool result with the URL before', () => {
    const url = 'https://notes.example/connect/e-5'
    const elicitations = [{ mode: 'url', elicitationId: 'e-5', message: 'Connect', url }]
    const failure = new McpFailure('url_elicitation', 'Connect first', { elicitations })
    assert.deepEqual(legacyCodec('2025-11-25').failure('tools/call', failure), {
      status: 200,
      code: -32042,
      message: 'Connect first',
      data: { elicitations },
    })
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18'] as const) {
      assert.deepEqual(legacyCodec(revision).failure('tools/call', failure), {
        result: { content: [{ type: 'text', text: `Connect first: ${url}` }], isError: true },
      })
    }
  })

  it('that requires input is a tool result when the client does not support input', () => {
    const failure = new McpFailure('missing_capability', 'The client cannot be asked', { requiredCapabilities: {} })
    for (const revision of revisions) {
      assert.deepEqual(legacyCodec(revision).failure('tools/call', failure), {
        result: { content: [{ type: 'text', text: 'The client cannot be asked' }], isError: true },
      })
    }
    assert.deepEqual(modern.failure('tools/call', failure), {
      status: 400,
      code: -32021,
      message: 'The client cannot be asked',
      data: { requiredCapabilities: {} },
    })
  })
})
