/**
 * A new secret that was offered to a peer, and whose answer did not come. Whether the peer took it is found out, however
 * long that takes: until then both secrets are good here, and after it the one that the peer has.
 */
import { deleteNotices, findNotice, hurryNotices } from '../../outbox/notice-store.ts'
import { isRefusal } from '../../outbox/policy.ts'
import type { PeerOutcome } from '../../peer/peer-client.ts'
import { hashSecret, type SecretHash } from '../../secret/hash.ts'
import { randomPassphrase } from '../../secret/random.ts'
import type { Queries, Transaction } from '../../store/store.ts'
import { fireIfCompleted, fireTrust } from '../events.ts'
import { sealedSecret, sealedToken } from '../new-trust.ts'
import { approvalNotice } from '../trust-notifications.ts'
import type { PeerAddress } from './peer-calls.ts'
import type { Self, TrustDeps } from '../trust-deps.ts'
import { findTrust, updateTrust } from '../trust-store.ts'
import { isRenewal, type OwnRequest, type Trust } from '../trust.ts'

const kind = 'renewal'

/** What it leads to that the peer does not know the secret (yet). */
export type OfferVerdict =
  /** The request may still be on its way, or being looked at. */
  | 'wait'
  /** From now on the peer finds no proof of the request any more. */
  | 'close'
  /** It does not have the secret, and will not take it. */
  | 'drop'

/**
 * @param now Unix milliseconds: when the peer was asked.
 * @param closingMs From the proof of a request to its effect at the peer, and from asking the peer to its answer.
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
 * In the transaction that begins the renewal, so that whatever happens to this process, the peer is asked. Nobody is told
 * anything in this relationship before it is known with which secret.
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

/** Whether it is still being found out what came of an earlier renewal. */
export async function isOpen(q: Queries, trust: Trust): Promise<boolean> {
  return isRenewal(trust) && (await findNotice(q, trust, kind)) !== null
}

type Waking = Pick<TrustDeps, 'now' | 'wakeDelivery'>

/** The answer did not come: the peer is asked at once. */
export async function askNow(deps: Waking, tx: Transaction, trust: Trust): Promise<void> {
  await hurryNotices(tx, trust, kind, deps.now())
  deps.wakeDelivery(tx)
}

/** It is known what came of it: what waited for that may be said. */
export async function forget(deps: Waking, tx: Transaction, trust: Trust): Promise<void> {
  await deleteNotices(tx, trust, kind)
  deps.wakeDelivery(tx)
}

/** What was offered, and where the peer would have it. */
export interface Offer extends PeerAddress {
  readonly peerId: string
}

/**
 * Asks the peer whether it has the secret, by saying with it what it knows already: that this actor approves. Its own
 * record, which it may be refused as long as its owner has not approved, would not tell.
 *
 * @returns null once it is known; until then, why it is not.
 */
export async function settle(deps: TrustDeps, actor: Self, offer: Offer): Promise<PeerOutcome | null> {
  const { store, calls, now, times, live, onRenewed } = deps
  const hash = hashSecret(offer.secret)
  const atFirst = offered(await store.read((q) => findTrust(q, actor.id, offer.peerId)), hash)
  if (atFirst === null) return null
  const askedAt = now()
  const outcome = await calls.approve(offer)
  const isTaken = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300
  if (!isTaken && !isRefusal(outcome)) return outcome
  const isApprovedThere = isTaken ? await calls.isApproved(offer) : null
  const done = await store.writeActor(actor.id, async (tx, locked) => {
    const before = offered(await findTrust(tx, actor.id, offer.peerId), hash)
    if (before === null) return null
    // Judged as it was when the peer was asked: what was closed since may have been confirmed just before.
    const verdict = isTaken ? 'take' : judgeOffer(atFirst.ownRequest, askedAt, times.closingMs)
    const after = afterOffer(deps, before, verdict, offer, isApprovedThere)
    if (after === before) return { verdict, before, after }
    await updateTrust(tx, after)
    await live.record(tx, locked, 'trust', [offer.peerId])
    if (verdict === 'take') await onRenewed(tx, actor.id, offer.peerId)
    if (after.relationship !== before.relationship) await deps.tellRights(tx, after)
    return { verdict, before, after }
  })
  if (done === null || done.verdict === 'drop') return null
  if (done.verdict !== 'take') return { kind: 'unknown', reason: 'The peer may still take the secret' }
  await fireTrust(deps, 'trust_initiated', actor, done.after)
  await fireIfCompleted(deps, actor, done.before, done.after)
  return null
}

type Offered = Trust & { readonly ownRequest: OwnRequest }

/** Null when another secret was agreed on, or the relationship ended. */
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
        baseuri: offer.baseuri,
        relationship: ownRequest.relationship,
        description: ownRequest.description ?? before.description,
        // Whether it is approved here is what the owner said last; that the request failed was said to the owner.
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
