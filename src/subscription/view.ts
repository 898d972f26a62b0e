/** A subscription of either side, as the wire and applications see it. */
import type { Subscription } from '../app/actor-handle.ts'
import type { SubscriptionRecord } from './record-store.ts'

export function subscriptionView(record: SubscriptionRecord): Subscription {
  return {
    id: record.actorId,
    peerid: record.peerId,
    subscriptionid: record.subscriptionId,
    granularity: record.granularity,
    target: record.target,
    subtarget: record.subtarget,
    resource: record.resource,
    sequence: record.sequence,
    callback: record.callback,
  }
}
