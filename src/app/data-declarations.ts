/** Declared data: properties and lists whose values fit a schema. */
import { ConfigError, problemIn } from '../config/config-error.ts'
import { fromPlain, type Json, type JsonText } from '../json/json.ts'
import { type MembersOf, requireMembers } from './known-members.ts'
import {
  dataSchema,
  type DataSchema,
  type DeclaredSchema,
  type InferData,
  type InferInput,
  type JsonSchema,
  schemaFault,
} from './schema.ts'

/** The most indexes of a list. Each adds a row for every item. */
const maxIndexes = 8

const propertyMembers: MembersOf<PropertyDeclaration> = {
  schema: true,
  jsonSchema: true,
  default: true,
  description: true,
  version: true,
  migrate: true,
}
const listMembers: MembersOf<ListDeclaration> = {
  item: true,
  itemSchema: true,
  description: true,
  explanation: true,
  indexes: true,
  version: true,
  migrate: true,
}

/** The names of the members of an item. */
export type ItemField<Item> = Item extends readonly unknown[]
  ? never
  : Item extends object
    ? keyof Item & string
    : never

/** The declaration of a property. @public */
export interface PropertyDeclaration<S extends DeclaredSchema = DeclaredSchema> {
  /** Every value that is stored fits this schema, however it is written. A schema that waits for a promise is refused. */
  readonly schema: S
  /** JSON Schema to publish instead of the one derived from `schema`. */
  readonly jsonSchema?: JsonSchema
  /** The value of actors that have not set the property. Default: none, so the property does not exist until it is set. */
  readonly default?: InferInput<S>
  /** Shown to people and AI clients. */
  readonly description?: string
  /** The version of the schema. Increase it when older values no longer fit, and declare `migrate`. Default: 1. */
  readonly version?: number
  /** Returns a value of an older version in the form of this one. It runs at every read until the value is written again. */
  readonly migrate?: Migrate<S>
}

/**
 * Upgrades a stored value. It returns at once and may run more than once for the same value.
 *
 * @param old a copy of the stored value.
 * @param from the version with which the value was stored.
 */
export type Migrate<S extends DeclaredSchema> = (old: unknown, from: number) => InferInput<S>

/** The declaration of a list. @public */
export interface ListDeclaration<S extends DeclaredSchema = DeclaredSchema> {
  /** Every item that is stored fits this schema, however it is written. A schema that waits for a promise is refused. */
  readonly item: S
  /** JSON Schema to publish instead of the one derived from `item`. */
  readonly itemSchema?: JsonSchema
  /** The description of the list. Shown to people and AI clients. */
  readonly description?: string
  /** The explanation of the list, for AI clients. */
  readonly explanation?: string
  /** The fields by which a long list can be queried. Each one adds a row for every item. */
  readonly indexes?: readonly ItemField<InferData<S>>[]
  /** The version of the schema of an item. Increase it when older items no longer fit, and declare `migrate`. Default: 1. */
  readonly version?: number
  /** Returns an item of an older version in the form of this one. It runs at every read until the item is written again. */
  readonly migrate?: Migrate<S>
}

/**
 * A declared property, the result of `App.property`.
 *
 * @typeParam Value the type of a value that is read.
 * @typeParam Given the type of a value to write.
 * @typeParam Missing what a read returns before the property was set: `undefined` without a default.
 * @typeParam Name the name, for clients that are typed from the application.
 * @public
 */
export interface DeclaredProperty<Value = Json, Given = Value, Missing = undefined, Name extends string = string> {
  readonly kind: 'property'
  readonly name: Name
  /** For the type checker only. */
  readonly '~types'?: { readonly value: Value; readonly given: Given; readonly missing: Missing }
}

/**
 * A declared list, the result of `App.list`.
 *
 * @typeParam Item the type of an item that is read.
 * @typeParam Given the type of an item to write.
 * @typeParam Name the name, for clients that are typed from the application.
 * @public
 */
export interface DeclaredList<Item = Json, Given = Item, Name extends string = string> {
  readonly kind: 'list'
  readonly name: Name
  /** For the type checker only. */
  readonly '~types'?: { readonly item: Item; readonly given: Given }
}

