import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Era, eraOf, judgeModern, type ProtocolHeaders } from '../../src/mcp/protocol-version.ts'
import { decodeHeaderValue, isSameArgument } from '../../src/mcp/protocol/header-value.ts'
import { type Message, readBody } from '../../src/mcp/protocol/message.ts'
import { workOf } from '../support/counted-work.ts'

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
const modernMeta = { [versionKey]: '2026-07-28', [capabilitiesKey]: {} }

function headers(given: Partial<ProtocolHeaders> = {}): ProtocolHeaders {
  return { version: undefined, method: undefined, name: undefined, repeated: false, ...given }
}

function request(method: string, params: object = {}): Message & { kind: 'request' } {
  const message = readBody(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  assert.ok(message.kind === 'request')
  return message
}

describe('the protocol era of a message', () => {
  const cases: [what: string, message: Message, headers: ProtocolHeaders, era: string][] = [
    ['a modern "_meta"', request('tools/list', { _meta: modernMeta }), headers({ version: '2026-07-28' }), 'modern'],
    ['a modern "_meta" of a wrong type', request('tools/list', { _meta: { [versionKey]: 7 } }), headers(), 'modern'],
    [
      'a modern "_meta" under a legacy header',
      request('ping', { _meta: modernMeta }),
      headers({ version: '2025-11-25' }),
      'modern',
    ],
    ['initialize with a modern "_meta"', request('initialize', { _meta: modernMeta }), headers(), 'modern'],
    ['initialize under a modern header', request('initialize'), headers({ version: '2026-07-28' }), 'legacy null'],
    [
      'initialize that requests the modern version',
      request('initialize', { protocolVersion: '2026-07-28' }),
      headers(),
      'legacy null',
    ],
    ['initialize under an unknown header', request('initialize'), headers({ version: 'v999' }), 'legacy null'],
    ['a modern header without "_meta"', request('tools/list'), headers({ version: '2026-07-28' }), 'modern'],
    ['a legacy header', request('tools/list'), headers({ version: '2025-06-18' }), 'legacy 2025-06-18'],
    ['the oldest legacy header', request('tools/list'), headers({ version: '2024-11-05' }), 'legacy 2024-11-05'],
    ['no header', request('tools/list'), headers(), 'legacy null'],
    ['an unknown header', request('tools/list'), headers({ version: '1999-01-01' }), 'refused -32600'],
    ['a repeated header', request('tools/list'), headers({ version: '2025-06-18', repeated: true }), 'refused -32600'],
  ]
  for (const [what, message, given, expected] of cases) {
    it(`is ${expected} for ${what} (R-MCP-06)`, () => assert.equal(named(eraOf(message, given)), expected))
  }

  it('names every supported version only in the error message, so that a client of both eras falls back (MCP-06)', () => {
    const era = eraOf(request('tools/list'), headers({ version: '1999-01-01' }))
    assert.equal(era.era, 'refused')
    assert.ok(era.era === 'refused')
    assert.deepEqual(era.refusal, {
      status: 400,
      code: -32600,
      message:
        'MCP-Protocol-Version "1999-01-01" is not supported; supported are 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05',
    })
  })

  it('limits how much of the header an error message repeats (MCP-06)', () => {
    const era = eraOf(request('tools/list'), headers({ version: 'x'.repeat(10_000) }))
    assert.ok(era.era === 'refused')
    assert.ok(era.refusal.message.length < 250)
  })
})

function named(era: Era): string {
  if (era.era === 'modern') return 'modern'
  return era.era === 'legacy' ? `legacy ${era.revision}` : `refused ${era.refusal.code}`
}

describe('a modern request', () => {
  const good = headers({ version: '2026-07-28', method: 'tools/call', name: 'find' })
  const call = (meta: object = modernMeta): Message & { kind: 'request' } =>
    request('tools/call', { name: 'find', _meta: meta })

  it('is accepted when header and body agree', () => assert.equal(judgeModern(call(), good), null))

  it('is accepted when the header values have whitespace around them', () =>
    assert.equal(
      judgeModern(call(), headers({ version: ' 2026-07-28 ', method: ' tools/call\t', name: '  find ' })),
      null,
    ))

  it('is accepted when the name is encoded in the header', () =>
    assert.equal(judgeModern(call(), { ...good, name: '=?base64?ZmluZA==?=' }), null))

  it('needs no Mcp-Name when its method has no name', () =>
    assert.equal(
      judgeModern(
        request('tools/list', { _meta: modernMeta }),
        headers({ version: '2026-07-28', method: 'tools/list' }),
      ),
      null,
    ))

  const refused: [what: string, meta: object, given: ProtocolHeaders, code: number][] = [
    ['without "_meta"', {}, good, -32602],
    ['without a version in "_meta"', { [capabilitiesKey]: {} }, good, -32602],
    ['with a version that is not a string', { [versionKey]: 1, [capabilitiesKey]: {} }, good, -32602],
    ['without capabilities', { [versionKey]: '2026-07-28' }, good, -32602],
    ['with capabilities that are not an object', { [versionKey]: '2026-07-28', [capabilitiesKey]: [] }, good, -32602],
    ['without "_meta", though the header differs too', {}, headers({ version: '2025-11-25' }), -32602],
    ['without the version header', modernMeta, { ...good, version: undefined }, -32020],
    ['with another version in the header', modernMeta, { ...good, version: '2025-11-25' }, -32020],
    ['without Mcp-Method', modernMeta, { ...good, method: undefined }, -32020],
    ['with another Mcp-Method', modernMeta, { ...good, method: 'tools/list' }, -32020],
    ['with Mcp-Method in another letter case', modernMeta, { ...good, method: 'TOOLS/CALL' }, -32020],
    ['without Mcp-Name', modernMeta, { ...good, name: undefined }, -32020],
    ['with another Mcp-Name', modernMeta, { ...good, name: 'delete' }, -32020],
    ['with an Mcp-Name with invalid padding', modernMeta, { ...good, name: '=?base64?ZmluZA?=' }, -32020],
    ['with an Mcp-Name that is not UTF-8', modernMeta, { ...good, name: '=?base64?/w==?=' }, -32020],
    [
      'with an unsupported version, though the headers differ too',
      { [versionKey]: 'v999', [capabilitiesKey]: {} },
      good,
      -32020,
    ],
    [
      'with an unsupported version',
      { [versionKey]: 'v999', [capabilitiesKey]: {} },
      { ...good, version: 'v999' },
      -32022,
    ],
  ]
  for (const [what, meta, given, code] of refused) {
    it(`is rejected with ${code} ${what}`, () => {
      const refusal = judgeModern(call(meta), given)
      assert.equal(refusal?.code, code)
      assert.equal(refusal.status, 400)
    })
  }

  it('with an unsupported version receives the list of supported versions', () => {
    const meta = { [versionKey]: 'v999', [capabilitiesKey]: {} }
    assert.deepEqual(judgeModern(call(meta), { ...good, version: 'v999' })?.data, {
      supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      requested: 'v999',
    })
  })
})

describe('a header value', () => {
  const values: [sent: string, meant: string | null][] = [
    ['plain', 'plain'],
    ['  padded\t', 'padded'],
    ['=?base64?SGVsbG8=?=', 'Hello'],
    ['=?base64?w6nDqA==?=', 'éè'],
    ['=?base64?SGVsbG8?=', null],
    ['=?base64?SGVs bG8=?=', null],
    ['=?base64?_-8=?=', null],
    ['=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['SGVsbG8=?=', 'SGVsbG8=?='],
    ['=?BASE64?SGVsbG8=?=', '=?BASE64?SGVsbG8=?='],
    ['caf\u00e9', null],
    ['a\u0001b', null],
    ['', ''],
  ]
  for (const [sent, meant] of values) {
    it(`${JSON.stringify(sent)} is decoded to ${JSON.stringify(meant)}`, () =>
      assert.equal(decodeHeaderValue(sent), meant))
  }

  it('with many spaces inside is decoded in one pass (MCP-15)', async () => {
    const value = `a${' '.repeat(10_000)}b`
    const { patterns } = await workOf(() => assert.equal(decodeHeaderValue(value), value))
    // Each repetition begins where the text or a run of spaces begins, so none reads a character from many places.
    assert.deepEqual(patterns, ['^[ \\t]+|(?<![ \\t])[ \\t]+$', '^[\\x20-\\x7e]*$', '^=\\?base64\\?(.*)\\?=$'])
    assert.equal(decodeHeaderValue(' \t '), '')
  })

  it('is compared as a number with an integer argument, and as a string with any other', () => {
    assert.equal(isSameArgument('42', 42), true)
    assert.equal(isSameArgument('42.0', 42), true)
    assert.equal(isSameArgument('42.5', 42), false)
    assert.equal(isSameArgument('4e1', 40), false)
    assert.equal(isSameArgument('42', '42.0'), false)
    assert.equal(isSameArgument('true', true), true)
    assert.equal(isSameArgument('True', true), false)
    assert.equal(isSameArgument(undefined, 'x'), false)
    assert.equal(isSameArgument('', ''), true)
    assert.equal(isSameArgument('x', { x: 1 }), false)
  })
})

describe('a JSON-RPC message', () => {
  const malformed: [what: string, text: string, code: number][] = [
    ['text that is not JSON', '{"jsonrpc":', -32700],
    ['nothing', '', -32700],
    ['a string', '"hello"', -32600],
    ['null', 'null', -32600],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['no version', '{"id":1,"method":"ping"}', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":3}', -32600],
    ['a method of a megabyte', `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(1_000_000)}"}`, -32600],
    ['params that are a string', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32600],
    ['params that are an array', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
  ]
  for (const [what, text, code] of malformed) {
    it(`is malformed with code ${code} for ${what} (MCP-14)`, () => {
      const body = readBody(text)
      assert.ok(body.kind === 'malformed')
      assert.equal(body.code, code)
    })
  }

  it('keeps its id when it is malformed but the id is readable (MCP-14)', () => {
    const body = readBody('{"jsonrpc":"2.0","id":"a-1","method":"ping","params":7}')
    assert.deepEqual(body, { kind: 'malformed', code: -32600, why: '"params" must be an object', id: 'a-1' })
  })

  it('in a batch is judged without regard to the other entries (MCP-14)', () => {
    const body = readBody('[{"jsonrpc":"2.0","id":1,"method":"ping"},7,{"jsonrpc":"2.0","method":"x"}]')
    assert.ok(body.kind === 'batch')
    assert.deepEqual(
      body.entries.map(({ kind }) => kind),
      ['request', 'malformed', 'notification'],
    )
  })

  it('with a result or an error is a response', () => {
    assert.equal(readBody('{"jsonrpc":"2.0","id":1,"result":{}}').kind, 'response')
    assert.equal(readBody('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}').kind, 'response')
  })

  it('may have null params, which older clients send in place of no params', () => {
    const body = readBody('{"jsonrpc":"2.0","id":1,"method":"ping","params":null}')
    assert.deepEqual(body, { kind: 'request', id: 1, method: 'ping', params: {} })
  })
})
