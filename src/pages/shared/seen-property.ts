/** A property as a peer sees it: a value as a tree, or the first items of a list. */
import type { JsonText } from '../../json/json.ts'
import type { Messages } from '../languages/language.ts'
import type { SeenProperty } from '../relationships/values.ts'
import { kindInWords, treeOf } from './value-tree.ts'

/** Number of list items to show. */
export const itemsShown = 5

type Named = Pick<SeenProperty, 'name' | 'may'>

export function seenValue({ name, may }: Named, value: JsonText, messages: Messages): SeenProperty {
  return { name, kind: kindInWords(value, messages), tree: treeOf(value), items: [], more: 0, may }
}

/** @param list `items` may contain only the first items. */
export function seenList(
  { name, may }: Named,
  { length, items }: { readonly length: number; readonly items: readonly JsonText[] },
  { values }: Messages,
): SeenProperty {
  return {
    name,
    kind: values.list(length),
    tree: null,
    items: items.slice(0, itemsShown).map(treeOf),
    more: Math.max(0, length - itemsShown),
    may,
  }
}
