/** Converts list changes to change records. Their fields serve both interpretations of the protocol. */
import { array, type JsonText, known, object, stringText } from '../../json/json.ts'
import type { Change } from '../change.ts'
import type { ListChange, ListOperation } from '../../list/list-change.ts'

/** The names of operations in list diffs of other implementations over HTTP (WIRE-LIST-02). */
const actions: Readonly<Record<ListOperation, string>> = {
  append: 'add',
  insert: 'insert',
  update: 'update',
  delete: 'delete',
  remove: 'remove',
  pop: 'pop',
  extend: 'extend',
  clear: 'clear',
  delete_all: 'delete_all',
  metadata: 'metadata_update',
}

export function listDiff(list: string, change: ListChange): Change {
  const members: (readonly [string, JsonText])[] = [
    ['list', stringText(list)],
    ['operation', stringText(change.operation)],
    ['length', number(change.length)],
  ]
  const add = (name: string, value: JsonText | undefined): void => {
    if (value !== undefined) members.push([name, value])
  }
  add('index', change.index === undefined ? undefined : number(change.index))
  add('item', change.item)
  add('items', change.items === undefined ? undefined : array(change.items))
  add('old_item', change.old_item)
  add('description', change.description === undefined ? undefined : stringText(change.description))
  add('explanation', change.explanation === undefined ? undefined : stringText(change.explanation))
  add('action', stringText(actions[change.operation]))
  add(
    'value',
    change.operation === 'append' || change.operation === 'insert' || change.operation === 'update'
      ? change.item
      : undefined,
  )
  const isSameItem = change.operation === 'update' && change.item === change.old_item
  const changesNothing = isSameItem || change.changesNothing === true
  const blob = object(members)
  return {
    target: 'properties',
    subtarget: list,
    resource: null,
    blob,
    list: change,
    ...(changesNothing ? { changesNothing } : {}),
  }
}

/** The diff of a deleted list. */
export function listRemoval(list: string): Change {
  return listDiff(list, { operation: 'delete_all', length: 0 })
}

function number(value: number): JsonText {
  return known(String(value))
}
