import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { ServiceError } from '../../src/errors.ts'
import { requireDeclared, undeclaredNames } from '../../src/operation/declared-members.ts'
import { inputSchema } from '../../src/app/schema.ts'
import { seeded } from '../support/random.ts'

/** The path of the first undeclared member; null when all are declared. */
function undeclared(schema: object | null, given: unknown): string | null {
  try {
    requireDeclared(schema as Readonly<Record<string, unknown>> | null, given)
    return null
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    assert.equal(error.code, 'invalid_input')
    return String(error.detail.members?.['field'])
  }
}

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const text = { type: 'string' }

describe('the declared members of an input', () => {
  const cases: readonly (readonly [what: string, schema: object | null, given: unknown, field: string | null])[] = [
    ['no schema', null, { x: 1 }, null],
    ['a declared member', object({ a: text }), { a: 'x' }, null],
    ['an undeclared member', object({ a: text }), { a: 'x', b: 1 }, 'b'],
    ['no declared member at all', { type: 'object' }, { x: 1 }, null],
    ['an empty list of members', object({}), { x: 1 }, 'x'],
    ['additional members', object({ a: text }, { additionalProperties: true }), { b: 1 }, null],
    [
      'additional members with a schema',
      object({ a: text }, { additionalProperties: object({ c: text }) }),
      { b: { d: 1 } },
      'b.d',
    ],
    ['refused additional members', object({ a: text }, { additionalProperties: false }), { b: 1 }, 'b'],
    ['unevaluated members', object({ a: text }, { unevaluatedProperties: true }), { b: 1 }, null],
    ['names by a pattern', object({ a: text }, { patternProperties: { '^x-': text } }), { 'x-b': 'y' }, null],
    ['names beside a pattern', object({ a: text }, { patternProperties: { '^x-': text } }), { b: 'y' }, 'b'],
    ['all of two', { allOf: [object({ a: text }), object({ b: text })] }, { a: 'x', b: 'y' }, null],
    ['none of two', { allOf: [object({ a: text }), object({ b: text })] }, { c: 1 }, 'c'],
    ['one of two', { oneOf: [object({ a: text }), object({ b: text })] }, { b: 'y' }, null],
    ['neither of two', { anyOf: [object({ a: text }), object({ b: text })] }, { c: 1 }, 'c'],
    ['any object as the second of two', { anyOf: [object({ a: text }), {}] }, { c: 1 }, null],
    [
      'required members as alternatives',
      object({ a: text, b: text }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
      { a: 'x', c: 1 },
      'c',
    ],
    [
      'members of a condition',
      object({ a: text }, { if: object({ a: { const: 'x' } }), else: object({ b: text }) }),
      { a: 'x', b: 'y' },
      null,
    ],
    ['a member of a referenced schema', { $ref: '#/$defs/a~1b', $defs: { 'a/b': object({ a: text }) } }, { b: 1 }, 'b'],
    ['a schema of itself', object({ child: { $ref: '#' } }), { child: { child: { other: 1 } } }, 'child.child.other'],
    [
      'items',
      object({ all: { type: 'array', items: object({ a: text }) } }),
      { all: [{ a: 'x' }, { b: 1 }] },
      'all.1.b',
    ],
    [
      'first items',
      object({ all: { prefixItems: [object({ a: text })], items: object({ b: text }) } }),
      { all: [{ a: '' }, { a: '' }] },
      'all.1.a',
    ],
    ['inherited names', object({ a: text }), JSON.parse('{"__proto__":1}'), '__proto__'],
    ['another inherited name', object({ a: text }), { constructor: 1 }, 'constructor'],
    ['a string', text, 'x', null],
    ['a list without a schema', object({ a: text }), [{ b: 1 }], null],
  ]
  for (const [what, schema, given, field] of cases)
    it(`${field === null ? 'accept' : 'refuse'} ${JSON.stringify(given)} with ${what} (ACL-15)`, () => {
      assert.equal(undeclared(schema, given), field)
    })

  it('are exactly those that a generated zod schema keeps (ACL-15)', () => {
    const random = seeded(20_311)
    // Without `__proto__`, which zod drops from objects that may have every name.
    const names = ['a', 'b', 'to', 'amount', 'toString', 'x y', 'é']
    const schemaOf = (depth: number): z.ZodType => {
      const kind = depth === 0 ? 0 : random.below(6)
      if (kind < 2) return z.number()
      if (kind === 2) return z.array(schemaOf(depth - 1))
      const members = names.filter(() => random.below(3) === 0)
      const shape = Object.fromEntries(members.map((name) => [name, schemaOf(depth - 1).optional()]))
      return kind === 5 ? z.looseObject(shape) : z.object(shape)
    }
    const valueOf = (depth: number): unknown => {
      const kind = depth === 0 ? 0 : random.below(5)
      if (kind < 2) return random.below(10)
      if (kind === 2) return Array.from({ length: random.below(3) }, () => valueOf(depth - 1))
      return Object.fromEntries(names.filter(() => random.below(4) === 0).map((name) => [name, valueOf(depth - 1)]))
    }
    let refused = 0
    let accepted = 0
    for (let run = 0; run < 20_000; run++) {
      const schema = schemaOf(3)
      const value = valueOf(3)
      const parsed = schema.safeParse(value)
      if (!parsed.success) continue
      const kept =
        JSON.stringify(parsed.data) === JSON.stringify(schema.parse(parsed.data)) &&
        sorted(parsed.data) === sorted(value)
      const path = undeclared(inputSchema(schema).jsonSchema, value)
      assert.equal(path === null, kept, `${JSON.stringify(inputSchema(schema).jsonSchema)} ${JSON.stringify(value)}`)
      if (kept) accepted++
      else refused++
    }
    assert.ok(refused > 200 && accepted > 200, `${refused} ${accepted}`)
  })

  it('name what the caller chose (ACL-15)', () => {
    assert.deepEqual(undeclaredNames(object({ a: text }) as Record<string, unknown>, { a: 1, b: 2 }), ['b'])
    assert.deepEqual(undeclaredNames({ allOf: [object({ a: text })] }, { a: 1, b: 2 }), ['b'])
    assert.deepEqual(undeclaredNames(null, { a: 1 }), ['a'])
    assert.deepEqual(undeclaredNames(null, [1]), [])
  })
})

/** JSON with sorted members. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
