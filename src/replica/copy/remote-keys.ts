/** Keys of the copied data in the actor's attributes, where test clients look for them. */

export function remoteBucket(peerId: string): string {
  return `remote:${peerId}`
}

export function listMetaKey(list: string): string {
  return `list:${list}:meta`
}

export function listItemKey(list: string, index: number): string {
  return `list:${list}:${index}`
}

/** Returns the property or list of a key. The last segment of a list's key is never part of its name. */
export function nameOfKey(key: string): { readonly name: string; readonly kind: 'value' | 'meta' | 'item' } {
  const match = /^list:(.*):(meta|\d+)$/s.exec(key)
  if (match === null) return { name: key, kind: 'value' }
  return { name: match[1] ?? '', kind: match[2] === 'meta' ? 'meta' : 'item' }
}
