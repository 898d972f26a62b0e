/** Values of the pages of properties. */
import type { Json } from '../../json/json.ts'
import type { ListingColumn, ListingFilter } from '../listing/choices.ts'
import type { FieldAttributes } from '../shared/form-field.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues } from '../shared/values.ts'

/** The part of a long list that a page shows. */
export interface Paging {
  /** Page number, counted from 1. */
  readonly page: number
  readonly pages: number
  /** Total number of entries. */
  readonly total: number
}

export type PropertyType = 'text' | 'number' | 'boolean' | 'object' | 'array' | 'list'

export interface PropertyRow {
  readonly name: string
  readonly href: string
  readonly type: PropertyType
  /** Type in words: `Text`, `Object · 3 fields`, `List · 12 items`. */
  readonly kind: string
  /** Who can view the property or a part of it now, in words. */
  readonly visible_to: string
  /** True when only the owner can view it. */
  readonly is_private: boolean
  /** One line of the value; empty for a list. */
  readonly preview: string
  readonly is_list_property: boolean
  readonly is_read_only: boolean
}

/** A declared value that is not set. */
export interface UnsetProperty {
  readonly name: string
  readonly href: string
  /** The declared description; empty without one. */
  readonly description: string
}

export interface PropertiesValues extends ActorPageValues {
  /** The properties on this page by name: the value, or for a list its length in words. */
  readonly properties: Readonly<Record<string, Json>>
  readonly read_only_properties: readonly string[]
  readonly list_properties: readonly string[]
  readonly rows: readonly PropertyRow[]
  /** The declared values that are not set. */
  readonly unset: readonly UnsetProperty[]
  readonly paging: Paging
  /** Path of this page with its search, type and order, without the page number. */
  readonly address: string
  /** The text that the names or values contain; empty without a search. */
  readonly search: string
  /** Number of all properties. `paging.total` is the number of those that fit the search and the type. */
  readonly property_count: number
  readonly types: readonly ListingFilter[]
  readonly columns: readonly ListingColumn<'name' | 'type'>[]
  /** The input of the refused form; null when no form was refused. */
  readonly typed: TypedProperty | null
  /** The existing property that has the name typed for a new one; null unless the form was refused for that. */
  readonly existing: ExistingProperty | null
}

/** Properties to delete, which the owner confirms. */
export interface SelectionValues extends ActorPageValues {
  readonly names: readonly string[]
  readonly form_action: string
  /** For how many days the deletion can be undone. 0: it cannot. */
  readonly undo_days: number
}

export interface ExistingProperty {
  readonly name: string
  readonly href: string
  /** In words, as in `PropertyRow`. */
  readonly kind: string
  /** Null for a list. */
  readonly tree: ValueTree | null
  /** Form field `version` of the form that overwrites the property. */
  readonly version: string
}

export interface TypedProperty {
  readonly property_name: string
  readonly property_value: string
  readonly property_type: string
  readonly value_type: string
  readonly description: string
  readonly explanation: string
}

export interface ListItemValues {
  readonly index: number
  /** Identifies the version of the item that the page shows, so that a form changes exactly this version. */
  readonly handle: string
  readonly tree: ValueTree
  /** The form that the page shows for the item. At most one item has one. */
  readonly form: 'edit' | 'remove' | null
  /** Null unless the form that edits the item is open, and for an item that is too long for a form. */
  readonly editable: Editable | null
  /** The open form for declared items; null without one. */
  readonly fields: FilledField | null
}

/** A field of a form for declared data, or a group of fields. */
export interface FilledField {
  /** Name of the form field. */
  readonly name: string
  /** `boolean` is a checkbox that sends `true`; `lines` has one element on each line. */
  readonly kind: 'text' | 'number' | 'date' | 'date_time' | 'boolean' | 'choice' | 'lines' | 'group'
  /** Empty when the field is the entire form and its schema has no title. */
  readonly label: string
  readonly hint: string
  readonly value: string
  /** True when the member may be missing or null. */
  readonly may_be_empty: boolean
  /** Attributes of the input, such as `type`, `min` and `required`. */
  readonly attributes: FieldAttributes
  /** Number of lines; null for a field of one line. */
  readonly rows: number | null
  /** Each value is JSON. */
  readonly choices: readonly { readonly label: string; readonly value: string }[]
  readonly members: readonly FilledField[]
}

