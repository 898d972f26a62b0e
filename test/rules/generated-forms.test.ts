/** Forms of declared data: which schemas have one, what it shows, and which values it sends. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { dataSchema, type JsonSchema, type StandardSchema } from '../../src/app/schema.ts'
import type { ServiceError } from '../../src/errors.ts'
import { fromPlain, type JsonText, known } from '../../src/json/json.ts'
import { english } from '../../src/pages/languages/english.ts'
import { german } from '../../src/pages/languages/german.ts'
import {
  fieldNameAt,
  readForm,
  type SentFields,
  sentFields,
  shownForm,
} from '../../src/pages/properties/form-fields.ts'
import { formShape, type FormShape } from '../../src/pages/properties/form-shape.ts'
import type { FilledField } from '../../src/pages/properties/values.ts'

const words = english.messages(english.noun).forms

function shapeOf(schema: StandardSchema | JsonSchema): FormShape {
  const shape = formShape(dataSchema(schema).jsonSchema)
  assert.ok(shape !== null)
  return shape
}

/** The fields of a form that shows the value, by name. */
function fieldsOf(shape: FormShape, value?: unknown): ReadonlyMap<string, FilledField> {
  return fieldsWith(shape, value === undefined ? undefined : fromPlain(value))
}

function fieldsWith(shape: FormShape, value: JsonText | undefined): ReadonlyMap<string, FilledField> {
  const root = shownForm(shape, value, null, english.messages(english.noun))
  assert.ok(root !== null)
  const fields = new Map<string, FilledField>()
  const add = (field: FilledField): void => {
    fields.set(field.name, field)
    for (const member of field.members) add(member)
  }
  add(root)
  return fields
}

/** The fields that a browser sends: no unchecked box, and no group. */
function sentBy(fields: ReadonlyMap<string, FilledField>): SentFields {
  const all = [...fields.values()].filter(
    ({ kind, value }) => kind !== 'group' && !(kind === 'boolean' && value !== 'true'),
  )
  return Object.fromEntries(all.map(({ name, value }) => [name, value.replaceAll('\n', '\r\n')]))
}

const Task = z.object({
  text: z.string().min(1).max(80).describe('What to do'),
  notes: z.string().max(5000).optional(),
  rank: z.number().min(0).max(10).optional(),
  times: z.int().gt(0),
  done: z.boolean().default(false),
  urgent: z.boolean().nullable(),
  color: z.enum(['red', 'green']).nullable().optional(),
  level: z.union([z.literal(1), z.literal(2)]),
  due: z.iso.date().optional(),
  at: z.iso.datetime({ offset: true }).nullable(),
  place: z.object({ street: z.string().min(3), city: z.string().optional() }).optional(),
  tags: z.array(z.string()),
})

const task = {
  text: 'Buy milk',
  times: 3,
  done: true,
  urgent: null,
  level: 2,
  at: '2026-03-01T12:30:00+02:00',
  place: { street: 'Main' },
  tags: ['a', 'b c'],
}

