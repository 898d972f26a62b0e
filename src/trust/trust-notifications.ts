/** Notices to peers about a relationship: its approval, and its end or the deletion of the actor. */
import { findNotice, findOfferedSecret } from '../outbox/notice-store.ts'
import { type Notice, noticeTo } from '../outbox/notice.ts'
import { openNoticeSecret } from '../outbox/notices.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { isKeyMissing, open, seal, type Sealed } from '../secret/sealed.ts'
import { arrivalPeerSecret, bindingOf, companionPassphrase, trustSecret } from '../secret/sealed-columns.ts'
import type { Queries } from '../store/store.ts'
import { type Companion, findCompanionsOf } from './companion-store.ts'
import { sealedSecret } from './new-trust.ts'
import { secretOf } from './record.ts'
import { findTrustPage, trustsOfPage } from './trust-store.ts'
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

/** Builds one notice for every peer of these actors, in parts, and one for each of their companions, which are deleted too. */
export async function* deletionNoticesOfActors(
  q: Queries,
  ring: KeyRing,
  actorIds: readonly string[],
): AsyncGenerator<readonly Notice[]> {
  if (actorIds.length === 0) return
  const companions = await findCompanionsOf(q, actorIds)
  const looked = new Set(companions.map(({ actorId, peerId }) => `${actorId} ${peerId}`))
  yield companions.flatMap((companion) => companionDeletionNotice(ring, companion))
  for (const actorId of actorIds)
    for (let after = ''; ; ) {
      const page = await findTrustPage(q, actorId, {}, after)
      yield await deletionNotices(
        q,
        ring,
        page.filter((trust) => receivesNotices(trust) && !looked.has(`${trust.actorId} ${trust.peerId}`)),
      )
      const last = page.at(-1)
      if (last === undefined || page.length < trustsOfPage) break
      after = last.peerId
    }
}

/** Builds one notice for each relationship, and a second one when the peer may have either of two secrets. */
export async function deletionNotices(q: Queries, ring: KeyRing, trusts: readonly Trust[]): Promise<Notice[]> {
  const notices: Notice[] = []
  for (const trust of trusts) {
    // A request without a response may still arrive, so it is withdrawn.
    notices.push(isUnanswered(trust) ? withdrawalNotice(trust) : deletionNotice(trust))
    const stated = await statedSecret(q, ring, trust)
    // Sent after the first one, whose refusal shows that the peer has this secret.
    if (stated !== null) notices.push(deletionNotice({ ...trust, secret: stated }))
    const offer = isRenewal(trust) ? await findNotice(q, trust, 'renewal') : null
    if (offer === null) continue
    const { url, baseuri } = offer
    const secret = sealedSecret(ring, trust, openNoticeSecret(ring, offer.id, offer.secret)).secret
    notices.push({ ...withdrawalNotice({ ...trust, secret }), url, baseuri })
  }
  return notices
}

/** The secret that the statement of a moved actor brings, while its peer may have this or the former one. Null: the peer has one. */
async function statedSecret(q: Queries, ring: KeyRing, trust: Trust): Promise<Sealed | null> {
  const { actorId, peerId, secretHash } = trust
  try {
    if (hashSecret(secretOf(ring, trust)) === secretHash) return null
    const offered = await findOfferedSecret(q, trust)
    const secret = offered === null ? '' : open(ring, offered, bindingOf(arrivalPeerSecret, actorId, peerId))
    return hashSecret(secret) === secretHash ? sealedSecret(ring, trust, secret).secret : null
  } catch (error) {
    // The peer cannot be reached any longer.
    if (isKeyMissing(error)) return null
    throw error
  }
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
