/** Root addresses of actors. */
import { parsedField, type RequestField } from '../json/fields.ts'
import { stringValue } from '../json/json.ts'
import { isReservedId } from '../permission/reserved-ids.ts'

const longest = 2000

/** Names of relationships with clients begin like this. An actor with such a name would be taken for the client. */
const namesOfClients = /^oauth2_[a-z]+:/

/**
 * Normalizes the root address of an actor: one spelling, without a trailing slash. Null: not a valid root address.
 * Every call checks separately whether it may call the address.
 */
export function parseBaseuri(text: string): string | null {
  if (text.length > longest || !/^https?:\/\/[!-~]+$/i.test(text)) return null
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null
  const address = url.href.replace(/(?<!\/)\/+$/, '')
  if (address === url.origin || /[?#]/.test(text)) return null
  const id = idAt(address) ?? ''
  return namesOfClients.test(id) || isReservedId(id) ? null : address
}

export function baseuriField(description: string, expected: string): RequestField<string> {
  return parsedField({ type: 'string', description }, expected, (value) => {
    return parseBaseuri(stringValue(value) ?? '') ?? undefined
  })
}

/** Returns the actor id that is in the address. Null: the id cannot be decoded. */
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
