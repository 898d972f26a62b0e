/** Ends a subscription of either side, because peers use the same URL for both. */
import type { Access } from '../property/access.ts'
import type { Publications } from '../publication/publications.ts'
import type { Subscribing } from './subscribing.ts'

/** Returns false when the subscription did not exist. */
export async function endSubscription(
  { publications, subscribing }: { readonly publications: Publications; readonly subscribing: Subscribing },
  actor: Access['actor'],
  address: { readonly peerId: string; readonly subscriptionId: string },
  by: 'peer' | 'owner',
): Promise<boolean> {
  if (await publications.end(actor, address, by)) return true
  const key = { actorId: actor.id, ...address }
  return by === 'peer' ? subscribing.endedByPeer(key) : subscribing.unsubscribe(key)
}
