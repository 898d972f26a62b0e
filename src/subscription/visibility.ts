/** What of a diff a peer may see. */
import { type JsonText, known, members, object } from '../json/json.ts'
import type { Scope } from './inbound.ts'

/** Whether a property path, such as `settings/theme`, may be read. */
export type MayRead = (path: string) => boolean

/** In place of a diff that rights withdrawn since it was written do not allow any more. */
export const withheld = known('{}')

/**
 * The part that single reads of the same properties would give; null when there is none. A diff that begins at the names
 * of properties is judged name by name, one that begins below them as a whole or, failing that, key by key.
 */
export function visiblePart(data: JsonText, scope: Scope, mayRead: MayRead): JsonText | null {
  if (scope.subtarget === '') return keep(data, mayRead)
  const path = scope.resource === '' ? scope.subtarget : `${scope.subtarget}/${scope.resource}`
  if (mayRead(scope.subtarget) || mayRead(path)) return data
  return keep(data, (key) => mayRead(`${path}/${key}`))
}

function keep(data: JsonText, isAllowed: (key: string) => boolean): JsonText | null {
  const all = members(data)
  if (all === null) return null
  const allowed = all
    .entries()
    .filter(([key]) => isAllowed(key))
    .toArray()
  return allowed.length === 0 ? null : allowed.length === all.size ? data : object(allowed)
}
