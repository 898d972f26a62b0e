/** Renders each kind of property for the pages. */
import type { Registry } from '../../app/registry.ts'
import type { DataDeclaration } from '../../app/data-declarations.ts'
import { type JsonText, kindOf, pretty, stringValue, toPlain } from '../../json/json.ts'
import type { Access } from '../../property/access.ts'
import type { ListReader } from '../../property/lists/list-reader.ts'
import type { Properties } from '../../property/properties.ts'
import { propertyNotFound } from '../../property/property-errors.ts'
import type { PropertyKind, StoredProperty } from '../../property/property-store.ts'
import { pagingOf, type PartQuery } from '../shared/paging.ts'
import type { Messages } from '../languages/language.ts'
import { kindInWords, listLengthInWords, previewOf, treeOf } from '../shared/value-tree.ts'
import { isTypedItem, shownForm } from './form-fields.ts'
import { formShape, type FormShape } from './form-shape.ts'
import type { Editable, ListItemValues, PropertyRow, PropertyValues, TypedItem } from './values.ts'

interface KindView {
  /** Renders a row of the listing. */
  readonly row: (deps: KindViewDeps, access: Access, property: StoredProperty, messages: Messages) => Promise<ShownRow>
  /** Renders the page of the property. */
  readonly page: (deps: KindViewDeps, access: Access, shown: ShownProperty, messages: Messages) => Promise<Shown>
}

export interface KindViewDeps {
  readonly properties: Properties
  readonly listReader: ListReader
  readonly registry: Pick<Registry, 'of'>
}

type ShownRow = Pick<PropertyRow, 'kind' | 'preview' | 'is_list_property' | 'is_read_only'>

interface ShownProperty {
  readonly name: string
  /** The value that the hooks returned; null for a list. */
  readonly value: JsonText | null
  readonly query: PartQuery
  /** The input of a refused form that the page shows again; null in a conflict and without one. */
  readonly typed: TypedItem | null
  /** The item whose form the page shows. */
  readonly opened: OpenedItem | null
}

export interface OpenedItem {
  readonly form: 'edit' | 'remove'
  readonly index: number
}

export type Shown = Pick<
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
  | 'columns'
  | 'paging'
  | 'tree'
  | 'editable'
  | 'fields'
  | 'new_fields'
>

export const itemsOnAPage = 50

/** Maximum length of a value in a form, in characters. */
const longestEditable = 200_000

const nothing = {
  raw_value: null,
  is_read_only: false,
  is_list_property: false,
  list_description: '',
  list_explanation: '',
  list_items: [],
  items: [],
  columns: null,
  tree: null,
  editable: null,
  fields: null,
  new_fields: null,
} as const

/** The property was deleted while its form was filled in. */
export function nothingShown({ values }: Messages): Shown {
  return { ...nothing, value: '', kind: values.deleted, paging: { page: 1, pages: 1, total: 0 } }
}

/** A declared value that is not set. */
export function unsetShown({ schema }: DataDeclaration, typed: TypedItem | null, messages: Messages): Shown {
  return {
    ...nothingShown(messages),
    kind: messages.values.notSet,
    editable: { text: '', type: schema.jsonSchema?.['type'] === 'string' ? 'text' : 'json' },
    fields: shownForm(formShape(schema.jsonSchema), undefined, typed?.form === 'value' ? typed : null, messages),
  }
}

const valueView: KindView = {
  async row({ properties }, access, { name, content: value }, messages) {
    const isReadOnly = !(await properties.isWritable(access, name, value))
    const kind = kindInWords(value, messages)
    return { kind, preview: previewOf(value), is_list_property: false, is_read_only: isReadOnly }
  },

  async page({ properties, registry }, access, { name, value, typed }, messages) {
    if (value === null) throw propertyNotFound([name])
    const editable = shortEditable(value, messages)
    const shape = editable === null ? null : declaredForm(registry.of(access.actor), 'value', name)
    return {
      ...nothing,
      value: editableOf(value).text,
      raw_value: toPlain(value),
      kind: kindInWords(value, messages),
      is_read_only: !(await properties.isWritable(access, name, value)),
      paging: { page: 1, pages: 1, total: 1 },
      tree: treeOf(value),
      editable,
      fields: shownForm(shape, value, typed?.form === 'value' ? typed : null, messages),
    }
  },
}

