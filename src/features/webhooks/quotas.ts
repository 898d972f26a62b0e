/** The quota of webhooks. */
import type { Quota } from '../../quota/quota.ts'

export const webhooksQuota: Quota = {
  name: 'webhooks',
  setting: 'maxWebhooks',
  unit: 'webhooks',
  counts: 'Every webhook counts, also a stopped one.',
  remedy: 'Delete webhooks that are not needed.',
  tables: ['webhook'],
  sql: 'SELECT COUNT(*) AS used FROM webhook WHERE actor_id = $1',
}
