/** `POST` and `PUT` on all properties: several values and lists in one transaction, all or nothing. */
import { ServiceError } from '../errors.ts'
import { isNull, isObject, type JsonText, known, members, object, stringText } from '../json/json.ts'
import type { Right } from '../permission/operation.ts'
import { refusal } from '../permission/permission.ts'
import { absent } from '../json/absent.ts'
import type { Access } from './access.ts'
import type { Record as RecordChange, PropertyState } from './change.ts'
import type { PropertyGate } from './property-hooks.ts'
import type { Indexes } from '../actor/indexes.ts'
import { type BulkEntry, bulk, makeList, type ListTexts, readBulk } from '../list/list.ts'
import { readTexts } from '../list/list-texts.ts'
import { type Lists, recordAll, requireOnlyAdded } from './lists.ts'
import { checkListName, checkName } from '../actor/property-name.ts'
import { nameIsList, type PropertyParts, quote, rejectedWrite, statesFrom } from './properties.ts'
import { rightToPut } from '../permission/required-right.ts'
import { deleteValues, findBefore, findKinds, putValues } from './property-store.ts'
import type { LockedActor, Transaction } from '../store/store.ts'

/** What one key of the body asks for. */
type Entry =
  | { readonly kind: 'value'; readonly value: JsonText }
  | { readonly kind: 'list'; readonly texts: ListTexts }
  | { readonly kind: 'bulk'; readonly entries: readonly BulkEntry[] }

export interface BulkWriteParts extends Pick<PropertyParts, 'writer' | 'permission' | 'indexes'> {
  readonly gate: PropertyGate
  readonly indexes: Indexes
  readonly lists: Lists
  readonly now: () => number
}

export class BulkWrite {
  readonly #parts: BulkWriteParts

  constructor(parts: BulkWriteParts) {
    this.#parts = parts
  }

  /**
   * Everything is checked before anything is stored: names, shapes, rights, hooks, then collisions inside the
   * transaction. Gives what was stored, by name; lists with a sentence in place of a value.
   *
   * @throws ServiceError `conflict` when a name is a list's and a value is given, or the other way round.
   */
  async write(access: Access, body: JsonText, operation: 'put' | 'post'): Promise<JsonText> {
    const fields = isObject(body) ? members(body) : null
    if (fields === null) throw new ServiceError('bad_request', 'Cannot set properties: the body must be a JSON object')
    if (fields.size === 0 && operation === 'post')
      throw new ServiceError('bad_request', 'Cannot set properties: the object is empty')
    const asked = new Map([...fields].map(([name, given]) => [name, readEntry(name, given)] as const))
    for (const [name, entry] of asked) (entry.kind === 'list' ? checkListName : checkName)(name)
    const onlyAdding = await this.#requireRights(access, asked)
    const entries = new Map<string, Entry>()
    for (const [name, entry] of asked) entries.set(name, await this.#passHooks(access, name, entry, operation))
    if (entries.size === 0) return object([])
    // A hook may turn a change into a removal.
    const turned = [...entries].filter(([name, entry]) => rightFor(name, entry) !== rightFor(name, asked.get(name)))
    if (turned.length > 0) await this.#requireRights(access, new Map(turned))
    return this.#parts.writer.change(access.actor.id, access.caller, (tx, record, actor) =>
      this.#store(tx, record, actor, access, entries, onlyAdding),
    )
  }

