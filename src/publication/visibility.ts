/** Filters diffs by the rights of a peer. */
import { type JsonText, known, members, object } from '../json/json.ts'
import type { Scope } from '../subscription/scope.ts'

/** Whether a property path, such as `settings/theme`, may be read. */
export type MayRead = (path: string) => boolean

/** Like `MayRead`. With `isPrefix`: whether any path with this prefix may be read. */
export type MayReadSome = (path: string, isPrefix?: boolean) => boolean

/** Replaces a diff that the peer may no longer read. */
export const withheld = known('{}')

/**
 * Returns the part of a diff that the peer could read with single requests. Null: none. A diff of all properties is
 * filtered by name. A diff of one property is allowed as a whole, or else filtered by key.
 */
export function visiblePart(data: JsonText, scope: Scope, mayRead: MayRead): JsonText | null {
  if (scope.subtarget === '') return keep(data, mayRead)
  const path = scope.resource === '' ? scope.subtarget : `${scope.subtarget}/${scope.resource}`
  if (mayRead(scope.subtarget) || mayRead(path)) return data
  return keep(data, (key) => mayRead(`${path}/${key}`))
}

/** Whether `visiblePart` can return a part for some change of the named property, or of any property with an empty name. */
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
