/**
 * Change records describe a write in the terms of subscriptions. Change sinks receive them inside the transaction of the
 * write, so that a change and its effects commit together.
 */
import type { Caller } from '../caller.ts'
import { absent } from '../json/absent.ts'
import { array, type JsonText, known, members, object, stringText } from '../json/json.ts'
import { originText } from '../origin.ts'
import type { ListChange } from '../list/list-change.ts'
import type { RecordedChange } from '../live/live.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { Versions } from './version.ts'

export interface Change {
  readonly target: 'properties'
  /** The name of the property or list. Null when the blob is an object of several names. */
  readonly subtarget: string | null
  /** The first key below the name. The blob then begins at that key. */
  readonly resource: string | null
  /** All keys below the name to the written part, which the blob contains. Absent when the blob is a full value. */
  readonly path?: readonly string[]
  /** The new value, `""` for a removal, or the list change of the protocol (`list`, `operation`, …). */
  readonly blob: JsonText
  /** The full values before and after, by property name. Absent when unknown, or when no subscription needs them. */
  readonly states?: ReadonlyMap<string, PropertyState>
  /** The change of a list that the blob describes. Absent for values. */
  readonly list?: ListChange
  /** True for a list change without effect. */
  readonly changesNothing?: true
}

/** A property before and after a change. Null when the property does not exist. */
export interface PropertyState {
  readonly before: JsonText | null
  readonly after: JsonText | null
}

/** Receives the changes of one transaction before it commits. */
export type ChangeSink = (tx: Transaction, actor: LockedActor, changes: readonly Change[], by: Caller) => Promise<void>

export type Record = (change: Change) => void
/** Gives a change of this caller to the sinks. */
export type RecordBy = (change: Change, by: Caller) => Promise<void>

/** Gives what was recorded to the sinks before the end of the transaction, because it would not fit into memory together. */
export type Flush = () => Promise<void>

/** The row of a new actor. No transaction but the one that inserts it can see the row, so it needs no lock. */
const emptyActor: Omit<LockedActor, 'id' | 'creator' | 'kind'> = {
  subscriptionCount: 0,
  keySubscriptionCount: 0,
  waitingChanges: 0,
  watchedUntil: 0,
  observerCount: 0,
  usedBytes: 0,
  usedNames: 0,
  usedItems: 0,
  residence: 'here',
}

/** Changes data of an actor, always through this class. The change and its sinks run in one actor transaction. */
export class ActorWriter {
  readonly #store: Pick<CatchUpStore, 'changeActor'>
  readonly #versions: Pick<Versions, 'requireCondition'>
  readonly #sink: ChangeSink | null

  constructor(
    store: Pick<CatchUpStore, 'changeActor'>,
    versions: Pick<Versions, 'requireCondition'>,
    sink: ChangeSink | null,
  ) {
    this.#store = store
    this.#versions = versions
    this.#sink = sink
  }

  /** @throws ServiceError `actor_not_found`; `precondition_failed` when the condition of the access is not met */
  change<T>(
    access: Access,
    work: (tx: Transaction, record: Record, actor: LockedActor, flush: Flush) => Promise<T>,
  ): Promise<T> {
    const { actor: owner, caller } = access
    return this.#store.changeActor(
      owner.id,
      async (tx, actor) => {
        await this.#versions.requireCondition(tx, access)
        const changes: Change[] = []
        const flush = async (): Promise<void> => {
          const recorded = changes.splice(0)
          if (this.#sink !== null && recorded.length > 0) await this.#sink(tx, actor, recorded, caller)
        }
        const result = await work(tx, (change) => changes.push(change), actor, flush)
        await flush()
        return result
      },
      originText(caller),
    )
  }

  /** Makes the first change of an actor, in the transaction that has inserted its row. */
  async changeNew(
    tx: Transaction,
    { actor: { id, creator, kind }, caller }: Access,
    work: (actor: LockedActor) => Promise<Change>,
  ): Promise<void> {
    const actor: LockedActor = { ...emptyActor, id, creator, kind }
    const change = await work(actor)
    await this.#sink?.(tx, actor, [change], caller)
  }

  /** Like `change`, for the changes of several callers without conditions. Each change reaches the sinks with its caller. */
  changeEach<T>(
    actorId: string,
    origin: string,
    work: (tx: Transaction, record: RecordBy, actor: LockedActor) => Promise<T>,
  ): Promise<T> {
    const sink = this.#sink
    return this.#store.changeActor(
      actorId,
      (tx, actor) => work(tx, async (change, by) => sink?.(tx, actor, [change], by), actor),
      origin,
    )
  }
}

/** The names of all changed properties. */
export function changedNames(changes: readonly Change[]): string[] {
  return [
    ...new Set(
      changes.flatMap(({ subtarget, blob }) => (subtarget === null ? [...(members(blob)?.keys() ?? [])] : [subtarget])),
    ),
  ]
}

/** Maximum length of a value in a description, in characters. A watcher reads a longer value itself. */
const longestValue = 2048
/** A transaction with more changes is described by the names alone. */
const maxDescribed = 64

/** Describes changes for watchers: the operation, and the new value where it is short. */
export function recordedChanges(changes: readonly Change[]): readonly RecordedChange[] {
  const described = changes.flatMap(describe)
  return described.length > maxDescribed ? changedNames(changes) : described
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
  return items.length > maxDescribed || characters > longestValue ? [] : [['items', array(items)]]
}
