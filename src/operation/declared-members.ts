/**
 * The members of a call's input that its JSON Schema declares. A caller chooses all other names, so such a member can
 * look like a statement of the service: `"recipient (checked)": "Your landlord"`.
 */
import type { JsonSchema } from '../app/schema.ts'
import { ServiceError } from '../errors.ts'
import { isRecord } from '../json/is-record.ts'

/** Keywords that combine schemas for the same value. */
const alternatives = ['anyOf', 'oneOf'] as const
const conditions = ['if', 'then', 'else'] as const
/** Keywords without an effect on validation. */
const annotations: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
])
/** Limit for schemas that refer to themselves. */
const deepest = 32

/**
 * Refuses a member that the schema neither declares nor explicitly allows (`additionalProperties`, `patternProperties`), at
 * every depth. An object without any declared member may have every name.
 *
 * @param schema Null: every member is allowed.
 * @throws ServiceError `invalid_input` with the path of the member.
 */
export function requireDeclared(schema: JsonSchema | null, given: unknown): void {
  const path = schema === null ? null : undeclaredIn(given, [schema], schema)
  if (path === null) return
  throw new ServiceError(
    'invalid_input',
    `Cannot accept field "${path.join('.')}": it is not declared, and a call that needs the owner's approval may have only declared fields`,
    { members: { field: path.join('.') } },
  )
}

/** The names of members of the outermost object that the schema does not declare in `properties`. */
export function undeclaredNames(schema: JsonSchema | null, given: unknown): readonly string[] {
  if (!isRecord(given)) return []
  const schemas = schema === null ? [] : partsOf([schema], schema)
  return Object.keys(given).filter((name) => !schemas.some((part) => member(part['properties'], name) !== undefined))
}

function undeclaredIn(value: unknown, schemas: readonly JsonSchema[], root: JsonSchema, depth = 0): string[] | null {
  if (depth > deepest) return null
  const parts = partsOf(schemas, root)
  const below = (name: string, inner: unknown, inners: readonly JsonSchema[]): string[] | null => {
    const path = inners.length === 0 ? null : undeclaredIn(inner, inners, root, depth + 1)
    return path === null ? null : [name, ...path]
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const path = below(String(index), item, itemSchemas(parts, index))
      if (path !== null) return path
    }
    return null
  }
  if (!isRecord(value) || !parts.some(({ properties }) => isRecord(properties))) return null
  const isOpen = parts.some(allowsAny)
  for (const [name, inner] of Object.entries(value)) {
    const found = memberSchemas(parts, name)
    if (found === null && !isOpen) return [name]
    const path = below(name, inner, found ?? [])
    if (path !== null) return path
  }
  return null
}

/** The schemas for a member. Null when no part declares or allows it. */
function memberSchemas(parts: readonly JsonSchema[], name: string): readonly JsonSchema[] | null {
  const found = parts.flatMap((part) => {
    const { properties, patternProperties, additionalProperties, unevaluatedProperties } = part
    const declared = member(properties, name)
    if (declared !== undefined) return [declared]
    const matching = Object.entries(isRecord(patternProperties) ? patternProperties : {})
      .filter(([pattern]) => new RegExp(pattern, 'u').test(name))
      .map(([, schema]) => schema)
    return matching.length > 0 ? matching : [additionalProperties ?? unevaluatedProperties ?? false]
  })
  return found.every((schema) => schema === false) ? null : found.filter(isRecord)
}

function itemSchemas(parts: readonly JsonSchema[], index: number): readonly JsonSchema[] {
  return parts
    .map(({ prefixItems, items }): unknown =>
      Array.isArray(prefixItems) && index < prefixItems.length ? (prefixItems[index] as unknown) : items,
    )
    .filter(isRecord)
}

/** The schemas and every schema that they combine for the same value, references included. */
function partsOf(schemas: readonly JsonSchema[], root: JsonSchema): readonly JsonSchema[] {
  const seen = new Set<JsonSchema>(schemas)
  for (const schema of seen) {
    const { $ref: reference, allOf, dependentSchemas } = schema
    const combined = [
      ...(typeof reference === 'string' ? [referenced(root, reference)] : []),
      ...listOf(allOf),
      ...alternatives.flatMap((keyword) => listOf(schema[keyword])),
      ...conditions.map((keyword) => schema[keyword]),
      ...(isRecord(dependentSchemas) ? Object.values(dependentSchemas) : []),
    ]
    for (const each of combined) if (isRecord(each)) seen.add(each)
  }
  return [...seen]
}

/** True for a schema with an alternative that accepts every object. */
function allowsAny(schema: JsonSchema): boolean {
  return alternatives.some((keyword) => listOf(schema[keyword]).some(acceptsEveryObject))
}

function acceptsEveryObject(schema: unknown): boolean {
  if (!isRecord(schema)) return schema === true
  const { type = 'object' } = schema
  const isObject = Array.isArray(type) ? type.includes('object') : type === 'object'
  return isObject && Object.keys(schema).every((keyword) => keyword === 'type' || annotations.has(keyword))
}

/** The schema at a JSON Pointer of the document. Undefined for every other reference. */
function referenced(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  let at: unknown = root
  for (const part of reference.slice(1).split('/').slice(1))
    at = member(at, decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
  return at
}

function member(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}
