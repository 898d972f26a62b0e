/** This actor requests a relationship from a peer. */
import { quoted, ServiceError } from '../../errors.ts'
import type { Notice } from '../../outbox/notice.ts'
import { isRefusal } from '../../outbox/policy.ts'
import type { PeerOutcome } from '../../peer/peer-client.ts'
import { hashSecret } from '../../secret/hash.ts'
import { randomId, randomPassphrase } from '../../secret/random.ts'
import type { LockedActor, Transaction } from '../../store/store.ts'
import { fireIfCompleted, fireTrust } from '../events.ts'
import { atAddress, newTrust, sealedSecret, sealedToken } from '../new-trust.ts'
import { endTrust } from '../end-trust.ts'
import { withdrawalNotice } from '../trust-notifications.ts'
import { tokensOf } from '../record.ts'
import { askNow, forget, isOpen, remember } from './renewal.ts'
import { isAccepted } from '../../peer/ingress.ts'
import { findTrust, insertTrust, updateTrust } from '../trust-store.ts'
import { isAsking, isRenewal, isRequest, type Trust } from '../trust.ts'
import type { Self, TrustDeps } from '../trust-deps.ts'

export interface TrustWish {
  readonly baseuri: string
  readonly relationship: string
  readonly description: string
  /** Code of an invitation of the peer. Default: none. */
  readonly invitation?: string | undefined
  /** Application type that the peer must have. Default: any. */
  readonly type?: string | undefined
  /** Throws to prevent the request. Runs in the transaction, and gets the relationship that is stored at that moment. */
  readonly judge?: ((before: Trust | null, tx: Transaction) => Promise<void>) | undefined
}

/**
 * Requests a relationship from a peer. A new record is stored before the request, because the peer calls back before it
 * responds. An existing relationship with the peer stays unchanged until the peer accepts the request.
 *
 * @throws ServiceError `peer_failed` when the peer does not accept; `conflict` while another request is under way.
 */
export async function initiate(deps: TrustDeps, actor: Self, wish: TrustWish): Promise<Trust> {
  const meta = await deps.calls.meta(wish.baseuri)
  if ('failed' in meta) throw failed(meta.failed)
  if (meta.id === actor.id) throw failed('it is the actor itself')
  if (wish.type !== undefined && wish.type !== meta.type) throw failed('it is another kind of actor')
  const secret = randomPassphrase()
  const { request, asking } = await begin(deps, actor, wish, meta, secret)
  const outcome = await deps.calls.request({
    actorId: actor.id,
    actorUrl: `${deps.baseUrl}/${actor.id}`,
    type: deps.typeOf(actor),
    peerId: meta.id,
    baseuri: wish.baseuri,
    relationship: wish.relationship,
    secret,
    verify: tokensOf(deps.keyRing, asking).verification_token,
    description: wish.description,
    invitation: wish.invitation,
  })
  return finish(deps, actor, { wish, meta, secret, request, outcome })
}

