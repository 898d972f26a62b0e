/**
 * The shape of a form for declared data, from its JSON Schema. A form has fields for strings, numbers, booleans, dates and choices,
 * for objects of these, and for arrays of scalars. Other data is edited as JSON.
 */
import type { JsonSchema } from '../../app/schema.ts'
import { fromPlain, isNull, type Json, type JsonText, stringValue } from '../../json/json.ts'
import type { FieldAttributes } from '../shared/form-field.ts'

/** The most nested objects, and the most fields of a form. */
const maxLevels = 4
const maxFields = 60

/** Strings that may be longer have a field of several lines. */
const lineCharacters = 200

interface CommonShape {
  /** Title of the schema; null without one. */
  readonly title: string | null
  readonly description: string
  /** True when the member may be missing. */
  readonly isOptional: boolean
  readonly isNullable: boolean
  /** The value of a new form. */
  readonly initial: JsonText | undefined
}

type StringField =
  | { readonly kind: 'text'; readonly rows: number | undefined; readonly attributes: FieldAttributes }
  | { readonly kind: 'date' | 'date_time'; readonly attributes: FieldAttributes }

export type ScalarShape = CommonShape &
  (
    | StringField
    | { readonly kind: 'number'; readonly attributes: FieldAttributes }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  )

export interface Choice {
  readonly label: string
  readonly value: JsonText
}

/** An array of scalars, one on each line. */
export type LinesShape = CommonShape & { readonly kind: 'lines'; readonly element: ScalarShape }

export type GroupShape = CommonShape & {
  readonly kind: 'group'
  readonly members: readonly (readonly [name: string, shape: FormShape])[]
}

export type FormShape = ScalarShape | LinesShape | GroupShape

/** Null when the schema allows data for which no form exists. */
export function formShape(schema: JsonSchema | null): FormShape | null {
  if (schema === null) return null
  const shape = shapeOf(schema, { isOptional: false, level: 0 })
  return shape === null || countOf(shape) > maxFields ? null : shape
}

interface Place {
  readonly isOptional: boolean
  readonly level: number
}

function shapeOf(given: unknown, place: Place): FormShape | null {
  if (!isSchema(given)) return null
  const { schema, isNullable } = withoutNull(given)
  const common: CommonShape = {
    title: textOf(given['title'] ?? schema['title']),
    description: textOf(given['description'] ?? schema['description']) ?? '',
    isOptional: place.isOptional,
    isNullable,
    initial: given['default'] === undefined ? undefined : fromPlain(given['default']),
  }
  const choices = choicesOf(schema)
  if (choices !== null) {
    const values = choices.filter(({ value }) => !isNull(value))
    return { ...common, isNullable: isNullable || values.length < choices.length, kind: 'choice', choices: values }
  }
  if (['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if'].some((keyword) => schema[keyword] !== undefined))
    return null
  switch (schema['type']) {
    case 'string':
      return { ...common, ...stringField(schema) }
    case 'number':
    case 'integer':
      return { ...common, kind: 'number', attributes: numberAttributes(schema) }
    case 'boolean':
      return { ...common, kind: 'boolean' }
    case 'array':
      return arrayShape(schema, common, place)
    case 'object':
      return objectShape(schema, common, place)
    default:
      return null
  }
}

/** The schema of every other value, when the schema allows null in one of its usual spellings. */
function withoutNull(schema: JsonSchema): { readonly schema: JsonSchema; readonly isNullable: boolean } {
  const { type } = schema
  if (Array.isArray(type) && type.length === 2 && type.includes('null'))
    return { schema: { ...schema, type: (type as unknown[]).find((one) => one !== 'null') }, isNullable: true }
  for (const keyword of ['anyOf', 'oneOf']) {
    const options: unknown = schema[keyword]
    if (!Array.isArray(options)) continue
    const others: unknown[] = options.filter((option: unknown) => !(isSchema(option) && option['type'] === 'null'))
    if (others.length === options.length) continue
    const [only] = others
    if (others.length === 1 && isSchema(only)) return { schema: only, isNullable: true }
    return { schema: { ...schema, [keyword]: others }, isNullable: true }
  }
  return { schema, isNullable: false }
}

