/** What peers are told when a relationship, or the whole actor, ends here. */
import type { Notice } from '../delivery/notice.ts'
import type { Queries } from '../store/store.ts'
import { trustUrl } from './baseuri.ts'
import { findTrustsOfActors } from './trust-store.ts'
import type { Trust } from './trust.ts'

export function deletionNotice(trust: Trust): Notice {
  const { actorId, peerId, baseuri, secret, relationship } = trust
  return {
    kind: 'trust_deleted',
    actorId,
    peerId,
    method: 'DELETE',
    url: trustUrl(baseuri, relationship, actorId),
    baseuri,
    secret,
    body: null,
  }
}

/** A client of the OAuth server is no actor that could be told. */
export function isTold({ establishedVia, baseuri }: Pick<Trust, 'establishedVia' | 'baseuri'>): boolean {
  return baseuri !== '' && (establishedVia === 'trust' || establishedVia === 'trustee')
}

/** One notice for every peer of these actors. */
export async function partings(q: Queries, actorIds: readonly string[]): Promise<Notice[]> {
  if (actorIds.length === 0) return []
  return (await findTrustsOfActors(q, actorIds)).filter(isTold).map(deletionNotice)
}
