/** A property as a peer sees it: a value as a tree, or the first items of a list. */
import type { JsonText } from '../../json/json.ts'
import type { SeenProperty } from '../relationships/values.ts'
import { kindInWords, treeOf } from './value-tree.ts'
import { count } from './plural.ts'

/** Number of list items to show. */
export const itemsShown = 5

export function seenValue(name: string, value: JsonText, may: readonly string[]): SeenProperty {
  return { name, kind: kindInWords(value), tree: treeOf(value), items: [], more: 0, may }
}

/** @param length Length of the list; `items` may contain only its first items. */
export function seenList(
  name: string,
  { length, items }: { readonly length: number; readonly items: readonly JsonText[] },
  may: readonly string[],
): SeenProperty {
  return {
    name,
    kind: `List with ${count(length, 'item')}`,
    tree: null,
    items: items.slice(0, itemsShown).map(treeOf),
    more: Math.max(0, length - itemsShown),
    may,
  }
}
