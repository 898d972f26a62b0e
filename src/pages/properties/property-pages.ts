/** The pages of properties. */
import { setImmediate } from 'node:timers/promises'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { History } from '../../history/history.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { type Json, toPlain } from '../../json/json.ts'
import type { Access } from '../../property/access.ts'
import { valueOf } from '../../property/kinds.ts'
import type { StoredProperty } from '../../property/property-store.ts'
import type {
  EditConflict,
  ExistingProperty,
  PropertyRow,
  PropertyValues,
  TypedItem,
  TypedProperty,
  PropertiesValues,
  SelectionValues,
} from './values.ts'
import { kindInWords, previewOf, treeOf } from '../shared/value-tree.ts'
import { type KindViewDeps, kindViews, nothingShown, type OpenedItem, type Shown, unsetShown } from './kind-views.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { FoundNames, type ListingQuery, selectProperties, typeOf } from './listing.ts'
import type { PeerNameDeps } from '../shared/peer-names.ts'
import { pagingOf, partOf, partQuery } from '../shared/paging.ts'
import { namedViewers, type ViewersDeps, viewersFor, type ViewersOf } from './viewers.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { propertyNotFound } from '../../property/property-errors.ts'
import type { FoundProperty } from '../../property/properties.ts'
import type { ItemWithHandle } from '../../list/list.ts'
import type { ListWriter } from '../../property/lists/list-writer.ts'
import type { View } from '../shared/values.ts'
import type { Messages } from '../languages/language.ts'
import type { BodyLimits } from '../../http/edge/body.ts'

export interface PropertyPageDeps extends PageDeps, KindViewDeps, ViewersDeps, PeerNameDeps {
  readonly listWriter: ListWriter
  readonly config: BodyLimits & Pick<Config, 'historyDays'>
  readonly history: Pick<History, 'hasRequest' | 'isOn' | 'keepsWhole'>
  readonly pages: {
    readonly properties: View<PropertiesValues>
    readonly property: View<PropertyValues>
    readonly selection: View<SelectionValues>
  }
}

/** Properties per page. */
const rowsOnAPage = 100
/** The rows that are made without other work in between. */
const rowsOfOneTurn = 16

/** @param refused The refused form and the reason. */
export async function showProperties(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, ListingQuery>,
  refused: { readonly error: ServiceError; readonly typed: TypedProperty | null } | null = null,
): Promise<HttpResponse> {
  const { actor, caller, query } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const access = { actor, caller }
  const [values, found, unset, viewersOf] = await Promise.all([
    pageValues(deps, exchange, '/properties', refused?.error),
    namesFound(deps, access, query),
    deps.properties.unset(access),
    viewersFor(deps, actor.id, messages),
  ])
  const { selected, ...selection } = selectProperties(found, query, `${values.actor_www}/properties`, messages)
  const paging = pagingOf(query, selected.length, rowsOnAPage)
  const shown = await shownRows(
    deps,
    { access, messages, www: values.actor_www, viewersOf },
    partOf(selected, paging, rowsOnAPage),
  )
  const rows = shown.map(({ row }) => row)
  const typed = refused?.typed ?? null
  const page = deps.pages.properties({
    ...values,
    ...selection,
    properties: Object.fromEntries(shown.map(({ row, plain }) => [row.name, plain])),
    property_count: found.total,
    read_only_properties: rows.filter((row) => row.is_read_only).map(({ name }) => name),
    list_properties: rows.filter((row) => row.is_list_property).map(({ name }) => name),
    rows,
    unset: unset.map(({ name, description }) => ({ name, description, href: propertyHref(values.actor_www, name) })),
    paging,
    typed,
    existing:
      refused?.error.code === 'conflict' && typed !== null
        ? await existingOf(deps, exchange, typed, values.actor_www)
        : null,
  })
  return showPage(deps, exchange, page, refused?.error.status)
}

export function propertyHref(www: string, name: string): string {
  return `${www}/properties/${encodeURIComponent(name)}`
}

/** Returns the property that already has the name typed for a new one; null when the owner may not read it. */
async function existingOf(
  deps: PropertyPageDeps,
  { actor, caller, request }: PageExchange<string, ListingQuery>,
  typed: TypedProperty,
  www: string,
): Promise<ExistingProperty | null> {
  const name = typed.property_name.trim()
  const { found, version } = await deps.properties.getWithVersion({ actor, caller }, name)
  if (found === null) return null
  const { value } = found
  const { messages } = deps.languages.of(request)
  return {
    name,
    href: propertyHref(www, name),
    kind: value === null ? messages.values.anyList : kindInWords(value, messages),
    tree: value === null ? null : treeOf(value),
    version: version.whole,
  }
}

