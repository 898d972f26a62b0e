/**
 * One run of a transaction. Reads come from committed data, and the transaction notes what it has read. Changes wait in memory.
 * The commit compares what was read with what is stored, and then stores the changes, in one transaction of the store.
 */
import { absent } from '../json/absent.ts'
import { deleteAt, getAt, isNull, type JsonText, known, mergeAt } from '../json/json.ts'
import { isPropertyName } from '../actor/property-name.ts'
import { ServiceError } from '../errors.ts'
import { toNfc } from '../json/nfc.ts'
import { listMetadata, type ListIndexes, parseIndex } from '../list/list.ts'
import type { Access } from '../property/access.ts'
import type { ActorWriter } from '../property/change.ts'
import type { DeclaredKinds } from '../property/declared-kinds.ts'
import type { ListHooks } from '../property/lists/list-hooks.ts'
import { requireNoList } from '../property/list-marker.ts'
import { nameIsTaken, propertyNotFound, quote, rejectedDelete } from '../property/property-errors.ts'
import type { PropertyGate } from '../property/property-hooks.ts'
import {
  findNamedProperties,
  findProperties,
  findProperty,
  type UnreadProperty,
  type StoredProperty,
} from '../property/property-store.ts'
import type { Values } from '../property/values.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { TransactionEntry, TransactionStep } from './entry.ts'
import { ListPieces } from './list-pieces.ts'
import { OvertakenError } from './overtaken-error.ts'
import { TransactionList } from './transaction-list.ts'

/** The most changes of one transaction, because its commit keeps other writes of the actor waiting. */
const maxSteps = 10_000

export interface ActorTransactionDeps {
  readonly store: Store
  readonly writer: ActorWriter
  readonly values: Values
  readonly gate: PropertyGate
  readonly hooks: ListHooks
  readonly declared: DeclaredKinds
  readonly listIndexes: Pick<ListIndexes, 'build'>
  readonly now: () => number
  /** Called when a change may have left rows to delete. */
  readonly deleteRemoved: () => void
}

/** The values that a transaction will store with its commit, by name. Null: the name will not be stored. */
export type Expectation = ReadonlyMap<string, UnreadProperty | null>

/** The transactions of the actor before this one that have not committed yet. */
export interface Earlier {
  /** The values that they will store. This transaction reads them, and its commit checks that they were right. */
  readonly expected: Expectation
  /** Resolves when they have ended. */
  readonly ended: () => Promise<void>
}

export class ActorTransaction {
  readonly #deps: ActorTransactionDeps
  readonly #access: Access
  readonly #earlier: Earlier
  readonly #entries = new Map<string, TransactionEntry>()
  readonly #steps: TransactionStep[] = []
  /** Every stored property, once the transaction has read all of them. */
  #all: readonly UnreadProperty[] | null = null
  /** The names whose values it changes. Null after a change of a list. */
  #changed: Set<string> | null = new Set()
  #hasEnded = false

  constructor(deps: ActorTransactionDeps, access: Access, earlier: Earlier) {
    this.#deps = deps
    this.#access = access
    this.#earlier = earlier
  }

  /** The values that the commit will store. Null when only the database knows, because a list changes. */
  expectation(): Expectation | null {
    if (this.#changed === null) return null
    return new Map(
      [...this.#changed].map((name) => {
        const content = this.#entries.get(name)?.value ?? null
        const row = {
          name,
          kind: 'value' as const,
          version: this.#deps.declared.of(this.#access.actor).versionOf(name),
        }
        return [name, content === null ? null : { ...row, content }]
      }),
    )
  }