  /**
   * Asks for every right that the body takes. The rules are read once, however long the body is.
   *
   * @returns the lists that the caller may only add to.
   */
  async #requireRights(access: Access, asked: ReadonlyMap<string, Entry>): Promise<ReadonlySet<string>> {
    const { permission, lists } = this.#parts
    const { actor, caller } = access
    const judge = await permission.judgeRights(actor.id, caller, 'properties')
    const onlyAdding = new Set<string>()
    for (const [name, entry] of asked) {
      const right = rightFor(name, entry)
      const verdict = judge(right, name)
      if (!verdict.allowed) throw refusal(caller, { category: 'properties', right, target: name }, verdict)
      permission.decided(caller, verdict)
      if (entry.kind !== 'bulk' || right !== 'append' || judge('write', name).allowed) continue
      await lists.requireBehindLast(
        access,
        name,
        entry.entries.map(({ index }) => index),
      )
      onlyAdding.add(name)
    }
    return onlyAdding
  }

  async #passHooks(access: Access, name: string, entry: Entry, operation: 'put' | 'post'): Promise<Entry> {
    const { gate, lists } = this.#parts
    if (entry.kind === 'bulk') return { kind: 'bulk', entries: await lists.passBulk(access, name, entry.entries) }
    const passed = await gate.pass(access, operation, [name], entry.kind === 'list' ? known('[]') : entry.value)
    if (passed === null) throw rejectedWrite([name])
    return entry.kind === 'list' ? entry : { kind: 'value', value: passed }
  }

  async #store(
    tx: Transaction,
    record: RecordChange,
    actor: LockedActor,
    access: Access,
    entries: ReadonlyMap<string, Entry>,
    onlyAdding: ReadonlySet<string>,
  ): Promise<JsonText> {
    const now = this.#parts.now()
    const actorId = actor.id
    const given = [...entries].flatMap(([name, entry]) =>
      entry.kind === 'value' ? [[name, entry.value] as const] : [],
    )
    if (given.length > 0) {
      const states = await this.#storeValues(tx, actor, new Map(given))
      const blob = object(given)
      record({ target: 'properties', subtarget: null, resource: null, blob, ...(states === null ? {} : { states }) })
    }
    const echo: (readonly [string, JsonText])[] = []
    for (const [name, entry] of entries) {
      const at = { actorId, list: name }
      if (entry.kind === 'value') {
        echo.push([name, entry.value])
      } else if (entry.kind === 'list') {
        recordAll(record, name, [(await makeList(tx, at, entry.texts, now)).change])
        echo.push([name, stringText('[Empty list property created]')])
      } else if (entry.entries.length === 0) {
        echo.push([name, stringText('[No items to update]')])
      } else {
        const { updated, deleted, changes } = await bulk(tx, at, entry.entries, now)
        if (onlyAdding.has(name)) requireOnlyAdded(access, name, changes)
        recordAll(record, name, changes)
        echo.push([name, stringText(`[Bulk update: ${updated} items updated, ${deleted} items deleted]`)])
      }
    }
    return object(echo)
  }

  /** What became of each value, where a subscription has to know it. */
  async #storeValues(
    tx: Transaction,
    { id: actorId, subscriptionCount }: LockedActor,
    values: ReadonlyMap<string, JsonText>,
  ): Promise<ReadonlyMap<string, PropertyState> | null> {
    const names = [...values.keys()]
    const stored = subscriptionCount === 0 ? null : await findBefore(tx, actorId, names)
    const kinds = stored === null ? await findKinds(tx, actorId, names) : null
    for (const name of names) {
      if ((kinds?.get(name) ?? stored?.get(name)?.kind) === 'list') throw nameIsList(name)
    }
    const kept = new Map([...values].filter(([, value]) => value !== absent))
    const gone = [...values.keys()].filter((name) => !kept.has(name))
    if (gone.length > 0) await deleteValues(tx, actorId, gone)
    if (kept.size > 0) await putValues(tx, actorId, kept)
    await this.#parts.indexes.update(
      tx,
      actorId,
      new Map([...values].map(([name, value]) => [name, value === absent ? null : value])),
    )
    return stored === null ? null : statesFrom(stored, values)
  }
}

/** Putting items adds or replaces, which the length of the list decides; so that asks for the smaller right first. */
function rightFor(name: string, entry: Entry | undefined): Right {
  if (entry?.kind === 'value') return rightToPut([name], entry.value)
  const isAdding = entry?.kind === 'bulk' && entry.entries.every(({ item }) => item !== null)
  return isAdding ? 'append' : 'write'
}

function readEntry(name: string, given: JsonText): Entry {
  if (isNull(given))
    throw new ServiceError('invalid_value', `Cannot set ${quote([name])}: null is not a property value`)
  const fields = isObject(given) ? members(given) : null
  const type = fields?.get('_type')
  if (fields === null || fields === undefined) return { kind: 'value', value: given }
  if (type === '"list"') return { kind: 'list', texts: readTexts(fields) }
  const items = fields.get('items')
  return items === undefined ? { kind: 'value', value: given } : { kind: 'bulk', entries: readBulk(items) }
}