/** A longer value of a row is only a preview, so that the rows of a page fit into memory together. */
const longestPlain = 65_536

function plainOf(property: StoredProperty, kind: string): Json {
  const value = valueOf(property)
  if (value === null) return `[${kind}]`
  return value.length > longestPlain ? previewOf(value) : toPlain(value)
}

interface RowContext {
  readonly access: Access
  readonly messages: Messages
  readonly www: string
  readonly viewersOf: ViewersOf
}

/** The properties that the owner may see. Their contents are not in memory together. */
async function namesFound(deps: PropertyPageDeps, access: Access, query: ListingQuery): Promise<FoundNames> {
  const found = new FoundNames(query)
  for await (const page of deps.properties.pages(access)) found.add(page)
  return found
}

/** The rows of these properties, in the order of the names. A property that was removed meanwhile has none. */
async function shownRows(
  deps: PropertyPageDeps,
  context: RowContext,
  names: readonly string[],
): Promise<readonly { readonly row: PropertyRow; readonly plain: Json }[]> {
  const rows = new Map<string, { readonly row: PropertyRow; readonly plain: Json }>()
  for await (const page of deps.properties.pages(context.access, names)) {
    for (const property of page) {
      const row = await rowOf(deps, context, property)
      rows.set(property.name, { row, plain: plainOf(property, row.kind) })
      // Each row asks for the rights of up to 100 overrides.
      if (rows.size % rowsOfOneTurn === 0) await setImmediate()
    }
  }
  return names.flatMap((name) => rows.get(name) ?? [])
}

async function rowOf(
  deps: PropertyPageDeps,
  { access, messages, www, viewersOf }: RowContext,
  property: StoredProperty,
): Promise<PropertyRow> {
  const { name, kind } = property
  return {
    name,
    href: propertyHref(www, name),
    type: typeOf(property),
    ...viewersOf(name),
    ...(await kindViews[kind].row(deps, access, property, messages)),
  }
}

export const propertyQuery = {
  ...partQuery,
  edit: optional(stringField('Handle of the list item whose form the page shows')),
  remove: optional(stringField('Handle of the list item whose deletion the page asks about')),
  viewers: optional(stringField('With any value, the page names the people and apps that can view the property')),
}
export type PropertyQuery = ValuesOf<typeof propertyQuery>

/** @param refused As for `showProperties`. */
export async function showProperty(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, PropertyQuery>,
  refused: { readonly error: ServiceError; readonly typed: TypedItem } | null = null,
): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const access = { actor, caller }
  const name = exchange.params['name'] ?? ''
  // The version is read before or with the content, so that every later change is detected as a conflict.
  const { found, version } = await deps.properties.getWithVersion(access, name)
  const typed = refused?.typed ?? null
  const conflict = refused?.error.code === 'conflict' ? await conflictOf(deps, exchange, refused.typed, found) : null
  const { shown, missing } = await contentOf(deps, exchange, found, { name, typed, hasConflict: conflict !== null })
  const error = refused?.error ?? missing
  const path = `/properties/${encodeURIComponent(name)}`
  const [common, named] = await Promise.all([
    pageValues(deps, exchange, path, error),
    found === null ? notNamed : viewersIfAsked(deps, exchange, name),
  ])
  const values = {
    ...common,
    property: name,
    description: deps.properties.descriptionOf({ actor }, name) ?? '',
    qual: found === null ? ('n' as const) : ('a' as const),
    form_action: `${common.actor_www}${path}`,
    typed,
    version: version.whole,
    texts_version: version.texts,
    conflict,
    undo_days: found !== null && deps.history.keepsWhole(found.size) ? deps.config.historyDays : 0,
    ...named,
  }
  return showPage(deps, exchange, deps.pages.property({ ...values, ...shown }), error?.status)
}

type NamedViewers = Pick<PropertyValues, 'viewers' | 'other_viewers'>
const notNamed: NamedViewers = { viewers: null, other_viewers: 0 }

/** Naming the viewers reads the rights of all of them, so the owner asks for it. */
async function viewersIfAsked(
  deps: PropertyPageDeps,
  { actor, query, request }: PageExchange<string, PropertyQuery>,
  name: string,
): Promise<NamedViewers> {
  if (query.viewers === undefined) return notNamed
  const { viewers, others } = await namedViewers(deps, actor.id, name, deps.languages.of(request).messages)
  return { viewers, other_viewers: others }
}

