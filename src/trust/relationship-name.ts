/** Names of relationships. */

/** Words for other kinds of callers. A relationship with such a name could be mistaken for them and get their rights. */
const reserved: ReadonlySet<string> = new Set(['creator', 'trustee', 'owner', 'any', 'anyone'])

const longest = 100

/** Normalizes the name. Null: not allowed. A name that no trust type declares has no rights until the owner grants them. */
export function parseRelationship(text: string): string | null {
  const name = text.normalize('NFC')
  if (name === '' || name.length > longest || name !== name.trim() || name === '.' || name === '..') return null
  if (/[\p{Cc}/]/u.test(name) || !name.isWellFormed()) return null
  return reserved.has(name.normalize('NFKC').toLowerCase()) ? null : name
}