/** The declaration of a name. */
export interface DataDeclaration {
  readonly kind: 'value' | 'list'
  readonly name: string
  /** The schema of the value, or of each item. */
  readonly schema: DataSchema
  /** The default value. Null without a default, and for a list, which is empty by default. */
  readonly default: JsonText | null
  readonly description: string
  readonly explanation: string
  /** The indexed fields of a list. */
  readonly indexes: readonly string[]
  /** The version with which values and items are written, from 1. */
  readonly version: number
  /** Upgrades older values or items. Null for version 1. */
  readonly migrate: ((old: unknown, from: number) => unknown) | null
}

export function declaredProperty<S extends DeclaredSchema>(
  name: string,
  declaration: PropertyDeclaration<S>,
): DataDeclaration {
  const what = `the property ${JSON.stringify(name)}`
  requireMembers(`Cannot declare ${what}:`, propertyMembers, declaration)
  const { schema, jsonSchema, default: given, description = '', version, migrate } = declaration
  return {
    kind: 'value',
    name,
    schema: schemaOf(what, 'schema', 'jsonSchema', schema, jsonSchema),
    default: given === undefined ? null : defaultOf(what, given),
    description,
    explanation: '',
    indexes: [],
    ...versionOf(what, version, migrate),
  }
}

export function declaredList<S extends DeclaredSchema>(name: string, declaration: ListDeclaration<S>): DataDeclaration {
  const what = `the list ${JSON.stringify(name)}`
  requireMembers(`Cannot declare ${what}:`, listMembers, declaration)
  const { item, itemSchema, description = '', explanation = '', indexes = [], version, migrate } = declaration
  return {
    kind: 'list',
    name,
    schema: schemaOf(what, 'item', 'itemSchema', item, itemSchema),
    default: null,
    description,
    explanation,
    indexes: indexesOf(what, indexes),
    ...versionOf(what, version, migrate),
  }
}

function versionOf(
  what: string,
  version: unknown = 1,
  migrate?: DataDeclaration['migrate'],
): Pick<DataDeclaration, 'version' | 'migrate'> {
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1)
    throw new ConfigError(`Cannot declare ${what}: version must be a whole number of at least 1.`)
  if (version > 1 && typeof migrate !== 'function')
    throw new ConfigError(
      `Cannot declare ${what}: version ${version} needs migrate, a function that upgrades older values.`,
    )
  if (version === 1 && migrate !== undefined)
    throw new ConfigError(`Cannot declare ${what}: migrate needs a version of at least 2.`)
  return { version, migrate: migrate ?? null }
}

function indexesOf(what: string, indexes: readonly string[]): readonly string[] {
  if (indexes.length > maxIndexes)
    throw new ConfigError(`Cannot declare ${what}: it has more than ${maxIndexes} indexes.`)
  const isNames = indexes.every((field) => typeof field === 'string' && field !== '')
  if (!isNames || new Set(indexes).size < indexes.length)
    throw new ConfigError(`Cannot declare ${what}: indexes must be different names of fields.`)
  return indexes
}

/** Loads what the schema needs, and checks the default value. @throws ConfigError when the default does not fit the schema. */
export async function prepareData(declaration: DataDeclaration): Promise<DataDeclaration> {
  const what = `the ${declaration.kind === 'list' ? 'list' : 'property'} ${JSON.stringify(declaration.name)}`
  try {
    await declaration.schema.load()
  } catch (error) {
    throw new ConfigError(`Cannot declare ${what}: its schema ${schemaFault(error)}.`)
  }
  if (declaration.default === null) return declaration
  try {
    const fitting = declaration.schema.check(JSON.parse(declaration.default) as Json)
    return { ...declaration, default: fromPlain(fitting) }
  } catch (error) {
    throw new ConfigError(`Cannot declare ${what}: its default does not fit its schema: ${problemIn(error)}`)
  }
}

function schemaOf(
  what: string,
  member: string,
  explicitMember: string,
  schema: DeclaredSchema | undefined,
  explicit: JsonSchema | undefined,
): DataSchema {
  if (schema === undefined || (typeof schema !== 'object' && typeof schema !== 'function'))
    throw new ConfigError(
      `Cannot declare ${what}: ${member} must be a zod schema, any other Standard Schema or a JSON Schema.`,
    )
  try {
    return dataSchema(schema, explicit)
  } catch (error) {
    throw new ConfigError(
      `Cannot publish the schema of ${what} as JSON Schema: ${problemIn(error)}. Declare ${explicitMember} too.`,
    )
  }
}

function defaultOf(what: string, given: unknown): JsonText {
  try {
    return fromPlain(given)
  } catch (error) {
    throw new ConfigError(`Cannot declare ${what}: its default is not JSON: ${String(error)}`)
  }
}