interface Content {
  readonly shown: Shown
  /** The list no longer contains the item that the address names. */
  readonly missing: ServiceError | null
}

async function contentOf(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, PropertyQuery>,
  found: FoundProperty | null,
  about: { readonly name: string; readonly typed: TypedItem | null; readonly hasConflict: boolean },
): Promise<Content> {
  const { name, hasConflict } = about
  const { actor, caller, query, request } = exchange
  const access = { actor, caller }
  const { messages } = deps.languages.of(request)
  const typed = hasConflict ? null : about.typed
  if (found === null) {
    const shown = hasConflict ? nothingShown(messages) : await unsetOf(deps, access, { name, typed }, messages)
    return { shown, missing: null }
  }
  const wanted = found.kind === 'list' && !hasConflict ? wantedItem(query, typed) : null
  const opened = wanted === null ? null : await openedItem(deps, exchange, wanted)
  const content = { name, value: found.value, query, typed, opened }
  return {
    shown: await kindViews[found.kind].page(deps, access, content, messages),
    missing: wanted !== null && opened === null ? itemMissing() : null,
  }
}

interface WantedItem {
  readonly form: 'edit' | 'remove'
  readonly handle: string
  /** Position in the form fields of own pages, which send no handle. */
  readonly index: string
}

/** Returns the item of the refused form, else the item that the address names. */
function wantedItem({ edit, remove }: PropertyQuery, typed: TypedItem | null): WantedItem | null {
  if (typed !== null) {
    const { form, item_handle: handle, item_index: index } = typed
    if (form === 'delete') return { form: 'remove', handle, index }
    return form === 'update' || form === 'move' ? { form: 'edit', handle, index } : null
  }
  if (edit !== undefined) return { form: 'edit', handle: edit, index: '' }
  return remove === undefined ? null : { form: 'remove', handle: remove, index: '' }
}

/** Returns the current position of the item; null when the list no longer contains it. */
async function openedItem(
  deps: PropertyPageDeps,
  exchange: PageExchange,
  { form, handle, index }: WantedItem,
): Promise<OpenedItem | null> {
  if (handle === '' && /^[0-9]{1,9}$/.test(index)) return { form, index: Number(index) }
  try {
    const item = await itemOf(deps, exchange, handle)
    return item === null ? null : { form, index: item.index }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_value') return null
    throw error
  }
}

function itemMissing(): ServiceError {
  return pageRefusal('not_found', 'The list no longer has this item', ({ list }) => list.itemMissing)
}

/** @throws ServiceError `not_found` unless it is a declared value that is not set. */
async function unsetOf(
  deps: PropertyPageDeps,
  access: Access,
  { name, typed }: { readonly name: string; readonly typed: TypedItem | null },
  messages: Messages,
): Promise<Shown> {
  const unset = await deps.properties.unsetValue(access, name)
  if (unset === null) throw explained(propertyNotFound([name]), ({ properties }) => properties.notFound(name))
  return unsetShown(unset, typed, messages)
}

/** Returns what is stored now in the place that the form edited. */
async function conflictOf(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, PropertyQuery>,
  typed: TypedItem,
  found: FoundProperty | null,
): Promise<EditConflict | null> {
  const value = found?.value ?? null
  const isList = found !== null && value === null
  const conflict = { is_gone: found === null, tree: value === null ? null : treeOf(value), index: 0, handle: '' }
  switch (typed.form) {
    case 'value':
      return { ...conflict, about: 'value', can_save: !isList }
    case 'remove':
      return found === null ? null : { ...conflict, about: 'deletion', can_save: true }
    case 'metadata':
      return { ...conflict, about: 'texts', can_save: isList }
    case 'add':
    case 'add_several':
      return { ...conflict, about: 'item', is_gone: true, can_save: isList }
    case 'move':
      return null
    default:
      return itemConflict(isList ? await itemOf(deps, exchange, typed.item_handle) : null, isList)
  }
}

function itemConflict(item: ItemWithHandle | null, isList: boolean): EditConflict {
  const about = 'item'
  if (item === null) return { about, is_gone: true, tree: null, index: 0, handle: '', can_save: isList }
  const { index, handle } = item
  return { about, is_gone: false, tree: treeOf(item.item), index, handle, can_save: true }
}

/** Returns the item of a handle; null when the list no longer contains it. */
function itemOf(deps: PropertyPageDeps, { actor, caller, params }: PageExchange, handle: string) {
  return handle === '' ? null : deps.listReader.locate({ actor, caller }, params['name'] ?? '', handle)
}
