/** This actor asks a peer for a relationship. */
import { ServiceError } from '../../errors.ts'
import type { Notice } from '../../outbox/notice.ts'
import { isRefusal } from '../../outbox/policy.ts'
import type { PeerOutcome } from '../../peer/peer-client.ts'
import { hashSecret } from '../../secret/hash.ts'
import { randomId, randomPassphrase } from '../../secret/random.ts'
import type { LockedActor, Transaction } from '../../store/store.ts'
import { fireIfCompleted, fireTrust } from '../events.ts'
import { newTrust, sealedSecret, sealedToken } from '../new-trust.ts'
import { endTrust } from '../end-trust.ts'
import { withdrawalNotice } from '../trust-notifications.ts'
import { tokensOf } from '../record.ts'
import { askNow, forget, isOpen, remember } from './renewal.ts'
import { findTrust, insertTrust, updateTrust } from '../trust-store.ts'
import { isAsking, isRenewal, type Trust } from '../trust.ts'
import type { Self, TrustParts } from '../trust-parts.ts'

export interface TrustWish {
  readonly baseuri: string
  readonly relationship: string
  readonly description: string
  /** What the peer's application has to be; anything unless given. */
  readonly type?: string | undefined
  /** Throws where the request must not be sent, given the relationship that exists at that moment; in its transaction. */
  readonly judge?: ((before: Trust | null, tx: Transaction) => Promise<void>) | undefined
}

/**
 * The record is there before the peer is asked, because the peer calls back while it answers. Where a relationship with
 * this peer exists already, it stays as it is until the peer agreed to the new one.
 *
 * @throws ServiceError `peer_failed` when the peer does not take part; `conflict` while another request is on its way.
 */
export async function initiate(parts: TrustParts, actor: Self, wish: TrustWish): Promise<Trust> {
  const meta = await parts.calls.meta(wish.baseuri)
  if ('failed' in meta) throw failed(meta.failed)
  if (meta.id === actor.id) throw failed('it is the actor itself')
  if (wish.type !== undefined && wish.type !== meta.type) throw failed('it is another kind of actor')
  const secret = randomPassphrase()
  const { request, asking } = await begin(parts, actor, wish, meta, secret)
  const outcome = await parts.calls.request({
    actorId: actor.id,
    actorUrl: `${parts.baseUrl}/${actor.id}`,
    type: parts.type,
    peerId: meta.id,
    baseuri: wish.baseuri,
    relationship: wish.relationship,
    secret,
    verify: tokensOf(parts.keyRing, asking).verification_token,
    description: wish.description,
  })
  return finish(parts, actor, { wish, meta, secret, request, outcome })
}

async function begin(
  parts: TrustParts,
  actor: Self,
  wish: TrustWish,
  meta: { id: string; type: string },
  secret: string,
): Promise<{ request: string; asking: Trust }> {
  const request = randomId()
  return parts.store.writeActor(actor.id, async (tx, locked) => {
    await parts.live.record(tx, locked, 'trust', [meta.id])
    const now = parts.now()
    const { relationship, description } = wish
    const ownRequest = {
      id: request,
      relationship,
      description,
      until: now + parts.times.handshakeMs,
      nextSecretHash: null,
    }
    const before = await findTrust(tx, actor.id, meta.id)
    await wish.judge?.(before, tx)
    if (before === null) {
      const asking = newTrust(parts.keyRing, {
        actorId: actor.id,
        peerId: meta.id,
        baseuri: wish.baseuri,
        type: meta.type,
        relationship: wish.relationship,
        description: wish.description,
        secret,
        approved: true,
        peerApproved: false,
        verified: true,
        ownRequest,
        now,
      })
      await insertTrust(tx, asking)
      return { request, asking }
    }
    if (isAsking(before, now) || (await isOpen(tx, before))) {
      throw new ServiceError('conflict', `Cannot ask peer ${JSON.stringify(meta.id)}: a request is on its way already`)
    }
    const asking = {
      ...before,
      // An earlier request that arrives once more is not confirmed: it would bring back the secret of then.
      verificationToken: sealedToken(parts.keyRing, before, randomPassphrase()),
      ownRequest: { ...ownRequest, nextSecretHash: hashSecret(secret) },
    }
    await updateTrust(tx, asking)
    await remember(parts, tx, asking, { ...wish, secret, until: ownRequest.until })
    return { request, asking }
  })
}

