/**
 * Schemas that an application declares: a Standard Schema that converts to JSON Schema (such as zod 4.2 or later), or
 * plain JSON Schema. Both become a `Schema`: a JSON Schema to publish and a check to run.
 */
import type { Ajv2020, ErrorObject, FuncKeywordDefinition } from 'ajv/dist/2020.js'
import { problemIn } from '../config/config-error.ts'
import { ServiceError } from '../errors.ts'
import { canonical } from '../json/canonical.ts'
import type { Json } from '../json/json.ts'
import { requireLinearPatterns, SlowPatternError } from './patterns/declared.ts'
import { deepestFor } from './patterns/nesting.ts'

/** A JSON schema as plain data. @public */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** The part of the Standard Schema interface (standardschema.dev) that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input?: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>
    }
  }
}

interface JsonSchemaOptions {
  readonly target: 'draft-2020-12'
  readonly libraryOptions?: Record<string, unknown> | undefined
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema of a library such as Zod, or a JSON schema. @public */
export type DeclaredSchema = StandardSchema | JsonSchema

/** The type of a handler's input for a declared schema. @public */
export type InferOutput<S> = S extends StandardSchema<infer Output> ? Output : unknown

/** The type of a value that fits a declared schema before the schema converts it. @public */
export type InferInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input }
    ? Input
    : InferOutput<S>
  : Json | object

/** The type of stored data that fits a declared schema. @public */
export type InferData<S> = S extends StandardSchema<infer Output> ? Output : Json

/** A schema of stored data. Its check does not wait, because it runs inside transactions. */
export interface DataSchema {
  readonly jsonSchema: JsonSchema | null
  /** Loads the validator and checks the patterns. Call it once before `check`. @throws SlowPatternError */
  load(): Promise<void>
  /** Returns the value as the schema converts it. @throws UnfitError */
  check(value: Json): unknown
}

/** A value that does not fit its schema. The message says why, and `path` where. */
export class UnfitError extends Error {
  readonly path: readonly string[]

  constructor(path: readonly string[], message: string) {
    super(message)
    this.name = 'UnfitError'
    this.path = path
  }
}

export interface Schema {
  readonly jsonSchema: JsonSchema | null
  /** Loads the validator of a plain JSON Schema. @throws Error when the JSON Schema is not valid. */
  load(): Promise<void>
  /** @throws SlowPatternError when a pattern can take long for a short string. */
  requireLinear(): Promise<void>
  /** True for a Standard Schema, false for plain JSON Schema. */
  readonly isTyped: boolean
  /** Validates a value. @throws ServiceError `invalid_input` naming the first invalid field. */
  check(value: unknown): Promise<unknown>
}

/**
 * @param explicit JSON Schema to publish without conversion, so `declared` may use features that JSON Schema lacks.
 * @throws Error whose message names the field, when the conversion to JSON Schema fails.
 */
export function inputSchema(declared: DeclaredSchema, explicit?: JsonSchema): Schema {
  return schemaFor(declared, explicit ?? jsonSchemaOf(declared, 'input'))
}

/** Like `inputSchema`, for results. */
export function outputSchema(declared: DeclaredSchema, explicit?: JsonSchema): Schema {
  return schemaFor(declared, explicit ?? jsonSchemaOf(declared, 'output'))
}

/**
 * A schema for stored data.
 *
 * @param explicit JSON Schema to publish without conversion.
 * @throws Error whose message names the field, when the conversion to JSON Schema fails.
 */
export function dataSchema(declared: DeclaredSchema, explicit?: JsonSchema): DataSchema {
  const jsonSchema = explicit ?? jsonSchemaOf(declared, 'output')
  const requireLinear = (): Promise<void> =>
    requireLinearPatterns(isStandard(declared) ? declared : null, jsonSchema, fieldAt)
  if (isStandard(declared)) return { jsonSchema, load: requireLinear, check: (value) => fittingValue(declared, value) }
  let validate: Validator | undefined
  return {
    jsonSchema,
    async load() {
      validate = await compile(declared)
      await requireLinear()
    },
    check(value) {
      if (validate === undefined) throw new Error('Cannot check data: its schema is not loaded')
      const problem = validate(value)
      if (problem === null) return value
      throw new UnfitError(problem.path, problem.message)
    },
  }
}

function fittingValue(schema: StandardSchema, value: Json): unknown {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise)
    throw new Error('Cannot check data: its schema waits for a promise, but it must decide at once')
  if (result.issues === undefined) return result.value
  const { path, message } = issueOf(result.issues)
  throw new UnfitError(path, message)
}

function issueOf([issue]: readonly StandardIssue[]): { readonly path: string[]; readonly message: string } {
  const path = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
  return { path, message: issue?.message ?? 'does not fit' }
}

function schemaFor(declared: DeclaredSchema, jsonSchema: JsonSchema | null): Schema {
  const requireLinear = (): Promise<void> =>
    requireLinearPatterns(isStandard(declared) ? declared : null, jsonSchema, fieldAt)
  if (isStandard(declared))
    return {
      jsonSchema,
      isTyped: true,
      load: async () => {},
      requireLinear,
      check: (value) => checkStandard(declared, value),
    }
  let validator: Promise<Validator> | undefined
  const load = (): Promise<Validator> => (validator ??= compile(declared))
  return {
    jsonSchema,
    isTyped: false,
    async load() {
      await load()
    },
    requireLinear,
    check: async (value) => checkJsonSchema(await load(), value),
  }
}

