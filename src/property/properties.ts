/** Accesses properties of all kinds by name, with checks of rights and hooks. `kinds.ts` lists the kinds. */
import type { Indexes } from '../actor/indexes.ts'
import type { DataDeclaration } from '../app/data-declarations.ts'
import { ServiceError } from '../errors.ts'
import type { History, PropertySize } from '../history/history.ts'
import { array, type JsonText, members } from '../json/json.ts'
import {
  factsOf,
  type ItemFormat,
  keepDeletions,
  listFacts,
  type ListContent,
  listMetadata,
  readManyLists,
  readStarts,
  shortLists,
} from '../list/list.ts'
import type { Right } from '../permission/operation.ts'
import { requiredOn, rightToPut } from '../permission/required-right.ts'
import type { ReadReplicas, Reads } from '../store/read-replicas.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { type Access, requireRight } from './access.ts'
import type { Condition } from './condition.ts'
import type { Added, KindRoom, Part, PropertyContent, PropertyRequest } from './kind.ts'
import { holdsItems, kinds, valueOf } from './kinds.ts'
import type { ListReader, SeenList } from './lists/list-reader.ts'
import { propertyNotFound, rejectedDelete } from './property-errors.ts'
import { readPages, readTogether } from './property-pages.ts'
import {
  deleteAllProperties,
  deleteNamedProperties,
  findNamedProperties,
  findProperties,
  findProperty,
  type PropertyKind,
  type UnreadProperty,
  type StoredProperty,
} from './property-store.ts'
import type { Expected } from './values.ts'
import type { PropertyVersion, Versions } from './version.ts'

/** The most parts of values that `parts` examines. */
const mostParts = 2000

export interface PropertiesDeps {
  readonly room: KindRoom
  readonly store: Reads
  readonly readReplicas: Pick<ReadReplicas, 'within'>
  readonly indexes: Indexes
  readonly versions: Versions
  readonly history: Pick<History, 'keepValues'>
  /** Called when a change may have left rows to delete. */
  readonly deleteRemoved: (actorId: string) => void
}

/** A property. `value` is null for a property that holds items. */
export interface FoundProperty {
  readonly kind: PropertyKind
  readonly value: JsonText | null
  readonly size: PropertySize
}

/** A listing of the properties that a caller may see. */
export interface Listing {
  /** The properties in order of their names, with values after the hooks. */
  readonly shown: readonly StoredProperty[]
  /**
   * The version of the listing, given its content as JSON. Without content, which is then too long for memory, null when hooks
   * determine what the caller sees.
   */
  readonly version: (json: JsonText | null) => string | null
}

/** A list, before its items are read. */
export interface FoundList {
  readonly property: StoredProperty
  /** The version of what the caller sees. It may be older than the items that are read next, but never newer. */
  readonly version: Listing['version']
}

/** All properties that a caller may see. */
export interface Everything extends Listing {
  /** The items of properties that hold items and are not hidden by a hook. */
  readonly lists: ReadonlyMap<string, SeenList>
}

