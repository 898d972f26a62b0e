/** `resources/list`: the declared resources and the actor's properties and lists that the client may read. */
import { everything, uriOf } from '../../permission/property-address.ts'
import { kinds } from '../../property/kinds.ts'
import type { McpRequest } from '../call/call.ts'
import { displayMetadata, type Resource } from '../catalogue/catalogue.ts'
import type { McpDeps } from '../deps.ts'
import { pageOf } from '../protocol/cursor.ts'
import { complete, type McpResult } from '../protocol/result.ts'

interface Listed {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
}

export async function listResources(deps: McpDeps, call: McpRequest): Promise<McpResult> {
  const { actor, caller } = call.access
  const declared = deps.catalogue.resources.filter(({ template }) => !template.isTemplate)
  const properties = await deps.properties.names({ actor, caller })
  const uris = [
    ...declared.map(({ template }) => template.text),
    everything,
    ...properties.map(({ name }) => uriOf(name)),
  ]
  const readable = await deps.permission.filter(actor.id, caller, { category: 'resources', right: 'read' }, uris)
  const listed = properties.filter(({ name }) => readable.has(uriOf(name)))
  const own = listed.map(({ name, kind }) => ({
    uri: uriOf(name),
    name,
    description: deps.properties.descriptionOf(name) ?? kinds[kind].description,
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
  const { items, ...page } = pageOf(deps.keyRing, call, all, ({ uri }) => uri)
  return complete({ resources: items, ...page })
}

function view({ template, name, declaration, description, mimeType }: Resource): Listed {
  return { uri: template.text, name, ...displayMetadata(declaration), description, mimeType }
}
