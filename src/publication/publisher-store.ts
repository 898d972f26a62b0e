/** The SQL of publisher-side subscriptions. Every insert and delete updates the counts of the actor in its transaction. */
import { deleteWhereMany, type ManyRows } from '../store/delete-in-parts.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'
import type { Scope } from '../subscription/scope.ts'
import { isOneOf, keysOf, type SubscriptionOf } from './backlog-store.ts'
import type { PublisherSubscription } from './publisher-subscription.ts'

const columns = `actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", target, subtarget, resource,
  granularity, sequence, committed, state, failing_since AS "failingSince", created_at AS "createdAt",
  (SELECT a.waiting_changes FROM actor a WHERE a.id = $1) AS "waitingChanges"`

/**
 * Returns false when the peer already has `most` subscriptions.
 *
 * @throws ServiceError `conflict` when the relationship does not exist.
 */
export async function insertPublisherSubscription(
  tx: Transaction,
  subscription: Scope &
    Pick<PublisherSubscription, 'actorId' | 'peerId' | 'subscriptionId' | 'granularity' | 'createdAt'>,
  most: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity, created_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, CAST($8 AS BIGINT)
     WHERE (SELECT COUNT(*) FROM publisher_subscription s WHERE s.actor_id = $1 AND s.peer_id = $2) < $9`,
    subscription.actorId,
    subscription.peerId,
    subscription.subscriptionId,
    subscription.target,
    subscription.subtarget,
    subscription.resource,
    subscription.granularity,
    subscription.createdAt,
    most,
  )
  if (inserted === 1) await addToCounts(tx, subscription.actorId, 1, [subscription])
  return inserted === 1
}

export async function findPublisherSubscription(
  q: Queries,
  actorId: string,
  peerId: string,
  subscriptionId: string,
): Promise<PublisherSubscription | null> {
  const row = await q.get<PublisherSubscription>(
    `SELECT ${columns} FROM publisher_subscription WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3`,
    actorId,
    peerId,
    subscriptionId,
  )
  return row ?? null
}

/** Oldest first. `peerId` null: of all peers. */
export async function findPublisherSubscriptions(
  q: Queries,
  actorId: string,
  peerId: string | null,
  scope: Partial<Scope> = {},
): Promise<PublisherSubscription[]> {
  const params: Param[] = [actorId]
  const conditions = Object.entries({ peer_id: peerId ?? undefined, ...scope }).flatMap(([column, value]) =>
    value === undefined ? [] : [` AND ${column} = $${params.push(value)}`],
  )
  return q.all<PublisherSubscription>(
    `SELECT ${columns} FROM publisher_subscription WHERE actor_id = $1${conditions.join('')}
     ORDER BY created_at, peer_id, subscription_id`,
    ...params,
  )
}

/** The subscriptions that exist among these, oldest first. */
export function findSubscriptionsOf(
  q: Queries,
  actorId: string,
  only: readonly SubscriptionOf[],
): Promise<PublisherSubscription[]> {
  return q.all<PublisherSubscription>(
    `SELECT ${columns} FROM publisher_subscription s WHERE s.actor_id = $1 AND ${isOneOf}
     ORDER BY created_at, peer_id, subscription_id`,
    actorId,
    keysOf(only),
  )
}

/** The subscriptions of all peers, oldest first, from the offset on. */
export function findSubscriptionPage(
  q: Queries,
  actorId: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<PublisherSubscription[]> {
  return q.all<PublisherSubscription>(
    `SELECT ${columns} FROM publisher_subscription WHERE actor_id = $1
     ORDER BY created_at, peer_id, subscription_id LIMIT $2 OFFSET $3`,
    actorId,
    limit,
    offset,
  )
}

/** The number of subscriptions that peers hold at the actor. */
export async function countSubscriptions(q: Queries, actorId: string): Promise<number> {
  const row = await q.get<{ count: number }>('SELECT subscription_count AS count FROM actor WHERE id = $1', actorId)
  return row?.count ?? 0
}

/** Deletes a subscription with its diffs and deliveries. False: it did not exist. */
export async function deletePublisherSubscription(
  tx: Transaction,
  actorId: string,
  peerId: string,
  subscriptionId: string,
): Promise<boolean> {
  const where = 'peer_id = $2 AND subscription_id = $3'
  await deleteWhereMany(tx, belowSubscription(where), actorId, peerId, subscriptionId)
  const deleted = await tx.all<CountedSubscription>(
    `DELETE FROM publisher_subscription WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3
     RETURNING resource`,
    actorId,
    peerId,
    subscriptionId,
  )
  await addToCounts(tx, actorId, -1, deleted)
  return deleted.length > 0
}

/** Deletes all subscriptions of a peer. Call this before deleting the relationship, whose cascade would not update the counts. */
export async function deletePublisherSubscriptions(tx: Transaction, actorId: string, peerId: string): Promise<number> {
  await deleteWhereMany(tx, belowSubscription('peer_id = $2'), actorId, peerId)
  const deleted = await tx.all<CountedSubscription>(
    'DELETE FROM publisher_subscription WHERE actor_id = $1 AND peer_id = $2 RETURNING resource',
    actorId,
    peerId,
  )
  await addToCounts(tx, actorId, -1, deleted)
  return deleted.length
}

/** The tables that may have many rows of a subscription: a peer that is not reached for days has thousands of diffs. */
function belowSubscription(where: string): readonly ManyRows[] {
  const key = 'peer_id, subscription_id, sequence'
  return [
    { table: 'diff', key, size: 'octet_length(data)', where },
    { table: 'delivery', key, size: '1', where },
    { table: 'missed_deletion', key: 'peer_id, subscription_id, about', size: 'octet_length(data)', where },
  ]
}

type CountedSubscription = Pick<PublisherSubscription, 'resource'>

async function addToCounts(
  tx: Transaction,
  actorId: string,
  sign: 1 | -1,
  subscriptions: readonly CountedSubscription[],
): Promise<void> {
  if (subscriptions.length === 0) return
  await tx.run(
    `UPDATE actor SET subscription_count = subscription_count + $2, key_subscription_count = key_subscription_count + $3
     WHERE id = $1`,
    actorId,
    sign * subscriptions.length,
    sign * subscriptions.filter(({ resource }) => resource !== '').length,
  )
}