/** A value in a form field. */
export interface Editable {
  readonly text: string
  readonly type: 'text' | 'number' | 'boolean' | 'json'
}

/** A person or app that can view a property. */
export interface PropertyViewer {
  readonly peer: {
    readonly peerid: string
    readonly name: string
    /** The page of the relationship. */
    readonly href: string
    readonly is_app: boolean
  }
  /** Whether they can also change the property, a part of it, or add to it. */
  readonly can_edit: boolean
}

export interface PropertyValues extends ActorPageValues {
  readonly property: string
  /** The people and apps that can view the property now, at most 100, by name. Null: the owner did not ask. */
  readonly viewers: readonly PropertyViewer[] | null
  /** Number of viewers that `viewers` leaves out. */
  readonly other_viewers: number
  /** The value for people: a string without quotes, other values as JSON, a list as its length. */
  readonly value: string
  readonly raw_value: Json
  /** The declared description; empty without one. */
  readonly description: string
  /** `a` found, `n` missing: deleted meanwhile, or a declared value that is not set. */
  readonly qual: 'a' | 'n'
  /** In words, as in `PropertyRow`. */
  readonly kind: string
  readonly is_read_only: boolean
  readonly is_list_property: boolean
  readonly list_description: string
  readonly list_explanation: string
  /** The items on this page of the list, as plain JSON. */
  readonly list_items: readonly Json[]
  readonly items: readonly ListItemValues[]
  /** The keys that the items on this page share, for a table; null when they are not objects with common keys. */
  readonly columns: readonly string[] | null
  readonly paging: Paging
  /** Null for a list. */
  readonly tree: ValueTree | null
  /** Null for a list, and for a value that is too long for a form. */
  readonly editable: Editable | null
  /** The form for a declared value; null for a list, and when the value cannot be edited in a form. */
  readonly fields: FilledField | null
  /** The form for a new item of a declared list; null without one. */
  readonly new_fields: FilledField | null
  /** URL of the property's forms; the URLs of items and metadata are below it. */
  readonly form_action: string
  /** The input of the refused form; null when no form was refused. */
  readonly typed: TypedItem | null
  /** Form field `version`, which prevents a form from overwriting or deleting a newer value or list. */
  readonly version: string
  /** Form field `version` of the form for the description and explanation of a list. */
  readonly texts_version: string
  /** The newer content in the place that the refused form edited; null without a conflict. */
  readonly conflict: EditConflict | null
  /** For how many days its deletion can be undone. 0: it cannot. */
  readonly undo_days: number
}

export interface EditConflict {
  /** Subject of the form: the value, one item, the description and explanation of the list, or the deletion of everything. */
  readonly about: 'value' | 'item' | 'texts' | 'deletion'
  readonly is_gone: boolean
  /** The value that is stored now; null when it was deleted or is not a value. */
  readonly tree: ValueTree | null
  /** Current position of the item. */
  readonly index: number
  /** Form field `item_handle` of the form that saves or deletes in spite of the change. */
  readonly handle: string
  /** False when the typed value can no longer be saved: a list now has the name of the value, or a value that of the list. */
  readonly can_save: boolean
}

export interface TypedItem {
  /** The form that was sent. */
  readonly form: 'value' | 'add' | 'add_several' | 'update' | 'move' | 'delete' | 'metadata' | 'remove'
  readonly item_index: string
  readonly item_handle: string
  /** The new position of the item, counted from 1. */
  readonly position: string
  /** In a form of declared data, the JSON of its fields. Empty if they could not be read. */
  readonly value: string
  /** `text`, `number`, `boolean`, `json`, `lines` for several items, or `fields` for a form of declared data. */
  readonly value_type: string
  /** The fields of a form of declared data, by name. */
  readonly fields: Readonly<Record<string, string>>
  readonly description: string
  readonly explanation: string
}
