/** The SQL of peers' subscriptions. Whatever adds or removes one keeps `actor.listeners` right in the same transaction. */
import type { Param, Queries, Transaction } from '../store/store.ts'
import type { InboundSubscription, Scope } from '../subscription/scope.ts'

const columns = `actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", target, subtarget, resource,
  granularity, sequence, settled, state, failing_since AS "failingSince", created_at AS "createdAt"`

/**
 * False, and nothing is added, when the peer has `most` subscriptions already.
 *
 * @throws ServiceError `conflict` when there is no relationship with the peer (any more).
 */
export async function insertInbound(
  tx: Transaction,
  subscription: Scope &
    Pick<InboundSubscription, 'actorId' | 'peerId' | 'subscriptionId' | 'granularity' | 'createdAt'>,
  most: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO inbound_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity, created_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, CAST($8 AS BIGINT)
     WHERE (SELECT COUNT(*) FROM inbound_subscription s WHERE s.actor_id = $1 AND s.peer_id = $2) < $9`,
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
  if (inserted === 1) await addListeners(tx, subscription.actorId, 1)
  return inserted === 1
}

export async function findInbound(
  q: Queries,
  actorId: string,
  peerId: string,
  subscriptionId: string,
): Promise<InboundSubscription | null> {
  const row = await q.get<InboundSubscription>(
    `SELECT ${columns} FROM inbound_subscription WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3`,
    actorId,
    peerId,
    subscriptionId,
  )
  return row ?? null
}

/** Oldest first; of one peer unless `peerId` is null. */
export async function findInboundOf(
  q: Queries,
  actorId: string,
  peerId: string | null,
  scope: Partial<Scope> = {},
): Promise<InboundSubscription[]> {
  const params: Param[] = [actorId]
  const conditions = Object.entries({ peer_id: peerId ?? undefined, ...scope }).flatMap(([column, value]) =>
    value === undefined ? [] : [` AND ${column} = $${params.push(value)}`],
  )
  return q.all<InboundSubscription>(
    `SELECT ${columns} FROM inbound_subscription WHERE actor_id = $1${conditions.join('')}
     ORDER BY created_at, peer_id, subscription_id`,
    ...params,
  )
}

/** With its diffs and deliveries. False when there was none. */
export async function deleteInbound(
  tx: Transaction,
  actorId: string,
  peerId: string,
  subscriptionId: string,
): Promise<boolean> {
  const deleted = await tx.run(
    'DELETE FROM inbound_subscription WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3',
    actorId,
    peerId,
    subscriptionId,
  )
  if (deleted === 0) return false
  await addListeners(tx, actorId, -1)
  return true
}

/** All of a peer: to be called before its relationship is deleted, which would take them along uncounted. */
export async function deleteInboundOf(tx: Transaction, actorId: string, peerId: string): Promise<number> {
  const deleted = await tx.run('DELETE FROM inbound_subscription WHERE actor_id = $1 AND peer_id = $2', actorId, peerId)
  if (deleted > 0) await addListeners(tx, actorId, -deleted)
  return deleted
}

async function addListeners(tx: Transaction, actorId: string, change: number): Promise<void> {
  await tx.run('UPDATE actor SET listeners = listeners + $2 WHERE id = $1', actorId, change)
}
