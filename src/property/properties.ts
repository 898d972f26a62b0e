/** Accesses properties of all kinds by name, with checks of rights and hooks. `kinds.ts` lists the kinds. */
import type { DataDeclaration } from '../app/data-declarations.ts'
import type { PropertySize } from '../history/history.ts'
import { type JsonText, members } from '../json/json.ts'
import { listFacts, type ListContent, readManyLists, readStarts, shortLists } from '../list/list.ts'
import type { Right } from '../permission/operation.ts'
import { requiredOn, rightToPut } from '../permission/required-right.ts'
import type { ReadReplicas } from '../store/read-replicas.ts'
import type { Queries } from '../store/store.ts'
import { type Access, requireRight } from './access.ts'
import type { Condition } from './condition.ts'
import type { Added, Part, PropertyContent, PropertyRequest } from './kind.ts'
import { holdsItems, kinds, valueOf } from './kinds.ts'
import type { ListReader, SeenList } from './lists/list-reader.ts'
import { type BulkDeleteDeps, deleteProperties } from './bulk-delete.ts'
import { propertyNotFound } from './property-errors.ts'
import { type PageSelection, readPages, readTogether } from './property-pages.ts'
import {
  findKinds,
  findNamedProperties,
  findProperty,
  type PropertyKind,
  type UnreadProperty,
  type StoredProperty,
} from './property-store.ts'
import type { StoredNames } from './stored-names.ts'
import type { Expected } from './values.ts'
import type { PropertyVersion, Versions } from './version.ts'

/** The most parts of values that `parts` examines. */
const maxParts = 2000
/** `parts` ends after values of this length together. */
const maxPartCharacters = 4_194_304

interface PropertiesDeps extends BulkDeleteDeps {
  readonly readReplicas: Pick<ReadReplicas, 'within'>
  readonly versions: Versions
  readonly names: StoredNames
}

