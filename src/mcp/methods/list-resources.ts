/** `resources/list`: the declared resources and the actor's properties and lists that the client may read. */
import { everything, uriOf } from '../../permission/property-address.ts'
import { kinds } from '../../property/kinds.ts'
import type { NamedProperty } from '../../property/properties.ts'
import type { McpRequest } from '../call/call.ts'
import { displayMetadata, type Resource } from '../catalogue/catalogue.ts'
import type { McpDeps } from '../deps.ts'
import { cursorTo, pageSize, lastPlace } from '../protocol/cursor.ts'
import { complete, type McpResult } from '../protocol/result.ts'

interface Listed {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
}

/** A resource with the place of a cursor after it. */
interface Placed {
  readonly resource: Listed
  readonly place: string
}

/** Before the name of a stored property, whose place in the order does not depend on what else exists. */
const afterName = 'name:'

export async function listResources(deps: McpDeps, call: McpRequest): Promise<McpResult> {
  const place = lastPlace(deps.keyRing, call)
  const name = place?.startsWith(afterName) === true ? place.slice(afterName.length) : null
  const found: Placed[] = []
  let isFirst = name === null
  for await (const page of inPages(deps, call, name)) {
    // When the last resource of the previous page was removed, the client starts again, so that it misses none.
    found.push(...page.slice(isFirst ? page.findIndex((each) => each.place === place) + 1 : 0))
    isFirst = false
    if (found.length > pageSize) break
  }
  const items = found.slice(0, pageSize)
  const last = items.at(-1)
  return complete({
    resources: items.map(({ resource }) => resource),
    ...(last === undefined || found.length <= pageSize ? {} : { nextCursor: cursorTo(deps.keyRing, call, last.place) }),
  })
}

/**
 * First those that do not depend on what is stored, then those by name. Only a page of names is in memory.
 *
 * @param after only stored properties after this name. Null: everything.
 */
async function* inPages(deps: McpDeps, call: McpRequest, after: string | null): AsyncGenerator<readonly Placed[]> {
  const { actor, caller } = call.access
  const readable = async (resources: readonly Listed[]): Promise<readonly Listed[]> => {
    const uris = resources.map(({ uri }) => uri)
    const allowed = await deps.permission.filter(actor.id, caller, { category: 'resources', right: 'read' }, uris)
    return resources.filter(({ uri }) => allowed.has(uri))
  }
  const ofProperty = ({ name, kind }: NamedProperty): Listed => {
    const description = deps.properties.descriptionOf({ actor }, name) ?? kinds[kind].description
    return { uri: uriOf(name), name, description, mimeType: 'application/json' }
  }
  const declared = deps.catalogues
    .of(actor)
    .resources.filter(({ template }) => !template.isTemplate)
    .map(view)
  // The first page of names has the properties without a row.
  let fixed: readonly Listed[] | null = after === null ? [...declared, all] : null
  for await (const page of deps.properties.namePages({ actor, caller }, { after })) {
    const resources = await readable([...(fixed ?? []), ...page.map(ofProperty)])
    const isFixed = fixed !== null
    fixed = null
    yield resources.map((resource) => ({ resource, place: isFixed ? resource.uri : afterName + resource.name }))
  }
}

const all: Listed = {
  uri: everything,
  name: 'properties',
  description: 'All properties of the actor',
  mimeType: 'application/json',
}

function view({ template, name, declaration, description, mimeType }: Resource): Listed {
  return { uri: template.text, name, ...displayMetadata(declaration), description, mimeType }
}
