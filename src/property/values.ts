/** Reads, sets and deletes a value or a key in it, with checks of rights and hooks. Each write is one transaction. */
import type { Indexes } from '../actor/indexes.ts'
import { checkName } from '../actor/property-name.ts'
import { ServiceError } from '../errors.ts'
import type { History } from '../history/history.ts'
import { absent } from '../json/absent.ts'
import { deleteAt, getAt, isNull, type JsonText, known, mergeAt } from '../json/json.ts'
import type { Permission } from '../permission/permission.ts'
import { rightToPut } from '../permission/required-right.ts'
import type { LockedActor, Store, Transaction } from '../store/store.ts'
import { type Access, requireRight } from './access.ts'
import type { ActorWriter, Change, RecordBy } from './change.ts'
import type { DeclaredKinds } from './declared-kinds.ts'
import { requireNoList } from './list-marker.ts'
import { nameIsTaken, quote, rejectedDelete, rejectedWrite } from './property-errors.ts'
import type { PropertyGate } from './property-hooks.ts'
import {
  deleteValues,
  findBefore,
  findProperty,
  type NewValue,
  putChangedValue,
  putValue,
  putValues,
  type UnreadProperty,
  type StoredProperty,
} from './property-store.ts'
import { type SharedChangeList, SharedChanges } from './shared-changes.ts'
import { partOfValue, type PropertyStates, stateFor, statesFrom, wholeValue } from './value-diff.ts'
import type { Versions } from './version.ts'

export interface ValuesDeps {
  readonly store: Store
  readonly writer: ActorWriter
  readonly permission: Permission
  readonly gate: PropertyGate
  readonly indexes: Indexes
  readonly versions: Versions
  readonly declared: DeclaredKinds
  readonly history: Pick<History, 'keepValues'>
  /** Whether changes of the actor are announced, each with its own origin. */
  readonly isObserved: (actor: LockedActor) => boolean
  /** Sets a property of another kind. */
  readonly replaceOther: (
    tx: Transaction,
    actor: LockedActor,
    property: StoredProperty,
    value: JsonText,
  ) => Promise<Change>
}

/** The version on which a form is based. A write compares it in its transaction. */
export interface Expected {
  /** `PropertyVersion.whole`. Default: no comparison. */
  readonly expected?: string | undefined
}

/** A value that replaces the property of a name. */
interface Put {
  readonly name: string
  readonly value: JsonText
}

export class Values {
  readonly #deps: ValuesDeps
  /** Values of the same actor. */
  readonly #sharedPuts: SharedChanges<Put, void>

