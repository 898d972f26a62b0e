/** The property that holds the name of the owner. */
export const nameProperty = 'displayname'

/** Returns the name. Empty without one; null for a stored value that is not a text. */
export function nameIn(found: { readonly value: string | null } | null): string | null {
  if (found === null) return ''
  const name: unknown = found.value === null ? null : JSON.parse(found.value)
  return typeof name === 'string' ? name : null
}
