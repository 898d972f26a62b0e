/** The tools, prompts and resources that the official conformance suite expects, declared as in any application. */
import type { App } from '../../src/troupe.ts'
import type { FormQuestion, McpCall } from '../../src/app/mcp-declarations.ts'
import { McpFailure } from '../../src/mcp/protocol/failure.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const text = (value: string): object => ({ type: 'text', text: value })
// Real time: the conformance suite observes calls that take a while.
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Tools for AI clients only. */
function handsOf(mcp: McpCall | undefined): McpCall {
  if (mcp === undefined) throw new Error('Cannot call this tool: it is for AI clients')
  return mcp
}

function form(
  message: string,
  properties: object,
  required: readonly string[] = Object.keys(properties),
): FormQuestion {
  return { message, schema: { type: 'object', properties, required } }
}

export function declareFixtures(app: App): void {
  app.trustType({
    name: 'conformance',
    display_name: 'Conformance suite',
    description: 'May use everything',
    permissions: {
      properties: { patterns: ['*'], operations: ['read'] },
      tools: { allowed: ['*'] },
      prompts: { allowed: ['*'] },
      resources: { patterns: ['*'], operations: ['read'] },
    },
  })
  declareTools(app)
  declareQuestions(app)
  declareTasks(app)
  declarePrompts(app)
  declareResources(app)
}

function declareTools(app: App): void {
  app.action(
    'test_header_region',
    {
      description: 'Answers at once',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, count: { type: 'integer' } },
      },
      mcp: true,
    },
    async () => 'ok',
  )
  app.action(
    'test_simple_text',
    { description: 'Answers with text', mcp: true },
    async () => 'This is a simple text response for testing.',
  )
  app.action('test_image_content', { description: 'Answers with an image', mcp: true }, async () => ({
    content: [{ type: 'image', data: png, mimeType: 'image/png' }],
  }))
  app.action('test_audio_content', { description: 'Answers with a sound', mcp: true }, async () => ({
    content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  }))
  app.action('test_embedded_resource', { description: 'Answers with a resource', mcp: true }, async () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }))
  app.action('test_multiple_content_types', { description: 'Answers with several kinds', mcp: true }, async () => ({
    content: [
      text('Multiple content types test:'),
      { type: 'image', data: png, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }))
  app.action('test_error_handling', { description: 'Fails on purpose', mcp: true }, async () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  }))
  app.action('test_tool_with_progress', { description: 'Reports progress', mcp: true }, async ({ mcp }) => {
    const hands = handsOf(mcp)
    for (const done of [0, 50, 100]) {
      hands.progress(done, 100, `Completed step ${done} of 100`)
      await pause(50)
    }
    return 'done'
  })
  app.action('test_tool_with_logging', { description: 'Logs what it does', mcp: true }, async ({ mcp }) => {
    const hands = handsOf(mcp)
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      hands.log('info', said)
      await pause(50)
    }
    return 'done'
  })
  app.action('test_logging_tool', { description: 'Logs what it does', mcp: true }, async ({ mcp }) => {
    handsOf(mcp).log('info', 'working')
    return 'done'
  })
  app.action(
    'json_schema_2020_12_tool',
    {
      description: 'Has a schema with every keyword',
      mcp: {
        inputSchema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          $defs: {
            address: {
              $anchor: 'addressDef',
              type: 'object',
              properties: { street: { type: 'string' }, city: { type: 'string' } },
            },
          },
          properties: {
            name: { type: 'string' },
            address: { $ref: '#/$defs/address' },
            contactMethod: { type: 'string', enum: ['phone', 'email'] },
            phone: { type: 'string' },
            email: { type: 'string' },
          },
          allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
          if: { properties: { contactMethod: { const: 'phone' } } },
          // oxlint-disable-next-line unicorn/no-thenable
          then: { required: ['phone'] },
          else: { required: ['email'] },
          additionalProperties: false,
        },
      },
    },
    async ({ input }) => ({ received: input as object }),
  )
}

