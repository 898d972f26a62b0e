/** The pages of properties: what they show, and in which deps. */
import { ServiceError } from '../../errors.ts'
import { isString, type Json, type JsonText, pretty, stringValue, toPlain } from '../../json/json.ts'
import type { Access } from '../../property/access.ts'
import { listMetadata } from '../../list/list.ts'
import type { StoredProperty } from '../../property/property-store.ts'
import type {
  EditConflict,
  Editable,
  ExistingProperty,
  PropertyRow,
  PropertyValues,
  TypedItem,
  TypedProperty,
  PropertiesValues,
} from './values.ts'
import { kindInWords, previewOf, treeOf } from '../shared/value-tree.ts'
import { count } from '../shared/plural.ts'
import type { Answer } from '../../http/edge/response.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { pagingOf } from '../shared/paging.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { propertyNotFound } from '../../property/property-not-found.ts'
import type { Properties } from '../../property/properties.ts'
import type { Lists } from '../../property/lists.ts'
import type { View } from '../shared/values.ts'
import type { BodyLimits } from '../../http/edge/body.ts'

export interface PropertyPageDeps extends PageDeps {
  readonly properties: Properties
  readonly lists: Lists
  readonly config: BodyLimits
  readonly pages: {
    readonly properties: View<PropertiesValues>
    readonly property: View<PropertyValues>
  }
}

/** Of a page: properties, and items of a list. */
const rowsOnAPage = 100
export const itemsOnAPage = 50

/** In characters; what is longer is not put into a form. */
const longestEditable = 200_000

/** @param refused The form that was sent to it, and why it was not taken. */
export async function showProperties(
  deps: PropertyPageDeps,
  exchange: PageExchange,
  refused: { readonly error: ServiceError; readonly typed: TypedProperty } | null = null,
): Promise<Answer> {
  const { actor, caller, query } = exchange
  const access = { actor, caller }
  const all = await deps.lists.withoutHidden(access, await deps.properties.all(access))
  const paging = pagingOf(query, all.length, rowsOnAPage)
  const onPage = all.slice((paging.page - 1) * rowsOnAPage, paging.page * rowsOnAPage)
  const values = pageValues(deps, exchange, '/properties', refused?.error)
  const rows = await Promise.all(onPage.map((property) => rowOf(deps, exchange, property, values.actor_www)))
  const page = deps.pages.properties({
    ...values,
    properties: Object.fromEntries(
      onPage.map((property, at) => [property.name, plainOf(property, rows[at]?.kind ?? '')]),
    ),
    read_only_properties: rows.filter((row) => row.is_read_only).map(({ name }) => name),
    list_properties: rows.filter((row) => row.is_list_property).map(({ name }) => name),
    rows,
    paging,
    typed: refused?.typed ?? null,
    existing:
      refused?.error.code === 'conflict' ? await existingOf(deps, exchange, refused.typed, values.actor_www) : null,
  })
  return showPage(exchange, page, refused?.error.status)
}

/** What stands under the name that was typed for something new; null when the owner may not see it. */
async function existingOf(
  deps: PropertyPageDeps,
  { actor, caller }: PageExchange,
  typed: TypedProperty,
  www: string,
): Promise<ExistingProperty | null> {
  const name = typed.property_name.trim()
  const { found, version } = await deps.properties.getWithVersion({ actor, caller }, name)
  if (found === null) return null
  const value = found.kind === 'value' ? found.value : null
  return {
    name,
    href: `${www}/properties/${encodeURIComponent(name)}`,
    kind: value === null ? 'List' : kindInWords(value),
    tree: value === null ? null : treeOf(value),
    version: version.whole,
  }
}

async function rowOf(
  deps: PropertyPageDeps,
  { actor, caller }: PageExchange,
  property: StoredProperty,
  www: string,
): Promise<PropertyRow> {
  const { name } = property
  const row = { name, href: `${www}/properties/${encodeURIComponent(name)}` }
  if (property.kind === 'list')
    return { ...row, kind: lengthInWords(property), preview: '', is_list_property: true, is_read_only: false }
  return {
    ...row,
    kind: kindInWords(property.value),
    preview: previewOf(property.value),
    is_list_property: false,
    is_read_only: !(await deps.properties.isWritable({ actor, caller }, name, property.value)),
  }
}

/** A damaged list says so, and leaves the rest of the listing readable. */
function lengthInWords({ name, head }: Extract<StoredProperty, { kind: 'list' }>): string {
  try {
    return `List with ${count(listMetadata(name, head).length, 'item')}`
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return 'List, damaged'
    throw error
  }
}

function plainOf(property: StoredProperty, kind: string): Json {
  return property.kind === 'list' ? `[${kind}]` : toPlain(property.value)
}

