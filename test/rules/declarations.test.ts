import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { type App, type TrustType, troupe } from '../../src/index.ts'

/** What TypeScript would refuse, and JavaScript lets through. */
const careless = (app: App) => app as unknown as Record<string, (...declared: unknown[]) => unknown>
const handler = (): null => null

const refusals: [
  what: string,
  declare: (app: Record<string, (...declared: unknown[]) => unknown>) => unknown,
  sentence: string,
][] = [
  [
    'an event that there is not',
    (app) => app['on']?.('actor_born', handler),
    'There is no event "actor_born". The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, creator_superseded, email_verification_required, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted.',
  ],
  [
    'an event of every object',
    (app) => app['on']?.('constructor', handler),
    'There is no event "constructor". The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, creator_superseded, email_verification_required, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted.',
  ],
  [
    'an event without a handler',
    (app) => app['on']?.('actor_created'),
    'The event "actor_created" needs a handler, which is a function.',
  ],
  [
    'an action without a handler',
    (app) => app['action']?.('sign', {}),
    'The action "sign" needs a handler, which is a function.',
  ],
  [
    'a method with two descriptions',
    (app) => app['method']?.('count', {}, {}),
    'The method "count" needs a handler, which is a function.',
  ],
  [
    'an input that is no schema',
    (app) => app['action']?.('sign', { input: 5 }, handler),
    'The input of the action "sign" is no schema: it takes one of zod, any other Standard Schema or a JSON Schema.',
  ],
  [
    'an output that is no schema',
    (app) => app['method']?.('count', { output: 'number' }, handler),
    'The output of the method "count" is no schema: it takes one of zod, any other Standard Schema or a JSON Schema.',
  ],
  [
    'a hook for an operation that there is not',
    (app) => app['property']?.('email', { read: handler }),
    'The property "email" has no operation "read" to hook into. The operations are get, put, post, delete.',
  ],
  [
    'a hook that is no function',
    (app) => app['property']?.('email', { get: 'hidden' }),
    'The hook "get" of the property "email" is no function.',
  ],
  [
    'an action with two declarations',
    (app) => {
      app['action']?.('sign', { description: 'one' }, handler)
      app['action']?.('sign', { description: 'two' }, handler)
    },
    'The action "sign" is declared twice. A second handler of the same name takes no metadata.',
  ],
  [
    'an input that JSON Schema cannot express',
    (app) => app['action']?.('when', { input: z.object({ at: z.coerce.date() }) }, handler),
    'Cannot publish the input of the action "when" as JSON Schema: Date cannot be represented in JSON Schema. Give inputSchema beside it.',
  ],
  [
    'an output that JSON Schema cannot express',
    (app) => app['method']?.('when', { output: z.bigint() }, handler),
    'Cannot publish the output of the method "when" as JSON Schema: BigInt cannot be represented in JSON Schema. Give outputSchema beside it.',
  ],
  [
    'a trust type without a name',
    (app) => app['trustType']?.({ display_name: 'x', description: '', permissions: {} }),
    'A trust type needs a name, which is a string.',
  ],
  [
    'a trust type without a display name',
    (app) => app['trustType']?.({ name: 'family', description: '', permissions: {} }),
    'The trust type "family" needs a display_name, which is a string.',
  ],
  [
    'a trust type without permissions',
    (app) => app['trustType']?.({ name: 'family', display_name: 'Family', description: '' }),
    'The trust type "family" needs permissions, an object with a rule per category.',
  ],
  ...(
    [
      [
        'a misspelt category',
        { propertys: { patterns: ['*'], operations: ['read'] } },
        'The trust type "family" has no category "propertys". The categories are properties, methods, actions, tools, resources, prompts.',
      ],
      [
        'a misspelt operation',
        { actions: { patterns: ['*'], operations: ['call'] } },
        'The trust type "family" in actions has no operation "call". The operations are execute.',
      ],
      [
        'a misspelt member of a rule',
        { tools: { allow: ['*'] } },
        'The trust type "family" in tools has no member "allow". The members are patterns, operations, excluded_patterns, allowed, denied.',
      ],
      [
        'patterns that are one string',
        { tools: { allowed: '*' } },
        'The trust type "family" in tools needs allowed to be an array of strings.',
      ],
      [
        'a rule that is no object',
        { tools: ['*'] },
        'The trust type "family" in tools needs a rule, which is an object.',
      ],
    ] as const
  ).map(([what, permissions, sentence]): (typeof refusals)[number] => [
    `a trust type with ${what}`,
    (app) => app['trustType']?.({ name: 'family', display_name: 'Family', description: '', permissions }),
    sentence,
  ]),
]

