/** The webhooks of an actor, for application code. */
import type { Webhook, WebhookDelivery, WebhooksHandle } from '../app/background/webhooks.ts'
import { ServiceError } from '../errors.ts'
import type { ShownEntry } from '../job/entry-store.ts'
import { longestOverlapSeconds, mostShown, type WebhookFacts, type Webhooks } from '../webhook/webhooks.ts'

export function webhooksHandle(webhooks: Webhooks, actorId: string): WebhooksHandle {
  return {
    add: (url, options) => webhooks.add(actorId, { ...options, url }),
    list: async () => (await webhooks.list(actorId)).map(webhookOf),
    async get(id) {
      const found = await webhooks.find(actorId, id)
      return found === null ? undefined : webhookOf(found)
    },
    remove: (id) => webhooks.remove(actorId, id),
    async rotateSecret(id, { secret, overlapSeconds: overlap } = {}) {
      if (overlap !== undefined && !(Number.isInteger(overlap) && overlap >= 0 && overlap <= longestOverlapSeconds))
        throw new ServiceError(
          'invalid_value',
          `Cannot rotate the secret: overlapSeconds must be a whole number from 0 to ${longestOverlapSeconds}`,
        )
      const given = { ...(secret === undefined ? {} : { secret }), ...(overlap === undefined ? {} : { overlap }) }
      return (await webhooks.rotate(actorId, id, given)) ?? undefined
    },
    test: async (id) => (await webhooks.test(actorId, id)) ?? undefined,
    async deliveries(id) {
      const entries = await webhooks.deliveries(actorId, id, { before: null, limit: mostShown })
      return entries?.map(deliveryOf)
    },
    redrive: async (id) => (await webhooks.redrive(actorId, id)) ?? undefined,
  }
}

function webhookOf(facts: WebhookFacts): Webhook {
  const { id, url, events, names, description, reason } = facts
  return {
    id,
    url,
    events,
    names,
    description,
    state: facts.state === 'live' ? 'active' : 'suspended',
    createdAt: new Date(facts.createdAt),
    failingSince: dateOf(facts.failingSince),
    reason,
    nextAttemptAt: dateOf(facts.dueAt),
  }
}

function deliveryOf(entry: ShownEntry): WebhookDelivery {
  const { outcome, attempts, status, reason } = entry
  return {
    id: entry.entryId,
    // `Webhooks` has written the type.
    type: entry.type as WebhookDelivery['type'],
    outcome,
    attempts,
    status,
    reason,
    createdAt: new Date(entry.createdAt),
    sentAt: dateOf(entry.sentAt),
    answeredAt: dateOf(entry.answeredAt),
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