  constructor(deps: ValuesDeps) {
    this.#deps = deps
    this.#sharedPuts = new SharedChanges({
      writer: deps.writer,
      isObserved: deps.isObserved,
      store: (tx, record, actor, puts) => this.#storePuts(tx, record, actor, puts),
    })
  }

  /** The value at the path. Null when it does not exist, or a hook hides it. */
  read(
    access: Access,
    { content }: StoredProperty,
    path: readonly string[],
  ): Promise<JsonText | null> | JsonText | null {
    const below = path.slice(1)
    const value = below.length === 0 ? content : below.includes('') ? undefined : getAt(content, below)
    return value === undefined ? null : this.#deps.gate.runHooks(access, 'get', path, value)
  }

  /**
   * Sets the value at the path and returns it as stored, after the hooks. The value at a name is replaced; below a name,
   * objects merge. `absent` at a name removes the property, which requires the right to delete.
   *
   * @throws ServiceError `conflict` when a value on the path is not an object, or the name belongs to another kind that
   *   has no `replace`.
   */
  async put(
    access: Access,
    path: readonly string[],
    given: JsonText,
    operation: 'put' | 'post' = 'put',
    { expected }: Expected = {},
  ): Promise<JsonText> {
    const value = await this.prepare(access, path, given, operation)
    const [name = ''] = path
    if (path.length === 1 && expected === undefined && this.#mayShare(access, name, value)) {
      await this.#sharedPuts.add(access.actor.id, access, { name, value }, value.length)
      return value
    }
    await this.#deps.writer.change(access, async (tx, record, actor) => {
      await this.#deps.versions.require(tx, access.actor, name, { whole: expected })
      record(await this.store(tx, actor, path, value))
    })
    return value
  }

  /**
   * Checks a value for an actor that does not exist yet. The result stores it in the transaction that creates the actor.
   *
   * @throws as `put`
   */
  async prepareFirst(access: Access, name: string, given: JsonText): Promise<(tx: Transaction) => Promise<void>> {
    const value = await this.prepare(access, [name], given)
    return (tx) => this.#deps.writer.changeNew(tx, access, (actor) => this.store(tx, actor, [name], value))
  }

  /** Whether the value may be stored together with others. An indexed value has effects of its own, which may fail. */
  #mayShare({ condition }: Access, name: string, value: JsonText): boolean {
    return condition === undefined && value !== absent && !this.#deps.indexes.follows(name)
  }

  async #storePuts(tx: Transaction, record: RecordBy, actor: LockedActor, puts: SharedChangeList<Put>): Promise<void> {
    const [{ given, access }] = puts
    if (puts.length === 1) return record(await this.store(tx, actor, [given.name], given.value), access.caller)
    const last = new Map<string, NewValue>()
    for (const { given: put, origin } of puts)
      last.set(put.name, { ...this.#deps.declared.of(access.actor).newValue(put.name, put.value), origin })
    const values = [...last.values()]
    const [first, ...others] = values
    const [, isStored] = await Promise.all([
      this.#deps.history.keepValues(tx, actor.id, values),
      first === undefined || others.length > 0 ? putValues(tx, actor.id, values) : putValue(tx, actor.id, first),
    ])
    // After an error, each value is stored alone, because a list is replaced in its own way.
    if (!isStored) throw new ServiceError('conflict', 'Cannot set the values together: a list has one of the names')
    for (const put of puts) await record(wholeValue(put.given.name, put.given.value), put.access.caller)
  }

  /** Checks the path, the right, the hooks and the declared schema of a `put`, and returns the value to store. */
  async prepare(
    access: Access,
    path: readonly string[],
    given: JsonText,
    operation: 'put' | 'post' = 'put',
  ): Promise<JsonText> {
    const [name = '', ...below] = path
    checkName(name)
    if (below.includes('')) throw new ServiceError('not_found', `Cannot write ${quote(path)}: a segment is empty`)
    if (below.length === 0 && isNull(given))
      throw new ServiceError('invalid_value', `Cannot set ${quote(path)}: null is not a property value`)
    const right = rightToPut(path, given)
    await requireRight(this.#deps.permission, access, right, path)
    const value = await this.#deps.gate.runHooks(access, operation, path, given)
    if (value === null) throw rejectedWrite(path)
    // A hook may turn a change into a removal.
    if (rightToPut(path, value) !== right)
      await requireRight(this.#deps.permission, access, rightToPut(path, value), path)
    if (below.length > 0 || value === absent) return value
    requireNoList(path, value)
    return this.#deps.declared.of(access.actor).fitValue(path, value)
  }

  /** Stores the result of `prepare` at the path. @throws as `put` */
  async store(tx: Transaction, actor: LockedActor, path: readonly string[], value: JsonText): Promise<Change> {
    const [name = ''] = path
    return path.length === 1
      ? (await this.#replace(tx, actor, name, value)).change
      : this.#merge(tx, actor, path, value)
  }

  async #replace(
    tx: Transaction,
    actor: LockedActor,
    name: string,
    value: JsonText,
  ): Promise<{ readonly change: Change; readonly isChanged: boolean }> {
    const states = await this.#before(tx, actor, name, value)
    const isChanged = await this.#store(tx, actor, name, value)
    // An unchanged row has the same value as before, or another kind, or does not exist.
    const present = isChanged ? null : await findProperty(tx, actor.id, name)
    if (present !== null && present.kind !== 'value')
      return {
        change: await this.#deps.replaceOther(tx, actor, this.#deps.declared.of(actor).current(present), value),
        isChanged: true,
      }
    const after = value === absent ? null : value
    await this.#deps.indexes.update(tx, actor.id, new Map([[name, after]]))
    const unchanged = isChanged ? undefined : stateFor(actor, name, { before: after, after })
    return { change: wholeValue(name, value, states ?? unchanged), isChanged }
  }

  /** The states before and after. Reads the old value only when a subscription to a key needs it. */
  async #before(
    tx: Transaction,
    actor: LockedActor,
    name: string,
    value: JsonText,
  ): Promise<PropertyStates | undefined> {
    if (actor.keySubscriptionCount === 0) return undefined
    return statesFrom(this.#deps.declared.of(actor), await findBefore(tx, actor.id, [name]), new Map([[name, value]]))
  }

  /** Stores the value. True when a row changed. Only with subscriptions does it detect that the value stays the same. */
  async #store(tx: Transaction, actor: LockedActor, name: string, value: JsonText): Promise<boolean> {
    const { history, declared } = this.#deps
    if (value === absent) {
      const [, deleted] = await Promise.all([
        history.keepValues(tx, actor.id, [{ name, value: null }]),
        deleteValues(tx, actor.id, [name]),
      ])
      return deleted > 0
    }
    const put = actor.subscriptionCount === 0 ? putValue : putChangedValue
    const [, isChanged] = await Promise.all([
      history.keepValues(tx, actor.id, [{ name, value }]),
      put(tx, actor.id, declared.of(actor).newValue(name, value)),
    ])
    return isChanged
  }

  async #merge(tx: Transaction, actor: LockedActor, path: readonly string[], value: JsonText): Promise<Change> {
    const [name = '', ...below] = path
    const declared = this.#deps.declared.of(actor)
    const stored = await findProperty(tx, actor.id, name)
    if (stored !== null && stored.kind !== 'value') throw nameIsTaken(name, stored.kind)
    const before = this.#currentValue(actor, name, stored)?.content
    const together = mergeAt(before, below, value)
    requireNoList(path, together, before)
    const merged = declared.fitValue(path, together)
    const written = declared.newValue(name, merged)
    await this.#putPart(tx, actor, written)
    await this.#deps.indexes.update(tx, actor.id, new Map([[name, merged]]))
    const states = stateFor(actor, name, { before: before ?? null, after: merged })
    // A peer may have a copy of the older version, into which a part does not fit.
    const isUpgraded = stored !== null && stored.version !== written.version
    return canBeMerged(value) && merged === together && !isUpgraded
      ? partOfValue(name, below, value, states)
      : wholeValue(name, merged, states)
  }

  /**
   * Removes a property, or only the key at the path. False when the name does not exist.
   *
   * @throws ServiceError `not_found` when the key does not exist.
   */
  async delete(access: Access, path: readonly string[], { expected }: Expected = {}): Promise<boolean> {
    const [name = '', ...below] = path
    checkName(name)
    await requireRight(this.#deps.permission, access, 'delete', path)
    if (below.includes('')) throw noSuchKey(path)
    await this.#runDeleteHooks(access, path)
    return this.#deps.writer.change(access, async (tx, record, actor) => {
      await this.#deps.versions.require(tx, access.actor, name, { whole: expected })
      const { change, isChanged } = await this.remove(tx, actor, path)
      record(change)
      return isChanged
    })
  }

  /** Removes the property or the key at the path, without checks. @throws as `delete` */
  async remove(
    tx: Transaction,
    actor: LockedActor,
    path: readonly string[],
  ): Promise<{ readonly change: Change; readonly isChanged: boolean }> {
    const [name = '', ...below] = path
    if (below.length === 0) return this.#replace(tx, actor, name, absent)
    const { indexes } = this.#deps
    const declared = this.#deps.declared.of(actor)
    const row = await findProperty(tx, actor.id, name)
    const stored = this.#currentValue(actor, name, row)
    const without = stored?.kind === 'value' ? deleteAt(stored.content, below) : undefined
    if (stored?.kind !== 'value' || without === undefined) throw noSuchKey(path)
    const rest = declared.fitValue(path, without)
    const written = declared.newValue(name, rest)
    await this.#putPart(tx, actor, written)
    await indexes.update(tx, actor.id, new Map([[name, rest]]))
    const states = stateFor(actor, name, { before: stored.content, after: rest })
    const isPart = rest === without && (row === null || row.version === written.version)
    const change = isPart ? partOfValue(name, below, absent, states) : wholeValue(name, rest, states)
    return { change, isChanged: true }
  }

  /** Stores a value of which a part has changed. */
  async #putPart(tx: Transaction, actor: LockedActor, written: NewValue): Promise<void> {
    await Promise.all([this.#deps.history.keepValues(tx, actor.id, [written]), putValue(tx, actor.id, written)])
  }

  #currentValue(actor: LockedActor, name: string, row: UnreadProperty | null): StoredProperty | null {
    const declared = this.#deps.declared.of(actor)
    const present = declared.present(name, row)
    return present === null ? null : declared.current(present)
  }

  async #runDeleteHooks(access: Access, path: readonly string[]): Promise<void> {
    const [name = '', ...below] = path
    if (this.#deps.gate.hasNoHooks(access, 'delete', name)) return
    const row = await this.#deps.store.read((q) => findProperty(q, access.actor.id, name))
    const stored = row === null ? null : this.#deps.declared.of(access.actor).current(row)
    const value =
      stored?.kind === 'value' ? (below.length === 0 ? stored.content : getAt(stored.content, below)) : undefined
    if ((await this.#deps.gate.runHooks(access, 'delete', path, value ?? known('{}'))) === null)
      throw rejectedDelete(path)
  }
}

/**
 * True when a peer can merge the part into its copy. An empty string in the part would delete the key in the copy, and
 * merging an empty object would have no effect.
 */
function canBeMerged(value: JsonText): boolean {
  return !value.includes('""') && !value.includes('{}')
}

function noSuchKey(path: readonly string[]): ServiceError {
  return new ServiceError('not_found', `Cannot delete ${quote(path)}: the key does not exist`)
}
