/** Names the subscriptions whose updates do not arrive. */
import type { SubscriptionWithBacklog } from '../../publication/publications.ts'
import type { Messages } from '../languages/language.ts'
import type { Peers } from '../shared/peer-names.ts'
import type { LinkedText } from '../shared/values.ts'
import { aboutOf, publisherState } from './subscription-words.ts'

interface DeliveryContext {
  readonly peers: Pick<Peers, 'nameOf'>
  readonly now: number
  readonly www: string
  readonly messages: Messages
}

/** The subscriptions of peers whose updates do not arrive, with their state. */
export function undelivered(
  subscriptions: readonly SubscriptionWithBacklog[],
  { peers, now, www, messages }: DeliveryContext,
): readonly LinkedText[] {
  return subscriptions
    .map((each) => ({ ...each, ...publisherState(each, now, messages) }))
    .filter(({ is_in_order }) => !is_in_order)
    .map(({ subscription, state }) => {
      const { peerId, subscriptionId } = subscription
      return {
        text: messages.home.undelivered(peers.nameOf(peerId).name, aboutOf(subscription, messages), state),
        href: `${www}/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscriptionId)}`,
      }
    })
}
