import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { known } from '../../src/json/json.ts'
import { contradicted, headerParameters } from '../../src/mcp/catalogue/header-parameters.ts'
import { answerProblem, requestOf } from '../../src/mcp/call/client-answer.ts'
import { toolResult } from '../../src/mcp/call/tool-result.ts'
import { UriTemplate } from '../../src/app/uri-template.ts'
import { workOf } from '../support/counted-work.ts'

const result = (value: unknown): object => toolResult(known(JSON.stringify(value)))

describe('the result of a tool', () => {
  it('always contains isError (R-MCP-03)', () => {
    assert.deepEqual(result('done'), {
      content: [{ type: 'text', text: 'done' }],
      structuredContent: 'done',
      isError: false,
    })
    assert.deepEqual(result({ content: [] }), { content: [], isError: false })
    assert.deepEqual(result({ content: [], isError: true }), { content: [], isError: true })
  })

  it('contains the members of an object as structured content and as text (R-MCP-04)', () => {
    assert.deepEqual(result({ saved: true, count: 3 }), {
      content: [{ type: 'text', text: '{"saved":true,"count":3}' }],
      structuredContent: { saved: true, count: 3 },
      isError: false,
    })
  })

  it('keeps the fields that the handler set, and adds other members as structured content (R-MCP-04)', () => {
    assert.deepEqual(
      result({ content: [{ type: 'text', text: 'x' }], structuredContent: { a: 1 }, a: 2, b: 3, _meta: { k: 'v' } }),
      {
        content: [{ type: 'text', text: 'x' }],
        structuredContent: { a: 1, b: 3 },
        isError: false,
        _meta: { k: 'v' },
      },
    )
  })

  it('contains no member whose name denotes a secret, at any depth (MCP-16)', () => {
    const record = {
      id: 'a1',
      secret: 's1',
      passphrase: 's2',
      oauth_token: 's3',
      client_secret: 's4',
      nested: [{ password: 's5', Token: 's6', tokens: 4 }],
    }
    assert.deepEqual(result(record), {
      content: [{ type: 'text', text: '{"id":"a1","nested":[{"tokens":4}]}' }],
      structuredContent: { id: 'a1', nested: [{ tokens: 4 }] },
      isError: false,
    })
    assert.deepEqual(result({ content: [], secret: 's', note: 1 }), {
      content: [],
      structuredContent: { note: 1 },
      isError: false,
    })
  })

  it('contains no secret of a list of records or of a record with the member names of handles (MCP-16)', () => {
    assert.deepEqual(result([{ peerid: 'p1', secret: 's1', verification_token: 'v1' }]), {
      content: [{ type: 'text', text: '[{"peerid":"p1"}]' }],
      structuredContent: [{ peerid: 'p1' }],
      isError: false,
    })
    assert.deepEqual(
      result({ provider: 'google', accessToken: 'a', refreshToken: 'r', clientSecret: 'c', tokens: 2 }),
      {
        content: [{ type: 'text', text: '{"provider":"google","tokens":2}' }],
        structuredContent: { provider: 'google', tokens: 2 },
        isError: false,
      },
    )
    assert.deepEqual(result({ newPassword: 'p', api_key: 'k', headers: { Authorization: 'a' }, hasPassword: true }), {
      content: [{ type: 'text', text: '{"headers":{},"hasPassword":true}' }],
      structuredContent: { headers: {}, hasPassword: true },
      isError: false,
    })
  })

  it('omits invalid content blocks', () => {
    assert.deepEqual(result({ content: ['x', null, { type: 'text', text: 'y' }] }), {
      content: [{ type: 'text', text: 'y' }],
      isError: false,
    })
  })
})

