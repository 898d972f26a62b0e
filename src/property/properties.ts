/** Property values: one function for each thing that can be done, in one transaction, behind rights and hooks. */
import type { PropertyOperation } from '../app/declarations.ts'
import { ServiceError } from '../errors.ts'
import { array, deleteAt, getAt, isNull, type JsonText, known, members, mergeAt, object } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import type { Permission } from '../permission/permission.ts'
import type { LockedActor, Queries, Store, Transaction } from '../store/store.ts'
import { absent } from '../json/absent.ts'
import type { Access } from './access.ts'
import type { ActorWriter, Change, PropertyState } from './change.ts'
import type { PropertyGate } from './property-hooks.ts'
import type { Indexes } from '../actor/indexes.ts'
import { factsOf, listMetadata } from '../list/list-head.ts'
import { type ListContent, readManyLists, shortLists } from '../list/list-read.ts'
import { checkName } from '../actor/property-name.ts'
import type { PropertyVersion, Versions } from './version.ts'
import {
  deleteAllProperties,
  deleteValues,
  findBefore,
  findProperties,
  findProperty,
  putChangedValue,
  putValue,
  type StoredProperty,
} from './property-store.ts'
import { requiredOn, rightToPut } from '../permission/required-right.ts'

/** Parts of values that one look goes through. */
const mostParts = 2000

export interface PropertyParts {
  readonly store: Store
  readonly writer: ActorWriter
  readonly permission: Permission
  readonly gate: PropertyGate
  readonly indexes: Indexes
  /** Called after lists may have left rows behind. */
  readonly deleteRemoved: () => void
  readonly versions: Versions
}

/** What a form was made from; a write compares it in its transaction. */
export interface Expected {
  /** `PropertyVersion.whole`; nothing is compared without it. */
  readonly expected?: string | undefined
}

export class Properties {
  readonly #parts: PropertyParts

  constructor(parts: PropertyParts) {
    this.#parts = parts
  }

  /** What stands under the name. Who lacks the right learns nothing about it. */
  async kindOf(
    access: Access,
    right: Right,
    path: readonly string[],
    rightOnList: Right = right,
  ): Promise<StoredProperty['kind'] | null> {
    const property = await this.#parts.store.read((q) => findProperty(q, access.actor.id, path[0] ?? ''))
    const kind = property?.kind ?? null
    const required = requiredOn(kind, kind === 'list' ? rightOnList : right, path)
    await this.#require(access, required.right, required.path)
    return kind
  }

  /** The value at the path, or that the name is a list's; null when there is nothing or a hook hides it. */
  async get(
    access: Access,
    path: readonly string[],
  ): Promise<{ kind: 'value'; value: JsonText } | { kind: 'list' } | null> {
    const [name = '', ...below] = path
    const property = await this.#parts.store.read((q) => findProperty(q, access.actor.id, name))
    await this.#require(access, 'read', requiredOn(property?.kind ?? null, 'read', path).path)
    if (property === null) return null
    if (property.kind === 'list') return { kind: 'list' }
    const value = below.length === 0 ? property.value : below.includes('') ? undefined : getAt(property.value, below)
    const shown = value === undefined ? null : await this.#parts.gate.pass(access, 'get', path, value)
    return shown === null ? null : { kind: 'value', value: shown }
  }

  /** As `get` of a name, with the version of what is stored. The version of a name without a value is `noVersion`. */
  async getWithVersion(
    access: Access,
    name: string,
  ): Promise<{
    readonly found: { kind: 'value'; value: JsonText } | { kind: 'list' } | null
    readonly version: PropertyVersion
  }> {
    const property = await this.#parts.store.read((q) => findProperty(q, access.actor.id, name))
    await this.#require(access, 'read', [name])
    const version = this.#parts.versions.of(access.actor.id, property)
    if (property?.kind !== 'value') return { found: property === null ? null : { kind: 'list' }, version }
    const shown = await this.#parts.gate.pass(access, 'get', [name], property.value)
    return { found: shown === null ? null : { kind: 'value', value: shown }, version }
  }