const listView: KindView = {
  async row(_deps, _access, property, messages) {
    return { kind: listLengthInWords(property, messages), preview: '', is_list_property: true, is_read_only: false }
  },

  async page({ listReader, registry }, access, { name, query, typed, opened }, messages) {
    const metadata = await listReader.metadata(access, name)
    if (metadata === null) throw propertyNotFound([name])
    const part = opened === null ? query : { page: String(Math.floor(opened.index / itemsOnAPage) + 1) }
    const paging = pagingOf(part, metadata.length, itemsOnAPage)
    const from = (paging.page - 1) * itemsOnAPage
    const found = await listReader.itemsWithHandles(access, name, { from, to: from + itemsOnAPage })
    const kind = messages.values.list(metadata.length)
    const shape = declaredForm(registry.of(access.actor), 'list', name)
    const items = found.map((each): ListItemValues => {
      const form = opened?.index === each.index ? opened.form : null
      const shown = { index: each.index, handle: each.handle, tree: treeOf(each.item), form }
      const editable = form === 'edit' ? shortEditable(each.item, messages) : null
      if (editable === null) return { ...shown, editable, fields: null }
      return {
        ...shown,
        editable,
        fields: shownForm(shape, each.item, isTypedItem(typed, each) ? typed : null, messages),
      }
    })
    return {
      ...nothing,
      value: `[${kind}]`,
      kind,
      is_list_property: true,
      list_description: metadata.description,
      list_explanation: metadata.explanation,
      list_items: found.map(({ item }) => toPlain(item)),
      items,
      columns: columnsOf(items),
      new_fields: shownForm(shape, undefined, typed?.form === 'add' ? typed : null, messages),
      paging,
    }
  },
}

/** Maximum number of columns of a table of items. */
const maxColumns = 6

/** Returns the keys of items that are objects, if every item has at least half of them. */
function columnsOf(items: readonly Pick<ListItemValues, 'tree'>[]): readonly string[] | null {
  const keys: (readonly string[])[] = []
  for (const { tree } of items) {
    if (tree.kind !== 'object' || tree.more > 0) return null
    keys.push(tree.members.map(({ name }) => name))
  }
  const columns = [...new Set(keys.flat())]
  if (columns.length === 0 || columns.length > maxColumns) return null
  return keys.every((own) => 2 * own.length >= columns.length) ? columns : null
}

/** Null for a value that is too long for a form. */
function shortEditable(value: JsonText, { forms }: Messages): Editable | null {
  const editable = editableOf(value)
  if (editable.text.length > longestEditable) return null
  return editable.type === 'number' ? { ...editable, text: forms.numberText(editable.text) } : editable
}

export const kindViews: Readonly<Record<PropertyKind, KindView>> = { value: valueView, list: listView }

/** The form of a declared value, or of the items of a declared list. Null when no form exists for its schema. */
export function declaredForm(
  { data }: Pick<Registry, 'data'>,
  kind: DataDeclaration['kind'],
  name: string,
): FormShape | null {
  const declaration = data.get(name)
  return declaration?.kind === kind ? formShape(declaration.schema.jsonSchema) : null
}

function editableOf(value: JsonText): Editable {
  const kind = kindOf(value)
  switch (kind) {
    case 'string':
      return { text: stringValue(value) ?? '', type: 'text' }
    case 'number':
    case 'boolean':
      return { text: value, type: kind }
    default:
      return { text: pretty(value), type: 'json' }
  }
}
