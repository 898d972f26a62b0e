/** What a diff does to the copy of a peer's data: one change for each name that it speaks of. Pure. */
import { elements, isObject, type JsonText, members, stringValue } from '../json/json.ts'
import { maxNameBytes } from '../actor/property-name.ts'
import type { Scope } from '../subscription/scope.ts'
import { nameOfKey } from './remote-keys.ts'

/** One operation on a list, as the protocol spells it. What an operation does not need is absent. */
export interface ReplicaListOperation {
  readonly operation: (typeof operations)[number]
  /** After the operation; where a copy has another length it is wrong. */
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
  /** A part of the value at `below`: objects are merged, `""` removes a key. */
  | { readonly kind: 'merge'; readonly below: readonly string[]; readonly value: JsonText }
  /** The value at `below` as a whole; null when there is none. */
  | { readonly kind: 'put'; readonly below: readonly string[]; readonly value: JsonText | null }
  | { readonly kind: 'remove' }
  | { readonly kind: 'list'; readonly operation: ReplicaListOperation }
  | { readonly kind: 'items'; readonly items: readonly JsonText[] }
  /** It changed in a way that only fetching it tells. */
  | { readonly kind: 'refetch' }
)

const operations = [
  'append',
  'insert',
  'update',
  'extend',
  'delete',
  'pop',
  'clear',
  'delete_all',
  'remove',
  'metadata',
] as const

const legacyPrefix = 'list:'
const gone = '""'

/**
 * @param data relative to the scope.
 * @param replaces the values take the place of what was there; otherwise objects are parts, to be merged into it.
 */
export function changesOf(scope: Scope, data: JsonText, replaces: boolean): ReplicaChange[] {
  const { subtarget, resource } = scope
  if (subtarget === '') {
    return [...(members(data) ?? [])].flatMap(([name, value]) => storable(changeOf(name, value, replaces)))
  }
  // In place of what may not be seen any more.
  if (data === '{}' && !replaces) return []
  // Of a list that alone is subscribed to, changes come under its name, or bare.
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
  const given = members(value)
  if (given?.get('_list') === 'true') {
    const items = elements(given.get('items') ?? value)
    return items === null ? { name, kind: 'refetch' } : { name, kind: 'items', items }
  }
  return replaces || !isObject(value) ? { name, kind: 'set', value } : { name, kind: 'merge', below: [], value }
}

/** Told by its shape: `list` names the list, and `operation` is one of the known ones. */
function listOperation(value: JsonText | undefined, list: string): ReplicaListOperation | null {
  const given = value === undefined ? null : members(value)
  if (given === null || textAt(given, 'list') !== list) return null
  const operation = operations.find((name) => name === textAt(given, 'operation'))
  return operation === undefined ? null : readOperation(operation, given)
}

/** As other implementations tell of what was changed over HTTP (WIRE-LIST-02); only where a list of that name is known. */
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

/** A name that no store can take as a key is left out: one property that cannot be copied must not stop all others. */
function storable(change: ReplicaChange): ReplicaChange[] {
  return isStorableName(change.name) ? [change] : []
}

export function isStorableName(name: string): boolean {
  if (name === '' || name.includes('\0') || Buffer.byteLength(name) > maxNameBytes) return false
  // Its value would stand where a list is kept: a head that a peer made up says how many items are read.
  return nameOfKey(name).kind === 'value'
}
