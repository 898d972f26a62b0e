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

/** The first segments below an actor's address in the URLs that people copy. */
const belowActors: ReadonlySet<string> = new Set([
  'www',
  'meta',
  'properties',
  'trust',
  'subscriptions',
  'callbacks',
  'methods',
  'actions',
  'resources',
  'files',
  'mcp',
])

/**
 * The root address of the actor at a URL that a person copied: without a query, a fragment and the path of a page of the actor.
 * Null: not the address of an actor.
 */
export function copiedAddress(text: string): string | null {
  const copied = text.trim()
  const url = /^[!-~]+$/.test(copied) ? URL.parse(copied) : null
  if (url === null) return null
  const segments = url.pathname.split('/').slice(1)
  const below = segments.findIndex((segment, at) => at > 0 && belowActors.has(segment))
  const path = (below < 0 ? segments : segments.slice(0, below)).join('/')
  url.search = ''
  url.hash = ''
  url.pathname = path
  return parseBaseuri(url.href)
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
