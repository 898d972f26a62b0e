/** Names of peers and apps on pages: the nickname, or the name that they chose, next to the host, which they cannot forge. */
import type { AuditLogEntry } from '../../audit-log/entry.ts'
import type { Json } from '../../json/json.ts'
import type { PeerFacts } from '../../replica/peer-metadata.ts'
import { claimedNameOf, ownNameOf } from '../../trust/names/own-name.ts'
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
}

/** Loads the relationships and the short profiles of all peers, page by page. */
export async function peersOf(
  { trusts: all, facts, basePath }: PeerNameDeps,
  actorId: string,
  messages: Messages,
): Promise<Peers> {
  const [trusts, profiles] = await Promise.all([all.list(actorId), facts.profiles(actorId)])
  const www = `${basePath}/${actorId}/www`
  const byPeer = new Map(trusts.map((trust) => [trust.peerId, trust]))
  return {
    trusts,
    // A page shows few of the names.
    nameOf: (peerId) => {
      const trust = byPeer.get(peerId)
      if (trust !== undefined) return peerName(trust, profiles.get(peerId), www, messages)
      return {
        peerid: peerId,
        name: visible(peerId),
        own_name: '',
        claimed_name: '',
        host: '',
        href: '',
        is_app: false,
      }
    },
  }
}

/** The caller of an entry with the owner's nickname, else with the own name that it had then. */
export function peerAtThatTime(
  peers: Peers,
  { caller, callerName }: Pick<AuditLogEntry, 'caller' | 'callerName'>,
): PeerName {
  const peer = peers.nameOf(caller)
  const name = shownText(callerName)
  return name === '' || peer.own_name !== '' ? peer : { ...peer, name }
}

export function peerName(trust: Trust, profile: Json | undefined, www: string, { connections }: Messages): PeerName {
  const { peerId, baseuri } = trust
  const isApp = isProgram(trust)
  const host = baseuri === '' ? visible(trust.facts.client_host ?? '') : (URL.parse(baseuri)?.host ?? '')
  const nickname = shownText(trust.nickname)
  const ownName = shownText(ownNameOf(trust, profile))
  const unnamed = isApp ? host || visible(peerId) : connections.unnamed(visible(peerId.slice(0, 6)))
  return {
    peerid: peerId,
    name: nickname || ownName || (host === '' ? visible(peerId) : unnamed),
    own_name: nickname === '' ? '' : ownName,
    claimed_name: shownText(claimedNameOf(trust)),
    host,
    href: `${www}/trust/${encodeURIComponent(peerId)}`,
    is_app: isApp,
  }
}

const longestName = 80

/** Returns a string in one line, with every hidden character as its code point. */
export function shownText(text: string): string {
  const line = visible(text).replace(/\s+/g, ' ').trim()
  return line.length > longestName ? `${line.slice(0, longestName).toWellFormed()}…` : line
}
