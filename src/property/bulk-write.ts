/** `POST` and `PUT` on all properties: writes several properties of any kind in one transaction. */
import { setImmediate } from 'node:timers/promises'
import { present } from '../json/present.ts'
import type { Indexes } from '../actor/indexes.ts'
import { checkName } from '../actor/property-name.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { History, ReplacingValue } from '../history/history.ts'
import { absent } from '../json/absent.ts'
import { toNfc } from '../json/nfc.ts'
import { isNull, isObject, type JsonText, members, object } from '../json/json.ts'
import { refusal } from '../permission/permission.ts'
import type { Right } from '../permission/operation.ts'
import { rightToPut } from '../permission/required-right.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { PropertyState, Record } from './change.ts'
import type { BulkStep, KindDeps } from './kind.ts'
import { kinds } from './kinds.ts'
import { requireNoList } from './list-marker.ts'
import { nameIsTaken, quote, rejectedWrite } from './property-errors.ts'
import { deleteValues, findBeforeWrite, findKinds, putValues } from './property-store.ts'
import type { StoredNames } from './stored-names.ts'
import { statesFrom } from './value-diff.ts'

/** The names of one statement, and of the work between two turns of the event loop. */
const ofOnePart = 256

/** The most names of a write. It is stored in one transaction, for which other actors wait on SQLite. */
const maxNames = 20_000

/** The effect of one key of the body: a value to set, or a step of another kind of property. */
export type PreparedEntry = JsonText | BulkStep

export interface BulkWriteDeps {
  readonly kindDeps: KindDeps
  readonly names: StoredNames
  readonly indexes: Indexes
  readonly history: Pick<History, 'keepParts'>
  readonly now: () => number
}

export class BulkWrite {
  readonly #deps: BulkWriteDeps

  constructor(deps: BulkWriteDeps) {
    this.#deps = deps
  }

  /**
   * Writes a body. Checks names, fields, rights and hooks of all entries first, and collisions in the transaction.
   * Returns the stored values by name, with a sentence in place of the value of a list.
   *
   * @throws ServiceError `conflict` for a value with the name of a list, or a list with the name of a value.
   */
  async write(access: Access, body: JsonText, operation: 'put' | 'post'): Promise<JsonText> {
    const entries = await this.prepare(access, await this.#withStoredNames(access, body), operation)
    if (entries.size === 0 && access.condition === undefined) return object([])
    return this.#deps.kindDeps.writer.change(access, (tx, record, actor) =>
      this.store(tx, record, actor, access, entries),
    )
  }