function declareQuestions(app: App): void {
  const named = form('What is your name?', { name: { type: 'string' } })
  const capital = {
    messages: [{ role: 'user', content: text('What is the capital of France?') }],
    maxTokens: 100,
  }
  app.action(
    'test_input_required_result_elicitation',
    { description: 'Asks for a name', mcp: true },
    async ({ mcp }) => {
      const answer = await handsOf(mcp).elicit('user_name', named)
      return answer.action === 'accept' ? `Hello, ${String(answer.content['name'])}!` : 'No name'
    },
  )
  app.action('test_input_required_result_sampling', { description: 'Asks the model', mcp: true }, async ({ mcp }) => {
    const answers = await handsOf(mcp).ask({ capital_question: { sample: capital } })
    return { answers }
  })
  app.action('test_input_required_result_list_roots', { description: 'Asks for roots', mcp: true }, async ({ mcp }) => {
    const answers = await handsOf(mcp).ask({ client_roots: { roots: true } })
    return { answers }
  })
  app.action(
    'test_input_required_result_request_state',
    { description: 'Keeps a state', mcp: true },
    async ({ mcp }) => {
      await handsOf(mcp).elicit('confirm', form('Go on?', { ok: { type: 'boolean' } }))
      return 'state-ok'
    },
  )
  app.action(
    'test_input_required_result_tampered_state',
    { description: 'Keeps a state', mcp: true },
    async ({ mcp }) => {
      await handsOf(mcp).elicit('confirm', form('Go on?', { ok: { type: 'boolean' } }))
      return 'state-ok'
    },
  )
  app.action(
    'test_input_required_result_multiple_inputs',
    { description: 'Asks three things', mcp: true },
    async ({ mcp }) => {
      const answers = await handsOf(mcp).ask({
        user_name: { elicit: named },
        greeting: { sample: capital },
        client_roots: { roots: true },
      })
      return { answers }
    },
  )
  app.action('test_input_required_result_multi_round', { description: 'Asks twice', mcp: true }, async ({ mcp }) => {
    const hands = handsOf(mcp)
    await hands.elicit('step1', named)
    await hands.elicit('step2', form('Which color?', { color: { type: 'string' } }))
    return 'done'
  })
  app.action(
    'test_input_required_result_capabilities',
    { description: 'Asks only what the client supports', mcp: true },
    async ({ mcp }) => ({ answers: await handsOf(mcp).ask({ capital_question: { sample: capital } }) }),
  )
  app.action('test_missing_capability', { description: 'Needs sampling', mcp: true }, async ({ mcp }) => ({
    answers: await handsOf(mcp).ask({ capital_question: { sample: capital } }),
  }))
  app.action('test_streaming_elicitation', { description: 'Asks while it works', mcp: true }, async ({ mcp }) => {
    const answer = await handsOf(mcp).elicit('user_name', named)
    return { action: answer.action }
  })
  app.action(
    'test_sampling',
    {
      description: 'Asks the model',
      inputSchema: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
      mcp: true,
    },
    async ({ mcp, input }) => {
      const { prompt } = input as { prompt: string }
      const params = { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 }
      const { said } = await handsOf(mcp).ask({ said: { sample: params } })
      const content = (said as { content?: { text?: string } }).content
      return `LLM response: ${content?.text ?? ''}`
    },
  )
  app.action(
    'test_elicitation',
    {
      description: 'Asks the person',
      inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
      mcp: true,
    },
    async ({ mcp, input }) => {
      const { message } = input as { message: string }
      const question = form(message, {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      })
      return `User response: ${JSON.stringify(await handsOf(mcp).elicit('user', question))}`
    },
  )
  app.action('test_elicitation_sep1034_defaults', { description: 'Asks with defaults', mcp: true }, async ({ mcp }) => {
    const question = form(
      'Please check these values',
      {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      },
      [],
    )
    const answer = await handsOf(mcp).elicit('values', question)
    const content = answer.action === 'accept' ? answer.content : {}
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(content)}`
  })
  app.action('test_elicitation_sep1330_enums', { description: 'Asks for choices', mcp: true }, async ({ mcp }) => {
    const options = ['option1', 'option2', 'option3']
    const titled = (names: readonly string[]): object[] =>
      names.map((name, index) => ({ const: name, title: `Choice ${index + 1}` }))
    const question = form(
      'Please choose',
      {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled(['value1', 'value2', 'value3']) },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'value2', 'value3']) } },
      },
      [],
    )
    const answer = await handsOf(mcp).elicit('choices', question)
    const content = answer.action === 'accept' ? answer.content : {}
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(content)}`
  })
}

