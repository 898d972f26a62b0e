/** Deletes a relationship and everything that depends on it from the store. */
import type { LockedActor, Transaction } from '../store/store.ts'
import { deleteTrust } from './trust-store.ts'
import type { Trust } from './trust.ts'
import type { TrustDeps } from './trust-deps.ts'

export async function endTrust(
  { onEnd, live }: Pick<TrustDeps, 'onEnd' | 'live'>,
  tx: Transaction,
  actor: LockedActor,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
): Promise<void> {
  await onEnd(tx, actorId, peerId)
  await deleteTrust(tx, actorId, peerId)
  await live.record(tx, actor, 'trust', [peerId])
}
