/** What of a change a subscription is told: the part inside its scope, at the scope's own depth. */
import { getAt, isObject, isString, type JsonText, known, members, object, stringValue } from '../json/json.ts'
import type { Change } from '../property/change.ts'
import type { Scope } from '../subscription/scope.ts'

export interface Fitted {
  /** Begins where the scope ends: names of properties for a subscription to all, the value itself for one to a property. */
  readonly data: JsonText
  /**
   * True when the values in `data` (for a scope with a subtarget, `data` itself) take the place of what was there; false
   * when they are parts, to be merged into it, where an empty text says that something is gone.
   */
  readonly replaces: boolean
}

/** Stands for what is gone. */
const gone = known('""')

/** Null when the change does not touch the scope, or leaves everything inside it as it was. */
export function fit(made: Change, scope: Scope): Fitted | null {
  if (made.target !== scope.target || made.changesNothing === true) return null
  const change = withoutUnchanged(made, scope)
  if (change === null) return null
  // A key alone names nothing, so without a property it narrows nothing.
  const { subtarget } = scope
  const resource = subtarget === '' ? '' : scope.resource
  if (isListChange(change)) return fitList(change, subtarget, resource)
  const inside = partAt(change, subtarget, resource)
  if (inside === null) return null
  return inside === 'gone' ? { data: gone, replaces: false } : { data: inside, replaces: change.resource === null }
}

/** Values count as equal when their texts are: copies keep digits and the order of keys. */
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
    // A bulk write leaves alone what it does not name; a new value has lost what it does not hold.
    if (below === undefined && depth === 0) return null
    if (below === undefined) return 'gone'
    part = below
  }
  return path.slice(wanted.length).reduceRight<JsonText>((inner, step) => object([[step, inner]]), part)
}

/**
 * A list change is told under the list's name even to a subscription to that list alone: receivers know it by the object
 * that it is in. What became of one position cannot be told from it.
 */
function fitList(change: Change & { subtarget: string }, subtarget: string, resource: string): Fitted | null {
  if (resource !== '' || (subtarget !== '' && subtarget !== change.subtarget)) return null
  return { data: object([[change.subtarget, change.blob]]), replaces: false }
}

/** Told by its shape, as receivers tell it. */
export function isListChange(change: Change): change is Change & { subtarget: string } {
  const { subtarget, resource, blob } = change
  if (subtarget === null || resource !== null || !isObject(blob)) return false
  const given = members(blob)
  const [list, operation] = [given?.get('list'), given?.get('operation')]
  return list !== undefined && operation !== undefined && isString(operation) && stringValue(list) === subtarget
}
