/** The table of webhooks. The row in `job` with the same id is the queue of the messages of a webhook. */
import { insertRows } from '../../archive/record-rows.ts'
import { hostOf } from '../../peer/url-rules.ts'
import { placedByActor } from '../../table/placement.ts'
import { member, type RecordKind } from '../../table/record-kind.ts'
import { check, inJsonText, isText, isTime, objectWith, texts, webUrl } from '../../table/shapes.ts'
import type { Table } from '../../table/table.ts'
import { webhooksQuota } from './quotas.ts'
import { webhookSecrets } from './secrets.ts'
import { deleteWebhook } from './webhook-store.ts'

const { text, json, time, secret } = member

/** `Secrets` */
const secretsShape = check(
  'the secrets of a webhook',
  inJsonText(objectWith({ secret: isText, old: isText, oldUntil: isTime }, ['secret'])),
)

const records: RecordKind = {
  kind: 'webhook',
  table: 'webhook',
  key: ['webhook_id'],
  members: [
    text('webhook_id'),
    text('url', { check: webUrl }),
    json('events', { check: texts }),
    json('names', { check: texts }),
    text('description'),
    secret('secrets', webhookSecrets, secretsShape),
    time('created_at'),
  ],
  insert: async (tx, actorId, rows) => {
    await insertRows(tx, records, actorId, rows)
    const jobs = rows.map((row) => ({
      id: row['webhook_id'] ?? '',
      data: hostOf(String(row['url'])),
      created_at: row['created_at'] ?? 0,
      kind: 'webhook',
      last: 0,
    }))
    await insertRows(tx, queues, actorId, jobs, [
      ['kind', 'TEXT'],
      ['last', 'BIGINT'],
    ])
    await tx.run(
      'UPDATE actor SET observer_count = (SELECT COUNT(*) FROM webhook WHERE actor_id = $1) WHERE id = $1',
      actorId,
    )
  },
}

const queues: RecordKind = {
  ...records,
  table: 'job',
  members: [text('webhook_id', 'id'), text('host', 'data'), time('created_at')],
}

export const webhookTable: Table = {
  name: 'webhook',
  place: placedByActor(),
  sealed: [webhookSecrets],
  records,
  quotas: [webhooksQuota],
  queues: 'webhook',
  reader: {
    kind: 'webhook',
    sql: `SELECT webhook_id AS id, description AS name, url AS address, '' AS relationship, 0 AS rules
    FROM webhook WHERE actor_id = $1 ORDER BY webhook_id LIMIT $2`,
    end: deleteWebhook,
  },
  credential: { name: 'webhooks', rows: 'webhook WHERE created_at > $1', id: 'webhook_id', end: deleteWebhook },
}
