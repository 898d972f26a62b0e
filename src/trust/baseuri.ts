/** The address of an actor at its service. */
import { parsedField, type RequestField } from '../json/fields.ts'
import { stringValue } from '../json/json.ts'

const longest = 2000

/** So begin the names of relationships with clients: an actor of such a name would be taken for the client. */
const namesOfClients = /^oauth2_[a-z]+:/

/**
 * The one spelling under which an address is kept and compared, without a slash at the end. Null for what cannot be the
 * root of an actor; whether it may be called is judged at every call.
 */
export function parseBaseuri(text: string): string | null {
  if (text.length > longest || !/^https?:\/\/[!-~]+$/i.test(text)) return null
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null
  const address = url.href.replace(/\/+$/, '')
  if (address === url.origin || /[?#]/.test(text)) return null
  return namesOfClients.test(idAt(address) ?? '') ? null : address
}

export function baseuriField(description: string, expected: string): RequestField<string> {
  return parsedField({ type: 'string', description }, expected, (value) => {
    return parseBaseuri(stringValue(value) ?? '') ?? undefined
  })
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
