/** Everything in the scope of a subscription, as its peer may see it: for peers that do not know how to fetch it when told to. */
import { array, getAt, type JsonText, known, object } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import type { Lists } from '../property/lists.ts'
import type { Properties } from '../property/properties.ts'
import type { StoredProperty } from '../property/property-store.ts'
import type { Scope } from './inbound.ts'

export interface FullStateParts {
  readonly properties: Properties
  readonly lists: Lists
}

/** At the depth at which the subscription's changes are told; null when there is nothing. */
export async function fullState(parts: FullStateParts, access: Access, scope: Scope): Promise<JsonText | null> {
  if (scope.target !== 'properties') return null
  const { stored, lists } = await parts.lists.everything(access)
  const properties = await parts.properties.show(access, stored)
  const stateOf = (property: StoredProperty): JsonText => {
    if (property.kind === 'value') return property.value
    const items = lists.get(property.name)?.items ?? []
    return object([
      ['_list', known('true')],
      ['count', known(String(items.length))],
      ['items', array(items)],
    ])
  }
  if (scope.subtarget === '') return object(properties.map((property) => [property.name, stateOf(property)] as const))
  const property = properties.find(({ name }) => name === scope.subtarget)
  if (property === undefined) return null
  if (property.kind === 'list') return scope.resource === '' ? object([[property.name, stateOf(property)]]) : null
  return scope.resource === '' ? property.value : (getAt(property.value, [scope.resource]) ?? null)
}