  /**
   * The name that the application means: a property of exactly this name, and otherwise the name in the form NFC. The
   * transaction has then read both names, so the commit notices when that changes.
   */
  async nameOf(name: string): Promise<string> {
    const composed = toNfc(name)
    if (composed === name || this.#deps.declared.of(this.#access.actor).declarationOf(name) !== undefined) return name
    if (!isPropertyName(name)) return composed
    const { value, list } = await this.#entry(name)
    return value === null && list === null ? composed : name
  }

  /** The value at the path, or the items of a list. Null when it does not exist, or a hook hides it. */
  async get(path: readonly string[]): Promise<JsonText | null> {
    const [name = '', ...below] = path
    const { value, list } = await this.#entry(name)
    if (list !== null && below.length > 0) {
      const index = below.length === 1 ? parseIndex(below[0] ?? '') : null
      return index === null ? null : this.list(name).get(index)
    }
    if (list !== null) {
      const items: JsonText[] = []
      for await (const page of this.list(name).pages()) items.push(...page.map(({ item }) => item))
      return known(`[${items.join(',')}]`)
    }
    const found = value === null || below.includes('') ? undefined : getAt(value, below)
    return found === undefined ? null : this.#deps.gate.runHooks(this.#access, 'get', path, found)
  }

  /** Every property that is not a list, by name. */
  async all(): Promise<ReadonlyMap<string, JsonText>> {
    const shown = new Map<string, JsonText>()
    for (const [name, { value }] of await this.#everything()) {
      if (value === null) continue
      const passed = await this.#deps.gate.runHooks(this.#access, 'get', [name], value)
      if (passed !== null) shown.set(name, passed)
    }
    return shown
  }

  /** The lengths of all lists, by name. */
  async lists(): Promise<ReadonlyMap<string, number>> {
    const lengths = new Map<string, number>()
    for (const [name, { list }] of await this.#everything()) {
      if (list !== null && (await this.list(name).metadata()) !== null) lengths.set(name, list.pieces.length)
    }
    return lengths
  }

  /** Sets the value at the path, as `Values.put` does. @throws ServiceError as `Values.put` */
  async set(path: readonly string[], given: JsonText): Promise<void> {
    const [name = '', ...below] = path
    const entry = await this.#entry(name)
    if (entry.list !== null && below.length > 0) {
      await this.#setItem(entry.list.pieces.length, path, given)
      return
    }
    const value = await this.#deps.values.prepare(this.#access, path, given)
    if (entry.list !== null) throw nameIsTaken(name, 'list')
    if (below.length > 0) entry.value = this.#merged(path, entry.value ?? undefined, value)
    else entry.value = value === absent ? null : value
    this.#changed?.add(name)
    this.#push({
      leavesRows: false,
      run: async (tx, record, actor) => record(await this.#deps.values.store(tx, actor, path, value)),
    })
  }