interface Asked {
  readonly wish: TrustWish
  readonly meta: { readonly id: string; readonly type: string }
  readonly secret: string
  readonly request: string
  readonly outcome: PeerOutcome
}

async function finish(parts: TrustParts, actor: Self, asked: Asked): Promise<Trust> {
  const { outcome, request, meta } = asked
  const status = outcome.kind === 'answered' ? outcome.status : null
  const isTaken = status === 201 || status === 202
  const done = await parts.store.writeActor(actor.id, async (tx, locked) => {
    const before = await findTrust(tx, actor.id, meta.id)
    // Another request of the peer's own came meanwhile, and counts.
    if (before !== null && before.ownRequest?.id !== request) return { before, after: before }
    if (before === null) {
      if (mayHaveArrived(outcome)) await parts.enqueue(tx, [lateWithdrawal(parts, actor, asked)])
      return { before, after: null }
    }
    if (!isTaken) return { before, after: await withdraw(parts, tx, locked, before, outcome) }
    const after = agreed(parts, before, asked, status === 201)
    await updateTrust(tx, after)
    await parts.live.record(tx, locked, 'trust', [meta.id])
    if (isRenewal(before)) {
      await forget(parts, tx, before)
      await parts.onRenewed(tx, actor.id, meta.id)
      if (after.relationship !== before.relationship) await parts.tellRights(tx, after)
    }
    if (!before.approved) await parts.onApproved(tx, locked, after)
    return { before, after }
  })
  const { before, after } = done
  if (after === null) {
    throw failed(
      isTaken
        ? 'the relationship ended meanwhile'
        : outcome.kind === 'answered'
          ? `it answered ${status}`
          : outcome.reason,
    )
  }
  await fireTrust(parts, 'trust_initiated', actor, after)
  await fireIfCompleted(parts, actor, before, after)
  return after
}

function agreed(parts: TrustParts, before: Trust, { wish, meta, secret, outcome }: Asked, isApproved: boolean): Trust {
  // A peer whose own request counts has the secret that came with that, and so has this actor, who took it before.
  const isRenewed = isRenewal(before) && !parts.calls.keptOwn(outcome)
  return {
    ...before,
    ...(isRenewed ? sealedSecret(parts.keyRing, before, secret) : {}),
    baseuri: wish.baseuri,
    type: meta.type,
    relationship: wish.relationship,
    description: wish.description,
    approved: true,
    verified: true,
    // The peer's word that it approves may have come while its answer was on the way.
    peerApproved: isApproved || (!isRenewed && before.peerApproved),
    ownRequest: before.ownRequest === null ? null : { ...before.ownRequest, until: parts.now(), nextSecretHash: null },
  }
}

/** Null: there is nothing left of the request. */
async function withdraw(
  parts: TrustParts,
  tx: Transaction,
  locked: LockedActor,
  before: Trust,
  outcome: PeerOutcome,
): Promise<null> {
  if (isRenewal(before)) {
    if (mayHaveArrived(outcome)) {
      // Whether the peer changed to the new secret is not known, and it may still do so.
      await askNow(parts, tx, before)
      return null
    }
    await updateTrust(tx, { ...before, ownRequest: null })
    await forget(parts, tx, before)
    return null
  }
  await endTrust(parts, tx, locked, before)
  // A peer that took the request and could not say so would keep it for ever.
  if (mayHaveArrived(outcome)) await parts.enqueue(tx, [withdrawalNotice(before)])
  return null
}

/** The peer has it, or may have it at any time. */
function mayHaveArrived(outcome: PeerOutcome): boolean {
  return outcome.kind !== 'unreached' && !isRefusal(outcome)
}

/** Of a request whose relationship ended before its answer came. */
function lateWithdrawal({ keyRing }: TrustParts, actor: Self, { wish, meta, secret }: Asked): Notice {
  const { baseuri, relationship } = wish
  const peer = { actorId: actor.id, peerId: meta.id }
  return withdrawalNotice({ ...peer, baseuri, relationship, secret: sealedSecret(keyRing, peer, secret).secret })
}

/** The reason is for the log: whoever chose the address must not map the network by the answers. */
function failed(reason: string): ServiceError {
  return new ServiceError(
    'peer_failed',
    'Cannot establish the relationship: the other actor did not answer as it has to',
    {
      reason,
    },
  )
}
