/** The quotas of properties and items. */
import type { Quota } from '../quota/quota.ts'

export const namesQuota: Quota = {
  name: 'names',
  setting: 'maxNames',
  unit: 'properties',
  counts: 'Values and lists count, each by its name.',
  remedy: 'Delete properties that are not needed.',
  tables: ['property'],
  kept: 'usedNames',
  sql: 'SELECT COUNT(*) AS used FROM property WHERE actor_id = $1',
}

export const itemsQuota: Quota = {
  name: 'items',
  setting: 'maxItems',
  unit: 'list items',
  counts:
    'The items of all lists and the entries of copies of peers’ data count. A removed list counts until its items are deleted, which a long list needs some time for.',
  remedy: 'Delete items or lists, or end subscriptions to peers with much data.',
  tables: ['list_item', 'attribute'],
  kept: 'usedItems',
  sql: `SELECT (SELECT COUNT(*) FROM list_item WHERE actor_id = $1)
      + (SELECT COUNT(*) FROM attribute WHERE actor_id = $1) AS used`,
}
