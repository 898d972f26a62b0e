/**
 * `resources/…`: the application's methods that it offers as resources, and the actor's own properties and lists under
 * `actingweb://properties/`, as far as the client may read them.
 */
import { handlerResult } from '../app/handler-result.ts'
import { array, type JsonText, object, toPlain } from '../json/json.ts'
import type { StoredProperty } from '../property/property-store.ts'
import type { McpCallIn } from './call.ts'
import { dressed, type Resource } from './catalogue.ts'
import { pageOf } from './cursor.ts'
import { McpFailure } from './failure.ts'
import type { McpParts } from './mcp-parts.ts'
import { isRecord } from './message.ts'
import { complete, type Result } from './result.ts'
import { withoutSecrets } from './tool-result.ts'
import { handsOf } from './hands.ts'

const listTtlMs = 5_000
const propertiesUri = 'actingweb://properties/'
const everything = `${propertiesUri}all`
const longestUri = 2048

interface Listed {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
}

export async function listResources(parts: McpParts, call: McpCallIn): Promise<Result> {
  const declared = parts.catalogue.resources.filter(({ template }) => !template.isTemplate)
  const uris = [...declared.map(({ template }) => template.text), everything]
  const { actor, caller } = call.access
  const readable = await parts.permission.filter(actor.id, caller, { category: 'resources', right: 'read' }, uris)
  const own = (await visibleProperties(parts, call)).map(({ name, kind }) => ({
    uri: uriOf(name),
    name,
    description: kind === 'list' ? 'A list of the actor' : 'A property of the actor',
    mimeType: 'application/json',
  }))
  const all: Listed[] = [
    ...declared.filter(({ template }) => readable.has(template.text)).map(view),
    ...(readable.has(everything)
      ? [
          {
            uri: everything,
            name: 'properties',
            description: 'All properties of the actor',
            mimeType: 'application/json',
          },
        ]
      : []),
    ...own,
  ]
  const { items, ...page } = pageOf(parts.keyRing, call, all, ({ uri }) => uri)
  return complete({ resources: items, ...page }, listTtlMs)
}

/** Those that the client may read and no hook hides. */
function visibleProperties(parts: McpParts, { access }: McpCallIn): Promise<readonly StoredProperty[]> {
  return parts.properties.all({ actor: access.actor, caller: access.caller })
}

export async function listTemplates(parts: McpParts, call: McpCallIn): Promise<Result> {
  const { actor, caller } = call.access
  const templates = parts.catalogue.resources.filter(({ template }) => template.isTemplate)
  const readable = await parts.permission.filter(
    actor.id,
    caller,
    { category: 'resources', right: 'read' },
    templates.map(({ template }) => template.text),
  )
  const all = templates
    .filter(({ template }) => readable.has(template.text))
    .map(({ template, name, declaration, description, mimeType }) => ({
      uriTemplate: template.text,
      name,
      ...dressed(declaration),
      description,
      mimeType,
    }))
  const { items, ...page } = pageOf(parts.keyRing, call, all, ({ uriTemplate }) => uriTemplate)
  return complete({ resourceTemplates: items, ...page }, listTtlMs)
}

function view({ template, name, declaration, description, mimeType }: Resource): Listed {
  return { uri: template.text, name, ...dressed(declaration), description, mimeType }
}

export async function readResource(parts: McpParts, call: McpCallIn): Promise<Result> {
  const { uri } = call.params
  if (typeof uri !== 'string' || uri === '' || uri.length > longestUri) {
    throw new McpFailure('invalid_params', 'The call names no resource')
  }
  if (uri.startsWith(propertiesUri) && !isDeclared(parts, uri)) return readProperties(parts, call, uri)
  const { actor, caller } = call.access
  const verdict = await parts.permission.may(actor.id, caller, { category: 'resources', right: 'read', target: uri })
  if (!verdict.allowed) throw new McpFailure('not_permitted', 'These credentials may not read the resource')
  for (const resource of parts.catalogue.resources) {
    const variables = resource.template.match(uri)
    if (variables !== null) return readDeclared(parts, call, resource, uri, variables)
  }
  throw unknownResource(uri)
}

function isDeclared({ catalogue }: McpParts, uri: string): boolean {
  return catalogue.resources.some(({ template }) => template.match(uri) !== null)
}

async function readDeclared(
  parts: McpParts,
  call: McpCallIn,
  resource: Resource,
  uri: string,
  variables: Readonly<Record<string, string>>,
): Promise<Result> {
  const { operation, mimeType } = resource
  const input = operation.input === null ? { uri, ...variables } : await operation.input.check({ uri, ...variables })
  const answer = await operation.handler({
    actor: parts.handleOf(call.access.actor),
    caller: call.access.caller,
    name: operation.name,
    input,
    mcp: handsOf(call),
  })
  if (answer === null || answer === undefined) throw unknownResource(uri)
  const value: unknown = toPlain(handlerResult(answer))
  return complete({ contents: contentsOf(value, uri, mimeType) }, 0)
}

function contentsOf(value: unknown, uri: string, mimeType: string): readonly unknown[] {
  if (isRecord(value) && Array.isArray(value['contents'])) return value['contents']
  const content = isRecord(value) && value['content'] !== undefined ? value['content'] : value
  const text = typeof content === 'string' ? content : JSON.stringify(withoutSecrets(content))
  return [{ uri, mimeType, text }]
}

/** The same rights and hooks as `/<actor>/properties`, because it is the same way to the data. */
async function readProperties(parts: McpParts, call: McpCallIn, uri: string): Promise<Result> {
  const access = { actor: call.access.actor, caller: call.access.caller }
  if (uri === everything) {
    await parts.permission.require(access.actor.id, access.caller, {
      category: 'resources',
      right: 'read',
      target: uri,
    })
    const values = (await visibleProperties(parts, call)).flatMap((property) =>
      property.kind === 'value' ? [[property.name, property.value] as const] : [],
    )
    return complete({ contents: [{ uri, mimeType: 'application/json', text: object(values) }] }, 0)
  }
  const name = nameIn(uri)
  const value = name === null ? null : await valueOf(parts, access, name)
  if (value === null) throw unknownResource(uri)
  return complete({ contents: [{ uri, mimeType: 'application/json', text: value }] }, 0)
}

async function valueOf(
  parts: McpParts,
  access: { readonly actor: McpCallIn['access']['actor']; readonly caller: McpCallIn['access']['caller'] },
  name: string,
): Promise<JsonText | null> {
  const found = await parts.properties.get(access, [name])
  if (found === null) return null
  if (found.kind === 'value') return found.value
  const page = await parts.lists.items(access, name)
  return page === null ? null : array(page.items.map(({ item }) => item))
}

export function uriOf(name: string): string {
  return `${propertiesUri}${encodeURIComponent(name)}`
}

/** The property that a resource is; null for an address of another kind. */
export function nameIn(uri: string): string | null {
  if (!uri.startsWith(propertiesUri)) return null
  try {
    return decodeURIComponent(uri.slice(propertiesUri.length))
  } catch {
    return null
  }
}

function unknownResource(uri: string): McpFailure {
  return new McpFailure('unknown_resource', 'Resource not found', { uri })
}
