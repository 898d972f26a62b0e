/** The quota of subscriptions. */
import type { Quota } from '../quota/quota.ts'

export const subscriptionsQuota: Quota = {
  name: 'subscriptions',
  setting: 'maxSubscriptions',
  unit: 'subscriptions',
  counts: 'Subscriptions of peers to the actor and of the actor to peers count.',
  remedy: 'End subscriptions or relationships that are not needed.',
  tables: ['publisher_subscription', 'subscriber_subscription'],
  sql: `SELECT (SELECT COUNT(*) FROM publisher_subscription WHERE actor_id = $1)
      + (SELECT COUNT(*) FROM subscriber_subscription WHERE actor_id = $1) AS used`,
}
