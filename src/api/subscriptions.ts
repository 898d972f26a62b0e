/** The handle by which applications use the subscriptions of peers to an actor. */
import type { Delivery, SubscriptionsHandle } from '../app/actor-handle.ts'
import type { Access } from '../property/access.ts'
import type { Properties } from '../property/properties.ts'
import type { TimelineEntry } from '../publication/diff-store.ts'
import type { Publications } from '../publication/publications.ts'
import { publisherView } from '../publication/publisher-subscription.ts'

export function subscriptionsHandle(
  publications: Publications,
  properties: Pick<Properties, 'nameOf'>,
  actor: Access['actor'],
): SubscriptionsHandle {
  const scopeOf = async (target: string, subtarget: string) => ({
    target,
    subtarget: target === 'properties' ? await properties.nameOf(actor.id, subtarget) : subtarget,
  })
  return {
    listeners: async (peerId) => (await publications.list(actor.id, peerId ?? null)).map(publisherView),
    suspend: async (target, subtarget = '') => publications.suspend(actor.id, await scopeOf(target, subtarget)),
    resume: async (target, subtarget = '') => publications.resume(actor.id, await scopeOf(target, subtarget)),
    suspended: () => publications.suspensions(actor.id),
    revoke: (peerId, subscriptionId) => publications.end(actor, { peerId, subscriptionId }, 'owner'),
    async timeline(peerId, subscriptionId) {
      const timeline = await publications.timeline({ actorId: actor.id, peerId, subscriptionId })
      return timeline === null ? undefined : timeline.entries.map(deliveryOf)
    },
    redrive: async (peerId, subscriptionId) =>
      (await publications.redrive({ actorId: actor.id, peerId, subscriptionId })) ?? undefined,
  }
}

function deliveryOf(entry: TimelineEntry): Delivery {
  const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))
  return {
    sequence: entry.sequence,
    outcome: entry.outcome,
    reason: entry.reason,
    attempts: entry.attempts,
    writtenAt: new Date(entry.writtenAt),
    sentAt: date(entry.sentAt),
    answeredAt: date(entry.answeredAt),
    acknowledgedAt: date(entry.acknowledgedAt),
  }
}
