/**
 * `resources/read`: reads methods that the application offers as resources, and properties and lists of the actor below
 * `actingweb://properties/`. The client needs the right to read them.
 */
import { handlerResult } from '../../app/handler-result.ts'
import { type JsonText, object, toPlain } from '../../json/json.ts'
import type { Verdict } from '../../permission/permission.ts'
import { everything, propertiesUri, propertyAt, type PropertyPlace, uriOf } from '../../permission/property-address.ts'
import type { Access } from '../../property/access.ts'
import { valueOf } from '../../property/kinds.ts'
import type { InFlightCall } from '../call/call.ts'
import type { Resource } from '../catalogue/catalogue.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpDeps } from '../deps.ts'
import { isRecord } from '../protocol/message.ts'
import { refusedCall, whenApproved } from '../call/owner-approval.ts'
import { requireUri } from '../protocol/resource-uri.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { withoutSecrets } from '../call/tool-result.ts'
import { reportingErrors, runOperation } from '../call/run-operation.ts'

/** The most list items in one result. */
export const itemsAtOnce = 100
/** The most characters of values in one result. */
const maxCharacters = 1_048_576
const restNote =
  'More values do not fit into one result. Read each of the others at its own address, which resources/list names'

export async function readResource(deps: McpDeps, call: InFlightCall): Promise<McpResult> {
  const uri = requireUri(call.params['uri'])
  if (uri.startsWith(propertiesUri)) return readProperties(deps, call, uri)
  const { actor, caller } = call.access
  const judge = await deps.permission.judge(actor.id, caller, { category: 'resources', right: 'read' })
  requireAllowed(judge(uri))
  for (const resource of deps.catalogues.of(actor).resources) {
    const variables = resource.template.match(uri)
    if (variables === null) continue
    // Rules apply to the decoded address that the handler receives: `%70rivate` is `private`.
    requireAllowed(judge(resource.template.filled(variables)))
    return readDeclared(deps, call, resource, uri, variables)
  }
  throw unknownResource(uri)
}

function requireAllowed({ allowed }: Verdict): void {
  if (!allowed) throw new McpFailure('not_permitted', 'These credentials may not read the resource')
}

async function readDeclared(
  deps: McpDeps,
  call: InFlightCall,
  resource: Resource,
  uri: string,
  variables: Readonly<Record<string, string>>,
): Promise<McpResult> {
  const { operation, needsApproval } = resource
  const args = { uri, ...variables }
  const input = operation.input === null ? args : await operation.input.check(args)
  const run = (): Promise<McpResult> => runDeclared(deps, call, resource, uri, input)
  if (!needsApproval) return run()
  return whenApproved(
    deps,
    call,
    { kind: 'resources', name: operation.name, given: args, input, refused: refusedCall },
    run,
  )
}

async function runDeclared(
  deps: McpDeps,
  call: InFlightCall,
  { operation, mimeType }: Resource,
  uri: string,
  input: unknown,
): Promise<McpResult> {
  const value: unknown = await reportingErrors(deps, async () => {
    const answer = await runOperation(deps, call, operation, input)
    if (answer === null || answer === undefined) throw unknownResource(uri)
    return toPlain(handlerResult(answer))
  })
  return complete({ contents: contentsOf(value, uri, mimeType) })
}

function contentsOf(value: unknown, uri: string, mimeType: string): readonly unknown[] {
  if (isRecord(value) && Array.isArray(value['contents'])) return value['contents']
  const content = isRecord(value) && value['content'] !== undefined ? value['content'] : value
  const text = typeof content === 'string' ? content : JSON.stringify(withoutSecrets(content))
  return [{ uri, mimeType, text }]
}

/** The rules on resources apply first, then the rights and hooks of `/<actor>/properties`. */
async function readProperties(deps: McpDeps, call: InFlightCall, uri: string): Promise<McpResult> {
  const { actor, caller } = call.access
  const access = { actor, caller }
  const judge = await deps.permission.judge(actor.id, caller, { category: 'resources', right: 'read' })
  const verdict = judge(uri)
  requireAllowed(verdict)
  deps.permission.decided(caller, verdict)
  if (uri === everything)
    return complete({ contents: await allValues(deps, access, (name) => judge(uriOf(name)).allowed) })
  const place = await storedPlace(deps, access, uri)
  const contents = place === null ? null : await contentsAt(deps, access, uri, place)
  if (contents === null) throw unknownResource(uri)
  return complete({ contents })
}

/** The property at the address, by its stored name. */
async function storedPlace({ properties }: McpDeps, { actor }: Access, uri: string): Promise<PropertyPlace | null> {
  const place = propertyAt(uri)
  return place === null ? null : { ...place, name: await properties.nameOf(actor.id, place.name) }
}

/** The values that fit into one result, and a note if others do not. */
async function allValues(
  deps: McpDeps,
  access: Access,
  isReadable: (name: string) => boolean,
): Promise<readonly object[]> {
  const values: (readonly [name: string, value: JsonText])[] = []
  let left = maxCharacters
  for await (const page of deps.properties.pages(access))
    for (const property of page) {
      const value = valueOf(property)
      if (value === null || !isReadable(property.name)) continue
      left -= value.length
      if (left < 0) return [valuesContent(values), { uri: everything, mimeType: 'text/plain', text: restNote }]
      values.push([property.name, value])
    }
  return [valuesContent(values)]
}

function valuesContent(values: readonly (readonly [name: string, value: JsonText])[]): object {
  return { uri: everything, mimeType: 'application/json', text: object(values) }
}

/** The value of a property, or a page of the items of a list with the address of the next page. */
async function contentsAt(
  deps: McpDeps,
  access: Access,
  uri: string,
  { name, from }: PropertyPlace,
): Promise<readonly object[] | null> {
  const part = await deps.properties.resource(access, name, { from, count: itemsAtOnce })
  if (part === null) return null
  const content = { uri, mimeType: 'application/json', text: part.json }
  if (part.next === null) return [content]
  const next = `${uriOf(name)}/items/${part.next.from}`
  const note = `Items from index ${from ?? 0} of ${part.next.length} items. The next page is at ${next}`
  return [content, { uri: next, mimeType: 'text/plain', text: note }]
}

function unknownResource(uri: string): McpFailure {
  return new McpFailure('unknown_resource', 'Resource not found', { uri })
}
