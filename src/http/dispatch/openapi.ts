/** Generates the OpenAPI 3.1 document from the route table and the declarations of the application. */
import type { Identity } from '../../app/identity.ts'
import type { DataDeclaration } from '../../app/data-declarations.ts'
import type { Descriptor, OperationKind, Registry } from '../../app/registry.ts'
import type { FieldSchema } from '../../json/fields.ts'
import { type Documentation, isOfService, type Route } from './route.ts'
import { approvalRequiredSchema, conditional, entityTagHeader } from './schemas.ts'

interface About {
  readonly identity: Identity
  readonly baseUrl: string
  readonly registry: Registry
}

type Operation = Readonly<Record<string, unknown>>

export function openApiDocument(routes: readonly Route[], about: About): object {
  const paths: Record<string, Record<string, Operation>> = {}
  const add = (path: string, method: string, operation: Operation): void => {
    paths[path] = { ...paths[path], [method]: operation }
  }
  for (const route of routes) add(...described(route))
  for (const route of endsAtItself(routes)) add(...described(route))
  for (const kind of ['methods', 'actions'] as const) {
    for (const descriptor of about.registry.descriptors(kind)) {
      const name = descriptor.name.toWellFormed().split('/').map(encodeURIComponent).join('/')
      add(
        `/{actor}/${kind}/${name}`,
        'post',
        describedCall(kind, descriptor, about.registry.needsApproval(kind, descriptor.name)),
      )
    }
  }
  const schemas: Record<string, object> = {}
  for (const data of about.registry.data.values()) {
    const component = freeName(componentOf(data), schemas)
    schemas[component] = data.schema.jsonSchema ?? {}
    for (const [path, method, operation] of describedData(data, component)) add(path, method, operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: about.identity.name,
      version: about.identity.version,
      ...(about.identity.description === '' ? {} : { description: about.identity.description }),
    },
    servers: [{ url: about.baseUrl }],
    paths,
    components: {
      ...(Object.keys(schemas).length === 0 ? {} : { schemas }),
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'The actor’s creator and passphrase' },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A session token, the secret of a trust relationship, or at `/mcp` an access token of a client',
        },
      },
    },
  }
}

/** Returns the routes whose final `*` may be empty. A path parameter of OpenAPI cannot be empty, so each needs a second path. */
function endsAtItself(routes: readonly Route[]): Route[] {
  const taken = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  return routes
    .filter(({ path }) => path.endsWith('/*'))
    .map((route) => ({ ...route, id: `${route.id}Itself`, path: route.path.slice(0, -2) }))
    .filter(({ method, path }) => !taken.has(`${method} ${path}`))
}

function described(route: Route): [path: string, method: string, operation: Operation] {
  const isOpen = route.path.endsWith('/*')
  const template = route.path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}')
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return [
    template,
    route.method.toLowerCase(),
    {
      operationId: route.id,
      summary: route.summary,
      ...(route.freshSignIn === undefined ? {} : { description: freshSignInNote[route.freshSignIn] }),
      tags: [route.access],
      parameters: [
        ...names.map((name) => ({
          name,
          in: 'path',
          required: true,
          ...parameter(route.params?.[name]?.schema ?? { type: 'string' }),
          ...(isOpen && name === 'path' ? { description: 'One or more segments, separated by slashes' } : {}),
        })),
        ...Object.entries(route.query ?? {}).map(([name, field]) => ({
          name,
          in: 'query',
          ...parameter(field.schema),
        })),
        ...Object.entries(route.queryGroups ?? {}).map(([name, description]) => ({
          name,
          in: 'query',
          description,
          style: 'deepObject',
          explode: true,
          schema: { type: 'object' },
        })),
        ...headerParameters(route.headers ?? {}),
        ...conditionHeaders(route.conditions),
      ],
      ...security(route),
      ...requestBody(route),
      responses: responses(documentedResponses(route), route.conditions === 'read'),
    },
  ]
}

/** Sentences of the documentation about routes that need a recent sign-in. */
export const freshSignInNote = {
  all: 'A session needs a recent sign-in: 401 `insufficient_user_authentication` otherwise.',
  some: 'What outlives the session needs a recent sign-in: 401 `insufficient_user_authentication` otherwise.',
} as const

function conditionHeaders(conditions: Documentation['conditions']): Operation[] {
  return conditions === undefined ? [] : headerParameters(conditional[conditions].headers)
}

function headerParameters(headers: Readonly<Record<string, string>>): Operation[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }))
}

/** All responses of a route, with those that its conditions add. */
export function documentedResponses({ responses: own, conditions }: Documentation): Documentation['responses'] {
  return conditions === undefined ? own : { ...own, ...conditional[conditions].responses }
}

function security(route: Route): Operation {
  if (route.access === 'client') {
    const token = { bearer: [] }
    return { security: route.withoutToken === undefined ? [token] : [{}, token] }
  }
  if (isOfService(route) || route.access === 'public') return { security: [] }
  const known = route.access === 'www' ? [{ bearer: [] }] : [{ basic: [] }, { bearer: [] }]
  return { security: route.access === 'open' ? [{}, ...known] : known }
}