function declareTasks(app: App): void {
  const named = { type: 'object', properties: { name: { type: 'string' } } }
  app.action('greet', { description: 'Greets', inputSchema: named, mcp: true }, async ({ input }) => {
    const { name } = input as { name: string }
    return { content: [text(`Hello, ${name}!`)] }
  })
  app.action(
    'slow_compute',
    {
      description: 'Takes a while',
      inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
      mcp: true,
    },
    async ({ input, mcp }) => {
      const { seconds = 1, label = '' } = input as { seconds?: number; label?: string }
      const hands = handsOf(mcp)
      hands.background()
      const until = Date.now() + seconds * 1000
      while (Date.now() < until && !hands.signal.aborted) await pause(50)
      return { content: [text(`Computed ${label} in ${seconds} s`)] }
    },
  )
  app.action('failing_job', { description: 'Fails after a while', mcp: { task: 'required' } }, async ({ mcp }) => {
    handsOf(mcp).background()
    await pause(1000)
    return { content: [text('The job failed')], isError: true }
  })
  app.action('protocol_error_job', { description: 'Breaks', mcp: true }, async ({ mcp }) => {
    handsOf(mcp).background()
    await pause(300)
    throw new McpFailure('internal', 'The job broke')
  })
  app.action(
    'confirm_delete',
    {
      description: 'Asks before it deletes',
      inputSchema: { type: 'object', properties: { filename: { type: 'string' } } },
      mcp: true,
    },
    async ({ input, mcp }) => {
      const { filename } = input as { filename: string }
      const hands = handsOf(mcp)
      hands.background()
      const answer = await hands.elicit('confirm', form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }))
      return { content: [text(answer.action === 'accept' ? `Deleted ${filename}` : `Kept ${filename}`)] }
    },
  )
  app.action('multi_input', { description: 'Asks two things at once', mcp: true }, async ({ mcp }) => {
    const hands = handsOf(mcp)
    hands.background()
    const answers = await hands.ask({
      name: { elicit: form('Your name?', { name: { type: 'string' } }) },
      confirm: { elicit: form('Sure?', { confirm: { type: 'boolean' } }) },
    })
    return { content: [text(JSON.stringify(answers))] }
  })
  app.action('test_tool_with_task', { description: 'Asks, and then takes a while', mcp: true }, async ({ mcp }) => {
    const hands = handsOf(mcp)
    const answer = await hands.elicit('user_name', form('Your name?', { name: { type: 'string' } }))
    hands.background()
    await pause(300)
    return { content: [text(`Done, ${answer.action === 'accept' ? String(answer.content['name']) : 'no name'}`)] }
  })
  app.action('test_trigger_tool_change', { description: 'Announces changed tools', mcp: true }, async ({ actor }) => {
    await actor.announce('tools')
    return 'done'
  })
  app.action(
    'test_trigger_prompt_change',
    { description: 'Announces that prompts changed', mcp: true },
    async ({ actor }) => {
      await actor.announce('prompts')
      return 'done'
    },
  )
}

function declarePrompts(app: App): void {
  app.method(
    'test_simple_prompt',
    { description: 'A prompt', mcp: { prompt: true } },
    async () => 'This is a simple prompt for testing.',
  )
  app.method(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with arguments',
      mcp: {
        prompt: {
          arguments: [
            { name: 'arg1', description: 'First', required: true, complete: () => ['testValue1', 'testValue2'] },
            { name: 'arg2', description: 'Second', required: true },
          ],
        },
      },
    },
    async ({ input }) => {
      const { arg1, arg2 } = input
      return `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`
    },
  )
  app.method(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt with a resource',
      mcp: { prompt: { arguments: [{ name: 'resourceUri', description: 'Which', required: true }] } },
    },
    async ({ input }) => {
      const { resourceUri: uri } = input
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
      return {
        messages: [
          { role: 'user', content: { type: 'resource', resource } },
          { role: 'user', content: text('Please process the embedded resource above.') },
        ],
      }
    },
  )
  app.method('test_prompt_with_image', { description: 'A prompt with an image', mcp: { prompt: true } }, async () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      { role: 'user', content: text('Please analyze the image above.') },
    ],
  }))
  app.method(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks first', mcp: { prompt: true } },
    async ({ mcp }) => {
      const question = form('What is it about?', { context: { type: 'string' } })
      const answer = await handsOf(mcp).elicit('user_context', question)
      return answer.action === 'accept' ? `Context: ${String(answer.content['context'])}` : 'No context'
    },
  )
}

function declareResources(app: App): void {
  app.method(
    'static_text',
    { description: 'A text document', mcp: { resource: { uri: 'test://static-text', mimeType: 'text/plain' } } },
    async () => 'This is the content of the static text resource.',
  )
  app.method(
    'static_binary',
    { description: 'An image', mcp: { resource: { uri: 'test://static-binary', mimeType: 'image/png' } } },
    async () => ({ contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: png }] }),
  )
  app.method(
    'watched',
    { description: 'A live resource', mcp: { resource: { uri: 'test://watched-resource', mimeType: 'text/plain' } } },
    async () => 'Watched resource content',
  )
  app.method(
    'template',
    {
      description: 'A resource of a template',
      mcp: { resource: { uri: 'test://template/{id}/data', mimeType: 'application/json' } },
    },
    async ({ input: { id } }) => {
      return { id, templateTest: true, data: `Data for ID: ${id}` }
    },
  )
}
