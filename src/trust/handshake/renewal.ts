/**
 * Renewal of a secret whose response did not arrive. This actor keeps asking until it knows whether the peer has the
 * new secret. Both secrets are valid here until then.
 */
import { deleteNotices, findNotice, hurryNotices } from '../../outbox/notice-store.ts'
import { isRefusal } from '../../outbox/policy.ts'
import type { PeerOutcome } from '../../peer/peer-client.ts'
import { hashSecret, type SecretHash } from '../../secret/hash.ts'
import { randomPassphrase } from '../../secret/random.ts'
import type { Queries, Transaction } from '../../store/store.ts'
import { fireIfCompleted, fireTrust } from '../events.ts'
import { atAddress, sealedSecret, sealedToken } from '../new-trust.ts'
import { approvalNotice } from '../trust-notifications.ts'
import type { PeerAddress } from './peer-calls.ts'
import { isAccepted } from '../../peer/ingress.ts'
import type { Self, TrustDeps } from '../trust-deps.ts'
import { findTrust, updateTrust } from '../trust-store.ts'
import { isRenewal, type OwnRequest, type Trust } from '../trust.ts'

const kind = 'renewal'

/** The next step when the peer does not accept the offered secret. */
export type OfferVerdict =
  /** The request may still be under way, or the peer may still be verifying it. */
  | 'wait'
  /** From now on, this actor no longer confirms the request when the peer verifies it. */
  | 'close'
  /** The peer does not have the secret, and will not accept it. */
  | 'drop'

/**
 * Decides the next step after the peer refused the offered secret.
 *
 * @param now Unix milliseconds, taken before the call to the peer.
 * @param closingMs Time for a verified request to take effect at the peer, and for the call to the peer.
 */
export function judgeOffer(
  { until, closedAt }: Pick<OwnRequest, 'until' | 'closedAt'>,
  now: number,
  closingMs: number,
): OfferVerdict {
  if (now < until) return 'wait'
  if (closedAt === undefined) return 'close'
  return now - closedAt < closingMs ? 'wait' : 'drop'
}

/**
 * Queues the renewal notice in the transaction that begins the renewal, so that the peer is asked even after a crash.
 * Other notices to the peer wait until it is known which secret the peer has.
 */
export async function remember(
  deps: Pick<TrustDeps, 'enqueue' | 'keyRing'>,
  tx: Transaction,
  trust: Trust,
  offer: { readonly baseuri: string; readonly relationship: string; readonly secret: string; readonly until: number },
): Promise<void> {
  const { baseuri, relationship, until } = offer
  const { secret } = sealedSecret(deps.keyRing, trust, offer.secret)
  await deleteNotices(tx, trust, kind)
  await deps.enqueue(tx, [{ ...approvalNotice({ ...trust, baseuri, relationship, secret }), kind, dueAt: until }])
}

/** Whether the outcome of an earlier renewal is still unknown. */
export async function isOpen(q: Queries, trust: Trust): Promise<boolean> {
  return isRenewal(trust) && (await findNotice(q, trust, kind)) !== null
}

type Waking = Pick<TrustDeps, 'now' | 'wakeDelivery'>

/** Asks the peer at once, because the response to the renewal did not arrive. */
export async function askNow(deps: Waking, tx: Transaction, trust: Trust): Promise<void> {
  await hurryNotices(tx, trust, kind, deps.now())
  deps.wakeDelivery(tx, trust.actorId)
}

/** Ends the renewal, because its outcome is known. Notices that waited for it are sent. */
export async function forget(deps: Waking, tx: Transaction, trust: Trust): Promise<void> {
  await deleteNotices(tx, trust, kind)
  deps.wakeDelivery(tx, trust.actorId)
}

/** An offered secret, and the URL at which the peer would accept it. */
export interface Offer extends PeerAddress {
  readonly peerId: string
}

/**
 * Asks the peer whether it has the offered secret, by sending this actor's approval with it. The peer's record would
 * not show that, because the peer may refuse to show it before its owner approves.
 *
 * @returns null once the outcome is known, otherwise the outcome of the call.
 */
export async function settle(deps: TrustDeps, actor: Self, offer: Offer): Promise<PeerOutcome | null> {
  const { store, calls, now, times, live, onRenewed } = deps
  const hash = hashSecret(offer.secret)
  const atFirst = offered(await store.read((q) => findTrust(q, actor.id, offer.peerId)), hash)
  if (atFirst === null) return null
  const askedAt = now()
  const outcome = await calls.approve(offer)
  const isTaken = isAccepted(outcome)
  if (!isTaken && !isRefusal(outcome)) return outcome
  const isApprovedThere = isTaken ? await calls.isApproved(offer) : null
  const done = await store.writeActor(actor.id, async (tx, locked) => {
    const before = offered(await findTrust(tx, actor.id, offer.peerId), hash)
    if (before === null) return null
    // Judges the state from before the call: a request that was closed since then may have been verified just before.
    const verdict = isTaken ? 'take' : judgeOffer(atFirst.ownRequest, askedAt, times.closingMs)
    const after = afterOffer(deps, before, verdict, offer, isApprovedThere)
    if (after === before) return { verdict, before, after }
    await updateTrust(tx, after, now())
    await live.record(tx, locked, 'trust', [offer.peerId])
    if (verdict === 'take') await onRenewed(tx, actor.id, offer.peerId)
    if (after.relationship !== before.relationship) await deps.onTypeChanged(tx, locked, before, after)
    return { verdict, before, after }
  })
  if (done === null || done.verdict === 'drop') return null
  if (done.verdict !== 'take') return { kind: 'unknown', reason: 'The peer may still accept the secret' }
  await fireTrust(deps, 'trust_initiated', actor, done.after)
  await fireIfCompleted(deps, actor, done.before, done.after)
  return null
}

type Offered = Trust & { readonly ownRequest: OwnRequest }

/** Null: another secret was agreed on, or the relationship ended. */
function offered(trust: Trust | null, hash: SecretHash): Offered | null {
  return trust?.ownRequest?.nextSecretHash === hash ? { ...trust, ownRequest: trust.ownRequest } : null
}

function afterOffer(
  { keyRing, now }: Pick<TrustDeps, 'keyRing' | 'now'>,
  before: Offered,
  verdict: OfferVerdict | 'take',
  offer: Offer,
  isApprovedThere: boolean | null,
): Trust {
  const { ownRequest } = before
  switch (verdict) {
    case 'take':
      return {
        ...before,
        ...sealedSecret(keyRing, before, offer.secret),
        ...atAddress(before, offer.baseuri),
        relationship: ownRequest.relationship,
        description: ownRequest.description ?? before.description,
        // `approved` stays as the owner last decided. The owner was already notified that the request failed.
        peerApproved: isApprovedThere ?? before.peerApproved,
        verified: true,
        ownRequest: { ...ownRequest, until: now(), nextSecretHash: null },
      }
    case 'close':
      return {
        ...before,
        verificationToken: sealedToken(keyRing, before, randomPassphrase()),
        ownRequest: { ...ownRequest, closedAt: now() },
      }
    case 'drop':
      return { ...before, ownRequest: null }
    case 'wait':
      return before
    default:
      return verdict satisfies never
  }
}
