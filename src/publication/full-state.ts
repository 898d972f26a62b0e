/** The full state of a subscription, filtered by the rights of its peer, for peers without support for resync callbacks. */
import { array, getAt, type JsonText, known, object } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import { valueOf } from '../property/kinds.ts'
import type { SeenList } from '../property/lists/list-reader.ts'
import type { Properties } from '../property/properties.ts'
import type { Scope } from '../subscription/scope.ts'

/**
 * Returns the content relative to the scope, like diffs. Null: the scope is empty. `too long`: the content does not fit into
 * memory, and the peer has to read the properties. A list that is too long for a callback has only `_list` and `count`, and
 * the peer reads its items page by page.
 */
export async function fullState(
  { properties }: { readonly properties: Properties },
  access: Access,
  scope: Scope,
): Promise<JsonText | null | 'too long'> {
  if (scope.target !== 'properties') return null
  const everything = await properties.together(access, scope.subtarget === '' ? null : [scope.subtarget])
  if (everything === null) return 'too long'
  const { shown, lists } = everything
  const states = shown.flatMap((property): (readonly [name: string, state: JsonText])[] => {
    const value = valueOf(property)
    if (value !== null) return [[property.name, value]]
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
