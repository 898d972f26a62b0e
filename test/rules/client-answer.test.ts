import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientQuestion } from '../../src/app/mcp-declarations.ts'
import { handedAnswer, answerProblem, requestOf } from '../../src/mcp/call/client-answer.ts'

const form = (properties: object, required: readonly string[] = []): ClientQuestion => ({
  elicit: { message: 'Who?', schema: { type: 'object', properties, required } },
})
const accept = (content: unknown): unknown => ({ action: 'accept', content })
const isFit = (question: ClientQuestion, answer: unknown): boolean =>
  answerProblem(requestOf(question), answer) === null

describe('the answer to a form', () => {
  const fields: readonly (readonly [field: object, good: readonly unknown[], bad: readonly unknown[]])[] = [
    [{ type: 'string' }, ['', 'Ada', '1'], [1, true, null, [], {}, ['Ada']]],
    [{ type: 'string', minLength: 2, maxLength: 3 }, ['ab', 'abc', '👪👪'], ['a', 'abcd', '👪', '👪👪👪👪']],
    [
      { type: 'string', format: 'email' },
      ['a@b.c', 'ada.l+x@example.com', 'ada@localhost', 'ä@b.example'],
      [
        '',
        'a',
        '@b.c',
        'a@',
        'a@b@c.d',
        'a b@c.d',
        'a@b..c',
        'a@-b.c',
        'a@b.c\n',
        'a@b c',
        `${'a'.repeat(250)}@b.cd`,
        'a\u0000@b.c',
      ],
    ],
    [
      { type: 'string', format: 'uri' },
      ['https://example.com/a?b#c', 'mailto:a@b.c', 'urn:isbn:1', 'http://[::1]/'],
      [
        '',
        'example.com',
        '/path',
        '//host/path',
        'https://',
        'https://a b',
        ' https://a.b',
        'http://a.b/\n',
        'http://a.b/%zz',
        '1http://a',
        'http://a.b/ä',
      ],
    ],
    [
      { type: 'string', format: 'date' },
      ['2024-02-29', '2026-12-31', '0001-01-01'],
      [
        '',
        '2026-02-29',
        '2026-13-01',
        '2026-00-10',
        '2026-1-1',
        '2026-12-31T00:00:00Z',
        '2026-12-32',
        '20261231',
        ' 2026-12-31',
        '2026-12-31\n',
      ],
    ],
    [
      { type: 'string', format: 'date-time' },
      ['2026-12-31T23:59:59Z', '2026-12-31t00:00:00.123+02:00', '2016-12-31T23:59:60Z'],
      [
        '',
        '2026-12-31',
        '2026-12-31T24:00:00Z',
        '2026-12-31T23:60:00Z',
        '2026-12-31T23:59:59',
        '2026-12-31 23:59:59Z',
        '2026-02-30T00:00:00Z',
        '2026-12-31T00:00:00+24:00',
        '2026-12-31T00:00:00Z ',
      ],
    ],
    [{ type: 'string', format: 'unknown' }, ['anything'], [1]],
    [{ type: 'integer', minimum: 1, maximum: 3 }, [1, 3], [0, 4, 1.5, '1', true, null]],
    [{ type: 'number', minimum: 0 }, [0, 1.5], [-1, '1', JSON.parse('1e999'), null]],
    [{ type: 'boolean' }, [true, false], ['true', 1, 0, null]],
    [{ type: 'string', enum: ['a', 'b'] }, ['a', 'b'], ['c', '', 1, ['a'], null]],
    [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, ['a'], ['A', 'b', null]],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 2 },
      [['a'], ['a', 'b']],
      [[], ['a', 'b', 'a'], ['c'], 'a', [1], { 0: 'a', length: 1 }],
    ],
    [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } }, [[], ['a']], [['A'], [null]]],
    [{ type: 'array' }, [['x']], [[1], [['x']], [{}]]],
    [{}, ['a', 1, false], [null, {}, [], JSON.parse('1e999')]],
    [{ type: 'object' }, [], [{}, { a: 1 }]],
  ]
  for (const [field, good, bad] of fields) {
    for (const value of good)
      it(`accepts ${JSON.stringify(value)} for ${JSON.stringify(field)} (MCP-19)`, () => {
        assert.equal(isFit(form({ field }), accept({ field: value })), true)
      })
    for (const value of bad)
      it(`refuses ${JSON.stringify(value)} for ${JSON.stringify(field)} (MCP-19)`, () => {
        assert.equal(isFit(form({ field }), accept({ field: value })), false)
      })
  }

  it('has every required field as its own (MCP-19)', () => {
    for (const name of ['name', 'toString', '__proto__', 'constructor']) {
      assert.equal(isFit(form({}, [name]), accept({})), false)
      assert.equal(isFit(form({}, [name]), accept(JSON.parse(`{"${name}":"x"}`))), true)
    }
  })

  it('reaches the handler with its declared fields alone, and without any when it was not accepted (MCP-19)', () => {
    const request = requestOf(form({ name: { type: 'string' } }))
    const content = JSON.parse('{"name":"Ada","isAdmin":true,"__proto__":{"x":1},"toString":1}') as object
    assert.deepEqual(handedAnswer(request, { action: 'accept', content, more: 1 }), {
      action: 'accept',
      content: { name: 'Ada' },
    })
    assert.deepEqual(handedAnswer(request, { action: 'decline', content }), { action: 'decline' })
    assert.deepEqual(
      handedAnswer(requestOf({ open: { message: '', url: 'https://a.b' } }), { action: 'accept', content }),
      {
        action: 'accept',
      },
    )
  })

  for (const answer of [
    undefined,
    null,
    'accept',
    [],
    {},
    { action: 'yes' },
    { action: 1 },
    accept(undefined),
    accept(null),
    accept([]),
    accept('Ada'),
  ])
    it(`is not ${JSON.stringify(answer)} (MCP-19)`, () => {
      assert.equal(isFit(form({ name: { type: 'string' } }), answer), false)
    })
})

