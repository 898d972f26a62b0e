/** Names of peers and apps on pages: the nickname, or the name that they chose, next to the host, which they cannot forge. */
import type { Json } from '../../json/json.ts'
import type { PeerFacts } from '../../replica/peer-metadata.ts'
import { isProgram, type Trust } from '../../trust/trust.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { PeerName } from '../relationships/values.ts'
import type { Messages } from '../languages/language.ts'
import { visible } from './visible.ts'

export interface PeerNameDeps {
  readonly trusts: Trusts
  readonly facts: PeerFacts
  readonly basePath: string
}

export interface Peers {
  /** All relationships, ordered by peer. */
  readonly trusts: readonly Trust[]
  /** Returns the name of a peer, even without a current relationship. */
  readonly nameOf: (peerId: string) => PeerName
  readonly profileOf: (peerId: string) => Json | undefined
}

/** Loads the relationships and profiles of all peers with two statements. */
export async function peersOf(
  { trusts: all, facts, basePath }: PeerNameDeps,
  actorId: string,
  messages: Messages,
): Promise<Peers> {
  const [trusts, profiles] = await Promise.all([all.list(actorId), facts.profiles(actorId)])
  const www = `${basePath}/${actorId}/www`
  const names = new Map(
    trusts.map((trust) => [trust.peerId, peerName(trust, profiles.get(trust.peerId), www, messages)]),
  )
  return {
    trusts,
    nameOf: (peerId) =>
      names.get(peerId) ?? { peerid: peerId, name: visible(peerId), own_name: '', host: '', href: '', is_app: false },
    profileOf: (peerId) => profiles.get(peerId),
  }
}

export function peerName(trust: Trust, profile: Json | undefined, www: string, { connections }: Messages): PeerName {
  const { peerId, baseuri } = trust
  const isApp = isProgram(trust)
  const host = baseuri === '' ? '' : (URL.parse(baseuri)?.host ?? '')
  const nickname = shownText(trust.nickname)
  const ownName = chosenName(trust, profile)
  return {
    peerid: peerId,
    name: nickname || ownName || (host === '' ? visible(peerId) : connections.unnamed(visible(peerId.slice(0, 6)))),
    own_name: nickname === '' ? '' : ownName,
    host,
    href: `${www}/trust/${encodeURIComponent(peerId)}`,
    is_app: isApp,
  }
}

/** The name that the peer chose, or its owner for a key. Empty: none. */
function chosenName(trust: Trust, profile: Json | undefined): string {
  const own = isProgram(trust) ? programName(trust) : (textIn(profile, 'displayname') ?? textIn(profile, 'email'))
  return shownText(own ?? '') || shownText(trust.facts.peer_identifier ?? '')
}

/** A program may describe itself while it uses a key, but its owner named the key. */
function programName({ establishedVia, description, facts }: Trust): string | undefined {
  return establishedVia === 'api_key' ? description : facts.client_name
}

const longestName = 80

/** Returns a string in one line, with every hidden character as its code point. */
export function shownText(text: string): string {
  const line = visible(text).replace(/\s+/g, ' ').trim()
  return line.length > longestName ? `${line.slice(0, longestName).toWellFormed()}…` : line
}

export function textIn(value: Json | undefined, name: string): string | null {
  if (typeof value !== 'object' || value === null) return null
  const found = new Map(Object.entries(value)).get(name)
  return typeof found === 'string' && found !== '' ? found : null
}
