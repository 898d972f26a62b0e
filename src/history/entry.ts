/** Entries of the history: what a change of a property or list replaced. */
import { array, type JsonText, known, object, stringText } from '../json/json.ts'
import { parseSteps, type ListStep } from '../list/list.ts'
import { type Origin, parseOrigin } from '../origin.ts'
import { requireIntact } from '../store/checksum.ts'
import type { EntryRow } from './history-store.ts'

/** The kinds of callers that make changes: `Origin.by`. */
export const callerKinds = ['creator', 'peer', 'client', 'trustee', 'anonymous', 'application'] as const

/** The effect on the items of a list. `change`: several of these, or more than the history keeps. */
export type ListOperationKept = 'create' | 'delete' | 'add' | 'remove' | 'update' | 'texts' | 'change'

export interface HistoryEntry {
  /** Number of the entry. Later changes of the actor have higher numbers. */
  readonly id: number
  /** Unix milliseconds. */
  readonly at: number
  readonly name: string
  readonly kind: 'value' | 'list'
  readonly operation: 'set' | ListOperationKept
  /** The value before. Null when there was none, when it was too long to keep, and for a list. */
  readonly before: JsonText | null
  /** The steps of the change of a list. Null for a value, and when they were too long to keep. */
  readonly steps: { readonly listId: string; readonly steps: readonly ListStep[] } | null
  /** True when the change cannot be taken back, because what it replaced was too long to keep. */
  readonly isTooLong: boolean
  /** True when a hook decides what the owner sees of the property, so its content is not shown. */
  readonly isHidden: boolean
  /** The declared version of the value or items before. */
  readonly version: number
  readonly origin: Origin
}

/** @throws ServiceError `value_corrupted` */
export function entryOf(actorId: string, row: EntryRow): HistoryEntry {
  const { seq, at, name, kind, operation, existed, content, version, checksum, origin } = row
  const isValue = kind === 'value'
  if (isValue && content !== null) requireIntact(actorId, name, { value: content, checksum })
  return {
    id: seq,
    at,
    name,
    kind,
    operation: operation as HistoryEntry['operation'],
    before: isValue && content !== null ? known(content) : null,
    steps: isValue || content === null ? null : parseSteps(content),
    isTooLong: existed === 1 && content === null,
    isHidden: false,
    version,
    origin: parseOrigin(origin) ?? { by: 'application' },
  }
}

/** The effect of the change of a list, in one word. */
export function operationOf(steps: readonly ListStep[] | null): ListOperationKept {
  if (steps === null) return 'change'
  const kinds = new Set(steps.map(({ kind }) => kind))
  if (kinds.has('delete')) return 'delete'
  const [only] = kinds
  if (kinds.size !== 1 || only === undefined || only === 'delete') return 'change'
  return only === 'insert' ? 'add' : only
}

/** How many items the change of a list concerned. */
export function itemsOf({ steps }: HistoryEntry): number {
  let items = 0
  for (const step of steps?.steps ?? [])
    items += step.kind === 'insert' ? step.after.length : step.kind === 'remove' || step.kind === 'update' ? 1 : 0
  return items
}

/** The most items that an entry of a response shows. */
const maxShown = 100

/** The entry as the API shows it. */
export function historyMembers(entry: HistoryEntry): JsonText {
  const { id, at, name, kind, operation, before, steps, isTooLong, isHidden, origin } = entry
  const text = (key: string, value: string | undefined): (readonly [string, JsonText])[] =>
    value === undefined ? [] : [[key, stringText(value)]]
  return object([
    ['id', known(String(id))],
    ['at', stringText(new Date(at).toISOString())],
    ['name', stringText(name)],
    ['kind', stringText(kind)],
    ['operation', stringText(operation)],
    ...(before === null ? [] : [['before', before] as const]),
    ...(isTooLong ? [['too_long', known('true')] as const] : []),
    ...(isHidden ? [['hidden', known('true')] as const] : []),
    ...(kind === 'list' ? [['items', known(String(itemsOf(entry)))] as const] : []),
    ...(steps === null || isHidden
      ? []
      : [['steps', array(steps.steps.flatMap(shownStep).slice(0, maxShown))] as const]),
    ['caller_kind', stringText(origin.by)],
    ...text('caller', origin.name),
    ...text('call', origin.call),
    ...text('request_id', origin.request),
  ])
}

function shownStep(step: ListStep): JsonText[] {
  const operation = ['operation', stringText(step.kind)] as const
  switch (step.kind) {
    case 'insert':
      return [object([operation, ['index', known(String(step.index))], ['count', known(String(step.after.length))]])]
    case 'remove':
      return [object([operation, ['index', known(String(step.index))], ['item', step.item]])]
    case 'update':
      return [object([operation, ['item', step.item]])]
    default:
      return []
  }
}