describe('the answer of a model', () => {
  const message = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } }
  const good: readonly object[] = [
    message,
    { ...message, stopReason: 'endTurn' },
    { ...message, content: [message.content, { type: 'tool_use', id: '1', name: 'look', input: {} }] },
    { ...message, content: { type: 'image', data: 'AAAA', mimeType: 'image/png' } },
  ]
  const bad: readonly unknown[] = [
    null,
    'Paris',
    [],
    {},
    { ...message, role: 'system' },
    { ...message, role: undefined },
    { ...message, model: 7 },
    { ...message, content: undefined },
    { ...message, content: 'Paris' },
    { ...message, content: { type: 'text' } },
    { ...message, content: { type: 'text', text: 1 } },
    { ...message, content: [null] },
    { ...message, content: { type: 'constructor' } },
    { ...message, content: { type: 'image', data: '<svg>', mimeType: 'image/png' } },
    { ...message, stopReason: {} },
    { ...message, content: [{ type: 'tool_use', id: '1', name: 'look', input: 'x' }] },
  ]
  for (const answer of good)
    it(`is ${JSON.stringify(answer)} (MCP-19)`, () => {
      assert.equal(isFit({ sample: {} }, answer), true)
    })
  for (const answer of bad)
    it(`is not ${JSON.stringify(answer)} (MCP-19)`, () => {
      assert.equal(isFit({ sample: {} }, answer), false)
    })
})

describe('the roots of a client', () => {
  for (const roots of [[], [{ uri: 'file:///home/ada' }], [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b' }]])
    it(`are ${JSON.stringify(roots)} (MCP-19)`, () => {
      assert.equal(isFit({ roots: true }, { roots }), true)
    })
  for (const roots of [
    undefined,
    null,
    {},
    'file:///a',
    [null],
    ['file:///a'],
    [{}],
    [{ uri: 1 }],
    [{ uri: 'https://a.b' }],
    [{ uri: 'file:///a', name: 1 }],
    [{ uri: '/a' }],
  ])
    it(`are not ${JSON.stringify(roots)} (MCP-19)`, () => {
      assert.equal(isFit({ roots: true }, { roots }), false)
    })
})