  /**
   * Whether the hooks would take the value that is there, were it written again: what a page asks before it offers a form.
   * Hooks that cannot say count as a refusal.
   */
  async isWritable(access: Access, name: string, value: JsonText): Promise<boolean> {
    try {
      return (await this.#parts.gate.pass(access, 'put', [name], value)) !== null
    } catch {
      return false
    }
  }

  /** Values the caller may see, by name, and the heads of the lists. */
  async all(access: Access): Promise<readonly StoredProperty[]> {
    return this.show(access, await this.#parts.store.read((q) => findProperties(q, access.actor.id)))
  }

  /** What of these the caller may see, as the hooks show it. */
  async show(access: Access, stored: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const { permission, gate } = this.#parts
    const names = stored.map(({ name }) => name)
    const visible = await permission.filter(
      access.actor.id,
      access.caller,
      { category: 'properties', right: 'read' },
      names,
    )
    const shown: StoredProperty[] = []
    for (const property of stored) {
      if (!visible.has(property.name)) continue
      const value = property.kind === 'list' ? null : await gate.pass(access, 'get', [property.name], property.value)
      if (property.kind === 'list') shown.push(property)
      else if (value !== null) shown.push({ ...property, value })
    }
    return shown
  }

  /**
   * Parts of values that the caller may not see as a whole, each the outermost one that it may, as the hooks show it. Of
   * many values only the first parts are looked at.
   */
  async parts(access: Access): Promise<readonly { readonly path: readonly string[]; readonly value: JsonText }[]> {
    const { store, permission, gate } = this.#parts
    const stored = await store.read((q) => findProperties(q, access.actor.id))
    const judge = await permission.judge(access.actor.id, access.caller, { category: 'properties', right: 'read' })
    const found: { path: readonly string[]; value: JsonText }[] = []
    let left = mostParts
    const look = async (path: readonly string[], value: JsonText): Promise<void> => {
      if (left-- <= 0) return
      if (path.length > 1 && judge(path.join('/')).allowed) {
        const shown = await gate.pass(access, 'get', path, value)
        if (shown !== null) found.push({ path, value: shown })
        return
      }
      for (const [name, below] of members(value) ?? []) await look([...path, name], below)
    }
    for (const property of stored) {
      if (property.kind === 'value' && !judge(property.name).allowed) await look([property.name], property.value)
    }
    return found
  }

  /**
   * Sets the value at the path: a name alone is replaced, below it objects merge. `absent` at a name removes it, which
   * takes the right to delete. Gives what was stored, after the hooks.
   *
   * @throws ServiceError `conflict` when the name is a list's, or something on the way is not an object.
   */
  async put(
    access: Access,
    path: readonly string[],
    given: JsonText,
    operation: 'put' | 'post' = 'put',
    { expected }: Expected = {},
  ): Promise<JsonText> {
    const [name = '', ...below] = path
    checkName(name)
    if (below.includes('')) throw new ServiceError('not_found', `Cannot write ${quote(path)}: a segment is empty`)
    if (below.length === 0 && isNull(given))
      throw new ServiceError('invalid_value', `Cannot set ${quote(path)}: null is not a property value`)
    const right = rightToPut(path, given)
    await this.#require(access, right, path)
    const value = await this.#passWrite(access, operation, path, given)
    // A hook may turn a change into a removal.
    if (rightToPut(path, value) !== right) await this.#require(access, rightToPut(path, value), path)
    await this.#parts.writer.change(access.actor.id, access.caller, async (tx, record, actor) => {
      await this.#parts.versions.require(tx, access.actor.id, name, { whole: expected })
      if (below.length > 0) {
        record(await this.#merge(tx, actor, name, below, value))
        return
      }
      const known_ = await this.#before(tx, actor, name, value)
      if (value === absent) {
        const removed = await this.#remove(tx, access.actor.id, name)
        record(wholeValue(name, absent, known_ ?? (removed ? undefined : unchanged(actor, name, null))))
        return
      }
      const isSame = await this.#store(tx, actor, name, value)
      record(wholeValue(name, value, known_ ?? (isSame ? unchanged(actor, name, value) : undefined)))
    })
    return value
  }

  /** Reads what is replaced only where a subscription to a key has to know what became of that key. */
  async #before(tx: Transaction, actor: LockedActor, name: string, value: JsonText): Promise<States | undefined> {
    if (actor.hasKeySubscriptions === 0) return undefined
    return statesFrom(await findBefore(tx, actor.id, [name]), new Map([[name, value]]))
  }

