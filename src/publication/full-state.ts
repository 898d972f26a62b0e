/** The full state of a subscription, filtered by the rights of its peer, for peers without support for resync callbacks. */
import { array, getAt, type JsonText, known, object } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import type { Lists, SeenList } from '../property/lists.ts'
import type { Properties } from '../property/properties.ts'
import type { Scope } from '../subscription/scope.ts'

export interface FullStateParts {
  readonly properties: Properties
  readonly lists: Lists
}

/**
 * Relative to the scope, like diffs. Null: the scope is empty. A list that is too long for a callback has only `_list` and
 * `count`, and the peer reads its items page by page.
 */
export async function fullState(parts: FullStateParts, access: Access, scope: Scope): Promise<JsonText | null> {
  if (scope.target !== 'properties') return null
  const { stored, lists } = await parts.lists.everything(access)
  const properties = await parts.properties.show(access, stored)
  const states = properties.flatMap((property): (readonly [name: string, state: JsonText])[] => {
    if (property.kind === 'value') return [[property.name, property.value]]
    const seen = lists.get(property.name)
    return seen === undefined ? [] : [[property.name, listState(seen)]]
  })
  if (scope.subtarget === '') return object(states)
  const state = states.find(([name]) => name === scope.subtarget)?.[1]
  if (state === undefined) return null
  if (lists.has(scope.subtarget)) return scope.resource === '' ? object([[scope.subtarget, state]]) : null
  return scope.resource === '' ? state : (getAt(state, [scope.resource]) ?? null)
}

function listState({ metadata, items }: SeenList): JsonText {
  return object([
    ['_list', known('true')],
    ['count', known(String(metadata.length))],
    ...(items === null ? [] : [['items', array(items)] as const]),
  ])
}
