/** Converts change records to events. Pure functions. */
import type { ChangeCaller, FileChanged, ListChanged, PropertyChanged } from '../app/background/background.ts'
import { absent } from '../json/absent.ts'
import { array, getAt, isObject, type JsonText, members, object, stringText, toPlain } from '../json/json.ts'
import { parseOrigin } from '../origin.ts'
import type { Change } from '../property/change.ts'

export type ChangeEventName = 'property_changed' | 'list_changed' | 'file_changed'

/** An event as it is stored. */
export interface StoredEvent {
  readonly type: ChangeEventName
  /** The name of the property, list or file. */
  readonly name: string
  /** The members of the event as JSON, in the names of messages. */
  readonly data: JsonText
}

/** The members of a list change that events have. */
const listMembers = ['operation', 'length', 'index', 'item', 'items', 'old_item', 'description', 'explanation'] as const

/** The events that are stored by one statement have this many characters together, or are one. */
export const charactersTogether = 4_194_304
/** The most events that are stored by one statement. */
const eventsTogether = 500

/**
 * The events of change records in their order, in parts that are stored together. A bulk write has one event for each name.
 * Each part is made when it is asked for, because those of a bulk write together take long.
 */
export function* eventParts(changes: readonly Change[]): Generator<readonly StoredEvent[], undefined> {
  let part: StoredEvent[] = []
  let characters = 0
  for (const event of eventsOf(changes)) {
    if (part.length === eventsTogether || (part.length > 0 && characters + event.data.length > charactersTogether)) {
      yield part
      part = []
      characters = 0
    }
    characters += event.data.length
    part.push(event)
  }
  if (part.length > 0) yield part
}

function* eventsOf(changes: readonly Change[]): Generator<StoredEvent, undefined> {
  for (const change of changes) if (change.changesNothing !== true) yield* eventsOfChange(change)
}

function* eventsOfChange({ subtarget, path = [], blob, list }: Change): Generator<StoredEvent, undefined> {
  if (subtarget === null) {
    for (const [name, value] of members(blob) ?? []) yield propertyEvent(name, [], value)
  } else if (list !== undefined) yield listEvent(subtarget, blob)
  // The blob begins below the first key of the path.
  else yield propertyEvent(subtarget, path, getAt(blob, path.slice(1)) ?? blob)
}

function propertyEvent(name: string, path: readonly string[], blob: JsonText): StoredEvent {
  const isRemoval = blob === absent
  const data = object([
    ['name', stringText(name)],
    ['operation', stringText(isRemoval ? 'delete' : 'set')],
    ['path', array(path.map(stringText))],
    ...(isRemoval ? [] : [['value', blob] as const]),
  ])
  return { type: 'property_changed', name, data }
}

function listEvent(name: string, blob: JsonText): StoredEvent {
  const given = members(blob)
  const facts = listMembers.flatMap((member) => {
    const value = given?.get(member)
    return value === undefined ? [] : [[member, value] as const]
  })
  return { type: 'list_changed', name, data: object([['name', stringText(name)], ...facts]) }
}

/** The part of an event that its stored data gives. */
export type EventFacts =
  | Pick<PropertyChanged, 'name' | 'operation' | 'path' | 'value'>
  | Pick<ListChanged, 'name' | 'operation' | 'length' | 'index' | 'item' | 'items' | 'oldItem'>
  | Pick<FileChanged, 'name' | 'operation' | 'size' | 'type' | 'sha256'>

/** Reads stored data, in the names of application code. */
export function eventFacts(data: JsonText): EventFacts {
  if (!isObject(data)) throw new Error('Cannot read a stored event: it is not an object')
  const { old_item: oldItem, ...facts } = toPlain(data) as Record<string, unknown>
  // `eventsOf` has written the members.
  return { ...facts, ...(oldItem === undefined ? {} : { oldItem }) } as unknown as EventFacts
}

/** Who made the change of an event. */
export function changeCaller(origin: string): ChangeCaller {
  const parsed = parseOrigin(origin)
  if (parsed === null) return { kind: 'application' }
  const { by, name, call, request } = parsed
  return {
    kind: by,
    ...(name === undefined ? {} : { id: name }),
    ...(call === undefined ? {} : { call }),
    ...(request === undefined ? {} : { requestId: request }),
  }
}
