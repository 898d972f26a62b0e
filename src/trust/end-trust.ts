/** Deletes a relationship and everything that depends on it from the store. */
import type { AfterCommit, LockedActor, Transaction } from '../store/store.ts'
import { fireDeleted } from './events.ts'
import { deletionNotices, receivesNotices } from './trust-notifications.ts'
import { deleteTrust, findTrusts } from './trust-store.ts'
import type { Trust } from './trust.ts'
import type { Self, TrustDeps } from './trust-deps.ts'

export async function endTrust(
  { onEnd, live }: Pick<TrustDeps, 'onEnd' | 'live'>,
  tx: Transaction,
  actor: Pick<LockedActor, 'id' | 'watchedUntil'>,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
): Promise<void> {
  await onEnd(tx, actorId, peerId)
  await deleteTrust(tx, actorId, peerId)
  await live.record(tx, actor, 'trust', [peerId])
}

/** Ends relationships of a locked actor for its owner, in the transaction of another change. Their peers get notices. */
export async function endForOwner(
  deps: TrustDeps & { readonly afterCommit: AfterCommit },
  tx: Transaction,
  actor: Self & Pick<LockedActor, 'watchedUntil'>,
  peerIds: readonly string[],
): Promise<void> {
  if (peerIds.length === 0) return
  const chosen = new Set(peerIds)
  const ended = (await findTrusts(tx, actor.id)).filter(({ peerId }) => chosen.has(peerId))
  const notices = await deletionNotices(tx, deps.keyRing, ended.filter(receivesNotices))
  for (const trust of ended) await endTrust(deps, tx, actor, trust)
  await deps.enqueue(tx, notices)
  deps.afterCommit(tx, async () => {
    for (const trust of ended) await fireDeleted(deps, actor, trust, false)
  })
}