/** @param refused As for `showProperties`. */
export async function showProperty(
  deps: PropertyPageDeps,
  exchange: PageExchange,
  refused: { readonly error: ServiceError; readonly typed: TypedItem } | null = null,
): Promise<Answer> {
  const { actor, caller } = exchange
  const access = { actor, caller }
  const name = exchange.params['name'] ?? ''
  // The version is read before, or with, what the page shows: a later change is a conflict, never overlooked.
  const { found, version } = await deps.properties.getWithVersion(access, name)
  const typed = refused?.typed ?? null
  const conflict = refused?.error.code === 'conflict' ? await conflictOf(deps, exchange, refused.typed, found) : null
  if (found === null && conflict === null) throw propertyNotFound([name])
  const path = `/properties/${encodeURIComponent(name)}`
  const common = pageValues(deps, exchange, path, refused?.error)
  const values = {
    ...common,
    property: name,
    qual: found === null ? ('n' as const) : ('a' as const),
    form_action: `${common.actor_www}${path}`,
    typed,
    version: version.whole,
    texts_version: version.texts,
    conflict,
  }
  const shown =
    found === null
      ? nothingShown
      : found.kind === 'list'
        ? await listValues(deps, exchange, access, name)
        : await simpleValues(deps, access, name, found.value)
  return showPage(exchange, deps.pages.property({ ...values, ...shown }), refused?.error.status)
}

type Found = { kind: 'value'; value: JsonText } | { kind: 'list' } | null

/** What is stored now in the place that the form was made from. */
async function conflictOf(
  deps: PropertyPageDeps,
  exchange: PageExchange,
  typed: TypedItem,
  found: Found,
): Promise<EditConflict | null> {
  const value = found?.kind === 'value' ? found.value : null
  const isList = found?.kind === 'list'
  const conflict = { is_gone: found === null, tree: value === null ? null : treeOf(value), index: 0, handle: '' }
  switch (typed.form) {
    case 'value':
      return { ...conflict, about: 'value', can_save: !isList }
    case 'remove':
      return found === null ? null : { ...conflict, about: 'deletion', can_save: true }
    case 'metadata':
      return { ...conflict, about: 'texts', can_save: isList }
    case 'add':
      return { ...conflict, about: 'item', is_gone: true, can_save: isList }
    case 'update':
    case 'delete': {
      const item = isList ? await itemOf(deps, exchange, typed.item_handle) : null
      if (item === null) return { ...conflict, about: 'item', is_gone: true, tree: null, can_save: isList }
      const { index, handle } = item
      return { about: 'item', is_gone: false, tree: treeOf(item.item), index, handle, can_save: true }
    }
  }
}

/** Null when the list no longer has the item. */
function itemOf(deps: PropertyPageDeps, { actor, caller, params }: PageExchange, handle: string) {
  return handle === '' ? null : deps.lists.locate({ actor, caller }, params['name'] ?? '', handle)
}

type Shown = Pick<
  PropertyValues,
  | 'value'
  | 'raw_value'
  | 'kind'
  | 'is_read_only'
  | 'is_list_property'
  | 'list_description'
  | 'list_explanation'
  | 'list_items'
  | 'items'
  | 'paging'
  | 'tree'
  | 'editable'
>

/** The property was deleted while its form was filled in. */
const nothingShown: Shown = {
  value: '',
  raw_value: null,
  kind: 'Deleted',
  is_read_only: false,
  is_list_property: false,
  list_description: '',
  list_explanation: '',
  list_items: [],
  items: [],
  paging: { page: 1, pages: 1, total: 0 },
  tree: null,
  editable: null,
}

async function simpleValues(deps: PropertyPageDeps, access: Access, name: string, value: JsonText): Promise<Shown> {
  const editable = editableOf(value)
  return {
    value: editable.text,
    raw_value: toPlain(value),
    kind: kindInWords(value),
    is_read_only: !(await deps.properties.isWritable(access, name, value)),
    is_list_property: false,
    list_description: '',
    list_explanation: '',
    list_items: [],
    items: [],
    paging: { page: 1, pages: 1, total: 1 },
    tree: treeOf(value),
    editable: editable.text.length > longestEditable ? null : editable,
  }
}

async function listValues(
  deps: PropertyPageDeps,
  { query }: PageExchange,
  access: Access,
  name: string,
): Promise<Shown> {
  const metadata = await deps.lists.metadata(access, name)
  if (metadata === null) throw propertyNotFound([name])
  const paging = pagingOf(query, metadata.length, itemsOnAPage)
  const from = (paging.page - 1) * itemsOnAPage
  const items = await deps.lists.itemsWithHandles(access, name, { from, to: from + itemsOnAPage })
  const kind = `List with ${count(metadata.length, 'item')}`
  return {
    value: `[${kind}]`,
    raw_value: null,
    kind,
    is_read_only: false,
    is_list_property: true,
    list_description: metadata.description,
    list_explanation: metadata.explanation,
    list_items: items.map(({ item }) => toPlain(item)),
    items: items.map(({ index, handle, item }) => ({ index, handle, tree: treeOf(item), editable: editableOf(item) })),
    paging,
    tree: null,
    editable: null,
  }
}

function editableOf(value: JsonText): Editable {
  return isString(value) ? { text: stringValue(value) ?? '', type: 'text' } : { text: pretty(value), type: 'json' }
}