/** A property as `namePages` has it. The content is as it is stored, and null when it is long or was not requested. */
export interface NamedProperty extends Pick<StoredProperty, 'name' | 'kind'> {
  readonly content: string | null
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

interface WithContents {
  readonly stored: readonly UnreadProperty[]
  readonly contents: ReadonlyMap<string, ListContent>
}

/** Properties that may be old. Use them for reads only. */
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
    const { kindDeps, readReplicas } = this.#deps
    const store = readReplicas.within(maxMs)
    const listReader = kindDeps.listReader.from(store)
    const properties = new Properties({ ...this.#deps, store, kindDeps: { ...kindDeps, listReader } })
    return { properties, listReader, ageMs: () => store.ageMs }
  }

  /** The name that a request means (see `StoredNames.of`). The entrances call it before anything else. */
  nameOf(actorId: string, name: string): Promise<string> | string {
    return this.#deps.names.of(actorId, name)
  }

  /** The description that the application declared for the name. */
  descriptionOf({ actor }: Pick<Access, 'actor'>, name: string): string | undefined {
    const description = this.#deps.kindDeps.declared.of(actor).declarationOf(name)?.description
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
    await requireRight(this.#deps.kindDeps.permission, access, required.right, required.path)
    return kind
  }

  /** Handles GET. Null when the path does not exist, or a hook hides it. */
  async read(access: Access, request: PropertyRequest): Promise<PropertyContent | null> {
    const { kindDeps } = this.#deps
    const row = await this.#find(access, request.path)
    const { path } = requiredOn(holdsItems(row?.kind), 'read', request.path)
    const waiting = requireRight(kindDeps.permission, access, 'read', path)
    if (waiting !== undefined) await waiting
    return row === null
      ? null
      : await kinds[row.kind].read(kindDeps, access, kindDeps.declared.of(access.actor).current(row), request)
  }

  /** The content of the MCP resource (see `PropertyMethods.resource`). */
  async resource(
    access: Access,
    name: string,
    range: { readonly from: number | null; readonly count: number },
  ): Promise<Part | null> {
    const { kindDeps } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(kindDeps.permission, access, 'read', [name])
    return row === null
      ? null
      : kinds[row.kind].resource(kindDeps, access, kindDeps.declared.of(access.actor).current(row), range)
  }

  /** The property with the version of its stored content. The version of a free name is `noVersion`. */
  async getWithVersion(
    access: Access,
    name: string,
  ): Promise<{ readonly found: FoundProperty | null; readonly version: PropertyVersion }> {
    const { versions, kindDeps } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(kindDeps.permission, access, 'read', [name])
    const property = row === null ? null : kindDeps.declared.of(access.actor).current(row)
    const version = versions.of(access.actor, property)
    if (property === null) return { found: null, version }
    const { kind } = property
    const value = valueOf(property)
    if (value === null) {
      const { length: items, bytes } = listFacts(name, property.content)
      return { found: { kind, value, size: { items, characters: bytes ?? 0 } }, version }
    }
    const shown = await kindDeps.gate.runHooks(access, 'get', [name], value)
    const size = { items: 1, characters: value.length }
    return { found: shown === null ? null : { kind, value: shown, size }, version }
  }

  /** Handles PUT. `Values.put` sets a name alone (see `PropertyMethods.replace`); the kind handles a path below the name. */
  async put(
    access: Access,
    request: PropertyRequest,
    value: JsonText,
    options: Expected & { readonly operation?: 'put' | 'post' } = {},
  ): Promise<void> {
    const { kindDeps } = this.#deps
    const { path, index } = request
    if (path.length === 1 && index === undefined) {
      await kindDeps.values.put(access, path, value, options.operation, options)
      return
    }
    const kind = await this.kindOf(access, 'write', path, 'append')
    await kinds[kind ?? 'value'].put(kindDeps, access, request, value)
  }

  /** Handles POST. */
  async add(access: Access, path: readonly string[], value: JsonText): Promise<Added> {
    const kind = await this.kindOf(access, rightToPut(path, value), path, 'append')
    return kinds[kind ?? 'value'].add(this.#deps.kindDeps, access, path, value)
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
    return kinds[kind ?? 'value'].remove(this.#deps.kindDeps, access, request, expected)
  }

  /**
   * True when the hooks would accept the current value in a write. A page checks this before it shows a form. An error of
   * a hook counts as a refusal.
   */
  async isWritable(access: Access, name: string, value: JsonText): Promise<boolean> {
    try {
      return (await this.#deps.kindDeps.gate.runHooks(access, 'put', [name], value)) !== null
    } catch {
      return false
    }
  }

  /** Like `pages`, without the hooks of lists. */
  async *valuePages(access: Access): AsyncGenerator<readonly StoredProperty[], undefined> {
    for await (const rows of this.#rowsInPages(access, { isNeeded: () => true }))
      yield await this.#show(access, await this.#visible(access, rows))
  }

  /** The lists that the caller may see and that no hook hides. */
  async lists(access: Access): Promise<readonly StoredProperty[]> {
    const found: StoredProperty[] = []
    const isNeeded = ({ kind }: Pick<UnreadProperty, 'kind'>): boolean => holdsItems(kind)
    for await (const rows of this.#rowsInPages(access, { isNeeded, contents: 'none' })) {
      const lists = rows.filter(isNeeded)
      found.push(...(await this.#shownOf(access, lists)))
    }
    return found
  }

  /** The rows whose content is read, in pages. The last page has the declared values without a row. */
  async *#rowsInPages(
    access: Access,
    { names = null, ...selection }: Omit<PageSelection, 'after'>,
  ): AsyncGenerator<readonly UnreadProperty[], undefined> {
    const seen = new Set<string>()
    for await (const page of readPages(this.#deps.store, access.actor.id, { names, ...selection })) {
      for (const { name } of page) if (this.#isDeclared(access, name)) seen.add(name)
      yield page.flatMap(({ stored }) => stored ?? [])
    }
    yield this.#withoutRow(access, seen, names)
  }

  /** The properties that the caller may see, with the version of the listing. Null when the properties are too long for memory; `pages` reads them. */
  async listing(access: Access): Promise<Listing | null> {
    // The rows come from one statement. A snapshot would wait where all connections for changes are busy.
    const stored = await this.#deps.store.read((q) => readTogether(q, access.actor.id))
    return stored === null ? null : this.#listingOf(access, stored)
  }

  /**
   * The properties that the caller may see and that no hook hides, in pages that fit into memory. Rights are checked for each
   * page.
   *
   * @param names only the properties of these names. Null: all.
   */
  async *pages(
    access: Access,
    names: readonly string[] | null = null,
  ): AsyncGenerator<readonly StoredProperty[], undefined> {
    for await (const rows of this.#rowsInPages(access, { isNeeded: () => true, names }))
      yield await this.#shownOf(access, rows)
  }

  /**
   * The names and kinds that `pages` would show, in pages: first the declared values without a row, then the rows by name after
   * `after`. Long values are read only for hooks, and are null otherwise.
   *
   * @param from.after only rows after this name. Null: everything.
   */
  async *namePages(
    access: Access,
    { after = null, contents = 'none' }: { readonly after?: string | null } & Pick<PageSelection, 'contents'> = {},
  ): AsyncGenerator<readonly NamedProperty[], undefined> {
    const { gate } = this.#deps.kindDeps
    const { id } = access.actor
    const isHooked = ({ name }: { readonly name: string }): boolean => !gate.hasNoHooks(access, 'get', name)
    if (after === null) {
      const unset = this.#withoutRow(access, new Set())
      const names = unset.map(({ name }) => name)
      const stored = names.length === 0 ? new Map() : await this.#deps.store.read((q) => findKinds(q, id, names))
      const free = unset.filter(({ name }) => !stored.has(name))
      yield await this.#namedOf(
        access,
        free.map((stored) => ({ ...stored, stored })),
        isHooked,
      )
    }
    for await (const page of readPages(this.#deps.store, id, { isNeeded: isHooked, after: after ?? '', contents }))
      yield await this.#namedOf(access, page, isHooked)
  }

  /** The rows that the caller may see and that no hook hides. */
  async #namedOf(
    access: Access,
    rows: readonly (Pick<StoredProperty, 'name' | 'kind'> & { readonly stored: UnreadProperty | null })[],
    isHooked: (row: { readonly name: string }) => boolean,
  ): Promise<readonly NamedProperty[]> {
    const right = { category: 'properties', right: 'read' } as const
    const open = rows.filter((row) => !isHooked(row)).map(({ name }) => name)
    const readable = await this.#deps.kindDeps.permission.filter(access.actor.id, access.caller, right, open)
    const hooked = rows.flatMap((row) => (row.stored !== null && isHooked(row) ? row.stored : []))
    const shown = new Map((await this.#shownOf(access, hooked)).map((property) => [property.name, property]))
    return rows.flatMap(({ name, kind, stored }) => {
      const property = shown.get(name) ?? (readable.has(name) ? stored : undefined)
      return property === undefined ? [] : { name, kind, content: property?.content ?? null }
    })
  }

  #isDeclared({ actor }: Access, name: string): boolean {
    return this.#deps.kindDeps.declared.of(actor).declarationOf(name) !== undefined
  }

  /** The declared properties of these names that have a value without a row, except those that were seen. */
  #withoutRow(
    access: Access,
    seen: ReadonlySet<string>,
    names: readonly string[] | null = null,
  ): readonly UnreadProperty[] {
    return this.#present(access, [], names).filter(({ name }) => !seen.has(name))
  }

  /** The declared values that are not set and that the caller may set, by name. */
  async unset(access: Access): Promise<readonly DataDeclaration[]> {
    const { store, kindDeps } = this.#deps
    const { permission, declared } = kindDeps
    const { actor, caller } = access
    const names = declared
      .of(access.actor)
      .unset([])
      .map(({ name }) => name)
    const stored = names.length === 0 ? new Map() : await store.read((q) => findKinds(q, actor.id, names))
    const free = names.filter((name) => !stored.has(name))
    const settable = await permission.filter(actor.id, caller, { category: 'properties', right: 'write' }, free)
    return declared
      .of(access.actor)
      .unset([])
      .filter(({ name }) => settable.has(name))
  }

  /** The declaration of a value that is not set. Null for any other name. */
  async unsetValue(access: Access, name: string): Promise<DataDeclaration | null> {
    const declaration = this.#deps.kindDeps.declared.of(access.actor).declarationOf(name)
    if (declaration?.kind !== 'value') return null
    return (await this.kindOf(access, 'write', [name])) === null ? declaration : null
  }

  async #listingOf(access: Access, rows: readonly UnreadProperty[]): Promise<Listing> {
    const visible = await this.#visible(access, this.#present(access, rows))
    return { shown: await this.#withoutHidden(access, visible), version: this.#versionOf(access, visible) }
  }

  /** These properties alone, as the caller may see them. */
  async #shownOf(access: Access, rows: readonly UnreadProperty[]): Promise<readonly StoredProperty[]> {
    return rows.length === 0 ? [] : this.#withoutHidden(access, await this.#visible(access, rows))
  }

  async #withoutHidden(access: Access, visible: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const shown: StoredProperty[] = []
    for (const property of await this.#show(access, visible)) {
      if (valueOf(property) !== null || (await this.#deps.kindDeps.listReader.isShown(access, property)))
        shown.push(property)
    }
    return shown
  }

  #versionOf(access: Access, visible: readonly StoredProperty[]): Listing['version'] {
    const { versions, kindDeps } = this.#deps
    return (json) => {
      const version = versions.ofListing(access.actor, visible)
      if (visible.every(({ name }) => kindDeps.gate.hasNoHooks(access, 'get', name))) return version
      return json === null ? null : versions.ofShown(version, json)
    }
  }

  /** Null for a name that is not a list. */
  async findList(access: Access, name: string): Promise<FoundList | null> {
    const { versions, kindDeps } = this.#deps
    const row = await this.#find(access, [name])
    await requireRight(kindDeps.permission, access, 'read', [name])
    if (row === null || !holdsItems(row.kind)) return null
    const property = kindDeps.declared.of(access.actor).current(row)
    const version = (json: JsonText | null): string | null => {
      const { whole } = versions.of(access.actor, property)
      if (kindDeps.gate.hasNoHooks(access, 'get', name)) return whole
      return json === null ? null : versions.ofShown(whole, json)
    }
    return { property, version }
  }

  /** The same access, with a condition on the property at the path, or on all properties that the caller may read. */
  async withCondition(access: Access, condition: Condition, path: readonly string[] | null): Promise<Access> {
    if (path !== null) return { ...access, condition: { ...condition, subject: { path } } }
    const right = { category: 'properties', right: 'read' } as const
    const judge = await this.#deps.kindDeps.permission.judge(access.actor.id, access.caller, right)
    return { ...access, condition: { ...condition, subject: { mayRead: (name) => judge(name).allowed } } }
  }

  /**
   * All values, and short lists with their items, in one snapshot of three statements. The caller reads the items of
   * longer lists separately, which also runs their hooks. Null when the properties are too long for memory; `pages` reads
   * them.
   *
   * @param names only the properties of these names. Null: all.
   */
  async together(access: Access, names: readonly string[] | null = null): Promise<Everything | null> {
    const { actor } = access
    const read = await this.#deps.store.snapshot(async (q) => {
      const rows = await readTogether(q, actor.id, names)
      return rows === null ? null : this.#withContents(q, access, this.#present(access, rows, names))
    })
    return read === null ? null : this.#seenOf(access, read)
  }

  /**
   * The properties of these names, with at most the first `count` items of each list, in parts. The values of a part fit into
   * memory together.
   */
  async *starts(
    access: Access,
    count: number,
    names: readonly string[],
  ): AsyncGenerator<Pick<Everything, 'shown' | 'lists'>, undefined> {
    const { store, kindDeps } = this.#deps
    const { id } = access.actor
    for await (const rows of this.#rowsInPages(access, { isNeeded: () => true, names })) {
      if (rows.length === 0) continue
      const lists = rows.flatMap(({ name, kind }) => (holdsItems(kind) ? name : []))
      // The heads belong to the items, so one snapshot reads both.
      const read = await store.snapshot(async (q) => {
        const heads = lists.length === 0 ? new Map<string, UnreadProperty>() : await findNamedProperties(q, id, lists)
        const stored = rows.map((row) => heads.get(row.name) ?? row)
        const texts = new Map([...heads].map(([name, { content }]) => [name, content]))
        return {
          stored,
          contents: await readStarts(q, id, texts, count, (list) => kindDeps.declared.of(access.actor).formatOf(list)),
        }
      })
      yield await this.#seenOf(access, read)
    }
  }

  async #withContents(q: Queries, { actor }: Access, stored: readonly UnreadProperty[]): Promise<WithContents> {
    const short = shortLists(headsOf(stored))
    return {
      stored,
      contents: await readManyLists(q, actor.id, short, (list) =>
        this.#deps.kindDeps.declared.of(actor).formatOf(list),
      ),
    }
  }

  async #seenOf(access: Access, { stored, contents }: WithContents): Promise<Everything> {
    const visible = await this.#visible(access, stored)
    const lists = new Map<string, SeenList>()
    for (const property of visible) {
      if (!holdsItems(property.kind)) continue
      const seen = await this.#deps.kindDeps.listReader.seen(access, property, contents.get(property.name))
      if (seen !== null) lists.set(property.name, seen)
    }
    return { shown: await this.#show(access, visible), lists, version: this.#versionOf(access, visible) }
  }

  /** The properties whose names the caller may read. */
  async #visible(access: Access, stored: readonly UnreadProperty[]): Promise<readonly StoredProperty[]> {
    const { permission, declared } = this.#deps.kindDeps
    const right = { category: 'properties', right: 'read' } as const
    const names = stored.map(({ name }) => name)
    const visible = await permission.filter(access.actor.id, access.caller, right, names)
    return stored.filter(({ name }) => visible.has(name)).map((row) => declared.of(access.actor).current(row))
  }

  /** The properties with their values after the hooks. */
  async #show(access: Access, visible: readonly StoredProperty[]): Promise<readonly StoredProperty[]> {
    const { gate } = this.#deps.kindDeps
    const shown: StoredProperty[] = []
    for (const property of visible) {
      const { name } = property
      const value = valueOf(property)
      if (value === null || gate.hasNoHooks(access, 'get', name)) {
        shown.push(property)
        continue
      }
      const passed = await gate.runHooks(access, 'get', [name], value)
      if (passed !== null) shown.push({ ...property, content: passed })
    }
    return shown
  }

  /**
   * The outermost readable parts of values whose full value the caller may not read, after the hooks. Examines at most
   * `maxParts` parts, and ends after `maxPartCharacters`.
   */
  async parts(access: Access): Promise<readonly { readonly path: readonly string[]; readonly value: JsonText }[]> {
    const { kindDeps } = this.#deps
    const judge = await kindDeps.permission.judge(access.actor.id, access.caller, {
      category: 'properties',
      right: 'read',
    })
    const found: { path: readonly string[]; value: JsonText }[] = []
    let left = maxParts
    let characters = 0
    const look = async (path: readonly string[], value: JsonText): Promise<void> => {
      if (left-- <= 0 || characters > maxPartCharacters) return
      if (path.length > 1 && judge(path.join('/')).allowed) {
        const shown = await kindDeps.gate.runHooks(access, 'get', path, value)
        characters += shown?.length ?? 0
        if (shown !== null) found.push({ path, value: shown })
        return
      }
      for (const [name, below] of members(value) ?? []) await look([...path, name], below)
    }
    const isNeeded = ({ name, kind }: Pick<UnreadProperty, 'name' | 'kind'>): boolean =>
      !holdsItems(kind) && !judge(name).allowed
    for await (const rows of this.#rowsInPages(access, { isNeeded, contents: 'none' })) {
      for (const row of rows) {
        if (isNeeded(row)) await look([row.name], kindDeps.declared.of(access.actor).current(row).content)
      }
      if (left <= 0 || characters > maxPartCharacters) break
    }
    return found
  }

  /** Removes every property, or nothing when one of them must stay. */
  deleteAll(access: Access): Promise<void> {
    return deleteProperties(this.#deps, access, null)
  }

  /** Removes the properties of these names, or nothing when one of them must stay. Ignores names without a property. */
  deleteNamed(access: Access, names: readonly string[]): Promise<void> {
    return deleteProperties(this.#deps, access, names)
  }

  #find(access: Access, [name = '']: readonly string[]): Promise<UnreadProperty | null> {
    const { store, kindDeps } = this.#deps
    return store
      .read((q) => findProperty(q, access.actor.id, name))
      .then((stored) => kindDeps.declared.of(access.actor).present(name, stored))
  }

  /** The stored properties, and the declared ones of these names that have a value without a row. */
  #present(
    { actor }: Access,
    stored: readonly UnreadProperty[],
    names: readonly string[] | null = null,
  ): readonly UnreadProperty[] {
    const present = this.#deps.kindDeps.declared.of(actor).allPresent(stored)
    return names === null ? present : present.filter(({ name }) => names.includes(name))
  }
}

function headsOf(stored: readonly UnreadProperty[]): Map<string, string> {
  return new Map(stored.flatMap(({ name, kind, content }) => (holdsItems(kind) ? [[name, content] as const] : [])))
}
