/** The address of an actor at its service. */

const longest = 2000

/**
 * The one spelling under which an address is kept and compared, without a slash at the end. Null for what cannot be the
 * root of an actor; whether it may be called is judged at every call.
 */
export function parseBaseuri(text: string): string | null {
  if (text.length > longest || !/^https?:\/\/[!-~]+$/i.test(text)) return null
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null
  const address = url.href.replace(/\/+$/, '')
  return address === url.origin || /[?#]/.test(text) ? null : address
}

/** The actor's id as its address names it; null when it cannot be read. */
export function idAt(baseuri: string): string | null {
  try {
    return decodeURIComponent(baseuri.slice(baseuri.lastIndexOf('/') + 1))
  } catch {
    return null
  }
}

export function trustUrl(root: string, relationship: string, peerId?: string): string {
  const path = `${root}/trust/${encodeURIComponent(relationship)}`
  return peerId === undefined ? path : `${path}/${encodeURIComponent(peerId)}`
}