/** Properties that may be old. Use them for reads only. */
/** Reads items of lists, given their heads by name. */
type ReadLists = (q: Queries, heads: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, ListContent>>

interface WithContents {
  readonly stored: readonly UnreadProperty[]
  readonly contents: ReadonlyMap<string, ListContent>
}

/** Properties to delete. */
interface Deletion {
  /** Names that need the right. An empty name means all properties. */
  readonly judged: ReadonlySet<string>
  readonly stored: readonly UnreadProperty[]
  /** The items of short lists that have a deletion hook. */
  readonly items: ReadonlyMap<string, ListContent>
}

export interface StaleProperties {
  readonly properties: Properties
  readonly listReader: ListReader
  /** `StaleReads.ageMs` */
  readonly ageMs: () => number | null
}

export class Properties {
  readonly #deps: PropertiesDeps

  constructor(deps: PropertiesDeps) {
    this.#deps = deps
  }

  /**
   * The same properties, as they were at most `maxMs` ago. Rights are never old: the database decides about them. For the
   * owner and the application only. A peer may now have the right to read a property, but not what it contained before.
   */
  within(maxMs: number): StaleProperties {
    const { room, readReplicas } = this.#deps
    const store = readReplicas.within(maxMs)
    const listReader = room.listReader.from(store)
    const properties = new Properties({ ...this.#deps, store, room: { ...room, listReader } })
    return { properties, listReader, ageMs: () => store.ageMs }
  }

  /** The description that the application declared for the name. */
  descriptionOf(name: string): string | undefined {
    const description = this.#deps.room.declared.declarationOf(name)?.description
    return description === '' ? undefined : description
  }

  /** The kind of the property. A caller without the right does not learn whether it exists. */
  async kindOf(
    access: Access,
    right: Right,
    path: readonly string[],
    rightOnItems: Right = right,
  ): Promise<PropertyKind | null> {
    const kind = (await this.#find(access, path))?.kind ?? null
    const holds = holdsItems(kind)
    const required = requiredOn(holds, holds ? rightOnItems : right, path)
    await requireRight(this.#deps.room.permission, access, required.right, required.path)
    return kind
  }

  /** Handles GET. Null when the path does not exist, or a hook hides it. */
  async read(access: Access, request: PropertyRequest): Promise<PropertyContent | null> {
    const { room } = this.#deps
    const row = await this.#find(access, request.path)
    const { path } = requiredOn(holdsItems(row?.kind), 'read', request.path)
    const waiting = requireRight(room.permission, access, 'read', path)
    if (waiting !== undefined) await waiting
    return row === null ? null : await kinds[row.kind].read(room, access, room.declared.current(row), request)
  }

  /** The content of the MCP resource (see `Kind.resource`). */
  async resource(
    access: Access,
    name: string,
    range: { readonly from: number | null; readonly count: number },
  ): Promise<Part | null> {
    const { room } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(room.permission, access, 'read', [name])
    return row === null ? null : kinds[row.kind].resource(room, access, room.declared.current(row), range)
  }

  /** The property with the version of its stored content. The version of a free name is `noVersion`. */
  async getWithVersion(
    access: Access,
    name: string,
  ): Promise<{ readonly found: FoundProperty | null; readonly version: PropertyVersion }> {
    const { versions, room } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(room.permission, access, 'read', [name])
    const property = row === null ? null : room.declared.current(row)
    const version = versions.of(access.actor.id, property)
    if (property === null) return { found: null, version }
    const { kind } = property
    const value = valueOf(property)
    if (value === null) {
      const { length: items, bytes } = listFacts(name, property.content)
      return { found: { kind, value, size: { items, characters: bytes ?? 0 } }, version }
    }
    const shown = await room.gate.pass(access, 'get', [name], value)
    const size = { items: 1, characters: value.length }
    return { found: shown === null ? null : { kind, value: shown, size }, version }
  }

  /** Handles PUT. `Values.put` sets a name alone (see `Kind.replace`); the kind handles a path below the name. */
  async put(
    access: Access,
    request: PropertyRequest,
    value: JsonText,
    options: Expected & { readonly operation?: 'put' | 'post' } = {},
  ): Promise<void> {
    const { room } = this.#deps
    const { path, index } = request
    if (path.length === 1 && index === undefined) {
      await room.values.put(access, path, value, options.operation, options)
      return
    }
    const kind = await this.kindOf(access, 'write', path, 'append')
    await kinds[kind ?? 'value'].put(room, access, request, value)
  }

  /** Handles POST. */
  async add(access: Access, path: readonly string[], value: JsonText): Promise<Added> {
    const kind = await this.kindOf(access, rightToPut(path, value), path, 'append')
    return kinds[kind ?? 'value'].add(this.#deps.room, access, path, value)
  }

  /**
   * Handles DELETE. False when the name did not exist.
   *
   * @throws ServiceError `not_found` for a path below a name that does not exist; with `mustExist`, also for the name.
   */
  async remove(
    access: Access,
    request: PropertyRequest,
    { expected, mustExist = false }: Expected & { readonly mustExist?: boolean } = {},
  ): Promise<boolean> {
    const { path, index } = request
    const isWhole = path.length === 1 && index === undefined
    // Removing an item writes the list.
    const kind = await this.kindOf(access, 'delete', path, isWhole ? 'delete' : 'write')
    if (kind === null && mustExist) throw propertyNotFound(path)
    return kinds[kind ?? 'value'].remove(this.#deps.room, access, request, expected)
  }

  /**
   * True when the hooks would accept the current value in a write. A page checks this before it shows a form. An error of
   * a hook counts as a refusal.
   */
  async isWritable(access: Access, name: string, value: JsonText): Promise<boolean> {
    try {
      return (await this.#deps.room.gate.pass(access, 'put', [name], value)) !== null
    } catch {
      return false
    }
  }

  /** The properties that the caller may see, by name. It does not run the hooks of lists; `listed` does. */
  async all(access: Access): Promise<readonly StoredProperty[]> {
    const stored = this.#present(await this.#deps.store.read((q) => findProperties(q, access.actor.id)))
    return this.#show(access, await this.#visible(access, stored))
  }

  /** Like `all`, without lists that a hook hides. */
  async listed(access: Access): Promise<readonly StoredProperty[]> {
    return (await Array.fromAsync(this.pages(access))).flat()
  }

  /** Like `listed`, with the version of the listing. Null when the properties are too long for memory; `pages` reads them. */
  async listing(access: Access): Promise<Listing | null> {
    // The rows come from one statement. A snapshot would wait where all connections for changes are busy.
    const stored = await this.#deps.store.read((q) => readTogether(q, access.actor.id))
    return stored === null ? null : this.#listingOf(access, stored)
  }

  /** Like `listed`, in pages that fit into memory. Rights are checked for each page. */
  async *pages(access: Access): AsyncGenerator<readonly StoredProperty[], undefined> {
    const seen = new Set<string>()
    for await (const page of readPages(this.#deps.store, access.actor.id, () => true)) {
      for (const { name } of page) if (this.#isDeclared(name)) seen.add(name)
      yield await this.#shownOf(
        access,
        page.flatMap(({ stored }) => stored ?? []),
      )
    }
    yield await this.#shownOf(access, this.#withoutRow(seen))
  }

  /** The names and kinds that `listed` would show. Long values are read only for hooks. */
  async names(access: Access): Promise<readonly Pick<StoredProperty, 'name' | 'kind'>[]> {
    const { permission, gate } = this.#deps.room
    const right = { category: 'properties', right: 'read' } as const
    const isHooked = (name: string): boolean => !gate.isOpen(access, 'get', name)
    const found: Pick<StoredProperty, 'name' | 'kind'>[] = []
    const seen = new Set<string>()
    const see = async (
      rows: readonly (Pick<StoredProperty, 'name' | 'kind'> & { readonly stored: UnreadProperty | null })[],
    ): Promise<void> => {
      const open = rows.filter(({ name }) => !isHooked(name))
      const names = open.map(({ name }) => name)
      const readable = await permission.filter(access.actor.id, access.caller, right, names)
      const hooked = rows.flatMap(({ name, stored }) => (stored !== null && isHooked(name) ? stored : []))
      const shown = await this.#shownOf(access, hooked)
      for (const { name, kind } of [...open.filter(({ name: one }) => readable.has(one)), ...shown])
        found.push({ name, kind })
    }
    for await (const page of readPages(this.#deps.store, access.actor.id, isHooked)) {
      for (const { name } of page) if (this.#isDeclared(name)) seen.add(name)
      await see(page)
    }
    await see(this.#withoutRow(seen).map((stored) => ({ ...stored, stored })))
    return found
  }

  #isDeclared(name: string): boolean {
    return this.#deps.room.declared.declarationOf(name) !== undefined
  }

  /** The declared properties that have a value without a row, except those of these names. */
  #withoutRow(seen: ReadonlySet<string>): readonly UnreadProperty[] {
    return this.#present([]).filter(({ name }) => !seen.has(name))
  }

  /** Like `listed`, with the declared values that are not set and that the caller may set, by name. */
  async overview(
    access: Access,
  ): Promise<{ readonly shown: readonly StoredProperty[]; readonly unset: readonly DataDeclaration[] }> {
    const { permission, declared } = this.#deps.room
    const stored = await this.#deps.store.read((q) => findProperties(q, access.actor.id))
    const { shown } = await this.#listingOf(access, stored)
    const unset = declared.unset(stored)
    const right = { category: 'properties', right: 'write' } as const
    const names = unset.map(({ name }) => name)
    const settable = await permission.filter(access.actor.id, access.caller, right, names)
    return { shown, unset: unset.filter(({ name }) => settable.has(name)) }
  }

  /** The declaration of a value that is not set. Null for any other name. */
  async unsetValue(access: Access, name: string): Promise<DataDeclaration | null> {
    const declaration = this.#deps.room.declared.declarationOf(name)
    if (declaration?.kind !== 'value') return null
    return (await this.kindOf(access, 'write', [name])) === null ? declaration : null
  }

  async #listingOf(access: Access, rows: readonly UnreadProperty[]): Promise<Listing> {
    const visible = await this.#visible(access, this.#present(rows))
    return { shown: await this.#withoutHidden(access, visible), version: this.#versionOf(access, visible) }
  }

  /** These properties alone, as the caller may see them. */
  async #shownOf(access: Access, rows: readonly UnreadProperty[]): Promise<readonly StoredProperty[]> {
    return rows.length === 0 ? [] : this.#withoutHidden(access, await this.#visible(access, rows))
  }

  async #withoutHidden(access: Access, visible: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const shown: StoredProperty[] = []
    for (const property of await this.#show(access, visible)) {
      if (valueOf(property) !== null || (await this.#deps.room.listReader.isShown(access, property)))
        shown.push(property)
    }
    return shown
  }

  #versionOf(access: Access, visible: readonly StoredProperty[]): Listing['version'] {
    const { versions, room } = this.#deps
    return (json) => {
      const version = versions.ofListing(access.actor.id, visible)
      if (visible.every(({ name }) => room.gate.isOpen(access, 'get', name))) return version
      return json === null ? null : versions.ofShown(version, json)
    }
  }

  /** Null for a name that is not a list. */
  async findList(access: Access, name: string): Promise<FoundList | null> {
    const { versions, room } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(room.permission, access, 'read', [name])
    if (row === null || !holdsItems(row.kind)) return null
    const property = room.declared.current(row)
    const version = (json: JsonText | null): string | null => {
      const { whole } = versions.of(access.actor.id, property)
      if (room.gate.isOpen(access, 'get', name)) return whole
      return json === null ? null : versions.ofShown(whole, json)
    }
    return { property, version }
  }

  /** The same access, with a condition on the property at the path, or on all properties that the caller may read. */
  async withCondition(access: Access, condition: Condition, path: readonly string[] | null): Promise<Access> {
    if (path !== null) return { ...access, condition: { ...condition, subject: { path } } }
    const right = { category: 'properties', right: 'read' } as const
    const judge = await this.#deps.room.permission.judge(access.actor.id, access.caller, right)
    return { ...access, condition: { ...condition, subject: { mayRead: (name) => judge(name).allowed } } }
  }

  /**
   * All values, and short lists with their items, in one snapshot of three statements. The caller reads the items of
   * longer lists separately, which also runs their hooks.
   */
  async everything(access: Access): Promise<Everything> {
    return this.#seenOf(
      access,
      await this.#deps.store.snapshot((q) => this.#allWith(q, access, this.#readShort(access))),
    )
  }

  /** Like `everything`. Null when the properties are too long for memory; `pages` reads them. */
  async together(access: Access): Promise<Everything | null> {
    const read = await this.#deps.store.snapshot(async (q) => {
      const rows = await readTogether(q, access.actor.id)
      return rows === null ? null : this.#withContents(q, rows, this.#readShort(access))
    })
    return read === null ? null : this.#seenOf(access, read)
  }

  /** Like `everything`, with at most the first `count` items of each list. */
  async starts(access: Access, count: number): Promise<Everything> {
    const readFirst: ReadLists = (q, heads) => readStarts(q, access.actor.id, heads, count, this.#formatOf)
    return this.#seenOf(access, await this.#deps.store.snapshot((q) => this.#allWith(q, access, readFirst)))
  }

  #readShort({ actor }: Access): ReadLists {
    return (q, heads) => readManyLists(q, actor.id, shortLists(heads), this.#formatOf)
  }

  async #allWith(q: Queries, { actor }: Access, read: ReadLists): Promise<WithContents> {
    return this.#withContents(q, await findProperties(q, actor.id), read)
  }

  async #withContents(q: Queries, rows: readonly UnreadProperty[], read: ReadLists): Promise<WithContents> {
    const stored = this.#present(rows)
    return { stored, contents: await read(q, headsOf(stored)) }
  }

  async #seenOf(access: Access, { stored, contents }: WithContents): Promise<Everything> {
    const visible = await this.#visible(access, stored)
    const lists = new Map<string, SeenList>()
    for (const property of visible) {
      if (!holdsItems(property.kind)) continue
      const seen = await this.#deps.room.listReader.seen(access, property, contents.get(property.name))
      if (seen !== null) lists.set(property.name, seen)
    }
    return { shown: await this.#show(access, visible), lists, version: this.#versionOf(access, visible) }
  }

  /** The properties whose names the caller may read. */
  async #visible(access: Access, stored: readonly UnreadProperty[]): Promise<readonly StoredProperty[]> {
    const { permission, declared } = this.#deps.room
    const right = { category: 'properties', right: 'read' } as const
    const names = stored.map(({ name }) => name)
    const visible = await permission.filter(access.actor.id, access.caller, right, names)
    return stored.filter(({ name }) => visible.has(name)).map((row) => declared.current(row))
  }

  /** The properties with their values after the hooks. */
  async #show(access: Access, visible: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const { gate } = this.#deps.room
    const shown: StoredProperty[] = []
    for (const property of visible) {
      const { name } = property
      const value = valueOf(property)
      if (value === null || gate.isOpen(access, 'get', name)) {
        shown.push(property)
        continue
      }
      const passed = await gate.pass(access, 'get', [name], value)
      if (passed !== null) shown.push({ ...property, content: passed })
    }
    return shown
  }

  /**
   * The outermost readable parts of values whose full value the caller may not read, after the hooks. Examines at most
   * `mostParts` parts.
   */
  async parts(access: Access): Promise<readonly { readonly path: readonly string[]; readonly value: JsonText }[]> {
    const { store, room } = this.#deps
    const stored = this.#present(await store.read((q) => findProperties(q, access.actor.id)))
    const judge = await room.permission.judge(access.actor.id, access.caller, { category: 'properties', right: 'read' })
    const found: { path: readonly string[]; value: JsonText }[] = []
    let left = mostParts
    const look = async (path: readonly string[], value: JsonText): Promise<void> => {
      if (left-- <= 0) return
      if (path.length > 1 && judge(path.join('/')).allowed) {
        const shown = await room.gate.pass(access, 'get', path, value)
        if (shown !== null) found.push({ path, value: shown })
        return
      }
      for (const [name, below] of members(value) ?? []) await look([...path, name], below)
    }
    for (const row of stored) {
      const { name } = row
      if (holdsItems(row.kind) || judge(name).allowed) continue
      await look([name], room.declared.current(row).content)
    }
    return found
  }

  /** Removes every property, or nothing when one of them must stay. */
  async deleteAll(access: Access): Promise<void> {
    const { permission } = this.#deps.room
    const { stored, items } = await this.#deps.store.snapshot((q) => this.#forDeletion(q, access, null))
    const judged = new Set(['', ...stored.map(({ name }) => name)])
    await this.#passDeletion(access, { judged, stored, items })
    await this.#delete(access, async (tx) => {
      // Also deletes and records properties that were added since the hooks ran, unless the caller's rules must allow them.
      const present = await findProperties(tx, access.actor.id)
      if (permission.isRuled(access.caller) && present.some(({ name }) => !judged.has(name)))
        throw new ServiceError('conflict', 'Cannot delete all properties: another request added one meanwhile')
      await this.#keepRemoved(tx, access, present)
      await deleteAllProperties(tx, access.actor.id)
      return present
    })
  }

  /** Removes the properties of these names, or nothing when one of them must stay. Ignores names without a property. */
  async deleteNamed(access: Access, names: readonly string[]): Promise<void> {
    const { stored, items } = await this.#deps.store.snapshot((q) => this.#forDeletion(q, access, new Set(names)))
    const present = stored.map(({ name }) => name)
    await this.#passDeletion(access, { judged: new Set(present), stored, items })
    await this.#delete(access, async (tx) => {
      const found = [...(await findNamedProperties(tx, access.actor.id, present)).values()]
      await this.#keepRemoved(tx, access, found)
      await deleteNamedProperties(tx, access.actor.id, present)
      return found
    })
  }

  /** Keeps the properties that the transaction removes next, in the history. */
  async #keepRemoved(tx: Transaction, { actor }: Access, removed: readonly UnreadProperty[]): Promise<void> {
    const { declared } = this.#deps.room
    const values = removed.filter(({ kind }) => !holdsItems(kind))
    await this.#deps.history.keepValues(
      tx,
      actor.id,
      values.map(({ name }) => ({ name, value: null })),
    )
    const lists = removed.filter(({ kind }) => holdsItems(kind))
    await keepDeletions(
      tx,
      actor.id,
      lists.map(({ name, content }) => ({ at: declared.addressOf(actor.id, name), head: content })),
    )
  }

  /** Requires the rights and runs the hooks of a deletion. */
  async #passDeletion(access: Access, { judged, stored, items }: Deletion): Promise<void> {
    const { gate, declared, permission } = this.#deps.room
    await permission.requireAll(
      access.actor.id,
      access.caller,
      { category: 'properties', right: 'delete' } as const,
      judged,
    )
    for (const row of stored) {
      const { name } = row
      if (gate.isOpen(access, 'delete', name)) continue
      const property = declared.current(row)
      const value = valueOf(property) ?? listValue(property, items.get(name))
      if ((await gate.pass(access, 'delete', [name], value)) === null) throw rejectedDelete([name])
    }
  }

  /** @param remove Deletes properties, and returns them. */
  async #delete(access: Access, remove: (tx: Transaction) => Promise<readonly UnreadProperty[]>): Promise<void> {
    await this.#deps.room.writer.change(access, async (tx, record) => {
      const removed = await remove(tx)
      await this.#deps.indexes.update(tx, access.actor.id, new Map(removed.map(({ name }) => [name, null])))
      for (const { name, kind } of removed) record(kinds[kind].removal(name))
    })
    this.#deps.deleteRemoved(access.actor.id)
  }

  /** The chosen properties, with the items of short lists that have a deletion hook. */
  async #forDeletion(q: Queries, access: Access, names: ReadonlySet<string> | null): Promise<Omit<Deletion, 'judged'>> {
    const all = await findProperties(q, access.actor.id)
    const stored = names === null ? all : all.filter(({ name }) => names.has(name))
    const hooked = stored.filter(({ name }) => !this.#deps.room.gate.isOpen(access, 'delete', name))
    const heads = shortLists(headsOf(hooked))
    return { stored, items: await readManyLists(q, access.actor.id, heads, this.#formatOf) }
  }

  readonly #formatOf = (list: string): ItemFormat | null => this.#deps.room.declared.formatOf(list)

  #find(access: Access, [name = '']: readonly string[]): Promise<UnreadProperty | null> {
    const { store, room } = this.#deps
    return store
      .read((q) => findProperty(q, access.actor.id, name))
      .then((stored) => room.declared.present(name, stored))
  }

  #present(stored: readonly UnreadProperty[]): readonly UnreadProperty[] {
    return this.#deps.room.declared.allPresent(stored)
  }
}

/** The value that the hook for the deletion of a list receives: its items, or the metadata of a long list. */
function listValue({ name, content: head }: StoredProperty, content: ListContent | undefined): JsonText {
  return content === undefined ? factsOf(listMetadata(name, head)) : array(content.items)
}

function headsOf(stored: readonly UnreadProperty[]): Map<string, string> {
  return new Map(stored.flatMap(({ name, kind, content }) => (holdsItems(kind) ? [[name, content] as const] : [])))
}