async function begin(
  deps: TrustDeps,
  actor: Self,
  wish: TrustWish,
  meta: { id: string; type: string },
  secret: string,
): Promise<{ request: string; asking: Trust }> {
  const request = randomId()
  return deps.store.writeActor(actor.id, async (tx, locked) => {
    await deps.live.record(tx, locked, 'trust', [meta.id])
    const now = deps.now()
    const { relationship, description } = wish
    const ownRequest = {
      id: request,
      relationship,
      description,
      until: now + deps.times.handshakeMs,
      nextSecretHash: null,
    }
    const before = await relatedAt(deps, tx, locked, { wish, peerId: meta.id })
    if (before === null) {
      const asking = newTrust(deps.keyRing, {
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
      throw new ServiceError(
        'conflict',
        `Cannot ask peer ${JSON.stringify(meta.id)}: another request to it is still under way`,
      )
    }
    const asking = {
      ...before,
      // Replaces the token, so that a delayed copy of an earlier request is not confirmed. It would restore the old secret.
      verificationToken: sealedToken(deps.keyRing, before, randomPassphrase()),
      ownRequest: { ...ownRequest, nextSecretHash: hashSecret(secret) },
    }
    await updateTrust(tx, asking, now)
    await remember(deps, tx, asking, { ...wish, secret, until: ownRequest.until })
    return { request, asking }
  })
}

/**
 * Finds the relationship that the request renews. A request that waits for the owner with this id, and comes from another
 * address, ends: it may be that of a stranger, who would get the approval of the actor that the owner means.
 */
async function relatedAt(
  deps: TrustDeps,
  tx: Transaction,
  locked: LockedActor,
  { wish, peerId }: { readonly wish: TrustWish; readonly peerId: string },
): Promise<Trust | null> {
  const found = await findTrust(tx, locked.id, peerId)
  await wish.judge?.(found, tx)
  if (found !== null && isRequest(found) && found.baseuri !== wish.baseuri) {
    await endTrust(deps, tx, locked, found)
    return null
  }
  if (found !== null && deps.changesMembership(found.relationship, wish.relationship, locked))
    throw new ServiceError(
      'conflict',
      `Cannot ask peer ${quoted(peerId)}: a member has no other relationship. End the existing one first`,
    )
  return found
}

interface Asked {
  readonly wish: TrustWish
  readonly meta: { readonly id: string; readonly type: string }
  readonly secret: string
  readonly request: string
  readonly outcome: PeerOutcome
}

async function finish(deps: TrustDeps, actor: Self, asked: Asked): Promise<Trust> {
  const { outcome, request, meta } = asked
  const status = outcome.kind === 'answered' && isAccepted(outcome) ? outcome.status : null
  const isTaken = status === 201 || status === 202
  const done = await deps.store.writeActor(actor.id, async (tx, locked) => {
    const before = await findTrust(tx, actor.id, meta.id)
    // A request of the peer arrived meanwhile, and won.
    if (before !== null && before.ownRequest?.id !== request) return { before, after: before }
    if (before === null) {
      if (mayHaveArrived(outcome)) await deps.enqueue(tx, [lateWithdrawal(deps, actor, asked)])
      return { before, after: null }
    }
    if (!isTaken) return { before, after: await withdraw(deps, tx, locked, before, outcome) }
    if (before.ownRequest?.crossed === true) {
      await askNow(deps, tx, before)
      return { before, after: before }
    }
    const after = agreed(deps, before, asked, status === 201)
    await updateTrust(tx, after, deps.now())
    await deps.live.record(tx, locked, 'trust', [meta.id])
    if (isRenewal(before)) {
      await forget(deps, tx, before)
      await deps.onRenewed(tx, actor.id, meta.id)
      if (after.relationship !== before.relationship) await deps.onTypeChanged(tx, locked, before, after)
    }
    if (!before.approved) await deps.onApproved(tx, locked, after)
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
  await fireTrust(deps, 'trust_initiated', actor, after)
  await fireIfCompleted(deps, actor, before, after)
  return after
}

function agreed(deps: TrustDeps, before: Trust, { wish, meta, secret, outcome }: Asked, isApproved: boolean): Trust {
  // The peer kept its own request: both actors have the secret of that request, so the secret offered here is dropped.
  const isRenewed = isRenewal(before) && !deps.calls.keptOwn(outcome)
  return {
    ...before,
    ...(isRenewed ? sealedSecret(deps.keyRing, before, secret) : {}),
    ...atAddress(before, wish.baseuri),
    type: meta.type,
    relationship: wish.relationship,
    description: wish.description,
    approved: true,
    verified: true,
    // The peer's approval may have arrived before its response.
    peerApproved: isApproved || (!isRenewed && before.peerApproved),
    ownRequest: before.ownRequest === null ? null : { ...before.ownRequest, until: deps.now(), nextSecretHash: null },
  }
}

/** Undoes a request that the peer did not accept. Returns null, because no new relationship resulted. */
async function withdraw(
  deps: TrustDeps,
  tx: Transaction,
  locked: LockedActor,
  before: Trust,
  outcome: PeerOutcome,
): Promise<null> {
  if (isRenewal(before)) {
    if (mayHaveArrived(outcome)) {
      // The outcome is unknown: the peer may have the new secret, or may still receive it.
      await askNow(deps, tx, before)
      return null
    }
    await updateTrust(tx, { ...before, ownRequest: null }, deps.now())
    await forget(deps, tx, before)
    return null
  }
  await endTrust(deps, tx, locked, before)
  // A peer that accepted, and could not respond, would keep the request forever.
  if (mayHaveArrived(outcome)) await deps.enqueue(tx, [withdrawalNotice(before)])
  return null
}

/** Whether the peer has the request, or may still receive it. */
function mayHaveArrived(outcome: PeerOutcome): boolean {
  return outcome.kind !== 'unreached' && !isRefusal(outcome)
}

/** Withdraws a request whose relationship ended before the response arrived. */
function lateWithdrawal({ keyRing }: TrustDeps, actor: Self, { wish, meta, secret }: Asked): Notice {
  const { baseuri, relationship } = wish
  const peer = { actorId: actor.id, peerId: meta.id }
  return withdrawalNotice({ ...peer, baseuri, relationship, secret: sealedSecret(keyRing, peer, secret).secret })
}

/** The reason goes only to the log: a caller who chooses the address must not map the network by the responses. */
function failed(reason: string): ServiceError {
  return new ServiceError(
    'peer_failed',
    'Cannot establish the relationship: the other actor did not return a valid response',
    {
      reason,
    },
  )
}
