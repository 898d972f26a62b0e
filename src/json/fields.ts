/** Fields of requests. A field publishes a JSON Schema and reads its value by the same rules, so the two cannot diverge. */
import { present } from './present.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, isNull, isObject, stringText, stringValue } from './text.ts'
import { members } from './members.ts'

/** JSON Schema, with the keywords that fields use. */
export interface FieldSchema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: string | number | boolean
  readonly [keyword: string]: unknown
}

/** Result of reading a value that the schema of the field does not allow. */
const violation = Symbol('violation')

export interface RequestField<T> {
  readonly schema: FieldSchema
  /** The end of the sentence “the field must be …”. */
  readonly expected: string
  readonly isRequired: boolean
  /** Reads JSON, or a string of a form, a query or a path. Undefined is an absent field. */
  readonly read: (value: JsonText | undefined) => T | typeof violation
}

export type RequestFields = Readonly<Record<string, RequestField<unknown>>>

/** The values of the fields, as a handler receives them. */
export type ValuesOf<F extends RequestFields> = {
  readonly [Name in keyof F]: F[Name] extends RequestField<infer T> ? T : never
}

function fieldOf<T>(
  schema: FieldSchema,
  expected: string,
  read: (value: JsonText) => T | typeof violation,
): RequestField<T> {
  return { schema, expected, isRequired: true, read: (value) => (value === undefined ? violation : read(value)) }
}

export interface StringLimits {
  /** In UTF-16 code units, as `maxLength`. */
  readonly minLength?: number
  readonly maxLength?: number
  /** Rejects NUL and lone surrogates, which a store cannot keep. */
  readonly isStorable?: true
}

export function stringField(description: string, limits: StringLimits = {}): RequestField<string> {
  const { minLength = 0, maxLength, isStorable } = limits
  const schema = present({
    type: 'string',
    description,
    minLength: minLength === 0 ? undefined : minLength,
    maxLength,
    pattern: isStorable === true ? '^[^\\u0000]*$' : undefined,
  })
  const expected = maxLength === undefined ? 'a string' : `a string of at most ${maxLength} characters`
  return fieldOf(schema, expected, (value) => {
    const text = stringValue(value)
    if (text === null || text.length < minLength || text.length > (maxLength ?? text.length)) return violation
    return isStorable === true && (!text.isWellFormed() || text.includes('\0')) ? violation : text
  })
}

/** A string for people. NUL and lone surrogates are removed, because a store cannot keep them. */
export function plainStringField(description: string, maxLength = 2000): RequestField<string> {
  const field = stringField(description, { maxLength })
  return {
    ...field,
    read: (value) => {
      const text = value === undefined ? null : stringValue(value)
      return text === null ? violation : field.read(stringText(text.toWellFormed().replaceAll('\0', '')))
    },
  }
}

/** A message of another service: longer strings are cut, because a peer that gets an error ends the relationship. */
export function messageField(description: string, maxLength = 2000): RequestField<string> {
  const { schema, read } = plainStringField(description, Number.MAX_SAFE_INTEGER)
  const { maxLength: _, ...unlimited } = schema
  return {
    ...fieldOf(unlimited, 'a string', () => violation),
    read: (value) => {
      const text = read(value)
      // Half of a surrogate pair cannot be stored.
      return text === violation ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
    },
  }
}

/** A JSON boolean, or "true" or "false" as a string. */
export function flagField(description: string): RequestField<boolean> {
  return fieldOf({ type: 'boolean', description }, 'true or false', (value) => {
    const word = stringValue(value) ?? value
    return word === 'true' ? true : word === 'false' ? false : violation
  })
}

/** A JSON integer, or its digits as a string. */
export function integerField(
  description: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { readonly least?: number; readonly most?: number } = {},
): RequestField<number> {
  const hasEnd = most !== Number.MAX_SAFE_INTEGER
  const schema = { type: 'integer', description, minimum: least, ...(hasEnd ? { maximum: most } : {}) }
  const expected = hasEnd ? `a whole number from ${least} to ${most}` : `a whole number of at least ${least}`
  return fieldOf(schema, expected, (value) => {
    const digits = stringValue(value) ?? value
    const number = /^[0-9]{1,16}$/.test(digits) ? Number(digits) : Number.NaN
    return number >= least && number <= most ? number : violation
  })
}

