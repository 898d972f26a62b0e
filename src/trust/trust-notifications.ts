/** Notices to peers about a relationship: its approval, and its end or the deletion of the actor. */
import { findNotice } from '../outbox/notice-store.ts'
import { type Notice, noticeTo } from '../outbox/notice.ts'
import { openNoticeSecret } from '../outbox/notices.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { isKeyMissing, open, seal } from '../secret/sealed.ts'
import { bindingOf, companionPassphrase, trustSecret } from '../secret/sealed-columns.ts'
import type { Queries } from '../store/store.ts'
import { type Companion, findCompanionsOf } from './companion-store.ts'
import { sealedSecret } from './new-trust.ts'
import { findTrustsOfActors } from './trust-store.ts'
import { isRenewal, type Trust } from './trust.ts'

/** Reports that the owner approved. */
export function approvalNotice(trust: Trust): Notice {
  return noticeTo(trust, 'approval', 'POST', ['trust', trust.relationship, trust.actorId], { approved: true })
}

type Recipient = Pick<Trust, 'actorId' | 'peerId' | 'baseuri' | 'relationship' | 'secret'>

function deletionNotice(trust: Recipient): Notice {
  return noticeTo(trust, 'trust_deleted', 'DELETE', ['trust', trust.relationship, trust.actorId])
}

/** Withdraws a request, whether it arrives before or after this notice. */
export function withdrawalNotice(trust: Recipient): Notice {
  return { ...deletionNotice(trust), kind: 'withdrawal' }
}

/** False: the peer is a client of the OAuth server and not an actor. */
export function receivesNotices({ establishedVia, baseuri }: Pick<Trust, 'establishedVia' | 'baseuri'>): boolean {
  return baseuri !== '' && (establishedVia === 'trust' || establishedVia === 'trustee')
}

/** Builds one notice for every peer of these actors, and one for each of their companions, which are deleted too. */
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
    ...companions.flatMap((companion) => companionDeletionNotice(ring, companion)),
    ...(await deletionNotices(
      q,
      ring,
      trusts.filter((trust) => receivesNotices(trust) && !looked.has(`${trust.actorId} ${trust.peerId}`)),
    )),
  ]
}

/** Builds one notice for each relationship, and a second one when the peer may have either of two secrets. */
export async function deletionNotices(q: Queries, ring: KeyRing, trusts: readonly Trust[]): Promise<Notice[]> {
  const notices: Notice[] = []
  for (const trust of trusts) {
    // A request without a response may still arrive, so it is withdrawn.
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

/** Deletes the companion. Its passphrase as a bearer token authenticates the trustee. */
function companionDeletionNotice(ring: KeyRing, { actorId, kind, peerId, baseuri, passphrase }: Companion): Notice[] {
  let clear: string
  try {
    clear = open(ring, passphrase, bindingOf(companionPassphrase, actorId, kind))
  } catch (error) {
    // The companion cannot be reached any longer.
    if (isKeyMissing(error)) return []
    throw error
  }
  const notice: Notice = {
    kind: 'trust_deleted',
    actorId,
    peerId,
    method: 'DELETE',
    url: baseuri,
    baseuri,
    secret: seal(ring, clear, bindingOf(trustSecret, actorId, peerId)),
    body: null,
  }
  return [notice]
}