describe('the form of a schema', () => {
  it('has a field for each member, with the constraints of the schema', () => {
    const fields = fieldsOf(shapeOf(Task), task)
    const facts = [...fields.values()].map(({ name, kind, label, value, may_be_empty: isOptional }) => [
      name,
      kind,
      label,
      value,
      isOptional,
    ])
    assert.deepEqual(facts, [
      ['fields', 'group', '', '', false],
      ['fields/text', 'text', 'text', 'Buy milk', false],
      ['fields/notes', 'text', 'notes', '', true],
      ['fields/rank', 'number', 'rank', '', true],
      ['fields/times', 'number', 'times', '3', false],
      ['fields/done', 'boolean', 'done', 'true', false],
      ['fields/urgent', 'choice', 'urgent', '', true],
      ['fields/color', 'choice', 'color', '', true],
      ['fields/level', 'choice', 'level', '2', false],
      ['fields/due', 'date', 'due', '', true],
      ['fields/at', 'date_time', 'at', '2026-03-01T10:30', true],
      ['fields/place', 'group', 'place', '', true],
      ['fields/place/street', 'text', 'street', 'Main', false],
      ['fields/place/city', 'text', 'city', '', true],
      ['fields/tags', 'lines', 'tags', 'a\nb c', false],
    ])
    const attributes = (name: string): unknown => fields.get(name)?.attributes
    assert.deepEqual(attributes('fields/text'), { minlength: '1', required: true, maxlength: '80', type: 'text' })
    assert.deepEqual(attributes('fields/notes'), { maxlength: '5000' })
    assert.deepEqual(attributes('fields/rank'), { type: 'text', inputmode: 'decimal', required: false })
    assert.deepEqual(attributes('fields/times'), { type: 'text', inputmode: 'numeric', required: true })
    assert.deepEqual(attributes('fields/level'), { required: true })
    // A group that may be missing can be left empty.
    assert.deepEqual(attributes('fields/place/street'), { minlength: '3', type: 'text', required: false })
    assert.deepEqual(attributes('fields/due'), { type: 'date', required: false })
    assert.equal(fields.get('fields/text')?.hint, 'What to do')
    assert.equal(fields.get('fields/notes')?.rows, 4)
    assert.deepEqual(fields.get('fields/color')?.choices, [
      { label: 'red', value: '"red"' },
      { label: 'green', value: '"green"' },
    ])
  })

  it('takes labels from titles, and shows the defaults of a new value', () => {
    const schema = {
      title: 'Budget',
      description: 'What may be spent',
      type: 'object',
      properties: {
        limit: { type: 'number', title: 'Limit', default: 500, exclusiveMinimum: 0, multipleOf: 0.5 },
        unit: { enum: ['EUR', 'USD'], default: 'EUR' },
        code: { type: 'string', pattern: '^[A-Z]+$' },
        part: { type: 'string', pattern: '[0-9]' },
        odd: { type: 'string', pattern: '[a&&b' },
      },
      required: ['limit'],
    }
    const fields = fieldsOf(shapeOf(schema))
    assert.equal(fields.get('fields')?.label, 'Budget')
    assert.equal(fields.get('fields')?.hint, 'What may be spent')
    assert.deepEqual(
      ['limit', 'unit', 'code'].map((name) => [
        fields.get(`fields/${name}`)?.label,
        fields.get(`fields/${name}`)?.value,
      ]),
      [
        ['Limit', '500'],
        ['unit', '"EUR"'],
        ['code', ''],
      ],
    )
    assert.equal(fields.get('fields/code')?.attributes['pattern'], '^[A-Z]+$')
    assert.equal(fields.get('fields/part')?.attributes['pattern'], '.*(?:[0-9]).*')
    assert.equal(fields.get('fields/odd')?.attributes['pattern'], undefined)
  })

  it('is one field for a scalar and for an array of scalars', () => {
    assert.deepEqual(
      [...fieldsOf(shapeOf(z.string()), 'x').values()].map(({ name, kind }) => [name, kind]),
      [['fields', 'text']],
    )
    const lines = fieldsOf(shapeOf(z.array(z.enum(['a', 'b']))), ['b']).get('fields')
    assert.deepEqual([lines?.kind, lines?.value, lines?.hint], ['lines', 'b', 'One on each line: a, b.'])
  })

  const without: readonly (readonly [string, StandardSchema | JsonSchema])[] = [
    ['anything', z.any()],
    ['a record', z.record(z.string(), z.number())],
    ['a union of different types', z.union([z.string(), z.number()])],
    ['an array of objects', z.array(z.object({ a: z.string() }))],
    ['an array of arrays', z.array(z.array(z.string()))],
    ['an object with such a member', z.object({ a: z.string(), b: z.object({ c: z.any() }) })],
    ['a reference', { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } }],
    ['an object without members', { type: 'object' }],
    ['objects nested in five levels', nested(5)],
    ['61 fields', z.object(Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`f${at}`, z.string()])))],
  ]
  for (const [what, schema] of without) {
    it(`does not exist for ${what}`, () => {
      assert.equal(formShape(dataSchema(schema).jsonSchema), null)
    })
  }

  it('does not exist without a JSON Schema', () => {
    assert.equal(formShape(null), null)
  })
})

function nested(levels: number): JsonSchema {
  return { type: 'object', properties: { a: levels === 1 ? { type: 'string' } : nested(levels - 1) } }
}

