/** What peers are told of a relationship: that it was approved here, and that it, or the whole actor, ends. */
import { findNotice } from '../outbox/notice-store.ts'
import { type Notice, noticeTo } from '../outbox/notice.ts'
import { openNoticeSecret } from '../outbox/notices.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open, seal } from '../secret/sealed.ts'
import { bindingOf, companionPassphrase, trustSecret } from '../secret/sealed-columns.ts'
import type { Queries } from '../store/store.ts'
import { type Companion, findCompanionsOf } from './companion-store.ts'
import { sealedSecret } from './new-trust.ts'
import { findTrustsOfActors } from './trust-store.ts'
import { isRenewal, type Trust } from './trust.ts'

/** That the owner approved. */
export function approvalNotice(trust: Trust): Notice {
  return noticeTo(trust, 'approval', 'POST', ['trust', trust.relationship, trust.actorId], { approved: true })
}

type Told = Pick<Trust, 'actorId' | 'peerId' | 'baseuri' | 'relationship' | 'secret'>

function deletionNotice(trust: Told): Notice {
  return noticeTo(trust, 'trust_deleted', 'DELETE', ['trust', trust.relationship, trust.actorId])
}

/** That a request is not meant any more, whenever it arrives. */
export function withdrawalNotice(trust: Told): Notice {
  return { ...deletionNotice(trust), kind: 'withdrawal' }
}

/** False for a client of the OAuth server, which is not an actor. */
export function receivesNotices({ establishedVia, baseuri }: Pick<Trust, 'establishedVia' | 'baseuri'>): boolean {
  return baseuri !== '' && (establishedVia === 'trust' || establishedVia === 'trustee')
}

/** One notice for every peer of these actors, and one for each of their companions, which are deleted too. */
export async function deletionNoticesOfActors(
  q: Queries,
  ring: KeyRing,
  actorIds: readonly string[],
): Promise<Notice[]> {
  if (actorIds.length === 0) return []
  const companions = await findCompanionsOf(q, actorIds)
  const looked = new Set(companions.map(({ actorId, peerId }) => `${actorId} ${peerId}`))
  const trusts = await findTrustsOfActors(q, actorIds)
  return [
    ...companions.map((companion) => companionDeletionNotice(ring, companion)),
    ...(await deletionNotices(
      q,
      ring,
      trusts.filter((trust) => receivesNotices(trust) && !looked.has(`${trust.actorId} ${trust.peerId}`)),
    )),
  ]
}

/** One for each relationship; two where it is not known which of two secrets the peer has. */
export async function deletionNotices(q: Queries, ring: KeyRing, trusts: readonly Trust[]): Promise<Notice[]> {
  const notices: Notice[] = []
  for (const trust of trusts) {
    // Of what nobody answered it is not known whether it arrived.
    notices.push(isUnanswered(trust) ? withdrawalNotice(trust) : deletionNotice(trust))
    const offer = isRenewal(trust) ? await findNotice(q, trust, 'renewal') : null
    if (offer === null) continue
    const { url, baseuri } = offer
    const secret = sealedSecret(ring, trust, openNoticeSecret(ring, offer.id, offer.secret)).secret
    notices.push({ ...withdrawalNotice({ ...trust, secret }), url, baseuri })
  }
  return notices
}

function isUnanswered({ ownRequest, peerApproved }: Trust): boolean {
  return ownRequest !== null && ownRequest.nextSecretHash === null && !peerApproved
}

/** Deletes the companion: its passphrase, as a bearer, is the trustee's. */
function companionDeletionNotice(ring: KeyRing, { actorId, kind, peerId, baseuri, passphrase }: Companion): Notice {
  const clear = open(ring, passphrase, bindingOf(companionPassphrase, actorId, kind))
  return {
    kind: 'trust_deleted',
    actorId,
    peerId,
    method: 'DELETE',
    url: baseuri,
    baseuri,
    secret: seal(ring, clear, bindingOf(trustSecret, actorId, peerId)),
    body: null,
  }
}