describe('a URI template', () => {
  const matches: [template: string, uri: string, values: object | null][] = [
    ['notes://all', 'notes://all', {}],
    ['notes://all', 'notes://al', null],
    ['notes://{id}', 'notes://n-1', { id: 'n-1' }],
    ['notes://{id}', 'notes://', null],
    ['notes://{id}', 'notes://a/b', null],
    ['notes://{+path}', 'notes://a/b', { path: 'a/b' }],
    ['notes://{id}/data', 'notes://123/data', { id: '123' }],
    ['notes://{id}/data', 'notes://123/date', null],
    ['notes://{list}/{id}', 'notes://home/7', { list: 'home', id: '7' }],
    ['notes://{id}', 'notes://caf%C3%A9', { id: 'café' }],
    ['notes://{id}', 'notes://%zz', null],
    ['notes://{id}', 'notes://a%2Fb', null],
    ['notes://{id}', 'notes://..', null],
    ['notes://{id}', 'notes://%2e%2E', null],
    ['notes://{id}', 'notes://..%5Cb', null],
    ['notes://{+path}', 'notes://a/../../etc/passwd', null],
    ['notes://{+path}', 'notes://a/%2e%2e%2fb', null],
    ['notes://{+path}', 'notes://a/b..c', { path: 'a/b..c' }],
  ]
  for (const [template, uri, values] of matches) {
    it(`${template} matches ${uri} as ${JSON.stringify(values)}`, () =>
      assert.deepEqual(new UriTemplate(template).match(uri), values))
  }

  it('is matched in one pass over any text (MCP-15)', async () => {
    const template = new UriTemplate('x://{a}-{b}-{c}-{d}-{e}!')
    for (const text of ['-'.repeat(100_000), 'a-'.repeat(50_000)]) {
      const { steps, patterns } = await workOf(() => assert.equal(template.match(`x://${text}`), null))
      // The search for each variable reads the rest of the text once at most.
      assert.ok(steps < 5 * text.length, `${steps} steps`)
      assert.deepEqual(patterns, [])
    }
  })

  for (const bad of ['x://{a}{b}', 'x://{?q}', 'x://{a', 'x://{a*}', 'x://{}']) {
    it(`is rejected as ${bad}`, () =>
      assert.throws(() => new UriTemplate(bad), /^ConfigError: Cannot match the URI template /))
  }
})

describe('the arguments in header fields', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      filter: { type: 'object', properties: { limit: { type: 'integer', 'x-mcp-header': 'Limit' } } },
    },
  }
  const parameters = headerParameters('find', schema)
  const field = (fields: Record<string, string>) => (name: string) => fields[name]

  it('are found in properties at every depth', () =>
    assert.deepEqual(parameters, [
      { field: 'mcp-param-region', path: ['region'] },
      { field: 'mcp-param-limit', path: ['filter', 'limit'] },
    ]))

  it('match when the fields have the same values', () => {
    const args = { region: 'é', filter: { limit: 5 } }
    const fields = { 'mcp-param-region': '=?base64?w6k=?=', 'mcp-param-limit': '5' }
    assert.equal(contradicted(parameters, args, field(fields)), null)
  })

  it('are not required for arguments that are absent or null', () =>
    assert.equal(contradicted(parameters, { region: null }, field({ 'mcp-param-limit': '9' })), null))

  it('contradict when a field is missing or has another value', () => {
    assert.equal(contradicted(parameters, { region: 'eu' }, field({})), 'region')
    assert.equal(contradicted(parameters, { filter: { limit: 5 } }, field({ 'mcp-param-limit': '6' })), 'filter.limit')
  })

  const bad: [what: string, schema: object][] = [
    ['a number', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
    ['a name that is not a token', { properties: { a: { type: 'string', 'x-mcp-header': 'A B' } } }],
    ['an empty name', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
    [
      'a repeated name in another letter case',
      { properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } } },
    ],
    ['a place inside items', { properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } } }],
    ['a place inside $defs', { $defs: { a: { type: 'string', 'x-mcp-header': 'A' } } }],
  ]
  for (const [what, given] of bad) {
    it(`are rejected when declared for ${what}`, () =>
      assert.throws(() => headerParameters('find', { type: 'object', ...given }), /x-mcp-header/))
  }
})

describe('the content of a submitted form', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      age: { type: 'integer', minimum: 0 },
      status: { type: 'string', enum: ['active', 'inactive'] },
      color: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] },
      tags: { type: 'array', items: { enum: ['a', 'b'] } },
      sure: { type: 'boolean' },
    },
    required: ['name'],
  }
  const answers: [content: unknown, fitting: boolean][] = [
    [{ name: 'Ada' }, true],
    [{ name: 'Ada', age: 36, status: 'active', color: 'r', tags: ['a'], sure: true, beyond: 1 }, true],
    [{}, false],
    [{ name: 7 }, false],
    [{ name: 'A' }, false],
    [{ name: 'Ada', age: 1.5 }, false],
    [{ name: 'Ada', age: -1 }, false],
    [{ name: 'Ada', status: 'gone' }, false],
    [{ name: 'Ada', color: 'Red' }, false],
    [{ name: 'Ada', tags: ['c'] }, false],
    [{ name: 'Ada', sure: 'yes' }, false],
    [null, false],
    [[], false],
  ]
  for (const [content, fitting] of answers) {
    it(`${JSON.stringify(content)} ${fitting ? 'fits' : 'does not fit'} its schema`, () =>
      assert.equal(
        answerProblem(requestOf({ elicit: { message: '', schema } }), { action: 'accept', content }) === null,
        fitting,
      ))
  }
})
