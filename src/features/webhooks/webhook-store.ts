/** The SQL of webhooks. The statements of the worker begin with the comment `jobs`. */
import type { Sealed } from '../../secret/sealed.ts'
import type { Param, Queries, Transaction } from '../../store/store.ts'

/** A webhook as it is stored. */
export interface WebhookRow {
  readonly id: string
  readonly url: string
  /** JSON arrays. */
  readonly events: string
  readonly names: string
  readonly description: string
  readonly createdAt: number
}

/** A webhook with the state of its queue. */
export interface StoredWebhook extends WebhookRow {
  readonly state: 'live' | 'stopped'
  readonly dueAt: number | null
  readonly attempts: number
  readonly failingSince: number | null
  readonly reason: string
}

/** Stores a webhook and its empty queue. */
export async function insertWebhook(
  tx: Transaction,
  actorId: string,
  webhook: WebhookRow & { readonly secrets: Sealed; readonly host: string },
): Promise<void> {
  const { id, url, events, names, description, secrets, createdAt, host } = webhook
  await tx.run(
    `INSERT INTO webhook (actor_id, webhook_id, url, events, names, description, secrets, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    actorId,
    id,
    url,
    events,
    names,
    description,
    secrets,
    createdAt,
  )
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, created_at, data) VALUES ($1, 'webhook', $2, 0, $3, $4)`,
    actorId,
    id,
    createdAt,
    host,
  )
  await tx.run('UPDATE actor SET observer_count = observer_count + 1 WHERE id = $1', actorId)
}

/** Deletes a webhook with its queue. Returns false when it does not exist. */
export async function deleteWebhook(tx: Transaction, actorId: string, id: string): Promise<boolean> {
  const deleted = await tx.run('DELETE FROM webhook WHERE actor_id = $1 AND webhook_id = $2', actorId, id)
  if (deleted === 0) return false
  await tx.run(`DELETE FROM job WHERE actor_id = $1 AND kind = 'webhook' AND id = $2`, actorId, id)
  await tx.run('UPDATE actor SET observer_count = observer_count - 1 WHERE id = $1', actorId)
  return true
}

/** The events that the webhooks of the actor receive. */
export function findReceivers(
  q: Queries,
  actorId: string,
): Promise<{ readonly id: string; readonly events: string; readonly names: string }[]> {
  return q.all('SELECT webhook_id AS id, events, names FROM webhook WHERE actor_id = $1', actorId)
}

/** The webhooks of the actor, oldest first. `id` null: all. */
export function findWebhooks(q: Queries, actorId: string, id: string | null): Promise<StoredWebhook[]> {
  const params: Param[] = id === null ? [actorId] : [actorId, id]
  return q.all<StoredWebhook>(
    `SELECT w.webhook_id AS id, w.url, w.events, w.names, w.description, w.created_at AS "createdAt", j.state,
       j.due_at AS "dueAt", j.attempts, j.failing_since AS "failingSince", j.reason
     FROM webhook w JOIN job j ON j.actor_id = w.actor_id AND j.kind = 'webhook' AND j.id = w.webhook_id
     WHERE w.actor_id = $1${id === null ? '' : ' AND w.webhook_id = $2'} ORDER BY w.created_at, w.webhook_id`,
    ...params,
  )
}

/** The data that the worker needs to send. */
export interface WebhookTarget {
  readonly url: string
  readonly secrets: Sealed
  readonly refusals: number
}

export async function findTarget(q: Queries, actorId: string, id: string): Promise<WebhookTarget | null> {
  const row = await q.get<WebhookTarget>(
    '/* jobs */ SELECT url, secrets, refusals FROM webhook WHERE actor_id = $1 AND webhook_id = $2',
    actorId,
    id,
  )
  return row ?? null
}

export async function putSecrets(tx: Transaction, actorId: string, id: string, secrets: Sealed): Promise<void> {
  await tx.run('UPDATE webhook SET secrets = $3 WHERE actor_id = $1 AND webhook_id = $2', actorId, id, secrets)
}

export async function putRefusals(tx: Transaction, actorId: string, id: string, refusals: number): Promise<void> {
  await tx.run(
    '/* jobs */ UPDATE webhook SET refusals = $3 WHERE actor_id = $1 AND webhook_id = $2',
    actorId,
    id,
    refusals,
  )
}
