/** The paths of values. */
/**
 * The name of a property, or a path below it: `budget/limit`, or `['budget', 'limit']` when a key contains a slash. Below a list,
 * the path is the index of an item.
 */
export type PropertyPath = string | readonly [string, ...string[]]
