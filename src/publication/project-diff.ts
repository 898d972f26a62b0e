/** Projects a change onto the scope of a subscription. */
import { getAt, isObject, isString, type JsonText, known, members, object, stringValue } from '../json/json.ts'
import type { Change } from '../property/change.ts'
import type { Scope } from '../subscription/scope.ts'

export interface ProjectedDiff {
  /** Relative to the scope: an object of properties when the scope has no subtarget, otherwise the value. */
  readonly data: JsonText
  /**
   * True: the values in `data`, or `data` itself for a scope with a subtarget, replace the previous values. False: they
   * are merged, and an empty string deletes a member.
   */
  readonly replaces: boolean
}

/** Marks a deleted value. */
const gone = known('""')

/** Null: the change is outside the scope, or changes no value inside it. */
export function projectDiff(made: Change, scope: Scope): ProjectedDiff | null {
  if (made.target !== scope.target || made.changesNothing === true) return null
  const change = withoutUnchanged(made, scope)
  if (change === null) return null
  // A key without a property does not narrow the scope.
  const { subtarget } = scope
  const resource = subtarget === '' ? '' : scope.resource
  if (isListChange(change)) return projectListChange(change, subtarget, resource)
  const inside = partAt(change, subtarget, resource)
  if (inside === null) return null
  return inside === 'gone' ? { data: gone, replaces: false } : { data: inside, replaces: change.resource === null }
}

/** Compares JSON strings, because copies keep digits and the order of keys. */
function withoutUnchanged(change: Change, { subtarget, resource }: Scope): Change | null {
  const { states, blob } = change
  if (states === undefined) return change
  const isUnchanged = (name: string): boolean => {
    const state = states.get(name)
    if (state === undefined) return false
    const path = name === subtarget && resource !== '' ? [resource] : []
    return valueAt(state.before, path) === valueAt(state.after, path)
  }
  if (change.subtarget !== null) return isUnchanged(change.subtarget) ? null : change
  const written = [...(members(blob) ?? [])]
  const changed = written.filter(([name]) => !isUnchanged(name))
  if (changed.length === 0) return null
  return changed.length === written.length ? change : { ...change, blob: object(changed) }
}

function valueAt(value: JsonText | null, path: readonly string[]): JsonText | undefined {
  return value === null ? undefined : getAt(value, path)
}

function partAt(change: Change, subtarget: string, resource: string): JsonText | 'gone' | null {
  const path = [change.subtarget, change.resource].filter((step) => step !== null)
  const wanted = [subtarget, resource].filter((step) => step !== '')
  let part = change.blob
  for (const [depth, step] of wanted.entries()) {
    const given = path[depth]
    if (given !== undefined) {
      if (given !== step) return null
      continue
    }
    const below = members(part)?.get(step)
    // A bulk write keeps properties that it does not name. A new value has lost the members that it does not contain.
    if (below === undefined && depth === 0) return null
    if (below === undefined) return 'gone'
    part = below
  }
  return path.slice(wanted.length).reduceRight<JsonText>((inner, step) => object([[step, inner]]), part)
}

/**
 * A list change is wrapped in an object with the list's name, even for a subscription to that list alone, because
 * receivers recognize it by that object. A scope with a single position excludes list changes.
 */
function projectListChange(
  change: Change & { subtarget: string },
  subtarget: string,
  resource: string,
): ProjectedDiff | null {
  if (resource !== '' || (subtarget !== '' && subtarget !== change.subtarget)) return null
  return { data: object([[change.subtarget, change.blob]]), replaces: false }
}

/** Recognizes a list change by its shape, as receivers do. */
function isListChange(change: Change): change is Change & { subtarget: string } {
  const { subtarget, resource, blob } = change
  if (subtarget === null || resource !== null || !isObject(blob)) return false
  const given = members(blob)
  const [list, operation] = [given?.get('list'), given?.get('operation')]
  return list !== undefined && operation !== undefined && isString(operation) && stringValue(list) === subtarget
}
