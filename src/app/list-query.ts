/** The types of queries of lists. */
import type { Json } from '../json/json.ts'
import type { ItemField } from './data-declarations.ts'

/** The value that each field must have, a string, a number, a boolean or null, or operators. */
export type ListWhere<Item = Json> = {
  readonly [Field in ItemField<Item>]?: FieldValue<Item, Field> | FieldComparison<FieldValue<Item, Field>>
}

/** Operators that a value of a field is compared with: one range, or the values of `in`. */
export interface FieldComparison<Value> {
  readonly gt?: Extract<Value, string | number>
  readonly gte?: Extract<Value, string | number>
  readonly lt?: Extract<Value, string | number>
  readonly lte?: Extract<Value, string | number>
  readonly startsWith?: Extract<Value, string>
  /** One of these values, at most 100. */
  readonly in?: readonly Value[]
}

type FieldValue<Item, Field extends string> = Item extends { readonly [name in Field]?: infer Value }
  ? Extract<Value, string | number | boolean | null>
  : never

/** A query of a list: the wanted items, their order and their number. @public */
export interface ListQuery<Item = Json> {
  readonly where?: ListWhere<Item>
  /**
   * A field; `-due` for a descending order. Default: the order in which the items were added if a field must have one value, or
   * if `where` is absent. Otherwise the order of the first field of `where`.
   */
  readonly sort?: ItemField<Item> | `-${ItemField<Item>}`
  /** The most items of the page, from 1 to 1000. Default: 1000. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string | null
}

/** A page of the items that a query finds. @public */
export interface ListQueryPage<Item = Json> {
  readonly items: readonly QueriedItem<Item>[]
  /** For `after` of the next page. Null on the last page. */
  readonly next: string | null
}

/** An item that a query finds. @public */
export interface QueriedItem<Item = Json> {
  readonly item: Item
  /** For `updateByHandle` and `deleteByHandle`. */
  readonly handle: string
}
