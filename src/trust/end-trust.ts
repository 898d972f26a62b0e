/** The end of a relationship in the store: with everything that rests on it. */
import type { Transaction } from '../store/store.ts'
import { deleteTrust } from './trust-store.ts'
import type { Trust } from './trust.ts'
import type { TrustParts } from './trust-parts.ts'

export async function endTrust(
  { onEnd }: Pick<TrustParts, 'onEnd'>,
  tx: Transaction,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
): Promise<void> {
  for (const end of onEnd) await end(tx, actorId, peerId)
  await deleteTrust(tx, actorId, peerId)
}
