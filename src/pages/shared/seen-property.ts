/** A property as somebody else sees it: a value as a tree, the first items of a list. */
import type { JsonText } from '../../json/json.ts'
import type { SeenProperty } from '../relationships/values.ts'
import { kindInWords, treeOf } from './value-tree.ts'
import { count } from './plural.ts'

/** Of a list. */
export const itemsShown = 5

export function seenValue(name: string, value: JsonText, may: readonly string[]): SeenProperty {
  return { name, kind: kindInWords(value), tree: treeOf(value), items: [], more: 0, may }
}

/** @param length of the list, of which `items` may be the first ones. */
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