/** The values of an enumeration. Null when the schema is not one, or contains objects or arrays. */
function choicesOf(schema: JsonSchema): readonly Choice[] | null {
  const options: unknown = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const found = options.map((option: unknown) => (isSchema(option) ? choicesOf(option) : null))
    return found.every((choices) => choices !== null) ? found.flat() : null
  }
  const values: unknown = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  if (!Array.isArray(values) || values.some((value) => typeof value === 'object' && value !== null)) return null
  const title = schema['const'] === undefined ? null : textOf(schema['title'])
  return values.map((each: Json) => {
    const value = fromPlain(each)
    return { value, label: title ?? stringValue(value) ?? value }
  })
}

const inputTypes: Readonly<Record<string, string>> = { email: 'email', uri: 'url', time: 'text' }

function stringField(schema: JsonSchema): StringField {
  const format = textOf(schema['format']) ?? ''
  const least = numberOf(schema['minLength'])
  if (format === 'date') return { kind: 'date', attributes: { type: 'date' } }
  if (format === 'date-time') return { kind: 'date_time', attributes: { type: 'datetime-local', step: 'any' } }
  const most = numberOf(schema['maxLength'])
  const attributes: FieldAttributes = {
    ...(least === null ? {} : { minlength: String(least), required: least > 0 }),
    ...(most === null ? {} : { maxlength: String(most) }),
  }
  if (most !== null && most > lineCharacters) return { kind: 'text', rows: 4, attributes }
  const type = inputTypes[format] ?? 'text'
  const pattern = patternOf(schema['pattern'])
  return {
    kind: 'text',
    rows: undefined,
    attributes: {
      ...attributes,
      type,
      ...(type === 'text' ? {} : { required: true }),
      ...(pattern === null ? {} : { pattern }),
    },
  }
}

/** The pattern for HTML, which compares the entire value and knows fewer spellings. Null when HTML does not know it. */
function patternOf(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const pattern = given.startsWith('^') && given.endsWith('$') ? given : `.*(?:${given}).*`
  try {
    return new RegExp(pattern, 'v').source
  } catch {
    return null
  }
}

/** The page reads numbers as its language writes them. A field of the browser would read them by the language of the browser. */
function numberAttributes(schema: JsonSchema): FieldAttributes {
  const least = numberOf(schema['minimum']) ?? numberOf(schema['exclusiveMinimum'])
  // The keyboards of telephones for these modes have no minus.
  const mode = schema['type'] === 'integer' ? 'numeric' : 'decimal'
  return { type: 'text', ...(least !== null && least >= 0 ? { inputmode: mode } : {}) }
}

function arrayShape(schema: JsonSchema, common: CommonShape, { level }: Place): LinesShape | null {
  if (schema['prefixItems'] !== undefined || schema['contains'] !== undefined) return null
  const element = shapeOf(schema['items'], { isOptional: false, level })
  return element === null || element.kind === 'lines' || element.kind === 'group' || element.isNullable
    ? null
    : { ...common, kind: 'lines', element }
}

function objectShape(schema: JsonSchema, common: CommonShape, { level }: Place): GroupShape | null {
  const properties: unknown = schema['properties']
  if (!isSchema(properties) || level >= maxLevels) return null
  const required: unknown = schema['required']
  const members: [string, FormShape][] = []
  for (const [name, member] of Object.entries(properties)) {
    const isOptional = !(Array.isArray(required) && required.includes(name))
    const shape = shapeOf(member, { isOptional, level: level + 1 })
    if (shape === null) return null
    members.push([name, shape])
  }
  return members.length === 0 ? null : { ...common, kind: 'group', members }
}

function countOf(shape: FormShape): number {
  if (shape.kind !== 'group') return 1
  let count = 0
  for (const [, member] of shape.members) count += countOf(member)
  return count
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
