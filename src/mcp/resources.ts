/**
 * `resources/…`: the application's methods that it offers as resources, and the actor's own properties and lists under
 * `actingweb://properties/`, as far as the client may read them.
 */
import { handlerResult } from '../app/handler-result.ts'
import { array, type JsonText, object, toPlain } from '../json/json.ts'
import type { Verdict } from '../permission/permission.ts'
import type { Access } from '../property/access.ts'
import type { StoredProperty } from '../property/property-store.ts'
import type { Asked, McpCallIn } from './call.ts'
import { dressed, type Resource } from './catalogue.ts'
import { pageOf } from './cursor.ts'
import { McpFailure } from './failure.ts'
import type { McpParts } from './mcp-parts.ts'
import { isRecord } from './message.ts'
import { complete, type Result } from './result.ts'
import { withoutSecrets } from './tool-result.ts'
import { handsOf } from './hands.ts'

const listTtlMs = 5_000
export const propertiesUri = 'actingweb://properties/'
const everything = `${propertiesUri}all`
/** The way to the rest of a long list. */
const itemsTemplate = `${propertiesUri}{list}/items/{from}`
const itemsAtOnce = 100
const longestUri = 2048

interface Listed {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
}

export async function listResources(parts: McpParts, call: Asked): Promise<Result> {
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
function visibleProperties(parts: McpParts, { access }: Asked): Promise<readonly StoredProperty[]> {
  return parts.properties.all({ actor: access.actor, caller: access.caller })
}

export async function listTemplates(parts: McpParts, call: Asked): Promise<Result> {
  const { actor, caller } = call.access
  const templates = parts.catalogue.resources.filter(({ template }) => template.isTemplate)
  const readable = await parts.permission.filter(actor.id, caller, { category: 'resources', right: 'read' }, [
    ...templates.map(({ template }) => template.text),
    itemsTemplate,
  ])
  const declared = templates
    .filter(({ template }) => readable.has(template.text))
    .map(({ template, name, declaration, description, mimeType }) => ({
      uriTemplate: template.text,
      name,
      ...dressed(declaration),
      description,
      mimeType,
    }))
  const own = {
    uriTemplate: itemsTemplate,
    name: 'items of a list',
    description: `${itemsAtOnce} items of a list of the actor, from an index on`,
    mimeType: 'application/json',
  }
  const all = readable.has(itemsTemplate) ? [...declared, own] : declared
  const { items, ...page } = pageOf(parts.keyRing, call, all, ({ uriTemplate }) => uriTemplate)
  return complete({ resourceTemplates: items, ...page }, listTtlMs)
}

function view({ template, name, declaration, description, mimeType }: Resource): Listed {
  return { uri: template.text, name, ...dressed(declaration), description, mimeType }
}

export async function readResource(parts: McpParts, call: McpCallIn): Promise<Result> {
  const { uri } = call.params
  if (!isUri(uri)) throw new McpFailure('invalid_params', 'The call names no resource')
  if (uri.startsWith(propertiesUri) && !isDeclared(parts, uri)) return readProperties(parts, call, uri)
  const { actor, caller } = call.access
  const judge = await parts.permission.judge(actor.id, caller, { category: 'resources', right: 'read' })
  requireAllowed(judge(uri))
  for (const resource of parts.catalogue.resources) {
    const variables = resource.template.match(uri)
    if (variables === null) continue
    // A rule holds for what the handler is given, not for one spelling of it: `%70rivate` is `private`.
    requireAllowed(judge(resource.template.filled(variables)))
    return readDeclared(parts, call, resource, uri, variables)
  }
  throw unknownResource(uri)
}

function requireAllowed({ allowed }: Verdict): void {
  if (!allowed) throw new McpFailure('not_permitted', 'These credentials may not read the resource')
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
  const place = placeIn(uri)
  const contents = place === null ? null : await contentsAt(parts, access, uri, place)
  if (contents === null) throw unknownResource(uri)
  return complete({ contents }, 0)
}

/** A value as it is; of a list as many items as are given at once, and where there are more, their address. */
async function contentsAt(
  parts: McpParts,
  access: Access,
  uri: string,
  { name, from }: Place,
): Promise<readonly object[] | null> {
  const found = await parts.properties.get(access, [name])
  if (found === null) return null
  const content = (text: JsonText): object => ({ uri, mimeType: 'application/json', text })
  if (found.kind === 'value') return from === null ? [content(found.value)] : null
  const start = from ?? 0
  const end = start + itemsAtOnce
  const page = await parts.lists.items(access, name, { from: start, to: end })
  if (page === null) return null
  const items = content(array(page.items.map(({ item }) => item)))
  if (page.length <= end) return [items]
  const next = `${uriOf(name)}/items/${end}`
  const note = `These are the items from ${start} on, of ${page.length}. The next ones are at ${next}`
  return [items, { uri: next, mimeType: 'text/plain', text: note }]
}

export function isUri(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestUri
}

export function uriOf(name: string): string {
  // Encoded, the property of that name is another resource than all of them.
  return name === 'all' ? `${propertiesUri}%61ll` : `${propertiesUri}${encodeURIComponent(name)}`
}

/** The property that a resource is, or is a part of; null for an address of another kind, and for all of them. */
export function nameIn(uri: string): string | null {
  return uri === everything ? null : (placeIn(uri)?.name ?? null)
}

interface Place {
  readonly name: string
  /** The first item of a part of a list; null for the property itself. */
  readonly from: number | null
}

function placeIn(uri: string): Place | null {
  const [, name = '', from] = /^([^/]+)(?:\/items\/(\d{1,15}))?$/.exec(uri.slice(propertiesUri.length)) ?? []
  if (!uri.startsWith(propertiesUri) || name === '') return null
  try {
    return { name: decodeURIComponent(name), from: from === undefined ? null : Number(from) }
  } catch {
    return null
  }
}

function unknownResource(uri: string): McpFailure {
  return new McpFailure('unknown_resource', 'Resource not found', { uri })
}
