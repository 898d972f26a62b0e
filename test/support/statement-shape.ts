/** Gives statements that differ only in the number of their values the same text. */

/** Returns the statement in one line, with one form for all parameters and for lists of any length. */
export function shapeOf(sql: string): string {
  return sql
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/\$\d+/g, '$')
    .replaceAll(/\$(?:, \$)+/g, '$, …')
    .replaceAll(/(\(\$(?:, …)?\))(?:, \(\$(?:, …)?\))+/g, '$1, …')
}
