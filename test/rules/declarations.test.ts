import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { type App, type TrustType, troupe } from '../../src/index.ts'
import { dataSchema, inputSchema } from '../../src/app/schema.ts'
import { testKeys } from '../support/service.ts'

/** The application without its types: JavaScript code can make these mistakes. */
const careless = (app: App) => app as unknown as Record<string, (...declared: unknown[]) => unknown>
const handler = (): null => null

const refusals: [
  what: string,
  declare: (app: Record<string, (...declared: unknown[]) => unknown>) => unknown,
  sentence: string,
][] = [
  [
    'an event that does not exist',
    (app) => app['on']?.('actor_born', handler),
    'Cannot handle event "actor_born": it does not exist. The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, creator_superseded, email_verification_required, sign_in_link_requested, mail, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted, property_changed, list_changed, file_changed.',
  ],
  [
    'an event named like a member of Object.prototype',
    (app) => app['on']?.('constructor', handler),
    'Cannot handle event "constructor": it does not exist. The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, creator_superseded, email_verification_required, sign_in_link_requested, mail, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted, property_changed, list_changed, file_changed.',
  ],
  [
    'an event without a handler',
    (app) => app['on']?.('actor_created'),
    'Cannot declare the event "actor_created": its handler must be a function.',
  ],
  [
    'an action without a handler',
    (app) => app['action']?.('sign', {}),
    'Cannot declare the action "sign": its handler must be a function.',
  ],
  [
    'a method with two descriptions',
    (app) => app['method']?.('count', {}, {}),
    'Cannot declare the method "count": its handler must be a function.',
  ],
  [
    'an input that is not a schema',
    (app) => app['action']?.('sign', { input: 5 }, handler),
    'Cannot declare the action "sign": input must be a zod schema, any other Standard Schema or a JSON Schema.',
  ],
  [
    'an output that is not a schema',
    (app) => app['method']?.('count', { output: 'number' }, handler),
    'Cannot declare the method "count": output must be a zod schema, any other Standard Schema or a JSON Schema.',
  ],
  [
    'a hook for an operation that does not exist',
    (app) => app['property']?.('email', { read: handler }),
    'Cannot hook into "read" of the property "email": the operation does not exist. The operations are get, put, post, delete.',
  ],
  [
    'a hook that is not a function',
    (app) => app['property']?.('email', { get: 'hidden' }),
    'Cannot declare the hook "get" of the property "email": it must be a function.',
  ],
  [
    'an action with two declarations',
    (app) => {
      app['action']?.('sign', { description: 'one' }, handler)
      app['action']?.('sign', { description: 'two' }, handler)
    },
    'Cannot declare the action "sign" twice: only one handler of a name can have metadata.',
  ],
  [
    'an input that JSON Schema cannot express',
    (app) => app['action']?.('when', { input: z.object({ at: z.coerce.date() }) }, handler),
    'Cannot publish the input of the action "when" as JSON Schema: field "at": Date cannot be represented in JSON Schema. Declare inputSchema too.',
  ],
  [
    'a field of items in an input that JSON Schema cannot express',
    (app) => {
      const at = z.object({ at: z.date().optional() })
      app['action']?.('when', { input: z.object({ times: z.array(at.nullable()) }) }, handler)
    },
    'Cannot publish the input of the action "when" as JSON Schema: field "times[].at": Date cannot be represented in JSON Schema. Declare inputSchema too.',
  ],
  [
    'a field of a choice that JSON Schema cannot express',
    (app) =>
      app['method']?.(
        'when',
        { output: z.object({ by: z.union([z.string(), z.map(z.string(), z.string())]) }) },
        handler,
      ),
    'Cannot publish the output of the method "when" as JSON Schema: field "by": Map cannot be represented in JSON Schema. Declare outputSchema too.',
  ],
  [
    'an input of another library that JSON Schema cannot express',
    (app) => {
      const convert = (): never => {
        throw new Error('cannot convert a predicate.')
      }
      const validate = (value: unknown) => ({ value })
      const input = {
        '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: convert, output: convert } },
      }
      app['action']?.('when', { input }, handler)
    },
    'Cannot publish the input of the action "when" as JSON Schema: cannot convert a predicate. Declare inputSchema too.',
  ],
  [
    'a property that JSON Schema cannot express',
    (app) =>
      app['property']?.('trip', { schema: z.object({ stays: z.record(z.string(), z.object({ from: z.date() })) }) }),
    'Cannot publish the schema of the property "trip" as JSON Schema: field "stays.*.from": Date cannot be represented in JSON Schema. Declare jsonSchema too.',
  ],
  [
    'items of a list that JSON Schema cannot express',
    (app) => app['list']?.('places', { item: z.tuple([z.string(), z.bigint()]) }),
    'Cannot publish the schema of the list "places" as JSON Schema: field "[1]": BigInt cannot be represented in JSON Schema. Declare itemSchema too.',
  ],
  [
    'an output that JSON Schema cannot express',
    (app) => app['method']?.('when', { output: z.bigint() }, handler),
    'Cannot publish the output of the method "when" as JSON Schema: BigInt cannot be represented in JSON Schema. Declare outputSchema too.',
  ],
  [
    'a resource whose address cannot be matched',
    (app) => app['method']?.('a', { mcp: { resource: { uri: 'x://{a}{b}' } } }, handler),
    'Cannot match the URI template "x://{a}{b}": use {name} or {+name}, with text between two of them.',
  ],
  [
    'a trust type without a name',
    (app) => app['trustType']?.({ display_name: 'x', description: '', permissions: {} }),
    'Cannot add a trust type: its name must be a string.',
  ],
  [
    'a trust type without a display name',
    (app) => app['trustType']?.({ name: 'family', description: '', permissions: {} }),
    'Cannot add the trust type "family": its display_name must be a string.',
  ],
  [
    'a trust type without permissions',
    (app) => app['trustType']?.({ name: 'family', display_name: 'Family', description: '' }),
    'Cannot add the trust type "family": its permissions must be an object with one rule per category.',
  ],
  [
    'a trust type with a misspelt member',
    (app) => app['trustType']?.({ name: 'family', displayName: 'Family', description: '', permissions: {} }),
    'Cannot add the trust type "family": the member "displayName" does not exist. The members are name, display_name, description, permissions, neverAutoApproved, needsConfirmation, forClients.',
  ],
  [
    'a trust type that is declared twice',
    (app) => {
      const family = { name: 'family', display_name: 'Family', description: '', permissions: {} }
      app['trustType']?.(family)
      app['trustType']?.(family)
    },
    'Cannot add the trust type "family": the name is declared already.',
  ],
  [
    'an action with a misspelt member, which would leave it without protection',
    (app) => app['action']?.('sign', { confirmed: 'owner' }, handler),
    'Cannot declare the action "sign": the member "confirmed" does not exist. The members are description, input, output, inputSchema, outputSchema, annotations, confirm, exclusive, mcp.',
  ],
  [
    'an action whose metadata is a string',
    (app) => app['action']?.('sign', 'Signs', handler),
    'Cannot declare the action "sign": the declaration must be an object.',
  ],
  [
    'an action without a name',
    (app) => app['action']?.('', handler),
    'Cannot declare the action "": its name must be a string.',
  ],
  [
    'a tool with a misspelt member',
    (app) => app['action']?.('sign', { mcp: { titles: 'Sign' } }, handler),
    'Cannot declare the action "sign": in mcp, the member "titles" does not exist. The members are name, title, description, inputSchema, output, annotations, icons, allowedClients, clientDescriptions, visible, describe, confirm, task.',
  ],
  [
    'an action as a prompt',
    (app) => app['action']?.('sign', { mcp: { prompt: true } }, handler),
    'Cannot declare the action "sign": in mcp, the member "prompt" does not exist. The members are name, title, description, inputSchema, output, annotations, icons, allowedClients, clientDescriptions, visible, describe, confirm, task.',
  ],
  ...[true, {}, { tool: true }, { prompt: true, resource: true }].map((mcp): (typeof refusals)[number] => [
    `a method that is neither a prompt nor a resource: ${JSON.stringify(mcp)}`,
    (app) => app['method']?.('count', { mcp }, handler),
    'Cannot declare the method "count": mcp must be an object with either prompt or resource.',
  ]),
  [
    'a prompt with a misspelt member',
    (app) => app['method']?.('count', { mcp: { prompt: { argument: [] } } }, handler),
    'Cannot declare the method "count": in mcp.prompt, the member "argument" does not exist. The members are name, title, description, arguments, icons.',
  ],
  [
    'a prompt whose arguments are no array',
    (app) => app['method']?.('count', { mcp: { prompt: { arguments: { tag: true } } } }, handler),
    'Cannot declare the method "count": in mcp.prompt.arguments, the declaration must be an array.',
  ],
  [
    'an argument with a misspelt member',
    (app) => app['method']?.('count', { mcp: { prompt: { arguments: [{ name: 'a', require: true }] } } }, handler),
    'Cannot declare the method "count": in mcp.prompt.arguments, the member "require" does not exist. The members are name, title, description, required, complete.',
  ],
  ...[[{ name: 'a' }, { name: 'a' }], [{ title: 'a' }], [{ name: '' }]].map((given): (typeof refusals)[number] => [
    `arguments without different names: ${JSON.stringify(given)}`,
    (app) => app['method']?.('count', { mcp: { prompt: { arguments: given } } }, handler),
    'Cannot declare the method "count": in mcp.prompt.arguments, the names must be different strings.',
  ]),
  [
    'a resource with a misspelt member',
    (app) => app['method']?.('count', { mcp: { resource: { url: 'x://y' } } }, handler),
    'Cannot declare the method "count": in mcp.resource, the member "url" does not exist. The members are uri, name, title, description, mimeType, icons, complete.',
  ],
  [
    'a property with a misspelt member',
    (app) => app['property']?.('color', { schema: { type: 'string' }, defaults: 'red' }),
    'Cannot declare the property "color": the member "defaults" does not exist. The members are schema, jsonSchema, default, description, version, migrate.',
  ],
  [
    'a list with a misspelt member',
    (app) => app['list']?.('colors', { item: { type: 'string' }, index: ['a'] }),
    'Cannot declare the list "colors": the member "index" does not exist. The members are item, itemSchema, description, explanation, indexes, version, migrate.',
  ],
  [
    'a companion with a misspelt member',
    (app) => app['companion']?.('box', { factory: 'https://box.example.com/', relation: 'friend' }),
    'Cannot declare the companion "box": the member "relation" does not exist. The members are factory, type, relationship.',
  ],
  [
    'a service that is declared twice',
    (app) => {
      app['service']?.('drive', {})
      app['service']?.('drive', {})
    },
    'Cannot declare the service "drive": the name is declared already.',
  ],
  [
    'a service with a misspelt member',
    (app) => app['service']?.('drive', { tokenURL: 'https://drive.example.com/token' }),
    'Cannot declare the service "drive": the member "tokenURL" does not exist. The members are authorizationUrl, tokenUrl, clientId, clientSecret, scopes, revocationUrl, apiUrls, clientAuthentication, authorizationParameters, callback.',
  ],
  [
    'a resource without a handler',
    (app) => app['resource']?.('summary'),
    'Cannot declare the resource "summary": its handler must be a function.',
  ],
  [
    'a callback without a handler',
    (app) => app['callback']?.('news', { public: true }),
    'Cannot declare the callback "news": its handler must be a function.',
  ],
  [
    'a callback of the application without a handler',
    (app) => app['appCallback']?.('status'),
    'Cannot declare the callback of the application "status": its handler must be a function.',
  ],
  [
    'a handler of subscription data without a function',
    (app) => app['subscriptionData']?.('properties'),
    'Cannot declare the handler of subscription data "properties": its handler must be a function.',
  ],
  [
    'a subscription handler without a function',
    (app) => app['subscription']?.(),
    'Cannot declare a subscription handler: its handler must be a function.',
  ],
  ['a bot without a function', (app) => app['bot']?.({}), 'Cannot declare a bot: its handler must be a function.'],
  ['pages without a function', (app) => app['www']?.({}), 'Cannot declare pages: its handler must be a function.'],
  ...(
    [
      [
        'a misspelt category',
        { propertys: { patterns: ['*'], operations: ['read'] } },
        'Cannot add the trust type "family": the category "propertys" does not exist. The categories are properties, files, methods, actions, tools, resources, prompts.',
      ],
      [
        'a misspelt operation',
        { actions: { patterns: ['*'], operations: ['call'] } },
        'Cannot add the trust type "family": in actions, the operation "call" does not exist. The operations are execute.',
      ],
      [
        'a misspelt member of a rule',
        { tools: { allow: ['*'] } },
        'Cannot add the trust type "family": in tools, the member "allow" does not exist. The members are patterns, operations, excluded_patterns, allowed, denied.',
      ],
      [
        'patterns that are one string',
        { tools: { allowed: '*' } },
        'Cannot add the trust type "family": in tools, allowed must be an array of strings.',
      ],
      [
        'a rule that is not an object',
        { tools: ['*'] },
        'Cannot add the trust type "family": in tools, the rule must be an object.',
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
    it(`is rejected immediately with one sentence: ${what}`, () => {
      const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
      assert.throws(() => declare(careless(app)), { name: 'ConfigError', message: sentence })
    })
  }

  it('is rejected without a type', () => {
    for (const options of [{}, { type: '' }, { type: ' ' }, { type: 5 }])
      assert.throws(() => troupe(options as { type: string }), {
        name: 'ConfigError',
        message:
          'Cannot create the application: it needs a type, which names the kind of actor: troupe({ type: "urn:actingweb:example.com:notes" }).',
      })
  })

  it('accepts every category and every operation of a trust type', () => {
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

  it('accepts several handlers of one action when at most one has metadata', () => {
    const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
    assert.doesNotThrow(() => app.action('sign', handler).action('sign', { description: 'Signs' }, handler))
  })

  it('accepts an input that JSON Schema cannot express when inputSchema is present (R-OP-03)', async () => {
    const app = troupe({ type: 'urn:actingweb:example.com:guestbook' })
    const inputSchema = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } }
    assert.doesNotThrow(() =>
      app.action('when', { inputSchema, input: z.object({ at: z.coerce.date() }) }, ({ input }) => input.at),
    )
    assert.doesNotThrow(() => app.property('trip', { jsonSchema: inputSchema, schema: z.object({ at: z.date() }) }))
    assert.doesNotThrow(() => app.list('trips', { itemSchema: inputSchema, item: z.object({ at: z.date() }) }))
  })
})

const starts: [what: string, declare: (app: App) => unknown, sentence: string][] = [
  [
    'a tool with a bad name',
    (app) => app.action('add note', { mcp: true }, handler),
    'Invalid tool name "add note": expected 1 to 64 letters, digits, "_", "." or "-". Set mcp.name.',
  ],
  [
    'two tools of one name',
    (app) => app.action('a', { mcp: { name: 'x' } }, handler).action('b', { mcp: { name: 'x' } }, handler),
    'Two tools have the name "x": set another mcp.name for one of them.',
  ],
  [
    'a tool whose input is not an object',
    (app) => app.action('a', { mcp: true, input: { type: 'string' } }, handler),
    'The input of the tool "a" must be an object.',
  ],
  [
    'a tool whose output JSON Schema cannot express',
    (app) => app.action('a', { mcp: { output: z.object({ at: z.date() }) } }, handler),
    'Cannot publish the output of the tool "a" as JSON Schema: field "at": Date cannot be represented in JSON Schema. Declare it as JSON Schema.',
  ],
  [
    'an input that is not a valid JSON Schema',
    (app) => app.action('a', { input: { type: 'object', properties: { due: { type: 'dat' } } } }, handler),
    'Cannot declare the action "a": its input is not a valid JSON Schema: schema is invalid: data/properties/due/type must be equal to one of the allowed values, data/properties/due/type must be array, data/properties/due/type must match a schema in anyOf.',
  ],
  [
    'an output that is not a valid JSON Schema',
    (app) => app.method('a', { output: { required: 'due' } }, handler),
    'Cannot declare the method "a": its output is not a valid JSON Schema: schema is invalid: data/required must be array.',
  ],
  [
    'an input with a pattern that takes exponential time',
    (app) => app.action('a', { input: z.object({ word: z.string().regex(/^([a-z]+)+$/) }) }, handler),
    'Cannot declare the action "a": its input has the pattern /^([a-z]+)+$/ at field "word", whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'an input with a pattern that takes quadratic time',
    (app) => app.method('a', { input: { properties: { words: { items: { pattern: ' +$' } } } } }, handler),
    'Cannot declare the method "a": its input has the pattern / +$/u at field "words[]", whose time is at least quadratic in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a pattern of names that takes exponential time',
    (app) => app.property('a', { schema: { patternProperties: { '^(a|a)*$': {} } } }),
    'Cannot declare the property "a": its schema has the pattern /^(a|a)*$/u, whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a pattern that only its flags make slow',
    (app) => app.list('a', { item: z.string().regex(/^(A|a)+$/i) }),
    'Cannot declare the list "a": its schema has the pattern /^(A|a)+$/i, whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a slow pattern behind a conversion, in data that JSON Schema cannot express',
    (app) =>
      app.action(
        'a',
        {
          input: z.object({
            at: z.date(),
            w: z
              .string()
              .transform(String)
              .pipe(z.string().regex(/^(a|aa)+$/)),
          }),
          inputSchema: {},
        },
        handler,
      ),
    'Cannot declare the action "a": its input has the pattern /^(a|aa)+$/ at field "w", whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a slow pattern in the output of a tool',
    (app) =>
      app.action('a', { mcp: { output: { type: 'object', properties: { b: { pattern: '(b+b+)+c' } } } } }, handler),
    'Cannot declare the tool "a": its output has the pattern /(b+b+)+c/u at field "b", whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a slow pattern in the data of an alarm',
    (app) => app.alarm('a', { data: z.object({ b: z.string().regex(/(b|b)*c/) }) }, handler),
    'Cannot declare the alarm "a": its data has the pattern /(b|b)*c/ at field "b", whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
  ],
  [
    'a list whose items have no valid JSON Schema',
    (app) => app.list('a', { item: { properties: [] } }),
    'Cannot declare the list "a": its schema is not a valid JSON Schema: schema is invalid: data/properties must be object.',
  ],
]

describe('the start of an application', () => {
  const common = {
    type: 'urn:actingweb:example.com:guestbook',
    mode: 'development',
    env: {},
    database: 'sqlite:/dev/null/none',
  } as const
  for (const [what, declare, sentence] of starts) {
    it(`is rejected with one sentence: ${what}`, async () => {
      const app = troupe(common)
      declare(app)
      await assert.rejects(app.running(), { name: 'ConfigError', message: sentence })
    })
  }

  for (const [setting, options] of [
    ['TROUPE_CLIENT_TRUST_TYPES', { clientTrustTypes: ['mcp_client', 'friends'] }],
    ['TROUPE_DEFAULT_RELATIONSHIP', { relationship: 'friends' }],
  ] as const)
    it(`is rejected with one sentence: a trust type in ${setting} that does not exist`, async () => {
      const app = troupe({ ...common, ...options })
      app.trustType({ name: 'family', display_name: 'Family', description: '', permissions: {} })
      await assert.rejects(app.running(), {
        name: 'ConfigError',
        message: `Cannot use ${setting}: the trust type "friends" does not exist. The trust types are admin, api_key, associate, family, friend, mcp_client, partner, viewer.`,
      })
    })

  it('is rejected in production too when an input has a slow pattern (HTTP-16)', async () => {
    const app = troupe({ ...common, mode: 'production', baseUrl: 'https://example.com', secretKeys: testKeys })
    app.action('a', { input: { properties: { b: { pattern: '^(b|b)*$' } } } }, handler)
    await assert.rejects(app.running(), {
      name: 'ConfigError',
      message:
        'Cannot declare the action "a": its input has the pattern /^(b|b)*$/u at field "b", whose time is exponential in the length of a string. Write it so that two repetitions never read the same characters one after the other, or check the string in code.',
    })
  })

  it('accepts linear patterns, and words in data that look like a pattern (HTTP-16)', async () => {
    const schema = z.object({ to: z.email(), id: z.uuid(), at: z.iso.datetime(), pattern: z.literal('(a+)+$') })
    await assert.doesNotReject(inputSchema(schema).requireLinear())
    await assert.doesNotReject(dataSchema({ default: { pattern: '(a+)+$' }, properties: { pattern: {} } }).load())
  })

  for (const folder of ['/nowhere/at/all', import.meta.filename])
    it(`is rejected with one sentence: a single page in ${folder === import.meta.filename ? 'a file' : 'a missing folder'}`, async () => {
      const app = troupe({ ...common, singlePage: folder })
      await assert.rejects(app.running(), {
        name: 'ConfigError',
        message: `Cannot use TROUPE_SINGLE_PAGE: ${folder} is not a folder.`,
      })
    })
})
