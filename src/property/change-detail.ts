/** Describes changes of properties for watchers: the operation, and the new value where it is short. */
import { absent } from '../json/absent.ts'
import { array, type JsonText, known, members, object, stringText } from '../json/json.ts'
import type { ListChange } from '../list/list-change.ts'
import type { RecordedChange } from '../live/live.ts'
import { type Change, changedNames } from './change.ts'

/** Maximum length of a value in a description, in characters. A watcher reads a longer value itself. */
export const longestValue = 2048
/** A transaction with more changes is described by the names alone. */
const mostDescribed = 64

export function recordedChanges(changes: readonly Change[]): readonly RecordedChange[] {
  const described = changes.flatMap(describe)
  return described.length > mostDescribed ? changedNames(changes) : described
}

function describe({ subtarget, resource, blob, list }: Change): RecordedChange[] {
  if (subtarget === null) return [...(members(blob) ?? [])].map(([name, value]) => ({ name, detail: ofValue(value) }))
  if (list !== undefined) return [{ name: subtarget, detail: ofList(list) }]
  // A nested write has only a part of the value at its key.
  if (resource !== null)
    return [{ name: subtarget, detail: object([operation('merge'), ['key', stringText(resource)]]) }]
  return [{ name: subtarget, detail: ofValue(blob) }]
}

function ofValue(value: JsonText): JsonText {
  return value === absent ? object([operation('delete')]) : object([operation('set'), ...short('value', value)])
}

function ofList({ operation: name, length, index, item, items }: ListChange): JsonText {
  const isNew = name === 'append' || name === 'insert' || name === 'update'
  return object([
    operation(name),
    ['length', known(String(length))],
    ...(index === undefined ? [] : [['index', known(String(index))] as const]),
    ...(isNew && item !== undefined ? short('item', item) : []),
    ...(items === undefined ? [] : [['count', known(String(items.length))] as const, ...shortItems(items)]),
  ])
}

function operation(name: string): readonly [string, JsonText] {
  return ['operation', stringText(name)]
}

function short(name: string, value: JsonText): (readonly [string, JsonText])[] {
  return value.length > longestValue ? [] : [[name, value]]
}

function shortItems(items: readonly JsonText[]): (readonly [string, JsonText])[] {
  const characters = items.reduce((sum, item) => sum + item.length, 0)
  return items.length > mostDescribed || characters > longestValue ? [] : [['items', array(items)]]
}
