/** Ids that no actor and no peer may have. */

/** Words for kinds of callers and for persons. A peer with such an id could be taken for them. */
const words: ReadonlySet<string> = new Set([
  'admin',
  'anonymous',
  'any',
  'anyone',
  'application',
  'client',
  'creator',
  'everyone',
  'me',
  'myself',
  'operator',
  'owner',
  'peer',
  'system',
  'trustee',
  'you',
])

/** Names that every JavaScript object inherits, such as `constructor`. */
const inherited: ReadonlySet<string> = new Set(
  [...Object.getOwnPropertyNames(Object.prototype), 'prototype'].map((name) => name.toLowerCase()),
)

export function isReservedId(id: string): boolean {
  const folded = id.normalize('NFKC').trim().toLowerCase()
  return words.has(folded) || inherited.has(folded)
}

export function isPeerId(text: string): boolean {
  return text.length > 0 && text.length <= 255 && !/[\p{Cc}/]/u.test(text) && text.isWellFormed() && !isReservedId(text)
}
