/** The right that a route asks for. Routes and explanations both take it from here. */
import type { JsonText } from '../json/json.ts'
import type { Right } from './operation.ts'
import { absent } from '../json/absent.ts'

/**
 * Rights are granted on a list as a whole and on a value along its path. Removing an item writes the list.
 *
 * @param holdsItems Whether the first segment is the name of a list, or of another kind that holds items.
 */
export function requiredOn<R extends string>(
  holdsItems: boolean,
  right: R,
  path: readonly string[],
): { readonly right: R | 'write'; readonly path: readonly string[] } {
  if (!holdsItems || path.length === 1) return { right, path }
  return { right: right === 'delete' ? 'write' : right, path: path.slice(0, 1) }
}

/** Writing the empty text at a name removes the property; below a name it is a value like any other. */
export function rightToPut(path: readonly string[], value: JsonText): Right {
  return path.length === 1 && value === absent ? 'delete' : 'write'
}
