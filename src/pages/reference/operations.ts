/** Reads the OpenAPI document for the reference. The forms of the owner's pages are left out. */
import type { ReferenceBody, ReferenceOperation, ReferenceParameter, ReferenceValues } from './values.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
}

interface Parameter {
  readonly name: string
  readonly in: ReferenceParameter['place']
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
}

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly security?: readonly object[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> }
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** @param document the OpenAPI document of the service, as JSON. */
export function referenceGroups(document: string): ReferenceValues['groups'] {
  const { paths } = JSON.parse(document) as ApiDocument
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags = [] }]) => !tags.includes('www'))
      .map(([method, operation]) => operationOf(path, method, operation)),
  )
  return [...Map.groupBy(operations, ({ path }) => groupOf(path))].map(([name, own]) => ({ name, operations: own }))
}

/** The first name in the path, or `/` for the service and the actor themselves. */
function groupOf(path: string): string {
  const [, name = ''] = /^(?:\/\{actor\})?\/([^/{]+)/.exec(path) ?? []
  return name === '' ? '/' : name
}

function operationOf(path: string, method: string, operation: Operation): ReferenceOperation {
  const { operationId, summary = '', parameters = [], security = [{}], requestBody, responses = {} } = operation
  return {
    id: operationId ?? `${method} ${path}`.replace(/[^\w]+/g, '-'),
    method: method.toUpperCase(),
    path,
    summary,
    is_protected: security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0),
    parameters: parameters.map(parameterOf),
    bodies: Object.entries(requestBody?.content ?? {}).map(bodyOf),
    responses: Object.entries(responses).map(([status, { description = '' }]) => ({ status, description })),
  }
}

function parameterOf({ name, in: place, required, description, schema = {} }: Parameter): ReferenceParameter {
  return {
    name,
    place,
    is_required: required === true,
    type: typeOf(schema),
    description: description ?? schema.description ?? '',
  }
}

function typeOf({ type, enum: values, minimum, maximum }: Schema): string {
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  const name = type === undefined ? '' : [type].flat().join(' | ')
  return minimum === undefined && maximum === undefined ? name : `${name} ${minimum ?? ''}…${maximum ?? ''}`
}

function bodyOf([type, { schema }]: [string, { readonly schema?: unknown }]): ReferenceBody {
  return { type, schema: schema === undefined ? '' : JSON.stringify(schema, null, 2) }
}
