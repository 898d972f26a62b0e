/** What of a diff a peer may see. */
import { type JsonText, known, members, object } from '../json/json.ts'
import type { Scope } from '../subscription/scope.ts'

/** Whether a property path, such as `settings/theme`, may be read. */
export type MayRead = (path: string) => boolean

/** As `MayRead`; with `isPrefix`, whether anything may be read that begins with the path. */
export type MayReadSome = (path: string, isPrefix?: boolean) => boolean

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

/**
 * Whether `visiblePart` may leave anything of a change, whatever it is, of the property that is named, or of any where
 * the name is empty.
 */
export function maySeeAny({ subtarget, resource }: Scope, name: string, mayRead: MayReadSome): boolean {
  if (subtarget === '') return name === '' ? mayRead('', true) : mayRead(name)
  const path = resource === '' ? subtarget : `${subtarget}/${resource}`
  return mayRead(subtarget) || mayRead(path) || mayRead(`${path}/`, true)
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
