/** The end of a subscription, in whichever direction it is: peers use one address for both. */
import type { Access } from '../property/access.ts'
import type { Publications } from '../publication/publications.ts'
import type { Subscribing } from './subscribing.ts'

/** False when there was none. */
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