  /** Whether the value was there already, as far as a subscription has to know it. */
  async #store(tx: Transaction, actor: LockedActor, name: string, value: JsonText): Promise<boolean> {
    const outcome = await (actor.subscriptionCount === 0 ? putValue : putChangedValue)(tx, actor.id, name, value)
    const isSame = !outcome && actor.subscriptionCount > 0 && (await findProperty(tx, actor.id, name))?.kind === 'value'
    if (!outcome && !isSame) throw nameIsList(name)
    await this.#parts.indexes.update(tx, actor.id, new Map([[name, value]]))
    return isSame
  }

  async #merge(
    tx: Transaction,
    actor: LockedActor,
    name: string,
    below: readonly string[],
    value: JsonText,
  ): Promise<Change> {
    const actorId = actor.id
    const stored = await findProperty(tx, actorId, name)
    if (stored?.kind === 'list') throw nameIsList(name)
    const merged = mergeAt(stored?.value, below, value)
    await putValue(tx, actorId, name, merged)
    await this.#parts.indexes.update(tx, actorId, new Map([[name, merged]]))
    const states = stateFor(actor, name, { before: stored?.value ?? null, after: merged })
    return isToldInPart(value) ? partial(name, below, value, states) : wholeValue(name, merged, states)
  }

  async #remove(tx: Transaction, actorId: string, name: string): Promise<boolean> {
    const removed = await deleteValues(tx, actorId, [name])
    if (removed === 0 && (await findProperty(tx, actorId, name)) !== null) throw nameIsList(name)
    await this.#parts.indexes.update(tx, actorId, new Map([[name, null]]))
    return removed > 0
  }

  /**
   * Removes a name, or the key at the path and nothing else. False when there was none; a name that does not exist is
   * not an error, a key is.
   */
  async delete(access: Access, path: readonly string[], { expected }: Expected = {}): Promise<boolean> {
    const [name = '', ...below] = path
    checkName(name)
    await this.#require(access, 'delete', path)
    if (below.includes('')) throw noSuchKey(path)
    await this.#passDelete(access, path)
    return this.#parts.writer.change(access.actor.id, access.caller, async (tx, record, actor) => {
      await this.#parts.versions.require(tx, access.actor.id, name, { whole: expected })
      if (below.length === 0) {
        const known_ = await this.#before(tx, actor, name, absent)
        const removed = await this.#remove(tx, access.actor.id, name)
        record(wholeValue(name, absent, known_ ?? (removed ? undefined : unchanged(actor, name, null))))
        return removed
      }
      const stored = await findProperty(tx, access.actor.id, name)
      const rest = stored?.kind === 'value' ? deleteAt(stored.value, below) : undefined
      if (stored?.kind !== 'value' || rest === undefined) throw noSuchKey(path)
      await putValue(tx, access.actor.id, name, rest)
      await this.#parts.indexes.update(tx, access.actor.id, new Map([[name, rest]]))
      record(partial(name, below, absent, stateFor(actor, name, { before: stored.value, after: rest })))
      return true
    })
  }

  /** Removes every value and every list, or nothing when one of them may not go. */
  async deleteAll(access: Access, listRemoval: (name: string) => Change): Promise<void> {
    const { permission } = this.#parts
    const operation = { category: 'properties', right: 'delete' } as const
    const { stored, items } = await this.#parts.store.snapshot((q) => this.#forDeletion(q, access))
    const judged = new Set(['', ...stored.map(({ name }) => name)])
    await permission.requireAll(access.actor.id, access.caller, operation, judged)
    for (const property of stored) {
      const value = property.kind === 'value' ? property.value : listValue(property, items.get(property.name))
      if ((await this.#parts.gate.pass(access, 'delete', [property.name], value)) === null)
        throw rejectedDelete([property.name])
    }
    await this.#parts.writer.change(access.actor.id, access.caller, async (tx, record) => {
      // Read again: what was added since the hooks ran goes too, and is told of; unless rules would have to allow it.
      const present = await findProperties(tx, access.actor.id)
      if (permission.isRuled(access.caller) && present.some(({ name }) => !judged.has(name)))
        throw new ServiceError('conflict', 'Cannot delete all properties: another request added one meanwhile')
      await deleteAllProperties(tx, access.actor.id)
      await this.#parts.indexes.update(tx, access.actor.id, new Map(present.map(({ name }) => [name, null])))
      for (const { name, kind } of present) record(kind === 'list' ? listRemoval(name) : wholeValue(name, absent))
    })
    this.#parts.deleteRemoved()
  }

  /** Everything, with the items of those short lists whose hooks want to see them. */
  async #forDeletion(
    q: Queries,
    access: Access,
  ): Promise<{ stored: StoredProperty[]; items: Awaited<ReturnType<typeof readManyLists>> }> {
    const stored = await findProperties(q, access.actor.id)
    const heads = stored.flatMap((property) =>
      property.kind === 'list' && !this.#parts.gate.isOpen(access, 'delete', property.name)
        ? [[property.name, property.head] as const]
        : [],
    )
    return { stored, items: await readManyLists(q, access.actor.id, shortLists(new Map(heads))) }
  }

  async #require(access: Access, right: Right, path: readonly string[]): Promise<void> {
    await this.#parts.permission.require(access.actor.id, access.caller, {
      category: 'properties',
      right,
      target: path.join('/'),
    })
  }

  async #passWrite(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
  ): Promise<JsonText> {
    const passed = await this.#parts.gate.pass(access, operation, path, value)
    if (passed === null) throw rejectedWrite(path)
    return passed
  }

  async #passDelete(access: Access, path: readonly string[]): Promise<void> {
    const [name = '', ...below] = path
    if (this.#parts.gate.isOpen(access, 'delete', name)) return
    const stored = await this.#parts.store.read((q) => findProperty(q, access.actor.id, name))
    const value =
      stored?.kind === 'value' ? (below.length === 0 ? stored.value : getAt(stored.value, below)) : undefined
    if ((await this.#parts.gate.pass(access, 'delete', path, value ?? known('{}'))) === null) throw rejectedDelete(path)
  }
}

/** What the hook sees that is asked about the deletion of a list: its items, or the facts of a long one. */
function listValue({ name, head }: { name: string; head: string }, content: ListContent | undefined): JsonText {
  if (content !== undefined) return array(content.items)
  return factsOf(listMetadata(name, head))
}

type States = NonNullable<Change['states']>

/** What a write of these values changes. Nothing is known of one that replaces a damaged value. */
export function statesFrom(
  stored: Awaited<ReturnType<typeof findBefore>>,
  values: ReadonlyMap<string, JsonText>,
): States {
  const states = new Map<string, PropertyState>()
  for (const [name, value] of values) {
    const found = stored.get(name)
    const before = found === undefined ? null : found.value
    if (before !== undefined) states.set(name, { before, after: value === absent ? null : value })
  }
  return states
}

function stateFor({ subscriptionCount }: LockedActor, name: string, state: PropertyState): States | undefined {
  return subscriptionCount === 0 ? undefined : new Map([[name, state]])
}

function unchanged(actor: LockedActor, name: string, value: JsonText | null): States | undefined {
  return stateFor(actor, name, { before: value, after: value })
}

function wholeValue(name: string, blob: JsonText, states?: States): Change {
  return { target: 'properties', subtarget: name, resource: null, blob, ...(states === undefined ? {} : { states }) }
}

/**
 * Whoever is told a part merges it into what it has. An empty text would remove there what it is the value of here, and of
 * an empty object nothing would be left to merge.
 */
function isToldInPart(value: JsonText): boolean {
  return !value.includes('""') && !value.includes('{}')
}

/** The diff of a nested write begins at the first key below the name, whatever the depth of the write. */
function partial(name: string, below: readonly string[], value: JsonText, states: States | undefined): Change {
  const [resource = '', ...deeper] = below
  const blob = deeper.reduceRight<JsonText>((inner, key) => object([[key, inner]]), value)
  return { target: 'properties', subtarget: name, resource, blob, ...(states === undefined ? {} : { states }) }
}

export function nameIsList(name: string): ServiceError {
  return new ServiceError('conflict', `Cannot set ${quote([name])}: a list has this name`)
}

function noSuchKey(path: readonly string[]): ServiceError {
  return new ServiceError('not_found', `Cannot delete ${quote(path)}: there is no such key`)
}

/** A hook's refusal is about the value and not about rights: 400 for every method that writes. */
export function rejectedWrite(path: readonly string[]): ServiceError {
  return new ServiceError('rejected', `Cannot set ${quote(path)}: the application rejected the value`)
}

export function rejectedDelete(path: readonly string[]): ServiceError {
  return new ServiceError('forbidden', `Cannot delete ${quote(path)}: the application rejected it`)
}

export function quote(path: readonly string[]): string {
  const text = path.join('/')
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
}