describe('a declaration', () => {
  for (const [what, declare, sentence] of refusals) {
    it(`is refused in one sentence at once: ${what}`, () => {
      const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
      assert.throws(() => declare(careless(app)), { name: 'ConfigError', message: sentence })
    })
  }

  it('is refused without a type', () => {
    for (const options of [{}, { type: '' }, { type: ' ' }, { type: 5 }])
      assert.throws(() => troupe(options as { type: string }), {
        name: 'ConfigError',
        message:
          'An application needs a type, which names the kind of actor: troupe({ type: "urn:actingweb:example.com:notes" }).',
      })
  })

  it('takes every category and every operation of a trust type', () => {
    const family: TrustType = {
      name: 'family',
      display_name: 'Family',
      description: '',
      permissions: {
        properties: { patterns: ['*'], operations: ['read', 'write', 'delete', 'subscribe'], excluded_patterns: ['x'] },
        methods: { patterns: ['*'], operations: ['call'] },
        actions: { patterns: ['*'], operations: ['execute'] },
        tools: { allowed: ['*'], denied: ['x'] },
        resources: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
        prompts: { patterns: ['*'], operations: ['invoke'] },
      },
    }
    assert.doesNotThrow(() => troupe({ type: 'urn:actingweb:example.com:guestbook' }).trustType(family))
  })

  it('takes several handlers of one action when at most one has metadata', () => {
    const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
    assert.doesNotThrow(() => app.action('sign', handler).action('sign', { description: 'Signs' }, handler))
  })

  it('keeps an input that JSON Schema cannot express when inputSchema is given (R-OP-03)', async () => {
    const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
    const inputSchema = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } }
    assert.doesNotThrow(() =>
      app.action('when', { inputSchema, input: z.object({ at: z.coerce.date() }) }, ({ input }) => input.at),
    )
  })
})

const starts: [what: string, declare: (app: App) => unknown, sentence: string][] = [
  [
    'a tool with a bad name',
    (app) => app.action('add note', { mcp: true }, handler),
    'The tool "add note" needs a name of 1 to 64 letters, digits, "_", "." or "-": give mcp.name.',
  ],
  [
    'two tools of one name',
    (app) => app.action('a', { mcp: { name: 'x' } }, handler).action('b', { mcp: { name: 'x' } }, handler),
    'Two tools have the name "x": give one of them another mcp name.',
  ],
  [
    'a tool whose input is no object',
    (app) => app.action('a', { mcp: true, input: { type: 'string' } }, handler),
    'The input of the tool "a" must be an object.',
  ],
  [
    'a tool whose output JSON Schema cannot express',
    (app) => app.action('a', { mcp: { output: z.object({ at: z.date() }) } }, handler),
    'Cannot publish the output of the tool "a" as JSON Schema: Date cannot be represented in JSON Schema.',
  ],
  [
    'a resource whose address cannot be matched',
    (app) => app.method('a', { mcp: { resource: { uri: 'x://{a}{b}' } } }, handler),
    'The URI template "x://{a}{b}" cannot be matched: use {name} or {+name}, apart from each other.',
  ],
]

describe('a start', () => {
  const options = { type: 'urn:actingweb:example.com:guestbook', mode: 'development', env: {} } as const
  for (const [what, declare, sentence] of starts) {
    it(`is refused in one sentence: ${what}`, async () => {
      const app = troupe({ ...options, database: 'sqlite:/dev/null/none' })
      declare(app)
      await assert.rejects(app.running(), { name: 'ConfigError', message: sentence })
    })
  }

  for (const folder of ['/nowhere/at/all', import.meta.filename])
    it(`is refused in one sentence: a single page in ${folder === import.meta.filename ? 'a file' : 'no folder'}`, async () => {
      const app = troupe({ ...options, database: 'sqlite:/dev/null/none', singlePage: folder })
      await assert.rejects(app.running(), {
        name: 'ConfigError',
        message: `TROUPE_SINGLE_PAGE names ${folder}, which is not a folder.`,
      })
    })
})