  /** The body with the names that it means. @throws ServiceError `bad_request` when two members mean one name. */
  async #withStoredNames({ actor }: Access, body: JsonText): Promise<JsonText> {
    const given = isObject(body) ? [...(members(body) ?? [])] : []
    requireFew(given.length)
    if (given.every(([name]) => toNfc(name) === name)) return body
    const names = await this.#deps.names.all(
      actor.id,
      given.map(([name]) => name),
    )
    const meant = new Map<string, JsonText>()
    for (const [asked, value] of given) {
      const name = names.get(asked) ?? asked
      if (meant.has(name))
        throw new ServiceError(
          'bad_request',
          `Cannot set properties: the body names ${quoted(name)} in two Unicode forms`,
        )
      meant.set(name, value)
    }
    return object([...meant])
  }

  /** Checks names, fields, rights and hooks of all entries. Returns the entries to store. */
  async prepare(
    access: Access,
    body: JsonText,
    operation: 'put' | 'post',
  ): Promise<ReadonlyMap<string, PreparedEntry>> {
    const fields = isObject(body) ? members(body) : null
    if (fields === null) throw new ServiceError('bad_request', 'Cannot set properties: the body must be a JSON object')
    requireFew(fields.size)
    if (fields.size === 0 && operation === 'post')
      throw new ServiceError('bad_request', 'Cannot set properties: the object is empty')
    const asked = new Map([...fields].map(([name, given]) => [name, readEntry(name, given)] as const))
    for (const [name, entry] of asked) {
      if (typeof entry === 'string') checkName(name)
      else entry.checkName()
    }
    const allowed = await this.#requireRights(access, asked)
    const entries = new Map<string, PreparedEntry>()
    for (const [name, entry] of allowed) {
      entries.set(name, await this.#runHooks(access, name, entry, operation))
      if (entries.size % ofOnePart === 0) await setImmediate()
    }
    // A hook may turn a change into a removal.
    const turned = [...entries].filter(([name, entry]) => rightFor(name, entry) !== rightFor(name, asked.get(name)))
    if (turned.length > 0) await this.#requireRights(access, new Map(turned))
    return entries
  }

  /**
   * Requires every right that the body needs. Reads the rules once.
   *
   * @returns the entries. For a caller that may only append, a step is replaced by one that only appends.
   */
  async #requireRights(
    access: Access,
    asked: ReadonlyMap<string, PreparedEntry>,
  ): Promise<ReadonlyMap<string, PreparedEntry>> {
    const { kindDeps } = this.#deps
    const { permission } = kindDeps
    const { actor, caller } = access
    const judge = await permission.judgeRights(actor.id, caller, 'properties')
    const allowed = new Map<string, PreparedEntry>()
    for (const [name, entry] of asked) {
      const right = rightFor(name, entry)
      const verdict = judge(right, name)
      if (!verdict.allowed) throw refusal(caller, { category: 'properties', right, target: name }, verdict)
      permission.decided(caller, verdict)
      const isOnlyAdding = right === 'append' && !judge('write', name).allowed
      const step = isOnlyAdding && typeof entry !== 'string' ? entry.onlyAdding?.(kindDeps, access) : entry
      allowed.set(name, (await step) ?? entry)
    }
    return allowed
  }

  async #runHooks(
    access: Access,
    name: string,
    entry: PreparedEntry,
    operation: 'put' | 'post',
  ): Promise<PreparedEntry> {
    const { kindDeps } = this.#deps
    if (typeof entry !== 'string') return entry.runHooks(kindDeps, access, operation)
    const passed = await kindDeps.gate.runHooks(access, operation, [name], entry)
    if (passed === null) throw rejectedWrite([name])
    if (passed === absent) return passed
    requireNoList([name], passed)
    return kindDeps.declared.of(access.actor).fitValue([name], passed)
  }

  /** Stores the result of `prepare`. @throws as `write` */
  async store(
    tx: Transaction,
    record: Record,
    actor: LockedActor,
    access: Access,
    entries: ReadonlyMap<string, PreparedEntry>,
  ): Promise<JsonText> {
    const context = { access, declared: this.#deps.kindDeps.declared, now: this.#deps.now() }
    const values = [...entries].flatMap(([name, entry]) => (typeof entry === 'string' ? [[name, entry] as const] : []))
    if (values.length > 0) {
      const states = await this.#storeValues(tx, actor, values)
      const blob = object(values)
      record(present({ target: 'properties', subtarget: null, resource: null, blob, states: states ?? undefined }))
    }
    const echo: (readonly [string, JsonText])[] = []
    for (const [name, entry] of entries) {
      echo.push([name, typeof entry === 'string' ? entry : await entry.store(tx, actor, record, context)])
    }
    return object(echo)
  }

  /**
   * Stores the values in parts, because SQLite runs a statement without a pause. Returns their states before and after when a
   * subscription needs them, and otherwise null. Begins with the last part, so that the history keeps the first values.
   */
  async #storeValues(
    tx: Transaction,
    actor: LockedActor,
    values: readonly (readonly [name: string, value: JsonText])[],
  ): Promise<ReadonlyMap<string, PropertyState> | null> {
    const states = new Map<string, PropertyState>()
    const keep = this.#deps.history.keepParts(tx, actor.id)
    let entries = 0
    for (let to = values.length; to > 0; to -= ofOnePart) {
      if (to < values.length) await setImmediate()
      const part = new Map(values.slice(Math.max(0, to - ofOnePart), to))
      const stored = await this.#storePart(tx, actor, part, (written) => keep(written, entries))
      entries += stored.entries
      for (const [name, state] of stored.states ?? []) states.set(name, state)
    }
    return actor.subscriptionCount === 0 ? null : states
  }

  async #storePart(
    tx: Transaction,
    { id: actorId, subscriptionCount, kind: actorKind }: LockedActor,
    values: ReadonlyMap<string, JsonText>,
    keep: (values: readonly ReplacingValue[]) => Promise<number>,
  ): Promise<{ readonly entries: number; readonly states: ReadonlyMap<string, PropertyState> | null }> {
    const names = [...values.keys()]
    const stored = subscriptionCount === 0 ? null : await findBeforeWrite(tx, actorId, values)
    const kindsOf = stored === null ? await findKinds(tx, actorId, names) : null
    for (const name of names) {
      const kind = kindsOf?.get(name) ?? stored?.get(name)?.kind ?? 'value'
      if (kind !== 'value') throw nameIsTaken(name, kind)
    }
    const kept = new Map([...values].filter(([, value]) => value !== absent))
    const gone = [...values.keys()].filter((name) => !kept.has(name))
    const written = [...values].map(([name, value]) => [name, value === absent ? null : value] as const)
    const entries = await keep(written.map(([name, value]) => ({ name, value })))
    if (gone.length > 0) await deleteValues(tx, actorId, gone)
    const declared = this.#deps.kindDeps.declared.of({ kind: actorKind })
    if (kept.size > 0)
      await putValues(
        tx,
        actorId,
        [...kept].map(([name, value]) => declared.newValue(name, value)),
      )
    await this.#deps.indexes.update(tx, actorId, new Map(written))
    return { entries, states: stored === null ? null : statesFrom(declared, stored, values) }
  }
}

/** @throws ServiceError `payload_too_large` */
function requireFew(names: number): void {
  if (names > maxNames)
    throw new ServiceError(
      'payload_too_large',
      `Cannot set properties: the body has ${names} names, and the most is ${maxNames}. Send several requests`,
    )
}

function rightFor(name: string, entry: PreparedEntry | undefined): Right {
  return entry === undefined || typeof entry === 'string' ? rightToPut([name], entry ?? absent) : entry.right
}

function readEntry(name: string, given: JsonText): PreparedEntry {
  if (isNull(given))
    throw new ServiceError('invalid_value', `Cannot set ${quote([name])}: null is not a property value`)
  const fields = isObject(given) ? members(given) : null
  if (fields === null) return given
  for (const { bulkStep } of Object.values(kinds)) {
    const step = bulkStep?.(name, fields)
    if (step !== undefined && step !== null) return step
  }
  return given
}