/** Moves the description out of the schema, because OpenAPI expects it in the parameter. */
function parameter({ description, ...schema }: FieldSchema): Operation {
  return description === undefined ? { schema } : { description, schema }
}

function requestBody({ request }: Documentation): Operation {
  if (request === undefined) return {}
  return {
    requestBody: {
      content: Object.fromEntries(Object.entries(request.content).map(([type, schema]) => [type, { schema }])),
    },
  }
}

function responses(documented: Documentation['responses'], hasTags: boolean): Operation {
  return Object.fromEntries(
    Object.entries(documented).map(([status, response]) => {
      const headers = hasTags && (status === '200' || status === '304') ? { headers: entityTagHeader } : {}
      if (typeof response === 'string') return [status, { description: response, ...headers }]
      const { text, schema, type } = response
      if (schema === undefined && type === undefined) return [status, { description: text, ...headers }]
      return [
        status,
        {
          description: text,
          ...headers,
          content: { [type ?? 'application/json']: schema === undefined ? {} : { schema } },
        },
      ]
    }),
  )
}

/** The name of the schema of declared data. Component names allow few characters. */
function componentOf({ kind, name }: DataDeclaration): string {
  return `${kind === 'list' ? 'Item' : 'Property'}_${name.replace(/[^\w.-]/g, '_')}`
}

/** The name, with a number when another name looks the same. */
function freeName(name: string, taken: Readonly<Record<string, object>>): string {
  let free = name
  for (let number = 2; free in taken; number++) free = `${name}_${number}`
  return free
}

type Unconditional = Operation & { readonly responses: Operation }

/** A function that describes an operation on declared data, with the conditions on its entity tag. */
function operationOf({ kind, name, description }: Pick<DataDeclaration, 'kind' | 'name' | 'description'>) {
  return (verb: string, summary: string, { responses: own, ...rest }: Unconditional): Operation => {
    const conditions = verb === 'read' ? 'read' : 'write'
    return {
      operationId: `${kind === 'list' ? 'list' : 'property'}:${name}:${verb}`,
      summary: description === '' ? summary : `${description}: ${summary.toLowerCase()}`,
      tags: ['properties'],
      parameters: [
        { name: 'actor', in: 'path', required: true, schema: { type: 'string' } },
        ...conditionHeaders(conditions),
      ],
      security: [{ basic: [] }, { bearer: [] }],
      ...rest,
      responses: { ...own, ...responses(conditional[conditions].responses, conditions === 'read') },
    }
  }
}

function describedData(
  { kind, name, description }: DataDeclaration,
  component: string,
): (readonly [path: string, method: string, operation: Operation])[] {
  const path = `/{actor}/properties/${encodeURIComponent(name.toWellFormed())}`
  const schema = { $ref: `#/components/schemas/${component}` }
  const content = (of: object): Operation => ({ content: { 'application/json': { schema: of } } })
  const operation = operationOf({ kind, name, description })
  const refusals = {
    400: { description: '`invalid_value`: the value does not fit the schema. `field` names the place' },
    403: { description: 'The caller has no right to do this' },
  }
  if (kind === 'list')
    return [
      [
        path,
        'get',
        operation('read', 'Reads the items', {
          responses: { 200: { description: 'The items', ...content({ type: 'array', items: schema }) } },
        }),
      ],
      [
        path,
        'post',
        operation('append', 'Appends an item', {
          requestBody: { required: true, ...content(schema) },
          responses: { 201: { description: 'The stored item', ...content(schema) }, ...refusals },
        }),
      ],
    ]
  return [
    [
      path,
      'get',
      operation('read', 'Reads the value', { responses: { 200: { description: 'The value', ...content(schema) } } }),
    ],
    [
      path,
      'put',
      operation('set', 'Sets the value', {
        requestBody: { required: true, ...content(schema) },
        responses: { 204: { description: 'The value is stored' }, ...refusals },
      }),
    ],
  ]
}

const approvalResponses = {
  403: {
    description: '`approval_required`, for every caller except the owner. Repeat the call after the owner approved it',
    content: { 'application/json': { schema: approvalRequiredSchema } },
  },
} as const

function describedCall(kind: OperationKind, descriptor: Descriptor, needsApproval: boolean): Operation {
  return {
    operationId: `${kind === 'methods' ? 'method' : 'action'}:${descriptor.name}`,
    summary: descriptor.description === '' ? descriptor.name : descriptor.description,
    tags: [kind],
    parameters: [{ name: 'actor', in: 'path', required: true, schema: { type: 'string' } }],
    security: [{ basic: [] }, { bearer: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: descriptor.input_schema ?? {} } } },
    responses: {
      200: {
        description: 'The result of the handler',
        content: { 'application/json': descriptor.output_schema === null ? {} : { schema: descriptor.output_schema } },
      },
      ...(needsApproval ? approvalResponses : {}),
    },
  }
}
