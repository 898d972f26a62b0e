/** What the pages of properties are made from. */
import type { Json } from '../../json/json.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues } from '../shared/values.ts'

/** Which part of something long a page shows. */
export interface Paging {
  /** From 1. */
  readonly page: number
  readonly pages: number
  /** Of the whole. */
  readonly total: number
}

export interface PropertyRow {
  readonly name: string
  readonly href: string
  /** In words: `Text`, `Object with 3 parts`, `List of 12`. */
  readonly kind: string
  /** One line; empty for a list. */
  readonly preview: string
  readonly is_list_property: boolean
  readonly is_read_only: boolean
}

export interface PropertiesValues extends ActorPageValues {
  /** By name: the value, or for a list how long it is, in words. Of this page, as the other members. */
  readonly properties: Readonly<Record<string, Json>>
  readonly read_only_properties: readonly string[]
  readonly list_properties: readonly string[]
  readonly rows: readonly PropertyRow[]
  readonly paging: Paging
  /** What was typed into the form that was refused; null when none was. */
  readonly typed: TypedProperty | null
  /** The property whose name was typed for a new one; null unless the form was refused for that. */
  readonly existing: ExistingProperty | null
}

export interface ExistingProperty {
  readonly name: string
  readonly href: string
  /** In words, as in `PropertyRow`. */
  readonly kind: string
  /** Null for a list. */
  readonly tree: ValueTree | null
  /** Goes into the form that saves over it, as `version`. */
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
  /** Names the item as it was when the page was made: changing it by this changes nothing else. */
  readonly handle: string
  readonly tree: ValueTree
  readonly editable: Editable
}

/** A value as it stands in a field for editing. */
export interface Editable {
  readonly text: string
  readonly type: 'text' | 'json'
}

export interface PropertyValues extends ActorPageValues {
  readonly property: string
  /** As a person reads it: a text bare, anything else as JSON; of a list how long it is. */
  readonly value: string
  readonly raw_value: Json
  /** `a` found, `n` missing. */
  readonly qual: 'a' | 'n'
  /** In words, as in `PropertyRow`. */
  readonly kind: string
  readonly is_read_only: boolean
  readonly is_list_property: boolean
  readonly list_description: string
  readonly list_explanation: string
  /** The items of this page of the list, plain. */
  readonly list_items: readonly Json[]
  readonly items: readonly ListItemValues[]
  readonly paging: Paging
  /** Null of a list. */
  readonly tree: ValueTree | null
  /** Null of a list, and of what is too long for a form. */
  readonly editable: Editable | null
  /** Address of the property's forms: items and metadata lie below it. */
  readonly form_action: string
  /** What was typed into the form that was refused; null when none was. */
  readonly typed: TypedItem | null
  /** Goes into the forms as `version`: a value or list that changed since then is not overwritten or deleted. */
  readonly version: string
  /** Goes into the form for the texts of a list, as `version`. */
  readonly texts_version: string
  /** What was stored meanwhile in the place that the refused form was made from; null without a conflict. */
  readonly conflict: EditConflict | null
}

export interface EditConflict {
  /** What the form was about: the value, one item, the texts of the list, or the deletion of all of it. */
  readonly about: 'value' | 'item' | 'texts' | 'deletion'
  readonly is_gone: boolean
  /** Stored now; null where it is gone, or is no value. */
  readonly tree: ValueTree | null
  /** Position of the item now. */
  readonly index: number
  /** Goes into the form that saves or deletes in spite of the change, as `item_handle`. */
  readonly handle: string
  /** False where what was typed has no place any more: a list has the name of a value now, or a value that of a list. */
  readonly can_save: boolean
}

export interface TypedItem {
  /** Of which form: the value, or what to do with an item or with the texts of the list. */
  readonly form: 'value' | 'add' | 'update' | 'delete' | 'metadata' | 'remove'
  readonly item_index: string
  readonly item_handle: string
  readonly value: string
  readonly value_type: string
  readonly description: string
  readonly explanation: string
}