export function choiceField<const T extends string>(description: string, values: readonly T[]): RequestField<T> {
  const quoted = values.map((value) => JSON.stringify(value))
  const expected = quoted.length === 1 ? `${quoted[0]}` : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return fieldOf({ type: 'string', description, enum: values }, expected, (value) => {
    const text = stringValue(value)
    return values.find((one) => one === text) ?? violation
  })
}

/** A string with some known values. Other values read as absent, because existing clients send them. */
export function hintField<const T extends string>(
  description: string,
  values: readonly T[],
): RequestField<T | undefined> {
  const field = stringField(description)
  return {
    ...field,
    isRequired: false,
    read: (value) => {
      const text = value === undefined ? undefined : field.read(value)
      return text === violation ? violation : values.find((one) => one === text)
    },
  }
}

/** Any JSON, kept as text so that numbers keep their digits. A form field reads as a JSON string. */
export function jsonField(description: string, schema: FieldSchema = {}): RequestField<JsonText> {
  return fieldOf({ ...schema, description }, 'a JSON value', (value) => value)
}

/** A field with a custom parser. Undefined from the parser is a violation; the parser may also throw its own error. */
export function parsedField<T>(
  schema: FieldSchema,
  expected: string,
  parse: (value: JsonText) => T | undefined,
): RequestField<T> {
  return fieldOf(schema, expected, (value) => parse(value) ?? violation)
}

/** A date or time in ISO 8601, as Unix milliseconds. */
export function timeField(description: string): RequestField<number> {
  return parsedField({ type: 'string', description }, 'a date or a time in ISO 8601, such as 2026-11-27', (value) =>
    timeOf(stringValue(value) ?? ''),
  )
}

function timeOf(text: string): number | undefined {
  const isTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const time = isTime ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

export function optional<T>(field: RequestField<T>): RequestField<T | undefined>
export function optional<T extends string | number | boolean>(field: RequestField<T>, fallback: T): RequestField<T>
export function optional(field: RequestField<unknown>, fallback?: string | number | boolean): RequestField<unknown> {
  return {
    ...field,
    schema: fallback === undefined ? field.schema : { ...field.schema, default: fallback },
    isRequired: false,
    read: (value) => (value === undefined ? fallback : field.read(value)),
  }
}

/** An optional field whose null reads as absent. */
export function nullable<T>(field: RequestField<T>): RequestField<T | undefined> {
  const { type } = field.schema
  return {
    ...optional(field),
    schema: type === undefined ? field.schema : { ...field.schema, type: [type, 'null'].flat() },
    read: (value) => (value === undefined || isNull(value) ? undefined : field.read(value)),
  }
}

/** @param refuse Creates the error for the first field that violates its schema; `why` follows the name of the field. */
export function readFields<F extends RequestFields>(
  fields: F,
  valueOf: (name: string) => JsonText | undefined,
  refuse: (name: string, why: string, field: RequestField<unknown>) => ServiceError,
): ValuesOf<F> {
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const sent = valueOf(name)
    const value = field.read(sent)
    if (value === violation) {
      const isMissing = sent === undefined && field.schema.enum === undefined
      throw refuse(name, isMissing ? 'is missing' : `must be ${field.expected}`, field)
    }
    values[name] = value
  }
  return values as ValuesOf<F>
}

/** @param what Completes the sentence “Cannot …”. @throws ServiceError `bad_request` that names the field. */
export function readObject<F extends RequestFields>(what: string, fields: F, body: JsonText): ValuesOf<F> {
  const given = isObject(body) ? members(body) : null
  if (given === null) throw new ServiceError('bad_request', `Cannot ${what}: the body must be a JSON object`)
  return readFields(fields, (name) => given.get(name), refusedField(what))
}

export function refusedField(what: string): (name: string, why: string) => ServiceError {
  return (name, why) => new ServiceError('bad_request', `Cannot ${what}: ${name} ${why}`)
}

export function objectSchema(fields: RequestFields): FieldSchema {
  const required = Object.entries(fields).flatMap(([name, { isRequired }]) => (isRequired ? [name] : []))
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  }
}

/** Makes fields of each kind, for the requests of a feature. @experimental */
export const fieldKinds = {
  text: stringField,
  integer: integerField,
  flag: flagField,
  choice: choiceField,
  json: jsonField,
  time: timeField,
  optional,
  nullable,
} as const