/** Describes why a schema was refused, to continue "its schema". */
export function schemaFault(error: unknown): string {
  if (error instanceof SlowPatternError) return error.message
  return `is not a valid JSON Schema: ${problemIn(error)}`
}

function jsonSchemaOf(declared: DeclaredSchema, side: 'input' | 'output'): JsonSchema | null {
  return isStandard(declared) ? published(declared, side) : declared
}

function isStandard(declared: DeclaredSchema): declared is StandardSchema {
  return '~standard' in declared
}

function published(schema: StandardSchema, side: 'input' | 'output'): JsonSchema | null {
  const convert = schema['~standard'].jsonSchema?.[side]
  if (convert === undefined) return null
  try {
    const { $schema: _dialect, ...rest } = convert({ target: 'draft-2020-12' })
    return rest
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const field = fieldAt(placeOfFailure(convert))
    throw new Error(field === '' ? reason : `field "${field}": ${reason}`, { cause })
  }
}

/**
 * The place in the JSON Schema at which zod fails to convert. Empty for other libraries. The first conversion does not pass
 * this function, because earlier versions of zod take any function as leave to publish less.
 */
function placeOfFailure(convert: (options: JsonSchemaOptions) => unknown): readonly PropertyKey[] {
  let place: readonly PropertyKey[] | undefined
  const unrepresentable = ({ path }: { readonly path: readonly PropertyKey[] }): 'any' => {
    place ??= path
    return 'any'
  }
  try {
    convert({ target: 'draft-2020-12', libraryOptions: { unrepresentable } })
  } catch {
    // The conversion fails for another reason, which has no place.
  }
  return place ?? []
}

/** The field at a place of a JSON Schema: `times[].at` for `properties/times/items/properties/at`. */
function fieldAt(place: readonly PropertyKey[]): string {
  let field = ''
  for (let at = 0; at < place.length; at++) {
    const keyword = String(place[at])
    if (keyword === 'properties') field += `.${String(place[++at])}`
    else if (keyword === 'items') field += '[]'
    else if (keyword === 'prefixItems') field += `[${String(place[++at])}]`
    else if (keyword === 'additionalProperties') field += '.*'
    else if (keyword === 'patternProperties') field += `.${String(place[++at])}`
    else if (['anyOf', 'oneOf', 'allOf'].includes(keyword)) at++
  }
  return field.replace(/^\./, '')
}

async function checkStandard(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const { path, message } = issueOf(result.issues)
  throw invalidInput(path, message)
}

function invalidInput(path: readonly string[], message: string): ServiceError {
  const field = path.length === 0 ? 'the input' : `field "${path.join('.')}"`
  return new ServiceError('invalid_input', `Cannot accept ${field}: ${message}`, { members: { field: path.join('.') } })
}

function checkJsonSchema(validate: Validator, value: unknown): unknown {
  const problem = validate(value)
  if (problem === null) return value
  throw invalidInput(problem.path, problem.message)
}

function fieldOf(error: ErrorObject): string[] {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const missing = (error.params as { missingProperty?: unknown }).missingProperty
  return typeof missing === 'string' ? [...path, missing] : path
}

/** Loads Ajv on the first use of a plain JSON Schema, so applications with zod schemas never load it. */
const validation = { strict: false, validateFormats: false, ownProperties: true }

/** Validates schemas themselves. It compiles the schema of schemas once, which takes about 30 ms and 7 MiB. */
let schemaCheck: Ajv2020 | undefined

/** Returns why a value does not fit. Null: it fits. */
type Validator = (value: unknown) => { readonly path: readonly string[]; readonly message: string } | null

/** @throws Error when the schema is not a valid JSON Schema. */
async function compile(schema: JsonSchema): Promise<Validator> {
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  schemaCheck ??= new Ajv2020(validation)
  await schemaCheck.validateSchema(schema, true)
  // Each schema has its own instance, because two schemas may have the same `$id`.
  const ajv = new Ajv2020({ ...validation, validateSchema: false })
  ajv.removeKeyword(uniqueItems.keyword).addKeyword(uniqueItems)
  const validate = ajv.compile(schema)
  const deepest = deepestFor(schema)
  return (value) => {
    if (deepest !== null && isDeeper(value, deepest))
      return {
        path: [],
        message: `it is nested more than ${deepest} levels deep, which its schema cannot check in time`,
      }
    if (validate(value)) return null
    const [error] = validate.errors ?? []
    return { path: error === undefined ? [] : fieldOf(error), message: error?.message ?? 'does not fit' }
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1))
}

/** Ajv compares each item with each other one, which takes 20 minutes for a body of 1.5 MB. This takes linear time. */
const uniqueItems = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (isUnique: boolean, items: readonly unknown[]): boolean => {
    if (!isUnique) return true
    // JSON has no -0, so it equals 0 here.
    const plain = JSON.parse(JSON.stringify(items)) as readonly unknown[]
    return new Set(plain.map(canonical)).size === plain.length
  },
  error: { message: 'must NOT have duplicate items' },
} satisfies FuncKeywordDefinition
