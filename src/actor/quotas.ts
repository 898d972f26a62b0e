/** The quota of what an actor stores in its rows. */
import type { Quota } from '../quota/quota.ts'

export const bytesQuota: Quota = {
  name: 'bytes',
  setting: 'maxActorBytes',
  unit: 'bytes of data',
  counts: 'The names and values of properties, the items of lists and the copies of peers’ data count.',
  remedy: 'Delete properties or items, or end subscriptions to peers with much data.',
  tables: ['property', 'list_item', 'attribute'],
  kept: 'usedBytes',
  isSize: true,
  sql: `SELECT CAST(
      (SELECT COALESCE(SUM(octet_length(name) + CASE kind WHEN 'list' THEN 0 ELSE octet_length(value) END), 0)
       FROM property WHERE actor_id = $1)
      + (SELECT COALESCE(SUM(octet_length(value)), 0) FROM list_item WHERE actor_id = $1)
      + (SELECT COALESCE(SUM(octet_length(name) + octet_length(data)), 0) FROM attribute WHERE actor_id = $1)
    AS BIGINT) AS used`,
}