describe('a form', () => {
  const keeps: readonly (readonly [string, StandardSchema | JsonSchema, JsonText])[] = [
    ['a task', Task, fromPlain(task)],
    [
      'empty members',
      Task,
      fromPlain({ ...task, notes: '', color: null, urgent: false, place: { street: '' }, tags: [] }),
    ],
    ['members that it does not show', Task, fromPlain({ before: { x: [1] }, ...task, after: 1 })],
    ['the spelling of numbers', z.object({ a: z.number() }), known('{"a":1.50}')],
    ['many digits', z.number(), known('123456789012345678901234567890')],
    ['a time with a fraction of a second', z.iso.datetime(), fromPlain('2026-01-02T03:04:05.123456Z')],
    ['a text of several lines', z.string(), fromPlain('a\nb\n')],
    ['null', z.object({ a: z.string() }).nullable(), known('null')],
    [
      'a name with a slash',
      z.object({ 'a/b': z.string(), a: z.object({ b: z.string() }) }),
      fromPlain({ 'a/b': 'x', a: { b: 'y' } }),
    ],
  ]
  for (const [what, schema, value] of keeps) {
    it(`without changes keeps ${what}`, () => {
      const shape = shapeOf(schema)
      assert.equal(readForm(shape, sentBy(fieldsWith(shape, value)), value, words), value)
    })
  }

  const unfit: readonly (readonly [string, StandardSchema | JsonSchema, unknown])[] = [
    ['a value of another type', z.object({ a: z.string() }), { a: 1 }],
    ['a string for an object', z.object({ a: z.string() }), 'x'],
    ['null that the schema does not allow', z.object({ a: z.string() }), { a: null }],
    ['a carriage return', z.string(), 'a\rb'],
    ['another choice', z.enum(['a']), 'b'],
    ['a time without an offset', z.iso.datetime(), '2026-01-02T03:04:05'],
    ['another form of a date', z.iso.date(), '1 March'],
    ['an element with a line break', z.array(z.string()), ['a\nb']],
    ['an empty element', z.array(z.string()), ['']],
  ]
  for (const [what, schema, value] of unfit) {
    it(`does not show ${what}`, () => {
      assert.equal(shownForm(shapeOf(schema), fromPlain(value), null, english.messages(english.noun)), null)
    })
  }

  const shape = shapeOf(Task)
  const read = (sent: SentFields, stored?: unknown): unknown =>
    JSON.parse(readForm(shape, sent, stored === undefined ? undefined : fromPlain(stored), words))

  it('gives typed values, and leaves out what is empty', () => {
    const least = {
      'fields/text': 'a',
      'fields/times': '2',
      'fields/level': '1',
      'fields/notes': '',
      'fields/tags': '',
    }
    const empty = { text: 'a', times: 2, done: false, urgent: null, level: 1, at: null, tags: [] }
    assert.deepEqual(read(least), empty)
    assert.deepEqual(
      read({
        ...least,
        'fields/notes': 'x\r\ny',
        'fields/rank': '.5',
        'fields/done': 'true',
        'fields/urgent': 'false',
        'fields/color': '"green"',
        'fields/due': '2026-01-02',
        'fields/at': '2026-01-02T03:04',
        'fields/place/street': 'Main',
        'fields/tags': 'a\r\n\r\n b\r\n',
      }),
      {
        text: 'a',
        notes: 'x\ny',
        rank: 0.5,
        times: 2,
        done: true,
        urgent: false,
        color: 'green',
        level: 1,
        due: '2026-01-02',
        at: '2026-01-02T03:04:00Z',
        place: { street: 'Main' },
        tags: ['a', ' b'],
      },
    )
  })

  it('removes what the owner empties', () => {
    const sent = sentBy(fieldsOf(shape, { ...task, color: 'red', rank: 3, notes: 'x' }))
    const emptied = Object.fromEntries(
      ['notes', 'rank', 'color', 'at', 'place/street', 'tags', 'done'].map((name) => [`fields/${name}`, '']),
    )
    assert.deepEqual(read({ ...sent, ...emptied }, { ...task, color: 'red', rank: 3, notes: 'x' }), {
      text: 'Buy milk',
      times: 3,
      done: false,
      urgent: null,
      color: null,
      level: 2,
      at: null,
      tags: [],
    })
  })

  const refusals: readonly (readonly [string, SentFields, string, string])[] = [
    ['a missing number', { 'fields/times': '' }, 'fields/times', 'a value is missing'],
    ['text for a number', { 'fields/times': '1e' }, 'fields/times', '"1e" is not a number'],
    ['a missing choice', { 'fields/level': '' }, 'fields/level', 'a value is missing'],
    ['another choice', { 'fields/level': '3' }, 'fields/level', '"3" is not one of the choices'],
    ['a number of another language', { 'fields/times': '1,5' }, 'fields/times', '"1,5" is not a number'],
    ['text for a date', { 'fields/due': 'soon' }, 'fields/due', '"soon" is not a date'],
    ['an ambiguous date', { 'fields/due': '3/4/2026' }, 'fields/due', '"3/4/2026" is not a date'],
    ['a day that no calendar has', { 'fields/due': '2026-02-30' }, 'fields/due', '"2026-02-30" is not a date'],
    ['text for a time', { 'fields/at': 'noon' }, 'fields/at', '"noon" is not a date with a time'],
    ['text for yes or no', { 'fields/urgent': 'maybe' }, 'fields/urgent', '"maybe" is neither true nor false'],
  ]
  for (const [what, wrong, field, message] of refusals) {
    it(`refuses ${what} and names the field`, () => {
      const sent = { ...sentBy(fieldsOf(shape, task)), ...wrong }
      assert.throws(
        () => readForm(shape, sent, undefined, words),
        (error: ServiceError) => {
          assert.deepEqual(
            [error.code, error.message, error.detail.field],
            ['bad_request', `Cannot take the form: ${message}`, field],
          )
          return true
        },
      )
    })
  }

  it('reads dates that a person typed, in the words of the page', () => {
    const dates = shapeOf(z.array(z.iso.date()))
    const { forms } = german.messages(german.noun)
    assert.equal(
      readForm(dates, { fields: '24.12.2026\n1. März 2026' }, undefined, forms),
      '["2026-12-24","2026-03-01"]',
    )
    assert.equal(readForm(dates, { fields: '24 Dec 2026' }, undefined, words), '["2026-12-24"]')
    const time = shapeOf(z.iso.datetime())
    assert.equal(readForm(time, { fields: '24.12.2026, 18:30' }, undefined, forms), '"2026-12-24T18:30:00Z"')
    assert.equal(readForm(time, { fields: '2026-12-24 18:30:05' }, undefined, words), '"2026-12-24T18:30:05Z"')
  })

  it('reads and shows numbers as the page writes them', () => {
    const budget = shapeOf(z.object({ limit: z.number() }))
    const { forms } = german.messages(german.noun)
    for (const [text, json] of [
      ['1,5', '{"limit":1.5}'],
      ['1.000', '{"limit":1000}'],
    ] as const)
      assert.equal(readForm(budget, { 'fields/limit': text }, undefined, forms), json)
    assert.throws(() => readForm(budget, { 'fields/limit': '1.5' }, undefined, forms), { code: 'bad_request' })
    const shown = shownForm(budget, fromPlain({ limit: 1.5 }), null, german.messages(german.noun))
    assert.equal(shown?.members[0]?.value, '1,5')
  })

  it('reads a number or a date of spaces as an empty field', () => {
    for (const schema of [z.number(), z.int(), z.iso.date(), z.iso.datetime()])
      for (const blank of ['', ' ', ' \u00a0 ', '\t']) {
        assert.equal(
          readForm(shapeOf(z.object({ a: schema.optional() })), { 'fields/a': blank }, undefined, words),
          '{}',
        )
        assert.equal(
          readForm(shapeOf(z.object({ a: schema.nullable() })), { 'fields/a': blank }, undefined, words),
          '{"a":null}',
        )
        assert.throws(() => readForm(shapeOf(z.object({ a: schema })), { 'fields/a': blank }, undefined, words), {
          message: 'Cannot take the form: a value is missing',
        })
      }
    assert.equal(readForm(shapeOf(z.object({ a: z.string() })), { 'fields/a': ' ' }, undefined, words), '{"a":" "}')
  })

  it('refuses an element that is not one of the choices', () => {
    assert.throws(() => readForm(shapeOf(z.array(z.enum(['a']))), { fields: 'a\nb' }, undefined, words), {
      message: 'Cannot take the form: "b" is not one of the choices',
    })
    assert.equal(readForm(shapeOf(z.array(z.literal(7))), { fields: '7\n7' }, undefined, words), '[7,7]')
    assert.equal(readForm(shapeOf(z.array(z.number())), { fields: ' 1\n-2.5 ' }, undefined, words), '[1,-2.5]')
  })

  it('names the field that shows a member', () => {
    const names = ['', 'text', 'place', 'place.street', 'place.other', 'tags.2', 'other'].map((path) =>
      fieldNameAt(shape, path),
    )
    assert.deepEqual(names, [
      'fields',
      'fields/text',
      'fields/place',
      'fields/place/street',
      'fields/place',
      'fields/tags',
      'fields',
    ])
  })

  it('takes only its own fields', () => {
    const all = new Map([
      ['fields', 'a'],
      ['fields/x', 'b'],
      ['fieldset', 'c'],
      ['version', 'd'],
    ])
    assert.deepEqual(sentFields(all), { fields: 'a', 'fields/x': 'b' })
  })
})
