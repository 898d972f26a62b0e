/** Names of relationships. */

/** Words that mean somebody else: a relationship of that name would borrow their rights. */
const reserved: ReadonlySet<string> = new Set(['creator', 'trustee', 'owner', 'any', 'anyone'])

const longest = 100

/** Any other name is accepted; what nobody declared carries no rights until the owner grants them. */
export function parseRelationship(text: string): string | null {
  const name = text.normalize('NFC')
  if (name === '' || name.length > longest || name !== name.trim() || name === '.' || name === '..') return null
  if (/[\p{Cc}/]/u.test(name) || !name.isWellFormed()) return null
  return reserved.has(name.normalize('NFKC').toLowerCase()) ? null : name
}