  #merged(path: readonly string[], before: JsonText | undefined, value: JsonText): JsonText {
    const together = mergeAt(before, path.slice(1), value)
    requireNoList(path, together, before)
    return this.#deps.declared.of(this.#access.actor).fitValue(path, together)
  }

  /** Replaces an item of a list, or appends it when its index is the length. */
  async #setItem(
    length: number,
    [name = '', position = '', ...deeper]: readonly string[],
    item: JsonText,
  ): Promise<void> {
    const index = deeper.length > 0 ? null : parseIndex(position)
    if (index === null)
      throw new ServiceError('invalid_index', 'Cannot write the item: its index is not a whole number of at least 0')
    if (isNull(item)) throw new ServiceError('invalid_value', 'Cannot write the item: it is null')
    const list = this.list(name)
    if (index === length) await list.extend([item])
    else if (!(await list.update(index, item))) throw propertyNotFound([name, position])
  }

  /** Deletes a property, a list or a key. False when the name does not exist. */
  async delete(path: readonly string[]): Promise<boolean> {
    const [name = '', ...below] = path
    const entry = await this.#entry(name)
    if (entry.list !== null) {
      if (below.length === 0) return this.list(name).delete()
      await this.#deleteItem(path)
      return true
    }
    if (entry.value === null && below.length === 0) return false
    const { gate, values, declared } = this.#deps
    const current = entry.value === null ? undefined : getAt(entry.value, below)
    if ((await gate.runHooks(this.#access, 'delete', path, current ?? known('{}'))) === null) throw rejectedDelete(path)
    entry.value =
      below.length === 0
        ? (this.#present(name, null)?.content ?? null)
        : declared.of(this.#access.actor).fitValue(path, restOf(entry.value, path))
    this.#changed?.add(name)
    this.#push({
      leavesRows: false,
      run: async (tx, record, actor) => record((await values.remove(tx, actor, path)).change),
    })
    return true
  }

  /** @throws ServiceError `not_found` */
  async #deleteItem(path: readonly string[]): Promise<void> {
    const [name = '', position = '', ...deeper] = path
    const index = deeper.length > 0 ? null : parseIndex(position)
    if (index === null || (await this.list(name).remove(index, 'delete')) === null) throw propertyNotFound(path)
  }

  /** Adds a step to the commit that changes no property. */
  also(run: (tx: Transaction) => Promise<void>): void {
    this.#push({ leavesRows: false, run })
  }

  list(name: string): TransactionList {
    const { hooks, declared, listIndexes, now } = this.#deps
    return new TransactionList(
      {
        access: this.#access,
        hooks,
        declared,
        listIndexes,
        now,
        entry: (entryName) => this.#entry(entryName),
        readStored: (entry, work) => this.#readStored(name, entry, work),
        push: (step) => {
          this.#changed = null
          this.#push(step)
        },
      },
      name,
    )
  }

  /**
   * Stores the changes, if nothing that the transaction has read was changed since. Without changes it only compares.
   *
   * @throws OvertakenError
   */
  async commit(): Promise<void> {
    this.#hasEnded = true
    if (this.#steps.length === 0) {
      await this.requireCurrent()
      return
    }
    const { writer, deleteRemoved } = this.#deps
    await writer.change(this.#access, async (tx, record, actor) => {
      await this.#compare(tx)
      for (const step of this.#steps) await step.run(tx, record, actor)
    })
    if (this.#steps.some(({ leavesRows }) => leavesRows)) deleteRemoved()
  }

  /** Ends the transaction without its changes. @throws OvertakenError when something that it has read was changed since. */
  async requireCurrent(): Promise<void> {
    this.#hasEnded = true
    await this.#earlier.ended()
    await this.#deps.store.snapshot((q) => this.#compare(q))
  }

  async #compare(q: Queries): Promise<void> {
    const { id } = this.#access.actor
    if (this.#all !== null) {
      const stored = await findProperties(q, id)
      if (stored.length !== this.#all.length || !stored.every((one, at) => isSame(one, this.#all?.[at] ?? null)))
        throw new OvertakenError()
    }
    const read = this.#all === null ? [...this.#entries] : []
    if (read.length === 0) return
    const stored = await findNamedProperties(
      q,
      id,
      read.map(([name]) => name),
    )
    for (const [name, entry] of read) if (!isSame(stored.get(name) ?? null, entry.stored)) throw new OvertakenError()
  }

  async #readStored<T>(name: string, { stored }: TransactionEntry, work: (q: Queries) => Promise<T>): Promise<T> {
    return this.#deps.store.snapshot(async (q) => {
      if (!isSame(await findProperty(q, this.#access.actor.id, name), stored)) throw new OvertakenError()
      return work(q)
    })
  }

  async #entry(name: string): Promise<TransactionEntry> {
    this.#requireOpen()
    const known = this.#entries.get(name)
    if (known !== undefined) return known
    const stored = await this.#storedNow(name)
    // Another read of the same name may have been faster.
    return this.#entries.get(name) ?? this.#add(name, stored)
  }

  async #storedNow(name: string): Promise<UnreadProperty | null> {
    if (this.#all !== null) return this.#all.find((property) => property.name === name) ?? null
    const expected = this.#earlier.expected.get(name)
    if (expected !== undefined) return expected
    return this.#deps.store.read((q) => findProperty(q, this.#access.actor.id, name))
  }

  async #everything(): Promise<readonly (readonly [string, TransactionEntry])[]> {
    this.#requireOpen()
    if (this.#all === null) await this.#earlier.ended()
    const stored = this.#all ?? (await this.#deps.store.read((q) => findProperties(q, this.#access.actor.id)))
    this.#all ??= stored
    for (const property of stored) {
      const entry = this.#entries.get(property.name)
      if (entry === undefined) this.#add(property.name, property)
      else if (!isSame(entry.stored, property)) throw new OvertakenError()
    }
    for (const { name } of this.#deps.declared.of(this.#access.actor).allPresent(stored))
      if (!this.#entries.has(name)) this.#add(name, null)
    return [...this.#entries].toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  #present(name: string, stored: UnreadProperty | null): StoredProperty | null {
    const { declared } = this.#deps
    const present = declared.of(this.#access.actor).present(name, stored)
    return present === null ? null : declared.of(this.#access.actor).current(present)
  }

  #add(name: string, stored: UnreadProperty | null): TransactionEntry {
    const present = this.#present(name, stored)
    const isList = present?.kind === 'list'
    const metadata = isList ? listMetadata(name, present.content) : null
    const entry: TransactionEntry = {
      stored,
      value: isList ? null : (present?.content ?? null),
      list: metadata === null ? null : { pieces: new ListPieces(metadata.length), metadata },
    }
    this.#entries.set(name, entry)
    return entry
  }

  #push(step: TransactionStep): void {
    this.#requireOpen()
    if (this.#steps.length >= maxSteps)
      throw new ServiceError('bad_request', `Cannot change more than ${maxSteps} things in one transaction`)
    this.#steps.push(step)
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw new Error('Cannot use the actor of a transaction after the transaction has ended')
  }
}

function isSame(a: UnreadProperty | null, b: UnreadProperty | null): boolean {
  if (a === null || b === null) return a === b
  return a.name === b.name && a.kind === b.kind && a.content === b.content && a.version === b.version
}

function restOf(value: JsonText | null, path: readonly string[]): JsonText {
  const rest = value === null ? undefined : deleteAt(value, path.slice(1))
  if (rest === undefined) throw new ServiceError('not_found', `Cannot delete ${quote(path)}: the key does not exist`)
  return rest
}
