/** Determines the right that a route requires, for routes and explanations. */
import type { JsonText } from '../json/json.ts'
import type { Right } from './operation.ts'
import { absent } from '../json/absent.ts'

/**
 * The required right and its path. A right applies to a whole list, but to a value along its path. Removing an item
 * requires `write` on the list.
 *
 * @param holdsItems True when the first segment is the name of a list, or of another kind that holds items.
 */
export function requiredOn<R extends string>(
  holdsItems: boolean,
  right: R,
  path: readonly string[],
): { readonly right: R | 'write'; readonly path: readonly string[] } {
  if (!holdsItems || path.length === 1) return { right, path }
  return { right: right === 'delete' ? 'write' : right, path: path.slice(0, 1) }
}

/** The right for a PUT. The empty string at a name removes the property; below a name it is an ordinary value. */
export function rightToPut(path: readonly string[], value: JsonText): Right {
  return path.length === 1 && value === absent ? 'delete' : 'write'
}
