/** Translates a diff into changes of the copy, one for each name in the diff. Pure functions. */
import { elements, isObject, type JsonText, members, stringValue } from '../../json/json.ts'
import { maxNameBytes } from '../../actor/property-name.ts'
import { type ListOperation, listOperations } from '../../list/list-change.ts'
import type { Scope } from '../../subscription/scope.ts'
import { nameOfKey } from './remote-keys.ts'

/** One list operation in the words of the protocol. Members that the operation does not need are absent. */
export interface ReplicaListOperation {
  readonly operation: ListOperation
  /** Length after the operation. A copy with another length differs from the peer. */
  readonly length?: number
  readonly index?: number
  readonly item?: JsonText
  readonly items?: readonly JsonText[]
  readonly oldItem?: JsonText
  readonly description?: string
  readonly explanation?: string
}

export type ReplicaChange = { readonly name: string } & (
  | { readonly kind: 'set'; readonly value: JsonText }
  /** Merges `value` at `below`: objects are merged, and `""` deletes a key. */
  | { readonly kind: 'merge'; readonly below: readonly string[]; readonly value: JsonText }
  /** Replaces the value at `below`. Null deletes it. */
  | { readonly kind: 'put'; readonly below: readonly string[]; readonly value: JsonText | null }
  | { readonly kind: 'remove' }
  | { readonly kind: 'list'; readonly operation: ReplicaListOperation }
  | { readonly kind: 'items'; readonly items: readonly JsonText[] }
  /** The name changed in an unknown way, so it must be fetched. */
  | { readonly kind: 'refetch' }
)

const legacyPrefix = 'list:'
const gone = '""'

/**
 * @param data Relative to the scope.
 * @param replaces The values replace the previous ones. False: objects are merged.
 */
export function changesOf(scope: Scope, data: JsonText, replaces: boolean): ReplicaChange[] {
  const { subtarget, resource } = scope
  if (subtarget === '') {
    return [...(members(data) ?? [])].flatMap(([name, value]) => storable(changeOf(name, value, replaces)))
  }
  // The peer sends an empty diff in place of data that this actor may no longer read.
  if (data === '{}' && !replaces) return []
  // A subscription to one list gets its changes under the list's name, or without it.
  const wrapped = members(data)
  const inner = wrapped?.size === 1 ? wrapped.get(subtarget) : undefined
  const operation = resource === '' ? (listOperation(inner, subtarget) ?? listOperation(data, subtarget)) : null
  if (operation !== null) return storable({ name: subtarget, kind: 'list', operation })
  if (resource !== '') {
    return storable({ name: subtarget, kind: replaces ? 'put' : 'merge', below: [resource], value: data })
  }
  return storable(changeOf(subtarget, data, replaces))
}

function changeOf(name: string, value: JsonText, replaces: boolean): ReplicaChange {
  if (name.startsWith(legacyPrefix)) {
    const list = name.slice(legacyPrefix.length)
    const operation = listOperation(value, list)
    if (operation !== null) return { name: list, kind: 'list', operation }
    const items = elements(value)
    return items === null ? { name: list, kind: 'refetch' } : { name: list, kind: 'items', items }
  }
  const operation = listOperation(value, name)
  if (operation !== null) return { name, kind: 'list', operation }
  if (value === gone || value === 'null') return { name, kind: 'remove' }
  if (isSentenceAboutList(value)) return { name, kind: 'refetch' }
  const given = members(value)
  if (given?.get('_list') === 'true') {
    const items = elements(given.get('items') ?? value)
    return items === null ? { name, kind: 'refetch' } : { name, kind: 'items', items }
  }
  return replaces || !isObject(value) ? { name, kind: 'set', value } : { name, kind: 'merge', below: [], value }
}

/** The Python library sends such a sentence in place of a list that was created or changed over HTTP (WIRE-LIST-04). */
function isSentenceAboutList(value: JsonText): boolean {
  const text = stringValue(value)
  return (
    text !== null &&
    text.length <= 100 &&
    /^\[(?:Empty list property created|No items to update|Bulk update: \d+ items updated, \d+ items deleted)\]$/.test(
      text,
    )
  )
}

/** Recognizes a list operation by its shape: `list` is the name of the list, and `operation` is a known operation. */
function listOperation(value: JsonText | undefined, list: string): ReplicaListOperation | null {
  const given = value === undefined ? null : members(value)
  if (given === null || textAt(given, 'list') !== list) return null
  const operation = listOperations.find((name) => name === textAt(given, 'operation'))
  return operation === undefined ? null : readOperation(operation, given)
}

/** Reads a change in the form that other implementations send after an HTTP request (WIRE-LIST-02). Only for known lists. */
export function listAction(value: JsonText): ReplicaListOperation | null {
  const given = members(value)
  if (given === null) return null
  const named = { add: 'append', update: 'update', delete: 'delete', metadata_update: 'metadata' } as const
  const action = textAt(given, 'action')
  if (action !== 'add' && action !== 'update' && action !== 'delete' && action !== 'metadata_update') return null
  const item = given.get('value')
  return readOperation(named[action], item === undefined ? given : new Map([...given, ['item', item]]))
}

function readOperation(
  operation: ReplicaListOperation['operation'],
  given: ReadonlyMap<string, JsonText>,
): ReplicaListOperation {
  const optional = <K extends string, T>(name: K, value: T | null | undefined): { [name in K]?: T } =>
    value === null || value === undefined ? {} : ({ [name]: value } as { [name in K]?: T })
  const items = given.get('items')
  return {
    operation,
    ...optional('length', wholeAt(given, 'length')),
    ...optional('index', wholeAt(given, 'index')),
    ...optional('item', given.get('item')),
    ...optional('items', items === undefined ? null : elements(items)),
    ...optional('oldItem', given.get('old_item')),
    ...optional('description', textAt(given, 'description')),
    ...optional('explanation', textAt(given, 'explanation')),
  }
}

function textAt(given: ReadonlyMap<string, JsonText>, name: string): string | null {
  const value = given.get(name)
  return value === undefined ? null : stringValue(value)
}

function wholeAt(given: ReadonlyMap<string, JsonText>, name: string): number | null {
  const value = Number(/^-?\d{1,15}$/.test(given.get(name) ?? '') ? given.get(name) : Number.NaN)
  return Number.isNaN(value) ? null : value
}

/** Leaves out a name that the store cannot use as a key, so that one such property does not block all the others. */
function storable(change: ReplicaChange): ReplicaChange[] {
  return isStorableName(change.name) ? [change] : []
}

export function isStorableName(name: string): boolean {
  if (name === '' || name.includes('\0') || Buffer.byteLength(name) > maxNameBytes) return false
  // Such a value could be read as the head of a list, and the head decides how many items are read.
  return nameOfKey(name).kind === 'value'
}
